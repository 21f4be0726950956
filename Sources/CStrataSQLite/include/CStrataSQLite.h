#ifndef C_STRATA_SQLITE_H
#define C_STRATA_SQLITE_H

// The header declares the session extension only for builds that say that their library contains it.
#ifndef SQLITE_ENABLE_SESSION
#define SQLITE_ENABLE_SESSION 1
#endif
#ifndef SQLITE_ENABLE_PREUPDATE_HOOK
#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#endif
#include <sqlite3.h>

#endif

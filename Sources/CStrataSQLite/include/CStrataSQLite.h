#ifndef C_STRATA_SQLITE_H
#define C_STRATA_SQLITE_H

/* The preupdate hook and sessions are declared by sqlite3.h only where these two are defined before it is included. */
#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#define SQLITE_ENABLE_SESSION 1
#include <sqlite3.h>

#endif

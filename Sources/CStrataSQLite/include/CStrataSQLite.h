#ifndef C_STRATA_SQLITE_H
#define C_STRATA_SQLITE_H

#include <sqlite3.h>

#endif

#ifndef C_STRATA_POSTGRES_H
#define C_STRATA_POSTGRES_H

// Debian has the header in a folder, which pkg-config names. The path makes pkg-config unnecessary there.
#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#else
#include <postgresql/libpq-fe.h>
#endif

// Swift does not import macros of characters.
static const int CSTRATA_DIAG_SQLSTATE = PG_DIAG_SQLSTATE;
static const int CSTRATA_DIAG_SEVERITY = PG_DIAG_SEVERITY;
static const int CSTRATA_DIAG_SEVERITY_NONLOCALIZED = PG_DIAG_SEVERITY_NONLOCALIZED;

#endif

/* Calls of Linux, and types of 64 bits. */
#define _GNU_SOURCE

#include "CKillSwitch.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void end_process(void) {
    kill(getpid(), SIGKILL);
    /* The signal may reach another thread first; this one does not go on. */
    for (;;) pause();
}

/* Calls. */

static atomic_long calls;
static atomic_long last_call;

static void count_call(void) {
    if (atomic_fetch_add(&calls, 1) + 1 == atomic_load(&last_call)) end_process();
}

/* Steps of transactions. */

enum kind {
    BEGIN, SAVEPOINT, ROLLBACK_TO, ROLLBACK, RELEASE, COMMIT, HISTORY, INSERT, UPDATE, DELETE, SELECT, UNIQUE_INDEX,
    CREATE, STATEMENT_COUNT,
    WRITE = STATEMENT_COUNT, SYNC, SYNCED, UNLOCK, COMMITTED, UNSYNCED, ACKNOWLEDGEMENT,
    LINK, LINKED, RENAME, RENAMED, SEND, SENT,
    KIND_COUNT
};

/* The kind of a statement is the first one whose name begins its text. */
static const char *const names[KIND_COUNT] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [SAVEPOINT] = "SAVEPOINT",
    [ROLLBACK_TO] = "ROLLBACK TO",
    [ROLLBACK] = "ROLLBACK",
    [RELEASE] = "RELEASE",
    [COMMIT] = "COMMIT",
    [HISTORY] = "INSERT INTO \"strata_history\"",
    [INSERT] = "INSERT",
    [UPDATE] = "UPDATE",
    [DELETE] = "DELETE",
    [SELECT] = "SELECT",
    [UNIQUE_INDEX] = "CREATE UNIQUE INDEX",
    [CREATE] = "CREATE",
    [WRITE] = "write",
    [SYNC] = "sync",
    [SYNCED] = "after sync",
    [UNLOCK] = "unlock",
    [COMMITTED] = "after COMMIT",
    [UNSYNCED] = "unsynced",
    [ACKNOWLEDGEMENT] = "acknowledgement",
    [LINK] = "link",
    [LINKED] = "after link",
    [RENAME] = "rename",
    [RENAMED] = "after rename",
    [SEND] = "send",
    [SENT] = "after send",
};

static atomic_int is_counting;
static atomic_int is_held;
static atomic_long steps[KIND_COUNT];
static atomic_int last_kind;
static atomic_long last_step;

static void count_step(enum kind kind) {
    if (!atomic_load(&is_counting)) return;
    long number = atomic_fetch_add(&steps[kind], 1) + 1;
    if ((int)kind == atomic_load(&last_kind) && number == atomic_load(&last_step)) end_process();
}

int kill_before_step_of_transaction(const char *name, long n) {
    int kind = 0;
    while (kind < KIND_COUNT && strcmp(name, names[kind]) != 0) kind++;
    if (kind == KIND_COUNT && n > 0) return 0;
    for (int index = 0; index < KIND_COUNT; index++) atomic_store(&steps[index], 0);
    atomic_store(&last_kind, kind);
    atomic_store(&last_step, n);
    atomic_store(&is_counting, 1);
    return 1;
}

void count_acknowledgement(void) { count_step(ACKNOWLEDGEMENT); }

void hold_transactions(int hold) { atomic_store(&is_held, hold); }

int step_kind_count(void) { return KIND_COUNT; }

const char *step_kind(int index) { return names[index]; }

long step_count(int index) { return atomic_load(&steps[index]); }

/* SQLite's calls of the system. */

static ssize_t counted_pwrite(int file, const void *bytes, size_t size, off_t offset) {
    count_call();
    count_step(WRITE);
    return pwrite(file, bytes, size, offset);
}

#ifdef __linux__
static ssize_t counted_pwrite64(int file, const void *bytes, size_t size, off64_t offset) {
    count_call();
    count_step(WRITE);
    return pwrite64(file, bytes, size, offset);
}
#endif

static int counted_ftruncate(int file, off_t size) {
    count_call();
    return ftruncate(file, size);
}

/* The byte whose lock a writer holds, in the file with the index of the journal: see
   https://www.sqlite.org/walformat.html */
static const off_t write_lock = 120;

static int counted_fcntl(int file, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (command == F_SETLK) {
        struct flock *lock = argument;
        count_call();
        if (lock->l_type == F_UNLCK && lock->l_start == write_lock) count_step(UNLOCK);
    }
    return fcntl(file, command, argument);
}

static int take_over(sqlite3_vfs *vfs, const char *name, sqlite3_syscall_ptr function) {
    /* A build of SQLite has one of pwrite and pwrite64. */
    if (vfs->xGetSystemCall(vfs, name) == 0) return 0;
    return vfs->xSetSystemCall(vfs, name, function) == SQLITE_OK;
}

static int take_over_calls(void) {
    sqlite3_vfs *vfs = sqlite3_vfs_find(0);
    if (vfs == 0 || vfs->iVersion < 3) return 0;
    int writes = take_over(vfs, "pwrite", (sqlite3_syscall_ptr)counted_pwrite);
#ifdef __linux__
    writes |= take_over(vfs, "pwrite64", (sqlite3_syscall_ptr)counted_pwrite64);
#endif
    return writes && take_over(vfs, "ftruncate", (sqlite3_syscall_ptr)counted_ftruncate)
        && take_over(vfs, "fcntl", (sqlite3_syscall_ptr)counted_fcntl);
}

int kill_before_call(long n) {
    atomic_store(&calls, 0);
    atomic_store(&last_call, n);
    return take_over_calls();
}

long kill_switch_calls(void) { return atomic_load(&calls); }

#ifdef __linux__

#include <sys/syscall.h>

/* SQLite does not let a program replace its calls of fsync and fdatasync. In a program that is linked with this, these
   functions take the place of the C library's. */

/* Whether the thread has flushed a file since its last COMMIT began. */
static _Thread_local int has_synced;

static int synced(int file, long call) {
    count_step(SYNC);
    int result = (int)syscall(call, file);
    if (result == 0) has_synced = 1;
    count_step(SYNCED);
    return result;
}

int fsync(int file) { return synced(file, SYS_fsync); }

int fdatasync(int file) { return synced(file, SYS_fdatasync); }

/* The names of files, and the requests of libpq. These functions take the place of the C library's in the same way. They
   are weak, because CFileSteps has some of them too: in the test program, which links both, those of CFileSteps count. */

__attribute__((weak)) int link(const char *old, const char *new) {
    count_step(LINK);
    int result = (int)syscall(SYS_linkat, AT_FDCWD, old, AT_FDCWD, new, 0);
    if (result == 0) count_step(LINKED);
    return result;
}

__attribute__((weak)) int rename(const char *old, const char *new) {
    count_step(RENAME);
    int result = (int)syscall(SYS_renameat2, AT_FDCWD, old, AT_FDCWD, new, 0);
    if (result == 0) count_step(RENAMED);
    return result;
}

__attribute__((weak)) ssize_t send(int socket, const void *bytes, size_t size, int flags) {
    count_step(SEND);
    ssize_t result = syscall(SYS_sendto, socket, bytes, size, flags, 0, 0);
    if (result > 0) count_step(SENT);
    return result;
}

/* SQLite's statements. */

/* Whether the thread runs the COMMIT of a transaction that writes. */
static _Thread_local int is_committing;

static void begin_statement(sqlite3_stmt *statement, const char *text) {
    int is_begin = strcmp(text, names[BEGIN]) == 0;
    while (is_begin && atomic_load(&is_held)) usleep(100);
    if (!is_begin && sqlite3_txn_state(sqlite3_db_handle(statement), "main") != SQLITE_TXN_WRITE) return;
    int kind = 0;
    while (kind < STATEMENT_COUNT && strncmp(text, names[kind], strlen(names[kind])) != 0) kind++;
    if (kind == STATEMENT_COUNT) return;
    is_committing = kind == COMMIT;
    if (is_committing) has_synced = 0;
    count_step(kind);
}

/* SQLite calls this when a statement begins and when it has ended. */
static int follow_statement(unsigned event, void *context, void *statement, void *detail) {
    (void)context;
    (void)detail;
    if (event == SQLITE_TRACE_STMT) {
        const char *text = sqlite3_sql(statement);
        if (text != 0) begin_statement(statement, text);
    } else if (is_committing) {
        is_committing = 0;
        if (!has_synced) count_step(UNSYNCED);
        count_step(COMMITTED);
    }
    return 0;
}

struct sqlite3_api_routines;

/* SQLite calls this for each new connection. */
static int follow_connection(sqlite3 *connection, char **message, const struct sqlite3_api_routines *routines) {
    (void)message;
    (void)routines;
    return sqlite3_trace_v2(connection, SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE, follow_statement, 0);
}

int follow_transactions(void) {
    return take_over_calls() && sqlite3_auto_extension((void (*)(void))follow_connection) == SQLITE_OK;
}

#else

int follow_transactions(void) { return 0; }

#endif

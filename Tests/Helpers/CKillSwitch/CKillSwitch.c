/* pwrite64 has a prototype with this only. */
#define _GNU_SOURCE

#include "CKillSwitch.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_long calls;
static atomic_long last;

static void count(void) {
    long number = atomic_fetch_add(&calls, 1) + 1;
    if (number == atomic_load(&last)) {
        kill(getpid(), SIGKILL);
        /* The signal may reach another thread first; this one does not go on. */
        for (;;) pause();
    }
}

static ssize_t counted_pwrite(int file, const void *bytes, size_t size, off_t offset) {
    count();
    return pwrite(file, bytes, size, offset);
}

#ifdef __linux__
static ssize_t counted_pwrite64(int file, const void *bytes, size_t size, off64_t offset) {
    count();
    return pwrite64(file, bytes, size, offset);
}
#endif

static int counted_ftruncate(int file, off_t size) {
    count();
    return ftruncate(file, size);
}

static int counted_fcntl(int file, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (command == F_SETLK) count();
    return fcntl(file, command, argument);
}

static int take_over(sqlite3_vfs *vfs, const char *name, sqlite3_syscall_ptr function) {
    /* A build of SQLite has one of pwrite and pwrite64. */
    if (vfs->xGetSystemCall(vfs, name) == 0) return 0;
    return vfs->xSetSystemCall(vfs, name, function) == SQLITE_OK;
}

int kill_before_call(long n) {
    sqlite3_vfs *vfs = sqlite3_vfs_find(0);
    if (vfs == 0 || vfs->iVersion < 3) return 0;
    atomic_store(&calls, 0);
    atomic_store(&last, n);
    int writes = take_over(vfs, "pwrite", (sqlite3_syscall_ptr)counted_pwrite);
#ifdef __linux__
    writes |= take_over(vfs, "pwrite64", (sqlite3_syscall_ptr)counted_pwrite64);
#endif
    return writes && take_over(vfs, "ftruncate", (sqlite3_syscall_ptr)counted_ftruncate)
        && take_over(vfs, "fcntl", (sqlite3_syscall_ptr)counted_fcntl);
}

long kill_switch_calls(void) { return atomic_load(&calls); }

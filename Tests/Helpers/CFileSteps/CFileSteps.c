/* Calls of Linux, and types of 64 bits. */
#define _GNU_SOURCE

#include "CFileSteps.h"

#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_long steps;
static atomic_long last;

long file_steps(void) { return atomic_load(&steps); }

#ifdef __linux__

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>

int kill_before_step(long n) {
    atomic_store(&steps, 0);
    atomic_store(&last, n);
    return 1;
}

static void count(void) {
    long number = atomic_fetch_add(&steps, 1) + 1;
    if (number == atomic_load(&last)) {
        kill(getpid(), SIGKILL);
        /* The signal may reach another thread first; this one does not go on. */
        for (;;) pause();
    }
}

/* Pipes and terminals are no files: what is told to them says nothing about these. */
static int is_file(int file) {
    struct stat status;
    return fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

static void count_file(int file) {
    if (is_file(file)) count();
}

/* Bytes. */

ssize_t write(int file, const void *bytes, size_t size) {
    count_file(file);
    return syscall(SYS_write, file, bytes, size);
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t offset) {
    count_file(file);
    return syscall(SYS_pwrite64, file, bytes, size, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t offset) { return pwrite(file, bytes, size, offset); }

int ftruncate(int file, off_t size) {
    count_file(file);
    return (int)syscall(SYS_ftruncate, file, size);
}

int ftruncate64(int file, off64_t size) { return ftruncate(file, size); }

ssize_t copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t size, unsigned flags) {
    count();
    return syscall(SYS_copy_file_range, from, from_offset, to, to_offset, size, flags);
}

/* Names. */

static int opened(int folder, const char *path, int flags, mode_t mode) {
    if (flags & (O_CREAT | O_TRUNC)) count();
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

static mode_t mode_of(int flags, va_list arguments) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return opened(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return opened(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return opened(folder, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return opened(folder, path, flags, mode);
}

int mkdirat(int folder, const char *path, mode_t mode) {
    count();
    return (int)syscall(SYS_mkdirat, folder, path, mode);
}

int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    count();
    return (int)syscall(SYS_renameat2, from, old, to, new, flags);
}

int renameat(int from, const char *old, int to, const char *new) { return renameat2(from, old, to, new, 0); }

int rename(const char *old, const char *new) { return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0); }

int linkat(int from, const char *old, int to, const char *new, int flags) {
    count();
    return (int)syscall(SYS_linkat, from, old, to, new, flags);
}

int link(const char *old, const char *new) { return linkat(AT_FDCWD, old, AT_FDCWD, new, 0); }

int unlinkat(int folder, const char *path, int flags) {
    count();
    return (int)syscall(SYS_unlinkat, folder, path, flags);
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }

int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int futimens(int file, const struct timespec times[2]) {
    count();
    return (int)syscall(SYS_utimensat, file, NULL, times, 0);
}

/* Locks. */

int flock(int file, int operation) {
    count();
    return (int)syscall(SYS_flock, file, operation);
}

static int controlled(int file, int command, void *argument) {
    if (command == F_SETLK) count();
    return (int)syscall(SYS_fcntl, file, command, argument);
}

int fcntl(int file, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return controlled(file, command, argument);
}

int fcntl64(int file, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return controlled(file, command, argument);
}

#else

int kill_before_step(long n) {
    (void)n;
    return 0;
}

#endif

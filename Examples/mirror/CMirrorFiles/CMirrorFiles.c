#define _GNU_SOURCE
#include "CMirrorFiles.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

/* By number: not all C libraries have a function for it. */
static int rename_how(const char *old_path, const char *new_path, unsigned how) {
    return (int)syscall(SYS_renameat2, AT_FDCWD, old_path, AT_FDCWD, new_path, how);
}

/* As in linux/fs.h. */
enum { exclusively = 1, exchanging = 2 };
#elif defined(__APPLE__)
static int rename_how(const char *old_path, const char *new_path, unsigned how) {
    return renamex_np(old_path, new_path, how);
}

enum { exclusively = RENAME_EXCL, exchanging = RENAME_SWAP };
#endif

int mirror_rename_exclusively(const char *old_path, const char *new_path) {
    return rename_how(old_path, new_path, exclusively);
}

int mirror_exchange(const char *first_path, const char *second_path) {
    return rename_how(first_path, second_path, exchanging);
}

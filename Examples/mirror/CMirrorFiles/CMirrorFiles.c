#define _GNU_SOURCE
#include "CMirrorFiles.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

/* By number: not all C libraries have a function for it. */
static int rename_how(int old_folder, const char *old_name, int new_folder, const char *new_name, unsigned how) {
    return (int)syscall(SYS_renameat2, old_folder, old_name, new_folder, new_name, how);
}

/* As in linux/fs.h. */
enum { exclusively = 1, exchanging = 2 };
#elif defined(__APPLE__)
static int rename_how(int old_folder, const char *old_name, int new_folder, const char *new_name, unsigned how) {
    return renameatx_np(old_folder, old_name, new_folder, new_name, how);
}

enum { exclusively = RENAME_EXCL, exchanging = RENAME_SWAP };
#endif

int mirror_rename_exclusively(int old_folder, const char *old_name, int new_folder, const char *new_name) {
    return rename_how(old_folder, old_name, new_folder, new_name, exclusively);
}

int mirror_exchange(int first_folder, const char *first_name, int second_folder, const char *second_name) {
    return rename_how(first_folder, first_name, second_folder, second_name, exchanging);
}

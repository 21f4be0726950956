#define _GNU_SOURCE
#include "CStrataFiles.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int strata_rename_exclusively(int old_folder, const char *old_name, int new_folder, const char *new_name) {
#ifdef __APPLE__
    return renameatx_np(old_folder, old_name, new_folder, new_name, RENAME_EXCL);
#else
    return renameat2(old_folder, old_name, new_folder, new_name, RENAME_NOREPLACE);
#endif
}

ssize_t strata_copy_range(int source, int target, size_t count) {
#ifdef __APPLE__
    (void)source, (void)target, (void)count;
    errno = ENOSYS;
    return -1;
#else
    return copy_file_range(source, NULL, target, NULL, count, 0);
#endif
}

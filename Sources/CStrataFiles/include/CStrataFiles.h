#ifndef C_STRATA_FILES_H
#define C_STRATA_FILES_H

#include <sys/types.h>

/* Renames unless there is something of the new name: then -1 with EEXIST. EINVAL or ENOSYS where the file system cannot. */
int strata_rename_exclusively(int old_folder, const char *old_name, int new_folder, const char *new_name);

/* copy_file_range(2) from and to where the two files are. ENOSYS where there is none. */
ssize_t strata_copy_range(int source, int target, size_t count);

#endif

#ifndef C_MIRROR_FILES_H
#define C_MIRROR_FILES_H

/* Renames unless there is something of the new name: then -1 with EEXIST. EINVAL or ENOSYS where the file system cannot. */
int mirror_rename_exclusively(const char *old_path, const char *new_path);

/* Exchanges two files in one step. EINVAL or ENOSYS where the file system cannot. */
int mirror_exchange(const char *first_path, const char *second_path);

#endif

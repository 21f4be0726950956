#ifndef C_MIRROR_FILES_H
#define C_MIRROR_FILES_H

/* All names are relative to open folders. A symbolic link of one of the names is renamed itself. */

/* Renames unless there is something of the new name: then -1 with EEXIST. EINVAL or ENOSYS where the file system cannot. */
int mirror_rename_exclusively(int old_folder, const char *old_name, int new_folder, const char *new_name);

/* Exchanges two files in one step. EINVAL or ENOSYS where the file system cannot. */
int mirror_exchange(int first_folder, const char *first_name, int second_folder, const char *second_name);

#endif

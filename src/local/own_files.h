/* SPDX-License-Identifier: MIT */
/* local/own_files.h - directories and files of this user alone. A umask such as 0277 takes rights
 * from the owner as well: what a call has made gets its mode afterwards. The mode of what was there
 * is left as it is. */
#ifndef LOCAL_OWN_FILES_H
#define LOCAL_OWN_FILES_H

#include <stdbool.h>

/* With mode 0700. true if it is there, made by this call or before. Sets errno. */
bool own_directory_make(const char *path);

/* As open() with O_CREAT, O_CLOEXEC and O_NOFOLLOW, and mode 0600; above stdio. */
int own_file_open(const char *path, int flags);

#endif

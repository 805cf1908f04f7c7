/* SPDX-License-Identifier: MIT */
/* cli/file_limit.h - what is written beyond a limit of the file size (ulimit -f) fails with EFBIG,
 * and does not end this process by SIGXFSZ: the lock would be left, and its command killed. */
#ifndef CLI_FILE_LIMIT_H
#define CLI_FILE_LIMIT_H

/* Once, before anything is written. */
void file_limit_outlive(void);

/* In a child, before exec: as the caller had it. Async-signal-safe. */
void file_limit_restore(void);

#endif

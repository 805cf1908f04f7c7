/* SPDX-License-Identifier: MIT */
/* local/users.h - counts the processes that use the private server. */
#ifndef LOCAL_USERS_H
#define LOCAL_USERS_H

#include <stdint.h>

/* Processes with a shared flock on `path`, from /proc/locks; -1: it cannot be read. Those
 * of other pid name spaces may be missing. */
int64_t users_count(const char *path);

#endif

/* SPDX-License-Identifier: MIT */
/* cli/lock_copies.h - copies of the descriptors of this process's lock files.
 *
 * With degrade=local the library has such a file for each name (api/lock_files.h), and its lock
 * ends when the last descriptor is closed. The kernel closes those of a wrapper that is killed
 * before the guardian has killed the command: with copies in the guardians, other processes of
 * the machine get the lock after that. A wrapper that lives unlocks the file for all copies. */
#ifndef CLI_LOCK_COPIES_H
#define CLI_LOCK_COPIES_H

enum { LOCK_COPIES_MAX = 100 };        /* as many as a lock has names */

typedef struct lock_copies {
  int fds[LOCK_COPIES_MAX];            /* ascending */
  int count;
} lock_copies;

/* From `first` on, close-on-exec. None where /proc cannot be read. */
void lock_copies_make(lock_copies *ret, int first);
/* Closes all descriptors from `first` on but the copies. Async-signal-safe. */
void lock_copies_close_others(const lock_copies *c, int first);
void lock_copies_close(const lock_copies *c);

#endif

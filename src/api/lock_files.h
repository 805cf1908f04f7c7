/* SPDX-License-Identifier: MIT */
/* api/lock_files.h - the lock files of this machine that a claim of a client with degrade=local
 * has open: one for each of its names.
 *
 * While it waits for a lease of the servers or has one, they are locked shared; a lock of this
 * machine is the exclusive lock of the one file. So no process of this machine gets such a lock
 * beside a process that believes in a lease of the same name, nor the other way round; between
 * leases only the servers decide. The kernel ends the locks of a process that dies. One that is
 * stopped keeps them: it may believe in its lease when it goes on.
 *
 * All functions need the mutex. */
#ifndef API_LOCK_FILES_H
#define API_LOCK_FILES_H

#include "api/api.h"
#include "local/local.h"

typedef struct lock_files {
  size_t count;
  local_lock *locks;
} lock_files;

/* All are closed. */
void lock_files_init(lock_files *f, local_lock *locks, size_t count);
bool lock_files_are_open(const lock_files *f);
/* DIBS_OK: all are locked shared. DIBS_BUSY, or a fault with its text: none is open. */
dibs_status lock_files_share(claim *cl, lock_files *f, dibs_error *ret_error);
/* DIBS_OK: the first is locked exclusively. DIBS_BUSY: it stays open. */
dibs_status lock_files_take(claim *cl, lock_files *f, uint64_t *ret_fence, dibs_error *ret_error);
/* Whether those that were opened still are, and have their names; see local_lock_is_named(). */
bool lock_files_are_named(const lock_files *f);
/* The same lock again: copies of a descriptor share it; see local_lock_copy(). */
bool lock_files_copy(lock_files *f, const lock_files *from);
/* Unlocks and closes. `is_shared`, or in a forked child: closes only, as others have copies. */
void lock_files_end(const claim *cl, lock_files *f, bool is_shared);

#endif

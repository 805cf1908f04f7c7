/* SPDX-License-Identifier: MIT */
/* hold/lock_name.h - what a client has in memory about one name, shared by api, engine,
 * quorum and lock. */
#ifndef LOCK_NAME_H
#define LOCK_NAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/instant.h"
#include "base/lock_kind.h"

typedef enum lock_name_state {
  LOCK_NAME_WAITING = 1,   /* requested, not held by this process */
  LOCK_NAME_HELD,
  LOCK_NAME_SUSPECT,       /* held, and a renewal is overdue */
  LOCK_NAME_PARKED,
  LOCK_NAME_LEAVING,       /* being released, not confirmed */
  LOCK_NAME_LOST           /* reported lost, and not released by the program */
} lock_name_state;

/* One lease, or one ask for it. */
typedef struct lock_name {
  const char *name; size_t size;   /* borrowed until the next input */
  lock_kind kind;                  /* each name of a multi-lock comes as MUTEX */
  bool reads;                      /* RWLOCK */
  lock_name_state state;
  size_t holds, waiting, lost;
  uint64_t units;                  /* held or wanted; 0: all free permits */
  uint64_t fence;                  /* of the first hold */
  instant valid_until;             /* HELD, SUSPECT, PARKED; otherwise 0 */
  instant idle_since;              /* PARKED */
} lock_name;

/* The position of a walk. It begins as zeros, and is valid until the next input. */
typedef struct lock_name_at {
  const void *name, *part;
  size_t member;
} lock_name_at;

#endif

/* SPDX-License-Identifier: MIT */
/* lock/lock_name.h - what a client has in memory about one name; the words that api, engine,
 * quorum and lock share. */
#ifndef LOCK_NAME_H
#define LOCK_NAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/instant.h"
#include "lock/lock_kind.h"

typedef enum lock_name_state {
  LOCK_NAME_WAITING = 1,   /* asked for; nobody here has it */
  LOCK_NAME_HELD,
  LOCK_NAME_SUSPECT,       /* held, and a renewal is overdue */
  LOCK_NAME_LINGERING,
  LOCK_NAME_LEAVING,       /* given back; that is not confirmed */
  LOCK_NAME_LOST           /* told lost, and not released by the program */
} lock_name_state;

/* One lease, or one ask for it. */
typedef struct lock_name {
  const char *name; size_t size;   /* borrowed until the next input */
  lock_kind kind;                  /* never MANY: each name of a set comes as MUTEX */
  lock_name_state state;
  size_t holds, waiting, lost;
  uint64_t units;                  /* had, or wanted; 0: all that are free */
  uint64_t fence;                  /* of the first hold */
  instant valid_until;             /* HELD, SUSPECT, LINGERING; else 0 */
  instant idle_since;              /* LINGERING */
} lock_name;

/* Where a walk is. It begins as zeros, and is good until the next input. */
typedef struct lock_name_at {
  const void *name, *part;
  size_t member;
} lock_name_at;

#endif

/* SPDX-License-Identifier: MIT */
/* base/lock_kind.h - what a name is, the same for all its users. */
#ifndef BASE_LOCK_KIND_H
#define BASE_LOCK_KIND_H

#include <stdbool.h>

/* FAIR, SPIN, FENCED: where the dialect has several exclusive locks; a native mutex is fair and
 * fenced. COUNTER: permits without a lease, which only a release returns. */
typedef enum lock_kind {
  LOCK_MUTEX = 0, LOCK_FAIR, LOCK_SPIN, LOCK_FENCED, LOCK_RWLOCK, LOCK_SEMAPHORE, LOCK_COUNTER
} lock_kind;

static inline bool kind_is_exclusive(lock_kind k)
{
  return k <= LOCK_FENCED;
}

static inline bool kind_has_permits(lock_kind k)
{
  return k == LOCK_SEMAPHORE || k == LOCK_COUNTER;
}

#endif

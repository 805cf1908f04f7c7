/* SPDX-License-Identifier: MIT */
/* hold/lock_spec.h - what a lock call asks for, shared by api, engine, quorum and lock: filled
 * once by api and passed on unchanged. A quorum and a multi-lock over several servers ask each
 * server with a spec of their own. */
#ifndef LOCK_SPEC_H
#define LOCK_SPEC_H

#include "base/base.h"
#include "base/lock_kind.h"
#include "dialect/native.h"

#define LINGER_AUTO ((span){ -1 })    /* by the reuse history */

/* The other holder that an ask waits for, and since when it has not been renewed. */
typedef struct watched_lease {
  lease_id lease;                /* token 0: none is known */
  uint64_t renewals;
  instant since;
  span length;
} watched_lease;

/* All texts are borrowed for the call that gets the spec. */
typedef struct lock_spec {
  void *context;                             /* identifies the request, then the hold, in every
                                              * effect and event about it; owned by the caller */
  lock_kind kind;                            /* several names: MUTEX */
  bool reads;                                /* RWLOCK; otherwise it writes */
  const void *name; size_t name_size;        /* checked by the caller; unused with `names` */
  const many_name *names; size_t name_count; /* NULL: one name; sorted by bytes, no duplicates */
  uint64_t units;                            /* of permits; 0: all that are free, as a try */
  uint64_t limit;                            /* of the semaphore; 0: any number of permits */
  span linger;                               /* exclusive; 0: none; LINGER_AUTO */
  const void *owner; size_t owner_size;      /* size 0: no re-entry */
  bool is_try, is_fixed, no_reentry;
  bool is_part;                              /* of several names with one fence, the highest of
                                              * their tokens: no other hold may share its lease */
  bool blocks;                               /* its owner is blocked until it ends */
  span ttl;
  span max_hold;                             /* 0: none */
  span warn;                                 /* before the end: LOCK_ENDS_SOON; 0: never */
  instant give_up_at;                        /* INSTANT_NEVER: no limit */
  const char *note;                          /* NULL: none */
  int32_t min_replicas;                      /* exclusive; 0: not requested; -1: a majority */
  bool wants_fsync, reports_replicas;
  span replicas_wait;
  uint64_t min_token;                        /* the new token is above it; 0: none */
  const watched_lease *watched;              /* by an earlier try; borrowed as texts are; or NULL */
} lock_spec;

static inline bool spec_is_many(const lock_spec *spec)
{
  return spec->names != NULL;
}

/* One name, exclusive. */
static inline bool spec_is_mutex(const lock_spec *spec)
{
  return kind_is_exclusive(spec->kind) && spec->names == NULL;
}

#endif

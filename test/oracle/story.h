/* SPDX-License-Identifier: MIT */
/* test/oracle/story.h - histories made by hand, for the tests of the checkers. Instants
 * are milliseconds; leases have 1000 ms, asks promise to be back within 3000. */
#ifndef STORY_H
#define STORY_H

#include "oracle.h"

enum { STORY_MAX = 512 };

struct story {
  struct record records[STORY_MAX];
  size_t count;
  struct run_lock locks[4];
  size_t lock_count;
  struct record calls[STORY_MAX];      /* what is known of call i */
  uint64_t call_count, fault_count;
  struct expectations expects;
  struct findings findings;            /* of the last story_found() */
};

/* Three locks: 0 a mutex, 1 a read/write lock, 2 a semaphore of 3 permits. */
void story_begin(struct story *s);

uint64_t story_ask(struct story *s, double at, int worker, int lock, enum hold_mode mode);
uint64_t story_try(struct story *s, double at, int worker, int lock);
uint64_t story_want(struct story *s, double at, int worker, uint32_t units);   /* lock 2 */
void story_flag(struct story *s, uint64_t call, uint8_t flags);   /* before its next record */
void story_got(struct story *s, double at, uint64_t call, uint64_t fence, double valid);
void story_not(struct story *s, double at, uint64_t call, int status);
void story_sample(struct story *s, double at, uint64_t call, double valid);  /* 0: gone */
void story_lost(struct story *s, double at, uint64_t call);
void story_excused(struct story *s, double at, uint64_t call);
void story_release(struct story *s, double at, uint64_t call);
void story_released(struct story *s, double at, uint64_t call, int status);
void story_write(struct story *s, double at, uint64_t call, int place);
/* All of it: asked, had, given back 1 ms before `released`; the lease is valid for 980 ms
 * from there. Returns the call. */
uint64_t story_hold(struct story *s, int worker, double asked, double got, double released,
                    uint64_t fence);

void story_dead(struct story *s, double at, int worker);
void story_stall(struct story *s, int worker, double from, double to);
void story_queued(struct story *s, double sent, double at, uint64_t look, int worker, int rank);
uint64_t story_fault(struct story *s, enum fault kind, int worker, double begin, double end);
void story_usage(struct story *s, int worker, enum phase when, enum usage what, int64_t value);

/* What `check` finds; the history must be whole. */
size_t story_found(struct story *s, enum check check);

#endif

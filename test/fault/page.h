/* SPDX-License-Identifier: MIT */
/* test/fault/page.h - memory that all processes of a run share: the witness, the fenced
 * store, and counters for the runner.
 *
 * Witness: who works under a lock says so in a slot of its own, with the instant up to which
 * it believes. Who comes looks at all other slots: one that is believed now is an overlap,
 * seen with no history at all. A process that was stopped in its critical section leaves a
 * slot whose instant has passed, and accuses nobody.
 *
 * Store: a log of fences for each lock. A place is taken by one compare-and-swap from empty,
 * and only with a fence that the one before admits: whatever happens to a writer, the log is
 * a whole and never blocks. It is the resource that checks fences. */
#ifndef PAGE_H
#define PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "history.h"

enum { SLOTS_MAX = WORKERS_MAX * WORKER_THREADS_MAX, STORE_MAX = 1 << 21 };

struct slot {
  _Atomic int64_t believed_ns;     /* 0: nobody */
  _Atomic uint64_t fence;
  _Atomic uint32_t mode, units;
};

struct page_lock {
  _Atomic uint64_t entered;        /* critical sections so far */
  _Atomic uint64_t stale_refused, clashes, tail;
  _Atomic uint32_t limit;          /* permits there ever were at most */
  struct slot slots[SLOTS_MAX];
};

struct page_worker {
  _Atomic uint64_t cycles, grants, asks_failed, lost;
  _Atomic int64_t moved_ns;        /* when it last began something: progress */
  _Atomic int32_t pid;
  _Atomic uint32_t holds;          /* bit i: in its critical section on lock i */
};

struct page {
  uint32_t lock_count;
  _Atomic uint32_t slots_used;
  struct page_worker workers[WORKERS_MAX];
  struct page_lock locks[LOCKS_MAX];
};

/* Makes or opens `directory`/page, with the store: it lives as long as the process that made
 * it. End the process when they cannot. */
struct page *page_make(const char *directory, uint32_t lock_count);
struct page *page_open(const char *directory);

struct page *page_close(struct page *p);

/* Enters, then looks. `who`: worker * WORKER_THREADS_MAX + thread. Returns another one who is there
 * and may not be beside this one; itself when all permits together are too many; -1: none. */
int page_enter(struct page *p, uint16_t lock, uint16_t who, enum hold_mode mode, uint32_t units,
               uint64_t fence, int64_t believed_ns);
void page_believe(struct page *p, uint16_t lock, uint16_t who, int64_t believed_ns);
void page_leave(struct page *p, uint16_t lock, uint16_t who);

/* A write under `fence`: its place in the log; -1: refused, a newer one was there; -2: the
 * log is full. */
int64_t page_write(struct page *p, uint16_t lock, uint64_t fence);
/* The fence at `place`; 0: nothing there yet. */
uint64_t page_written(const struct page *p, uint16_t lock, int64_t place);

#endif

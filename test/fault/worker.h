/* SPDX-License-Identifier: MIT */
/* test/fault/worker.h - what the files of the worker program share. */
#ifndef WORKER_H
#define WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <dibs/dibs.h>

#include "history.h"
#include "page.h"
#include "plan.h"
#include "lib/take.h"
#include "stall.h"

enum { MEMBERS_MAX = 3, HELD_KEPT = 64 };

struct thread;

/* An acquisition, from before it is asked for. Kept for a while after its release, as its
 * on_lost may be on its way. */
struct held {
  struct thread *thread;
  dibs_hold *hold;
  uint64_t call, fence;
  uint16_t locks[MEMBERS_MAX];
  int lock_count;
  enum op op;
  enum hold_mode mode;
  uint32_t units;
  uint8_t flags;
  int64_t sent_ns;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  bool is_reported;                /* its grant is in the history: a loss may follow */
  bool is_over;                /* its release has begun: a loss is of no interest */
  bool is_lost;
  dibs_status lost_status;
  bool has_answer;             /* asynchronous calls */
  dibs_status answer;
};

struct thread {
  struct worker *worker;
  uint16_t number;
  pthread_t id;
  uint64_t chance;
  struct held kept[HELD_KEPT];
  uint32_t next;
  pthread_mutex_t mutex;       /* of the next two */
  dibs_canceller *canceller;   /* of a call that is to be given up */
  int64_t cancel_at_ns;
};

struct worker {
  char directory[256];
  const char *url;
  uint16_t number, life;
  uint64_t seed;
  struct plan plan;
  struct history *run;         /* for its locks only */
  struct page *page;
  struct page_worker *counters;
  struct recorder *recorder;
  dibs_client *client;
  dibs_canceller *quit;
  atomic_bool is_ending;
  _Atomic uint64_t calls, cycles;
  struct thread threads[WORKER_THREADS_MAX];
};

uint64_t chance_below(struct thread *t, uint64_t limit);
bool chance_percent(struct thread *t, int percent);

/* Appends one record for each name of `a`. */
void held_tell(struct held *a, enum op op, enum phase phase, int32_t status,
               int64_t valid_ns, int64_t value, uint32_t deadline_ms);
struct held *held_new(struct thread *t, enum op op, enum hold_mode mode);

/* Takes what `a` says; whether it is held then. */
bool held_take(struct held *a, bool cancels);
/* Looks at the hold and tells; until when it is believed, 0: gone. */
int64_t held_sample(struct held *a);
void held_release(struct held *a);
bool held_downgrade(struct held *a);

/* One cycle of plan.h. */
void worker_cycle(struct thread *t);
bool worker_open(struct worker *w);              /* the client */

/* The thread that fires cancellers and measures stalls. */
void watch_start(struct worker *w);
void watch_stop(void);
/* Descriptors, threads and memory of this process. */
void usage_tell(struct worker *w, enum phase when);
long usage_fds(void);
long usage_threads(void);

#endif

/* SPDX-License-Identifier: MIT */
/* test/fault/plan.h - what a worker does: lock, witness, write, release, again and again.
 *
 * One cycle: draw a lock and a way to take it; take it; enter the witness page; write to
 * the fenced store, looking at the hold before (but the store is asked whatever it says);
 * stay for a while, sampling; leave the page; release; think. Everything is recorded. */
#ifndef PLAN_H
#define PLAN_H

#include <stdbool.h>
#include <stdint.h>

/* Zero in a field: what is written beside it. Percentages of cycles; what is left over
 * takes one lock, blocking. */
struct plan {
  const char *url;         /* the first server's unix socket */
  int server;              /* 0; told in records: which server or proxy `url` is */
  uint32_t locks;          /* all; bit i: lock i of the world */
  int threads;             /* 1; threads of the process that share one client */
  int ttl_ms;              /* 1000 */
  int wait_ms;             /* 3000; -1: for ever (promise C12 nothing) */
  int hold_us, hold_us_max;     /* 200; mean stay, drawn up to twice; max: some stay longer */
  int think_us;            /* 500; mean pause between cycles; -1: none */
  int try_percent;         /* by a try */
  int async_percent;       /* by the asynchronous call */
  int cancel_percent;      /* given up after a short while by a canceller */
  int many_percent;        /* two or three mutexes at once */
  int nested_percent;      /* twice by the same owner (mutexes) */
  int read_percent;        /* 70; of cycles on read/write locks: reading */
  int downgrade_percent;   /* of writes: end as a read */
  int permits_max;         /* 3; of cycles on semaphores: up to so many */
  int late_percent;        /* sleeps up to 2 * ttl between its look and its write (F03) */
  int fixed_percent;       /* a lease that is never renewed */
  int linger_ms;           /* 0; -1: DIBS_LINGER_AUTO */
  int connect_timeout_ms, command_timeout_ms;   /* 2000, 500 */
  int renew_every_ms;      /* the library's: a third of the ttl */
  int min_replicas;        /* 0; of exclusive locks */
  int cycles;              /* 0: until it is told to end */
  bool has_no_thread;      /* DIBS_CLIENT_NO_THREAD; one thread, blocking calls only */
  bool reopens;            /* closes its client and opens another every 50 cycles */
  const char *program;     /* NULL: the worker; else this, with the worker's arguments */
};

#define PLAN_INIT { .url = 0 }

/* How a plan goes through exec: "ttl_ms=1000 wait_ms=3000 ..."; all but url and program. */
void plan_write(const struct plan *p, char *ret_text, unsigned long size);
/* Fills the defaults too. False: a word that is not understood. */
bool plan_read(const char *text, struct plan *ret_plan);
void plan_defaults(struct plan *p);

#endif

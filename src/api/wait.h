/* SPDX-License-Identifier: MIT */
/* api/wait.h - a call that waits for an operation of sync/, blocking or with a callback; or an
 * observer, which gets its news.
 *
 * A record of its own kind begins with `wait`; wait_kind holds the functions that run
 * callbacks. Its life:
 *
 *   wait_new -> wait_blocking -> (read results) -> wait_free
 *   wait_new -> wait_async, which owns it from then on; reported once, then freed
 *   wait_new -> wait_start -> wait_report, any number of times -> wait_stop      an observer
 *
 * Functions marked "mutex held" need the client's. */
#ifndef API_WAIT_H
#define API_WAIT_H

#include "api/question.h"

typedef struct wait wait;

typedef struct wait_kind {
  /* Of an observer: its op has news; `e`: EFFECT_OP_NEWS. Mutex held. */
  void (*news)(wait *w, const effect *e);
  /* NULL, or called when a fault (w->end) ended the operation of an observer. Mutex held. */
  void (*ended)(wait *w);
  /* Runs the program's callback; `error` is w->end, or DIBS_OK for an observer that
   * continues. Mutex not held. */
  void (*report)(wait *w, const dibs_error *error);
  /* NULL, or frees what the record owns. Mutex held or not; w->client may be gone. */
  void (*deinit)(wait *w);
} wait_kind;

struct wait {
  const wait_kind *kind;
  sync_op *op;
  memory memory;                   /* outlives the client */
  client_record *client;             /* may be gone when wait_blocking() has returned */
  outcome end;                     /* how it ended */
  /* Private to wait.c: */
  wait *previous, *next;           /* of the client */
  uint64_t id;                     /* in the engine */
  handle *request;                 /* NULL: blocking, an observer, or ended */
  drive_waiter *waiter;            /* of the call that waits for its end */
  dibs_canceller *cancel;
  bool is_listed;
  bool is_observing;               /* the engine has its operation */
  bool is_async, is_observer;
  bool is_over;                    /* w->end is final */
  bool is_stopped;                 /* wait_stop() has seen it */
  bool is_queued, report_again;      /* its job waits or runs; the job must run again */
  drive_job job;
  question leaving;                /* undo() of its row was sent, and is not answered */
};

/* All checks that need no mutex: name, options. `options` may be NULL. Inside a call. */
dibs_status wait_check(client_record *c, const char *name, const dibs_wait_options *options,
                       wait_plan *ret_plan);

/* `size` bytes, zeroed, that begin with a wait. NULL: no memory. */
wait *wait_new(client_record *c, const wait_kind *kind, size_t size);
wait *wait_free(wait *w);          /* for one that is not under way */

/* For the next three, w->op is set.
 * Waits for the end and notes it for this thread; the caller keeps `w`. Mutex not held. */
dibs_status wait_blocking(wait *w, const wait_plan *plan);
/* Begins; owns `w` in any case. DIBS_OK: the callback will run once. Mutex not held. */
dibs_status wait_async(wait *w, const wait_plan *plan, dibs_request **ret_request);

/* Runs until wait_stop(). On a fault the caller keeps `w`. Mutex not held. */
dibs_status wait_start(wait *w);
/* The callback runs soon; several calls before it runs count as one. Mutex held. */
void wait_report(wait *w);
/* Ends the reports: waits for a callback that runs now, except inside it. Frees `w`
 * (inside its own callback: when that returns). Mutex not held; before dibs_close(). */
void wait_stop(wait *w);

/* ---- for client.c, effects.c, lock.c ---- */
void wait_op_news(const effect *e);
void wait_op_over(const effect *e);
void wait_cancelled(client_record *c, const dibs_canceller *canceller);
dibs_status wait_request_cancel(dibs_request *request);
/* The client is being closed, mutex held: ends all waits with DIBS_ERR_CLOSED. */
void waits_end(client_record *c);
void waits_free(client_record *c);

#endif

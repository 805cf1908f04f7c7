/* SPDX-License-Identifier: MIT */
/* api/wait.h - a wait on an observation of the engine, blocking or with a callback: what
 * latch, barrier and election share.
 *
 * A record of its own kind begins with `wait`; wait_kind says how to read answers and whom
 * to tell. The life of one:
 *
 *   wait_new -> wait_blocking -> (read results) -> wait_free
 *   wait_new -> wait_async, which owns it from then on; told once, then freed
 *   wait_new -> wait_start -> wait_tell, any number of times -> wait_stop      an observer
 *
 * Functions marked "mutex held" need the client's. */
#ifndef API_WAIT_H
#define API_WAIT_H

#include "api/api.h"

typedef struct wait wait;

typedef struct wait_kind {
  /* Reads the answer to the question; mutex held. true: it is over, with w->status. It may
   * call wait_look_at() and wait_tell(). */
  bool (*look)(wait *w, const resp_reply *reply);
  /* NULL, or the command that takes back what the question did on the server: asked when
   * the wait ends otherwise than by look() (w->status says how), not when the client is
   * being closed. false: no memory, or nothing to take back. Mutex held. */
  bool (*leave)(wait *w, buffer *by_digest, buffer *by_text);
  /* What came of it; `reply` is NULL when nothing did within the command timeout. May set
   * another w->status. Not called after a fault: then nobody waits for the answer. */
  void (*left)(wait *w, const resp_reply *reply);
  /* NULL, or: an observation ended by a fault (w->status). Mutex held. For observers. */
  void (*ended)(wait *w);
  /* Runs the program's callback with w->status; mutex not held. */
  void (*tell)(wait *w);
  /* NULL, or: gives back what the record owns. Mutex held or not; w->client may be gone. */
  void (*deinit)(wait *w);
} wait_kind;

struct wait {
  const wait_kind *kind;
  memory memory;                   /* outlives the client */
  dibs_client *client;             /* may be gone once wait_blocking() has returned */
  dibs_status status;              /* how it ended */
  /* For wait.c: */
  wait *previous, *next;           /* of the client */
  uint64_t id;                     /* the engine's */
  handle *request;                 /* NULL: blocking, an observer, or ended */
  drive_waiter *waiter;            /* of the call that waits for its end */
  dibs_canceller *cancel;
  bool is_listed;
  bool is_observing;               /* the engine knows it */
  bool is_async, is_observer;
  bool is_over;                    /* w->status is final */
  bool is_stopped;                 /* wait_stop() has seen it */
  bool is_queued, tell_again;      /* its job waits or runs; and once more */
  drive_job job;
  question leaving;                /* leave() was sent, and is not answered */
};

typedef struct wait_question {
  const char *channel; size_t channel_size;     /* size 0: it has none */
  const buffer *by_digest, *by_text;    /* by_text NULL: the first is no script call */
  span every;
  bool is_patient;                      /* waits for a server as long as it takes */
} wait_question;

/* All checks that need no mutex, in the order of dibs_lock(): client, fork, callback,
 * name, options. `options` may be NULL. Words go to dibs_last_error(). */
dibs_status wait_check(dibs_client *c, const char *name, const dibs_wait_options *options,
                       bool is_blocking, wait_plan *ret_plan);

/* `size` bytes, zeroed, that begin with a wait. NULL: memory. */
wait *wait_new(dibs_client *c, const wait_kind *kind, size_t size);
wait *wait_free(wait *w);          /* one that no longer is, or never was, under way */

/* Waits for the end. Answers w->status; `w` is still the caller's. Mutex not held. Behind it
 * the client may be gone, unless the caller has pinned it. */
dibs_status wait_blocking(wait *w, const wait_plan *plan, const wait_question *q);
/* Begins; owns `w` in any case. DIBS_OK: tell() will run once. Mutex not held. */
dibs_status wait_async(wait *w, const wait_plan *plan, const wait_question *q,
                       dibs_request **ret_request);

/* Observes until wait_stop(). On a fault `w` is still the caller's. Mutex not held. */
dibs_status wait_start(wait *w, const wait_question *q);
/* tell() runs soon; once, when it has not run since the last wait_tell(). Mutex held. */
void wait_tell(wait *w);
/* No tell() comes any more; one that runs now is waited for, except in itself. Frees `w`
 * (in its own tell(): as soon as that returns). Mutex not held; before dibs_close(). */
void wait_stop(wait *w);

/* The next question at `at` at the latest; mutex held; outside of look() drive_settle()
 * must follow. */
void wait_look_at(wait *w, instant at);

/* ---- for client.c, effects.c, lock.c ---- */
void wait_observed(dibs_client *c, const effect *e);
void wait_cancelled(dibs_client *c, const dibs_canceller *canceller);
dibs_status wait_request_cancel(dibs_request *request);
/* The client is being closed, mutex held: whoever waits still is told DIBS_ERR_CLOSED. */
void waits_end(dibs_client *c);
void waits_free(dibs_client *c);

#endif

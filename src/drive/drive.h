/* SPDX-License-Identifier: MIT */
/* drive - the only room with sockets, clocks, threads, name resolution and TLS.
 *
 * Owns the client's mutex, the engine behind it, the descriptors, the threads dibs-io and
 * dibs-callback. May include engine/ and what is below it, topo/ for the address. Knows
 * nothing of handles and options; what the engine decides goes to a handler in api/.
 *
 * Descriptors: `main` (epoll) holds the wake eventfd, a timerfd and a second epoll `links`
 * with the sockets and cancellers. Whoever reads sockets sleeps on `links`: the thread
 * dibs-io through `main`, or the leader, one of the blocked callers, who meanwhile hides
 * `links` from dibs-io. So one thread that locks and releases meets no other thread. With
 * many blocked callers dibs-io reads for all: a leader would have to pass the role on with
 * each answer of its own.
 *
 * Invariants: no user code runs with the mutex held; leadership never stays with a call
 * that has ended; every input to the engine is followed by drive_settle(); the timer is
 * never set later than the engine's deadline. */
#ifndef DRIVE_H
#define DRIVE_H

#include <dibs/lock.h>

#include <pthread.h>

#include "engine/engine.h"
#include "topo/topo.h"

typedef struct drive drive;

/* Runs with the mutex held; must not call back into user code. */
typedef struct drive_handler {
  void *owner;
  void (*effect)(void *owner, const effect *e);    /* owns e->reply from now on */
  void (*cancelled)(void *owner, const dibs_canceller *canceller);
  void (*alarm)(void *owner);      /* the time of drive_alarm() has come */
} drive_handler;

typedef struct drive_settings {
  engine_settings engine;     /* its deployment outlives the drive */
  bool has_thread;            /* false: DIBS_CLIENT_NO_THREAD */
  bool has_callback_thread;   /* false: callbacks run in drive_process() */
  drive_handler handler;
} drive_settings;

/* Opens descriptors, starts dibs-io. `why` gets words for people on a fault:
 * DIBS_ERR_TLS, DIBS_ERR_SYSTEM, DIBS_ERR_NO_MEMORY. */
dibs_status drive_new(const drive_settings *settings, drive **ret_drive, text *why);
/* Stops the threads (pending callbacks run first) and frees. Mutex not held. In a forked
 * child it touches neither threads nor mutex and only frees. */
drive *drive_free(drive *d);

/* ---- the machine ---- */

instant drive_now(void);                        /* CLOCK_BOOTTIME */
int64_t drive_wall_us(void);                    /* CLOCK_REALTIME, since 1970 */
bool drive_random(void *ret_bytes, size_t size);     /* fit for ids; false: there is none */
uint64_t drive_thread(void);                    /* of the caller; from 1, never used again */
void drive_yield(void);                         /* other threads first */
int64_t drive_process_id(void);
void drive_host(char *ret_name, size_t size);   /* cut where it is longer; may be "" */

/* One command on a connection of its own, for servers that the engine has no route to.
 * Blocks, at most `limit` for each step. An error reply is a status; TLS is
 * DIBS_ERR_UNSUPPORTED. Mutex not held. */
dibs_status drive_ask_once(const memory *m, const server_url *url, const buffer *command,
                           span limit, resp_reply **ret_reply);

/* ---- in and out ---- */

bool drive_is_forked(const drive *d);           /* this process is a child of its maker */
/* And if so, nobody was in the middle of anything when it was made: it may be freed. */
bool drive_is_whole(const drive *d);
void drive_lock(drive *d);
void drive_unlock(drive *d);                    /* and wakes those who are done */
engine *drive_engine(drive *d);
/* For people: the server that answered or failed last, before that one of those that were
 * named. Mutex held; borrowed until it is released. */
const char *drive_node(const drive *d);
/* Runs handler.alarm once, at this time or a little later; only the last call counts.
 * INSTANT_NEVER: not at all. Mutex held. */
void drive_alarm(drive *d, instant at);
/* Hands out all effects, sends what can be sent, sets the timer. Mutex held. While a reader
 * of sockets is awake, sending is left to it: so commands of many threads go together. */
void drive_settle(drive *d);

/* ---- blocking calls: a waiter, made done by the handler ---- */

typedef struct drive_waiter {
  _Atomic uint32_t word;               /* 0: sleeps; a futex */
  bool is_done;
  bool is_to_wake, is_being_woken;     /* in the list of drive_unlock(); taken from it */
  struct drive_waiter *previous, *next, *next_to_wake;
} drive_waiter;

void drive_waiter_init(drive_waiter *w);
void drive_waiter_done(drive *d, drive_waiter *w);      /* mutex held */
/* Settles, and waits until `w` is done or `until`; answers whether it is done. Mutex held
 * on entry and return, not meanwhile. */
bool drive_wait(drive *d, drive_waiter *w, instant until);
/* As engine_close(), and waits for its end. Mutex held. */
void drive_close(drive *d, instant until);

/* ---- callbacks: user code, run later on dibs-callback or in drive_process() ---- */

typedef struct drive_job {
  struct drive_job *next;
  void (*run)(struct drive_job *job);       /* mutex not held */
  void (*finish)(struct drive_job *job);    /* mutex held; may free the job */
} drive_job;

/* Makes sure that jobs will run; to be called before work that ends in one. */
dibs_status drive_callbacks_prepare(drive *d);
void drive_call_later(drive *d, drive_job *job);             /* mutex held; cannot fail */
bool drive_call_withdraw(drive *d, drive_job *job);          /* false: it runs or has run */
void drive_callbacks_run(drive *d);       /* mutex held; in this thread; those there are now */
/* The innermost job that this thread runs now; NULL: none. */
const drive_job *drive_running_job(void);
static inline bool drive_is_in_callback(void) { return drive_running_job() != NULL; }

/* ---- a loop of the program's own ---- */

int drive_fd(const drive *d);
int64_t drive_process(drive *d);

/* ---- cancellers ---- */

dibs_status drive_watch(drive *d, dibs_canceller *canceller);     /* mutex held; counted */
void drive_unwatch(drive *d, dibs_canceller *canceller);
bool canceller_has_fired(const dibs_canceller *canceller);

#endif

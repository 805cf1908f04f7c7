/* SPDX-License-Identifier: MIT */
/* drive - the only module with sockets, clocks, threads, name resolution and TLS.
 *
 * It owns the client's mutex, the engine that the mutex protects, the descriptors, and the
 * threads dibs-io and dibs-callback. May include engine/ and lower modules. It does not
 * know handles and options; effects of the engine go to a handler in api/.
 *
 * Descriptors: `main` (epoll) has the wake eventfd, a timerfd and a second epoll set
 * `links` with the sockets and cancellers. The reader of the sockets sleeps on `links`:
 * the thread dibs-io through `main`, or the leader, which is one of the blocked callers
 * and hides `links` from dibs-io meanwhile. So a single thread that locks and releases
 * never switches threads. With many blocked callers, dibs-io reads for all: a leader would
 * have to pass on its role after each reply of its own.
 *
 * Threads: dibs-io also renews while there are no calls. dibs-callback starts with the first
 * callback. dibs-resolve lives for one name resolution, so that a slow name server delays no
 * renewal; literal addresses and sockets need none. dibs-files reads certificates or a password
 * again that a server has refused, as a disk can hang. DIBS_CLIENT_NO_THREAD has none of them:
 * blocking calls run the loop, renewals happen in them and in drive_process(). Of the program's
 * own loop drive_fd() is the one descriptor, constant until the end. No signal handlers, no
 * SIGPIPE; every descriptor is close-on-exec; after fork() nothing is sent.
 *
 * A lock or release that finds the mutex taken is begun by the thread that has it, and returns
 * without the mutex when it is finished (drive_call()), so that threads sleep for replies only.
 *
 * Calls that dibs-io wakes together also send together: a call leaves its commands to the next
 * ones of the batch, up to a half of them, or eight. The last of the batch sends what is left, and
 * dibs-io comes back after 1 ms for the case that a woken thread does not run.
 *
 * Invariants: no user code runs with the mutex held; a call that has ended is not the
 * leader; every input to the engine is followed by drive_flush(); the timer is never set
 * later than the engine's deadline, or than 1 ms from now. */
#ifndef DRIVE_H
#define DRIVE_H

#include <dibs/lock.h>

#include <pthread.h>

#include "engine/engine.h"
#include "topo/topo.h"

typedef struct drive drive;

typedef dibs_status password_reader(const memory *m, const char *file, password_place place,
                                    char **ret_password, text *why);

/* Its functions run with the mutex held and must not call user code. */
typedef struct drive_handler {
  void *owner;
  void (*effect)(void *owner, const effect *e);    /* the handler owns e->reply */
  void (*cancelled)(void *owner, const dibs_canceller *canceller);
  void (*alarm)(void *owner);      /* the time of drive_alarm() has passed */
  /* In a child just made by fork(): closes what would keep locks of a killed parent. May call
   * only what a signal handler may. */
  void (*forked)(void *owner);
  /* A server has refused a password that is in a file. Reads it again: on any thread, without the
   * mutex, and may block. On a fault `why` has the reason. */
  password_reader *password_read;
  /* The password that is there now. */
  void (*password)(void *owner, const char *file, password_place place, const char *password);
} drive_handler;

typedef struct drive_settings {
  engine_settings engine;     /* its deployment must outlive the drive */
  bool has_thread;            /* false: DIBS_CLIENT_NO_THREAD */
  bool has_callback_thread;   /* false: callbacks run in drive_process() */
  drive_handler handler;
} drive_settings;

/* Whether this process may open a client: not without CLOCK_BOOTTIME (DIBS_ERR_SYSTEM), and not
 * linked with the simulator and outside of it (DIBS_ERR_CONFIG). After a fault `why` has a
 * message. */
dibs_status drive_may_open(text *why);
/* Opens descriptors, starts dibs-io. After a fault `why` has a message: DIBS_ERR_TLS,
 * DIBS_ERR_SYSTEM, DIBS_ERR_NO_MEMORY. */
dibs_status drive_new(const drive_settings *settings, drive **ret_drive, text *why);
/* Mutex held: from now on handler.effect and handler.alarm are not called any more, whatever a
 * thread has read that waits for the mutex: the handler has ended what the engine still has.
 * Jobs run on; drive_stop() follows. */
void drive_end_effects(drive *d);
/* Stops the threads after the pending callbacks. Mutex not held; not in a forked child, but a
 * callback may make one, which returns, too. */
void drive_stop(drive *d);
/* Calls drive_stop() and frees. In a forked child it only frees, without threads and mutex. */
drive *drive_free(drive *d);

/* ---- the machine: clocks, random numbers, ids ---- */

instant drive_now(void);                        /* CLOCK_BOOTTIME */
int64_t drive_wall_us(void);                    /* CLOCK_REALTIME, since 1970 */
bool drive_random(void *ret_bytes, size_t size);     /* suitable for ids; false: not available */
uint64_t drive_thread(void);                    /* of the caller; from 1, never reused */
void drive_nap(void);                           /* a millisecond, in which other threads run */
/* A public call of this thread, which cannot be cancelled there. A call in it is in a callback of
 * the program, or in a signal handler. */
void drive_enter_call(void);
void drive_leave_call(void);
bool drive_is_in_call(void);
/* Around a callback of the program that a call runs; takes what the other returned. */
int drive_enter_callback(void);
void drive_leave_callback(int before);
/* In a call, and in no callback of it: a call that begins now is in a signal handler (or in the
 * program's allocator). It must not wait for the interrupted one, nor use malloc(). */
bool drive_is_busy(void);
int64_t drive_process_id(void);
void drive_host(char *ret_name, size_t size);   /* truncated to `size`; may be "" */

/* Sends one command on its own connection, to a server without a route in the engine.
 * Blocks at most `limit` for each address of the host, and `limit` for the reply, beside what the
 * name service takes. An error reply is a status; TLS is DIBS_ERR_UNSUPPORTED. Mutex not held. */
dibs_status drive_ask_once(const memory *m, const server_url *url, const buffer *command,
                           span limit, resp_reply **ret_reply);

/* ---- mutex and inputs ---- */

bool drive_is_forked(const drive *d);           /* this process is a child of the creator */
/* In a forked child: no thread was using it during the fork, so it may be freed. */
bool drive_is_whole(const drive *d);
void drive_lock(drive *d);
void drive_unlock(drive *d);                    /* then wakes finished waiters */
engine *drive_engine(drive *d);
/* For people: the server that replied or failed last; before that, one from the URL. Mutex
 * held; borrowed until it is released. */
const char *drive_node(const drive *d);
/* Runs handler.alarm once, at this time or soon after; a new call replaces the time.
 * INSTANT_NEVER: not at all. Mutex held. */
void drive_alarm(drive *d, instant at);
/* Delivers all effects, sends output, sets the timer. Mutex held. While a reader of
 * sockets is awake, it does the sending, so commands of several threads share a packet. */
void drive_flush(drive *d);

/* ---- blocking calls: a waiter, finished by the handler ---- */

typedef struct drive_waiter {
  _Atomic uint32_t word;               /* 0: sleeps; a futex */
  bool is_done;
  bool returns_alone;                  /* of drive_call() */
  bool is_joined;                      /* in the list of blocked calls */
  uint32_t wake_word;                  /* what `word` becomes */
  bool is_to_wake, is_being_woken;     /* in the list of drive_unlock(); removed from it */
  struct drive_waiter *previous, *next, *next_to_wake;
} drive_waiter;

void drive_waiter_init(drive_waiter *w);
void drive_waiter_done(drive *d, drive_waiter *w);      /* mutex held */
/* Calls drive_flush(), then waits until `w` is done or `until`; returns whether it is
 * done. Mutex held on entry and return, released while waiting. */
bool drive_wait(drive *d, drive_waiter *w, instant until);
/* A call that any thread may begin. */
typedef struct drive_op {
  drive_waiter waiter;
  struct drive_op *next;
  bool has_run;
  void (*run)(struct drive_op *op);    /* mutex held; may call drive_waiter_done() */
} drive_op;

/* Runs `op->run` in this thread or in the one that has the mutex, and waits until its waiter
 * is done or `until`. Mutex not held on entry. true: it is done; the mutex is not held, and
 * nothing refers to `op`. false: it is not done, and the mutex is held. The
 * function that finishes the waiter writes the result first, where no mutex is needed to read
 * it. */
bool drive_call(drive *d, drive_op *op, instant until);
/* Calls engine_close() and waits until it has finished. Mutex held. */
void drive_close(drive *d, instant until);

/* ---- callbacks: user code, run later on dibs-callback or in drive_process() ---- */

typedef struct drive_job {
  struct drive_job *next;
  void (*run)(struct drive_job *job);       /* mutex not held */
  void (*finish)(struct drive_job *job);    /* mutex held; may free the job */
  bool is_queued;                           /* then it must not be queued again; jobs.h */
} drive_job;

/* What to look at when a thread is refused; follows its name. */
#define THREAD_REFUSED \
  " cannot be started: too many processes, or no memory for its stack; see the limits of this " \
  "process (ulimit -u, ulimit -v) and of its container (pids.max)"

/* Makes sure that jobs can run; call it before an operation that ends with a job.
 * DIBS_ERR_SYSTEM: the thread dibs-callback is refused. */
dibs_status drive_callbacks_prepare(drive *d);
void drive_call_later(drive *d, drive_job *job);             /* mutex held; cannot fail */
bool drive_call_withdraw(drive *d, drive_job *job);          /* false: it runs or has run */
/* Mutex held; runs the present jobs in this thread, and some of those that they add. false: this
 * is a child that one of them made by fork(), and the mutex is not held. */
bool drive_callbacks_run(drive *d);
/* The innermost job that this thread is running; NULL: none. */
const drive_job *drive_running_job(void);
static inline bool drive_is_in_callback(void) { return drive_running_job() != NULL; }

/* ---- for the program's own loop ---- */

int drive_fd(const drive *d);
int drive_show_fd(drive *d);         /* the same: the program gets it, and may watch it */
/* -1 in a child that a callback made by fork(). */
int64_t drive_process(drive *d);

/* ---- cancellers ---- */

dibs_status drive_watch(drive *d, dibs_canceller *canceller);     /* mutex held; counted */
void drive_unwatch(drive *d, dibs_canceller *canceller);
bool canceller_has_fired(const dibs_canceller *canceller);

#endif

/* SPDX-License-Identifier: MIT */
/* test/lib/live.h - what the tests of the finished library share: clients of a test
 * server, locks in the background, losses, and waiting for an effect.
 *
 * Functions with assert in their description fail the running cmocka test and so belong
 * into its thread only; other threads call live_fault() and the test asks live_faults(). */
#ifndef TEST_LIVE_H
#define TEST_LIVE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <dibs/dibs.h>

#include "promise.h"
#include "proxy.h"
#include "server.h"
#include "take.h"

enum { LIVE_LONG_MS = 15000 };    /* how long an effect may take that surely comes */

int64_t live_now_us(void);        /* CLOCK_BOOTTIME, as the library */
int64_t live_now_ms(void);
int64_t live_process(dibs_client *client);       /* dibs_process(), which must not fail */
int64_t live_wall_us(void);       /* the servers' clock: they run on this machine */

/* `count` times DIBS_TEST_SCALE, which may be a fraction; at least 1. */
long live_times(double count);

/* Sorts in place; the median. */
int64_t live_median(int64_t *values, size_t count);
int64_t live_max(const int64_t *values, size_t count);

/* Looks every millisecond until `is_so`; false: not within `limit_ms`. Any thread. */
bool live_until(int limit_ms, bool (*is_so)(void *data), void *data);

/* ---- faults seen by other threads ---- */

void live_fault(const char *format, ...) __attribute__((format(printf, 1, 2)));
int live_faults(void);            /* since the start of the program */

/* ---- clients and holds ---- */

/* Assert. Short timeouts unless `options` says otherwise: 1 s to connect, 500 ms for an
 * answer. */
dibs_client *live_open(const char *url);
dibs_client *live_open_with(const char *url, const dibs_options *options);
dibs_options live_options(void);

dibs_lock_options live_lock_options(int ttl_ms, int wait_ms);

/* Assert: the lock is had. */
dibs_hold *live_lock(dibs_client *client, const char *name, int ttl_ms);
dibs_hold *live_lock_with(dibs_client *client, const char *name,
                          const dibs_lock_options *options);
/* What a try says; a lock that was had is given back. Any thread. */
dibs_status live_try(dibs_client *client, const char *name);
/* Assert: within `limit_ms` a try succeeds. */
void live_expect_free(dibs_client *client, const char *name, int limit_ms);
/* Assert the status, and show the client's last error where it differs. */
void live_expect(dibs_client *client, dibs_status got, dibs_status wanted);
void live_expect_ok(dibs_status got);
/* Assert: somebody else has it, or had it later, so that the answer is `wanted`, as DIBS_BUSY,
 * DIBS_TIMED_OUT or DIBS_FENCED. DIBS_OK is a broken promise. Not for what a lease of less
 * than some seconds keeps out: that one is `beside` a hold, which must not be valid then. */
#define live_expect_refused(client, got, wanted) \
  live_expect_refused_at((client), (got), (wanted), #got, PROMISE_HERE)
#define live_refused(got, wanted) live_refused_at((got), (wanted), #got, PROMISE_HERE)
#define live_refused_beside(hold, got, wanted) \
  live_refused_beside_at((hold), (got), (wanted), #got, PROMISE_HERE)
void live_expect_refused_at(dibs_client *client, dibs_status got, dibs_status wanted,
                            const char *what, const char *where);
void live_refused_at(dibs_status got, dibs_status wanted, const char *what, const char *where);
void live_refused_beside_at(dibs_hold *hold, dibs_status got, dibs_status wanted,
                            const char *what, const char *where);
/* Assert: the last error of `client` has `word` in its text, and none has `secret`. */
void live_expect_words(dibs_client *client, const char *word);

dibs_client_info live_stats(dibs_client *client);
/* Zero, with DIBS_HOLD_GONE, of a hold that is none. */
dibs_hold_info live_info(const dibs_hold *hold);

/* ---- a lock asked for in the background ---- */

struct live_ask {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  dibs_request *request;
  dibs_hold *hold;
  dibs_status status;
  int64_t ended_at_ms;
  int callbacks;                  /* must become 1, and stay so */
};

/* For a request that the test makes itself. */
void live_ask_init(struct live_ask *a);
/* Assert: it is begun. */
void live_ask_begin(struct live_ask *a, dibs_client *client, const char *name,
                    const dibs_lock_options *options);
/* The same to read ('r') or write ('w'), or for '1' to '9' permits. */
void live_ask_begin_as(struct live_ask *a, dibs_client *client, char mode, const char *name,
                       const dibs_lock_options *options);
void live_ask_begin_many(struct live_ask *a, dibs_client *client, const char *const *names,
                         size_t count, const dibs_lock_options *options);
void live_ask_begin_target(struct live_ask *a, dibs_client *client, const dibs_target *target,
                           const dibs_lock_options *options);
/* Whether it ended within `limit_ms`; then a->status is its outcome. Any thread. */
bool live_ask_wait(struct live_ask *a, int limit_ms);
bool live_ask_is_over(struct live_ask *a);
/* Assert: it does not end within `limit_ms` (0: is not over), as others have the name, or are
 * before it. That it is granted is a broken promise. */
#define live_still_waits(a, limit_ms) live_still_waits_at((a), (limit_ms), PROMISE_HERE)
void live_still_waits_at(struct live_ask *a, int limit_ms, const char *where);
/* Assert: granted within `limit_ms`. */
dibs_hold *live_ask_granted(struct live_ask *a, int limit_ms);

/* ---- waits by callback: give live_note_ending and one of these ---- */

struct live_ending {
  _Atomic int callbacks, status;
  dibs_client *client;            /* for callbacks that call back */
};

void live_note_ending(const dibs_error *error, void *ending);
bool live_has_ended(void *ending);               /* for live_until() */
/* Assert: it ended so, once. */
void live_expect_ending(struct live_ending *e, dibs_status status);

/* ---- losses: live_report_loss() gives live_on_lost and one of these to the options ---- */

struct live_loss {
  _Atomic int count;
  _Atomic int why;
  _Atomic int64_t at_us;          /* by the wall clock */
  _Atomic uint64_t fence;         /* of the last hold: told twice is a broken promise */
};

void live_on_lost(dibs_hold *hold, const dibs_loss *loss, void *live_loss);
void live_report_loss(dibs_lock_options *o, struct live_loss *loss);
bool live_loss_wait(struct live_loss *loss, int limit_ms);

/* ---- events of a client: give live_on_event and one of these to dibs_options ---- */

struct live_events {
  _Atomic int counts[8];          /* by kind */
  pthread_mutex_t mutex;
  char warning[512];              /* the text of the last one */
};

void live_on_event(const dibs_event *event, void *events);

/* ---- one server for all tests of a file: group setup and teardown ----
 *
 * Or one deployment: DIBS_TEST_DEPLOYMENT=replicated, sentinel, cluster or quorum starts
 * that one instead, and the same tests run there. live_place.c says what live_server is. */

enum live_place { LIVE_ONE, LIVE_REPLICATED, LIVE_SENTINEL, LIVE_CLUSTER, LIVE_QUORUM };

extern struct test_server *live_server;
int live_server_setup(void **state);
int live_server_teardown(void **state);
enum live_place live_place(void);
const char *live_url(void);       /* for clients */
const char *live_other_url(void); /* the same place by TCP, where there are two ways */
/* Through a proxy in front of the one server. A deployment has none: there as live_url(). */
const char *live_url_by(const struct test_proxy *proxy);
const char *live_tcp_url_by(const struct test_proxy *proxy);
/* Those that have keys: one; in a cluster its primaries, in a quorum all. */
int live_server_count(void);
const struct test_server *live_server_at(int which);
/* The same command to each of them, whatever it answers: disturbances. */
void live_tell_all(const char *command);

/* In main(): true, and the program is reported as skipped, in a deployment that comes after
 * `last`: the messages of deadlocks are not for a cluster, say. */
bool live_is_beyond(enum live_place last);
/* The same with ThreadSanitizer, for a program that forks beside threads: it takes those of the
 * parent for running in the child, and meets their ids twice. */
bool live_is_lost_to_tsan(void);
/* At the beginning of a test, before it has clients or threads: ends it as skipped, and says
 * why, where the deployment is not for it. */
void live_needs_one_server(void); /* it restarts, stops or slows it, or has a proxy */
void live_needs_one_view(void);   /* it counts keys, clients or commands: not in a cluster */
void live_needs_keys(void);       /* it uses a lock's key, or what no quorum has: not there */
/* What the library answered to the first call of its kind: not where it is UNSUPPORTED. */
void live_needs_answer(dibs_status answer);

/* ---- the server's view ---- */

/* Whether live_server has SET with IFEQ: uncontended releases are by it (protocol.md 23). */
bool live_has_ifeq(void);
/* "dibs:m:{name}", in one of eight static buffers of the thread. */
const char *live_key(const char *name);
/* Given live_server, all of these look at each server that has keys. */
/* When the lease of `name` ends, by the wall clock in microseconds; 0: free. */
int64_t live_lease_end_us(const struct test_server *s, const char *name);
/* Assert: within LIVE_LONG_MS `count` clients wait for `name`. */
void live_expect_waiters(const struct test_server *s, const char *name, int count);
/* Assert: each key is one of a free lock and has a TTL; nobody is subscribed. To be
 * called when all clients are closed. */
void live_expect_clean(const struct test_server *s);
/* dibs_hold_detach(); what names the client until that lease ends is then no leftover. */
dibs_status live_detach(dibs_hold *hold);
/* The same where clients were closed while disconnected, or killed: their presence may
 * stay for as long as its TTL, three heartbeats at the most. */
void live_expect_clean_but_presence(const struct test_server *s);

#endif

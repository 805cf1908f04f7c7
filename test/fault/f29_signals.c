/* SPDX-License-Identifier: MIT */
/* test/fault/f29_signals.c - every system call of the program's threads is interrupted, again
 * and again, and nobody can tell from the outcomes. And callbacks that call what they must
 * not: they are told so, nothing hangs, and the client can be closed. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "child.h"

enum { TTL_MS = 600 };

static char url[128];

struct job { int ms; uint32_t flags; };

/* ---- a storm ---- */

static _Atomic int64_t signals;

static void on_signal(int number)
{
  (void)number;
  (void)atomic_fetch_add(&signals, 1);
}

static void storm_begin(void)
{
  struct sigaction action = { .sa_handler = on_signal };     /* no SA_RESTART */
  struct itimerval every = { .it_interval = { 0, 1000 }, .it_value = { 0, 1000 } };

  (void)sigaction(SIGALRM, &action, NULL);
  (void)setitimer(ITIMER_REAL, &every, NULL);
}

static void expect_ok(struct child *self, const char *what, dibs_client *client,
                      dibs_status status)
{
  dibs_error error = DIBS_ERROR_INIT;

  if (status == DIBS_OK)
    return;
  (void)dibs_client_error(client, 0, &error);
  (void)child_check(self, false, "%s: %s, %s", what, dibs_status_name(status), error.text);
}

static int64_t waits, late_waits;
static const char *taken_name;          /* each child its own, for all of its time */

/* A wait that ends by its own time, to the millisecond, whatever interrupts it. Who is
 * interrupted so often gets less than its share of a busy machine: so a few may be late. */
static void time_out(struct child *self, dibs_client *client)
{
  dibs_lock_options o = child_lock_options(TTL_MS, 40);
  struct child_time begun = child_time();
  dibs_hold *hold = NULL;
  dibs_status status = dibs_lock(client, taken_name, &o, &hold);

  if (status == DIBS_UNKNOWN)             /* a busy machine: not even an answer in 40 ms */
    return;
  (void)child_check(self, status == DIBS_TIMED_OUT, "a taken lock: %s",
                    dibs_status_name(status));
  child_mark(self, "waits ended by their time", 1);
  (void)child_check(self, child_now_ms() - begun.at_ms >= 39, "timed out too early");
  (void)child_check_time(self, "a wait of 40 ms", begun, 40 + 450);
  waits++;
  late_waits += child_now_ms() - begun.at_ms > 40 + 50;
}

static void one_cycle(struct child *self, dibs_client *client)
{
  dibs_lock_options o = child_lock_options(TTL_MS, 10000);
  dibs_hold *hold = NULL, *many = NULL;
  const char *names[] = { "storm-1", "storm-2" };
  dibs_status status;
  int64_t slack;

  expect_ok(self, "a lock in the storm", client, dibs_lock(client, "storm-0", &o, &hold));
  expect_ok(self, "a set in the storm", client,
            acquire_names(client, names, 2, &o, &many));
  slack = child_machine_slack_ms();      /* where leases may be lost */
  if (hold != NULL && slack == 0)
    (void)child_check(self, dibs_hold_state(hold) == DIBS_HOLD_HELD, "not held any more");
  status = dibs_release(many);
  expect_ok(self, "its release", client, slack == 0 ? status : DIBS_OK);
  status = dibs_release(hold);
  expect_ok(self, "a release in the storm", client, slack == 0 ? status : DIBS_OK);
  expect_ok(self, "a ping in the storm", client, dibs_ping(client, 1000, NULL));
}

static void be_stormed(struct child *self, void *data)
{
  const struct job *job = data;
  dibs_options options = DIBS_OPTIONS_INIT;
  dibs_client *other = child_open(self, url, NULL), *client;
  dibs_hold *taken;
  int64_t until, cycles = 0;

  taken_name = job->flags == 0 ? "taken" : "taken without a thread";
  taken = child_lock(self, other, taken_name, 30000);
  storm_begin();                          /* also while it opens and closes */
  options.flags = job->flags;
  client = child_open(self, url, &options);
  for (until = child_now_ms() + job->ms; child_now_ms() < until; cycles++) {
    one_cycle(self, client);
    time_out(self, client);
  }
  (void)child_check(self, late_waits <= waits / 10 + 1 || child_machine_slack_ms() != 0,
                    "%lld of %lld waits ended late", (long long)late_waits, (long long)waits);
  client = dibs_close(client);
  expect_ok(self, "the other's release", other, dibs_release(taken));
  other = dibs_close(other);
  child_mark(self, "cycles in a storm", cycles);
  child_mark(self, "signals", atomic_load(&signals));
}

static void run_storm(struct world *w, const struct scale *scale)
{
  struct job jobs[] = { { (int)(scale->seconds * 450), 0 },
                        { (int)(scale->seconds * 450), DIBS_CLIENT_NO_THREAD } };
  struct plan plan = PLAN_INIT;
  struct child *children[2];

  for (int i = 0; i < 3; i++) {
    char name[] = "storm-0";

    name[6] = (char)('0' + i);
    (void)world_lock(w, 'm', name, 0);
  }
  (void)snprintf(url, sizeof(url), "%s", test_server_url(world_server(w)));
  plan.ttl_ms = TTL_MS;
  plan.many_percent = 20;
  (void)world_hire(w, &plan, 2);          /* so that there is something to wait for */
  world_demand(w, "cycles in a storm", (int64_t)(scale->seconds * 4));
  world_demand(w, "waits ended by their time", (int64_t)scale->seconds);
  world_demand(w, "signals", (int64_t)(scale->seconds * 100));
  for (int i = 0; i < 2; i++)
    children[i] = child_start(w, be_stormed, &jobs[i]);
  for (int i = 0; i < 2; i++)
    children[i] = child_end(children[i], jobs[i].ms + 30000);
}

/* ---- callbacks ---- */

struct meeting {
  struct child *self;
  dibs_client *client;
  _Atomic int misuses, ends;
};

static void on_released(const dibs_error *error, void *data)
{
  struct meeting *m = data;

  (void)child_check(m->self, error->status == DIBS_OK || error->status == DIBS_ERR_CLOSED,
                    "a release from a callback: %s", dibs_status_name(error->status));
}

/* Everything that blocks, from the thread that must not. */
static void misuse(struct meeting *m)
{
  struct child_time begun = child_time();
  dibs_client *again = NULL;
  dibs_hold *hold = NULL;
  dibs_inspection *seen = NULL;

  (void)child_check(m->self, dibs_close(m->client) == m->client, "closed from a callback");
  (void)child_check(m->self, dibs_lock(m->client, "any", NULL, &hold) == DIBS_ERR_WOULD_BLOCK,
                    "a lock in a callback");
  (void)child_check(m->self, dibs_ping(m->client, 100, NULL) == DIBS_ERR_WOULD_BLOCK,
                    "a ping in a callback");
  (void)child_check(m->self,
                    dibs_inspect(m->client, dibs_text("any"), &seen) == DIBS_ERR_WOULD_BLOCK,
                    "an inspection in a callback");
  (void)child_check(m->self, dibs_open(url, NULL, &again, NULL) == DIBS_ERR_WOULD_BLOCK,
                    "an opening in a callback");
  (void)child_check_time(m->self, "five misuses", begun, 50);
  (void)atomic_fetch_add(&m->misuses, 1);
}

static void on_lock(const dibs_error *error, dibs_hold *hold, void *data)
{
  struct meeting *m = data;

  (void)atomic_fetch_add(&m->ends, 1);
  if (error->status == DIBS_OK) {
    misuse(m);
    (void)dibs_release_async(hold, on_released, m);
  }
}

static void *close_it(void *data)
{
  struct meeting *m = data;

  m->client = dibs_close(m->client);
  return NULL;
}

/* Closed by another thread while callbacks run and misuse it. */
static void one_meeting(struct child *self)
{
  static struct meeting m;
  struct child_time begun;
  pthread_t closer;
  int begun_asks = 0;
  char name[24];

  m = (struct meeting){ .self = self };
  m.client = child_open(self, url, NULL);
  for (int i = 0; i < 40; i++) {
    (void)snprintf(name, sizeof(name), "meeting-%d", i % 8);
    begun_asks += dibs_lock_async(m.client, name, NULL, on_lock, &m, NULL) == DIBS_OK;
  }
  for (int i = 0; i < 2000 && atomic_load(&m.misuses) < 5; i++)
    child_sleep_ms(1);
  begun = child_time();
  (void)pthread_create(&closer, NULL, close_it, &m);
  (void)pthread_join(closer, NULL);
  (void)child_check_time(self, "a close while callbacks run", begun, 1000);
  (void)child_check(self, atomic_load(&m.ends) == begun_asks, "%d of %d asks ended",
                    atomic_load(&m.ends), begun_asks);
  child_mark(self, "misuses in callbacks", atomic_load(&m.misuses));
}

static void be_misused(struct child *self, void *data)
{
  int64_t until = child_now_ms() + *(int *)data;
  long fds = child_fds(), threads = child_threads_settled();

  do {
    one_meeting(self);
  } while (child_now_ms() < until);
  (void)child_check(self, child_fds() == fds, "%ld descriptors, before %ld", child_fds(), fds);
  (void)child_check(self, child_threads_settled() == threads, "%ld threads, before %ld",
                    child_threads_settled(), threads);
}

static void run_callbacks(struct world *w, const struct scale *scale)
{
  int ms = (int)(scale->seconds * 400);
  struct child *c;

  (void)world_lock(w, 'm', "meeting-0", 0);
  child_bystanders(w);
  (void)snprintf(url, sizeof(url), "%s", test_server_url(world_server(w)));
  world_demand(w, "misuses in callbacks", 20);
  c = child_start(w, be_misused, &ms);
  c = child_end(c, ms + 20000);
}

const struct scenario f29_storm = {
  .id = "F29", .name = "a_storm_of_signals_changes_no_outcome", .run = run_storm,
};

const struct scenario f29_callbacks = {
  .id = "F29", .name = "callbacks_that_block_are_refused_and_a_close_beside_them_ends",
  .run = run_callbacks,
};

/* SPDX-License-Identifier: MIT */
/* test/live/long_callback_test.c - a client without a thread, in the loop of one thread and in
 * calls of another: a callback that takes long in dibs_process() does not delay those calls. */
#include "tests.h"

#include <pthread.h>
#include <sched.h>

#include "other_client.h"

enum { TTL_MS = 60000, FIXED_MS = 20000, WARNED_AFTER_MS = 200, WAIT_MS = 700, ROUNDS = 3 };

typedef struct caller {
  dibs_client *client;
  _Atomic bool is_over;
  dibs_status status;
  bool was_in_time;                /* over while the callback ran */
  _Atomic bool is_called;
} caller;

/* Both threads on one processor, from which a batch thread that wakes up takes no other: so the
 * loop reads the timer, for which the call has woken up, too. Where that is not allowed, the test
 * sees less. */
static void stay_on_this_processor(void)
{
  int number = sched_getcpu();
  cpu_set_t set;

  CPU_ZERO(&set);
  CPU_SET(number < 0 ? 0 : (unsigned)number, &set);
  (void)pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static void take_no_processor(void)
{
  struct sched_param none = { .sched_priority = 0 };

  (void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
}

static void *wait_in_vain(void *data)
{
  caller *c = data;
  dibs_lock_options o = live_lock_options(TTL_MS, WAIT_MS);
  dibs_hold *hold;

  take_no_processor();
  c->status = dibs_lock(c->client, "busy", &o, &hold);
  atomic_store(&c->is_over, true);
  return NULL;
}

static bool is_over(void *data)
{
  caller *c = data;

  return atomic_load(&c->is_over);
}

/* It takes as long as the call. */
static void on_change(dibs_hold *hold, const dibs_hold_info *info, dibs_change why, void *data)
{
  caller *c = data;

  (void)hold;
  (void)info;
  if (why != DIBS_CHANGE_ENDS_SOON)
    return;
  c->was_in_time = live_until(LIVE_LONG_MS / 3, is_over, c);
  c->is_called = true;
}

/* The warning is due by the clock, and the timer of the client rings in dibs_process(). */
static void warn_beside_a_call(dibs_client *client)
{
  caller c = { .client = client };
  dibs_lock_options o = live_lock_options(FIXED_MS, 0);
  int64_t end = live_now_ms() + LIVE_LONG_MS;
  dibs_hold *hold;
  pthread_t thread;

  o.flags = DIBS_LOCK_FIXED;
  o.on_change = on_change;
  o.on_change_data = &c;
  o.warn_ms = FIXED_MS - WARNED_AFTER_MS;
  assert_int_equal(pthread_create(&thread, NULL, wait_in_vain, &c), 0);
  live_expect_waiters(live_server, "busy", 1);
  hold = live_lock_with(client, "mine", &o);
  while (!c.is_called && live_now_ms() < end)
    live_expect_ok(dibs_process(client, NULL));
  live_expect_ok(dibs_release(hold));
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_true(c.was_in_time);
  assert_int_equal(c.status, DIBS_TIMED_OUT);
}

TEST(a_call_beside_a_long_callback_ends_in_time)
{
  dibs_options o = live_options();
  dibs_hold *busy = live_lock(other, "busy", TTL_MS);
  dibs_client *client;

  o.flags |= DIBS_CLIENT_NO_THREAD;
  client = live_open_with(live_url(), &o);
  stay_on_this_processor();
  for (int i = 0; i < ROUNDS; i++)
    warn_beside_a_call(client);
  client = dibs_close(client);
  live_expect_ok(dibs_release(busy));
}

RUN_TESTS(setup, teardown)

/* SPDX-License-Identifier: MIT */
/* test/live/shared_client_test.c - 32 threads share one client while its connections are
 * killed again and again. Meant for the sanitizers too. DIBS_TEST_SCALE=10: a thousand
 * kills. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <poll.h>

#include "live.h"

enum { THREADS = 32, NAMES = 16 };

static dibs_client *client;
static _Atomic bool is_over;
static _Atomic int inside[NAMES];
static _Atomic uint64_t last_fence[NAMES];
static _Atomic long grants;

static int setup(void **state)
{
  dibs_options o = live_options();

  (void)live_server_setup(state);
  o.connect_timeout_ms = 10000;
  o.command_timeout_ms = 5000;
  client = live_open_with(live_url(), &o);
  return 0;
}

static int teardown(void **state)
{
  client = dibs_close(client);
  live_expect_clean(live_server);
  return live_server_teardown(state);
}

static void use(dibs_hold *hold, int name, unsigned *seed)
{
  uint64_t fence = dibs_hold_fence(hold);

  promise_kept(atomic_fetch_add(&inside[name], 1) == 0, "two threads have %d", name);
  PROMISE_GROWN(fence, atomic_exchange(&last_fence[name], fence));
  if (rand_r(seed) % 8 == 0)
    (void)poll(NULL, 0, rand_r(seed) % 3);
  (void)dibs_hold_fd(hold);
  if (dibs_hold_state(hold) == DIBS_HOLD_GONE)
    live_fault("%d was lost", name);      /* no kill lasts as long as a lease */
  (void)atomic_fetch_sub(&inside[name], 1);
  (void)atomic_fetch_add(&grants, 1);
}

static void one_turn(unsigned *seed)
{
  int number = (int)(rand_r(seed) % NAMES);
  dibs_lock_options o = live_lock_options(30000, rand_r(seed) % 4 == 0 ? 5 : 0);
  dibs_hold *hold = NULL;
  dibs_status status;
  char name[16];

  (void)snprintf(name, sizeof(name), "name-%d", number);
  status = rand_r(seed) % 4 == 0 ? dibs_try_lock(client, name, &o, &hold)
                                 : dibs_lock(client, name, &o, &hold);
  if (status == DIBS_OK) {
    use(hold, number, seed);
    status = rand_r(seed) % 4 == 0 ? dibs_release_async(hold, NULL, NULL)
                                   : dibs_release(hold);
    if (status != DIBS_OK && status != DIBS_UNKNOWN)
      live_fault("release: %s", dibs_status_name(status));
  } else if (status != DIBS_BUSY && status != DIBS_TIMED_OUT && status != DIBS_UNKNOWN &&
             !(o.wait_ms != DIBS_FOREVER && status == DIBS_ERR_UNREACHABLE)) {
    live_fault("lock: %s", dibs_status_name(status));
  }
}

static void *take_turns(void *number)
{
  unsigned seed = (unsigned)(uintptr_t)number;

  while (!atomic_load(&is_over))
    one_turn(&seed);
  return NULL;
}

static void *look_around(void *data)
{
  (void)data;
  while (!atomic_load(&is_over)) {
    dibs_client_info stats = DIBS_CLIENT_INFO_INIT;
    dibs_error error = DIBS_ERROR_INIT;

    (void)dibs_client_get_info(client, &stats);
    (void)dibs_client_error(client, 0, &error);
    if (dibs_ping(client, 100, NULL) == DIBS_ERR_ARGUMENT)
      live_fault("a ping refused");
  }
  return NULL;
}

TEST(threads_share_a_client_through_disconnects)
{
  pthread_t threads[THREADS];
  long before = 0;

  for (uintptr_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, i == 0 ? look_around : take_turns,
                                    (void *)(i + 1)), 0);
  for (long kill = live_times(100); kill > 0; kill--) {
    live_tell_all("CLIENT KILL TYPE normal SKIPME yes");
    if (kill % 4 == 0)
      live_tell_all("CLIENT KILL TYPE pubsub");
    (void)poll(NULL, 0, 20);
  }
  before = atomic_load(&grants);
  for (int64_t end = live_now_ms() + LIVE_LONG_MS;
       atomic_load(&grants) < before + 1000 && live_now_ms() < end;)
    (void)poll(NULL, 0, 5);
  assert_true(atomic_load(&grants) >= before + 1000);      /* it goes on as before */
  atomic_store(&is_over, true);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_int_equal(live_faults(), 0);
  assert_int_equal(live_stats(client).lost, 0);
}

/* ---- closing under callers ---- */

static _Atomic int closed_calls;

static void *wait_for_ever(void *data)
{
  dibs_lock_options o = live_lock_options(5000, 0);
  dibs_hold *hold = NULL;
  dibs_status status = dibs_lock(data, "held", &o, &hold);

  promise_kept(status != DIBS_OK, "two clients have \"held\"");
  if (status != DIBS_ERR_CLOSED)
    live_fault("ended with %s", dibs_status_name(status));
  (void)atomic_fetch_add(&closed_calls, 1);
  return NULL;
}

static bool all_wait(void *data)
{
  return live_stats(data).waiting == 8;
}

TEST(a_close_ends_the_calls_of_other_threads)
{
  dibs_client *closing = live_open(live_url());
  dibs_hold *held = live_lock(client, "held", 60000);
  pthread_t threads[8];

  for (int i = 0; i < 8; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, wait_for_ever, closing), 0);
  assert_true(live_until(LIVE_LONG_MS, all_wait, closing));
  closing = dibs_close(closing);
  assert_null(closing);
  for (int i = 0; i < 8; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_int_equal(atomic_load(&closed_calls), 8);
  assert_int_equal(live_faults(), 0);
  assert_int_equal(dibs_release(held), DIBS_OK);
}

RUN_TESTS(setup, teardown)

/* SPDX-License-Identifier: MIT */
/* test/live/idle_waiters_test.c - a thousand blocked waiters cost next to nothing. Measured
 * for 3 s; DIBS_TEST_SCALE=20: for a minute. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <poll.h>
#include <time.h>

#include "live.h"

enum { WAITERS = 1000 };

static dibs_client *client, *holder;
static struct live_ask asks[WAITERS];

static int setup(void **state)
{
  (void)live_server_setup(state);
  client = live_open(live_url());
  holder = live_open(live_url());
  return 0;
}

static int teardown(void **state)
{
  client = dibs_close(client);
  holder = dibs_close(holder);
  live_expect_clean(live_server);
  return live_server_teardown(state);
}

static int64_t cpu_us(void)
{
  struct timespec used;

  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (int64_t)used.tv_sec * 1000000 + used.tv_nsec / 1000;
}

TEST(a_thousand_waiters_rest)
{
  dibs_lock_options o = live_lock_options(30000, 0);
  dibs_hold *hold = live_lock(holder, "queue", 600000);
  long span_ms = live_times(3) * 1000;
  uint64_t commands;
  int64_t used_us, end;

  for (int i = 0; i < WAITERS; i++) {
    live_ask_begin(&asks[i], client, "queue", &o);
  }
  live_expect_waiters(live_server, "queue", 1);
  commands = live_stats(client).commands;
  used_us = cpu_us();
  end = live_now_ms() + span_ms;
  while (live_now_ms() < end)
    (void)poll(NULL, 0, (int)span_ms);
  used_us = cpu_us() - used_us;
  commands = live_stats(client).commands - commands;
  /* One command a second, and the safety question of at most one a second. */
  if (commands > (uint64_t)(2 * span_ms / 1000 + 4))
    fail_msg("%llu commands in %ld ms", (unsigned long long)commands, span_ms);
  if (used_us > span_ms * 1000 / 100)
    fail_msg("%lld us of processor time in %ld ms", (long long)used_us, span_ms);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  for (int i = 0; i < WAITERS; i++)
    assert_int_equal(dibs_release(live_ask_granted(&asks[i], LIVE_LONG_MS)), DIBS_OK);
}

static void *wait_blocked(void *data)
{
  dibs_hold *hold = NULL;

  if (dibs_lock(client, "blocked", NULL, &hold) != DIBS_OK || dibs_release(hold) != DIBS_OK)
    live_fault("a blocked waiter failed");
  return data;
}

static bool all_are_blocked(void *data)
{
  (void)data;
  return live_stats(client).waiting == 32;
}

/* Threads in blocking calls, and holds that are renewed, rest just as well. */
TEST(blocked_threads_rest)
{
  dibs_hold *hold = live_lock(holder, "blocked", 600000);
  pthread_t threads[32];
  int64_t used_us, end;

  for (int i = 0; i < 32; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, wait_blocked, NULL), 0);
  assert_true(live_until(LIVE_LONG_MS, all_are_blocked, NULL));
  live_expect_waiters(live_server, "blocked", 1);
  used_us = cpu_us();
  end = live_now_ms() + 2000;
  while (live_now_ms() < end)
    (void)poll(NULL, 0, 2000);
  used_us = cpu_us() - used_us;
  if (used_us > 20000)
    fail_msg("%lld us of processor time in 2 s", (long long)used_us);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  for (int i = 0; i < 32; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_int_equal(live_faults(), 0);
}

RUN_TESTS(setup, teardown)

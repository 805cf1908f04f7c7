/* SPDX-License-Identifier: MIT */
/* test/live/wake_up_test.c - a waiter has the lock within a second of its becoming
 * free, whatever made it free (L2 L3 L11). Many names at once, one holder and one waiter
 * each. DIBS_TEST_SCALE=10: ten thousand runs. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"
#include "stall.h"

enum { NAMES = 50, WAKE_MS = 1000, SLACK_MS = 500 };

struct pair {
  char name[32];
  dibs_hold *hold;
  struct live_ask ask;
};

static dibs_client *holder, *waiter;
static struct pair pairs[NAMES];
static stall_mark lined_up;         /* since then the machine let us wait so long */

static int setup(void **state)
{
  (void)live_server_setup(state);
  stall_watch_start();
  holder = live_open(live_url());
  waiter = live_open(live_other_url());
  return 0;
}

static int teardown(void **state)
{
  holder = dibs_close(holder);
  waiter = dibs_close(waiter);
  live_expect_clean(live_server);
  stall_watch_stop();
  return live_server_teardown(state);
}

/* Each name is held for `ttl_ms`, and one client waits for it. */
static void line_up(int ttl_ms, unsigned flags)
{
  dibs_lock_options wait = live_lock_options(3000, 0), take = live_lock_options(ttl_ms, 0);

  take.flags = flags;
  for (int i = 0; i < NAMES; i++) {
    (void)snprintf(pairs[i].name, sizeof(pairs[i].name), "wake-%d", i);
    pairs[i].hold = live_lock_with(holder, pairs[i].name, &take);
    live_ask_begin(&pairs[i].ask, waiter, pairs[i].name, &wait);
  }
  for (int i = 0; i < NAMES; i++)
    live_expect_waiters(live_server, pairs[i].name, 1);
  lined_up = stall_now();
}

static void expect_woken_in(int64_t free_at_ms, int usual_ms)
{
  int64_t late_ms[NAMES], stalled_ms;

  for (int i = 0; i < NAMES; i++) {
    dibs_hold *hold = live_ask_granted(&pairs[i].ask, LIVE_LONG_MS);

    late_ms[i] = pairs[i].ask.ended_at_ms - free_at_ms;
    assert_int_equal(dibs_release(hold), DIBS_OK);
  }
  stalled_ms = stall_since_ms(&lined_up);
  if (live_max(late_ms, NAMES) > WAKE_MS + SLACK_MS + stalled_ms)
    fail_msg("woken %lld ms late", (long long)live_max(late_ms, NAMES));
  if (live_median(late_ms, NAMES) > usual_ms + stalled_ms)
    fail_msg("usually woken %lld ms late", (long long)live_median(late_ms, NAMES));
}

static void expect_woken(int64_t free_at_ms)
{
  expect_woken_in(free_at_ms, WAKE_MS);
}

TEST(a_release_wakes)
{
  for (long run = live_times(20); run > 0; run--) {
    int64_t begun;

    line_up(60000, 0);
    begun = live_now_ms();
    for (int i = 0; i < NAMES; i++)
      assert_int_equal(dibs_release(pairs[i].hold), DIBS_OK);
    expect_woken_in(begun, 200);      /* by a message: the next poll is 300 ms away */
  }
}

/* The message of the release meets a waiter that is just asking or subscribing. */
TEST(a_release_in_any_moment_of_the_asking_wakes)
{
  dibs_lock_options wait = live_lock_options(3000, 0);

  for (long run = live_times(500); run > 0; run--) {
    dibs_hold *hold = live_lock(holder, "moment", 60000);
    struct live_ask ask;
    int64_t begun, until = live_now_us() + rand() % 1000;

    live_ask_begin(&ask, waiter, "moment", &wait);
    while (live_now_us() < until)
      ;
    begun = live_now_ms();
    assert_int_equal(dibs_release(hold), DIBS_OK);
    hold = live_ask_granted(&ask, LIVE_LONG_MS);
    assert_true(ask.ended_at_ms - begun < WAKE_MS);
    assert_int_equal(dibs_release(hold), DIBS_OK);
  }
}

/* The first waiter of a client, so that its inbox is not even connected. */
TEST(a_release_during_the_first_subscription_wakes)
{
  dibs_lock_options wait = live_lock_options(3000, 0);

  for (long run = live_times(60); run > 0; run--) {
    dibs_client *fresh = live_open(live_url());
    dibs_hold *hold = live_lock(holder, "fresh", 60000);
    struct live_ask ask;
    int64_t begun, until = live_now_us() + rand() % 3000;

    live_ask_begin(&ask, fresh, "fresh", &wait);
    while (live_now_us() < until)
      ;
    begun = live_now_ms();
    assert_int_equal(dibs_release(hold), DIBS_OK);
    hold = live_ask_granted(&ask, LIVE_LONG_MS);
    assert_true(ask.ended_at_ms - begun < WAKE_MS);
    assert_int_equal(dibs_release(hold), DIBS_OK);
    fresh = dibs_close(fresh);
  }
}

TEST(an_expiry_wakes)
{
  for (long run = live_times(2); run > 0; run--) {
    int64_t end_ms = 0;

    line_up(1500, DIBS_LOCK_FIXED);
    for (int i = 0; i < NAMES; i++) {
      int64_t end_us = live_lease_end_us(live_server, pairs[i].name);

      live_expect_ok(live_detach(pairs[i].hold));
      end_ms = live_now_ms() + (end_us - live_wall_us()) / 1000;
    }
    expect_woken(end_ms);
  }
}

TEST(a_deletion_wakes)
{
  live_needs_keys();
  for (long run = live_times(2); run > 0; run--) {
    int64_t begun;

    line_up(60000, 0);
    begun = live_now_ms();
    for (int i = 0; i < NAMES; i++)
      assert_int_equal(test_server_integer(live_server, "DEL %s", live_key(pairs[i].name)), 1);
    expect_woken(begun);
    for (int i = 0; i < NAMES; i++)
      assert_int_not_equal(dibs_release(pairs[i].hold), DIBS_OK);
  }
}

TEST(a_flush_wakes)
{
  live_needs_one_view();
  for (long run = live_times(2); run > 0; run--) {
    int64_t begun;

    line_up(60000, 0);
    begun = live_now_ms();
    assert_string_equal(test_server_command(live_server, "FLUSHALL"), "OK");
    expect_woken(begun);
    for (int i = 0; i < NAMES; i++)
      assert_int_not_equal(dibs_release(pairs[i].hold), DIBS_OK);
  }
}

/* The message finds nobody: the poll or the new subscription has to make up for it. */
TEST(a_killed_subscriber_is_woken_all_the_same)
{
  live_needs_one_view();
  for (long run = live_times(5); run > 0; run--) {
    int64_t begun;

    line_up(60000, 0);
    assert_true(test_server_integer(live_server, "CLIENT KILL TYPE pubsub") >= 1);
    begun = live_now_ms();
    for (int i = 0; i < NAMES; i++)
      assert_int_equal(dibs_release(pairs[i].hold), DIBS_OK);
    expect_woken(begun);
  }
}

/* In a quorum who lost the message looks again after 1 to 2 s. */
TEST(killed_connections_are_woken_all_the_same)
{
  live_needs_keys();
  for (long run = live_times(5); run > 0; run--) {
    int64_t begun;

    line_up(60000, 0);
    live_tell_all("CLIENT KILL TYPE pubsub");
    live_tell_all("CLIENT KILL TYPE normal SKIPME yes");
    begun = live_now_ms();
    for (int i = 0; i < NAMES; i++)
      assert_int_equal(dibs_release(pairs[i].hold), DIBS_OK);
    expect_woken(begun);
  }
}

/* A subscription that the server ended while the connection lives: nobody tells. */
TEST(a_waiter_behind_a_dead_one_is_woken)
{
  dibs_client *dead = live_open(live_url());
  dibs_lock_options wait = live_lock_options(3000, 0);
  dibs_hold *hold = live_lock(holder, "dead-ahead", 60000);
  struct live_ask first, second;
  int64_t begun;

  live_ask_begin(&first, dead, "dead-ahead", &wait);
  live_expect_waiters(live_server, "dead-ahead", 1);
  live_ask_begin(&second, waiter, "dead-ahead", &wait);
  live_expect_waiters(live_server, "dead-ahead", 2);
  /* Its queue entry stays, as that of a killed process. */
  assert_int_equal(dibs_request_cancel(first.request), DIBS_OK);
  dead = dibs_close(dead);
  assert_true(live_ask_wait(&first, LIVE_LONG_MS));
  begun = live_now_ms();
  assert_int_equal(dibs_release(hold), DIBS_OK);
  hold = live_ask_granted(&second, LIVE_LONG_MS);
  assert_true(second.ended_at_ms - begun < WAKE_MS + SLACK_MS);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

RUN_TESTS(setup, teardown)

/* SPDX-License-Identifier: MIT */
/* test/live/cancel_at_any_byte_test.c - cancelled at every byte of the dialogue: the caller has
 * a valid hold, or the key is free soon after the connection is back; and every key always
 * has a TTL (S10). */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "live.h"
#include "proxy.h"

enum { FREE_MS = 1500 };      /* generously more than two round trips and a reconnection */

static struct test_proxy *proxy;
static dibs_client *client, *other;

static int setup(void **state)
{
  (void)live_server_setup(state);
  proxy = test_proxy_start(live_server);
  client = live_open(live_url_by(proxy));
  other = live_open(live_url());
  assert_int_equal(live_try(client, "warm"), DIBS_OK);
  return 0;
}

static int teardown(void **state)
{
  client = dibs_close(client);
  other = dibs_close(other);
  live_expect_clean(live_server);
  proxy = test_proxy_stop(proxy);
  return live_server_teardown(state);
}

static void expect_ttl(const char *name)
{
  assert_int_not_equal(test_server_integer(live_server, "PTTL %s", live_key(name)), -1);
}

/* Nobody can connect any more once the connection is cut. */
static uint64_t cut_after(enum test_direction d, long bytes)
{
  uint64_t cuts = test_proxy_counts(proxy).cuts;

  test_proxy_cut_after(proxy, d, (uint64_t)bytes);
  test_proxy_refuse(proxy, true);
  return cuts;
}

static void heal(void)
{
  test_proxy_refuse(proxy, false);
  test_proxy_pass(proxy, TEST_BOTH);
}

/* False: so many bytes are more than an acquisition has; it was granted. */
static bool cancelled_after(enum test_direction d, long bytes)
{
  dibs_lock_options o = live_lock_options(60000, 0);
  uint64_t cuts = cut_after(d, bytes);
  struct live_ask ask;
  bool was_cut;

  live_ask_begin(&ask, client, "acquire", &o);
  while (!(was_cut = test_proxy_wait_for_cuts(proxy, cuts + 1, 0)) &&
         !live_ask_is_over(&ask))
    (void)poll(NULL, 0, 1);
  (void)dibs_request_cancel(ask.request);
  assert_true(live_ask_wait(&ask, LIVE_LONG_MS));
  expect_ttl("acquire");
  heal();
  if (ask.status == DIBS_OK) {
    assert_true(dibs_hold_valid_ms(ask.hold) > 0);
    live_refused(live_try(other, "acquire"), DIBS_BUSY);
    (void)dibs_release(ask.hold);
  } else {
    assert_int_equal(ask.status, DIBS_CANCELLED);
  }
  live_expect_free(other, "acquire", FREE_MS);
  expect_ttl("acquire");
  live_expect_free(client, "acquire", FREE_MS);      /* connected again */
  return was_cut;
}

static void at_each_byte(enum test_direction d, bool (*runs)(enum test_direction, long))
{
  long step = (d == TEST_TO_SERVER ? 21 : 5) / live_times(1);

  for (long bytes = 0; bytes < 2000; bytes += step < 1 ? 1 : step)
    if (!runs(d, bytes))
      return;
  fail_msg("never ran to its end");
}

TEST(an_acquisition_cancelled_at_any_byte_sent_leaves_nothing)
{
  live_needs_one_server();
  at_each_byte(TEST_TO_SERVER, cancelled_after);
}

TEST(an_acquisition_cancelled_at_any_byte_answered_leaves_nothing)
{
  live_needs_one_server();
  at_each_byte(TEST_TO_CLIENT, cancelled_after);
}

static bool released_after(enum test_direction d, long bytes)
{
  dibs_hold *hold = live_lock(client, "release", 60000);
  uint64_t cuts = cut_after(d, bytes);
  dibs_status status = dibs_release(hold);
  bool was_cut = test_proxy_counts(proxy).cuts > cuts;

  assert_int_equal(status, was_cut ? DIBS_UNKNOWN : DIBS_OK);
  expect_ttl("release");
  heal();
  live_expect_free(other, "release", FREE_MS);
  expect_ttl("release");
  live_expect_free(client, "release", FREE_MS);
  return was_cut;
}

TEST(a_release_cut_at_any_byte_sent_is_done_later)
{
  live_needs_one_server();
  at_each_byte(TEST_TO_SERVER, released_after);
}

TEST(a_release_cut_at_any_byte_answered_is_done_later)
{
  live_needs_one_server();
  at_each_byte(TEST_TO_CLIENT, released_after);
}

/* ---- the canceller ---- */

TEST(a_cancelled_waiter_leaves_the_queue)
{
  dibs_hold *hold = live_lock(other, "queue", 60000);
  dibs_lock_options o = live_lock_options(5000, 0);
  struct live_ask ask;

  assert_int_equal(dibs_canceller_new(&o.cancel), DIBS_OK);
  live_ask_begin(&ask, client, "queue", &o);
  live_expect_waiters(live_server, "queue", 1);
  dibs_cancel(o.cancel);
  assert_true(live_ask_wait(&ask, LIVE_LONG_MS));
  assert_int_equal(ask.status, DIBS_CANCELLED);
  o.cancel = dibs_canceller_free(o.cancel);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  live_expect_free(other, "queue", FREE_MS);
}

static dibs_canceller *canceller_of_signals;

static void on_alarm(int number)
{
  (void)number;
  dibs_cancel(canceller_of_signals);
}

TEST(a_signal_handler_ends_a_blocking_call)
{
  struct sigaction action = { .sa_handler = on_alarm };
  dibs_hold *hold = live_lock(other, "signal", 60000), *none = NULL;
  dibs_lock_options o = live_lock_options(5000, 0);

  assert_int_equal(dibs_canceller_new(&o.cancel), DIBS_OK);
  canceller_of_signals = o.cancel;
  assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
  (void)ualarm(50000, 0);
  assert_int_equal(dibs_lock(client, "signal", &o, &none), DIBS_CANCELLED);
  assert_null(none);
  /* One that has fired ends later calls too, before anything is sent. */
  assert_int_equal(dibs_lock(client, "signal", &o, &none), DIBS_CANCELLED);
  o.cancel = dibs_canceller_free(o.cancel);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  live_expect_free(other, "signal", FREE_MS);
}

TEST(a_timed_out_waiter_leaves_the_queue)
{
  dibs_hold *hold = live_lock(other, "late", 60000), *none = NULL;
  dibs_lock_options o = live_lock_options(5000, 100);

  live_refused(dibs_lock(client, "late", &o, &none), DIBS_TIMED_OUT);
  assert_null(none);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  live_expect_free(other, "late", FREE_MS);
}

RUN_TESTS(setup, teardown)

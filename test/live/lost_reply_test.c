/* SPDX-License-Identifier: MIT */
/* test/live/lost_reply_test.c - every script runs once on the server and its answer is
 * lost: the library ends with the right answer all the same (S8). */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <poll.h>

#include "live.h"
#include "proxy.h"

static struct test_proxy *proxy;
static dibs_client *near, *far;      /* through the proxy; straight */

/* All scripts are known to the server, so that each is asked for by EVALSHA. */
static void warm_up(void)
{
  char token[DIBS_TOKEN_SIZE];
  dibs_hold *hold = live_lock(far, "warm", 60000), *other = NULL;
  dibs_inspection *seen = NULL;
  dibs_lock_options soon = live_lock_options(1000, 50);

  live_refused(dibs_lock(near, "warm", &soon, &other), DIBS_TIMED_OUT);
  live_expect_ok(dibs_hold_token(hold, token, sizeof(token)));
  live_expect_ok(dibs_token_renew(far, token, 60000, NULL));
  assert_int_equal(dibs_inspect(far, dibs_text("warm"), &seen), DIBS_OK);
  seen = dibs_inspection_free(seen);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

static int setup(void **state)
{
  (void)live_server_setup(state);
  proxy = test_proxy_start(live_server);
  near = live_open(live_url_by(proxy));
  far = live_open(live_url());
  if (live_place() == LIVE_ONE)
    warm_up();
  return 0;
}

static int teardown(void **state)
{
  near = dibs_close(near);
  far = dibs_close(far);
  live_expect_clean(live_server);
  proxy = test_proxy_stop(proxy);
  return live_server_teardown(state);
}

/* The next script of `near` runs, and its answer is lost. */
static uint64_t lose_next(void)
{
  uint64_t cuts = test_proxy_counts(proxy).cuts;

  test_proxy_lose_reply_to(proxy, "EVALSHA");
  return cuts;
}

static void expect_lost_since(uint64_t cuts)
{
  assert_true(test_proxy_wait_for_cuts(proxy, cuts + 1, LIVE_LONG_MS));
}

TEST(a_grant_whose_answer_was_lost_is_had_once)
{
  live_needs_one_server();
  uint64_t cuts = lose_next(), granted = live_stats(near).granted;
  dibs_hold *hold = live_lock(near, "grant", 5000);
  dibs_inspection *seen = NULL;

  expect_lost_since(cuts);
  assert_int_equal(live_info(hold).depth, 1);
  assert_int_equal(live_stats(near).granted, granted + 1);
  live_refused(live_try(far, "grant"), DIBS_BUSY);
  assert_int_equal(dibs_inspect(far, dibs_text("grant"), &seen), DIBS_OK);
  assert_int_equal(seen->fence, dibs_hold_fence(hold));
  seen = dibs_inspection_free(seen);
  /* No longer than the first asking allows: the answer to the second must not add to it. */
  assert_in_range(dibs_hold_valid_ms(hold), 1, 5000);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  assert_int_equal(live_try(far, "grant"), DIBS_OK);
}

TEST(a_try_whose_answer_was_lost_knows_its_end)
{
  live_needs_one_server();
  uint64_t cuts = lose_next();
  dibs_hold *hold = NULL;

  live_expect(near, dibs_try_lock(near, "try", NULL, &hold), DIBS_OK);
  expect_lost_since(cuts);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

TEST(a_place_in_the_queue_is_kept_once)
{
  live_needs_one_server();
  dibs_hold *hold = live_lock(far, "queue", 60000);
  dibs_lock_options o = live_lock_options(5000, 0);
  struct live_ask ask;
  uint64_t cuts;

  cuts = lose_next();
  live_ask_begin(&ask, near, "queue", &o);
  expect_lost_since(cuts);
  live_expect_waiters(live_server, "queue", 1);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  assert_int_equal(live_info(live_ask_granted(&ask, LIVE_LONG_MS)).depth, 1);
  assert_int_equal(dibs_release(ask.hold), DIBS_OK);
  assert_int_equal(live_try(far, "queue"), DIBS_OK);
}

TEST(a_release_whose_answer_was_lost_is_ok)
{
  live_needs_one_server();
  dibs_hold *hold = live_lock(near, "release", 60000);
  uint64_t cuts = lose_next();

  live_expect(near, dibs_release(hold), DIBS_OK);
  expect_lost_since(cuts);
  assert_int_equal(live_try(far, "release"), DIBS_OK);
}

/* The release is repeated, and must not end what the same owner took since. */
TEST(a_late_release_spares_a_later_acquisition)
{
  live_needs_one_server();
  dibs_hold *first = live_lock(near, "again", 60000), *second;
  uint64_t cuts = lose_next(), fence = dibs_hold_fence(first);

  assert_int_equal(dibs_release_async(first, NULL, NULL), DIBS_OK);
  second = live_lock(near, "again", 60000);
  expect_lost_since(cuts);
  PROMISE_GROWN(dibs_hold_fence(second), fence);
  live_refused(live_try(far, "again"), DIBS_BUSY);
  assert_int_equal(live_info(second).depth, 1);
  assert_int_equal(dibs_release(second), DIBS_OK);
}

/* The same by its token: the first lease is over for good, and later calls say so. */
TEST(a_repeated_token_release_spares_a_later_acquisition)
{
  char token[DIBS_TOKEN_SIZE];
  dibs_hold *first = live_lock(near, "token", 60000), *second;

  live_expect_ok(dibs_hold_token(first, token, sizeof(token)));
  assert_int_equal(dibs_release(first), DIBS_OK);
  second = live_lock(near, "token", 60000);
  assert_int_equal(dibs_token_release(far, token), DIBS_TAKEN);
  assert_int_equal(dibs_token_renew(far, token, 60000, NULL), DIBS_TAKEN);
  assert_int_equal(dibs_hold_state(second), DIBS_HOLD_HELD);
  assert_int_equal(dibs_release(second), DIBS_OK);
}

/* The first copy handed over to the waiter; so the lease had not ended before. */
TEST(a_token_release_whose_answer_was_lost_takes_no_waiter_for_a_loss)
{
  live_needs_one_server();
  char token[DIBS_TOKEN_SIZE];
  dibs_hold *hold = live_lock(far, "handed-over", 60000);
  dibs_lock_options o = live_lock_options(60000, LIVE_LONG_MS);
  dibs_error why = DIBS_ERROR_INIT;
  struct live_ask ask;
  uint64_t cuts;

  live_expect_ok(dibs_hold_token(hold, token, sizeof(token)));
  live_expect_ok(live_detach(hold));
  live_ask_begin(&ask, far, "handed-over", &o);
  live_expect_waiters(live_server, "handed-over", 1);
  cuts = lose_next();
  live_expect(near, dibs_token_release(near, token), DIBS_UNKNOWN);
  expect_lost_since(cuts);
  live_expect_ok(dibs_client_error(near, 0, &why));
  assert_non_null(strstr(why.text, "found the lease gone"));
  assert_int_equal(dibs_release(live_ask_granted(&ask, LIVE_LONG_MS)), DIBS_OK);
}

/* Of a share the server does not remember whether its lease was the last. */
TEST(a_token_release_of_a_share_whose_answer_was_lost_says_no_loss)
{
  live_needs_one_server();
  char token[DIBS_TOKEN_SIZE];
  uint64_t cuts = test_proxy_counts(proxy).cuts;
  dibs_lock_options o = live_lock_options(60000, LIVE_LONG_MS);
  dibs_hold *hold;

  live_expect_ok(dibs_acquire(far, DIBS_WRITE("share"), &o, &hold));
  live_expect_ok(dibs_hold_token(hold, token, sizeof(token)));
  live_expect_ok(live_detach(hold));
  test_proxy_lose_reply_to(proxy, "EVAL\r");     /* the first use of this script */
  live_expect(near, dibs_token_release(near, token), DIBS_UNKNOWN);
  expect_lost_since(cuts);
}

TEST(a_renewal_whose_answer_was_lost_renews)
{
  live_needs_one_server();
  struct live_loss loss = { .count = 0 };
  dibs_lock_options o = live_lock_options(1500, LIVE_LONG_MS);
  uint64_t cuts, renewed;
  dibs_hold *hold;

  live_report_loss(&o, &loss);
  hold = live_lock_with(near, "renew", &o);
  renewed = live_stats(near).renewed;
  cuts = lose_next();
  expect_lost_since(cuts);
  while (live_stats(near).renewed == renewed && dibs_hold_state(hold) != DIBS_HOLD_GONE)
    (void)poll(NULL, 0, 1);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  assert_int_equal(atomic_load(&loss.count), 0);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

TEST(a_cancel_whose_answer_was_lost_leaves_nothing)
{
  live_needs_one_server();
  dibs_hold *hold = live_lock(far, "cancel", 60000);
  dibs_lock_options o = live_lock_options(5000, 0);
  struct live_ask ask;
  uint64_t cuts;

  live_ask_begin(&ask, near, "cancel", &o);
  live_expect_waiters(live_server, "cancel", 1);
  cuts = lose_next();
  assert_int_equal(dibs_request_cancel(ask.request), DIBS_OK);
  expect_lost_since(cuts);
  assert_true(live_ask_wait(&ask, LIVE_LONG_MS));
  assert_int_equal(ask.status, DIBS_CANCELLED);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  live_expect_free(far, "cancel", LIVE_LONG_MS);
}

TEST(a_break_whose_answer_was_lost_breaks_once)
{
  live_needs_one_server();
  dibs_hold *hold = live_lock(far, "break", 60000);
  dibs_inspection *seen = NULL;
  uint64_t cuts;

  assert_int_equal(dibs_inspect(near, dibs_text("break"), &seen), DIBS_OK);
  /* The first use of this script is by its text. */
  cuts = test_proxy_counts(proxy).cuts;
  test_proxy_lose_reply_to(proxy, "EVAL\r");
  live_expect(near, dibs_break(near, dibs_text("break"), seen->lease), DIBS_EXPIRED);
  assert_true(test_proxy_wait_for_cuts(proxy, cuts + 1, LIVE_LONG_MS));
  seen = dibs_inspection_free(seen);
  live_expect_free(near, "break", LIVE_LONG_MS);
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
}

RUN_TESTS(setup, teardown)

/* SPDX-License-Identifier: MIT */
/* test/live/renewal_creates_nothing_test.c - renewing never makes a key, and after any gap it is
 * lost, even where the name is free (S9). */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "two_clients.h"

/* A detached lease of `ttl_ms`, known by its token only. */
static void detached(const char *name, int ttl_ms, char *token)
{
  dibs_hold *hold = live_lock(client, name, ttl_ms);

  live_expect_ok(dibs_hold_token(hold, token, DIBS_TOKEN_SIZE));
  live_expect_ok(live_detach(hold));
}

TEST(a_renewal_lengthens_and_never_shortens)
{
  char token[DIBS_TOKEN_SIZE];
  int64_t remaining = 0;

  detached("lengthen", 2000, token);
  live_expect_ok(dibs_token_renew(other, token, 60000, &remaining));
  assert_in_range(remaining, 55000, 60001);
  live_expect_ok(dibs_token_renew(other, token, 1000, &remaining));
  assert_in_range(remaining, 50000, 60001);
  live_expect_ok(dibs_token_release(other, token));
}

TEST(a_renewal_of_a_deleted_lock_creates_nothing)
{
  live_needs_keys();
  char token[DIBS_TOKEN_SIZE];

  detached("gone", 60000, token);
  assert_int_equal(test_server_integer(live_server, "DEL %s", live_key("gone")), 1);
  assert_int_equal(dibs_token_renew(other, token, 60000, NULL), DIBS_LOST);
  assert_int_equal(dibs_token_release(other, token), DIBS_LOST);
  assert_int_equal(test_server_integer(live_server, "EXISTS %s", live_key("gone")), 0);
}

TEST(a_renewal_after_a_gap_is_lost_though_the_name_is_free)
{
  char token[DIBS_TOKEN_SIZE];

  detached("gap", 60000, token);
  live_expect_ok(dibs_token_release(other, token));
  assert_int_equal(dibs_token_renew(client, token, 60000, NULL), DIBS_EXPIRED);
  assert_int_equal(live_try(other, "gap"), DIBS_OK);
  assert_int_not_equal(dibs_token_renew(client, token, 60000, NULL), DIBS_OK);
  assert_int_equal(live_try(other, "gap"), DIBS_OK);
}

/* The name is free again, and what its holder did may have been undone. */
TEST(a_token_of_a_lease_that_another_followed_is_lost)
{
  char token[DIBS_TOKEN_SIZE];

  detached("followed", 200, token);
  assert_int_equal(dibs_release(live_lock(other, "followed", 5000)), DIBS_OK);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(dibs_token_renew(client, token, 60000, NULL), DIBS_LOST);
    assert_int_equal(dibs_token_release(client, token), DIBS_LOST);
  }
}

static bool has_no_waiter(void *name)
{
  dibs_inspection *seen = NULL;
  bool is_so = dibs_inspect(client, dibs_text(name), &seen) == DIBS_OK && seen->waiter_count == 0;

  seen = dibs_inspection_free(seen);
  return is_so;
}

/* Another client's cancelled ask leaves its name in the memory, and no grant, if its time was over
 * by the server's clock, too. */
TEST(a_token_of_a_lease_that_nobody_followed_is_expired_for_good)
{
  char token[DIBS_TOKEN_SIZE];
  dibs_lock_options o = live_lock_options(5000, 50);
  dibs_hold *hold = NULL;

  detached("alone", 60000, token);
  live_refused(dibs_lock(other, "alone", &o, &hold), DIBS_TIMED_OUT);
  assert_true(live_until(LIVE_LONG_MS, has_no_waiter, (char[]){ "alone" }));
  live_expect_ok(dibs_token_release(client, token));
  live_expect_ok(dibs_token_release(client, token));
  assert_int_equal(dibs_token_renew(other, token, 60000, NULL), DIBS_EXPIRED);
}

TEST(a_token_is_lost_with_the_data_of_the_server)
{
  live_needs_one_server();
  char token[DIBS_TOKEN_SIZE];

  detached("flushed", 60000, token);
  (void)test_server_command(live_server, "FLUSHALL");
  assert_int_equal(dibs_token_renew(other, token, 60000, NULL), DIBS_LOST);
  assert_int_equal(dibs_token_release(other, token), DIBS_LOST);
}

TEST(a_renewal_of_what_another_has_is_taken)
{
  char token[DIBS_TOKEN_SIZE];
  dibs_hold *hold;

  detached("taken", 200, token);
  hold = live_lock(other, "taken", 60000);
  assert_int_equal(dibs_token_renew(client, token, 60000, NULL), DIBS_TAKEN);
  assert_int_equal(dibs_token_release(client, token), DIBS_TAKEN);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

TEST(the_watchdog_never_recreates_a_deleted_lock)
{
  live_needs_keys();
  struct live_loss loss = { .count = 0 };
  dibs_lock_options o = live_lock_options(600, LIVE_LONG_MS);
  dibs_hold *hold;

  live_report_loss(&o, &loss);
  hold = live_lock_with(client, "watchdog", &o);
  assert_int_equal(test_server_integer(live_server, "DEL %s", live_key("watchdog")), 1);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_equal(test_server_integer(live_server, "EXISTS %s", live_key("watchdog")), 0);
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
  assert_int_equal(test_server_integer(live_server, "EXISTS %s", live_key("watchdog")), 0);
}

TEST(what_is_no_token_is_refused_in_words)
{
  live_needs_keys();
  static const char *const tokens[] = { "", "x", "v1 nonsense", "AAAAAAAAAAAAAAAAAAAAAA:1:1" };

  for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
    assert_int_equal(dibs_token_renew(client, tokens[i], 1000, NULL), DIBS_ERR_ARGUMENT);
    assert_int_equal(dibs_token_release(client, tokens[i]), DIBS_ERR_ARGUMENT);
    live_expect_words(client, "token");
  }
}

RUN_TESTS(setup, teardown)

/* SPDX-License-Identifier: MIT */
/* test/live/theme_06_release_test.c - each thing that a release can tell, one test each; and
 * whatever it told, the name can be taken again by the same client (S3). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "live.h"
#include "proxy.h"

static struct test_proxy *proxy;
static dibs_client *client, *other;

static int setup(void **state)
{
  (void)live_server_setup(state);
  proxy = test_proxy_start(live_server);
  client = live_open(live_url_by(proxy));
  other = live_open(live_url());
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

static void expect_reusable(const char *name)
{
  dibs_hold *hold = live_lock(client, name, 5000);

  assert_int_equal(dibs_hold_state(hold), DIBS_HELD);
  assert_int_equal(dibs_hold_depth(hold), 1);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

static void theme_06_a_held_lock_is_released(void **state)
{
  (void)state;
  assert_int_equal(dibs_release(live_lock(client, "held", 5000)), DIBS_OK);
  assert_int_equal(live_try(other, "held"), DIBS_OK);
  expect_reusable("held");
}

static void theme_06_an_inner_hold_only_counts_down(void **state)
{
  dibs_hold *outer = live_lock(client, "inner", 5000);
  dibs_hold *inner = live_lock(client, "inner", 5000);

  (void)state;
  assert_int_equal(dibs_hold_depth(inner), 2);
  assert_int_equal(dibs_hold_fence(inner), dibs_hold_fence(outer));
  assert_int_equal(dibs_release(inner), DIBS_OK);
  assert_int_equal(dibs_hold_depth(outer), 1);
  assert_int_equal(dibs_hold_state(outer), DIBS_HELD);
  assert_int_equal(live_try(other, "inner"), DIBS_BUSY);
  assert_int_equal(dibs_release(outer), DIBS_OK);
  assert_int_equal(live_try(other, "inner"), DIBS_OK);
}

static void theme_06_what_was_never_had_is_stale(void **state)
{
  dibs_hold *holder = live_lock(other, "never", 5000), *hold = NULL;

  (void)state;
  assert_int_equal(dibs_try_lock(client, "never", NULL, &hold), DIBS_BUSY);
  assert_null(hold);
  assert_int_equal(dibs_release(hold), DIBS_ERR_STALE);
  assert_int_equal(dibs_release(holder), DIBS_OK);
  expect_reusable("never");
}

static void theme_06_a_second_release_is_stale_and_harmless(void **state)
{
  dibs_hold *hold = live_lock(client, "twice", 5000), *holder;

  (void)state;
  assert_int_equal(dibs_release(hold), DIBS_OK);
  holder = live_lock(other, "twice", 5000);
  assert_int_equal(dibs_release(hold), DIBS_ERR_STALE);
  assert_int_equal(dibs_hold_state(hold), DIBS_GONE);
  assert_int_equal(live_try(client, "twice"), DIBS_BUSY);
  assert_int_equal(dibs_release(holder), DIBS_OK);
  expect_reusable("twice");
}

static void theme_06_a_deleted_lock_is_expired(void **state)
{
  live_needs_keys();
  dibs_hold *hold = live_lock(client, "deleted", 60000);

  (void)state;
  assert_int_equal(test_server_integer(live_server, "DEL %s", live_key("deleted")), 1);
  assert_int_equal(dibs_hold_state(hold), DIBS_HELD);      /* nobody could know */
  live_expect(client, dibs_release(hold), DIBS_EXPIRED);
  expect_reusable("deleted");
}

static void theme_06_a_lock_of_somebody_else_now_is_taken(void **state)
{
  live_needs_keys();
  dibs_hold *hold = live_lock(client, "taken", 60000), *thief;
  dibs_inspection *seen = NULL;

  (void)state;
  assert_int_equal(test_server_integer(live_server, "DEL %s", live_key("taken")), 1);
  thief = live_lock(other, "taken", 60000);
  live_expect(client, dibs_release(hold), DIBS_TAKEN);
  /* By whom, and with which fence, tells the inspection. */
  assert_int_equal(dibs_inspect(client, "taken", &seen), DIBS_OK);
  assert_true(seen->is_held);
  assert_int_equal(seen->fence, dibs_hold_fence(thief));
  assert_true(strlen(seen->holder.client) == 22);
  seen = dibs_inspection_free(seen);
  assert_int_equal(dibs_hold_state(thief), DIBS_HELD);
  assert_int_equal(dibs_release(thief), DIBS_OK);
  expect_reusable("taken");
}

static void theme_06_a_fixed_lease_that_is_over_tells_so(void **state)
{
  struct live_loss loss = { .count = 0 };
  dibs_lock_options o = live_lock_options(150, LIVE_LONG_MS);
  dibs_hold *hold;
  dibs_status status;

  (void)state;
  o.flags = DIBS_LOCK_FIXED;
  o.on_lost = live_on_lost;
  o.on_lost_data = &loss;
  hold = live_lock_with(client, "fixed", &o);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_equal(dibs_hold_state(hold), DIBS_GONE);
  status = dibs_release(hold);
  assert_true(status == DIBS_LOST || status == DIBS_EXPIRED);
  expect_reusable("fixed");
}

static void theme_06_a_lost_hold_tells_why_and_is_clean(void **state)
{
  live_needs_keys();
  struct live_loss loss = { .count = 0 };
  dibs_lock_options o = live_lock_options(300, LIVE_LONG_MS);
  dibs_hold *hold, *thief;
  dibs_status status;

  (void)state;
  o.on_lost = live_on_lost;
  o.on_lost_data = &loss;
  hold = live_lock_with(client, "stolen", &o);
  assert_int_equal(test_server_integer(live_server, "DEL %s", live_key("stolen")), 1);
  thief = live_lock(other, "stolen", 5000);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_equal(atomic_load(&loss.why), DIBS_LOST);
  status = dibs_release(hold);          /* by now the server may have told who took it */
  assert_true(status == DIBS_LOST || status == DIBS_TAKEN);
  assert_int_equal(dibs_hold_state(thief), DIBS_HELD);
  assert_int_equal(dibs_release(thief), DIBS_OK);
  expect_reusable("stolen");
}

static void theme_06_an_unanswered_release_is_unknown_and_goes_on(void **state)
{
  live_needs_one_server();
  dibs_hold *hold = live_lock(client, "unknown", 60000);
  int64_t begun;

  (void)state;
  test_proxy_black_hole(proxy, TEST_BOTH);
  begun = live_now_ms();
  live_expect(client, dibs_release(hold), DIBS_UNKNOWN);
  assert_true(live_now_ms() - begun < 500 + 500);
  assert_int_equal(dibs_release(hold), DIBS_ERR_STALE);
  assert_int_equal(live_try(other, "unknown"), DIBS_BUSY);
  test_proxy_pass(proxy, TEST_BOTH);
  live_expect_free(other, "unknown", LIVE_LONG_MS);
  expect_reusable("unknown");
}

static void theme_06_another_thread_may_release_and_another_owner_may_not_enter(void **state)
{
  dibs_lock_options o = live_lock_options(5000, 0);
  dibs_hold *hold, *wrong = NULL;

  (void)state;
  o.owner = "alice";
  o.owner_size = 5;
  hold = live_lock_with(client, "owner", &o);
  o.owner = "bob";
  o.owner_size = 3;
  assert_int_equal(dibs_try_lock(client, "owner", &o, &wrong), DIBS_BUSY);
  assert_null(wrong);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  expect_reusable("owner");
}

/* Theme 14: what is merely busy, what is broken. The refusals are in refusal_test.c. */
static void theme_14_busy_and_timed_out_and_unreachable_differ(void **state)
{
  dibs_lock_options o = live_lock_options(5000, 100);
  dibs_hold *holder = live_lock(other, "busy", 60000), *hold = NULL;
  dibs_options options = live_options();
  dibs_client *nowhere;

  (void)state;
  assert_int_equal(dibs_try_lock(client, "busy", NULL, &hold), DIBS_BUSY);
  assert_int_equal(dibs_lock(client, "busy", &o, &hold), DIBS_TIMED_OUT);
  options.connect_timeout_ms = 200;
  nowhere = live_open_with("unix:///nonexistent/dibs.sock", &options);
  assert_int_equal(dibs_try_lock(nowhere, "busy", NULL, &hold), DIBS_ERR_UNREACHABLE);
  live_expect_words(nowhere, "nonexistent");
  assert_int_equal(dibs_lock(nowhere, "busy", NULL, &hold), DIBS_ERR_UNREACHABLE);
  assert_null(hold);
  nowhere = dibs_close(nowhere);
  assert_int_equal(dibs_release(holder), DIBS_OK);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(theme_06_a_held_lock_is_released),
    cmocka_unit_test(theme_06_an_inner_hold_only_counts_down),
    cmocka_unit_test(theme_06_what_was_never_had_is_stale),
    cmocka_unit_test(theme_06_a_second_release_is_stale_and_harmless),
    cmocka_unit_test(theme_06_a_deleted_lock_is_expired),
    cmocka_unit_test(theme_06_a_lock_of_somebody_else_now_is_taken),
    cmocka_unit_test(theme_06_a_fixed_lease_that_is_over_tells_so),
    cmocka_unit_test(theme_06_a_lost_hold_tells_why_and_is_clean),
    cmocka_unit_test(theme_06_an_unanswered_release_is_unknown_and_goes_on),
    cmocka_unit_test(theme_06_another_thread_may_release_and_another_owner_may_not_enter),
    cmocka_unit_test(theme_14_busy_and_timed_out_and_unreachable_differ),
  };

  return cmocka_run_group_tests(tests, setup, teardown);
}

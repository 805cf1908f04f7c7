/* SPDX-License-Identifier: MIT */
/* test/live/release_outcome_test.c - each thing that a release can tell, one test each; and
 * whatever it told, the name can be taken again by the same client (S3). */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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

  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  assert_int_equal(live_info(hold).depth, 1);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

TEST(a_held_lock_is_released)
{
  assert_int_equal(dibs_release(live_lock(client, "held", 5000)), DIBS_OK);
  assert_int_equal(live_try(other, "held"), DIBS_OK);
  expect_reusable("held");
}

TEST(an_inner_hold_only_counts_down)
{
  dibs_hold *outer = live_lock(client, "inner", 5000);
  dibs_hold *inner = live_lock(client, "inner", 5000);

  assert_int_equal(live_info(inner).depth, 2);
  assert_int_equal(dibs_hold_fence(inner), dibs_hold_fence(outer));
  assert_int_equal(dibs_release(inner), DIBS_OK);
  assert_int_equal(live_info(outer).depth, 1);
  assert_int_equal(dibs_hold_state(outer), DIBS_HOLD_HELD);
  live_refused(live_try(other, "inner"), DIBS_BUSY);
  assert_int_equal(dibs_release(outer), DIBS_OK);
  assert_int_equal(live_try(other, "inner"), DIBS_OK);
}

TEST(what_was_never_had_is_stale)
{
  dibs_hold *holder = live_lock(other, "never", 5000), *hold = NULL;

  live_refused(dibs_try_lock(client, "never", NULL, &hold), DIBS_BUSY);
  assert_null(hold);
  assert_int_equal(dibs_release(hold), DIBS_ERR_STALE);
  assert_int_equal(dibs_release(holder), DIBS_OK);
  expect_reusable("never");
}

TEST(a_second_release_is_stale_and_harmless)
{
  dibs_hold *hold = live_lock(client, "twice", 5000), *holder;

  assert_int_equal(dibs_release(hold), DIBS_OK);
  holder = live_lock(other, "twice", 5000);
  assert_int_equal(dibs_release(hold), DIBS_ERR_STALE);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_GONE);
  live_refused(live_try(client, "twice"), DIBS_BUSY);
  assert_int_equal(dibs_release(holder), DIBS_OK);
  expect_reusable("twice");
}

TEST(a_deleted_lock_is_lost)
{
  live_needs_keys();
  dibs_hold *hold = live_lock(client, "deleted", 60000);

  assert_int_equal(test_server_integer(live_server, "DEL %s", live_key("deleted")), 1);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);      /* nobody could know */
  live_expect(client, dibs_release(hold), DIBS_LOST);
  expect_reusable("deleted");
}

TEST(a_lock_of_somebody_else_now_is_taken)
{
  live_needs_keys();
  dibs_hold *hold = live_lock(client, "taken", 60000), *thief;
  dibs_inspection *seen = NULL;

  assert_int_equal(test_server_integer(live_server, "DEL %s", live_key("taken")), 1);
  thief = live_lock(other, "taken", 60000);
  live_expect(client, dibs_release(hold), DIBS_TAKEN);
  /* By whom, and with which fence, tells the inspection. */
  assert_int_equal(dibs_inspect(client, dibs_text("taken"), &seen), DIBS_OK);
  assert_true(seen->is_held);
  assert_int_equal(seen->fence, dibs_hold_fence(thief));
  assert_true(strlen(seen->holder->client) == 22);
  seen = dibs_inspection_free(seen);
  assert_int_equal(dibs_hold_state(thief), DIBS_HOLD_HELD);
  assert_int_equal(dibs_release(thief), DIBS_OK);
  expect_reusable("taken");
}

TEST(a_fixed_lease_that_is_over_tells_so)
{
  struct live_loss loss = { .count = 0 };
  dibs_lock_options o = live_lock_options(150, LIVE_LONG_MS);
  dibs_hold *hold;

  o.flags = DIBS_LOCK_FIXED;
  live_report_loss(&o, &loss);
  hold = live_lock_with(client, "fixed", &o);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_GONE);
  assert_int_equal(dibs_release(hold), DIBS_LOST);
  expect_reusable("fixed");
}

TEST(a_lost_hold_tells_why_and_is_clean)
{
  live_needs_keys();
  struct live_loss loss = { .count = 0 };
  dibs_lock_options o = live_lock_options(300, LIVE_LONG_MS);
  dibs_hold *hold, *thief;
  dibs_status status;

  live_report_loss(&o, &loss);
  hold = live_lock_with(client, "stolen", &o);
  assert_int_equal(test_server_integer(live_server, "DEL %s", live_key("stolen")), 1);
  thief = live_lock(other, "stolen", 5000);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_equal(atomic_load(&loss.why), DIBS_LOST);
  status = dibs_release(hold);          /* by now the server may have told who took it */
  assert_true(status == DIBS_LOST || status == DIBS_TAKEN);
  assert_int_equal(dibs_hold_state(thief), DIBS_HOLD_HELD);
  assert_int_equal(dibs_release(thief), DIBS_OK);
  expect_reusable("stolen");
}

TEST(an_unanswered_release_is_unknown_and_goes_on)
{
  live_needs_one_server();
  dibs_hold *hold = live_lock(client, "unknown", 60000);
  int64_t begun;

  test_proxy_black_hole(proxy, TEST_BOTH);
  begun = live_now_ms();
  live_expect(client, dibs_release(hold), DIBS_UNKNOWN);
  assert_true(live_now_ms() - begun < 500 + 500);
  assert_int_equal(dibs_release(hold), DIBS_ERR_STALE);
  live_refused(live_try(other, "unknown"), DIBS_BUSY);
  test_proxy_pass(proxy, TEST_BOTH);
  live_expect_free(other, "unknown", LIVE_LONG_MS);
  expect_reusable("unknown");
}

TEST(another_thread_may_release_and_another_owner_may_not_enter)
{
  dibs_lock_options o = live_lock_options(5000, 0);
  dibs_hold *hold, *wrong = NULL;

  o.owner = "alice";
  o.owner_size = 5;
  hold = live_lock_with(client, "owner", &o);
  o.owner = "bob";
  o.owner_size = 3;
  live_refused(dibs_try_lock(client, "owner", &o, &wrong), DIBS_BUSY);
  assert_null(wrong);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  expect_reusable("owner");
}

/* ---- a holder whose process is stopped beyond its lease ---- */

/* In the child: holds `name`; after a byte from the parent it sends the status of its release.
 * Without a thread: ThreadSanitizer cannot follow threads that begin after a fork. */
static void hold_and_tell(const char *name, int tell, int hear)
{
  dibs_options options = live_options();
  dibs_client *own;
  dibs_hold *hold;
  dibs_status status = DIBS_OK;
  char byte = 0;

  options.flags = DIBS_CLIENT_NO_THREAD;
  own = live_open_with(live_url(), &options);
  hold = live_lock(own, name, 500);
  if (write(tell, &byte, 1) != 1 || read(hear, &byte, 1) != 1)
    _exit(1);
  /* Two round trips: the loss is seen at the first, the server's answer before the second. */
  for (int i = 0; i < 2; i++)
    if (dibs_ping(own, 1000, NULL) != DIBS_OK)
      _exit(1);
  status = dibs_release(hold);
  byte = (char)status;
  own = dibs_close(own);                 /* an open one leaves its registration */
  _exit(write(tell, &byte, 1) != 1);
}

/* What the release of a holder answers that was stopped while `meanwhile` ran. */
static dibs_status release_after(const char *name, void (*meanwhile)(const char *name))
{
  int told[2], hears[2], status;
  char byte;
  pid_t child;

  assert_int_equal(pipe(told), 0);
  assert_int_equal(pipe(hears), 0);
  child = fork();
  assert_true(child >= 0);
  if (child == 0)
    hold_and_tell(name, told[1], hears[0]);
  assert_int_equal(read(told[0], &byte, 1), 1);
  assert_int_equal(kill(child, SIGSTOP), 0);
  assert_int_equal(promise_waitpid(child, &status, WUNTRACED), child);
  meanwhile(name);
  assert_int_equal(kill(child, SIGCONT), 0);
  assert_int_equal(write(hears[1], &byte, 1), 1);
  assert_int_equal(read(told[0], &byte, 1), 1);
  assert_int_equal(promise_waitpid(child, &status, 0), child);
  for (int i = 0; i < 2; i++) {
    (void)close(told[i]);
    (void)close(hears[i]);
  }
  return (dibs_status)byte;
}

/* Waits until the lease has ended by the server's clock. */
static void wait_for_end(const char *name)
{
  dibs_inspection *seen = NULL;
  int64_t left;

  do {
    assert_int_equal(dibs_inspect(other, dibs_text(name), &seen), DIBS_OK);
    left = seen->remaining_ms;
    seen = dibs_inspection_free(seen);
  } while (left > 0);
}

static void another_turn(const char *name)
{
  assert_int_equal(dibs_release(live_lock(other, name, 5000)), DIBS_OK);
}

static void everything_is_deleted(const char *name)
{
  wait_for_end(name);
  (void)test_server_command(live_server, "FLUSHALL");
}

TEST(a_holder_that_was_stopped_through_anothers_turn_is_told_lost)
{
  assert_int_equal(release_after("slept", another_turn), DIBS_LOST);
}

/* The client gives the lease back when it ends; its program goes on until its own release. */
TEST(a_program_that_works_on_after_its_loss_is_not_told_that_no_other_came)
{
  struct live_loss loss = { .count = 0 };
  dibs_lock_options o = live_lock_options(300, LIVE_LONG_MS);
  dibs_hold *hold;

  o.flags = DIBS_LOCK_FIXED;
  live_report_loss(&o, &loss);
  hold = live_lock_with(client, "worked-on", &o);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  another_turn("worked-on");
  assert_int_equal(dibs_release(hold), DIBS_LOST);
}

TEST(a_holder_that_was_stopped_while_the_data_went_is_told_lost)
{
  live_needs_one_server();
  assert_int_equal(release_after("flushed", everything_is_deleted), DIBS_LOST);
}

/* What is merely busy, what is broken. The refusals are in refusal_test.c. */
TEST(busy_and_timed_out_and_unreachable_differ)
{
  dibs_lock_options o = live_lock_options(5000, 100);
  dibs_hold *holder = live_lock(other, "busy", 60000), *hold = NULL;
  dibs_options options = live_options();
  dibs_client *nowhere;

  live_refused(dibs_try_lock(client, "busy", NULL, &hold), DIBS_BUSY);
  live_refused(dibs_lock(client, "busy", &o, &hold), DIBS_TIMED_OUT);
  options.connect_timeout_ms = 200;
  nowhere = live_open_with("unix:///nonexistent/dibs.sock", &options);
  assert_int_equal(dibs_try_lock(nowhere, "busy", NULL, &hold), DIBS_ERR_UNREACHABLE);
  live_expect_words(nowhere, "nonexistent");
  assert_int_equal(dibs_lock(nowhere, "busy", NULL, &hold), DIBS_ERR_UNREACHABLE);
  assert_null(hold);
  nowhere = dibs_close(nowhere);
  assert_int_equal(dibs_release(holder), DIBS_OK);
}

RUN_TESTS(setup, teardown)

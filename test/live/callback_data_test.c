/* SPDX-License-Identifier: MIT */
/* test/live/callback_data_test.c - on_lost_free gets the data of on_lost exactly once, when that
 * cannot run any more, for each kind of hold. The end of clients, and other callbacks:
 * callback_data_end_test.c; a quorum: callback_data_quorum_test.c. */
#include "tests.h"

#include <stdint.h>
#include <string.h>

#include "callback_data.h"

/* ---- calls that take nothing ---- */

TEST(a_call_that_fails_frees_its_data_before_it_returns)
{
  static const char *const names[] = { "a", "" };
  dibs_client *client = live_open(live_url()), *other = live_open(live_url()), *closed;
  dibs_lock_options o;
  dibs_hold *mine = live_lock(other, "taken", TTL_MS), *hold = NULL;

  assert_int_equal(dibs_lock(NULL, "x", options_of(&o, TTL_MS, 0), &hold), DIBS_ERR_ARGUMENT);
  expect_all_freed();
  assert_int_equal(dibs_lock(client, "", options_of(&o, TTL_MS, 0), &hold), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_lock(client, "x", options_of(&o, 1, 0), &hold), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_lock(client, "x", options_of(&o, TTL_MS, 0), NULL), DIBS_ERR_ARGUMENT);
  assert_int_equal(acquire_names(client, names, 2, options_of(&o, TTL_MS, 0), &hold),
                   DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_acquire(client, DIBS_PERMITS("p", DIBS_PERMITS_MAX + 1),
                                options_of(&o, TTL_MS, 0), &hold), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_acquire(client, DIBS_LEAD("", "v"), options_of(&o, TTL_MS, 0), &hold),
                   DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_lock_async(client, "x", options_of(&o, TTL_MS, 0), NULL, NULL, NULL),
                   DIBS_ERR_ARGUMENT);
  expect_all_freed();
  live_expect_refused(client, dibs_try_lock(client, "taken", options_of(&o, TTL_MS, 0), &hold),
                      DIBS_BUSY);
  live_expect_refused(client, dibs_lock(client, "taken", options_of(&o, TTL_MS, 0), &hold),
                      DIBS_TIMED_OUT);
  live_expect_refused(client,
                      dibs_acquire(client, DIBS_LEAD("taken", "v"), options_of(&o, TTL_MS, 0),
                                   &hold),
                      DIBS_BUSY);
  expect_all_freed();
  assert_int_equal(losses, 0);
  assert_int_equal(dibs_release(mine), DIBS_OK);
  closed = client;
  client = dibs_close(client);
  assert_int_equal(dibs_lock(closed, "x", options_of(&o, TTL_MS, 0), &hold), DIBS_ERR_STALE);
  expect_all_freed();
  other = dibs_close(other);
}

static void on_free_with_a_call(void *data)
{
  dibs_error error = DIBS_ERROR_INIT;
  dibs_hold *none = NULL;

  assert_int_equal(dibs_release(none), DIBS_ERR_STALE);
  (void)dibs_client_error(NULL, 0, &error);
  assert_int_equal(error.status, DIBS_ERR_STALE);
  on_free(data);
}

TEST(the_error_of_the_call_outlives_calls_of_on_lost_free)
{
  dibs_client *client = live_open(live_url());
  dibs_lock_options o;
  dibs_hold *hold = NULL;

  (void)options_of(&o, 1, 0);
  o.on_lost_free = on_free_with_a_call;
  assert_int_equal(dibs_lock(client, "x", &o, &hold), DIBS_ERR_ARGUMENT);
  live_expect_words(client, "ttl_ms is 1");
  expect_all_freed();
  client = dibs_close(client);
}

TEST(options_of_an_older_program_have_no_such_field)
{
  dibs_client *client = live_open(live_url());
  dibs_lock_options o;
  dibs_hold *hold = NULL;
  watched *data;

  (void)options_of(&o, TTL_MS, 0);
  data = o.on_lost_data;
  o.size = offsetof(dibs_lock_options, on_lost_free);
  live_expect_ok(dibs_lock(client, "x", &o, &hold));
  assert_int_equal(dibs_release(hold), DIBS_OK);
  client = dibs_close(client);
  assert_int_equal(freed + change_freed, 0);
  on_free(data);
  on_change_free(o.on_change_data);
}

/* ---- holds of every kind ---- */

TEST(a_release_frees_the_data_of_each_kind_once)
{
  dibs_client *client = live_open(live_url());
  dibs_hold *holds[8];
  dibs_lock_options o;

  live_expect_ok(dibs_semaphore_set(client, dibs_text("permits"), 2, 0, NULL));
  take_one_of_each(client, holds);
  assert_int_equal(freed, 0);
  for (int i = 0; i < 8; i++) {        /* the inner and the outer hold have their own */
    live_expect_ok(dibs_release(holds[i]));
    assert_int_equal(freed, i + 1);
  }
  live_expect_ok(dibs_lock(client, "detached", options_of(&o, SHORT_MS, 0), &holds[0]));
  assert_int_equal(freed, 8);
  live_expect_ok(dibs_hold_detach(holds[0]));
  expect_all_freed();
  /* Taken again, though it lingers: the data is that of the new call. */
  (void)options_of(&o, TTL_MS, 0);
  o.linger_ms = 1000;
  live_expect_ok(dibs_lock(client, "lingers", &o, &holds[0]));
  assert_int_equal(freed, given - 1);
  live_expect_ok(dibs_release(holds[0]));
  expect_all_freed();
  assert_int_equal(losses, 0);
  client = dibs_close(client);
}

TEST(a_close_frees_the_data_of_each_kind_once)
{
  dibs_client *client = live_open(live_url());
  dibs_hold *holds[8];

  live_expect_ok(dibs_semaphore_set(client, dibs_text("permits"), 2, 0, NULL));
  take_one_of_each(client, holds);
  client = dibs_close(client);
  assert_int_equal(given, 8);
  expect_all_freed();
}

TEST(without_a_thread_a_blocking_release_frees_the_data)
{
  dibs_options options = live_options();
  dibs_client *client;
  dibs_lock_options o;
  dibs_hold *hold;

  options.flags = DIBS_CLIENT_NO_THREAD;
  client = live_open_with(live_url(), &options);
  live_expect_ok(dibs_lock(client, "x", options_of(&o, TTL_MS, 0), &hold));
  live_expect_ok(dibs_release(hold));
  expect_all_freed();
  client = dibs_close(client);
}

/* ---- asynchronous ---- */

TEST(an_asynchronous_lock_frees_its_data_once)
{
  dibs_client *client = live_open(live_url());
  dibs_canceller *canceller;
  struct live_ask first, second, third, fourth;
  dibs_lock_options o;

  live_ask_begin(&first, client, "x", options_of(&o, TTL_MS, DIBS_FOREVER));
  (void)live_ask_granted(&first, LIVE_LONG_MS);
  live_ask_begin(&second, client, "x", options_of(&o, TTL_MS, 0));
  assert_true(live_ask_wait(&second, LIVE_LONG_MS));
  assert_int_equal(second.status, DIBS_TIMED_OUT);
  live_ask_init(&third);
  (void)options_of(&o, TTL_MS, DIBS_FOREVER);
  live_expect_ok(dibs_canceller_new(&canceller));
  dibs_cancel(canceller);
  o.cancel = canceller;                /* fired before */
  live_ask_begin(&third, client, "x", &o);
  assert_true(live_ask_wait(&third, LIVE_LONG_MS));
  assert_int_equal(third.status, DIBS_CANCELLED);
  live_ask_begin(&fourth, client, "x", options_of(&o, TTL_MS, DIBS_FOREVER));
  live_expect_ok(dibs_release_async(first.hold, NULL, NULL));
  (void)live_ask_granted(&fourth, LIVE_LONG_MS);
  client = dibs_close(client);
  (void)dibs_canceller_free(canceller);
  assert_int_equal(given, 4);
  expect_all_freed();
}

static void on_locked(const dibs_error *error, dibs_hold *hold, void *data)
{
  (void)error;
  (void)hold;
  on_free(data);
}

static void on_released(const dibs_error *error, void *data)
{
  if (error->status != DIBS_UNKNOWN)
    live_fault("a release without a reply ended with %d", (int)error->status);
  on_free(data);
}

TEST(a_close_without_replies_runs_each_callback_once)
{
  dibs_options options = live_options();
  dibs_client *client;
  dibs_lock_options o;
  dibs_hold *hold;

  options.close_timeout_ms = 50;
  client = live_open_with(live_url(), &options);
  live_expect_ok(dibs_lock(client, "x", options_of(&o, TTL_MS, 0), &hold));
  test_server_pause(live_server);
  live_expect_ok(dibs_release_async(hold, on_released, watched_new()));
  live_expect_ok(dibs_lock_async(client, "y", options_of(&o, TTL_MS, DIBS_FOREVER), on_locked,
                                 watched_new(), NULL));
  client = dibs_close(client);
  test_server_resume(live_server);
  assert_int_equal(given, 4);
  expect_all_freed();
}

/* ---- losses ---- */

static _Atomic(dibs_status) released;

static void release_inside(dibs_hold *hold, const dibs_loss *loss, void *data)
{
  on_lost(hold, loss, data);
  released = dibs_release(hold);
  use(data);                           /* it is this callback's until that returns */
}

static bool is_lost(void *data)
{
  (void)data;
  return losses > 0;
}

TEST(a_release_inside_on_lost_frees_the_data_after_it)
{
  dibs_client *client = live_open(live_url());
  dibs_lock_options o;
  dibs_hold *hold;

  (void)options_of(&o, SHORT_MS, 0);
  o.flags = DIBS_LOCK_FIXED;
  o.on_lost = release_inside;
  live_expect_ok(dibs_lock(client, "x", &o, &hold));
  assert_true(live_until(LIVE_LONG_MS, is_lost, NULL));
  assert_true(live_until(LIVE_LONG_MS, all_are_freed, NULL));
  assert_int_equal(released, DIBS_LOST);
  client = dibs_close(client);
  expect_all_freed();
}

TEST(a_reported_loss_frees_the_data_before_the_release)
{
  dibs_client *client = live_open(live_url());
  dibs_lock_options o;
  dibs_hold *hold;

  (void)options_of(&o, SHORT_MS, 0);
  o.flags = DIBS_LOCK_FIXED;
  live_expect_ok(dibs_lock(client, "x", &o, &hold));
  assert_true(live_until(LIVE_LONG_MS, all_are_freed, NULL));
  assert_int_equal(losses, 1);
  (void)dibs_release(hold);
  client = dibs_close(client);
  expect_all_freed();
}

int main(void)
{
  if (live_is_beyond(LIVE_SENTINEL))
    return 0;

  return tests_run(NULL, NULL, callback_data_setup, live_server_teardown);
}

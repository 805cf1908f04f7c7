/* SPDX-License-Identifier: MIT */
/* test/live/callback_data_quorum_test.c - on_lost_free gets the data of on_lost exactly once where
 * a hold is several leases: in a quorum. */
#include "tests.h"

#include <stdint.h>
#include <string.h>

#include "callback_data.h"
#include "deployment.h"

enum { SERVERS = 3, BRIEF_MS = 600 };

static struct test_quorum *servers;

static int setup(void **state)
{
  (void)state;
  given = freed = losses = change_given = change_freed = 0;
  servers = test_quorum_start(SERVERS, NULL, NULL);
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  servers = test_quorum_stop(servers);
  return 0;
}

static void stop_a_majority(void)
{
  for (int i = 0; i < 2; i++)
    test_server_kill9(test_quorum_server(servers, i));
}

TEST(a_call_of_a_quorum_that_fails_frees_its_data_before_it_returns)
{
  static const char *const names[] = { "a", "b" };
  dibs_client *client = live_open(test_quorum_url(servers));
  dibs_client *other = live_open(test_quorum_url(servers));
  dibs_hold *taken = live_lock(other, "taken", TTL_MS), *hold = NULL;
  dibs_lock_options o;

  live_expect(client, acquire_names(client, names, 2, options_of(&o, TTL_MS, 0), &hold),
              DIBS_ERR_UNSUPPORTED);
  live_expect(client,
              dibs_acquire(client, DIBS_PERMITS("p", 1), options_of(&o, TTL_MS, 0), &hold),
              DIBS_ERR_UNSUPPORTED);
  live_expect(client,
              dibs_acquire(client, DIBS_LEAD("e", "v"), options_of(&o, TTL_MS, 0), &hold),
              DIBS_ERR_UNSUPPORTED);
  expect_all_freed();
  live_expect_refused(client, dibs_try_lock(client, "taken", options_of(&o, TTL_MS, 0), &hold),
                      DIBS_BUSY);
  live_expect_refused(client, dibs_lock(client, "taken", options_of(&o, TTL_MS, 50), &hold),
                      DIBS_TIMED_OUT);
  expect_all_freed();
  live_expect_ok(dibs_release(taken));
  stop_a_majority();
  live_expect(client, dibs_try_lock(client, "x", options_of(&o, TTL_MS, 0), &hold),
              DIBS_ERR_UNREACHABLE);
  expect_all_freed();
  assert_int_equal(losses, 0);
  client = dibs_close(client);
  other = dibs_close(other);
}

TEST(a_release_and_a_close_of_a_quorum_free_the_data_once)
{
  dibs_client *client = live_open(test_quorum_url(servers));
  dibs_hold *holds[5];
  dibs_lock_options o;

  live_expect_ok(dibs_lock(client, "mutex", options_of(&o, TTL_MS, 0), &holds[0]));
  live_expect_ok(dibs_lock(client, "mutex", options_of(&o, TTL_MS, 0), &holds[1]));
  live_expect_ok(dibs_acquire(client, DIBS_READ("rw"), options_of(&o, TTL_MS, 0), &holds[2]));
  live_expect_ok(dibs_acquire(client, DIBS_WRITE("write"), options_of(&o, TTL_MS, 0),
                              &holds[3]));
  live_expect_ok(dibs_lock(client, "kept", options_of(&o, TTL_MS, 0), &holds[4]));
  assert_int_equal(freed, 0);
  for (int i = 0; i < 4; i++) {        /* the inner and the outer hold have their own */
    live_expect_ok(dibs_release(holds[i]));
    assert_int_equal(freed, i + 1);
  }
  client = dibs_close(client);
  expect_all_freed();
  assert_int_equal(losses, 0);
}

TEST(asynchronous_locks_of_a_quorum_free_their_data_once)
{
  dibs_client *client = live_open(test_quorum_url(servers));
  struct live_ask first, second, third;
  dibs_lock_options o;

  live_ask_begin(&first, client, "x", options_of(&o, TTL_MS, DIBS_FOREVER));
  (void)live_ask_granted(&first, LIVE_LONG_MS);
  live_ask_begin(&second, client, "x", options_of(&o, TTL_MS, DIBS_FOREVER));
  live_expect_ok(dibs_request_cancel(second.request));
  assert_true(live_ask_wait(&second, LIVE_LONG_MS));
  assert_int_equal(second.status, DIBS_CANCELLED);
  live_ask_init(&third);                 /* waits until the client is closed */
  live_ask_begin(&third, client, "x", options_of(&o, TTL_MS, DIBS_FOREVER));
  live_expect_ok(dibs_release_async(first.hold, NULL, NULL));
  client = dibs_close(client);
  assert_true(live_ask_is_over(&third));
  assert_int_equal(given, 3);
  expect_all_freed();
}

TEST(a_loss_of_a_majority_frees_the_data_once)
{
  dibs_client *client = live_open(test_quorum_url(servers));
  dibs_hold *lost, *released;
  dibs_lock_options o;

  live_expect_ok(dibs_lock(client, "lost", options_of(&o, BRIEF_MS, DIBS_FOREVER), &lost));
  live_expect_ok(dibs_lock(client, "released", options_of(&o, TTL_MS, DIBS_FOREVER), &released));
  stop_a_majority();
  assert_int_equal(dibs_release(released), DIBS_UNKNOWN);
  assert_true(live_until(LIVE_LONG_MS, all_are_freed, NULL));
  assert_int_equal(losses, 1);
  assert_int_not_equal(dibs_release(lost), DIBS_OK);
  client = dibs_close(client);
  assert_int_equal(losses, 1);
  expect_all_freed();
}

RUN_TESTS_EACH(NULL, NULL, setup, teardown)

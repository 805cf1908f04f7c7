/* SPDX-License-Identifier: MIT */
/* test/live/nothing_left_test.c - whatever way a client ends its requests and itself, the
 * server keeps no lease, no queue, no client and no subscription of it; free locks are
 * remembered with a TTL. Also: closing gives everything back. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"
#include "proxy.h"

static int teardown(void **state)
{
  live_expect_clean(live_server);
  return live_server_teardown(state);
}

TEST(releases_and_timeouts_and_cancels_leave_nothing)
{
  dibs_client *client = live_open(live_url());
  dibs_client *other = live_open(live_url());
  dibs_lock_options soon = live_lock_options(1000, 20), wait = live_lock_options(1000, 0);
  static struct live_ask asks[20];
  char name[16];

  for (int i = 0; i < 20; i++) {
    dibs_hold *hold, *none = NULL;

    (void)snprintf(name, sizeof(name), "mixed-%d", i);
    hold = live_lock(other, name, 60000);
    live_refused(dibs_lock(client, name, &soon, &none), DIBS_TIMED_OUT);
    live_ask_begin(&asks[i], client, name, &wait);
    if (i % 2 == 0)
      live_expect_waiters(live_server, name, 1);
    assert_int_equal(dibs_request_cancel(asks[i].request), DIBS_OK);
    assert_true(live_ask_wait(&asks[i], LIVE_LONG_MS));
    assert_int_equal(dibs_release(hold), DIBS_OK);
  }
  client = dibs_close(client);
  other = dibs_close(other);
  live_expect_clean(live_server);
}

TEST(a_close_releases_and_leaves_at_once)
{
  dibs_client *client = live_open(live_url());
  dibs_client *other = live_open(live_url());
  dibs_lock_options wait = live_lock_options(60000, 0);
  static struct live_ask asks[20];
  char name[16];
  int64_t begun;

  for (int i = 0; i < 20; i++) {
    (void)snprintf(name, sizeof(name), "mine-%d", i);
    (void)live_lock(client, name, 60000);
    (void)snprintf(name, sizeof(name), "theirs-%d", i);
    (void)live_lock(other, name, 60000);
    live_ask_begin(&asks[i], client, name, &wait);
    live_expect_waiters(live_server, name, 1);
  }
  begun = live_now_ms();
  client = dibs_close(client);
  assert_true(live_now_ms() - begun < 1000 + 500);
  for (int i = 0; i < 20; i++) {
    assert_true(live_ask_is_over(&asks[i]));          /* callbacks run before the end */
    assert_int_equal(asks[i].status, DIBS_ERR_CLOSED);
    (void)snprintf(name, sizeof(name), "mine-%d", i);
    assert_int_equal(live_try(other, name), DIBS_OK);
  }
  other = dibs_close(other);
  live_expect_clean(live_server);
}

TEST(lost_answers_leave_nothing)
{
  live_needs_one_server();
  struct test_proxy *proxy = test_proxy_start(live_server);
  dibs_client *client = live_open(live_url_by(proxy));
  char name[16];

  for (int i = 0; i < 30; i++) {
    dibs_lock_options o = live_lock_options(2000, 1 + i);
    dibs_hold *hold = NULL;

    (void)snprintf(name, sizeof(name), "lost-%d", i);
    if (i % 3 == 0)
      test_proxy_lose_reply_to(proxy, "EVALSHA");
    if (i % 3 == 1)
      test_proxy_swallow_replies(proxy, 1);
    if (i % 3 == 2)
      test_proxy_cut_after(proxy, TEST_TO_CLIENT, (uint64_t)i);
    if (dibs_lock(client, name, &o, &hold) == DIBS_OK)
      (void)dibs_release(hold);
  }
  test_proxy_pass(proxy, TEST_BOTH);
  live_expect_free(client, "lost-0", LIVE_LONG_MS);
  client = dibs_close(client);
  live_expect_clean(live_server);
  proxy = test_proxy_stop(proxy);
}

/* The registration is from before the connection broke; nothing has been locked since. */
TEST(a_client_that_was_connected_again_leaves_no_registration)
{
  live_needs_one_server();
  struct test_proxy *proxy = test_proxy_start(live_server);
  dibs_client *client = live_open(live_url_by(proxy));

  assert_int_equal(dibs_release(live_lock(client, "again", 5000)), DIBS_OK);
  test_proxy_cut(proxy);
  live_expect(client, dibs_ping(client, LIVE_LONG_MS, NULL), DIBS_OK);
  client = dibs_close(client);
  live_expect_clean(live_server);
  proxy = test_proxy_stop(proxy);
}

/* ---- a process that is killed ---- */

static void never_runs(const dibs_error *error, dibs_hold *hold, void *data)
{
  (void)error;
  (void)hold;
  (void)data;
  abort();
}

/* Holds one name and waits for another, tells so, and sleeps until it is killed. */
static _Noreturn void be_killed(int tell)
{
  dibs_options o = live_options();
  dibs_lock_options take = live_lock_options(500, 0);
  dibs_client *client = NULL;
  dibs_hold *hold = NULL;
  dibs_request *request = NULL;

  if (dibs_open(live_url(), &o, &client, NULL) != DIBS_OK ||
      dibs_lock(client, "of-the-dead", &take, &hold) != DIBS_OK ||
      dibs_lock_async(client, "of-the-living", &take, never_runs, NULL, &request) != DIBS_OK)
    _exit(1);
  (void)!write(tell, "x", 1);
  for (;;)
    (void)pause();
}

static bool is_free_everywhere_once_taken(void *other)
{
  assert_int_equal(dibs_release(live_lock(other, "of-the-dead", 1000)), DIBS_OK);
  return live_lease_end_us(live_server, "of-the-dead") == 0;
}

TEST(a_killed_process_leaves_its_lease_to_the_next)
{
  dibs_client *other = live_open(live_url());
  dibs_hold *mine = live_lock(other, "of-the-living", 60000);
  int ends[2];
  pid_t child;
  char byte;

  assert_int_equal(pipe(ends), 0);
  child = fork();
  if (child == 0)
    be_killed(ends[1]);
  assert_int_equal(close(ends[1]), 0);        /* so that its death is not waited for */
  assert_int_equal(read(ends[0], &byte, 1), 1);
  assert_int_equal(close(ends[0]), 0);
  live_expect_waiters(live_server, "of-the-living", 1);
  assert_int_equal(kill(child, SIGKILL), 0);
  assert_int_equal(promise_waitpid(child, NULL, 0), child);
  live_refused(live_try(other, "of-the-dead"), DIBS_BUSY);
  /* In a quorum two servers suffice: at the third the ended lease may stay until a later holder
   * is granted the name there. */
  assert_true(live_until(LIVE_LONG_MS, is_free_everywhere_once_taken, other));
  assert_int_equal(dibs_release(mine), DIBS_OK);
  live_expect_free(other, "of-the-living", 2000);
  other = dibs_close(other);
  live_expect_clean_but_presence(live_server);
}

RUN_TESTS(live_server_setup, teardown)

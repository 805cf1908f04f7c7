/* SPDX-License-Identifier: MIT */
/* test/live/client_end_test.c - who goes leaves nothing behind: dibs_close() gives back
 * everything of every kind and leaves every queue within a second; and where a process
 * dies with a lease of a second, a standby goes on within about that. */
#include "tests.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"

enum { TTL_MS = 20000, CLOSE_MS = 1000, ASKS = 5, HOLDS = 5 };

static dibs_client *other;

static int setup(void **state)
{
  (void)live_server_setup(state);
  other = live_open(live_url());
  return 0;
}

static int teardown(void **state)
{
  (void)!dibs_semaphore_delete(other, dibs_text("permits"));
  other = dibs_close(other);
  live_expect_clean_but_presence(live_server);
  return live_server_teardown(state);
}

static size_t holders_of(const char *name)
{
  dibs_inspection *in = NULL;
  size_t count;

  assert_int_equal(dibs_inspect(other, dibs_text(name), &in), DIBS_OK);
  count = in->holder_count;
  in = dibs_inspection_free(in);
  return count;
}

static size_t waiters_of(const char *name)
{
  dibs_inspection *in = NULL;
  size_t count;

  assert_int_equal(dibs_inspect(other, dibs_text(name), &in), DIBS_OK);
  count = in->waiter_count;
  in = dibs_inspection_free(in);
  return count;
}

/* ---- holding ---- */

static const char *const held[] = { "mutex", "read", "write", "permits", "{set}one", "{set}two" };

static void take_one_of_each(dibs_client *client, dibs_hold *ret_holds[HOLDS])
{
  static const char *const both[] = { "{set}one", "{set}two" };
  dibs_lock_options o = live_lock_options(TTL_MS, 0);

  assert_int_equal(dibs_lock(client, "mutex", &o, &ret_holds[0]), DIBS_OK);
  assert_int_equal(dibs_acquire(client, DIBS_READ("read"), &o, &ret_holds[1]), DIBS_OK);
  assert_int_equal(dibs_acquire(client, DIBS_WRITE("write"), &o, &ret_holds[2]), DIBS_OK);
  live_expect_ok(dibs_acquire(client, DIBS_PERMITS("permits", 2), &o, &ret_holds[3]));
  live_expect_ok(acquire_names(client, both, 2, &o, &ret_holds[4]));
  for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
    assert_int_equal(holders_of(held[i]), 1);
}

static void close_in_time(dibs_client *client)
{
  int64_t began = live_now_ms();

  assert_null(dibs_close(client));
  assert_true(live_now_ms() - began < CLOSE_MS + 200);
}

TEST(close_gives_back_every_kind_within_a_second)
{
  live_needs_answer(dibs_semaphore_set(other, dibs_text("permits"), 2, 0, NULL));
  dibs_client *client = live_open(live_url());
  dibs_hold *holds[HOLDS];

  take_one_of_each(client, holds);
  close_in_time(client);
  for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
    assert_int_equal(holders_of(held[i]), 0);
}

static void *close_it(void *client)
{
  (void)dibs_close(client);
  return NULL;
}

/* The releases are executed, and their replies are late. */
TEST(a_closing_client_has_no_hold_when_another_is_granted_the_name)
{
  live_needs_one_server();
  live_needs_answer(dibs_semaphore_set(other, dibs_text("permits"), 2, 0, NULL));
  struct test_proxy *proxy = test_proxy_start(live_server);
  dibs_options o = live_options();
  dibs_client *client;
  dibs_hold *holds[HOLDS], *next;
  pthread_t closing;

  o.command_timeout_ms = o.close_timeout_ms = LIVE_LONG_MS;
  client = live_open_with(live_url_by(proxy), &o);
  take_one_of_each(client, holds);
  test_proxy_hold(proxy, TEST_TO_CLIENT);
  assert_int_equal(pthread_create(&closing, NULL, close_it, client), 0);
  next = live_lock(other, "mutex", TTL_MS);
  for (int i = 0; i < HOLDS; i++) {
    promise_kept(dibs_hold_state(holds[i]) == DIBS_HOLD_GONE && dibs_hold_valid_ms(holds[i]) == 0,
                 "hold %d of a closing client is valid when another client has the name", i);
  }
  test_proxy_pass(proxy, TEST_BOTH);
  assert_int_equal(pthread_join(closing, NULL), 0);
  assert_int_equal(dibs_release(next), DIBS_OK);
  proxy = test_proxy_stop(proxy);
}

/* ---- waiting ---- */

static void begin_all(struct live_ask *asks, dibs_client *client)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  static const char *const both[] = { "{set}one", "{set}two" };

  for (int i = 0; i < ASKS; i++)
    live_ask_init(&asks[i]);
  live_ask_begin(&asks[0], client, "mutex", &o);
  live_ask_begin_as(&asks[1], client, 'w', "read", &o);
  live_ask_begin_as(&asks[2], client, 'r', "write", &o);
  live_ask_begin_as(&asks[3], client, '1', "permits", &o);
  live_ask_begin_many(&asks[4], client, both, 2, &o);
}

static bool all_wait(void *nothing)
{
  (void)nothing;
  return waiters_of("mutex") == 1 && waiters_of("read") == 1 && waiters_of("write") == 1 &&
         waiters_of("permits") == 1 && waiters_of("{set}one") == 1;
}

TEST(close_leaves_every_queue_within_a_second)
{
  live_needs_answer(dibs_semaphore_set(other, dibs_text("permits"), 2, 0, NULL));
  dibs_client *holder = live_open(live_url());
  dibs_client *waiter = live_open(live_url());
  struct live_ask asks[ASKS];
  dibs_hold *holds[HOLDS];

  take_one_of_each(holder, holds);
  begin_all(asks, waiter);
  assert_true(live_until(LIVE_LONG_MS, all_wait, NULL));
  close_in_time(waiter);
  for (int i = 0; i < ASKS; i++) {
    assert_true(live_ask_wait(&asks[i], LIVE_LONG_MS));
    assert_int_equal(asks[i].status, DIBS_ERR_CLOSED);
  }
  for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
    assert_int_equal(waiters_of(held[i]), 0);
  close_in_time(holder);
}

/* ---- dying with a short lease ---- */

TEST(a_standby_takes_over_after_a_lease_of_a_second)
{
  live_needs_answer(dibs_semaphore_set(other, dibs_text("permits"), 2, 0, NULL));
  dibs_lock_options o = live_lock_options(1000, 0);
  int64_t killed_at;
  dibs_hold *hold = NULL;
  int pipes[2];
  pid_t child;
  char byte;

  assert_int_equal(pipe(pipes), 0);
  child = fork();
  if (child == 0) {
    dibs_client *client = NULL;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dibs_open(live_url(), NULL, &client, NULL) != DIBS_OK ||
        dibs_lock(client, "standby", &o, &hold) != DIBS_OK || write(pipes[1], "x", 1) != 1)
      _exit(1);
    for (;;)
      pause();
  }
  (void)close(pipes[1]);
  assert_int_equal(read(pipes[0], &byte, 1), 1);
  (void)close(pipes[0]);
  {
    struct live_ask ask;

    live_ask_begin(&ask, other, "standby", &o);
    live_expect_waiters(live_server, "standby", 1);
    assert_int_equal(kill(child, SIGKILL), 0);
    killed_at = live_now_ms();
    assert_int_equal(promise_waitpid(child, NULL, 0), child);
    hold = live_ask_granted(&ask, LIVE_LONG_MS);
    assert_true(ask.ended_at_ms - killed_at < 2000 + 500);
  }
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

RUN_TESTS(setup, teardown)

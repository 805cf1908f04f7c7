/* SPDX-License-Identifier: MIT */
/* test/live/close_late_reply_test.c - replies that come when dibs_close() has just ended what they
 * answer: each callback still runs once, and dibs_close() returns. */
#include "tests.h"

#include <dlfcn.h>
#include <pthread.h>

#include "live.h"

enum { TTL_MS = 20000, CLOSE_MS = 100, TURN_MS = 50, RELEASES = 3 };

/* ---- the moment: the closing thread is about to give the client's mutex back ---- */

static struct test_proxy *proxy;
static _Thread_local int64_t pass_from_ms;     /* of the closing thread; 0: not, or it was */
static uint64_t held_from;                     /* what had passed before */
static bool has_passed;

static bool replies_are_there(void *data)
{
  (void)data;
  return test_proxy_counts(proxy).passed_to_client > held_from;
}

static bool never(void *data)
{
  (void)data;
  return false;
}

/* Called by the library. As if the closing thread lost its processor when it has given the mutex
 * back: whatever reads the sockets has its turn. */
int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
  static int (*next)(pthread_mutex_t *);
  int fault;

  if (next == NULL)
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
  if (pass_from_ms == 0 || live_now_ms() < pass_from_ms)
    return next(mutex);
  pass_from_ms = 0;
  test_proxy_pass(proxy, TEST_BOTH);
  has_passed = live_until(LIVE_LONG_MS, replies_are_there, NULL);
  fault = next(mutex);
  (void)live_until(TURN_MS, never, NULL);
  return fault;
}

static void close_late(dibs_client *client)
{
  has_passed = false;
  pass_from_ms = live_now_ms() + CLOSE_MS;
  assert_null(dibs_close(client));
  pass_from_ms = 0;
  assert_true(has_passed);
}

/* ---- releases without a reply ---- */

static int setup(void **state)
{
  (void)live_server_setup(state);
  return 0;
}

static int teardown(void **state)
{
  live_expect_clean_but_presence(live_server);
  return live_server_teardown(state);
}

static void count(const dibs_error *error, void *data)
{
  _Atomic int *calls = data;

  (void)error;
  if (++*calls > RELEASES)
    live_fault("a callback runs without end");
}

static dibs_client *open_by_proxy(unsigned flags)
{
  dibs_options o = live_options();

  o.flags |= flags;
  o.close_timeout_ms = CLOSE_MS;
  o.command_timeout_ms = LIVE_LONG_MS;
  return live_open_with(live_url_by(proxy), &o);
}

static void close_amid_releases(unsigned flags, void *(*beside)(void *hold))
{
  live_needs_one_server();
  static const char *const names[RELEASES] = { "a", "b", "c" };
  _Atomic int calls[RELEASES] = { 0 };
  dibs_client *client, *other = live_open(live_url());
  dibs_hold *holds[RELEASES], *last;
  pthread_t thread;

  proxy = test_proxy_start(live_server);
  client = open_by_proxy(flags);
  for (int i = 0; i < RELEASES; i++)
    holds[i] = live_lock(client, names[i], TTL_MS);
  last = live_lock(client, "last", TTL_MS);
  live_expect_ok(dibs_release(live_lock(client, "first", TTL_MS)));    /* has the script there */
  test_proxy_hold(proxy, TEST_TO_CLIENT);
  held_from = test_proxy_counts(proxy).passed_to_client;
  for (int i = 0; i < RELEASES; i++)
    live_expect_ok(dibs_release_async(holds[i], count, &calls[i]));
  if (beside != NULL)
    assert_int_equal(pthread_create(&thread, NULL, beside, last), 0);
  live_expect_free(other, beside != NULL ? "last" : names[RELEASES - 1], LIVE_LONG_MS);
  close_late(client);
  for (int i = 0; i < RELEASES; i++)
    assert_int_equal(calls[i], 1);
  if (beside != NULL)
    assert_int_equal(pthread_join(thread, NULL), 0);
  other = dibs_close(other);
  proxy = test_proxy_stop(proxy);
  assert_int_equal(live_faults(), 0);
}

TEST(replies_that_the_thread_reads_as_close_ends_run_no_callback_again)
{
  close_amid_releases(0, NULL);
}

TEST(nor_with_callbacks_in_the_loop)
{
  close_amid_releases(DIBS_CLIENT_PROCESS_CALLBACKS, NULL);
}

/* It reads the sockets, and close ends it. */
static void *release_it(void *hold)
{
  (void)dibs_release(hold);
  return NULL;
}

TEST(nor_replies_that_a_call_reads_which_close_has_ended)
{
  close_amid_releases(DIBS_CLIENT_NO_THREAD, release_it);
}

TEST(nor_with_both)
{
  close_amid_releases(0, release_it);
}

RUN_TESTS(setup, teardown)

/* SPDX-License-Identifier: MIT */
/* test/live/forgotten_scripts_test.c - a server that forgets its scripts between any two calls
 * is not noticed, and only its own word for that brings the text of a script again. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <poll.h>

#include "two_clients.h"

static void flush(void)
{
  assert_string_equal(test_server_command(live_server, "SCRIPT FLUSH"), "OK");
}

static bool count_one(const dibs_inspection *seen, void *data)
{
  *(int *)data += seen->is_held;
  return true;
}

TEST(every_call_works_right_after_a_flush)
{
  char token[DIBS_TOKEN_SIZE];
  dibs_inspection *seen = NULL;
  dibs_hold *hold, *none = NULL;
  int held = 0;

  flush();
  hold = live_lock(client, "calls", 60000);
  flush();
  live_expect_refused(other, dibs_try_lock(other, "calls", NULL, &none), DIBS_BUSY);
  flush();
  live_expect(other, dibs_inspect(other, dibs_text("calls"), &seen), DIBS_OK);
  assert_true(seen->is_held);
  flush();
  live_expect(other, dibs_list(other, NULL, count_one, &held), DIBS_OK);
  assert_int_equal(held, 1);
  live_expect_ok(dibs_hold_token(hold, token, sizeof(token)));
  flush();
  live_expect(other, dibs_token_renew(other, token, 60000, NULL), DIBS_OK);
  flush();
  live_expect(other, dibs_token_release(other, token), DIBS_OK);
  flush();
  live_expect(client, dibs_release(hold), DIBS_OK);       /* done before: done */
  hold = live_lock(client, "calls", 60000);
  seen = dibs_inspection_free(seen);
  live_expect(other, dibs_inspect(other, dibs_text("calls"), &seen), DIBS_OK);
  flush();
  live_expect(other, dibs_break(other, dibs_text("calls"), seen->lease), DIBS_OK);
  seen = dibs_inspection_free(seen);
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
}

TEST(renewals_survive_a_flush)
{
  dibs_hold *hold = live_lock(client, "renewed", 600);
  uint64_t renewed = live_stats(client).renewed;

  for (int flushes = 0; flushes < 4; flushes++) {
    flush();
    while (live_stats(client).renewed == renewed && dibs_hold_state(hold) != DIBS_HOLD_GONE)
      (void)poll(NULL, 0, 1);
    assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
    renewed = live_stats(client).renewed;
  }
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

TEST(waiting_and_leaving_survive_a_flush)
{
  dibs_lock_options o = live_lock_options(5000, 0);
  dibs_hold *hold = live_lock(other, "queue", 60000);
  struct live_ask stays, leaves;

  flush();
  live_ask_begin(&stays, client, "queue", &o);
  live_expect_waiters(live_server, "queue", 1);
  flush();
  live_ask_begin(&leaves, client, "queue-2", &o);
  assert_int_equal(dibs_release(live_ask_granted(&leaves, LIVE_LONG_MS)), DIBS_OK);
  flush();
  assert_int_equal(dibs_request_cancel(stays.request), DIBS_OK);
  assert_true(live_ask_wait(&stays, LIVE_LONG_MS));
  assert_int_equal(stays.status, DIBS_CANCELLED);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  live_expect_free(other, "queue", LIVE_LONG_MS);
}

static _Atomic bool is_over;

static void *flush_again_and_again(void *data)
{
  while (!atomic_load(&is_over))
    (void)test_server_command(data, "SCRIPT FLUSH");
  return NULL;
}

TEST(flushes_at_any_moment_are_not_noticed)
{
  pthread_t thread;

  atomic_store(&is_over, false);
  assert_int_equal(pthread_create(&thread, NULL, flush_again_and_again, live_server), 0);
  for (long run = live_times(500); run > 0; run--)
    assert_int_equal(dibs_release(live_lock(client, "stormy", 5000)), DIBS_OK);
  atomic_store(&is_over, true);
  assert_int_equal(pthread_join(thread, NULL), 0);
}

static long calls_of(const char *command)
{
  const char *stats = test_server_command(live_server, "INFO commandstats");
  char key[32];
  const char *at;

  (void)snprintf(key, sizeof(key), "cmdstat_%s:calls=", command);
  at = strstr(stats, key);
  return at == NULL ? 0 : atol(at + strlen(key));
}

TEST(the_text_is_sent_only_when_it_is_missing)
{
  live_needs_one_view();
  dibs_client *fresh = live_open(live_url());
  long texts;

  assert_int_equal(live_try(fresh, "text"), DIBS_OK);      /* known from now on */
  texts = calls_of("eval");
  for (int i = 0; i < 50; i++)
    assert_int_equal(dibs_release(live_lock(fresh, "text", 5000)), DIBS_OK);
  assert_int_equal(calls_of("eval"), texts);
  flush();
  for (int i = 0; i < 50; i++)
    assert_int_equal(dibs_release(live_lock(fresh, "text", 5000)), DIBS_OK);
  /* acquire, and release where that needs its script */
  assert_int_equal(calls_of("eval"), texts + (live_has_ifeq() ? 1 : 2));
  fresh = dibs_close(fresh);
}

TEST(a_restarted_server_is_taught_again)
{
  live_needs_one_server();
  test_server_restart(live_server, true);
  live_expect_free(client, "restarted", LIVE_LONG_MS);
  live_expect_free(other, "restarted", LIVE_LONG_MS);
}

RUN_TESTS(setup, teardown)

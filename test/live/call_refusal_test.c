/* SPDX-License-Identifier: MIT */
/* test/live/call_refusal_test.c - the outcomes of every function with a client, as <dibs/client.h>
 * lists them: it is NULL, was closed, is being closed, is of the parent process, or the call
 * would block in a callback. Each is returned at once, and no callback runs. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <sys/wait.h>
#include <unistd.h>

#include "every_call.h"

static dibs_client *client;

/* Returns how many rows did not return `wanted`. */
static int run_rows(dibs_client *c, dibs_status wanted, bool with_callbacks)
{
  int wrong = 0;

  for (size_t i = 0; i < ROW_COUNT; i++) {
    struct trial t = trial_of(i, NULL, NULL);
    dibs_status status;

    if (rows[i].has_callback && !with_callbacks)
      continue;
    status = rows[i].call(c, &t);
    if (status == wanted && atomic_load(&t.callbacks) == 0)
      continue;
    wrong++;
    live_fault("%s: %s instead of %s, %d callbacks", rows[i].function, dibs_status_name(status),
               dibs_status_name(wanted), atomic_load(&t.callbacks));
  }
  return wrong;
}

TEST(a_client_that_is_null_is_an_argument)
{
  assert_int_equal(run_rows(NULL, DIBS_ERR_ARGUMENT, true), 0);
}

TEST(a_closed_client_is_stale)
{
  dibs_client *c = live_open(live_url());

  assert_null(dibs_close(c));
  assert_int_equal(run_rows(c, DIBS_ERR_STALE, true), 0);
}

TEST(a_client_of_the_parent_is_forked)
{
  int status = 0;
  pid_t child = fork();

  assert_true(child >= 0);
  if (child == 0)
    _exit(run_rows(client, DIBS_ERR_FORKED, true) != 0);
  assert_int_equal(promise_waitpid(child, &status, 0), child);
  assert_int_equal(WEXITSTATUS(status), 0);
}

struct inside { _Atomic int wrong, has_run; };

static void on_granted(const dibs_error *error, dibs_hold *hold, void *data)
{
  struct inside *i = data;

  (void)error;
  atomic_store(&i->wrong, run_rows(client, DIBS_ERR_WOULD_BLOCK, false));
  (void)dibs_release(hold);
  atomic_store(&i->has_run, 1);
}

static bool has_run(void *data)
{
  return atomic_load(&((struct inside *)data)->has_run) != 0;
}

TEST(a_call_that_blocks_is_refused_in_a_callback)
{
  struct inside i = { 0 };

  live_expect_ok(dibs_lock_async(client, "callback", NULL, on_granted, &i, NULL));
  assert_true(live_until(LIVE_LONG_MS, has_run, &i));
  assert_int_equal(atomic_load(&i.wrong), 0);
}

static void *closes(void *data)
{
  return dibs_close(data);
}

static bool is_closing(void *data)
{
  return dibs_client_set_credentials(data, NULL, NULL) == DIBS_ERR_CLOSED;
}

/* The close waits for the release of a hold, and the server is stopped. */
TEST(a_client_that_is_being_closed_says_so)
{
  dibs_options o = live_options();
  pthread_t thread;
  dibs_client *c;

  o.close_timeout_ms = LIVE_LONG_MS;
  c = live_open_with(live_url(), &o);
  (void)live_lock(c, "closing", 60000);
  test_server_pause(live_server);
  assert_int_equal(pthread_create(&thread, NULL, closes, c), 0);
  assert_true(live_until(LIVE_LONG_MS, is_closing, c));
  assert_int_equal(run_rows(c, DIBS_ERR_CLOSED, true), 0);
  test_server_resume(live_server);
  assert_int_equal(pthread_join(thread, NULL), 0);
}

static int setup(void **state)
{
  (void)every_call_setup(state);
  client = live_open(live_url());
  return 0;
}

static int teardown(void **state)
{
  test_server_resume(live_server);
  client = dibs_close(client);
  return live_server_teardown(state);
}

RUN_TESTS(setup, teardown)

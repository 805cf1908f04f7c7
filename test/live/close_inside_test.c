/* SPDX-License-Identifier: MIT */
/* test/live/close_inside_test.c - dibs_close() while a callback of the client has not ended. In a
 * signal handler that interrupted a call: interrupted_call_test.c. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <semaphore.h>

#include "live.h"

/* ---- a callback that takes longer than close_timeout_ms ---- */

static sem_t has_begun, may_end;
static _Atomic bool is_over;

static void take_long(const dibs_error *error, void *data)
{
  (void)error;
  (void)data;
  (void)sem_post(&has_begun);
  while (sem_wait(&may_end) != 0)
    continue;
  atomic_store(&is_over, true);
}

static void *close_it(void *client)
{
  client = dibs_close(client);
  if (client != NULL || !atomic_load(&is_over))
    live_fault("dibs_close() returned before the callback");
  return NULL;
}

static bool is_closing(void *client)
{
  dibs_status status = dibs_ping(client, 1000, NULL);

  return status == DIBS_ERR_CLOSED || status == DIBS_ERR_STALE;
}

TEST(close_returns_after_the_callback_that_runs)
{
  dibs_options o = live_options();
  int faults = live_faults();
  pthread_t closer;
  dibs_client *c;

  o.close_timeout_ms = 1;
  c = live_open_with(live_url(), &o);
  live_expect(c, dibs_release_async(live_lock(c, "r", 30000), take_long, NULL), DIBS_OK);
  assert_int_equal(sem_wait(&has_begun), 0);
  assert_int_equal(pthread_create(&closer, NULL, close_it, c), 0);
  assert_true(live_until(LIVE_LONG_MS, is_closing, c));
  assert_int_equal(sem_post(&may_end), 0);
  assert_int_equal(pthread_join(closer, NULL), 0);
  assert_int_equal(live_faults() - faults, 0);
}

/* ---- calls of a callback that dibs_close() runs ---- */

static void never_granted(const dibs_error *error, dibs_hold *hold, void *data)
{
  (void)data;
  live_fault("a call that returned DIBS_ERR_CLOSED ended with %s, %s hold",
             dibs_status_name(error->status), hold == NULL ? "no" : "a");
}

static void call_in_the_end(const dibs_error *error, void *client)
{
  dibs_status status = dibs_lock_async(client, "again", NULL, never_granted, NULL, NULL);

  (void)error;
  live_expect(client, status, DIBS_ERR_CLOSED);
  assert_string_not_equal(dibs_client_id(client), "");
  assert_false(dibs_is_connected(client));
  is_over = true;
}

TEST(a_callback_inside_close_finds_the_client_closing)
{
  dibs_options o = live_options();
  dibs_client *c;

  is_over = false;
  o.flags = DIBS_CLIENT_PROCESS_CALLBACKS;     /* and nobody processes: dibs_close() runs it */
  c = live_open_with(live_url(), &o);
  live_expect(c, dibs_release_async(live_lock(c, "r", 30000), call_in_the_end, c), DIBS_OK);
  assert_null(dibs_close(c));
  assert_true(is_over);
}

/* ---- the callback of a walk ---- */

static bool close_in_a_walk(dibs_bytes key, dibs_bytes value, void *client)
{
  (void)key;
  (void)value;
  assert_ptr_equal(dibs_close(client), client);
  live_expect_ok(dibs_ping(client, 1000, NULL));      /* it may wait, and is still open */
  is_over = true;
  return true;
}

TEST(close_in_the_callback_of_a_walk_does_nothing)
{
  dibs_client *c = live_open(live_url());

  live_needs_one_server();
  is_over = false;
  live_expect(c, dibs_map_put(c, "walked", dibs_text("k"), dibs_text("v"), NULL), DIBS_OK);
  live_expect(c, dibs_map_each(c, "walked", close_in_a_walk, c), DIBS_OK);
  assert_true(is_over);
  assert_null(dibs_close(c));
}

int main(void)
{
  (void)sem_init(&has_begun, 0, 0);
  (void)sem_init(&may_end, 0, 0);
  return tests_run(live_server_setup, live_server_teardown, NULL, NULL);
}

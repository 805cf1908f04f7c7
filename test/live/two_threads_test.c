/* SPDX-License-Identifier: MIT */
/* test/live/two_threads_test.c - two threads with one client; a tool that looks for races runs
 * this program. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>

#include "live.h"

enum { ROUNDS = 100 };

static dibs_client *client;

static void *lock_and_release(void *own)
{
  for (int i = 0; i < ROUNDS; i++) {
    dibs_hold *hold = NULL;
    dibs_status status = dibs_lock(client, i % 3 == 0 ? own : "common", NULL, &hold);

    if (status == DIBS_OK)
      status = dibs_release(hold);
    if (status != DIBS_OK)
      live_fault("%s", dibs_status_name(status));
  }
  return NULL;
}

TEST(two_threads_take_turns)
{
  pthread_t one, other;

  assert_int_equal(pthread_create(&one, NULL, lock_and_release, "of one"), 0);
  assert_int_equal(pthread_create(&other, NULL, lock_and_release, "of the other"), 0);
  assert_int_equal(pthread_join(one, NULL), 0);
  assert_int_equal(pthread_join(other, NULL), 0);
  assert_int_equal(live_faults(), 0);
}

/* Valgrind runs one thread at a time: an answer may take longer. */
static int open_patiently(void **state)
{
  dibs_options o = live_options();

  (void)live_server_setup(state);
  o.connect_timeout_ms = o.command_timeout_ms = LIVE_LONG_MS;
  client = live_open_with(live_url(), &o);
  return 0;
}

static int teardown(void **state)
{
  client = dibs_close(client);
  return live_server_teardown(state);
}

RUN_TESTS(open_patiently, teardown)

/* SPDX-License-Identifier: MIT */
/* test/live/one_subscription_test.c - however many wait for however many names, a
 * process has one subscription, and one waiter's end changes nothing for the others. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"

static dibs_client *holder, *waiter;
static long count;
static struct live_ask *asks;
static dibs_hold **holds;

static int setup(void **state)
{
  (void)live_server_setup(state);
  holder = live_open(live_url());
  waiter = live_open(live_url());
  count = live_times(1500);
  asks = calloc((size_t)count, sizeof(*asks));
  holds = calloc((size_t)count, sizeof(*holds));
  return asks == NULL || holds == NULL;
}

static int teardown(void **state)
{
  free(asks);
  free(holds);
  holder = dibs_close(holder);
  waiter = dibs_close(waiter);
  return live_server_teardown(state);
}

static int lines_with(const char *text, const char *word)
{
  int lines = 0;

  for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word))
    lines++;
  return lines;
}

/* The holder's client has its own. */
static int connections_of_waiter(const char *type)
{
  char name[64];

  (void)snprintf(name, sizeof(name), "name=dibs:%s ", dibs_client_id(waiter));
  return lines_with(test_server_command(live_server, "CLIENT LIST TYPE %s", type), name);
}

static bool all_wait(void *data)
{
  (void)data;
  return live_stats(waiter).waiting == (uint64_t)count &&
         live_stats(waiter).commands >= (uint64_t)count;
}

static void names_line_up(void)
{
  dibs_lock_options take = live_lock_options(60000, 0), wait = live_lock_options(60000, 0);
  char name[32];

  take.flags = DIBS_LOCK_FIXED;
  for (long i = 0; i < count; i++) {
    (void)snprintf(name, sizeof(name), "name-%ld", i);
    holds[i] = live_lock_with(holder, name, &take);
    live_ask_begin(&asks[i], waiter, name, &wait);
  }
  assert_true(live_until(LIVE_LONG_MS, all_wait, NULL));
  for (long i = 0; i < count; i += count / 10 + 1) {
    (void)snprintf(name, sizeof(name), "name-%ld", i);
    live_expect_waiters(live_server, name, 1);
  }
}

TEST(waiters_of_many_names_share_one_subscription)
{
  live_needs_one_server();
  dibs_lock_options soon = live_lock_options(60000, 10);
  struct live_ask hasty;

  names_line_up();
  assert_int_equal(connections_of_waiter("pubsub"), 1);
  assert_int_equal(connections_of_waiter("normal"), 1);
  assert_int_equal(lines_with(test_server_command(live_server, "PUBSUB CHANNELS"),
                              dibs_client_id(waiter)), 1);

  live_ask_begin(&hasty, waiter, "name-0", &soon);
  assert_true(live_ask_wait(&hasty, LIVE_LONG_MS));
  live_refused(hasty.status, DIBS_TIMED_OUT);
  for (long i = 0; i < count; i++)
    live_still_waits(&asks[i], 0);

  for (long i = 0; i < count; i++)
    assert_int_equal(dibs_release_async(holds[i], NULL, NULL), DIBS_OK);
  for (long i = 0; i < count; i++)
    assert_int_equal(dibs_release_async(live_ask_granted(&asks[i], LIVE_LONG_MS), NULL, NULL),
                     DIBS_OK);
}

TEST(a_waiter_that_gives_up_spares_those_behind_it)
{
  dibs_hold *hold = live_lock(holder, "one", 60000);
  dibs_lock_options soon = live_lock_options(60000, 10), wait = live_lock_options(60000, 0);
  static struct live_ask hasty[20], patient[20];

  for (int i = 0; i < 20; i++) {
    live_ask_begin(&patient[i], waiter, "one", &wait);
  }
  live_expect_waiters(live_server, "one", 1);
  for (int i = 0; i < 20; i++) {
    live_ask_begin(&hasty[i], waiter, "one", &soon);
  }
  for (int i = 0; i < 20; i++) {
    assert_true(live_ask_wait(&hasty[i], LIVE_LONG_MS));
    live_refused(hasty[i].status, DIBS_TIMED_OUT);
    live_still_waits(&patient[i], 0);
  }
  live_expect_waiters(live_server, "one", 1);     /* one of the process, not twenty */
  assert_int_equal(dibs_release(hold), DIBS_OK);
  for (int i = 0; i < 20; i++)
    assert_int_equal(dibs_release(live_ask_granted(&patient[i], LIVE_LONG_MS)), DIBS_OK);
}

RUN_TESTS(setup, teardown)

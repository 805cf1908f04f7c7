/* SPDX-License-Identifier: MIT */
/* test/live/replica_acks_test.c - replicas that must have a grant before it is one: none, so
 * many, or a majority; what happens when they are too few; and that a release waits for none.
 * What was sent is read from the server's own counts. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deployment.h"
#include "live.h"

enum { TTL_MS = 30000, SHORT_MS = 2000 };

static struct test_set *set;
static dibs_client *client;

static struct test_server *member(int which)
{
  return test_set_member(set, which);
}

static int setup(void **state)
{
  (void)state;
  set = test_set_start(NULL);
  client = live_open(test_set_url(set));
  live_expect(client, live_try(client, "warm"), DIBS_OK);
  assert_string_equal(test_server_command(member(0), "CONFIG RESETSTAT"), "OK");
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  for (int i = 1; i < test_set_count(set); i++)
    test_server_resume(member(i));
  client = dibs_close(client);
  set = test_set_stop(set);
  return 0;
}

/* How often the primary was asked to `command` since the start of the test. */
static int calls(const char *command)
{
  const char *stats = test_server_command(member(0), "INFO commandstats");
  char word[64];
  const char *line;

  (void)snprintf(word, sizeof(word), "cmdstat_%s:calls=", command);
  line = strstr(stats, word);
  return line == NULL ? 0 : atoi(line + strlen(word));
}

static dibs_lock_options with_replicas(int count, int wait_ms, uint32_t flags)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);

  o.min_replicas = count;
  o.replicas_wait_ms = wait_ms;
  o.flags = flags;
  return o;
}

static void pause_replicas(int first)
{
  for (int i = first; i < test_set_count(set); i++)
    test_server_pause(member(i));
}

TEST(off_sends_no_wait)
{
  for (int i = 0; i < 20; i++) {
    dibs_hold *hold = live_lock(client, "off", TTL_MS);

    assert_int_equal(live_info(hold).durability, DIBS_DURABLE_PRIMARY);
    assert_int_equal(live_info(hold).wanted, 0);
    live_expect(client, dibs_release(hold), DIBS_OK);
  }
  assert_int_equal(calls("wait") + calls("waitaof"), 0);
}

TEST(so_many_as_were_asked_for)
{
  for (int count = 1; count <= 2; count++) {
    dibs_lock_options o = with_replicas(count, LIVE_LONG_MS, 0);
    dibs_hold *hold = live_lock_with(client, "counted", &o);

    assert_int_equal(live_info(hold).durability, DIBS_DURABLE_REPLICAS);
    assert_int_equal(live_info(hold).wanted, count);
    assert_in_range(live_info(hold).acknowledged, count, 2);
    for (int i = 1, have = 0; i < 3; i++) {
      have += test_server_integer(member(i), "EXISTS %s", live_key("counted")) == 1;
      assert_true(i < 2 || have >= count);
    }
    live_expect(client, dibs_release(hold), DIBS_OK);
  }
  assert_true(calls("wait") >= 2);
}

/* Of three servers two: the primary and one replica. */
TEST(a_majority_counts_the_primary)
{
  dibs_lock_options o = with_replicas(DIBS_REPLICAS_MAJORITY, LIVE_LONG_MS, 0);
  dibs_hold *hold;

  pause_replicas(2);
  hold = live_lock_with(client, "majority", &o);
  assert_int_equal(live_info(hold).durability, DIBS_DURABLE_REPLICAS);
  assert_int_equal(live_info(hold).wanted, 1);
  assert_int_equal(live_info(hold).acknowledged, 1);
  live_expect(client, dibs_release(hold), DIBS_OK);
}

TEST(too_few_is_undone)
{
  dibs_lock_options o = with_replicas(2, SHORT_MS, 0);
  dibs_hold *hold = NULL;
  int64_t began_ms;

  pause_replicas(2);
  began_ms = live_now_ms();
  assert_int_equal(dibs_lock(client, "short", &o, &hold), DIBS_ERR_NOT_REPLICATED);
  assert_true(live_now_ms() - began_ms >= SHORT_MS - 20);
  assert_null(hold);
  live_expect_words(client, "replica");
  live_expect_free(client, "short", LIVE_LONG_MS);
}

TEST(too_few_is_reported)
{
  dibs_lock_options o = with_replicas(2, SHORT_MS, DIBS_LOCK_REPORT);
  dibs_hold *hold;

  pause_replicas(2);
  hold = live_lock_with(client, "reported", &o);
  assert_int_equal(live_info(hold).wanted, 2);
  assert_int_equal(live_info(hold).acknowledged, 1);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  live_expect(client, dibs_release(hold), DIBS_OK);
}

TEST(a_release_waits_for_no_replica)
{
  dibs_lock_options o = with_replicas(2, LIVE_LONG_MS, 0);
  dibs_hold *hold = live_lock_with(client, "release", &o);
  int64_t began_ms;
  int waits;

  pause_replicas(1);
  waits = calls("wait");
  began_ms = live_now_ms();
  live_expect(client, dibs_release(hold), DIBS_OK);
  assert_true(live_now_ms() - began_ms < LIVE_LONG_MS / 2);
  assert_int_equal(calls("wait"), waits);
  live_expect_free(client, "release", LIVE_LONG_MS);
}

/* Others go on while one waits for replicas: its link is its own. */
TEST(nobody_else_waits_for_them)
{
  dibs_lock_options o = with_replicas(2, 5000, 0);
  struct live_ask ask;
  int64_t began_ms;

  pause_replicas(1);
  live_ask_begin(&ask, client, "slow", &o);
  began_ms = live_now_ms();
  for (int i = 0; i < 20; i++)
    live_expect(client, live_try(client, "quick"), DIBS_OK);
  assert_false(live_ask_is_over(&ask));
  assert_true(live_now_ms() - began_ms < 5000);
  assert_true(live_ask_wait(&ask, LIVE_LONG_MS));
  assert_int_equal(ask.status, DIBS_ERR_NOT_REPLICATED);
}

/* No other client has the name: neither DIBS_TIMED_OUT nor DIBS_BUSY. */
TEST(a_limit_that_ends_before_the_replicas_answer_is_no_other_holder)
{
  dibs_lock_options o = with_replicas(1, LIVE_LONG_MS, 0);
  dibs_hold *hold = NULL;

  pause_replicas(1);
  o.wait_ms = SHORT_MS;
  live_expect(client, dibs_lock(client, "alone", &o, &hold), DIBS_ERR_NOT_REPLICATED);
  live_expect(client, dibs_try_lock(client, "alone", &o, &hold), DIBS_ERR_NOT_REPLICATED);
  live_expect(client, live_try(client, "alone"), DIBS_OK);
}

TEST(on_disk_where_the_server_can_tell)
{
  dibs_lock_options o = with_replicas(1, LIVE_LONG_MS, DIBS_LOCK_FSYNC);
  dibs_hold *hold;

  if (!test_server_knows(member(0), "waitaof")) {
    print_message("# skipped: this server has no WAITAOF (7.2)\n");
    return;
  }
  for (int i = 0; i < 3; i++)
    assert_string_equal(test_server_command(member(i), "CONFIG SET appendonly yes"), "OK");
  hold = live_lock_with(client, "disk", &o);
  assert_int_equal(live_info(hold).durability, DIBS_DURABLE_FSYNC);
  assert_true(live_info(hold).acknowledged >= 1);
  assert_true(calls("waitaof") >= 1);
  live_expect(client, dibs_release(hold), DIBS_OK);
}

RUN_TESTS_EACH(NULL, NULL, setup, teardown)

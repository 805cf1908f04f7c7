/* SPDX-License-Identifier: MIT */
/* test/live/cluster_channels_test.c - in a cluster whose nodes have sharded channels,
 * those are used, and a waiter is woken also after its slot moved; a release that nobody waits
 * for publishes nothing, in a cluster or not. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "two_in_cluster.h"

enum { TTL_MS = 60000, WAKE_MS = 3000, SLOT = 4321 };

static int setup(void **state)
{
  (void)state;
  two_in_cluster(DIBS_DIALECT_NATIVE);
  return 0;
}

static long calls_on(const struct test_server *s, const char *command)
{
  const char *stats = test_server_command(s, "INFO commandstats");
  char word[64];
  const char *line;

  (void)snprintf(word, sizeof(word), "cmdstat_%s:calls=", command);
  line = strstr(stats, word);
  return line == NULL ? 0 : atol(line + strlen(word));
}

static long calls(const char *command)
{
  long sum = 0;

  for (int i = 0; i < test_cluster_count(cluster); i++)
    sum += calls_on(test_cluster_member(cluster, i), command);
  return sum;
}

static bool has_shards(void)
{
  return test_server_knows(test_cluster_member(cluster, 0), "ssubscribe");
}

static void wait_behind(const char *name, struct live_ask *ask)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);

  live_ask_begin(ask, b, name, &o);
  live_expect_waiters(test_cluster_member(cluster, test_cluster_owner(
    cluster, test_cluster_slot_of(cluster, name))), name, 1);
}

TEST(messages_stay_on_the_node_of_the_name)
{
  long before[4] = { calls("subscribe"), calls("ssubscribe"), calls("publish"),
                     calls("spublish") };
  dibs_hold *hold = live_lock(a, "waited", TTL_MS);
  struct live_ask ask;
  int here = has_shards();

  wait_behind("waited", &ask);
  live_expect(a, dibs_release(hold), DIBS_OK);
  live_expect(b, dibs_release(live_ask_granted(&ask, WAKE_MS)), DIBS_OK);
  assert_true(calls(here ? "ssubscribe" : "subscribe") > before[here]);
  assert_true(calls(here ? "spublish" : "publish") > before[2 + here]);
  assert_int_equal(calls(here ? "subscribe" : "ssubscribe"), before[!here]);
  assert_int_equal(calls(here ? "publish" : "spublish"), before[2 + !here]);
}

/* One who waited before the move, one who came during it. */
TEST(a_waiter_is_woken_after_its_slot_moved)
{
  char name[64], other[64];
  struct live_ask before, during;
  dibs_hold *first, *second;
  int from = test_cluster_owner(cluster, SLOT), to = (from + 1) % 3;
  dibs_lock_options o = live_lock_options(TTL_MS, 0);

  test_cluster_name_in(SLOT, "moved", name, sizeof(name));
  test_cluster_name_in(SLOT, "moving", other, sizeof(other));
  first = live_lock(a, name, TTL_MS);
  second = live_lock(a, other, TTL_MS);
  wait_behind(name, &before);
  test_cluster_move_begin(cluster, SLOT, to);
  live_ask_begin(&during, b, other, &o);
  (void)test_cluster_move_keys(cluster, SLOT, to, -1);
  test_cluster_move_finish(cluster, SLOT, to);
  assert_int_equal(test_cluster_owner(cluster, SLOT), to);
  live_expect_waiters(test_cluster_member(cluster, to), other, 1);
  live_expect(a, dibs_release(first), DIBS_OK);
  live_expect(a, dibs_release(second), DIBS_OK);
  live_expect(b, dibs_release(live_ask_granted(&before, WAKE_MS)), DIBS_OK);
  live_expect(b, dibs_release(live_ask_granted(&during, WAKE_MS)), DIBS_OK);
}

TEST(a_release_that_nobody_waits_for_publishes_nothing)
{
  long before = calls("publish") + calls("spublish");
  char name[32];

  for (int i = 0; i < 100; i++) {
    (void)snprintf(name, sizeof(name), "alone-%d", i);
    live_expect(a, dibs_release(live_lock(a, name, TTL_MS)), DIBS_OK);
  }
  assert_int_equal(calls("publish") + calls("spublish"), before);
}

TEST(nor_does_it_on_one_server)
{
  struct test_server *s = test_server_start();
  dibs_client *client = live_open(test_server_url(s));

  for (int i = 0; i < 100; i++)
    live_expect(client, dibs_release(live_lock(client, "alone", TTL_MS)), DIBS_OK);
  assert_int_equal(calls_on(s, "publish"), 0);
  client = dibs_close(client);
  s = test_server_stop(s);
}

RUN_TESTS(setup, teardown)

/* SPDX-License-Identifier: MIT */
/* test/live/half_moved_test.c - slots that are on their way to another node: the node that has
 * them answers for no key that is gone, not even to the script that removed it. No script
 * loses what it would have written behind a removal (doc/design/protocol.md 15). */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "one_cluster.h"

enum { FIRST_SLOT = 4400, PATIENCE_MS = 700, TTL_MS = 60000, WAKE_MS = 5000 };

static dibs_client *client, *other;
static int slot = FIRST_SLOT;                /* each test has one of its own */
static char name[64];

static int setup(void **state)
{
  dibs_options o = cluster_options(DIBS_DIALECT_NATIVE);

  (void)state;
  cluster_start();
  o.connect_timeout_ms = 5000;     /* as long is asked while both nodes send it away */
  o.command_timeout_ms = PATIENCE_MS;
  client = cluster_open(o);
  other = cluster_open(o);
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  client = dibs_close(client);
  other = dibs_close(other);
  cluster = test_cluster_stop(cluster);
  return 0;
}

static int next_slot(void **state)
{
  (void)state;
  test_cluster_name_in(++slot, "moving", name, sizeof(name));
  return 0;
}

static int from(void) { return test_cluster_owner(cluster, slot); }

static int to(void) { return (from() + 1) % 3; }

static const char *at_source(const char *command)
{
  return test_server_command(test_cluster_member(cluster, from()), command, name);
}

static void begin(void) { test_cluster_move_begin(cluster, slot, to()); }

static void end(void)
{
  int target = to();

  (void)test_cluster_move_keys(cluster, slot, target, -1);
  test_cluster_move_finish(cluster, slot, target);
}

/* ---- guarded writes ---- */

static void expect_fence(const char *fence)
{
  const char *value = at_source("GET dibs:f:{%s}");

  if (strncmp(value, fence, strlen(fence)) != 0 || value[strlen(fence)] != ' ')
    fail_msg("the fence is %s", value);
}

TEST(a_guarded_removal_leaves_its_fence)
{
  live_expect(client, dibs_guarded_set(client, name, 5, "v", 1, 0), DIBS_OK);
  begin();
  live_expect(client, dibs_guarded_del(client, name, 9), DIBS_OK);
  expect_fence("9");
  end();
  live_expect_refused(client, dibs_guarded_set(client, name, 7, "old", 3, 0),
                      DIBS_FENCED);
}

TEST(a_guarded_removal_of_the_last_field_leaves_its_fence)
{
  const dibs_field field = { "f", "v", 1 };
  const char *const names[] = { "f" };

  live_expect(client, dibs_guarded_hset(client, name, 5, &field, 1), DIBS_OK);
  begin();
  live_expect(client, dibs_guarded_hdel(client, name, 9, names, 1), DIBS_OK);
  expect_fence("9");
  end();
  live_expect_refused(client, dibs_guarded_hset(client, name, 7, &field, 1), DIBS_FENCED);
}

/* ---- latches ---- */

static void latch_set(int64_t count)
{
  live_expect(client, dibs_latch_set(client, name, count), DIBS_OK);
}

/* Its change has a key of its own, which is never there before: so no script begins. */
TEST(a_latch_is_not_changed_by_halves)
{
  int64_t left = -1;

  latch_set(2);
  live_expect(client, dibs_latch_down(client, name, 1, "first", &left), DIBS_OK);
  begin();
  assert_int_not_equal(dibs_latch_down(client, name, 1, "second", &left), DIBS_OK);
  assert_string_equal(at_source("GET %s"), "1");
  assert_string_equal(at_source("HGET dibs:l:{%s} v"), "1");
  assert_int_not_equal(dibs_latch_delete(client, name), DIBS_OK);
  assert_string_equal(at_source("GET %s"), "1");
  assert_string_equal(at_source("HGET dibs:l:{%s} v"), "1");
  end();
  live_expect(client, dibs_latch_down(client, name, 1, "third", &left), DIBS_OK);
  assert_int_equal(left, 0);
}

TEST(a_latch_that_is_armed_anew_keeps_its_hash)
{
  int64_t left = -1;

  latch_set(1);
  live_expect(client, dibs_latch_down(client, name, 1, "first", &left), DIBS_OK);
  begin();
  assert_int_not_equal(dibs_latch_set(client, name, 3), DIBS_OK);
  assert_string_equal(at_source("HEXISTS dibs:l:{%s} z"), "1");
  end();
  latch_set(3);
  live_expect(client, dibs_latch_down(client, name, 1, "first", &left), DIBS_OK);
  assert_int_equal(left, 2);
}

/* ---- locks ---- */

TEST(a_lease_is_not_lost_to_its_first_waiter)
{
  dibs_hold *hold = live_lock(client, name, TTL_MS);
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  struct live_ask ask;

  begin();
  live_ask_begin(&ask, other, name, &o);
  live_still_waits(&ask, PATIENCE_MS);
  assert_string_equal(at_source("EXISTS dibs:m:{%s}"), "1");
  end();
  live_still_waits(&ask, PATIENCE_MS);
  live_expect(client, dibs_release(hold), DIBS_OK);
  live_expect(other, dibs_release(live_ask_granted(&ask, WAKE_MS)), DIBS_OK);
}

RUN_TESTS_EACH(setup, teardown, next_slot, NULL)

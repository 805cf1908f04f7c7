/* SPDX-License-Identifier: MIT */
/* test/live/redisson_cluster_test.c - locks of the dialect redisson in a cluster: messages by the
 * command that Java uses there, also behind a slot that moved; nobody inside together while
 * slots move; and names that the format cannot put into one slot. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "one_cluster.h"

enum { TTL_MS = 60000, WAKE_MS = 3000, SLOT = 4321, THREADS = 6, CLIENTS = 3, NAMES = 4 };

#define JAVA "b983c153-7421-469a-addb-44fb92259a1b:42"

static dibs_client *clients[CLIENTS];

static int setup(void **state)
{
  (void)state;
  cluster_start();
  for (int i = 0; i < CLIENTS; i++)
    clients[i] = cluster_open(cluster_options(DIBS_DIALECT_REDISSON));
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  for (int i = 0; i < CLIENTS; i++)
    clients[i] = dibs_close(clients[i]);
  cluster = test_cluster_stop(cluster);
  return 0;
}

static struct test_server *node_of(const char *name)
{
  int slot = test_cluster_slot_of(cluster, name);

  return test_cluster_member(cluster, test_cluster_owner(cluster, slot));
}

static bool has_shards(void)
{
  return test_server_knows(test_cluster_member(cluster, 0), "ssubscribe");
}

static bool is_heard(void *name)
{
  const char *answer = test_server_command(node_of(name), "PUBSUB %s redisson_lock__channel:{%s}",
                                           has_shards() ? "SHARDNUMSUB" : "NUMSUB",
                                           (const char *)name);

  return strstr(answer, "1") != NULL;
}

static void java_locks(const char *name)
{
  assert_int_equal(test_server_integer(node_of(name), "HINCRBY %s " JAVA " 1", name), 1);
  assert_int_equal(test_server_integer(node_of(name), "PEXPIRE %s %d", name, TTL_MS), 1);
}

static void java_unlocks(const char *name)
{
  assert_int_equal(test_server_integer(node_of(name), "DEL %s", name), 1);
  (void)test_server_integer(node_of(name), "%s redisson_lock__channel:{%s} 0",
                            has_shards() ? "SPUBLISH" : "PUBLISH", name);
}

TEST(names_of_each_node_exclude_and_wake)
{
  for (int i = 0; i < 3; i++) {
    dibs_lock_options o = live_lock_options(TTL_MS, 0);
    struct live_ask ask;
    char name[64];

    test_cluster_name_on(cluster, i, "each", name, sizeof(name));
    java_locks(name);
    live_refused(live_try(clients[0], name), DIBS_BUSY);
    live_ask_begin(&ask, clients[1], name, &o);
    assert_true(live_until(LIVE_LONG_MS, is_heard, name));
    java_unlocks(name);
    live_expect(clients[1], dibs_release(live_ask_granted(&ask, WAKE_MS)), DIBS_OK);
  }
}

TEST(a_waiter_is_woken_after_its_slot_moved)
{
  int from = test_cluster_owner(cluster, SLOT), to = (from + 1) % 3;
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  struct live_ask ask;
  char name[64];

  test_cluster_name_in(SLOT, "moved", name, sizeof(name));
  java_locks(name);
  live_ask_begin(&ask, clients[0], name, &o);
  assert_true(live_until(LIVE_LONG_MS, is_heard, name));
  test_cluster_move_begin(cluster, SLOT, to);
  test_cluster_move_finish(cluster, SLOT, to);
  assert_true(live_until(LIVE_LONG_MS, is_heard, name));
  java_unlocks(name);
  live_expect(clients[0], dibs_release(live_ask_granted(&ask, WAKE_MS)), DIBS_OK);
}

/* ---- a crowd, while slots move ---- */

static char names[NAMES][64];
static _Atomic int inside[NAMES];
static _Atomic long rounds_left;

static void visit(int who, int which)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_client *c = clients[who % CLIENTS];
  dibs_hold *hold = NULL;
  dibs_status status;

  o.flags = DIBS_LOCK_NO_OWNER | (which % 2 == 0 ? 0 : DIBS_LOCK_FAIR);
  status = dibs_lock(c, names[which], &o, &hold);
  if (status != DIBS_OK) {
    live_fault("%s: %s", names[which], dibs_status_name(status));
    return;
  }
  promise_kept(atomic_exchange(&inside[which], who + 1) == 0,
               "%s: two are inside together", names[which]);
  atomic_store(&inside[which], 0);
  status = dibs_release(hold);
  if (status != DIBS_OK)
    live_fault("release: %s", dibs_status_name(status));
}

static void *visit_again_and_again(void *data)
{
  int who = (int)(uintptr_t)data;
  unsigned seed = (unsigned)who * 7919 + 1;

  while (atomic_fetch_sub(&rounds_left, 1) > 0)
    visit(who, rand_r(&seed) % NAMES);
  return NULL;
}

TEST(nobody_is_inside_together_while_slots_move)
{
  pthread_t threads[THREADS];
  int moves = 0;

  rounds_left = live_times(600);
  for (int i = 0; i < NAMES; i++)
    test_cluster_name_in(1000 + 4000 * i, "crowd", names[i], sizeof(names[i]));
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, visit_again_and_again,
                                    (void *)(uintptr_t)i), 0);
  while (atomic_load(&rounds_left) > 0) {
    int slot = 1000 + 4000 * (moves++ % NAMES);
    int to = (test_cluster_owner(cluster, slot) + 1) % 3;

    test_cluster_move_begin(cluster, slot, to);
    (void)test_cluster_move_keys(cluster, slot, to, -1);
    test_cluster_move_finish(cluster, slot, to);
  }
  for (int i = 0; i < THREADS; i++)
    (void)pthread_join(threads[i], NULL);
  print_message("# %d slots moved\n", moves);
  assert_int_equal(live_faults(), 0);
}

TEST(a_name_with_half_a_brace_is_refused)
{
  dibs_hold *hold = NULL;

  assert_int_equal(dibs_try_lock(clients[0], "a{b", NULL, &hold), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_try_lock(clients[0], "a}b", NULL, &hold), DIBS_ERR_ARGUMENT);
  live_expect_words(clients[0], "brace");
  live_expect(clients[0], dibs_try_lock(clients[0], "a{b}c", NULL, &hold), DIBS_OK);
  live_expect(clients[0], dibs_release(hold), DIBS_OK);
}

RUN_TESTS(setup, teardown)

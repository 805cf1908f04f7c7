/* SPDX-License-Identifier: MIT */
/* test/live/spring_cluster_test.c - the dialects spring and plain in a cluster: what stands beside
 * a lock is in its slot, and what Spring publishes, as it does on any node and not on a
 * sharded channel, is heard. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "one_cluster.h"

#define SPRING "b983c153-7421-469a-addb-44fb92259a1b"

enum { TTL_MS = 20000, SOON_MS = 8000, ROUNDS = 40 };

static dibs_client *spring, *other_spring, *plain;

static dibs_client *open_as(dibs_dialect dialect)
{
  dibs_options o = cluster_options(dialect);

  o.registry = dialect == DIBS_DIALECT_SPRING ? "orders" : NULL;
  return cluster_open(o);
}

static int setup(void **state)
{
  (void)state;
  cluster_start();
  spring = open_as(DIBS_DIALECT_SPRING);
  other_spring = open_as(DIBS_DIALECT_SPRING);
  plain = open_as(DIBS_DIALECT_PLAIN);
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  spring = dibs_close(spring);
  other_spring = dibs_close(other_spring);
  plain = dibs_close(plain);
  cluster = test_cluster_stop(cluster);
  return 0;
}

static struct test_server *owner_of(const char *key)
{
  return test_cluster_member(cluster,
                             test_cluster_owner(cluster, test_cluster_slot_of(cluster, key)));
}

struct counted {
  dibs_client *client;
  uint64_t before;
};

static bool has_renewed(void *data)
{
  const struct counted *c = data;

  return live_stats(c->client).renewed > c->before;
}

static bool has_sent(void *data)
{
  const struct counted *c = data;

  return live_stats(c->client).commands > c->before;
}

TEST(locks_of_many_slots_are_taken_kept_and_given_back)
{
  const char *names[] = { "a", "b", "c", "d e", "{tag}x", "y{tag}" };
  dibs_client *clients[] = { spring, plain };

  for (size_t i = 0; i < 2 * sizeof(names) / sizeof(names[0]); i++) {
    dibs_client *c = clients[i % 2];
    dibs_hold *hold = live_lock(c, names[i / 2], 600);
    struct counted renewed = { c, live_stats(c).renewed };

    assert_true(live_until(LIVE_LONG_MS, has_renewed, &renewed));
    live_expect(c, dibs_release(hold), DIBS_OK);
  }
}

TEST(a_name_whose_brace_is_alone_is_refused)
{
  dibs_hold *hold = NULL;

  assert_int_equal(dibs_try_lock(spring, "a{b", NULL, &hold), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_try_lock(plain, "a}b", NULL, &hold), DIBS_ERR_ARGUMENT);
}

/* How long it takes until so many words were each answered by a look. */
static int64_t answered_ms(struct test_server *where, const char *channel, const char *key)
{
  int64_t begun = live_now_ms();

  for (int i = 0; i < ROUNDS; i++) {
    struct counted sent = { spring, live_stats(spring).commands };

    (void)test_server_command(where, "PUBLISH %s %s", channel, key);
    (void)live_until(SOON_MS, has_sent, &sent);
  }
  return live_now_ms() - begun;
}

/* By himself the waiter looks every 50 to 100 ms, never faster: so one time is enough, on a
 * machine that is busy with other things, too. */
static void expect_heard(struct test_server *where, const char *channel, const char *key)
{
  int tries = 0;

  while (answered_ms(where, channel, key) >= ROUNDS * 40)
    assert_true(++tries < 10);
}

TEST(what_spring_publishes_on_any_node_is_heard)
{
  struct test_server *owner = owner_of("orders:heard");
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  struct live_ask ask;

  (void)test_server_command(owner, "SET orders:heard " SPRING " PX %d", TTL_MS);
  live_ask_begin(&ask, spring, "heard", &o);
  live_still_waits(&ask, 300);
  for (int i = 0; i < test_cluster_count(cluster); i++) {
    expect_heard(test_cluster_member(cluster, i), "orders-channel:orders:heard", "orders:heard");
    expect_heard(test_cluster_member(cluster, i), "orders-channel", "orders:heard");
  }
  assert_int_equal(test_server_integer(owner, "DEL orders:heard"), 1);
  live_expect(spring, dibs_release(live_ask_granted(&ask, SOON_MS)), DIBS_OK);
}

TEST(clients_of_ours_take_turns)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *hold = live_lock(spring, "turns", TTL_MS);

  for (int i = 0; i < 10; i++) {
    struct live_ask ask;

    live_ask_begin(&ask, i % 2 == 0 ? other_spring : spring, "turns", &o);
    live_expect_ok(dibs_release(hold));
    hold = live_ask_granted(&ask, SOON_MS);
  }
  live_expect_ok(dibs_release(hold));
}

RUN_TESTS(setup, teardown)

/* SPDX-License-Identifier: MIT */
/* test/live/after_failover_test.c - after a failover no client is stuck: every client
 * takes locks again within 2 s of the promotion, without a restart, and a client that waited
 * before it gets its grant; with sentinels and in a cluster, for a primary that is killed,
 * one that is demoted, and a slot that moves. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "deployment.h"
#include "live.h"

enum { CLIENTS = 5, WAITERS = 20, SOON_MS = 2000, TTL_MS = 60000, WAKE_MS = 6000,
       FAILOVER_MS = 20000 };

/* ---- clients who want something new, all the time ---- */

struct taker {
  pthread_t thread;
  dibs_client *client;
  char name[64];
  _Atomic bool *is_over;
  _Atomic int64_t granted_ms;      /* the last time; 0: never */
};

static void *take_again_and_again(void *data)
{
  const struct timespec a_moment = { .tv_nsec = 5000000 };   /* two cores, many threads */
  struct taker *t = data;

  while (!atomic_load(t->is_over)) {
    if (live_try(t->client, t->name) == DIBS_OK)
      atomic_store(&t->granted_ms, live_now_ms());
    (void)nanosleep(&a_moment, NULL);
  }
  return NULL;
}

/* ---- who waits, and lets go as soon as it has it ---- */

struct crowd {
  dibs_client *clients[CLIENTS], *holder;
  struct taker takers[CLIENTS];
  struct live_ask waiters[WAITERS];
  dibs_hold *hold;
  _Atomic bool is_over;
  char queue[64];
};

static dibs_client *open_patient(const char *url)
{
  dibs_options o = live_options();

  o.connect_timeout_ms = FAILOVER_MS;
  return live_open_with(url, &o);
}

/* `name` writes a name whose place the failover is about. */
static void crowd_begin(struct crowd *c, const char *url,
                        void (*name)(const char *prefix, char *ret_name, size_t size))
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  char word[32];

  memset(c, 0, sizeof(*c));
  name("queue", c->queue, sizeof(c->queue));
  for (int i = 0; i < CLIENTS; i++)
    c->clients[i] = open_patient(url);
  c->holder = open_patient(url);
  c->hold = live_lock(c->holder, c->queue, TTL_MS);
  o.flags = DIBS_LOCK_NO_OWNER;
  for (int i = 0; i < WAITERS; i++) {
    live_ask_begin(&c->waiters[i], c->clients[i % CLIENTS], c->queue, &o);
  }
  for (int i = 0; i < CLIENTS; i++) {
    struct taker *t = &c->takers[i];

    (void)snprintf(word, sizeof(word), "taker-%d", i);
    name(word, t->name, sizeof(t->name));
    t->client = c->clients[i];
    t->is_over = &c->is_over;
    assert_int_equal(live_try(t->client, t->name), DIBS_OK);
  }
}

static void takers_begin(struct crowd *c)
{
  for (int i = 0; i < CLIENTS; i++)
    assert_int_equal(pthread_create(&c->takers[i].thread, NULL, take_again_and_again,
                                    &c->takers[i]), 0);
}

struct since { struct crowd *crowd; int64_t ms; };

static bool have_all_taken(void *data)
{
  const struct since *s = data;

  for (int i = 0; i < CLIENTS; i++)
    if (atomic_load(&s->crowd->takers[i].granted_ms) <= s->ms)
      return false;
  return true;
}

static void takers_end(struct crowd *c, int64_t promoted_ms)
{
  struct since s = { c, promoted_ms };
  bool in_time = live_until(SOON_MS, have_all_taken, &s);
  int64_t late_ms = 0;

  if (!in_time && live_until(LIVE_LONG_MS, have_all_taken, &s))
    late_ms = live_now_ms() - promoted_ms;
  atomic_store(&c->is_over, true);
  for (int i = 0; i < CLIENTS; i++)
    (void)pthread_join(c->takers[i].thread, NULL);
  if (!in_time)
    fail_msg("not all clients took a lock within 2 s: %lld ms (0: never)", (long long)late_ms);
}

/* The holder is known there, too, and lets go: so all who wait get it, one after the other, and
 * none by its poll, which is 20 s away. */
static void crowd_end(struct crowd *c)
{
  int64_t began_ms = live_now_ms();

  live_expect(c->holder, dibs_release(c->hold), DIBS_OK);
  for (int done = 0; done < WAITERS && live_now_ms() - began_ms < LIVE_LONG_MS;) {
    done = 0;
    for (int i = 0; i < WAITERS; i++) {
      struct live_ask *a = &c->waiters[i];

      if (!live_ask_is_over(a))
        continue;
      done++;
      assert_int_equal(a->status, DIBS_OK);
      if (a->hold != NULL)
        live_expect(c->clients[i % CLIENTS], dibs_release(a->hold), DIBS_OK);
      a->hold = NULL;
    }
  }
  assert_in_range(live_now_ms() - began_ms, 0, WAKE_MS);
  for (int i = 0; i < CLIENTS; i++)
    c->clients[i] = dibs_close(c->clients[i]);
  c->holder = dibs_close(c->holder);
}

/* ---- sentinels ---- */

static struct test_set *set;
static struct test_sentinels *watch;

static int sentinels_setup(void **state)
{
  (void)state;
  set = test_set_start(NULL);
  watch = test_sentinels_start(set, NULL);
  return 0;
}

static int sentinels_teardown(void **state)
{
  (void)state;
  watch = test_sentinels_stop(watch);
  set = test_set_stop(set);
  return 0;
}

static void any_name(const char *prefix, char *ret_name, size_t size)
{
  (void)snprintf(ret_name, size, "%s", prefix);
}

static bool has_new_primary(void *data)
{
  (void)data;
  for (int i = 1; i < test_set_count(set); i++)
    if (test_role_of(test_set_member(set, i)) == TEST_ROLE_PRIMARY)
      return true;
  return false;
}

static void after_sentinels(void (*break_it)(void))
{
  struct crowd c;
  int64_t promoted_ms;

  crowd_begin(&c, test_sentinels_url(watch), any_name);
  live_expect_waiters(test_set_member(set, 0), c.queue, CLIENTS);
  assert_true(test_set_wait_in_sync(set, LIVE_LONG_MS));
  takers_begin(&c);
  break_it();
  assert_true(live_until(FAILOVER_MS, has_new_primary, NULL));
  promoted_ms = live_now_ms();
  takers_end(&c, promoted_ms);
  crowd_end(&c);
}

static void kill_primary(void)
{
  test_server_kill9(test_set_member(set, 0));
}

static void demote_primary(void)
{
  assert_true(test_sentinels_failover(watch));
}

TEST_WITH(sentinels_replace_a_primary_that_was_killed,
          sentinels_setup, sentinels_teardown)
{
  after_sentinels(kill_primary);
}

TEST_WITH(sentinels_demote_a_primary, sentinels_setup, sentinels_teardown)
{
  after_sentinels(demote_primary);
}

/* ---- cluster ---- */

static struct test_cluster *cluster;
static int replica;                /* of member 0 */

static int cluster_setup(void **state)
{
  (void)state;
  cluster = test_cluster_start(NULL);
  replica = test_cluster_replica_of(cluster, 0);
  return 0;
}

static int cluster_teardown(void **state)
{
  (void)state;
  cluster = test_cluster_stop(cluster);
  return 0;
}

static void name_on_0(const char *prefix, char *ret_name, size_t size)
{
  test_cluster_name_on(cluster, 0, prefix, ret_name, size);
}

static bool is_promoted(void *data)
{
  (void)data;
  return test_role_of(test_cluster_member(cluster, replica)) == TEST_ROLE_PRIMARY;
}

static void after_cluster(void (*break_it)(void))
{
  struct crowd c;
  int64_t promoted_ms;

  crowd_begin(&c, test_cluster_url(cluster), name_on_0);
  live_expect_waiters(test_cluster_member(cluster, 0), c.queue, CLIENTS);
  assert_true(test_wait_in_sync(test_cluster_member(cluster, 0),
                                test_cluster_member(cluster, replica), LIVE_LONG_MS));
  takers_begin(&c);
  break_it();
  assert_true(live_until(FAILOVER_MS, is_promoted, NULL));
  promoted_ms = live_now_ms();
  takers_end(&c, promoted_ms);
  crowd_end(&c);
}

static void kill_node(void)
{
  test_server_kill9(test_cluster_member(cluster, 0));
}

static void demote_node(void)
{
  assert_true(test_cluster_failover(cluster, replica, ""));
}

TEST(a_cluster_replaces_a_node_that_was_killed)
{
  after_cluster(kill_node);
}

TEST(a_cluster_demotes_a_node)
{
  after_cluster(demote_node);
}

/* All names are in one slot, which then is another node's. */
static void name_in_slot(const char *prefix, char *ret_name, size_t size)
{
  test_cluster_name_in(1234, prefix, ret_name, size);
}

TEST(a_slot_moves)
{
  struct crowd c;

  crowd_begin(&c, test_cluster_url(cluster), name_in_slot);
  live_expect_waiters(test_cluster_member(cluster, 0), c.queue, CLIENTS);
  takers_begin(&c);
  test_cluster_move_begin(cluster, 1234, 1);
  (void)test_cluster_move_keys(cluster, 1234, 1, -1);
  test_cluster_move_finish(cluster, 1234, 1);
  takers_end(&c, live_now_ms());
  crowd_end(&c);
  assert_int_equal(test_cluster_owner(cluster, 1234), 1);
}

RUN_TESTS_EACH(NULL, NULL, cluster_setup, cluster_teardown)

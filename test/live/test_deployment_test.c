/* SPDX-License-Identifier: MIT */
/* test/live/test_deployment_test.c - the deployments of the tests, and the network that they may
 * have: one case for each. What else they can do fails in the tests that use it. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "deployment.h"
#include "partition.h"

enum { LIMIT_MS = 30000 };

/* ---- a primary with replicas ---- */

static struct test_server *member(const struct test_set *set, int which)
{
  return test_set_member(set, which);
}

TEST(a_replica_that_is_promoted_leads_the_others_and_stays_it)
{
  struct test_set *set = test_set_start(NULL);

  test_server_kill9(member(set, 0));
  assert_int_equal(test_role_of(member(set, 0)), TEST_ROLE_GONE);
  assert_int_equal(test_set_primary(set), -1);
  test_set_promote(set, 2);
  assert_int_equal(test_set_primary(set), 2);
  assert_string_equal(test_server_command(member(set, 2), "SET k v"), "OK");
  assert_true(test_set_wait_in_sync(set, LIMIT_MS));
  test_server_restart(member(set, 2), true);
  test_server_restart(member(set, 1), false);
  assert_int_equal(test_set_primary(set), 2);
  assert_true(test_wait_in_sync(member(set, 2), member(set, 1), LIMIT_MS));
  assert_string_equal(test_server_command(member(set, 1), "GET k"), "v");
  test_server_restart(member(set, 0), false);
  test_demote(member(set, 0), member(set, 2));
  assert_true(test_wait_for_role(member(set, 0), TEST_ROLE_REPLICA, LIMIT_MS));
  assert_true(test_wait_in_sync(member(set, 2), member(set, 0), LIMIT_MS));
  assert_string_equal(test_server_command(member(set, 0), "GET k"), "v");
  set = test_set_stop(set);
}

/* ---- sentinels ---- */

TEST(they_promote_a_replica_of_a_dead_primary)
{
  struct test_set *set = test_set_start(NULL);
  struct test_sentinels *watch = test_sentinels_start(set, NULL);
  char url[256];

  assert_int_equal(test_sentinels_count(watch), 3);
  assert_int_equal(test_role_of(test_sentinel(watch, 0)), TEST_ROLE_SENTINEL);
  for (int i = 0; i < 3; i++)
    assert_int_equal(test_sentinel_primary(watch, i), 0);
  (void)snprintf(url, sizeof(url),
                 "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/service/0",
                 test_server_port(test_sentinel(watch, 0)),
                 test_server_port(test_sentinel(watch, 1)),
                 test_server_port(test_sentinel(watch, 2)));
  assert_string_equal(test_sentinels_url(watch), url);

  test_server_kill9(test_set_member(set, 0));
  assert_true(test_sentinels_wait_for_failover(watch, 0, LIMIT_MS));
  assert_int_not_equal(test_set_primary(set), 0);
  assert_true(test_sentinels_wait_settled(watch, LIMIT_MS));
  test_server_restart(test_set_member(set, 0), false);
  assert_true(test_wait_for_role(test_set_member(set, 0), TEST_ROLE_REPLICA, LIMIT_MS));
  assert_true(test_set_wait_in_sync(set, LIMIT_MS));
  watch = test_sentinels_stop(watch);
  set = test_set_stop(set);
}

/* ---- a cluster ---- */

static const char *on_key(struct test_cluster *c, int which, const char *format, const char *key)
{
  return test_server_command(test_cluster_member(c, which), format, key);
}

TEST(a_slot_moves_step_by_step)
{
  enum { SLOT = 42 };
  struct test_cluster *cluster = test_cluster_start(NULL);
  const char *answer;
  char tag[64];

  test_cluster_name_in(SLOT, "tag", tag, sizeof(tag));
  assert_string_equal(on_key(cluster, 0, "SET {%s}a 1", tag), "OK");
  assert_string_equal(on_key(cluster, 0, "SET {%s}b 2", tag), "OK");
  test_cluster_move_begin(cluster, SLOT, 1);
  assert_int_equal(strncmp(on_key(cluster, 0, "GET {%s}other", tag), "ASK 42 ", 7), 0);
  assert_int_equal(strncmp(on_key(cluster, 1, "GET {%s}a", tag), "MOVED 42 ", 9), 0);
  assert_int_equal(test_cluster_move_keys(cluster, SLOT, 1, 1), 1);
  /* Before 7.0 the source sends its clients on, and only the target says TRYAGAIN. */
  answer = test_server_command(test_cluster_member(cluster, 0), "MGET {%s}a {%s}b", tag, tag);
  assert_true(strncmp(answer, "TRYAGAIN", 8) == 0 || strncmp(answer, "ASK 42 ", 7) == 0);
  assert_int_equal(test_cluster_owner(cluster, SLOT), 0);
  test_cluster_move_finish(cluster, SLOT, 1);
  assert_int_equal(test_cluster_owner(cluster, SLOT), 1);
  assert_string_equal(on_key(cluster, 1, "GET {%s}a", tag), "1");
  assert_string_equal(on_key(cluster, 1, "GET {%s}b", tag), "2");
  assert_true(test_cluster_wait_ok(cluster, LIMIT_MS));
  assert_int_equal(strncmp(on_key(cluster, 2, "GET {%s}a", tag), "MOVED 42 ", 9), 0);
  cluster = test_cluster_stop(cluster);
}

/* ---- a network ---- */

static struct test_network *network_or_skip(int hosts)
{
  struct test_network *net = test_network_make(hosts);

  if (net == NULL) {
    print_message("this machine does not let tests have networks: %s\n",
                  test_network_why_not());
    skip();
  }
  return net;
}

/* Whether a server is reached from a host within half a second. */
static bool reaches(const struct test_network *net, int host, const struct test_server *s)
{
  struct timeval shortly = { .tv_usec = 500000 };
  redisContext *context;
  redisReply *reply = NULL;
  bool has_answer;

  test_network_enter(net, host);
  context = redisConnectWithTimeout(test_server_address(s), test_server_port(s), shortly);
  test_network_leave(net);
  if (context->err == 0) {
    (void)redisSetTimeout(context, shortly);
    reply = redisCommand(context, "PING");
  }
  has_answer = reply != NULL;
  if (has_answer)
    freeReplyObject(reply);
  redisFree(context);
  return has_answer;
}

TEST(a_link_is_cut_both_ways_or_one_way_and_healed)
{
  struct test_network *net = network_or_skip(3);
  struct test_quorum *q = test_quorum_start(1, NULL, net);
  struct test_server *s = test_quorum_server(q, 0);

  test_network_split(net, 1 << 0, 1 << 1);
  assert_false(reaches(net, 1, s));
  assert_true(reaches(net, 2, s));
  test_network_heal(net, 0, 1);
  assert_true(reaches(net, 1, s));

  test_network_cut_one_way(net, 0, 2);               /* its answers are lost */
  assert_false(reaches(net, 2, s));
  assert_true(reaches(net, 1, s));
  test_network_heal_all(net);
  assert_true(reaches(net, 1, s));
  assert_true(reaches(net, 2, s));
  q = test_quorum_stop(q);
  net = test_network_free(net);
}

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* test/live/test_partition_test.c - a network of hosts that is cut and healed, and a set that
 * is torn apart in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "deployment.h"
#include "now.h"
#include "partition.h"

enum { LIMIT_MS = 30000 };

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

static void hosts_reach_each_other(void **state)
{
  struct test_network *net = network_or_skip(3);
  struct test_quorum *q = test_quorum_start(2, NULL, net);
  struct test_server *s = test_quorum_server(q, 0);

  (void)state;
  assert_string_equal(test_server_address(s), test_network_address(net, 0));
  assert_string_equal(test_server_command(s, "PING"), "PONG");
  assert_true(reaches(net, 0, s));
  assert_true(reaches(net, 1, s));
  assert_true(reaches(net, 2, test_quorum_server(q, 1)));
  q = test_quorum_stop(q);
  net = test_network_free(net);
}

static void a_link_is_cut_both_ways_or_one_way_and_healed(void **state)
{
  struct test_network *net = network_or_skip(3);
  struct test_quorum *q = test_quorum_start(1, NULL, net);
  struct test_server *s = test_quorum_server(q, 0);

  (void)state;
  test_network_cut(net, 0, 1);
  test_network_cut(net, 0, 1);                       /* the same, not one more */
  assert_false(reaches(net, 1, s));
  assert_true(reaches(net, 2, s));
  assert_true(test_network_dropped(net, 1, 0) > 0);
  assert_int_equal(test_network_dropped(net, 2, 0), 0);
  test_network_heal(net, 0, 1);
  assert_true(reaches(net, 1, s));

  test_network_cut_one_way(net, 0, 2);               /* its answers are lost */
  assert_false(reaches(net, 2, s));
  assert_true(reaches(net, 1, s));
  assert_true(test_network_dropped(net, 0, 2) > 0);
  assert_int_equal(test_network_dropped(net, 2, 0), 0);
  test_network_isolate(net, 0);
  assert_false(reaches(net, 1, s));
  assert_true(reaches(net, 0, s));
  test_network_heal_all(net);
  assert_true(reaches(net, 1, s));
  assert_true(reaches(net, 2, s));
  q = test_quorum_stop(q);
  net = test_network_free(net);
}

static void an_established_connection_dies_in_silence_and_lives_on(void **state)
{
  struct test_network *net = network_or_skip(2);
  struct test_quorum *q = test_quorum_start(1, NULL, net);
  struct test_server *s = test_quorum_server(q, 0);
  struct timeval shortly = { .tv_usec = 300000 }, patiently = { .tv_sec = 20 };
  redisContext *context;
  redisReply *reply = NULL;

  (void)state;
  test_network_enter(net, 1);
  context = redisConnect(test_server_address(s), test_server_port(s));
  test_network_leave(net);
  assert_int_equal(context->err, 0);
  test_network_cut(net, 0, 1);
  (void)redisAppendCommand(context, "INCR counter");
  (void)redisSetTimeout(context, shortly);
  assert_int_equal(redisGetReply(context, (void **)&reply), REDIS_ERR);
  assert_string_equal(test_server_command(s, "GET counter"), "(nil)");
  test_network_heal(net, 0, 1);
  /* The kernel sends it once more. */
  context->err = 0;
  (void)redisSetTimeout(context, patiently);
  assert_int_equal(redisGetReply(context, (void **)&reply), REDIS_OK);
  assert_int_equal(reply->integer, 1);
  freeReplyObject(reply);
  redisFree(context);
  q = test_quorum_stop(q);
  net = test_network_free(net);
}

static void a_child_lives_on_its_host(void **state)
{
  struct test_network *net = network_or_skip(2);
  struct test_quorum *q = test_quorum_start(1, NULL, net);
  struct test_server *s = test_quorum_server(q, 0);
  pid_t child = test_network_fork(net, 1);
  int how = -1;

  (void)state;
  if (child == 0) {
    redisContext *context = redisConnect(test_server_address(s), test_server_port(s));
    redisReply *reply = redisCommand(context, "SET from %s", test_network_address(net, 1));
    _exit(reply != NULL && reply->type == REDIS_REPLY_STATUS ? 0 : 1);
  }
  assert_int_equal(waitpid(child, &how, 0), child);
  assert_int_equal(how, 0);
  assert_string_equal(test_server_command(s, "GET from"), "10.97.0.2");
  q = test_quorum_stop(q);
  net = test_network_free(net);
}

/* ---- what it is for ---- */

static void sentinels_on_the_other_side_promote_and_there_are_two_primaries(void **state)
{
  struct test_network *net = network_or_skip(5);
  struct test_set *set =
    test_set_start(&(struct test_set_options){ .replicas = 1, .network = net });
  struct test_sentinels *watch = test_sentinels_start(set, NULL);
  struct test_server *old = test_set_member(set, 0);

  (void)state;
  assert_string_equal(test_server_address(test_sentinel(watch, 2)), "10.97.0.5");
  test_network_isolate(net, 0);
  assert_true(test_wait_for_role(test_set_member(set, 1), TEST_ROLE_PRIMARY, LIMIT_MS));
  assert_int_equal(test_role_of(old), TEST_ROLE_PRIMARY);
  assert_string_equal(test_server_command(old, "SET written twice"), "OK");
  assert_string_equal(test_server_command(test_set_member(set, 1), "SET written once"), "OK");
  test_network_heal_all(net);
  assert_true(test_wait_for_role(old, TEST_ROLE_REPLICA, LIMIT_MS));
  assert_true(test_set_wait_in_sync(set, LIMIT_MS));
  assert_string_equal(test_server_command(old, "GET written"), "once");
  watch = test_sentinels_stop(watch);
  set = test_set_stop(set);
  net = test_network_free(net);
}

static void a_cluster_replaces_a_primary_that_is_cut_off(void **state)
{
  struct test_network *net = network_or_skip(6);
  struct test_cluster *c = test_cluster_start(&(struct test_cluster_options){ .network = net });

  (void)state;
  test_network_isolate(net, 0);
  assert_true(test_cluster_wait_for_primary(c, 3, LIMIT_MS));
  assert_int_equal(test_role_of(test_cluster_member(c, 0)), TEST_ROLE_PRIMARY);
  test_network_heal_all(net);
  assert_true(test_wait_for_role(test_cluster_member(c, 0), TEST_ROLE_REPLICA, LIMIT_MS));
  assert_true(test_cluster_wait_ok(c, LIMIT_MS));
  assert_int_equal(test_cluster_owner(c, 0), 3);
  c = test_cluster_stop(c);
  net = test_network_free(net);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(hosts_reach_each_other),
    cmocka_unit_test(a_link_is_cut_both_ways_or_one_way_and_healed),
    cmocka_unit_test(an_established_connection_dies_in_silence_and_lives_on),
    cmocka_unit_test(a_child_lives_on_its_host),
    cmocka_unit_test(sentinels_on_the_other_side_promote_and_there_are_two_primaries),
    cmocka_unit_test(a_cluster_replaces_a_primary_that_is_cut_off),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}

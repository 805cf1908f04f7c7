/* SPDX-License-Identifier: MIT */
/* test/live/test_cluster_test.c - a cluster, as the tests of deployments have it: members that
 * come, go and fail, and slots on the move. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <hiredis/hiredis.h>

#include "deployment.h"

enum { LIMIT_MS = 30000 };

static struct test_cluster *cluster;      /* of the tests that leave it as it was */

static int setup(void **state)
{
  (void)state;
  cluster = test_cluster_start(NULL);
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  cluster = test_cluster_stop(cluster);
  return 0;
}

static const char *on(int member, const char *command)
{
  return test_server_command(test_cluster_member(cluster, member), command);
}

static const char *on_key(int member, const char *format, const char *key)
{
  return test_server_command(test_cluster_member(cluster, member), format, key);
}

static void six_members_serve_all_slots(void **state)
{
  char url[256], name[64];

  (void)state;
  assert_int_equal(test_cluster_count(cluster), 6);
  (void)snprintf(url, sizeof(url),
                 "redis+cluster://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d",
                 test_server_port(test_cluster_member(cluster, 0)),
                 test_server_port(test_cluster_member(cluster, 1)),
                 test_server_port(test_cluster_member(cluster, 2)));
  assert_string_equal(test_cluster_url(cluster), url);
  assert_int_equal(test_cluster_owner(cluster, 0), 0);
  assert_int_equal(test_cluster_owner(cluster, TEST_SLOTS / 2), 1);
  assert_int_equal(test_cluster_owner(cluster, TEST_SLOTS - 1), 2);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(test_cluster_replica_of(cluster, i), i + 3);
    test_cluster_name_on(cluster, i, "name", name, sizeof(name));
    assert_string_equal(on_key(i, "SET dibs:m:{%s} v", name), "OK");
    assert_int_equal(strncmp(on_key((i + 1) % 3, "GET dibs:m:{%s}", name), "MOVED ", 6), 0);
  }
}

static void a_name_can_be_had_for_each_slot(void **state)
{
  char name[64], key[96];

  (void)state;
  for (int slot = 0; slot < TEST_SLOTS; slot += 777) {
    test_cluster_name_in(slot, "lock", name, sizeof(name));
    assert_int_equal(test_cluster_slot_of(cluster, name), slot);
    (void)snprintf(key, sizeof(key), "dibs:m:{%s}", name);
    assert_int_equal(test_cluster_slot_of(cluster, key), slot);
  }
}

static void a_slot_moves_step_by_step(void **state)
{
  enum { SLOT = 42 };
  const char *answer;
  char tag[64];

  (void)state;
  test_cluster_name_in(SLOT, "tag", tag, sizeof(tag));
  assert_string_equal(on_key(0, "SET {%s}a 1", tag), "OK");
  assert_string_equal(on_key(0, "SET {%s}b 2", tag), "OK");
  test_cluster_move_begin(cluster, SLOT, 1);
  assert_int_equal(strncmp(on_key(0, "GET {%s}other", tag), "ASK 42 ", 7), 0);
  assert_int_equal(strncmp(on_key(1, "GET {%s}a", tag), "MOVED 42 ", 9), 0);
  assert_int_equal(test_cluster_move_keys(cluster, SLOT, 1, 1), 1);
  /* Before 7.0 the source sends its clients on, and only the target says TRYAGAIN. */
  answer = test_server_command(test_cluster_member(cluster, 0), "MGET {%s}a {%s}b", tag, tag);
  assert_true(strncmp(answer, "TRYAGAIN", 8) == 0 || strncmp(answer, "ASK 42 ", 7) == 0);
  assert_int_equal(test_cluster_owner(cluster, SLOT), 0);
  test_cluster_move_finish(cluster, SLOT, 1);
  assert_int_equal(test_cluster_owner(cluster, SLOT), 1);
  assert_string_equal(on_key(1, "GET {%s}a", tag), "1");
  assert_string_equal(on_key(1, "GET {%s}b", tag), "2");
  assert_true(test_cluster_wait_ok(cluster, LIMIT_MS));
  assert_int_equal(strncmp(on_key(2, "GET {%s}a", tag), "MOVED 42 ", 9), 0);
  test_cluster_move(cluster, SLOT, SLOT, 0);
  assert_true(test_cluster_wait_ok(cluster, LIMIT_MS));
  assert_string_equal(on_key(0, "GET {%s}b", tag), "2");
}

static void a_move_can_be_taken_back(void **state)
{
  enum { SLOT = 43 };
  char tag[64];

  (void)state;
  test_cluster_name_in(SLOT, "tag", tag, sizeof(tag));
  assert_string_equal(on_key(0, "SET {%s}a 1", tag), "OK");
  test_cluster_move_begin(cluster, SLOT, 2);
  assert_int_equal(test_cluster_move_keys(cluster, SLOT, 2, -1), 1);
  assert_int_equal(strncmp(on_key(0, "GET {%s}a", tag), "ASK 43 ", 7), 0);
  test_cluster_move_abort(cluster, SLOT, 2);
  assert_string_equal(on_key(0, "GET {%s}a", tag), "1");
  assert_int_equal(test_cluster_owner(cluster, SLOT), 0);
  assert_true(test_cluster_wait_ok(cluster, LIMIT_MS));
}

static void ranges_move_at_once_where_the_server_can(void **state)
{
  char tag[64];

  (void)state;
  if (!test_cluster_can_move_atomically(cluster)) {
    print_message("%s cannot\n", test_server_version(test_cluster_member(cluster, 0)));
    skip();
  }
  test_cluster_name_in(101, "tag", tag, sizeof(tag));
  assert_string_equal(on_key(0, "SET {%s}a 1", tag), "OK");
  assert_true(test_cluster_move_atomically(cluster, 100, 120, 1, LIMIT_MS));
  assert_string_equal(on_key(1, "GET {%s}a", tag), "1");
  assert_true(test_cluster_wait_ok(cluster, LIMIT_MS));
  assert_true(test_cluster_move_atomically(cluster, 100, 120, 0, LIMIT_MS));
  assert_true(test_cluster_wait_ok(cluster, LIMIT_MS));
}

static void members_come_and_go(void **state)
{
  int primary = test_cluster_add(cluster), replica;

  (void)state;
  test_cluster_move(cluster, 200, 203, primary);
  assert_true(test_cluster_wait_ok(cluster, LIMIT_MS));
  assert_int_equal(test_cluster_owner(cluster, 201), primary);
  replica = test_cluster_add_replica(cluster, primary);
  assert_int_equal(test_cluster_replica_of(cluster, primary), replica);
  test_cluster_move(cluster, 200, 203, 0);
  test_cluster_remove(cluster, replica);
  test_cluster_remove(cluster, primary);
  assert_true(test_cluster_wait_ok(cluster, LIMIT_MS));
  assert_int_equal(test_cluster_owner(cluster, 201), 0);
}

static void a_replica_takes_over_when_asked_and_when_its_primary_dies(void **state)
{
  (void)state;
  assert_true(test_cluster_failover(cluster, 4, ""));
  assert_true(test_cluster_wait_for_primary(cluster, 4, LIMIT_MS));
  assert_true(test_wait_for_role(test_cluster_member(cluster, 1), TEST_ROLE_REPLICA, LIMIT_MS));
  assert_true(test_cluster_wait_ok(cluster, LIMIT_MS));
  assert_int_equal(test_cluster_owner(cluster, TEST_SLOTS / 2), 4);
  assert_true(test_wait_in_sync(test_cluster_member(cluster, 4),
                                test_cluster_member(cluster, 1), LIMIT_MS));

  test_server_kill9(test_cluster_member(cluster, 4));
  assert_false(test_cluster_wait_ok(cluster, 100));
  assert_true(test_cluster_wait_for_primary(cluster, 1, LIMIT_MS));
  assert_true(test_cluster_wait_ok(cluster, LIMIT_MS));
  assert_int_equal(test_cluster_owner(cluster, TEST_SLOTS / 2), 1);
  test_server_restart(test_cluster_member(cluster, 4), false);
  assert_true(test_wait_for_role(test_cluster_member(cluster, 4), TEST_ROLE_REPLICA, LIMIT_MS));
  assert_true(test_cluster_wait_ok(cluster, LIMIT_MS));
  assert_true(test_wait_in_sync(test_cluster_member(cluster, 1),
                                test_cluster_member(cluster, 4), LIMIT_MS));
  assert_string_equal(on(4, "DBSIZE"), on(1, "DBSIZE"));
}

static void members_speak_tls_and_log_in(void **state)
{
  static const struct test_server_options server = { .has_tls = true, .password = "secret" };
  struct test_cluster *c;
  char tag[64];

  (void)state;
  if (!test_servers_speak_tls())
    skip();
  c = test_cluster_start(
    &(struct test_cluster_options){ .replicas = TEST_NONE, .server = &server });
  assert_int_equal(test_cluster_count(c), 3);
  assert_int_equal(strncmp(test_cluster_url(c), "rediss+cluster://", 17), 0);
  test_cluster_name_in(7, "tag", tag, sizeof(tag));
  assert_string_equal(test_server_command(test_cluster_member(c, 0), "SET {%s} v", tag), "OK");
  test_cluster_move(c, 7, 7, 2);
  assert_string_equal(test_server_command(test_cluster_member(c, 2), "GET {%s}", tag), "v");
  c = test_cluster_stop(c);
}

static void clients_are_sent_to_proxies(void **state)
{
  struct test_cluster *c = test_cluster_start(
    &(struct test_cluster_options){ .replicas = TEST_NONE, .is_behind_proxies = true });
  char tag[64], moved[96];

  (void)state;
  test_cluster_name_in(7, "tag", tag, sizeof(tag));
  (void)snprintf(moved, sizeof(moved), "MOVED 7 127.0.0.1:%d",
                 test_proxy_port(test_cluster_proxy(c, 0)));
  assert_string_equal(test_server_command(test_cluster_member(c, 1), "GET {%s}", tag), moved);
  test_server_restart(test_cluster_member(c, 0), true);
  assert_true(test_cluster_wait_ok(c, LIMIT_MS));
  assert_string_equal(test_server_command(test_cluster_member(c, 1), "GET {%s}", tag), moved);
  c = test_cluster_stop(c);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(six_members_serve_all_slots),
    cmocka_unit_test(a_name_can_be_had_for_each_slot),
    cmocka_unit_test(a_slot_moves_step_by_step),
    cmocka_unit_test(a_move_can_be_taken_back),
    cmocka_unit_test(ranges_move_at_once_where_the_server_can),
    cmocka_unit_test(members_come_and_go),
    cmocka_unit_test(a_replica_takes_over_when_asked_and_when_its_primary_dies),
    cmocka_unit_test(members_speak_tls_and_log_in),
    cmocka_unit_test(clients_are_sent_to_proxies),
  };

  return cmocka_run_group_tests(tests, setup, teardown);
}

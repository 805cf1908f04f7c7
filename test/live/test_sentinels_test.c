/* SPDX-License-Identifier: MIT */
/* test/live/test_sentinels_test.c - sentinels that watch a set, as the tests of deployments
 * have them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "deployment.h"

enum { LIMIT_MS = 30000 };

static void they_promote_a_replica_of_a_dead_primary(void **state)
{
  struct test_set *set = test_set_start(NULL);
  struct test_sentinels *watch = test_sentinels_start(set, NULL);
  char url[256];

  (void)state;
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
  assert_int_equal(test_clients_of(test_set_member(set, 0)), 0);

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

static void they_fail_over_when_asked_and_remember_it(void **state)
{
  struct test_set *set = test_set_start(NULL);
  struct test_sentinels *watch = test_sentinels_start(
    set, &(struct test_sentinels_options){ .down_after_ms = 700 });
  int primary;

  (void)state;
  assert_true(test_sentinels_failover(watch));
  assert_true(test_sentinels_wait_for_failover(watch, 0, LIMIT_MS));
  assert_true(test_sentinels_wait_settled(watch, LIMIT_MS));
  primary = test_set_primary(set);
  test_server_kill9(test_sentinel(watch, 1));
  assert_int_equal(test_sentinel_primary(watch, 1), -1);
  test_server_restart(test_sentinel(watch, 1), true);
  assert_int_equal(test_sentinel_primary(watch, 1), primary);
  watch = test_sentinels_stop(watch);
  set = test_set_stop(set);
}

static void they_speak_tls_and_log_in(void **state)
{
  static const struct test_server_options server = { .has_tls = true, .password = "data" };
  struct test_set *set;
  struct test_sentinels *watch;

  (void)state;
  if (!test_servers_speak_tls())
    skip();
  set = test_set_start(&(struct test_set_options){ .replicas = 1, .server = &server });
  watch = test_sentinels_start(
    set, &(struct test_sentinels_options){ .password = "watching", .user = "watcher" });
  assert_int_equal(strncmp(test_sentinels_url(watch), "rediss+sentinel://", 18), 0);
  assert_string_equal(test_server_command(test_sentinel(watch, 0), "ACL WHOAMI"), "watcher");
  test_server_pause(test_set_member(set, 0));
  assert_true(test_sentinels_wait_for_failover(watch, 0, LIMIT_MS));
  assert_int_equal(test_set_primary(set), 1);
  test_server_resume(test_set_member(set, 0));
  assert_true(test_wait_for_role(test_set_member(set, 0), TEST_ROLE_REPLICA, LIMIT_MS));
  watch = test_sentinels_stop(watch);
  set = test_set_stop(set);
}

static void they_tell_of_proxies_in_front_of_members(void **state)
{
  struct test_set *set = test_set_start(
    &(struct test_set_options){ .replicas = 1, .is_behind_proxies = true });
  struct test_sentinels *watch = test_sentinels_start(set, NULL);
  char address[64];

  (void)state;
  test_proxy_refuse(test_set_proxy(set, 0), true);
  test_proxy_cut(test_set_proxy(set, 0));
  assert_true(test_sentinels_wait_for_failover(watch, 0, LIMIT_MS));
  (void)snprintf(address, sizeof(address), "[127.0.0.1, %d]",
                 test_proxy_port(test_set_proxy(set, 1)));
  assert_string_equal(test_server_command(test_sentinel(watch, 0),
                                          "SENTINEL get-master-addr-by-name " TEST_SERVICE),
                      address);
  watch = test_sentinels_stop(watch);
  set = test_set_stop(set);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(they_promote_a_replica_of_a_dead_primary),
    cmocka_unit_test(they_fail_over_when_asked_and_remember_it),
    cmocka_unit_test(they_speak_tls_and_log_in),
    cmocka_unit_test(they_tell_of_proxies_in_front_of_members),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* test/live/test_set_test.c - primaries with replicas and independent servers, as the tests of
 * deployments have them; and what certificates their authority makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include <stdlib.h>

#include <hiredis/hiredis.h>

#include "authority.h"
#include "deployment.h"

enum { LIMIT_MS = 20000 };

static struct test_server *member(const struct test_set *set, int which)
{
  return test_set_member(set, which);
}

static void replicas_follow_a_primary(void **state)
{
  struct test_set *set = test_set_start(NULL);
  char url[256];

  (void)state;
  assert_int_equal(test_set_count(set), 3);
  assert_int_equal(test_set_primary(set), 0);
  assert_int_equal(test_role_of(member(set, 0)), TEST_ROLE_PRIMARY);
  assert_int_equal(test_role_of(member(set, 1)), TEST_ROLE_REPLICA);
  assert_string_equal(test_server_command(member(set, 0), "SET k v"), "OK");
  assert_true(test_set_wait_in_sync(set, LIMIT_MS));
  assert_string_equal(test_server_command(member(set, 1), "GET k"), "v");
  assert_string_equal(test_server_command(member(set, 2), "GET k"), "v");
  (void)snprintf(url, sizeof(url), "redis://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d",
                 test_server_port(member(set, 0)), test_server_port(member(set, 1)),
                 test_server_port(member(set, 2)));
  assert_string_equal(test_set_url(set), url);
  set = test_set_stop(set);
}

static void a_replica_that_is_promoted_leads_the_others_and_stays_it(void **state)
{
  struct test_set *set = test_set_start(NULL);

  (void)state;
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

static void writes_wait_for_replicas_where_they_must(void **state)
{
  struct test_set *set = test_set_start(&(struct test_set_options){
    .replicas = 1, .min_replicas_to_write = 1, .min_replicas_max_lag_s = 1 });
  int tries = 0;

  (void)state;
  assert_int_equal(test_set_count(set), 2);
  assert_string_equal(test_server_command(member(set, 0), "SET k v"), "OK");
  test_server_pause(member(set, 1));
  assert_int_equal(test_role_of(member(set, 1)), TEST_ROLE_GONE);
  while (strncmp(test_server_command(member(set, 0), "SET k w"), "NOREPLICAS", 10) != 0)
    assert_in_range(++tries, 1, 1000000);
  test_server_resume(member(set, 1));
  assert_true(test_set_wait_in_sync(set, LIMIT_MS));
  set = test_set_stop(set);
}

static void clients_are_counted_without_replicas_and_questions(void **state)
{
  struct test_set *set = test_set_start(&(struct test_set_options){ .replicas = 1 });
  redisContext *one = redisConnectUnix(test_server_socket(member(set, 0)));
  redisContext *two = redisConnect("127.0.0.1", test_server_port(member(set, 0)));

  (void)state;
  freeReplyObject(redisCommand(one, "PING"));
  freeReplyObject(redisCommand(two, "SUBSCRIBE channel"));
  assert_int_equal(test_clients_of(member(set, 0)), 2);
  assert_int_equal(test_clients_of(member(set, 1)), 0);
  redisFree(two);
  assert_true(test_wait_for_clients(member(set, 0), 1, LIMIT_MS));
  redisFree(one);
  assert_true(test_wait_for_clients(member(set, 0), 0, LIMIT_MS));
  set = test_set_stop(set);
}

/* A primary takes a replica for one only at its first acknowledgement. */
static bool tells_of(const struct test_server *primary, const char *replica)
{
  const struct timespec shortly = { .tv_nsec = 5000000 };

  for (int waited_ms = 0; waited_ms < LIMIT_MS; waited_ms += 5) {
    if (strstr(test_server_command(primary, "ROLE"), replica) != NULL)
      return true;
    (void)nanosleep(&shortly, NULL);
  }
  return false;
}

static void members_behind_proxies_are_known_by_these(void **state)
{
  struct test_set *set = test_set_start(
    &(struct test_set_options){ .replicas = 1, .is_behind_proxies = true });
  int port = test_proxy_port(test_set_proxy(set, 1));
  char announced[64], url[128];

  (void)state;
  (void)snprintf(announced, sizeof(announced), "[127.0.0.1, %d,", port);
  assert_true(tells_of(member(set, 0), announced));
  assert_int_equal(test_set_with_port(set, port), 1);
  (void)snprintf(url, sizeof(url), "redis://127.0.0.1:%d,127.0.0.1:%d",
                 test_proxy_port(test_set_proxy(set, 0)), port);
  assert_string_equal(test_set_url(set), url);
  test_server_restart(member(set, 1), false);
  assert_true(test_set_wait_in_sync(set, LIMIT_MS));
  assert_non_null(strstr(test_server_command(member(set, 0), "ROLE"), announced));
  set = test_set_stop(set);
}

/* ---- log-in and TLS ---- */

static int ping(const char *openssl_options, const struct test_server *s)
{
  char command[1024];

  (void)snprintf(command, sizeof(command),
                 "printf 'PING\\r\\nQUIT\\r\\n' | timeout 5 openssl s_client -quiet"
                 " -verify_return_error -verify_hostname localhost"
                 " -connect 127.0.0.1:%d %s 2>/dev/null | grep -q -e PONG -e NOAUTH",
                 test_server_port(s), openssl_options);
  return system(command);
}

static void a_set_speaks_tls_and_logs_in_among_itself(void **state)
{
  static const struct test_server_options server = {
    .has_tls = true, .password = "among us", .user = "member"
  };
  struct test_set *set;
  char options[256];

  (void)state;
  if (!test_servers_speak_tls())
    skip();
  set = test_set_start(&(struct test_set_options){ .replicas = 1, .server = &server });
  assert_int_equal(strncmp(test_set_url(set), "rediss://", 9), 0);
  assert_string_equal(test_server_ca(member(set, 0)), test_server_ca(member(set, 1)));
  (void)snprintf(options, sizeof(options), "-CAfile %s", test_server_ca(member(set, 0)));
  assert_int_equal(ping(options, member(set, 1)), 0);
  test_server_restart(member(set, 1), true);
  assert_true(test_set_wait_in_sync(set, LIMIT_MS));
  assert_string_equal(test_server_command(member(set, 0), "ACL WHOAMI"), "member");
  set = test_set_stop(set);
}

static void certificates_are_good_for_another_host_or_expired(void **state)
{
  struct test_authority *by;
  struct test_server_options o = { .has_tls = true };
  struct test_server *s[3];
  char good[512], bad[512];

  (void)state;
  if (!test_servers_speak_tls())
    skip();
  by = test_authority_make();
  o.authority = by;
  for (int i = 0; i < 3; i++) {
    o.certificate = (enum test_certificate)i;
    o.wants_client_certificate = i == 0;
    s[i] = test_server_start_with(&o);
  }
  (void)snprintf(good, sizeof(good), "-CAfile %s -cert %s -key %s", test_authority_ca(by),
                 test_authority_client_certificate(by), test_authority_client_key(by));
  assert_int_equal(ping(good, s[0]), 0);
  assert_int_not_equal(ping(good, s[1]), 0);
  assert_int_not_equal(ping(good, s[2]), 0);
  (void)snprintf(bad, sizeof(bad), "-CAfile %s -cert %s -key %s", test_authority_ca(by),
                 test_authority_expired_client_certificate(by),
                 test_authority_expired_client_key(by));
  assert_int_not_equal(ping(bad, s[0]), 0);
  (void)snprintf(bad, sizeof(bad), "-CAfile %s -cert %s -key %s", test_authority_ca(by),
                 test_authority_foreign_client_certificate(by),
                 test_authority_foreign_client_key(by));
  assert_int_not_equal(ping(bad, s[0]), 0);
  for (int i = 0; i < 3; i++)
    s[i] = test_server_stop(s[i]);
  by = test_authority_free(by);
}

/* ---- servers that know nothing of each other ---- */

static void servers_of_a_quorum_are_independent(void **state)
{
  struct test_quorum *q = test_quorum_start(5, NULL, NULL);
  char url[512] = "";

  (void)state;
  assert_int_equal(test_quorum_count(q), 5);
  for (int i = 0; i < 5; i++) {
    (void)snprintf(url + strlen(url), sizeof(url) - strlen(url), "%sredis://127.0.0.1:%d",
                   i > 0 ? " " : "", test_server_port(test_quorum_server(q, i)));
    assert_int_equal(test_role_of(test_quorum_server(q, i)), TEST_ROLE_PRIMARY);
    assert_string_equal(test_server_command(test_quorum_server(q, i), "GET k"), "(nil)");
    assert_string_equal(test_server_command(test_quorum_server(q, i), "SET k v"), "OK");
  }
  assert_string_equal(test_quorum_url(q), url);
  q = test_quorum_stop(q);
}

static void a_server_tells_what_it_is(void **state)
{
  struct test_server *s = test_server_start();

  (void)state;
  assert_true(strncmp(test_server_version(s), "redis ", 6) == 0
              || strncmp(test_server_version(s), "valkey ", 7) == 0);
  assert_true(test_server_knows(s, "evalsha"));
  assert_false(test_server_knows(s, "no-such-command"));
  s = test_server_stop(s);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(replicas_follow_a_primary),
    cmocka_unit_test(a_replica_that_is_promoted_leads_the_others_and_stays_it),
    cmocka_unit_test(writes_wait_for_replicas_where_they_must),
    cmocka_unit_test(clients_are_counted_without_replicas_and_questions),
    cmocka_unit_test(members_behind_proxies_are_known_by_these),
    cmocka_unit_test(a_set_speaks_tls_and_logs_in_among_itself),
    cmocka_unit_test(certificates_are_good_for_another_host_or_expired),
    cmocka_unit_test(servers_of_a_quorum_are_independent),
    cmocka_unit_test(a_server_tells_what_it_is),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}

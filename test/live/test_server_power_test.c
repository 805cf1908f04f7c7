/* SPDX-License-Identifier: MIT */
/* test/live/test_server_power_test.c - servers that lose their power keep what they synced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "server.h"

static struct test_server *start(const char *when, bool has_clock)
{
  /* Read again at each restart. */
  static const char *arguments[] = { "--appendonly", "yes", "--appendfsync", NULL, NULL };

  arguments[3] = when;
  return test_server_start_with(&(struct test_server_options){
    .arguments = arguments, .has_clock = has_clock, .can_lose_power = true });
}

static void write_keys(const struct test_server *s, int from, int to)
{
  for (int i = from; i < to; i++)
    assert_string_equal(test_server_command(s, "SET key:%d %d", i, i), "OK");
}

static void what_was_synced_with_each_write_is_kept(void **state)
{
  struct test_server *s = start("always", false);

  (void)state;
  write_keys(s, 0, 50);
  assert_int_equal(test_server_lose_power(s), 0);
  assert_int_equal(test_server_pid(s), 0);
  test_server_restart(s, true);
  assert_int_equal(test_server_integer(s, "DBSIZE"), 50);
  s = test_server_stop(s);
}

static void what_was_never_synced_is_lost(void **state)
{
  struct test_server *s = start("no", false);

  (void)state;
  write_keys(s, 0, 50);
  assert_true(test_server_lose_power(s) > 50 * 20);
  test_server_restart(s, true);
  assert_int_equal(test_server_integer(s, "DBSIZE"), 0);
  write_keys(s, 0, 3);
  s = test_server_stop(s);
}

/* A change of the policy syncs with the next write: what came before it is kept. */
static void what_came_after_the_last_sync_is_lost(void **state)
{
  struct test_server *s = start("no", false);

  (void)state;
  write_keys(s, 0, 20);
  assert_string_equal(test_server_command(s, "CONFIG SET appendfsync always"), "OK");
  write_keys(s, 20, 21);
  assert_string_equal(test_server_command(s, "CONFIG SET appendfsync no"), "OK");
  write_keys(s, 21, 30);
  assert_true(test_server_lose_power(s) > 9 * 20);
  test_server_restart(s, true);
  assert_int_equal(test_server_integer(s, "DBSIZE"), 21);
  s = test_server_stop(s);
}

static void a_kill_alone_loses_nothing(void **state)
{
  struct test_server *s = start("no", false);

  (void)state;
  write_keys(s, 0, 50);
  test_server_kill9(s);
  test_server_restart(s, true);
  assert_int_equal(test_server_integer(s, "DBSIZE"), 50);
  s = test_server_stop(s);
}

static void a_server_may_have_a_clock_of_its_own_and_lose_its_power(void **state)
{
  struct test_server *s = start("no", true);
  long long creep;

  (void)state;
  test_server_clock_freeze(s, 1700000000000000);
  write_keys(s, 0, 1);
  assert_true(test_server_lose_power(s) > 0);
  test_server_restart(s, true);
  assert_int_equal(test_server_integer(s, "DBSIZE"), 0);
  assert_int_equal(sscanf(test_server_command(s, "TIME"), "[1700000000, %lld]", &creep), 1);
  assert_in_range(creep, 0, test_server_clock_creep_us(s));
  s = test_server_stop(s);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_was_synced_with_each_write_is_kept),
    cmocka_unit_test(what_was_never_synced_is_lost),
    cmocka_unit_test(what_came_after_the_last_sync_is_lost),
    cmocka_unit_test(a_kill_alone_loses_nothing),
    cmocka_unit_test(a_server_may_have_a_clock_of_its_own_and_lose_its_power),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}

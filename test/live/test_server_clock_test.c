/* SPDX-License-Identifier: MIT */
/* test/live/test_server_clock_test.c - servers whose wall clock is the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <time.h>

#include "server.h"

#define SOME_DAY_US 1700000000123456
#define WHOLE_MS_US 1700000000123000    /* what creeps stays in this millisecond */

static struct test_server *start_with_clock(void)
{
  return test_server_start_with(&(struct test_server_options){ .has_clock = true });
}

static int64_t server_us(const struct test_server *s)
{
  const char *answer = test_server_command(s, "TIME");
  long long seconds, micros;

  assert_int_equal(sscanf(answer, "[%lld, %lld]", &seconds, &micros), 2);
  return seconds * 1000000 + micros;
}

static int64_t true_us(void)
{
  struct timespec now;

  assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void assert_frozen_at(const struct test_server *s, int64_t us)
{
  int64_t theirs = server_us(s);

  assert_true(theirs >= us);
  assert_true(theirs <= us + test_server_clock_creep_us(s));
}

/* By no more and no less than what passed while it was asked, but for what it guesses. */
static void assert_shifted_by(const struct test_server *s, int64_t ms)
{
  int64_t creep = test_server_clock_creep_us(s) / 100;
  int64_t before = true_us(), theirs = server_us(s), after = true_us();

  assert_true(theirs >= before + ms * 1000 - creep);
  assert_true(theirs <= after + ms * 1000 + creep);
}

static void a_shifted_clock_runs_so_far_ahead_or_behind(void **state)
{
  static const int64_t shifts[] = { 0, 1, 999, -1, -999, 3600000, -3600000, 86400000123,
                                    -86400000123 };
  struct test_server *s = start_with_clock();

  (void)state;
  for (size_t i = 0; i < sizeof(shifts) / sizeof(shifts[0]); i++) {
    test_server_clock_shift(s, shifts[i]);
    assert_shifted_by(s, shifts[i]);
  }
  s = test_server_stop(s);
}

static void a_frozen_clock_stands_still_until_it_is_thawed(void **state)
{
  struct test_server *s = start_with_clock();

  (void)state;
  test_server_clock_shift(s, 5000);
  test_server_clock_freeze(s, SOME_DAY_US);
  for (int i = 0; i < 3; i++)
    assert_frozen_at(s, SOME_DAY_US);
  test_server_clock_freeze(s, SOME_DAY_US + 1);
  assert_frozen_at(s, SOME_DAY_US + 1);
  test_server_clock_thaw(s);
  assert_shifted_by(s, 5000);
  s = test_server_stop(s);
}

static void a_key_goes_one_millisecond_after_its_time_to_live(void **state)
{
  struct test_server *s = start_with_clock();

  (void)state;
  test_server_clock_freeze(s, WHOLE_MS_US);
  assert_string_equal(test_server_command(s, "SET k v PX 500"), "OK");
  test_server_clock_freeze(s, WHOLE_MS_US + 500000);
  assert_int_equal(test_server_integer(s, "EXISTS k"), 1);
  assert_int_equal(test_server_integer(s, "PTTL k"), 0);
  test_server_clock_freeze(s, WHOLE_MS_US + 501000);
  assert_int_equal(test_server_integer(s, "EXISTS k"), 0);
  s = test_server_stop(s);
}

static void a_script_sees_the_same_clock(void **state)
{
  struct test_server *s = start_with_clock();
  long long micros;

  (void)state;
  test_server_clock_freeze(s, SOME_DAY_US);
  assert_int_equal(sscanf(test_server_command(s, "EVAL %s 0", "return redis.call('TIME')"),
                          "[1700000000, %lld]", &micros),
                   1);
  assert_in_range(micros, 123456, 123456 + test_server_clock_creep_us(s));
  s = test_server_stop(s);
}

static void the_clock_outlives_a_restart(void **state)
{
  struct test_server *s = start_with_clock();

  (void)state;
  test_server_clock_freeze(s, SOME_DAY_US);
  test_server_restart(s, false);
  assert_frozen_at(s, SOME_DAY_US);
  s = test_server_stop(s);
}

static void each_server_has_a_clock_of_its_own(void **state)
{
  struct test_server *first = start_with_clock(), *second = start_with_clock();
  struct test_server *third = test_server_start();

  (void)state;
  test_server_clock_freeze(first, SOME_DAY_US);
  test_server_clock_shift(second, -60000);
  assert_frozen_at(first, SOME_DAY_US);
  assert_shifted_by(second, -60000);
  assert_shifted_by(third, 0);
  first = test_server_stop(first);
  second = test_server_stop(second);
  third = test_server_stop(third);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_shifted_clock_runs_so_far_ahead_or_behind),
    cmocka_unit_test(a_frozen_clock_stands_still_until_it_is_thawed),
    cmocka_unit_test(a_key_goes_one_millisecond_after_its_time_to_live),
    cmocka_unit_test(a_script_sees_the_same_clock),
    cmocka_unit_test(the_clock_outlives_a_restart),
    cmocka_unit_test(each_server_has_a_clock_of_its_own),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* lock/server_clock: no wall clock is trusted alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lock/server_clock.h"

#define EPOCH 1700000000000000
#define AT(ms) ((instant){ SPAN_MS(ms).ns })

static server_clock agreeing_clock(void)
{
  server_clock c = { .is_known = false };

  server_clock_learn(&c, EPOCH, AT(0), AT(0));
  server_clock_wall(&c, EPOCH, AT(0));
  return c;
}

static void an_unknown_clock_answers_zero(void **state)
{
  server_clock c = { .is_known = false };

  (void)state;
  assert_int_equal(server_clock_at(&c, AT(5)), 0);
  assert_int_equal(server_clock_trusted_at(&c, AT(5)), 0);
}

static void the_time_of_an_answer_is_taken_in_the_middle_of_its_way(void **state)
{
  server_clock c = { .is_known = false };

  (void)state;
  server_clock_learn(&c, EPOCH, AT(0), AT(10));
  assert_int_equal(server_clock_at(&c, AT(5)), EPOCH);
  assert_int_equal(server_clock_at(&c, AT(1005)), EPOCH + 1000000);
}

static void two_agreeing_clocks_are_trusted(void **state)
{
  server_clock c = agreeing_clock();

  (void)state;
  assert_int_equal(server_clock_trusted_at(&c, AT(100)), EPOCH + 100000);
}

static void clocks_more_than_a_quarter_of_a_second_apart_are_not_trusted(void **state)
{
  server_clock c = { .is_known = false };

  (void)state;
  server_clock_learn(&c, EPOCH, AT(0), AT(0));
  server_clock_wall(&c, EPOCH + 260000, AT(0));
  assert_int_equal(server_clock_trusted_at(&c, AT(1)), 0);
  assert_int_equal(server_clock_at(&c, AT(0)), EPOCH);
}

static void without_a_wall_clock_nothing_is_trusted(void **state)
{
  server_clock c = { .is_known = false };

  (void)state;
  server_clock_learn(&c, EPOCH, AT(0), AT(0));
  assert_int_equal(server_clock_trusted_at(&c, AT(1)), 0);
}

static void a_step_of_the_server_is_distrusted_for_an_hour(void **state)
{
  server_clock c = agreeing_clock();

  (void)state;
  server_clock_learn(&c, EPOCH + 60000000, AT(1000), AT(1000));
  server_clock_learn(&c, EPOCH + 2000000, AT(2000), AT(2000));
  assert_int_equal(server_clock_trusted_at(&c, AT(2000)), 0);
  assert_int_equal(server_clock_trusted_at(&c, AT(3602000)), EPOCH + 3602000000);
}

/* On one machine the step moves server and client together: they go on agreeing. */
static void a_step_of_both_clocks_at_once_is_noticed_too(void **state)
{
  server_clock c = agreeing_clock();

  (void)state;
  server_clock_learn(&c, EPOCH + 61000000, AT(1000), AT(1000));
  server_clock_wall(&c, EPOCH + 61000000, AT(1000));
  assert_int_equal(server_clock_trusted_at(&c, AT(1000)), 0);
}

static void a_slow_answer_is_no_step(void **state)
{
  server_clock c = agreeing_clock();

  (void)state;
  /* Sent at 0, executed at once, heard of after 450 ms: the middle is 225 ms off. */
  server_clock_learn(&c, EPOCH, AT(0), AT(450));
  assert_int_not_equal(server_clock_trusted_at(&c, AT(450)), 0);
}

static void slow_drift_over_hours_is_no_step(void **state)
{
  server_clock c = agreeing_clock();

  (void)state;
  server_clock_learn(&c, EPOCH + 36000000000 + 200000, AT(36000000), AT(36000000));
  assert_int_not_equal(server_clock_trusted_at(&c, AT(36000000)), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_unknown_clock_answers_zero),
    cmocka_unit_test(the_time_of_an_answer_is_taken_in_the_middle_of_its_way),
    cmocka_unit_test(two_agreeing_clocks_are_trusted),
    cmocka_unit_test(clocks_more_than_a_quarter_of_a_second_apart_are_not_trusted),
    cmocka_unit_test(without_a_wall_clock_nothing_is_trusted),
    cmocka_unit_test(a_step_of_the_server_is_distrusted_for_an_hour),
    cmocka_unit_test(a_step_of_both_clocks_at_once_is_noticed_too),
    cmocka_unit_test(a_slow_answer_is_no_step),
    cmocka_unit_test(slow_drift_over_hours_is_no_step),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}

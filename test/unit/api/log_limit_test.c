/* SPDX-License-Identifier: MIT */
/* test/unit/api/log_limit_test.c - in a period a limited number of lines of one event, and a
 * count of the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/log_limit.h"

static const log_rule rule = { .most = 3, .per = { 1000000000 } };

static instant at_ms(int64_t ms)
{
  return (instant){ ms * 1000000 };
}

/* As log.c: the period ends first. Returns what is reported of it. */
static uint32_t line(log_limit *l, int64_t ms, bool *ret_passes)
{
  uint32_t left_out = log_limit_end(l, &rule, false, at_ms(ms));

  *ret_passes = log_limit_pass(l, &rule, at_ms(ms));
  return left_out;
}

static void no_period_has_more_lines(void **state)
{
  log_limit l = { .passed = 0 };
  bool passes;

  (void)state;
  for (int i = 0; i < 10; i++) {
    assert_int_equal(line(&l, 5000 + i, &passes), 0);
    assert_int_equal(passes, i < 3);
  }
}

static void what_was_left_out_is_reported_once_after_the_period(void **state)
{
  log_limit l = { .passed = 0 };
  bool passes;

  (void)state;
  for (int i = 0; i < 8; i++)
    (void)line(&l, 5000, &passes);
  assert_int_equal(log_limit_due(&l, &rule).ns, at_ms(6000).ns);
  assert_int_equal(log_limit_end(&l, &rule, false, at_ms(5999)), 0);
  assert_int_equal(log_limit_end(&l, &rule, false, at_ms(6000)), 5);
  assert_int_equal(log_limit_end(&l, &rule, false, at_ms(6001)), 0);
  assert_true(instant_is_never(log_limit_due(&l, &rule)));
}

static void the_next_period_begins_with_its_first_line(void **state)
{
  log_limit l = { .passed = 0 };
  bool passes;

  (void)state;
  for (int i = 0; i < 4; i++)
    (void)line(&l, 1000, &passes);
  assert_false(passes);
  assert_int_equal(line(&l, 7900, &passes), 1);
  assert_true(passes);
  for (int i = 0; i < 3; i++)
    (void)line(&l, 8500, &passes);
  assert_false(passes);                 /* its end is 8900, not 8000 */
  assert_int_equal(log_limit_due(&l, &rule).ns, at_ms(8900).ns);
}

static void a_line_that_had_no_room_counts_as_left_out(void **state)
{
  log_limit l = { .passed = 0 };
  bool passes;

  (void)state;
  (void)line(&l, 0, &passes);
  log_limit_drop(&l);
  assert_int_equal(log_limit_end(&l, &rule, true, at_ms(1)), 1);
  l.left_out = UINT32_MAX;
  log_limit_drop(&l);
  assert_true(l.left_out == UINT32_MAX);
}

static void without_a_limit_every_line_passes(void **state)
{
  const log_rule none = { .most = LOG_NO_LIMIT, .per = SPAN_MS(1000) };
  log_limit l = { .passed = 0 };

  (void)state;
  for (int i = 0; i < 100000; i++)
    assert_true(log_limit_pass(&l, &none, at_ms(0)));
  assert_int_equal(log_limit_end(&l, &none, true, at_ms(0)), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(no_period_has_more_lines),
    cmocka_unit_test(what_was_left_out_is_reported_once_after_the_period),
    cmocka_unit_test(the_next_period_begins_with_its_first_line),
    cmocka_unit_test(a_line_that_had_no_room_counts_as_left_out),
    cmocka_unit_test(without_a_limit_every_line_passes),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* test/unit/api/log_limit_test.c - in a period a limited number of lines of one event, and a
 * count of the others. */
#include "tests.h"

#include <stdint.h>

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

TEST(no_period_has_more_lines)
{
  log_limit l = { .passed = 0 };
  bool passes;

  for (int i = 0; i < 10; i++) {
    assert_int_equal(line(&l, 5000 + i, &passes), 0);
    assert_int_equal(passes, i < 3);
  }
}

TEST(what_was_left_out_is_reported_once_after_the_period)
{
  log_limit l = { .passed = 0 };
  bool passes;

  for (int i = 0; i < 8; i++)
    (void)line(&l, 5000, &passes);
  assert_int_equal(log_limit_due(&l, &rule).ns, at_ms(6000).ns);
  assert_int_equal(log_limit_end(&l, &rule, false, at_ms(5999)), 0);
  assert_int_equal(log_limit_end(&l, &rule, false, at_ms(6000)), 5);
  assert_int_equal(log_limit_end(&l, &rule, false, at_ms(6001)), 0);
  assert_true(instant_is_never(log_limit_due(&l, &rule)));
}

TEST(the_next_period_begins_with_its_first_line)
{
  log_limit l = { .passed = 0 };
  bool passes;

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

TEST(a_line_that_had_no_room_counts_as_left_out)
{
  log_limit l = { .passed = 0 };
  bool passes;

  (void)line(&l, 0, &passes);
  log_limit_drop(&l);
  assert_int_equal(log_limit_end(&l, &rule, true, at_ms(1)), 1);
  l.left_out = UINT32_MAX;
  log_limit_drop(&l);
  assert_true(l.left_out == UINT32_MAX);
}

TEST(without_a_limit_every_line_passes)
{
  const log_rule none = { .most = LOG_NO_LIMIT, .per = SPAN_MS(1000) };
  log_limit l = { .passed = 0 };

  for (int i = 0; i < 100000; i++)
    assert_true(log_limit_pass(&l, &none, at_ms(0)));
  assert_int_equal(log_limit_end(&l, &none, true, at_ms(0)), 0);
}

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* Unit: base/random.c - repeatable, evenly spread, never outside its limits. */
#include "tests.h"
#include "base/base.h"

#include <stdint.h>

TEST(one_seed_is_one_sequence)
{
  random_source a, b, c;
  size_t same = 0;

  random_seed(&a, 1);
  random_seed(&b, 1);
  random_seed(&c, 2);
  for (size_t i = 0; i < 1000; i++) {
    uint64_t x = random_next(&a);
    assert_true(x == random_next(&b));
    same += x == random_next(&c);
  }
  assert_int_equal(same, 0);
}

TEST(seed_zero_works_too)
{
  random_source r;

  random_seed(&r, 0);
  assert_true(random_next(&r) != random_next(&r));
}

TEST(answers_stay_below_the_limit_and_reach_each_value)
{
  random_source r;
  size_t seen[10] = { 0 };

  random_seed(&r, 42);
  for (size_t i = 0; i < 100000; i++)
    seen[random_below(&r, 10)]++;
  for (size_t i = 0; i < 10; i++)
    assert_in_range(seen[i], 9000, 11000);
  for (size_t i = 0; i < 100; i++)
    assert_int_equal(random_below(&r, 1), 0);
  for (size_t i = 0; i < 100; i++)
    assert_true(random_below(&r, (UINT64_MAX / 2) + 2) <= UINT64_MAX / 2 + 1);
}

TEST(spans_include_both_ends)
{
  random_source r;
  bool has_low = false;
  bool has_high = false;

  random_seed(&r, 7);
  for (size_t i = 0; i < 1000; i++) {
    span s = random_span(&r, (span){ -2 }, (span){ 2 });
    assert_true(s.ns >= -2 && s.ns <= 2);
    has_low = has_low || s.ns == -2;
    has_high = has_high || s.ns == 2;
  }
  assert_true(has_low && has_high);
  assert_true(random_span(&r, (span){ 5 }, (span){ 5 }).ns == 5);
  random_span(&r, (span){ INT64_MIN }, (span){ INT64_MAX });
}

RUN_TESTS(NULL, NULL)

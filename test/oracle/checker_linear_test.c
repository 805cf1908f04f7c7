/* SPDX-License-Identifier: MIT */
/* test/oracle/checker_linear_test.c - C9: histories that some order of effects explains,
 * and ones that none does. */

#include "tests.h"

#include <dibs/status.h>

#include "story.h"

static struct story s;

static int begin(void **state)
{
  (void)state;
  story_begin(&s);
  return 0;
}

TEST(holds_in_a_row_are_explained)
{
  for (int i = 0; i < 20; i++)
    (void)story_hold(&s, i % 3, i * 10 - 15, i * 10, i * 10 + 9, (uint64_t)i + 1);
  assert_int_equal(story_found(&s, CHECK_LINEAR), 0);
  assert_int_equal(s.findings.examined[CHECK_LINEAR], 40);
}

TEST(answers_may_arrive_in_another_order_than_effects)
{
  /* The server handed on from 0 to 1; 1 heard of it before 0 did. */
  (void)story_hold(&s, 0, 0, 1, 50, 1);
  (void)story_hold(&s, 1, 10, 49.5, 60, 2);
  assert_int_equal(story_found(&s, CHECK_LINEAR), 0);
}

TEST(a_try_is_busy_for_somebody_unless_that_is_not_asked)
{
  uint64_t call = story_try(&s, 5, 0, 0);

  story_not(&s, 6, call, DIBS_BUSY);
  (void)story_hold(&s, 1, 10, 20, 30, 2);
  assert_int_equal(story_found(&s, CHECK_LINEAR), 1);
  s.expects.allows_idle_busy = true;
  assert_int_equal(story_found(&s, CHECK_LINEAR), 0);
}

TEST(two_holders_are_not_explained)
{
  (void)story_hold(&s, 0, 0, 1, 50, 1);
  (void)story_hold(&s, 1, 10, 20, 30, 2);
  assert_int_equal(story_found(&s, CHECK_LINEAR), 1);
}

TEST(fences_decide_who_was_first)
{
  uint64_t one = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);
  uint64_t other = story_ask(&s, 0, 1, 0, HOLD_EXCLUSIVE);

  /* Both asked at once; whoever was first must have the lower fence. */
  story_got(&s, 10, one, 5, 990);
  story_release(&s, 20, one);
  story_released(&s, 21, one, DIBS_OK);
  story_got(&s, 30, other, 4, 990);
  assert_int_equal(story_found(&s, CHECK_LINEAR), 1);
}

TEST(a_lease_that_ran_out_explains_the_next)
{
  uint64_t lost = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  story_got(&s, 1, lost, 1, 990);
  (void)story_hold(&s, 1, 10, 1000, 1010, 2);
  assert_int_equal(story_found(&s, CHECK_LINEAR), 0);
}

TEST(a_lease_that_had_not_run_out_does_not)
{
  uint64_t lost = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  story_got(&s, 1, lost, 1, 990);
  (void)story_hold(&s, 1, 10, 900, 910, 2);
  assert_int_equal(story_found(&s, CHECK_LINEAR), 1);
}

TEST(a_release_of_unknown_outcome_may_have_happened_or_not)
{
  uint64_t first = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE), busy;

  story_got(&s, 1, first, 1, 990);
  story_release(&s, 10, first);
  story_released(&s, 510, first, DIBS_UNKNOWN);
  busy = story_try(&s, 520, 2, 0);
  story_not(&s, 521, busy, DIBS_BUSY);            /* not yet */
  (void)story_hold(&s, 1, 600, 601, 610, 2);     /* then it had */
  assert_int_equal(story_found(&s, CHECK_LINEAR), 0);
}

TEST(busy_while_somebody_holds_is_explained)
{
  uint64_t try;

  (void)story_hold(&s, 0, 0, 1, 50, 1);
  try = story_try(&s, 10, 1, 0);
  story_not(&s, 11, try, DIBS_BUSY);
  assert_int_equal(story_found(&s, CHECK_LINEAR), 0);
}

TEST(busy_is_explained_also_when_its_answer_comes_behind_that_of_the_release)
{
  uint64_t hold = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE), try;

  story_got(&s, 1, hold, 1, 990);
  try = story_try(&s, 9, 1, 0);
  story_release(&s, 10, hold);
  story_released(&s, 11, hold, DIBS_OK);
  story_not(&s, 12, try, DIBS_BUSY);
  assert_int_equal(story_found(&s, CHECK_LINEAR), 0);
}

TEST(busy_while_nobody_holds_is_not)
{
  uint64_t try;

  (void)story_hold(&s, 0, 0, 1, 50, 1);
  try = story_try(&s, 60, 1, 0);
  story_not(&s, 61, try, DIBS_BUSY);
  assert_int_equal(story_found(&s, CHECK_LINEAR), 1);
}

TEST(an_ask_that_was_given_up_may_have_held_for_a_while)
{
  uint64_t gone = story_ask(&s, 55, 2, 0, HOLD_EXCLUSIVE), try;

  (void)story_hold(&s, 0, 0, 1, 50, 1);
  story_not(&s, 58, gone, DIBS_CANCELLED);
  try = story_try(&s, 60, 1, 0);
  story_not(&s, 61, try, DIBS_BUSY);
  assert_int_equal(story_found(&s, CHECK_LINEAR), 0);
}

TEST(a_crowd_of_waiters_is_explained_in_any_order)
{
  /* 40 ask at once and are served by chance: only fences and answers tell the order. */
  for (int i = 0; i < 40; i++) {
    int turn = i * 17 % 40;

    (void)story_hold(&s, i, 0, 1 + turn * 10, 9 + turn * 10, (uint64_t)turn + 1);
  }
  assert_int_equal(story_found(&s, CHECK_LINEAR), 0);
  assert_int_equal(s.findings.examined[CHECK_LINEAR], 80);
}

TEST(one_overlap_in_a_crowd_is_found)
{
  for (int i = 0; i < 40; i++)
    (void)story_hold(&s, i, 0, 1 + i * 10, 9 + i * 10, (uint64_t)i + 1);
  s.records[30 * 4 + 1].at_ns -= 6000000;        /* was answered before 29 let go */
  assert_int_equal(story_found(&s, CHECK_LINEAR), 1);
}

RUN_TESTS_EACH(NULL, NULL, begin, NULL)

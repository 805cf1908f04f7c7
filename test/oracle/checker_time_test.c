/* SPDX-License-Identifier: MIT */
/* test/oracle/checker_time_test.c - C7, C8, C11, C12: order of service, wake-ups, beliefs
 * that last too long, calls that come back late. */

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

/* ---- C7 ---- */

/* Worker 0 holds until 100; 1 waits from 10 on, and was seen; 2 asks later. */
static void two_wait(double first_got, double second_got)
{
  (void)story_hold(&s, 0, 0, 1, 100, 1);
  (void)story_hold(&s, 1, 10, first_got, first_got + 10, first_got < second_got ? 2 : 3);
  story_queued(&s, 20, 21, 1, 1, 0);
  (void)story_hold(&s, 2, 30, second_got, second_got + 10, first_got < second_got ? 3 : 2);
}

TEST(who_came_first_is_served_first)
{
  two_wait(101, 112);
  assert_int_equal(story_found(&s, CHECK_ORDER), 0);
  assert_int_equal(s.findings.examined[CHECK_ORDER], 1);
}

TEST(who_came_later_and_is_served_first_is_found)
{
  two_wait(112, 101);
  assert_int_equal(story_found(&s, CHECK_ORDER), 1);
}

TEST(ranks_in_one_look_are_an_order)
{
  (void)story_hold(&s, 0, 0, 1, 100, 1);
  (void)story_hold(&s, 1, 10, 112, 120, 3);
  (void)story_hold(&s, 2, 10, 101, 110, 2);
  assert_int_equal(story_found(&s, CHECK_ORDER), 0);
  story_queued(&s, 20, 21, 1, 1, 0);
  story_queued(&s, 20, 21, 1, 2, 1);
  assert_int_equal(story_found(&s, CHECK_ORDER), 1);
}

TEST(who_was_not_seen_in_the_queue_has_no_place_in_it)
{
  (void)story_hold(&s, 0, 0, 1, 100, 1);
  (void)story_hold(&s, 1, 10, 112, 120, 3);
  (void)story_hold(&s, 2, 30, 101, 110, 2);
  assert_int_equal(story_found(&s, CHECK_ORDER), 0);
}

TEST(who_was_stopped_may_be_passed)
{
  two_wait(112, 101);
  (void)story_fault(&s, FAULT_STOP, 1, 50, 90);
  assert_int_equal(story_found(&s, CHECK_ORDER), 0);
}

/* ---- C8 ---- */

TEST(a_prompt_hand_over_is_right)
{
  (void)story_hold(&s, 0, 0, 1, 100, 1);
  (void)story_hold(&s, 1, 10, 101, 110, 2);
  assert_int_equal(story_found(&s, CHECK_WAKE), 0);
  assert_int_equal(s.findings.examined[CHECK_WAKE], 1);
}

TEST(a_waiter_that_sleeps_on_is_found)
{
  (void)story_hold(&s, 0, 0, 1, 100, 1);
  (void)story_hold(&s, 1, 10, 1300, 1310, 2);
  assert_int_equal(story_found(&s, CHECK_WAKE), 1);
}

TEST(a_waiter_that_gives_up_on_a_free_lock_is_found)
{
  uint64_t waiter;

  (void)story_hold(&s, 0, 0, 1, 100, 1);
  waiter = story_ask(&s, 10, 1, 0, HOLD_EXCLUSIVE);
  story_not(&s, 3010, waiter, DIBS_TIMED_OUT);
  assert_int_equal(story_found(&s, CHECK_WAKE), 1);
}

TEST(who_did_not_wait_was_not_kept_waiting)
{
  (void)story_hold(&s, 0, 0, 1, 100, 1);
  (void)story_hold(&s, 1, 1299, 1300, 1310, 2);
  assert_int_equal(story_found(&s, CHECK_WAKE), 0);
}

TEST(a_machine_that_stalls_wakes_nobody)
{
  (void)story_hold(&s, 0, 0, 1, 100, 1);
  (void)story_hold(&s, 1, 10, 1300, 1310, 2);
  story_stall(&s, 1, 101, 500);
  assert_int_equal(story_found(&s, CHECK_WAKE), 0);
}

TEST(the_lock_of_a_dead_holder_is_free_after_its_lease)
{
  uint64_t dead = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  story_got(&s, 1, dead, 1, 990);
  story_dead(&s, 20, 0);
  (void)story_hold(&s, 1, 10, 2500, 2510, 2);
  assert_int_equal(story_found(&s, CHECK_WAKE), 0);
  assert_int_equal(s.findings.examined[CHECK_WAKE], 1);
  story_begin(&s);
  dead = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);
  story_got(&s, 1, dead, 1, 990);
  story_dead(&s, 20, 0);
  (void)story_hold(&s, 1, 10, 4500, 4510, 2);
  assert_int_equal(story_found(&s, CHECK_WAKE), 1);
}

TEST(most_wake_ups_must_be_as_prompt_as_demanded)
{
  for (int i = 0; i < 110; i++)
    (void)story_hold(&s, i % 2, i * 20 - 18, i * 20, i * 20 + 12, (uint64_t)i + 1);
  s.expects.wake_ms_p99 = 5;
  assert_int_equal(story_found(&s, CHECK_WAKE), 1);     /* 8 ms each */
  s.expects.wake_ms_p99 = 9;
  assert_int_equal(story_found(&s, CHECK_WAKE), 0);
  s.count = 40;                                         /* and of few, every second one */
  s.expects.wake_ms_p99 = 5;
  assert_int_equal(story_found(&s, CHECK_WAKE), 1);
}

/* ---- C11 ---- */

static uint64_t held_through_a_cut(void)
{
  uint64_t call = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  story_got(&s, 1, call, 1, 990);
  story_sample(&s, 300, call, 1290);
  (void)story_fault(&s, FAULT_CUT_OFF, EVERYBODY, 310, 3000);
  return call;
}

TEST(who_is_cut_off_and_told_in_time_is_right)
{
  uint64_t call = held_through_a_cut();

  story_lost(&s, 1290, call);
  story_sample(&s, 1400, call, 0);
  assert_int_equal(story_found(&s, CHECK_SELF_FENCE), 0);
  assert_int_equal(s.findings.examined[CHECK_SELF_FENCE], 3);
}

TEST(who_is_cut_off_and_believes_on_is_found)
{
  uint64_t call = held_through_a_cut();

  story_sample(&s, 1400, call, 1450);
  story_lost(&s, 1300, call);
  assert_int_not_equal(story_found(&s, CHECK_SELF_FENCE), 0);
}

TEST(who_is_told_late_is_found)
{
  uint64_t call = held_through_a_cut();

  story_lost(&s, 1400, call);
  assert_int_equal(story_found(&s, CHECK_SELF_FENCE), 1);
}

TEST(who_is_never_told_is_found)
{
  uint64_t call = held_through_a_cut();

  story_release(&s, 3500, call);
  assert_int_equal(story_found(&s, CHECK_SELF_FENCE), 1);
}

TEST(who_gave_it_back_before_need_not_be_told)
{
  uint64_t call = held_through_a_cut();

  story_release(&s, 1200, call);
  assert_int_equal(story_found(&s, CHECK_SELF_FENCE), 0);
}

TEST(a_stopped_holder_is_told_when_it_wakes)
{
  uint64_t call = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  story_got(&s, 1, call, 1, 990);
  (void)story_fault(&s, FAULT_STOP, 0, 10, 2500);
  story_lost(&s, 2510, call);
  assert_int_equal(story_found(&s, CHECK_SELF_FENCE), 0);
  story_sample(&s, 2505, call, 2600);
  assert_int_equal(story_found(&s, CHECK_SELF_FENCE), 1);
}

TEST(who_woke_late_and_gave_it_back_need_not_be_told)
{
  uint64_t call = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  story_got(&s, 1, call, 1, 990);
  (void)story_fault(&s, FAULT_STOP, 0, 10, 2500);
  story_stall(&s, 0, 2500, 2599);
  story_release(&s, 2600, call);
  story_released(&s, 2601, call, DIBS_LOST);
  assert_int_equal(story_found(&s, CHECK_SELF_FENCE), 0);
}

TEST(a_promise_of_more_than_a_lease_is_found)
{
  uint64_t call = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  story_got(&s, 1, call, 1, 1100);
  assert_int_equal(story_found(&s, CHECK_SELF_FENCE), 1);
}

TEST(belief_after_a_loss_is_found)
{
  uint64_t call = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  story_got(&s, 1, call, 1, 990);
  story_lost(&s, 100, call);
  story_sample(&s, 200, call, 990);
  assert_int_equal(story_found(&s, CHECK_SELF_FENCE), 1);
}

TEST(a_fixed_lease_that_grows_is_found)
{
  uint64_t call = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  story_flag(&s, call, FLAG_FIXED);
  story_got(&s, 1, call, 1, 990);
  story_sample(&s, 500, call, 1400);
  assert_int_equal(story_found(&s, CHECK_SELF_FENCE), 1);
}

/* ---- C12 ---- */

TEST(a_call_within_its_time_is_right)
{
  uint64_t call = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  story_not(&s, 3040, call, DIBS_TIMED_OUT);
  assert_int_equal(story_found(&s, CHECK_BOUNDED), 0);
  assert_int_equal(s.findings.examined[CHECK_BOUNDED], 1);
}

TEST(a_call_that_is_late_is_found)
{
  uint64_t call = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  story_not(&s, 3100, call, DIBS_TIMED_OUT);
  assert_int_equal(story_found(&s, CHECK_BOUNDED), 1);
  story_stall(&s, 0, 1000, 1080);
  assert_int_equal(story_found(&s, CHECK_BOUNDED), 0);
}

TEST(a_call_that_never_came_back_is_found)
{
  (void)story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);
  (void)story_hold(&s, 0, 3900, 3910, 4000, 1);
  assert_int_equal(story_found(&s, CHECK_BOUNDED), 1);
}

TEST(a_killed_caller_owes_no_answer)
{
  (void)story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);
  story_dead(&s, 10, 0);
  (void)story_hold(&s, 1, 3900, 3910, 4000, 1);
  assert_int_equal(story_found(&s, CHECK_BOUNDED), 0);
}

TEST(a_late_release_is_found)
{
  uint64_t call = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  story_got(&s, 1, call, 1, 990);
  story_release(&s, 10, call);
  story_released(&s, 600, call, 0);
  assert_int_equal(story_found(&s, CHECK_BOUNDED), 1);
}

RUN_TESTS_EACH(NULL, NULL, begin, NULL)

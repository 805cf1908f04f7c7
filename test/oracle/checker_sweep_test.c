/* SPDX-License-Identifier: MIT */
/* test/oracle/checker_sweep_test.c - C1, C2, C5, C6: what overlaps, and what must not be
 * taken for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "story.h"

static struct story s;

static int begin(void **state)
{
  (void)state;
  story_begin(&s);
  return 0;
}

/* ---- C1 ---- */

static void one_after_the_other_is_no_overlap(void **state)
{
  (void)state;
  (void)story_hold(&s, 0, 0, 1, 10, 1);
  (void)story_hold(&s, 1, 5, 11, 20, 2);
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 0);
  assert_int_equal(s.findings.examined[CHECK_EXCLUSION], 2);
}

static void two_in_one_lock_are_found(void **state)
{
  (void)state;
  (void)story_hold(&s, 0, 0, 1, 10, 1);
  (void)story_hold(&s, 1, 5, 8, 20, 2);
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 1);
}

static void a_release_that_has_begun_ends_the_belief(void **state)
{
  (void)state;
  (void)story_hold(&s, 0, 0, 1, 10, 1);
  (void)story_hold(&s, 1, 5, 9.5, 20, 2);    /* handed on before the releaser heard of it */
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 0);
}

static void a_holder_that_sleeps_past_its_lease_overlaps_with_nobody(void **state)
{
  uint64_t sleeper = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  (void)state;
  story_got(&s, 1, sleeper, 1, 990);
  (void)story_hold(&s, 1, 500, 1500, 1600, 2);
  story_release(&s, 2000, sleeper);
  story_released(&s, 2001, sleeper, 6);
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 0);
}

static void the_same_thread_twice_is_found_unless_it_nests(void **state)
{
  uint64_t outer = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE), inner;

  (void)state;
  story_got(&s, 1, outer, 1, 990);
  inner = story_ask(&s, 2, 0, 0, HOLD_EXCLUSIVE);
  story_got(&s, 3, inner, 2, 990);
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 1);
  story_flag(&s, inner, FLAG_NESTED);
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 0);
}

/* Broken by an administrator: it believes until it is told. */
static void what_others_ended_overlaps_with_nobody_from_then_on(void **state)
{
  uint64_t holder = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  (void)state;
  story_got(&s, 1, holder, 1, 990);
  story_excused(&s, 100, holder);
  (void)story_hold(&s, 1, 50, 110, 120, 2);
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 0);
  (void)story_hold(&s, 2, 60, 90, 95, 3);
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 1);
}

static void a_renewed_lease_overlaps_with_who_comes_before_its_end(void **state)
{
  uint64_t holder = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  (void)state;
  story_got(&s, 1, holder, 1, 990);
  story_sample(&s, 800, holder, 1790);
  (void)story_hold(&s, 1, 500, 1500, 1600, 2);
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 1);
}

static void a_dead_holder_believes_nothing(void **state)
{
  uint64_t holder = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  (void)state;
  story_got(&s, 1, holder, 1, 990);
  story_dead(&s, 100, 0);
  (void)story_hold(&s, 1, 50, 110, 120, 2);
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 0);
}

static void who_was_told_lost_believes_no_more(void **state)
{
  uint64_t holder = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  (void)state;
  story_got(&s, 1, holder, 1, 990);
  story_lost(&s, 300, holder);
  (void)story_hold(&s, 1, 50, 310, 320, 2);
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 0);
}

static void a_nested_hold_is_its_owners_own(void **state)
{
  uint64_t inner;

  (void)state;
  (void)story_hold(&s, 0, 0, 1, 20, 1);
  inner = story_ask(&s, 5, 0, 0, HOLD_EXCLUSIVE);
  story_flag(&s, inner, FLAG_NESTED);
  story_got(&s, 6, inner, 1, 990);
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 0);
}

static void the_next_life_of_a_worker_is_somebody_else(void **state)
{
  uint64_t again;

  (void)state;
  (void)story_hold(&s, 0, 0, 1, 20, 1);
  again = story_ask(&s, 5, 0, 0, HOLD_EXCLUSIVE);
  story_got(&s, 6, again, 2, 990);
  for (size_t i = s.count - 2; i < s.count; i++)
    s.records[i].life = 1;
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 1);
}

static void an_expected_overlap_that_does_not_come_is_a_failure(void **state)
{
  struct history *h;

  (void)state;
  (void)story_hold(&s, 0, 0, 1, 10, 1);
  h = history_of(s.records, s.count, s.locks, s.lock_count);
  s.expects.expects_overlap = true;
  s.expects.without = (uint32_t)CHECK_ALL & ~CHECK_BIT(CHECK_EXCLUSION);
  assert_false(check_all(h, &s.expects, &s.findings));
  h = history_free(h);
  story_begin(&s);
  (void)story_hold(&s, 0, 0, 1, 10, 1);
  (void)story_hold(&s, 1, 5, 8, 20, 2);
  h = history_of(s.records, s.count, s.locks, s.lock_count);
  s.expects.without = (uint32_t)CHECK_ALL & ~CHECK_BIT(CHECK_EXCLUSION);
  assert_false(check_all(h, &s.expects, &s.findings));
  s.expects.allows_overlap = true;
  assert_true(check_all(h, &s.expects, &s.findings));
  h = history_free(h);
}

/* ---- C2 ---- */

static void what_the_page_showed_is_found(void **state)
{
  uint64_t call = story_hold(&s, 0, 0, 1, 10, 1);
  struct record *r = &s.records[s.count];

  (void)state;
  assert_int_equal(story_found(&s, CHECK_WITNESS), 0);
  s.count++;
  *r = s.records[1];
  r->op = OP_CLASH;
  r->phase = PHASE_INFO;
  r->call = call;
  r->at_ns += 1000;
  assert_int_equal(story_found(&s, CHECK_WITNESS), 1);
}

/* ---- C5 ---- */

static uint64_t permits(int worker, double asked, double got, uint32_t units)
{
  uint64_t call = story_want(&s, asked, worker, units);

  story_got(&s, got, call, call, asked + 990);
  return call;
}

static void as_many_permits_as_there_are_may_be_held(void **state)
{
  (void)state;
  (void)permits(0, 0, 1, 2);
  (void)permits(1, 2, 3, 1);
  assert_int_equal(story_found(&s, CHECK_PERMITS), 0);
}

static void one_permit_too_many_is_found(void **state)
{
  (void)state;
  (void)permits(0, 0, 1, 2);
  (void)permits(1, 2, 3, 2);
  assert_int_equal(story_found(&s, CHECK_PERMITS), 1);
}

static void permits_that_came_back_do_not_count(void **state)
{
  uint64_t first = permits(0, 0, 1, 3);

  (void)state;
  story_release(&s, 5, first);
  (void)permits(1, 2, 6, 3);
  assert_int_equal(story_found(&s, CHECK_PERMITS), 0);
}

/* ---- C6 ---- */

static uint64_t reads(int worker, double asked, double got, enum hold_mode mode)
{
  uint64_t call = story_ask(&s, asked, worker, 1, mode);

  story_got(&s, got, call, call, asked + 990);
  return call;
}

static void readers_may_be_together(void **state)
{
  (void)state;
  (void)reads(0, 0, 1, HOLD_READ);
  (void)reads(1, 0, 2, HOLD_READ);
  assert_int_equal(story_found(&s, CHECK_READERS), 0);
}

static void a_writer_beside_a_reader_is_found(void **state)
{
  (void)state;
  (void)reads(0, 0, 1, HOLD_READ);
  (void)reads(1, 0, 2, HOLD_WRITE);
  assert_int_equal(story_found(&s, CHECK_READERS), 1);
}

static void a_reader_beside_a_writer_is_found(void **state)
{
  (void)state;
  (void)reads(0, 0, 1, HOLD_WRITE);
  (void)reads(1, 0, 2, HOLD_READ);
  assert_int_equal(story_found(&s, CHECK_READERS), 1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(one_after_the_other_is_no_overlap, begin),
    cmocka_unit_test_setup(two_in_one_lock_are_found, begin),
    cmocka_unit_test_setup(a_release_that_has_begun_ends_the_belief, begin),
    cmocka_unit_test_setup(a_holder_that_sleeps_past_its_lease_overlaps_with_nobody, begin),
    cmocka_unit_test_setup(the_same_thread_twice_is_found_unless_it_nests, begin),
    cmocka_unit_test_setup(what_others_ended_overlaps_with_nobody_from_then_on, begin),
    cmocka_unit_test_setup(a_renewed_lease_overlaps_with_who_comes_before_its_end, begin),
    cmocka_unit_test_setup(a_dead_holder_believes_nothing, begin),
    cmocka_unit_test_setup(who_was_told_lost_believes_no_more, begin),
    cmocka_unit_test_setup(a_nested_hold_is_its_owners_own, begin),
    cmocka_unit_test_setup(the_next_life_of_a_worker_is_somebody_else, begin),
    cmocka_unit_test_setup(an_expected_overlap_that_does_not_come_is_a_failure, begin),
    cmocka_unit_test_setup(what_the_page_showed_is_found, begin),
    cmocka_unit_test_setup(as_many_permits_as_there_are_may_be_held, begin),
    cmocka_unit_test_setup(one_permit_too_many_is_found, begin),
    cmocka_unit_test_setup(permits_that_came_back_do_not_count, begin),
    cmocka_unit_test_setup(readers_may_be_together, begin),
    cmocka_unit_test_setup(a_writer_beside_a_reader_is_found, begin),
    cmocka_unit_test_setup(a_reader_beside_a_writer_is_found, begin),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}

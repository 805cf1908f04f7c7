/* SPDX-License-Identifier: MIT */
/* test/oracle/checker_sweep_test.c - C1, C2, C5, C6: what overlaps, and what must not be
 * taken for it. */

#include "tests.h"
#include "story.h"

static struct story s;

static int begin(void **state)
{
  (void)state;
  story_begin(&s);
  return 0;
}

/* ---- C1 ---- */

TEST(one_after_the_other_is_no_overlap)
{
  (void)story_hold(&s, 0, 0, 1, 10, 1);
  (void)story_hold(&s, 1, 5, 11, 20, 2);
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 0);
  assert_int_equal(s.findings.examined[CHECK_EXCLUSION], 2);
}

TEST(two_in_one_lock_are_found)
{
  (void)story_hold(&s, 0, 0, 1, 10, 1);
  (void)story_hold(&s, 1, 5, 8, 20, 2);
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 1);
}

TEST(a_release_that_has_begun_ends_the_belief)
{
  (void)story_hold(&s, 0, 0, 1, 10, 1);
  (void)story_hold(&s, 1, 5, 9.5, 20, 2);    /* handed on before the releaser heard of it */
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 0);
}

TEST(a_holder_that_sleeps_past_its_lease_overlaps_with_nobody)
{
  uint64_t sleeper = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  story_got(&s, 1, sleeper, 1, 990);
  (void)story_hold(&s, 1, 500, 1500, 1600, 2);
  story_release(&s, 2000, sleeper);
  story_released(&s, 2001, sleeper, 6);
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 0);
}

TEST(the_same_thread_twice_is_found_unless_it_nests)
{
  uint64_t outer = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE), inner;

  story_got(&s, 1, outer, 1, 990);
  inner = story_ask(&s, 2, 0, 0, HOLD_EXCLUSIVE);
  story_got(&s, 3, inner, 2, 990);
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 1);
  story_flag(&s, inner, FLAG_NESTED);
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 0);
}

/* Broken by an administrator: it believes until it is told. */
TEST(what_others_ended_overlaps_with_nobody_from_then_on)
{
  uint64_t holder = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  story_got(&s, 1, holder, 1, 990);
  story_excused(&s, 100, holder);
  (void)story_hold(&s, 1, 50, 110, 120, 2);
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 0);
  (void)story_hold(&s, 2, 60, 90, 95, 3);
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 1);
}

TEST(a_renewed_lease_overlaps_with_who_comes_before_its_end)
{
  uint64_t holder = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  story_got(&s, 1, holder, 1, 990);
  story_sample(&s, 800, holder, 1790);
  (void)story_hold(&s, 1, 500, 1500, 1600, 2);
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 1);
}

TEST(a_dead_holder_believes_nothing)
{
  uint64_t holder = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  story_got(&s, 1, holder, 1, 990);
  story_dead(&s, 100, 0);
  (void)story_hold(&s, 1, 50, 110, 120, 2);
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 0);
}

TEST(who_was_told_lost_believes_no_more)
{
  uint64_t holder = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  story_got(&s, 1, holder, 1, 990);
  story_lost(&s, 300, holder);
  (void)story_hold(&s, 1, 50, 310, 320, 2);
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 0);
}

TEST(a_nested_hold_is_its_owners_own)
{
  uint64_t inner;

  (void)story_hold(&s, 0, 0, 1, 20, 1);
  inner = story_ask(&s, 5, 0, 0, HOLD_EXCLUSIVE);
  story_flag(&s, inner, FLAG_NESTED);
  story_got(&s, 6, inner, 1, 990);
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 0);
}

TEST(the_next_life_of_a_worker_is_somebody_else)
{
  uint64_t again;

  (void)story_hold(&s, 0, 0, 1, 20, 1);
  again = story_ask(&s, 5, 0, 0, HOLD_EXCLUSIVE);
  story_got(&s, 6, again, 2, 990);
  for (size_t i = s.count - 2; i < s.count; i++)
    s.records[i].life = 1;
  assert_int_equal(story_found(&s, CHECK_EXCLUSION), 1);
}

TEST(an_expected_overlap_that_does_not_come_is_a_failure)
{
  struct history *h;

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

TEST(what_the_page_showed_is_found)
{
  uint64_t call = story_hold(&s, 0, 0, 1, 10, 1);
  struct record *r = &s.records[s.count];

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

TEST(as_many_permits_as_there_are_may_be_held)
{
  (void)permits(0, 0, 1, 2);
  (void)permits(1, 2, 3, 1);
  assert_int_equal(story_found(&s, CHECK_PERMITS), 0);
}

TEST(one_permit_too_many_is_found)
{
  (void)permits(0, 0, 1, 2);
  (void)permits(1, 2, 3, 2);
  assert_int_equal(story_found(&s, CHECK_PERMITS), 1);
}

TEST(permits_that_came_back_do_not_count)
{
  uint64_t first = permits(0, 0, 1, 3);

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

TEST(readers_may_be_together)
{
  (void)reads(0, 0, 1, HOLD_READ);
  (void)reads(1, 0, 2, HOLD_READ);
  assert_int_equal(story_found(&s, CHECK_READERS), 0);
}

TEST(a_writer_beside_a_reader_is_found)
{
  (void)reads(0, 0, 1, HOLD_READ);
  (void)reads(1, 0, 2, HOLD_WRITE);
  assert_int_equal(story_found(&s, CHECK_READERS), 1);
}

TEST(a_reader_beside_a_writer_is_found)
{
  (void)reads(0, 0, 1, HOLD_WRITE);
  (void)reads(1, 0, 2, HOLD_READ);
  assert_int_equal(story_found(&s, CHECK_READERS), 1);
}

RUN_TESTS_EACH(NULL, NULL, begin, NULL)

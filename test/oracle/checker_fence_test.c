/* SPDX-License-Identifier: MIT */
/* test/oracle/checker_fence_test.c - C3, C4: fences out of order, and stores that let a
 * stale write in. */

#include "tests.h"
#include "story.h"

static struct story s;

static int begin(void **state)
{
  (void)state;
  story_begin(&s);
  return 0;
}

TEST(fences_that_rise_are_right)
{
  (void)story_hold(&s, 0, 0, 1, 10, 5);
  (void)story_hold(&s, 1, 2, 12, 20, 6);
  (void)story_hold(&s, 0, 21, 22, 23, 9);
  assert_int_equal(story_found(&s, CHECK_FENCE), 0);
  assert_int_equal(s.findings.examined[CHECK_FENCE], 3);
}

TEST(a_fence_that_falls_is_found)
{
  (void)story_hold(&s, 0, 0, 1, 10, 5);
  (void)story_hold(&s, 1, 11, 12, 20, 4);
  assert_int_equal(story_found(&s, CHECK_FENCE), 1);
}

TEST(a_fence_that_falls_behind_a_much_earlier_one_is_found)
{
  (void)story_hold(&s, 0, 0, 1, 10, 7);
  (void)story_hold(&s, 1, 11, 12, 20, 8);
  (void)story_hold(&s, 2, 21, 22, 30, 6);
  assert_int_equal(story_found(&s, CHECK_FENCE), 1);
}

TEST(asks_that_cross_may_have_any_order)
{
  (void)story_hold(&s, 0, 0, 30, 40, 4);
  (void)story_hold(&s, 1, 5, 10, 20, 5);
  assert_int_equal(story_found(&s, CHECK_FENCE), 0);
}

TEST(asks_that_cross_are_in_the_order_of_their_leases_at_one_server)
{
  (void)story_hold(&s, 0, 0, 30, 40, 4);
  (void)story_hold(&s, 1, 5, 10, 20, 5);
  s.expects.orders_beliefs = true;
  assert_int_equal(story_found(&s, CHECK_FENCE), 1);
}

/* Its lease was over by then: it may have been the first. */
TEST(what_was_never_believed_has_no_place_in_that_order)
{
  uint64_t late = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  (void)story_hold(&s, 1, 5, 10, 20, 5);
  story_got(&s, 30, late, 4, 29);
  s.expects.orders_beliefs = true;
  assert_int_equal(story_found(&s, CHECK_FENCE), 0);
}

TEST(a_fence_of_nought_is_no_promise)
{
  (void)story_hold(&s, 0, 0, 1, 10, 5);
  (void)story_hold(&s, 1, 11, 12, 20, 0);
  assert_int_equal(story_found(&s, CHECK_FENCE), 0);
}

/* Reads `one` and the other, with one fence; the other's ask at `asked`. */
static size_t found_of_equal_reads(bool is_allowed, double asked)
{
  uint64_t one, other;

  story_begin(&s);
  s.expects.allows_shared_reads = is_allowed;
  one = story_ask(&s, 0, 0, 1, HOLD_READ);
  story_got(&s, 10, one, 5, 900);
  other = story_ask(&s, asked, 1, 1, HOLD_READ);
  story_got(&s, asked + 7, other, 5, 900);
  return story_found(&s, CHECK_FENCE);
}

TEST(readers_at_once_may_share_a_fence_where_that_is_allowed)
{
  assert_int_equal(found_of_equal_reads(false, 5), 1);
  assert_int_equal(found_of_equal_reads(true, 5), 0);
  assert_int_equal(found_of_equal_reads(true, 11), 1);
}

TEST(a_fence_issued_twice_is_found)
{
  (void)story_hold(&s, 0, 0, 30, 40, 5);
  (void)story_hold(&s, 1, 5, 10, 20, 5);
  assert_int_equal(story_found(&s, CHECK_FENCE), 1);
}

/* Of worker 1 at 5, and of `other` at `asked`, with one fence. */
static size_t found_of_equal_locks(bool has_two_issuers, int other, double asked)
{
  story_begin(&s);
  s.expects.has_two_issuers = has_two_issuers;
  (void)story_hold(&s, 1, 5, 10, 20, 5);
  (void)story_hold(&s, other, asked, asked + 5, 40, 5);
  return story_found(&s, CHECK_FENCE);
}

TEST(two_servers_may_issue_one_fence_at_once_but_not_one_after_the_other)
{
  assert_int_equal(found_of_equal_locks(false, 0, 6), 1);
  assert_int_equal(found_of_equal_locks(true, 0, 6), 0);
  assert_true(found_of_equal_locks(true, 0, 11) > 0);
  assert_true(found_of_equal_locks(true, 1, 6) > 0);
}

TEST(readers_are_not_ordered_but_readers_and_writers_are)
{
  uint64_t one = story_ask(&s, 0, 0, 1, HOLD_READ), other;

  story_got(&s, 1, one, 9, 990);
  other = story_ask(&s, 5, 1, 1, HOLD_READ);
  story_got(&s, 6, other, 8, 990);
  assert_int_equal(story_found(&s, CHECK_FENCE), 0);
  other = story_ask(&s, 2000, 2, 1, HOLD_WRITE);
  story_got(&s, 2001, other, 7, 2990);
  assert_int_equal(story_found(&s, CHECK_FENCE), 1);
}

TEST(a_nested_hold_has_the_outer_fence)
{
  uint64_t outer = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE), inner;

  story_got(&s, 1, outer, 5, 990);
  inner = story_ask(&s, 2, 0, 0, HOLD_EXCLUSIVE);
  story_flag(&s, inner, FLAG_NESTED);
  story_got(&s, 3, inner, 5, 990);
  assert_int_equal(story_found(&s, CHECK_FENCE), 0);
}

/* ---- C4 ---- */

TEST(writes_in_the_order_of_their_grants_are_right)
{
  uint64_t one = story_hold(&s, 0, 0, 1, 10, 5), other = story_hold(&s, 1, 11, 12, 20, 6);

  story_write(&s, 2, one, 0);
  story_write(&s, 3, one, 1);
  story_write(&s, 13, other, 2);
  story_write(&s, 30, one, -1);          /* too late, and refused */
  assert_int_equal(story_found(&s, CHECK_STORE), 0);
  assert_int_equal(s.findings.examined[CHECK_STORE], 3);
}

TEST(a_lower_fence_in_the_log_is_found)
{
  uint64_t one = story_hold(&s, 0, 0, 1, 10, 5), other = story_hold(&s, 1, 2, 12, 20, 6);

  story_write(&s, 13, other, 0);
  story_write(&s, 30, one, 1);
  assert_int_not_equal(story_found(&s, CHECK_STORE), 0);
}

TEST(a_stale_write_with_a_higher_fence_is_found)
{
  /* The newer grant got a lower fence: the store cannot know, but the history does. */
  uint64_t old = story_hold(&s, 0, 0, 1, 10, 6), new = story_hold(&s, 1, 11, 12, 20, 5);

  story_write(&s, 13, new, 0);
  story_write(&s, 30, old, 1);
  assert_int_equal(story_found(&s, CHECK_STORE), 1);
}

TEST(two_grants_with_one_fence_in_the_log_are_found)
{
  uint64_t one = story_hold(&s, 0, 0, 1, 10, 5), other = story_hold(&s, 1, 2, 12, 20, 5);

  story_write(&s, 2, one, 0);
  story_write(&s, 13, other, 1);
  assert_int_equal(story_found(&s, CHECK_STORE), 1);
}

TEST(two_servers_may_let_two_clients_write_with_one_fence)
{
  uint64_t one = story_hold(&s, 0, 0, 9, 20, 5), other = story_hold(&s, 1, 2, 12, 20, 5);

  s.expects.has_two_issuers = true;
  story_write(&s, 10, one, 0);
  story_write(&s, 13, other, 1);
  assert_int_equal(story_found(&s, CHECK_STORE), 0);
}

TEST(one_place_written_twice_is_found)
{
  uint64_t one = story_hold(&s, 0, 0, 1, 10, 5), other = story_hold(&s, 1, 2, 12, 20, 6);

  story_write(&s, 2, one, 0);
  story_write(&s, 13, other, 0);
  assert_int_equal(story_found(&s, CHECK_STORE), 1);
}

RUN_TESTS_EACH(NULL, NULL, begin, NULL)

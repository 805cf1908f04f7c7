/* SPDX-License-Identifier: MIT */
/* lock/lease: how long a lease may be believed. S1, S7. */

#include "tests.h"
#include "lock/lease.h"

#define ONE_PERCENT 10000

TEST(the_margin_is_the_rate_and_three_milliseconds)
{
  assert_int_equal(lease_margin(SPAN_MS(30000), ONE_PERCENT).ns, SPAN_MS(303).ns);
}

TEST(the_margin_is_never_below_five_milliseconds)
{
  assert_int_equal(lease_margin(SPAN_MS(100), ONE_PERCENT).ns, SPAN_MS(5).ns);
  assert_int_equal(lease_margin(SPAN_MS(0), ONE_PERCENT).ns, SPAN_MS(5).ns);
}

TEST(a_lease_is_counted_from_the_sending_less_the_margin)
{
  instant end = lease_end((instant){ SPAN_MS(1000).ns }, SPAN_MS(30000), ONE_PERCENT);

  assert_int_equal(end.ns, SPAN_MS(1000 + 30000 - 303).ns);
}

TEST(nothing_left_ends_before_it_began)
{
  instant start = { SPAN_MS(1000).ns };

  assert_true(instant_before(lease_end(start, SPAN_MS(0), ONE_PERCENT), start));
}

/* The holder's clock may be 1 % slow, the watcher's 1 % fast: the watcher must still
 * outlast the holder. */
TEST(a_watch_is_longer_than_any_belief_by_more_than_both_clock_errors)
{
  for (int64_t ms = 100; ms <= 1000000; ms *= 10) {
    span belief = { lease_end((instant){ 0 }, SPAN_MS(ms), ONE_PERCENT).ns };
    span watch = lease_watch(SPAN_MS(ms), ONE_PERCENT);

    assert_true(watch.ns * 99 / 100 >= SPAN_MS(ms).ns * 99 / 100);
    assert_true(watch.ns / 101 * 100 > belief.ns / 100 * 99);
  }
}

TEST(renewals_come_at_a_third_within_ten_percent)
{
  random_source r;

  random_seed(&r, 1);
  for (int i = 0; i < 1000; i++) {
    instant at = lease_renew_at((instant){ 0 }, SPAN_MS(30000), SPAN_MS(0), &r);

    assert_true(at.ns >= SPAN_MS(9000).ns);
    assert_true(at.ns <= SPAN_MS(11100).ns);
  }
}

TEST(renewals_fall_on_a_grid_so_that_they_meet)
{
  random_source r;

  random_seed(&r, 2);
  for (int i = 0; i < 100; i++) {
    instant at = lease_renew_at((instant){ i * 7919 }, SPAN_MS(30000), SPAN_MS(0), &r);

    assert_int_equal(at.ns % SPAN_MS(100).ns, 0);
  }
}

TEST(an_explicit_period_replaces_the_third)
{
  random_source r;
  instant at;

  random_seed(&r, 3);
  at = lease_renew_at((instant){ 0 }, SPAN_MS(30000), SPAN_MS(100), &r);
  assert_true(at.ns >= SPAN_MS(90).ns && at.ns <= SPAN_MS(111).ns);
}

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* lock/lease: how long a lease may be believed. S1, S7. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lock/lease.h"

#define ONE_PERCENT 10000

static void the_margin_is_the_rate_and_three_milliseconds(void **state)
{
  (void)state;
  assert_int_equal(lease_margin(SPAN_MS(30000), ONE_PERCENT).ns, SPAN_MS(303).ns);
}

static void the_margin_is_never_below_five_milliseconds(void **state)
{
  (void)state;
  assert_int_equal(lease_margin(SPAN_MS(100), ONE_PERCENT).ns, SPAN_MS(5).ns);
  assert_int_equal(lease_margin(SPAN_MS(0), ONE_PERCENT).ns, SPAN_MS(5).ns);
}

static void a_lease_is_counted_from_the_sending_less_the_margin(void **state)
{
  instant end = lease_end((instant){ SPAN_MS(1000).ns }, SPAN_MS(30000), ONE_PERCENT);

  (void)state;
  assert_int_equal(end.ns, SPAN_MS(1000 + 30000 - 303).ns);
}

static void nothing_left_ends_before_it_began(void **state)
{
  instant start = { SPAN_MS(1000).ns };

  (void)state;
  assert_true(instant_before(lease_end(start, SPAN_MS(0), ONE_PERCENT), start));
}

/* The holder's clock may be 1 % slow, the watcher's 1 % fast: the watcher must still
 * outlast the holder. */
static void a_watch_is_longer_than_any_belief_by_more_than_both_clock_errors(void **state)
{
  (void)state;
  for (int64_t ms = 100; ms <= 1000000; ms *= 10) {
    span belief = { lease_end((instant){ 0 }, SPAN_MS(ms), ONE_PERCENT).ns };
    span watch = lease_watch(SPAN_MS(ms), ONE_PERCENT);

    assert_true(watch.ns * 99 / 100 >= SPAN_MS(ms).ns * 99 / 100);
    assert_true(watch.ns / 101 * 100 > belief.ns / 100 * 99);
  }
}

static void renewals_come_at_a_third_within_ten_percent(void **state)
{
  random_source r;

  (void)state;
  random_seed(&r, 1);
  for (int i = 0; i < 1000; i++) {
    instant at = lease_renew_at((instant){ 0 }, SPAN_MS(30000), SPAN_MS(0), &r);

    assert_true(at.ns >= SPAN_MS(9000).ns);
    assert_true(at.ns <= SPAN_MS(11100).ns);
  }
}

static void renewals_fall_on_a_grid_so_that_they_meet(void **state)
{
  random_source r;

  (void)state;
  random_seed(&r, 2);
  for (int i = 0; i < 100; i++) {
    instant at = lease_renew_at((instant){ i * 7919 }, SPAN_MS(30000), SPAN_MS(0), &r);

    assert_int_equal(at.ns % SPAN_MS(100).ns, 0);
  }
}

static void an_explicit_period_replaces_the_third(void **state)
{
  random_source r;
  instant at;

  (void)state;
  random_seed(&r, 3);
  at = lease_renew_at((instant){ 0 }, SPAN_MS(30000), SPAN_MS(100), &r);
  assert_true(at.ns >= SPAN_MS(90).ns && at.ns <= SPAN_MS(111).ns);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_margin_is_the_rate_and_three_milliseconds),
    cmocka_unit_test(the_margin_is_never_below_five_milliseconds),
    cmocka_unit_test(a_lease_is_counted_from_the_sending_less_the_margin),
    cmocka_unit_test(nothing_left_ends_before_it_began),
    cmocka_unit_test(a_watch_is_longer_than_any_belief_by_more_than_both_clock_errors),
    cmocka_unit_test(renewals_come_at_a_third_within_ten_percent),
    cmocka_unit_test(renewals_fall_on_a_grid_so_that_they_meet),
    cmocka_unit_test(an_explicit_period_replaces_the_third),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}

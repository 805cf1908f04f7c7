/* SPDX-License-Identifier: MIT */
/* Unit: the least share of a lease that was left at renewals - of the last one to two minutes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "hold/hold.h"

#define TTL SPAN_MS(30000)

static instant at_s(int64_t s)
{
  return (instant){ 7000000000 + s * 1000000000 };
}

static void it_is_the_least_of_its_time(void **state)
{
  lease_slack s = { .is_known = false };

  (void)state;
  assert_int_equal(slack_least(&s, at_s(0)), -1);
  slack_note(&s, SPAN_MS(20000), TTL, at_s(0));
  assert_int_equal(slack_least(&s, at_s(0)), 666666);
  slack_note(&s, SPAN_MS(3000), TTL, at_s(10));
  slack_note(&s, SPAN_MS(20000), TTL, at_s(20));
  assert_int_equal(slack_least(&s, at_s(20)), 100000);
}

static void it_is_forgotten_after_one_to_two_minutes(void **state)
{
  lease_slack s = { .is_known = false };

  (void)state;
  slack_note(&s, SPAN_MS(3000), TTL, at_s(0));
  assert_int_equal(slack_least(&s, at_s(59)), 100000);
  assert_int_equal(slack_least(&s, at_s(119)), 100000);
  assert_int_equal(slack_least(&s, at_s(1000)), -1);
  slack_note(&s, SPAN_MS(15000), TTL, at_s(70));
  assert_int_equal(slack_least(&s, at_s(70)), 100000);
  slack_note(&s, SPAN_MS(20000), TTL, at_s(125));
  assert_int_equal(slack_least(&s, at_s(125)), 500000);
}

static void a_share_is_between_nothing_and_all(void **state)
{
  lease_slack s = { .is_known = false };

  (void)state;
  slack_note(&s, SPAN_MS(40000), TTL, at_s(0));
  assert_int_equal(slack_least(&s, at_s(0)), 1000000);
  slack_note(&s, SPAN_MS(-5), TTL, at_s(0));
  assert_int_equal(slack_least(&s, at_s(0)), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(it_is_the_least_of_its_time),
    cmocka_unit_test(it_is_forgotten_after_one_to_two_minutes),
    cmocka_unit_test(a_share_is_between_nothing_and_all),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}

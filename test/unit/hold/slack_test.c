/* SPDX-License-Identifier: MIT */
/* Unit: the least share of a lease that was left at renewals - of the last one to two minutes. */

#include "tests.h"
#include "hold/hold.h"

#define TTL SPAN_MS(30000)

static instant at_s(int64_t s)
{
  return (instant){ 7000000000 + s * 1000000000 };
}

TEST(it_is_the_least_of_its_time)
{
  lease_slack s = { .is_known = false };

  assert_int_equal(slack_least(&s, at_s(0)), -1);
  slack_note(&s, SPAN_MS(20000), TTL, at_s(0));
  assert_int_equal(slack_least(&s, at_s(0)), 666666);
  slack_note(&s, SPAN_MS(3000), TTL, at_s(10));
  slack_note(&s, SPAN_MS(20000), TTL, at_s(20));
  assert_int_equal(slack_least(&s, at_s(20)), 100000);
}

TEST(it_is_forgotten_after_one_to_two_minutes)
{
  lease_slack s = { .is_known = false };

  slack_note(&s, SPAN_MS(3000), TTL, at_s(0));
  assert_int_equal(slack_least(&s, at_s(59)), 100000);
  assert_int_equal(slack_least(&s, at_s(119)), 100000);
  assert_int_equal(slack_least(&s, at_s(1000)), -1);
  slack_note(&s, SPAN_MS(15000), TTL, at_s(70));
  assert_int_equal(slack_least(&s, at_s(70)), 100000);
  slack_note(&s, SPAN_MS(20000), TTL, at_s(125));
  assert_int_equal(slack_least(&s, at_s(125)), 500000);
}

TEST(a_share_is_between_nothing_and_all)
{
  lease_slack s = { .is_known = false };

  slack_note(&s, SPAN_MS(40000), TTL, at_s(0));
  assert_int_equal(slack_least(&s, at_s(0)), 1000000);
  slack_note(&s, SPAN_MS(-5), TTL, at_s(0));
  assert_int_equal(slack_least(&s, at_s(0)), 0);
}

RUN_TESTS(NULL, NULL)

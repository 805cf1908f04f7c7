/* SPDX-License-Identifier: MIT */
/* lock/server_clock: no wall clock is trusted alone. */

#include "tests.h"
#include "lock/server_clock.h"

#define EPOCH 1700000000000000
#define AT(ms) ((instant){ SPAN_MS(ms).ns })

static server_clock agreeing_clock(void)
{
  server_clock c = { .is_known = false };

  server_clock_learn(&c, EPOCH, AT(0), AT(0));
  server_clock_wall(&c, EPOCH, AT(0));
  return c;
}

TEST(an_unknown_clock_answers_zero)
{
  server_clock c = { .is_known = false };

  assert_int_equal(server_clock_at(&c, AT(5)), 0);
  assert_int_equal(server_clock_trusted_at(&c, AT(5)), 0);
}

TEST(the_time_of_an_answer_is_taken_in_the_middle_of_its_way)
{
  server_clock c = { .is_known = false };

  server_clock_learn(&c, EPOCH, AT(0), AT(10));
  assert_int_equal(server_clock_at(&c, AT(5)), EPOCH);
  assert_int_equal(server_clock_at(&c, AT(1005)), EPOCH + 1000000);
}

TEST(two_agreeing_clocks_are_trusted)
{
  server_clock c = agreeing_clock();

  assert_int_equal(server_clock_trusted_at(&c, AT(100)), EPOCH + 100000);
}

TEST(clocks_more_than_a_quarter_of_a_second_apart_are_not_trusted)
{
  server_clock c = { .is_known = false };

  server_clock_learn(&c, EPOCH, AT(0), AT(0));
  server_clock_wall(&c, EPOCH + 260000, AT(0));
  assert_int_equal(server_clock_trusted_at(&c, AT(1)), 0);
  assert_int_equal(server_clock_at(&c, AT(0)), EPOCH);
}

TEST(without_a_wall_clock_nothing_is_trusted)
{
  server_clock c = { .is_known = false };

  server_clock_learn(&c, EPOCH, AT(0), AT(0));
  assert_int_equal(server_clock_trusted_at(&c, AT(1)), 0);
}

TEST(a_step_of_the_server_is_distrusted_for_an_hour)
{
  server_clock c = agreeing_clock();

  server_clock_learn(&c, EPOCH + 60000000, AT(1000), AT(1000));
  server_clock_learn(&c, EPOCH + 2000000, AT(2000), AT(2000));
  assert_int_equal(server_clock_trusted_at(&c, AT(2000)), 0);
  assert_int_equal(server_clock_trusted_at(&c, AT(3602000)), EPOCH + 3602000000);
}

/* On one machine the step moves server and client together: they go on agreeing. */
TEST(a_step_of_both_clocks_at_once_is_noticed_too)
{
  server_clock c = agreeing_clock();

  server_clock_learn(&c, EPOCH + 61000000, AT(1000), AT(1000));
  server_clock_wall(&c, EPOCH + 61000000, AT(1000));
  assert_int_equal(server_clock_trusted_at(&c, AT(1000)), 0);
}

TEST(a_slow_answer_is_no_step)
{
  server_clock c = agreeing_clock();

  /* Sent at 0, executed at once, heard of after 450 ms: the middle is 225 ms off. */
  server_clock_learn(&c, EPOCH, AT(0), AT(450));
  assert_int_not_equal(server_clock_trusted_at(&c, AT(450)), 0);
}

TEST(slow_drift_over_hours_is_no_step)
{
  server_clock c = agreeing_clock();

  server_clock_learn(&c, EPOCH + 36000000000 + 200000, AT(36000000), AT(36000000));
  assert_int_not_equal(server_clock_trusted_at(&c, AT(36000000)), 0);
}

TEST(the_round_trip_is_that_of_the_fastest_answer_of_this_connection)
{
  server_clock c = { .is_known = false };

  assert_int_equal(server_clock_trip(&c).ns, 0);
  server_clock_learn(&c, EPOCH, AT(0), AT(1900));       /* the server stood still */
  server_clock_learn(&c, EPOCH, AT(2000), AT(2040));
  server_clock_learn(&c, EPOCH, AT(3000), AT(3600));
  assert_int_equal(server_clock_trip(&c).ns, SPAN_MS(40).ns);
  server_clock_reconnects(&c);
  assert_int_equal(server_clock_trip(&c).ns, 0);
  server_clock_learn(&c, EPOCH, AT(4000), AT(4600));
  assert_int_equal(server_clock_trip(&c).ns, SPAN_MS(600).ns);
}

RUN_TESTS(NULL, NULL)

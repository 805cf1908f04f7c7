/* SPDX-License-Identifier: MIT */
/* When a command is signalled to stop and when it is killed: cli/run_schedule.c. */
#include "tests.h"

#include <stdint.h>

#include "cli/run_schedule.h"

static const int64_t leases[] = { 500, 700, 1000, 2000, 3000, 10000, 30000, 2073600000 };
static const int64_t waits[] = { 0, 1, 300, 5000, 60000, 2073600000 };

TEST(the_default_signals_six_seconds_and_kills_one_second_before_the_end)
{
  kill_schedule s = kill_schedule_for(30000, 5000);
  kill_times t = kill_schedule_at(&s, 29697);

  assert_int_equal(t.kill_in_ms, 28697);
  assert_int_equal(t.signal_in_ms, 23697);
}

TEST(the_kill_is_always_before_the_end)
{
  for (size_t i = 0; i < sizeof(leases) / sizeof(leases[0]); i++) {
    for (size_t j = 0; j < sizeof(waits) / sizeof(waits[0]); j++) {
      kill_schedule s = kill_schedule_for(leases[i], waits[j]);

      for (int64_t valid = 0; valid <= leases[i]; valid += 1 + leases[i] / 97) {
        kill_times t = kill_schedule_at(&s, valid);

        assert_true(t.signal_in_ms >= 0);
        assert_true(t.signal_in_ms <= t.kill_in_ms);
        assert_true(t.kill_in_ms == 0 || t.kill_in_ms < valid);
      }
    }
  }
}

TEST(the_margin_is_a_quarter_second_or_an_eighth_of_a_short_lease)
{
  assert_int_equal(kill_schedule_for(30000, 0).margin_ms, 1000);
  assert_int_equal(kill_schedule_for(10000, 0).margin_ms, 500);
  assert_int_equal(kill_schedule_for(3000, 0).margin_ms, 250);
  assert_int_equal(kill_schedule_for(1000, 0).margin_ms, 125);
}

/* Renewals come every third of the lease: one that works must come before the signal. */
TEST(nothing_happens_before_the_first_renewal_could_fail)
{
  for (size_t i = 0; i < sizeof(leases) / sizeof(leases[0]); i++) {
    kill_schedule s = kill_schedule_for(leases[i], 2073600000);
    /* As the library counts: 1 % and 3 ms are off. */
    kill_times t = kill_schedule_at(&s, leases[i] - leases[i] / 100 - 3);

    assert_true(t.signal_in_ms > leases[i] / 3 * 11 / 10);
  }
}

TEST(a_renewal_moves_both)
{
  kill_schedule s = kill_schedule_for(3000, 1000);

  assert_int_equal(kill_schedule_at(&s, 1000).signal_in_ms, 0);
  assert_int_equal(kill_schedule_at(&s, 2900).signal_in_ms, 1650);
}

TEST(a_lost_hold_is_killed_at_once)
{
  kill_schedule s = kill_schedule_for(30000, 5000);

  assert_int_equal(kill_schedule_at(&s, 0).kill_in_ms, 0);
}

RUN_TESTS(NULL, NULL)

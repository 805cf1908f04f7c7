/* SPDX-License-Identifier: MIT */
/* When a command is signalled to stop and when it is killed: cli/run_schedule.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/run_schedule.h"

static const int64_t leases[] = { 500, 700, 1000, 2000, 3000, 10000, 30000, 2073600000 };
static const int64_t waits[] = { 0, 1, 300, 5000, 60000, 2073600000 };

static void the_default_signals_six_seconds_and_kills_one_second_before_the_end(void **state)
{
  kill_schedule s = kill_schedule_for(30000, 5000);
  kill_times t = kill_schedule_at(&s, 29697);

  (void)state;
  assert_int_equal(t.kill_in_ms, 28697);
  assert_int_equal(t.signal_in_ms, 23697);
}

static void the_kill_is_always_before_the_end(void **state)
{
  (void)state;
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

static void the_margin_is_a_quarter_second_or_an_eighth_of_a_short_lease(void **state)
{
  (void)state;
  assert_int_equal(kill_schedule_for(30000, 0).margin_ms, 1000);
  assert_int_equal(kill_schedule_for(10000, 0).margin_ms, 500);
  assert_int_equal(kill_schedule_for(3000, 0).margin_ms, 250);
  assert_int_equal(kill_schedule_for(1000, 0).margin_ms, 125);
}

/* Renewals come every third of the lease: one that works must come before the signal. */
static void nothing_happens_before_the_first_renewal_could_fail(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof(leases) / sizeof(leases[0]); i++) {
    kill_schedule s = kill_schedule_for(leases[i], 2073600000);
    /* As the library counts: 1 % and 3 ms are off. */
    kill_times t = kill_schedule_at(&s, leases[i] - leases[i] / 100 - 3);

    assert_true(t.signal_in_ms > leases[i] / 3 * 11 / 10);
  }
}

static void a_renewal_moves_both(void **state)
{
  kill_schedule s = kill_schedule_for(3000, 1000);

  (void)state;
  assert_int_equal(kill_schedule_at(&s, 1000).signal_in_ms, 0);
  assert_int_equal(kill_schedule_at(&s, 2900).signal_in_ms, 1650);
}

static void a_lost_hold_is_killed_at_once(void **state)
{
  kill_schedule s = kill_schedule_for(30000, 5000);

  (void)state;
  assert_int_equal(kill_schedule_at(&s, 0).kill_in_ms, 0);
}

int main(void)
{
  const struct CMUnitTest all[] = {
    cmocka_unit_test(the_default_signals_six_seconds_and_kills_one_second_before_the_end),
    cmocka_unit_test(the_kill_is_always_before_the_end),
    cmocka_unit_test(the_margin_is_a_quarter_second_or_an_eighth_of_a_short_lease),
    cmocka_unit_test(nothing_happens_before_the_first_renewal_could_fail),
    cmocka_unit_test(a_renewal_moves_both),
    cmocka_unit_test(a_lost_hold_is_killed_at_once),
  };

  return cmocka_run_group_tests(all, NULL, NULL);
}

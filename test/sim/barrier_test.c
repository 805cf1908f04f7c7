/* SPDX-License-Identifier: MIT */
/* A party of a barrier whose server goes away after its arrival: what it is told is what happens to
 * the other party. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <dibs/sim.h>

#include "expect.h"

enum { CONNECT_MS = 500, WAIT_MS = 3000, AWAY_AT_MS = 1000, AWAY_MS = 8000, LATER_MS = 5000,
       WORLD_MS = 60000 };

static dibs_sim *sim;
static dibs_degrade degrade;
static dibs_status first, second;

static void inject(dibs_sim_fault_kind kind, int64_t at_ms, int64_t ms)
{
  dibs_sim_fault f = { .kind = kind, .process = 1, .at_us = at_ms * 1000, .ms = ms };

  EXPECT(dibs_sim_inject(sim, &f) == DIBS_OK);
}

static dibs_status meet(dibs_client *c, int32_t wait_ms)
{
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;

  o.wait_ms = wait_ms;
  return dibs_barrier_await(c, "b", 2, &o, NULL);
}

static void arrives_and_is_cut_off(void *data)
{
  dibs_options o = DIBS_OPTIONS_INIT;
  dibs_client *c = NULL;

  (void)data;
  o.connect_timeout_ms = CONNECT_MS;
  o.degrade = degrade;
  EXPECT(dibs_open("redis://server", &o, &c, NULL) == DIBS_OK);
  first = meet(c, WAIT_MS);
  c = dibs_close(c);
}

static void comes_later(void *data)
{
  dibs_client *c = NULL;

  (void)data;
  EXPECT(dibs_open("redis://server", NULL, &c, NULL) == DIBS_OK);
  dibs_sim_sleep_ms(LATER_MS);
  second = meet(c, WAIT_MS);
  c = dibs_close(c);
}

static void play(int64_t away_at_ms)
{
  sim = dibs_sim_new(NULL);
  assert_non_null(sim);
  (void)dibs_sim_start(sim, "first", arrives_and_is_cut_off, NULL);
  (void)dibs_sim_start(sim, "second", comes_later, NULL);
  inject(DIBS_SIM_REFUSE, away_at_ms, AWAY_MS);
  inject(DIBS_SIM_CUT, away_at_ms, 0);
  assert_true(dibs_sim_run(sim, WORLD_MS));
  assert_null(dibs_sim_first_flaw(sim));
  sim = dibs_sim_free(sim);
}

TEST(who_has_arrived_and_cannot_leave_does_not_know)
{
  static const dibs_degrade all[] = { DIBS_DEGRADE_FAIL, DIBS_DEGRADE_WAIT };

  for (size_t i = 0; i < 2; i++) {
    degrade = all[i];
    play(AWAY_AT_MS);
    assert_int_equal(second, DIBS_OK);           /* it was counted */
    assert_int_equal(first, DIBS_UNKNOWN);
  }
}

TEST(who_has_not_arrived_is_told_so)
{
  degrade = DIBS_DEGRADE_FAIL;
  play(0);
  assert_int_equal(second, DIBS_TIMED_OUT);
  assert_int_equal(first, DIBS_ERR_UNREACHABLE);
}

RUN_TESTS(NULL, NULL)

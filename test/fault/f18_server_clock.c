/* SPDX-License-Identifier: MIT */
/* test/fault/f18_server_clock.c - F18, of one server: its wall clock is set forward and back.
 * By no more than the retention nothing happens to leases in use, and dead ones end for those
 * who wait (protocol.md 4, "Over"). Beyond it the keys themselves expire. */
#include "scenario.h"
#include "world.h"

enum { TTL_MS = 600, MINUTE_MS = 60000, RETENTION_MS = 3600000 };

static const struct test_server_options own_clock = { .has_clock = true };

static void step_to(struct world *w, int64_t shift_ms)
{
  int fault = world_fault_begin(w, FAULT_CLOCK, EVERYBODY, NO_LOCK);

  test_server_clock_shift(world_server(w), shift_ms);
  world_fault_end(w, fault);
}

/* Forward by less than the retention, back by as much as you like. */
static int64_t draw_step_ms(struct world *w, int round)
{
  static const int64_t some[] = { 60000, -RETENTION_MS, 50LL * MINUTE_MS, -300, 2000,
                                  -2LL * RETENTION_MS, 55LL * MINUTE_MS, -1000 };

  if (round < 3)
    return some[round];
  return some[world_chance(w, sizeof(some) / sizeof(some[0]))];
}

/* A stopped holder does not renew: if the step were taken for the truth, the lease would be
 * over by the server's clock, the next try would succeed, and C1 would see it. */
static void step_under_stopped(struct world *w, int lock, int64_t shift_ms)
{
  int holder = world_stop_holder(w, lock, 4000);

  step_to(w, shift_ms);
  world_pass_ms(w, TTL_MS / 2);
  if (holder >= 0) {
    world_mark(w, "stepped under a stopped holder");
    world_continue(w, holder);
  }
}

/* Who waits counts on its own clock: a lease, a poll, and what the rates differ by. */
static void step_under_dead(struct world *w, int lock, int64_t shift_ms)
{
  int holder = world_holder_of(w, lock, 4000);

  if (holder < 0) {
    world_fail(w, "nobody held it for 4 s");
    return;
  }
  world_kill(w, holder);
  step_to(w, shift_ms);
  if (world_wait_for_grants(w, 1, TTL_MS + 3000))
    world_mark(w, "stepped over a dead holder");
  else
    world_fail(w, "a dead lease keeps the others out for %d ms", TTL_MS + 3000);
  world_rehire(w, holder);
}

static void run_steps(struct world *w, const struct scale *scale)
{
  struct plan plan = PLAN_INIT;
  int lock = world_lock(w, 'm', "clock", 0);
  int64_t shift_ms = 0;

  (void)scale;
  world_server_options(w, &own_clock);
  plan.ttl_ms = TTL_MS;
  plan.hold_us = 2000;
  plan.think_us = 20000;
  (void)world_hire(w, &plan, 3);
  plan.linger_ms = 400;
  (void)world_hire(w, &plan, 2);
  plan.linger_ms = 0;
  plan.try_percent = 100;
  plan.think_us = 3000;
  (void)world_hire(w, &plan, 2);
  world_demand(w, "stepped under a stopped holder", 1);
  world_demand(w, "stepped over a dead holder", 1);
  for (int round = 0; round < 3 || world_goes_on(w); round++) {
    shift_ms += draw_step_ms(w, round);
    if (round % 2 == 0)
      step_under_stopped(w, lock, shift_ms);
    else
      step_under_dead(w, lock, shift_ms);
    if (!world_wait_for_grants(w, 10, 8000))
      world_fail(w, "no work is done after a step to %lld ms", (long long)shift_ms);
  }
}

const struct scenario f18_clock_steps = {
  .id = "F18",
  .name = "a_step_of_the_servers_clock_frees_no_lease_in_use_and_keeps_no_dead_one",
  .run = run_steps,
  /* Messages of before the step and `until`s that lie make waiters poll, more than once. */
  .expects = { .wake_ms_max = TTL_MS + 3000 },
};

static void run_beyond(struct world *w, const struct scale *scale)
{
  struct plan plan = PLAN_INIT;
  int lock = world_lock(w, 'm', "beyond", 0);
  int64_t shift_ms = 0;

  (void)scale;
  world_server_options(w, &own_clock);
  plan.ttl_ms = 4000;
  plan.hold_us = 2000;
  (void)world_hire(w, &plan, 4);
  world_demand(w, "granted beside a stopped holder", 1);
  for (int round = 0; round < 2 || world_goes_on(w); round++) {
    int holder = world_stop_holder(w, lock, 4000);

    shift_ms += 2LL * RETENTION_MS;
    step_to(w, shift_ms);
    world_fault_instant(w, FAULT_DATA_LOST, EVERYBODY, NO_LOCK);
    if (holder >= 0 && world_wait_for_grants(w, 1, 3000))
      world_mark(w, "granted beside a stopped holder");
    if (holder >= 0)
      world_continue(w, holder);
    if (!world_wait_for_grants(w, 20, 8000))
      world_fail(w, "no work is done after the step");
  }
}

const struct scenario f18_clock_beyond = {
  .id = "F18",
  .name = "a_step_beyond_the_retention_loses_leases_and_no_fence_goes_back",
  .run = run_beyond,
  .expects = { .expects_overlap = true, .wake_ms_max = 7000 },
};

/* SPDX-License-Identifier: MIT */
/* test/fault/f00_no_fault.c - nothing happens: all checkers are silent, and no lease is lost
 * (L9). What later scenarios find is then due to their faults. */
#include "world.h"

static void run(struct world *w, const struct scale *scale)
{
  struct plan plan = PLAN_INIT;
  int shop = world_lock(w, 'm', "shop", 0);

  (void)scale;
  (void)world_lock(w, 'm', "till", 0);
  (void)world_lock(w, 'r', "list", 0);
  (void)world_lock(w, 'p', "seats", 4);
  plan.try_percent = 10;
  plan.cancel_percent = 5;
  plan.many_percent = 10;
  plan.nested_percent = 10;
  plan.downgrade_percent = 30;
  plan.async_percent = 30;
  plan.hold_us_max = 20000;
  world_inspect(w, shop);
  (void)world_hire(w, &plan, 4);
  plan.threads = 3;
  (void)world_hire(w, &plan, 1);
  plan.threads = 1;
  plan.has_no_thread = true;
  (void)world_hire(w, &plan, 1);
  while (world_goes_on(w))
    (void)world_wait_for_grants(w, 100, 2000);
  world_demand(w, "grants", 200);
  world_mark_times(w, "grants", (int64_t)world_grants(w));
  if (world_losses(w) != 0)
    world_fail(w, "L9: %llu leases were lost, and nothing had happened",
               (unsigned long long)world_losses(w));
}

const struct scenario f00_no_fault = {
  .id = "F00", .name = "without_faults_nothing_is_lost_and_no_checker_speaks", .run = run,
  /* A message takes less than one; a poll would take a third of the lease. */
  .expects = { .wake_ms_p99 = 50 },
};

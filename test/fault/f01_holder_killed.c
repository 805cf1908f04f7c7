/* SPDX-License-Identifier: MIT */
/* test/fault/f01_holder_killed.c - kill -9 of a worker that holds the lock: the others go on
 * when its lease is over (L1), never before (S1). */
#include "world.h"

static void run(struct world *w, const struct scale *scale)
{
  struct plan plan = PLAN_INIT;
  int shop = world_lock(w, 'm', "shop", 0);
  int list = world_lock(w, 'r', "list", 0);
  int seats = world_lock(w, 'p', "seats", 3);
  const int locks[] = { shop, list, seats };

  (void)scale;
  plan.ttl_ms = 300;
  plan.hold_us_max = 30000;
  plan.linger_ms = 20;
  world_demand(w, "holders killed", 3);
  world_demand_overlap(w, 3);
  (void)world_hire(w, &plan, 2);
  plan.linger_ms = 0;                  /* C8 looks at these only */
  (void)world_hire(w, &plan, 4);
  for (int turn = 0; world_goes_on(w); turn++) {
    int lock = locks[turn % 3], holder = world_stop_holder(w, lock, 3000);

    if (holder < 0)
      continue;
    world_kill(w, holder);
    world_mark(w, "holders killed");
    world_count(w, "kills", 1);
    world_rehire(w, holder);
    if (!world_wait_for_grants_of(w, holder, 1, 5000))
      world_fail(w, "L1: nobody gets on after a kill on lock %d", lock);
  }
}

const struct scenario f01_holder_killed = {
  .id = "F01", .name = "the_lock_of_a_killed_holder_is_free_after_its_lease", .run = run,
};

/* SPDX-License-Identifier: MIT */
/* test/fault/f04_server_emptied.c - F04: a server without persistence is killed and comes back
 * knowing nothing. What protocol.md 8 does not promise is lost, exclusion until the next
 * renewal; what it does promise is looked at: fences, and that holders are told. */
#include "scenario.h"
#include "world.h"

enum { TTL_MS = 3000, TOLD_MS = TTL_MS / 3 + 700 };

struct told { int worker; uint64_t grants_before; };

/* It takes the lock again as soon as it knows that it has lost it, and not before. */
static bool is_reported(struct world *w, void *data)
{
  const struct told *t = data;

  return world_grants_of(w, t->worker) > t->grants_before;
}

/* Its holder runs, so that its next renewal must tell it: long before the lease would have
 * ended, and with some time to connect. */
static void expect_told(struct world *w, int keeper, uint64_t grants_before)
{
  struct told t = { .worker = keeper, .grants_before = grants_before };

  if (world_until(w, TOLD_MS, is_reported, &t))
    world_mark(w, "told by the next renewal");
  else
    world_fail(w, "w%02d has not been told %d ms after the restart", keeper, TOLD_MS);
}

static void run(struct world *w, const struct scale *scale)
{
  struct plan plan = PLAN_INIT, keeper_plan = PLAN_INIT;
  int contended = world_lock(w, 'm', "contended", 0), kept = world_lock(w, 'm', "kept", 0);
  int keeper;

  (void)scale;
  plan.ttl_ms = keeper_plan.ttl_ms = TTL_MS;
  plan.locks = 1U << contended;
  plan.hold_us = 3000;
  keeper_plan.locks = 1U << kept;
  keeper_plan.hold_us = 100000000;
  (void)world_hire(w, &plan, 4);
  keeper = world_hire(w, &keeper_plan, 1);
  world_demand(w, "granted beside a stopped holder", 1);
  world_demand(w, "told by the next renewal", 1);
  while (world_goes_on(w)) {
    int holder = world_stop_holder(w, contended, 3000);
    bool is_kept = world_holder_of(w, kept, 3000) == keeper;
    uint64_t grants = world_grants_of(w, keeper);

    world_server_kill(w);
    world_server_start(w, false);
    if (holder >= 0 && world_wait_for_grants(w, 1, TTL_MS / 2))
      world_mark(w, "granted beside a stopped holder");
    if (is_kept)
      expect_told(w, keeper, grants);
    if (holder >= 0)
      world_continue(w, holder);
    if (!world_wait_for_grants(w, 20, 3 * TTL_MS))
      world_fail(w, "no work is done after the restart");
  }
  world_dismiss(w, keeper);        /* it would not take it three times more */
}

const struct scenario f04_server_emptied = {
  .id = "F04",
  .name = "a_server_that_forgot_all_tells_its_holders_by_the_next_renewal",
  .run = run,
  .expects = { .expects_overlap = true },
};

/* SPDX-License-Identifier: MIT */
/* test/fault/f02_holder_stopped.c - F02, F03: a holder that sleeps through the end of its
 * lease, stopped by a signal or by itself, and then does its work all the same. */
#include "scenario.h"
#include "world.h"

#include "history.h"
#include "page.h"

static int64_t stale_refused(const struct world *w, int lock)
{
  return (int64_t)world_page(w)->locks[lock].stale_refused;
}

/* F02. Most of the stay lies between the look at the hold and the write, and there most
 * holders are caught. Nobody but the store can refuse what they write then. */
static bool stop_once(struct world *w, int lock, int ttl_ms)
{
  int ms = world_between(w, ttl_ms / 2, 4 * ttl_ms), holder;
  uint64_t before;

  world_pass_ms(w, world_between(w, 0, 2 * ttl_ms));
  holder = world_stop_holder(w, lock, 3000);
  if (holder < 0) {
    world_fail(w, "nobody held it for 3 s");
    return false;
  }
  before = world_grants(w);
  world_pass_ms(w, ms);
  world_mark_times(w, "stopped for longer than a lease", ms > ttl_ms);
  world_mark_times(w, "granted while the last holder was stopped", world_grants(w) > before);
  world_continue(w, holder);
  (void)world_wait_for_grants_of(w, holder, 1, 3000);
  return true;
}

static void run_stopped(struct world *w, const struct scale *scale)
{
  struct plan plan = PLAN_INIT;
  int lock = world_lock(w, 'm', "stopped", 0);
  int64_t refused = 0;

  (void)scale;
  plan.ttl_ms = 120;
  plan.hold_us = 1000;
  plan.late_percent = 30;
  (void)world_hire(w, &plan, 5);
  world_demand(w, "stopped for longer than a lease", 2);
  world_demand(w, "granted while the last holder was stopped", 1);
  world_demand(w, "stale writes refused", 1);
  while (world_goes_on(w)) {
    if (!stop_once(w, lock, plan.ttl_ms))
      return;
    world_mark_times(w, "stale writes refused", stale_refused(w, lock) - refused);
    refused = stale_refused(w, lock);
  }
}

const struct scenario f02_holder_stopped = {
  .id = "F02",
  .name = "a_stopped_holder_writes_nothing_stale",
  .run = run_stopped,
};

/* F03. Nobody is stopped: leases that are not renewed end while their holders sleep between
 * the look and the write. Without the store's refusal each would be a write over a newer
 * one: that is what a look alone is worth. */
static void run_late(struct world *w, const struct scale *scale)
{
  struct plan plan = PLAN_INIT;
  int lock = world_lock(w, 'm', "late", 0);
  int64_t taken = 0;

  (void)scale;
  plan.ttl_ms = 150;
  plan.late_percent = 30;
  plan.fixed_percent = 100;
  (void)world_hire(w, &plan, 6);
  while (world_goes_on(w))
    if (!world_wait_for_grants(w, 5, 5000))
      world_fail(w, "nobody got it for 5 s");
  world_demand(w, "stale writes refused", 3);
  world_demand(w, "writes taken", 20);
  world_mark_times(w, "stale writes refused", stale_refused(w, lock));
  while (page_written(world_page(w), (uint16_t)lock, taken) != 0)
    taken++;
  world_mark_times(w, "writes taken", taken);
}

const struct scenario f03_late_writer = {
  .id = "F03",
  .name = "what_is_written_too_late_is_refused_however_recent_the_look",
  .run = run_late,
};

/* SPDX-License-Identifier: MIT */
/* test/fault/f26_read_only.c - F26: an administrator makes another member of a set the primary,
 * by REPLICAOF, while clients work. The old one refuses to write from one moment to the next;
 * its clients find the new one. What was granted in the moment in which there were two is lost:
 * plain, it may be granted twice; with the era guard it is held back. */
#include "fleet.h"

enum { TTL_MS = 1500 };

static void hire(struct fleet *f)
{
  struct plan plan = PLAN_INIT;

  plan.ttl_ms = TTL_MS;
  plan.connect_timeout_ms = 10000;
  plan.hold_us = 2000;
  plan.hold_us_max = 400000;
  plan.think_us = 3000;
  plan.try_percent = 10;
  plan.async_percent = 15;
  (void)fleet_hire(f, -1, &plan, 5);
}

static void switch_once(struct fleet *f)
{
  struct world *w = f->world;
  int old = test_set_primary(f->set), next = (old + 1) % test_set_count(f->set);

  fleet_fault(f, FAULT_ADMIN);
  if (!test_set_wait_in_sync(f->set, 10000))
    world_fail(w, "the replicas do not get in sync");
  test_set_promote(f->set, next);
  world_mark(w, "primaries replaced");
  if (!fleet_time_grant(f, 0, world_workers(w), "switch_to_grant_ms", 10000)
      || !world_wait_for_grants(w, 20, 10000))
    world_fail(w, "no work is done after another member became the primary");
  fleet_calm(f);
}

static void run(struct world *w, const char *options)
{
  struct fleet *f = fleet_set(w, options);

  (void)world_lock(w, 'm', "one", 0);
  (void)world_lock(w, 'm', "two", 0);
  hire(f);
  world_demand(w, "primaries replaced", 1);
  while (world_goes_on(w))
    switch_once(f);
  world_settle_how(w, 0, 20000);
}

static void run_plain(struct world *w, const struct scale *scale)
{
  (void)scale;
  run(w, "");
}

static void run_guarded(struct world *w, const struct scale *scale)
{
  (void)scale;
  run(w, "?quarantine=2700ms");
}

const struct scenario f26_plain = {
  .id = "F26", .name = "clients_of_a_primary_that_becomes_a_replica_find_the_new_one",
  .run = run_plain, .expects = { .allows_overlap = true },
};

const struct scenario f26_guarded = {
  .id = "F26", .name = "a_guarded_set_grants_nothing_twice_when_its_primary_is_replaced",
  .run = run_guarded, .expects = { .allows_idle_busy = true },
};

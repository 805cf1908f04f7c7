/* SPDX-License-Identifier: MIT */
/* test/fault/f06_power_lost.c - F06: the machine of the server loses its power, and with it
 * what was not synced. Synced always nothing is lost; synced each second leases of the last
 * second are, and only the fence protects what they were for. */
#include "scenario.h"
#include "world.h"

enum { TTL_MS = 2500 };

static void lose_power(struct world *w)
{
  int64_t lost;

  world_server_kill(w);
  lost = test_server_lose_power(world_server(w));
  world_count(w, "bytes lost with the power", lost);
  if (lost > 0)
    world_fault_instant(w, FAULT_DATA_LOST, EVERYBODY, NO_LOCK);
  world_server_start(w, true);
  world_mark(w, "power lost under a holder");
}

static void hire(struct world *w, const char *const *arguments)
{
  struct test_server_options options = { .arguments = arguments, .can_lose_power = true };
  struct plan plan = PLAN_INIT;

  world_server_options(w, &options);
  plan.ttl_ms = TTL_MS;
  plan.hold_us = 2000;
  /* Mostly free, so that what the disk has kept is mostly a free lock. */
  plan.think_us = 60000;
  (void)world_hire(w, &plan, 5);
}

static void run_everysec(struct world *w, const struct scale *scale)
{
  static const char *const arguments[] = { "--appendonly", "yes", "--appendfsync", "everysec",
                                           NULL };
  int lock = world_lock(w, 'm', "power", 0);

  (void)scale;
  hire(w, arguments);
  world_demand(w, "power lost under a holder", 1);
  world_demand(w, "leases lost with the power", 1);
  while (world_goes_on(w))
    if (world_lease_is_lost(w, lock, TTL_MS, lose_power))
      world_mark(w, "leases lost with the power");
}

const struct scenario f06_power_everysec = {
  .id = "F06",
  .name = "a_file_synced_each_second_loses_leases_with_the_power_and_no_fence_goes_back",
  .run = run_everysec,
  /* A release may be lost like a grant: its lease is then waited for. */
  .expects = { .expects_overlap = true, .wake_ms_max = TTL_MS + 1050 },
};

static void run_always(struct world *w, const struct scale *scale)
{
  static const char *const arguments[] = { "--appendonly", "yes", "--appendfsync", "always",
                                           NULL };
  int lock = world_lock(w, 'm', "power", 0);

  (void)scale;
  hire(w, arguments);
  world_demand(w, "power lost under a holder", 2);
  for (int round = 0; world_goes_on(w) || round < 2; round++)
    if (world_lease_is_lost(w, lock, TTL_MS, lose_power))
      world_break(w, "a lease was given to another although all was synced");
}

const struct scenario f06_power_always = {
  .id = "F06",
  .name = "a_file_synced_always_keeps_every_lease_when_the_power_is_lost",
  .run = run_always,
};

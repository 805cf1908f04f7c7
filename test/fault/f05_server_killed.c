/* SPDX-License-Identifier: MIT */
/* test/fault/f05_server_killed.c - F05: kill -9 of a server with an append-only file. What it
 * had answered it had handed to the kernel, which goes on living: no lease is lost, whatever
 * the policy of syncing. */
#include "scenario.h"
#include "world.h"

enum { TTL_MS = 1500 };

/* A stopped holder cannot renew: its lease is there afterwards only if the file has it. C1
 * sees whoever is let in beside it. */
static void kill_once(struct world *w, int lock, bool stops)
{
  int holder = stops ? world_stop_holder(w, lock, 3000) : world_holder_of(w, lock, 3000);

  if (holder < 0) {
    world_fail(w, "nobody held it for 3 s");
    return;
  }
  world_server_kill(w);
  world_mark(w, stops ? "killed under a stopped holder" : "killed under a holder");
  world_pass_ms(w, world_between(w, 0, 100));
  world_server_start(w, true);
  if (stops) {
    world_pass_ms(w, world_between(w, 200, 500));
    world_continue(w, holder);
  }
  if (!world_wait_for_grants(w, 20, 5000))
    world_fail(w, "no work is done after the restart");
}

static void run(struct world *w, const char *const *arguments)
{
  struct test_server_options options = { .arguments = arguments };
  struct plan plan = PLAN_INIT;
  int lock = world_lock(w, 'm', "killed", 0);

  world_server_options(w, &options);
  plan.ttl_ms = TTL_MS;
  plan.hold_us = 2000;
  plan.async_percent = 20;
  (void)world_hire(w, &plan, 5);
  world_demand(w, "killed under a holder", 1);
  world_demand(w, "killed under a stopped holder", 1);
  for (int round = 0; round < 2 || world_goes_on(w); round++)
    kill_once(w, lock, round % 2 == 0);
}

static void run_everysec(struct world *w, const struct scale *scale)
{
  static const char *const arguments[] = { "--appendonly", "yes", "--appendfsync", "everysec",
                                           NULL };

  (void)scale;
  run(w, arguments);
}

static void run_always(struct world *w, const struct scale *scale)
{
  static const char *const arguments[] = { "--appendonly", "yes", "--appendfsync", "always",
                                           NULL };

  (void)scale;
  run(w, arguments);
}

const struct scenario f05_killed_everysec = {
  .id = "F05",
  .name = "a_server_killed_with_a_file_synced_each_second_keeps_every_lease",
  .run = run_everysec,
};

const struct scenario f05_killed_always = {
  .id = "F05",
  .name = "a_server_killed_with_a_file_synced_always_keeps_every_lease",
  .run = run_always,
};

/* SPDX-License-Identifier: MIT */
/* test/fault/f05_server_killed.c - F05: kill -9 of a server with an append-only file. What the
 * server had handed to the kernel stays. With appendfsync always, that is all that it had
 * answered. With everysec, a server keeps its writes in a buffer while a sync lasts, up to two
 * seconds, and answers all the same: what the file has when the server dies is kept, and a
 * server that is killed with a full buffer loses leases, and only the fence protects what they
 * were for. A sync on a quick disk lasts as long as a busy machine lets its thread wait, so the
 * server itself says when its buffer is empty. */
#include "scenario.h"
#include "world.h"

#include <string.h>

enum { TTL_MS = 1500, SYNC_MS = 50, SLOW_TTL_MS = 2500, SLOW_SYNC_MS = 1800 };

static const char *const everysec[] = { "--appendonly", "yes", "--appendfsync", "everysec",
                                        NULL };
static const char *const always[] = { "--appendonly", "yes", "--appendfsync", "always", NULL };

/* Writes pause, so that an empty buffer stays empty. */
static bool has_written_all(struct world *w, void *data)
{
  (void)data;
  return strstr(test_server_command(world_server(w), "INFO persistence"),
                "aof_buffer_length:0\r\n") != NULL;
}

static void wait_until_written(struct world *w)
{
  int fault = world_fault_begin(w, FAULT_OTHER, EVERYBODY, NO_LOCK);

  if (strcmp(test_server_command(world_server(w), "CLIENT PAUSE 60000 WRITE"), "OK") != 0
      || !world_until(w, 5000, has_written_all, NULL))
    world_fail(w, "the server has not written its file within 5 s");
  world_fault_end(w, fault);
}

/* A stopped holder cannot renew: its lease is there afterwards only if the file has it. C1
 * sees whoever is let in beside it. */
static void kill_once(struct world *w, int lock, bool stops, bool when_written)
{
  int holder = stops ? world_stop_holder(w, lock, 3000) : world_holder_of(w, lock, 3000);

  if (holder < 0) {
    world_fail(w, "nobody held it for 3 s");
    return;
  }
  if (when_written)
    wait_until_written(w);
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

static void run(struct world *w, const char *const *arguments, int sync_ms,
                bool when_written)
{
  struct test_server_options options = { .arguments = arguments, .can_lose_power = true };
  struct plan plan = PLAN_INIT;
  int lock = world_lock(w, 'm', "killed", 0);

  world_server_options(w, &options);
  test_server_disk_takes(world_server(w), sync_ms);
  plan.ttl_ms = TTL_MS;
  plan.hold_us = 2000;
  plan.async_percent = 20;
  (void)world_hire(w, &plan, 5);
  world_demand(w, "killed under a holder", 1);
  world_demand(w, "killed under a stopped holder", 1);
  for (int round = 0; round < 2 || world_goes_on(w); round++)
    kill_once(w, lock, round % 2 == 0, when_written);
}

static void run_everysec(struct world *w, const struct scale *scale)
{
  (void)scale;
  run(w, everysec, SYNC_MS, true);
}

static void run_always(struct world *w, const struct scale *scale)
{
  (void)scale;
  run(w, always, TEST_DISK_AS_IT_IS, false);
}

const struct scenario f05_killed_everysec = {
  .id = "F05",
  .name = "a_server_killed_with_a_file_synced_each_second_keeps_every_lease_that_it_has_written",
  .run = run_everysec,
};

const struct scenario f05_killed_always = {
  .id = "F05",
  .name = "a_server_killed_with_a_file_synced_always_keeps_every_lease",
  .run = run_always,
};

/* ---- its disk is slow ---- */

static void kill_and_start(struct world *w)
{
  world_server_kill(w);
  world_fault_instant(w, FAULT_DATA_LOST, EVERYBODY, NO_LOCK);
  world_server_start(w, true);
}

static void run_slow(struct world *w, const struct scale *scale)
{
  struct test_server_options options = { .arguments = everysec, .can_lose_power = true };
  struct plan plan = PLAN_INIT;
  int lock = world_lock(w, 'm', "killed", 0);

  (void)scale;
  world_server_options(w, &options);
  test_server_disk_takes(world_server(w), SLOW_SYNC_MS);
  plan.ttl_ms = SLOW_TTL_MS;
  plan.hold_us = 2000;
  plan.think_us = 60000;                   /* mostly free is what the file has kept */
  (void)world_hire(w, &plan, 5);
  world_demand(w, "leases lost with the server", 1);
  while (world_goes_on(w))
    if (world_lease_is_lost(w, lock, SLOW_TTL_MS, kill_and_start))
      world_mark(w, "leases lost with the server");
}

const struct scenario f05_killed_slow = {
  .id = "F05",
  .name = "a_server_killed_while_its_disk_is_slow_loses_leases_and_no_fence_goes_back",
  .run = run_slow,
  /* A release may be lost like a grant: its lease is then waited for. */
  .expects = { .expects_overlap = true, .wake_ms_max = SLOW_TTL_MS + 1050 },
};

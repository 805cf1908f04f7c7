/* SPDX-License-Identifier: MIT */
/* test/fault/f07_server_stopped.c - F07: the server does not run for a while, and executes
 * afterwards what nobody waits for any more. */
#include "scenario.h"
#include "world.h"

#include "page.h"

/* A request of one who has given up would keep the others out for this long. */
enum { GHOST_TTL_MS = 20000, GHOST_SEEN_MS = 4000, TTL_MS = 500 };

struct group { int first, count; };

static uint64_t failed_asks(const struct world *w, const struct group *g)
{
  uint64_t sum = 0;

  for (int i = g->first; i < g->first + g->count; i++)
    sum += world_page(w)->workers[i].asks_failed;
  return sum;
}

static struct group hire_impatient(struct world *w, int lock)
{
  struct group g = { .count = 6 };
  struct plan plan = PLAN_INIT;

  plan.locks = 1U << lock;
  plan.ttl_ms = GHOST_TTL_MS;
  plan.wait_ms = 60;
  plan.command_timeout_ms = 100;
  plan.try_percent = 30;
  plan.cancel_percent = 20;
  plan.async_percent = 20;
  plan.hold_us = 300;
  g.first = world_hire(w, &plan, g.count);
  return g;
}

static void expect_no_ghosts(struct world *w, const struct group *g)
{
  for (int i = g->first; i < g->first + g->count; i++)
    if (world_is_alive(w, i) && !world_wait_for_grants_of(w, i, 1, GHOST_SEEN_MS))
      world_fail(w, "a lease of nobody keeps w%02d out", i);
}

/* Half of them give up, the others die: they can cancel nothing any more. */
static void stop_once(struct world *w, const struct group *g, int ms)
{
  uint64_t before = failed_asks(w, g);

  world_server_stop(w);
  world_pass_ms(w, ms / 2);
  for (int i = g->first; i < g->first + g->count / 2; i++)
    world_kill(w, i);
  world_pass_ms(w, ms - ms / 2);
  world_mark_times(w, "stopped for longer than a lease", ms > TTL_MS);
  world_mark_times(w, "given up while the server was stopped",
                   (int64_t)(failed_asks(w, g) - before));
  world_server_continue(w);
  expect_no_ghosts(w, g);
  for (int i = g->first; i < g->first + g->count / 2; i++)
    world_rehire(w, i);
}

static void run(struct world *w, const struct scale *scale)
{
  struct plan plan = PLAN_INIT;
  int shared = world_lock(w, 'm', "shared", 0), ghosts = world_lock(w, 'm', "ghosts", 0);
  struct group impatient;

  (void)scale;
  plan.locks = 1U << shared;
  plan.ttl_ms = TTL_MS;
  plan.hold_us = 20000;
  plan.command_timeout_ms = 200;
  (void)world_hire(w, &plan, 4);
  impatient = hire_impatient(w, ghosts);
  world_demand(w, "given up while the server was stopped", 5);
  world_demand(w, "stopped for longer than a lease", 1);
  world_demand_overlap(w, 3);
  for (int round = 0; round < 3 || world_goes_on(w); round++) {
    /* The second surely is longer than a lease, all are longer than the patience. */
    stop_once(w, &impatient,
              world_between(w, round == 1 ? TTL_MS + 50 : TTL_MS / 2, 2 * TTL_MS));
    (void)world_wait_for_grants(w, 20, 3000);
  }
}

const struct scenario f07_server_stopped = {
  .id = "F07",
  .name = "a_server_that_slept_grants_nothing_to_those_who_have_given_up",
  .run = run,
};

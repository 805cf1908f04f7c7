/* SPDX-License-Identifier: MIT */
/* test/fault/f07_server_stopped.c - F07: the server does not run for a while, and executes
 * afterwards what nobody waits for any more. */
#include "scenario.h"
#include "world.h"

#include "history.h"
#include "page.h"

#include <dibs/dibs.h>

/* A request of one who has given up would keep the others out for this long. */
enum { GHOST_TTL_MS = 20000, GHOST_SEEN_MS = 4000, TTL_MS = 500 };

struct group { int first, count; };

static const char contested[] = "ghosts";

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

/* The server can stop between a grant and its reply. The client is killed before it learns that
 * it holds the lock, so the lease is as legitimate as that of any killed holder: it is broken
 * here. A lease that is younger than `continued_ns` is a ghost. */
static bool break_grant_of_before(struct world *w, int64_t continued_ns)
{
  dibs_inspection *seen = NULL;
  dibs_client *client = NULL;
  bool is_broken = false;

  if (world_open(w, &client) == DIBS_OK &&
      dibs_inspect(client, dibs_text(contested), &seen) == DIBS_OK &&
      seen->is_held) {
    int64_t age_ms = GHOST_TTL_MS - seen->remaining_ms;

    is_broken = age_ms > (history_now_ns() - continued_ns) / 1000000 &&
                dibs_break(client, dibs_text(contested), seen->lease) == DIBS_OK;
  }
  seen = dibs_inspection_free(seen);
  client = dibs_close(client);
  return is_broken;
}

static void expect_no_ghosts(struct world *w, const struct group *g, int64_t continued_ns)
{
  for (int i = g->first; i < g->first + g->count; i++)
    if (world_is_alive(w, i) && !world_wait_for_grants_of(w, i, 1, GHOST_SEEN_MS) &&
        (!break_grant_of_before(w, continued_ns) ||
         !world_wait_for_grants_of(w, i, 1, GHOST_SEEN_MS)))
      world_fail(w, "a lease of nobody keeps w%02d out", i);
}

/* Half of them give up, the others die: they can cancel nothing any more. */
static void stop_once(struct world *w, const struct group *g, int ms)
{
  uint64_t before = failed_asks(w, g);
  int64_t continued_ns;

  world_server_stop(w);
  world_pass_ms(w, ms / 2);
  for (int i = g->first; i < g->first + g->count / 2; i++)
    world_kill(w, i);
  world_pass_ms(w, ms - ms / 2);
  world_mark_times(w, "stopped for longer than a lease", ms > TTL_MS);
  world_mark_times(w, "given up while the server was stopped",
                   (int64_t)(failed_asks(w, g) - before));
  continued_ns = history_now_ns();
  world_server_continue(w);
  expect_no_ghosts(w, g, continued_ns);
  for (int i = g->first; i < g->first + g->count / 2; i++)
    world_rehire(w, i);
}

static void run(struct world *w, const struct scale *scale)
{
  struct plan plan = PLAN_INIT;
  int shared = world_lock(w, 'm', "shared", 0), ghosts = world_lock(w, 'm', contested, 0);
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

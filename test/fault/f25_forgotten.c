/* SPDX-License-Identifier: MIT */
/* test/fault/f25_forgotten.c - an administrator empties the server, makes it forget its
 * scripts, or throws out its clients. Holders of what is gone know within a third of their
 * ttl; the rest costs a round trip and no lease. */
#include <string.h>

#include "child.h"

enum { TTL_MS = 900, SLACK_MS = 150 };

static void admin(struct world *w, const char *command)
{
  const char *answer = test_server_command(world_server(w), command);

  if (strncmp(answer, "ERR", 3) == 0 || strcmp(answer, "(gone)") == 0)
    world_fail(w, "%s: %s", command, answer);
}

/* ---- nothing is lost ---- */

static const char *const commands[] = { "SCRIPT FLUSH SYNC", "CLIENT KILL TYPE normal",
                                        "CLIENT KILL TYPE pubsub" };

static void disturb(struct world *w, int which)
{
  int fault = world_fault_begin(w, FAULT_ADMIN, EVERYBODY, NO_LOCK);

  admin(w, commands[which]);
  world_fault_in_force(w, fault);
  world_mark(w, commands[which]);
  world_fault_lifting(w, fault);
  world_fault_end(w, fault);
  if (!world_wait_for_grants(w, 10, 5000))
    world_fail(w, "no 10 grants within 5 s of %s", commands[which]);
}

static void run_disturbed(struct world *w, const struct scale *scale)
{
  struct plan plan = PLAN_INIT;
  const struct page *page;
  uint64_t lost = 0;

  (void)world_lock(w, 'm', "disturbed-0", 0);
  (void)world_lock(w, 'm', "disturbed-1", 0);
  (void)world_lock(w, 'r', "disturbed-2", 0);
  (void)world_lock(w, 'p', "disturbed-3", 2);
  plan.ttl_ms = TTL_MS;
  plan.hold_us = 1000;
  plan.hold_us_max = 200000;
  plan.threads = 2;
  plan.renew_every_ms = 40;
  plan.try_percent = plan.async_percent = plan.cancel_percent = plan.many_percent = 10;
  plan.nested_percent = plan.downgrade_percent = 10;
  (void)world_hire(w, &plan, 4);
  for (int i = 0; i < 3; i++)
    world_demand(w, commands[i], (int64_t)(scale->seconds / 2));
  while (world_goes_on(w)) {
    disturb(w, (int)world_chance(w, 3));
    world_pass_ms(w, world_between(w, 0, 40));
  }
  page = world_page(w);
  for (int i = 0; i < world_workers(w); i++)
    lost += page->workers[i].lost;
  if (lost != 0 && child_machine_slack_ms() == 0)
    world_fail(w, "%llu leases lost though the server kept them", (unsigned long long)lost);
}

/* ---- all is lost ---- */

struct losses { int holder; uint64_t lost, grants; };

/* By its callback, or by its own look at the hold, whereupon it has taken the lock anew. */
static bool has_lost(struct world *w, void *data)
{
  const struct losses *l = data;

  return world_page(w)->workers[l->holder].lost > l->lost ||
         world_grants_of(w, l->holder) > l->grants;
}

static int64_t starved_ms(struct world *w, int holder)
{
  return child_starved_ms(world_pid(w, holder)) +
         child_starved_ms(test_server_pid(world_server(w))) + child_starved_ms(0);
}

static void empty_under(struct world *w, int holder)
{
  struct losses l = { holder, world_page(w)->workers[holder].lost,
                      world_grants_of(w, holder) };
  int64_t begun, took, starved = starved_ms(w, holder);

  begun = history_now_ns();
  world_fault_instant(w, FAULT_DATA_LOST, EVERYBODY, NO_LOCK);
  admin(w, "FLUSHALL");
  if (!world_until(w, 5000, has_lost, &l)) {
    world_fail(w, "a holder was not told of its loss within 5 s");
    return;
  }
  took = (history_now_ns() - begun) / 1000000;
  starved = starved_ms(w, holder) - starved + child_machine_slack_ms();
  if (took > TTL_MS / 3 + SLACK_MS + starved)
    world_fail(w, "a holder was told of its loss after %lld ms", (long long)took);
  world_mark(w, "holders told in time");
}

static void run_emptied(struct world *w, const struct scale *scale)
{
  struct plan plan = PLAN_INIT;
  int lock = world_lock(w, 'm', "emptied-0", 0), others = world_lock(w, 'm', "emptied-1", 0);
  int holder;

  (void)scale;
  plan.ttl_ms = TTL_MS;
  plan.locks = 1U << lock;
  plan.hold_us = 100000000;          /* until it is lost */
  holder = world_hire(w, &plan, 1);
  plan.locks = 1U << others;
  plan.hold_us = 1000;
  (void)world_hire(w, &plan, 3);
  world_demand(w, "holders told in time", 2);
  while (world_goes_on(w)) {
    if (world_holder_of(w, lock, 5000) != holder)
      world_fail(w, "nobody holds within 5 s");
    world_pass_ms(w, world_between(w, 0, TTL_MS / 3));
    empty_under(w, holder);
  }
  world_dismiss(w, holder);
}

const struct scenario f25_disturbed = {
  .id = "F25", .name = "forgotten_scripts_and_killed_connections_lose_no_lease",
  .run = run_disturbed,
};

const struct scenario f25_emptied = {
  .id = "F25", .name = "holders_of_an_emptied_server_know_within_a_third_of_their_ttl",
  .run = run_emptied,
  .expects = { .allows_overlap = true },     /* until that third has passed */
};

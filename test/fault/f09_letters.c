/* SPDX-License-Identifier: MIT */
/* test/fault/f09_letters.c - requests that are lost, requests whose answers are lost, requests
 * that arrive twice, and requests that arrive when nobody waits for them any more: each
 * about one in twenty, in every mixture of calls. S8, S10. */
#include "world.h"

static void demand(struct world *w, const struct scale *scale)
{
  int64_t times = (int64_t)(scale->seconds * 4);

  world_demand(w, "requests lost", times);
  world_demand(w, "answers lost", times);
  world_demand(w, "requests doubled", times);
  world_demand(w, "requests late", times);
  world_demand(w, "connections silenced", 1);
  world_demand_overlap(w, 20);
}

static void count(struct world *w)
{
  struct test_proxy_counts counts = test_proxy_counts(world_proxy(w));

  world_mark_times(w, "requests lost", (int64_t)counts.requests_lost);
  world_mark_times(w, "answers lost", (int64_t)counts.replies_lost);
  world_mark_times(w, "requests doubled", (int64_t)counts.duplicated);
  world_mark_times(w, "requests late", (int64_t)counts.late);
  world_mark_times(w, "connections silenced", (int64_t)counts.silenced);
  world_count(w, "requests through the proxy", (int64_t)counts.commands);
}

static void hire(struct world *w)
{
  struct plan plan = PLAN_INIT;

  plan.url = test_proxy_url(world_proxy(w));
  plan.ttl_ms = 600;
  plan.hold_us = 100;
  plan.hold_us_max = 200000;         /* some are renewed */
  plan.renew_every_ms = 50;
  plan.think_us = 100;
  plan.command_timeout_ms = 150;
  plan.threads = 2;
  plan.try_percent = 15;
  plan.async_percent = 20;
  plan.cancel_percent = 10;
  plan.many_percent = 10;
  plan.nested_percent = 5;
  plan.downgrade_percent = 10;
  (void)world_hire(w, &plan, 4);
  plan.linger_ms = 50;
  (void)world_hire(w, &plan, 2);
}

static void run(struct world *w, const struct scale *scale)
{
  struct test_proxy_chances chances = {
    .seed = scale->seed, .word = "EVALSHA", .lose_request = 500, .lose_reply = 500,
    .duplicate = 500, .late = 500, .silence = 30, .late_ms_max = 900 };
  int fault;

  for (int i = 0; i < 6; i++) {
    char name[] = "letters-0";

    name[8] = (char)('0' + i);
    (void)world_lock(w, i < 4 ? 'm' : i == 4 ? 'r' : 'p', name, i == 5 ? 3 : 0);
  }
  hire(w);
  fault = world_fault_begin(w, FAULT_NETWORK, EVERYBODY, NO_LOCK);
  test_proxy_chance(world_proxy(w), &chances);
  world_fault_in_force(w, fault);
  while (world_goes_on(w))
    if (!world_wait_for_grants(w, 20, 5000))
      world_fail(w, "fewer than 20 grants in 5 s");
  world_fault_lifting(w, fault);
  test_proxy_chance(world_proxy(w), NULL);
  world_pass_ms(w, chances.late_ms_max);       /* the last of them arrive */
  world_fault_end(w, fault);
  demand(w, scale);
  count(w);
}

const struct scenario f09_letters = {
  .id = "F09", .name = "requests_lost_doubled_or_late_change_nothing", .run = run,
};

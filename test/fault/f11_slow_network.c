/* SPDX-License-Identifier: MIT */
/* test/fault/f11_slow_network.c - a network that is slow, uneven or narrow, and loses nothing:
 * no lease is lost by our own fault while a round trip takes less than a tenth of it (L9), and
 * answers in pieces of one byte are read whole. */
#include "child.h"

static const char *const faults[] = { "latency and jitter", "bytes one by one", "64 kB a second",
                                      "latency one way" };
enum { FAULTS = 4, TTL_MS = 4000, PHASE_MS = 700 };

static void slow_down(struct test_proxy *p, int which)
{
  switch (which) {
  case 0:
    test_proxy_jitter(p, TEST_BOTH, 0, 150);
    break;
  case 1:
    test_proxy_trickle(p, TEST_BOTH);
    break;
  case 2:
    test_proxy_rate(p, TEST_BOTH, 64000);
    break;
  default:
    test_proxy_delay(p, TEST_TO_CLIENT, 200);
    break;
  }
}

static void one_phase(struct world *w, int which)
{
  struct test_proxy *p = world_proxy(w);
  int fault = world_fault_begin(w, FAULT_NETWORK, EVERYBODY, NO_LOCK);
  uint64_t grants;

  slow_down(p, which);
  world_fault_in_force(w, fault);
  grants = world_grants(w);
  world_pass_ms(w, PHASE_MS);
  world_mark_times(w, faults[which], (int64_t)(world_grants(w) - grants));
  world_fault_lifting(w, fault);
  test_proxy_pass(p, TEST_BOTH);
  world_fault_end(w, fault);
}

static void run(struct world *w, const struct scale *scale)
{
  struct plan plan = PLAN_INIT;
  const struct page *page;
  uint64_t lost = 0;

  (void)scale;
  (void)world_lock(w, 'm', "slow-0", 0);
  (void)world_lock(w, 'm', "slow-1", 0);
  (void)world_lock(w, 'r', "slow-2", 0);
  (void)world_lock(w, 'p', "slow-3", 3);
  plan.url = test_proxy_url(world_proxy(w));
  plan.ttl_ms = TTL_MS;
  plan.wait_ms = 10000;
  plan.hold_us = 2000;
  plan.hold_us_max = 300000;
  plan.renew_every_ms = 150;               /* many renewals instead of long runs */
  plan.async_percent = plan.many_percent = plan.downgrade_percent = 10;
  (void)world_hire(w, &plan, 5);
  for (int i = 0; i < FAULTS; i++)
    world_demand(w, faults[i], 1);
  world_demand_overlap(w, 10);
  for (int i = 0; i < FAULTS || world_goes_on(w); i++)
    one_phase(w, i % FAULTS);
  page = world_page(w);
  for (int i = 0; i < world_workers(w); i++)
    lost += page->workers[i].lost;
  if (lost != 0 && child_machine_slack_ms() == 0)
    world_fail(w, "%llu leases lost while every answer came", (unsigned long long)lost);
}

const struct scenario f11_slow_network = {
  .id = "F11", .name = "a_slow_network_loses_no_lease", .run = run,
};

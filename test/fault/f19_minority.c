/* SPDX-License-Identifier: MIT */
/* test/fault/f19_minority.c - F19: a primary of a cluster is cut off together with clients.
 * It stops by itself when it has missed the others for a node timeout; meanwhile it grants what
 * its replica never hears of. That one is promoted. Plain, the last leases are granted twice;
 * with the era guard they are held back until they are over. */
#include "fleet.h"

#include <stdio.h>

enum { TTL_MS = 6000, NODE_TIMEOUT_MS = 2000, NEAR = 6, FAR = 7, HOSTS = 8, NAMES = 12,
       SIDE = 3 };

struct cut {
  struct fleet *fleet;
  int near, far;
};

/* Names enough that most are free at the cut, and all are drawn soon after a promotion. */
static int hire_side(struct fleet *f, int host)
{
  struct plan plan = PLAN_INIT;

  plan.ttl_ms = TTL_MS;
  plan.wait_ms = 500;
  plan.connect_timeout_ms = 15000;
  plan.hold_us = host == NEAR ? 200000 : 30000;
  plan.think_us = 30000;
  return fleet_hire(f, host, &plan, SIDE);
}

static void cut_once(struct cut *s, int primary, int replica)
{
  struct fleet *f = s->fleet;
  struct world *w = f->world;
  unsigned side = 1U << primary | 1U << NEAR;
  uint64_t lost = world_losses(w);
  uint32_t held_at_cut = world_held(w);
  int stopped[SIDE], stopped_count;
  int64_t cut_ns;

  fleet_cut(f, side, ~side);
  cut_ns = history_now_ns();
  held_at_cut |= world_held(w);
  /* They cannot renew and do not give back: their leases outlast the promotion, and the
   * replica does not know of them. The minority grants until its node timeout. */
  stopped_count = world_stop_holders(w, held_at_cut, SIDE, 1200, stopped);
  if (stopped_count > 0)
    world_mark(w, "stopped in the minority");
  if (!test_cluster_wait_for_primary(f->cluster, replica, 20000))
    world_fail(w, "the replica is not promoted");
  fleet_value(f, "promoted_after_ms", (history_now_ns() - cut_ns) / 1000000);
  if (fleet_time_grant(f, s->far, SIDE, "promotion_to_grant_ms", 15000))
    world_mark(w, "granted after a promotion");
  world_pass_ms(w, world_between(w, 1000, 2000));
  fleet_heal(f);
  for (int i = 0; i < stopped_count; i++)
    world_continue(w, stopped[i]);
  if (!test_cluster_wait_ok(f->cluster, 20000)
      || !test_wait_for_role(test_cluster_member(f->cluster, primary), TEST_ROLE_REPLICA,
                             20000))
    world_fail(w, "the old primary does not become a replica");
  if (!world_wait_for_grants_of(w, s->near, 2, 15000))
    world_fail(w, "no work is done in the former minority");
  fleet_value(f, "leases_lost", (int64_t)(world_losses(w) - lost));
  world_count(w, "promotions", 1);
  if (world_left_ms(w) > 0)
    fleet_calm(f);
}

static void run(struct world *w, const char *options)
{
  struct test_cluster_options cluster = { .node_timeout_ms = NODE_TIMEOUT_MS };
  struct cut s = { .fleet = fleet_cluster(w, &cluster, HOSTS, options) };
  int primary = 0, replica = test_cluster_replica_of(s.fleet->cluster, 0);

  for (int i = 0; i < NAMES; i++) {
    char prefix[16], name[64];

    (void)snprintf(prefix, sizeof(prefix), "minor%d", i);
    test_cluster_name_on(s.fleet->cluster, 0, prefix, name, sizeof(name));
    (void)world_lock(w, 'm', name, 0);
  }
  s.near = hire_side(s.fleet, NEAR);
  s.far = hire_side(s.fleet, FAR);
  world_demand(w, "stopped in the minority", 1);
  world_demand(w, "granted after a promotion", 1);
  while (world_goes_on(w)) {
    const int old = primary;

    cut_once(&s, old, replica);
    primary = replica;               /* they take turns */
    replica = old;
  }
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
  run(w, "?quarantine=7200ms");
}

const struct scenario f19_plain = {
  .id = "F19", .name = "the_last_leases_of_a_minority_are_granted_twice_with_other_fences",
  .run = run_plain, .expects = { .expects_overlap = true }, .skip_without = "iptables",
};

const struct scenario f19_guarded = {
  .id = "F19", .name = "a_guarded_cluster_holds_back_what_a_minority_granted",
  .run = run_guarded, .skip_without = "iptables",
};

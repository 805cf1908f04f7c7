/* SPDX-License-Identifier: MIT */
/* test/fault/f14_split_brain.c - F14 and F15: the network falls into two halves, with clients
 * in each. The smaller one has the primary, and a sentinel that goes on naming it; the larger one
 * promotes a replica. Then the network is whole again, and the old primary lives on for a
 * while until the sentinels demote it.
 *
 * Plain, both halves grant the same names; fences differ, except those of two grants in the
 * same microsecond, as a fence is the time of the grant. With min-replicas-to-write alone the
 * old primary stops in time, but the new one may lack what it granted last. With the era guard
 * beside it, under the conditions of deployments.md 4, no two believe.
 *
 * F15: packets vanish in one direction only. */
#include "fleet.h"

enum { TTL_MS = 3000, PROMOTION_MS = 20000, DEMOTION_MS = 30000 };

struct split {
  struct fleet *fleet;
  int kept, busy;              /* locks: held for long, and for a moment */
  int near, far, each;         /* first workers of the two sides */
  bool is_one_way;
};

static int hire_side(struct split *s, int host)
{
  struct plan plan = PLAN_INIT;
  int first;

  plan.ttl_ms = TTL_MS;
  plan.connect_timeout_ms = 15000;
  plan.locks = 1U << s->kept;
  plan.hold_us = 300000;
  plan.hold_us_max = 4000000;
  first = fleet_hire(s->fleet, host, &plan, 1);
  plan.locks = 1U << s->busy;
  plan.hold_us = 2000;
  plan.hold_us_max = 500000;
  plan.think_us = 4000;
  (void)fleet_hire(s->fleet, host, &plan, 2);
  s->each = 3;
  return first;
}

static uint64_t grants_of(struct split *s, int first)
{
  uint64_t sum = 0;

  for (int i = 0; i < s->each; i++)
    sum += world_grants_of(s->fleet->world, first + i);
  return sum;
}

/* What clients see of a promotion while the halves are apart. */
static void watch_promotion(struct split *s, int old, int64_t cut_ns)
{
  struct world *w = s->fleet->world;
  uint64_t near;

  if (fleet_wait_promoted(s->fleet, old, PROMOTION_MS) < 0) {
    world_fail(w, "nobody was promoted within %d ms", PROMOTION_MS);
    return;
  }
  world_mark(w, "promoted in the larger half");
  fleet_value(s->fleet, "promoted_after_ms", (history_now_ns() - cut_ns) / 1000000);
  near = grants_of(s, s->near);
  if (fleet_time_grant(s->fleet, s->far, s->each, "promotion_to_grant_ms", 15000))
    world_mark(w, "granted in the larger half");
  world_pass_ms(w, world_between(w, 1000, 2000));
  /* What the other half held at the cut is over here, too: the old primary grants it again. */
  while (history_now_ns() < cut_ns + (TTL_MS + 2500) * 1000000LL)
    world_pass_ms(w, 50);
  near = grants_of(s, s->near) - near;
  fleet_value(s->fleet, "granted_beside_it", (int64_t)near);
  if (near > 0)
    world_mark(w, "granted by the old primary beside it");
}

/* Until the sentinels have seen to the old primary, about 10 s; in a long run. */
static void wait_for_peace(struct split *s, int old)
{
  struct world *w = s->fleet->world;

  if (world_left_ms(w) <= 0)
    return;
  if (!test_wait_for_role(test_set_member(s->fleet->set, old), TEST_ROLE_REPLICA, DEMOTION_MS)
      || !test_sentinels_wait_settled(s->fleet->watch, DEMOTION_MS))
    world_fail(w, "the old primary is not demoted within %d ms", DEMOTION_MS);
  if (!world_wait_for_grants(w, 20, 15000))
    world_fail(w, "no work is done after the halves met again");
}

static void split_once(struct split *s)
{
  struct fleet *f = s->fleet;
  struct world *w = f->world;
  int old = test_set_primary(f->set);
  unsigned side = 1U << old | 1U << FLEET_SENTINELS | 1U << FLEET_NEAR;
  uint64_t lost = world_losses(w);
  int64_t cut_ns;

  world_pass_ms(w, world_between(w, 0, 500));
  if (!s->is_one_way)
    fleet_cut(f, side, ~side);
  else if (world_chance(w, 2) == 0)
    fleet_cut_one_way(f, side, ~side);
  else
    fleet_cut_one_way(f, ~side, side);
  cut_ns = history_now_ns();
  watch_promotion(s, old, cut_ns);
  fleet_heal(f);
  fleet_value(f, "leases_lost", (int64_t)(world_losses(w) - lost));
  world_count(w, "splits", 1);
  wait_for_peace(s, old);
  if (world_left_ms(w) > 0)
    fleet_calm(f);
}

static void run(struct world *w, bool needs_replicas, bool is_guarded, bool is_one_way)
{
  struct test_set_options set = { .min_replicas_to_write = needs_replicas ? 1 : 0,
                                  .min_replicas_max_lag_s = needs_replicas ? 1 : 0 };
  struct test_sentinels_options sentinels = { .down_after_ms = needs_replicas ? 4000 : 1000 };
  struct split s = { .kept = world_lock(w, 'm', "kept", 0),
                     .busy = world_lock(w, 'm', "busy", 0), .is_one_way = is_one_way };

  s.fleet = fleet_sentinels(w, &set, &sentinels, is_guarded ? "?quarantine=4200ms" : "");
  world_demand(w, "promoted in the larger half", 1);
  world_demand(w, "granted in the larger half", 1);
  s.near = hire_side(&s, FLEET_NEAR);
  s.far = hire_side(&s, FLEET_FAR);
  while (world_goes_on(w))
    split_once(&s);
  /* An old primary that refuses its clients is theirs until the sentinels demote it. */
  world_settle_how(w, 0, 40000);
}

static void run_plain(struct world *w, const struct scale *scale)
{
  (void)scale;
  run(w, false, false, false);
}

static void run_replicas(struct world *w, const struct scale *scale)
{
  (void)scale;
  run(w, true, false, false);
}

static void run_strong(struct world *w, const struct scale *scale)
{
  (void)scale;
  run(w, true, true, false);
}

static void run_one_way(struct world *w, const struct scale *scale)
{
  (void)scale;
  run(w, true, true, true);
}

const struct scenario f14_plain = {
  .id = "F14", .name = "both_halves_of_a_plain_set_grant_and_fences_tell_them_apart",
  .run = run_plain, .expects = { .expects_overlap = true, .has_two_issuers = true },
  .skip_without = "iptables",
};

const struct scenario f14_replicas = {
  .id = "F14", .name = "a_primary_that_needs_replicas_stops_but_the_other_forgets",
  .run = run_replicas, .expects = { .allows_overlap = true }, .skip_without = "iptables",
};

const struct scenario f14_strong = {
  .id = "F14", .name = "a_guarded_set_that_needs_replicas_never_has_two_owners_when_split",
  .run = run_strong, .skip_without = "iptables",
};

const struct scenario f15_one_way = {
  .id = "F15", .name = "a_guarded_set_split_in_one_direction_never_has_two_owners",
  .run = run_one_way, .skip_without = "iptables",
};

/* SPDX-License-Identifier: MIT */
/* test/fault/f12_failover.c - F12 and F13: kill -9 of the primary of a set that sentinels watch.
 * F12: as it is; what it had answered has mostly crossed. F13: its replicas had not heard of it
 * for up to two seconds, so what it granted meanwhile is lost for sure. Who held is stopped when
 * it dies: a lease that was forgotten is then a second owner, unless it is held back. */
#include "fleet.h"

#include <stdio.h>

enum { TTL_MS = 4000, PROMOTION_MS = 20000, DEMOTION_MS = 30000, MEMBERS = 7 };
/* Names enough that most are free when replication stops: what is then granted is news. */
enum { NAMES = 15, WORKERS = 7, STOPPED = 3 };

struct failover {
  struct fleet *fleet;
  int first;
  bool is_black;               /* replication stops before the primary dies */
};

static void hire(struct failover *s, int min_replicas)
{
  struct plan plan = PLAN_INIT;

  plan.ttl_ms = TTL_MS;
  plan.wait_ms = 500;                  /* others are drawn soon */
  plan.connect_timeout_ms = 15000;
  plan.min_replicas = min_replicas;
  plan.hold_us = 60000;
  plan.think_us = 60000;
  s->first = fleet_hire(s->fleet, FLEET_NEAR, &plan, WORKERS);
}

/* The primary goes on granting; nothing of it gets across. */
static void blacken(struct failover *s, int primary)
{
  struct world *w = s->fleet->world;

  fleet_cut(s->fleet, 1U << primary, MEMBERS & ~(1U << primary));
  if (!world_wait_for_grants(w, 10, 3000))
    world_fail(w, "a primary without its replicas grants nothing");
  world_pass_ms(w, world_between(w, 0, 700));
}

static void restart(struct failover *s, int old)
{
  struct fleet *f = s->fleet;

  fleet_heal(f);
  test_server_restart(test_set_member(f->set, old), false);
  if (!test_wait_for_role(test_set_member(f->set, old), TEST_ROLE_REPLICA, DEMOTION_MS)
      || !test_sentinels_wait_settled(f->watch, DEMOTION_MS))
    world_fail(f->world, "the old primary is not demoted within %d ms", DEMOTION_MS);
  if (!world_wait_for_grants(f->world, 20, 15000))
    world_fail(f->world, "no work is done after the old primary came back");
  fleet_calm(f);
}

static void kill_once(struct failover *s)
{
  struct fleet *f = s->fleet;
  struct world *w = f->world;
  int old = test_set_primary(f->set), stopped[STOPPED];
  uint64_t lost = world_losses(w);
  int64_t killed_ns;

  fleet_fault(f, FAULT_NETWORK);
  if (s->is_black)
    blacken(s, old);
  for (int i = 0; i < STOPPED; i++)
    stopped[i] = world_stop_holder(w, -1, 3000);
  test_server_kill9(test_set_member(f->set, old));
  killed_ns = history_now_ns();
  if (stopped[0] >= 0)
    world_mark(w, "killed under a stopped holder");
  if (fleet_wait_promoted(f, old, PROMOTION_MS) < 0)
    world_fail(w, "nobody was promoted within %d ms", PROMOTION_MS);
  fleet_value(f, "promoted_after_ms", (history_now_ns() - killed_ns) / 1000000);
  if (fleet_time_grant(f, s->first, WORKERS, "promotion_to_grant_ms", 15000))
    world_mark(w, "granted after a promotion");
  world_pass_ms(w, 1000);
  for (int i = 0; i < STOPPED; i++)
    if (stopped[i] >= 0)
      world_continue(w, stopped[i]);
  if (!world_wait_for_grants(w, 10, 15000))
    world_fail(w, "no work is done after a promotion");
  world_pass_ms(w, 500);                 /* who was stopped is told */
  fleet_value(f, "leases_lost", (int64_t)(world_losses(w) - lost));
  world_count(w, "failovers", 1);
  if (world_left_ms(w) > 0)
    restart(s, old);
}

static void run(struct world *w, bool is_black, bool is_guarded, int min_replicas)
{
  struct test_set_options set = { .min_replicas_to_write = min_replicas,
                                  .min_replicas_max_lag_s = 3 };
  struct test_sentinels_options sentinels = { .down_after_ms = 500 };
  struct failover s = { .is_black = is_black };

  for (int i = 0; i < NAMES; i++) {
    char name[16];

    (void)snprintf(name, sizeof(name), "kept%d", i);
    (void)world_lock(w, 'm', name, 0);
  }
  s.fleet = fleet_sentinels(w, &set, &sentinels, is_guarded ? "?quarantine=5200ms" : "");
  world_demand(w, "killed under a stopped holder", 1);
  world_demand(w, "granted after a promotion", 1);
  hire(&s, min_replicas);
  while (world_goes_on(w))
    kill_once(&s);
  world_settle_how(w, 0, 20000);
}

static void run_killed(struct world *w, const struct scale *scale)
{
  (void)scale;
  run(w, false, false, 0);
}

static void run_killed_strong(struct world *w, const struct scale *scale)
{
  (void)scale;
  run(w, false, true, 1);
}

static void run_black(struct world *w, const struct scale *scale)
{
  (void)scale;
  run(w, true, false, 0);
}

static void run_black_guarded(struct world *w, const struct scale *scale)
{
  (void)scale;
  run(w, true, true, 0);
}

const struct scenario f12_killed = {
  .id = "F12", .name = "sentinels_promote_a_replica_and_work_goes_on",
  .run = run_killed, .expects = { .allows_overlap = true }, .skip_without = "iptables",
};

const struct scenario f12_killed_strong = {
  .id = "F12", .name = "a_lease_that_a_replica_has_survives_its_primary",
  .run = run_killed_strong, .skip_without = "iptables",
};

const struct scenario f13_black = {
  .id = "F13", .name = "a_replica_that_lags_forgets_leases_and_fences_tell_them_apart",
  .run = run_black, .expects = { .expects_overlap = true }, .skip_without = "iptables",
};

const struct scenario f13_black_guarded = {
  .id = "F13", .name = "what_a_replica_that_lags_forgot_is_held_back_by_the_guard",
  .run = run_black_guarded, .skip_without = "iptables",
};

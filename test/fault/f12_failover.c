/* SPDX-License-Identifier: MIT */
/* test/fault/f12_failover.c - F12, F13, F17 and F18: kill -9 of the primary of a set that
 * sentinels watch. F12: as it is; what it had answered has mostly crossed. F13: its replicas had
 * not heard of it for up to two seconds, so what it granted meanwhile is lost for sure. F17: the
 * sentinels' clocks have just been set, so that they look on for 30 s and do nothing. F18: each
 * member has a clock of its own. Who held is stopped when it dies: a lease that was forgotten, or
 * is over by the successor's clock, is then a second owner, unless it is held back. */
#include "fleet.h"

#include <stdio.h>
#include <string.h>

enum { TTL_MS = 4000, PROMOTION_MS = 20000, TILT_MS = 30000, SKEW_MS = 40000,
       DEMOTION_MS = 30000, MEMBERS = 7 };
/* Names enough that most are free when replication stops: what is then granted is news. */
enum { NAMES = 15, WORKERS = 7, STOPPED = 3 };

struct failover {
  struct fleet *fleet;
  int first;
  bool is_black;               /* replication stops before the primary dies */
  bool is_stepped;             /* the sentinels' clocks are set before */
  bool is_skewed;              /* replicas' clocks are 40 s ahead and behind */
  int64_t shift_ms;            /* of the sentinels */
  uint32_t held_at_cut;        /* bit i: lock i may be in a lease that the replicas have */
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

  s->held_at_cut = world_held(w);
  fleet_cut(s->fleet, 1U << primary, MEMBERS & ~(1U << primary));
  s->held_at_cut |= world_held(w);
  if (!world_wait_for_grants(w, 10, 3000))
    world_fail(w, "a primary without its replicas grants nothing");
  world_pass_ms(w, world_between(w, 0, 700));
}

/* ---- F17 ---- */

static bool is_tilted(const struct test_server *sentinel)
{
  return strstr(test_server_command(sentinel, "INFO sentinel"), "sentinel_tilt:1") != NULL;
}

static bool all_are_tilted(struct world *w, void *data)
{
  const struct test_sentinels *t = data;

  (void)w;
  for (int i = 0; i < test_sentinels_count(t); i++)
    if (!is_tilted(test_sentinel(t, i)))
      return false;
  return true;
}

/* By 5 s forward, or by 3 s back; never behind the machine's. */
static void step_sentinels(struct failover *s)
{
  const struct fleet *f = s->fleet;

  s->shift_ms += s->shift_ms < 4000 ? 5000 : -3000;
  for (int i = 0; i < test_sentinels_count(f->watch); i++)
    test_server_clock_shift(test_sentinel(f->watch, i), s->shift_ms);
  if (world_until(f->world, 5000, all_are_tilted, f->watch))
    world_mark(f->world, "the primary died under sentinels that only look on");
  else
    world_fail(f->world, "the sentinels do not see that their clocks were set");
}

/* ---- F18 ---- */

static void skew_replicas(const struct failover *s)
{
  for (int i = 1; i < test_set_count(s->fleet->set); i++)
    test_server_clock_shift(test_set_member(s->fleet->set, i), i % 2 != 0 ? SKEW_MS : -SKEW_MS);
}

/* ---- one failover ---- */

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
  int old = test_set_primary(f->set);
  int limit_ms = PROMOTION_MS + (s->is_stepped ? TILT_MS : 0);
  int stopped[STOPPED], stopped_count;
  uint64_t lost = world_losses(w);
  int64_t killed_ns;

  fleet_fault(f, FAULT_NETWORK);
  if (s->is_black)
    blacken(s, old);
  if (s->is_stepped)
    step_sentinels(s);
  /* Of locks that the replicas do not keep from others: the successor grants them again. */
  stopped_count = world_stop_holders(w, s->held_at_cut, STOPPED, 3000, stopped);
  test_server_kill9(test_set_member(f->set, old));
  killed_ns = history_now_ns();
  if (stopped_count > 0)
    world_mark(w, "killed under a stopped holder");
  if (fleet_wait_promoted(f, old, limit_ms) < 0)
    world_fail(w, "nobody was promoted within %d ms", limit_ms);
  fleet_value(f, "promoted_after_ms", (history_now_ns() - killed_ns) / 1000000);
  if (fleet_time_grant(f, s->first, WORKERS, "promotion_to_grant_ms", 15000))
    world_mark(w, "granted after a promotion");
  world_pass_ms(w, 1500);                /* every name is drawn by a worker */
  for (int i = 0; i < stopped_count; i++)
    world_continue(w, stopped[i]);
  if (!world_wait_for_grants(w, 10, 15000))
    world_fail(w, "no work is done after a promotion");
  world_pass_ms(w, 500);                 /* the stopped workers learn of their loss */
  fleet_value(f, "leases_lost", (int64_t)(world_losses(w) - lost));
  world_count(w, "failovers", 1);
  if (world_left_ms(w) > 0)
    restart(s, old);
}

static void run_as(struct world *w, struct failover s, bool is_guarded, int min_replicas)
{
  static const struct test_server_options with_clock = { .has_clock = true };
  struct test_set_options set = { .min_replicas_to_write = min_replicas,
                                  .server = s.is_skewed ? &with_clock : NULL,
                                  .min_replicas_max_lag_s = 3 };
  /* Ten times that, and no replica that has been without its primary for so long is promoted:
   * with less than TILT takes, none ever. */
  struct test_sentinels_options sentinels = { .down_after_ms = s.is_stepped ? 4000 : 500,
                                              .has_clock = s.is_stepped };

  for (int i = 0; i < NAMES; i++) {
    char name[16];

    (void)snprintf(name, sizeof(name), "kept%d", i);
    (void)world_lock(w, 'm', name, 0);
  }
  s.fleet = fleet_sentinels(w, &set, &sentinels, is_guarded ? "?quarantine=5200ms" : "");
  if (s.is_skewed)
    skew_replicas(&s);
  world_demand(w, "killed under a stopped holder", 1);
  world_demand(w, "granted after a promotion", 1);
  if (s.is_stepped)
    world_demand(w, "the primary died under sentinels that only look on", 1);
  hire(&s, min_replicas);
  while (world_goes_on(w))
    kill_once(&s);
  world_settle_how(w, 0, 20000);
}

static void run_killed(struct world *w, const struct scale *scale)
{
  (void)scale;
  run_as(w, (struct failover){ 0 }, false, 0);
}

static void run_killed_strong(struct world *w, const struct scale *scale)
{
  (void)scale;
  run_as(w, (struct failover){ 0 }, true, 1);
}

static void run_stepped(struct world *w, const struct scale *scale)
{
  (void)scale;
  run_as(w, (struct failover){ .is_stepped = true }, true, 1);
}

static void run_skewed(struct world *w, const struct scale *scale)
{
  (void)scale;
  run_as(w, (struct failover){ .is_skewed = true }, false, 0);
}

static void run_skewed_strong(struct world *w, const struct scale *scale)
{
  (void)scale;
  run_as(w, (struct failover){ .is_skewed = true }, true, 1);
}

static void run_black(struct world *w, const struct scale *scale)
{
  (void)scale;
  run_as(w, (struct failover){ .is_black = true }, false, 0);
}

static void run_black_guarded(struct world *w, const struct scale *scale)
{
  (void)scale;
  run_as(w, (struct failover){ .is_black = true }, true, 0);
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

const struct scenario f17_stepped = {
  .id = "F17", .name = "sentinels_whose_clocks_were_set_promote_half_a_minute_later",
  .run = run_stepped, .skip_without = "iptables",
};

/* A grant that is lost, and a successor whose clock is further behind than the outage was long:
 * no server knows of a fence that the next one would have to exceed. */
const struct scenario f18_skewed = {
  .id = "F18", .name = "a_replica_with_a_clock_of_its_own_is_promoted_and_work_goes_on",
  .run = run_skewed,
  .expects = { .allows_overlap = true, .allows_fence_reuse = true,
               .without = CHECK_BIT(CHECK_LINEAR) },
  .skip_without = "iptables",
};

const struct scenario f18_skewed_strong = {
  .id = "F18", .name = "a_lease_outlives_the_promotion_of_a_replica_with_a_clock_of_its_own",
  .run = run_skewed_strong, .skip_without = "iptables",
};

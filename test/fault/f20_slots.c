/* SPDX-License-Identifier: MIT */
/* test/fault/f20_slots.c - F20, F21, F22: slots of a cluster go from member to member while
 * their locks are in use: key by key, back and forth, half way and no further, with a target
 * that dies on the way, or whole slots at once. Nobody loses a lease and nobody gets a second
 * one; who asks for several names at once, some of which are under way, gets them in the end. */
#include "fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TTL_MS = 3000, NAMES = 6, TARGET = 1, SOURCE = 0 };

struct cluster {
  struct fleet *fleet;
  int slots[NAMES + 1];        /* the last one: of two names with one tag */
  int locks;
};

/* Names on two members; two of them share a slot by their tag. */
static void make_locks(struct cluster *s)
{
  struct world *w = s->fleet->world;
  char name[64], tagged[80];

  for (int i = 0; i < NAMES; i++) {
    char prefix[16];

    (void)snprintf(prefix, sizeof(prefix), "slot%d", i);
    test_cluster_name_on(s->fleet->cluster, i % 2 == 0 ? SOURCE : 2, prefix, name,
                         sizeof(name));
    s->slots[i] = test_cluster_slot_of(s->fleet->cluster, name);
    (void)world_lock(w, 'm', name, 0);
  }
  test_cluster_name_on(s->fleet->cluster, SOURCE, "tag", name, sizeof(name));
  s->slots[NAMES] = test_cluster_slot_of(s->fleet->cluster, name);
  (void)snprintf(tagged, sizeof(tagged), "one{%s}", name);
  (void)world_lock(w, 'm', tagged, 0);
  (void)snprintf(tagged, sizeof(tagged), "two{%s}", name);
  (void)world_lock(w, 'm', tagged, 0);
  s->locks = NAMES + 2;
}

static void hire(struct cluster *s, int many_percent)
{
  struct plan plan = PLAN_INIT;

  plan.ttl_ms = TTL_MS;
  plan.connect_timeout_ms = 10000;
  plan.hold_us = 2000;
  plan.hold_us_max = 1500000;          /* some are renewed on the way */
  plan.think_us = 3000;
  plan.try_percent = 10;
  plan.async_percent = 15;
  plan.nested_percent = 5;
  (void)fleet_hire(s->fleet, -1, &plan, 3);
  plan.locks = 3U << NAMES;            /* one slot: one script */
  plan.many_percent = many_percent;
  plan.hold_us_max = 300000;
  (void)fleet_hire(s->fleet, -1, &plan, 2);
  plan.locks = 3U;                     /* two slots: one after the other */
  (void)fleet_hire(s->fleet, -1, &plan, 1);
}

static struct cluster begin(struct world *w, int replicas, int many_percent)
{
  struct test_cluster_options options = { .replicas = replicas, .node_timeout_ms = 1500 };
  struct cluster s = { .fleet = fleet_cluster(w, &options, 0, "") };

  make_locks(&s);
  hire(&s, many_percent);
  world_settle_how(w, 0, 20000);
  return s;
}

static void expect_work(struct cluster *s, const char *when)
{
  if (!world_wait_for_grants(s->fleet->world, 20, 8000))
    world_fail(s->fleet->world, "no work is done %s", when);
}

/* How often its members answered so since they started. */
static int64_t answered(const struct test_cluster *c, const char *error)
{
  char field[64];
  int64_t sum = 0;

  (void)snprintf(field, sizeof(field), "errorstat_%s:count=", error);
  for (int i = 0; i < test_cluster_count(c); i++) {
    const char *text = test_server_command(test_cluster_member(c, i), "INFO errorstats");
    const char *at = strstr(text, field);

    sum += at == NULL ? 0 : strtoll(at + strlen(field), NULL, 10);
  }
  return sum;
}

/* Clients met what they were to meet, and did not ask without end; what they saw of it is for
 * the report. */
static void count_answers(struct cluster *s)
{
  struct world *w = s->fleet->world;
  int64_t most = 5 * (int64_t)world_grants(w) + 1000;
  static const char *const errors[] = { "ASK", "MOVED", "TRYAGAIN" };

  for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
    int64_t times = answered(s->fleet->cluster, errors[i]);

    world_mark_times(w, errors[i], times);
    world_count(w, errors[i], times);
    if (times > most)
      world_fail(w, "%lld times %s, where %lld would do", (long long)times, errors[i],
                 (long long)most);
  }
}

/* ---- F20 ---- */

/* With so much time between the steps that clients meet each of them. */
static void move_slowly(struct cluster *s, int slot, int to)
{
  struct world *w = s->fleet->world;
  const struct test_cluster *c = s->fleet->cluster;

  if (test_cluster_owner(c, slot) == to)
    return;
  test_cluster_move_begin(c, slot, to);
  world_pass_ms(w, world_between(w, 0, 40));
  for (int i = 0; i < 6 && test_cluster_move_keys(c, slot, to, 1) > 0; i++)
    world_pass_ms(w, world_between(w, 0, 40));
  test_cluster_move_finish(c, slot, to);
  world_mark(w, "slots moved");
}

static void run_reshard(struct world *w, const struct scale *scale)
{
  struct cluster s = begin(w, TEST_NONE, 60);
  uint64_t lost;

  (void)scale;
  world_demand(w, "slots moved", 2 * (NAMES + 1));
  world_demand_overlap(w, 100);
  lost = world_losses(w);
  for (int round = 0; round < 2 || world_goes_on(w); round++) {
    fleet_fault(s.fleet, FAULT_ADMIN);
    for (int i = 0; i <= NAMES; i++)
      move_slowly(&s, s.slots[i], round % 2 == 0 ? TARGET : SOURCE);
    expect_work(&s, "while slots move");
    fleet_calm(s.fleet);
  }
  if (world_losses(w) != lost)
    world_fail(w, "L9: %llu leases were lost to slots that moved",
               (unsigned long long)(world_losses(w) - lost));
  world_demand(w, "MOVED", 1);
  world_demand(w, "ASK", 1);
  count_answers(&s);
}

/* ---- F21 ---- */

/* Begun, some keys are over there, and nothing goes on for a while. Then it is finished: to call
 * it off would make a second owner of each key that is over there, as its first member serves
 * the slot without them from that moment on. */
static void leave_half(struct cluster *s, int to, int for_ms)
{
  struct world *w = s->fleet->world;
  const struct test_cluster *c = s->fleet->cluster;

  fleet_fault(s->fleet, FAULT_ADMIN);
  for (int i = 0; i <= NAMES; i += 2) {
    test_cluster_move_begin(c, s->slots[i], to);
    (void)test_cluster_move_keys(c, s->slots[i], to, 1);
    world_mark(w, "slots left half moved");
  }
  for (int passed = 0; passed < for_ms; passed += 500) {
    world_pass_ms(w, 500);
    expect_work(s, "while slots are half moved");
  }
  for (int i = 0; i <= NAMES; i += 2)
    test_cluster_move_finish(c, s->slots[i], to);
  expect_work(s, "after slots were half moved");
  fleet_calm(s->fleet);
}

static void run_half(struct world *w, const struct scale *scale)
{
  struct cluster s = begin(w, TEST_NONE, 60);
  uint64_t lost;
  int to = TARGET;

  world_demand(w, "slots left half moved", 1);
  world_demand_overlap(w, 50);
  lost = world_losses(w);
  do {
    leave_half(&s, to, scale->seconds > 60 ? 20000 : (int)(scale->seconds * 300));
    to = to == TARGET ? SOURCE : TARGET;
  } while (world_goes_on(w) && world_left_ms(w) > 0);
  if (world_losses(w) != lost)
    world_fail(w, "L9: %llu leases were lost to slots that were half moved",
               (unsigned long long)(world_losses(w) - lost));
  world_demand(w, "ASK", 1);
  count_answers(&s);
}

/* The target dies with what it has got already, and its replica takes over: what it knows of
 * the slot is what had crossed. */
static void kill_target(struct cluster *s)
{
  struct world *w = s->fleet->world;
  const struct test_cluster *c = s->fleet->cluster;
  int slot = s->slots[0], replica = test_cluster_replica_of(c, TARGET);

  fleet_fault(s->fleet, FAULT_OTHER);
  test_cluster_move_begin(c, slot, TARGET);
  (void)test_cluster_move_keys(c, slot, TARGET, 1);
  world_pass_ms(w, world_between(w, 0, 300));
  test_server_kill9(test_cluster_member(c, TARGET));
  world_mark(w, "targets killed half way");
  /* Slots that are not under way are served all the time. */
  world_pass_ms(w, 500);
  expect_work(s, "while the target of a move is dead");
  if (!test_cluster_wait_for_primary(c, replica, 20000))
    world_fail(w, "the replica of a dead target is not promoted");
  test_server_restart(test_cluster_member(c, TARGET), false);
  if (!test_cluster_wait_ok(c, 20000))
    world_fail(w, "the cluster is not whole again");
  /* What an administrator does who finds a slot open: it is closed where it was. */
  (void)test_server_command(test_cluster_member(c, test_cluster_owner(c, slot)),
                            "CLUSTER SETSLOT %d STABLE", slot);
  (void)test_server_command(test_cluster_member(c, replica), "CLUSTER SETSLOT %d STABLE", slot);
  expect_work(s, "after the target of a move died");
}

static void run_target(struct world *w, const struct scale *scale)
{
  struct cluster s = begin(w, 1, 30);

  (void)scale;
  world_demand(w, "targets killed half way", 1);
  kill_target(&s);
}

/* ---- F22 ---- */

static void run_atomic(struct world *w, const struct scale *scale)
{
  struct cluster s = begin(w, TEST_NONE, 60);
  const struct test_cluster *c = s.fleet->cluster;
  uint64_t lost = world_losses(w);

  (void)scale;
  if (!test_cluster_can_move_atomically(c)) {
    world_say(w, "%s moves no slots at once", test_server_version(test_cluster_member(c, 0)));
    return;
  }
  world_demand(w, "slots moved at once", NAMES + 1);
  for (int round = 0; round < 2 || world_goes_on(w); round++) {
    int to = round % 2 == 0 ? TARGET : SOURCE;

    fleet_fault(s.fleet, FAULT_ADMIN);
    for (int i = 0; i <= NAMES; i++)
      if (test_cluster_owner(c, s.slots[i]) != to) {
        if (!test_cluster_move_atomically(c, s.slots[i], s.slots[i], to, 20000))
          world_fail(w, "slot %d does not arrive", s.slots[i]);
        world_mark(w, "slots moved at once");
      }
    expect_work(&s, "while slots move at once");
    fleet_calm(s.fleet);
  }
  if (world_losses(w) != lost)
    world_fail(w, "L9: %llu leases were lost to slots that moved at once",
               (unsigned long long)(world_losses(w) - lost));
}

const struct scenario f20_reshard = {
  .id = "F20", .name = "slots_that_go_back_and_forth_cost_no_lease", .run = run_reshard,
};

const struct scenario f21_half = {
  .id = "F21", .name = "slots_left_half_moved_serve_old_and_new_names", .run = run_half,
};

const struct scenario f21_target = {
  .id = "F21", .name = "a_target_that_dies_half_way_stops_only_what_was_under_way",
  .run = run_target, .expects = { .allows_overlap = true },
};

const struct scenario f22_atomic = {
  .id = "F22", .name = "slots_that_move_at_once_cost_no_lease", .run = run_atomic,
};

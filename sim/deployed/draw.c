/* SPDX-License-Identifier: MIT */
/* What a world of several servers is, and what happens in it. */
#include "deployed.h"

#include <stdio.h>
#include <string.h>

#include "topo/topo.h"
#include "world/world.h"

#define ALL_IS_PROMISED (PROMISE_S1 | PROMISE_S2 | PROMISE_L6)
#define BUT_S1 (PROMISE_S2 | PROMISE_L6)

#define FIVE .servers = 5
#define SENTINELS .servers = 1, .sentinels = 3
#define NODES .nodes = 3

const kind kinds[] = {
  { "sentinel", "3 sentinels, 2 replicas; era guard, min-replicas-to-write 1",
    SENTINELS, .replicas = 2, .min_replicas = 1, .is_guarded = true,
    .promises = ALL_IS_PROMISED },
  { "pair", "3 sentinels, 1 replica; era guard, min-replicas-to-write 1",
    SENTINELS, .replicas = 1, .min_replicas = 1, .is_guarded = true,
    .promises = ALL_IS_PROMISED },
  /* A primary and its acknowledging replicas must be more than half of all: else there may be
   * two such parties at a time. */
  { "sentinel-three", "3 sentinels, 3 replicas; era guard, min-replicas-to-write 2",
    SENTINELS, .replicas = 3, .min_replicas = 2, .is_guarded = true,
    .promises = ALL_IS_PROMISED },
  { "sentinel-one", "3 sentinels, 3 replicas; era guard, min-replicas-to-write 1",
    SENTINELS, .replicas = 3, .min_replicas = 1, .is_guarded = true, .promises = BUT_S1 },
  { "sentinel-planned", "as sentinel, and administrators promote by SENTINEL FAILOVER",
    SENTINELS, .replicas = 2, .min_replicas = 1, .is_guarded = true, .is_planned = true,
    .promises = BUT_S1 },
  { "sentinel-bare", "3 sentinels, 2 replicas; no guard",
    SENTINELS, .replicas = 2, .is_planned = true, .promises = BUT_S1 },
  { "cluster", "3 primaries, a replica each; era guard, min-replicas-to-write 1; slots move",
    NODES, .replicas = 1, .min_replicas = 1, .is_guarded = true, .promises = ALL_IS_PROMISED },
  { "cluster-bare", "3 primaries, a replica each; no guard; slots move, promotions by hand",
    NODES, .replicas = 1, .is_planned = true, .promises = BUT_S1 },
  { "cluster-slots", "3 primaries; slots move, nobody fails", NODES,
    .promises = ALL_IS_PROMISED },
  { "quorum", "5 servers; two at a time fail, come back empty; quarantine", FIVE,
    .is_guarded = true, .promises = ALL_IS_PROMISED },
  { "quorum-bare", "5 servers; two at a time fail and come back empty; no quarantine", FIVE,
    .promises = BUT_S1 },
  /* Other formats have no era guard: what a server forgets is forgotten. */
  { "quorum-redisson", "5 servers, locks as Redisson's; two at a time fail, with their data",
    FIVE, .keeps_data = true, .promises = ALL_IS_PROMISED, .dialect = "redisson" },
  { "quorum-redisson-peers", "the same, with two Java programs that take RedLocks",
    FIVE, .keeps_data = true, .promises = ALL_IS_PROMISED, .dialect = "redisson",
    .has_peers = true },
  { "quorum-redisson-bare", "the same, and they may come back empty", FIVE,
    .promises = BUT_S1, .dialect = "redisson" },
  { "quorum-plain", "5 servers, plain locks; two at a time fail, with their data", FIVE,
    .keeps_data = true, .promises = ALL_IS_PROMISED, .dialect = "plain" },
  { "quorum-plain-bare", "the same, and they may come back empty", FIVE, .promises = BUT_S1,
    .dialect = "plain" },
  { "cluster-slots-redisson", "3 primaries, locks as Redisson's; slots move, nobody fails",
    NODES, .promises = ALL_IS_PROMISED, .dialect = "redisson" },
  { "cluster-slots-plain", "3 primaries, plain locks; slots move, nobody fails", NODES,
    .promises = ALL_IS_PROMISED, .dialect = "plain" },
  { "sentinel-bare-redisson", "3 sentinels, 2 replicas, locks as Redisson's; no guard",
    SENTINELS, .replicas = 2, .is_planned = true, .promises = BUT_S1, .dialect = "redisson" },
  { .name = NULL }
};

static int64_t draw(random_source *r, int64_t low, int64_t high)
{
  return low + (int64_t)random_below(r, (uint64_t)(high - low) + 1);
}

/* ---- where it is ---- */

static void add_url(plan *p, const char *form, const char *what, int number)
{
  size_t used = strlen(p->url);

  (void)snprintf(p->url + used, sizeof(p->url) - used, form, what, number);
}

static void add_text(plan *p, const char *first, const char *second)
{
  size_t used = strlen(p->url);

  (void)snprintf(p->url + used, sizeof(p->url) - used, "%s%s", first, second);
}

/* What is said of the client stands behind the first. */
static void add_options(plan *p)
{
  const char *dialect = p->kind->dialect;

  if (p->quarantine_ms > 0)
    add_url(p, "?quarantine=%s%dms", "", (int)p->quarantine_ms);
  else if (dialect != NULL)
    add_text(p, "?dialect=", dialect);
}

static void url_write(plan *p)
{
  const kind *k = p->kind;

  if (k->servers > 1) {
    for (int i = 1; i <= k->servers; i++) {
      add_url(p, "%sredis://s%d", i > 1 ? " " : "", i);
      if (i == 1)
        add_options(p);
    }
    return;
  }
  if (k->nodes > 0)
    add_url(p, "redis+cluster://%s1,s2,s%d", "s", k->nodes);
  else
    add_url(p, "redis+sentinel://%s1,sentinel2,sentinel%d/service/0", "sentinel", k->sentinels);
  add_options(p);
}

/* ---- what happens ---- */

static dibs_sim_fault *fault(plan *p, random_source *r, dibs_sim_fault_kind what, int64_t ms)
{
  dibs_sim_fault *f;

  if (p->fault_count == FAULTS_MAX)
    return &p->faults[0];
  f = &p->faults[p->fault_count++];
  *f = (dibs_sim_fault){ .kind = what, .ms = ms };
  f->at_us = draw(r, 1000, p->run_ms) * 1000;
  return f;
}

static int data_hosts(const kind *k)
{
  int primaries = k->nodes > 0 ? k->nodes : k->servers;

  return primaries * (1 + k->replicas);
}

static void draw_of_programs(plan *p, random_source *r)
{
  static const dibs_sim_fault_kind some[] = {
    DIBS_SIM_PAUSE, DIBS_SIM_CUT, DIBS_SIM_CUT_LATE, DIBS_SIM_CUT_REPLY, DIBS_SIM_HOLD,
    DIBS_SIM_BLACK_HOLE
  };

  for (int64_t n = draw(r, 0, 5); n > 0; n--) {
    dibs_sim_fault *f = fault(p, r, some[random_below(r, 6)], draw(r, 10, 3000));

    f->process = (int)draw(r, 1, PROGRAMS);
  }
}

/* A server that is part of a replicated set: everything that makes others promote. */
static void draw_of_set(plan *p, random_source *r)
{
  int hosts = data_hosts(p->kind), all = hosts + p->kind->sentinels;
  int64_t long_ms = p->options.down_after_ms * 3;

  for (int64_t n = draw(r, 1, 6); n > 0; n--) {
    dibs_sim_fault *f;

    switch (random_below(r, 7)) {
    case 0: f = fault(p, r, DIBS_SIM_SERVER_PAUSE, draw(r, 100, long_ms)); break;
    case 1: f = fault(p, r, DIBS_SIM_SERVER_RESTART, draw(r, 10, long_ms)); break;
    case 2: f = fault(p, r, DIBS_SIM_SERVER_LAG, draw(r, 0, 900)); break;
    case 3:                              /* the side of the programs may be either */
      f = fault(p, r, DIBS_SIM_SERVER_PART, draw(r, 100, long_ms));
      f->other_server = -1;
      break;
    case 4:
      f = fault(p, r, DIBS_SIM_SERVER_PART, draw(r, 100, long_ms));
      f->other_server = (int)draw(r, 1, all);
      break;
    default:                             /* split brain: programs reach it, servers do not */
      f = fault(p, r, DIBS_SIM_SERVER_PART, draw(r, long_ms / 3, long_ms));
      f->other_server = -2;
      break;
    }
    f->server = random_below(r, 2) == 0 ? 1 : (int)draw(r, 1, hosts);
    if (f->other_server == f->server)
      f->other_server = -2;
  }
  for (int64_t n = p->kind->is_planned ? draw(r, 1, 3) : 0; n > 0; n--)
    fault(p, r, DIBS_SIM_SERVER_PROMOTE, 0)->server = (int)draw(r, 1, hosts);
}

/* What the replicas lack when the primary fails a moment after they were cut off from it. */
static void draw_gap(plan *p, random_source *r)
{
  int64_t at_us = (p->quarantine_ms + draw(r, 0, p->run_ms)) * 1000;
  int hosts = data_hosts(p->kind), primaries = p->kind->nodes > 0 ? p->kind->nodes : 1;
  int64_t long_ms = p->options.down_after_ms * 3;
  dibs_sim_fault *f;

  p->run_ms += p->quarantine_ms + long_ms;
  for (int b = primaries + 1; b <= hosts; b += primaries) {
    f = fault(p, r, DIBS_SIM_SERVER_PART, long_ms);
    f->at_us = at_us;
    f->server = 1;
    f->other_server = b;
  }
  f = fault(p, r, DIBS_SIM_SERVER_RESTART, long_ms);
  f->at_us = at_us + draw(r, 200, 2500) * 1000;
  f->server = 1;
}

/* A primary and one of its replicas cut off from all others together, with programs on both
 * sides: what one replica that acknowledges does not protect from. */
static void draw_halves(plan *p, random_source *r)
{
  int64_t ms = p->options.down_after_ms + p->quarantine_ms + draw(r, 2000, 12000);
  int64_t at_us = (p->quarantine_ms + draw(r, 500, 5000)) * 1000;
  int hosts = data_hosts(p->kind), all = hosts + p->kind->sentinels;

  p->run_ms = at_us / 1000 + ms;
  for (int a = 1; a <= 2; a++)
    for (int b = 3; b <= all; b++) {
      dibs_sim_fault *f = fault(p, r, DIBS_SIM_SERVER_PART, ms);

      f->at_us = at_us;
      f->server = a;
      f->other_server = b;
    }
  /* Half of the programs, too. */
  for (int program = 1; program <= PROGRAMS; program++)
    for (int b = 1; b <= all; b++) {
      dibs_sim_fault *f;

      if ((b <= 2) == (program <= PROGRAMS / 2))
        continue;
      f = fault(p, r, DIBS_SIM_SERVER_PART, ms);
      f->at_us = at_us;
      f->server = b;
      f->process = program;
    }
}

static void draw_of_slots(plan *p, random_source *r)
{
  static const char *const names[NAMES] = { "a", "b", "c" };

  for (int64_t n = draw(r, 1, 6); n > 0; n--) {
    dibs_sim_fault *f = fault(p, r, DIBS_SIM_SERVER_SLOT, draw(r, 1, 2000));
    const char *name = names[random_below(r, (uint64_t)p->names)];

    f->server = (int)draw(r, 1, p->kind->nodes);
    f->slot = slot_of_key(name, 1);
  }
}

/* A program that reaches only two of five, and is stopped before it can tell what follows: what
 * it believes by then is all that it goes by. */
static void draw_minority(plan *p, random_source *r)
{
  int64_t at_us = draw(r, 500, p->run_ms) * 1000;
  int first = (int)draw(r, 1, 5), program = (int)draw(r, 1, PROGRAMS);
  dibs_sim_fault *f;

  if (random_below(r, 2) == 0)
    return;
  for (int i = 0; i < 3; i++) {
    f = fault(p, r, DIBS_SIM_SERVER_PART, 2 * p->ttl_ms + 1000);
    f->at_us = at_us;
    f->server = (first + i) % 5 + 1;
    f->process = program;
  }
  f = fault(p, r, DIBS_SIM_PAUSE, draw(r, p->ttl_ms, 2 * p->ttl_ms));
  f->at_us = at_us + draw(r, 500, p->ttl_ms) * 1000;
  f->process = program;
}

/* Never more than two of five at a time: windows that do not overlap, each with its two. */
static void draw_of_quorum(plan *p, random_source *r)
{
  int64_t at = draw(r, 10, 500);

  while (at < p->run_ms && p->fault_count + 2 < FAULTS_MAX) {
    int64_t ms = draw(r, 10, 2500);
    int first = (int)draw(r, 1, 5), second = (int)draw(r, 1, 5);

    for (int i = 0; i < 2; i++) {
      dibs_sim_fault *f;

      switch (random_below(r, 4)) {
      case 0: f = fault(p, r, DIBS_SIM_SERVER_PAUSE, ms); break;
      case 1:
        f = fault(p, r, p->kind->keeps_data ? DIBS_SIM_SERVER_RESTART : DIBS_SIM_SERVER_EMPTY,
                  ms);
        break;
      case 2: f = fault(p, r, DIBS_SIM_SERVER_RESTART, ms); break;
      default: f = fault(p, r, DIBS_SIM_SERVER_PART, ms); break;
      }
      f->at_us = at * 1000 + draw(r, 0, 999);
      f->server = i == 0 ? first : second;
    }
    /* With a quarantine a server that came back empty counts as one that fails, and so do
     * its leases for a ttl. */
    at += ms + p->ttl_ms + p->quarantine_ms + draw(r, 100, 1500);
  }
}

void plan_draw(plan *p, const kind *k, uint64_t seed)
{
  static const dibs_sim_options defaults = DIBS_SIM_OPTIONS_INIT;
  bool has_gap;
  random_source r;

  memset(p, 0, sizeof(*p));
  random_seed(&r, seed * 0x9e3779b97f4a7c15u + 7);
  p->kind = k;
  p->seed = seed;
  p->options = defaults;
  p->options.seed = seed;
  p->options.delay_min_us = (int32_t)draw(&r, 20, 200);
  p->options.delay_max_us = (int32_t)draw(&r, 200, 3000);
  p->options.preempt_per_mille = random_below(&r, 2) == 0 ? 0 : (int32_t)draw(&r, 1, 100);
  p->options.servers = k->nodes > 0 ? 0 : k->servers;
  p->options.replicas = k->replicas;
  p->options.sentinels = k->sentinels;
  p->options.cluster_nodes = k->nodes;
  p->options.min_replicas_to_write = k->min_replicas;
  p->options.min_replicas_max_lag_s = 1;
  p->options.down_after_ms = 4000;       /* 1 s + 2 s <= 4 s - 1 s */
  /* A gap shows where a lease outlives the promotion. */
  has_gap = k->replicas > 0 && random_below(&r, 3) == 0;
  p->ttl_ms = has_gap ? draw(&r, 8000, 20000) : draw(&r, 500, 8000);
  p->quarantine_ms = k->is_guarded ? p->ttl_ms + 1000 : 0;
  p->run_ms = draw(&r, 5000, k->servers > 1 ? 20000 : 40000);
  p->names = (int)draw(&r, 1, NAMES);
  p->think_ms = (int32_t)draw(&r, 1, 300);
  p->hold_ms = (int32_t)draw(&r, 1, (int64_t)p->ttl_ms * 2);
  p->command_timeout_ms = random_below(&r, 2) == 0 ? 0 : (int32_t)draw(&r, 200, 4000);
  url_write(p);
  if (k->sentinels > 0 && k->replicas > 1 && random_below(&r, 3) == 0) {
    draw_halves(p, &r);                  /* alone: anything more would end it early */
  } else {
    draw_of_programs(p, &r);
    if (k->servers > 1) {
      draw_minority(p, &r);
      draw_of_quorum(p, &r);
    }
    if (k->replicas > 0) {
      if (has_gap)
        draw_gap(p, &r);
      draw_of_set(p, &r);
    }
  }
  if (k->nodes > 0)
    draw_of_slots(p, &r);
  faults_sort(p->faults, p->fault_count);
}

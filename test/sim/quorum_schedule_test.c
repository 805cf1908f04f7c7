/* SPDX-License-Identifier: MIT */
/* Quorum: several clients and servers in any order of events, with letters lost and late,
 * servers silent, cut off, killed and slow, a minority at a time. Nobody ever believes in a
 * lock that another believes in, fences grow, lost is told once, and when the faults end
 * everybody gets what he waits for and nothing is left behind. */
#include "quorum/site.h"

#include <stdlib.h>
#include <string.h>

#define NAMES 2
#define CYCLES 12
#define FAULTS_END SPAN_MS(20000)
#define TOO_LONG SPAN_MS(240000)

static const char *const names[NAMES] = { "a", "orders" };

/* One thread of a client: claims, holds, releases. */
typedef struct actor {
  site_client *client;
  size_t name;
  uint64_t id;
  bool is_claimed, is_held, is_lost, is_releasing;
  bool is_try, is_fixed;
  instant next_at;               /* to do something */
  instant valid_until, claimed_at;
  uint64_t fence;
  unsigned cycles, grants, losses;
  int depth_told;
} actor;

#define ACTORS_MAX 16

typedef struct schedule {
  site site;
  random_source random;
  actor actors[ACTORS_MAX];
  size_t actor_count;
  uint64_t last_fence[NAMES];
  uint64_t grants, losses, refused;
  uint64_t seed;
} schedule;

static span between(schedule *c, int64_t low_ms, int64_t high_ms)
{
  return random_span(&c->random, span_ms(low_ms), span_ms(high_ms));
}

static bool chance(schedule *c, uint64_t one_of)
{
  return random_below(&c->random, one_of) == 0;
}

static bool believes(const schedule *c, const actor *a)
{
  return a->is_held && !a->is_lost && !a->is_releasing &&
         instant_before(c->site.now, a->valid_until);
}

#define REQUIRE(schedule, fact)                                                         \
  do {                                                                                  \
    if (!(fact))                                                                        \
      fail_msg("seed %llu at %lld us: %s", (unsigned long long)(schedule)->seed,        \
               (long long)((schedule)->site.now.ns / 1000), #fact);                     \
  } while (0)

static void granted(schedule *c, actor *a, const lock_event *e)
{
  REQUIRE(c, a->is_claimed && !a->is_held);
  REQUIRE(c, instant_before(c->site.now, e->valid_until));
  for (size_t i = 0; i < c->actor_count; i++)
    REQUIRE(c, c->actors[i].name != a->name || !believes(c, &c->actors[i]));
  REQUIRE(c, e->fence > c->last_fence[a->name]);
  REQUIRE(c, e->acknowledged >= e->replicas_wanted);
  c->last_fence[a->name] = e->fence;
  a->is_held = true;
  a->is_lost = false;
  a->fence = e->fence;
  a->valid_until = e->valid_until;
  a->next_at = instant_add(c->site.now, chance(c, 6) ? between(c, 0, 4000) : between(c, 0, 60));
  a->grants++;
  c->grants++;
}

static void over(schedule *c, actor *a)
{
  a->is_claimed = a->is_held = a->is_releasing = false;
  a->cycles++;
  a->next_at = instant_add(c->site.now, chance(c, 3) ? (span){ 0 } : between(c, 0, 200));
}

static void heard(site_client *client, const lock_event *e, void *data)
{
  schedule *c = data;
  actor *a = e->context;

  (void)client;
  REQUIRE(c, e->id == a->id && a->is_claimed);
  switch (e->kind) {
  case LOCK_GRANTED:
    granted(c, a, e);
    break;
  case LOCK_RENEWED:
    REQUIRE(c, a->is_held && !a->is_lost);
    a->valid_until = e->valid_until;
    for (size_t i = 0; i < c->actor_count; i++)
      REQUIRE(c, c->actors[i].name != a->name || &c->actors[i] == a ||
                   !believes(c, &c->actors[i]));
    break;
  case LOCK_SUSPECT:
  case LOCK_ENDS_SOON:
    REQUIRE(c, a->is_held && !a->is_lost);
    break;
  case LOCK_LOST:
    REQUIRE(c, a->is_held && !a->is_lost);
    REQUIRE(c, !instant_before(a->valid_until, c->site.now));
    a->is_lost = true;
    a->next_at = instant_add(c->site.now, between(c, 0, 20));
    a->losses++;
    c->losses++;
    break;
  case LOCK_FAILED:
    REQUIRE(c, !a->is_held);
    c->refused++;
    over(c, a);
    break;
  case LOCK_RELEASED:
    REQUIRE(c, a->is_held && a->is_releasing);
    over(c, a);
    break;
  case LOCK_RAISED:
  case LOCK_HELD_BACK:
  case LOCK_DETACHED:
    REQUIRE(c, false);
  }
}

static void claims(schedule *c, actor *a, bool is_calm)
{
  lock_spec w = { .context = a, .kind = LOCK_MUTEX, .units = 1, .ttl = between(c, 800, 3000),
                  .give_up_at = INSTANT_NEVER };

  a->name = random_below(&c->random, 4) == 0 ? 1 : 0;
  w.name = names[a->name];
  w.name_size = strlen(names[a->name]);
  if (!is_calm) {
    w.is_try = chance(c, 4);
    w.is_fixed = chance(c, 5);
    if (chance(c, 4))
      w.give_up_at = instant_add(c->site.now, between(c, 1, 1500));
    if (chance(c, 8))
      w.max_hold = between(c, 20, 1000);
  }
  a->is_claimed = true;
  a->is_try = w.is_try;
  a->claimed_at = c->site.now;
  a->next_at = is_calm || !chance(c, 5) ? INSTANT_NEVER
                                        : instant_add(c->site.now, between(c, 0, 300));
  assert_int_equal(hold_claim(a->client->front, &w, c->site.now, &a->id), DIBS_OK);
}

static void acts(schedule *c, actor *a, bool is_calm)
{
  a->next_at = INSTANT_NEVER;
  if (!a->is_claimed) {
    claims(c, a, is_calm);
  } else if (a->is_held && !a->is_releasing) {
    a->is_releasing = true;
    assert_int_equal(hold_release(a->client->front, a->id, c->site.now), DIBS_OK);
  } else if (!a->is_held) {
    (void)hold_cancel(a->client->front, a->id, c->site.now);
  }
  site_settle(&c->site);
}

/* ---- faults: at any time at most a minority is affected, if `is_minor` ---- */

static void heal(schedule *c)
{
  site *s = &c->site;

  memset(s->is_mute, 0, sizeof(s->is_mute));
  for (size_t i = 0; i < s->client_count; i++)
    memset(s->clients[i].is_cut, 0, sizeof(s->clients[i].is_cut));
  for (size_t i = 0; i < s->server_count; i++)
    s->delay[i] = (span){ 500000 };
}

static void fault(schedule *c)
{
  site *s = &c->site;
  size_t server = random_below(&c->random, s->server_count);
  size_t client = random_below(&c->random, s->client_count);

  switch (random_below(&c->random, 8)) {
  case 0:
    heal(c);
    break;
  case 1:
    s->is_mute[server] = true;
    break;
  case 2:
    s->clients[client].is_cut[server] = true;
    break;
  case 3:
    site_restart(s, server, true);
    break;
  case 4:
    s->delay[server] = between(c, 0, 300);
    break;
  case 5:
  case 6:
    site_break(s, client, server, chance(c, 2));
    break;
  case 7:
    sim_server_forget_scripts(s->servers[server]);
    break;
  }
}

static instant actors_first(const schedule *c)
{
  instant first = INSTANT_NEVER;

  for (size_t i = 0; i < c->actor_count; i++)
    first = instant_min(first, c->actors[i].next_at);
  return first;
}

static bool all_rest(const schedule *c)
{
  for (size_t i = 0; i < c->actor_count; i++)
    if (c->actors[i].is_claimed || c->actors[i].cycles < CYCLES)
      return false;
  return true;
}

/* Nothing of anybody is left on any server. */
static bool is_clean(schedule *c)
{
  for (size_t i = 0; i < c->site.client_count; i++) {
    if (!hold_is_quiet(c->site.clients[i].front))
      return false;
    for (size_t k = 0; k < c->site.server_count; k++)
      if (!lock_is_quiet(c->site.clients[i].tables[k]))
        return false;
  }
  for (size_t k = 0; k < c->site.server_count; k++)
    for (size_t i = 0; i < NAMES; i++)
      if (site_is_held(&c->site, k, names[i]))
        return false;
  return true;
}

static void show(schedule *c)
{
  for (size_t i = 0; i < c->actor_count; i++) {
    const actor *a = &c->actors[i];

    print_message("actor %zu name %zu claimed %d held %d lost %d releasing %d cycles %u grants %u "
                  "next in %lld ms\n", i, a->name, a->is_claimed, a->is_held, a->is_lost,
                  a->is_releasing, a->cycles, a->grants,
                  (long long)((a->next_at.ns - c->site.now.ns) / 1000000));
  }
  for (size_t i = 0; i < c->site.client_count; i++) {
    const site_client *k = &c->site.clients[i];

    print_message("client %zu quiet %d tables", i, hold_is_quiet(k->front));
    for (size_t t = 0; t < c->site.server_count; t++)
      print_message(" %d", lock_is_quiet(k->tables[t]));
    print_message("\n");
  }
  for (size_t k = 0; k < c->site.server_count; k++)
    for (size_t i = 0; i < NAMES; i++)
      print_message("server %zu %s: %s\n", k, names[i], site_lease(&c->site, k, names[i]));
}

/* A schedule that does not end is shown before it fails. */
static void require_time(schedule *c, instant stuck_at)
{
  if (!instant_before(c->site.now, stuck_at))
    show(c);
  REQUIRE(c, instant_before(c->site.now, stuck_at));
}

static void progress(schedule *c, instant until, instant no_faults_from)
{
  instant fault_at = c->site.now;
  instant stuck_at = instant_add(no_faults_from, TOO_LONG);
  bool is_calm = false;

  for (;;) {
    instant next = actors_first(c);

    if (!is_calm)
      next = instant_min(next, fault_at);
    next = instant_min(next, instant_add(c->site.now, SPAN_MS(20)));
    site_run(&c->site, next);
    if (!is_calm && !instant_before(c->site.now, until)) {
      is_calm = true;
      heal(c);
    }
    if (!is_calm && !instant_before(c->site.now, fault_at)) {
      fault(c);
      fault_at = instant_add(c->site.now, between(c, 1, 1200));
    }
    for (size_t i = 0; i < c->actor_count; i++) {
      actor *a = &c->actors[i];
      bool rests = is_calm && !a->is_claimed && a->cycles >= CYCLES;

      if (!rests && !instant_before(c->site.now, a->next_at))
        acts(c, a, is_calm);
      else if (rests)
        a->next_at = INSTANT_NEVER;
    }
    if (is_calm && all_rest(c))
      break;
    require_time(c, stuck_at);
  }
  while (!is_clean(c)) {
    require_time(c, stuck_at);
    site_run_for(&c->site, SPAN_MS(100));
  }
}

static void run_seed(uint64_t seed, bool with_faults)
{
  schedule *c = calloc(1, sizeof(*c));
  size_t servers, clients;

  assert_non_null(c);
  c->seed = seed;
  random_seed(&c->random, seed);
  servers = chance(c, 2) ? 3 : 5;
  clients = 2 + random_below(&c->random, 4);
  site_init(&c->site, seed, servers, clients, SPAN_MS(0));
  c->site.heard = heard;
  c->site.data = c;
  c->site.jitter = chance(c, 3) ? SPAN_MS(30) : SPAN_MS(1);
  for (size_t i = 0; i < servers; i++)
    c->site.skew_us[i] = chance(c, 3) ? (int64_t)random_below(&c->random, 200000) : 0;
  c->actor_count = clients * (1 + random_below(&c->random, 2));
  for (size_t i = 0; i < c->actor_count; i++) {
    c->actors[i].client = &c->site.clients[i % clients];
    c->actors[i].next_at = instant_add(c->site.now, between(c, 0, 20));
  }
  progress(c, with_faults ? instant_add(c->site.now, FAULTS_END) : c->site.now,
           with_faults ? instant_add(c->site.now, FAULTS_END) : c->site.now);
  if (getenv("QUORUM_VERBOSE") != NULL)
    print_message("seed %llu: %llu grants, %llu lost, %llu refused, %lld ms, %llu commands\n",
                  (unsigned long long)seed, (unsigned long long)c->grants,
                  (unsigned long long)c->losses, (unsigned long long)c->refused,
                  (long long)(c->site.now.ns / 1000000), (unsigned long long)c->site.commands);
  REQUIRE(c, c->grants >= c->actor_count);
  site_deinit(&c->site);
  free(c);
}

static void seeds(uint64_t first, uint64_t count, bool with_faults)
{
  const char *one = getenv("QUORUM_SEED"), *more = getenv("QUORUM_SEEDS");

  if (one != NULL) {
    run_seed((uint64_t)strtoull(one, NULL, 10), with_faults);
    return;
  }
  if (more != NULL)
    count = (uint64_t)strtoull(more, NULL, 10);
  for (uint64_t seed = first; seed < first + count; seed++)
    run_seed(seed, with_faults);
}

static void without_faults_all_get_their_turn(void **state)
{
  (void)state;
  seeds(1, 60, false);
}

static void under_faults_nobody_meets_another_and_all_get_their_turn(void **state)
{
  (void)state;
  seeds(1000, 60, true);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(without_faults_all_get_their_turn),
    cmocka_unit_test(under_faults_nobody_meets_another_and_all_get_their_turn),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* The scripts against the model: random requests of six clients, current, repeated and
 * stale ones, over a clock that jumps both ways. After each request the answer, all that is
 * stored, and every message must be what the model says. I3, I4, I5, I13, I16. */

#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "server.h"
#include "stage.h"

#define STEPS 1200
#define LEASES 64
#define START_US 1700000000123456

struct run {
  struct model model;
  random_source random;
  int64_t now;
  uint64_t ask[MODEL_CLIENTS];     /* the newest */
  lease_id leases[LEASES];         /* granted ones, to name again later */
  size_t lease_count;
  uint64_t highest;                /* token ever granted */
  lease_id nobodys;                /* as answered in quarantine last; token 0: never */
  char what[256];
};

static uint64_t below(struct run *r, uint64_t limit) { return random_below(&r->random, limit); }

/* Everything under the key, and whether its parts fit together. */
static const char dump_script[] =
  "local kind = redis.call('TYPE', KEYS[1]).ok "
  "if kind == 'none' then return 'none' end "
  "if redis.call('PTTL', KEYS[1]) < 3500000 then return 'no retention' end "
  "if kind == 'string' then return redis.call('GET', KEYS[1]) end "
  "local h, n = redis.call('HGET', KEYS[1], 'h'), redis.call('HGET', KEYS[1], 'n') "
  "local out, count = redis.call('HGET', KEYS[1], 's') .. '\\n' .. h .. ' ' .. n, 0 "
  "for i = tonumber(h), tonumber(n) - 1 do "
  "  local e = redis.call('HGET', KEYS[1], 'w' .. i) "
  "  if e then "
  "    local c = string.match(e, '^x? ?(%S+)') "
  "    if redis.call('HGET', KEYS[1], 'c' .. c) ~= tostring(i) then return 'index' end "
  "    count = count + 1 out = out .. '\\n' .. i .. ' ' .. e "
  "  end "
  "end "
  "if redis.call('HLEN', KEYS[1]) ~= 3 + 2 * count then return 'fields' end "
  "return out";

static void compare_stored(struct run *r)
{
  char expected[4096];
  text t = text_over(expected, sizeof(expected));
  const char *got = test_server_command(world_server(w), "EVAL %s 1 %s", dump_script, WORLD_KEY);

  era_model_compare(&r->model.era, r->what);
  model_dump(&r->model, &t);
  if (strcmp(expected, got) != 0)
    fail_msg("%s\nexpected:\n%s\ngot:\n%s", r->what, expected, got);
  for (int who = 0; who < MODEL_CLIENTS; who++) {
    const char *messages;
    if (!r->model.hears[who])
      continue;
    messages = world_messages(w, who);
    if (strcmp(messages, r->model.messages[who]) != 0)
      fail_msg("%s\nexpected for %d:\n%s\ngot:\n%s", r->what, who, r->model.messages[who],
               messages);
    r->model.messages[who][0] = 0;
  }
}

static void learn_lease(struct run *r)
{
  if (!r->model.is_held || r->model.token <= r->highest)
    return;
  r->highest = r->model.token;
  model_client(r->model.client, r->leases[r->lease_count % LEASES].client);
  r->leases[r->lease_count % LEASES].ask = r->model.ask;
  r->leases[r->lease_count % LEASES].token = r->model.token;
  r->lease_count++;
}

/* Mostly the newest, sometimes one of the past. */
static bool some_lease(struct run *r, lease_id *ret_lease)
{
  size_t back = below(r, 3) > 0 ? 0 : (size_t)below(r, 5);

  if (r->lease_count <= back)
    return false;
  *ret_lease = r->leases[(r->lease_count - 1 - back) % LEASES];
  return true;
}

/* ---- one step each ---- */

static acquire_call some_call(struct run *r, int who, lease_id *watched)
{
  static const int64_t ttls[] = { 1, 900, 5000, 30000, 30000, 3600000 };
  acquire_call c = { .name = WORLD_NAME, .name_size = strlen(WORLD_NAME) };

  if (below(r, 4) == 0)
    r->ask[who]++;
  c.ask = below(r, 8) == 0 && r->ask[who] > 1 ? r->ask[who] - 1 : r->ask[who];
  c.ttl_ms = ttls[below(r, 6)];
  c.waits = below(r, 3) > 0;
  c.nonce = c.waits ? c.ask * UINT64_C(11400714819323198485) + (uint64_t)who : 0;
  c.lingers = below(r, 4) == 0;
  if (below(r, 8) == 0)
    c.until_us = r->now + (int64_t)below(r, 3) - 1;
  if (below(r, 6) > 0)
    c.estimate_us = r->now + (int64_t)below(r, 550000) - 275000;
  if (below(r, 20) == 0)
    c.min_token = below(r, 5) == 0 ? UINT64_C(9007199254740985)      /* it counts for nothing */
                               : r->model.token + below(r, 5000000);
  if (below(r, 3) == 0)
    c.give_up_us = r->now + (int64_t)below(r, 20000000);
  if (below(r, 6) == 0 && some_lease(r, watched)) {
    c.watched = watched;
    c.watched_renewals = r->model.renewals - (below(r, 4) == 0 && r->model.renewals > 0);
  }
  c.polls = c.waits && below(r, 5) == 0;
  if (c.polls && c.give_up_us == 0 && below(r, 10) > 0)
    c.give_up_us = r->now + (int64_t)below(r, 3000000);
  if (r->nobodys.token != 0 && below(r, 30) == 0) {
    *watched = r->nobodys;
    c.watched = watched;
  }
  return c;
}

static void step_acquire(struct run *r, int who)
{
  lease_id watched;
  acquire_call c = some_call(r, who, &watched);

  for (uint64_t times = below(r, 4) == 0 ? 2 : 1; times > 0; times--) {
    acquire_answer expected = model_acquire(&r->model, r->now, who, &c);
    acquire_answer got = world_send(w, who, &c);

    snprintf(r->what, sizeof(r->what), "acquire %d %llu %s: %d, got %d", who,
             (unsigned long long)c.ask, c.waits ? "w" : "t", (int)expected.outcome,
             (int)got.outcome);
    if (got.outcome != expected.outcome || got.server_us != expected.server_us ||
        got.remaining_ms != expected.remaining_ms || got.lease_ms != expected.lease_ms ||
        !lease_id_equal(&got.lease, &expected.lease) || got.renewals != expected.renewals ||
        got.rank != expected.rank || got.holder_lingers != expected.holder_lingers)
      fail_msg("%s: answers differ: rank %d, got %d; remaining %lld, got %lld", r->what,
               (int)expected.rank, (int)got.rank, (long long)expected.remaining_ms,
               (long long)got.remaining_ms);
    if (got.lease.client[0] == '.')
      r->nobodys = got.lease;
    if (got.outcome == ACQUIRE_GRANTED)
      assert_true(got.lease.token > r->highest);
    compare_stored(r);
    learn_lease(r);
  }
}

/* What the client that lets go takes the server's time for. */
static int64_t some_estimate(struct run *r)
{
  int64_t mistake = below(r, 4) > 0 ? 0 : (int64_t)below(r, 600000) - 300000;

  world_mistake(w, mistake);
  return r->now + mistake;
}

typedef struct ending {
  const char *words;
  release_answer (*expect)(struct model *m, int64_t now, const char *lease, int64_t estimate_us);
  release_answer (*send)(struct world *w, int who, const lease_id *lease);
} ending;

static const ending release = { "release", model_release, world_release };
static const ending by_token = { "release by token", model_token_release, world_token_release };
static const ending by_break = { "break", model_break, world_break };

static void step_end(struct run *r, int who, const ending *e)
{
  lease_id l;

  if (!some_lease(r, &l))
    return;
  for (uint64_t times = below(r, 3) == 0 ? 2 : 1; times > 0; times--) {
    int64_t said = some_estimate(r);
    release_answer expected = e->expect(&r->model, r->now, lease_text(&l), said);
    release_answer got = e->send(w, who, &l);

    snprintf(r->what, sizeof(r->what), "%s %s: %d, got %d", e->words, lease_text(&l),
             (int)expected.outcome, (int)got.outcome);
    if (got.outcome != expected.outcome || !lease_id_equal(&got.taker, &expected.taker))
      fail_msg("%s: answers differ", r->what);
    compare_stored(r);
    learn_lease(r);
  }
}

static void step_cancel(struct run *r, int who)
{
  uint64_t ask = r->ask[who] - (below(r, 4) == 0 && r->ask[who] > 1);
  int64_t until = below(r, 2) == 0 ? 0 : r->now + (int64_t)below(r, 20000000) - 1000000;

  for (uint64_t times = below(r, 4) == 0 ? 2 : 1; times > 0; times--) {
    int64_t said = some_estimate(r);
    int64_t expected = model_cancel(&r->model, r->now, who, ask, until, said);
    int64_t got = world_cancel(w, who, ask, until);

    snprintf(r->what, sizeof(r->what), "cancel %d %llu: %d, got %d", who,
             (unsigned long long)ask, (int)expected, (int)got);
    assert_int_equal(got, expected);
    compare_stored(r);
    learn_lease(r);
  }
}

static void step_renew(struct run *r, int who)
{
  lease_id l;
  int64_t ttl = below(r, 2) == 0 ? 30000 : (int64_t)below(r, 90000) + 1;
  int64_t estimate = r->now + (int64_t)below(r, 600000) - 300000;
  renew_answer expected, got;

  if (!some_lease(r, &l))
    return;
  expected = model_renew(&r->model, r->now, lease_text(&l), ttl, estimate);
  got = world_renew_at(w, who, &l, ttl, estimate);
  snprintf(r->what, sizeof(r->what), "renew %s %lld: %lld, got %lld", lease_text(&l),
           (long long)ttl, (long long)expected.remaining_ms, (long long)got.remaining_ms);
  if (got.is_ours != expected.is_ours || got.gone != expected.gone ||
      got.remaining_ms != expected.remaining_ms || got.waiters != expected.waiters)
    fail_msg("%s: answers differ", r->what);
  compare_stored(r);
}

/* The lease is the client's no more; it goes on asking for itself. */
static void step_detach(struct run *r, int who)
{
  lease_id l = { .ask = r->model.ask, .token = r->model.token };

  if (!r->model.is_held || r->model.client != who)
    return;
  model_client(who, l.client);
  model_lease(&r->model, r->model.detached[who]);
  world_detach(w, who, &l);
}

static void step_hearing(struct run *r, int who)
{
  if (r->model.hears[who])
    world_deafen(w, who);
  else
    world_listen(w, who);
  r->model.hears[who] = !r->model.hears[who];
}

static void step_time(struct run *r)
{
  switch (below(r, 12)) {
  case 0:
    r->now += (int64_t)below(r, 40000000);   /* long enough for leases to run out */
    break;
  case 1:
    r->now -= (int64_t)below(r, 5000000);    /* the server's clock is set back */
    break;
  case 2:
    break;                                   /* two requests in the same microsecond */
  default:
    r->now += (int64_t)below(r, 3000);
  }
  world_set_time(w, r->now);
}

static void run_seed(uint64_t seed, int64_t quarantine_ms)
{
  struct run r = { .now = START_US, .model = { .client = -1 } };

  random_seed(&r.random, seed);
  world_clear(w);
  era_model_begin(&r.model.era, quarantine_ms);
  for (int who = 0; who < MODEL_CLIENTS; who++) {
    r.ask[who] = 1;
    step_hearing(&r, who);
  }
  for (int i = 0; i < STEPS; i++) {
    int who = (int)below(&r, MODEL_CLIENTS);
    uint64_t kind = below(&r, 100);

    step_time(&r);
    if (below(&r, 60) == 0)
      era_model_failover(&r.model.era, below(&r, 3) == 0);
    if (kind < 50)
      step_acquire(&r, who);
    else if (kind < 68)
      step_end(&r, who, kind < 62 ? &release : &by_token);
    else if (kind < 80)
      step_renew(&r, who);
    else if (kind < 90)
      step_cancel(&r, who);
    else if (kind < 93)
      step_end(&r, who, &by_break);
    else if (kind < 96)
      step_detach(&r, r.model.is_held && r.model.client >= 0 ? r.model.client : who);
    else
      step_hearing(&r, who);
  }
  assert_true(r.lease_count > STEPS / 20);
  assert_int_equal(world_errors(w), 0);
}

TEST(the_scripts_do_what_the_model_says)
{
  uint64_t only = getenv("SEED") != NULL ? strtoull(getenv("SEED"), NULL, 10) : 0;

  for (uint64_t seed = 1; seed <= 5; seed++)
    run_seed(only != 0 ? only + seed - 1 : seed, 0);
}

TEST(the_scripts_do_what_the_model_says_through_failovers)
{
  uint64_t only = getenv("SEED") != NULL ? strtoull(getenv("SEED"), NULL, 10) : 0;

  for (uint64_t seed = 11; seed <= 16; seed++)
    run_seed(only != 0 ? only + seed - 11 : seed, seed % 2 == 0 ? 20000 : 3000);
  world_guard(w, 0);
}

RUN_STAGE(stage_start_with_debug, stage_stop, NULL, NULL)

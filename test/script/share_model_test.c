/* SPDX-License-Identifier: MIT */
/* The scripts of shared resources against the model: random requests of six clients with
 * many asks each, current, repeated and stale ones, over a clock that jumps both ways. After
 * each the answer, all that is stored, and every message must be what the model says, and
 * what is used must be what the holders have. S1', I3, I4, I5, I13, I16.
 *
 * DIBS_TEST_SCALE times as many seeds; SEED=n begins with that one. */

#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"
#include "share_model.h"
#include "shares.h"
#include "stage.h"

#define STEPS 1000
#define LEASES 64
#define START_US 1700000000123456

struct run {
  struct share_model model;
  random_source random;
  bool is_semaphore, is_calm;
  int64_t now;
  uint64_t ask[MODEL_CLIENTS];     /* the newest */
  lease_id leases[LEASES];         /* granted ones, to name again later */
  size_t lease_count, grants;
  lease_id nobodys;                /* as answered in quarantine last; token 0: never */
  char what[256];
};

static uint64_t below(struct run *r, uint64_t limit) { return random_below(&r->random, limit); }

/* True once in `one_in` draws; with calm clients once in 16 times as many, so that their requests
 * take the short ways of the scripts. */
static bool odd(struct run *r, uint64_t one_in)
{
  return below(r, r->is_calm ? 16 * one_in : one_in) == 0;
}

static int who_is(const lease_id *l) { return l->client[0] - 'A'; }

static void compare_stored(struct run *r)
{
  static char expected[65536];
  text t = text_over(expected, sizeof(expected));
  const char *got = share_dump(w);

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

static void learn_lease(struct run *r, const lease_id *l)
{
  r->leases[r->lease_count++ % LEASES] = *l;
}

/* Of those who hold, of those who did, or made up. */
static bool some_lease(struct run *r, lease_id *ret_lease)
{
  const struct share_model *m = &r->model;

  if (m->holder_count > 0 && below(r, 4) > 0) {
    const struct model_holder *h = &m->holder[below(r, m->holder_count)];
    model_client(h->client, ret_lease->client);
    ret_lease->set = 0;
    ret_lease->ask = h->ask;
    ret_lease->token = h->token + (below(r, 20) == 0);
    return true;
  }
  if (r->lease_count == 0)
    return false;
  *ret_lease = r->leases[below(r, r->lease_count < LEASES ? r->lease_count : LEASES)];
  return true;
}

/* ---- one step each ---- */

/* What an ask wants never changes. */
static void ask_decide(const struct run *r, share_call *c)
{
  static const uint64_t units[] = { 1, 2, 1, 3, 1, 5, 2 }, limits[] = { 0, 0, 5, 0, 7 };

  c->mode = r->is_semaphore ? 'p' : c->ask % 3 == 0 ? 'w' : 'r';
  c->units = r->is_semaphore ? units[c->ask % 7] : 1;
  c->limit = r->is_semaphore ? limits[c->ask % 5] : 0;
}

static share_call some_call(struct run *r, int who, lease_id *watched)
{
  static const int64_t ttls[] = { 1, 900, 5000, 30000, 30000, 3600000 };
  share_call c = { .name = WORLD_NAME, .name_size = strlen(WORLD_NAME) };

  if (below(r, 2) == 0)
    r->ask[who]++;
  c.ask = odd(r, 4) ? r->ask[who] - below(r, r->ask[who] < 6 ? r->ask[who] : 6)
                    : r->ask[who];
  ask_decide(r, &c);
  c.ttl_ms = ttls[below(r, 6)];
  c.waits = below(r, 3) > 0 || (r->is_calm && below(r, 3) > 0);
  c.nonce = c.waits ? c.ask * UINT64_C(11400714819323198485) + (uint64_t)who : 0;
  if (r->is_semaphore && below(r, 12) == 0) {
    c.units = 0;                             /* all that are free */
    c.ask = ++r->ask[who];
    c.waits = false;
  }
  if (odd(r, 8))
    c.until_us = r->now + (int64_t)below(r, 3) - 1;
  if (!odd(r, 6))
    c.estimate_us = r->now + (int64_t)below(r, 550000) - 275000;
  if (below(r, 20) == 0)
    c.min_token = below(r, 5) == 0 ? UINT64_C(9007199254740985)      /* it counts for nothing */
                               : r->model.token + below(r, 5000000);
  if (below(r, 3) == 0)
    c.give_up_us = r->now + (int64_t)below(r, 20000000);
  if (odd(r, 4) && some_lease(r, watched)) {
    c.watched = watched;
    c.watched_renewals = below(r, 3);
  }
  c.polls = c.waits && odd(r, 5);
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
  share_call c = some_call(r, who, &watched);

  for (uint64_t times = odd(r, 4) ? 2 : 1; times > 0; times--) {
    acquire_answer expected = model_acquire(&r->model, r->now, who, &c);
    acquire_answer got = share_send(w, who, &c);
    bool names_holder = got.outcome == ACQUIRE_WAITING || got.outcome == ACQUIRE_BUSY;

    snprintf(r->what, sizeof(r->what), "acquire %d %llu %c%llu %s: %d, got %d", who,
             (unsigned long long)c.ask, c.mode, (unsigned long long)c.units,
             c.waits ? "waits" : "tries", (int)expected.outcome, (int)got.outcome);
    compare_stored(r);
    if (got.lease.client[0] == '.')
      r->nobodys = got.lease;
    else if (names_holder && !model_ends_first(&r->model, &got.lease, r->now, &got))
      fail_msg("%s: not who ends first: %s", r->what, lease_text(&got.lease));
    if (names_holder && expected.lease_ms == 0) {
      expected.lease = got.lease;
      expected.remaining_ms = got.remaining_ms;
      expected.lease_ms = got.lease_ms;
      expected.renewals = got.renewals;
    }
    if (got.outcome != expected.outcome || got.server_us != expected.server_us ||
        got.remaining_ms != expected.remaining_ms || got.lease_ms != expected.lease_ms ||
        !lease_id_equal(&got.lease, &expected.lease) || got.renewals != expected.renewals ||
        got.rank != expected.rank || got.units != expected.units)
      fail_msg("%s: answers differ: rank %d, got %d; remaining %lld, got %lld", r->what,
               (int)expected.rank, (int)got.rank, (long long)expected.remaining_ms,
               (long long)got.remaining_ms);
    if (got.outcome == ACQUIRE_GRANTED) {
      learn_lease(r, &got.lease);
      r->grants++;
    }
  }
}

/* What the client that lets go takes the server's time for. */
static int64_t some_estimate(struct run *r)
{
  share_mistake_us = !odd(r, 4) ? 0 : (int64_t)below(r, 600000) - 300000;
  return r->now + share_mistake_us;
}

static int64_t some_until(struct run *r)
{
  return !odd(r, 2) ? 0 : r->now + (int64_t)below(r, 20000000) - 1000000;
}

static void step_release(struct run *r)
{
  lease_id l;

  if (!some_lease(r, &l))
    return;
  for (uint64_t times = odd(r, 3) ? 2 : 1; times > 0; times--) {
    int64_t said = some_estimate(r), until = some_until(r);
    bool expected = model_release(&r->model, r->now, who_is(&l), &l, until, said);
    bool got = share_release(w, who_is(&l), &l, until);

    snprintf(r->what, sizeof(r->what), "release %s until %lld: %d, got %d", lease_text(&l),
             (long long)until, expected, got);
    assert_int_equal(got, expected);
    compare_stored(r);
  }
}

static void step_token_release(struct run *r)
{
  lease_id l;
  int64_t said = some_estimate(r);
  bool expected, got;

  if (!some_lease(r, &l))
    return;
  expected = model_token_release(&r->model, r->now, who_is(&l), &l, said);
  got = share_token_release(w, ANNA, &l);
  snprintf(r->what, sizeof(r->what), "release by token %s: %d, got %d", lease_text(&l), expected,
           got);
  assert_int_equal(got, expected);
  compare_stored(r);
}

static void step_cancel(struct run *r, int who)
{
  uint64_t ask = r->ask[who] - below(r, r->ask[who] < 6 ? r->ask[who] : 6);
  int64_t until = some_until(r);

  for (uint64_t times = odd(r, 4) ? 2 : 1; times > 0; times--) {
    int64_t said = some_estimate(r);
    int64_t expected = model_cancel(&r->model, r->now, who, ask, until, said);
    int64_t got = share_cancel(w, who, ask, until);

    snprintf(r->what, sizeof(r->what), "cancel %d %llu: %d, got %d", who,
             (unsigned long long)ask, (int)expected, (int)got);
    assert_int_equal(got, expected);
    compare_stored(r);
  }
}

static void step_break(struct run *r)
{
  lease_id l;
  int64_t said = some_estimate(r);
  release_answer expected, got;

  if (!some_lease(r, &l) || r->model.kind <= MODEL_NEW)
    return;
  expected = model_break(&r->model, r->now, who_is(&l), &l, said);
  got = share_break(w, ANNA, &l);
  snprintf(r->what, sizeof(r->what), "break %s: %d, got %d", lease_text(&l),
           (int)expected.outcome, (int)got.outcome);
  assert_int_equal(got.outcome, expected.outcome);
  compare_stored(r);
}

static void step_renew(struct run *r)
{
  lease_id l;
  int64_t ttl = below(r, 2) == 0 ? 30000 : (int64_t)below(r, 90000);
  char mode = r->is_semaphore ? 'p' : below(r, 2) == 0 ? 'r' : 'w';
  int64_t said = some_estimate(r);
  renew_answer expected, got;

  if (!some_lease(r, &l))
    return;
  expected = model_renew(&r->model, r->now, who_is(&l), &l, ttl, mode, said);
  got = share_renew(w, who_is(&l), &l, ttl, mode);
  snprintf(r->what, sizeof(r->what), "renew %s %lld %c: %lld, got %lld", lease_text(&l),
           (long long)ttl, mode, (long long)expected.remaining_ms, (long long)got.remaining_ms);
  if (got.is_ours != expected.is_ours || got.remaining_ms != expected.remaining_ms ||
      got.waiters != expected.waiters)
    fail_msg("%s: answers differ: waiters %d, got %d", r->what, (int)expected.waiters,
             (int)got.waiters);
  compare_stored(r);
}

static void step_set(struct run *r)
{
  static const share_set_what whats[] = { SHARE_SET, SHARE_SET, SHARE_SET_IF_ABSENT,
                                          SHARE_DELETE };
  share_set_what what = whats[below(r, 4)];
  uint64_t permits = below(r, 8), expected_limit, limit;
  int64_t said = some_estimate(r);
  bool expected = model_set(&r->model, r->now, what, permits, said, &expected_limit);
  bool got = share_set(w, what, permits, &limit);

  snprintf(r->what, sizeof(r->what), "set %d to %d: %d, got %d", (int)what, (int)permits,
           expected, got);
  assert_int_equal(got, expected);
  assert_int_equal(limit, expected_limit);
  compare_stored(r);
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
  if (odd(r, 12))
    r->now += (int64_t)below(r, 40000000);   /* long enough for leases to run out */
  else if (odd(r, 12))
    r->now -= (int64_t)below(r, 5000000);    /* the server's clock is set back */
  else if (!odd(r, 12))                      /* else two requests in the same microsecond */
    r->now += (int64_t)below(r, 3000);
  world_set_time(w, r->now);
}

static void step(struct run *r)
{
  int who = (int)below(r, MODEL_CLIENTS);
  uint64_t kind = below(r, 100);

  step_time(r);
  if (r->is_calm && kind >= 48 && kind < 95 && below(r, 5) > 0)
    kind = 48;                               /* a release */
  if (below(r, 60) == 0)
    era_model_failover(&r->model.era, below(r, 3) == 0);
  if (kind < 48)
    step_acquire(r, who);
  else if (kind < 65)
    step_release(r);
  else if (kind < 68)
    step_token_release(r);
  else if (kind < 79)
    step_renew(r);
  else if (kind < 90)
    step_cancel(r, who);
  else if (kind < 92)
    step_break(r);
  else if (kind < 95)
    step_hearing(r, who);
  else if (r->is_semaphore)
    step_set(r);
}

/* Returns the number of grants. */
static size_t run_seed(uint64_t seed, bool is_semaphore, bool is_calm, int64_t quarantine_ms)
{
  static struct run r;

  memset(&r, 0, sizeof(r));
  r.now = START_US;
  r.model.head = r.model.next = 1;
  r.is_semaphore = is_semaphore;
  r.is_calm = is_calm;
  random_seed(&r.random, seed);
  world_clear(w);
  era_model_begin(&r.model.era, quarantine_ms);
  for (int who = 0; who < MODEL_CLIENTS; who++) {
    r.ask[who] = 1;
    step_hearing(&r, who);
  }
  for (int i = 0; i < STEPS; i++)
    step(&r);
  assert_int_equal(world_errors(w), 0);
  return r.grants;
}

static void run_seeds(bool is_semaphore, bool is_calm, int64_t quarantine_ms)
{
  const char *only = getenv("SEED"), *scale = getenv("DIBS_TEST_SCALE");
  uint64_t first = only != NULL ? strtoull(only, NULL, 10) : 1;
  uint64_t count = 3 * (scale != NULL && atoi(scale) > 0 ? (uint64_t)atoi(scale) : 1);
  uint64_t grants = 0;

  for (uint64_t seed = first; seed < first + count; seed++) {
    print_message("# seed %llu\n", (unsigned long long)seed);
    grants += run_seed(seed, is_semaphore, is_calm, quarantine_ms);
  }
  assert_true(grants > count * STEPS / 20);
}

TEST(read_write_locks_do_what_the_model_says)
{
  run_seeds(false, false, 0);
}

TEST(semaphores_do_what_the_model_says)
{
  run_seeds(true, false, 0);
}

TEST(calm_clients_get_what_the_model_says)
{
  run_seeds(false, true, 0);
  run_seeds(true, true, 0);
}

TEST(both_do_what_the_model_says_through_failovers)
{
  run_seeds(false, false, 20000);
  run_seeds(true, false, 3000);
  world_guard(w, 0);
}

RUN_STAGE(stage_start_with_debug, stage_stop, NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* Sets and single locks of several clients over five names: random requests, repeated,
 * late and cancelled ones, inboxes that come and go, and a clock that jumps forward. After
 * each step: whoever may believe that it holds has all of its names with one token; tokens
 * rise; a set waits in one place at most and, unless it keeps, holds nothing meanwhile. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "members.h"
#include "server.h"
#include "stage.h"
#include "rendered.h"

#define STEPS 1000
#define NAMES "abcde"
#define NAME_COUNT 5
#define COPIES 6
#define PATIENCE_US 4000000

/* One request as it was sent, to be sent again. */
struct copy {
  uint64_t ask;
  char letters[NAME_COUNT + 1];
  bool waits, keeps;
  int64_t ttl_ms, until_us;
};

struct agent {
  int who;
  uint32_t set;                    /* 0: single locks */
  uint64_t ask;                    /* the newest */
  bool is_asking, is_holding;
  struct copy now, old[COPIES];    /* old ones are over */
  size_t old_count;
  lease_id lease;                  /* believed until then */
  int64_t believed_us;
  lease_id watched;
  uint64_t watched_renewals, grants;
  int64_t watched_since, watched_length_ms;
};

struct run {
  struct agent agents[8];
  size_t count;
  random_source random;
  int64_t now;
  bool hears[WORLD_CLIENTS];
  lease_id last[NAME_COUNT];       /* the newest lease seen of each name */
  bool is_held[NAME_COUNT];        /* by that one */
  char queue[NAME_COUNT][1024];
  uint64_t waits, kept;
  char what[200];
};

static uint64_t below(struct run *r, uint64_t limit) { return random_below(&r->random, limit); }

static void asker(const struct agent *g, char *out, size_t size)
{
  const char *client = world_native(w, g->who)->client;

  if (g->set > 0)
    (void)snprintf(out, size, "%s.%u", client, (unsigned)g->set);
  else
    (void)snprintf(out, size, "%s", client);
}

/* ---- what must be so after each step ---- */

static const char shape_script[] =
  "local kind = redis.call('TYPE', KEYS[1]).ok "
  "if kind == 'none' then return '' end "
  "if redis.call('PTTL', KEYS[1]) < 3500000 then return 'no retention' end "
  "if kind == 'string' then return '' end "
  "local count = 0 "
  "for i = redis.call('HGET', KEYS[1], 'h'), redis.call('HGET', KEYS[1], 'n') - 1 do "
  "  local e = redis.call('HGET', KEYS[1], 'w' .. i) "
  "  if e then "
  "    local c = string.match(e, '^x? ?(%S+)') "
  "    if redis.call('HGET', KEYS[1], 'c' .. c) ~= tostring(i) then return 'index' end "
  "    count = count + 1 "
  "  end "
  "end "
  "return redis.call('HLEN', KEYS[1]) == 3 + 2 * count and '' or 'fields'";

static bool lease_of(char letter, lease_id *ret_lease, bool *ret_held)
{
  const char *value = members_value(w, letter);

  *ret_held = value[0] != '=' && value[0] != 0;
  value += value[0] == '=';
  return value[0] != 0 && lease_id_read(value, strcspn(value, " "), ret_lease);
}

/* Reads what is stored of one name; tokens rise, and are never given twice. */
static void look_at_name(struct run *r, size_t at)
{
  const char *fault = test_server_command(world_server(w), "EVAL %s 1 %s", shape_script,
                                          members_key(NAMES[at]));
  lease_id l;

  if (*fault != 0)
    fail_msg("%s: %c: %s", r->what, NAMES[at], fault);
  (void)snprintf(r->queue[at], sizeof(r->queue[at]), "%s", members_queue(w, NAMES[at]));
  if (!lease_of(NAMES[at], &l, &r->is_held[at]))
    return;
  if (l.token < r->last[at].token ||
      (r->is_held[at] && l.token == r->last[at].token && !lease_id_equal(&l, &r->last[at])))
    fail_msg("%s: %c: %s after %s", r->what, NAMES[at], lease_text(&l),
             lease_text(&r->last[at]));
  r->last[at] = l;
}

static void check_believer(struct run *r, const struct agent *g)
{
  if (!g->is_holding || r->now >= g->believed_us)
    return;
  for (const char *letter = g->now.letters; *letter != 0; letter++) {
    size_t at = (size_t)(*letter - 'a');
    if (!r->is_held[at] || !lease_id_equal(&r->last[at], &g->lease))
      fail_msg("%s: %s is believed, %c is %s", r->what, lease_text(&g->lease), *letter,
               members_value(w, *letter));
  }
}

static void check_places(struct run *r, const struct agent *g)
{
  char name[64], entry[70];
  int places = 0;

  if (g->set == 0)
    return;
  asker(g, name, sizeof(name));
  (void)snprintf(entry, sizeof(entry), "%s ", name);
  for (size_t i = 0; i < NAME_COUNT; i++) {
    const char *found = strstr(r->queue[i], entry);
    places += found != NULL &&
              (found < r->queue[i] + 2 || strncmp(found - 2, "x ", 2) != 0);
  }
  if (places > 1)
    fail_msg("%s: %s waits in %d places", r->what, name, places);
}

static void check(struct run *r)
{
  for (size_t i = 0; i < NAME_COUNT; i++)
    look_at_name(r, i);
  for (size_t i = 0; i < r->count; i++) {
    check_believer(r, &r->agents[i]);
    check_places(r, &r->agents[i]);
  }
}

/* Just answered that it must wait, or that it is busy. */
static void check_holds_nothing(struct run *r, const struct agent *g, const struct copy *c,
                                char busy)
{
  char owner[64];

  asker(g, owner, sizeof(owner));
  for (const char *at = c->letters; *at != 0; at++) {
    lease_id l;
    bool is_held;
    char holder[64] = "";

    if (lease_of(*at, &l, &is_held) && is_held) {
      struct agent other = { .set = l.set };
      (void)snprintf(holder, sizeof(holder), other.set > 0 ? "%s.%u" : "%s", l.client,
                     (unsigned)l.set);
    }
    if (strcmp(holder, owner) != 0)
      continue;
    if (!c->keeps || !c->waits || *at >= busy)
      fail_msg("%s: %s waits for %c and has %c", r->what, owner, busy, *at);
    r->kept++;
  }
}

/* ---- requests ---- */

static void watch(struct run *r, struct agent *g, const acquire_answer *a)
{
  if (lease_id_equal(&g->watched, &a->lease) && g->watched_renewals == a->renewals)
    return;
  g->watched = a->lease;
  g->watched_renewals = a->renewals;
  g->watched_since = r->now;
  g->watched_length_ms = a->lease_ms;
}

static bool has_watched(const struct run *r, const struct agent *g)
{
  return g->watched.token != 0 && r->now - g->watched_since > g->watched_length_ms * 1000;
}

static many_answer send(struct run *r, struct agent *g, const struct copy *c)
{
  int64_t estimate = below(r, 8) == 0 ? 0 : r->now;
  many_answer m = { .busy = c->letters[0] };

  if (g->set > 0) {
    many_call call = members_call(w, c->letters, c->ask);
    call.set = g->set;
    call.ttl_ms = c->ttl_ms;
    call.waits = c->waits;
    call.keeps = c->keeps;
    call.until_us = c->until_us;
    call.estimate_us = estimate;
    call.watched = has_watched(r, g) ? &g->watched : NULL;
    call.watched_renewals = g->watched_renewals;
    return members_send(w, g->who, &call);
  }
  acquire_call call = one_call(w, c->letters[0], c->ask);
  call.ttl_ms = c->ttl_ms;
  call.waits = c->waits;
  call.until_us = c->until_us;
  call.estimate_us = estimate;
  call.watched = has_watched(r, g) ? &g->watched : NULL;
  call.watched_renewals = g->watched_renewals;
  m.a = one_send(w, g->who, &call);
  return m;
}

static int64_t cancel(const struct agent *g, const struct copy *c, int64_t until_us)
{
  if (g->set > 0)
    return members_cancel(w, g->who, c->letters, g->set, c->ask, until_us);
  return one_cancel(w, g->who, c->letters[0], c->ask, until_us);
}

static void ask_is_over(struct agent *g)
{
  g->is_asking = g->is_holding = false;
  g->old[g->old_count++ % COPIES] = g->now;
}

static void begin(struct run *r, struct agent *g)
{
  static const int64_t ttls[] = { 2000, 5000, 30000, 30000 };
  size_t used = 0;

  memset(&g->now, 0, sizeof(g->now));
  g->now.ask = ++g->ask;
  g->now.ttl_ms = ttls[below(r, 4)];
  g->now.waits = below(r, 3) > 0;
  if (g->set == 0)
    g->now.letters[used++] = NAMES[below(r, NAME_COUNT)];
  for (size_t i = 0; g->set > 0 && i < NAME_COUNT; i++)
    if (below(r, 2) == 0 || (i == NAME_COUNT - 1 && used == 0))
      g->now.letters[used++] = NAMES[i];
  g->is_asking = true;
  g->watched.token = 0;
}

static void poll(struct run *r, struct agent *g)
{
  many_answer m;

  g->now.until_us = r->now + PATIENCE_US;
  g->now.keeps = g->now.keeps || below(r, 6) == 0;
  (void)snprintf(r->what, sizeof(r->what), "%d.%u asks %llu for %s %s%s", g->who,
                 (unsigned)g->set, (unsigned long long)g->now.ask, g->now.letters,
                 g->now.waits ? "w" : "t", g->now.keeps ? "k" : "");
  m = send(r, g, &g->now);
  switch (m.a.outcome) {
  case ACQUIRE_GRANTED:
  case ACQUIRE_AGAIN:
    g->is_asking = false;
    g->is_holding = true;
    g->lease = m.a.lease;
    g->believed_us = r->now + m.a.remaining_ms * 1000;
    g->grants++;
    break;
  case ACQUIRE_WAITING:
    r->waits++;
    watch(r, g, &m.a);
    check_holds_nothing(r, g, &g->now, m.busy);
    break;
  case ACQUIRE_BUSY:
    check_holds_nothing(r, g, &g->now, m.busy);
    ask_is_over(g);
    break;
  case ACQUIRE_NO_SUBSCRIBER:
    check_holds_nothing(r, g, &g->now, 0);
    break;
  case ACQUIRE_ENDED:
    ask_is_over(g);
    break;
  default:
    fail_msg("%s: answered %d", r->what, (int)m.a.outcome);
  }
}

static void leave(struct run *r, struct agent *g)
{
  (void)snprintf(r->what, sizeof(r->what), "%d.%u ends %llu", g->who, (unsigned)g->set,
                 (unsigned long long)g->now.ask);
  if (!g->is_holding || below(r, 4) == 0) {
    cancel(g, &g->now, r->now + PATIENCE_US);
  } else {
    release_answer a = g->set > 0
      ? members_release(w, g->who, g->now.letters, &g->lease)
      : one_release(w, g->who, g->now.letters[0], &g->lease);
    if (r->now < g->believed_us)
      assert_int_equal(a.outcome, RELEASE_DONE);
  }
  ask_is_over(g);
}

static void renew(struct run *r, struct agent *g)
{
  renew_item items[NAME_COUNT];
  size_t count = strlen(g->now.letters);
  const resp_reply *reply;
  renew_answer a = { .is_ours = false };
  int64_t least = g->now.ttl_ms;

  (void)snprintf(r->what, sizeof(r->what), "%d.%u renews", g->who, (unsigned)g->set);
  for (size_t i = 0; i < count; i++)
    items[i] = (renew_item){ &g->now.letters[i], 1, &g->lease, g->now.ttl_ms };
  assert_true(RENDERED(native_renew, world_native(w, g->who), world_buffer(w), false,
                       items, count, below(r, 4) == 0 ? 0 : r->now));
  reply = world_raw(w, world_buffer(w));
  buffer_clear(world_buffer(w));
  for (size_t i = 0; i < count; i++) {
    assert_true(native_renew_answer(reply, i, &a));
    if (!a.is_ours) {                /* lost: the rest is given back */
      assert_true(r->now >= g->believed_us);
      leave(r, g);
      return;
    }
    least = a.remaining_ms < least ? a.remaining_ms : least;
  }
  g->believed_us = r->now + least * 1000;
}

/* A copy of a request of an ask that is over: what it is granted all the same is given
 * back, as its client does when it is told. */
static void late(struct run *r, struct agent *g)
{
  const struct copy *c;
  many_answer m;

  if (g->old_count == 0)
    return;
  c = &g->old[below(r, g->old_count < COPIES ? g->old_count : COPIES)];
  (void)snprintf(r->what, sizeof(r->what), "%d.%u: a late %llu", g->who, (unsigned)g->set,
                 (unsigned long long)c->ask);
  m = send(r, g, c);
  if (c->until_us < r->now)
    assert_int_equal(m.a.outcome, ACQUIRE_LATE);
  else if (m.a.outcome != ACQUIRE_ENDED && m.a.outcome != ACQUIRE_BUSY)
    cancel(g, c, r->now + PATIENCE_US);
}

static void hearing(struct run *r, int who)
{
  (void)snprintf(r->what, sizeof(r->what), "hearing of %d", who);
  if (r->hears[who])
    world_deafen(w, who);
  else
    world_listen(w, who);
  r->hears[who] = !r->hears[who];
}

static void time_passes(struct run *r)
{
  uint64_t kind = below(r, 40);

  r->now += kind == 0 ? (int64_t)below(r, 40000000)
          : kind < 4  ? (int64_t)below(r, 3000000)
                      : (int64_t)below(r, 5000);
  world_set_time(w, r->now);
}

static void step(struct run *r)
{
  struct agent *g = &r->agents[below(r, r->count)];
  uint64_t kind = below(r, 100);

  time_passes(r);
  if (kind < 3)
    hearing(r, (int)below(r, WORLD_CLIENTS));
  else if (kind < 12)
    late(r, g);
  else if (g->is_holding && kind < 40)
    renew(r, g);
  else if (g->is_holding || (g->is_asking && kind < 20))
    leave(r, g);
  else if (g->is_asking)
    poll(r, g);
  else {
    begin(r, g);
    poll(r, g);
  }
  if (below(r, 6) == 0 && g->is_asking)
    poll(r, g);                      /* twice */
  check(r);
}

/* Nobody asks anew; all that waits is granted in the end. */
static void drain(struct run *r)
{
  bool is_done = false;

  for (int who = 0; who < WORLD_CLIENTS; who++)
    if (!r->hears[who])
      hearing(r, who);
  for (int round = 0; !is_done && round < 200; round++) {
    is_done = true;
    for (size_t i = 0; i < r->count; i++) {
      struct agent *g = &r->agents[i];
      r->now += 1000000;
      world_set_time(w, r->now);
      if (g->is_asking)
        poll(r, g);
      else if (g->is_holding)
        leave(r, g);
      is_done = is_done && !g->is_asking && !g->is_holding;
      check(r);
    }
  }
  assert_true(is_done);
  for (size_t i = 0; i < NAME_COUNT; i++)
    assert_string_equal(members_holder(w, NAMES[i]), "");
}

static void run_seed(uint64_t seed)
{
  static const struct { int who; uint32_t set; } who_asks[] = {
    { ANNA, 1 }, { ANNA, 2 }, { ANNA, 0 }, { BERT, 1 }, { CARL, 4294967295u }, { CARL, 0 },
    { DORA, 0 }, { EMIL, 0 },
  };
  static struct run r;

  memset(&r, 0, sizeof(r));
  r.now = 1700000000123456;
  r.count = sizeof(who_asks) / sizeof(who_asks[0]);
  random_seed(&r.random, seed);
  world_clear(w);
  world_set_time(w, r.now);
  for (int who = 0; who < WORLD_CLIENTS; who++)
    hearing(&r, who);
  for (size_t i = 0; i < r.count; i++) {
    r.agents[i].who = who_asks[i].who;
    r.agents[i].set = who_asks[i].set;
  }
  for (int i = 0; i < STEPS; i++)
    step(&r);
  drain(&r);
  for (size_t i = 0; i < r.count; i++)
    assert_true(r.agents[i].grants > 5);
  assert_true(r.waits > STEPS / 20);
  assert_true(r.kept > 0);
  assert_int_equal(world_errors(w), 0);
}

static void sets_and_locks_get_on_with_each_other(void **state)
{
  uint64_t only = getenv("SEED") != NULL ? strtoull(getenv("SEED"), NULL, 10) : 0;

  (void)state;
  for (uint64_t seed = 1; seed <= 4; seed++)
    run_seed(only != 0 ? only + seed - 1 : seed);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(sets_and_locks_get_on_with_each_other),
  };

  return stage_run(tests, stage_start, stage_stop);
}

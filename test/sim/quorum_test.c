/* SPDX-License-Identifier: MIT */
/* Quorum: what each claim is told, step by step, over real lock tables and scripts. */
#include "quorum/site.h"

#include <stdlib.h>
#include <string.h>

#define TTL SPAN_MS(3000)

/* What a claim was told; its context. */
typedef struct told {
  uint64_t id;
  unsigned granted, renewed, suspect, lost, failed, released;
  lock_event last;
  char words[160];
  instant at, valid_until;       /* of the last event */
  uint64_t fence;
} told;

static void heard(site_client *c, const lock_event *e, void *data)
{
  told *t = e->context;
  text words = text_over(t->words, sizeof(t->words));

  (void)data;
  assert_true(t->failed + t->released == 0);
  assert_true(t->lost == 0 || e->kind == LOCK_RELEASED);
  t->last = *e;
  t->at = c->site->now;
  text_add(&words, e->words);
  t->granted += e->kind == LOCK_GRANTED;
  t->renewed += e->kind == LOCK_RENEWED;
  t->suspect += e->kind == LOCK_SUSPECT;
  t->lost += e->kind == LOCK_LOST;
  t->failed += e->kind == LOCK_FAILED;
  t->released += e->kind == LOCK_RELEASED;
  if (e->kind == LOCK_GRANTED)
    t->fence = e->fence;
  if (e->kind == LOCK_GRANTED || e->kind == LOCK_RENEWED)
    t->valid_until = e->valid_until;
}

static site *site_with_quarantine(size_t servers, size_t clients, span quarantine)
{
  site *s = calloc(1, sizeof(*s));

  assert_non_null(s);
  site_init(s, 11, servers, clients, quarantine);
  s->jitter = (span){ 0 };
  s->heard = heard;
  return s;
}

static site *site_of(size_t servers, size_t clients)
{
  return site_with_quarantine(servers, clients, SPAN_MS(0));
}

static void over(site *s)
{
  site_deinit(s);
  free(s);
}

static lock_spec wish_of(told *t)
{
  return (lock_spec){ .context = t, .kind = LOCK_MUTEX, .name = "x", .name_size = 1, .units = 1,
                      .ttl = TTL, .give_up_at = INSTANT_NEVER };
}

static void claim_as(site *s, size_t client, told *t, const lock_spec *w)
{
  memset(t, 0, sizeof(*t));
  assert_int_equal(hold_claim(s->clients[client].front, w, s->now, &t->id), DIBS_OK);
  site_settle(s);
}

static void claim_of(site *s, size_t client, told *t, bool is_try)
{
  lock_spec w = wish_of(t);

  w.is_try = is_try;
  claim_as(s, client, t, &w);
}

static void release_of(site *s, size_t client, told *t)
{
  assert_int_equal(hold_release(s->clients[client].front, t->id, s->now), DIBS_OK);
  site_settle(s);
}

/* Until it was told something that `count` counts; fails after `most`. */
static span await(site *s, const unsigned *count, span most)
{
  instant from = s->now;
  unsigned before = *count;

  while (*count == before) {
    assert_true(instant_since(s->now, from).ns < most.ns);
    site_run_for(s, (span){ 100000 });
  }
  return instant_since(s->now, from);
}

static void hold(site *s, size_t client, told *t)
{
  claim_of(s, client, t, false);
  (void)await(s, &t->granted, SPAN_MS(1000));
}

static size_t held_at(site *s)
{
  size_t count = 0;

  for (size_t i = 0; i < s->server_count; i++)
    count += site_is_held(s, i, "x");
  return count;
}

static size_t with_token(site *s, uint64_t token)
{
  char words[32];
  text t = text_over(words, sizeof(words));
  size_t count = 0;

  text_add(&t, ":");
  text_add_uint(&t, token);
  text_add(&t, " ");
  for (size_t i = 0; i < s->server_count; i++)
    count += strstr(site_lease(s, i, "x"), words) != NULL;
  return count;
}

/* ---- taking ---- */

static void a_grant_is_one_token_on_all_servers_and_one_request_each(void **state)
{
  site *s = site_of(5, 1);
  told first, second;
  uint64_t before;

  (void)state;
  hold(s, 0, &first);
  release_of(s, 0, &first);
  site_run_for(s, SPAN_MS(100));
  assert_int_equal(first.released, 1);
  assert_int_equal(first.last.status, DIBS_OK);
  assert_int_equal(held_at(s), 0);

  before = s->commands;
  hold(s, 0, &second);
  site_run_for(s, SPAN_MS(20));
  assert_true(second.fence > first.fence);
  assert_int_equal(with_token(s, second.fence / 1024), 5);
  assert_int_equal(s->commands - before, 5);
  assert_int_equal(second.last.replicas_wanted, 3);
  over(s);
}

static void a_fence_is_on_a_majority_when_it_is_told(void **state)
{
  site *s = site_of(5, 1);
  told t;

  (void)state;
  for (size_t i = 0; i < 5; i++)         /* nobody can guess a common token */
    s->skew_us[i] = (int64_t)i * 10000000;
  claim_of(s, 0, &t, true);
  while (t.granted == 0)
    site_run_for(s, (span){ 50000 });
  assert_true(with_token(s, t.fence / 1024) >= 1);
  {
    size_t count = 0;

    for (size_t i = 0; i < 5; i++) {
      const char *lease = site_lease(s, i, "x");
      const char *token = strchr(lease, ':');

      if (token != NULL)
        count += strtoull(strchr(token + 1, ':') + 1, NULL, 10) >= t.fence / 1024;
    }
    assert_true(count >= 3);
  }
  over(s);
}

/* The latency of the slowest of many, with and without silent servers. */
static span slowest(size_t servers, size_t silent, bool slow_ones)
{
  site *s = site_of(servers, 1);
  span most = { 0 };

  for (size_t i = 0; i < silent; i++) {
    if (slow_ones)
      s->delay[i] = SPAN_MS(400);
    else
      s->is_mute[i] = true;
  }
  for (int i = 0; i < 200; i++) {
    told t;
    span took;

    claim_of(s, 0, &t, false);
    took = await(s, &t.granted, SPAN_MS(2000));
    if (i >= 2)                          /* the two slowest of 200 are not its 99 % */
      most = span_max(most, took);
    release_of(s, 0, &t);
    took = await(s, &t.released, SPAN_MS(2000));
    if (i >= 2)
      most = span_max(most, took);
    assert_int_equal(t.last.status, DIBS_OK);
  }
  over(s);
  return most;
}

static void silent_and_slow_servers_cost_nothing(void **state)
{
  span three = slowest(3, 0, false), five = slowest(5, 0, false);

  (void)state;
  assert_true(slowest(3, 1, false).ns <= 2 * three.ns);
  assert_true(slowest(5, 2, false).ns <= 2 * five.ns);
  assert_true(slowest(3, 1, true).ns <= 2 * three.ns);
  assert_true(slowest(5, 2, true).ns <= 2 * five.ns);
}

static void a_try_is_busy_when_others_have_a_majority(void **state)
{
  site *s = site_of(3, 2);
  told a, b;
  const char *words;

  (void)state;
  hold(s, 0, &a);
  claim_of(s, 1, &b, true);
  assert_true(await(s, &b.failed, SPAN_MS(200)).ns < SPAN_MS(50).ns);
  assert_int_equal(b.last.status, DIBS_BUSY);
  assert_int_equal(quorum_server_why(s->clients[1].quorum, 0, &words), DIBS_BUSY);
  over(s);
}

static void a_try_takes_a_majority_though_others_have_the_rest(void **state)
{
  site *s = site_of(3, 2);
  told a, b;

  (void)state;
  s->clients[0].is_cut[0] = s->clients[0].is_cut[1] = true;
  claim_of(s, 0, &a, true);              /* gets server 2 only */
  site_run_for(s, SPAN_MS(100));
  assert_int_equal(held_at(s), 1);
  claim_of(s, 1, &b, true);
  (void)await(s, &b.granted, SPAN_MS(100));
  over(s);
}

enum { RIVALS = 5, ROUNDS = 200 };

/* The rounds of several tries at once on a free name, after which none of them held it. */
static unsigned rounds_without_holder(size_t servers, lock_kind kind, span spread)
{
  site *s = site_of(servers, RIVALS);
  span slowest = { 0 };
  unsigned without = 0;

  s->jitter = SPAN_MS(1);
  for (int round = 0; round < ROUNDS; round++) {
    told t[RIVALS];
    unsigned holders = 0, ended = 0;
    instant begun = s->now;

    memset(t, 0, sizeof(t));
    for (size_t i = 0; i < RIVALS; i++) {
      lock_spec w = wish_of(&t[i]);

      w.kind = kind;
      w.is_try = true;
      site_run_for(s, random_span(&s->random, (span){ 0 }, spread));
      claim_as(s, i, &t[i], &w);
    }
    while (ended < RIVALS) {
      site_run_for(s, (span){ 100000 });
      for (size_t i = ended = holders = 0; i < RIVALS; i++) {
        holders += t[i].granted;
        ended += t[i].granted + t[i].failed;
      }
      assert_true(instant_since(s->now, begun).ns < SPAN_MS(3000).ns);
    }
    slowest = span_max(slowest, instant_since(s->now, begun));
    assert_true(holders <= 1);
    without += holders == 0;
    for (size_t i = 0; i < RIVALS; i++)
      if (t[i].granted == 1)
        release_of(s, i, &t[i]);
      else
        assert_int_equal(t[i].last.status, DIBS_BUSY);
    site_run_for(s, SPAN_MS(100));
    assert_int_equal(kind == LOCK_MUTEX ? held_at(s) : 0, 0);
  }
  if (getenv("QUORUM_VERBOSE") != NULL)
    print_message("%s, %zu servers, %d tries up to %lld us apart: %u of %d rounds without a "
                  "holder, %.1f commands a round, at most %lld us\n",
                  kind == LOCK_MUTEX ? "mutex" : "writers", servers, RIVALS,
                  (long long)(spread.ns / 1000), without, ROUNDS, (double)s->commands / ROUNDS,
                  (long long)(slowest.ns / 1000));
  over(s);
  return without;
}

static void of_tries_at_once_one_holds(void **state)
{
  static const int64_t spreads_us[] = { 0, 300, 1000, 3000 };

  (void)state;
  for (size_t i = 0; i < sizeof(spreads_us) / sizeof(spreads_us[0]); i++)
    for (size_t servers = 3; servers <= 5; servers += 2) {
      span spread = { spreads_us[i] * 1000 };

      assert_int_equal(rounds_without_holder(servers, LOCK_MUTEX, spread), 0);
      assert_int_equal(rounds_without_holder(servers, LOCK_RWLOCK, spread), 0);
    }
}

static void a_try_beside_a_bare_majority_is_busy_at_once(void **state)
{
  site *s = site_of(5, 2);
  told a, b;

  (void)state;
  s->clients[0].is_cut[1] = s->clients[0].is_cut[3] = true;
  hold(s, 0, &a);
  assert_int_equal(held_at(s), 3);
  claim_of(s, 1, &b, true);
  assert_true(await(s, &b.failed, SPAN_MS(200)).ns < SPAN_MS(10).ns);
  assert_int_equal(b.last.status, DIBS_BUSY);
  assert_string_equal(b.words, "another owner holds it");
  over(s);
}

/* Two clients that died in a round have one server of three each, until their leases end. */
static void a_try_that_no_holder_refuses_says_so_in_time(void **state)
{
  site *s = site_of(3, 3);
  told dead, t;
  const char *words;

  (void)state;
  for (size_t client = 0; client < 2; client++) {
    for (size_t i = 0; i < 3; i++)
      s->clients[client].is_cut[i] = i != client;
    claim_of(s, client, &dead, true);
    site_run_for(s, SPAN_MS(5));
    s->clients[client].is_cut[client] = true;
  }
  assert_int_equal(held_at(s), 2);
  claim_of(s, 2, &t, true);
  assert_in_range(await(s, &t.failed, SPAN_MS(2000)).ns / 1000000, 700, 1100);
  assert_int_equal(t.last.status, DIBS_BUSY);
  assert_string_equal(t.words, "several clients have parts of it, and none a majority of the "
                               "servers that answered: try again");
  assert_int_equal(quorum_server_why(s->clients[2].quorum, 0, &words), DIBS_BUSY);
  assert_int_equal(quorum_server_why(s->clients[2].quorum, 2, &words), DIBS_OK);
  site_run_for(s, SPAN_MS(50));
  assert_false(site_is_held(s, 2, "x"));
  over(s);
}

static void a_try_in_quarantine_names_no_owner(void **state)
{
  site *s = site_with_quarantine(3, 1, SPAN_MS(5000));
  told t;
  lock_spec w = wish_of(&t);

  (void)state;
  claim_of(s, 0, &t, true);
  assert_true(await(s, &t.failed, SPAN_MS(100)).ns < SPAN_MS(20).ns);
  assert_int_equal(t.last.status, DIBS_BUSY);
  assert_string_equal(t.words, QUARANTINE_WORDS);
  w.give_up_at = instant_add(s->now, SPAN_MS(500));
  claim_as(s, 0, &t, &w);
  (void)await(s, &t.failed, SPAN_MS(1000));
  assert_int_equal(t.last.status, DIBS_TIMED_OUT);
  assert_string_equal(t.words, QUARANTINE_WORDS);
  over(s);
}

/* As on one server: from its end to the time when it can be taken, a lease refuses no try. */
static void a_try_outlasts_a_lease_that_has_ended(void **state)
{
  site *s = site_of(3, 3);
  told dead, a, b;

  (void)state;
  hold(s, 0, &dead);
  for (size_t i = 0; i < 3; i++)
    s->clients[0].is_cut[i] = true;
  claim_of(s, 1, &a, true);
  (void)await(s, &a.failed, SPAN_MS(20));
  assert_int_equal(a.last.status, DIBS_BUSY);
  site_run_for(s, (span){ TTL.ns + SPAN_MS(200).ns });
  claim_of(s, 1, &a, true);
  claim_of(s, 2, &b, true);
  while (a.granted + a.failed + b.granted + b.failed < 2 && s->now.ns < SPAN_MS(8000).ns)
    site_run_for(s, SPAN_MS(1));
  assert_int_equal(a.granted + b.granted, 1);
  assert_int_equal(a.failed + b.failed, 1);
  over(s);
}

static void too_few_servers_are_named_each_with_its_reason(void **state)
{
  site *s = site_of(3, 1);
  told t;
  const char *words;

  (void)state;
  s->is_mute[0] = s->is_mute[2] = true;
  claim_of(s, 0, &t, true);
  assert_true(await(s, &t.failed, SPAN_MS(4000)).ns <= SITE_CONNECT.ns + SITE_COMMAND.ns);
  assert_int_equal(t.last.status, DIBS_ERR_UNREACHABLE);
  assert_string_equal(t.words, "1 of 3 servers took part, 2 are needed");
  assert_int_equal(quorum_server_why(s->clients[0].quorum, 0, &words), DIBS_ERR_UNREACHABLE);
  assert_int_equal(quorum_server_why(s->clients[0].quorum, 1, &words), DIBS_OK);
  site_run_for(s, SPAN_MS(50));
  assert_int_equal(held_at(s), 0);
  over(s);
}

/* Nothing is known about the servers, so that no lock of the machine may replace them. */
static void a_time_that_was_too_short_says_so(void **state)
{
  (void)state;
  for (int is_try = 0; is_try <= 1; is_try++)
    for (int is_known = 0; is_known <= 1; is_known++) {
      site *s = site_of(3, 1);
      told t;
      lock_spec w = wish_of(&t);

      if (is_known) {                    /* it is connected, then they fall silent */
        hold(s, 0, &t);
        release_of(s, 0, &t);
        site_run_for(s, SPAN_MS(50));
      }
      s->is_mute[0] = s->is_mute[2] = true;
      w.is_try = is_try;
      w.give_up_at = instant_add(s->now, SPAN_MS(40));
      claim_as(s, 0, &t, &w);
      assert_true(await(s, &t.failed, SPAN_MS(1000)).ns <= SPAN_MS(41).ns);
      assert_int_equal(t.last.status, DIBS_ERR_UNREACHABLE);
      assert_true(t.last.was_short);
      assert_string_equal(t.words, "1 of 3 servers took part, 2 are needed; no reply of the others "
                                   "within 40 ms, which may be too short");
      w.give_up_at = instant_add(s->now, SPAN_MS(3000));
      claim_as(s, 0, &t, &w);
      (void)await(s, &t.failed, SPAN_MS(4000));
      assert_false(t.last.was_short);
      assert_string_equal(t.words, "1 of 3 servers took part, 2 are needed");
      over(s);
    }
}

/* The reason is known. */
static void a_majority_that_refuses_was_not_asked_too_briefly(void **state)
{
  site *s = site_of(3, 1);
  told t;
  lock_spec w = wish_of(&t);

  (void)state;
  hold(s, 0, &t);
  release_of(s, 0, &t);
  site_run_for(s, SPAN_MS(50));
  for (size_t i = 0; i < 2; i++) {
    s->clients[0].is_cut[i] = true;
    site_break(s, 0, i, false);
  }
  w.give_up_at = instant_add(s->now, SPAN_MS(40));
  claim_as(s, 0, &t, &w);
  (void)await(s, &t.failed, SPAN_MS(1000));
  assert_int_equal(t.last.status, DIBS_ERR_UNREACHABLE);
  assert_false(t.last.was_short);
  over(s);
}

static void a_fault_of_most_is_the_fault_of_all(void **state)
{
  site *s = site_of(3, 1);
  told t;

  (void)state;
  for (size_t i = 0; i < 2; i++)
    (void)sim_server_ask(s->servers[i], "RPUSH dibs:m:{x} 1\r\n", 20, &(size_t){ 0 });
  claim_of(s, 0, &t, false);
  (void)await(s, &t.failed, SPAN_MS(1000));
  assert_int_equal(t.last.status, DIBS_ERR_WRONG_TYPE);
  over(s);
}

static void a_late_grant_of_a_failed_round_is_given_back(void **state)
{
  site *s = site_of(3, 2);
  told a, b;

  (void)state;
  s->clients[0].is_cut[2] = true;
  hold(s, 0, &a);                        /* at 0 and 1 */
  s->delay[2] = SPAN_MS(300);
  claim_of(s, 1, &b, true);
  assert_true(await(s, &b.failed, SPAN_MS(1000)).ns < SPAN_MS(100).ns);
  assert_int_equal(b.last.status, DIBS_BUSY);
  site_run_for(s, SPAN_MS(1500));
  assert_false(site_is_held(s, 2, "x"));
  over(s);
}

static void a_raise_that_reaches_no_majority_is_no_grant(void **state)
{
  site *s = site_of(3, 1);
  told t;

  (void)state;
  for (size_t i = 0; i < 3; i++) {
    s->skew_us[i] = (int64_t)i * 100000;
    s->delay[i] = SPAN_MS(10);
  }
  s->is_mute[2] = true;
  claim_of(s, 0, &t, true);
  site_run_for(s, SPAN_MS(45));          /* text and all: two grants, of different tokens */
  assert_int_equal(held_at(s), 2);
  assert_int_equal(t.granted, 0);
  s->is_mute[0] = true;
  (void)await(s, &t.failed, SPAN_MS(4000));
  assert_int_equal(t.last.status, DIBS_ERR_UNREACHABLE);
  assert_string_equal(t.words, "a majority of the servers granted it, and fewer confirmed its "
                               "fence in time");
  assert_int_equal(t.granted, 0);
  s->is_mute[0] = s->is_mute[2] = false;
  site_run_for(s, SPAN_MS(1000));
  assert_int_equal(held_at(s), 0);
  over(s);
}

/* No other client has it: neither "another client holds it" nor "busy" is true. */
static void a_limit_during_a_raise_is_unknown_and_leaves_nothing(void **state)
{
  (void)state;
  for (int is_try = 0; is_try <= 1; is_try++) {
    site *s = site_of(3, 1);
    size_t queue = site_queue_server(s, "x"), other = (queue + 1) % 3, silent = (queue + 2) % 3;
    told t;
    lock_spec w = wish_of(&t);

    for (size_t i = 0; i < 3; i++)
      s->delay[i] = SPAN_MS(10);
    s->skew_us[other] = 100000;
    s->is_mute[silent] = true;
    w.is_try = is_try;
    w.give_up_at = instant_add(s->now, SPAN_MS(600));
    claim_as(s, 0, &t, &w);
    site_run_for(s, SPAN_MS(45));        /* two grants, of different tokens, and a raise */
    assert_int_equal(held_at(s), 2);
    assert_int_equal(t.granted + t.failed, 0);
    s->is_mute[queue] = s->is_mute[other] = true;
    assert_true(await(s, &t.failed, SPAN_MS(4000)).ns < SPAN_MS(560).ns);
    assert_int_equal(t.last.status, DIBS_UNKNOWN);
    assert_string_equal(t.words, "a majority of the servers granted it, and fewer confirmed its "
                                 "fence in time");
    for (size_t i = 0; i < 3; i++)
      s->is_mute[i] = false;
    site_run_for(s, SPAN_MS(1000));
    assert_int_equal(t.granted, 0);
    assert_int_equal(held_at(s), 0);
    over(s);
  }
}

/* ---- waiting ---- */

static void a_waiter_is_handed_the_lock_on_and_fences_grow(void **state)
{
  site *s = site_of(5, 3);
  told t[3];

  (void)state;
  hold(s, 0, &t[0]);
  claim_of(s, 1, &t[1], false);
  site_run_for(s, SPAN_MS(300));
  claim_of(s, 2, &t[2], false);
  site_run_for(s, SPAN_MS(5000));
  assert_int_equal(t[1].granted + t[2].granted, 0);
  for (size_t i = 0; i < 2; i++) {
    release_of(s, i, &t[i]);
    assert_true(await(s, &t[i + 1].granted, SPAN_MS(500)).ns < SPAN_MS(50).ns);
    assert_true(t[i + 1].fence > t[i].fence);
  }
  over(s);
}

static void two_who_start_at_once_are_both_served(void **state)
{
  (void)state;
  for (int i = 0; i < 100; i++) {
    site *s = site_of(i % 2 == 0 ? 3 : 5, 2);
    told t[2];

    random_seed(&s->random, (uint64_t)i);
    s->jitter = SPAN_MS(5);
    claim_of(s, 0, &t[0], false);
    claim_of(s, 1, &t[1], false);
    while (t[0].granted + t[1].granted == 0 && s->now.ns < 3000000000)
      site_run_for(s, SPAN_MS(1));
    assert_int_equal(t[0].granted + t[1].granted, 1);
    release_of(s, t[0].granted == 0, &t[t[0].granted == 0]);
    (void)await(s, &t[t[0].granted != 0].granted, SPAN_MS(500));
    over(s);
  }
}

/* The time until the first of several holds it that ask at once, and release it at once. */
static span first_of_waiters(size_t servers, uint64_t seed)
{
  site *s = site_of(servers, RIVALS);
  told t[RIVALS];
  bool is_ending[RIVALS] = { false };
  size_t released = 0;
  instant begun = s->now;
  span first = { 0 };

  random_seed(&s->random, seed);
  s->jitter = SPAN_MS(1);
  memset(t, 0, sizeof(t));
  for (size_t i = 0; i < RIVALS; i++)
    claim_of(s, i, &t[i], false);
  while (released < RIVALS) {
    site_run_for(s, (span){ 100000 });
    for (size_t i = released = 0; i < RIVALS; i++) {
      if (t[i].granted == 1 && first.ns == 0)
        first = instant_since(s->now, begun);
      if (t[i].granted == 1 && !is_ending[i])
        release_of(s, i, &t[i]);
      is_ending[i] = t[i].granted == 1;
      released += t[i].released;
    }
    assert_true(instant_since(s->now, begun).ns < SPAN_MS(1000).ns);
  }
  over(s);
  return first;
}

static void of_waiters_at_once_one_holds_soon(void **state)
{
  (void)state;
  for (size_t servers = 3; servers <= 5; servers += 2) {
    span longest = { 0 }, sum = { 0 };

    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
      span first = first_of_waiters(servers, seed);

      longest = span_max(longest, first);
      sum.ns += first.ns;
    }
    if (getenv("QUORUM_VERBOSE") != NULL)
      print_message("%zu servers: the first of %d waiters holds after %lld us, at most %lld us\n",
                    servers, RIVALS, (long long)(sum.ns / ROUNDS / 1000),
                    (long long)(longest.ns / 1000));
    assert_true(longest.ns < SPAN_MS(100).ns);
  }
}

static void the_queue_server_may_be_silent_from_the_beginning(void **state)
{
  site *s = site_of(3, 2);
  told a, b;

  (void)state;
  s->is_mute[site_queue_server(s, "x")] = true;
  hold(s, 0, &a);
  claim_of(s, 1, &b, false);
  site_run_for(s, SPAN_MS(1000));
  release_of(s, 0, &a);
  assert_true(await(s, &b.granted, SPAN_MS(500)).ns < SPAN_MS(300).ns);
  over(s);
}

static void the_queue_server_may_fall_silent_under_those_who_wait(void **state)
{
  site *s = site_of(3, 2);
  told a, b;

  (void)state;
  hold(s, 0, &a);
  claim_of(s, 1, &b, false);
  site_run_for(s, SPAN_MS(500));
  s->is_mute[site_queue_server(s, "x")] = true;
  site_run_for(s, SPAN_MS(100));
  release_of(s, 0, &a);
  (void)await(s, &b.granted, SPAN_MS(5000));
  over(s);
}

/* The first queue server restarts without data and grants nothing for a minute. */
static void a_queue_server_in_quarantine_delays_no_waiter(void **state)
{
  (void)state;
  for (int waits_first = 0; waits_first <= 1; waits_first++) {
    site *s = site_with_quarantine(5, 3, SPAN_MS(60000));
    told t[3];

    claim_of(s, 0, &t[0], false);        /* all servers are new */
    (void)await(s, &t[0].granted, SPAN_MS(65000));
    if (waits_first)
      claim_of(s, 1, &t[1], false);
    site_run_for(s, SPAN_MS(10000));
    site_restart(s, site_queue_server(s, "x"), false);
    site_run_for(s, SPAN_MS(3000));
    if (!waits_first)
      claim_of(s, 1, &t[1], false);
    site_run_for(s, SPAN_MS(1000));
    claim_of(s, 2, &t[2], false);
    site_run_for(s, SPAN_MS(1000));
    for (size_t i = 0; i < 2; i++) {
      release_of(s, i, &t[i]);
      assert_true(await(s, &t[i + 1].granted, SPAN_MS(40000)).ns < SPAN_MS(50).ns);
    }
    over(s);
  }
}

static void a_queue_server_that_a_dead_client_has_delays_nobody_for_its_lease(void **state)
{
  site *s = site_of(3, 2);
  told a, b;
  size_t queue_server = site_queue_server(s, "x");
  lock_spec w = wish_of(&a);

  (void)state;
  w.ttl = SPAN_MS(60000);
  w.is_try = true;
  for (size_t i = 0; i < 3; i++)
    s->clients[0].is_cut[i] = i != queue_server;
  claim_as(s, 0, &a, &w);
  site_run_for(s, SPAN_MS(20));
  for (size_t i = 0; i < 3; i++)         /* it died */
    s->clients[0].is_cut[i] = true;
  claim_of(s, 1, &b, false);
  (void)await(s, &b.granted, SPAN_MS(3000));
  over(s);
}

/* The servers' clocks differ from those of the clients, so that no deadline counts: what ended is
 * watched for its whole length, at each server. */
static void a_dead_holder_is_followed_though_clocks_disagree(void **state)
{
  site *s = site_of(3, 2);
  told a, b;

  (void)state;
  for (size_t i = 0; i < 3; i++)
    s->skew_us[i] = 1000000;
  hold(s, 0, &a);
  claim_of(s, 1, &b, false);
  site_run_for(s, SPAN_MS(500));
  for (size_t i = 0; i < 3; i++)
    s->clients[0].is_cut[i] = true;
  (void)await(s, &b.granted, SPAN_MS(15000));
  over(s);
}

/* Dead clients left a lease in doubt at one server: a hold takes that one in time, so that it
 * outlives the next server. */
static void a_hold_takes_what_the_dead_left_in_doubt(void **state)
{
  site *s = site_of(3, 2);
  size_t queue_server = site_queue_server(s, "x"), in_doubt = (queue_server + 1) % 3;
  told a, b;

  (void)state;
  for (size_t i = 0; i < 3; i++) {
    s->skew_us[i] = 1000000;
    s->clients[0].is_cut[i] = i != in_doubt;
  }
  claim_of(s, 0, &a, true);
  site_run_for(s, SPAN_MS(20));
  s->clients[0].is_cut[in_doubt] = true;
  assert_int_equal(held_at(s), 1);
  hold(s, 1, &b);
  site_run_for(s, (span){ 3 * TTL.ns });
  s->is_mute[queue_server] = true;
  site_run_for(s, (span){ 3 * TTL.ns });
  assert_int_equal(b.lost, 0);
  over(s);
}

static void who_gives_up_is_told_so_in_time(void **state)
{
  site *s = site_of(3, 2);
  told a, b;
  lock_spec w = wish_of(&b);

  (void)state;
  hold(s, 0, &a);
  w.give_up_at = instant_add(s->now, SPAN_MS(700));
  claim_as(s, 1, &b, &w);
  assert_true(await(s, &b.failed, SPAN_MS(1000)).ns <= SPAN_MS(701).ns);
  assert_int_equal(b.last.status, DIBS_TIMED_OUT);
  release_of(s, 0, &a);
  site_run_for(s, SPAN_MS(200));
  assert_int_equal(held_at(s), 0);
  over(s);
}

static void a_cancel_in_any_phase_leaves_nothing(void **state)
{
  (void)state;
  for (int64_t us = 0; us < 40000; us += 700) {
    site *s = site_of(3, 2);
    told a, b;

    s->delay[1] = SPAN_MS(5);
    hold(s, 0, &a);
    if (us % 1400 == 0)
      s->is_mute[2] = true;
    claim_of(s, 1, &b, false);
    site_run_for(s, (span){ 10000000 });
    release_of(s, 0, &a);
    site_run_for(s, (span){ us * 1000 });
    if (hold_cancel(s->clients[1].front, b.id, s->now)) {
      site_settle(s);
      assert_int_equal(b.last.status, DIBS_CANCELLED);
    } else {
      site_settle(s);
      assert_int_equal(b.granted, 1);
      release_of(s, 1, &b);
    }
    s->is_mute[2] = false;
    site_run_for(s, SPAN_MS(2500));
    assert_int_equal(held_at(s), 0);
    assert_true(hold_is_quiet(s->clients[1].front));
    over(s);
  }
}

/* ---- holding ---- */

static void a_hold_is_renewed_and_outlives_a_minority(void **state)
{
  site *s = site_of(5, 1);
  told t;

  (void)state;
  hold(s, 0, &t);
  s->is_mute[0] = s->is_mute[3] = true;
  site_run_for(s, SPAN_MS(10000));
  assert_int_equal(t.lost, 0);
  assert_true(t.renewed >= 3);
  assert_true(instant_before(s->now, t.valid_until));
  over(s);
}

/* Of a majority's leases, whose end the last of it decides. */
static void the_slack_of_a_quorum_is_that_of_its_majority(void **state)
{
  site *s = site_of(3, 1);
  lock_counts counts;
  told t;

  (void)state;
  hold(s, 0, &t);
  s->is_mute[2] = true;                  /* renews nothing: its lease does not count */
  site_run_for(s, SPAN_MS(10000));
  counts = hold_counts(s->clients[0].front);
  assert_true(counts.renewed >= 3);
  assert_in_range(slack_least(&counts.slack, s->now), 400000, 750000);
  over(s);
}

static void a_hold_is_lost_once_and_in_time_without_a_majority(void **state)
{
  site *s = site_of(3, 1);
  told t;
  instant silent_at;

  (void)state;
  hold(s, 0, &t);
  site_run_for(s, SPAN_MS(2500));
  silent_at = s->now;
  s->is_mute[0] = s->is_mute[1] = true;  /* server 2 goes on renewing */
  (void)await(s, &t.lost, SPAN_MS(4000));
  assert_true(t.suspect >= 1);
  assert_true(!instant_before(instant_add(silent_at, TTL), t.at));
  assert_true(!instant_before(t.valid_until, t.at));
  s->is_mute[0] = s->is_mute[1] = false;
  site_run_for(s, SPAN_MS(5000));
  assert_int_equal(t.lost, 1);
  assert_int_equal(held_at(s), 0);
  release_of(s, 0, &t);
  assert_int_equal(t.released, 1);
  assert_int_equal(t.last.status, DIBS_LOST);
  over(s);
}

/* What is told is the second best of three ends. */
static void a_belief_ends_with_the_majority_th_best_lease(void **state)
{
  site *s = site_of(3, 1);
  told t;
  instant cut_at;

  (void)state;
  hold(s, 0, &t);
  site_run_for(s, SPAN_MS(200));
  cut_at = s->now;
  s->is_mute[0] = s->is_mute[1] = true;
  site_run_for(s, SPAN_MS(2000));        /* server 2 was renewed meanwhile */
  assert_int_equal(t.lost, 0);
  assert_true(!instant_before(instant_add(cut_at, TTL), t.valid_until));
  over(s);
}

static void what_a_minority_lost_is_taken_again(void **state)
{
  site *s = site_of(3, 1);
  told t;

  (void)state;
  hold(s, 0, &t);
  site_run_for(s, SPAN_MS(100));
  site_restart(s, 1, false);
  assert_int_equal(held_at(s), 2);
  site_run_for(s, SPAN_MS(2500));
  assert_int_equal(held_at(s), 3);
  site_restart(s, 0, false);             /* so the next loss is borne, too */
  site_run_for(s, SPAN_MS(2500));
  assert_int_equal(t.lost, 0);
  assert_int_equal(held_at(s), 3);
  assert_true(with_token(s, t.fence / 1024) >= 1);
  over(s);
}

static void break_at(site *s, size_t server, const char *name)
{
  const char *lease = site_lease(s, server, name);
  protocol spoken;
  lease_id id;
  request asked;
  buffer out;

  protocol_init(&spoken, &(protocol_settings){ .dialect = &native_dialect, .prefix = "dibs",
                                               .client = s->clients[1].id });
  lease = strchr(lease, '"') + 1;
  assert_true(lease_id_read(lease, strcspn(lease, " "), &id));
  request_init(&asked, &s->own_memory);
  buffer_init(&out, &s->own_memory);
  assert_true(native_break(&spoken, &asked, name, strlen(name), &id, 0));
  asked.carries_text = true;
  assert_true(request_render(&asked, false, &out));
  site_ask(s, server, buffer_bytes(&out), buffer_size(&out));
  buffer_deinit(&out);
  request_deinit(&asked);
}

/* An administrator needs seconds from one server to the next. */
static void a_hold_ends_that_is_broken_at_one_server_after_the_other(void **state)
{
  site *s = site_of(3, 2);
  told t;

  (void)state;
  hold(s, 0, &t);
  site_run_for(s, SPAN_MS(1000));        /* it listens for its end */
  break_at(s, 0, "x");
  site_run_for(s, SPAN_MS(10000));
  assert_int_equal(t.lost, 0);
  assert_int_equal(held_at(s), 2);
  break_at(s, 1, "x");
  (void)await(s, &t.lost, TTL);
  release_of(s, 0, &t);
  over(s);
}

static void a_lease_that_was_broken_at_one_server_is_taken_again(void **state)
{
  site *s = site_of(3, 2);
  told t;

  (void)state;
  hold(s, 0, &t);
  site_run_for(s, SPAN_MS(1000));
  break_at(s, 2, "x");
  site_run_for(s, SPAN_MS(30000));
  assert_int_equal(held_at(s), 2);
  site_run_for(s, SPAN_MS(35000));
  assert_int_equal(held_at(s), 3);
  assert_int_equal(t.lost, 0);
  over(s);
}

static void a_majority_that_restarts_empty_ends_the_hold(void **state)
{
  site *s = site_of(3, 1);
  told t;

  (void)state;
  hold(s, 0, &t);
  site_run_for(s, SPAN_MS(100));
  site_restart(s, 0, false);
  site_restart(s, 1, false);
  assert_true(await(s, &t.lost, SPAN_MS(3000)).ns < SPAN_MS(500).ns);
  assert_string_equal(t.words, "fewer than a majority of the servers have this lease; "
                               "the server no longer has this lease");
  over(s);
}

static void a_fixed_lease_and_max_hold_end_on_time(void **state)
{
  site *s = site_of(3, 1);
  told t;
  lock_spec w = wish_of(&t);
  instant granted_at;

  (void)state;
  w.is_fixed = true;
  claim_as(s, 0, &t, &w);
  (void)await(s, &t.granted, SPAN_MS(100));
  (void)await(s, &t.lost, SPAN_MS(3001));
  assert_int_equal(t.renewed, 0);
  site_run_for(s, SPAN_MS(100));
  assert_int_equal(held_at(s), 0);
  release_of(s, 0, &t);

  w.is_fixed = false;
  w.max_hold = SPAN_MS(5000);
  claim_as(s, 0, &t, &w);
  (void)await(s, &t.granted, SPAN_MS(100));
  granted_at = t.at;
  (void)await(s, &t.lost, SPAN_MS(6000));
  assert_true(!instant_before(instant_add(granted_at, SPAN_MS(5000)), t.at));
  assert_true(instant_before(instant_add(granted_at, SPAN_MS(4900)), t.at));
  assert_true(instant_before(s->now, instant_add(granted_at, SPAN_MS(5000))));
  assert_int_equal(held_at(s), 3);       /* the last moments are still promised */
  assert_string_equal(t.words, "max_hold_ms is over");
  assert_true(t.renewed > 0);
  site_run_for(s, SPAN_MS(100));
  assert_int_equal(held_at(s), 0);
  over(s);
}

/* ---- of one process ---- */

static void an_owner_enters_again_and_others_of_the_process_queue(void **state)
{
  site *s = site_of(3, 1);
  told outer, inner, other, refused, tried;
  lock_spec w = wish_of(&outer);

  (void)state;
  w.owner = "me";
  w.owner_size = 2;
  claim_as(s, 0, &outer, &w);
  (void)await(s, &outer.granted, SPAN_MS(100));
  w.context = &inner;
  claim_as(s, 0, &inner, &w);
  assert_int_equal(inner.granted, 1);
  assert_int_equal(inner.last.depth, 2);
  assert_true(inner.fence == outer.fence);
  w.context = &refused;
  w.no_reentry = true;
  claim_as(s, 0, &refused, &w);
  assert_int_equal(refused.last.status, DIBS_WOULD_DEADLOCK);
  claim_of(s, 0, &other, false);
  claim_of(s, 0, &tried, true);
  assert_int_equal(tried.last.status, DIBS_BUSY);

  release_of(s, 0, &inner);
  site_run_for(s, SPAN_MS(200));
  assert_int_equal(other.granted, 0);
  assert_int_equal(held_at(s), 3);
  release_of(s, 0, &outer);
  (void)await(s, &other.granted, SPAN_MS(200));
  assert_true(other.fence > outer.fence);
  over(s);
}

/* A waiter of the process proves nothing: two of three servers are silent. */
static void behind_a_waiter_without_a_majority_a_try_and_a_limit_end_by_a_fault(void **state)
{
  site *s = site_of(3, 1);
  told first, limited, tried;
  lock_spec w = wish_of(&limited);

  (void)state;
  s->is_mute[0] = s->is_mute[2] = true;
  claim_of(s, 0, &first, false);
  w.give_up_at = instant_add(s->now, SPAN_MS(600));
  claim_as(s, 0, &limited, &w);
  claim_of(s, 0, &tried, true);
  site_run_for(s, SPAN_MS(500));
  assert_int_equal(limited.failed + tried.failed, 0);
  (void)await(s, &limited.failed, SPAN_MS(200));
  assert_int_equal(limited.last.status, DIBS_ERR_UNREACHABLE);
  (void)await(s, &tried.failed, (span){ SITE_CONNECT.ns + SITE_COMMAND.ns });
  assert_int_equal(tried.last.status, DIBS_ERR_UNREACHABLE);
  over(s);
}

static void a_try_behind_a_waiter_is_busy_when_others_have_a_majority(void **state)
{
  site *s = site_of(3, 2);
  told holder, first, limited, tried, late;
  lock_spec w = wish_of(&limited);

  (void)state;
  hold(s, 1, &holder);
  claim_of(s, 0, &first, false);
  claim_of(s, 0, &tried, true);
  assert_int_equal(tried.failed, 0);
  assert_true(await(s, &tried.failed, SPAN_MS(200)).ns < SPAN_MS(50).ns);
  assert_int_equal(tried.last.status, DIBS_BUSY);
  claim_of(s, 0, &late, true);
  assert_int_equal(late.last.status, DIBS_BUSY);
  w.give_up_at = instant_add(s->now, SPAN_MS(100));
  claim_as(s, 0, &limited, &w);
  (void)await(s, &limited.failed, SPAN_MS(200));
  assert_int_equal(limited.last.status, DIBS_TIMED_OUT);
  over(s);
}

static void a_try_behind_a_waiter_that_is_granted_is_busy_or_enters_again(void **state)
{
  site *s = site_of(3, 1);
  told first, tried, again;
  lock_spec w = wish_of(&first);

  (void)state;
  w.owner = "me";
  w.owner_size = 2;
  claim_as(s, 0, &first, &w);
  claim_of(s, 0, &tried, true);
  w.context = &again;
  w.is_try = true;
  claim_as(s, 0, &again, &w);
  assert_int_equal(tried.failed + again.granted, 0);
  (void)await(s, &first.granted, SPAN_MS(200));
  assert_int_equal(tried.last.status, DIBS_BUSY);
  assert_int_equal(again.granted, 1);
  assert_int_equal(again.last.depth, 2);
  over(s);
}

/* One round is the answer for all that began before it. */
static void tries_of_a_process_share_a_round(void **state)
{
  site *s = site_of(3, 2);
  told holder, tries[20];
  uint64_t before;

  (void)state;
  hold(s, 1, &holder);
  claim_of(s, 0, &tries[0], true);
  (void)await(s, &tries[0].failed, SPAN_MS(200));    /* it is connected now */
  before = s->commands;
  for (size_t i = 0; i < 20; i++)
    claim_of(s, 0, &tries[i], true);
  (void)await(s, &tries[0].failed, SPAN_MS(200));
  for (size_t i = 0; i < 20; i++)
    assert_int_equal(tries[i].last.status, DIBS_BUSY);
  assert_true(s->commands - before <= 3);
  over(s);
}

static void readers_share_and_a_writer_may_go_on_as_one(void **state)
{
  site *s = site_of(3, 2);
  told writer, reader, another;
  lock_spec w = wish_of(&writer);

  (void)state;
  w.kind = LOCK_RWLOCK;
  claim_as(s, 0, &writer, &w);
  (void)await(s, &writer.granted, SPAN_MS(100));
  w.reads = true;
  w.context = &reader;
  claim_as(s, 1, &reader, &w);
  site_run_for(s, SPAN_MS(1000));
  assert_int_equal(reader.granted, 0);
  assert_int_equal(hold_downgrade(s->clients[0].front, writer.id, s->now), DIBS_OK);
  site_settle(s);
  (void)await(s, &reader.granted, SPAN_MS(2000));
  w.context = &another;
  claim_as(s, 0, &another, &w);
  (void)await(s, &another.granted, SPAN_MS(2000));
  assert_int_equal(writer.lost, 0);
  over(s);
}

static void what_a_quorum_cannot_do_is_refused(void **state)
{
  site *s = site_of(3, 1);
  told t;
  lock_spec w = wish_of(&t);
  uint64_t id;

  (void)state;
  w.kind = LOCK_SEMAPHORE;
  assert_int_equal(hold_claim(s->clients[0].front, &w, s->now, &id), DIBS_ERR_UNSUPPORTED);
  w.kind = LOCK_MUTEX;
  w.linger = SPAN_MS(5);
  assert_int_equal(hold_claim(s->clients[0].front, &w, s->now, &id), DIBS_ERR_UNSUPPORTED);
  hold(s, 0, &t);
  assert_int_equal(hold_detach(s->clients[0].front, t.id, s->now), DIBS_ERR_UNSUPPORTED);
  assert_int_equal(hold_release(s->clients[0].front, t.id + 99, s->now), DIBS_ERR_STALE);
  over(s);
}

static void a_close_gives_all_back_and_waits_for_no_silent_server(void **state)
{
  site *s = site_of(3, 2);
  told held, waiting;
  hold_front *f = s->clients[0].front;

  (void)state;
  hold(s, 0, &held);
  s->is_mute[1] = true;
  claim_of(s, 0, &waiting, false);
  hold_close(f, s->now);
  site_settle(s);
  assert_int_equal(waiting.last.status, DIBS_ERR_CLOSED);
  site_run_for(s, SPAN_MS(100));
  assert_int_equal(held.released, 1);
  assert_int_equal(held.last.status, DIBS_OK);
  assert_false(site_is_held(s, 0, "x"));
  assert_false(site_is_held(s, 2, "x"));
  site_run_for(s, SITE_COMMAND);
  assert_true(hold_is_quiet(f));
  assert_int_equal(hold_claim(f, &(lock_spec){ .kind = LOCK_MUTEX }, s->now, &held.id),
                   DIBS_ERR_CLOSED);
  over(s);
}

/* ---- memory ---- */

static void refused_memory_fails_the_claim_and_nothing_else(void **state)
{
  (void)state;
  for (size_t n = 1; n < 40; n++) {
    site *s = site_of(3, 1);
    told t, later;
    dibs_status status;
    lock_spec w = wish_of(&t);

    memset(&t, 0, sizeof(t));
    w.note = "a note";
    s->heap.fail_at = s->heap.asked + n;
    status = hold_claim(s->clients[0].front, &w, s->now, &t.id);
    site_settle(s);
    site_run_for(s, SPAN_MS(1000));
    assert_true(status == DIBS_ERR_NO_MEMORY || t.granted + t.failed == 1);
    if (t.granted == 1)
      release_of(s, 0, &t);
    site_run_for(s, SPAN_MS(1000));
    hold(s, 0, &later);
    over(s);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_grant_is_one_token_on_all_servers_and_one_request_each),
    cmocka_unit_test(a_fence_is_on_a_majority_when_it_is_told),
    cmocka_unit_test(silent_and_slow_servers_cost_nothing),
    cmocka_unit_test(a_try_is_busy_when_others_have_a_majority),
    cmocka_unit_test(a_try_takes_a_majority_though_others_have_the_rest),
    cmocka_unit_test(of_tries_at_once_one_holds),
    cmocka_unit_test(a_try_beside_a_bare_majority_is_busy_at_once),
    cmocka_unit_test(a_try_that_no_holder_refuses_says_so_in_time),
    cmocka_unit_test(a_try_in_quarantine_names_no_owner),
    cmocka_unit_test(a_try_outlasts_a_lease_that_has_ended),
    cmocka_unit_test(too_few_servers_are_named_each_with_its_reason),
    cmocka_unit_test(a_time_that_was_too_short_says_so),
    cmocka_unit_test(a_majority_that_refuses_was_not_asked_too_briefly),
    cmocka_unit_test(a_fault_of_most_is_the_fault_of_all),
    cmocka_unit_test(a_late_grant_of_a_failed_round_is_given_back),
    cmocka_unit_test(a_raise_that_reaches_no_majority_is_no_grant),
    cmocka_unit_test(a_limit_during_a_raise_is_unknown_and_leaves_nothing),
    cmocka_unit_test(a_waiter_is_handed_the_lock_on_and_fences_grow),
    cmocka_unit_test(two_who_start_at_once_are_both_served),
    cmocka_unit_test(of_waiters_at_once_one_holds_soon),
    cmocka_unit_test(the_queue_server_may_be_silent_from_the_beginning),
    cmocka_unit_test(the_queue_server_may_fall_silent_under_those_who_wait),
    cmocka_unit_test(a_queue_server_in_quarantine_delays_no_waiter),
    cmocka_unit_test(a_queue_server_that_a_dead_client_has_delays_nobody_for_its_lease),
    cmocka_unit_test(a_dead_holder_is_followed_though_clocks_disagree),
    cmocka_unit_test(a_hold_takes_what_the_dead_left_in_doubt),
    cmocka_unit_test(who_gives_up_is_told_so_in_time),
    cmocka_unit_test(a_cancel_in_any_phase_leaves_nothing),
    cmocka_unit_test(a_hold_is_renewed_and_outlives_a_minority),
    cmocka_unit_test(the_slack_of_a_quorum_is_that_of_its_majority),
    cmocka_unit_test(a_hold_is_lost_once_and_in_time_without_a_majority),
    cmocka_unit_test(a_belief_ends_with_the_majority_th_best_lease),
    cmocka_unit_test(what_a_minority_lost_is_taken_again),
    cmocka_unit_test(a_hold_ends_that_is_broken_at_one_server_after_the_other),
    cmocka_unit_test(a_lease_that_was_broken_at_one_server_is_taken_again),
    cmocka_unit_test(a_majority_that_restarts_empty_ends_the_hold),
    cmocka_unit_test(a_fixed_lease_and_max_hold_end_on_time),
    cmocka_unit_test(an_owner_enters_again_and_others_of_the_process_queue),
    cmocka_unit_test(behind_a_waiter_without_a_majority_a_try_and_a_limit_end_by_a_fault),
    cmocka_unit_test(a_try_behind_a_waiter_is_busy_when_others_have_a_majority),
    cmocka_unit_test(a_try_behind_a_waiter_that_is_granted_is_busy_or_enters_again),
    cmocka_unit_test(tries_of_a_process_share_a_round),
    cmocka_unit_test(readers_share_and_a_writer_may_go_on_as_one),
    cmocka_unit_test(what_a_quorum_cannot_do_is_refused),
    cmocka_unit_test(a_close_gives_all_back_and_waits_for_no_silent_server),
    cmocka_unit_test(refused_memory_fails_the_claim_and_nothing_else),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}

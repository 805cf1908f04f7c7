/* SPDX-License-Identifier: MIT */
/* Quorum, step by step, over real lock tables and scripts: how a lock is taken, and why it is
 * not. */
#include "tests.h"
#include "quorum/claimant.h"

#include <stdlib.h>
#include <string.h>

TEST(a_grant_is_one_token_on_all_servers_and_one_request_each)
{
  site *s = site_of(5, 1);
  told first, second;
  uint64_t before;

  hold(s, 0, &first);
  release_by(s, 0, &first);
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

TEST(a_fence_is_on_a_majority_when_it_is_told)
{
  site *s = site_of(5, 1);
  told t;

  for (size_t i = 0; i < 5; i++)         /* nobody can guess a common token */
    s->skew_us[i] = (int64_t)i * 10000000;
  claim_by(s, 0, &t, true);
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

    claim_by(s, 0, &t, false);
    took = await(s, &t.granted, SPAN_MS(2000));
    if (i >= 2)                          /* the two slowest of 200 are not its 99 % */
      most = span_max(most, took);
    release_by(s, 0, &t);
    took = await(s, &t.released, SPAN_MS(2000));
    if (i >= 2)
      most = span_max(most, took);
    assert_int_equal(t.last.status, DIBS_OK);
  }
  over(s);
  return most;
}

TEST(silent_and_slow_servers_cost_nothing)
{
  span three = slowest(3, 0, false), five = slowest(5, 0, false);

  assert_true(slowest(3, 1, false).ns <= 2 * three.ns);
  assert_true(slowest(5, 2, false).ns <= 2 * five.ns);
  assert_true(slowest(3, 1, true).ns <= 2 * three.ns);
  assert_true(slowest(5, 2, true).ns <= 2 * five.ns);
}

TEST(a_try_is_busy_when_others_have_a_majority)
{
  site *s = site_of(3, 2);
  told a, b;
  const char *words;

  hold(s, 0, &a);
  claim_by(s, 1, &b, true);
  assert_true(await(s, &b.failed, SPAN_MS(200)).ns < SPAN_MS(50).ns);
  assert_int_equal(b.last.status, DIBS_BUSY);
  assert_int_equal(quorum_server_why(s->clients[1].quorum, 0, &words), DIBS_BUSY);
  over(s);
}

TEST(a_try_takes_a_majority_though_others_have_the_rest)
{
  site *s = site_of(3, 2);
  told a, b;

  s->clients[0].is_cut[0] = s->clients[0].is_cut[1] = true;
  claim_by(s, 0, &a, true);              /* gets server 2 only */
  site_run_for(s, SPAN_MS(100));
  assert_int_equal(held_at(s), 1);
  claim_by(s, 1, &b, true);
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
      lock_spec w = wish_for(&t[i]);

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
        release_by(s, i, &t[i]);
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

TEST(of_tries_at_once_one_holds)
{
  static const int64_t spreads_us[] = { 0, 300, 1000, 3000 };

  for (size_t i = 0; i < sizeof(spreads_us) / sizeof(spreads_us[0]); i++)
    for (size_t servers = 3; servers <= 5; servers += 2) {
      span spread = { spreads_us[i] * 1000 };

      assert_int_equal(rounds_without_holder(servers, LOCK_MUTEX, spread), 0);
      assert_int_equal(rounds_without_holder(servers, LOCK_RWLOCK, spread), 0);
    }
}

TEST(a_try_beside_a_bare_majority_is_busy_at_once)
{
  site *s = site_of(5, 2);
  told a, b;

  s->clients[0].is_cut[1] = s->clients[0].is_cut[3] = true;
  hold(s, 0, &a);
  assert_int_equal(held_at(s), 3);
  claim_by(s, 1, &b, true);
  assert_true(await(s, &b.failed, SPAN_MS(200)).ns < SPAN_MS(10).ns);
  assert_int_equal(b.last.status, DIBS_BUSY);
  assert_string_equal(b.words, "another owner holds it");
  over(s);
}

/* Two clients that died in a round have one server of three each, until their leases end. */
TEST(a_try_that_no_holder_refuses_says_so_in_time)
{
  site *s = site_of(3, 3);
  told dead, t;
  const char *words;

  for (size_t client = 0; client < 2; client++) {
    for (size_t i = 0; i < 3; i++)
      s->clients[client].is_cut[i] = i != client;
    claim_by(s, client, &dead, true);
    site_run_for(s, SPAN_MS(5));
    s->clients[client].is_cut[client] = true;
  }
  assert_int_equal(held_at(s), 2);
  claim_by(s, 2, &t, true);
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

TEST(a_try_in_quarantine_names_no_owner)
{
  site *s = site_with_quarantine(3, 1, SPAN_MS(5000));
  told t;
  lock_spec w = wish_for(&t);

  claim_by(s, 0, &t, true);
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
TEST(a_try_outlasts_a_lease_that_has_ended)
{
  site *s = site_of(3, 3);
  told dead, a, b;

  hold(s, 0, &dead);
  for (size_t i = 0; i < 3; i++)
    s->clients[0].is_cut[i] = true;
  claim_by(s, 1, &a, true);
  (void)await(s, &a.failed, SPAN_MS(20));
  assert_int_equal(a.last.status, DIBS_BUSY);
  site_run_for(s, (span){ TTL.ns + SPAN_MS(200).ns });
  claim_by(s, 1, &a, true);
  claim_by(s, 2, &b, true);
  while (a.granted + a.failed + b.granted + b.failed < 2 && s->now.ns < SPAN_MS(8000).ns)
    site_run_for(s, SPAN_MS(1));
  assert_int_equal(a.granted + b.granted, 1);
  assert_int_equal(a.failed + b.failed, 1);
  over(s);
}

TEST(too_few_servers_are_named_each_with_its_reason)
{
  site *s = site_of(3, 1);
  told t;
  const char *words;

  s->is_mute[0] = s->is_mute[2] = true;
  claim_by(s, 0, &t, true);
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
TEST(a_time_that_was_too_short_says_so)
{
  for (int is_try = 0; is_try <= 1; is_try++)
    for (int is_known = 0; is_known <= 1; is_known++) {
      site *s = site_of(3, 1);
      told t;
      lock_spec w = wish_for(&t);

      if (is_known) {                    /* it is connected, then they fall silent */
        hold(s, 0, &t);
        release_by(s, 0, &t);
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
TEST(a_majority_that_refuses_was_not_asked_too_briefly)
{
  site *s = site_of(3, 1);
  told t;
  lock_spec w = wish_for(&t);

  hold(s, 0, &t);
  release_by(s, 0, &t);
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

TEST(a_fault_of_most_is_the_fault_of_all)
{
  site *s = site_of(3, 1);
  told t;

  for (size_t i = 0; i < 2; i++)
    (void)sim_server_ask(s->servers[i], "RPUSH dibs:m:{x} 1\r\n", 20, &(size_t){ 0 });
  claim_by(s, 0, &t, false);
  (void)await(s, &t.failed, SPAN_MS(1000));
  assert_int_equal(t.last.status, DIBS_ERR_WRONG_TYPE);
  over(s);
}

TEST(a_late_grant_of_a_failed_round_is_given_back)
{
  site *s = site_of(3, 2);
  told a, b;

  s->clients[0].is_cut[2] = true;
  hold(s, 0, &a);                        /* at 0 and 1 */
  s->delay[2] = SPAN_MS(300);
  claim_by(s, 1, &b, true);
  assert_true(await(s, &b.failed, SPAN_MS(1000)).ns < SPAN_MS(100).ns);
  assert_int_equal(b.last.status, DIBS_BUSY);
  site_run_for(s, SPAN_MS(1500));
  assert_false(site_is_held(s, 2, "x"));
  over(s);
}

TEST(a_raise_that_reaches_no_majority_is_no_grant)
{
  site *s = site_of(3, 1);
  told t;

  for (size_t i = 0; i < 3; i++) {
    s->skew_us[i] = (int64_t)i * 100000;
    s->delay[i] = SPAN_MS(10);
  }
  s->is_mute[2] = true;
  claim_by(s, 0, &t, true);
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
TEST(a_limit_during_a_raise_is_unknown_and_leaves_nothing)
{
  for (int is_try = 0; is_try <= 1; is_try++) {
    site *s = site_of(3, 1);
    size_t queue = site_queue_server(s, "x"), other = (queue + 1) % 3, silent = (queue + 2) % 3;
    told t;
    lock_spec w = wish_for(&t);

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

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* Quorum, step by step, over real lock tables and scripts: claims that wait, and the server with
 * their queue. */
#include "tests.h"
#include "quorum/claimant.h"

#include <stdlib.h>
#include <string.h>

enum { RIVALS = 5, ROUNDS = 200 };

TEST(a_waiter_is_handed_the_lock_on_and_fences_grow)
{
  site *s = site_of(5, 3);
  told t[3];

  hold(s, 0, &t[0]);
  claim_by(s, 1, &t[1], false);
  site_run_for(s, SPAN_MS(300));
  claim_by(s, 2, &t[2], false);
  site_run_for(s, SPAN_MS(5000));
  assert_int_equal(t[1].granted + t[2].granted, 0);
  for (size_t i = 0; i < 2; i++) {
    release_by(s, i, &t[i]);
    assert_true(await(s, &t[i + 1].granted, SPAN_MS(500)).ns < SPAN_MS(50).ns);
    assert_true(t[i + 1].fence > t[i].fence);
  }
  over(s);
}

TEST(two_who_start_at_once_are_both_served)
{
  for (int i = 0; i < 100; i++) {
    site *s = site_of(i % 2 == 0 ? 3 : 5, 2);
    told t[2];

    random_seed(&s->random, (uint64_t)i);
    s->jitter = SPAN_MS(5);
    claim_by(s, 0, &t[0], false);
    claim_by(s, 1, &t[1], false);
    while (t[0].granted + t[1].granted == 0 && s->now.ns < 3000000000)
      site_run_for(s, SPAN_MS(1));
    assert_int_equal(t[0].granted + t[1].granted, 1);
    release_by(s, t[0].granted == 0, &t[t[0].granted == 0]);
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
    claim_by(s, i, &t[i], false);
  while (released < RIVALS) {
    site_run_for(s, (span){ 100000 });
    for (size_t i = released = 0; i < RIVALS; i++) {
      if (t[i].granted == 1 && first.ns == 0)
        first = instant_since(s->now, begun);
      if (t[i].granted == 1 && !is_ending[i])
        release_by(s, i, &t[i]);
      is_ending[i] = t[i].granted == 1;
      released += t[i].released;
    }
    assert_true(instant_since(s->now, begun).ns < SPAN_MS(1000).ns);
  }
  over(s);
  return first;
}

TEST(of_waiters_at_once_one_holds_soon)
{
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

enum { TURNS = 400, CLAIMS_MAX = 8 };

typedef struct shape {
  lock_kind kind;
  size_t servers, clients, claims;
  bool is_mute;                  /* the queue server */
} shape;
typedef struct turn_cost { span time; double commands; } turn_cost;

/* Of a read/write lock as a writer. */
static void claim_kind(site *s, lock_kind kind, size_t client, told *t)
{
  lock_spec w = wish_for(t);

  w.kind = kind;
  claim_as(s, client, t, &w);
}

/* Who has had it asks again at once, as clients do that compete for a name; nobody does anything
 * with it. The mean of a turn. */
static turn_cost turn_of(shape of)
{
  site *s = site_of(of.servers, of.clients);
  told t[CLAIMS_MAX];
  bool is_ending[CLAIMS_MAX] = { false };
  size_t turns = 0;
  instant begun = s->now;
  turn_cost mean;

  s->jitter = (span){ s->delay[0].ns / 5 };
  s->is_mute[site_queue_server(s, "x")] = of.is_mute;
  for (size_t i = 0; i < of.claims; i++)
    claim_kind(s, of.kind, i % of.clients, &t[i]);
  while (turns < TURNS) {
    size_t holding = 0;

    site_run_for(s, (span){ s->delay[0].ns / 50 });
    for (size_t i = 0; i < of.claims; i++) {
      if (t[i].granted == 1 && !is_ending[i]) {
        holding++;
        turns++;
        is_ending[i] = true;
        release_by(s, i % of.clients, &t[i]);
      }
      if (t[i].released == 1) {
        is_ending[i] = false;
        claim_kind(s, of.kind, i % of.clients, &t[i]);
      }
    }
    assert_true(holding <= 1);
    assert_true(instant_since(s->now, begun).ns < SPAN_MS(60000).ns);
  }
  mean = (turn_cost){ .time = { instant_since(s->now, begun).ns / TURNS },
                      .commands = (double)s->commands / TURNS };
  over(s);
  return mean;
}

/* Two reply times: the release and the message, then the grants of the others. Of each of those
 * a grant and a release; of the queue server an answer that it is busy, and a raise, too. */
TEST(a_turn_takes_two_reply_times_and_few_commands)
{
  static const shape shapes[] = {
    { LOCK_MUTEX, 3, 2, 2, false }, { LOCK_MUTEX, 3, 4, 4, false },
    { LOCK_MUTEX, 3, 4, 8, false }, { LOCK_MUTEX, 3, 8, 8, false },
    { LOCK_MUTEX, 5, 4, 4, false }, { LOCK_MUTEX, 5, 4, 8, false },
    { LOCK_RWLOCK, 3, 2, 2, false }, { LOCK_RWLOCK, 3, 4, 8, false },
    { LOCK_RWLOCK, 5, 4, 4, false },
    { LOCK_MUTEX, 3, 4, 8, true }, { LOCK_MUTEX, 5, 4, 8, true },
  };

  for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
    turn_cost turn = turn_of(shapes[i]);

    if (getenv("QUORUM_VERBOSE") != NULL)
      print_message("%zu servers, %zu clients, %zu claims: %lld us and %.2f commands a turn\n",
                    shapes[i].servers, shapes[i].clients, shapes[i].claims,
                    (long long)(turn.time.ns / 1000), turn.commands);
    /* With what it takes once to see that a server is silent. */
    assert_true(turn.time.ns < (shapes[i].is_mute ? 3000000 : 2500000));
    assert_true(turn.commands < 2 * (double)shapes[i].servers + 3);
  }
}

/* From the claim to its grant. */
static span granted_after(site *s, size_t client, told *t)
{
  claim_by(s, client, t, false);
  return await(s, &t->granted, SPAN_MS(1000));
}

/* Holds it for a moment. */
static void have_had(site *s, size_t client, told *t)
{
  hold(s, client, t);
  release_by(s, client, t);
  (void)await(s, &t->released, SPAN_MS(50));
}

/* b waits for a, and has it next. */
static void compete(site *s, told *a, told *b)
{
  hold(s, 0, a);
  claim_by(s, 1, b, false);
  site_run_for(s, SPAN_MS(20));
  release_by(s, 0, a);
  (void)await(s, &b->granted, SPAN_MS(50));
  release_by(s, 1, b);
  (void)await(s, &b->released, SPAN_MS(50));
}

/* From the release of a to the grant of b, the next, while c takes the other servers for a moment:
 * it asks for the first time, and so at all. */
static span next_after(uint64_t seed)
{
  site *s = site_of(3, 3);
  told a, b, c;
  span took;

  random_seed(&s->random, seed);
  have_had(s, 2, &c);                    /* its connections stand */
  hold(s, 0, &a);
  claim_by(s, 1, &b, false);
  site_run_for(s, SPAN_MS(300));
  s->jitter = (span){ s->delay[0].ns / 5 };
  release_by(s, 0, &a);
  claim_by(s, 2, &c, false);
  took = await(s, &b.granted, SPAN_MS(100));
  release_by(s, 1, &b);
  (void)await(s, &c.granted, SPAN_MS(100));
  over(s);
  return took;
}

TEST(the_next_asks_again_as_soon_as_others_have_yielded)
{
  span longest = { 0 };

  for (uint64_t seed = 0; seed < ROUNDS; seed++)
    longest = span_max(longest, next_after(seed));
  if (getenv("QUORUM_VERBOSE") != NULL)
    print_message("the next holds after at most %lld us\n", (long long)(longest.ns / 1000));
  assert_true(longest.ns < SPAN_MS(7).ns);
}

TEST(a_try_of_a_name_for_which_clients_compete_is_busy_at_once)
{
  site *s = site_of(3, 2);
  told a, b, c;

  compete(s, &a, &b);
  hold(s, 0, &a);
  claim_by(s, 1, &b, true);
  assert_true(await(s, &b.failed, SPAN_MS(50)).ns < SPAN_MS(2).ns);
  assert_int_equal(b.last.status, DIBS_BUSY);
  claim_by(s, 1, &b, false);
  site_run_for(s, SPAN_MS(20));
  claim_by(s, 1, &c, true);              /* its own client waits for another */
  assert_int_equal(c.failed, 1);
  assert_int_equal(c.last.status, DIBS_BUSY);
  release_by(s, 0, &a);
  (void)await(s, &b.granted, SPAN_MS(50));
  over(s);
}

TEST(a_name_for_which_clients_have_competed_is_forgotten)
{
  site *s = site_of(3, 2);
  told a, b;

  compete(s, &a, &b);
  site_run_for(s, SPAN_MS(1100));
  assert_true(granted_after(s, 1, &b).ns < SPAN_MS(2).ns);
  over(s);
}

TEST(a_name_that_is_free_again_costs_one_reply_time_more_once)
{
  site *s = site_of(3, 2);
  told a, b;

  compete(s, &a, &b);
  assert_true(granted_after(s, 1, &b).ns >= SPAN_MS(2).ns);
  release_by(s, 1, &b);
  (void)await(s, &b.released, SPAN_MS(50));
  assert_true(granted_after(s, 1, &b).ns < SPAN_MS(2).ns);
  over(s);
}

TEST(a_queue_server_that_is_asked_first_may_be_silent)
{
  site *s = site_of(3, 2);
  told a, b;

  compete(s, &a, &b);
  s->is_mute[site_queue_server(s, "x")] = true;
  assert_true(granted_after(s, 1, &b).ns < SPAN_MS(100).ns);
  over(s);
}

TEST(a_queue_server_that_is_asked_first_may_be_in_quarantine)
{
  site *s = site_with_quarantine(3, 2, SPAN_MS(60000));
  told a, b;

  claim_by(s, 0, &a, false);             /* all servers are new */
  (void)await(s, &a.granted, SPAN_MS(65000));
  release_by(s, 0, &a);
  (void)await(s, &a.released, SPAN_MS(50));
  compete(s, &a, &b);
  site_restart(s, site_queue_server(s, "x"), false);
  site_run_for(s, SPAN_MS(300));
  assert_true(granted_after(s, 1, &b).ns < SPAN_MS(100).ns);
  over(s);
}

TEST(the_queue_server_may_be_silent_from_the_beginning)
{
  site *s = site_of(3, 2);
  told a, b;

  s->is_mute[site_queue_server(s, "x")] = true;
  hold(s, 0, &a);
  claim_by(s, 1, &b, false);
  site_run_for(s, SPAN_MS(1000));
  release_by(s, 0, &a);
  assert_true(await(s, &b.granted, SPAN_MS(500)).ns < SPAN_MS(300).ns);
  over(s);
}

/* A command is a client of its own each time. */
TEST(a_silent_queue_server_costs_a_new_client_no_more_than_others)
{
  site *s = site_of(3, 1);
  told a;

  s->is_mute[site_queue_server(s, "x")] = true;
  assert_true(granted_after(s, 0, &a).ns < SPAN_MS(60).ns);
  over(s);
}

TEST(the_queue_server_may_fall_silent_under_those_who_wait)
{
  site *s = site_of(3, 2);
  told a, b;

  hold(s, 0, &a);
  claim_by(s, 1, &b, false);
  site_run_for(s, SPAN_MS(500));
  s->is_mute[site_queue_server(s, "x")] = true;
  site_run_for(s, SPAN_MS(100));
  release_by(s, 0, &a);
  (void)await(s, &b.granted, SPAN_MS(5000));
  over(s);
}

/* As the engine does when a majority has answered. */
static void be_patient(site *s)
{
  for (size_t i = 0; i < s->client_count; i++) {
    quorum_be_patient(s->clients[i].quorum);
    for (size_t j = 0; j < s->server_count; j++)
      lock_be_patient(s->clients[i].tables[j], s->now);
  }
}

/* Else one that asks later would pass them: it queues at another at once. */
TEST(waiters_of_a_dead_queue_server_queue_at_another)
{
  site *s = site_of(3, 3);
  size_t queue_server = site_queue_server(s, "x");
  told t[3];

  hold(s, 0, &t[0]);
  be_patient(s);
  claim_by(s, 1, &t[1], false);
  site_run_for(s, SPAN_MS(500));
  s->is_mute[queue_server] = true;
  for (size_t i = 0; i < 2; i++)
    site_break(s, i, queue_server, false);
  site_run_for(s, SPAN_MS(20000));
  claim_by(s, 2, &t[2], false);
  site_run_for(s, SPAN_MS(1000));
  for (size_t i = 0; i < 2; i++) {
    release_by(s, i, &t[i]);
    (void)await(s, &t[i + 1].granted, SPAN_MS(500));
  }
  over(s);
}

/* The first queue server restarts without data and grants nothing for a minute. */
TEST(a_queue_server_in_quarantine_delays_no_waiter)
{
  for (int waits_first = 0; waits_first <= 1; waits_first++) {
    site *s = site_with_quarantine(5, 3, SPAN_MS(60000));
    told t[3];

    claim_by(s, 0, &t[0], false);        /* all servers are new */
    (void)await(s, &t[0].granted, SPAN_MS(65000));
    if (waits_first)
      claim_by(s, 1, &t[1], false);
    site_run_for(s, SPAN_MS(10000));
    site_restart(s, site_queue_server(s, "x"), false);
    site_run_for(s, SPAN_MS(3000));
    if (!waits_first)
      claim_by(s, 1, &t[1], false);
    site_run_for(s, SPAN_MS(1000));
    claim_by(s, 2, &t[2], false);
    site_run_for(s, SPAN_MS(1000));
    for (size_t i = 0; i < 2; i++) {
      release_by(s, i, &t[i]);
      assert_true(await(s, &t[i + 1].granted, SPAN_MS(40000)).ns < SPAN_MS(50).ns);
    }
    over(s);
  }
}

TEST(a_queue_server_that_a_dead_client_has_delays_nobody_for_its_lease)
{
  site *s = site_of(3, 2);
  told a, b;
  size_t queue_server = site_queue_server(s, "x");
  lock_spec w = wish_for(&a);

  w.ttl = SPAN_MS(60000);
  w.is_try = true;
  for (size_t i = 0; i < 3; i++)
    s->clients[0].is_cut[i] = i != queue_server;
  claim_as(s, 0, &a, &w);
  site_run_for(s, SPAN_MS(20));
  for (size_t i = 0; i < 3; i++)         /* it died */
    s->clients[0].is_cut[i] = true;
  claim_by(s, 1, &b, false);
  (void)await(s, &b.granted, SPAN_MS(3000));
  over(s);
}

/* The servers' clocks differ from those of the clients, so that no deadline counts: what ended is
 * watched for its whole length, at each server. */
TEST(a_dead_holder_is_followed_though_clocks_disagree)
{
  site *s = site_of(3, 2);
  told a, b;

  for (size_t i = 0; i < 3; i++)
    s->skew_us[i] = 1000000;
  hold(s, 0, &a);
  claim_by(s, 1, &b, false);
  site_run_for(s, SPAN_MS(500));
  for (size_t i = 0; i < 3; i++)
    s->clients[0].is_cut[i] = true;
  (void)await(s, &b.granted, SPAN_MS(15000));
  over(s);
}

/* Dead clients left a lease in doubt at one server: a hold takes that one in time, so that it
 * outlives the next server. */
TEST(a_hold_takes_what_the_dead_left_in_doubt)
{
  site *s = site_of(3, 2);
  size_t queue_server = site_queue_server(s, "x"), in_doubt = (queue_server + 1) % 3;
  told a, b;

  for (size_t i = 0; i < 3; i++) {
    s->skew_us[i] = 1000000;
    s->clients[0].is_cut[i] = i != in_doubt;
  }
  claim_by(s, 0, &a, true);
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

TEST(who_gives_up_is_told_so_in_time)
{
  site *s = site_of(3, 2);
  told a, b;
  lock_spec w = wish_for(&b);

  hold(s, 0, &a);
  w.give_up_at = instant_add(s->now, SPAN_MS(700));
  claim_as(s, 1, &b, &w);
  assert_true(await(s, &b.failed, SPAN_MS(1000)).ns <= SPAN_MS(701).ns);
  assert_int_equal(b.last.status, DIBS_TIMED_OUT);
  release_by(s, 0, &a);
  site_run_for(s, SPAN_MS(200));
  assert_int_equal(held_at(s), 0);
  over(s);
}

TEST(a_cancel_in_any_phase_leaves_nothing)
{
  for (int64_t us = 0; us < 40000; us += 700) {
    site *s = site_of(3, 2);
    told a, b;

    s->delay[1] = SPAN_MS(5);
    hold(s, 0, &a);
    if (us % 1400 == 0)
      s->is_mute[2] = true;
    claim_by(s, 1, &b, false);
    site_run_for(s, (span){ 10000000 });
    release_by(s, 0, &a);
    site_run_for(s, (span){ us * 1000 });
    if (hold_cancel(s->clients[1].front, b.id, s->now)) {
      site_settle(s);
      assert_int_equal(b.last.status, DIBS_CANCELLED);
    } else {
      site_settle(s);
      assert_int_equal(b.granted, 1);
      release_by(s, 1, &b);
    }
    s->is_mute[2] = false;
    site_run_for(s, SPAN_MS(2500));
    assert_int_equal(held_at(s), 0);
    assert_true(hold_is_quiet(s->clients[1].front));
    over(s);
  }
}

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* test/live/no_deadlock_test.c - where there is no cycle, or cannot be known to be one,
 * nobody fails, whatever else happens meanwhile. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include "live.h"
#include "party.h"
#include "proxy.h"

#define DETECTS DIBS_CLIENT_DETECT_DEADLOCK

/* ---- none ---- */

/* Nobody fails: all wait until their time is over. */
static void expect_all_time_out(struct party *parties, int count)
{
  for (int i = 0; i < count; i++)
    party_start(&parties[i]);
  for (int i = 0; i < count; i++)
    party_want(&parties[i]);
  for (int i = 0; i < count; i++)
    live_refused(party_report(&parties[i]).status, DIBS_TIMED_OUT);
  for (int i = 0; i < count; i++)
    party_end(&parties[i]);
  assert_int_equal(live_faults(), 0);
}

TEST(nobody_fails_where_nobody_looks)
{
  struct party parties[2];

  party_ring(parties, 2, 0);
  parties[0].wait_ms = parties[1].wait_ms = 2500;
  expect_all_time_out(parties, 2);
}

/* One of them does not tell its owners: nothing is guessed. */
TEST(a_client_that_tells_nothing_ends_a_walk)
{
  struct party parties[3];

  party_ring(parties, 3, DETECTS);
  parties[1].flags = 0;
  for (int i = 0; i < 3; i++)
    parties[i].wait_ms = 2500;
  expect_all_time_out(parties, 3);
}

/* P waits for Q and Q for P, but not the same threads of them. */
TEST(clients_that_cross_with_other_owners_are_no_cycle)
{
  dibs_options o = live_options();
  dibs_client *p, *q, *other = live_open(live_url());
  struct party parties[3] = {
    { .first = { 'x', "cross-p" }, .second = { 'x', "others" }, .wait_ms = 2500 },
    { .first = { 'x', "own-p" }, .second = { 'x', "cross-q" }, .wait_ms = 2500 },
    { .first = { 'x', "cross-q" }, .second = { 'x', "cross-p" }, .wait_ms = 2500 },
  };
  dibs_hold *others = live_lock(other, "others", 60000);

  o.flags = DETECTS;
  parties[0].client = parties[1].client = p = live_open_with(live_url(), &o);
  parties[2].client = q = live_open_with(live_url(), &o);
  expect_all_time_out(parties, 3);
  assert_int_equal(dibs_release(others), DIBS_OK);
  (void)dibs_close(p);
  (void)dibs_close(q);
  (void)dibs_close(other);
}

/* Another permit is in hands that wait for nobody. */
TEST(permits_that_somebody_else_may_give_back_are_no_cycle)
{
  struct party parties[2] = {
    { .first = { 'p', "permit-2" }, .second = { 'x', "permit-y" }, .flags = DETECTS,
      .wait_ms = 2500 },
    { .first = { 'x', "permit-y" }, .second = { 'p', "permit-2" }, .flags = DETECTS,
      .wait_ms = 2500 },
  };
  dibs_lock_options o = live_lock_options(60000, 1000);
  dibs_client *c = live_open(live_url());
  dibs_hold *hold = NULL;

  party_permits_set("permit-2", 2);
  live_expect(c, dibs_acquire(c, DIBS_PERMITS("permit-2", 1), &o, &hold), DIBS_OK);
  expect_all_time_out(parties, 2);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  (void)dibs_close(c);
}

static long long publishes(void)
{
  const char *stats = test_server_command(live_server, "INFO commandstats");
  const char *at = strstr(stats, "cmdstat_publish:calls=");

  return at == NULL ? 0 : atoll(at + strlen("cmdstat_publish:calls="));
}

/* Twice to both: once found, asked about, not confirmed, and found again. */
static bool has_found_it_again(void *nothing)
{
  (void)nothing;
  return publishes() >= 4;
}

/* What it told stands on the server and looks like a cycle, yet its wait is over: it cannot
 * say so, and so is not believed. */
TEST(what_a_cut_off_client_told_before_is_not_believed)
{
  live_needs_one_server();
  struct test_proxy *proxy = test_proxy_start(live_server);
  struct party parties[2];
  struct report r;
  int both = 2;

  party_ring(parties, 2, DETECTS);
  parties[0].url = live_url_by(proxy);
  parties[0].wait_ms = 900;
  party_start(&parties[0]);
  party_start(&parties[1]);
  party_want(&parties[0]);
  party_want(&parties[1]);
  assert_true(live_until(LIVE_LONG_MS, party_tellers_are, &both));
  test_proxy_hold(proxy, TEST_BOTH);     /* its wait ends in the dark */
  (void)test_server_command(live_server, "CONFIG RESETSTAT");
  r = party_report(&parties[0]);
  live_refused(r.status, DIBS_TIMED_OUT);
  assert_true(live_until(LIVE_LONG_MS, has_found_it_again, NULL));
  test_proxy_pass(proxy, TEST_BOTH);
  party_end(&parties[0]);
  assert_int_equal(party_report(&parties[1]).status, DIBS_OK);
  party_end(&parties[1]);
  proxy = test_proxy_stop(proxy);
}

/* ---- crowds ---- */

#define CROWD_CLIENTS 3
#define CROWD_THREADS 3            /* of each client */
#define CROWD_NAMES 5

struct member {
  pthread_t thread;
  dibs_client *client;
  unsigned seed;
  bool keeps_order;
  int64_t until_ms;
  int done, failed;
};

static void hold_for_a_while(struct member *m)
{
  (void)usleep((useconds_t)(100 + rand_r(&m->seed) % 500) * 1000);
}

/* Takes two names, one after the other; 0: both were had. */
static dibs_status two_taken(struct member *m)
{
  static const char *const names[CROWD_NAMES] = { "crowd-0", "crowd-1", "crowd-2", "crowd-3",
                                                  "crowd-4" };
  dibs_lock_options o = live_lock_options(60000, 0);
  int one = rand_r(&m->seed) % CROWD_NAMES;
  int two = (one + 1 + rand_r(&m->seed) % (CROWD_NAMES - 1)) % CROWD_NAMES;
  bool swap = m->keeps_order && one > two;
  dibs_hold *first = NULL, *second = NULL;
  dibs_status status = dibs_lock(m->client, names[swap ? two : one], &o, &first);

  if (status != DIBS_OK)
    return status;
  hold_for_a_while(m);
  status = dibs_lock(m->client, names[swap ? one : two], &o, &second);
  if (status == DIBS_OK) {
    hold_for_a_while(m);
    (void)dibs_release(second);
  }
  (void)dibs_release(first);
  return status;
}

static void *member_run(void *data)
{
  struct member *m = data;

  while (live_now_ms() < m->until_ms) {
    dibs_status status = two_taken(m);

    if (status == DIBS_OK)
      m->done++;
    else if (status == DIBS_WOULD_DEADLOCK)
      m->failed++;
    else
      live_fault("%s", dibs_status_name(status));
  }
  return NULL;
}

/* How many failed; all others got both, or the test never ends. */
static int crowd_failures(bool keeps_order)
{
  struct member members[CROWD_CLIENTS * CROWD_THREADS];
  dibs_client *clients[CROWD_CLIENTS];
  dibs_options o = live_options();
  int failed = 0;

  o.flags = DETECTS;
  for (int i = 0; i < CROWD_CLIENTS; i++)
    clients[i] = live_open_with(live_url(), &o);
  for (int i = 0; i < CROWD_CLIENTS * CROWD_THREADS; i++) {
    members[i] = (struct member){ .client = clients[i % CROWD_CLIENTS],
                                  .seed = (unsigned)i + 1, .keeps_order = keeps_order,
                                  .until_ms = live_now_ms() + live_times(4) * 1000 };
    assert_int_equal(pthread_create(&members[i].thread, NULL, member_run, &members[i]), 0);
  }
  for (int i = 0; i < CROWD_CLIENTS * CROWD_THREADS; i++) {
    assert_int_equal(pthread_join(members[i].thread, NULL), 0);
    assert_true(members[i].done + members[i].failed > 0);
    failed += members[i].failed;
  }
  for (int i = 0; i < CROWD_CLIENTS; i++)
    (void)dibs_close(clients[i]);
  assert_int_equal(live_faults(), 0);
  return failed;
}

TEST(nobody_ever_fails_in_a_crowd_that_keeps_an_order)
{
  assert_int_equal(crowd_failures(true), 0);
}

TEST(a_crowd_without_an_order_gets_on)
{
  assert_true(crowd_failures(false) > 0);
}

/* ---- faults meanwhile ---- */

TEST(a_client_may_be_closed_while_it_looks)
{
  dibs_options o = live_options();
  struct party parties[2];

  o.flags = DETECTS;
  for (int delay_ms = 900; delay_ms <= 1300; delay_ms += 200) {
    party_ring(parties, 2, DETECTS);
    parties[0].client = live_open_with(live_url(), &o);
    parties[1].client = live_open_with(live_url(), &o);
    party_start(&parties[0]);
    party_start(&parties[1]);
    party_want(&parties[0]);
    party_want(&parties[1]);
    (void)usleep((useconds_t)delay_ms * 1000);
    (void)dibs_close(parties[1].client);
    (void)dibs_close(parties[0].client);
    (void)party_report(&parties[0]);
    (void)party_report(&parties[1]);
    party_end(&parties[0]);
    party_end(&parties[1]);
  }
}

TEST(no_server_is_no_cycle)
{
  live_needs_one_server();
  struct party parties[2];
  struct report r;
  int both = 2;

  party_ring(parties, 2, DETECTS);
  parties[0].wait_ms = parties[1].wait_ms = 2500;
  party_start(&parties[0]);
  party_start(&parties[1]);
  party_want(&parties[0]);
  party_want(&parties[1]);
  assert_true(live_until(LIVE_LONG_MS, party_tellers_are, &both));
  test_server_pause(live_server);        /* the walks begin, and nobody answers */
  for (int i = 0; i < 2; i++) {
    r = party_report(&parties[i]);
    assert_int_not_equal(r.status, DIBS_WOULD_DEADLOCK);
    assert_in_range(r.after_ms, 500, 2800);
  }
  test_server_resume(live_server);
  party_end(&parties[0]);
  party_end(&parties[1]);
}

int main(void)
{
  if (live_is_lost_to_tsan() || live_is_beyond(LIVE_SENTINEL))
    return 0;

  return tests_run(live_server_setup, live_server_teardown, NULL, NULL);
}

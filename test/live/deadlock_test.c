/* SPDX-License-Identifier: MIT */
/* test/live/deadlock_test.c - clients that look for deadlocks: of each true cycle the
 * youngest waiter fails; and looking costs nothing where nobody waits for long. Waiting for
 * oneself: owner_key_test.c, too. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include "live.h"
#include "party.h"

#define DETECTS DIBS_CLIENT_DETECT_DEADLOCK

/* The last of `count` that wait in a ring fails, and nobody else. */
static void expect_last_fails(struct party *parties, int count)
{
  struct party *last = &parties[count - 1];
  struct report r;

  for (int i = 0; i < count; i++)
    party_start(&parties[i]);
  for (int i = 0; i < count; i++)
    party_want(&parties[i]);

  r = party_report(last);
  assert_int_equal(r.status, DIBS_WOULD_DEADLOCK);
  assert_in_range(r.after_ms, 1000, 5000);
  for (int i = 0; i < count; i++)
    if (parties[i].second.kind != 'm')
      assert_non_null(strstr(r.text, parties[i].second.name));
  assert_non_null(strstr(r.text, "which waits for"));

  /* Whoever waits for what it lets go of has it now, and so on around. */
  party_end(last);
  for (int i = count - 2; i >= 0; i--) {
    assert_int_equal(party_report(&parties[i]).status, DIBS_OK);
    party_end(&parties[i]);
  }
  assert_int_equal(live_faults(), 0);
}

/* ---- true cycles ---- */

TEST(the_younger_of_two_processes_fails_and_the_other_goes_on)
{
  struct party parties[2];

  party_ring(parties, 2, DETECTS);
  expect_last_fails(parties, 2);
}

TEST(so_it_is_without_a_thread_of_the_library)
{
  struct party parties[2];

  party_ring(parties, 2, DETECTS | DIBS_CLIENT_NO_THREAD);
  expect_last_fails(parties, 2);
}

TEST(the_youngest_of_four_processes_fails)
{
  struct party parties[4];

  party_ring(parties, 4, DETECTS);
  expect_last_fails(parties, 4);
}

TEST(the_younger_of_two_threads_of_one_client_fails)
{
  dibs_options o = live_options();
  struct party parties[2];

  o.flags = DETECTS;
  party_ring(parties, 2, DETECTS);
  parties[0].client = parties[1].client = live_open_with(live_url(), &o);
  expect_last_fails(parties, 2);
  (void)dibs_close(parties[0].client);
}

TEST(readers_that_want_to_write_each_others_are_a_cycle)
{
  struct party parties[2] = {
    { .first = { 'r', "rw-a" }, .second = { 'w', "rw-b" }, .flags = DETECTS },
    { .first = { 'r', "rw-b" }, .second = { 'w', "rw-a" }, .flags = DETECTS },
  };

  expect_last_fails(parties, 2);
}

TEST(a_writer_and_one_who_wants_to_read_are_a_cycle)
{
  struct party parties[2] = {
    { .first = { 'w', "wr-a" }, .second = { 'x', "wr-b" }, .flags = DETECTS },
    { .first = { 'x', "wr-b" }, .second = { 'r', "wr-a" }, .flags = DETECTS },
  };

  expect_last_fails(parties, 2);
}

TEST(the_last_permit_is_part_of_a_cycle)
{
  struct party parties[2] = {
    { .first = { 'p', "permit-1" }, .second = { 'x', "permit-x" }, .flags = DETECTS },
    { .first = { 'x', "permit-x" }, .second = { 'p', "permit-1" }, .flags = DETECTS },
  };

  party_permits_set("permit-1", 1);
  expect_last_fails(parties, 2);
}

TEST(a_set_and_one_of_its_names_are_a_cycle)
{
  struct party parties[2] = {
    { .first = { 'm', "ST" }, .second = { 'x', "set-x" }, .flags = DETECTS },
    { .first = { 'x', "set-x" }, .second = { 'x', "T" }, .flags = DETECTS },
  };

  expect_last_fails(parties, 2);
}

TEST(who_waits_for_a_set_is_part_of_a_cycle)
{
  struct party parties[2] = {
    { .first = { 'x', "V" }, .second = { 'x', "set-y" }, .flags = DETECTS },
    { .first = { 'x', "set-y" }, .second = { 'm', "UV" }, .flags = DETECTS },
  };

  expect_last_fails(parties, 2);
}

/* ---- oneself; and what it costs ---- */

TEST(waiting_for_oneself_is_refused_at_once)
{
  dibs_options o = live_options();
  dibs_lock_options again = live_lock_options(60000, 5000);
  dibs_client *c;
  dibs_hold *hold, *inner = NULL;
  int64_t since_ms;

  o.flags = DETECTS;
  again.flags = DIBS_LOCK_NO_REENTRY;
  c = live_open_with(live_url(), &o);
  hold = live_lock(c, "oneself", 60000);
  since_ms = live_now_ms();
  live_expect(c, dibs_lock(c, "oneself", &again, &inner), DIBS_WOULD_DEADLOCK);
  assert_true(live_now_ms() - since_ms < 200);
  live_expect_words(c, "this owner holds");
  assert_int_equal(dibs_release(hold), DIBS_OK);
  c = dibs_close(c);
}

static uint64_t commands_of(uint32_t flags)
{
  dibs_options o = live_options();
  dibs_client *c;
  uint64_t before;

  o.flags = flags;
  c = live_open_with(live_url(), &o);
  (void)live_try(c, "cost");
  before = live_stats(c).commands;
  for (int i = 0; i < 200; i++)
    assert_int_equal(dibs_release(live_lock(c, "cost", 60000)), DIBS_OK);
  before = live_stats(c).commands - before;
  c = dibs_close(c);
  return before;
}

TEST(looking_costs_no_command_where_nobody_waits)
{
  assert_int_equal(commands_of(DETECTS), commands_of(0));
}

TEST(only_who_holds_and_waits_tells_and_only_meanwhile)
{
  struct party parties[2] = {
    { .first = { 'x', "tell-a" }, .second = { 'x', "tell-b" }, .flags = DETECTS,
      .wait_ms = 2500 },
    { .first = { 'x', "tell-b" }, .second = { 'x', "tell-c" }, .flags = DETECTS },
  };
  int none = 0, one = 1;

  party_start(&parties[0]);
  party_start(&parties[1]);
  assert_int_equal(party_tellers(), 0);
  party_want(&parties[0]);
  assert_true(live_until(LIVE_LONG_MS, party_tellers_are, &one));
  party_order(&parties[1]);
  assert_int_equal(party_report(&parties[1]).status, DIBS_OK);
  live_refused(party_report(&parties[0]).status, DIBS_TIMED_OUT);
  assert_true(live_until(LIVE_LONG_MS, party_tellers_are, &none));
  party_end(&parties[0]);
  party_end(&parties[1]);
}

TEST(who_of_a_client_holds_and_waits_is_shown)
{
  dibs_client *c = live_open(live_url());
  struct party parties[2] = {
    { .first = { 'x', "shown-a" }, .second = { 'x', "shown-b" }, .flags = DETECTS },
    { .first = { 'x', "shown-b" }, .second = { 'x', "shown-c" }, .flags = DETECTS },
  };
  dibs_inspection *a = NULL, *b = NULL;
  int one = 1;

  party_start(&parties[0]);
  party_start(&parties[1]);
  party_want(&parties[0]);
  assert_true(live_until(LIVE_LONG_MS, party_tellers_are, &one));
  live_expect(c, dibs_inspect(c, dibs_text("shown-a"), &a), DIBS_OK);
  live_expect(c, dibs_inspect(c, dibs_text("shown-b"), &b), DIBS_OK);
  assert_int_equal(strlen(a->holders[0]->party->owner), 16);
  assert_string_equal(b->waiters[0]->owner, a->holders[0]->party->owner);
  assert_string_equal(b->holders[0]->party->owner, "");      /* it waits for nobody */
  a = dibs_inspection_free(a);
  b = dibs_inspection_free(b);
  c = dibs_close(c);
  party_order(&parties[1]);
  assert_int_equal(party_report(&parties[1]).status, DIBS_OK);
  party_end(&parties[1]);
  assert_int_equal(party_report(&parties[0]).status, DIBS_OK);
  party_end(&parties[0]);
}

static void *wait_in_vain(void *data)
{
  dibs_lock_options o = live_lock_options(60000, 2000);
  dibs_hold *none = NULL;

  if (dibs_lock(data, "alone", &o, &none) != DIBS_TIMED_OUT)
    live_fault("the lock was to be had");
  return NULL;
}

TEST(who_waits_and_holds_nothing_tells_nothing)
{
  dibs_options o = live_options();
  dibs_client *holder = live_open(live_url()), *waiter;
  dibs_hold *hold = live_lock(holder, "alone", 60000);
  pthread_t thread;
  int one = 1;

  o.flags = DETECTS;
  waiter = live_open_with(live_url(), &o);
  assert_int_equal(pthread_create(&thread, NULL, wait_in_vain, waiter), 0);
  assert_false(live_until(1500, party_tellers_are, &one));
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  holder = dibs_close(holder);
  waiter = dibs_close(waiter);
  assert_int_equal(live_faults(), 0);
}

int main(void)
{
  if (live_is_lost_to_tsan() || live_is_beyond(LIVE_SENTINEL))
    return 0;

  return tests_run(live_server_setup, live_server_teardown, NULL, NULL);
}

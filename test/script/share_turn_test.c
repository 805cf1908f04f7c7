/* SPDX-License-Identifier: MIT */
/* Permits and read/write locks that clients take in turn: the wait and the hand-off go straight
 * on (lua/native/shared/share_enqueue.lua, share_hand_over.lua), and as far as those may. */

#include "tests.h"

#include <stdio.h>
#include <string.h>

#include "mode.h"
#include "share_story.h"

/* Of share_ask() and share_release(): PTTL and HGETALL of the look behind it. */
#define OWN 2

static acquire_answer waits(int who, char mode, uint64_t units, uint64_t ask)
{
  acquire_answer a = share_ask(w, who, mode, units, ask);

  assert_int_equal(a.outcome, ACQUIRE_WAITING);
  return a;
}

/* The time of the server goes on, and what was called until now does not count. */
static void goes_on(int64_t us)
{
  world_set_time(w, START_US + us);
  stage_commands(0, 0);
}

/* Each costs the server as much as thousands of instructions. */
static void needs_few_commands(char mode)
{
  acquire_answer held;
  lease_id granted;

  share_hear(ANNA, CARL);
  held = share_ask(w, ANNA, mode, 1, 1);
  stage_commands(0, 0);
  waits(BERT, mode, 1, 1);
  assert_int_equal(stage_commands(OWN, 1), 5);
  waits(CARL, mode, 1, 1);
  assert_int_equal(stage_commands(OWN, 1), 5);
  goes_on(1000);
  share_release(w, ANNA, &held.lease, 0);
  assert_int_equal(stage_commands(OWN, 1), 8);
  granted = share_told(BERT, 1, 1);
  goes_on(1500);
  waits(ANNA, mode, 1, 2);
  assert_int_equal(stage_commands(OWN, 1), 5);
  goes_on(2000);
  share_release(w, BERT, &granted, 0);
  assert_int_equal(stage_commands(OWN, 1), 8);
}

TEST(a_turn_of_permits_needs_few_commands)
{
  share_set(w, SHARE_SET, 1, NULL);
  needs_few_commands('p');
}

TEST(a_turn_of_writers_needs_few_commands)
{
  needs_few_commands('w');
}

TEST(a_reader_that_waits_for_a_writer_needs_few_commands)
{
  share_hear(BERT, BERT);
  share_ask(w, ANNA, 'w', 1, 1);
  stage_commands(0, 0);
  waits(BERT, 'r', 1, 1);
  assert_int_equal(stage_commands(OWN, 1), 5);
}

TEST(a_try_and_a_release_by_the_general_pieces_look_once_at_the_era)
{
  acquire_answer a = share_ask(w, ANNA, 'w', 1, 1);

  stage_commands(0, 0);
  assert_int_equal(share_try(w, BERT, 'w', 1, 1).outcome, ACQUIRE_BUSY);
  assert_int_equal(stage_commands(OWN, 1), 4);
  share_hear(BERT, BERT);
  waits(BERT, 'w', 1, 2);
  share_mistake_us = 300000;                   /* a doubt needs the general pieces */
  goes_on(1000);
  share_release(w, ANNA, &a.lease, 0);
  assert_int_equal(stage_commands(OWN, 1), 11);
  share_told(BERT, 2, 1);
}

TEST(readers_around_a_writer_need_few_commands)
{
  acquire_answer a, b;
  lease_id c;

  share_hear(CARL, EMIL);
  a = share_ask(w, ANNA, 'r', 1, 1);
  b = share_ask(w, BERT, 'r', 1, 1);
  goes_on(1000);
  waits(CARL, 'w', 1, 1);
  assert_int_equal(stage_commands(OWN, 1), 5);
  waits(DORA, 'r', 1, 1);
  assert_int_equal(stage_commands(OWN, 1), 5);
  waits(EMIL, 'r', 1, 1);
  assert_int_equal(stage_commands(OWN, 1), 5);
  goes_on(2000);
  share_release(w, ANNA, &a.lease, 0);
  assert_int_equal(stage_commands(OWN, 1), 7);
  share_nothing_told(CARL);
  share_release(w, BERT, &b.lease, 0);
  c = share_told(CARL, 1, 1);
  goes_on(3000);
  share_release(w, CARL, &c, 0);
  assert_int_equal(stage_commands(OWN, 1), 11);
  assert_int_equal(share_told(DORA, 1, 1).token, START_US + 3000);
  assert_int_equal(share_told(EMIL, 1, 1).token, START_US + 3001);
}

TEST(a_wait_after_who_ended_first_has_left_looks_for_the_next_once)
{
  acquire_answer a, b, d;
  lease_id c;

  share_hear(CARL, FRED);
  share_set(w, SHARE_SET, 2, NULL);
  a = share_ask(w, ANNA, 'p', 1, 1);
  world_set_time(w, START_US + 1000);
  b = share_ask(w, BERT, 'p', 1, 1);
  waits(CARL, 'p', 1, 1);
  world_set_time(w, START_US + 2000);
  share_release(w, ANNA, &a.lease, 0);
  c = share_told(CARL, 1, 1);
  goes_on(3000);
  d = waits(DORA, 'p', 1, 1);
  assert_int_equal(stage_commands(OWN, 1), 6);
  assert_true(lease_id_equal(&d.lease, &b.lease));
  assert_int_equal(d.remaining_ms, 29998);
  d = waits(EMIL, 'p', 1, 1);
  assert_int_equal(stage_commands(OWN, 1), 5);
  assert_true(lease_id_equal(&d.lease, &b.lease));
  share_release(w, BERT, &b.lease, 0);
  d = waits(FRED, 'p', 1, 1);
  assert_true(lease_id_equal(&d.lease, &c));
}

/* The least of those, whatever the order in which they are read. */
TEST(of_shares_that_end_at_once_the_same_one_is_told)
{
  acquire_answer first, told;

  share_hear(ANNA, ANNA);
  share_set(w, SHARE_SET, 5, NULL);
  first = share_ask(w, ANNA, 'p', 1, 1);
  for (int who = FRED; who > BERT; who--) {
    int later_ms = FRED - who + 1;
    share_call c;

    world_set_time(w, START_US + later_ms * 1000);
    c = share_call_of(w, 'p', 1, 1);
    c.ttl_ms = 30000 - later_ms + 1;
    assert_int_equal(share_send(w, who, &c).outcome, ACQUIRE_GRANTED);
  }
  share_release(w, ANNA, &first.lease, 0);
  told = waits(ANNA, 'p', 2, 2);
  assert_string_equal(told.lease.client, world_native(w, CARL)->client);
}

/* ---- a queue of which the first may be granted ---- */

/* `count` asks of Carl, of which Anna's release grants 64. */
static lease_id queue_of_many(char mode, uint64_t count)
{
  acquire_answer a;

  share_hear(BERT, DORA);
  a = share_ask(w, ANNA, mode == 'r' ? 'w' : 'p', mode == 'r' ? 1 : count + 1, 1);
  waits(BERT, mode, 1, 1);
  for (uint64_t ask = 1; ask < count; ask++)
    waits(CARL, mode, 1, ask);
  world_set_time(w, START_US + 1000);
  share_release(w, ANNA, &a.lease, 0);
  assert_int_equal(share_inspect(w).used, 64);
  world_set_time(w, START_US + 2000);
  return share_told(BERT, 1, 1);
}

TEST(a_hand_off_grants_64_and_the_next_release_goes_on)
{
  lease_id first = queue_of_many('r', 71);

  share_release(w, BERT, &first, 0);
  assert_int_equal(share_inspect(w).used, 70);
}

TEST(a_hand_off_grants_64_and_the_next_ask_goes_on)
{
  queue_of_many('r', 71);
  assert_int_equal(share_ask(w, DORA, 'r', 1, 1).outcome, ACQUIRE_GRANTED);
  assert_int_equal(share_inspect(w).used, 72);
}

TEST(a_hand_off_of_permits_grants_64_and_the_next_ask_goes_on)
{
  share_set(w, SHARE_SET, 72, NULL);
  queue_of_many('p', 71);
  assert_int_equal(share_ask(w, DORA, 'p', 1, 1).outcome, ACQUIRE_GRANTED);
  assert_int_equal(share_inspect(w).used, 72);
}

TEST(an_ask_after_a_dead_one_that_did_not_fit_is_granted)
{
  share_hear(BERT, CARL);
  share_set(w, SHARE_SET, 3, NULL);
  share_ask(w, ANNA, 'p', 2, 1);
  waits(BERT, 'p', 2, 1);
  assert_int_equal(waits(CARL, 'p', 1, 1).rank, 1);
  share_cancel(w, CARL, 1, 0);
  world_deafen(w, BERT);
  assert_int_equal(share_ask(w, CARL, 'p', 1, 2).outcome, ACQUIRE_GRANTED);
}

TEST(an_ask_that_was_cancelled_leaves_a_place_that_is_passed)
{
  acquire_answer a;
  lease_id b;

  share_hear(BERT, DORA);
  a = share_ask(w, ANNA, 'w', 1, 1);
  waits(BERT, 'w', 1, 1);
  waits(CARL, 'w', 1, 1);
  waits(DORA, 'w', 1, 1);
  share_cancel(w, CARL, 1, 0);
  world_set_time(w, START_US + 1000);
  share_release(w, ANNA, &a.lease, 0);
  b = share_told(BERT, 1, 1);
  goes_on(2000);
  share_release(w, BERT, &b, 0);
  assert_int_equal(stage_commands(OWN, 1), 9);
  share_told(DORA, 1, 1);
}

TEST(who_waits_is_told_the_last_token)
{
  acquire_answer a, b, c;

  share_hear(CARL, CARL);
  share_set(w, SHARE_SET, 2, NULL);
  a = share_ask(w, ANNA, 'p', 1, 1);
  world_set_time(w, START_US + 1000);
  b = share_ask(w, BERT, 'p', 1, 1);
  world_set_time(w, START_US + 3000);
  c = waits(CARL, 'p', 1, 1);
  assert_int_equal(c.last_token, b.lease.token);
  assert_true(lease_id_equal(&c.lease, &a.lease));
  assert_int_equal(c.remaining_ms, 29997);
  assert_int_equal(c.lease_ms, 30000);
}

TEST(who_waits_is_told_which_share_ends_first_after_a_renewal)
{
  acquire_answer a, b, c;

  share_hear(CARL, DORA);
  share_set(w, SHARE_SET, 2, NULL);
  a = share_ask(w, ANNA, 'p', 1, 1);
  world_set_time(w, START_US + 1000);
  b = share_ask(w, BERT, 'p', 1, 1);
  world_set_time(w, START_US + 5000);
  share_renew(w, ANNA, &a.lease, 30000, 'p');
  c = waits(CARL, 'p', 1, 1);
  assert_true(lease_id_equal(&c.lease, &b.lease));
  assert_int_equal(c.renewals, 0);
  share_renew(w, BERT, &b.lease, 60000, 'p');
  c = waits(DORA, 'p', 1, 1);
  assert_true(lease_id_equal(&c.lease, &a.lease));
  assert_int_equal(c.renewals, 1);
}

TEST(a_share_of_a_shorter_lease_ends_first)
{
  share_call c = share_call_of(w, 'p', 1, 1);
  acquire_answer a, d;

  share_hear(CARL, DORA);
  share_set(w, SHARE_SET, 2, NULL);
  a = share_ask(w, ANNA, 'p', 1, 1);
  share_ask(w, BERT, 'p', 1, 1);
  c.ttl_ms = 5000;
  assert_int_equal(share_send(w, CARL, &c).outcome, ACQUIRE_WAITING);
  share_release(w, ANNA, &a.lease, 0);
  d = waits(DORA, 'p', 1, 1);
  assert_string_equal(d.lease.client, world_native(w, CARL)->client);
  assert_int_equal(d.remaining_ms, 5000);
}

TEST(a_permit_that_is_free_is_granted_after_the_clock_was_set_back)
{
  acquire_answer a, b;

  share_hear(BERT, BERT);
  share_set(w, SHARE_SET, 2, NULL);
  a = share_ask(w, ANNA, 'p', 1, 1);
  world_set_time(w, START_US - 5000000);
  b = share_ask(w, BERT, 'p', 1, 1);
  assert_int_equal(b.outcome, ACQUIRE_GRANTED);
  assert_int_equal(b.lease.token, a.lease.token + 1);
}

TEST(a_hand_off_after_the_clock_was_set_back_has_a_later_token)
{
  acquire_answer a;
  lease_id b;

  share_hear(BERT, BERT);
  a = share_ask(w, ANNA, 'w', 1, 1);
  waits(BERT, 'w', 1, 1);
  world_set_time(w, START_US - 5000000);
  share_release(w, ANNA, &a.lease, 0);
  b = share_told(BERT, 1, 1);
  assert_int_equal(b.token, a.lease.token + 1);
}

TEST(a_waiter_that_knows_a_later_token_is_granted_one_above)
{
  share_call c = share_call_of(w, 'w', 1, 1);
  acquire_answer a;
  lease_id b;

  share_hear(BERT, BERT);
  a = share_ask(w, ANNA, 'w', 1, 1);
  c.min_token = START_US + 700000;
  assert_int_equal(share_send(w, BERT, &c).outcome, ACQUIRE_WAITING);
  world_set_time(w, START_US + 1000);
  share_release(w, ANNA, &a.lease, 0);
  b = share_told(BERT, 1, 1);
  assert_int_equal(b.token, START_US + 700001);
}

/* By who releases: its estimate of the server's time is what the deadline can be told by. */
TEST(a_hand_off_in_doubt_is_marked)
{
  for (int i = 0; i < 2; i++) {
    acquire_answer a;
    char mark[64];

    (void)share_clear_clock(NULL);
    share_hear(BERT, BERT);
    a = share_ask(w, ANNA, 'w', 1, 1);
    waits(BERT, 'w', 1, 1);
    share_mistake_us = i == 0 ? 250000 : 250001;
    share_release(w, ANNA, &a.lease, 0);
    share_told(BERT, 1, 1);
    snprintf(mark, sizeof(mark), " 30000 30000 0 %d", i == 0 ? 0 : 2);
    assert_non_null(strstr(share_dump(w), mark));
  }
}

TEST(who_wants_too_many_behind_a_grant_that_fills_it_is_told_by_the_next_release)
{
  acquire_answer a;
  lease_id b;
  char lost[128];

  share_hear(BERT, CARL);
  share_set(w, SHARE_SET, 5, NULL);
  a = share_ask(w, ANNA, 'p', 5, 1);
  waits(BERT, 'p', 3, 1);
  waits(CARL, 'p', 4, 1);
  share_set(w, SHARE_SET, 3, NULL);
  share_release(w, ANNA, &a.lease, 0);
  b = share_told(BERT, 1, 3);
  share_nothing_told(CARL);
  share_release(w, BERT, &b, 0);
  snprintf(lost, sizeof(lost), "lost %s:1:0 orders\n", world_native(w, CARL)->client);
  assert_string_equal(world_messages(w, CARL), lost);
  assert_int_equal(share_inspect(w).waiter_count, 0);
}

TEST(a_name_in_use_is_not_waited_for_as_another_kind)
{
  share_call c = share_call_of(w, 'w', 1, 1);

  share_hear(BERT, BERT);
  share_set(w, SHARE_SET, 1, NULL);
  share_ask(w, ANNA, 'p', 1, 1);
  assert_non_null(strstr(share_acquire_error(w, BERT, &c), "as a semaphore"));
  c.mode = 'r';
  assert_non_null(strstr(share_acquire_error(w, BERT, &c), "as a semaphore"));
  assert_int_equal(share_inspect(w).waiter_count, 0);
  test_server_command(world_server(w), "DEL " WORLD_KEY);
  share_ask(w, ANNA, 'w', 1, 2);
  c.mode = 'p';
  assert_non_null(strstr(share_acquire_error(w, BERT, &c), "as a read/write lock"));
  assert_int_equal(share_inspect(w).waiter_count, 0);
}

TEST(a_dead_waiter_is_passed_over_by_the_release)
{
  acquire_answer a;

  share_hear(BERT, DORA);
  a = share_ask(w, ANNA, 'w', 1, 1);
  waits(BERT, 'w', 1, 1);
  waits(CARL, 'w', 1, 1);
  world_deafen(w, BERT);
  /* An ask for what is taken wholly does not look at the queue. */
  assert_int_equal(waits(DORA, 'w', 1, 1).rank, 2);
  share_release(w, ANNA, &a.lease, 0);
  share_told(CARL, 1, 1);
  assert_int_equal(share_inspect(w).waiter_count, 1);
}

static void may_count_subscribers(bool may)
{
  assert_string_equal(test_server_command(world_server(w), "ACL SETUSER %s %spubsub", mode_user(),
                                          may ? "+" : "-"), "OK");
}

/* Whoever waits counts as one that listens; and is told in the inbox of its deployment. */
TEST(who_may_not_count_subscribers_still_waits_and_is_told)
{
  acquire_answer a;

  share_hear(BERT, CARL);
  a = share_ask(w, ANNA, 'r', 1, 1);
  may_count_subscribers(false);
  waits(BERT, 'w', 1, 1);
  waits(CARL, 'w', 1, 1);
  world_set_time(w, START_US + 1000);
  assert_true(share_release(w, ANNA, &a.lease, 0));
  may_count_subscribers(true);
  share_told(BERT, 1, 1);
}

/* ---- the retention ---- */

#define KEPT_MS (HOUR_MS - 1000)                /* of which a second is gone */
#define MINUTE_US INT64_C(1700000040000000)     /* one begins */

/* Bert's ask of such a ttl, or what grants it, comes that much later than Anna's. */
static const struct {
  int64_t later_us, ttl_ms;
  bool is_anew;
} cases[] = {
  { 59999999, 30000, false }, { 60100000, 30000, true }, { -1, 30000, true },
  { 1100000, 900000, false }, { 1100000, 900001, true },
};

static lease_id held_by_anna(void)
{
  share_call c = share_call_of(w, 'w', 1, 1);

  (void)share_clear(NULL);
  share_hear(BERT, BERT);
  world_set_time(w, MINUTE_US);
  c.estimate_us = MINUTE_US;
  c.ttl_ms = 90000;
  return share_send(w, ANNA, &c).lease;
}

static void bert_waits(size_t i)
{
  share_call c = share_call_of(w, 'w', 1, 1);

  c.ttl_ms = cases[i].ttl_ms;
  assert_int_equal(share_send(w, BERT, &c).outcome, ACQUIRE_WAITING);
}

static void time_passes(size_t i)
{
  world_set_time(w, MINUTE_US + cases[i].later_us);
  test_server_command(world_server(w), "PEXPIRE %s %d", WORLD_KEY, KEPT_MS);
}

static void is_kept(size_t i)
{
  bool is_anew = test_server_integer(world_server(w), "PTTL %s", WORLD_KEY) > KEPT_MS;

  print_message("# case %zu\n", i);
  assert_int_equal(is_anew, cases[i].is_anew);
}

TEST(a_wait_sets_the_retention_anew_once_a_minute)
{
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    held_by_anna();
    time_passes(i);
    bert_waits(i);
    is_kept(i);
  }
}

TEST(a_hand_off_sets_the_retention_anew_once_a_minute)
{
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    lease_id held = held_by_anna();

    bert_waits(i);
    time_passes(i);
    assert_true(share_release(w, ANNA, &held, 0));
    is_kept(i);
  }
}

/* Also where the retention would be set anew before. */
TEST(a_full_server_refuses_a_wait_and_changes_nothing)
{
  for (size_t i = 0; i < 2; i++) {
    share_call c;

    held_by_anna();
    time_passes(i);
    c = share_call_of(w, 'w', 1, 1);
    stage_fill_memory();
    assert_non_null(strstr(share_acquire_error(w, BERT, &c), "OOM"));
    stage_empty_memory();
    assert_true(test_server_integer(world_server(w), "PTTL %s", WORLD_KEY) <= KEPT_MS);
    assert_int_equal(share_inspect(w).waiter_count, 0);
  }
}

RUN_STAGE(stage_start, stage_stop, share_clear_clock, NULL)

/* SPDX-License-Identifier: MIT */
/* Semaphores by their scripts: permits all or none, in order, resized while in use, back
 * from the dead within one lease. S1', S8, L3, L10, L12. */

#include "tests.h"

#include <stdio.h>
#include <string.h>

#include "server.h"
#include "share_story.h"

static acquire_answer takes(int who, uint64_t units, uint64_t ask)
{
  return share_ask(w, who, 'p', units, ask);
}

static acquire_answer tries(int who, uint64_t units, uint64_t ask)
{
  return share_try(w, who, 'p', units, ask);
}

TEST(without_a_count_nobody_gets_in_and_nothing_is_written)
{
  assert_int_equal(takes(ANNA, 1, 1).outcome, ACQUIRE_NOT_SET);
  assert_int_equal(tries(ANNA, 0, 2).outcome, ACQUIRE_NOT_SET);
  assert_string_equal(world_type(w), "none");
}

TEST(permits_are_taken_all_or_none)
{
  acquire_answer a, b;

  share_set(w, SHARE_SET, 5, NULL);
  a = takes(ANNA, 3, 1);
  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  assert_int_equal(a.units, 3);
  b = tries(BERT, 3, 1);
  assert_int_equal(b.outcome, ACQUIRE_BUSY);
  assert_true(lease_id_equal(&b.lease, &a.lease));
  assert_int_equal(share_inspect(w).used, 3);
  assert_int_equal(tries(BERT, 2, 2).units, 2);
  assert_int_equal(share_inspect(w).used, 5);
  share_release(w, ANNA, &a.lease, 0);
  assert_int_equal(share_inspect(w).used, 2);
}

TEST(a_request_behind_a_larger_one_waits)
{
  acquire_answer a, b;

  share_hear(CARL, EMIL);
  share_set(w, SHARE_SET, 3, NULL);
  a = takes(ANNA, 1, 1);
  b = takes(BERT, 2, 1);
  assert_int_equal(takes(CARL, 3, 1).rank, 0);
  assert_int_equal(takes(DORA, 1, 1).rank, 1);
  share_release(w, BERT, &b.lease, 0);
  share_nothing_told(CARL);
  share_nothing_told(DORA);
  assert_int_equal(tries(EMIL, 1, 1).outcome, ACQUIRE_BUSY);
  assert_int_equal(tries(EMIL, 0, 2).outcome, ACQUIRE_BUSY);
  share_release(w, ANNA, &a.lease, 0);
  b.lease = share_told(CARL, 1, 3);
  share_nothing_told(DORA);
  share_release(w, CARL, &b.lease, 0);
  share_told(DORA, 1, 1);
}

TEST(a_release_lets_in_as_many_as_fit_at_once)
{
  acquire_answer a;

  share_hear(BERT, EMIL);
  share_set(w, SHARE_SET, 5, NULL);
  a = takes(ANNA, 5, 1);
  takes(BERT, 2, 1);
  takes(CARL, 2, 1);
  takes(DORA, 2, 1);
  takes(EMIL, 1, 1);
  share_release(w, ANNA, &a.lease, 0);
  share_told(BERT, 1, 2);
  share_told(CARL, 1, 2);
  share_nothing_told(DORA);
  share_nothing_told(EMIL);
}

TEST(all_that_are_free_may_be_taken_at_once)
{
  share_set(w, SHARE_SET, 5, NULL);
  takes(ANNA, 2, 1);
  assert_int_equal(tries(BERT, 0, 1).units, 3);
  assert_int_equal(tries(BERT, 0, 2).outcome, ACQUIRE_BUSY);
}

TEST(one_client_may_hold_many_times)
{
  acquire_answer a, b;

  share_set(w, SHARE_SET, 2, NULL);
  a = takes(ANNA, 1, 1);
  b = takes(ANNA, 1, 2);
  assert_int_equal(b.outcome, ACQUIRE_GRANTED);
  assert_true(share_release(w, ANNA, &a.lease, 0));
  assert_false(share_release(w, ANNA, &a.lease, 0));
  assert_int_equal(share_inspect(w).used, 1);
  assert_int_equal(takes(ANNA, 1, 2).outcome, ACQUIRE_AGAIN);
}

/* ---- the count ---- */

TEST(fewer_permits_take_none_away)
{
  acquire_answer a, b;

  share_hear(CARL, CARL);
  share_set(w, SHARE_SET, 4, NULL);
  a = takes(ANNA, 2, 1);
  b = takes(BERT, 2, 1);
  share_set(w, SHARE_SET, 1, NULL);
  assert_int_equal(share_inspect(w).used, 4);
  assert_int_equal(takes(CARL, 1, 1).outcome, ACQUIRE_WAITING);
  assert_int_equal(takes(ANNA, 2, 1).outcome, ACQUIRE_AGAIN);
  share_release(w, ANNA, &a.lease, 0);
  share_nothing_told(CARL);
  share_release(w, BERT, &b.lease, 0);
  share_told(CARL, 1, 1);
}

TEST(more_permits_let_in_who_waits)
{
  share_hear(BERT, DORA);
  share_set(w, SHARE_SET, 1, NULL);
  takes(ANNA, 1, 1);
  takes(BERT, 1, 1);
  takes(CARL, 1, 1);
  takes(DORA, 1, 1);
  share_set(w, SHARE_SET, 3, NULL);
  share_told(BERT, 1, 1);
  share_told(CARL, 1, 1);
  share_nothing_told(DORA);
  assert_int_equal(share_inspect(w).generation, 2);
}

TEST(more_than_there_are_is_refused_also_to_those_who_wait_already)
{
  acquire_answer a;
  char lost[128];

  share_hear(BERT, DORA);
  share_set(w, SHARE_SET, 3, NULL);
  a = takes(ANNA, 4, 1);
  assert_int_equal(a.outcome, ACQUIRE_TOO_MANY);
  assert_int_equal(a.units, 3);
  a = takes(ANNA, 3, 2);
  takes(BERT, 3, 1);
  takes(CARL, 3, 1);
  takes(DORA, 1, 1);
  share_set(w, SHARE_SET, 2, NULL);
  snprintf(lost, sizeof(lost), "lost %s:1:0 orders\n", world_native(w, BERT)->client);
  assert_string_equal(world_messages(w, BERT), lost);
  a = takes(BERT, 3, 1);
  assert_int_equal(a.outcome, ACQUIRE_TOO_MANY);
  assert_int_equal(a.units, 2);
  snprintf(lost, sizeof(lost), "lost %s:1:0 orders\n", world_native(w, CARL)->client);
  assert_string_equal(world_messages(w, CARL), lost);
  assert_int_equal(share_inspect(w).waiter_count, 1);
  assert_int_equal(takes(DORA, 1, 1).rank, 0);
}

TEST(with_no_permits_nobody_gets_in)
{
  acquire_answer a;

  share_hear(BERT, BERT);
  share_set(w, SHARE_SET, 0, NULL);
  assert_int_equal(tries(ANNA, 0, 1).outcome, ACQUIRE_BUSY);
  a = takes(BERT, 1, 2);
  assert_int_equal(a.outcome, ACQUIRE_WAITING);
  share_set(w, SHARE_SET, 1, NULL);
  assert_int_equal(takes(BERT, 1, 2).outcome, ACQUIRE_AGAIN);
}

TEST(who_waits_goes_on_waiting_while_there_are_no_permits)
{
  acquire_answer held;

  share_hear(BERT, CARL);
  share_set(w, SHARE_SET, 2, NULL);
  held = takes(ANNA, 2, 1);
  takes(BERT, 2, 1);
  takes(CARL, 1, 1);
  share_set(w, SHARE_SET, 0, NULL);
  assert_string_equal(world_messages(w, BERT), "");
  share_release(w, ANNA, &held.lease, 0);
  assert_int_equal(takes(BERT, 2, 1).rank, 0);
  assert_int_equal(takes(CARL, 1, 1).rank, 1);
  share_set(w, SHARE_SET, 3, NULL);
  assert_int_equal(takes(BERT, 2, 1).outcome, ACQUIRE_AGAIN);
  assert_int_equal(takes(CARL, 1, 1).outcome, ACQUIRE_AGAIN);
}

TEST(a_count_is_set_once_where_it_must_be_absent)
{
  uint64_t limit;

  assert_true(share_set(w, SHARE_SET_IF_ABSENT, 3, &limit));
  assert_int_equal(limit, 3);
  assert_false(share_set(w, SHARE_SET_IF_ABSENT, 5, &limit));
  assert_int_equal(limit, 3);
  assert_true(test_server_integer(world_server(w), "PTTL " WORLD_KEY) > HOUR_MS - 60000);
  assert_true(share_set(w, SHARE_SET, 5, &limit));
  assert_int_equal(test_server_integer(world_server(w), "PTTL " WORLD_KEY), -1);
  assert_false(share_set(w, SHARE_SET_IF_ABSENT, 7, &limit));
  assert_int_equal(limit, 5);
  takes(ANNA, 1, 1);
  assert_int_equal(test_server_integer(world_server(w), "PTTL " WORLD_KEY), -1);
}

static acquire_answer takes_of(int who, uint64_t units, uint64_t limit, uint64_t ask)
{
  share_call c = share_call_of(w, 'p', units, ask);

  c.limit = limit;
  c.waits = units > 0;
  return share_send(w, who, &c);
}

TEST(an_ask_with_a_limit_makes_the_semaphore)
{
  acquire_answer a = takes_of(ANNA, 2, 3, 1);

  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  assert_int_equal(a.units, 2);
  assert_int_equal(share_inspect(w).limit, 3);
  assert_int_equal(share_inspect(w).used, 2);
  assert_true(test_server_integer(world_server(w), "PTTL " WORLD_KEY) > HOUR_MS - 60000);
  assert_int_equal(takes_of(ANNA, 2, 3, 1).outcome, ACQUIRE_AGAIN);
  assert_int_equal(takes_of(BERT, 1, 3, 1).outcome, ACQUIRE_GRANTED);
  share_release(w, ANNA, &a.lease, 0);
  assert_int_equal(takes_of(CARL, 0, 3, 1).units, 2);
}

/* As after a cancel of an ask that was never executed. */
TEST(an_ask_with_a_limit_makes_it_where_an_ask_has_ended)
{
  share_cancel(w, ANNA, 1, START_US + 5000000);
  assert_int_equal(takes_of(ANNA, 1, 3, 1).outcome, ACQUIRE_ENDED);
  assert_int_equal(takes_of(BERT, 1, 3, 1).outcome, ACQUIRE_GRANTED);
  assert_int_equal(share_inspect(w).limit, 3);
}

TEST(an_ask_with_another_limit_changes_nothing)
{
  acquire_answer a;
  char before[1024];

  takes_of(ANNA, 1, 2, 1);
  (void)snprintf(before, sizeof(before), "%s", share_dump(w));
  a = takes_of(BERT, 1, 3, 1);
  assert_int_equal(a.outcome, ACQUIRE_OTHER_LIMIT);
  assert_int_equal(a.units, 2);
  assert_int_equal(takes_of(BERT, 3, 3, 2).outcome, ACQUIRE_OTHER_LIMIT);
  assert_int_equal(takes_of(BERT, 1, 20, 3).outcome, ACQUIRE_OTHER_LIMIT);
  assert_string_equal(share_dump(w), before);
}

TEST(a_waiter_keeps_its_place_when_the_limit_changes)
{
  share_hear(BERT, BERT);
  takes_of(ANNA, 1, 1, 1);
  assert_int_equal(takes_of(BERT, 1, 1, 1).outcome, ACQUIRE_WAITING);
  share_set(w, SHARE_SET, 2, NULL);
  share_told(BERT, 1, 1);
  assert_int_equal(takes_of(CARL, 1, 1, 1).outcome, ACQUIRE_OTHER_LIMIT);
  share_set(w, SHARE_SET, 0, NULL);
  share_hear(CARL, CARL);
  assert_int_equal(takes_of(CARL, 1, 1, 1).outcome, ACQUIRE_WAITING);
  share_set(w, SHARE_SET, 2, NULL);
  assert_int_equal(takes_of(CARL, 1, 1, 1).outcome, ACQUIRE_WAITING);
}

/* Also by grants that nobody but the first of a minute prolongs. */
TEST(use_keeps_a_count_that_was_set_if_absent)
{
  share_set(w, SHARE_SET_IF_ABSENT, 3, NULL);
  for (uint64_t ask = 1; ask < 4; ask++) {
    acquire_answer a;
    world_set_time(w, START_US + (int64_t)ask * 60000000);
    test_server_command(world_server(w), "PEXPIRE " WORLD_KEY " 5000");
    a = takes(ANNA, 1, ask);
    assert_int_equal(a.outcome, ACQUIRE_GRANTED);
    assert_true(test_server_integer(world_server(w), "PTTL " WORLD_KEY) > HOUR_MS - 60000);
    share_release(w, ANNA, &a.lease, 0);
  }
}

TEST(it_is_deleted_only_when_nobody_needs_it)
{
  acquire_answer a;

  share_hear(BERT, BERT);
  assert_true(share_set(w, SHARE_DELETE, 0, NULL));
  share_set(w, SHARE_SET, 1, NULL);
  a = takes(ANNA, 1, 1);
  takes(BERT, 1, 1);
  assert_false(share_set(w, SHARE_DELETE, 0, NULL));
  share_release(w, ANNA, &a.lease, 0);
  a.lease = share_told(BERT, 1, 1);
  assert_false(share_set(w, SHARE_DELETE, 0, NULL));
  share_release(w, BERT, &a.lease, 0);
  assert_true(share_set(w, SHARE_DELETE, 0, NULL));
  assert_string_equal(world_type(w), "none");
  assert_int_equal(takes(ANNA, 1, 2).outcome, ACQUIRE_NOT_SET);
}

TEST(the_dead_do_not_keep_it_from_being_deleted)
{
  acquire_answer a;

  share_set(w, SHARE_SET, 1, NULL);
  a = takes(ANNA, 1, 1);
  world_set_time(w, a.server_us + 31500000);
  assert_true(share_set(w, SHARE_DELETE, 0, NULL));
}

/* ---- the dead, the late ---- */

TEST(permits_of_the_dead_come_back_within_one_lease)
{
  share_call c;
  acquire_answer a;

  share_hear(CARL, CARL);
  share_set(w, SHARE_SET, 5, NULL);
  c = share_call_of(w, 'p', 2, 1);
  c.ttl_ms = 3000;
  share_send(w, ANNA, &c);
  takes(BERT, 2, 1);
  a = takes(CARL, 3, 1);
  assert_int_equal(a.outcome, ACQUIRE_WAITING);
  assert_int_equal(a.remaining_ms, 3000);
  world_set_time(w, a.server_us + 4100000);
  a = takes(CARL, 3, 1);
  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  assert_int_equal(share_inspect(w).used, 5);
  assert_int_equal(share_inspect(w).holder_count, 2);
}

TEST(a_cancelled_ask_gives_its_permits_back)
{
  share_set(w, SHARE_SET, 5, NULL);
  takes(ANNA, 4, 1);
  assert_int_equal(share_cancel(w, ANNA, 1, world_time_us(w) + 1000000), 1);
  assert_int_equal(takes(ANNA, 4, 1).outcome, ACQUIRE_ENDED);
  assert_int_equal(tries(BERT, 5, 1).outcome, ACQUIRE_GRANTED);
}

TEST(it_is_told_who_ends_first_also_after_renewals)
{
  share_call c;
  acquire_answer a, b, busy;

  share_set(w, SHARE_SET, 2, NULL);
  c = share_call_of(w, 'p', 1, 1);
  c.ttl_ms = 5000;
  a = share_send(w, ANNA, &c);
  c.ttl_ms = 9000;
  b = share_send(w, BERT, &c);
  busy = tries(CARL, 1, 1);
  assert_true(lease_id_equal(&busy.lease, &a.lease));
  assert_int_equal(busy.remaining_ms, 5000);
  share_renew(w, ANNA, &a.lease, 20000, 'p');
  busy = tries(CARL, 1, 2);
  assert_true(lease_id_equal(&busy.lease, &b.lease));
  assert_int_equal(busy.renewals, 0);
  share_renew(w, BERT, &b.lease, 30000, 'p');
  busy = tries(CARL, 1, 3);
  assert_true(lease_id_equal(&busy.lease, &a.lease));
  assert_int_equal(busy.renewals, 1);
}

RUN_STAGE(stage_start, stage_stop, share_clear_clock, stage_check_errors)

/* SPDX-License-Identifier: MIT */
/* lua/native/many_acquire.lua: all of a set or nothing, where it waits, and what it gives
 * back while it does. S1, S2, S8, L12; doc/design/protocol.md 10. */

#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"
#include "set_story.h"

/* ---- granted ---- */

TEST(a_free_set_is_granted_with_one_token_above_all_that_were)
{
  acquire_call ahead = one_call(w, 'b', 1);
  acquire_answer old;
  many_answer m;

  ahead.min_token = (uint64_t)world_time_us(w) + 3600000000u;
  old = one_send(w, BERT, &ahead);
  one_release(w, BERT, 'b', &old.lease);
  m = members_acquire(w, ANNA, "abc", 1);
  assert_int_equal(m.a.outcome, ACQUIRE_GRANTED);
  assert_int_equal(m.a.lease.token, old.lease.token + 1);
  assert_int_equal(m.a.lease.set, 1);
  assert_int_equal(m.a.remaining_ms, 30000);
  assert_int_equal(m.a.lease_ms, 30000);
  for (const char *at = "abc"; *at != 0; at++)
    assert_held(*at, &m.a.lease);
}

TEST(the_token_is_above_the_floor)
{
  many_call c = members_call(w, "ab", 1);
  many_answer m;

  c.min_token = (uint64_t)world_time_us(w) + 3600000000u;
  m = members_send(w, ANNA, &c);
  assert_int_equal(m.a.lease.token, c.min_token + 1);
  assert_held('a', &m.a.lease);
  m = members_acquire(w, ANNA, "ab", 1);
  assert_int_equal(m.a.outcome, ACQUIRE_AGAIN);
  assert_in_range(m.a.remaining_ms, 29000, 30000);
}

TEST(the_same_ask_again_is_answered_with_the_same_lease)
{
  many_answer first = members_acquire(w, ANNA, "ab", 7), again;
  const char *before = members_value(w, 'b');

  again = members_acquire(w, ANNA, "ab", 7);
  assert_int_equal(again.a.outcome, ACQUIRE_AGAIN);
  assert_true(lease_id_equal(&again.a.lease, &first.a.lease));
  assert_in_range(again.a.remaining_ms, 29000, 30000);
  assert_int_equal(again.a.lease_ms, 30000);
  assert_string_equal(members_value(w, 'b'), before);
}

TEST(a_set_excludes_a_lock_and_a_lock_a_set)
{
  many_answer m = members_acquire(w, ANNA, "ab", 1);
  acquire_answer a;

  assert_int_equal(one_try(w, BERT, 'b', 1).outcome, ACQUIRE_BUSY);
  members_release(w, ANNA, "ab", &m.a.lease);
  a = one_acquire(w, BERT, 'b', 2);
  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  m = members_try(w, ANNA, "ab", 2);
  assert_int_equal(m.a.outcome, ACQUIRE_BUSY);
  assert_int_equal(m.busy, 'b');
  assert_true(lease_id_equal(&m.a.lease, &a.lease));
}

TEST(sets_and_locks_of_one_client_do_not_disown_each_other)
{
  many_call second;
  many_answer first;

  hear();
  first = members_acquire(w, ANNA, "ab", 5);
  second = members_call(w, "bc", 9);
  second.set = 2;
  assert_int_equal(members_send(w, ANNA, &second).a.outcome, ACQUIRE_WAITING);
  assert_int_equal(one_acquire(w, ANNA, 'a', 11).outcome, ACQUIRE_WAITING);
  assert_held('a', &first.a.lease);
  assert_held('b', &first.a.lease);
  assert_string_equal(members_queue(w, 'a'), entry(ANNA, 0, 11));
  assert_string_equal(members_queue(w, 'b'), entry(ANNA, 2, 9));
}

TEST(two_spellings_of_one_lock_are_one_member)
{
  many_name names[] = { { "x", 1 }, { "y", 1 }, { "{x}", 3 } };
  many_call c = members_call(w, "ab", 1);
  many_answer m;

  c.names = names;
  c.count = 3;
  m = members_send(w, ANNA, &c);
  assert_int_equal(m.a.outcome, ACQUIRE_GRANTED);
  assert_held('x', &m.a.lease);
  assert_held('y', &m.a.lease);
  assert_int_equal(test_server_integer(world_server(w), "DBSIZE"), 2);
}

TEST(a_hundred_names_are_taken_at_once)
{
  static char bytes[MANY_NAMES_MAX][8];
  many_name names[MANY_NAMES_MAX];
  many_call c = members_call(w, "ab", 1);
  many_answer m;

  for (size_t i = 0; i < MANY_NAMES_MAX; i++)
    names[i] = (many_name){ bytes[i], (size_t)snprintf(bytes[i], 8, "n%02zu", i) };
  c.names = names;
  c.count = MANY_NAMES_MAX;
  m = members_send(w, ANNA, &c);
  assert_int_equal(m.a.outcome, ACQUIRE_GRANTED);
  assert_int_equal(test_server_integer(world_server(w), "DBSIZE"), MANY_NAMES_MAX);
}

/* ---- busy, waiting ---- */

TEST(a_try_of_a_busy_set_holds_nothing_and_is_not_queued)
{
  many_answer m;

  hear();
  one_acquire(w, BERT, 'b', 1);
  m = members_try(w, ANNA, "abc", 1);
  assert_int_equal(m.a.outcome, ACQUIRE_BUSY);
  assert_int_equal(m.busy, 'b');
  assert_string_equal(members_value(w, 'a'), "");
  assert_string_equal(members_value(w, 'c'), "");
  assert_string_equal(members_queue(w, 'b'), "");
  assert_string_equal(world_messages(w, BERT), "");
}

TEST(a_waiting_set_is_queued_on_the_first_busy_member_only)
{
  acquire_answer held;
  many_answer m;
  char want[128];

  hear();
  held = one_acquire(w, BERT, 'b', 1);
  one_acquire(w, CARL, 'c', 1);
  m = members_acquire(w, ANNA, "abcd", 3);
  assert_int_equal(m.a.outcome, ACQUIRE_WAITING);
  assert_int_equal(m.busy, 'b');
  assert_int_equal(m.a.rank, 0);
  assert_true(lease_id_equal(&m.a.lease, &held.lease));
  assert_string_equal(members_queue(w, 'b'), entry(ANNA, 1, 3));
  assert_string_equal(members_queue(w, 'c'), "");
  assert_string_equal(members_value(w, 'a'), "");
  assert_string_equal(members_value(w, 'd'), "");
  (void)snprintf(want, sizeof(want), "want %s b\n", lease_text(&held.lease));
  assert_string_equal(world_messages(w, BERT), want);
  assert_string_equal(world_messages(w, CARL), "");
  /* Asked again it keeps its place. */
  one_acquire(w, DORA, 'b', 1);
  assert_int_equal(members_acquire(w, ANNA, "abcd", 3).a.rank, 0);
}

TEST(a_set_told_of_the_busy_member_asks_again_and_has_all)
{
  acquire_answer held;
  many_answer m;
  inbox_message message;
  const char *told;

  hear();
  held = one_acquire(w, BERT, 'b', 1);
  members_acquire(w, ANNA, "abc", 3);
  one_acquire(w, CARL, 'b', 1);
  one_release(w, BERT, 'b', &held.lease);
  told = world_messages(w, ANNA);
  assert_true(inbox_message_read(told, strlen(told) - 1, &message));
  assert_int_equal(message.word, INBOX_GRANT);
  assert_int_equal(message.lease.set, 1);
  assert_int_equal(message.lease.ask, 3);
  m = members_acquire(w, ANNA, "abc", 3);
  assert_int_equal(m.a.outcome, ACQUIRE_GRANTED);
  assert_true(m.a.lease.token > message.lease.token);
  assert_held('a', &m.a.lease);
  assert_held('b', &m.a.lease);
  assert_held('c', &m.a.lease);
  assert_string_equal(members_queue(w, 'b'), entry(CARL, 0, 1));
}

TEST(what_came_by_message_is_handed_on_while_another_member_is_busy)
{
  acquire_answer b, c;
  many_answer m;

  hear();
  b = one_acquire(w, BERT, 'b', 1);
  members_acquire(w, ANNA, "abc", 3);
  c = one_acquire(w, CARL, 'c', 1);
  one_acquire(w, DORA, 'b', 1);
  one_release(w, BERT, 'b', &b.lease);
  m = members_acquire(w, ANNA, "abc", 3);
  assert_int_equal(m.a.outcome, ACQUIRE_WAITING);
  assert_int_equal(m.busy, 'c');
  assert_non_null(strstr(world_messages(w, DORA), "grant:"));
  b = one_acquire(w, DORA, 'b', 1);
  assert_int_equal(b.outcome, ACQUIRE_AGAIN);
  one_release(w, DORA, 'b', &b.lease);
  one_release(w, CARL, 'c', &c.lease);
  assert_int_equal(members_acquire(w, ANNA, "abc", 3).a.outcome, ACQUIRE_GRANTED);
}

/* What it leaves behind must not say that the ask is over, which goes on. */
TEST(what_nobody_else_wants_is_set_free_and_can_be_had_by_the_same_ask)
{
  acquire_answer b, c;

  hear();
  b = one_acquire(w, BERT, 'b', 1);
  members_acquire(w, ANNA, "abc", 3);
  c = one_acquire(w, CARL, 'c', 1);
  one_release(w, BERT, 'b', &b.lease);
  assert_int_equal(members_acquire(w, ANNA, "abc", 3).busy, 'c');
  assert_free('b');
  one_release(w, CARL, 'c', &c.lease);
  assert_int_equal(members_acquire(w, ANNA, "abc", 3).a.outcome, ACQUIRE_GRANTED);
}

TEST(a_set_waits_at_the_first_busy_member_and_leaves_its_old_place)
{
  hear();
  one_acquire(w, CARL, 'c', 1);
  members_acquire(w, ANNA, "abc", 3);
  assert_string_equal(members_queue(w, 'c'), entry(ANNA, 1, 3));
  one_acquire(w, BERT, 'b', 1);
  assert_int_equal(members_acquire(w, ANNA, "abc", 3).busy, 'b');
  assert_string_equal(members_queue(w, 'b'), entry(ANNA, 1, 3));
  assert_string_equal(members_queue(w, 'c'), "");
  /* And a try waits nowhere. */
  assert_int_equal(members_try(w, ANNA, "abc", 4).busy, 'b');
  assert_string_equal(members_queue(w, 'b'), "");
}

TEST(a_deaf_set_is_not_queued_and_gives_back_what_it_has)
{
  acquire_answer b;

  hear();
  b = one_acquire(w, BERT, 'b', 1);
  members_acquire(w, ANNA, "bc", 3);
  one_acquire(w, CARL, 'c', 1);
  one_release(w, BERT, 'b', &b.lease);
  world_deafen(w, ANNA);
  assert_int_equal(members_acquire(w, ANNA, "bc", 3).a.outcome, ACQUIRE_NO_SUBSCRIBER);
  assert_free('b');
  assert_string_equal(members_queue(w, 'c'), "");
  /* Nobody in the way: an inbox is not needed. */
  assert_int_equal(members_acquire(w, ANNA, "ab", 3).a.outcome, ACQUIRE_GRANTED);
}

TEST(a_try_asks_a_holder_that_lingers)
{
  acquire_call idle = one_call(w, 'b', 1);

  hear();
  idle.lingers = true;
  one_send(w, BERT, &idle);
  assert_true(members_try(w, ANNA, "ab", 1).a.holder_lingers);
  assert_non_null(strstr(world_messages(w, BERT), "want "));
}

/* ---- keeping ---- */

static many_answer keep(const char *letters, uint64_t ask)
{
  many_call c = members_call(w, letters, ask);

  c.keeps = true;
  return members_send(w, ANNA, &c);
}

TEST(a_set_that_keeps_has_what_comes_before_the_busy_member)
{
  acquire_answer c;
  many_answer m;
  uint64_t token;
  lease_id kept;

  hear();
  c = one_acquire(w, CARL, 'c', 1);
  m = keep("abcd", 3);
  assert_int_equal(m.a.outcome, ACQUIRE_WAITING);
  assert_int_equal(m.busy, 'c');
  assert_free('d');
  assert_true(lease_id_read(members_holder(w, 'a'), strlen(members_holder(w, 'a')), &kept));
  assert_int_equal(kept.set, 1);
  assert_held('b', &kept);
  assert_int_equal(one_try(w, BERT, 'a', 1).outcome, ACQUIRE_BUSY);
  one_release(w, CARL, 'c', &c.lease);
  token = kept.token;
  m = keep("abcd", 3);
  assert_int_equal(m.a.outcome, ACQUIRE_GRANTED);
  assert_true(m.a.lease.token > token);
  for (const char *at = "abcd"; *at != 0; at++)
    assert_held(*at, &m.a.lease);
}

TEST(a_poll_lengthens_what_is_kept)
{
  lease_id mine;
  many_answer m;

  hear();
  one_acquire(w, CARL, 'c', 1);
  mine = members_plant(w, 'a', ANNA, 1, 3, 500);
  m = keep("abc", 3);
  assert_int_equal(m.a.outcome, ACQUIRE_WAITING);
  assert_held('a', &mine);
  assert_non_null(strstr(members_value(w, 'a'), " 30000 1 0"));
  keep("abc", 3);
  assert_non_null(strstr(members_value(w, 'a'), " 30000 2 0"));
  /* Also where others wait for it. */
  one_acquire(w, BERT, 'a', 1);
  keep("abc", 3);
  assert_non_null(strstr(members_value(w, 'a'), " 30000 3 0"));
  assert_string_equal(members_queue(w, 'a'), entry(BERT, 0, 1));
}

TEST(what_comes_behind_the_busy_member_is_not_kept)
{
  acquire_answer d;
  many_answer m;

  hear();
  d = one_acquire(w, DORA, 'd', 1);
  keep("abd", 3);
  one_release(w, DORA, 'd', &d.lease);
  one_acquire(w, BERT, 'd', 1);             /* behind ANNA, who was told */
  members_plant(w, 'a', CARL, 0, 9, 30000);
  m = keep("abd", 3);
  assert_int_equal(m.busy, 'a');
  assert_free('b');
  assert_int_equal(one_acquire(w, BERT, 'd', 1).outcome, ACQUIRE_AGAIN);
}

TEST(a_set_that_keeps_no_longer_gives_all_back)
{
  hear();
  one_acquire(w, CARL, 'c', 1);
  keep("abc", 3);
  assert_int_equal(members_acquire(w, ANNA, "abc", 3).a.outcome, ACQUIRE_WAITING);
  assert_free('a');
  assert_free('b');
  keep("abc", 3);
  world_deafen(w, ANNA);
  assert_int_equal(keep("abc", 3).a.outcome, ACQUIRE_NO_SUBSCRIBER);
  assert_free('a');
}

/* ---- numbers ---- */

TEST(a_lower_ask_than_the_lease_is_ended)
{
  many_answer m = members_acquire(w, ANNA, "ab", 7);

  assert_int_equal(members_acquire(w, ANNA, "ab", 6).a.outcome, ACQUIRE_ENDED);
  assert_int_equal(members_try(w, ANNA, "bc", 6).a.outcome, ACQUIRE_ENDED);
  assert_held('b', &m.a.lease);
  assert_string_equal(members_value(w, 'c'), "");
}

TEST(a_higher_ask_disowns_what_the_lower_one_has)
{
  many_answer first, second;

  hear();
  first = members_acquire(w, ANNA, "abc", 7);
  second = members_acquire(w, ANNA, "abc", 8);
  assert_int_equal(second.a.outcome, ACQUIRE_GRANTED);
  assert_true(second.a.lease.token > first.a.lease.token);
  assert_int_equal(members_release(w, ANNA, "abc", &first.a.lease).outcome, RELEASE_TAKEN);
  /* Also where it must wait then: nothing of the lower one is left. */
  one_acquire(w, BERT, 'a', 1);
  members_plant(w, 'b', CARL, 0, 1, 30000);
  assert_int_equal(members_acquire(w, ANNA, "abc", 9).busy, 'a');
  assert_int_equal(one_acquire(w, BERT, 'a', 1).outcome, ACQUIRE_AGAIN);
  assert_free('c');
}

TEST(a_higher_ask_keeps_the_place_in_the_queue)
{
  hear();
  one_acquire(w, BERT, 'b', 1);
  members_acquire(w, ANNA, "ab", 3);
  one_acquire(w, CARL, 'b', 1);
  assert_int_equal(members_acquire(w, ANNA, "ab", 4).a.rank, 0);
  assert_int_equal(members_acquire(w, ANNA, "ab", 3).a.outcome, ACQUIRE_ENDED);
}

TEST(a_request_past_its_time_changes_nothing)
{
  many_call c = members_call(w, "ab", 1);

  c.until_us = world_time_us(w) - 1;
  assert_int_equal(members_send(w, ANNA, &c).a.outcome, ACQUIRE_LATE);
  assert_int_equal(test_server_integer(world_server(w), "DBSIZE"), 0);
}

/* ---- over ---- */

TEST(leases_past_their_deadline_are_taken)
{
  many_answer m;

  members_plant(w, 'a', BERT, 0, 1, -1100);
  members_plant(w, 'b', CARL, 3, 1, -1100);
  m = members_acquire(w, ANNA, "abc", 1);
  assert_int_equal(m.a.outcome, ACQUIRE_GRANTED);
  assert_held('a', &m.a.lease);
  members_plant(w, 'b', CARL, 3, 1, -900);
  assert_int_equal(members_try(w, DORA, "bd", 1).a.outcome, ACQUIRE_BUSY);
}

TEST(a_doubter_takes_nothing_by_the_deadline)
{
  many_call c = members_call(w, "ab", 1);

  members_plant(w, 'b', BERT, 0, 1, -100000);
  c.waits = false;
  c.estimate_us = 0;
  assert_int_equal(members_send(w, ANNA, &c).a.outcome, ACQUIRE_BUSY);
}

TEST(a_dead_set_that_was_watched_on_one_member_is_taken_on_all)
{
  many_call c = members_call(w, "abc", 1);
  lease_id dead = members_plant(w, 'a', BERT, 4, 1, 999999);
  const char *value = members_value(w, 'a');

  test_server_command(world_server(w), "SET %s %s PX %d", members_key('b'), value, HOUR_MS);
  c.watched = &dead;
  c.watched_renewals = 1;
  c.waits = false;
  assert_int_equal(members_send(w, ANNA, &c).a.outcome, ACQUIRE_BUSY);
  c.watched_renewals = 0;
  assert_int_equal(members_send(w, ANNA, &c).a.outcome, ACQUIRE_GRANTED);
}

/* A request names one watched lease: what was over once must not have to be watched again. */
TEST(what_was_watched_ends_also_while_another_member_is_busy)
{
  many_call c = members_call(w, "ab", 1);
  lease_id first, second;

  hear();
  first = members_plant(w, 'b', BERT, 0, 1, 999999);
  second = members_plant(w, 'a', DORA, 0, 1, 999999);
  assert_int_equal(members_send(w, ANNA, &c).busy, 'a');
  c.watched = &first;
  assert_int_equal(members_send(w, ANNA, &c).busy, 'a');
  assert_free('b');
  c.watched = &second;
  assert_int_equal(members_send(w, ANNA, &c).a.outcome, ACQUIRE_GRANTED);
}

TEST(what_is_over_goes_to_those_who_wait_for_it)
{
  many_answer m;
  lease_id dead;
  many_call c = members_call(w, "abc", 1);

  hear();
  dead = members_plant(w, 'b', BERT, 0, 1, 999999);
  assert_int_equal(one_acquire(w, CARL, 'b', 1).outcome, ACQUIRE_WAITING);
  members_plant(w, 'a', DORA, 0, 1, 30000);
  c.watched = &dead;
  m = members_send(w, ANNA, &c);
  assert_int_equal(m.busy, 'a');
  assert_non_null(strstr(world_messages(w, CARL), "grant:"));
  assert_int_equal(one_acquire(w, CARL, 'b', 1).outcome, ACQUIRE_AGAIN);
}

TEST(a_busy_member_that_is_over_goes_to_the_first_who_waits)
{
  many_answer m;
  lease_id dead;
  many_call c = members_call(w, "ab", 1);

  hear();
  dead = members_plant(w, 'b', BERT, 0, 1, 999999);
  one_acquire(w, CARL, 'b', 1);
  c.watched = &dead;
  m = members_send(w, ANNA, &c);
  assert_int_equal(m.a.outcome, ACQUIRE_WAITING);
  assert_string_equal(m.a.lease.client, world_native(w, CARL)->client);
  assert_int_equal(m.a.rank, 0);
  assert_string_equal(members_queue(w, 'b'), entry(ANNA, 1, 1));
}

TEST(the_first_in_the_queue_of_what_is_over_takes_it_and_leaves_the_others_there)
{
  many_answer m;
  lease_id dead;
  many_call c = members_call(w, "ab", 1);

  hear();
  dead = members_plant(w, 'b', BERT, 0, 1, 999999);
  one_acquire(w, DORA, 'b', 1);
  members_acquire(w, ANNA, "ab", 1);
  one_acquire(w, CARL, 'b', 1);
  world_deafen(w, DORA);
  c.watched = &dead;
  m = members_send(w, ANNA, &c);
  assert_int_equal(m.a.outcome, ACQUIRE_GRANTED);
  assert_held('b', &m.a.lease);
  assert_null(strstr(members_queue(w, 'b'), ".1 "));
  members_release(w, ANNA, "ab", &m.a.lease);
  assert_int_equal(one_acquire(w, CARL, 'b', 1).outcome, ACQUIRE_AGAIN);
}

TEST(who_leaves_its_place_at_what_is_over_leaves_it_to_the_next)
{
  lease_id dead;
  many_call c = members_call(w, "ac", 1);

  hear();
  dead = members_plant(w, 'c', BERT, 0, 1, 999999);
  members_send(w, ANNA, &c);
  one_acquire(w, CARL, 'c', 1);
  members_plant(w, 'a', DORA, 0, 1, 30000);
  c.watched = &dead;
  assert_int_equal(members_send(w, ANNA, &c).busy, 'a');
  assert_non_null(strstr(world_messages(w, CARL), "grant:"));
}

RUN_STAGE(stage_start, stage_stop, stage_clear, stage_check_errors)

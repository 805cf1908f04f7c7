/* SPDX-License-Identifier: MIT */
/* lua/native/many_acquire.lua and many_release.lua of names that are free: the short ways, and the
 * general ones on the other side of each of their bounds, store the same. S1, S2, S8, L12. */
#include "tests.h"

#include <stdio.h>
#include <string.h>

#include "bounds.h"
#include "server.h"
#include "set_story.h"

static void expect_stored(char letter, const char *value, long long kept_ms)
{
  assert_string_equal(members_value(w, letter), value);
  assert_in_range(test_server_integer(world_server(w), "PTTL %s", members_key(letter)),
                  kept_ms - 10000, kept_ms);
}

static void ask_for(const ask *k, const char *letters, uint64_t number)
{
  many_call c = members_call(w, letters, number);
  char stored[160];
  many_answer m;

  c.until_us = k->until != 0 ? NOW + k->until : 0;
  c.estimate_us = NOW + k->estimate;
  c.min_token = k->has_floor ? (uint64_t)(NOW + k->floor) : 0;
  c.ttl_ms = k->ttl_ms != 0 ? k->ttl_ms : 30000;
  m = members_send(w, ANNA, &c);
  assert_int_equal(m.a.outcome, k->is_late ? ACQUIRE_LATE : ACQUIRE_GRANTED);
  if (k->is_late)
    return;
  assert_int_equal(m.a.lease.token, NOW + k->ahead_us);
  assert_int_equal(m.a.remaining_ms, c.ttl_ms);
  (void)snprintf(stored, sizeof(stored), "%s%s", lease_text(&m.a.lease), k->end);
  for (const char *at = letters; *at != 0; at++)
    expect_stored(*at, stored, k->kept_ms != 0 ? k->kept_ms : HOUR_MS);
}

static void put(char letter, const char *owner, int64_t token)
{
  test_server_command(world_server(w), "SET %s =%s:7:%lld PX 3555000", members_key(letter),
                      owner, (long long)token);
}

TEST(a_copy_of_an_ended_ask_is_not_granted)
{
  many_answer m = members_acquire(w, ANNA, "ab", 7);

  assert_int_equal(m.a.outcome, ACQUIRE_GRANTED);
  assert_int_equal(members_release(w, ANNA, "ab", &m.a.lease).outcome, RELEASE_DONE);
  assert_int_equal(members_acquire(w, ANNA, "ab", 7).a.outcome, ACQUIRE_ENDED);
  assert_int_equal(members_acquire(w, ANNA, "bc", 6).a.outcome, ACQUIRE_ENDED);
  assert_int_equal(members_acquire(w, ANNA, "ab", 8).a.outcome, ACQUIRE_GRANTED);
}

TEST(one_member_with_another_lease_keeps_it)
{
  many_answer m = members_acquire(w, ANNA, "abc", 1);
  lease_id other = members_plant(w, 'b', BERT, 0, 1, 20000);

  assert_int_equal(members_release(w, ANNA, "abc", &m.a.lease).outcome, RELEASE_TAKEN);
  assert_free('a');
  assert_held('b', &other);
  assert_free('c');
  assert_int_equal(members_try(w, ANNA, "ab", 2).a.outcome, ACQUIRE_BUSY);
  assert_free('a');
}

static long long calls(const char *command)
{
  return test_server_integer(world_server(w), "EVAL %s 0 %s",
    "return tonumber(string.match(redis.call('INFO', 'commandstats'), "
    "'cmdstat_' .. ARGV[1] .. ':calls=(%d+)') or 0)", command);
}

static void expect_calls(long long reads, long long looks, long long writes)
{
  assert_int_equal(calls("mget"), reads);
  assert_int_equal(calls("exists"), looks);
  assert_int_equal(calls("set"), writes);
  test_server_command(world_server(w), "CONFIG RESETSTAT");
}

/* All names are read at once: each command costs as much as a page of comparisons. */
TEST(a_set_that_nobody_else_wants_needs_few_commands)
{
  many_answer m;

  test_server_command(world_server(w), "CONFIG RESETSTAT");
  m = members_acquire(w, ANNA, "abc", 1);
  expect_calls(1, 1, 3);
  members_release(w, ANNA, "abc", &m.a.lease);
  expect_calls(1, 0, 3);
  members_acquire(w, BERT, "abc", 1);
  expect_calls(1, 0, 3);
}

/* ---- at a time that is set ---- */

TEST(the_bounds_are_exact_where_the_keys_are_absent_or_free)
{
  world_set_time(w, NOW);
  for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
    test_server_command(world_server(w), "DEL %s %s", members_key('a'), members_key('b'));
    ask_for(&asks[i], "ab", 8);
    put('a', world_native(w, BERT)->client, NOW - 1);
    put('b', world_native(w, CARL)->client, NOW - 2);
    ask_for(&asks[i], "ab", 9);
  }
}

TEST(the_token_is_above_the_last_one_of_each_member)
{
  static const ask next = { .ahead_us = 1, .end = " 30000 30000 0 0" },
                   after = { .ahead_us = 6, .end = " 30000 30000 0 0" };

  world_set_time(w, NOW);
  put('a', world_native(w, BERT)->client, NOW);
  ask_for(&next, "ab", 8);
  put('a', world_native(w, BERT)->client, NOW - 1);
  put('b', world_native(w, BERT)->client, NOW + 5);
  ask_for(&after, "ab", 9);
}

RUN_STAGE(stage_start, stage_stop, stage_clear, stage_check_errors)

/* SPDX-License-Identifier: MIT */
/* lua/native/acquire.lua of a name that is free: the grant that reads no number, and the general
 * one on the other side of each of its bounds, store the same. S1, S2, S8. */
#include "tests.h"

#include <stdio.h>
#include <string.h>

#include "bounds.h"
#include "server.h"
#include "stage.h"

static void ask_once(const ask *k, uint64_t number)
{
  acquire_call c = world_call(w, number);
  char stored[160];
  acquire_answer a;

  c.until_us = k->until != 0 ? NOW + k->until : 0;
  c.estimate_us = NOW + k->estimate;
  c.min_token = k->has_floor ? (uint64_t)(NOW + k->floor) : 0;
  c.ttl_ms = k->ttl_ms != 0 ? k->ttl_ms : 30000;
  a = world_send(w, ANNA, &c);
  assert_int_equal(a.outcome, k->is_late ? ACQUIRE_LATE : ACQUIRE_GRANTED);
  if (k->is_late)
    return;
  assert_int_equal(a.lease.token, NOW + k->ahead_us);
  assert_int_equal(a.remaining_ms, c.ttl_ms);
  (void)snprintf(stored, sizeof(stored), "%s%s", lease_text(&a.lease), k->end);
  assert_string_equal(test_server_command(world_server(w), "GET " WORLD_KEY), stored);
  assert_in_range(test_server_integer(world_server(w), "PTTL " WORLD_KEY),
                  (k->kept_ms != 0 ? k->kept_ms : HOUR_MS) - 44000,
                  k->kept_ms != 0 ? k->kept_ms : HOUR_MS);
}

/* The name as it is before the ask: absent, or its last grant was of `who`. */
static void ask_all(int who)
{
  for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
    test_server_command(world_server(w), "DEL " WORLD_KEY);
    if (who >= 0)
      test_server_command(world_server(w), "SET " WORLD_KEY " =%s:17:%lld PX 3555000",
                          world_native(w, who)->client, (long long)NOW - 1);
    ask_once(&asks[i], 18);
  }
}

TEST(the_bounds_are_exact_where_the_key_is_absent)
{
  world_set_time(w, NOW);
  ask_all(-1);
}

TEST(the_bounds_are_exact_after_a_grant_of_the_same_client)
{
  world_set_time(w, NOW);
  ask_all(ANNA);
}

TEST(the_bounds_are_exact_after_a_grant_of_another_client)
{
  world_set_time(w, NOW);
  ask_all(BERT);
  ask_all(CARL);
}

/* The new token is above the last one, also if another client had that. */
TEST(a_last_grant_of_the_same_instant_is_gone_on_from)
{
  static const int owners[] = { ANNA, BERT, CARL };
  static const ask next = { .ahead_us = 1, .end = " 30000 30000 0 0" };

  world_set_time(w, NOW);
  for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
    test_server_command(world_server(w), "SET " WORLD_KEY " =%s:17:%lld PX 3555000",
                        world_native(w, owners[i])->client, (long long)NOW);
    ask_once(&next, 18);
  }
}

/* The numbers of asks are compared as numbers: 9 is less than 10, and 100 more than 99. */
TEST(a_copy_of_an_ended_ask_has_another_number_of_digits)
{
  world_set_time(w, NOW);
  test_server_command(world_server(w), "SET " WORLD_KEY " =%s:10:%lld PX 3555000",
                      world_native(w, ANNA)->client, (long long)NOW - 1);
  assert_int_equal(world_acquire(w, ANNA, 9).outcome, ACQUIRE_ENDED);
  assert_int_equal(world_acquire(w, ANNA, 10).outcome, ACQUIRE_ENDED);
  ask_once(&asks[0], 11);
  test_server_command(world_server(w), "SET " WORLD_KEY " =%s:99:%lld PX 3555000",
                      world_native(w, ANNA)->client, (long long)NOW - 1);
  ask_once(&asks[0], 100);
  /* A cancelled ask of a name without a grant has the token 0. */
  test_server_command(world_server(w), "DEL " WORLD_KEY);
  assert_int_equal(world_cancel(w, ANNA, 1234567890123456, 0), 0);
  assert_int_equal(world_acquire(w, ANNA, 9).outcome, ACQUIRE_ENDED);
  ask_once(&asks[0], 1234567890123457);
}

/* It is as long as the ask's own memory with T, and in order before it. */
TEST(a_lease_of_another_client_is_not_taken_for_a_last_grant)
{
  char stored[160];

  world_set_time(w, NOW);
  (void)snprintf(stored, sizeof(stored), "0000000000000000000000:1:%lld 30000 30000 0 0",
                 (long long)NOW - 1);
  test_server_command(world_server(w), "SET " WORLD_KEY " %s PX 3555000", stored);
  assert_int_equal(world_try(w, ANNA, 1000000000000000).outcome, ACQUIRE_BUSY);
  assert_string_equal(test_server_command(world_server(w), "GET " WORLD_KEY), stored);
}

/* A clock of the year 2001 or before has fewer digits. */
TEST(a_token_of_fewer_digits_is_less)
{
  static const int64_t tokens[] = { 0, 7, 999999999999999 };

  world_set_time(w, NOW);
  for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
    test_server_command(world_server(w), "SET " WORLD_KEY " =%s:100:%lld PX 3555000",
                        world_native(w, ANNA)->client, (long long)tokens[i]);
    assert_int_equal(world_acquire(w, ANNA, 99).outcome, ACQUIRE_ENDED);
    ask_once(&asks[0], 101);
  }
}

/* A server whose clock is there itself. */
TEST(a_time_of_fewer_digits_is_read)
{
  acquire_call c = world_call(w, 1);
  acquire_answer a;

  world_set_time(w, 999999999000042);
  c.estimate_us = 999999999000042;
  a = world_send(w, ANNA, &c);
  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  assert_int_equal(a.lease.token, 999999999000042);
  assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
  c.ask = 2;
  a = world_send(w, ANNA, &c);
  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  assert_int_equal(a.lease.token, 999999999000043);
}

RUN_STAGE(stage_start, stage_stop, stage_clear, stage_check_errors)

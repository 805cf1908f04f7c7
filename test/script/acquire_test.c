/* SPDX-License-Identifier: MIT */
/* lua/native/acquire.lua without a queue: grants, repeats, ends, and when a lease is over.
 * S1, S2, S8, S10. */
#include "tests.h"

#include <stdio.h>

#include <stdlib.h>
#include <string.h>

#include "server.h"
#include "stage.h"

TEST(a_free_lock_is_granted_for_the_whole_ttl)
{
  acquire_answer a = world_acquire(w, ANNA, 7);

  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  assert_int_equal(a.remaining_ms, 30000);
  assert_int_equal(a.lease_ms, 30000);
  assert_int_equal(a.lease.ask, 7);
  assert_int_equal(a.lease.token, a.server_us);
  assert_string_equal(world_type(w), "string");
}

TEST(the_same_ask_again_is_answered_with_the_same_lease)
{
  acquire_answer first = world_acquire(w, ANNA, 7), again;
  const char *before = test_server_command(world_server(w), "GET " WORLD_KEY);

  again = world_acquire(w, ANNA, 7);
  assert_int_equal(again.outcome, ACQUIRE_AGAIN);
  assert_true(lease_id_equal(&again.lease, &first.lease));
  assert_in_range(again.remaining_ms, 1, 30000);
  assert_int_equal(again.renewals, 0);
  assert_string_equal(test_server_command(world_server(w), "GET " WORLD_KEY), before);
}

TEST(a_thousand_grants_in_a_row_have_a_thousand_growing_tokens)
{
  uint64_t last = 0;

  for (uint64_t k = 1; k <= 1000; k++) {
    acquire_answer a = world_acquire(w, ANNA, k);
    assert_int_equal(a.outcome, ACQUIRE_GRANTED);
    assert_true(a.lease.token > last);
    last = a.lease.token;
    assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
  }
}

TEST(the_token_is_above_the_floor_and_exact_to_the_last_digit)
{
  acquire_call c = world_call(w, 1);
  acquire_answer a, b;

  c.min_token = (uint64_t)world_time_us(w) + 3600000007u;
  a = world_send(w, ANNA, &c);
  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  assert_int_equal(a.lease.token, c.min_token + 1);
  assert_true(a.server_us < (int64_t)a.lease.token);
  assert_int_equal(a.remaining_ms, 30000);
  b = world_acquire(w, ANNA, 1);
  assert_in_range(b.remaining_ms, 29000, 30000);
  assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
  /* The stored token counts, not only the floor. */
  b = world_acquire(w, BERT, 1);
  assert_int_equal(b.lease.token, a.lease.token + 1);
}

TEST(a_floor_that_no_clock_reaches_counts_for_nothing)
{
  acquire_call c = world_call(w, 1);
  uint64_t now = (uint64_t)world_time_us(w);
  acquire_answer a;

  c.min_token = (UINT64_C(1) << 52) - 1;
  a = world_send(w, ANNA, &c);
  assert_in_range(a.lease.token, now, now + 60000000);
  assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
  c = world_call(w, 2);
  c.min_token = (UINT64_C(1) << 52) - 2;
  assert_int_equal(world_send(w, ANNA, &c).lease.token, c.min_token + 1);
}

/* What a clock that was set back by a day leaves: fences do not go back with it. */
TEST(a_last_token_far_ahead_is_gone_on_from)
{
  acquire_call c = world_call(w, 1);
  acquire_answer a, b;

  c.min_token = (uint64_t)world_time_us(w) + UINT64_C(86400000000);
  a = world_send(w, ANNA, &c);
  assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
  b = world_acquire(w, BERT, 1);
  assert_int_equal(b.lease.token, a.lease.token + 1);
  assert_in_range(b.remaining_ms, 29000, 30000);
}

/* In each form that a key has: free, held and over, and with a queue. */
TEST(a_name_that_was_driven_to_the_last_token_is_usable_at_once)
{
  static const char *const stored[] = { "=%s:1:9007199254740985", "=%s:1:9007199254740991",
    "=%s:1:9007199254740992", "%s:1:9007199254740991 -9007199254740 1 0 0" };
  uint64_t now = (uint64_t)world_time_us(w), ask = 5;

  world_listen(w, BERT);
  for (size_t i = 0; i < sizeof(stored) / sizeof(stored[0]); i++) {
    char value[128];
    acquire_answer a;

    (void)snprintf(value, sizeof(value), stored[i], world_native(w, CARL)->client);
    test_server_command(world_server(w), "SET " WORLD_KEY " %s PX 60000", value);
    a = world_acquire(w, ANNA, ++ask);
    assert_int_equal(a.outcome, ACQUIRE_GRANTED);
    assert_in_range(a.lease.token, now, now + 60000000);
    assert_int_equal(world_acquire(w, BERT, ask).outcome, ACQUIRE_WAITING);
    assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
    a = world_acquire(w, BERT, ask);
    assert_int_equal(a.outcome, ACQUIRE_AGAIN);
    assert_in_range(a.lease.token, now, now + 60000000);
    assert_int_equal(world_release(w, BERT, &a.lease).outcome, RELEASE_DONE);
  }
}

TEST(a_request_past_its_time_changes_nothing)
{
  acquire_call c = world_call(w, 1);

  c.until_us = world_time_us(w) - 1;
  assert_int_equal(world_send(w, ANNA, &c).outcome, ACQUIRE_LATE);
  assert_string_equal(world_type(w), "none");
  c.until_us = world_time_us(w) + 10000000;
  assert_int_equal(world_send(w, ANNA, &c).outcome, ACQUIRE_GRANTED);
}

TEST(a_lower_ask_than_the_lease_is_ended)
{
  world_acquire(w, ANNA, 7);
  assert_int_equal(world_acquire(w, ANNA, 6).outcome, ACQUIRE_ENDED);
  assert_int_equal(world_try(w, ANNA, 6).outcome, ACQUIRE_ENDED);
}

TEST(a_higher_ask_disowns_the_lease_and_gets_a_new_one)
{
  acquire_answer first = world_acquire(w, ANNA, 7), second = world_acquire(w, ANNA, 8);

  assert_int_equal(second.outcome, ACQUIRE_GRANTED);
  assert_true(second.lease.token > first.lease.token);
  /* The release of the first, still on its way, must not touch the second (F2). */
  assert_int_equal(world_release(w, ANNA, &first.lease).outcome, RELEASE_TAKEN);
  assert_int_equal(world_acquire(w, ANNA, 8).outcome, ACQUIRE_AGAIN);
}

TEST(a_copy_of_a_released_ask_is_ended)
{
  acquire_answer a = world_acquire(w, ANNA, 7);

  world_release(w, ANNA, &a.lease);
  assert_int_equal(world_acquire(w, ANNA, 7).outcome, ACQUIRE_ENDED);
  assert_int_equal(world_acquire(w, ANNA, 6).outcome, ACQUIRE_ENDED);
  assert_int_equal(world_acquire(w, ANNA, 8).outcome, ACQUIRE_GRANTED);
}

TEST(a_try_against_a_holder_is_busy_and_tells_nobody)
{
  acquire_answer held, a;

  world_listen(w, ANNA);
  held = world_acquire(w, ANNA, 7);
  a = world_try(w, BERT, 1);
  assert_int_equal(a.outcome, ACQUIRE_BUSY);
  assert_true(lease_id_equal(&a.lease, &held.lease));
  assert_int_equal(a.lease_ms, 30000);
  assert_in_range(a.remaining_ms, 1, 30000);
  assert_false(a.holder_lingers);
  assert_string_equal(world_messages(w, ANNA), "");
  assert_string_equal(world_type(w), "string");
}

TEST(a_try_against_a_lingering_holder_asks_it_to_let_go)
{
  acquire_call c = world_call(w, 7);
  acquire_answer held, a;
  char want[128];

  world_listen(w, ANNA);
  c.lingers = true;
  held = world_send(w, ANNA, &c);
  a = world_try(w, BERT, 1);
  assert_int_equal(a.outcome, ACQUIRE_BUSY);
  assert_true(a.holder_lingers);
  strcat(strcat(strcpy(want, "want "), lease_text(&held.lease)), " orders\n");
  assert_string_equal(world_messages(w, ANNA), want);
}

/* ---- over ---- */

TEST(a_lease_a_second_past_its_deadline_goes_to_the_next_who_asks)
{
  lease_id dead = world_plant(w, ANNA, 7, -1001, 30000, 0);
  acquire_answer a = world_try(w, BERT, 1);

  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  assert_true(a.lease.token > dead.token);
}

/* Two clocks that each agree within half a second may have stepped by one in between. */
TEST(a_lease_less_than_a_second_past_it_does_not)
{
  world_plant(w, ANNA, 7, -700, 30000, 0);
  assert_int_equal(world_try(w, BERT, 1).outcome, ACQUIRE_BUSY);
}

TEST(the_deadline_does_not_count_for_those_who_doubt_the_clock)
{
  acquire_call c = world_call(w, 1);

  c.waits = false;
  world_plant(w, ANNA, 7, -1001, 30000, 0);
  c.estimate_us = 0;
  assert_int_equal(world_send(w, BERT, &c).outcome, ACQUIRE_BUSY);
  c.estimate_us = world_time_us(w) - 350000;
  assert_int_equal(world_send(w, BERT, &c).outcome, ACQUIRE_BUSY);
  c.estimate_us = world_time_us(w) + 350000;
  assert_int_equal(world_send(w, BERT, &c).outcome, ACQUIRE_BUSY);
  c.estimate_us = world_time_us(w) + 200000;
  assert_int_equal(world_send(w, BERT, &c).outcome, ACQUIRE_GRANTED);
}

TEST(the_deadline_does_not_count_for_a_lease_whose_client_doubted_the_clock)
{
  acquire_call c = world_call(w, 7);
  acquire_answer a;

  world_plant(w, ANNA, 7, -1001, 30000, 2);
  assert_int_equal(world_try(w, BERT, 1).outcome, ACQUIRE_BUSY);

  world_clear(w);
  c.estimate_us = 0;
  a = world_send(w, ANNA, &c);
  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  assert_non_null(strstr(test_server_command(world_server(w), "GET " WORLD_KEY),
                         " 30000 30000 0 2"));
}

TEST(a_lease_watched_for_its_length_is_over_whatever_the_clock_says)
{
  lease_id held = world_plant(w, ANNA, 7, 999999, 30000, 2);
  acquire_call c = world_call(w, 1);

  c.estimate_us = 0;
  c.waits = false;
  c.watched = &held;
  assert_int_equal(world_send(w, BERT, &c).outcome, ACQUIRE_GRANTED);
}

TEST(a_renewal_makes_the_watching_worthless)
{
  lease_id held = world_plant(w, ANNA, 7, 999, 30000, 0);
  acquire_call c = world_call(w, 1);

  assert_true(world_renew(w, ANNA, &held, 30000).is_ours);
  c.waits = false;
  c.watched = &held;
  c.watched_renewals = 0;
  assert_int_equal(world_send(w, BERT, &c).outcome, ACQUIRE_BUSY);
  c.watched_renewals = 1;
  assert_int_equal(world_send(w, BERT, &c).outcome, ACQUIRE_GRANTED);
}

TEST(watching_another_lease_proves_nothing)
{
  lease_id held = world_plant(w, ANNA, 7, 999, 30000, 0), other = held;
  acquire_call c = world_call(w, 1);

  other.token--;
  c.waits = false;
  c.watched = &other;
  assert_int_equal(world_send(w, BERT, &c).outcome, ACQUIRE_BUSY);
}

TEST(remaining_is_never_more_than_the_length_and_may_be_negative)
{
  acquire_call c = world_call(w, 1);

  c.waits = false;
  c.estimate_us = 0;
  world_plant(w, ANNA, 7, 500000, 30000, 0);
  assert_int_equal(world_send(w, BERT, &c).remaining_ms, 30000);
  world_plant(w, ANNA, 7, -5000, 30000, 0);
  assert_in_range(world_send(w, BERT, &c).remaining_ms + 10000, 4000, 5000);
}

/* ---- keys ---- */

TEST_WITH(a_key_of_another_shape_is_refused_and_left_as_it_is, stage_clear, NULL)
{
  static const char *const foreign[] = {
    "SET " WORLD_KEY " hello", "SET " WORLD_KEY " =x", "RPUSH " WORLD_KEY " a",
    "SADD " WORLD_KEY " a", "ZADD " WORLD_KEY " 1 a", "HSET " WORLD_KEY " a b",
    "HSET " WORLD_KEY " s hello h 1 n 1",
  };
  lease_id l = { .ask = 1, .token = 2 };

  memcpy(l.client, world_native(w, ANNA)->client, CLIENT_ID_SIZE);
  for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
    acquire_call c = world_call(w, 1);
    const char *before;
    size_t size;

    test_server_command(world_server(w), "FLUSHALL");
    test_server_command(world_server(w), foreign[i]);
    before = test_server_command(world_server(w), "DEBUG DIGEST-VALUE " WORLD_KEY);
    const char *error = world_acquire_error(w, ANNA, &c);
    size = strlen(error);
    assert_int_equal(resp_fault_of(error, size), RESP_FAULT_WRONG_TYPE);
    error = world_release_error(w, ANNA, &l);
    assert_int_equal(resp_fault_of(error, strlen(error)), RESP_FAULT_WRONG_TYPE);
    assert_string_equal(test_server_command(world_server(w), "DEBUG DIGEST-VALUE " WORLD_KEY),
                        before);
  }
}

TEST(each_grant_sets_the_retention_anew)
{
  acquire_call c = world_call(w, 2);

  world_plant(w, ANNA, 1, -1001, 30000, 0);
  test_server_command(world_server(w), "PEXPIRE " WORLD_KEY " 5000");
  assert_int_equal(world_acquire(w, BERT, 1).outcome, ACQUIRE_GRANTED);
  assert_true(test_server_integer(world_server(w), "PTTL " WORLD_KEY) > HOUR_MS - 60000);
  c.ttl_ms = 7200000;
  assert_int_equal(world_send(w, BERT, &c).outcome, ACQUIRE_GRANTED);
  assert_true(test_server_integer(world_server(w), "PTTL " WORLD_KEY) > 4 * 7200000 - 60000);
}

RUN_STAGE(stage_start_with_debug, stage_stop, stage_clear, stage_check_errors)

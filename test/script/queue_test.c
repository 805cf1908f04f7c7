/* SPDX-License-Identifier: MIT */
/* The queue of the native protocol: places, hand-over, dead waiters, messages.
 * L2, L10, L12; F10, F11, F13, F14, F23, F29. */

#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mode.h"
#include "server.h"
#include "stage.h"

static const char *message_of(const char *format, const lease_id *l)
{
  static char out[256];

  snprintf(out, sizeof(out), format, lease_text(l));
  return out;
}

TEST(a_waiter_is_queued_once_and_the_holder_told)
{
  acquire_answer held, a;

  world_listen(w, ANNA);
  world_listen(w, BERT);
  held = world_acquire(w, ANNA, 1);
  a = world_acquire(w, BERT, 5);
  assert_int_equal(a.outcome, ACQUIRE_WAITING);
  assert_int_equal(a.rank, 0);
  assert_true(lease_id_equal(&a.lease, &held.lease));
  assert_string_equal(world_type(w), "hash");
  assert_string_equal(world_messages(w, ANNA), message_of("want %s orders\n", &held.lease));
  assert_int_equal(world_acquire(w, BERT, 5).outcome, ACQUIRE_WAITING);
  assert_int_equal(world_inspect(w, ANNA).waiter_count, 1);
  /* Told again at each asking of the first: the message may have been lost (F14). */
  assert_string_equal(world_messages(w, ANNA), message_of("want %s orders\n", &held.lease));
}

TEST(only_the_first_waiter_asks_the_holder)
{
  world_listen(w, ANNA);
  world_listen(w, BERT);
  world_listen(w, CARL);
  world_acquire(w, ANNA, 1);
  world_acquire(w, BERT, 1);
  world_messages(w, ANNA);
  assert_int_equal(world_acquire(w, CARL, 1).rank, 1);
  assert_string_equal(world_messages(w, ANNA), "");
}

static lease_id handed_over_to_bert(bool lingers)
{
  acquire_answer held = world_acquire(w, ANNA, 1);
  acquire_call c = world_call(w, 5);
  acquire_answer a;

  c.lingers = lingers;
  assert_int_equal(world_send(w, BERT, &c).outcome, ACQUIRE_WAITING);
  assert_int_equal(world_release(w, ANNA, &held.lease).outcome, RELEASE_DONE);
  a = world_acquire(w, BERT, 5);
  assert_int_equal(a.outcome, ACQUIRE_AGAIN);
  world_messages(w, ANNA);
  world_messages(w, BERT);
  return a.lease;
}

/* Its holder expects others anyway: a message for each hand-over, not two. */
TEST(a_lease_that_was_handed_over_is_requested_when_the_waiter_polls_or_after_a_renewal)
{
  lease_id lease;

  world_listen(w, ANNA);
  world_listen(w, BERT);
  world_listen(w, CARL);
  lease = handed_over_to_bert(false);
  assert_int_equal(world_acquire(w, CARL, 1).rank, 0);
  assert_string_equal(world_messages(w, BERT), "");
  assert_int_equal(world_acquire(w, CARL, 1).rank, 0);
  assert_string_equal(world_messages(w, BERT), message_of("want %s orders\n", &lease));
  assert_int_equal(world_cancel(w, CARL, 1, 0), 0);
  (void)world_renew(w, BERT, &lease, 30000);
  assert_int_equal(world_acquire(w, DORA, 1).outcome, ACQUIRE_NO_SUBSCRIBER);
  world_listen(w, DORA);
  assert_int_equal(world_acquire(w, DORA, 1).outcome, ACQUIRE_WAITING);
  assert_string_equal(world_messages(w, BERT), message_of("want %s orders\n", &lease));
}

TEST(a_lingering_lease_that_was_handed_over_is_requested_at_once)
{
  lease_id lease;

  world_listen(w, ANNA);
  world_listen(w, BERT);
  world_listen(w, CARL);
  lease = handed_over_to_bert(true);
  assert_int_equal(world_acquire(w, CARL, 1).rank, 0);
  assert_string_equal(world_messages(w, BERT), message_of("want %s orders\n", &lease));
}

TEST(a_waiter_without_an_inbox_is_deaf_and_not_queued)
{
  acquire_answer held = world_acquire(w, ANNA, 1);

  assert_int_equal(world_acquire(w, BERT, 1).outcome, ACQUIRE_NO_SUBSCRIBER);
  assert_string_equal(world_type(w), "string");
  assert_int_equal(world_release(w, ANNA, &held.lease).outcome, RELEASE_DONE);
  /* Nobody is in the way: an inbox is not needed. */
  assert_int_equal(world_acquire(w, BERT, 1).outcome, ACQUIRE_GRANTED);
}

TEST(a_pattern_subscriber_does_not_make_the_deaf_hear)
{
  world_listen_pattern(w, "dibs:inbox:*");
  world_acquire(w, ANNA, 1);
  assert_int_equal(world_acquire(w, BERT, 1).outcome, ACQUIRE_NO_SUBSCRIBER);
}

TEST(a_release_makes_the_first_waiter_the_owner_and_tells_it)
{
  acquire_answer held, again;
  inbox_message m;
  const char *message;

  world_listen(w, BERT);
  world_listen(w, CARL);
  held = world_acquire(w, ANNA, 1);
  world_acquire(w, BERT, 5);
  world_acquire(w, CARL, 6);
  assert_int_equal(world_release(w, ANNA, &held.lease).outcome, RELEASE_DONE);

  message = world_messages(w, BERT);
  assert_true(inbox_message_read(message, strlen(message) - 1, &m));
  assert_int_equal(m.word, INBOX_GRANT);
  assert_int_equal(m.lease.ask, 5);
  assert_true(m.lease.token > held.lease.token);
  assert_int_equal(m.ttl_ms, 30000);
  assert_int_equal(m.waiters, 1);
  again = world_acquire(w, BERT, 5);
  assert_int_equal(again.outcome, ACQUIRE_AGAIN);
  assert_true(lease_id_equal(&again.lease, &m.lease));
  assert_string_equal(world_messages(w, CARL), "");
}

TEST(the_lock_goes_round_in_the_order_of_asking)
{
  for (int who = ANNA; who <= FRED; who++)
    world_listen(w, who);
  acquire_answer a = world_acquire(w, ANNA, 1);
  lease_id held = a.lease;
  for (int who = BERT; who <= FRED; who++)
    assert_int_equal(world_acquire(w, who, 1).rank, who - BERT);
  for (int who = BERT; who <= FRED; who++) {
    assert_int_equal(world_release(w, who - 1, &held).outcome, RELEASE_DONE);
    a = world_acquire(w, who, 1);
    assert_int_equal(a.outcome, ACQUIRE_AGAIN);
    held = a.lease;
  }
  world_release(w, FRED, &held);
  assert_string_equal(world_type(w), "string");
}

TEST(the_last_grant_says_that_nobody_waits)
{
  acquire_answer held;

  world_listen(w, BERT);
  held = world_acquire(w, ANNA, 1);
  world_acquire(w, BERT, 1);
  world_release(w, ANNA, &held.lease);
  assert_non_null(strstr(world_messages(w, BERT), " 30000 0 orders\n"));
}

TEST(a_dead_waiter_is_passed_over)
{
  acquire_answer held;

  world_listen_pattern(w, "dibs:inbox:*");
  world_listen(w, BERT);
  world_listen(w, CARL);
  held = world_acquire(w, ANNA, 1);
  world_acquire(w, BERT, 1);
  world_acquire(w, CARL, 1);
  world_deafen(w, BERT);
  world_release(w, ANNA, &held.lease);
  assert_int_equal(world_acquire(w, CARL, 1).outcome, ACQUIRE_AGAIN);
}

TEST(a_waiter_past_its_patience_is_passed_over)
{
  acquire_answer held;
  acquire_call c;

  world_listen(w, BERT);
  held = world_acquire(w, ANNA, 1);
  c = world_call(w, 1);
  c.give_up_us = world_time_us(w) - 1;
  assert_int_equal(world_send(w, BERT, &c).outcome, ACQUIRE_WAITING);
  world_release(w, ANNA, &held.lease);
  assert_string_equal(world_messages(w, BERT), "");
  assert_string_equal(world_type(w), "string");
}

TEST(asking_again_prolongs_the_patience_and_keeps_the_place)
{
  acquire_answer held;
  acquire_call c;

  world_listen(w, BERT);
  world_listen(w, CARL);
  held = world_acquire(w, ANNA, 1);
  c = world_call(w, 1);
  c.give_up_us = world_time_us(w) - 1;
  world_send(w, BERT, &c);
  c.give_up_us = world_time_us(w) + 60000000;
  assert_int_equal(world_send(w, BERT, &c).rank, 0);
  world_acquire(w, CARL, 1);
  /* A higher number keeps the place too. */
  c.ask = 2;
  assert_int_equal(world_send(w, BERT, &c).rank, 0);
  assert_int_equal(world_acquire(w, BERT, 1).outcome, ACQUIRE_ENDED);
  world_release(w, ANNA, &held.lease);
  assert_int_equal(world_acquire(w, BERT, 2).outcome, ACQUIRE_AGAIN);
}

TEST(the_poll_of_the_first_waiter_takes_a_dead_holders_lease)
{
  acquire_answer a;
  lease_id held = world_plant(w, ANNA, 1, 999999, 30000, 0);
  acquire_call c = world_call(w, 1);

  world_listen(w, BERT);
  world_listen(w, CARL);
  world_acquire(w, BERT, 1);
  world_acquire(w, CARL, 1);
  c.watched = &held;
  a = world_send(w, BERT, &c);
  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  /* The reply is enough for the one who asked (F4). */
  assert_string_equal(world_messages(w, BERT), "");
  assert_int_equal(world_inspect(w, ANNA).waiter_count, 1);
}

TEST(the_poll_of_a_later_waiter_gives_a_dead_holders_lease_to_the_first)
{
  acquire_answer a;
  lease_id held = world_plant(w, ANNA, 1, 999999, 30000, 0);
  acquire_call c = world_call(w, 1);

  world_listen(w, BERT);
  world_listen(w, CARL);
  world_acquire(w, BERT, 1);
  world_acquire(w, CARL, 1);
  c.watched = &held;
  a = world_send(w, CARL, &c);
  assert_int_equal(a.outcome, ACQUIRE_WAITING);
  assert_int_equal(a.rank, 0);
  assert_string_equal(a.lease.client, world_native(w, BERT)->client);
  assert_non_null(strstr(world_messages(w, BERT), "grant:"));
}

TEST(a_try_over_a_dead_holder_goes_behind_the_queue)
{
  acquire_answer a;
  lease_id held = world_plant(w, ANNA, 1, 999999, 30000, 0);
  acquire_call c = world_call(w, 1);

  world_listen(w, BERT);
  world_acquire(w, BERT, 1);
  c.watched = &held;
  c.waits = false;
  a = world_send(w, CARL, &c);
  assert_int_equal(a.outcome, ACQUIRE_BUSY);
  assert_string_equal(a.lease.client, world_native(w, BERT)->client);
}

TEST(a_try_over_a_dead_holder_and_dead_waiters_is_granted)
{
  lease_id held = world_plant(w, ANNA, 1, 999999, 30000, 0);
  acquire_call c = world_call(w, 1);

  world_listen(w, BERT);
  world_acquire(w, BERT, 1);
  world_deafen(w, BERT);
  c.watched = &held;
  c.waits = false;
  assert_int_equal(world_send(w, CARL, &c).outcome, ACQUIRE_GRANTED);
  assert_string_equal(world_type(w), "string");
}

TEST(a_deaf_asker_hands_a_dead_holders_lease_to_those_who_hear)
{
  lease_id held = world_plant(w, ANNA, 1, 999999, 30000, 0);
  acquire_call c = world_call(w, 1);

  world_listen(w, BERT);
  world_acquire(w, BERT, 1);
  c.watched = &held;
  assert_int_equal(world_send(w, CARL, &c).outcome, ACQUIRE_NO_SUBSCRIBER);
  assert_int_equal(world_acquire(w, BERT, 1).outcome, ACQUIRE_AGAIN);
}

TEST(a_holder_who_asks_anew_goes_behind_those_who_wait)
{
  acquire_answer a;

  world_listen(w, ANNA);
  world_listen(w, BERT);
  world_acquire(w, ANNA, 1);
  world_acquire(w, BERT, 1);
  a = world_acquire(w, ANNA, 2);
  assert_int_equal(a.outcome, ACQUIRE_WAITING);
  assert_string_equal(a.lease.client, world_native(w, BERT)->client);
  assert_int_equal(world_acquire(w, BERT, 1).outcome, ACQUIRE_AGAIN);
}

TEST(a_waiters_floor_counts_for_its_grant)
{
  acquire_answer held;
  acquire_call c = world_call(w, 1);

  world_listen(w, BERT);
  held = world_acquire(w, ANNA, 1);
  c.min_token = held.lease.token + 3600000000u;
  assert_int_equal(world_send(w, BERT, &c).outcome, ACQUIRE_WAITING);
  world_release(w, ANNA, &held.lease);
  assert_int_equal(world_acquire(w, BERT, 1).lease.token, c.min_token + 1);
}

TEST(whom_a_doubter_grants_has_no_deadline_until_it_renews)
{
  acquire_answer held;

  world_listen(w, ANNA);
  world_listen(w, BERT);
  held = world_acquire(w, ANNA, 1);
  world_acquire(w, BERT, 1);
  world_mistake(w, 300000);
  world_release(w, ANNA, &held.lease);
  assert_non_null(strstr(test_server_command(world_server(w), "HGET " WORLD_KEY " s"),
                         " 30000 0 2"));
  world_acquire(w, ANNA, 2);
  world_cancel(w, BERT, 1, 0);
  assert_non_null(strstr(test_server_command(world_server(w), "HGET " WORLD_KEY " s"),
                         " 30000 0 2"));
  held = world_acquire(w, ANNA, 2);
  world_acquire(w, BERT, 2);
  world_break(w, CARL, &held.lease);
  assert_non_null(strstr(test_server_command(world_server(w), "HGET " WORLD_KEY " s"),
                         " 30000 0 2"));
  held = world_acquire(w, BERT, 2);
  world_renew(w, BERT, &held.lease, 30000);
  assert_non_null(strstr(test_server_command(world_server(w), "HGET " WORLD_KEY " s"),
                         " 30000 1 0"));
}

TEST(a_lingering_waiter_keeps_its_flag_through_the_queue)
{
  acquire_answer held;
  acquire_call c = world_call(w, 1);

  world_listen(w, BERT);
  held = world_acquire(w, ANNA, 1);
  c.lingers = true;
  world_send(w, BERT, &c);
  world_release(w, ANNA, &held.lease);
  assert_true(world_try(w, CARL, 1).holder_lingers);
}

TEST(a_thousand_dead_waiters_leave_nobodys_lease_and_the_next_poll_goes_on)
{
  acquire_answer held, a;
  const struct test_server *s = world_server(w);

  world_listen(w, BERT);
  world_listen(w, CARL);
  held = world_acquire(w, ANNA, 1);
  world_acquire(w, BERT, 1);
  test_server_command(s, "EVAL %s 1 " WORLD_KEY,
    "for i = 1, 1100 do local c = string.format('%022d', i) redis.call('HSET', KEYS[1], "
    "'w' .. i, c .. ' 1 30000 x0 1 0 1 0', 'c' .. c, i) end "
    "redis.call('HSET', KEYS[1], 'n', 1101)");
  assert_int_equal(world_acquire(w, CARL, 1).outcome, ACQUIRE_WAITING);
  assert_int_equal(world_release(w, ANNA, &held.lease).outcome, RELEASE_DONE);
  a = world_try(w, DORA, 1);
  assert_int_equal(a.outcome, ACQUIRE_BUSY);
  assert_string_equal(a.lease.client, "......................");
  assert_int_equal(a.lease_ms, 1000);
  /* It belongs to nobody; who has watched it goes on where it stopped. */
  acquire_call c = world_call(w, 1);
  c.watched = &a.lease;
  assert_int_equal(world_send(w, CARL, &c).outcome, ACQUIRE_GRANTED);
}

TEST(an_enqueued_key_lives_four_times_the_longest_lease)
{
  acquire_call c = world_call(w, 1);

  world_listen(w, BERT);
  world_acquire(w, ANNA, 1);
  c.ttl_ms = 7200000;
  world_send(w, BERT, &c);
  assert_true(test_server_integer(world_server(w), "PTTL " WORLD_KEY) > 4 * 7200000 - 60000);
  /* Never lowered: the next has a short lease. */
  world_listen(w, CARL);
  world_acquire(w, CARL, 1);
  assert_true(test_server_integer(world_server(w), "PTTL " WORLD_KEY) > 4 * 7200000 - 60000);
}

/* Else a job that waits for less than the lease, again and again, would wait for ever. */
TEST(a_wait_does_not_keep_a_lease_that_is_over_but_in_doubt)
{
  world_listen(w, BERT);
  world_listen(w, CARL);
  world_plant(w, ANNA, 7, -1001, 30000, 2);
  test_server_command(world_server(w), "PEXPIRE " WORLD_KEY " 3570000");
  assert_int_equal(world_acquire(w, BERT, 1).outcome, ACQUIRE_WAITING);
  assert_int_equal(world_acquire(w, CARL, 1).outcome, ACQUIRE_WAITING);
  assert_in_range(test_server_integer(world_server(w), "PTTL " WORLD_KEY), 1, 3570000);
}

/* The retention is set again in the next 100 s of the server's clock. */
static int64_t hundred_seconds(void)
{
  return world_time_us(w) / 100000000;
}

/* Each costs the server as much as 6 000 to 16 000 instructions. */
TEST(a_turn_with_others_needs_few_commands)
{
  acquire_answer held;
  lease_id granted;
  int64_t began;
  long long first, second, released;

  world_listen(w, BERT);
  world_listen(w, CARL);
  do {
    test_server_command(world_server(w), "DEL " WORLD_KEY);
    began = hundred_seconds();
    held = world_acquire(w, ANNA, 1);
    stage_commands(2, 1);
    assert_int_equal(world_acquire(w, BERT, 1).rank, 0);
    first = stage_commands(2, 1);
    assert_int_equal(world_acquire(w, CARL, 1).rank, 1);
    second = stage_commands(2, 1);
    world_release(w, ANNA, &held.lease);
    released = stage_commands(2, 1);
  } while (hundred_seconds() != began);
  assert_int_equal(first, 9);
  assert_int_equal(second, 6);
  assert_int_equal(released, 8);
  world_cancel(w, CARL, 1, 0);
  granted = world_acquire(w, BERT, 1).lease;
  world_release(w, BERT, &granted);
  held = world_acquire(w, ANNA, 2);
  assert_int_equal(held.outcome, ACQUIRE_GRANTED);
  world_acquire(w, BERT, 2);
  world_release(w, ANNA, &held.lease);
  granted = world_acquire(w, BERT, 2).lease;
  stage_commands(2, 1);
  world_release(w, BERT, &granted);
  if (!mode_get().guard)                /* which is looked at by the general pieces then */
    assert_int_equal(stage_commands(2, 0), 3);
  assert_string_equal(world_type(w), "string");
}

TEST(a_try_of_a_name_that_is_held_needs_few_commands)
{
  world_acquire(w, ANNA, 1);
  stage_commands(0, 0);
  assert_int_equal(world_try(w, BERT, 1).outcome, ACQUIRE_BUSY);
  assert_int_equal(stage_commands(2, 1), 3);
}

#define SINCE_US INT64_C(1700000080000000)      /* the 80th second of 100 */
#define KEPT_MS (HOUR_MS - 1000)                /* the retention, of which a second is gone */

/* Anna holds the lock since SINCE_US, and Bert waits with this ttl. */
static lease_id held_by_anna(uint64_t ask, int64_t ttl_ms)
{
  acquire_call c;
  acquire_answer held;

  world_set_time(w, SINCE_US);
  c = world_call(w, ask);
  c.ttl_ms = ttl_ms;
  held = world_acquire(w, ANNA, ask);
  assert_int_equal(held.outcome, ACQUIRE_GRANTED);
  assert_int_equal(world_send(w, BERT, &c).outcome, ACQUIRE_WAITING);
  return held.lease;
}

static bool is_kept_anew(void)
{
  return test_server_integer(world_server(w), "PTTL %s", WORLD_KEY) > KEPT_MS;
}

/* Setting it costs a command or two of the server. */
TEST(a_hand_over_sets_the_retention_anew_once_in_100_s)
{
  static const struct { int64_t later_us, ttl_ms, renewed_ms; bool is_anew; } cases[] = {
    { 19999999, 30000, 0, false }, { 20000000, 30000, 0, true },
    { 0, 30000, 0, true }, { -1, 30000, 0, true },
    { 1000000, 30001, 0, true }, { 1000000, 7200000, 0, true },
    { 1000000, 30000, 30000, true }, { 1000000, 60000, 60000, true },
    { 1000000, 31000, 30000, true },       /* as far ahead as a lease of 30 s that was renewed */
  };

  world_listen(w, BERT);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    lease_id held = held_by_anna(i + 1, cases[i].ttl_ms);

    world_set_time(w, SINCE_US + cases[i].later_us);
    if (cases[i].renewed_ms > 0)
      world_renew(w, ANNA, &held, cases[i].renewed_ms);
    test_server_command(world_server(w), "PEXPIRE %s %d", WORLD_KEY, KEPT_MS);
    assert_int_equal(world_release(w, ANNA, &held).outcome, RELEASE_DONE);
    print_message("# case %zu\n", i);
    assert_int_equal(is_kept_anew(), cases[i].is_anew);
    test_server_command(world_server(w), "DEL " WORLD_KEY);
  }
}

TEST(a_wait_sets_the_retention_anew_once_in_100_s)
{
  static const struct { int64_t later_us; bool is_renewed, is_anew; } cases[] = {
    { 19999999, false, false }, { 20000000, false, true }, { 1000000, true, true },
  };

  world_listen(w, BERT);
  world_listen(w, CARL);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    lease_id held = held_by_anna(i + 1, 30000);

    world_set_time(w, SINCE_US + cases[i].later_us);
    if (cases[i].is_renewed)
      world_renew(w, ANNA, &held, 30000);
    test_server_command(world_server(w), "PEXPIRE %s %d", WORLD_KEY, KEPT_MS);
    assert_int_equal(world_acquire(w, CARL, i + 1).rank, 1);
    print_message("# case %zu\n", i);
    assert_int_equal(is_kept_anew(), cases[i].is_anew);
    test_server_command(world_server(w), "DEL " WORLD_KEY);
  }
}

TEST(a_waiter_past_its_limit_is_not_before_the_next_one)
{
  acquire_call c;

  world_listen(w, BERT);
  world_listen(w, CARL);
  world_set_time(w, START_US);
  world_acquire(w, ANNA, 1);
  c = world_call(w, 1);
  c.give_up_us = START_US + 1000000;
  assert_int_equal(world_send(w, BERT, &c).rank, 0);
  world_set_time(w, START_US + 1000001);
  assert_int_equal(world_acquire(w, CARL, 1).rank, 0);
}

RUN_STAGE(stage_start, stage_stop, stage_clear, stage_check_errors)

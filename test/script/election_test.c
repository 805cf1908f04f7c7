/* SPDX-License-Identifier: MIT */
/* Elections: the scripts elect_publish, _clear and _look beside the lock of the same name,
 * with tellings that come twice, late or from a leader that is none any more.
 * protocol.md 12. */

#include "tests.h"

#include <stdio.h>
#include <string.h>

#include "dialect/native/election.h"
#include "ear.h"
#include "server.h"
#include "stage.h"
#include "rendered.h"

#define KEY "dibs:e:{orders}"
#define CHANNEL "dibs:elect:{orders}"

static publish_call call_of(const lease_id *lease, uint64_t local, uint64_t telling,
                            const char *value)
{
  return (publish_call){ .name = WORLD_NAME, .name_size = strlen(WORLD_NAME), .lease = lease,
                         .fence = lease->token * 1024 + local, .publication = telling,
                         .ttl_ms = 30000, .value = value, .value_size = strlen(value) };
}

/* `local` tells the leaders of one lease apart, which take turns inside one client. */
static bool publish(const lease_id *lease, uint64_t local, uint64_t telling, const char *value)
{
  publish_call c = call_of(lease, local, telling, value);
  bool told;

  assert_true(RENDERED(native_elect_publish, world_native(w, ANNA), world_buffer(w),
                       false, &c));
  assert_true(native_elect_publish_answer(stage_send_kept(KEY), &told));
  return told;
}

static bool clear_value(const lease_id *lease, uint64_t local)
{
  publish_call c = call_of(lease, local, 0, "");
  bool done;

  assert_true(RENDERED(native_elect_clear, world_native(w, ANNA), world_buffer(w), false,
                       &c));
  assert_true(native_elect_publish_answer(stage_send_kept(KEY), &done));
  return done;
}

static elect_answer look(void)
{
  elect_answer a;

  assert_true(RENDERED(native_elect_look, world_native(w, BERT), world_buffer(w), false,
                       WORLD_NAME, strlen(WORLD_NAME)));
  assert_true(native_elect_look_answer(stage_send_kept(KEY), &a));
  return a;
}

TEST(a_name_that_nobody_ever_led_has_no_leader)
{
  elect_answer a = look();

  assert_false(a.is_held);
  assert_int_equal(a.epoch, 0);
  assert_string_equal(a.value, "");
}

TEST(a_leader_is_seen_with_its_value_by_one_message)
{
  lease_id lease = world_acquire(w, ANNA, 1).lease;
  elect_answer a = look();

  assert_true(a.is_held);
  assert_false(a.is_leaving);
  assert_string_equal(a.value, "");
  assert_true(publish(&lease, 1, 1, "here:1"));
  assert_int_equal(ear_count(), 1);
  a = look();
  assert_true(lease_id_equal(&a.lease, &lease));
  assert_string_equal(a.value, "here:1");
  assert_true(a.epoch == lease.token * 1024 + 1);
  assert_in_range(a.remaining_ms, 29000, 30000);
  assert_int_equal(a.lease_ms, 30000);
}

TEST(a_telling_that_comes_twice_tells_once)
{
  lease_id lease = world_acquire(w, ANNA, 1).lease;

  assert_true(publish(&lease, 1, 1, "one"));
  assert_true(publish(&lease, 1, 1, "one"));
  assert_int_equal(ear_count(), 1);
}

TEST(a_late_copy_does_not_bring_an_older_value_back)
{
  lease_id lease = world_acquire(w, ANNA, 1).lease;

  publish(&lease, 1, 1, "one");
  publish(&lease, 1, 2, "two");
  ear_count();
  assert_true(publish(&lease, 1, 1, "one"));
  assert_string_equal(look().value, "two");
  assert_int_equal(ear_count(), 0);
}

TEST(only_the_owner_of_the_lock_tells)
{
  lease_id before = world_acquire(w, ANNA, 1).lease;
  lease_id lease;

  world_release(w, ANNA, &before);
  assert_false(publish(&before, 1, 1, "gone"));
  lease = world_acquire(w, BERT, 1).lease;
  assert_false(publish(&before, 1, 1, "gone"));
  assert_true(publish(&lease, 1, 1, "here"));
  assert_false(publish(&before, 1, 1, "gone"));
  assert_string_equal(look().value, "here");
  assert_int_equal(ear_count(), 1);
}

TEST(a_value_belongs_to_its_lease_only)
{
  lease_id first = world_acquire(w, ANNA, 1).lease;
  lease_id second;
  elect_answer a;

  publish(&first, 1, 1, "first");
  world_break(w, CARL, &first);
  a = look();
  assert_false(a.is_held);
  second = world_acquire(w, BERT, 1).lease;
  a = look();
  assert_true(a.is_held);
  assert_string_equal(a.value, "");
  assert_true(a.epoch == second.token * 1024);
}

TEST(a_leader_that_goes_is_seen_to_go_before_its_release)
{
  lease_id lease = world_acquire(w, ANNA, 1).lease;
  elect_answer a;

  publish(&lease, 1, 1, "here");
  ear_count();
  assert_true(clear_value(&lease, 1));
  assert_int_equal(ear_count(), 1);
  a = look();
  assert_true(a.is_held && a.is_leaving);
  assert_string_equal(a.value, "");
  assert_false(clear_value(&lease, 1));          /* repeated */
  assert_false(publish(&lease, 1, 2, "late"));
  assert_int_equal(ear_count(), 0);
  world_release(w, ANNA, &lease);
  a = look();
  assert_false(a.is_held);
  assert_true(a.epoch == lease.token * 1024 + 1);
}

TEST(leaders_that_share_a_lease_in_turn_do_not_disturb_each_other)
{
  lease_id lease = world_acquire(w, ANNA, 1).lease;

  publish(&lease, 1, 1, "first");
  clear_value(&lease, 1);
  assert_true(publish(&lease, 2, 2, "second"));
  assert_false(look().is_leaving);
  assert_false(publish(&lease, 1, 1, "first"));
  assert_false(clear_value(&lease, 1));
  assert_string_equal(look().value, "second");
}

TEST(a_late_clear_does_not_hit_the_next_leader)
{
  lease_id first = world_acquire(w, ANNA, 1).lease;
  lease_id second;

  world_release(w, ANNA, &first);
  second = world_acquire(w, BERT, 1).lease;
  publish(&second, 1, 1, "second");
  assert_false(clear_value(&first, 1));
  assert_string_equal(look().value, "second");
  /* One that comes before the next has told changes nothing for it either. */
  world_clear(w);
  first = world_acquire(w, ANNA, 1).lease;
  world_release(w, ANNA, &first);
  second = world_acquire(w, BERT, 1).lease;
  clear_value(&first, 1);
  assert_false(look().is_leaving);
  assert_true(publish(&second, 1, 1, "second"));
}

TEST(fences_beyond_2_to_the_53_are_told_apart)
{
  lease_id lease = world_acquire(w, ANNA, 1).lease;

  assert_true(lease.token * 1024 > 1ull << 53);
  publish(&lease, 1000, 1, "a");
  assert_false(publish(&lease, 999, 2, "b"));
  assert_true(publish(&lease, 1001, 3, "c"));
  assert_true(look().epoch == lease.token * 1024 + 1001);
}

TEST(a_value_may_hold_any_byte)
{
  lease_id lease = world_acquire(w, ANNA, 1).lease;
  publish_call c = call_of(&lease, 1, 1, "");
  char all[ELECTION_VALUE_MAX];
  elect_answer a;
  bool told;

  for (size_t i = 0; i < sizeof(all); i++)
    all[i] = (char)i;
  c.value = all;
  c.value_size = sizeof(all);
  assert_true(RENDERED(native_elect_publish, world_native(w, ANNA), world_buffer(w), true,
                       &c));
  assert_true(native_elect_publish_answer(stage_send_kept(KEY), &told));
  a = look();
  assert_int_equal(a.value_size, sizeof(all));
  assert_memory_equal(a.value, all, sizeof(all));
}

TEST(a_full_server_still_clears)
{
  lease_id lease = world_acquire(w, ANNA, 1).lease;

  publish(&lease, 1, 1, "here");
  stage_fill_memory();
  assert_true(clear_value(&lease, 1));
  stage_empty_memory();
  assert_true(look().is_leaving);
}

static int clear(void **state)
{
  (void)stage_clear(state);
  ear_count();
  return 0;
}

TEST_WITH(a_shared_resource_has_no_leader, clear, NULL)
{
  test_server_command(world_server(w), "HSET " WORLD_KEY " s %s h 1 n 1", "rw 5 0 0");
  assert_true(RENDERED(native_elect_look, world_native(w, ANNA), world_buffer(w), false,
                       WORLD_NAME, strlen(WORLD_NAME)));
  assert_int_equal(resp_fault_of(resp_root(world_raw(w, world_buffer(w)))->bytes, 9),
                   RESP_FAULT_WRONG_TYPE);
  buffer_clear(world_buffer(w));
}

TEST(a_lease_that_ran_out_is_told_as_over)
{
  lease_id lease;
  elect_answer a;

  world_set_time(w, START_US);
  lease = world_acquire(w, ANNA, 1).lease;
  publish(&lease, 1, 1, "here");
  world_set_time(w, START_US + 29000000);
  assert_int_equal(look().remaining_ms, 1000);
  world_set_time(w, START_US + 31000000);
  a = look();
  assert_true(a.is_held);
  assert_int_equal(a.remaining_ms, -1000);
  world_set_time(w, START_US - 31000000);
  assert_int_equal(look().remaining_ms, 30000);
}

static int start(void **state)
{
  (void)stage_start(state);
  ear_open(CHANNEL);
  return 0;
}

static int stop(void **state)
{
  ear_close();
  return stage_stop(state);
}

RUN_STAGE(start, stop, clear, stage_check_errors)

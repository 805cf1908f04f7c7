/* SPDX-License-Identifier: MIT */
/* Barriers: the scripts barrier_arrive, _leave, _look and _reset on a real server, with
 * requests that come twice, late or never, and a clock that steps. protocol.md 12. */

#include "tests.h"

#include <string.h>

#include "dialect/native/barrier.h"
#include "ear.h"
#include "mode.h"
#include "server.h"
#include "stage.h"
#include "rendered.h"

#define KEY "dibs:b:{orders}"
#define CHANNEL "dibs:barrier:{orders}"

static barrier_call call_of(uint64_t party, uint32_t parties, uint64_t generation)
{
  return (barrier_call){ .name = WORLD_NAME, .name_size = strlen(WORLD_NAME), .party = party,
                         .parties = parties, .generation = generation,
                         .silence_ms = BARRIER_SILENCE_MS };
}

static barrier_answer arrive(int who, uint64_t party, uint32_t parties, uint64_t generation)
{
  barrier_call c = call_of(party, parties, generation);
  barrier_answer a;

  assert_true(RENDERED(native_barrier_arrive, world_native(w, who), world_buffer(w),
                       false, &c));
  assert_true(native_barrier_arrive_answer(stage_send_kept(KEY), &a));
  return a;
}

static barrier_answer leave(int who, uint64_t party, uint64_t generation)
{
  barrier_call c = call_of(party, 1, generation);
  barrier_answer a;

  assert_true(RENDERED(native_barrier_leave, world_native(w, who), world_buffer(w), false,
                       &c));
  assert_true(native_barrier_leave_answer(stage_send_kept(KEY), &a));
  return a;
}

static barrier_look look(void)
{
  barrier_look l;

  assert_true(RENDERED(native_barrier_look, world_native(w, ANNA), world_buffer(w), false,
                       WORLD_NAME, strlen(WORLD_NAME)));
  assert_true(native_barrier_look_answer(stage_send_kept(KEY), &l));
  return l;
}

static int64_t reset(uint64_t generation)
{
  const resp_reply *r;

  assert_true(RENDERED(native_barrier_reset, world_native(w, ANNA), world_buffer(w),
                       false, WORLD_NAME, strlen(WORLD_NAME), generation));
  r = stage_send_kept(KEY);
  assert_true(native_barrier_reset_answer(r));
  return resp_root(r)->integer;
}

TEST(the_last_party_releases_all_by_one_message)
{
  barrier_answer a = arrive(ANNA, 1, 3, 0);

  assert_int_equal(a.outcome, BARRIER_WAITING);
  assert_int_equal(a.place, 0);
  assert_in_range(a.look_ms, BARRIER_SILENCE_MS - 2000, BARRIER_SILENCE_MS + 2);
  a = arrive(BERT, 1, 3, 0);
  assert_int_equal(a.outcome, BARRIER_WAITING);
  assert_int_equal(a.arrived, 2);
  assert_int_equal(ear_count(), 0);
  a = arrive(CARL, 1, 3, 0);
  assert_int_equal(a.outcome, BARRIER_PASSED);
  assert_int_equal(a.generation, 0);
  assert_int_equal(a.place, 2);
  assert_int_equal(a.arrived, 3);
  assert_int_equal(ear_count(), 1);
  assert_int_equal(arrive(ANNA, 1, 3, 0).outcome, BARRIER_PASSED);
  assert_int_equal(arrive(BERT, 1, 3, 0).place, 1);
  assert_int_equal(look().generation, 1);
  assert_int_equal(look().arrived, 0);
  assert_int_equal(ear_count(), 0);
}

TEST(generations_follow_each_other)
{
  for (uint64_t g = 0; g < 5; g++) {
    assert_int_equal(arrive(ANNA, g + 1, 2, g).outcome, BARRIER_WAITING);
    assert_int_equal(arrive(BERT, g + 1, 2, g).outcome, BARRIER_PASSED);
    assert_int_equal(arrive(ANNA, g + 1, 2, g).generation, g);
  }
  assert_int_equal(look().generation, 5);
  assert_int_equal(arrive(CARL, 1, 1, 5).outcome, BARRIER_PASSED);
}

TEST(a_party_that_arrives_twice_counts_once)
{
  arrive(ANNA, 1, 3, 0);
  arrive(ANNA, 1, 3, 0);
  assert_int_equal(arrive(ANNA, 1, 3, 0).arrived, 1);
  assert_int_equal(arrive(BERT, 1, 3, 0).outcome, BARRIER_WAITING);
  /* Another call of the same client is another party. */
  assert_int_equal(arrive(ANNA, 2, 3, 0).outcome, BARRIER_PASSED);
}

TEST(a_late_copy_of_an_arrival_is_no_party_of_a_later_meeting)
{
  for (uint64_t g = 0; g < 3; g++) {
    arrive(ANNA, g + 1, 2, g);
    arrive(BERT, g + 1, 2, g);
  }
  for (uint64_t g = 0; g < 3; g++)
    assert_int_equal(arrive(ANNA, g + 1, 2, g).outcome, BARRIER_PASSED);
  assert_int_equal(look().arrived, 0);
  assert_int_equal(look().generation, 3);
}

TEST(a_party_whose_reply_was_lost_learns_that_it_passed_after_others_met_again)
{
  barrier_answer a;

  arrive(ANNA, 1, 2, 0);
  arrive(BERT, 1, 2, 0);                     /* its answer is lost */
  for (uint64_t g = 1; g < 400; g++) {
    arrive(CARL, g, 2, g);
    arrive(DORA, g, 2, g);
  }
  a = arrive(BERT, 1, 2, 0);
  assert_int_equal(a.outcome, BARRIER_PASSED);
  assert_int_equal(a.generation, 0);
}

TEST(memories_have_an_end_and_what_is_forgotten_counts_no_more)
{
  long long fields;

  for (uint64_t g = 0; g < 700; g++) {
    arrive(CARL, g + 1, 2, g);
    arrive(DORA, g + 1, 2, g);
  }
  fields = test_server_integer(world_server(w), "HLEN " KEY);
  assert_in_range(fields, 2 * 1024, 2 * 1030);
  assert_int_equal(arrive(CARL, 1, 2, 0).outcome, BARRIER_LATE);
  assert_int_equal(arrive(CARL, 699, 2, 698).outcome, BARRIER_PASSED);
  assert_int_equal(look().arrived, 0);
}

TEST(broken_stays_broken_until_a_reset)
{
  barrier_answer a;

  arrive(ANNA, 1, 3, 0);
  arrive(BERT, 1, 3, 0);
  assert_int_equal(leave(BERT, 1, 0).outcome, BARRIER_WAITING);
  assert_int_equal(ear_count(), 1);
  a = arrive(ANNA, 1, 3, 0);
  assert_int_equal(a.outcome, BARRIER_BROKEN);
  assert_int_equal(a.arrived, 2);
  assert_int_equal(arrive(CARL, 1, 3, 0).outcome, BARRIER_BROKEN);
  assert_int_equal(arrive(DORA, 1, 9, 0).outcome, BARRIER_BROKEN);
  assert_true(look().is_broken);
  assert_int_equal(reset(0), 1);
  assert_int_equal(ear_count(), 1);
  assert_false(look().is_broken);
  assert_int_equal(look().generation, 1);
  /* Those of the broken one learn it afterwards too, and are no parties of the next. */
  assert_int_equal(arrive(ANNA, 1, 3, 0).outcome, BARRIER_BROKEN);
  /* So does a copy of one that was told without being counted (seed 552). */
  assert_int_equal(arrive(CARL, 1, 3, 0).outcome, BARRIER_BROKEN);
  assert_int_equal(look().arrived, 0);
  arrive(ANNA, 2, 2, 1);
  assert_int_equal(arrive(BERT, 2, 2, 1).outcome, BARRIER_PASSED);
}

TEST(a_leave_that_comes_twice_breaks_once)
{
  arrive(ANNA, 1, 3, 0);
  assert_int_equal(leave(ANNA, 1, 0).outcome, BARRIER_WAITING);
  assert_int_equal(leave(ANNA, 1, 0).outcome, BARRIER_BROKEN);
  assert_int_equal(ear_count(), 1);
  reset(0);
  arrive(BERT, 1, 2, 1);
  assert_int_equal(leave(ANNA, 1, 0).outcome, BARRIER_BROKEN);
  assert_int_equal(arrive(BERT, 1, 2, 1).outcome, BARRIER_WAITING);
}

TEST(a_leave_after_passing_breaks_nothing)
{
  arrive(ANNA, 1, 2, 0);
  arrive(BERT, 1, 2, 0);
  arrive(CARL, 1, 2, 1);
  assert_int_equal(leave(ANNA, 1, 0).outcome, BARRIER_PASSED);
  assert_int_equal(arrive(CARL, 1, 2, 1).outcome, BARRIER_WAITING);
}

TEST(an_arrival_that_comes_after_its_leave_does_nothing)
{
  assert_int_equal(leave(BERT, 7, 0).outcome, BARRIER_NONE);
  assert_int_equal(arrive(BERT, 7, 2, 0).outcome, BARRIER_LATE);
  assert_int_equal(arrive(ANNA, 1, 2, 0).outcome, BARRIER_WAITING);
  assert_int_equal(arrive(BERT, 7, 2, 0).outcome, BARRIER_LATE);
  /* With others waiting it is missed: they would wait in vain. */
  assert_int_equal(leave(CARL, 1, 0).outcome, BARRIER_WAITING);
  assert_int_equal(arrive(ANNA, 1, 2, 0).outcome, BARRIER_BROKEN);
  reset(0);
  assert_int_equal(arrive(CARL, 1, 2, 0).outcome, BARRIER_LATE);
  assert_int_equal(look().arrived, 0);
  /* One that looked at an earlier meeting is not missed in this. */
  arrive(ANNA, 2, 2, 1);
  assert_int_equal(leave(DORA, 1, 0).outcome, BARRIER_NONE);
  assert_int_equal(arrive(BERT, 8, 2, 1).outcome, BARRIER_PASSED);
}

TEST(another_number_of_parties_is_refused_while_somebody_waits)
{
  barrier_answer a;

  arrive(ANNA, 1, 3, 0);
  a = arrive(BERT, 1, 4, 0);
  assert_int_equal(a.outcome, BARRIER_OTHER);
  assert_int_equal(a.arrived, 3);
  assert_int_equal(look().arrived, 1);
  arrive(BERT, 1, 3, 0);
  arrive(CARL, 1, 3, 0);
  assert_int_equal(arrive(BERT, 2, 2, 1).outcome, BARRIER_WAITING);
  assert_int_equal(look().parties, 2);
}

TEST(a_reset_ends_a_meeting_under_way_and_only_the_one_it_saw)
{
  assert_int_equal(reset(0), 0);
  arrive(ANNA, 1, 2, 0);
  assert_int_equal(reset(0), 1);
  assert_int_equal(arrive(ANNA, 1, 2, 0).outcome, BARRIER_BROKEN);
  arrive(ANNA, 2, 2, 1);
  assert_int_equal(reset(0), 0);             /* a late copy */
  assert_int_equal(arrive(ANNA, 2, 2, 1).outcome, BARRIER_WAITING);
}

TEST(what_the_server_lost_is_broken_for_those_who_waited)
{
  arrive(ANNA, 1, 2, 0);
  arrive(BERT, 1, 2, 0);
  arrive(ANNA, 2, 2, 1);
  test_server_command(world_server(w), "DEL " KEY);
  assert_int_equal(arrive(ANNA, 2, 2, 1).outcome, BARRIER_BROKEN);
  assert_int_equal(look().parties, 0);
}

TEST(a_full_server_refuses_arrivals_and_still_breaks)
{
  barrier_call c = call_of(2, 3, 0);
  const resp_reply *r;

  arrive(ANNA, 1, 3, 0);
  stage_fill_memory();
  assert_true(RENDERED(native_barrier_arrive, world_native(w, BERT), world_buffer(w),
                       false, &c));
  r = world_raw(w, world_buffer(w));
  buffer_clear(world_buffer(w));
  assert_int_equal(resp_root(r)->kind, RESP_ERROR);
  assert_int_equal(resp_fault_of(resp_root(r)->bytes, resp_root(r)->size),
                   RESP_FAULT_REFUSED);
  assert_int_equal(arrive(ANNA, 1, 3, 0).outcome, BARRIER_WAITING);
  assert_int_equal(leave(ANNA, 1, 0).outcome, BARRIER_WAITING);
  assert_int_equal(reset(0), 1);
  stage_empty_memory();
  assert_int_equal(look().arrived, 0);
  assert_int_equal(look().generation, 1);
}

/* The program calls again, as another party: others would pass without one. */
TEST(an_arrival_without_one_of_its_rights_does_not_count)
{
  static const char *const commands[] = { "pexpire", "hset", "hmget" };

  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
    for (uint32_t others = 0; others < 2; others++) {
      barrier_call c = call_of(1, 3, 0);

      test_server_command(world_server(w), "FLUSHALL");
      if (others > 0)
        arrive(BERT, 1, 3, 0);
      test_server_command(world_server(w), "ACL SETUSER %s -%s", mode_user(), commands[i]);
      assert_true(RENDERED(native_barrier_arrive, world_native(w, ANNA), world_buffer(w),
                           false, &c));
      assert_int_equal(resp_root(stage_send())->kind, RESP_ERROR);
      test_server_command(world_server(w), "ACL SETUSER %s +%s", mode_user(), commands[i]);
      assert_int_equal(look().arrived, others);
      assert_int_equal(arrive(ANNA, 2, 3, 0).place, others);
    }
}

/* Of more than 1024 old arrivals the first two are removed after that. */
TEST(an_arrival_counts_though_old_ones_cannot_be_removed)
{
  static const char *const commands[] = { "hdel", "hget" };

  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
    test_server_command(world_server(w), "DEL " KEY);
    test_server_command(world_server(w), "HSET " KEY " s %s i1 %s aA:1 1",
                        "bar 3 1100 0 0 2000 2000 1 1999 0 0", "A:1 0 0 1");
    test_server_command(world_server(w), "ACL SETUSER %s -%s", mode_user(), commands[i]);
    assert_int_equal(arrive(ANNA, 1, 3, 1100).outcome, BARRIER_WAITING);
    test_server_command(world_server(w), "ACL SETUSER %s +%s", mode_user(), commands[i]);
    assert_int_equal(look().arrived, 1);
  }
}

TEST(a_key_of_another_kind_is_left_alone)
{
  barrier_call c = call_of(1, 2, 0);

  test_server_command(world_server(w), "HSET " KEY " x 1");
  assert_true(RENDERED(native_barrier_arrive, world_native(w, ANNA), world_buffer(w),
                       false, &c));
  assert_int_equal(resp_fault_of(resp_root(world_raw(w, world_buffer(w)))->bytes, 9),
                   RESP_FAULT_WRONG_TYPE);
  buffer_clear(world_buffer(w));
  assert_int_equal(test_server_integer(world_server(w), "HLEN " KEY), 1);
}

/* These set the clock, and come last: the world keeps to it from then on. */

TEST(a_party_that_died_breaks_the_meeting)
{
  barrier_answer a;

  world_set_time(w, START_US);
  arrive(ANNA, 1, 3, 0);
  arrive(BERT, 1, 3, 0);
  world_set_time(w, START_US + 5000000);
  assert_int_equal(arrive(ANNA, 1, 3, 0).outcome, BARRIER_WAITING);
  world_set_time(w, START_US + BARRIER_SILENCE_MS * 1000);
  a = arrive(ANNA, 1, 3, 0);
  assert_int_equal(a.outcome, BARRIER_WAITING);
  assert_int_equal(a.look_ms, 1);
  world_set_time(w, START_US + BARRIER_SILENCE_MS * 1000 + 1000);
  assert_int_equal(ear_count(), 0);
  assert_int_equal(arrive(ANNA, 1, 3, 0).outcome, BARRIER_BROKEN);
  assert_int_equal(ear_count(), 1);
  assert_int_equal(arrive(BERT, 1, 3, 0).outcome, BARRIER_BROKEN);
}

TEST(one_that_arrives_finds_the_dead_before_it_counts)
{
  world_set_time(w, START_US);
  arrive(ANNA, 1, 2, 0);
  world_set_time(w, START_US + 60000000);
  assert_int_equal(arrive(BERT, 1, 2, 0).outcome, BARRIER_BROKEN);
  assert_true(look().is_broken);
}

TEST(a_silent_party_that_nobody_missed_may_go_on)
{
  world_set_time(w, START_US);
  arrive(ANNA, 1, 2, 0);
  world_set_time(w, START_US + 60000000);
  assert_int_equal(arrive(ANNA, 1, 2, 0).outcome, BARRIER_WAITING);
  assert_int_equal(arrive(BERT, 1, 2, 0).outcome, BARRIER_PASSED);
}

TEST(a_clock_set_back_keeps_no_dead_party_alive)
{
  barrier_answer a;

  world_set_time(w, START_US);
  arrive(ANNA, 1, 3, 0);
  arrive(BERT, 1, 3, 0);
  world_set_time(w, START_US - 3600000000);
  a = arrive(ANNA, 1, 3, 0);
  assert_int_equal(a.outcome, BARRIER_WAITING);
  assert_in_range(a.look_ms, 1, BARRIER_SILENCE_MS + 2);
  world_set_time(w, START_US - 3600000000 + BARRIER_SILENCE_MS * 1000 + 1000);
  assert_int_equal(arrive(ANNA, 1, 3, 0).outcome, BARRIER_BROKEN);
}

/* As little as the first look finds nothing strange, within two times all are right. */
TEST(a_clock_set_back_a_little_costs_one_time_more)
{
  int64_t now = START_US - 4000000;

  world_set_time(w, START_US - 8000000);
  arrive(CARL, 1, 3, 0);
  world_set_time(w, START_US);
  arrive(BERT, 1, 3, 0);
  for (int i = 0; i < 8; i++, now += 3000000) {
    world_set_time(w, now);
    if (arrive(CARL, 1, 3, 0).outcome == BARRIER_BROKEN)
      break;
  }
  assert_in_range(now, START_US, START_US - 4000000 + 2 * BARRIER_SILENCE_MS * 1000 + 3000000);
}

TEST(many_parties_meet_and_one_dead_of_them_is_found)
{
  const int64_t silence = BARRIER_SILENCE_MS * 1000;

  world_set_time(w, START_US);
  for (uint64_t k = 1; k < 2500; k++)
    arrive(ANNA, k, 2500, 0);
  world_set_time(w, START_US + silence / 2);
  for (uint64_t k = 1; k < 2500; k++)
    if (k != 1700)
      arrive(ANNA, k, 2500, 0);
  world_set_time(w, START_US + silence + 1);
  assert_int_equal(arrive(ANNA, 1, 2500, 0).outcome, BARRIER_BROKEN);
  reset(0);
  for (uint64_t k = 5001; k < 7500; k++)
    assert_int_equal(arrive(ANNA, k, 2500, 1).outcome, BARRIER_WAITING);
  assert_int_equal(arrive(BERT, 1, 2500, 1).outcome, BARRIER_PASSED);
  assert_int_equal(arrive(ANNA, 5001, 2500, 1).outcome, BARRIER_PASSED);
}

static int clear(void **state)
{
  (void)stage_clear(state);
  ear_count();
  return 0;
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

int main(void)
{

  return stage_run(start, stop, clear, NULL);
}

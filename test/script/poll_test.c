/* SPDX-License-Identifier: MIT */
/* Those who wait without an inbox: nobody looks for a subscriber, their polls keep them in the
 * queue, and tell them that they were granted. doc/design/protocol.md 15. */

#include "tests.h"

#include <string.h>

#include "members.h"
#include "mode.h"
#include "server.h"
#include "shares.h"
#include "stage.h"

static int clear_clock(void **state)
{
  share_mistake_us = 0;
  stage_clear(state);
  world_set_time(w, START_US);
  return 0;
}

static void at(int64_t us) { world_set_time(w, START_US + us); }

/* Waits for as long as three polls take: 3 s. */
static acquire_answer poll(int who, uint64_t ask)
{
  acquire_call c = world_call(w, ask);

  c.polls = true;
  c.give_up_us = world_time_us(w) + 3000000;
  return world_send(w, who, &c);
}

static acquire_answer share_poll(int who, char mode, uint64_t units, uint64_t ask)
{
  share_call c = share_call_of(w, mode, units, ask);

  c.polls = true;
  c.give_up_us = world_time_us(w) + 3000000;
  return share_send(w, who, &c);
}

TEST(who_polls_waits_without_an_inbox_and_learns_of_its_grant)
{
  acquire_answer a = world_acquire(w, ANNA, 1), b;

  b = poll(BERT, 1);
  assert_int_equal(b.outcome, ACQUIRE_WAITING);
  assert_int_equal(b.rank, 0);
  at(1000000);
  assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
  assert_int_equal(world_try(w, CARL, 1).outcome, ACQUIRE_BUSY);
  at(2000000);
  b = poll(BERT, 1);
  assert_int_equal(b.outcome, ACQUIRE_AGAIN);
  assert_int_equal(b.remaining_ms, 29000);
}

TEST(nothing_is_published_for_who_polls)
{
  acquire_answer a = world_acquire(w, ANNA, 1);
  long long before;

  poll(BERT, 1);
  before = test_server_integer(world_server(w), "EVAL %s 0", "return tonumber(string.match("
    "redis.call('INFO', 'commandstats'), 'cmdstat_publish:calls=(%d+)') or 0)");
  world_release(w, ANNA, &a.lease);
  assert_int_equal(test_server_integer(world_server(w), "EVAL %s 0", "return tonumber("
    "string.match(redis.call('INFO', 'commandstats'), 'cmdstat_publish:calls=(%d+)') or 0)"),
    before);
}

TEST(polls_that_stop_lose_the_place)
{
  acquire_answer a = world_acquire(w, ANNA, 1);

  poll(BERT, 1);
  at(1000000);
  poll(CARL, 1);
  at(2000000);
  assert_int_equal(poll(BERT, 1).rank, 0);     /* each poll is good for three seconds more */
  at(4500000);
  poll(CARL, 1);
  at(5500000);
  assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
  assert_int_equal(poll(CARL, 1).outcome, ACQUIRE_AGAIN);
}

TEST(who_polls_without_an_end_is_not_waited_for)
{
  acquire_answer a = world_acquire(w, ANNA, 1);
  acquire_call c = world_call(w, 1);

  c.polls = true;
  assert_int_equal(world_send(w, BERT, &c).outcome, ACQUIRE_WAITING);
  world_release(w, ANNA, &a.lease);
  assert_int_equal(world_try(w, CARL, 1).outcome, ACQUIRE_GRANTED);
}

TEST(pollers_and_listeners_stand_in_one_queue)
{
  acquire_answer a = world_acquire(w, ANNA, 1);

  world_listen(w, CARL);
  assert_int_equal(poll(BERT, 1).rank, 0);
  assert_int_equal(world_acquire(w, CARL, 1).rank, 1);
  assert_int_equal(poll(DORA, 1).rank, 2);
  world_release(w, ANNA, &a.lease);
  a = poll(BERT, 1);
  assert_int_equal(a.outcome, ACQUIRE_AGAIN);
  world_release(w, BERT, &a.lease);
  assert_non_null(strstr(world_messages(w, CARL), "grant:"));
  a = world_acquire(w, CARL, 1);
  assert_int_equal(a.outcome, ACQUIRE_AGAIN);
  world_release(w, CARL, &a.lease);
  assert_int_equal(poll(DORA, 1).outcome, ACQUIRE_AGAIN);
}

TEST(who_gets_an_inbox_later_keeps_the_place)
{
  acquire_answer a = world_acquire(w, ANNA, 1);

  poll(BERT, 1);
  poll(CARL, 1);
  world_listen(w, BERT);
  assert_int_equal(world_acquire(w, BERT, 1).rank, 0);
  at(60000000);
  world_release(w, ANNA, &a.lease);
  assert_non_null(strstr(world_messages(w, BERT), "grant:"));
}

TEST(readers_and_permits_may_poll_too)
{
  acquire_answer a = share_ask(w, ANNA, 'w', 1, 1);

  assert_int_equal(share_poll(BERT, 'r', 1, 1).outcome, ACQUIRE_WAITING);
  assert_int_equal(share_poll(CARL, 'r', 1, 1).outcome, ACQUIRE_WAITING);
  at(2000000);
  assert_int_equal(share_poll(BERT, 'r', 1, 1).outcome, ACQUIRE_WAITING);
  at(4000000);
  assert_true(share_release(w, ANNA, &a.lease, 0));
  assert_int_equal(share_poll(BERT, 'r', 1, 1).outcome, ACQUIRE_AGAIN);
  assert_int_equal(share_inspect(w).holder_count, 1);
  assert_int_equal(share_inspect(w).waiter_count, 0);
}

TEST(a_set_may_poll)
{
  acquire_answer a = one_acquire(w, BERT, 'b', 1);
  many_call c = members_call(w, "ab", 1);

  c.polls = true;
  c.give_up_us = world_time_us(w) + 3000000;
  assert_int_equal(members_send(w, ANNA, &c).a.outcome, ACQUIRE_WAITING);
  one_release(w, BERT, 'b', &a.lease);
  assert_int_equal(one_try(w, CARL, 'b', 1).outcome, ACQUIRE_BUSY);
  assert_int_equal(members_send(w, ANNA, &c).a.outcome, ACQUIRE_GRANTED);
}

TEST_WITH(who_may_not_use_channels_at_all_polls, clear_clock, NULL)
{
  acquire_answer a;

  assert_string_equal(test_server_command(world_server(w), "ACL SETUSER %s resetchannels "
                                          "-pubsub -publish -subscribe", mode_user()), "OK");
  a = world_acquire(w, ANNA, 1);
  assert_int_equal(poll(BERT, 1).outcome, ACQUIRE_WAITING);
  assert_int_equal(world_acquire(w, CARL, 1).outcome, ACQUIRE_WAITING);   /* another user's */
  assert_int_equal(world_inspect(w, BERT).waiter_count, 2);
  assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
  a = poll(BERT, 1);
  assert_int_equal(a.outcome, ACQUIRE_AGAIN);
  assert_int_equal(world_release(w, BERT, &a.lease).outcome, RELEASE_DONE);
  assert_int_equal(world_inspect(w, BERT).holder_count, 1);
  assert_string_equal(test_server_command(world_server(w), "ACL SETUSER %s allchannels "
                                          "+pubsub +publish +subscribe", mode_user()), "OK");
}

RUN_STAGE(stage_start, stage_stop, clear_clock, stage_check_errors)

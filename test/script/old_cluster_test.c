/* SPDX-License-Identifier: MIT */
/* A Cluster whose nodes know no sharded channels, as before 7.0, and clients that speak of
 * them all the same: those who listen on ordinary ones are found, and told. Newer servers play
 * that part by refusing the commands. doc/design/protocol.md 15. */

#include "tests.h"

#include <stdlib.h>
#include <string.h>

#include "dialect/native/barrier.h"
#include "dialect/native/election.h"
#include "dialect/native/latch.h"
#include "deployment.h"
#include "ear.h"
#include "server.h"
#include "stage.h"
#include "rendered.h"

static int start(void **state)
{
  stage_start(state);
  if (test_server_knows(world_server(w), "spublish"))
    assert_string_equal(test_server_command(world_server(w), "ACL SETUSER default -spublish "
                                            "-ssubscribe -pubsub|shardnumsub"), "OK");
  return 0;
}

/* `who`, who takes the node for a new one. */
static protocol mistaken(int who)
{
  protocol n = *world_native(w, who);

  assert_true(n.has_tags && !n.has_sharded_channels);
  n.has_sharded_channels = true;
  return n;
}

static acquire_answer ask(int who, uint64_t k)
{
  protocol n = mistaken(who);
  acquire_call c = world_call(w, k);
  acquire_answer a;

  assert_true(RENDERED(native_acquire, &n, world_buffer(w), false, &c));
  assert_true(native_acquire_answer(&n, k, c.ttl_ms, stage_send(), &a));
  return a;
}

static void release(int who, const lease_id *lease)
{
  protocol n = mistaken(who);

  assert_true(RENDERED(native_release, &n, world_buffer(w), false, WORLD_NAME,
                       strlen(WORLD_NAME), lease, world_time_us(w)));
  assert_int_equal(resp_root(stage_send())->integer, 1);
}

TEST(who_waits_at_an_ordinary_inbox_is_found_and_told_of_the_grant)
{
  acquire_answer a = ask(ANNA, 1);

  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  world_listen(w, BERT);
  assert_int_equal(ask(BERT, 1).outcome, ACQUIRE_WAITING);
  release(ANNA, &a.lease);
  assert_non_null(strstr(world_messages(w, BERT), " BBBB"));
  assert_int_equal(ask(BERT, 1).outcome, ACQUIRE_AGAIN);
}

TEST(who_listens_nowhere_is_deaf)
{
  assert_int_equal(ask(ANNA, 1).outcome, ACQUIRE_GRANTED);
  assert_int_equal(ask(BERT, 1).outcome, ACQUIRE_NO_SUBSCRIBER);
}

TEST(the_dead_get_no_grant)
{
  acquire_answer a = ask(ANNA, 1);

  world_listen(w, BERT);
  world_listen(w, CARL);
  assert_int_equal(ask(BERT, 1).outcome, ACQUIRE_WAITING);
  assert_int_equal(ask(CARL, 1).outcome, ACQUIRE_WAITING);
  world_deafen(w, BERT);
  release(ANNA, &a.lease);
  assert_non_null(strstr(world_messages(w, CARL), " CCCC"));
}

static acquire_answer ask_to_write(int who)
{
  protocol n = mistaken(who);
  share_call c = { .name = WORLD_NAME, .name_size = strlen(WORLD_NAME), .ask = 1, .mode = 'w',
                   .units = 1, .ttl_ms = 30000, .waits = true,
                   .estimate_us = world_time_us(w) };
  acquire_answer a;

  assert_true(RENDERED(native_share_acquire, &n, world_buffer(w), false, &c));
  assert_true(native_share_answer(&n, 1, stage_send(), &a));
  return a;
}

TEST(writers_are_found_and_told_and_the_deaf_and_dead_are_not)
{
  acquire_answer a = ask_to_write(ANNA);
  protocol n = mistaken(ANNA);

  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  assert_int_equal(ask_to_write(BERT).outcome, ACQUIRE_NO_SUBSCRIBER);
  world_listen(w, BERT);
  world_listen(w, CARL);
  assert_int_equal(ask_to_write(BERT).outcome, ACQUIRE_WAITING);
  assert_int_equal(ask_to_write(CARL).outcome, ACQUIRE_WAITING);
  world_deafen(w, BERT);
  assert_true(RENDERED(native_share_release, &n, world_buffer(w), false, WORLD_NAME,
                       strlen(WORLD_NAME), &a.lease, 0, world_time_us(w)));
  assert_int_equal(resp_root(stage_send())->integer, 1);
  assert_non_null(strstr(world_messages(w, CARL), " CCCC"));
}

TEST(who_observes_a_latch_is_told)
{
  latch_call c = { .name = WORLD_NAME, .name_size = strlen(WORLD_NAME), .number = 1,
                   .count = 1 };
  protocol n = mistaken(ANNA);
  char channel[LATCH_CHANNEL_SIZE];
  text t = text_over(channel, sizeof(channel));
  bool was_armed;

  native_latch_channel(&n, c.name, c.name_size, &t);
  ear_open(channel);
  assert_true(RENDERED(native_latch_set, &n, world_buffer(w), false, &c));
  assert_true(native_latch_set_answer(stage_send(), &was_armed));
  assert_int_equal(ear_count(), 1);
  ear_close();
}

TEST(who_waits_at_a_barrier_is_told)
{
  barrier_call c = { .name = WORLD_NAME, .name_size = strlen(WORLD_NAME), .party = 1,
                     .parties = 1, .silence_ms = BARRIER_SILENCE_MS };
  protocol n = mistaken(ANNA);
  barrier_answer a;

  ear_open("dibs:barrier:{orders}");
  assert_true(RENDERED(native_barrier_arrive, &n, world_buffer(w), false, &c));
  assert_true(native_barrier_arrive_answer(stage_send(), &a));
  assert_int_equal(a.outcome, BARRIER_PASSED);
  assert_int_equal(ear_count(), 1);
  ear_close();
}

TEST(who_observes_an_election_is_told)
{
  acquire_answer a = ask(ANNA, 1);
  publish_call c = { .name = WORLD_NAME, .name_size = strlen(WORLD_NAME), .lease = &a.lease,
                     .fence = a.lease.token * 1024, .publication = 1, .ttl_ms = 30000,
                     .value = "here", .value_size = 4 };
  protocol n = mistaken(ANNA);
  char channel[ELECTION_CHANNEL_SIZE];
  text t = text_over(channel, sizeof(channel));
  bool is_reported;

  native_election_channel(&n, c.name, c.name_size, &t);
  ear_open(channel);
  assert_true(RENDERED(native_elect_publish, &n, world_buffer(w), false, &c));
  assert_true(native_elect_publish_answer(stage_send(), &is_reported));
  assert_true(is_reported);
  assert_int_equal(ear_count(), 1);
  ear_close();
}

int main(void)
{
  setenv("DIBS_SCRIPT_MODE", "cluster", 1);
  return stage_run(start, stage_stop, stage_clear, NULL);
}

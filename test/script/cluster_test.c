/* SPDX-License-Identifier: MIT */
/* A Cluster of one node: each key and channel of one thing is in one slot, whatever the name;
 * inboxes beside their names; eras of tags. doc/design/protocol.md 15. */

#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hiredis/hiredis.h>

#include "dialect/native/barrier.h"
#include "dialect/native/election.h"
#include "dialect/native/latch.h"
#include "mode.h"
#include "server.h"
#include "shares.h"
#include "stage.h"
#include "rendered.h"

static redisContext *link_;

static int start(void **state)
{
  stage_start_with_debug(state);
  link_ = redisConnectUnix(test_server_socket(world_server(w)));
  return 0;
}

static int stop(void **state)
{
  redisFree(link_);
  return stage_stop(state);
}

static long long key_slot(const char *bytes, size_t size)
{
  redisReply *r = redisCommand(link_, "CLUSTER KEYSLOT %b", bytes, size);
  long long answer;

  assert_non_null(r);
  answer = r->integer;
  freeReplyObject(r);
  return answer;
}

typedef void write_key(const protocol *n, const void *name, size_t size, text *out);

static void check_slot(write_key *write, const void *name, size_t size, long long wanted)
{
  char bytes[1200];
  text t = text_over(bytes, sizeof(bytes));

  write(world_native(w, ANNA), name, size, &t);
  assert_false(t.is_cut);
  if (key_slot(bytes, t.used) != wanted)
    fail_msg("%.*s is in another slot", (int)t.used, bytes);
}

static void check_name(const char *name, size_t size)
{
  static write_key *const all[] = { native_name_inbox, native_era_key, native_barrier_key,
    native_barrier_channel, native_election_key, native_election_channel };
  char key[KEY_TEXT_SIZE];
  text t = text_over(key, sizeof(key));

  native_key(world_native(w, ANNA), name, size, &t);
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
    check_slot(all[i], name, size, key_slot(key, t.used));
  check_slot(native_latch_channel, name, size, key_slot(name, size));
}

static const char *const odd_names[] = { "x", "{x}", "a{b}c", "{}x", "x{}y", "{}{x}", "a}b",
  "a}b{c", "a}{b}", "{{x}", "{{x}}", "{a", "a{", "x}", "{a}}", "{}}", "a{}}b{c}", "a b",
  "\xff\x01{\x02}", "::{:}", "\xc3\xa9}" };

TEST_WITH(keys_and_channels_of_any_name_share_its_slot, stage_clear, NULL)
{
  static const char alphabet[] = "{}{}ab\0\xff ";
  unsigned seed = 1;
  char name[12];

  for (size_t i = 0; i < sizeof(odd_names) / sizeof(odd_names[0]); i++)
    check_name(odd_names[i], strlen(odd_names[i]));
  for (int i = 0; i < 400; i++) {
    size_t size = 1 + (size_t)rand_r(&seed) % sizeof(name);
    for (size_t j = 0; j < size; j++)
      name[j] = alphabet[(size_t)rand_r(&seed) % (sizeof(alphabet) - 1)];
    if (native_name_fault(name, size) == NULL)
      check_name(name, size);
  }
}

static acquire_answer ask(int who, const char *name, uint64_t k)
{
  acquire_call c = world_call(w, k);
  acquire_answer a;

  c.name = name;
  c.name_size = strlen(name);
  assert_true(RENDERED(native_acquire, world_native(w, who), world_buffer(w), false, &c));
  assert_true(native_acquire_answer(world_native(w, who), k, c.ttl_ms, stage_send(), &a));
  return a;
}

/* Who listens where native_name_inbox() says is no longer deaf, and hears of the grant. */
TEST_WITH(odd_names_are_waited_for_and_handed_over, stage_clear, NULL)
{
  for (size_t i = 0; i < sizeof(odd_names) / sizeof(odd_names[0]); i++) {
    const char *name = odd_names[i];
    acquire_answer a = ask(ANNA, name, 1);
    char inbox[1200];
    text t = text_over(inbox, sizeof(inbox));
    redisContext *ear = redisConnectUnix(test_server_socket(world_server(w)));
    redisReply *r;

    stage_clear(state);
    a = ask(ANNA, name, 1);
    assert_int_equal(a.outcome, ACQUIRE_GRANTED);
    assert_int_equal(ask(BERT, name, 1).outcome, ACQUIRE_NO_SUBSCRIBER);
    native_name_inbox(world_native(w, BERT), name, strlen(name), &t);
    freeReplyObject(redisCommand(ear, "SSUBSCRIBE %b", inbox, t.used));
    assert_int_equal(ask(BERT, name, 1).outcome, ACQUIRE_WAITING);
    assert_true(RENDERED(native_release, world_native(w, ANNA), world_buffer(w), false,
                         name, strlen(name), &a.lease, world_time_us(w)));
    assert_int_equal(resp_root(stage_send())->integer, 1);
    assert_int_equal(redisGetReply(ear, (void **)&r), REDIS_OK);
    assert_string_equal(r->element[0]->str, "smessage");
    assert_non_null(strstr(r->element[2]->str, " BBBB"));
    freeReplyObject(r);
    redisFree(ear);
  }
}

TEST(who_listens_on_a_channel_of_all_nodes_is_deaf)
{
  acquire_answer a = world_acquire(w, ANNA, 1);
  char inbox[128];
  text t = text_over(inbox, sizeof(inbox));
  redisContext *ear = redisConnectUnix(test_server_socket(world_server(w)));

  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  native_name_inbox(world_native(w, BERT), WORLD_NAME, strlen(WORLD_NAME), &t);
  freeReplyObject(redisCommand(ear, "SUBSCRIBE %s", inbox));
  assert_int_equal(world_acquire(w, BERT, 1).outcome, ACQUIRE_NO_SUBSCRIBER);
  redisFree(ear);
}

TEST(odd_latches_are_armed_counted_and_told_of)
{
  for (size_t i = 0; i < sizeof(odd_names) / sizeof(odd_names[0]); i++) {
    latch_call c = { .name = odd_names[i], .name_size = strlen(odd_names[i]), .number = i + 1,
                     .count = 1 };
    redisContext *ear = redisConnectUnix(test_server_socket(world_server(w)));
    char channel[LATCH_CHANNEL_SIZE];
    text t = text_over(channel, sizeof(channel));
    bool was_armed;
    redisReply *r;

    native_latch_channel(world_native(w, ANNA), c.name, c.name_size, &t);
    freeReplyObject(redisCommand(ear, "SSUBSCRIBE %b", channel, t.used));
    assert_true(RENDERED(native_latch_set, world_native(w, ANNA), world_buffer(w), false,
                         &c));
    assert_true(native_latch_set_answer(stage_send(), &was_armed));
    assert_false(was_armed);
    assert_int_equal(redisGetReply(ear, (void **)&r), REDIS_OK);
    assert_string_equal(r->element[2]->str, "1");
    freeReplyObject(r);
    redisFree(ear);
  }
}

/* ---- eras ---- */

TEST(each_tag_has_an_era_that_is_not_kept_for_ever)
{
  world_guard(w, 60000);
  assert_string_equal(test_server_command(world_server(w), "DEBUG CHANGE-REPL-ID"), "OK");
  assert_int_equal(world_try(w, ANNA, 1).outcome, ACQUIRE_BUSY);
  assert_in_range(test_server_integer(world_server(w), "PTTL dibs:era:{orders}"), 86000000,
                  86400000);
  world_guard(w, 0);
}

TEST(a_tag_that_is_new_on_a_node_that_lost_nothing_waits_for_nothing)
{
  const struct timespec pause = { .tv_nsec = 50 * 1000 * 1000 };
  acquire_answer a;

  world_guard(w, 600000);
  a = world_try(w, ANNA, 1);
  assert_int_equal(a.outcome, ACQUIRE_BUSY);       /* it came up less than that ago */
  stage_clear(state);
  world_guard(w, 1);
  while (strtoll(strstr(test_server_command(world_server(w), "INFO server"),
                        "uptime_in_seconds:") + strlen("uptime_in_seconds:"), NULL, 10) < 4)
    nanosleep(&pause, NULL);
  assert_int_equal(world_try(w, ANNA, 1).outcome, ACQUIRE_GRANTED);
  world_guard(w, 0);
}

int main(void)
{
  setenv("DIBS_SCRIPT_MODE", "sharded", 1);
  return stage_run(start, stop, stage_clear, stage_check_errors);
}

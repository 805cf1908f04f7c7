/* SPDX-License-Identifier: MIT */
/* test/live/redisson_lock_test.c - exclusive locks of the dialect redisson on a real server. The
 * other side is a plain connection that does what Redisson does, command by command; Redisson
 * itself is in test/peers. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hiredis/hiredis.h>

#include "dialect_place.h"
#include "no_reentry.h"
#include "now.h"
#include "proxy.h"

#define JAVA "b983c153-7421-469a-addb-44fb92259a1b:42"
#define OTHER_JAVA "0a1b2c3d-0000-4000-8000-0123456789ab:7"

enum { TTL_MS = 20000, SOON_MS = 8000 };

static dibs_options dialect_options(void)
{
  dibs_options o = live_options();

  o.dialect = DIBS_DIALECT_REDISSON;
  return o;
}

/* ---- what Java does ---- */

static void java_locks(const char *name, const char *owner, int ttl_ms)
{
  assert_int_equal(test_server_integer(server, "HINCRBY %s %s 1", name, owner), 1);
  assert_int_equal(test_server_integer(server, "PEXPIRE %s %d", name, ttl_ms), 1);
}

static long long java_unlocks(const char *name)
{
  assert_int_equal(test_server_integer(server, "DEL %s", name), 1);
  return test_server_integer(server, "PUBLISH redisson_lock__channel:{%s} 0", name);
}

static bool is_heard(void *channel)
{
  redisReply *answer = test_server_ask(server, "PUBSUB NUMSUB %s", (const char *)channel);
  bool is_one = answer->elements == 2 && answer->element[1]->integer == 1;

  freeReplyObject(answer);
  return is_one;
}

static dibs_lock_options options_of(uint32_t flags)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);

  o.flags = flags;
  return o;
}

static dibs_hold *take(dibs_client *c, const char *name, uint32_t flags)
{
  dibs_lock_options o = options_of(flags);
  dibs_hold *hold = NULL;

  live_expect(c, dibs_lock(c, name, &o, &hold), DIBS_OK);
  return hold;
}

static dibs_status try(dibs_client *c, const char *name, uint32_t flags)
{
  dibs_lock_options o = options_of(flags);
  dibs_hold *hold = NULL;
  dibs_status status = dibs_try_lock(c, name, &o, &hold);

  if (status == DIBS_OK)
    live_expect(c, dibs_release(hold), DIBS_OK);
  return status;
}

/* ---- the format ---- */

TEST(a_held_lock_is_a_hash_with_its_owner_and_an_end)
{
  dibs_hold *hold = take(a, "bytes", 0);
  char uuid[40] = "";
  redisReply *fields = test_server_ask(server, "HGETALL bytes");
  long long left = test_server_integer(server, "PTTL bytes");
  unsigned ask = 0;

  assert_int_equal(fields->elements, 2);
  assert_int_equal(sscanf(fields->element[0]->str, "%36[0-9a-f-]:%u", uuid, &ask), 2);
  assert_int_equal(strlen(uuid), 36);
  assert_int_equal(uuid[14], '4');
  assert_true(ask > 0);
  assert_string_equal(fields->element[1]->str, "1");
  freeReplyObject(fields);
  assert_in_range(left, TTL_MS - SOON_MS, TTL_MS);
  live_expect(a, dibs_release(hold), DIBS_OK);
  assert_int_equal(test_server_integer(server, "EXISTS bytes"), 0);
}

TEST(a_lock_of_java_is_busy_and_its_end_wakes_at_once)
{
  struct live_ask ask;
  dibs_lock_options o = options_of(0);

  java_locks("shared", JAVA, TTL_MS);
  live_refused(try(a, "shared", 0), DIBS_BUSY);
  live_ask_begin(&ask, a, "shared", &o);
  assert_true(live_until(LIVE_LONG_MS, is_heard, "redisson_lock__channel:{shared}"));
  assert_int_equal(java_unlocks("shared"), 1);
  assert_true(live_ask_wait(&ask, SOON_MS));
  assert_int_equal(ask.status, DIBS_OK);
  live_expect(a, dibs_release(ask.hold), DIBS_OK);
}

TEST(the_end_of_a_lease_without_a_message_is_noticed)
{
  dibs_hold *hold;

  java_locks("dead", JAVA, 700);
  hold = take(a, "dead", 0);
  live_expect(a, dibs_release(hold), DIBS_OK);
}

TEST(a_release_says_zero_on_the_channel)
{
  dibs_hold *hold = take(a, "told", 0);
  redisContext *ear = redisConnectUnix(test_server_socket(server));
  redisReply *reply = redisCommand(ear, "SUBSCRIBE redisson_lock__channel:{told}");
  struct timeval limit = { SOON_MS / 1000, 0 };

  freeReplyObject(reply);
  live_expect(a, dibs_release(hold), DIBS_OK);
  assert_int_equal(redisSetTimeout(ear, limit), REDIS_OK);
  assert_int_equal(redisGetReply(ear, (void **)&reply), REDIS_OK);
  assert_string_equal(reply->element[2]->str, "0");
  freeReplyObject(reply);
  redisFree(ear);
}

TEST(a_name_with_a_brace_keeps_it_and_gets_no_other)
{
  dibs_hold *hold = take(a, "a{b}c", DIBS_LOCK_FENCED);

  assert_int_equal(test_server_integer(server, "EXISTS a{b}c redisson_lock_token:a{b}c"), 2);
  live_expect(a, dibs_release(hold), DIBS_OK);
}

/* ---- holding ---- */

TEST(the_watchdog_keeps_it_beyond_its_ttl)
{
  dibs_lock_options o = live_lock_options(600, LIVE_LONG_MS);
  int64_t until = live_now_ms() + 1500;
  dibs_hold *hold = NULL;

  live_expect(a, dibs_lock(a, "kept", &o, &hold), DIBS_OK);
  while (live_now_ms() < until)
    live_refused_beside(hold, try(b, "kept", 0), DIBS_BUSY);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  live_expect(a, dibs_release(hold), DIBS_OK);
}

TEST(a_forced_unlock_is_told_lost_and_releases_nobody_else)
{
  struct live_loss loss = { 0 };
  dibs_lock_options o = live_lock_options(900, LIVE_LONG_MS);
  dibs_hold *hold = NULL;

  live_report_loss(&o, &loss);
  live_expect(a, dibs_lock(a, "forced", &o, &hold), DIBS_OK);
  (void)java_unlocks("forced");
  java_locks("forced", JAVA, TTL_MS);
  assert_true(live_loss_wait(&loss, SOON_MS));
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_GONE);
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
  assert_int_equal(test_server_integer(server, "HEXISTS forced " JAVA), 1);
}

/* Who waited listens, and hears that the lock he has is free. */
TEST(a_forced_unlock_is_heard_by_who_had_waited)
{
  struct live_loss loss = { 0 };
  dibs_lock_options o = options_of(0);
  struct live_ask ask;

  java_locks("heard", JAVA, TTL_MS);
  live_report_loss(&o, &loss);
  live_ask_begin(&ask, a, "heard", &o);
  assert_true(live_until(LIVE_LONG_MS, is_heard, "redisson_lock__channel:{heard}"));
  (void)java_unlocks("heard");
  assert_true(live_ask_wait(&ask, SOON_MS));
  assert_int_equal(ask.status, DIBS_OK);
  (void)java_unlocks("heard");
  java_locks("heard", JAVA, TTL_MS);
  assert_true(live_loss_wait(&loss, SOON_MS));
  assert_int_not_equal(dibs_release(ask.hold), DIBS_OK);
}

TEST(the_same_owner_enters_again_and_the_server_is_not_asked)
{
  dibs_hold *outer = take(a, "again", 0), *inner = take(a, "again", 0);

  assert_int_equal(test_server_integer(server, "HLEN again"), 1);
  live_expect(a, dibs_release(inner), DIBS_OK);
  live_refused(try(b, "again", 0), DIBS_BUSY);
  live_expect(a, dibs_release(outer), DIBS_OK);
  assert_int_equal(try(b, "again", 0), DIBS_OK);
}

TEST(clients_of_ours_exclude_each_other_and_wake_each_other)
{
  dibs_hold *hold = take(a, "ours", 0);
  dibs_lock_options o = options_of(0);
  struct live_ask ask;

  live_ask_begin(&ask, b, "ours", &o);
  assert_true(live_until(LIVE_LONG_MS, is_heard, "redisson_lock__channel:{ours}"));
  live_expect(a, dibs_release(hold), DIBS_OK);
  assert_true(live_ask_wait(&ask, SOON_MS));
  assert_int_equal(ask.status, DIBS_OK);
  live_expect(b, dibs_release(ask.hold), DIBS_OK);
}

/* Of several names the fence is the highest of the tokens, which one of them has: who waits in
 * this process for another of them must not get it with the lower one. */
TEST(who_gets_one_of_several_here_has_a_higher_fence)
{
  static const char *const names[] = { "many 1", "many 2" };
  dibs_lock_options o = options_of(0);
  dibs_hold *all = NULL, *one;
  uint64_t fence = 0;

  for (int i = 0; i < 10; i++) {
    struct live_ask ask;

    live_expect(a, acquire_names(a, names, 2, &o, &all), DIBS_OK);
    PROMISE_GROWN(dibs_hold_fence(all), fence);
    fence = dibs_hold_fence(all);
    live_ask_begin(&ask, a, names[i % 2], &o);
    live_expect(a, dibs_release(all), DIBS_OK);
    one = live_ask_granted(&ask, LIVE_LONG_MS);
    PROMISE_GROWN(dibs_hold_fence(one), fence);
    fence = dibs_hold_fence(one);
    live_expect(a, dibs_release(one), DIBS_OK);
  }
}

/* ---- letting others in ---- */

enum { ROUNDS = 50, WAY_US = 1000 };

static redisContext *ear_at(const char *channel)
{
  redisContext *ear = redisConnectUnix(test_server_socket(server));
  redisReply *reply = redisCommand(ear, "SUBSCRIBE %s", channel);

  freeReplyObject(reply);
  return ear;
}

/* The quickest of many releases with an ask of the same client behind it. */
static int64_t release_and_ask_us(const char *name, bool tries)
{
  int64_t least = INT64_MAX;

  for (int i = 0; i < ROUNDS; i++) {
    dibs_hold *hold = take(a, name, 0);
    int64_t begun = test_now_us(), took;

    live_expect(a, dibs_release(hold), DIBS_OK);
    if (tries)
      assert_int_equal(try(a, name, 0), DIBS_OK);
    else
      hold = take(a, name, 0);
    took = test_now_us() - begun;
    least = took < least ? took : least;
    if (!tries)
      live_expect(a, dibs_release(hold), DIBS_OK);
  }
  return least;
}

TEST(who_hears_our_release_has_a_moment_before_we_ask_again)
{
  redisContext *ear = ear_at("redisson_lock__channel:{way}");

  assert_in_range(release_and_ask_us("way", false), WAY_US, SOON_MS * 1000);
  redisFree(ear);
}

TEST(where_nobody_listens_the_next_ask_costs_nothing_more)
{
  assert_in_range(release_and_ask_us("alone", false), 0, WAY_US);
}

TEST(who_tries_gives_no_way_and_is_answered_at_once)
{
  redisContext *ear = ear_at("redisson_lock__channel:{tried}");

  assert_in_range(release_and_ask_us("tried", true), 0, WAY_US);
  redisFree(ear);
}

/* ---- asking in vain ---- */

TEST(a_cancelled_ask_leaves_nothing)
{
  struct live_ask ask;
  dibs_lock_options o = options_of(0);

  java_locks("given up", JAVA, TTL_MS);
  live_ask_begin(&ask, a, "given up", &o);
  assert_true(live_until(LIVE_LONG_MS, is_heard, "redisson_lock__channel:{given up}"));
  dibs_request_cancel(ask.request);
  assert_true(live_ask_wait(&ask, SOON_MS));
  assert_int_equal(ask.status, DIBS_CANCELLED);
  (void)java_unlocks("given up");
  assert_int_equal(try(b, "given up", 0), DIBS_OK);
  assert_int_equal(test_server_integer(server, "EXISTS {given up}"), 0);
}

static bool is_free(void *name)
{
  return test_server_integer(server, "EXISTS %s", (const char *)name) == 0;
}

/* The script ran, its answer never came: asked again it must not count twice. */
TEST(a_grant_whose_answer_is_lost_is_held_once)
{
  struct test_proxy *proxy = test_proxy_start(server);
  dibs_client *c = open_at(test_proxy_url(proxy));
  dibs_hold *hold = take(c, "warm", 0);

  live_expect(c, dibs_release(hold), DIBS_OK);
  test_proxy_lose_reply_to(proxy, "{once}");
  hold = take(c, "{once}", 0);
  assert_int_equal(test_server_integer(server, "HLEN {once}"), 1);
  live_expect(c, dibs_release(hold), DIBS_OK);
  assert_true(is_free("{once}"));
  c = dibs_close(c);
  proxy = test_proxy_stop(proxy);
}

TEST(a_key_of_another_type_is_told)
{
  dibs_lock_options o = options_of(0);
  dibs_hold *hold = NULL;

  assert_string_equal(test_server_command(server, "SET text 1"), "OK");
  assert_int_equal(dibs_lock(a, "text", &o, &hold), DIBS_ERR_WRONG_TYPE);
}

/* ---- fair ---- */

TEST(a_fair_waiter_stands_in_the_queue_and_is_told_alone)
{
  struct live_ask ask;
  dibs_lock_options o = options_of(DIBS_LOCK_FAIR);
  char own[128];
  redisReply *queue;

  java_locks("fair", JAVA, TTL_MS);
  live_ask_begin(&ask, a, "fair", &o);
  do
    queue = test_server_ask(server, "LRANGE redisson_lock_queue:{fair} 0 -1");
  while (queue->elements == 0 && (freeReplyObject(queue), true));
  assert_int_equal(queue->elements, 1);
  (void)snprintf(own, sizeof(own), "redisson_lock__channel:{fair}:%s", queue->element[0]->str);
  freeReplyObject(queue);
  assert_true(live_until(LIVE_LONG_MS, is_heard, own));
  assert_int_equal(test_server_integer(server, "ZCARD redisson_lock_timeout:{fair}"), 1);
  assert_int_equal(test_server_integer(server, "DEL fair"), 1);
  assert_int_equal(test_server_integer(server, "PUBLISH %s 0", own), 1);
  assert_true(live_ask_wait(&ask, SOON_MS));
  assert_int_equal(ask.status, DIBS_OK);
  assert_int_equal(test_server_integer(server, "EXISTS redisson_lock_queue:{fair} "
                                               "redisson_lock_timeout:{fair}"), 0);
  live_expect(a, dibs_release(ask.hold), DIBS_OK);
}

static void java_queues(const char *name, const char *owner, long long deadline_ms)
{
  assert_int_equal(test_server_integer(server, "ZADD redisson_lock_timeout:{%s} %lld %s", name,
                                       deadline_ms, owner), 1);
  assert_true(test_server_integer(server, "RPUSH redisson_lock_queue:{%s} %s", name, owner) > 0);
}

static long long server_ms(void)
{
  redisReply *time = test_server_ask(server, "TIME");
  long long ms = strtoll(time->element[0]->str, NULL, 10) * 1000;

  freeReplyObject(time);
  return ms;
}

TEST(nobody_overtakes_a_living_head_of_the_queue)
{
  java_queues("turn", OTHER_JAVA, server_ms() + 60000);
  live_refused(try(a, "turn", DIBS_LOCK_FAIR), DIBS_BUSY);
  assert_int_equal(test_server_integer(server, "LLEN redisson_lock_queue:{turn}"), 1);
}

TEST(a_dead_head_of_the_queue_is_passed_over)
{
  java_queues("passed", OTHER_JAVA, server_ms() - 5000);
  assert_int_equal(try(a, "passed", DIBS_LOCK_FAIR), DIBS_OK);
  assert_int_equal(test_server_integer(server, "EXISTS redisson_lock_queue:{passed}"), 0);
}

TEST(who_gives_up_leaves_the_queue)
{
  dibs_lock_options o = options_of(DIBS_LOCK_FAIR);
  dibs_hold *hold = NULL;

  java_locks("left", JAVA, TTL_MS);
  o.wait_ms = 300;
  live_refused(dibs_lock(a, "left", &o, &hold), DIBS_TIMED_OUT);
  assert_true(live_until(SOON_MS, is_free, "redisson_lock_queue:{left}"));
  assert_true(live_until(SOON_MS, is_free, "redisson_lock_timeout:{left}"));
}

static bool queue_has(const char *name, long long length)
{
  return test_server_integer(server, "LLEN redisson_lock_queue:{%s}", name) == length;
}

static bool one_queues(void *name) { return queue_has(name, 1); }
static bool two_queue(void *name) { return queue_has(name, 2); }
static bool three_queue(void *name) { return queue_has(name, 3); }
static bool four_queue(void *name) { return queue_has(name, 4); }

/* Two of one client, between them one of another, and a Java thread that came before the last:
 * each has its turn in the order of asking. */
TEST(each_waiter_of_a_client_has_his_own_place_in_the_queue)
{
  bool (*const is_behind[])(void *) = { NULL, two_queue, four_queue };
  dibs_client *const clients[] = { a, b, a };
  dibs_lock_options o = options_of(DIBS_LOCK_FAIR);
  dibs_hold *hold = take(b, "places", DIBS_LOCK_FAIR);
  struct live_ask ask[3];

  for (int i = 0; i < 3; i++) {
    if (i == 2) {
      java_queues("places", OTHER_JAVA, server_ms() + 600000);
      assert_true(live_until(SOON_MS, three_queue, "places"));
    }
    live_ask_begin(&ask[i], clients[i], "places", &o);
    assert_true(live_until(SOON_MS, is_behind[i] != NULL ? is_behind[i] : one_queues, "places"));
  }
  for (int i = 0; i < 2; i++) {
    live_expect(b, dibs_release(hold), DIBS_OK);
    assert_true(live_ask_wait(&ask[i], SOON_MS));
    assert_int_equal(ask[i].status, DIBS_OK);
    hold = ask[i].hold;
  }
  live_expect(b, dibs_release(hold), DIBS_OK);
  assert_false(live_ask_wait(&ask[2], 100));            /* Java comes first */
  assert_int_equal(test_server_integer(server, "LREM redisson_lock_queue:{places} 0 %s",
                                       OTHER_JAVA), 1);
  assert_int_equal(test_server_integer(server, "ZREM redisson_lock_timeout:{places} %s",
                                       OTHER_JAVA), 1);
  assert_true(live_ask_wait(&ask[2], SOON_MS));         /* by its next look */
  assert_int_equal(ask[2].status, DIBS_OK);
  live_expect(a, dibs_release(ask[2].hold), DIBS_OK);
  assert_int_equal(test_server_integer(server, "EXISTS places redisson_lock_queue:{places} "
                                               "redisson_lock_timeout:{places}"), 0);
}

TEST(the_same_owner_enters_a_fair_lock_again)
{
  dibs_hold *outer = take(a, "inner", DIBS_LOCK_FAIR);
  dibs_hold *inner = take(a, "inner", DIBS_LOCK_FAIR);

  assert_int_equal(test_server_integer(server, "HLEN inner"), 1);
  live_expect(a, dibs_release(inner), DIBS_OK);
  live_refused(try(b, "inner", DIBS_LOCK_FAIR), DIBS_BUSY);
  live_expect(a, dibs_release(outer), DIBS_OK);
  assert_int_equal(try(a, "inner", DIBS_LOCK_FAIR), DIBS_OK);
}

/* ---- several as one: what Java does with getMultiLock() ---- */

static const char *const both[] = { "y", "x" };

TEST(several_names_are_one_hold_and_a_hash_each)
{
  dibs_lock_options o = options_of(0);
  dibs_hold *hold = NULL;

  live_expect(a, acquire_names(a, both, 2, &o, &hold), DIBS_OK);
  assert_int_equal(test_server_integer(server, "EXISTS x y"), 2);
  live_refused(try(b, "x", 0), DIBS_BUSY);
  live_refused(try(b, "y", 0), DIBS_BUSY);
  assert_true(dibs_hold_fence(hold) > 0);
  live_expect(a, dibs_release(hold), DIBS_OK);
  assert_int_equal(test_server_integer(server, "EXISTS x y"), 0);
}

TEST(one_that_is_busy_leaves_none_of_several)
{
  dibs_hold *hold = NULL;

  java_locks("y", JAVA, TTL_MS);
  live_refused(acquire_names_now(a, both, 2, NULL, &hold), DIBS_BUSY);
  assert_true(live_until(SOON_MS, is_free, "x"));
}

TEST(several_are_waited_for_and_the_last_one_s_end_wakes)
{
  dibs_lock_options o = options_of(0);
  struct live_ask ask;

  java_locks("y", JAVA, TTL_MS);
  live_ask_begin_many(&ask, a, both, 2, &o);
  assert_true(live_until(LIVE_LONG_MS, is_heard, "redisson_lock__channel:{y}"));
  (void)java_unlocks("y");
  assert_true(live_ask_wait(&ask, SOON_MS));
  assert_int_equal(ask.status, DIBS_OK);
  live_expect(a, dibs_release(ask.hold), DIBS_OK);
}

TEST(who_has_one_of_several_does_not_wait_for_itself)
{
  static const char *const names[] = { "x", "y" };

  expect_no_reentry(a, b, names);
}

TEST(losing_one_of_several_loses_all)
{
  struct live_loss loss = { 0 };
  dibs_lock_options o = live_lock_options(900, LIVE_LONG_MS);
  dibs_hold *hold = NULL;

  live_report_loss(&o, &loss);
  live_expect(a, acquire_names(a, both, 2, &o, &hold), DIBS_OK);
  (void)java_unlocks("x");
  assert_true(live_loss_wait(&loss, SOON_MS));
  assert_true(live_until(SOON_MS, is_free, "y"));
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
}

/* ---- tokens ---- */

TEST(whoever_has_the_token_lengthens_the_lease)
{
  dibs_hold *hold = take(a, "token", 0);
  char token[DIBS_TOKEN_SIZE];
  int64_t left = 0;

  live_expect(a, dibs_hold_token(hold, token, sizeof(token)), DIBS_OK);
  live_expect(b, dibs_token_renew(b, token, 10 * TTL_MS, &left), DIBS_OK);
  assert_true(left > 9 * TTL_MS);
  assert_true(test_server_integer(server, "PTTL token") > 9 * TTL_MS);
  assert_int_equal(test_server_integer(server, "EXISTS dibs:m:{token}"), 0);
  live_expect(a, dibs_release(hold), DIBS_OK);
  live_expect(b, dibs_token_renew(b, token, TTL_MS, &left), DIBS_LOST);
}

/* ---- fenced, spinning, and what there is not ---- */

TEST(the_fence_is_the_token_that_java_counts)
{
  dibs_hold *hold;

  assert_string_equal(test_server_command(server, "SET redisson_lock_token:{fenced} 41"), "OK");
  hold = take(a, "fenced", DIBS_LOCK_FENCED);
  assert_int_equal(dibs_hold_fence(hold), 42);
  live_expect(a, dibs_release(hold), DIBS_OK);
  hold = take(b, "fenced", DIBS_LOCK_FENCED);
  assert_int_equal(dibs_hold_fence(hold), 43);
  live_expect(b, dibs_release(hold), DIBS_OK);
  assert_string_equal(test_server_command(server, "GET redisson_lock_token:{fenced}"), "43");
}

static void expect_fence(dibs_client *client, const char *name, uint64_t fence)
{
  dibs_hold *hold = take(client, name, DIBS_LOCK_FENCED);

  assert_int_equal(dibs_hold_fence(hold), fence);
  live_expect_ok(dibs_release(hold));
}

/* The server has lost its counter: the client's last fence is its floor. Another name keeps its
 * own count. */
TEST(fences_rise_also_when_their_counter_is_lost)
{
  uint64_t commands;

  assert_string_equal(test_server_command(server, "SET redisson_lock_token:{lost} 100000"), "OK");
  expect_fence(a, "lost", 100001);
  (void)test_server_command(server, "FLUSHALL");
  commands = live_stats(a).commands;
  expect_fence(a, "lost", 100002);
  assert_true(live_stats(a).commands - commands < 10);
  expect_fence(b, "lost", 100003);
  expect_fence(a, "of its own", 1);

  /* One that another program has begun again. */
  assert_string_equal(test_server_command(server, "SET redisson_lock_token:{lost} 7"), "OK");
  expect_fence(b, "lost", 100004);
}

/* One holds it when that happens, and one waits in the same client. */
TEST(a_waiter_beside_a_lost_counter_has_a_higher_fence)
{
  dibs_lock_options o = options_of(DIBS_LOCK_FENCED);
  dibs_hold *hold;
  struct live_ask ask;
  uint64_t commands;

  assert_string_equal(test_server_command(server, "SET redisson_lock_token:{lost} 100000"), "OK");
  hold = take(a, "lost", DIBS_LOCK_FENCED);
  live_ask_begin(&ask, a, "lost", &o);
  commands = live_stats(a).commands;
  (void)test_server_command(server, "FLUSHALL");
  assert_int_equal(dibs_release(hold), DIBS_LOST);
  hold = live_ask_granted(&ask, LIVE_LONG_MS);
  assert_true(dibs_hold_fence(hold) > 100001);
  assert_true(live_stats(a).commands - commands < 100);
  live_expect_ok(dibs_release(hold));
}

/* Each name has a counter: the highest of several says nothing about the others. */
TEST(several_fenced_locks_have_no_fence_in_common)
{
  dibs_lock_options o = options_of(DIBS_LOCK_FENCED);
  dibs_hold *hold = NULL;

  live_expect_refused(a, acquire_names(a, both, 2, &o, &hold), DIBS_ERR_ARGUMENT);
  assert_null(hold);
}

/* Tokens of the clock, before, are none of the counter. */
TEST(a_name_may_become_fenced)
{
  live_expect_ok(dibs_release(take(a, "kinds", 0)));
  expect_fence(a, "kinds", 1);
  live_expect_ok(dibs_release(take(a, "kinds", 0)));
  expect_fence(a, "kinds", 2);
}

TEST(who_spins_listens_to_nothing_and_gets_it_soon)
{
  struct live_ask ask;
  dibs_lock_options o = options_of(DIBS_LOCK_SPIN);
  int64_t until = live_now_ms() + 300;
  redisReply *channels;

  java_locks("spun", JAVA, TTL_MS);
  live_ask_begin(&ask, a, "spun", &o);
  while (live_now_ms() < until) {
    channels = test_server_ask(server, "PUBSUB CHANNELS redisson_lock__channel:*spun*");
    assert_int_equal(channels->elements, 0);
    freeReplyObject(channels);
  }
  assert_int_equal(test_server_integer(server, "DEL spun"), 1);      /* and says nothing */
  assert_true(live_ask_wait(&ask, SOON_MS));
  assert_int_equal(ask.status, DIBS_OK);
  live_expect(a, dibs_release(ask.hold), DIBS_OK);
}

TEST(one_name_is_of_one_kind)
{
  dibs_hold *hold = take(a, "kind", DIBS_LOCK_FAIR);

  assert_int_equal(try(a, "kind", 0), DIBS_ERR_ARGUMENT);
  live_expect(a, dibs_release(hold), DIBS_OK);
  hold = take(a, "kind", 0);
  assert_int_equal(try(a, "kind", DIBS_LOCK_FAIR), DIBS_ERR_ARGUMENT);
  live_expect(a, dibs_release(hold), DIBS_OK);
}

TEST(what_the_dialect_lacks_is_unsupported_and_said)
{
  dibs_leader *leader = NULL;

  assert_int_equal(dibs_get_leader(a, "x", &leader), DIBS_ERR_UNSUPPORTED);
  live_expect_words(a, "redisson");
}

TEST(java_s_hold_is_seen_with_its_owner_and_count)
{
  dibs_inspection *in = NULL;

  java_locks("seen", JAVA, TTL_MS);
  assert_int_equal(test_server_integer(server, "HINCRBY seen " JAVA " 1"), 2);
  live_expect(a, dibs_inspect(a, dibs_text("seen"), &in), DIBS_OK);
  assert_int_equal(in->holder_count, 1);
  assert_int_equal(in->holders[0]->party->units, 2);
  assert_in_range(in->holders[0]->remaining_ms, 1, TTL_MS);
  live_expect(a, dibs_break(a, dibs_text("seen"), in->holders[0]->lease), DIBS_OK);
  assert_int_equal(test_server_integer(server, "EXISTS seen"), 0);
  in = dibs_inspection_free(in);
}

RUN_TESTS_EACH(setup, teardown, empty, NULL)

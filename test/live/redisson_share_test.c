/* SPDX-License-Identifier: MIT */
/* test/live/redisson_share_test.c - read/write locks and permits of the dialect redisson on a
 * real server. The other side is a plain connection that does what Redisson does, command by
 * command. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hiredis/hiredis.h>

#include "dialect_place.h"
#include "proxy.h"

#define JAVA "b983c153-7421-469a-addb-44fb92259a1b:42"
#define JAVA_PERMIT "0123456789abcdef"        /* 16 bytes, as any */
#define NEVER_MS 922337203685477LL

enum { TTL_MS = 20000, SOON_MS = 8000, MANY_DEAD = 20000 };

static dibs_options dialect_options(void)
{
  dibs_options o = live_options();

  o.dialect = DIBS_DIALECT_REDISSON;
  return o;
}

/* ---- what is there ---- */

static long long number(const char *command, const char *name)
{
  return test_server_integer(server, command, name);
}

static long long value_of(const char *name)
{
  return strtoll(test_server_command(server, "GET %s", name), NULL, 10);
}

static long long permits_out(const char *name)
{
  return test_server_integer(server, "ZCARD {%s}:timeout", name);
}

static long long server_ms(void)
{
  redisReply *time = test_server_ask(server, "TIME");
  long long ms = strtoll(time->element[0]->str, NULL, 10) * 1000 +
                 strtoll(time->element[1]->str, NULL, 10) / 1000;

  freeReplyObject(time);
  return ms;
}

/* The field of a hash that is not `mode`. */
static void owner_of(const char *name, char ret_owner[128])
{
  redisReply *fields = test_server_ask(server, "HKEYS %s", name);

  assert_int_equal(fields->elements, 2);
  for (size_t i = 0; i < 2; i++)
    if (strcmp(fields->element[i]->str, "mode") != 0)
      (void)snprintf(ret_owner, 128, "%s", fields->element[i]->str);
  freeReplyObject(fields);
}

static bool is_heard(void *channel)
{
  char answer[256];

  (void)snprintf(answer, sizeof(answer), "%s",
                 test_server_command(server, "PUBSUB NUMSUB %s", (const char *)channel));
  return strstr(answer, "1") != NULL;
}

/* Nothing is left but what remembers that asks are over. */
static bool is_clean(void *data)
{
  redisReply *keys = test_server_ask(server, "KEYS *");
  bool is_so = true;

  (void)data;
  for (size_t i = 0; i < keys->elements; i++)
    is_so = is_so && (strstr(keys->element[i]->str, ":over:") != NULL ||
                      strstr(keys->element[i]->str, ":client:") != NULL);
  freeReplyObject(keys);
  return is_so;
}

static redisContext *ear_at(const char *channel)
{
  struct timeval limit = { SOON_MS / 1000, 0 };
  redisContext *ear = redisConnectUnix(test_server_socket(server));
  redisReply *reply = redisCommand(ear, "SUBSCRIBE %s", channel);

  freeReplyObject(reply);
  assert_int_equal(redisSetTimeout(ear, limit), REDIS_OK);
  return ear;
}

static void expect_said(redisContext *ear, const char *words)
{
  redisReply *reply = NULL;

  assert_int_equal(redisGetReply(ear, (void **)&reply), REDIS_OK);
  assert_string_equal(reply->element[2]->str, words);
  freeReplyObject(reply);
}

/* ---- what Java does ---- */

static void java_reads(const char *name, const char *owner, int ttl_ms)
{
  (void)test_server_command(server, "HSET %s mode read", name);
  assert_int_equal(test_server_integer(server, "HINCRBY %s %s 1", name, owner), 1);
  (void)test_server_command(server, "SET {%s}:%s:rwlock_timeout:1 1 PX %d", name, owner,
                            ttl_ms);
  assert_int_equal(test_server_integer(server, "PEXPIRE %s %d", name, ttl_ms), 1);
}

/* The last reader, too, who also tells. In one step, as all that Java does: somebody of ours may
 * look at any moment. */
static void java_reads_no_more(const char *name, const char *owner)
{
  static const char leave[] =
    "local left = redis.call('HINCRBY', KEYS[1], ARGV[1], -1) "
    "redis.call('HDEL', KEYS[1], ARGV[1]) redis.call('DEL', KEYS[2]) "
    "if redis.call('HLEN', KEYS[1]) == 1 then "
    "redis.call('DEL', KEYS[1]) redis.call('PUBLISH', ARGV[2], '0') end return left";

  assert_int_equal(test_server_integer(server, "EVAL %s 2 %s {%s}:%s:rwlock_timeout:1 %s "
                                       "redisson_rwlock:{%s}", leave, name, name, owner, owner,
                                       name), 0);
}

static void java_writes(const char *name, const char *owner, int ttl_ms)
{
  (void)test_server_command(server, "HSET %s mode write", name);
  assert_int_equal(test_server_integer(server, "HSET %s %s:write 1", name, owner), 1);
  assert_int_equal(test_server_integer(server, "PEXPIRE %s %d", name, ttl_ms), 1);
}

static void java_writes_no_more(const char *name)
{
  assert_int_equal(number("DEL %s", name), 1);
  (void)number("PUBLISH redisson_rwlock:{%s} 1", name);
}

static void java_takes_permit(const char *name, const char *id, long long until_ms)
{
  assert_int_equal(test_server_integer(server, "EVAL %s 2 %s {%s}:timeout %lld %s",
                                       "redis.call('DECR', KEYS[1]) "
                                       "return redis.call('ZADD', KEYS[2], ARGV[1], ARGV[2])",
                                       name, name, until_ms, id), 1);
}

static void java_gives_permit(const char *name, const char *id)
{
  assert_int_equal(test_server_integer(server, "EVAL %s 2 %s {%s}:timeout %s redisson_sc:{%s}",
                                       "local was_out = redis.call('ZREM', KEYS[2], ARGV[1]) "
                                       "local count = redis.call('INCR', KEYS[1]) "
                                       "redis.call('PUBLISH', ARGV[2], count) return was_out",
                                       name, name, id, name), 1);
}

/* ---- what we do ---- */

static dibs_lock_options options_of(uint32_t flags)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);

  o.flags = flags;
  return o;
}

static dibs_hold *take(dibs_client *c, char mode, const char *name)
{
  dibs_lock_options o = options_of(0);
  dibs_hold *hold = NULL;

  if (mode == 'r')
    live_expect(c, dibs_acquire(c, DIBS_READ(name), &o, &hold), DIBS_OK);
  else if (mode == 'w')
    live_expect(c, dibs_acquire(c, DIBS_WRITE(name), &o, &hold), DIBS_OK);
  else
    live_expect(c, dibs_acquire(c, DIBS_PERMITS(name, (uint32_t)(mode - '0')), &o, &hold),
                DIBS_OK);
  return hold;
}

static dibs_hold *take_plain(dibs_client *c, const char *name, uint32_t count, int ttl_ms)
{
  dibs_lock_options o = live_lock_options(ttl_ms, LIVE_LONG_MS);
  dibs_hold *hold = NULL;

  o.flags = DIBS_PERMITS_PLAIN;
  live_expect(c, dibs_acquire(c, DIBS_PERMITS(name, count), &o, &hold), DIBS_OK);
  return hold;
}

static dibs_status try(dibs_client *c, char mode, const char *name)
{
  dibs_lock_options o = options_of(0);
  dibs_hold *hold = NULL;
  dibs_status status = mode == 'r' ? acquire_now(c, DIBS_READ(name), &o, &hold)
                       : mode == 'w' ? acquire_now(c, DIBS_WRITE(name), &o, &hold)
                       : acquire_now(c, DIBS_PERMITS(name, (uint32_t)(mode - '0')), &o, &hold);

  if (status == DIBS_OK)
    live_expect(c, dibs_release(hold), DIBS_OK);
  return status;
}

static void give(dibs_client *c, dibs_hold *hold)
{
  live_expect(c, dibs_release(hold), DIBS_OK);
}

/* Begins to wait, and does so until somebody listens on `channel`. */
static void wait_for(struct live_ask *ask, dibs_client *c, char mode, const char *name,
                     const char *channel)
{
  dibs_lock_options o = options_of(0);

  live_ask_begin_as(ask, c, mode, name, &o);
  assert_true(live_until(LIVE_LONG_MS, is_heard, (void *)(uintptr_t)channel));
}

static void expect_granted(struct live_ask *ask, dibs_client *c)
{
  assert_true(live_ask_wait(ask, SOON_MS));
  assert_int_equal(ask->status, DIBS_OK);
  give(c, ask->hold);
}

/* ---- read/write locks: the format ---- */

TEST(a_reader_is_a_field_with_an_end_of_its_own)
{
  dibs_hold *hold = take(a, 'r', "read");
  redisContext *ear = ear_at("redisson_rwlock:{read}");
  char owner[128] = "", uuid[40] = "";
  unsigned ask = 0;
  int used = 0;

  owner_of("read", owner);
  assert_int_equal(sscanf(owner, "%36[0-9a-f-]:%u%n", uuid, &ask, &used), 2);
  assert_int_equal(used, strlen(owner));
  assert_string_equal(test_server_command(server, "HGET read mode"), "read");
  assert_string_equal(test_server_command(server, "HGET read %s", owner), "1");
  assert_string_equal(test_server_command(server, "GET {read}:%s:rwlock_timeout:1", owner), "1");
  assert_in_range(test_server_integer(server, "PTTL {read}:%s:rwlock_timeout:1", owner),
                  TTL_MS - SOON_MS, TTL_MS);
  assert_in_range(number("PTTL %s", "read"), TTL_MS - SOON_MS, TTL_MS);
  give(a, hold);
  expect_said(ear, "0");
  assert_true(is_clean(NULL));
  redisFree(ear);
}

TEST(a_writer_is_a_field_that_says_so)
{
  dibs_hold *hold = take(a, 'w', "write");
  redisContext *ear = ear_at("redisson_rwlock:{write}");
  char owner[128] = "", tail[16] = "";
  unsigned ask = 0;

  owner_of("write", owner);
  assert_int_equal(sscanf(owner, "%*36[0-9a-f-]:%u:%15s", &ask, tail), 2);
  assert_string_equal(tail, "write");
  assert_string_equal(test_server_command(server, "HGET write mode"), "write");
  assert_string_equal(test_server_command(server, "HGET write %s", owner), "1");
  assert_in_range(number("PTTL %s", "write"), TTL_MS - SOON_MS, TTL_MS);
  give(a, hold);
  expect_said(ear, "1");
  assert_true(is_clean(NULL));
  redisFree(ear);
}

TEST(a_name_with_a_brace_keeps_it_and_gets_no_other)
{
  dibs_hold *hold = take(a, 'r', "a{b}c");
  char owner[128] = "";

  owner_of("a{b}c", owner);
  assert_int_equal(test_server_integer(server, "EXISTS a{b}c:%s:rwlock_timeout:1", owner), 1);
  give(a, hold);
}

/* ---- read/write locks: together ---- */

TEST(readers_of_both_sides_read_beside_each_other)
{
  dibs_hold *ours, *other;

  java_reads("beside", JAVA, TTL_MS * 2);
  ours = take(a, 'r', "beside");
  live_refused(try(b, 'w', "beside"), DIBS_BUSY);
  other = take(b, 'r', "beside");
  assert_int_equal(number("HLEN %s", "beside"), 4);
  assert_in_range(number("PTTL %s", "beside"), TTL_MS * 2 - SOON_MS, TTL_MS * 2);
  give(a, ours);
  give(b, other);
  assert_int_equal(number("HLEN %s", "beside"), 2);
  assert_int_equal(number("HEXISTS %s " JAVA, "beside"), 1);
  assert_string_equal(test_server_command(server, "HGET beside mode"), "read");
}

TEST(who_reads_on_decides_when_it_ends)
{
  dibs_hold *hold;

  java_reads("ends", JAVA, SOON_MS);
  hold = take(a, 'r', "ends");
  assert_in_range(number("PTTL %s", "ends"), TTL_MS - SOON_MS, TTL_MS);
  give(a, hold);
  assert_in_range(number("PTTL %s", "ends"), 1, SOON_MS);
}

/* The watchdog of a Java reader sets the end of all readers: to 30 s, by default. */
TEST(a_lease_to_read_is_never_longer_than_java_s_watchdog_makes_it)
{
  dibs_lock_options o = live_lock_options(4 * TTL_MS, LIVE_LONG_MS);
  dibs_hold_info info = DIBS_HOLD_INFO_INIT;
  dibs_hold *hold = NULL;

  live_expect(a, dibs_acquire(a, DIBS_READ("dog"), &o, &hold), DIBS_OK);
  live_expect_ok(dibs_hold_get_info(hold, &info));
  assert_in_range(info.valid_ms, SOON_MS, 30000);
  assert_in_range(number("PTTL %s", "dog"), SOON_MS, 30000);
  give(a, hold);
  live_expect(a, dibs_acquire(a, DIBS_WRITE("dog"), &o, &hold), DIBS_OK);
  live_expect(a, dibs_downgrade(hold), DIBS_OK);
  live_expect_ok(dibs_hold_get_info(hold, &info));
  assert_in_range(info.valid_ms, SOON_MS, 30000);
  give(a, hold);
}

TEST(a_fixed_lease_to_read_is_not_shortened_in_silence)
{
  dibs_lock_options o = live_lock_options(4 * TTL_MS, LIVE_LONG_MS);
  dibs_hold *hold = NULL;

  o.flags = DIBS_LOCK_FIXED;
  live_expect(a, dibs_acquire(a, DIBS_READ("fixed"), &o, &hold), DIBS_ERR_UNSUPPORTED);
  live_expect(a, dibs_acquire(a, DIBS_WRITE("fixed"), &o, &hold), DIBS_OK);
  live_expect(a, dibs_downgrade(hold), DIBS_ERR_UNSUPPORTED);
  assert_in_range(number("PTTL %s", "fixed"), 4 * TTL_MS - SOON_MS, 4 * TTL_MS);
  give(a, hold);
  o.ttl_ms = TTL_MS;
  live_expect(a, dibs_acquire(a, DIBS_READ("fixed"), &o, &hold), DIBS_OK);
  give(a, hold);
}

TEST(a_reader_who_died_does_not_keep_it_when_the_last_one_leaves)
{
  dibs_hold *hold = take(a, 'r', "zombie");
  redisContext *ear = ear_at("redisson_rwlock:{zombie}");

  assert_int_equal(number("HINCRBY %s " JAVA " 1", "zombie"), 1);    /* and its end was */
  give(a, hold);
  expect_said(ear, "0");
  assert_int_equal(number("EXISTS %s", "zombie"), 0);
  redisFree(ear);
}

TEST(a_writer_waits_for_java_s_reader_and_is_woken)
{
  struct live_ask ask;

  java_reads("rw", JAVA, TTL_MS);
  live_refused(try(a, 'w', "rw"), DIBS_BUSY);
  wait_for(&ask, a, 'w', "rw", "redisson_rwlock:{rw}");
  java_reads_no_more("rw", JAVA);
  expect_granted(&ask, a);
}

TEST(a_reader_waits_for_java_s_writer_and_is_woken)
{
  struct live_ask ask;

  java_writes("wr", JAVA, TTL_MS);
  live_refused(try(a, 'r', "wr"), DIBS_BUSY);
  live_refused(try(a, 'w', "wr"), DIBS_BUSY);
  wait_for(&ask, a, 'r', "wr", "redisson_rwlock:{wr}");
  java_writes_no_more("wr");
  expect_granted(&ask, a);
}

/* Without a word, who waits asks again after 800 to 1000 ms. */
TEST(a_message_wakes_sooner_than_a_poll)
{
  enum { ROUNDS = 11, WAKE_MS = 200 };
  int64_t took[ROUNDS];

  for (int i = 0; i < ROUNDS; i++) {
    char mode = i % 2 == 0 ? 'r' : 'w';
    struct live_ask ask;
    int64_t told;

    java_writes("sooner", JAVA, TTL_MS);
    wait_for(&ask, a, mode, "sooner", "redisson_rwlock:{sooner}");
    told = live_now_ms();
    java_writes_no_more("sooner");
    give(a, live_ask_granted(&ask, LIVE_LONG_MS));
    took[i] = ask.ended_at_ms - told;
  }
  assert_in_range(live_median(took, ROUNDS), 0, WAKE_MS);
}

TEST(clients_of_ours_wait_for_each_other_and_are_woken)
{
  dibs_hold *hold = take(a, 'r', "ours");
  struct live_ask ask;

  wait_for(&ask, b, 'w', "ours", "redisson_rwlock:{ours}");
  give(a, hold);
  assert_true(live_ask_wait(&ask, SOON_MS));
  live_refused(try(a, 'r', "ours"), DIBS_BUSY);
  give(b, ask.hold);
  assert_int_equal(try(a, 'r', "ours"), DIBS_OK);
}

TEST(a_lease_that_ends_without_a_message_is_noticed)
{
  java_writes("dead", JAVA, 700);
  give(a, take(a, 'r', "dead"));
  java_reads("dead", JAVA, 700);
  give(a, take(a, 'w', "dead"));
}

static bool reads(void *name)
{
  return strcmp(test_server_command(server, "HGET %s mode", (const char *)name), "read") == 0;
}

TEST(a_writer_goes_on_as_a_reader_and_readers_come_in)
{
  dibs_hold *hold = take(a, 'w', "down");
  redisContext *ear = ear_at("redisson_rwlock:{down}");
  char owner[128] = "";
  dibs_lock_options o = options_of(0);
  struct live_ask ask;

  live_ask_begin_as(&ask, b, 'r', "down", &o);
  live_expect(a, dibs_downgrade(hold), DIBS_OK);
  expect_said(ear, "1");
  assert_true(live_until(SOON_MS, reads, (void *)(uintptr_t)"down"));
  expect_granted(&ask, b);
  owner_of("down", owner);
  assert_null(strstr(owner, ":write"));
  assert_in_range(test_server_integer(server, "PTTL {down}:%s:rwlock_timeout:1", owner), 1,
                  TTL_MS);
  live_refused(try(b, 'w', "down"), DIBS_BUSY);
  give(a, hold);
  expect_said(ear, "0");
  redisFree(ear);
}

TEST(the_watchdog_keeps_both_ends_of_a_reader)
{
  dibs_lock_options o = live_lock_options(600, LIVE_LONG_MS);
  int64_t until = live_now_ms() + 1500;
  dibs_hold *hold = NULL;
  char owner[128] = "";

  live_expect(a, dibs_acquire(a, DIBS_READ("kept"), &o, &hold), DIBS_OK);
  owner_of("kept", owner);
  while (live_now_ms() < until) {
    assert_int_equal(test_server_integer(server, "EXISTS kept {kept}:%s:rwlock_timeout:1",
                                         owner), 2);
    live_refused_beside(hold, try(b, 'w', "kept"), DIBS_BUSY);
  }
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  give(a, hold);
}

static void expect_lost(char mode)
{
  struct live_loss loss = { 0 };
  dibs_lock_options o = live_lock_options(900, LIVE_LONG_MS);
  dibs_hold *hold = NULL;

  live_report_loss(&o, &loss);
  live_expect(a, mode == 'r' ? dibs_acquire(a, DIBS_READ("forced"), &o, &hold)
                             : dibs_acquire(a, DIBS_WRITE("forced"), &o, &hold), DIBS_OK);
  java_writes_no_more("forced");
  java_writes("forced", JAVA, TTL_MS);
  assert_true(live_loss_wait(&loss, SOON_MS));
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_GONE);
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
  assert_int_equal(number("HEXISTS %s " JAVA ":write", "forced"), 1);
  java_writes_no_more("forced");
}

TEST(a_forced_unlock_is_told_lost_and_releases_nobody_else)
{
  expect_lost('w');
  (void)test_server_command(server, "FLUSHALL");
  expect_lost('r');
}

TEST(a_lock_of_another_kind_is_told)
{
  dibs_hold *hold = NULL, *lock = NULL;

  live_expect(a, dibs_lock(a, "mixed", NULL, &lock), DIBS_OK);
  assert_int_equal(dibs_acquire(b, DIBS_READ("mixed"), NULL, &hold), DIBS_ERR_WRONG_TYPE);
  assert_int_equal(dibs_acquire(b, DIBS_PERMITS("mixed", 1), NULL, &hold),
                   DIBS_ERR_WRONG_TYPE);
  assert_int_equal(dibs_semaphore_set(b, dibs_text("mixed"), 1, 0, NULL), DIBS_ERR_WRONG_TYPE);
  give(a, lock);
}

/* ---- permits ---- */

TEST(permits_are_ids_with_ends_and_the_rest_is_a_number)
{
  dibs_hold *hold;
  redisContext *ear;
  redisReply *ids;
  long long now = server_ms();

  live_expect(a, dibs_semaphore_set(a, dibs_text("sem"), 5, 0, NULL), DIBS_OK);
  ear = ear_at("redisson_sc:{sem}");
  hold = take(a, '3', "sem");
  assert_int_equal(live_info(hold).units, 3);
  assert_string_equal(test_server_command(server, "GET sem"), "2");
  ids = test_server_ask(server, "ZRANGE {sem}:timeout 0 -1 WITHSCORES");
  assert_int_equal(ids->elements, 6);
  for (size_t i = 0; i < 6; i += 2) {
    assert_int_equal(ids->element[i]->len, 16);
    assert_memory_equal(ids->element[i]->str, ids->element[0]->str, 12);
    assert_in_range(strtoll(ids->element[i + 1]->str, NULL, 10), now + TTL_MS,
                    now + TTL_MS + SOON_MS);
  }
  freeReplyObject(ids);
  give(a, hold);
  expect_said(ear, "5");
  assert_string_equal(test_server_command(server, "GET sem"), "5");
  assert_int_equal(permits_out("sem"), 0);
  redisFree(ear);
}

TEST(java_s_permits_count_and_their_end_wakes)
{
  struct live_ask ask;

  live_expect(a, dibs_semaphore_set(a, dibs_text("both"), 2, 0, NULL), DIBS_OK);
  java_takes_permit("both", JAVA_PERMIT, server_ms() + TTL_MS);
  assert_int_equal(try(a, '1', "both"), DIBS_OK);
  live_refused(try(a, '2', "both"), DIBS_BUSY);
  wait_for(&ask, a, '2', "both", "redisson_sc:{both}");
  java_gives_permit("both", JAVA_PERMIT);
  expect_granted(&ask, a);
  assert_int_equal(value_of("both"), 2);
}

TEST(what_cannot_be_had_is_told)
{
  assert_int_equal(try(a, '1', "unset"), DIBS_ERR_NOT_SET);
  live_expect(a, dibs_semaphore_set(a, dibs_text("two"), 2, 0, NULL), DIBS_OK);
  java_takes_permit("two", JAVA_PERMIT, server_ms() + TTL_MS);
  assert_int_equal(try(a, '3', "two"), DIBS_ERR_ARGUMENT);
  live_expect_words(a, "only 2");
}

TEST(a_permit_without_end_is_waited_for)
{
  struct live_ask ask;

  live_expect(a, dibs_semaphore_set(a, dibs_text("never"), 1, 0, NULL), DIBS_OK);
  java_takes_permit("never", JAVA_PERMIT, NEVER_MS);
  live_refused(try(a, '1', "never"), DIBS_BUSY);
  wait_for(&ask, a, '1', "never", "redisson_sc:{never}");
  java_gives_permit("never", JAVA_PERMIT);
  expect_granted(&ask, a);
}

TEST(permits_whose_answer_is_lost_are_taken_once)
{
  struct test_proxy *proxy = test_proxy_start(server);
  dibs_client *c = open_at(test_proxy_url(proxy));
  dibs_hold *hold = NULL;

  live_expect(a, dibs_semaphore_set(a, dibs_text("{once}"), 9, 0, NULL), DIBS_OK);
  live_expect(a, dibs_semaphore_set(a, dibs_text("warm"), 9, 0, NULL), DIBS_OK);
  give(c, take(c, '4', "warm"));
  test_proxy_lose_reply_to(proxy, "{once}");
  hold = take(c, '4', "{once}");
  assert_int_equal(value_of("{once}"), 5);
  assert_int_equal(number("ZCARD %s:timeout", "{once}"), 4);
  test_proxy_lose_reply_to(proxy, "{once}");
  give(c, hold);
  assert_int_equal(value_of("{once}"), 9);
  test_proxy_lose_reply_to(proxy, "{once}");
  live_expect(c, dibs_acquire(c, DIBS_PERMITS("{once}", DIBS_UNITS_ALL_FREE), NULL, &hold),
              DIBS_OK);
  assert_int_equal(live_info(hold).units, 9);
  assert_int_equal(value_of("{once}"), 0);
  give(c, hold);
  assert_int_equal(value_of("{once}"), 9);
  c = dibs_close(c);
  proxy = test_proxy_stop(proxy);
}

TEST(permits_whose_time_is_over_come_back)
{
  redisContext *ear;

  live_expect(a, dibs_semaphore_set(a, dibs_text("over"), 2, 0, NULL), DIBS_OK);
  java_takes_permit("over", JAVA_PERMIT, server_ms() - 1);
  java_takes_permit("over", "another id of 16", server_ms() - 1);
  ear = ear_at("redisson_sc:{over}");
  assert_int_equal(try(a, '2', "over"), DIBS_OK);
  expect_said(ear, "2");
  assert_int_equal(permits_out("over"), 0);
  assert_int_equal(value_of("over"), 2);
  redisFree(ear);
}

TEST(ever_so_many_dead_permits_break_nothing)
{
  static const char kill[] = "for i = 1, tonumber(ARGV[1]) do "
                             "redis.call('ZADD', KEYS[1], i, string.format('%016d', i)) end";
  dibs_inspection *in = NULL;

  live_expect(a, dibs_semaphore_set(a, dibs_text("dead"), MANY_DEAD, 0, NULL), DIBS_OK);
  (void)test_server_integer(server, "DECRBY dead %d", MANY_DEAD);
  (void)test_server_command(server, "EVAL %s 1 {dead}:timeout %d", kill, MANY_DEAD);
  assert_int_equal(permits_out("dead"), MANY_DEAD);
  live_expect(a, dibs_inspect(a, dibs_text("dead"), &in), DIBS_OK);
  assert_int_equal(in->limit, MANY_DEAD);
  assert_int_equal(in->used, 0);
  in = dibs_inspection_free(in);
  assert_int_equal(try(a, '1', "dead"), DIBS_OK);
  assert_int_equal(permits_out("dead"), 0);
  assert_int_equal(value_of("dead"), MANY_DEAD);
}

TEST(thousands_of_permits_are_taken_renewed_and_given_back)
{
  enum { MANY = 10000, LEASE_MS = 2000 };
  dibs_lock_options o = live_lock_options(LEASE_MS, LIVE_LONG_MS);
  dibs_hold *hold = NULL;
  int64_t until;

  live_expect(a, dibs_semaphore_set(a, dibs_text("many"), MANY + 7, 0, NULL), DIBS_OK);
  assert_int_equal(dibs_acquire(a, DIBS_PERMITS("many", MANY + 1), &o, &hold),
                   DIBS_ERR_ARGUMENT);
  live_expect(a, dibs_acquire(a, DIBS_PERMITS("many", MANY), &o, &hold), DIBS_OK);
  assert_int_equal(permits_out("many"), MANY);
  for (until = live_now_ms() + 3 * LEASE_MS / 2; live_now_ms() < until;)
    assert_int_not_equal(try(b, '8', "many"), DIBS_OK);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  give(a, hold);
  assert_int_equal(permits_out("many"), 0);
  assert_int_equal(value_of("many"), MANY + 7);
}

TEST(a_permit_that_is_taken_away_is_told_lost)
{
  struct live_loss loss = { 0 };
  dibs_lock_options o = live_lock_options(900, LIVE_LONG_MS);
  dibs_hold *hold = NULL;

  live_expect(a, dibs_semaphore_set(a, dibs_text("taken"), 3, 0, NULL), DIBS_OK);
  live_report_loss(&o, &loss);
  live_expect(a, dibs_acquire(a, DIBS_PERMITS("taken", 2), &o, &hold), DIBS_OK);
  assert_int_equal(number("ZREMRANGEBYRANK {%s}:timeout 1 1", "taken"), 1);
  (void)number("INCRBY %s 1", "taken");
  assert_true(live_loss_wait(&loss, SOON_MS));
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
  assert_int_equal(value_of("taken"), 3);
  assert_int_equal(permits_out("taken"), 0);
}

TEST(the_count_is_set_as_java_reads_it)
{
  redisContext *ear = ear_at("redisson_sc:{count}");
  dibs_hold *hold;
  uint32_t permits = 0;

  live_expect(a, dibs_semaphore_set(a, dibs_text("count"), 4, DIBS_SEMAPHORE_IF_ABSENT, &permits),
              DIBS_OK);
  assert_int_equal(permits, 4);
  expect_said(ear, "4");
  hold = take(a, '3', "count");
  live_expect(a, dibs_semaphore_set(b, dibs_text("count"), 9, DIBS_SEMAPHORE_IF_ABSENT, &permits),
              DIBS_OK);
  assert_int_equal(permits, 4);
  live_expect(a, dibs_semaphore_set(a, dibs_text("count"), 2, 0, NULL), DIBS_OK);
  assert_string_equal(test_server_command(server, "GET count"), "-1");
  live_refused(try(b, '1', "count"), DIBS_BUSY);
  live_expect(a, dibs_semaphore_set(a, dibs_text("count"), 6, 0, NULL), DIBS_OK);
  expect_said(ear, "6");
  assert_string_equal(test_server_command(server, "GET count"), "3");
  assert_int_equal(dibs_semaphore_delete(a, dibs_text("count")), DIBS_BUSY);
  give(a, hold);
  expect_said(ear, "6");
  live_expect(a, dibs_semaphore_delete(a, dibs_text("count")), DIBS_OK);
  assert_int_equal(number("EXISTS %s", "count"), 0);
  redisFree(ear);
}

static dibs_status take_of(dibs_client *c, const char *name, uint32_t limit, uint32_t flags,
                           dibs_hold **ret_hold)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);

  o.wait_ms = 0;
  o.flags = flags;
  return dibs_acquire(c, DIBS_PERMIT_OF(name, limit), &o, ret_hold);
}

TEST(an_ask_with_a_limit_makes_it_as_java_does)
{
  redisContext *ear = ear_at("redisson_sc:{made}");
  dibs_hold *hold, *none;

  live_expect(a, take_of(a, "made", 4, 0, &hold), DIBS_OK);
  expect_said(ear, "4");
  assert_string_equal(test_server_command(server, "GET made"), "3");
  java_takes_permit("made", JAVA_PERMIT, server_ms() + TTL_MS);
  assert_int_equal(take_of(b, "made", 5, 0, &none), DIBS_ERR_ARGUMENT);
  live_expect_words(b, "has 4 permits, and `limit` is 5");
  assert_string_equal(test_server_command(server, "GET made"), "2");
  (void)test_server_command(server, "DEL made");
  live_expect(b, take_of(b, "made", 4, 0, &none), DIBS_OK);
  assert_string_equal(test_server_command(server, "GET made"), "1");   /* two are still out */
  give(b, none);
  give(a, hold);
  redisFree(ear);
}

/* Of a semaphore that was deleted no permit comes back to the new one. */
TEST(an_ask_with_a_limit_counts_no_dead_permit_and_waits_while_there_are_none)
{
  dibs_hold *hold;

  (void)test_server_command(server, "ZADD {dead}:timeout 1 " JAVA_PERMIT);
  live_expect(a, take_of(a, "dead", 2, 0, &hold), DIBS_OK);
  assert_string_equal(test_server_command(server, "GET dead"), "1");
  give(a, hold);
  (void)test_server_command(server, "SET dead 0");
  live_refused(take_of(a, "dead", 2, 0, &hold), DIBS_BUSY);
}

TEST(an_ask_with_a_limit_makes_plain_permits_and_compares_nothing)
{
  dibs_hold *hold, *more;

  live_expect(a, take_of(a, "number", 2, DIBS_PERMITS_PLAIN, &hold), DIBS_OK);
  assert_string_equal(test_server_command(server, "GET number"), "1");
  live_expect(b, take_of(b, "number", 5, DIBS_PERMITS_PLAIN, &more), DIBS_OK);
  assert_string_equal(test_server_command(server, "GET number"), "0");
  give(a, hold);
  give(b, more);
}

TEST(a_cancelled_ask_for_permits_leaves_nothing)
{
  struct live_ask ask;

  live_expect(a, dibs_semaphore_set(a, dibs_text("idle"), 1, 0, NULL), DIBS_OK);
  java_takes_permit("idle", JAVA_PERMIT, server_ms() + TTL_MS);
  wait_for(&ask, a, '1', "idle", "redisson_sc:{idle}");
  dibs_request_cancel(ask.request);
  assert_true(live_ask_wait(&ask, SOON_MS));
  assert_int_equal(ask.status, DIBS_CANCELLED);
  java_gives_permit("idle", JAVA_PERMIT);
  assert_int_equal(try(b, '1', "idle"), DIBS_OK);
  assert_int_equal(value_of("idle"), 1);
}

/* ---- permits without a lease ---- */

TEST(plain_permits_are_a_number_and_nothing_else)
{
  redisContext *ear;
  redisReply *taken;
  dibs_hold *hold;

  (void)test_server_command(server, "SET plain 5");
  ear = ear_at("redisson_sc:{plain}");
  hold = take_plain(a, "plain", 3, TTL_MS);
  assert_int_equal(live_info(hold).units, 3);
  assert_int_equal(value_of("plain"), 2);
  assert_int_equal(permits_out("plain"), 0);
  assert_int_equal(number("PTTL %s", "plain"), -1);
  taken = test_server_ask(server, "KEYS dibs:taken:{plain}:*");
  assert_int_equal(taken->elements, 1);
  assert_true(number("PTTL %s", taken->element[0]->str) > 0);
  freeReplyObject(taken);
  give(a, hold);
  expect_said(ear, "5");
  assert_int_equal(value_of("plain"), 5);
  taken = test_server_ask(server, "KEYS dibs:taken:*");
  assert_int_equal(taken->elements, 0);
  freeReplyObject(taken);
  redisFree(ear);
}

TEST(plain_permits_never_end_by_themselves)
{
  struct live_loss loss = { 0 };
  dibs_lock_options o = live_lock_options(200, LIVE_LONG_MS);
  dibs_hold *hold = NULL;
  int64_t until = live_now_ms() + 900;

  (void)test_server_command(server, "SET lasting 1");
  o.flags = DIBS_PERMITS_PLAIN;
  live_report_loss(&o, &loss);
  live_expect(a, dibs_acquire(a, DIBS_PERMITS("lasting", 1), &o, &hold), DIBS_OK);
  (void)test_server_command(server, "CLIENT KILL TYPE normal SKIPME yes");
  while (live_now_ms() < until)
    assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  assert_int_equal(loss.count, 0);
  assert_int_equal(value_of("lasting"), 0);
  assert_true(dibs_hold_valid_ms(hold) > 0);
  give(a, hold);
  assert_int_equal(value_of("lasting"), 1);
}

TEST(plain_permits_whose_answers_are_lost_count_once)
{
  struct test_proxy *proxy = test_proxy_start(server);
  dibs_client *c = open_at(test_proxy_url(proxy));
  dibs_hold *hold;

  (void)test_server_command(server, "SET {once} 5");
  (void)test_server_command(server, "SET warm 5");
  give(c, take_plain(c, "warm", 2, TTL_MS));
  test_proxy_lose_reply_to(proxy, "{once}");
  hold = take_plain(c, "{once}", 2, TTL_MS);
  assert_int_equal(value_of("{once}"), 3);
  test_proxy_lose_reply_to(proxy, "{once}");
  give(c, hold);
  assert_int_equal(value_of("{once}"), 5);
  c = dibs_close(c);
  proxy = test_proxy_stop(proxy);
}

TEST(who_waits_for_plain_permits_is_woken)
{
  dibs_lock_options o = options_of(DIBS_PERMITS_PLAIN);
  struct live_ask ask;

  (void)test_server_command(server, "SET empty 0");
  live_ask_begin_as(&ask, a, '1', "empty", &o);
  assert_true(live_until(LIVE_LONG_MS, is_heard, (void *)(uintptr_t)"redisson_sc:{empty}"));
  (void)test_server_integer(server, "PUBLISH redisson_sc:{empty} %lld",
                            number("INCRBY %s 1", "empty"));
  expect_granted(&ask, a);
  assert_int_equal(value_of("empty"), 1);
}

TEST(plain_permits_are_refused_where_they_cannot_be)
{
  dibs_lock_options o = options_of(DIBS_PERMITS_PLAIN);
  dibs_client *protocol = live_open(test_server_url(server));
  dibs_hold *hold = NULL;

  assert_int_equal(dibs_acquire(protocol, DIBS_PERMITS("x", 1), &o, &hold),
                   DIBS_ERR_UNSUPPORTED);
  protocol = dibs_close(protocol);
  assert_int_equal(dibs_acquire(a, DIBS_READ("x"), &o, &hold), DIBS_ERR_ARGUMENT);
  o.flags |= DIBS_LOCK_FIXED;
  assert_int_equal(dibs_acquire(a, DIBS_PERMITS("x", 1), &o, &hold), DIBS_ERR_ARGUMENT);
  live_expect_words(a, "DIBS_LOCK_FIXED");
}

static bool is_whole(void *data)
{
  (void)data;
  return value_of("{unheard}") == 5 && number("EXISTS %s:timeout", "{unheard}") == 0 &&
         number("EXISTS %s", "{unread}") == 0;
}

/* Taken, and nobody heard of it; who asked has given up by the time that he can be told. */
TEST(what_was_taken_for_one_who_gave_up_comes_back)
{
  struct test_proxy *proxy = test_proxy_start(server);
  dibs_client *c = open_at(test_proxy_url(proxy));

  (void)test_server_command(server, "SET warm 5");
  (void)test_server_command(server, "SET {unheard} 5");
  for (int kind = 0; kind < 3; kind++) {
    dibs_lock_options o = live_lock_options(TTL_MS, 700);
    dibs_hold *hold = NULL;
    dibs_status status;

    give(c, take(c, '1', "warm"));
    test_proxy_lose_reply_to(proxy, kind == 2 ? "{unread}" : "{unheard}");
    test_proxy_refuse(proxy, true);
    o.flags = kind == 0 ? DIBS_PERMITS_PLAIN : 0;
    status = kind == 2 ? dibs_acquire(c, DIBS_READ("{unread}"), &o, &hold)
                       : dibs_acquire(c, DIBS_PERMITS("{unheard}", 2), &o, &hold);
    assert_int_not_equal(status, DIBS_OK);
    assert_false(is_whole(NULL));
    test_proxy_refuse(proxy, false);
    assert_true(live_until(LIVE_LONG_MS, is_whole, NULL));
  }
  c = dibs_close(c);
  proxy = test_proxy_stop(proxy);
}

TEST(a_full_server_takes_renewals_and_releases)
{
  dibs_lock_options o = live_lock_options(600, LIVE_LONG_MS);
  int64_t until = live_now_ms() + 1500;
  dibs_hold *holds[4] = { NULL };

  live_expect(a, dibs_semaphore_set(a, dibs_text("full"), 5, 0, NULL), DIBS_OK);
  (void)test_server_command(server, "SET number 5");
  live_expect(a, dibs_acquire(a, DIBS_READ("full r"), &o, &holds[0]), DIBS_OK);
  live_expect(a, dibs_acquire(a, DIBS_WRITE("full w"), &o, &holds[1]), DIBS_OK);
  live_expect(a, dibs_acquire(a, DIBS_PERMITS("full", 2), &o, &holds[2]), DIBS_OK);
  holds[3] = take_plain(a, "number", 2, TTL_MS);
  assert_string_equal(test_server_command(server, "CONFIG SET maxmemory 1"), "OK");
  live_expect(a, dibs_downgrade(holds[1]), DIBS_OK);
  while (live_now_ms() < until)
    for (size_t i = 0; i < 4; i++)
      assert_int_not_equal(dibs_hold_state(holds[i]), DIBS_HOLD_GONE);
  assert_true(reads((void *)(uintptr_t)"full w"));
  for (size_t i = 0; i < 4; i++)
    live_expect(a, dibs_release(holds[i]), DIBS_OK);
  assert_string_equal(test_server_command(server, "CONFIG SET maxmemory 0"), "OK");
  assert_int_equal(value_of("full"), 5);
  assert_int_equal(value_of("number"), 5);
  assert_true(number("EXISTS %s", "full r") == 0 && number("EXISTS %s", "full w") == 0);
}

/* ---- seen and ended from outside ---- */

TEST(readers_writers_and_permits_are_seen)
{
  dibs_inspection *in = NULL;
  dibs_hold *hold;

  java_reads("seen", JAVA, TTL_MS);
  hold = take(a, 'r', "seen");
  live_expect(a, dibs_inspect(b, dibs_text("seen"), &in), DIBS_OK);
  assert_int_equal(in->kind, DIBS_KIND_RWLOCK);
  assert_int_equal(in->holder_count, 2);
  assert_int_equal(in->holders[0]->party->mode, DIBS_MODE_READ);
  assert_in_range(in->holders[0]->remaining_ms, 1, TTL_MS);
  in = dibs_inspection_free(in);
  give(a, hold);
  java_reads_no_more("seen", JAVA);
  hold = take(a, 'w', "seen");
  live_expect(a, dibs_inspect(b, dibs_text("seen"), &in), DIBS_OK);
  assert_int_equal(in->holder_count, 1);
  assert_int_equal(in->holders[0]->party->mode, DIBS_MODE_EXCLUSIVE);
  live_expect(b, dibs_break(b, dibs_text("seen"), in->holders[0]->lease), DIBS_OK);
  in = dibs_inspection_free(in);
  assert_int_equal(number("EXISTS %s", "seen"), 0);
  assert_int_equal(dibs_release(hold), DIBS_LOST);
}

TEST(one_permit_of_java_can_be_taken_back)
{
  dibs_inspection *in = NULL;

  live_expect(a, dibs_semaphore_set(a, dibs_text("back"), 3, 0, NULL), DIBS_OK);
  java_takes_permit("back", JAVA_PERMIT, server_ms() + TTL_MS);
  java_takes_permit("back", "another id of 16", server_ms() + TTL_MS * 2);
  live_expect(a, dibs_inspect(a, dibs_text("back"), &in), DIBS_OK);
  assert_int_equal(in->kind, DIBS_KIND_SEMAPHORE);
  assert_int_equal(in->limit, 3);
  assert_int_equal(in->used, 2);
  assert_int_equal(in->holder_count, 2);
  assert_in_range(in->holders[0]->remaining_ms, TTL_MS - SOON_MS, TTL_MS);
  live_expect(a, dibs_break(a, dibs_text("back"), in->holders[0]->lease), DIBS_OK);
  in = dibs_inspection_free(in);
  assert_int_equal(permits_out("back"), 1);
  assert_int_equal(number("ZREM {%s}:timeout " JAVA_PERMIT, "back"), 0);
  assert_int_equal(value_of("back"), 2);
}

TEST(a_token_renews_and_releases_each_kind)
{
  static const char modes[] = "rw3";

  for (size_t i = 0; i < 3; i++) {
    const char *name = modes[i] == '3' ? "counted" : "named";
    char token[DIBS_TOKEN_SIZE];
    int64_t left = 0;
    dibs_hold *hold;

    live_expect(a, dibs_semaphore_set(a, dibs_text("counted"), 4, 0, NULL), DIBS_OK);
    hold = take(a, modes[i], name);
    live_expect_ok(dibs_hold_token(hold, token, sizeof(token)));
    live_expect(a, dibs_hold_detach(hold), DIBS_OK);
    live_expect(b, dibs_token_renew(b, token, 2 * TTL_MS, &left), DIBS_OK);
    assert_in_range(left, TTL_MS + SOON_MS, 2 * TTL_MS);
    live_expect(b, dibs_token_release(b, token), DIBS_OK);
    assert_int_equal(number("EXISTS %s", "named"), 0);
    assert_int_equal(value_of("counted"), 4);
    assert_int_equal(dibs_token_release(b, token), DIBS_LOST);
  }
}

RUN_TESTS_EACH(setup, teardown, empty, NULL)

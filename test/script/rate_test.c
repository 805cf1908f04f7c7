/* SPDX-License-Identifier: MIT */
/* The scripts of the rate limiters, on a real server: Redisson's layout byte for byte, its
 * own scripts' doings beside ours, requests that come twice, and no interval with more than
 * the rate. Time is the test's. */

#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/redisson/redisson.h"
#include "dialect/redisson/rate.h"
#include "mode.h"
#include "server.h"
#include "stage.h"
#include "rendered.h"

#define NAME "api"
#define VALUE "{api}:value"
#define PERMITS "{api}:permits"
#define START_MS (START_US / 1000)

static uint64_t number;
static int64_t now_ms;

#define run(...) test_server_command(world_server(w), __VA_ARGS__)
#define run_integer(...) test_server_integer(world_server(w), __VA_ARGS__)

static void set_now(int64_t ms)
{
  now_ms = ms;
  world_set_time(w, ms * 1000 + 456);
}

static int begin(void **state)
{
  (void)stage_clear(state);
  set_now(START_MS);
  return 0;
}

/* ---- calls ---- */

static rate_call call_of(void)
{
  return (rate_call){ .name = NAME, .name_size = strlen(NAME), .number = ++number };
}

static int64_t set_as(const rate_call *c)
{
  int64_t done;

  assert_true(RENDERED(rate_set, world_native(w, ANNA), world_buffer(w), false, c));
  assert_true(rate_change_answer(stage_send(), &done));
  return done;
}

static rate_call setting(uint64_t rate, uint64_t interval_ms, char how)
{
  rate_call c = call_of();

  c.rate = rate;
  c.interval_ms = interval_ms;
  c.how = how;
  return c;
}

static void set(uint64_t rate, uint64_t interval_ms)
{
  rate_call c = setting(rate, interval_ms, 'n');

  assert_int_equal(set_as(&c), 1);
}

/* Who asks has a byte of its own: `id` names the request. */
static rate_answer ask_as(int who, const char *id, uint64_t permits)
{
  rate_call c = call_of();
  rate_answer a;

  c.permits = permits;
  c.id = (const uint8_t *)id;
  assert_int_equal(strlen(id), RATE_ID_SIZE);
  assert_true(RENDERED(rate_acquire, world_native(w, who), world_buffer(w), false, &c));
  assert_true(rate_acquire_answer(stage_send(), &a));
  return a;
}

static const char *fresh_id(void)
{
  static char id[RATE_ID_SIZE + 1];
  static unsigned count;

  (void)snprintf(id, sizeof(id), "request %08u", ++count);
  return id;
}

static rate_answer ask(uint64_t permits)
{
  return ask_as(ANNA, fresh_id(), permits);
}

/* 0: granted; else when to come back. */
static int64_t wait_for(uint64_t permits)
{
  rate_answer a = ask(permits);

  assert_true(a.outcome == RATE_GRANTED || a.outcome == RATE_LATER);
  assert_true(a.outcome == RATE_GRANTED || a.wait_ms > 0);
  return a.wait_ms;
}

/* How many requests had something to give back: 1 or 0. */
static int64_t cancel(const char *id, uint64_t permits)
{
  rate_call c = call_of();
  const resp_reply *r;

  c.permits = permits;
  c.id = (const uint8_t *)id;
  assert_true(RENDERED(rate_cancel, world_native(w, ANNA), world_buffer(w), false, &c));
  r = stage_send();
  assert_int_equal(resp_root(r)->kind, RESP_ARRAY);
  return resp_child(r, resp_root(r), 0)->integer;
}

static int64_t release_as(const rate_call *c)
{
  int64_t given;

  assert_true(RENDERED(rate_release, world_native(w, ANNA), world_buffer(w), false, c));
  assert_true(rate_release_answer(stage_send(), &given));
  return given;
}

static int64_t release(uint64_t permits)
{
  rate_call c = call_of();

  c.permits = permits;
  return release_as(&c);
}

static rate_state look_as(int who)
{
  rate_call c = call_of();
  rate_state s;

  assert_true(RENDERED(rate_look, world_native(w, who), world_buffer(w), false, &c));
  assert_true(rate_look_answer(stage_send(), &s));
  return s;
}

static int64_t available(void)
{
  return look_as(ANNA).left;
}

static int64_t delete_as(const rate_call *c)
{
  int64_t done;

  assert_true(RENDERED(rate_delete, world_native(w, ANNA), world_buffer(w), false, c));
  assert_true(rate_change_answer(stage_send(), &done));
  return done;
}

static resp_fault fault_of_acquire(void)
{
  rate_call c = call_of();
  const resp_node *root;

  c.permits = 1;
  c.id = (const uint8_t *)"0123456789abcdef";
  assert_true(RENDERED(rate_acquire, world_native(w, ANNA), world_buffer(w), false, &c));
  root = resp_root(stage_send());
  assert_int_equal(root->kind, RESP_ERROR);
  return resp_fault_of(root->bytes, root->size);
}

/* ---- the Java side: Redisson's own steps, in a script of this test ---- */

static const char java_acquire[] =
  "local rate, interval = redis.call('hget', KEYS[1], 'rate') + 0,"
  "  redis.call('hget', KEYS[1], 'interval') + 0 "
  "local value, now = redis.call('get', KEYS[2]), ARGV[2] + 0 "
  "local entry = struct.pack('Bc0I', 16, ARGV[3], ARGV[1]) "
  "if value then "
  "  local gone = redis.call('zrangebyscore', KEYS[4], 0, now - interval) "
  "  local back = 0 "
  "  for _, v in ipairs(gone) do local _, n = struct.unpack('Bc0I', v) back = back + n end "
  "  value = value + 0 "
  "  if back > 0 then "
  "    redis.call('zremrangebyscore', KEYS[4], 0, now - interval) "
  "    if value + back > rate then "
  "      local left = 0 "
  "      for _, v in ipairs(redis.call('zrange', KEYS[4], 0, -1)) do "
  "        local _, n = struct.unpack('Bc0I', v) left = left + n end "
  "      value = rate - left "
  "    else value = value + back end "
  "    redis.call('set', KEYS[2], value) "
  "  end "
  "  if value < ARGV[1] + 0 then "
  "    local first = redis.call('zrange', KEYS[4], 0, 0, 'withscores') "
  "    return 3 + interval - (now - first[2]) "
  "  end "
  "else redis.call('set', KEYS[2], rate) end "
  "redis.call('zadd', KEYS[4], ARGV[2], entry) redis.call('decrby', KEYS[2], ARGV[1]) "
  "return nil";

/* Whether it was granted. */
static bool java_takes(int permits)
{
  return strcmp(run("EVAL %s 5 " NAME " " VALUE " v " PERMITS " p %d %lld %s", java_acquire,
                    permits, (long long)now_ms, fresh_id()), "(nil)") == 0;
}

static void java_releases(int permits)
{
  run("SET " VALUE " %lld", run_integer("INCRBY " VALUE " %d", permits));
}

/* ---- bytes ---- */

TEST(what_is_stored_is_redissons_byte_for_byte)
{
  set(10, 60000);
  assert_string_equal(run("HGETALL " NAME),
                      "[rate, 10, interval, 60000, keepAliveTime, 0, type, 0]");
  assert_int_equal(run_integer("EXISTS " VALUE " " PERMITS), 0);
  assert_int_equal(ask_as(ANNA, "0123456789abcdef", 3).left, 7);
  assert_string_equal(run("GET " VALUE), "7");
  assert_int_equal(run_integer("ZCARD " PERMITS), 1);
  assert_string_equal(run("ZSCORE " PERMITS " %b", "\x10" "0123456789abcdef\x03\0\0\0", (size_t)21),
                      "1700000000123");
  assert_int_equal(run_integer("PTTL " NAME), -1);
  assert_int_equal(run_integer("PTTL " VALUE), -1);
  assert_int_equal(run_integer("PTTL " PERMITS), -1);
  /* But for the answer to the setting, which has its end, there is nothing else. */
  assert_int_equal(run_integer("DBSIZE"), 3 + 1 + 1 /* the test's clock */);
}

TEST(keys_of_a_name_with_a_brace_get_none)
{
  rate_call c = setting(5, 1000, 'n');
  rate_answer a;

  c.name = "{t}api";
  c.name_size = 6;
  assert_int_equal(set_as(&c), 1);
  c.permits = 1;
  c.id = (const uint8_t *)"0123456789abcdef";
  assert_true(RENDERED(rate_acquire, world_native(w, ANNA), world_buffer(w), false, &c));
  assert_true(rate_acquire_answer(stage_send(), &a));
  assert_string_equal(run("GET {t}api:value"), "4");
  assert_int_equal(run_integer("ZCARD {t}api:permits"), 1);
}

TEST(java_and_we_count_the_same_permits)
{
  set(4, 1000);
  assert_true(java_takes(1));
  assert_int_equal(wait_for(2), 0);
  assert_string_equal(run("GET " VALUE), "1");
  assert_true(java_takes(1));
  assert_false(java_takes(1));
  assert_int_equal(wait_for(1), 1000);
  set_now(START_MS + 1000);
  assert_true(java_takes(2));
  assert_int_equal(wait_for(2), 0);
  assert_false(java_takes(1));
  assert_int_equal(available(), 0);
}

/* ---- the rate ---- */

TEST(permits_come_back_an_interval_after_they_were_taken)
{
  set(3, 1000);
  assert_int_equal(wait_for(1), 0);
  set_now(START_MS + 400);
  assert_int_equal(wait_for(2), 0);
  set_now(START_MS + 900);
  assert_int_equal(wait_for(1), 100);
  assert_int_equal(wait_for(2), 500);            /* not before both that it needs are back */
  set_now(START_MS + 999);
  assert_int_equal(wait_for(1), 1);
  set_now(START_MS + 1000);
  assert_int_equal(wait_for(1), 0);
  assert_int_equal(wait_for(1), 400);
  assert_int_equal(available(), 0);
  set_now(START_MS + 1400);
  assert_int_equal(available(), 2);
}

TEST(what_can_never_be_is_refused_with_both_numbers)
{
  rate_answer a;

  set(3, 1500);
  a = ask(4);
  assert_int_equal(a.outcome, RATE_TOO_MANY);
  assert_int_equal(a.rate, 3);
  assert_int_equal(a.interval_ms, 1500);
  assert_int_equal(run_integer("EXISTS " VALUE " " PERMITS), 0);
}

TEST(without_a_rate_there_is_nothing)
{
  rate_call c = setting(5, 1000, 'u');

  assert_int_equal(ask(1).outcome, RATE_NOT_SET);
  assert_false(look_as(ANNA).is_set);
  assert_int_equal(release(1), -1);
  assert_int_equal(set_as(&c), -1);
  assert_int_equal(run_integer("EXISTS " NAME " " VALUE " " PERMITS), 0);
}

TEST(clients_that_are_counted_by_themselves_have_keys_that_end)
{
  rate_call c = setting(2, 5000, 'n');
  char uuid[UUID_SIZE];

  c.type = 1;
  assert_int_equal(set_as(&c), 1);
  assert_int_equal(ask_as(ANNA, fresh_id(), 2).outcome, RATE_GRANTED);
  assert_int_equal(ask_as(BERT, fresh_id(), 1).outcome, RATE_GRANTED);
  assert_int_equal(look_as(ANNA).left, 0);
  assert_int_equal(look_as(BERT).left, 1);
  assert_int_equal(look_as(CARL).left, 2);
  assert_true(redisson_uuid(world_native(w, ANNA)->client, uuid));
  assert_string_equal(run("GET " VALUE ":%s", uuid), "-2");   /* whatever the rate is */
  assert_in_range(run_integer("PTTL " PERMITS ":%s", uuid), 5000, 6000);
  assert_in_range(run_integer("PTTL " VALUE ":%s", uuid), 5000, 6000);
  assert_int_equal(run_integer("EXISTS " VALUE " " PERMITS), 0);
}

TEST(what_is_kept_alive_ends_together)
{
  rate_call c = setting(2, 5000, 'n');

  c.keepalive_ms = 20000;
  assert_int_equal(set_as(&c), 1);
  assert_in_range(run_integer("PTTL " NAME), 19000, 20000);
  run("PEXPIRE " NAME " 9000");
  assert_int_equal(wait_for(2), 0);
  assert_in_range(run_integer("PTTL " NAME), 19000, 20000);
  assert_in_range(run_integer("PTTL " VALUE), 19000, 20000);
  assert_in_range(run_integer("PTTL " PERMITS), 19000, 20000);
  run("PEXPIRE " PERMITS " 9000");
  assert_int_equal(wait_for(1), 5000);           /* a refusal keeps it alive, too */
  assert_in_range(run_integer("PTTL " PERMITS), 19000, 20000);
}

TEST(a_limit_that_somebody_set_on_the_name_is_that_of_all)
{
  set(2, 5000);
  run("PEXPIRE " NAME " 30000");
  assert_int_equal(wait_for(1), 0);
  assert_in_range(run_integer("PTTL " VALUE), 29000, 30000);
  assert_in_range(run_integer("PTTL " PERMITS), 29000, 30000);
}

/* ---- twice and late ---- */

TEST(a_request_that_comes_twice_takes_once)
{
  set(5, 1000);
  assert_int_equal(ask_as(ANNA, "0123456789abcdef", 2).outcome, RATE_GRANTED);
  set_now(START_MS + 10);
  assert_int_equal(wait_for(3), 0);
  assert_int_equal(ask_as(ANNA, "0123456789abcdef", 2).outcome, RATE_GRANTED);
  assert_int_equal(run_integer("ZCARD " PERMITS), 2);
  assert_string_equal(run("GET " VALUE), "0");
  assert_int_equal(ask_as(ANNA, "0123456789abcdeF", 2).outcome, RATE_LATER);
}

TEST(changes_that_come_twice_or_late_are_done_once)
{
  rate_call first = setting(5, 1000, 'n'), again = setting(3, 1000, 's');
  rate_call back = call_of(), end = call_of();

  assert_int_equal(set_as(&first), 1);
  assert_int_equal(set_as(&first), 1);           /* told as the first time */
  assert_int_equal(set_as(&again), 1);
  assert_int_equal(wait_for(3), 0);
  assert_int_equal(set_as(&again), 1);           /* and nothing is forgotten by that */
  assert_int_equal(available(), 0);
  back.permits = 1;
  assert_int_equal(release_as(&back), 1);
  assert_int_equal(release_as(&back), 1);
  assert_int_equal(available(), 1);
  assert_int_equal(delete_as(&end), 1);
  set(4, 1000);
  assert_int_equal(delete_as(&end), 1);
  assert_int_equal(available(), 4);
}

TEST(what_a_given_up_request_got_comes_back_once)
{
  set(5, 1000);
  assert_int_equal(ask_as(ANNA, "0123456789abcdef", 2).outcome, RATE_GRANTED);
  assert_int_equal(wait_for(1), 0);
  assert_int_equal(cancel("0123456789abcdef", 2), 1);
  assert_int_equal(available(), 4);
  assert_string_equal(run("GET " VALUE), "4");
  assert_int_equal(cancel("0123456789abcdef", 2), 0);
  assert_int_equal(cancel("fedcba9876543210", 2), 0);      /* nothing was given to that one */
  assert_int_equal(available(), 4);
  assert_int_equal(run_integer("ZCARD " PERMITS), 1);
  assert_int_equal(ask_as(ANNA, "0123456789abcdef", 4).outcome, RATE_GRANTED);
  set_now(START_MS + 1000);
  assert_int_equal(cancel("0123456789abcdef", 4), 0);      /* it has come back by itself */
  assert_int_equal(available(), 5);
}

/* ---- giving back ---- */

TEST(a_release_leaves_the_younger_ones_counted)
{
  set(10, 1000);
  assert_int_equal(wait_for(4), 0);
  set_now(START_MS + 500);
  assert_int_equal(wait_for(4), 0);
  assert_int_equal(release(5), 5);
  assert_string_equal(run("GET " VALUE), "7");
  assert_int_equal(run_integer("ZCARD " PERMITS), 1);
  assert_int_equal(available(), 7);
  set_now(START_MS + 1499);
  assert_int_equal(available(), 7);
  set_now(START_MS + 1500);
  assert_int_equal(available(), 10);
  assert_int_equal(release(5), 0);               /* there is nothing to come back */
  assert_int_equal(available(), 10);
}

TEST(a_release_by_java_lets_no_interval_have_more)
{
  set(4, 1000);
  assert_true(java_takes(4));
  java_releases(3);
  assert_int_equal(wait_for(1), 1000);
  assert_int_equal(available(), 0);
  set_now(START_MS + 1000);
  assert_int_equal(wait_for(4), 0);
}

/* ---- setting ---- */

TEST(a_rate_that_is_set_stays_unless_it_is_changed)
{
  rate_call c = setting(9, 9000, 'n');

  set(5, 1000);
  assert_int_equal(set_as(&c), 0);
  assert_int_equal(look_as(ANNA).rate, 5);
  assert_int_equal(wait_for(4), 0);
  c = setting(6, 2000, 'u');
  assert_int_equal(set_as(&c), 1);
  assert_string_equal(run("GET " VALUE), "2");
  assert_int_equal(available(), 2);
  c = setting(3, 2000, 'u');                     /* fewer than are taken already */
  assert_int_equal(set_as(&c), 1);
  assert_string_equal(run("GET " VALUE), "-1");
  assert_int_equal(available(), 0);
  assert_int_equal(wait_for(1), 2000);
  assert_false(java_takes(1));
  c = setting(3, 2000, 's');
  assert_int_equal(set_as(&c), 1);
  assert_int_equal(run_integer("EXISTS " VALUE " " PERMITS), 0);
  assert_int_equal(wait_for(3), 0);
}

TEST(another_type_begins_anew_and_what_was_to_end_may_stay)
{
  rate_call c = setting(3, 1000, 'n');

  c.keepalive_ms = 60000;
  assert_int_equal(set_as(&c), 1);
  assert_int_equal(wait_for(3), 0);
  c = setting(3, 1000, 'u');
  assert_int_equal(set_as(&c), 1);
  assert_int_equal(run_integer("PTTL " NAME), -1);
  assert_int_equal(run_integer("PTTL " VALUE), -1);
  c = setting(3, 1000, 'u');
  c.type = 1;
  assert_int_equal(set_as(&c), 1);
  assert_int_equal(run_integer("EXISTS " VALUE " " PERMITS), 0);
  assert_int_equal(available(), 3);
}

TEST(a_deletion_leaves_nothing)
{
  rate_call c = call_of();

  set(5, 1000);
  assert_int_equal(wait_for(2), 0);
  assert_int_equal(delete_as(&c), 1);
  assert_int_equal(run_integer("EXISTS " NAME " " VALUE " " PERMITS), 0);
  c = call_of();
  assert_int_equal(delete_as(&c), 0);
}

/* ---- what is lost, odd or full ---- */

TEST(entries_that_got_lost_count_from_when_they_are_missed)
{
  set(5, 1000);
  assert_int_equal(wait_for(4), 0);
  run("DEL " PERMITS);                           /* Redisson's script fails from here on */
  set_now(START_MS + 300);
  assert_int_equal(wait_for(2), 1000);
  assert_int_equal(wait_for(1), 0);
  set_now(START_MS + 1299);
  assert_int_equal(wait_for(1), 1);
  set_now(START_MS + 1300);
  assert_int_equal(wait_for(5), 0);
  assert_false(java_takes(1));                   /* it can go on as well */
}

TEST(a_value_that_got_lost_is_made_from_the_entries)
{
  set(5, 1000);
  assert_int_equal(wait_for(4), 0);
  run("DEL " VALUE);
  assert_int_equal(wait_for(2), 1000);
  assert_int_equal(wait_for(1), 0);
  assert_string_equal(run("GET " VALUE), "0");
}

/* The call in the world's buffer says what the key is not, and not only the server's words. */
static void expect_no_limiter(void)
{
  const resp_node *root = resp_root(stage_send());

  assert_int_equal(root->kind, RESP_ERROR);
  assert_non_null(strstr(root->bytes, "WRONGTYPE this key does not hold a rate limiter"));
}

TEST(a_key_of_another_type_is_named_as_that)
{
  rate_call c = setting(5, 1000, 's'), permits = call_of();

  permits.permits = 1;
  permits.id = (const uint8_t *)"0123456789abcdef";
  run("SET " NAME " words");
  assert_true(RENDERED(rate_acquire, world_native(w, ANNA), world_buffer(w), false, &permits));
  expect_no_limiter();
  assert_true(RENDERED(rate_release, world_native(w, ANNA), world_buffer(w), false, &permits));
  expect_no_limiter();
  assert_true(RENDERED(rate_set, world_native(w, ANNA), world_buffer(w), false, &c));
  expect_no_limiter();
  assert_true(RENDERED(rate_delete, world_native(w, ANNA), world_buffer(w), false, &permits));
  expect_no_limiter();
  assert_string_equal(run("GET " NAME), "words");
}

TEST(what_is_no_limiter_is_left_alone)
{
  rate_call c = setting(5, 1000, 's'), end = call_of();
  const resp_node *root;

  run("SET " NAME " words");
  assert_int_equal(fault_of_acquire(), RESP_FAULT_WRONG_TYPE);
  run("DEL " NAME);
  run("HSET " NAME " owner 1");                  /* a lock of Redisson, say */
  assert_int_equal(fault_of_acquire(), RESP_FAULT_WRONG_TYPE);
  assert_true(RENDERED(rate_set, world_native(w, ANNA), world_buffer(w), false, &c));
  root = resp_root(stage_send());
  assert_int_equal(resp_fault_of(root->bytes, root->size), RESP_FAULT_WRONG_TYPE);
  assert_true(RENDERED(rate_delete, world_native(w, ANNA), world_buffer(w), false, &end));
  root = resp_root(stage_send());
  assert_int_equal(resp_fault_of(root->bytes, root->size), RESP_FAULT_WRONG_TYPE);
  assert_string_equal(run("HGETALL " NAME), "[owner, 1]");
  run("DEL " NAME);
  set(5, 1000);
  run("SET " VALUE " words");
  assert_int_equal(fault_of_acquire(), RESP_FAULT_WRONG_TYPE);
  run("SET " VALUE " 5");
  run("ZADD " PERMITS " %lld x", (long long)now_ms);
  assert_int_equal(fault_of_acquire(), RESP_FAULT_WRONG_TYPE);
  run("DEL " PERMITS);
  run("SET " PERMITS " x");
  assert_int_equal(fault_of_acquire(), RESP_FAULT_WRONG_TYPE);
}

TEST(what_is_too_large_to_be_counted_is_said_so)
{
  set(5, 1000);
  run("HSET " NAME " rate 9223372036854775807");     /* Java's largest */
  assert_int_equal(fault_of_acquire(), RESP_FAULT_OTHER);
  run("HSET " NAME " rate 9007199254740992");
  assert_int_equal(wait_for(1), 0);
  assert_string_equal(run("GET " VALUE), "9007199254740991");
}

TEST(a_full_server_takes_nothing)
{
  set(5, 1000);
  assert_int_equal(wait_for(1), 0);
  stage_fill_memory();
  assert_int_equal(fault_of_acquire(), RESP_FAULT_REFUSED);
  assert_int_equal(available(), 4);
  stage_empty_memory();
  assert_int_equal(run_integer("ZCARD " PERMITS), 1);
  assert_string_equal(run("GET " VALUE), "4");
  assert_int_equal(wait_for(4), 0);
}

/* ---- without one of the rights ---- */

typedef bool render(const protocol *n, request *out, const rate_call *c);

static uint64_t asked_until_refused(uint64_t most)
{
  uint64_t sum = 0;

  while (sum < most && ask(3).outcome == RATE_GRANTED)
    sum += 3;
  return sum;
}

/* More entries than are counted one by one: of 300 permits that are gone, and of 600 that count. */
static void expect_no_more_without(const char *command, render *change)
{
  rate_call c = call_of();
  uint64_t sum;

  (void)begin(NULL);
  set(1000, 2000);
  assert_int_equal(asked_until_refused(300), 300);
  set_now(START_MS + 1000);
  assert_int_equal(asked_until_refused(600), 600);
  set_now(START_MS + 2000);
  c.permits = 3;
  c.id = (const uint8_t *)"0123456789abcdef";
  if (change == rate_cancel)
    assert_int_equal(ask_as(ANNA, "0123456789abcdef", 3).outcome, RATE_GRANTED);
  run("ACL SETUSER %s -%s", mode_user(), command);
  assert_true(RENDERED(change, world_native(w, ANNA), world_buffer(w), false, &c));
  (void)stage_send();
  run("ACL SETUSER %s +%s", mode_user(), command);
  if (available() > (change == rate_release ? 403 : 400))
    fail_msg("%lld are free without %s", (long long)available(), command);
  set_now(START_MS + 2500);
  sum = asked_until_refused(399);
  set_now(START_MS + 4000);
  if (available() > 1000 - (int64_t)sum)
    fail_msg("%lld and %d are free later without %s", (long long)available(), (int)sum, command);
}

TEST(a_request_without_one_of_its_rights_makes_no_permits)
{
  static const char *const commands[] = { "set", "zadd", "zremrangebyscore", "zrem" };

  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
    expect_no_more_without(commands[i], rate_acquire);
    expect_no_more_without(commands[i], rate_cancel);
    expect_no_more_without(commands[i], rate_release);
  }
}

/* ---- many, by chance ---- */

struct granted { int64_t at_ms; int permits; };

static void expect_no_more_than(int rate, int64_t interval_ms, const struct granted *all, int count)
{
  for (int first = 0; first < count; first++) {
    int sum = 0;

    for (int i = first; i < count && all[i].at_ms < all[first].at_ms + interval_ms; i++)
      sum += all[i].permits;
    if (sum > rate)
      fail_msg("%d permits within %lld ms from %lld on", sum, (long long)interval_ms,
               (long long)all[first].at_ms);
  }
}

TEST(no_interval_sees_more_than_the_rate_whoever_asks)
{
  static struct granted all[4000];
  int count = 0;

  srand(4711);
  set(20, 500);
  for (int i = 0; i < 3000; i++) {
    int permits = 1 + rand() % 6;
    bool is_granted;

    set_now(now_ms + rand() % 25);
    if (rand() % 100 == 0)
      run("DEL " VALUE);
    if (rand() % 100 == 0)
      java_releases(3);
    is_granted = wait_for((uint64_t)permits) == 0;
    if (is_granted)
      all[count++] = (struct granted){ now_ms, permits };
  }
  assert_true(count > 500);
  expect_no_more_than(20, 500, all, count);
}

TEST(with_java_beside_no_interval_sees_more)
{
  static struct granted all[4000];
  int count = 0, of_java = 0;

  srand(4712);
  set(20, 500);
  for (int i = 0; i < 3000; i++) {
    int permits = 1 + rand() % 6;
    bool is_java = rand() % 2 == 0;

    set_now(now_ms + rand() % 25);
    if (is_java ? java_takes(permits) : wait_for((uint64_t)permits) == 0) {
      all[count++] = (struct granted){ now_ms, permits };
      of_java += is_java;
    }
  }
  assert_in_range(of_java, count / 4, count - count / 4);
  expect_no_more_than(20, 500, all, count);
}

/* More entries than are counted one by one. */
TEST(thousands_of_permits_are_counted_by_the_value)
{
  set(3000, 1000);
  for (int i = 0; i < 1500; i++)
    assert_int_equal(wait_for(2), 0);
  assert_int_equal(wait_for(1), 1000);
  assert_int_equal(available(), 0);
  assert_int_equal(release(3), 3);
  assert_int_equal(available(), 3);
  set_now(START_MS + 1000);
  assert_int_equal(available(), 3000);
  assert_int_equal(wait_for(3000), 0);
  assert_int_equal(run_integer("ZCARD " PERMITS), 1);
}

/* More entries than are counted one by one, a rate that is changed meanwhile by Anna, and what
 * Bert gets of it from an interval later on. */
static void expect_a_changed_rate(uint64_t type, uint64_t before, uint64_t after)
{
  static struct granted all[4000];
  rate_call c = setting(before, 1000, 'n');
  int64_t sum = 0;
  int count = 0;

  c.type = type;
  assert_int_equal(set_as(&c), 1);
  for (int i = 0; i < 1600; i++) {
    set_now(START_MS + 2 * i);
    if (i == 600) {
      c = setting(after, 1000, 'u');
      c.type = type;
      assert_int_equal(set_as(&c), 1);
    }
    if (ask_as(BERT, fresh_id(), 8).outcome == RATE_GRANTED && i >= 1100)
      all[count++] = (struct granted){ now_ms, 8 };
  }
  expect_no_more_than((int)after, 1000, all, count);
  for (int i = 0; i < count; i++)
    sum += all[i].permits;
  assert_in_range(sum, after - 8, after);
}

TEST(a_lowered_rate_is_that_of_clients_that_are_busy)
{
  expect_a_changed_rate(0, 3000, 1200);
}

TEST(a_lowered_rate_of_each_is_that_of_other_clients_that_are_busy)
{
  expect_a_changed_rate(1, 3000, 1200);
}

TEST(a_raised_rate_of_each_is_that_of_other_clients_at_once)
{
  rate_call c = setting(3000, 1000, 'n');

  c.type = 1;
  assert_int_equal(set_as(&c), 1);
  for (int i = 0; i < 300; i++)
    assert_int_equal(ask_as(BERT, fresh_id(), 10).outcome, RATE_GRANTED);
  assert_int_equal(look_as(BERT).left, 0);
  c = setting(4000, 1000, 'u');
  c.type = 1;
  assert_int_equal(set_as(&c), 1);
  assert_int_equal(look_as(BERT).left, 1000);
  assert_int_equal(ask_as(BERT, fresh_id(), 1000).outcome, RATE_GRANTED);
  assert_int_equal(ask_as(BERT, fresh_id(), 1).outcome, RATE_LATER);
}

RUN_STAGE(stage_start, stage_stop, begin, NULL)

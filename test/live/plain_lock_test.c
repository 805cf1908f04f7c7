/* SPDX-License-Identifier: MIT */
/* test/live/plain_lock_test.c - locks of the dialect plain on a real server. The other side is a
 * plain connection that does what redsync, redislock, redis-py and node-redlock do, command by
 * command, with values as they write them; and redis-py itself, where it is installed. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hiredis/hiredis.h>

#include "dialect_place.h"
#include "no_reentry.h"
#include "proxy.h"

/* As redsync, redislock with metadata, and redis-py or node-redlock write them. */
#define BASE64 "uIbXh5u4dR7Zm1xQ0yJ8Fg=="
#define WITH_METADATA "uIbXh5u4dR7Zm1xQ0yJ8Fgbuild-7"
#define HEX "9f3c1a52b8e74f0d8a6c2b1e0d4f7a93"

enum { TTL_MS = 20000, SOON_MS = 8000 };

static dibs_options dialect_options(void)
{
  dibs_options o = live_options();

  o.dialect = DIBS_DIALECT_PLAIN;
  return o;
}

/* ---- what the others do ---- */

static bool peer_takes(const char *name, const char *value, int ttl_ms)
{
  const char *answer = test_server_command(server, "SET %s %s NX PX %d", name, value, ttl_ms);

  return answer != NULL && strcmp(answer, "OK") == 0;
}

static bool is_value(const char *name, const char *value)
{
  const char *found = test_server_command(server, "GET %s", name);

  return found != NULL && strcmp(found, value) == 0;
}

static bool peer_lets_go(const char *name, const char *value)
{
  return is_value(name, value) && test_server_integer(server, "DEL %s", name) == 1;
}

static bool is_gone(void *key)
{
  return test_server_integer(server, "EXISTS %s", (const char *)key) == 0;
}

static dibs_hold *take(dibs_client *c, const char *name)
{
  return live_lock(c, name, TTL_MS);
}

/* ---- the format ---- */

TEST(a_held_lock_is_a_string_of_its_own_with_an_end)
{
  dibs_hold *hold = take(a, "bytes");
  char first[128];

  (void)snprintf(first, sizeof(first), "%s", test_server_command(server, "GET bytes"));
  assert_true(strlen(first) >= 38);
  assert_in_range(test_server_integer(server, "PTTL bytes"), TTL_MS - SOON_MS, TTL_MS);
  assert_false(peer_takes("bytes", BASE64, TTL_MS));
  live_expect(a, dibs_release(hold), DIBS_OK);
  assert_true(is_gone("bytes"));
  hold = take(a, "bytes");
  assert_false(is_value("bytes", first));
  live_expect(a, dibs_release(hold), DIBS_OK);
  assert_true(peer_takes("bytes", HEX, TTL_MS));
}

/* ---- waiting ---- */

TEST(a_lock_of_any_peer_is_busy_and_its_end_is_found)
{
  const char *values[] = { BASE64, WITH_METADATA, HEX, "b983c153-7421-469a-addb-44fb92259a1b" };
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);

  for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
    struct live_ask ask;

    assert_true(peer_takes("shared", values[i], TTL_MS));
    live_refused(live_try(a, "shared"), DIBS_BUSY);
    live_ask_begin(&ask, a, "shared", &o);
    live_still_waits(&ask, 50);
    assert_true(peer_lets_go("shared", values[i]));
    live_expect(a, dibs_release(live_ask_granted(&ask, SOON_MS)), DIBS_OK);
  }
}

TEST(the_end_of_a_lease_is_noticed)
{
  assert_true(peer_takes("dead", BASE64, 700));
  live_expect(a, dibs_release(take(a, "dead")), DIBS_OK);
}

TEST(a_lock_without_an_end_is_busy_until_it_is_deleted)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  struct live_ask ask;

  assert_string_equal(test_server_command(server, "SET endless " HEX " NX"), "OK");
  live_refused(live_try(a, "endless"), DIBS_BUSY);
  live_ask_begin(&ask, a, "endless", &o);
  live_still_waits(&ask, 300);
  assert_int_equal(test_server_integer(server, "PTTL endless"), -1);
  assert_true(peer_lets_go("endless", HEX));
  live_expect(a, dibs_release(live_ask_granted(&ask, SOON_MS)), DIBS_OK);
}

/* From 10 ms on, twice as long each time, to 250: between half of it and all of it. */
static bool is_listened_to(void *channel)
{
  redisReply *found = test_server_ask(server, "PUBSUB CHANNELS %s", (const char *)channel);
  bool is_there = found->elements == 1;

  freeReplyObject(found);
  return is_there;
}

TEST(who_waits_looks_ever_more_seldom_and_listens)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  uint64_t before;
  struct live_ask ask;

  assert_true(peer_takes("patience", HEX, TTL_MS));
  live_ask_begin(&ask, a, "patience", &o);
  assert_true(live_until(SOON_MS, is_listened_to, "dibs:free:patience"));
  before = live_stats(a).commands;
  live_still_waits(&ask, 1500);
  assert_in_range(live_stats(a).commands - before, 3, 20);
  assert_true(peer_lets_go("patience", HEX));
  live_expect(a, dibs_release(live_ask_granted(&ask, SOON_MS)), DIBS_OK);
}

TEST(clients_of_ours_exclude_each_other_and_take_turns)
{
  expect_turns(10, TTL_MS, SOON_MS);
}

/* ---- holding ---- */

TEST(the_watchdog_keeps_it_beyond_its_ttl)
{
  dibs_hold *hold = live_lock(a, "kept", 1200);
  int64_t until = live_now_ms() + 2600;

  while (live_now_ms() < until)
    assert_false(peer_takes("kept", BASE64, TTL_MS));
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  live_expect(a, dibs_release(hold), DIBS_OK);
}

TEST(a_lock_that_is_deleted_is_told_lost_and_releases_nobody_else)
{
  struct live_loss loss = { 0 };
  dibs_lock_options o = live_lock_options(900, LIVE_LONG_MS);
  dibs_hold *hold;

  live_report_loss(&o, &loss);
  hold = live_lock_with(a, "forced", &o);
  assert_int_equal(test_server_integer(server, "DEL forced"), 1);
  assert_true(peer_takes("forced", BASE64, TTL_MS));
  assert_true(live_loss_wait(&loss, SOON_MS));
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_GONE);
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
  assert_true(is_value("forced", BASE64));
}

TEST(a_late_release_leaves_the_newer_lease_of_the_same_client)
{
  char token[DIBS_TOKEN_SIZE];
  dibs_hold *hold = take(a, "late");

  live_expect(a, dibs_hold_token(hold, token, sizeof(token)), DIBS_OK);
  live_expect(a, dibs_token_renew(a, token, 2 * TTL_MS, NULL), DIBS_OK);
  assert_true(test_server_integer(server, "PTTL late") > TTL_MS);
  live_expect(a, dibs_release(hold), DIBS_OK);
  hold = take(a, "late");
  assert_int_equal(dibs_token_release(b, token), DIBS_TAKEN);
  assert_int_equal(dibs_token_renew(b, token, 5 * TTL_MS, NULL), DIBS_TAKEN);
  assert_in_range(test_server_integer(server, "PTTL late"), 1, TTL_MS);
  live_expect(a, dibs_release(hold), DIBS_OK);
  assert_int_equal(dibs_token_release(b, token), DIBS_LOST);
}

TEST(a_fence_grows_though_the_clock_seems_to_be_behind)
{
  dibs_hold *hold = take(a, "fenced");
  uint64_t fence = dibs_hold_fence(hold);

  live_expect(a, dibs_release(hold), DIBS_OK);
  assert_string_equal(test_server_command(server, "SET dibs:token:{fenced} %llu PX 60000",
                                          (unsigned long long)(fence / 1024 + 5000000)), "OK");
  hold = take(b, "fenced");
  assert_int_equal(dibs_hold_fence(hold) / 1024, fence / 1024 + 5000001);
  live_expect(b, dibs_release(hold), DIBS_OK);
}

/* ---- asking in vain ---- */

TEST(a_key_of_another_type_is_told)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *hold = NULL;

  assert_int_equal(test_server_integer(server, "HSET hash a 1"), 1);
  assert_int_equal(dibs_lock(a, "hash", &o, &hold), DIBS_ERR_WRONG_TYPE);
}

TEST(several_locks_are_one_hold)
{
  const char *const names[] = { "y", "x" };
  dibs_hold *hold = NULL, *other = NULL;

  live_expect(a, acquire_names_now(a, names, 2, NULL, &hold), DIBS_OK);
  live_refused(dibs_try_lock(b, "x", NULL, &other), DIBS_BUSY);
  live_refused(acquire_names_now(b, names, 2, NULL, &other), DIBS_BUSY);
  live_expect(a, dibs_release(hold), DIBS_OK);
  live_expect(b, acquire_names_now(b, names, 2, NULL, &other), DIBS_OK);
  live_expect(b, dibs_release(other), DIBS_OK);
}

TEST(who_has_one_of_several_does_not_wait_for_itself)
{
  static const char *const names[] = { "x", "y" };

  expect_no_reentry(a, b, names);
}

TEST(what_the_dialect_lacks_is_unsupported_and_said)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  dibs_hold *hold = NULL;

  assert_int_equal(dibs_acquire(a, DIBS_WRITE("x"), NULL, &hold), DIBS_ERR_UNSUPPORTED);
  assert_int_equal(dibs_semaphore_set(a, dibs_text("x"), 3, 0, NULL), DIBS_ERR_UNSUPPORTED);
  live_expect_words(a, "plain");
  o.flags = DIBS_LOCK_FENCED;
  assert_int_equal(dibs_try_lock(a, "x", &o, &hold), DIBS_ERR_UNSUPPORTED);
  live_expect_words(a, "doc/guide/other-languages.md");
}

TEST(the_hold_of_a_peer_is_seen_and_can_be_broken)
{
  const char *values[] = { BASE64, "b983c153-7421-469a-addb-44fb92259a1b" };
  dibs_inspection *in = NULL;

  for (size_t i = 0; i < 2; i++) {
    char lease[128];

    assert_true(peer_takes("seen", values[i], TTL_MS));
    live_expect(a, dibs_inspect(a, dibs_text("seen"), &in), DIBS_OK);
    assert_int_equal(in->holder_count, 1);
    assert_in_range(in->holders[0]->remaining_ms, 1, TTL_MS);
    (void)snprintf(lease, sizeof(lease), "%s", in->holders[0]->lease);
    in = dibs_inspection_free(in);
    assert_true(peer_lets_go("seen", values[i]));
    assert_true(peer_takes("seen", HEX, TTL_MS));
    assert_int_equal(dibs_break(a, dibs_text("seen"), lease), DIBS_TAKEN);
    assert_true(peer_lets_go("seen", HEX));
    assert_true(peer_takes("seen", values[i], TTL_MS));
    live_expect(a, dibs_break(a, dibs_text("seen"), lease), DIBS_OK);
    assert_true(is_gone("seen"));
  }
}

/* ---- redis-py itself ---- */

static bool python_says(const char *code, char ret_line[64])
{
  char command[1024];
  FILE *out;
  bool was_said;

  (void)snprintf(command, sizeof(command),
                 "/usr/bin/python3 -c \"import redis; "
                 "c = redis.Redis(unix_socket_path='%s'); "
                 "l = c.lock('py', timeout=20, blocking=False); %s\" 2>/dev/null",
                 test_server_socket(server), code);
  out = popen(command, "r");
  assert_non_null(out);
  was_said = fgets(ret_line, 64, out) != NULL;
  (void)pclose(out);
  if (was_said)
    ret_line[strcspn(ret_line, "\n")] = 0;
  return was_said;
}

static void expect_python(const char *code, const char *wanted)
{
  char line[64];

  if (!python_says(code, line))
    fail_msg("redis-py says nothing to %s", code);
  assert_string_equal(line, wanted);
}

TEST(a_lock_of_redis_py_and_ours_exclude_each_other)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  char line[64];
  dibs_hold *hold;
  struct live_ask ask;

  if (!python_says("print('here')", line))
    skip();
  hold = take(a, "py");
  expect_python("print(l.acquire(), l.locked())", "False True");
  live_expect(a, dibs_release(hold), DIBS_OK);
  expect_python("print(l.acquire(token='first'))", "True");
  live_refused(live_try(a, "py"), DIBS_BUSY);
  live_ask_begin(&ask, a, "py", &o);
  expect_python("l.local.token = b'first'; print(l.extend(5), l.owned())", "True True");
  live_still_waits(&ask, 0);
  expect_python("l.local.token = b'first'; l.release(); print('released')", "released");
  live_expect(a, dibs_release(live_ask_granted(&ask, SOON_MS)), DIBS_OK);
}

RUN_TESTS_EACH(setup, teardown, empty, NULL)

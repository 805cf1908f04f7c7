/* SPDX-License-Identifier: MIT */
/* test/live/spring_lock_test.c - locks of the dialect spring on a real server. The other side is
 * a plain connection that does what Spring Integration's RedisLockRegistry does, command by
 * command: since 6.4.8 on a channel for each lock, before on one for all, and spinning
 * without a word. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hiredis/hiredis.h>

#include "dialect_place.h"
#include "no_reentry.h"
#include "proxy.h"

#define REGISTRY "orders"
#define SPRING "b983c153-7421-469a-addb-44fb92259a1b"
#define OTHER_SPRING "0a1b2c3d-0000-4000-8000-0123456789ab"

enum { TTL_MS = 20000, SOON_MS = 8000, ROUNDS = 50 };

static dibs_options dialect_options(void)
{
  dibs_options o = live_options();

  o.dialect = DIBS_DIALECT_SPRING;
  o.registry = REGISTRY;
  return o;
}

/* ---- what Spring does ---- */

static void spring_locks(const char *name, const char *registry_id, int ttl_ms)
{
  assert_string_equal(test_server_command(server, "SET " REGISTRY ":%s %s NX PX %d", name,
                                          registry_id, ttl_ms), "OK");
}

static void spring_lets_go(const char *name)
{
  assert_int_equal(test_server_integer(server, "UNLINK " REGISTRY ":%s", name), 1);
}

/* Compare or create, as its script does. */
static bool spring_tries(const char *name, const char *registry_id)
{
  char held[64];
  const char *value = test_server_command(server, "GET " REGISTRY ":%s", name);

  (void)snprintf(held, sizeof(held), "%s", value != NULL ? value : "");
  if (strcmp(held, registry_id) == 0)
    return test_server_integer(server, "PEXPIRE " REGISTRY ":%s %d", name, TTL_MS) == 1;
  value = test_server_command(server, "SET " REGISTRY ":%s %s NX PX %d", name, registry_id,
                              TTL_MS);
  return value != NULL && strcmp(value, "OK") == 0;
}

static bool is_heard(void *channel)
{
  redisReply *answer = test_server_ask(server, "PUBSUB NUMSUB %s", (const char *)channel);
  bool is = answer->elements == 2 && answer->element[1]->integer > 0;

  freeReplyObject(answer);
  return is;
}

static bool is_gone(void *key)
{
  return test_server_integer(server, "EXISTS %s", (const char *)key) == 0;
}

static dibs_hold *take(dibs_client *c, const char *name)
{
  return live_lock(c, name, TTL_MS);
}

static void text_of(char ret_text[128], const char *key)
{
  const char *value = test_server_command(server, "GET %s", key);

  (void)snprintf(ret_text, 128, "%s", value != NULL ? value : "");
}

/* ---- the format ---- */

TEST(a_held_lock_is_the_uuid_of_the_client_with_an_end)
{
  dibs_hold *one = take(a, "one"), *two = take(a, "two"), *three = take(b, "three");
  char value[128], same[128], other[128];
  unsigned parts[5];

  text_of(value, REGISTRY ":one");
  text_of(same, REGISTRY ":two");
  text_of(other, REGISTRY ":three");
  assert_int_equal(strlen(value), 36);
  assert_int_equal(sscanf(value, "%8x-%4x-%4x-%4x-%4x", parts, parts + 1, parts + 2, parts + 3,
                          parts + 4), 5);
  assert_string_equal(value, same);
  assert_string_not_equal(value, other);
  assert_in_range(test_server_integer(server, "PTTL " REGISTRY ":one"), TTL_MS - SOON_MS,
                  TTL_MS);
  assert_false(spring_tries("one", SPRING));
  live_expect(a, dibs_release(one), DIBS_OK);
  live_expect(a, dibs_release(two), DIBS_OK);
  live_expect(b, dibs_release(three), DIBS_OK);
  assert_int_equal(test_server_integer(server, "EXISTS " REGISTRY ":one " REGISTRY ":two "
                                       "dibs:ask:{" REGISTRY ":one} dibs:ask:{" REGISTRY ":two}"),
                   0);
  assert_true(spring_tries("one", SPRING));
}

TEST(a_release_is_told_on_both_channels_with_the_key)
{
  dibs_hold *hold = take(a, "told");
  redisContext *ear = redisConnectUnix(test_server_socket(server));
  struct timeval limit = { SOON_MS / 1000, 0 };
  const char *channels[] = { REGISTRY "-channel:" REGISTRY ":told", REGISTRY "-channel" };
  redisReply *reply;

  freeReplyObject(redisCommand(ear, "PSUBSCRIBE " REGISTRY "-channel:*"));
  freeReplyObject(redisCommand(ear, "SUBSCRIBE " REGISTRY "-channel"));
  live_expect(a, dibs_release(hold), DIBS_OK);
  assert_int_equal(redisSetTimeout(ear, limit), REDIS_OK);
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(redisGetReply(ear, (void **)&reply), REDIS_OK);
    assert_string_equal(reply->element[reply->elements - 2]->str, channels[i]);
    assert_string_equal(reply->element[reply->elements - 1]->str, REGISTRY ":told");
    freeReplyObject(reply);
  }
  redisFree(ear);
}

/* ---- waiting ---- */

static void is_busy_and_granted_soon_after(const char *name, const char *channel)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  char key[128];
  struct live_ask ask;

  (void)snprintf(key, sizeof(key), REGISTRY ":%s", name);
  spring_locks(name, SPRING, TTL_MS);
  live_refused(live_try(a, name), DIBS_BUSY);
  live_ask_begin(&ask, a, name, &o);
  assert_true(live_until(LIVE_LONG_MS, is_heard, REGISTRY "-channel"));
  spring_lets_go(name);
  if (channel != NULL)
    assert_int_equal(test_server_integer(server, "PUBLISH %s %s", channel, key), 1);
  assert_true(live_ask_wait(&ask, SOON_MS));
  assert_int_equal(ask.status, DIBS_OK);
  live_expect(a, dibs_release(ask.hold), DIBS_OK);
}

TEST(a_lock_of_spring_is_busy_and_its_end_is_heard)
{
  is_busy_and_granted_soon_after("new", REGISTRY "-channel:" REGISTRY ":new");
  is_busy_and_granted_soon_after("old", REGISTRY "-channel");
}

TEST(a_registry_that_spins_says_nothing_and_its_end_is_found)
{
  is_busy_and_granted_soon_after("spun", NULL);
}

/* How long it takes until so many words about `key` were each answered by a look, or 20 ms
 * were over. */
static int64_t answered_ms(const char *key, uint64_t *ret_looks)
{
  uint64_t before = live_stats(a).commands;
  int64_t begun = live_now_ms();

  for (int i = 0; i < ROUNDS; i++) {
    uint64_t seen = live_stats(a).commands;
    int64_t until = live_now_ms() + 20;

    (void)test_server_integer(server, "PUBLISH " REGISTRY "-channel %s", key);
    while (live_stats(a).commands == seen && live_now_ms() < until)
      ;
  }
  *ret_looks = live_stats(a).commands - before;
  return live_now_ms() - begun;
}

/* By himself the waiter looks every 50 to 100 ms, never faster. */
TEST(the_old_channel_wakes_only_whom_it_names)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  struct live_ask ask;
  uint64_t looks;
  int tries = 0;

  spring_locks("mine", SPRING, TTL_MS);
  live_ask_begin(&ask, a, "mine", &o);
  assert_true(live_until(LIVE_LONG_MS, is_heard, REGISTRY "-channel"));
  live_still_waits(&ask, 100);          /* what it asks while that comes to stand */
  while (answered_ms(REGISTRY ":mine", &looks) / 50 + 2 >= (int64_t)looks)
    assert_true(++tries < 10);
  assert_true(answered_ms(REGISTRY ":other", &looks) / 50 + 2 >= (int64_t)looks);
  spring_lets_go("mine");
  live_expect(a, dibs_release(live_ask_granted(&ask, SOON_MS)), DIBS_OK);
}

TEST(the_end_of_a_lease_is_noticed)
{
  spring_locks("dead", SPRING, 700);
  live_expect(a, dibs_release(take(a, "dead")), DIBS_OK);
}

TEST(clients_of_ours_exclude_each_other_and_take_turns)
{
  expect_turns(20, TTL_MS, SOON_MS);
}

/* ---- holding ---- */

TEST(the_watchdog_keeps_it_beyond_its_ttl)
{
  dibs_hold *hold = live_lock(a, "kept", 1200);
  int64_t until = live_now_ms() + 2600;

  while (live_now_ms() < until) {
    live_refused_beside(hold, live_try(b, "kept"), DIBS_BUSY);
    assert_false(spring_tries("kept", SPRING));
  }
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  live_expect(a, dibs_release(hold), DIBS_OK);
}

TEST(a_lock_that_is_deleted_is_told_lost_and_releases_nobody_else)
{
  struct live_loss loss = { 0 };
  dibs_lock_options o = live_lock_options(900, LIVE_LONG_MS);
  dibs_hold *hold;
  char value[128];

  live_report_loss(&o, &loss);
  hold = live_lock_with(a, "forced", &o);
  spring_lets_go("forced");
  spring_locks("forced", OTHER_SPRING, TTL_MS);
  assert_true(live_loss_wait(&loss, SOON_MS));
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_GONE);
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
  text_of(value, REGISTRY ":forced");
  assert_string_equal(value, OTHER_SPRING);
}

TEST(the_same_owner_enters_again)
{
  dibs_hold *outer = take(a, "again"), *inner = take(a, "again");

  live_expect(a, dibs_release(inner), DIBS_OK);
  live_refused(live_try(b, "again"), DIBS_BUSY);
  live_expect(a, dibs_release(outer), DIBS_OK);
  assert_int_equal(live_try(b, "again"), DIBS_OK);
}

/* The value is the same for both asks; what tells them apart stands beside it. A token stands
 * for what an older ask said and comes late. */
TEST(a_late_release_leaves_the_newer_lease_of_the_same_client)
{
  char token[DIBS_TOKEN_SIZE], value[128];
  dibs_hold *hold = take(a, "late");

  live_expect(a, dibs_hold_token(hold, token, sizeof(token)), DIBS_OK);
  live_expect(a, dibs_release(hold), DIBS_OK);
  hold = take(a, "late");
  text_of(value, REGISTRY ":late");
  assert_int_equal(dibs_token_release(b, token), DIBS_TAKEN);
  assert_int_not_equal(dibs_token_renew(b, token, 5 * TTL_MS, NULL), DIBS_OK);
  assert_in_range(test_server_integer(server, "PTTL " REGISTRY ":late"), 1, TTL_MS);
  assert_false(spring_tries("late", SPRING));
  live_expect(a, dibs_release(hold), DIBS_OK);
}

TEST(a_lease_is_given_back_by_its_token)
{
  char token[DIBS_TOKEN_SIZE];
  dibs_hold *hold = take(a, "passed on");

  live_expect(a, dibs_hold_token(hold, token, sizeof(token)), DIBS_OK);
  live_expect(b, dibs_token_release(b, token), DIBS_OK);
  assert_true(is_gone(REGISTRY ":passed on"));
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
}

/* ---- asking in vain ---- */

TEST(a_key_of_another_type_is_told)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *hold = NULL;

  assert_int_equal(test_server_integer(server, "HSET " REGISTRY ":hash a 1"), 1);
  assert_int_equal(dibs_lock(a, "hash", &o, &hold), DIBS_ERR_WRONG_TYPE);
}

/* ---- what there is not ---- */

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

  assert_int_equal(dibs_acquire(a, DIBS_READ("x"), NULL, &hold), DIBS_ERR_UNSUPPORTED);
  assert_int_equal(dibs_semaphore_set(a, dibs_text("x"), 3, 0, NULL), DIBS_ERR_UNSUPPORTED);
  live_expect_words(a, "spring");
  o.flags = DIBS_LOCK_FAIR;
  assert_int_equal(dibs_try_lock(a, "x", &o, &hold), DIBS_ERR_UNSUPPORTED);
  live_expect_words(a, "DIBS_LOCK_FAIR");
}

static void refuses(const char *url, const dibs_options *options, dibs_status wanted,
                    const char *word)
{
  dibs_client *c = NULL;
  dibs_error error = DIBS_ERROR_INIT;

  assert_int_equal(dibs_open(url, options, &c, &error), wanted);
  if (strstr(error.text, word) == NULL)
    fail_msg("%s: %s", url, error.text);
}

TEST(a_registry_is_of_spring_and_spring_needs_one)
{
  dibs_options o = live_options();

  refuses("redis://h?dialect=spring", NULL, DIBS_ERR_CONFIG, "registry=KEY");
  refuses("redis://h?registry=orders", NULL, DIBS_ERR_CONFIG, "dialect=spring");
  refuses("redis://h?dialect=plain&registry=orders", NULL, DIBS_ERR_CONFIG, "dialect=spring");
  refuses("redis://h?dialect=sprung", NULL, DIBS_ERR_CONFIG, "native, redisson, spring or");
  o.dialect = DIBS_DIALECT_SPRING;
  o.registry = "";
  refuses("redis://h", &o, DIBS_ERR_ARGUMENT, "empty");
  o.registry = "a\nb";
  refuses("redis://h", &o, DIBS_ERR_ARGUMENT, "control character");
}

TEST(a_url_names_the_registry)
{
  char url[512];
  dibs_client *c;
  dibs_hold *hold;

  (void)snprintf(url, sizeof(url), "%s?dialect=spring&registry=other", test_server_url(server));
  c = live_open(url);
  hold = take(c, "x");
  assert_int_equal(test_server_integer(server, "EXISTS other:x"), 1);
  live_expect(c, dibs_release(hold), DIBS_OK);
  c = dibs_close(c);
}

TEST(the_hold_of_a_registry_is_seen_and_can_be_broken)
{
  dibs_inspection *in = NULL;
  dibs_hold *hold = take(a, "ours");
  char token[DIBS_TOKEN_SIZE];

  live_expect(a, dibs_hold_token(hold, token, sizeof(token)), DIBS_OK);
  live_expect(b, dibs_inspect(b, dibs_text("ours"), &in), DIBS_OK);
  assert_int_equal(in->holder_count, 1);
  assert_memory_equal(in->holders[0]->lease, token + strlen("lease:"), 25);   /* client, ask */
  in = dibs_inspection_free(in);
  live_expect(a, dibs_release(hold), DIBS_OK);
  spring_locks("seen", SPRING, TTL_MS);
  live_expect(a, dibs_inspect(a, dibs_text("seen"), &in), DIBS_OK);
  assert_int_equal(in->holder_count, 1);
  assert_in_range(in->holders[0]->remaining_ms, 1, TTL_MS);
  live_expect(a, dibs_break(a, dibs_text("seen"), in->holders[0]->lease), DIBS_OK);
  assert_true(is_gone(REGISTRY ":seen"));
  in = dibs_inspection_free(in);
}

RUN_TESTS_EACH(setup, teardown, empty, NULL)

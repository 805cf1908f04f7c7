/* SPDX-License-Identifier: MIT */
/* test/live/redisson_quorum_test.c - the dialect redisson on five independent servers is what
 * getRedLock() is in Java. The other side are plain connections that do what its locks do, one
 * server after the other; Redisson itself is in test/peers. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <hiredis/hiredis.h>

#include "deployment.h"
#include "live.h"

#define JAVA "b983c153-7421-469a-addb-44fb92259a1b:42"

enum { SERVERS = 5, MAJORITY = 3, TTL_MS = 20000, SHORT_MS = 900, SOON_MS = 8000 };

static struct test_quorum *servers;
static dibs_client *a, *b;

static dibs_client *open_at(const char *url)
{
  dibs_options o = live_options();

  o.dialect = DIBS_DIALECT_REDISSON;
  return live_open_with(url, &o);
}

static int setup(void **state)
{
  (void)state;
  servers = test_quorum_start(SERVERS, NULL, NULL);
  a = open_at(test_quorum_url(servers));
  b = open_at(test_quorum_url(servers));
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  a = dibs_close(a);
  b = dibs_close(b);
  servers = test_quorum_stop(servers);
  return 0;
}

static struct test_server *member(int i)
{
  return test_quorum_server(servers, i);
}

/* ---- what Java does, on one server ---- */

static bool java_locks(int i, const char *name)
{
  if (test_server_integer(member(i), "EXISTS %s", name) != 0)
    return false;
  assert_int_equal(test_server_integer(member(i), "HINCRBY %s " JAVA " 1", name), 1);
  assert_int_equal(test_server_integer(member(i), "PEXPIRE %s %d", name, TTL_MS), 1);
  return true;
}

static bool java_has(int i, const char *name)
{
  return test_server_integer(member(i), "HEXISTS %s " JAVA, name) == 1;
}

static int java_locks_where_it_can(const char *name)
{
  int count = 0;

  for (int i = 0; i < SERVERS; i++)
    count += java_locks(i, name);
  return count;
}

static void unlocked(int i, const char *name)
{
  assert_int_equal(test_server_integer(member(i), "DEL %s", name), 1);
  (void)test_server_integer(member(i), "PUBLISH redisson_lock__channel:{%s} 0", name);
}

static void java_unlocks_everywhere(const char *name)
{
  for (int i = 0; i < SERVERS; i++)
    if (java_has(i, name))
      unlocked(i, name);
}

/* ---- what is there ---- */

static int held_at(const char *name)
{
  int count = 0;

  for (int i = 0; i < SERVERS; i++)
    if (test_server_pid(member(i)) != 0)
      count += test_server_integer(member(i), "EXISTS %s", name) == 1;
  return count;
}

static bool is_everywhere(void *name)
{
  return held_at(name) == SERVERS;
}

static bool is_nowhere(void *name)
{
  return held_at(name) == 0;
}

static bool is_heard(void *name)
{
  for (int i = 0; i < SERVERS; i++) {
    const char *answer = test_server_command(member(i), "PUBSUB NUMSUB redisson_lock__channel:{%s}",
                                             (const char *)name);

    if (strstr(answer, ", 1]") != NULL)
      return true;
  }
  return false;
}

static dibs_lock_options waiting(void)
{
  return live_lock_options(TTL_MS, LIVE_LONG_MS);
}

/* ---- the format ---- */

TEST(it_is_written_on_each_server_as_java_writes_it)
{
  dibs_hold *hold = live_lock(a, "bytes", TTL_MS);
  char first[40] = "";

  assert_true(live_until(LIVE_LONG_MS, is_everywhere, "bytes"));
  for (int i = 0; i < SERVERS; i++) {
    const char *fields = test_server_command(member(i), "HGETALL bytes");
    long long left = test_server_integer(member(i), "PTTL bytes");
    char uuid[40] = "";
    unsigned ask = 0, count = 0;

    assert_int_equal(sscanf(fields, "[%36[0-9a-f-]:%u, %u]", uuid, &ask, &count), 3);
    assert_int_equal(strlen(uuid), 36);
    assert_true(ask > 0);
    assert_int_equal(count, 1);
    assert_in_range(left, TTL_MS - SOON_MS, TTL_MS);
    if (i == 0)
      (void)snprintf(first, sizeof(first), "%s", uuid);
    assert_string_equal(uuid, first);
  }
  live_expect(a, dibs_release(hold), DIBS_OK);
  assert_true(live_until(LIVE_LONG_MS, is_nowhere, "bytes"));
}

TEST(a_release_is_told_on_each_server)
{
  dibs_hold *hold = live_lock(a, "told", TTL_MS);
  struct timeval limit = { LIVE_LONG_MS / 1000, 0 };
  redisContext *ears[SERVERS];
  redisReply *reply;

  assert_true(live_until(LIVE_LONG_MS, is_everywhere, "told"));
  for (int i = 0; i < SERVERS; i++) {
    ears[i] = redisConnectUnix(test_server_socket(member(i)));
    freeReplyObject(redisCommand(ears[i], "SUBSCRIBE redisson_lock__channel:{told}"));
  }
  live_expect(a, dibs_release(hold), DIBS_OK);
  for (int i = 0; i < SERVERS; i++) {
    assert_int_equal(redisSetTimeout(ears[i], limit), REDIS_OK);
    assert_int_equal(redisGetReply(ears[i], (void **)&reply), REDIS_OK);
    assert_string_equal(reply->element[2]->str, "0");
    freeReplyObject(reply);
    redisFree(ears[i]);
  }
}

/* ---- exclusion ---- */

TEST(a_majority_holds_and_java_finds_none)
{
  dibs_hold *hold = live_lock(a, "held", TTL_MS);

  assert_true(java_locks_where_it_can("held") < MAJORITY);
  java_unlocks_everywhere("held");
  live_refused(live_try(b, "held"), DIBS_BUSY);
  live_expect(a, dibs_release(hold), DIBS_OK);
  live_expect_free(b, "held", LIVE_LONG_MS);
}

TEST(a_minority_of_java_is_in_nobodys_way)
{
  assert_true(java_locks(1, "rest") && java_locks(4, "rest"));
  assert_int_equal(live_try(a, "rest"), DIBS_OK);
  assert_true(java_has(1, "rest") && java_has(4, "rest"));
}

/* Who waits looks each second by himself: a message is what makes it less, nearly always. */
TEST(a_majority_of_java_is_busy_and_its_end_wakes)
{
  enum { ROUNDS = 5, WOKEN_MS = 450 };
  dibs_lock_options o = waiting();
  int64_t took_ms[ROUNDS];

  for (int i = 0; i < ROUNDS; i++) {
    struct live_ask ask;
    int64_t begun;

    assert_int_equal(java_locks_where_it_can("theirs"), SERVERS);
    live_refused(live_try(a, "theirs"), DIBS_BUSY);
    live_ask_begin(&ask, a, "theirs", &o);
    assert_true(live_until(LIVE_LONG_MS, is_heard, "theirs"));
    live_still_waits(&ask, 50);
    begun = live_now_ms();
    java_unlocks_everywhere("theirs");
    assert_true(live_ask_wait(&ask, LIVE_LONG_MS));
    took_ms[i] = live_now_ms() - begun;
    live_expect(a, dibs_release(live_ask_granted(&ask, 0)), DIBS_OK);
    assert_true(live_until(LIVE_LONG_MS, is_nowhere, "theirs"));
  }
  assert_in_range(live_median(took_ms, ROUNDS), 0, WOKEN_MS);
}

TEST(two_clients_take_turns_and_fences_grow)
{
  dibs_lock_options o = waiting();
  dibs_hold *hold = live_lock(a, "turns", TTL_MS);

  for (int i = 0; i < 30; i++) {
    uint64_t fence = dibs_hold_fence(hold);
    struct live_ask ask;

    live_ask_begin(&ask, i % 2 == 0 ? b : a, "turns", &o);
    live_expect_ok(dibs_release(hold));
    hold = live_ask_granted(&ask, LIVE_LONG_MS);
    PROMISE_GROWN(dibs_hold_fence(hold), fence);
  }
  live_expect_ok(dibs_release(hold));
}

TEST(readers_share_a_majority_and_writers_do_not)
{
  dibs_lock_options o = waiting();
  dibs_hold *one = NULL, *two = NULL, *none = NULL;
  struct live_ask ask;
  uint64_t fence;

  live_expect(a, dibs_acquire(a, DIBS_READ("page"), &o, &one), DIBS_OK);
  live_expect(b, dibs_acquire(b, DIBS_READ("page"), &o, &two), DIBS_OK);
  fence = dibs_hold_fence(one);
  live_ask_begin_as(&ask, b, 'w', "page", &o);
  live_expect(a, dibs_release(one), DIBS_OK);
  live_still_waits(&ask, 100);
  live_expect(b, dibs_release(two), DIBS_OK);
  one = live_ask_granted(&ask, LIVE_LONG_MS);
  PROMISE_GROWN(dibs_hold_fence(one), fence);
  live_refused(acquire_now(a, DIBS_READ("page"), &o, &none), DIBS_BUSY);
  live_expect(b, dibs_release(one), DIBS_OK);
}

/* ---- servers that come and go ---- */

TEST(a_minority_that_is_down_costs_nothing)
{
  dibs_hold *hold = live_lock(a, "kept", SHORT_MS);
  int64_t until;

  assert_true(live_until(LIVE_LONG_MS, is_everywhere, "kept"));
  test_server_kill9(member(0));
  test_server_kill9(member(3));
  until = live_now_ms() + 2 * SHORT_MS;
  while (live_now_ms() < until)
    assert_false(java_locks(1, "kept") || java_locks(2, "kept") || java_locks(4, "kept"));
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  live_expect(a, dibs_release(hold), DIBS_OK);
  live_expect_free(b, "kept", LIVE_LONG_MS);
}

TEST(what_a_server_forgot_is_taken_again)
{
  dibs_hold *hold = live_lock(a, "again", SHORT_MS);

  assert_true(live_until(LIVE_LONG_MS, is_everywhere, "again"));
  test_server_restart(member(2), false);
  assert_true(live_until(LIVE_LONG_MS, is_everywhere, "again"));
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  live_expect(a, dibs_release(hold), DIBS_OK);
}

static dibs_hold *watched(const char *name, struct live_loss *loss)
{
  dibs_lock_options o = live_lock_options(SHORT_MS, LIVE_LONG_MS);

  live_report_loss(&o, loss);
  return live_lock_with(a, name, &o);
}

TEST(a_majority_that_is_down_is_told_lost)
{
  struct live_loss loss = { 0 };
  dibs_hold *hold = watched("lost", &loss);

  for (int i = 0; i < MAJORITY; i++)
    test_server_kill9(member(i));
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_GONE);
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
  assert_int_equal(live_try(b, "lost"), DIBS_ERR_UNREACHABLE);
}

TEST(a_majority_taken_by_force_is_told_lost_and_stays_java_s)
{
  struct live_loss loss = { 0 };
  dibs_hold *hold = watched("forced", &loss);

  assert_true(live_until(LIVE_LONG_MS, is_everywhere, "forced"));
  for (int i = 0; i < MAJORITY; i++) {
    unlocked(i, "forced");
    assert_true(java_locks(i, "forced"));
  }
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
  for (int i = 0; i < MAJORITY; i++)
    assert_true(java_has(i, "forced"));
}

/* The scripts ran, their answers never came: asked again they must not count twice. */
TEST(grants_whose_answers_are_lost_are_held_once)
{
  struct test_proxy *proxies[SERVERS];
  char url[SERVERS * 40] = "";
  dibs_client *c;
  dibs_hold *hold;

  for (int i = 0; i < SERVERS; i++) {
    proxies[i] = test_proxy_start(member(i));
    (void)snprintf(url + strlen(url), sizeof(url) - strlen(url), "%s%s", i > 0 ? " " : "",
                   test_proxy_tcp_url(proxies[i]));
  }
  c = open_at(url);
  live_expect(c, dibs_release(live_lock(c, "warm", TTL_MS)), DIBS_OK);
  for (int i = 0; i < MAJORITY; i++)
    test_proxy_lose_reply_to(proxies[i], "{once}");
  hold = live_lock(c, "{once}", TTL_MS);
  for (int i = 0; i < SERVERS; i++)
    assert_true(test_server_integer(member(i), "HLEN {once}") <= 1);
  assert_true(held_at("{once}") >= MAJORITY);
  live_expect(c, dibs_release(hold), DIBS_OK);
  assert_true(live_until(LIVE_LONG_MS, is_nowhere, "{once}"));
  c = dibs_close(c);
  for (int i = 0; i < SERVERS; i++)
    proxies[i] = test_proxy_stop(proxies[i]);
}

/* ---- what there is not ---- */

TEST(other_kinds_are_refused)
{
  static const uint32_t flags[] = { DIBS_LOCK_FAIR, DIBS_LOCK_SPIN, DIBS_LOCK_FENCED };
  dibs_lock_options o = waiting();
  dibs_hold *hold = NULL;

  for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
    o.flags = flags[i];
    assert_int_equal(dibs_lock(a, "kind", &o, &hold), DIBS_ERR_UNSUPPORTED);
    live_expect_words(a, "one kind of exclusive lock");
  }
  assert_int_equal(dibs_semaphore_set(a, dibs_text("kind"), 1, 0, NULL), DIBS_ERR_UNSUPPORTED);
  assert_int_equal(held_at("kind"), 0);
}

RUN_TESTS_EACH(NULL, NULL, setup, teardown)

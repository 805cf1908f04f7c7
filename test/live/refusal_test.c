/* SPDX-License-Identifier: MIT */
/* test/live/refusal_test.c - each way in which a server can refuse has its own status, and
 * words that name the cause. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <poll.h>

#include "deployment.h"
#include "live.h"

static const char *command(const char *words)
{
  return test_server_command(live_server, words);
}

/* A client as the user "limited", who may do `rules` and what every client needs. */
static dibs_client *open_limited_with(const char *rules, dibs_options o)
{
  char line[512];

  (void)snprintf(line, sizeof(line),
                 "ACL SETUSER limited reset on >pass ~dibs:* resetchannels &dibs:* %s",
                 rules);
  assert_string_equal(command(line), "OK");
  o.user = "limited";
  o.password = "pass";
  return live_open_with(live_url(), &o);
}

static dibs_client *open_limited(const char *rules)
{
  return open_limited_with(rules, live_options());
}

/* ---- the ACL ---- */

TEST(a_forbidden_script_is_denied_and_named)
{
  live_needs_one_view();
  dibs_client *client = open_limited("+@all -evalsha -eval");
  dibs_hold *hold = NULL;

  live_expect(client, dibs_try_lock(client, "denied", NULL, &hold), DIBS_ERR_DENIED);
  live_expect_words(client, "eval");
  live_expect(client, dibs_lock(client, "denied", NULL, &hold), DIBS_ERR_DENIED);
  assert_null(hold);
  client = dibs_close(client);
}

TEST(a_forbidden_key_is_denied)
{
  live_needs_one_view();
  dibs_client *client = open_limited("+@all resetkeys ~other:*");
  dibs_hold *hold = NULL;

  live_expect(client, dibs_try_lock(client, "denied", NULL, &hold), DIBS_ERR_DENIED);
  live_expect_words(client, "key");
  client = dibs_close(client);
}

TEST(who_may_not_listen_waits_by_asking)
{
  live_needs_one_view();
  dibs_client *other = live_open(live_url());
  dibs_client *client = open_limited("+@all resetchannels");
  dibs_lock_options o = live_lock_options(5000, 700);
  dibs_hold *held = live_lock(other, "busy", 60000), *hold = NULL;

  assert_int_equal(live_try(client, "free"), DIBS_OK);      /* needs none */
  live_expect_refused(client, dibs_lock(client, "busy", &o, &hold), DIBS_TIMED_OUT);
  assert_int_equal(dibs_release(held), DIBS_OK);
  o.wait_ms = 5000;
  live_expect(client, dibs_lock(client, "busy", &o, &hold), DIBS_OK);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  live_expect_free(other, "busy", 3000);
  client = dibs_close(client);
  other = dibs_close(other);
}

/* The last step of a hand-off, and the only one that fails: the lock still goes on. */
TEST(a_forbidden_publish_denies_or_still_hands_over)
{
  live_needs_one_view();
  dibs_client *other = live_open(live_url());
  dibs_client *client = open_limited("+@all -publish");
  dibs_lock_options wait = live_lock_options(1500, 0);
  dibs_hold *hold = NULL;
  dibs_status status = dibs_try_lock(client, "publish", NULL, &hold);
  struct live_ask ask;

  if (status != DIBS_OK) {
    live_expect(client, status, DIBS_ERR_DENIED);
    live_expect_words(client, "publish");
  } else {
    live_ask_begin(&ask, other, "publish", &wait);
    live_expect_waiters(live_server, "publish", 1);
    status = dibs_release(hold);
    assert_true(status == DIBS_OK || status == DIBS_ERR_DENIED);
    assert_int_equal(dibs_release(live_ask_granted(&ask, 5000)), DIBS_OK);
  }
  client = dibs_close(client);
  other = dibs_close(other);
}

/* The name is free when the user may release it again, and not only after the ttl. */
TEST(a_forbidden_release_is_unknown_and_repeated)
{
  live_needs_one_view();
  dibs_client *client = open_limited("+@all"), *other = live_open(live_url());
  dibs_hold *hold = live_lock(client, "repeated", 600000);

  assert_string_equal(command("ACL SETUSER limited -evalsha -eval"), "OK");
  if (test_server_knows(live_server, "fcall"))
    assert_string_equal(command("ACL SETUSER limited -fcall"), "OK");
  live_expect(client, dibs_release(hold), DIBS_UNKNOWN);
  live_expect_words(client, "NOPERM");
  live_expect_words(client, "`dibs acl` prints the rights");
  assert_int_equal(live_try(other, "repeated"), DIBS_BUSY);
  assert_string_equal(command("ACL SETUSER limited +@all"), "OK");
  live_expect_free(other, "repeated", LIVE_LONG_MS);
  client = dibs_close(client);
  other = dibs_close(other);
}

/* ---- the server cannot write ---- */

TEST(a_replica_is_read_only)
{
  live_needs_one_server();
  struct test_server *replica = test_server_start();
  dibs_client *client = live_open(test_server_url(replica));
  dibs_hold *hold = NULL;

  assert_string_equal(test_server_command(replica, "REPLICAOF 127.0.0.1 %d",
                                          test_server_port(live_server)), "OK");
  live_expect(client, dibs_try_lock(client, "replica", NULL, &hold), DIBS_ERR_READ_ONLY);
  live_expect_words(client, "replica");
  assert_string_equal(test_server_command(replica, "REPLICAOF NO ONE"), "OK");
  live_expect_free(client, "replica", LIVE_LONG_MS);      /* promoted: no restart needed */
  client = dibs_close(client);
  replica = test_server_stop(replica);
}

static bool save_failed(void *server)
{
  return strstr(test_server_command(server, "INFO persistence"),
                "rdb_last_bgsave_status:err") != NULL;
}

TEST(a_failed_save_is_refused)
{
  live_needs_one_view();
  static const char *const arguments[] = { "--enable-protected-configs", "yes", "--save",
                                           "3600", "1", NULL };
  struct test_server_options options = { .arguments = arguments };
  struct test_server *s = test_server_start_with(&options);
  dibs_client *client = live_open(test_server_url(s));
  dibs_hold *hold = live_lock(client, "held", 60000), *none = NULL;

  /* Nothing can be written there, not even by root. */
  assert_string_equal(test_server_command(s, "CONFIG SET dir /proc"), "OK");
  (void)test_server_command(s, "BGSAVE");
  assert_true(live_until(LIVE_LONG_MS, save_failed, s));
  live_expect(client, dibs_try_lock(client, "misconf", NULL, &none), DIBS_ERR_REFUSED);
  live_expect_words(client, "MISCONF");
  assert_string_equal(test_server_command(s, "CONFIG SET stop-writes-on-bgsave-error no"),
                      "OK");
  assert_int_equal(live_try(client, "misconf"), DIBS_OK);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  client = dibs_close(client);
  s = test_server_stop(s);
}

/* A full server takes no new locks, and gives back what is held. */
TEST(a_full_server_is_refused_and_still_releases)
{
  live_needs_one_view();
  dibs_client *client = live_open(live_url());
  dibs_client *other = live_open(live_url());
  dibs_lock_options o = live_lock_options(600, 0);
  struct live_loss loss = { .count = 0 };
  dibs_hold *hold, *none = NULL;
  uint64_t renewed;

  live_report_loss(&o, &loss);
  hold = live_lock_with(client, "held", &o);
  assert_string_equal(command("CONFIG SET maxmemory 1mb"), "OK");
  live_expect(other, dibs_try_lock(other, "oom", NULL, &none), DIBS_ERR_REFUSED);
  live_expect_words(other, "OOM");
  live_expect_words(other, "(raise maxmemory, or remove keys)");
  renewed = live_stats(client).renewed;
  for (int64_t end = live_now_ms() + LIVE_LONG_MS;
       live_stats(client).renewed < renewed + 2 && atomic_load(&loss.count) == 0 &&
       live_now_ms() < end;)
    (void)poll(NULL, 0, 5);
  assert_true(live_stats(client).renewed >= renewed + 2);
  assert_int_equal(atomic_load(&loss.count), 0);          /* renewed all the same */
  live_expect(client, dibs_release(hold), DIBS_OK);
  assert_string_equal(command("CONFIG SET maxmemory 0"), "OK");
  assert_int_equal(live_try(other, "held"), DIBS_OK);
  assert_int_equal(live_try(other, "oom"), DIBS_OK);
  client = dibs_close(client);
  other = dibs_close(other);
}

/* ---- what is unsafe is told, once ---- */

static bool was_warned(void *data)
{
  struct live_events *events = data;

  return atomic_load(&events->counts[DIBS_EVENT_WARNING]) > 0;
}

/* SUBSCRIBE does not exist there: waiters poll. */
TEST(a_server_without_messages_is_polled_and_warned_of)
{
  live_needs_one_view();
  static const char *const arguments[] = { "--rename-command", "SUBSCRIBE", "", NULL };
  struct test_server_options options = { .arguments = arguments };
  struct test_server *s = test_server_start_with(&options);
  struct live_events events = { .mutex = PTHREAD_MUTEX_INITIALIZER };
  dibs_lock_options limited = live_lock_options(60000, 3000), o = live_lock_options(60000, 0);
  dibs_options with = live_options();
  dibs_client *client, *other = live_open(test_server_url(s));
  dibs_hold *held = live_lock(other, "polled", 60000), *hold = NULL;
  struct live_ask ask;

  with.on_event = live_on_event;
  with.on_event_data = &events;
  client = live_open_with(test_server_url(s), &with);
  live_expect(client, dibs_lock(client, "polled", &limited, &hold), DIBS_TIMED_OUT);
  o.wait_ms = DIBS_FOREVER;
  live_ask_begin(&ask, client, "polled", &o);
  assert_true(live_until(LIVE_LONG_MS, was_warned, &events));
  assert_non_null(strstr(events.warning, "unknown command"));
  assert_int_equal(dibs_release(held), DIBS_OK);
  assert_int_equal(dibs_release(live_ask_granted(&ask, LIVE_LONG_MS)), DIBS_OK);
  client = dibs_close(client);
  other = dibs_close(other);
  s = test_server_stop(s);
}

/* By ACL: one that waits, and one that observes. */
TEST(who_may_not_listen_is_warned_with_the_reason)
{
  live_needs_one_view();
  struct live_events events[2] = { { .mutex = PTHREAD_MUTEX_INITIALIZER },
                                   { .mutex = PTHREAD_MUTEX_INITIALIZER } };
  dibs_client *other = live_open(live_url()), *clients[2];
  dibs_hold *held = live_lock(other, "busy", 60000);
  dibs_lock_options o = live_lock_options(60000, DIBS_FOREVER);
  dibs_options with = live_options();
  dibs_observer *observer = NULL;
  struct live_ask ask;

  with.on_event = live_on_event;
  for (int i = 0; i < 2; i++) {
    with.on_event_data = &events[i];
    clients[i] = open_limited_with("+@all resetchannels", with);
  }
  live_ask_begin(&ask, clients[0], "busy", &o);
  live_expect_ok(dibs_observe(clients[1], "leader", NULL, NULL, NULL, &observer));
  for (int i = 0; i < 2; i++) {
    assert_true(live_until(LIVE_LONG_MS, was_warned, &events[i]));
    assert_non_null(strstr(events[i].warning, "NOPERM"));
  }
  assert_int_equal(dibs_release(held), DIBS_OK);
  assert_int_equal(dibs_release(live_ask_granted(&ask, LIVE_LONG_MS)), DIBS_OK);
  observer = dibs_observer_free(observer);
  for (int i = 0; i < 2; i++)
    clients[i] = dibs_close(clients[i]);
  other = dibs_close(other);
}

TEST(an_evicting_server_is_warned_of_once)
{
  live_needs_one_view();
  struct live_events events = { .mutex = PTHREAD_MUTEX_INITIALIZER };
  dibs_options o = live_options();
  dibs_client *client;

  assert_string_equal(command("CONFIG SET maxmemory 200mb"), "OK");
  assert_string_equal(command("CONFIG SET maxmemory-policy allkeys-lru"), "OK");
  o.on_event = live_on_event;
  o.on_event_data = &events;
  client = live_open_with(live_url(), &o);
  assert_int_equal(live_try(client, "evicted"), DIBS_OK);
  assert_true(live_until(LIVE_LONG_MS, was_warned, &events));
  for (int i = 0; i < 20; i++) {
    (void)command("CLIENT KILL TYPE normal SKIPME yes");
    live_expect_free(client, "evicted", LIVE_LONG_MS);
  }
  client = dibs_close(client);
  assert_int_equal(atomic_load(&events.counts[DIBS_EVENT_WARNING]), 1);
  assert_non_null(strstr(events.warning, "allkeys-lru"));
  assert_string_equal(command("CONFIG SET maxmemory-policy noeviction"), "OK");
  assert_string_equal(command("CONFIG SET maxmemory 0"), "OK");
}

TEST(a_safe_server_is_not_warned_of)
{
  struct live_events events = { .mutex = PTHREAD_MUTEX_INITIALIZER };
  dibs_options o = live_options();
  dibs_client *client;

  o.on_event = live_on_event;
  o.on_event_data = &events;
  client = live_open_with(live_url(), &o);
  assert_int_equal(live_try(client, "safe"), DIBS_OK);
  assert_int_equal(dibs_ping(client, 1000, NULL), DIBS_OK);
  client = dibs_close(client);
  assert_int_equal(atomic_load(&events.counts[DIBS_EVENT_WARNING]), 0);
  assert_in_range(atomic_load(&events.counts[DIBS_EVENT_CONNECTED]), 1, 3);
}

/* ---- keys of others ---- */

static void expect_wrong_type(dibs_client *client, const char *name)
{
  dibs_lock_options o = live_lock_options(5000, 2000);
  dibs_inspection *seen = NULL;
  dibs_hold *hold = NULL;
  char before[512];

  (void)snprintf(before, sizeof(before), "%s",
                 test_server_command(live_server, "DUMP %s", live_key(name)));
  live_expect(client, dibs_try_lock(client, name, NULL, &hold), DIBS_ERR_WRONG_TYPE);
  live_expect(client, dibs_lock(client, name, &o, &hold), DIBS_ERR_WRONG_TYPE);
  live_expect(client, dibs_inspect(client, dibs_text(name), &seen), DIBS_ERR_WRONG_TYPE);
  assert_string_equal(before, test_server_command(live_server, "DUMP %s", live_key(name)));
  assert_int_equal(test_server_integer(live_server, "PTTL %s", live_key(name)), -1);
}

TEST(keys_of_another_kind_are_left_alone)
{
  live_needs_keys();
  dibs_client *client = live_open(live_url());

  assert_string_equal(command("SET dibs:m:{string} hello"), "OK");
  assert_string_equal(command("SET dibs:m:{empty} x"), "OK");
  assert_string_equal(command("LPUSH dibs:m:{list} a"), "1");
  assert_string_equal(command("SADD dibs:m:{set} a"), "1");
  assert_string_equal(command("HSET dibs:m:{hash} a b"), "1");
  assert_string_equal(command("ZADD dibs:m:{sorted} 1 a"), "1");
  assert_true(command("XADD dibs:m:{stream} * a b")[0] != 'E');
  expect_wrong_type(client, "string");
  expect_wrong_type(client, "empty");
  expect_wrong_type(client, "list");
  expect_wrong_type(client, "set");
  expect_wrong_type(client, "hash");
  expect_wrong_type(client, "sorted");
  expect_wrong_type(client, "stream");
  client = dibs_close(client);
}

/* A holder whose key was overwritten by somebody is told so, and overwrites nothing. */
TEST(a_holder_of_an_overwritten_key_is_told_lost)
{
  live_needs_keys();
  dibs_client *client = live_open(live_url());
  dibs_lock_options o = live_lock_options(600, 0);
  struct live_loss loss = { .count = 0 };
  dibs_hold *hold;

  live_report_loss(&o, &loss);
  hold = live_lock_with(client, "overwritten", &o);
  assert_string_equal(command("DEL dibs:m:{overwritten}"), "1");
  assert_string_equal(command("LPUSH dibs:m:{overwritten} a"), "1");
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
  assert_string_equal(command("TYPE dibs:m:{overwritten}"), "list");
  client = dibs_close(client);
}

RUN_TESTS(live_server_setup, live_server_teardown)

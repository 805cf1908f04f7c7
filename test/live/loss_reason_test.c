/* SPDX-License-Identifier: MIT */
/* test/live/loss_reason_test.c - a loss has the reason of the server that did not renew, in its
 * words and with its address: in on_lost, the event, dibs_hold_why() and the error of the
 * release. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>

#include <hiredis/hiredis.h>

#include "live.h"
#include "server_parts.h"

#define TTL_MS 3000

/* ---- what the program gets ---- */

typedef struct heard {
  _Atomic int losses, events;
  char loss[512], event[512];
} heard;

static void on_lost(dibs_hold *hold, const dibs_loss *loss, void *data)
{
  heard *h = data;

  (void)hold;
  (void)snprintf(h->loss, sizeof(h->loss), "%s", loss->text);
  h->losses++;
}

static void on_event(const dibs_event *event, void *data)
{
  heard *h = data;

  if (event->kind != DIBS_EVENT_LOST)
    return;
  (void)snprintf(h->event, sizeof(h->event), "%s", event->text);
  h->events++;
}

static bool is_heard(void *data)
{
  heard *h = data;

  return h->losses > 0 && h->events > 0;
}

static dibs_client *open_hearing(const char *url, heard *h)
{
  dibs_options o = live_options();

  o.on_event = on_event;
  o.on_event_data = h;
  return live_open_with(url, &o);
}

static dibs_hold *lock_hearing(dibs_client *client, heard *h)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);

  o.on_lost = on_lost;
  o.on_lost_data = h;
  return live_lock_with(client, "job", &o);
}

static void expect_in(const char *what, const char *text, const char *part)
{
  if (strstr(text, part) == NULL)
    fail_msg("%s has no \"%s\": \"%s\"", what, part, text);
}

static bool is_suspected(void *data)
{
  return dibs_hold_state(data) != DIBS_HOLD_HELD;
}

/* The hold cannot be renewed any more. Its end has `word`, and one of the addresses. */
static void expect_loss(dibs_client *client, dibs_hold *hold, heard *h, const char *word,
                        const char *url)
{
  char why[512];
  dibs_error error = DIBS_ERROR_INIT;

  assert_true(live_until(LIVE_LONG_MS, is_suspected, hold));
  assert_true(live_until(LIVE_LONG_MS, is_heard, h));
  assert_int_equal(dibs_hold_why(hold, why, sizeof(why)), DIBS_OK);
  assert_string_equal(why, h->loss);
  expect_in("on_lost", h->loss, word);
  expect_in("on_lost", h->loss, url);
  expect_in("the event", h->event, h->loss);
  assert_int_equal(dibs_release(hold), DIBS_LOST);
  (void)dibs_client_error(client, 0, &error);
  assert_int_equal(error.status, DIBS_LOST);
  assert_string_equal(error.text, h->loss);
}

/* ---- one server ---- */

static void set(const struct test_server *s, const char *setting, const char *value)
{
  assert_string_equal(test_server_command(s, "CONFIG SET %s %s", setting, value), "OK");
}

static void no_replicas(struct test_server *s) { set(s, "min-replicas-to-write", "3"); }

static void another_password(struct test_server *s)
{
  redisContext *c = test_server_connect(s);

  freeReplyObject(redisCommand(c, "CONFIG SET requirepass another"));
  freeReplyObject(redisCommand(c, "CLIENT KILL TYPE normal SKIPME yes"));
  redisFree(c);
}

static void no_rights(struct test_server *s)
{
  assert_string_equal(test_server_command(s, "ACL SETUSER default -evalsha -eval"), "OK");
}

/* A primary that is not there, and no old data while it is missing. */
static void no_primary(struct test_server *s)
{
  set(s, "replica-serve-stale-data", "no");
  assert_string_equal(test_server_command(s, "REPLICAOF 127.0.0.1 1"), "OK");
}

static void disk_errors(struct test_server *s)
{
  char path[512];

  (void)snprintf(path, sizeof(path), "%s/dump.rdb", test_server_directory(s));
  assert_int_equal(mkdir(path, 0700), 0);          /* no file can be renamed to this */
  set(s, "save", "3600 1");
  (void)test_server_command(s, "BGSAVE");
}

static void kill9(struct test_server *s) { test_server_kill9(s); }

static const struct trouble {
  void (*make)(struct test_server *s);
  const char *word;
} troubles[] = {
  { no_replicas, "NOREPLICAS" },
  { another_password, "NOAUTH" },
  { no_rights, "NOPERM" },
  { no_primary, "MASTERDOWN" },
  { disk_errors, "MISCONF" },
  { kill9, "refused" },
};

TEST(the_words_of_the_server_are_the_reason)
{
  for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++) {
    struct test_server *s = test_server_start();
    heard h = { .losses = 0 };
    dibs_client *client = open_hearing(test_server_tcp_url(s), &h);
    dibs_hold *hold = lock_hearing(client, &h);

    troubles[i].make(s);
    expect_loss(client, hold, &h, troubles[i].word, test_server_tcp_url(s));
    client = dibs_close(client);
    s = test_server_stop(s);
  }
}

/* It answers nothing before busy-reply-threshold, and BUSY after it. */
TEST(a_script_that_does_not_end_is_the_reason)
{
  struct test_server *s = test_server_start();
  heard h = { .losses = 0 };
  dibs_client *client = open_hearing(test_server_tcp_url(s), &h);
  dibs_hold *hold = lock_hearing(client, &h);
  redisContext *c = test_server_connect(s);
  int done = 0;

  set(s, "lua-time-limit", "100");
  assert_int_equal(redisAppendCommand(c, "EVAL %s 0", "while true do end"), REDIS_OK);
  while (done == 0)
    assert_int_equal(redisBufferWrite(c, &done), REDIS_OK);
  expect_loss(client, hold, &h, "BUSY", test_server_tcp_url(s));
  (void)test_server_command(s, "SCRIPT KILL");
  redisFree(c);
  client = dibs_close(client);
  s = test_server_stop(s);
}

TEST(a_renewal_ends_the_reason)
{
  struct test_server *s = test_server_start();
  heard h = { .losses = 0 };
  dibs_client *client = open_hearing(test_server_tcp_url(s), &h);
  dibs_hold *hold = lock_hearing(client, &h);
  char why[512];

  assert_int_equal(dibs_hold_why(hold, why, sizeof(why)), DIBS_OK);
  assert_string_equal(why, "");
  set(s, "min-replicas-to-write", "3");
  while (why[0] == 0 && h.losses == 0)
    assert_int_equal(dibs_hold_why(hold, why, sizeof(why)), DIBS_OK);
  expect_in("dibs_hold_why()", why, "NOREPLICAS");
  set(s, "min-replicas-to-write", "0");
  while (why[0] != 0 && h.losses == 0)
    assert_int_equal(dibs_hold_why(hold, why, sizeof(why)), DIBS_OK);
  assert_int_equal(h.losses, 0);
  assert_int_equal(dibs_hold_why(hold, why, 0), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  assert_int_equal(dibs_hold_why(hold, why, sizeof(why)), DIBS_ERR_STALE);
  client = dibs_close(client);
  s = test_server_stop(s);
}

/* ---- a quorum ---- */

TEST(a_majority_that_refuses_is_the_reason)
{
  struct test_server *servers[3];
  heard h = { .losses = 0 };
  char urls[512] = "", url[16] = "redis://";
  dibs_client *client;
  dibs_hold *hold;

  for (int i = 0; i < 3; i++) {
    size_t used = strlen(urls);

    servers[i] = test_server_start();
    (void)snprintf(urls + used, sizeof(urls) - used, "%s%s", i > 0 ? "," : "",
                   test_server_tcp_url(servers[i]));
  }
  client = open_hearing(urls, &h);
  hold = lock_hearing(client, &h);
  for (int i = 1; i < 3; i++)
    set(servers[i], "min-replicas-to-write", "3");
  expect_loss(client, hold, &h, "NOREPLICAS", url);
  client = dibs_close(client);
  for (int i = 0; i < 3; i++)
    servers[i] = test_server_stop(servers[i]);
}

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* test/live/server_addresses_test.c - the name of a server has several addresses,
 * some dead; they rotate; they change. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>

#include "live.h"
#include "names.h"

/* A server at 127.0.0.1, and the URL of a name for it. */
static struct test_server *server;
static int port;

static int setup(void **state)
{
  server = test_server_start();
  port = test_server_port(server);
  *state = NULL;
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  server = test_server_stop(server);
  return 0;
}

static const char *url_of(const char *name)
{
  static char url[96];

  (void)snprintf(url, sizeof(url), "redis://%s:%d", name, port);
  return url;
}

/* How long the first lock of a new client takes, in milliseconds. */
static int64_t first_lock(const char *name)
{
  dibs_options o = live_options();
  dibs_client *client;
  int64_t begun, took;
  dibs_hold *hold;

  o.connect_timeout_ms = 5000;
  client = live_open_with(url_of(name), &o);
  begun = live_now_ms();
  hold = live_lock(client, "first", 5000);
  took = live_now_ms() - begun;
  assert_int_equal(dibs_release(hold), DIBS_OK);
  client = dibs_close(client);
  return took;
}

TEST(a_dead_address_delays_by_a_quarter_of_a_second)
{
  struct black_hole hole = black_hole_open("127.0.0.2", port);

  names_set("half.test", "127.0.0.2 127.0.0.1");
  assert_in_range(first_lock("half.test"), 240, 900);
  black_hole_close(&hole);
  live_expect_clean(server);
}

TEST(a_refused_address_delays_nothing)
{
  int64_t best = INT64_MAX;

  names_set("refused.test", "::1 127.0.0.3 127.0.0.1");
  for (int i = 0; i < 3; i++) {
    int64_t took = first_lock("refused.test");

    best = took < best ? took : best;
  }
  assert_in_range(best, 0, 200);
}

/* Of commands, and of messages: it listens for the end of a hold. */
static bool has_both_connections(void *client)
{
  return live_stats(client).connects == 2;
}

/* Whose answers come in another order each time, as those of names with many do. */
TEST(rotation_causes_no_reconnect)
{
  const char *const both[] = { "--bind", "127.0.0.1", "127.0.0.2", NULL };
  struct test_server_options so = { .arguments = both };
  struct test_server *s = test_server_start_with(&so);
  dibs_client *client;
  dibs_client_info before, after;
  char url[96];
  dibs_hold *hold;
  int asked;

  (void)snprintf(url, sizeof(url), "redis://rotates.test:%d", test_server_port(s));
  names_set("rotates.test", "127.0.0.1 127.0.0.2");
  client = live_open(url);
  hold = live_lock(client, "healthy", 300);
  assert_int_equal(live_try(client, "other"), DIBS_OK);
  assert_true(live_until(LIVE_LONG_MS, has_both_connections, client));
  before = live_stats(client);
  asked = names_asked("rotates.test");
  names_set("rotates.test", "127.0.0.2 127.0.0.1");
  do {
    (void)poll(NULL, 0, 5);
    after = live_stats(client);
  } while (after.renewed < before.renewed + 10 && after.lost == 0);
  assert_int_equal(after.lost, 0);
  assert_int_equal(after.connects, before.connects);
  assert_int_equal(names_asked("rotates.test"), asked);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  client = dibs_close(client);
  s = test_server_stop(s);
}

TEST(a_server_that_moved_is_found_again)
{
  char digits[8];
  const char *const same_port[] = { "--port", digits, NULL };
  struct test_server_options so = { .address = "127.0.0.2", .arguments = same_port };
  struct test_server *old = test_server_start(), *new;
  char url[96];
  dibs_client *client;
  dibs_hold *hold;

  (void)snprintf(digits, sizeof(digits), "%d", test_server_port(old));
  (void)snprintf(url, sizeof(url), "redis://moves.test:%s", digits);
  names_set("moves.test", "127.0.0.1");
  client = live_open(url);
  hold = live_lock(client, "endpoint", 300);
  names_set("moves.test", "127.0.0.2");
  new = test_server_start_with(&so);
  test_server_kill9(old);
  (void)dibs_release(hold);
  hold = live_lock(client, "endpoint", 5000);
  assert_int_equal(test_server_integer(new, "EXISTS %s", live_key("endpoint")), 1);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  client = dibs_close(client);
  new = test_server_stop(new);
  old = test_server_stop(old);
}

/* While a name is asked for, calls on other servers go on, and the asking call ends in time. */
TEST(a_slow_resolver_blocks_only_who_asks)
{
  dibs_options o = live_options();
  dibs_client *slow, *quick = live_open(test_server_tcp_url(server));
  dibs_hold *hold = live_lock(quick, "beside", 300);
  dibs_client_info before = live_stats(quick), after;
  dibs_error error = DIBS_ERROR_INIT;
  int64_t begun;

  o.connect_timeout_ms = 400;
  names_set("slow.test", "127.0.0.1");
  names_hold(true);
  slow = live_open_with(url_of("slow.test"), &o);
  begun = live_now_ms();
  live_expect(slow, dibs_ping(slow, 300, NULL), DIBS_ERR_UNREACHABLE);
  assert_in_range(live_now_ms() - begun, 0, 1500);
  do {
    (void)poll(NULL, 0, 5);
    after = live_stats(quick);
  } while (after.renewed < before.renewed + 3 && after.lost == 0);
  assert_int_equal(after.lost, 0);
  assert_int_equal(live_try(slow, "now"), DIBS_ERR_UNREACHABLE);
  assert_int_equal(dibs_client_error(slow, 0, &error), DIBS_OK);
  assert_non_null(strstr(error.text, "host name is not resolved yet"));
  assert_in_range(names_waiting(), 1, 2);              /* one question for each connection */
  names_hold(false);
  assert_int_equal(live_try(slow, "then"), DIBS_OK);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  slow = dibs_close(slow);
  quick = dibs_close(quick);
}

RUN_TESTS(setup, teardown)

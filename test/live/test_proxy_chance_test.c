/* SPDX-License-Identifier: MIT */
/* test/live/test_proxy_chance_test.c - the tests' own proxy: what a command may meet by
 * chance, each made certain here; and delays and rates that vary. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <poll.h>
#include <signal.h>

#include <hiredis/hiredis.h>

#include "now.h"
#include "proxy.h"
#include "server.h"

enum { LONG_MS = 10000, ALWAYS = 10000 };

static struct test_server *server;
static struct test_proxy *proxy;
static redisContext *c;

static int setup(void **state)
{
  (void)state;
  server = test_server_start();
  proxy = test_proxy_start(server);
  c = redisConnectUnix(test_proxy_socket(proxy));
  assert_int_equal(c->err, 0);
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  redisFree(c);
  proxy = test_proxy_stop(proxy);
  server = test_server_stop(server);
  return 0;
}

/* The integer that is the answer; -1 for none. */
static long long ask(const char *command)
{
  redisReply *reply = redisCommand(c, command);
  long long number = reply == NULL || reply->type != REDIS_REPLY_INTEGER ? -1 : reply->integer;

  if (reply != NULL)
    freeReplyObject(reply);
  return number;
}

static void again(void)
{
  redisFree(c);
  c = redisConnectUnix(test_proxy_socket(proxy));
}

static void stored_is(const char *number)
{
  assert_string_equal(test_server_command(server, "GET n"), number);
}

TEST(a_lost_request_is_not_executed)
{
  struct test_proxy_chances chances = { .lose_request = ALWAYS, .word = "INCR" };

  test_proxy_chance(proxy, &chances);
  assert_int_equal(ask("DECR n"), -1);          /* has no chance */
  assert_int_equal(ask("INCR n"), -1);
  stored_is("-1");
  assert_int_equal(test_proxy_counts(proxy).requests_lost, 1);
  assert_int_equal(test_proxy_counts(proxy).commands, 1);
  again();
  test_proxy_pass(proxy, TEST_BOTH);
  assert_int_equal(ask("INCR n"), 0);
}

TEST(a_lost_reply_is_of_a_command_that_was_executed)
{
  struct test_proxy_chances chances = { .lose_reply = ALWAYS, .word = "INCR" };

  test_proxy_chance(proxy, &chances);
  assert_int_equal(ask("INCR n"), -1);
  stored_is("1");
  assert_int_equal(test_proxy_counts(proxy).replies_lost, 1);
}

TEST(a_doubled_command_is_executed_twice_and_answered_once)
{
  struct test_proxy_chances chances = { .duplicate = ALWAYS, .word = "INCR" };
  bool was_first = false, was_second = false;

  test_proxy_chance(proxy, &chances);
  for (long long i = 0; i < 40; i++) {
    long long answer = ask("INCR n");

    assert_true(answer == 2 * i + 1 || answer == 2 * i + 2);
    was_first |= answer == 2 * i + 1;
    was_second |= answer == 2 * i + 2;
    assert_int_equal(ask("STRLEN none"), 0);    /* its own answer, not a twin */
  }
  assert_true(was_first && was_second);
  assert_int_equal(test_proxy_counts(proxy).duplicated, 40);
}

TEST(a_late_command_is_executed_when_its_client_is_gone)
{
  struct test_proxy_chances chances = { .late = ALWAYS, .late_ms_max = 300, .word = "INCR" };

  test_proxy_chance(proxy, &chances);
  for (int i = 0; i < 20; i++) {
    assert_int_equal(ask("INCR n"), -1);
    again();
  }
  test_proxy_chance(proxy, NULL);
  assert_true(ask("INCR n") < 21);              /* overtakes some of them */
  for (int64_t end = test_now_ms() + LONG_MS; test_now_ms() < end;) {
    if (strcmp(test_server_command(server, "GET n"), "21") == 0)
      break;
    (void)poll(NULL, 0, 1);
  }
  stored_is("21");
  while (test_proxy_counts(proxy).open > 1)     /* and nothing is left of them */
    (void)poll(NULL, 0, 1);
}

TEST(a_silenced_connection_says_nothing_more)
{
  struct test_proxy_chances chances = { .silence = ALWAYS, .word = "INCR" };

  test_proxy_chance(proxy, &chances);
  assert_int_equal(redisSetTimeout(c, (struct timeval){ .tv_usec = 50000 }), REDIS_OK);
  assert_int_equal(ask("INCR n"), -1);
  assert_int_equal(c->err, REDIS_ERR_IO);       /* a timeout, not an end */
  stored_is("(nil)");
}

TEST(chances_are_as_often_as_they_say)
{
  struct test_proxy_chances chances = { .seed = 7, .duplicate = 1000, .word = "INCR" };
  uint64_t times;

  test_proxy_chance(proxy, &chances);
  for (int i = 0; i < 2000; i++)
    (void)ask("INCR n");
  times = test_proxy_counts(proxy).duplicated;
  assert_true(times > 120 && times < 280);
}

TEST(jitter_stays_between_its_bounds_and_keeps_order)
{
  int64_t least = INT64_MAX, most = 0;

  test_proxy_jitter(proxy, TEST_TO_CLIENT, 5, 40);
  for (long long i = 1; i <= 20; i++) {
    int64_t before = test_now_ms(), took;

    assert_int_equal(ask("INCR n"), i);
    took = test_now_ms() - before;
    least = took < least ? took : least;
    most = took > most ? took : most;
  }
  assert_true(least >= 4 && most > least + 5);
}

TEST(a_rate_is_not_exceeded)
{
  int64_t before;

  assert_string_equal(test_server_command(server, "SET k %b", "0123456789", (size_t)10), "OK");
  assert_string_equal(test_server_command(server, "SETRANGE k 4999 x"), "5000");
  test_proxy_rate(proxy, TEST_TO_CLIENT, 20000);
  before = test_now_ms();
  assert_int_equal(ask("GET k"), -1);           /* a string */
  assert_true(test_now_ms() - before >= 240);
  assert_true(test_now_ms() - before < 2000);
}

int main(void)
{
  (void)signal(SIGPIPE, SIG_IGN);     /* hiredis raises it */
  return tests_run(NULL, NULL, setup, teardown);
}

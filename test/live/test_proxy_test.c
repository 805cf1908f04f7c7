/* SPDX-License-Identifier: MIT */
/* test/live/test_proxy_test.c - the tests' own proxy: each fault does what it says. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "now.h"
#include "proxy.h"
#include "server.h"

enum { LONG_MS = 10000 };

static struct test_server *server;
static struct test_proxy *proxy;

static int setup(void **state)
{
  (void)state;
  server = test_server_start();
  proxy = test_proxy_start(server);
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  proxy = test_proxy_stop(proxy);
  server = test_server_stop(server);
  return 0;
}

static redisContext *open_unix(void)
{
  redisContext *c = redisConnectUnix(test_proxy_socket(proxy));

  assert_int_equal(c->err, 0);
  return c;
}

static redisContext *open_tcp(void)
{
  redisContext *c = redisConnect("127.0.0.1", test_proxy_port(proxy));

  assert_int_equal(c->err, 0);
  return c;
}

/* The answer as text, "(error)" for none. */
static const char *ask(redisContext *c, const char *command)
{
  static char text[128];
  redisReply *reply = redisCommand(c, command);

  if (reply == NULL)
    return "(error)";
  if (reply->type == REDIS_REPLY_INTEGER)
    (void)snprintf(text, sizeof(text), "%lld", reply->integer);
  else
    (void)snprintf(text, sizeof(text), "%s", reply->str == NULL ? "(none)" : reply->str);
  freeReplyObject(reply);
  return text;
}

static void send_command(redisContext *c, const char *command)
{
  int is_done = 0;

  assert_int_equal(redisAppendCommand(c, command), REDIS_OK);
  while (!is_done)
    assert_int_equal(redisBufferWrite(c, &is_done), REDIS_OK);
}

static bool hears_within(redisContext *c, int ms)
{
  struct pollfd wait = { .fd = c->fd, .events = POLLIN };

  return poll(&wait, 1, ms) > 0;
}

static bool is_reset(redisContext *c)
{
  char byte;

  assert_true(hears_within(c, LONG_MS));
  return recv(c->fd, &byte, 1, 0) < 0 && errno == ECONNRESET;
}

TEST(without_a_fault_it_is_not_noticed)
{
  redisContext *a = open_unix(), *b = open_tcp();

  assert_string_equal(ask(a, "SET k v"), "OK");
  assert_string_equal(ask(b, "GET k"), "v");
  assert_int_equal(test_proxy_counts(proxy).connections, 2);
  redisFree(a);
  redisFree(b);
}

TEST(megabytes_pass_whole)
{
  redisContext *c = open_unix();
  redisReply *reply;

  assert_string_equal(ask(c, "SETRANGE k 5999999 x"), "6000000");
  reply = redisCommand(c, "GET k");
  assert_int_equal(reply->len, 6000000);
  assert_int_equal(reply->str[5999999], 'x');
  freeReplyObject(reply);
  redisFree(c);
}

TEST(the_end_of_a_connection_passes)
{
  redisContext *c = open_unix();

  assert_string_equal(ask(c, "QUIT"), "OK");
  assert_string_equal(ask(c, "PING"), "(error)");
  redisFree(c);
}

TEST(a_black_hole_is_silent_about_bytes_and_ends)
{
  redisContext *c = open_tcp(), *d;

  assert_string_equal(ask(c, "PING"), "PONG");
  test_proxy_black_hole(proxy, TEST_TO_CLIENT);
  send_command(c, "SET k v");
  assert_true(test_proxy_wait_for_drops(proxy, TEST_TO_CLIENT, 5, LONG_MS));
  assert_string_equal(test_server_command(server, "GET k"), "v");
  test_server_kill9(server);
  assert_false(hears_within(c, 50));
  test_server_restart(server, false);
  test_proxy_pass(proxy, TEST_BOTH);
  assert_false(hears_within(c, 50));        /* its stream has a hole */
  d = open_tcp();
  assert_string_equal(ask(d, "PING"), "PONG");
  redisFree(c);
  redisFree(d);
}

TEST(a_black_hole_to_the_server_keeps_requests_from_it)
{
  redisContext *c = open_unix();

  test_proxy_black_hole(proxy, TEST_TO_SERVER);
  send_command(c, "SET k v");
  assert_true(test_proxy_wait_for_drops(proxy, TEST_TO_SERVER, 27, LONG_MS));
  assert_string_equal(test_server_command(server, "GET k"), "(nil)");
  redisFree(c);
}

TEST(held_bytes_go_on_later)
{
  redisContext *c = open_unix();

  assert_string_equal(ask(c, "PING"), "PONG");
  test_proxy_hold(proxy, TEST_BOTH);
  send_command(c, "SET k v");
  assert_false(hears_within(c, 50));
  assert_string_equal(test_server_command(server, "GET k"), "(nil)");
  test_proxy_pass(proxy, TEST_BOTH);
  assert_true(hears_within(c, LONG_MS));
  assert_string_equal(test_server_command(server, "GET k"), "v");
  redisFree(c);
}

TEST(delays_add_up_both_ways)
{
  redisContext *c = open_unix();
  int64_t before;

  test_proxy_delay(proxy, TEST_TO_SERVER, 30);
  before = test_now_ms();
  assert_string_equal(ask(c, "PING"), "PONG");
  assert_true(test_now_ms() - before >= 29);
  test_proxy_delay(proxy, TEST_BOTH, 30);
  before = test_now_ms();
  assert_string_equal(ask(c, "PING"), "PONG");
  assert_true(test_now_ms() - before >= 59);
  redisFree(c);
}

TEST(trickled_bytes_come_one_by_one)
{
  redisContext *c = open_unix();
  int reads = 0;
  char bytes[64];

  test_proxy_trickle(proxy, TEST_BOTH);
  send_command(c, "PING");
  for (size_t size = 0; size < 7; reads++) {
    ssize_t more = recv(c->fd, bytes + size, sizeof(bytes) - size, 0);
    assert_true(more > 0);
    size += (size_t)more;
  }
  assert_memory_equal(bytes, "+PONG\r\n", 7);
  assert_true(reads > 1);
  redisFree(c);
}

TEST(a_cut_resets_every_connection)
{
  redisContext *a = open_tcp(), *b = open_unix();

  assert_string_equal(ask(a, "PING"), "PONG");
  assert_string_equal(ask(b, "PING"), "PONG");
  test_proxy_cut(proxy);
  assert_true(is_reset(a));
  assert_string_equal(ask(b, "PING"), "(error)");
  assert_int_equal(test_proxy_counts(proxy).cuts, 2);
  redisFree(a);
  redisFree(b);
}

TEST(a_cut_after_n_bytes_lets_exactly_n_through)
{
  redisContext *c = open_unix();
  char bytes[64];
  size_t size = 0;
  ssize_t more;

  test_proxy_cut_after(proxy, TEST_TO_CLIENT, 10);
  send_command(c, "PING");
  send_command(c, "PING");
  while ((more = recv(c->fd, bytes + size, sizeof(bytes) - size, 0)) > 0)
    size += (size_t)more;
  assert_int_equal(size, 10);
  assert_memory_equal(bytes, "+PONG\r\n+PO", 10);
  assert_true(test_proxy_wait_for_cuts(proxy, 1, LONG_MS));
  redisFree(c);
}

TEST(exactly_k_replies_are_swallowed_and_then_it_is_cut)
{
  redisContext *c = open_unix();

  assert_string_equal(ask(c, "INCR n"), "1");
  test_proxy_swallow_replies(proxy, 2);
  send_command(c, "INCR n");
  assert_true(test_proxy_wait_for_drops(proxy, TEST_TO_CLIENT, 4, LONG_MS));
  assert_int_equal(test_proxy_counts(proxy).cuts, 0);
  assert_string_equal(ask(c, "EVAL return({1,{'a','b'},'c'}) 0"), "(error)");
  assert_int_equal(test_proxy_counts(proxy).cuts, 1);
  assert_int_equal(test_proxy_counts(proxy).replies_swallowed, 2);
  assert_string_equal(test_server_command(server, "GET n"), "2");
  redisFree(c);
  c = open_unix();
  assert_string_equal(ask(c, "INCR n"), "3");
  redisFree(c);
}

TEST(the_reply_to_a_word_is_lost_after_execution)
{
  redisContext *a = open_unix(), *b = open_unix();

  test_proxy_lose_reply_to(proxy, "INCR");
  assert_string_equal(ask(a, "SET n 5"), "OK");
  assert_string_equal(ask(a, "INCR n"), "(error)");
  assert_string_equal(test_server_command(server, "GET n"), "6");
  assert_string_equal(ask(b, "INCR n"), "7");     /* once */
  redisFree(a);
  redisFree(b);
}

TEST(the_word_is_found_across_pieces)
{
  redisContext *c = open_unix();

  test_proxy_lose_reply_to(proxy, "INCR");
  assert_int_equal(send(c->fd, "*2\r\n$4\r\nIN", 10, 0), 10);
  test_proxy_pass(proxy, TEST_BOTH);
  while (test_proxy_counts(proxy).passed_to_server < 10)
    (void)poll(NULL, 0, 1);
  assert_int_equal(send(c->fd, "CR\r\n$1\r\nn\r\n", 11, 0), 11);
  assert_true(test_proxy_wait_for_cuts(proxy, 1, LONG_MS));
  assert_string_equal(test_server_command(server, "GET n"), "1");
  redisFree(c);
}

TEST(faults_can_be_for_some_connections_only)
{
  redisContext *inbox = open_unix(), *commands = open_unix();

  send_command(inbox, "SUBSCRIBE c");
  assert_true(hears_within(inbox, LONG_MS));
  test_proxy_only(proxy, "SUBSCRIBE");
  test_proxy_cut(proxy);
  assert_string_equal(ask(commands, "PING"), "PONG");
  assert_int_equal(test_proxy_counts(proxy).cuts, 1);
  redisFree(inbox);
  redisFree(commands);
}

TEST(refusing_keeps_old_connections_and_takes_no_new_ones)
{
  redisContext *c = open_unix(), *refused;

  assert_string_equal(ask(c, "PING"), "PONG");
  test_proxy_refuse(proxy, true);
  refused = redisConnect("127.0.0.1", test_proxy_port(proxy));
  assert_int_not_equal(refused->err, 0);
  redisFree(refused);
  assert_string_equal(ask(c, "PING"), "PONG");
  test_proxy_refuse(proxy, false);
  refused = open_tcp();
  assert_string_equal(ask(refused, "PING"), "PONG");
  redisFree(refused);
  redisFree(c);
}

int main(void)
{
  (void)signal(SIGPIPE, SIG_IGN);     /* hiredis raises it */
  return tests_run(NULL, NULL, setup, teardown);
}

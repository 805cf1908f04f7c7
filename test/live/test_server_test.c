/* SPDX-License-Identifier: MIT */
/* test/live/test_server_test.c - the tests' own servers: what the others rely on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "deployment.h"
#include "server.h"

static void it_answers_on_its_socket_and_on_its_port(void **state)
{
  struct test_server *s = test_server_start();
  redisContext *context = redisConnect("127.0.0.1", test_server_port(s));
  redisReply *reply = redisCommand(context, "PING");
  char url[64];

  (void)state;
  assert_string_equal(test_server_command(s, "PING"), "PONG");
  assert_string_equal(reply->str, "PONG");
  (void)snprintf(url, sizeof(url), "redis://127.0.0.1:%d", test_server_port(s));
  assert_string_equal(test_server_tcp_url(s), url);
  assert_int_equal(strncmp(test_server_url(s), "unix:///", 8), 0);
  assert_string_equal(test_server_url(s) + 7, test_server_socket(s));
  freeReplyObject(reply);
  redisFree(context);
  s = test_server_stop(s);
}

static void answers_are_written_as_text(void **state)
{
  struct test_server *s = test_server_start();

  (void)state;
  assert_string_equal(test_server_command(s, "SET %s %d", "k", 7), "OK");
  assert_string_equal(test_server_command(s, "GET k"), "7");
  assert_string_equal(test_server_command(s, "GET other"), "(nil)");
  assert_int_equal(test_server_integer(s, "INCR k"), 8);
  assert_string_equal(test_server_command(s, "EVAL %s 0", "return {1,{'a','b'}}"),
                      "[1, [a, b]]");
  assert_string_equal(test_server_command(s, "LPUSH k x"),
                      "WRONGTYPE Operation against a key holding the wrong kind of"
                      " value");
  s = test_server_stop(s);
}

static void it_is_gone_after_kill_and_back_after_restart(void **state)
{
  struct test_server *s = test_server_start();
  int port = test_server_port(s);

  (void)state;
  (void)test_server_command(s, "SET k v");
  test_server_restart(s, true);
  assert_string_equal(test_server_command(s, "GET k"), "v");
  assert_int_equal(test_server_port(s), port);
  test_server_kill9(s);
  assert_string_equal(test_server_command(s, "PING"), "(gone)");
  assert_int_equal(test_server_pid(s), 0);
  test_server_restart(s, false);
  assert_string_equal(test_server_command(s, "GET k"), "(nil)");
  s = test_server_stop(s);
}

static void a_paused_one_answers_nothing_until_resumed(void **state)
{
  struct test_server *s = test_server_start();
  struct timeval shortly = { .tv_usec = 50000 };
  redisContext *context;

  (void)state;
  test_server_pause(s);
  context = redisConnectUnixWithTimeout(test_server_socket(s), shortly);
  (void)redisSetTimeout(context, shortly);
  assert_null(redisCommand(context, "PING"));
  redisFree(context);
  test_server_resume(s);
  assert_string_equal(test_server_command(s, "PING"), "PONG");
  s = test_server_stop(s);
}

static void options_give_it_a_password_and_arguments(void **state)
{
  const char *const more[] = { "--maxclients", "77", NULL };
  struct test_server *s = test_server_start_with(
    &(struct test_server_options){ .arguments = more, .password = "secret word" });
  redisContext *context = redisConnectUnix(test_server_socket(s));
  redisReply *reply = redisCommand(context, "GET k");

  (void)state;
  assert_int_equal(strncmp(reply->str, "NOAUTH", 6), 0);
  assert_string_equal(test_server_command(s, "CONFIG GET maxclients"),
                      "[maxclients, 77]");
  freeReplyObject(reply);
  redisFree(context);
  s = test_server_stop(s);
}

static int openssl(const struct test_server *s, const char *more)
{
  char command[1024];

  (void)snprintf(command, sizeof(command),
                 "printf 'PING\\r\\nQUIT\\r\\n' | timeout 5 openssl s_client -quiet"
                 " -verify_return_error -verify_hostname localhost"
                 " -connect 127.0.0.1:%d %s 2>/dev/null"
                 " | grep -q PONG",
                 test_server_port(s), more);
  return system(command);
}

static void tls_ones_come_with_certificates(void **state)
{
  struct test_server *s;
  char more[400];

  (void)state;
  if (!test_servers_speak_tls())
    skip();
  s = test_server_start_with(
    &(struct test_server_options){ .has_tls = true, .wants_client_certificate = true });
  assert_int_equal(strncmp(test_server_tcp_url(s), "rediss://", 9), 0);
  (void)snprintf(more, sizeof(more), "-CAfile %s -cert %s -key %s", test_server_ca(s),
                 test_server_client_certificate(s), test_server_client_key(s));
  assert_int_equal(openssl(s, more), 0);
  (void)snprintf(more, sizeof(more), "-CAfile %s", test_server_ca(s));
  assert_int_not_equal(openssl(s, more), 0);
  (void)snprintf(more, sizeof(more), "-CAfile %s -cert %s -key %s",
                 test_server_foreign_ca(s), test_server_client_certificate(s),
                 test_server_client_key(s));
  assert_int_not_equal(openssl(s, more), 0);
  s = test_server_stop(s);
}

static void sentinels_and_cluster_nodes_start_too(void **state)
{
  struct test_server *a =
    test_server_start_with(&(struct test_server_options){ .is_sentinel = true });
  struct test_server *b =
    test_server_start_with(&(struct test_server_options){ .has_cluster = true });

  (void)state;
  assert_string_equal(test_server_command(a, "SENTINEL masters"), "[]");
  test_server_restart(a, true);
  assert_non_null(strstr(test_server_command(b, "CLUSTER INFO"), "cluster_state"));
  a = test_server_stop(a);
  b = test_server_stop(b);
}

struct news {
  pid_t server;
  char directory[100];
};

/* Starts a server in a child, kills that child, and tells where the server was. */
static struct news start_in_a_child_that_is_killed(void)
{
  struct news news = { 0 };
  int ends[2], how;
  pid_t child;

  assert_int_equal(pipe(ends), 0);
  child = fork();
  if (child == 0) {
    struct test_server *s = test_server_start();
    news.server = test_server_pid(s);
    (void)snprintf(news.directory, sizeof(news.directory), "%s",
                   test_server_directory(s));
    if (write(ends[1], &news, sizeof(news)) == (ssize_t)sizeof(news))
      (void)pause();
    _exit(1);
  }
  assert_int_equal(read(ends[0], &news, sizeof(news)), sizeof(news));
  assert_int_equal(kill(child, SIGKILL), 0);
  assert_int_equal(waitpid(child, &how, 0), child);
  (void)close(ends[0]);
  (void)close(ends[1]);
  return news;
}

static void it_dies_with_a_killed_test_and_the_next_one_sweeps(void **state)
{
  struct news news = start_in_a_child_that_is_killed();
  pid_t child;
  int how;

  (void)state;
  /* Its new parent reaps it; a zombie still counts as there, so look for its life. */
  for (int tries = 0; tries < 5000 && kill(news.server, 0) == 0; tries++)
    (void)usleep(1000);
  assert_int_equal(kill(news.server, 0), -1);
  assert_int_equal(errno, ESRCH);
  /* Its directory is swept by whichever test starts next, maybe one beside this. */
  child = fork();
  if (child == 0)
    execl("/proc/self/exe", "sweeper", "sweep", (char *)NULL);
  assert_int_equal(waitpid(child, &how, 0), child);
  assert_int_equal(how, 0);
  assert_int_equal(access(news.directory, F_OK), -1);
}

int main(int count, char **arguments)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(it_answers_on_its_socket_and_on_its_port),
    cmocka_unit_test(answers_are_written_as_text),
    cmocka_unit_test(it_is_gone_after_kill_and_back_after_restart),
    cmocka_unit_test(a_paused_one_answers_nothing_until_resumed),
    cmocka_unit_test(options_give_it_a_password_and_arguments),
    cmocka_unit_test(tls_ones_come_with_certificates),
    cmocka_unit_test(sentinels_and_cluster_nodes_start_too),
    cmocka_unit_test(it_dies_with_a_killed_test_and_the_next_one_sweeps),
  };

  if (count > 1 && strcmp(arguments[1], "sweep") == 0) {
    (void)test_server_stop(test_server_start());
    return 0;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}

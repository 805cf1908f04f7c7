/* SPDX-License-Identifier: MIT */
/* test/live/local_idle_test.c - how long the private server stays: as long as somebody
 * uses it, and the idle time after that. */
#include "tests.h"

#include <stdint.h>

#include <sys/file.h>
#include <sys/socket.h>

#include <hiredis/hiredis.h>

#include "local/server_start.h"
#include "local_parts.h"

enum { IDLE_MS = 200, IDLE_MAX_MS = 3200 };

static int own_use = -1;

static dibs_local_info start(int32_t idle_ms)
{
  dibs_local_info info = { .size = sizeof(info) };

  assert_int_equal(dibs_local_start(idle_ms, false, &info, NULL), DIBS_OK);
  return info;
}

/* This program is a user until it leaves: however slow the machine, nothing is idle. */
static void be_a_user(void)
{
  place p;

  p = where();
  assert_int_equal(place_make(&p, NULL), DIBS_OK);
  assert_int_equal(lock_file(p.users_lock, LOCK_SH, clock_ms() + SOON_MS, &own_use, NULL),
                   DIBS_OK);
}

static void leave(void)
{
  (void)close(own_use);
  own_use = -1;
}

/* A child that uses the server until it is killed. */
static pid_t start_user(void)
{
  int ends[2];
  char byte = 0;
  pid_t child;

  assert_int_equal(pipe(ends), 0);
  child = fork_child();
  if (child == 0) {
    char url[320];
    int fd;
    if (own_use >= 0)
      leave();
    byte = local_join(url, sizeof(url), &fd, NULL) == DIBS_OK;
    (void)!write(ends[1], &byte, 1);
    (void)pause();
  }
  assert_int_equal(read(ends[0], &byte, 1), 1);
  assert_int_equal(byte, 1);
  (void)close(ends[0]);
  (void)close(ends[1]);
  return child;
}

TEST(it_ends_after_the_idle_time_with_socket_and_supervisor)
{
  dibs_local_info info;
  pid_t supervisor;
  int64_t before;
  place p;

  be_a_user();
  info = start(IDLE_MS);
  supervisor = supervisor_pid();
  p = where();
  before = clock_ms();
  leave();
  assert_true(soon_gone((pid_t)info.server_pid));
  assert_true(clock_ms() - before >= IDLE_MS);
  assert_true(soon_absent(p.socket));
  assert_true(soon_gone(supervisor));
  assert_int_equal(server_pid(), 0);
}

TEST(it_stays_while_it_is_used_and_ends_when_the_user_is_killed)
{
  dibs_local_info info;
  pid_t user;

  be_a_user();
  info = start(IDLE_MS);
  user = start_user();
  leave();
  /* Nothing happening is the fact: several idle times must pass. */
  nap_ms(5 * IDLE_MS);
  assert_false(is_gone((pid_t)info.server_pid));
  assert_int_equal(dibs_local_status(&info, NULL), DIBS_OK);
  assert_int_equal(info.users, 1);
  kill_and_wait(user);
  (void)promise_waitpid(user, NULL, 0);
  assert_true(soon_gone((pid_t)info.server_pid));
}

/* Uses the server for a moment, again and again. The longest time, as we saw it, from before
 * one use until after the next; the last look at the server counts as one. */
static int64_t use_in_a_row(int32_t idle_ms, pid_t server, bool *ret_is_there)
{
  int64_t until = clock_ms() + 5 * idle_ms, last = clock_ms(), longest = 0;

  while (clock_ms() < until) {
    int64_t begun = clock_ms(), done;
    char url[320];
    int fd;

    assert_int_equal(local_join(url, sizeof(url), &fd, NULL), DIBS_OK);
    (void)close(fd);
    done = clock_ms();
    longest = done - last > longest ? done - last : longest;
    last = begun;
    nap_ms(idle_ms / 10);
  }
  *ret_is_there = !is_gone(server) && server_pid() == server;
  return clock_ms() - last > longest ? clock_ms() - last : longest;
}

/* A machine that lets us wait for an idle time between two uses ends the server rightly:
 * then that round proves nothing, and the next is slower. */
TEST(short_uses_in_a_row_keep_it)
{
  int32_t idle_ms = IDLE_MS;
  bool is_proven = false;

  while (!is_proven) {
    dibs_local_info info;
    int64_t longest;
    bool is_there;

    be_a_user();
    info = start(idle_ms);
    leave();
    longest = use_in_a_row(idle_ms, (pid_t)info.server_pid, &is_there);
    is_proven = longest < idle_ms / 2;
    if (is_proven) {
      assert_true(is_there);
      assert_true(soon_gone((pid_t)info.server_pid));
    }
    assert_int_equal(dibs_local_stop(false, NULL), DIBS_OK);
    if (!is_proven && idle_ms >= IDLE_MAX_MS) {
      print_message("# this machine stood still for %lld ms\n", (long long)longest);
      skip();
    }
    idle_ms *= 2;
  }
}

TEST(an_adopted_server_ends_after_the_idle_time_too)
{
  dibs_local_info info = start(0);

  kill_and_wait(supervisor_pid());
  be_a_user();
  assert_int_equal(start(IDLE_MS).server_pid, info.server_pid);
  leave();
  assert_true(soon_gone((pid_t)info.server_pid));
}

/* It may have leases. */
TEST(a_hung_server_is_not_taken_for_an_empty_one)
{
  dibs_local_info info;

  be_a_user();
  info = start(IDLE_MS);
  assert_int_equal(kill((pid_t)info.server_pid, SIGSTOP), 0);
  leave();
  nap_ms(5 * IDLE_MS);            /* nothing happening is the fact */
  assert_false(is_gone((pid_t)info.server_pid));
  assert_int_equal(kill((pid_t)info.server_pid, SIGCONT), 0);
  assert_true(soon_gone((pid_t)info.server_pid));
}

/* Joins meet the moment of the idle stop again and again: whoever joined has a server. */
TEST(a_join_at_the_moment_of_the_stop_has_a_server)
{
  int fd;
  char url[320];

  for (int i = 0; i < 40; i++) {
    place p;
    (void)start(40);
    nap_ms(40 + i % 30);
    assert_int_equal(local_join(url, sizeof(url), &fd, NULL), DIBS_OK);
    p = where();
    nap_ms(20);
    assert_int_equal(ask_ping(p.socket, SOON_MS, NULL), ANSWER_PONG);
    assert_int_equal(servers_count(runtime), 1);
    (void)close(fd);
  }
}

TEST(a_server_that_nobody_can_find_any_more_is_ended)
{
  dibs_local_info info;
  pid_t user;
  place p;

  be_a_user();
  info = start(400);
  user = start_user();
  leave();
  p = where();
  nap_ms(250);                      /* the supervisor has seen it */
  assert_int_equal(unlink(p.socket), 0);
  assert_true(soon_gone((pid_t)info.server_pid));
  kill_and_wait(user);
  (void)promise_waitpid(user, NULL, 0);
}

TEST(users_are_processes_not_clients)
{
  dibs_local_info info = { .size = sizeof(info) };
  pid_t user = start_user();
  char url[320];
  int a, b;

  assert_int_equal(local_join(url, sizeof(url), &a, NULL), DIBS_OK);
  assert_int_equal(local_join(url, sizeof(url), &b, NULL), DIBS_OK);
  assert_int_equal(fcntl(a, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  assert_int_equal(dibs_local_status(&info, NULL), DIBS_OK);
  assert_int_equal(info.users, 2);
  (void)close(a);
  (void)close(b);
  assert_int_equal(dibs_local_status(&info, NULL), DIBS_OK);
  assert_int_equal(info.users, 1);
  kill_and_wait(user);
  (void)promise_waitpid(user, NULL, 0);
}

TEST(stop_ends_it_under_its_users)
{
  dibs_local_info info = start(0);
  pid_t user = start_user();

  assert_int_equal(dibs_local_stop(false, NULL), DIBS_OK);
  assert_true(is_gone((pid_t)info.server_pid));
  assert_int_equal(dibs_local_stop(false, NULL), DIBS_OK);
  assert_int_equal(server_pid(), 0);
  kill_and_wait(user);
  (void)promise_waitpid(user, NULL, 0);
}

static const char *server_says(const char *command)
{
  static char words[256];
  struct test_server *fake = calloc(1, sizeof(*fake));
  place p = where();

  (void)snprintf(fake->socket, sizeof(fake->socket), "%.95s", p.socket);
  (void)snprintf(words, sizeof(words), "%s", test_server_command(fake, command));
  free(fake);
  return words;
}

/* A lease that is not renewed is a key as this one, and no program needs to be there. */
TEST(it_stays_while_a_key_stands_and_ends_after_it)
{
  enum { KEY_MS = 8 * IDLE_MS };
  dibs_local_info info;
  int64_t before;

  be_a_user();
  info = start(IDLE_MS);
  before = clock_ms();
  assert_string_equal(server_says("SET lease mine PX 1600"), "OK");
  leave();
  assert_true(soon_gone((pid_t)info.server_pid));
  assert_true(clock_ms() - before >= KEY_MS);
}

TEST(it_stays_while_another_database_has_keys)
{
  struct test_server fake = { 0 };
  struct redisContext *line;
  dibs_local_info info;
  place p;

  be_a_user();
  info = start(IDLE_MS);
  p = where();
  (void)snprintf(fake.socket, sizeof(fake.socket), "%.95s", p.socket);
  line = test_server_connect(&fake);
  freeReplyObject(redisCommand(line, "SELECT 3"));
  freeReplyObject(redisCommand(line, "SET a b"));
  redisFree(line);
  leave();
  nap_ms(5 * IDLE_MS);            /* nothing happening is the fact */
  assert_false(is_gone((pid_t)info.server_pid));
  assert_int_equal(dibs_local_status(&info, NULL), DIBS_OK);
  assert_int_equal(info.keys, 1);
}

/* redis-cli, or a program that got the address as a URL. */
TEST(a_connection_keeps_it)
{
  struct test_server fake = { 0 };
  struct redisContext *line;
  dibs_local_info info;
  place p;

  be_a_user();
  info = start(IDLE_MS);
  p = where();
  (void)snprintf(fake.socket, sizeof(fake.socket), "%.95s", p.socket);
  line = test_server_connect(&fake);
  leave();
  nap_ms(5 * IDLE_MS);            /* nothing happening is the fact */
  assert_false(is_gone((pid_t)info.server_pid));
  redisFree(line);
  assert_true(soon_gone((pid_t)info.server_pid));
}

static void restart_without_aof(void)
{
  assert_int_equal(dibs_local_stop(false, NULL), DIBS_OK);
  assert_int_equal(dibs_local_start(0, false, NULL, NULL), DIBS_OK);
}

TEST(what_it_was_told_to_keep_it_keeps_until_told_to_forget)
{
  assert_int_equal(dibs_local_start(0, true, NULL, NULL), DIBS_OK);
  assert_string_equal(server_says("SET k v"), "OK");
  kill_and_wait(server_pid());
  assert_int_equal(dibs_local_start(0, false, NULL, NULL), DIBS_OK);
  assert_string_equal(server_says("GET k"), "v");
  assert_string_equal(server_says("SET k w"), "OK");
  restart_without_aof();
  assert_string_equal(server_says("GET k"), "w");
  assert_int_equal(dibs_local_stop(true, NULL), DIBS_OK);
  assert_int_equal(dibs_local_start(0, false, NULL, NULL), DIBS_OK);
  assert_string_equal(server_says("GET k"), "(nil)");
  assert_string_equal(server_says("SET k x"), "OK");
  restart_without_aof();
  assert_string_equal(server_says("GET k"), "(nil)");
}

TEST(a_server_that_runs_keeps_its_data_from_then_on)
{
  pid_t server;

  assert_int_equal(dibs_local_start(0, false, NULL, NULL), DIBS_OK);
  server = server_pid();
  assert_string_equal(server_says("SET k v"), "OK");
  (void)setenv("DIBS_LOCAL_AOF", "1", 1);
  assert_int_equal(dibs_local_start(0, false, NULL, NULL), DIBS_OK);
  (void)unsetenv("DIBS_LOCAL_AOF");
  assert_int_equal(server_pid(), server);
  kill_and_wait(server);
  assert_int_equal(dibs_local_start(0, false, NULL, NULL), DIBS_OK);
  assert_string_equal(server_says("GET k"), "v");
}

RUN_TESTS_EACH(NULL, NULL, setup, teardown)

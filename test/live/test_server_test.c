/* SPDX-License-Identifier: MIT */
/* test/live/test_server_test.c - the tests' own servers: one case for each thing that a test
 * would not notice if it did nothing. All else fails in the tests that use it. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "server.h"

#define SOME_DAY_US 1700000000123456

/* ---- a clock of its own ---- */

static struct test_server *start_with_clock(void)
{
  return test_server_start_with(&(struct test_server_options){ .has_clock = true });
}

static int64_t server_us(const struct test_server *s)
{
  const char *answer = test_server_command(s, "TIME");
  long long seconds, micros;

  assert_int_equal(sscanf(answer, "[%lld, %lld]", &seconds, &micros), 2);
  return seconds * 1000000 + micros;
}

static int64_t true_us(void)
{
  struct timespec now;

  assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void assert_frozen_at(const struct test_server *s, int64_t us)
{
  int64_t theirs = server_us(s);

  assert_true(theirs >= us);
  assert_true(theirs <= us + test_server_clock_creep_us(s));
}

/* By no more and no less than what passed while it was asked, but for what it guesses. */
static void assert_shifted_by(const struct test_server *s, int64_t ms)
{
  int64_t creep = test_server_clock_creep_us(s) / 100;
  int64_t before = true_us(), theirs = server_us(s), after = true_us();

  assert_true(theirs >= before + ms * 1000 - creep);
  assert_true(theirs <= after + ms * 1000 + creep);
}

TEST(a_frozen_clock_stands_still_until_it_is_thawed)
{
  struct test_server *s = start_with_clock();

  test_server_clock_shift(s, 5000);
  test_server_clock_freeze(s, SOME_DAY_US);
  for (int i = 0; i < 3; i++)
    assert_frozen_at(s, SOME_DAY_US);
  test_server_clock_freeze(s, SOME_DAY_US + 1);
  assert_frozen_at(s, SOME_DAY_US + 1);
  test_server_clock_thaw(s);
  assert_shifted_by(s, 5000);
  s = test_server_stop(s);
}

/* ---- power ---- */

static struct test_server *start_with_power(void)
{
  /* Read again at each restart. */
  static const char *const arguments[] = { "--appendonly", "yes", "--appendfsync", "no", NULL };

  return test_server_start_with(&(struct test_server_options){
    .arguments = arguments, .can_lose_power = true });
}

static void write_keys(const struct test_server *s, int from, int to)
{
  for (int i = from; i < to; i++)
    assert_string_equal(test_server_command(s, "SET key:%d %d", i, i), "OK");
}

/* A change of the policy syncs with the next write: what came before it is kept. */
TEST(what_came_after_the_last_sync_is_lost)
{
  struct test_server *s = start_with_power();

  write_keys(s, 0, 20);
  assert_string_equal(test_server_command(s, "CONFIG SET appendfsync always"), "OK");
  write_keys(s, 20, 21);
  assert_string_equal(test_server_command(s, "CONFIG SET appendfsync no"), "OK");
  write_keys(s, 21, 30);
  assert_true(test_server_lose_power(s) > 9 * 20);
  test_server_restart(s, true);
  assert_int_equal(test_server_integer(s, "DBSIZE"), 21);
  s = test_server_stop(s);
}

/* ---- its end ---- */

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

TEST(it_dies_with_a_killed_test_and_the_next_one_sweeps)
{
  struct news news = start_in_a_child_that_is_killed();
  pid_t child;
  int how;

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
  if (count > 1 && strcmp(arguments[1], "sweep") == 0) {
    (void)test_server_stop(test_server_start());
    return 0;
  }
  return tests_run(NULL, NULL, NULL, NULL);
}

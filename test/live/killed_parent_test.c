/* SPDX-License-Identifier: MIT */
/* test/live/killed_parent_test.c - what a killed process had ends with it, although a child that
 * fork() made lives on: the child keeps none of its connections and files open. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"

enum { TTL_MS = 120000 };             /* longer than any limit here */

static char directory[] = "/tmp/dibs-killed-XXXXXX";
static int ready[2], life[2];         /* life: its end ends the children of the killed */

static int setup(void **state)
{
  if (mkdtemp(directory) == NULL || setenv("DIBS_LOCAL_DIR", directory, 1) != 0)
    return 1;
  (void)unsetenv("DIBS_NO_LOCAL");
  return live_server_setup(state);
}

static int teardown(void **state)
{
  char command[64];

  (void)snprintf(command, sizeof(command), "rm -rf %s", directory);
  (void)!system(command);
  return live_server_teardown(state);
}

/* The clients of its parent are left as they are: that is the fact. */
static void be_the_child_that_lives_on(void)
{
  char byte;

  if (fork() != 0)
    return;
  (void)!write(ready[1], "c", 1);
  (void)!read(life[0], &byte, 1);
  _exit(0);
}

/* Starts a process that does `work`, has a child and then only waits to be killed. Returns when
 * both are there. */
static pid_t start(void (*work)(void))
{
  char byte = 0;
  pid_t process;

  assert_int_equal(pipe(ready), 0);
  assert_int_equal(pipe(life), 0);
  (void)fflush(NULL);
  process = fork();
  assert_true(process >= 0);
  if (process == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)close(life[1]);
    work();
    be_the_child_that_lives_on();
    for (;;)
      (void)pause();
  }
  (void)close(ready[1]);
  assert_int_equal(read(ready[0], &byte, 1), 1);
  (void)close(ready[0]);
  return process;
}

static void kill_only(pid_t process)
{
  assert_int_equal(kill(process, SIGKILL), 0);
  assert_int_equal(promise_waitpid(process, NULL, 0), process);
}

static void end_its_child(void)
{
  (void)close(life[0]);
  (void)close(life[1]);
}

static int connections(void)
{
  const char *at = test_server_command(live_server, "CLIENT LIST");
  int count = 0;

  for (; (at = strstr(at, " name=dibs:")) != NULL; at++)
    count++;
  return count;
}

static bool has_connections(void *count)
{
  return connections() == *(int *)count;
}

static void request_ended(const dibs_error *error, dibs_hold *got, void *data)
{
  (void)error;
  (void)got;
  (void)data;
}

static void queue_up(void)
{
  dibs_options o = live_options();
  dibs_lock_options ask = live_lock_options(TTL_MS, DIBS_FOREVER);
  dibs_client *own = NULL;

  if (dibs_open(live_url(), &o, &own, NULL) != DIBS_OK ||
      dibs_lock_async(own, "queue", &ask, request_ended, NULL, NULL) != DIBS_OK)
    _exit(1);
}

TEST(a_killed_waiter_is_passed_over)
{
  live_needs_one_server();
  dibs_client *client = live_open(live_url()), *next = live_open(live_url());
  dibs_hold *hold = live_lock(client, "queue", TTL_MS);
  dibs_lock_options o = live_lock_options(TTL_MS, DIBS_FOREVER);
  struct live_ask ask;
  pid_t process;
  int left;

  process = start(queue_up);
  live_expect_waiters(live_server, "queue", 1);
  live_ask_begin(&ask, next, "queue", &o);
  live_expect_waiters(live_server, "queue", 2);
  left = connections() - 2;           /* without its commands and its inbox */
  kill_only(process);
  assert_true(live_until(LIVE_LONG_MS, has_connections, &left));
  assert_int_equal(dibs_release(hold), DIBS_OK);
  hold = live_ask_granted(&ask, LIVE_LONG_MS);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  end_its_child();
  client = dibs_close(client);
  next = dibs_close(next);
}

static dibs_client *open_without_server(void)
{
  dibs_options o = live_options();

  o.connect_timeout_ms = 200;
  o.degrade = DIBS_DEGRADE_LOCAL;
  return live_open_with("unix:///nowhere/dibs.sock", &o);
}

static void take_on_this_machine(void)
{
  dibs_client *own = open_without_server();
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *hold = NULL;

  if (dibs_lock(own, "here", &o, &hold) != DIBS_OK)
    _exit(1);
}

TEST(a_lock_of_this_machine_ends_with_its_process)
{
  dibs_client *client = open_without_server();
  pid_t process = start(take_on_this_machine);

  live_refused(live_try(client, "here"), DIBS_BUSY);
  kill_only(process);
  assert_int_equal(live_try(client, "here"), DIBS_OK);
  end_its_child();
  client = dibs_close(client);
}

static void use_the_private_server(void)
{
  dibs_options o = live_options();
  dibs_client *own = NULL;

  o.flags = 0;                       /* without DIBS_CLIENT_NO_LOCAL */
  if (dibs_open("local:", &o, &own, NULL) != DIBS_OK)
    _exit(1);
}

static int users(void)
{
  dibs_local_info info = { .size = sizeof(info) };

  assert_int_equal(dibs_local_status(&info, NULL), DIBS_OK);
  return (int)info.users;
}

TEST(the_private_server_has_no_user_any_more)
{
  pid_t process;

  if (dibs_local_start(0, false, NULL, NULL) != DIBS_OK)
    skip();
  process = start(use_the_private_server);
  assert_int_equal(users(), 1);
  kill_only(process);
  assert_int_equal(users(), 0);
  end_its_child();
  assert_int_equal(dibs_local_stop(false, NULL), DIBS_OK);
}

int main(void)
{
  if (live_is_lost_to_tsan())
    return 0;

  return tests_run(setup, teardown, NULL, NULL);
}

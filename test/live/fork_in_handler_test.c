/* SPDX-License-Identifier: MIT */
/* test/live/fork_in_handler_test.c - a signal handler that forks while its thread is in a call of
 * the library: the child sends nothing and takes nothing, whatever it does, and the parent's call
 * ends as if there was none. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"

/* Until its timers make a child connect that goes on; until it has an answer. */
enum { ENDED = 7, FORKS = 40, WAITS_MS = 4000, STAYS_MS = 1500 };

/* Of a process that forks in its handler: */
static dibs_client *client;
static dibs_hold *kept;
static pid_t child;
static int child_pipe[2];
static volatile sig_atomic_t forks;

/* ---- processes ---- */

struct ending { pid_t pid; int status; };

static bool has_ended(void *data)
{
  struct ending *e = data;

  return promise_waitpid(e->pid, &e->status, WNOHANG) == e->pid;
}

static void expect_end(pid_t pid)
{
  struct ending e = { .pid = pid };
  bool ends = live_until(LIVE_LONG_MS, has_ended, &e);

  if (!ends) {
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, &e.status, 0);
  }
  assert_true(ends);
  assert_int_equal(e.status, ENDED << 8);
}

static pid_t start(void (*run)(uint32_t flags), uint32_t flags)
{
  pid_t pid;

  (void)fflush(NULL);
  pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);   /* a test that failed leaves none behind */
    run(flags);
    _exit(1);
  }
  return pid;
}

static void open_and_keep(uint32_t flags)
{
  dibs_options o = live_options();

  o.flags |= flags;
  if (dibs_open(live_url(), &o, &client, NULL) != DIBS_OK ||
      dibs_lock(client, "kept", NULL, &kept) != DIBS_OK)
    _exit(2);
}

/* Of one server: it has its first two connections, for commands and for messages. */
static bool is_untouched(void)
{
  dibs_client_info info = DIBS_CLIENT_INFO_INIT;

  return dibs_client_get_info(client, &info) == DIBS_OK && info.connects <= 2 &&
         dibs_hold_state(kept) == DIBS_HOLD_HELD && dibs_release(kept) == DIBS_OK;
}

/* ---- the child goes on in the call ---- */

static void fork_and_return(int number)
{
  (void)number;
  child = fork();
  if (child == 0)
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  else
    (void)!write(child_pipe[1], &child, sizeof(child));
}

/* A child that came back from its call would be a second waiter, or holder, by the parent's id. */
static void wait_for_a_lock(uint32_t flags)
{
  dibs_hold *hold = NULL;
  dibs_status status;
  struct ending e = { .status = 0 };

  open_and_keep(flags);
  if (signal(SIGUSR1, fork_and_return) == SIG_ERR)
    _exit(3);
  status = dibs_lock(client, "w", NULL, &hold);
  if (child == 0)
    promise_kept(false, "a forked child came back from its parent's call");
  e.pid = child;
  if (status != DIBS_OK || live_until(STAYS_MS, has_ended, &e))
    _exit(4);
  if (!is_untouched() || dibs_release(hold) != DIBS_OK)
    _exit(5);
  client = dibs_close(client);
  (void)kill(child, SIGKILL);
  (void)waitpid(child, NULL, 0);
  _exit(ENDED);
}

static bool is_queued(void *other)
{
  dibs_inspection *seen = NULL;
  bool is_so = dibs_inspect(other, dibs_text("w"), &seen) == DIBS_OK && seen->waiter_count == 1;

  (void)dibs_inspection_free(seen);
  return is_so;
}

struct sockets { pid_t pid; int before; };

static int sockets_of(pid_t pid)
{
  char words[64];
  FILE *list;
  int count = -1;

  (void)snprintf(words, sizeof(words), "ls -l /proc/%d/fd | grep -c socket", (int)pid);
  list = popen(words, "r");
  assert_non_null(list);
  assert_int_equal(fscanf(list, "%d", &count), 1);
  (void)pclose(list);
  return count;
}

static bool has_connected(void *data)
{
  const struct sockets *s = data;

  return sockets_of(s->pid) > s->before;
}

static void the_waiter_forks(dibs_client *other, uint32_t flags)
{
  dibs_hold *w = live_lock(other, "w", 60000);
  pid_t waiter = start(wait_for_a_lock, flags);
  struct sockets behind;
  bool connects;

  assert_true(live_until(LIVE_LONG_MS, is_queued, other));
  assert_int_equal(kill(waiter, SIGUSR1), 0);
  assert_int_equal(read(child_pipe[0], &behind.pid, sizeof(behind.pid)),
                   (ssize_t)sizeof(behind.pid));
  behind.before = sockets_of(behind.pid);
  connects = live_until(WAITS_MS, has_connected, &behind);
  assert_int_equal(dibs_release(w), DIBS_OK);
  expect_end(waiter);
  promise_kept(!connects, "a forked child connected by its parent's id");
  live_expect_free(other, "w", LIVE_LONG_MS);
}

static dibs_client *open_without_threads(void)
{
  dibs_options o = live_options();

  o.flags |= DIBS_CLIENT_NO_THREAD;      /* ThreadSanitizer allows no fork beside threads */
  return live_open_with(live_url(), &o);
}

TEST(a_child_that_goes_on_in_the_call_gets_nothing)
{
  dibs_client *other;

  live_needs_one_server();
  other = open_without_threads();
  assert_int_equal(pipe(child_pipe), 0);
  the_waiter_forks(other, 0);
  the_waiter_forks(other, DIBS_CLIENT_NO_THREAD);
  (void)close(child_pipe[0]);
  (void)close(child_pipe[1]);
  other = dibs_close(other);
}

/* ---- the child calls the library in the handler, and ends ---- */

static int call_in_the_child(void)
{
  dibs_hold *none = NULL;
  dibs_status tried = dibs_lock(client, "often", NULL, &none), released = dibs_release(kept);
  bool is_gone = dibs_hold_state(kept) == DIBS_HOLD_GONE;

  (void)dibs_close(client);
  return tried == DIBS_ERR_FORKED && released == DIBS_ERR_FORKED && is_gone ? 0 : 1;
}

static void fork_and_call(int number)
{
  int status = 0;
  pid_t pid = fork();

  (void)number;
  if (pid == 0)
    _exit(call_in_the_child());
  if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
    _exit(6);
  forks++;
}

/* One thread: in others fork() itself may wait for an allocation that the handler interrupted. */
static void call_until_it_has_forked(uint32_t flags)
{
  struct itimerval at = { .it_value.tv_usec = 1 };
  dibs_hold *hold = NULL;

  open_and_keep(flags);
  if (signal(SIGALRM, fork_and_call) == SIG_ERR)
    _exit(3);
  for (int n = 0; forks < FORKS; n++) {
    at.it_value.tv_usec = 1 + n * 7919 % 700;
    (void)setitimer(ITIMER_REAL, &at, NULL);
    if (dibs_lock(client, "often", NULL, &hold) != DIBS_OK || dibs_release(hold) != DIBS_OK)
      _exit(4);
  }
  if (!is_untouched())
    _exit(5);
  client = dibs_close(client);
  _exit(ENDED);
}

TEST(a_child_that_calls_in_the_handler_is_refused_and_ends)
{
  live_needs_one_server();
  expect_end(start(call_until_it_has_forked, DIBS_CLIENT_NO_THREAD));
}

int main(void)
{
  if (live_is_lost_to_tsan())        /* it also refuses to let a handler call what this one calls */
    return 0;

  return tests_run(NULL, NULL, live_server_setup, live_server_teardown);
}

/* SPDX-License-Identifier: MIT */
/* test/live/close_inside_test.c - dibs_close() while a call or a callback of the client has not
 * ended: by exit() in a signal handler, and by another thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"

/* ---- a static client, and exit() in a handler ---- */

enum { REFUSED = 7, CLOSED = 8 };

static dibs_client *of_the_program;

static void on_signal(int number)
{
  (void)number;
  exit(0);
}

/* As the destructor of a static object. */
static void close_at_exit(void)
{
  _exit(dibs_close(of_the_program) == of_the_program ? REFUSED : CLOSED);
}

static _Noreturn void wait_in_a_child(uint32_t flags)
{
  dibs_options o = live_options();
  dibs_hold *hold = NULL;

  o.flags |= flags;
  o.connect_timeout_ms = o.command_timeout_ms = LIVE_LONG_MS;
  if (dibs_open(live_url(), &o, &of_the_program) != DIBS_OK || atexit(close_at_exit) != 0 ||
      signal(SIGUSR1, on_signal) == SIG_ERR)
    _exit(1);
  (void)!dibs_lock(of_the_program, "w", NULL, &hold);
  _exit(2);
}

static bool is_queued(void *client)
{
  dibs_inspection *seen = NULL;
  bool is_so = dibs_inspect(client, "w", &seen) == DIBS_OK && seen->waiter_count == 1;

  (void)dibs_inspection_free(seen);
  return is_so;
}

struct ending { pid_t child; int status; };

static bool has_ended(void *data)
{
  struct ending *e = data;

  return waitpid(e->child, &e->status, WNOHANG) == e->child;
}

static void interrupt_a_waiter(uint32_t flags)
{
  struct ending e = { .child = 0 };
  dibs_client *other;
  bool ends;

  (void)fflush(NULL);
  e.child = fork();
  assert_true(e.child >= 0);
  if (e.child == 0)
    wait_in_a_child(flags);
  other = live_open(live_url());
  assert_true(live_until(LIVE_LONG_MS, is_queued, other));
  assert_int_equal(kill(e.child, SIGUSR1), 0);
  ends = live_until(LIVE_LONG_MS, has_ended, &e);
  if (!ends) {
    (void)kill(e.child, SIGKILL);
    (void)waitpid(e.child, &e.status, 0);
  }
  assert_true(ends);
  assert_int_equal(e.status, REFUSED << 8);
  other = dibs_close(other);
}

static void exit_in_a_handler_does_not_wait_for_the_interrupted_call(void **state)
{
  dibs_options o = live_options();
  dibs_client *first;
  dibs_hold *hold;

  (void)state;
  o.flags |= DIBS_CLIENT_NO_THREAD;      /* ThreadSanitizer allows no fork beside threads */
  first = live_open_with(live_url(), &o);
  hold = live_lock(first, "w", 60000);
  interrupt_a_waiter(0);
  live_expect(first, dibs_release(hold), DIBS_OK);
  live_expect_free(first, "w", LIVE_LONG_MS);
  hold = live_lock(first, "w", 60000);
  interrupt_a_waiter(DIBS_CLIENT_NO_THREAD);
  live_expect(first, dibs_release(hold), DIBS_OK);
  first = dibs_close(first);
}

/* ---- a callback that takes longer than close_timeout_ms ---- */

static sem_t has_begun, may_end;
static _Atomic bool is_over;

static void take_long(const dibs_error *error, void *data)
{
  (void)error;
  (void)data;
  (void)sem_post(&has_begun);
  while (sem_wait(&may_end) != 0)
    continue;
  atomic_store(&is_over, true);
}

static void *close_it(void *client)
{
  client = dibs_close(client);
  if (client != NULL || !atomic_load(&is_over))
    live_fault("dibs_close() returned before the callback");
  return NULL;
}

static bool is_closing(void *client)
{
  dibs_status status = dibs_ping(client, 1000, NULL);

  return status == DIBS_ERR_CLOSED || status == DIBS_ERR_STALE;
}

static void close_returns_after_the_callback_that_runs(void **state)
{
  dibs_options o = live_options();
  int faults = live_faults();
  pthread_t closer;
  dibs_client *c;

  (void)state;
  o.close_timeout_ms = 1;
  c = live_open_with(live_url(), &o);
  live_expect(c, dibs_release_async(live_lock(c, "r", 30000), take_long, NULL), DIBS_OK);
  assert_int_equal(sem_wait(&has_begun), 0);
  assert_int_equal(pthread_create(&closer, NULL, close_it, c), 0);
  assert_true(live_until(LIVE_LONG_MS, is_closing, c));
  assert_int_equal(sem_post(&may_end), 0);
  assert_int_equal(pthread_join(closer, NULL), 0);
  assert_int_equal(live_faults() - faults, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(exit_in_a_handler_does_not_wait_for_the_interrupted_call),
    cmocka_unit_test(close_returns_after_the_callback_that_runs),
  };

  (void)sem_init(&has_begun, 0, 0);
  (void)sem_init(&may_end, 0, 0);
  return cmocka_run_group_tests(tests, live_server_setup, live_server_teardown);
}

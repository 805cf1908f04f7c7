/* SPDX-License-Identifier: MIT */
/* test/live/interrupted_call_test.c - a signal handler that interrupted a call of the library: no
 * other call waits there for the interrupted one, and exit() ends the program. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <signal.h>
#include <sys/time.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "every_call.h"
#include "other_calls.h"

/* A call that waits in a handler waits for longer than the test. */
enum { ENDED = 7, STORM = 30, TOO_LONG_MS = 4 * LIVE_LONG_MS };

/* ThreadSanitizer: a handler between two calls may release, and the library allocates then; and
 * exit() in dibs_close() leaves a thread that is not joined. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
  return "report_signal_unsafe=0:report_thread_leaks=0";
}

static struct things of_the_program;

/* ---- children ---- */

struct ending { pid_t child; int status; };

static bool has_ended(void *data)
{
  struct ending *e = data;

  return waitpid(e->child, &e->status, WNOHANG) == e->child;
}

static void expect_end(pid_t child)
{
  struct ending e = { .child = child };
  bool ends = live_until(LIVE_LONG_MS, has_ended, &e);

  if (!ends) {
    (void)kill(child, SIGKILL);
    (void)waitpid(child, &e.status, 0);
  }
  assert_true(ends);
  assert_int_equal(e.status, ENDED << 8);
}

static pid_t start(void (*run)(uint32_t flags), uint32_t flags)
{
  pid_t child;

  (void)fflush(NULL);
  child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);   /* a test that failed leaves none behind */
    run(flags);
    _exit(1);
  }
  return child;
}

/* As the destructors of static objects, or a program's own functions of atexit(). */
static void end_all(void)
{
  (void)dibs_release(of_the_program.hold);
  (void)dibs_observer_free(of_the_program.observer);
  (void)dibs_close(of_the_program.client);
  _exit(ENDED);
}

/* ---- every function, while a lock is waited for ---- */

static void not_refused(const char *function)
{
  (void)fprintf(stderr, "# %s was not refused in a signal handler\n", function);
  _exit(2);
}

#define CHECK_REFUSED(function, call) \
  if (!(call)) \
    not_refused(#function);

static void call_everything(int number)
{
  static struct trial trial;
  struct things *t = &of_the_program;

  (void)number;
  for (size_t i = 0; i < ROW_COUNT; i++) {
    trial = trial_of(i, live_url(), NULL);
    if (rows[i].call(t->client, &trial) != DIBS_ERR_WOULD_BLOCK)
      not_refused(rows[i].function);
  }
  CALLS_OF_HANDLES(CHECK_REFUSED)
  exit(0);
}

static void wait_for_a_lock(uint32_t flags)
{
  dibs_options o = live_options();
  dibs_hold *hold = NULL;

  o.flags |= flags;
  o.connect_timeout_ms = o.command_timeout_ms = TOO_LONG_MS;
  if (things_begin(&of_the_program, live_url(), &o) != DIBS_OK ||
      atexit(end_all) != 0 || signal(SIGUSR1, call_everything) == SIG_ERR)
    _exit(3);
  (void)!dibs_lock(of_the_program.client, "w", NULL, &hold);
}

static bool is_queued(void *client)
{
  dibs_inspection *seen = NULL;
  bool is_so = dibs_inspect(client, dibs_text("w"), &seen) == DIBS_OK && seen->waiter_count == 1;

  (void)dibs_inspection_free(seen);
  return is_so;
}

static void interrupt_a_waiter(dibs_client *other, uint32_t flags)
{
  dibs_hold *queued = live_lock(other, "queued", 60000), *w = live_lock(other, "w", 60000);
  pid_t child = start(wait_for_a_lock, flags);

  assert_true(live_until(LIVE_LONG_MS, is_queued, other));
  assert_int_equal(kill(child, SIGUSR1), 0);
  expect_end(child);
  live_expect(other, dibs_release(queued), DIBS_OK);
  live_expect(other, dibs_release(w), DIBS_OK);
  live_tell_all("FLUSHALL");             /* what the child had expires late */
}

static dibs_client *open_without_threads(void)
{
  dibs_options o = live_options();

  o.flags |= DIBS_CLIENT_NO_THREAD;      /* ThreadSanitizer allows no fork beside threads */
  return live_open_with(live_url(), &o);
}

TEST(no_call_in_a_handler_waits_for_the_interrupted_one)
{
  dibs_client *other = open_without_threads();

  interrupt_a_waiter(other, 0);
  interrupt_a_waiter(other, DIBS_CLIENT_NO_THREAD);
  interrupt_a_waiter(other, DIBS_CLIENT_PROCESS_CALLBACKS);
  if (live_place() == LIVE_ONE)
    interrupt_a_waiter(other, DIBS_CLIENT_DETECT_DEADLOCK);
  other = dibs_close(other);
}

/* ---- exit() at any moment ---- */

static void exit_now(int number)
{
  (void)number;
  exit(0);
}

static void call_until_a_signal_comes(uint32_t delay_us)
{
  struct itimerval at = { .it_value.tv_usec = (suseconds_t)delay_us };
  struct things *t = &of_the_program;
  dibs_options o = live_options();
  dibs_hold *hold = NULL;

  o.flags |= delay_us % 2 == 0 ? DIBS_CLIENT_NO_THREAD : 0;
  o.connect_timeout_ms = o.command_timeout_ms = TOO_LONG_MS;
  if (dibs_open(live_url(), &o, &t->client, NULL) != DIBS_OK ||
      dibs_lock(t->client, "kept", NULL, &t->hold) != DIBS_OK || atexit(end_all) != 0 ||
      signal(SIGALRM, exit_now) == SIG_ERR || setitimer(ITIMER_REAL, &at, NULL) != 0)
    _exit(3);
  for (;;) {
    if (dibs_lock(t->client, "often", NULL, &hold) == DIBS_OK)
      (void)dibs_release(hold);
    (void)!dibs_ping(t->client, 0, NULL);
    (void)!dibs_hold_name(t->hold, 0, NULL, 0, NULL);
    if (dibs_open(live_url(), &o, &t->opened, NULL) == DIBS_OK)
      t->opened = dibs_close(t->opened);
  }
}

TEST(exit_in_a_handler_ends_the_program_at_any_moment)
{
  for (uint32_t i = 1; i <= (uint32_t)live_times(STORM); i++) {
    expect_end(start(call_until_a_signal_comes, 1 + i * 7919 % 20000));
    live_tell_all("FLUSHALL");
  }
}

/* ---- at each allocation, also before the mutex is taken ---- */

static dibs_client *another;
static dibs_hold *kept;
static bool raises;
static int refused, accepted;

static void release_what_is_kept(int number)
{
  (void)number;
  raises = false;
  if (dibs_release(kept) == DIBS_ERR_WOULD_BLOCK && dibs_close(another) == another)
    refused++;
  else
    accepted++;
  raises = true;
}

static void *allocate(size_t amount, void *data)
{
  (void)data;
  if (raises)
    (void)raise(SIGUSR1);
  return malloc(amount);
}

static void *reallocate(void *old, size_t amount, void *data)
{
  (void)data;
  if (raises)
    (void)raise(SIGUSR1);
  return realloc(old, amount);
}

static void release(void *old, void *data)
{
  (void)data;
  free(old);
}

static bool ping(dibs_family family, const char *name, size_t size, void *client)
{
  (void)family;
  (void)name;
  (void)size;
  if (dibs_ping(client, 0, NULL) == DIBS_OK)
    accepted++;
  return true;
}

TEST(a_handler_is_told_from_a_callback)
{
  dibs_allocator allocator = { allocate, reallocate, release, NULL };
  dibs_options o = live_options();
  dibs_client *c = NULL;
  dibs_hold *hold = NULL;

  o.flags |= DIBS_CLIENT_NO_THREAD;
  another = live_open_with(live_url(), &o);
  kept = live_lock(another, "kept", 60000);
  assert_true(signal(SIGUSR1, release_what_is_kept) != SIG_ERR);
  o.allocator = &allocator;
  raises = true;
  live_expect_ok(dibs_open(live_url(), &o, &c, NULL));
  live_expect_ok(dibs_lock(c, "often", NULL, &hold));
  live_expect_ok(dibs_release(hold));
  assert_null(dibs_close(c));
  raises = false;
  assert_true(refused > 10);
  assert_int_equal(accepted, 0);
  live_expect_ok(dibs_list_names(another, DIBS_FAMILY_LOCK, NULL, ping, another));
  assert_true(accepted > 0);             /* a callback may call */
  live_expect_ok(dibs_release(kept));
  another = dibs_close(another);
}

/* ---- what only reads ---- */

static void read_everything(int number)
{
  struct things *t = &of_the_program;

  (void)number;
  if (dibs_hold_state(t->hold) != DIBS_HOLD_HELD || dibs_hold_fence(t->hold) == 0 ||
      dibs_client_id(t->client)[0] == 0)
    not_refused("a function that only reads");
  dibs_cancel(t->canceller);
}

static void wait_until_cancelled(uint32_t flags)
{
  dibs_lock_options lock = DIBS_LOCK_OPTIONS_INIT;
  dibs_options o = live_options();
  dibs_hold *hold = NULL;

  o.flags |= flags;
  if (things_begin(&of_the_program, live_url(), &o) != DIBS_OK ||
      signal(SIGUSR1, read_everything) == SIG_ERR)
    _exit(3);
  lock.cancel = of_the_program.canceller;
  if (dibs_lock(of_the_program.client, "w", &lock, &hold) != DIBS_CANCELLED)
    _exit(4);
  things_end(&of_the_program);
  _exit(ENDED);
}

TEST(a_handler_may_cancel_and_read)
{
  dibs_client *other = open_without_threads();
  dibs_hold *queued = live_lock(other, "queued", 60000), *w = live_lock(other, "w", 60000);
  pid_t child = start(wait_until_cancelled, 0);

  assert_true(live_until(LIVE_LONG_MS, is_queued, other));
  assert_int_equal(kill(child, SIGUSR1), 0);
  expect_end(child);
  live_expect(other, dibs_release(queued), DIBS_OK);
  live_expect(other, dibs_release(w), DIBS_OK);
  other = dibs_close(other);
}

int main(void)
{
  if (live_is_beyond(LIVE_CLUSTER))
    return 0;

  return tests_run(live_server_setup, live_server_teardown, NULL, NULL);
}

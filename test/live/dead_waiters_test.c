/* SPDX-License-Identifier: MIT */
/* test/live/dead_waiters_test.c - fifty waiters that were killed in the queue delay
 * the live one behind them by next to nothing, whatever they waited for (L2). */
#include "tests.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"

enum { DEAD = 50, TTL_MS = 20000, DELAY_MS = 2000 };

static dibs_client *holder, *waiter;

static int setup(void **state)
{
  (void)live_server_setup(state);
  holder = live_open(live_url());
  waiter = live_open(live_url());
  return 0;
}

static int teardown(void **state)
{
  holder = dibs_close(holder);
  waiter = dibs_close(waiter);
  live_expect_clean_but_presence(live_server);
  return live_server_teardown(state);
}

static void nothing(const dibs_error *error, dibs_hold *hold, void *data)
{
  (void)error;
  (void)hold;
  (void)data;
}

static dibs_status begin(dibs_client *client, char mode, const char *name)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);

  switch (mode) {
  case 'm':
    return dibs_lock_async(client, name, &o, nothing, NULL, NULL);
  case 'w':
    return dibs_acquire_async(client, DIBS_WRITE(name), &o, nothing, NULL, NULL);
  case 'r':
    return dibs_acquire_async(client, DIBS_READ(name), &o, nothing, NULL, NULL);
  default:
    return dibs_acquire_async(client, DIBS_PERMITS(name, 2), &o, nothing, NULL, NULL);
  }
}

/* A process of fifty clients, each of which queues up. */
static pid_t queue_up(char mode, const char *name)
{
  pid_t child = fork();

  if (child != 0)
    return child;
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int i = 0; i < DEAD; i++) {
    dibs_client *client = NULL;

    if (dibs_open(live_url(), NULL, &client, NULL) != DIBS_OK ||
        begin(client, mode, name) != DIBS_OK)
      _exit(1);
  }
  for (;;)
    pause();
}

static void expect_queue(const char *name, size_t waiters)
{
  int64_t until = live_now_ms() + LIVE_LONG_MS;
  size_t found = 0;

  do {
    dibs_inspection *in = NULL;

    assert_int_equal(dibs_inspect(holder, dibs_text(name), &in), DIBS_OK);
    found = in->waiter_count;
    in = dibs_inspection_free(in);
  } while (found != waiters && live_now_ms() < until);
  assert_int_equal(found, waiters);
}

static dibs_hold *take(char mode, const char *name)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  dibs_hold *hold = NULL;
  dibs_status status;

  if (mode == 'm')
    status = dibs_lock(holder, name, &o, &hold);
  else if (mode == 'p')
    status = dibs_acquire(holder, DIBS_PERMITS(name, 2), &o, &hold);
  else
    status = dibs_acquire(holder, DIBS_WRITE(name), &o, &hold);
  live_expect(holder, status, DIBS_OK);
  return hold;
}

static void killed_in_the_queue(char mode)
{
  char name[] = "dead-?";
  struct live_ask live;
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  int64_t freed_at;
  dibs_hold *hold;
  pid_t child;

  name[5] = mode;
  if (mode == 'p')
    live_expect(holder, dibs_semaphore_set(holder, dibs_text(name), 2, 0, NULL), DIBS_OK);
  hold = take(mode, name);
  child = queue_up(mode, name);
  expect_queue(name, DEAD);
  live_ask_init(&live);
  if (mode == 'm')
    live_ask_begin(&live, waiter, name, &o);
  else
    live_ask_begin_as(&live, waiter, mode == 'p' ? '2' : 'w', name, &o);
  expect_queue(name, DEAD + 1);
  assert_int_equal(kill(child, SIGKILL), 0);
  assert_int_equal(promise_waitpid(child, NULL, 0), child);
  expect_queue(name, 1);                /* those that were killed do not count */
  freed_at = live_now_ms();
  assert_int_equal(dibs_release(hold), DIBS_OK);
  assert_int_equal(dibs_release(live_ask_granted(&live, LIVE_LONG_MS)), DIBS_OK);
  assert_true(live.ended_at_ms - freed_at < DELAY_MS);
  if (mode == 'p')
    live_expect(holder, dibs_semaphore_delete(holder, dibs_text(name)), DIBS_OK);
}

TEST(fifty_dead_waiters_for_a_mutex)
{
  killed_in_the_queue('m');
}

TEST(fifty_dead_writers)
{
  live_needs_keys();
  killed_in_the_queue('w');
}

TEST(fifty_dead_readers)
{
  killed_in_the_queue('r');
}

TEST(fifty_dead_waiters_for_permits)
{
  killed_in_the_queue('p');
}

RUN_TESTS(setup, teardown)

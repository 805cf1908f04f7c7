/* SPDX-License-Identifier: MIT */
/* test/live/early_release_test.c - on_lost releases a hold before the call that took it has
 * returned: its thread did not run for longer than the lease. */
#include "tests.h"

#include <stdint.h>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "live.h"

enum { SHORT_MS = 500, HELD_UP_MS = 20000 };

/* A thread that takes a lock, and is held up in a signal handler until on_lost has released it. */
struct taker {
  dibs_client *client;
  const char *name;
  dibs_lock_options options;
  _Atomic int thread_id;
  dibs_status status;
  dibs_hold *hold;
};

static _Atomic bool is_released;
static _Atomic int released_as;
static _Atomic int freed;

static void lost(dibs_hold *hold, const dibs_loss *loss, void *data)
{
  (void)loss;
  (void)data;
  released_as = dibs_release(hold);
  is_released = true;
}

static void data_freed(void *data)
{
  (void)data;
  freed++;
}

static void held_up(int number)
{
  const struct timespec moment = { .tv_nsec = 1000000 };

  (void)number;
  for (int i = 0; i < HELD_UP_MS && !is_released; i++)
    (void)nanosleep(&moment, NULL);
}

static void *take(void *data)
{
  struct taker *t = data;

  t->thread_id = (int)syscall(SYS_gettid);
  t->status = dibs_lock(t->client, t->name, &t->options, &t->hold);
  return NULL;
}

/* 'S' in the third field of its line: it waits, and so has no mutex. */
static bool sleeps(void *data)
{
  const struct taker *t = data;
  char path[64], line[512];
  size_t size = 0;
  const char *state;
  FILE *f;

  (void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", t->thread_id);
  f = t->thread_id == 0 ? NULL : fopen(path, "re");
  if (f != NULL) {
    size = fread(line, 1, sizeof(line) - 1, f);
    (void)fclose(f);
  }
  line[size] = '\0';
  state = strrchr(line, ')');
  return state != NULL && state[1] == ' ' && state[2] == 'S';
}

static pthread_t taken_by(struct taker *t, int waiting)
{
  pthread_t thread;

  assert_int_equal(pthread_create(&thread, NULL, take, t), 0);
  while (live_stats(t->client).waiting < (uint64_t)waiting)
    (void)poll(NULL, 0, 1);
  assert_true(live_until(LIVE_LONG_MS, sleeps, t));
  return thread;
}

TEST(a_call_that_returns_after_its_hold_was_released_gives_a_stale_one)
{
  const struct sigaction action = { .sa_handler = held_up }, before = { .sa_handler = SIG_DFL };
  dibs_client *other = live_open(live_url());
  dibs_hold *one = live_lock(other, "one", 5000), *two = live_lock(other, "two", 5000);
  struct taker leader = { .name = "one", .options = live_lock_options(5000, LIVE_LONG_MS) };
  struct taker t = { .name = "two", .options = live_lock_options(SHORT_MS, LIVE_LONG_MS) };
  pthread_t threads[2];

  leader.client = t.client = live_open(live_url());
  t.options.flags = DIBS_LOCK_FIXED;
  t.options.on_lost = lost;
  t.options.on_lost_free = data_freed;
  threads[0] = taken_by(&leader, 1);             /* reads for both */
  threads[1] = taken_by(&t, 2);
  assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
  assert_int_equal(pthread_kill(threads[1], SIGUSR1), 0);
  live_expect(other, dibs_release(two), DIBS_OK);
  assert_int_equal(pthread_join(threads[1], NULL), 0);
  assert_true(is_released);
  assert_int_equal(released_as, DIBS_LOST);
  assert_int_equal(t.status, DIBS_OK);
  assert_int_equal(dibs_hold_state(t.hold), DIBS_HOLD_GONE);
  assert_int_equal(dibs_release(t.hold), DIBS_ERR_STALE);
  assert_int_equal(freed, 1);
  live_expect(other, dibs_release(one), DIBS_OK);
  assert_int_equal(pthread_join(threads[0], NULL), 0);
  live_expect(leader.client, leader.status, DIBS_OK);
  live_expect(leader.client, dibs_release(leader.hold), DIBS_OK);
  t.client = dibs_close(t.client);
  other = dibs_close(other);
  assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

RUN_TESTS(live_server_setup, live_server_teardown)

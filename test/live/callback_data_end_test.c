/* SPDX-License-Identifier: MIT */
/* test/live/callback_data_end_test.c - the data of callbacks is freed exactly once where a client
 * ends: in dibs_close(), beside releases and losses, and in a forked child; and on_event_free and
 * data_free of dibs_observe(). */
#include "tests.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "callback_data.h"

enum { THREADS = 4, TURNS = 20 };

static void on_event(const dibs_event *event, void *data)
{
  (void)event;
  use(data);
}

static void on_leader(const dibs_error *error, const dibs_leader *leader, void *data)
{
  (void)error;
  (void)leader;
  use(data);
}

/* ---- races ---- */

static dibs_client *raced;
static _Atomic int turns;

/* Ends each hold about when its lease ends, in one of four ways. */
static void *race(void *data)
{
  const unsigned number = (unsigned)(uintptr_t)data;
  unsigned seed = number;

  for (int i = 0; i < TURNS; i++) {
    char name[32];
    dibs_lock_options o;
    dibs_hold *hold;

    (void)snprintf(name, sizeof(name), "race %u", number);
    (void)options_of(&o, SHORT_MS, DIBS_FOREVER);
    o.flags = DIBS_LOCK_FIXED;
    if (dibs_lock(raced, name, &o, &hold) != DIBS_OK)
      break;                           /* it is being closed */
    turns++;
    if (rand_r(&seed) % 4 == 0)
      continue;                        /* never released */
    while (dibs_hold_valid_ms(hold) > (int64_t)(rand_r(&seed) % 3))
      (void)usleep(100);
    if (rand_r(&seed) % 4 == 0)
      (void)dibs_hold_detach(hold);
    else if (rand_r(&seed) % 4 == 0)
      (void)dibs_release_async(hold, NULL, NULL);
    else
      (void)dibs_release(hold);
  }
  return NULL;
}

static bool has_turned(void *data)
{
  return turns >= *(int *)data;
}

TEST(releases_losses_and_a_close_that_race_free_everything_once)
{
  pthread_t threads[THREADS];
  int enough;

  for (int round = 0; round < 4; round++) {
    turns = 0;
    raced = live_open(live_url());
    for (uintptr_t i = 0; i < THREADS; i++)
      assert_int_equal(pthread_create(&threads[i], NULL, race,
                                      (void *)(i + 1 + (uintptr_t)round * THREADS)), 0);
    enough = 6 * (round + 1);          /* closes while they are at it */
    assert_true(live_until(LIVE_LONG_MS, has_turned, &enough));
    (void)dibs_close(raced);
    for (int i = 0; i < THREADS; i++)
      (void)pthread_join(threads[i], NULL);
    expect_all_freed();
  }
}

/* ---- fork ---- */

TEST(a_child_frees_its_copies_in_dibs_close)
{
  dibs_options options = live_options();
  dibs_client *client;
  dibs_observer *observer;
  dibs_hold *holds[8];
  int status;
  pid_t child;

  options.on_event = on_event;
  options.on_event_data = watched_new();
  options.on_event_free = on_free;
  client = live_open_with(live_url(), &options);
  live_expect_ok(dibs_semaphore_set(client, dibs_text("permits"), 2, 0, NULL));
  live_expect_ok(dibs_observe(client, "job", on_leader, watched_new(), on_free, &observer));
  take_one_of_each(client, holds);
  child = fork();
  if (child == 0) {
    if (freed != 0 || dibs_release(holds[0]) != DIBS_ERR_FORKED || freed != 0)
      _exit(1);
    (void)dibs_close(client);
    _exit(freed == given && live_faults() == 0 ? 0 : 2);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(freed, 0);
  client = dibs_close(client);
  expect_all_freed();
}

/* ---- events and observers ---- */

TEST(the_data_of_events_is_freed_with_the_client)
{
  dibs_options options = live_options();
  dibs_client *client = NULL;

  options.on_event = on_event;
  options.on_event_data = watched_new();
  options.on_event_free = on_free;
  client = live_open_with(live_url(), &options);
  live_expect_ok(dibs_ping(client, 0, NULL));
  assert_int_equal(freed, 0);
  client = dibs_close(client);
  expect_all_freed();
  options.on_event_data = watched_new();
  assert_int_equal(dibs_open("nonsense://", &options, &client, NULL), DIBS_ERR_CONFIG);
  expect_all_freed();
  options.on_event_data = watched_new();
  options.names_max = -1;
  assert_int_equal(dibs_open(live_url(), &options, &client, NULL), DIBS_ERR_ARGUMENT);
  expect_all_freed();
}

static _Atomic(dibs_observer *) own;
static _Atomic bool own_is_over;

static void frees_itself(const dibs_error *error, const dibs_leader *leader, void *data)
{
  on_leader(error, leader, data);
  while (own == NULL)
    (void)usleep(100);
  (void)dibs_observer_free(own);
  use(data);
  own_is_over = true;
}

TEST(the_data_of_an_observer_is_freed_at_its_end)
{
  dibs_client *client = live_open(live_url());
  dibs_observer *observer;

  assert_int_equal(dibs_observe(client, "", on_leader, watched_new(), on_free, &observer),
                   DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_observe(NULL, "job", on_leader, watched_new(), on_free, &observer),
                   DIBS_ERR_ARGUMENT);
  expect_all_freed();
  live_expect_ok(dibs_observe(client, "job", on_leader, watched_new(), on_free, &observer));
  assert_int_equal(freed, given - 1);
  observer = dibs_observer_free(observer);
  expect_all_freed();
  live_expect_ok(dibs_observe(client, "job", frees_itself, watched_new(), on_free, &observer));
  own = observer;
  assert_true(live_until(LIVE_LONG_MS, all_are_freed, NULL));
  assert_true(own_is_over);
  live_expect_ok(dibs_observe(client, "job", on_leader, watched_new(), on_free, &observer));
  client = dibs_close(client);
  expect_all_freed();
}

int main(void)
{
  if (live_is_beyond(LIVE_SENTINEL))
    return 0;

  return tests_run(NULL, NULL, callback_data_setup, live_server_teardown);
}

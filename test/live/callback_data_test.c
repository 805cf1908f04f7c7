/* SPDX-License-Identifier: MIT */
/* test/live/callback_data_test.c - the data of a callback is freed exactly once, when the callback
 * cannot run any more: on_lost_free, on_event_free and data_free of dibs_observe(). Each test frees
 * its data there; the sanitizers see a use after it, and the counts a second or a missing one. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "live.h"

enum { TTL_MS = 20000, SHORT_MS = 100, THREADS = 4, TURNS = 20, ALIVE = 0x600d, FREED = 0xdead };

typedef struct watched {
  _Atomic int state;
  int calls;                       /* of its callback */
} watched;

static _Atomic int given, freed, losses;

static watched *watched_new(void)
{
  watched *w = calloc(1, sizeof(*w));

  assert_non_null(w);
  w->state = ALIVE;
  given++;
  return w;
}

static void on_free(void *data)
{
  watched *w = data;

  if (atomic_exchange(&w->state, FREED) != ALIVE)
    live_fault("data was freed twice");
  freed++;
  free(w);
}

static void use(void *data)
{
  watched *w = data;

  if (w->state != ALIVE)
    live_fault("a callback got data that was freed");
  w->calls++;
}

static void on_lost(dibs_hold *hold, const dibs_loss *loss, void *data)
{
  (void)hold;
  (void)loss;
  use(data);
  losses++;
}

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

/* New data for each call. */
static dibs_lock_options *options_of(dibs_lock_options *o, int ttl_ms, int wait_ms)
{
  *o = live_lock_options(ttl_ms, wait_ms);
  o->wait_ms = wait_ms;
  o->on_lost = on_lost;
  o->on_lost_data = watched_new();
  o->on_lost_free = on_free;
  return o;
}

static void expect_all_freed(void)
{
  assert_int_equal(live_faults(), 0);
  assert_int_equal(freed, given);
}

static bool all_are_freed(void *data)
{
  (void)data;
  return freed == given;
}

static int setup(void **state)
{
  given = freed = losses = 0;
  return live_server_setup(state);
}

/* ---- calls that take nothing ---- */

static void a_call_that_fails_frees_its_data_before_it_returns(void **state)
{
  static const char *const names[] = { "a", "" };
  dibs_client *client = live_open(live_url()), *other = live_open(live_url()), *closed;
  dibs_lock_options o;
  dibs_hold *mine = live_lock(other, "taken", TTL_MS), *hold = NULL;

  (void)state;
  assert_int_equal(dibs_lock(NULL, "x", options_of(&o, TTL_MS, 0), &hold), DIBS_ERR_ARGUMENT);
  expect_all_freed();
  assert_int_equal(dibs_lock(client, "", options_of(&o, TTL_MS, 0), &hold), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_lock(client, "x", options_of(&o, 1, 0), &hold), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_lock(client, "x", options_of(&o, TTL_MS, 0), NULL), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_lock_many(client, names, 2, options_of(&o, TTL_MS, 0), &hold),
                   DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_acquire_permits(client, "p", 0, options_of(&o, TTL_MS, 0), &hold),
                   DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_campaign(client, "", "v", options_of(&o, TTL_MS, 0), &hold),
                   DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_lock_async(client, "x", options_of(&o, TTL_MS, 0), NULL, NULL, NULL),
                   DIBS_ERR_ARGUMENT);
  expect_all_freed();
  live_expect_refused(client, dibs_try_lock(client, "taken", options_of(&o, TTL_MS, 0), &hold),
                      DIBS_BUSY);
  live_expect_refused(client, dibs_lock(client, "taken", options_of(&o, TTL_MS, 0), &hold),
                      DIBS_TIMED_OUT);
  live_expect_refused(client, dibs_campaign(client, "taken", "v", options_of(&o, TTL_MS, 0), &hold),
                      DIBS_TIMED_OUT);
  expect_all_freed();
  assert_int_equal(losses, 0);
  assert_int_equal(dibs_release(mine), DIBS_OK);
  closed = client;
  client = dibs_close(client);
  assert_int_equal(dibs_lock(closed, "x", options_of(&o, TTL_MS, 0), &hold), DIBS_ERR_STALE);
  expect_all_freed();
  other = dibs_close(other);
}

static void on_free_with_a_call(void *data)
{
  dibs_error error;
  dibs_hold *none = NULL;

  assert_int_equal(dibs_release(none), DIBS_ERR_STALE);
  dibs_last_error(NULL, &error);
  assert_int_equal(error.status, DIBS_ERR_STALE);
  on_free(data);
}

static void the_error_of_the_call_outlives_calls_of_on_lost_free(void **state)
{
  dibs_client *client = live_open(live_url());
  dibs_lock_options o;
  dibs_hold *hold = NULL;

  (void)state;
  (void)options_of(&o, 1, 0);
  o.on_lost_free = on_free_with_a_call;
  assert_int_equal(dibs_lock(client, "x", &o, &hold), DIBS_ERR_ARGUMENT);
  live_expect_words(client, "ttl_ms is 1");
  expect_all_freed();
  client = dibs_close(client);
}

static void options_of_an_older_program_have_no_such_field(void **state)
{
  dibs_client *client = live_open(live_url());
  dibs_lock_options o;
  dibs_hold *hold = NULL;
  watched *data;

  (void)state;
  (void)options_of(&o, TTL_MS, 0);
  data = o.on_lost_data;
  o.size = offsetof(dibs_lock_options, on_lost_free);
  live_expect_ok(dibs_lock(client, "x", &o, &hold));
  assert_int_equal(dibs_release(hold), DIBS_OK);
  client = dibs_close(client);
  assert_int_equal(freed, 0);
  on_free(data);
}

/* ---- holds of every kind ---- */

static void take_one_of_each(dibs_client *client, dibs_hold *ret_holds[8])
{
  static const char *const both[] = { "{set}one", "{set}two" };
  dibs_lock_options o;

  live_expect_ok(dibs_lock(client, "mutex", options_of(&o, TTL_MS, 0), &ret_holds[0]));
  live_expect_ok(dibs_lock(client, "mutex", options_of(&o, TTL_MS, 0), &ret_holds[1]));
  live_expect_ok(dibs_read_lock(client, "rw", options_of(&o, TTL_MS, 0), &ret_holds[2]));
  live_expect_ok(dibs_try_read_lock(client, "rw", options_of(&o, TTL_MS, 0), &ret_holds[3]));
  live_expect_ok(dibs_acquire_permits(client, "permits", 2, options_of(&o, TTL_MS, 0),
                                      &ret_holds[4]));
  live_expect_ok(dibs_lock_many(client, both, 2, options_of(&o, TTL_MS, 0), &ret_holds[5]));
  live_expect_ok(dibs_campaign(client, "job", "me", options_of(&o, TTL_MS, 0), &ret_holds[6]));
  (void)options_of(&o, TTL_MS, 0);
  o.linger_ms = 1000;
  live_expect_ok(dibs_lock(client, "lingers", &o, &ret_holds[7]));
}

static void a_release_frees_the_data_of_each_kind_once(void **state)
{
  dibs_client *client = live_open(live_url());
  dibs_hold *holds[8];
  dibs_lock_options o;

  (void)state;
  live_expect_ok(dibs_semaphore_set(client, "permits", 2));
  take_one_of_each(client, holds);
  assert_int_equal(freed, 0);
  for (int i = 0; i < 8; i++) {        /* the inner and the outer hold have their own */
    live_expect_ok(dibs_release(holds[i]));
    assert_int_equal(freed, i + 1);
  }
  live_expect_ok(dibs_lock(client, "detached", options_of(&o, SHORT_MS, 0), &holds[0]));
  assert_int_equal(freed, 8);
  live_expect_ok(dibs_hold_detach(holds[0]));
  expect_all_freed();
  /* Taken again, though it lingers: the data is that of the new call. */
  (void)options_of(&o, TTL_MS, 0);
  o.linger_ms = 1000;
  live_expect_ok(dibs_lock(client, "lingers", &o, &holds[0]));
  assert_int_equal(freed, given - 1);
  live_expect_ok(dibs_release(holds[0]));
  expect_all_freed();
  assert_int_equal(losses, 0);
  client = dibs_close(client);
}

static void a_close_frees_the_data_of_each_kind_once(void **state)
{
  dibs_client *client = live_open(live_url());
  dibs_hold *holds[8];

  (void)state;
  live_expect_ok(dibs_semaphore_set(client, "permits", 2));
  take_one_of_each(client, holds);
  client = dibs_close(client);
  assert_int_equal(given, 8);
  expect_all_freed();
}

static void without_a_thread_a_blocking_release_frees_the_data(void **state)
{
  dibs_options options = live_options();
  dibs_client *client;
  dibs_lock_options o;
  dibs_hold *hold;

  (void)state;
  options.flags = DIBS_CLIENT_NO_THREAD;
  client = live_open_with(live_url(), &options);
  live_expect_ok(dibs_lock(client, "x", options_of(&o, TTL_MS, 0), &hold));
  live_expect_ok(dibs_release(hold));
  expect_all_freed();
  client = dibs_close(client);
}

/* ---- asynchronous ---- */

static void an_asynchronous_lock_frees_its_data_once(void **state)
{
  dibs_client *client = live_open(live_url());
  dibs_canceller *canceller;
  struct live_ask first, second, third, fourth;
  dibs_lock_options o;

  (void)state;
  live_ask_init(&first);
  live_ask_begin(&first, client, "x", options_of(&o, TTL_MS, DIBS_FOREVER));
  (void)live_ask_granted(&first, LIVE_LONG_MS);
  live_ask_init(&second);
  live_ask_begin(&second, client, "x", options_of(&o, TTL_MS, 0));
  assert_true(live_ask_wait(&second, LIVE_LONG_MS));
  assert_int_equal(second.status, DIBS_TIMED_OUT);
  live_ask_init(&third);
  (void)options_of(&o, TTL_MS, DIBS_FOREVER);
  live_expect_ok(dibs_canceller_new(&canceller));
  dibs_cancel(canceller);
  o.cancel = canceller;                /* fired before */
  live_ask_begin(&third, client, "x", &o);
  assert_true(live_ask_wait(&third, LIVE_LONG_MS));
  assert_int_equal(third.status, DIBS_CANCELLED);
  live_ask_init(&fourth);
  live_ask_begin(&fourth, client, "x", options_of(&o, TTL_MS, DIBS_FOREVER));
  live_expect_ok(dibs_release_async(first.hold, NULL, NULL));
  (void)live_ask_granted(&fourth, LIVE_LONG_MS);
  client = dibs_close(client);
  (void)dibs_canceller_free(canceller);
  assert_int_equal(given, 4);
  expect_all_freed();
}

static void on_locked(const dibs_error *error, dibs_hold *hold, void *data)
{
  (void)error;
  (void)hold;
  on_free(data);
}

static void on_released(const dibs_error *error, void *data)
{
  if (error->status != DIBS_UNKNOWN)
    live_fault("a release without a reply ended with %d", (int)error->status);
  on_free(data);
}

static void a_close_without_replies_runs_each_callback_once(void **state)
{
  dibs_options options = live_options();
  dibs_client *client;
  dibs_lock_options o;
  dibs_hold *hold;

  (void)state;
  options.close_timeout_ms = 50;
  client = live_open_with(live_url(), &options);
  live_expect_ok(dibs_lock(client, "x", options_of(&o, TTL_MS, 0), &hold));
  test_server_pause(live_server);
  live_expect_ok(dibs_release_async(hold, on_released, watched_new()));
  live_expect_ok(dibs_lock_async(client, "y", options_of(&o, TTL_MS, DIBS_FOREVER), on_locked,
                                 watched_new(), NULL));
  client = dibs_close(client);
  test_server_resume(live_server);
  assert_int_equal(given, 4);
  expect_all_freed();
}

/* ---- losses ---- */

static _Atomic(dibs_status) released;

static void release_inside(dibs_hold *hold, const dibs_loss *loss, void *data)
{
  on_lost(hold, loss, data);
  released = dibs_release(hold);
  use(data);                           /* it is this callback's until that returns */
}

static bool is_lost(void *data)
{
  (void)data;
  return losses > 0;
}

static void a_release_inside_on_lost_frees_the_data_after_it(void **state)
{
  dibs_client *client = live_open(live_url());
  dibs_lock_options o;
  dibs_hold *hold;

  (void)state;
  (void)options_of(&o, SHORT_MS, 0);
  o.flags = DIBS_LOCK_FIXED;
  o.on_lost = release_inside;
  live_expect_ok(dibs_lock(client, "x", &o, &hold));
  assert_true(live_until(LIVE_LONG_MS, is_lost, NULL));
  assert_true(live_until(LIVE_LONG_MS, all_are_freed, NULL));
  assert_true(released == DIBS_EXPIRED || released == DIBS_LOST);
  client = dibs_close(client);
  expect_all_freed();
}

static void a_reported_loss_frees_the_data_before_the_release(void **state)
{
  dibs_client *client = live_open(live_url());
  dibs_lock_options o;
  dibs_hold *hold;

  (void)state;
  (void)options_of(&o, SHORT_MS, 0);
  o.flags = DIBS_LOCK_FIXED;
  live_expect_ok(dibs_lock(client, "x", &o, &hold));
  assert_true(live_until(LIVE_LONG_MS, all_are_freed, NULL));
  assert_int_equal(losses, 1);
  (void)dibs_release(hold);
  client = dibs_close(client);
  expect_all_freed();
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

static void releases_losses_and_a_close_that_race_free_everything_once(void **state)
{
  pthread_t threads[THREADS];
  int enough;

  (void)state;
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

static void a_child_frees_its_copies_in_dibs_close(void **state)
{
  dibs_options options = live_options();
  dibs_client *client;
  dibs_observer *observer;
  dibs_hold *holds[8];
  int status;
  pid_t child;

  (void)state;
  options.on_event = on_event;
  options.on_event_data = watched_new();
  options.on_event_free = on_free;
  client = live_open_with(live_url(), &options);
  live_expect_ok(dibs_semaphore_set(client, "permits", 2));
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

static void the_data_of_events_is_freed_with_the_client(void **state)
{
  dibs_options options = live_options();
  dibs_client *client = NULL;

  (void)state;
  options.on_event = on_event;
  options.on_event_data = watched_new();
  options.on_event_free = on_free;
  client = live_open_with(live_url(), &options);
  live_expect_ok(dibs_ping(client, 0, NULL));
  assert_int_equal(freed, 0);
  client = dibs_close(client);
  expect_all_freed();
  options.on_event_data = watched_new();
  assert_int_equal(dibs_open("nonsense://", &options, &client), DIBS_ERR_CONFIG);
  expect_all_freed();
  options.on_event_data = watched_new();
  options.names_max = -1;
  assert_int_equal(dibs_open(live_url(), &options, &client), DIBS_ERR_ARGUMENT);
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

static void the_data_of_an_observer_is_freed_at_its_end(void **state)
{
  dibs_client *client = live_open(live_url());
  dibs_observer *observer;

  (void)state;
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

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, live_server_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
    CASE(a_call_that_fails_frees_its_data_before_it_returns),
    CASE(the_error_of_the_call_outlives_calls_of_on_lost_free),
    CASE(options_of_an_older_program_have_no_such_field),
    CASE(a_release_frees_the_data_of_each_kind_once),
    CASE(a_close_frees_the_data_of_each_kind_once),
    CASE(without_a_thread_a_blocking_release_frees_the_data),
    CASE(an_asynchronous_lock_frees_its_data_once),
    CASE(a_close_without_replies_runs_each_callback_once),
    CASE(a_release_inside_on_lost_frees_the_data_after_it),
    CASE(a_reported_loss_frees_the_data_before_the_release),
    CASE(releases_losses_and_a_close_that_race_free_everything_once),
    CASE(a_child_frees_its_copies_in_dibs_close),
    CASE(the_data_of_events_is_freed_with_the_client),
    CASE(the_data_of_an_observer_is_freed_at_its_end),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}

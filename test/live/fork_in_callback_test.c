/* SPDX-License-Identifier: MIT */
/* test/live/fork_in_callback_test.c - a callback that forks: the child gets nothing of what the
 * library reports to the parent afterwards, whichever thread runs the callbacks. */
#include "tests.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "other_client.h"

enum { ENDED = 7, STAYS_MS = 500, TTL_MS = 60000 };

static dibs_client *client;
static pid_t parent;
static _Atomic pid_t child;
static _Atomic int reports;              /* of "second" */
static dibs_hold *_Atomic holds[2];

/* Both are granted: the callback of the second is due when this one returns. */
static bool both_are_held(void *data)
{
  dibs_client_info info = DIBS_CLIENT_INFO_INIT;

  (void)data;
  return dibs_client_get_info(client, &info) == DIBS_OK && info.holds == 2;
}

/* Also without a thread: the ping reads what has come. */
static bool both_are_held_by_now(void *data)
{
  return dibs_ping(client, LIVE_LONG_MS, NULL) == DIBS_OK && both_are_held(data);
}

static void fork_here(void)
{
  (void)fflush(NULL);
  child = fork();
  if (child == 0)
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);   /* a test that failed leaves none */
  else if (child < 0)
    live_fault("no child");
}

static void first(const dibs_error *error, dibs_hold *hold, void *data)
{
  (void)data;
  if (error->status != DIBS_OK || !live_until(LIVE_LONG_MS, both_are_held, NULL))
    live_fault("not both are granted");
  holds[0] = hold;
  fork_here();
}

static void second(const dibs_error *error, dibs_hold *hold, void *data)
{
  (void)data;
  promise_kept(getpid() == parent, "a forked child gets the grant of its parent");
  if (error->status != DIBS_OK)
    live_fault("the second is not granted");
  holds[1] = hold;
  reports++;
}

static void open_client(unsigned flags)
{
  dibs_options o = live_options();

  o.flags |= flags;
  o.close_timeout_ms = LIVE_LONG_MS;
  client = live_open_with(live_url(), &o);
  parent = getpid();
  child = 0;
  reports = 0;
}

static void lock_both(void)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);

  live_expect_ok(dibs_lock_async(client, "first", &o, first, NULL, NULL));
  live_expect_ok(dibs_lock_async(client, "second", &o, second, NULL, NULL));
}

static void expect_the_child_ended(void)
{
  int status;

  assert_true(child > 0);
  assert_int_equal(promise_waitpid(child, &status, 0), child);
  assert_int_equal(status, ENDED << 8);
}

static void expect_the_parent_has_both(void)
{
  assert_int_equal(reports, 1);
  for (int i = 0; i < 2; i++)
    live_expect_ok(dibs_release(holds[i]));
  assert_int_equal(live_faults(), 0);
}

/* ---- in dibs_process() ---- */

static void serve(unsigned flags)
{
  int64_t end = live_now_ms() + LIVE_LONG_MS;
  dibs_status status = DIBS_OK;

  open_client(flags);
  lock_both();
  assert_true(live_until(LIVE_LONG_MS, both_are_held_by_now, NULL));
  while (status == DIBS_OK && reports == 0 && live_now_ms() < end) {
    struct pollfd ready = { .fd = dibs_fd(client), .events = POLLIN };

    (void)poll(&ready, 1, 100);
    status = dibs_process(client, NULL);
  }
  if (getpid() != parent)
    _exit(status == DIBS_ERR_FORKED && dibs_close(client) == NULL ? ENDED : 1);
  live_expect_ok(status);
  expect_the_child_ended();
  expect_the_parent_has_both();
  client = dibs_close(client);
}

TEST(a_child_of_a_callback_in_the_loop_gets_nothing)
{
  serve(DIBS_CLIENT_NO_THREAD);
}

TEST(nor_beside_the_thread_of_the_library)
{
  serve(DIBS_CLIENT_PROCESS_CALLBACKS);
}

/* ---- on dibs-callback ---- */

/* In a Cluster the second may come first. */
static bool both_are_reported(void *data)
{
  (void)data;
  return reports == 1 && child > 0;
}

static bool the_child_has_ended(void *ret_status)
{
  return promise_waitpid(child, ret_status, WNOHANG) == child;
}

TEST(a_child_on_the_thread_of_callbacks_stays_there)
{
  int status;

  open_client(0);
  lock_both();
  assert_true(live_until(LIVE_LONG_MS, both_are_reported, NULL));
  assert_true(child > 0);
  assert_false(live_until(STAYS_MS, the_child_has_ended, &status));
  assert_int_equal(kill(child, SIGKILL), 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  expect_the_parent_has_both();
  client = dibs_close(client);
}

/* ---- in dibs_close() ---- */

static void first_is_over(const dibs_error *error, void *data)
{
  (void)error;
  (void)data;
  fork_here();
}

static void second_is_over(const dibs_error *error, void *data)
{
  (void)error;
  (void)data;
  promise_kept(getpid() == parent, "a forked child runs a callback of its parent");
  reports++;
}

TEST(a_child_of_a_callback_in_close_returns_from_it)
{
  dibs_hold *held[2];

  open_client(DIBS_CLIENT_NO_THREAD);
  held[0] = live_lock(client, "first", TTL_MS);
  held[1] = live_lock(client, "second", TTL_MS);
  live_expect_ok(dibs_release_async(held[0], first_is_over, NULL));
  live_expect_ok(dibs_release_async(held[1], second_is_over, NULL));
  client = dibs_close(client);
  if (getpid() != parent)
    _exit(client == NULL ? ENDED : 1);
  expect_the_child_ended();
  assert_int_equal(reports, 1);
  assert_null(client);
}

/* ---- in a visitor ---- */

/* Also where the library hangs in it. */
static void expect_the_child_ends(void)
{
  int status = 0;

  assert_true(child > 0);
  if (!live_until(LIVE_LONG_MS, the_child_has_ended, &status)) {
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
  }
  assert_int_equal(status, ENDED << 8);
  assert_int_equal(live_faults(), 0);
}

static bool fork_at_the_first(const dibs_inspection *inspection, void *data)
{
  (void)inspection;
  (void)data;
  if (reports++ == 0)
    fork_here();
  return true;
}

TEST(a_child_of_a_visitor_returns_from_the_walk)
{
  dibs_hold *held[2];
  dibs_status status;

  live_needs_one_view();
  open_client(0);
  held[0] = live_lock(client, "first", TTL_MS);
  held[1] = live_lock(client, "second", TTL_MS);
  status = dibs_list(client, NULL, fork_at_the_first, NULL);
  if (getpid() != parent)
    _exit(status == DIBS_ERR_FORKED && reports == 1 ? ENDED : 1);
  live_expect_ok(status);
  assert_int_equal(reports, 2);
  expect_the_child_ends();
  for (int i = 0; i < 2; i++)
    live_expect_ok(dibs_release(held[i]));
  client = dibs_close(client);
}

/* ---- while another thread has the mutex, which is locked for ever in the child ---- */

static _Thread_local bool is_to_stay;    /* at the next use of memory */
static _Atomic bool stays, may_go;

static void stay(void)
{
  if (!is_to_stay)
    return;
  stays = true;
  while (!may_go)
    (void)poll(NULL, 0, 1);
}

static void *allocate(size_t size, void *data)
{
  (void)data;
  stay();
  return malloc(size);
}

static void *reallocate(void *memory, size_t size, void *data)
{
  (void)data;
  stay();
  return realloc(memory, size);
}

static void release(void *memory, void *data)
{
  (void)data;
  stay();
  free(memory);
}

static void is_released(const dibs_error *error, void *data)
{
  (void)error;
  (void)data;
}

static void *release_slowly(void *hold)
{
  is_to_stay = true;
  if (dibs_release_async(hold, is_released, NULL) != DIBS_OK)
    live_fault("the hold is not released");
  is_to_stay = false;
  return NULL;
}

static bool it_stays(void *data)
{
  (void)data;
  return stays;
}

static void fork_beside_a_release(const dibs_error *error, const dibs_leader *leader, void *held)
{
  pthread_t thread;

  (void)leader;
  promise_kept(getpid() == parent, "a forked child observes for its parent");
  if (error->status != DIBS_OK || reports++ > 0)
    return;
  if (pthread_create(&thread, NULL, release_slowly, held) != 0 ||
      !live_until(LIVE_LONG_MS, it_stays, NULL))
    live_fault("no thread has the mutex");
  fork_here();
  if (child == 0)
    return;
  may_go = true;
  (void)pthread_join(thread, NULL);
}

TEST(a_child_of_an_observers_callback_returns_from_it)
{
  static const dibs_allocator slow = { .allocate = allocate, .reallocate = reallocate,
                                       .release = release };
  int64_t end = live_now_ms() + LIVE_LONG_MS;
  dibs_options o = live_options();
  dibs_status status = DIBS_OK;
  dibs_observer *observer;

  live_needs_keys();
  o.flags |= DIBS_CLIENT_NO_THREAD;
  o.allocator = &slow;
  client = live_open_with(live_url(), &o);
  parent = getpid();
  child = 0;
  reports = 0;
  live_expect_ok(dibs_observe(client, "job", fork_beside_a_release,
                              live_lock(client, "first", TTL_MS), NULL, &observer));
  while (status == DIBS_OK && reports == 0 && live_now_ms() < end) {
    struct pollfd ready = { .fd = dibs_fd(client), .events = POLLIN };

    (void)poll(&ready, 1, 100);
    status = dibs_process(client, NULL);
  }
  if (getpid() != parent)
    _exit(status == DIBS_ERR_FORKED ? ENDED : 1);
  live_expect_ok(status);
  expect_the_child_ends();
  observer = dibs_observer_free(observer);
  client = dibs_close(client);
}

int main(void)
{
  return live_is_lost_to_tsan() ? 0 : tests_run(setup, teardown, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* test/live/owner_key_test.c - who may re-enter is said by an owner key, not by the
 * thread; a hold is a handle for any thread; waiting for oneself is refused. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "two_clients.h"

static dibs_lock_options owned_by(const char *owner)
{
  dibs_lock_options o = live_lock_options(5000, 0);

  o.owner = owner;
  o.owner_size = strlen(owner);
  return o;
}

/* ---- what another thread does ---- */

struct errand {
  const char *name;
  dibs_lock_options options;
  dibs_hold *hold;
  dibs_status status;
  dibs_hold_condition condition;
  uint64_t fence;
};

static void *run_release(void *data)
{
  struct errand *e = data;

  e->condition = dibs_hold_state(e->hold);
  e->fence = dibs_hold_fence(e->hold);
  e->status = dibs_release(e->hold);
  return NULL;
}

static void *run_try(void *data)
{
  struct errand *e = data;

  e->status = dibs_try_lock(client, e->name, &e->options, &e->hold);
  return NULL;
}

static void in_another_thread(void *(*run)(void *), struct errand *e)
{
  pthread_t thread;

  assert_int_equal(pthread_create(&thread, NULL, run, e), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
}

TEST(any_thread_may_use_and_release_a_hold)
{
  struct errand e = { .hold = live_lock(client, "handed", 5000) };
  uint64_t fence = dibs_hold_fence(e.hold);

  in_another_thread(run_release, &e);
  assert_int_equal(e.condition, DIBS_HOLD_HELD);
  assert_int_equal(e.fence, fence);
  assert_int_equal(e.status, DIBS_OK);
  assert_int_equal(live_try(other, "handed"), DIBS_OK);
}

TEST(tasks_of_one_thread_exclude_each_other)
{
  dibs_lock_options a = owned_by("task a"), b = owned_by("task b");
  dibs_hold *hold = live_lock_with(client, "tasks", &a), *second = NULL;

  b.wait_ms = 100;
  live_refused(dibs_try_lock(client, "tasks", &b, &second), DIBS_BUSY);
  live_refused(dibs_lock(client, "tasks", &b, &second), DIBS_TIMED_OUT);
  assert_null(second);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  second = live_lock_with(client, "tasks", &b);
  assert_int_equal(live_info(second).depth, 1);
  assert_int_equal(dibs_release(second), DIBS_OK);
}

TEST(one_owner_re_enters_from_another_thread)
{
  struct errand e = { .name = "shared", .options = owned_by("job 7") };
  dibs_hold *hold = live_lock_with(client, "shared", &e.options);

  in_another_thread(run_try, &e);
  assert_int_equal(e.status, DIBS_OK);
  assert_int_equal(live_info(e.hold).depth, 2);
  assert_int_equal(dibs_release(hold), DIBS_OK);     /* in any order */
  assert_int_equal(dibs_hold_state(e.hold), DIBS_HOLD_HELD);
  live_refused(live_try(other, "shared"), DIBS_BUSY);
  assert_int_equal(dibs_release(e.hold), DIBS_OK);
  assert_int_equal(live_try(other, "shared"), DIBS_OK);
}

TEST(threads_without_a_key_do_not_enter_each_others_locks)
{
  struct errand e = { .name = "threads", .options = live_lock_options(5000, 0) };
  dibs_hold *hold = live_lock(client, "threads", 5000);

  in_another_thread(run_try, &e);
  live_refused(e.status, DIBS_BUSY);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

TEST(nobody_re_enters_where_there_is_no_owner)
{
  dibs_lock_options o = live_lock_options(5000, 0);
  dibs_hold *hold, *again = NULL;

  o.flags = DIBS_LOCK_NO_OWNER;
  hold = live_lock_with(client, "nobody", &o);
  live_refused(dibs_try_lock(client, "nobody", &o, &again), DIBS_BUSY);
  live_refused(dibs_try_lock(client, "nobody", NULL, &again), DIBS_BUSY);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

/* The same key in two clients is two owners: keys are never sent. */
TEST(an_owner_key_means_nothing_to_another_client)
{
  dibs_lock_options o = owned_by("same");
  dibs_hold *hold = live_lock_with(client, "same", &o), *again = NULL;

  live_refused(dibs_try_lock(other, "same", &o, &again), DIBS_BUSY);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

TEST(re_entry_asks_nothing_of_the_server)
{
  dibs_hold *hold = live_lock(client, "nested", 60000), *inner[50];
  uint64_t commands = live_stats(client).commands;

  for (int i = 0; i < 50; i++)
    inner[i] = live_lock(client, "nested", 60000);
  assert_int_equal(live_info(hold).depth, 51);
  for (int i = 0; i < 50; i++)
    assert_int_equal(dibs_release(inner[i]), DIBS_OK);
  assert_true(live_stats(client).commands - commands <= 1);     /* a heartbeat perhaps */
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

/* ---- waiting for oneself ---- */

TEST(waiting_for_oneself_is_refused_at_once)
{
  dibs_lock_options o = live_lock_options(60000, 0);      /* waits for ever */
  dibs_hold *hold = live_lock(client, "self", 60000), *again = NULL;
  int64_t begun = live_now_ms();

  o.flags = DIBS_LOCK_NO_REENTRY;
  assert_int_equal(dibs_lock(client, "self", &o, &again), DIBS_WOULD_DEADLOCK);
  assert_int_equal(dibs_try_lock(client, "self", &o, &again), DIBS_WOULD_DEADLOCK);
  assert_null(again);
  assert_true(live_now_ms() - begun < 500);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  hold = live_lock_with(client, "self", &o);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

TEST(an_owner_key_waiting_for_itself_elsewhere_is_refused)
{
  struct errand e = { .name = "self-key", .options = owned_by("job 9") };
  dibs_hold *hold;

  e.options.flags = DIBS_LOCK_NO_REENTRY;
  hold = live_lock_with(client, "self-key", &e.options);
  in_another_thread(run_try, &e);
  assert_int_equal(e.status, DIBS_WOULD_DEADLOCK);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

RUN_TESTS(setup, teardown)

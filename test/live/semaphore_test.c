/* SPDX-License-Identifier: MIT */
/* test/live/semaphore_test.c - permits: all or none, in order, back within one
 * lease when their holder is killed, never more and never fewer than there are. */
#include "tests.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"

enum { TTL_MS = 20000, SOON_MS = 8000 };

static dibs_client *a, *b;

static int setup(void **state)
{
  (void)live_server_setup(state);
  a = live_open(live_url());
  b = live_open(live_other_url());
  return 0;
}

static int teardown(void **state)
{
  a = dibs_close(a);
  b = dibs_close(b);
  live_expect_clean_but_presence(live_server);
  return live_server_teardown(state);
}

static dibs_hold *take(dibs_client *client, const char *name, uint32_t count)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  dibs_hold *hold = NULL;

  live_expect(client, acquire_now(client, DIBS_PERMITS(name, count), &o, &hold), DIBS_OK);
  assert_int_equal(live_info(hold).units, count);
  return hold;
}

static dibs_status try_take(dibs_client *client, const char *name, uint32_t count)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  dibs_hold *hold = NULL;
  dibs_status status = acquire_now(client, DIBS_PERMITS(name, count), &o, &hold);

  if (status == DIBS_OK)
    assert_int_equal(dibs_release(hold), DIBS_OK);
  return status;
}

static void give(dibs_hold *hold)
{
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

static void make(const char *name, uint32_t permits)
{
  live_expect(a, dibs_semaphore_set(a, dibs_text(name), permits, 0, NULL), DIBS_OK);
}

static void unmake(const char *name)
{
  live_expect(a, dibs_semaphore_delete(a, dibs_text(name)), DIBS_OK);
}

static void ask(struct live_ask *one, dibs_client *client, char count, const char *name)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);

  live_ask_begin_as(one, client, count, name, &o);
}

static void expect_counts(const char *name, uint32_t used, size_t waiters)
{
  int64_t until = live_now_ms() + LIVE_LONG_MS;
  dibs_inspection *in = NULL;

  for (;;) {
    assert_int_equal(dibs_inspect(b, dibs_text(name), &in), DIBS_OK);
    if ((in->used == used && in->waiter_count == waiters) || live_now_ms() > until)
      break;
    in = dibs_inspection_free(in);
  }
  assert_int_equal(in->kind, DIBS_KIND_SEMAPHORE);
  assert_int_equal(in->used, used);
  assert_int_equal(in->waiter_count, waiters);
  in = dibs_inspection_free(in);
}

/* ---- taking and giving ---- */

TEST(permits_run_out_and_come_back)
{
  dibs_hold *three, *two;

  make("five", 5);
  three = take(a, "five", 3);
  two = take(b, "five", 2);
  live_refused(try_take(a, "five", 1), DIBS_BUSY);
  give(three);
  assert_int_equal(dibs_release(three), DIBS_ERR_STALE);
  live_refused(try_take(a, "five", 4), DIBS_BUSY);
  assert_int_equal(try_take(a, "five", 3), DIBS_OK);
  give(two);
  expect_counts("five", 0, 0);
  unmake("five");
}

TEST(a_thread_takes_further_permits_each_time)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 100);
  dibs_hold *holds[3], *hold = NULL;

  make("again", 3);
  for (int i = 0; i < 3; i++)
    live_expect_ok(dibs_acquire(a, DIBS_PERMITS("again", 1), &o, &holds[i]));
  live_refused(dibs_acquire(a, DIBS_PERMITS("again", 1), &o, &hold), DIBS_TIMED_OUT);
  for (int i = 0; i < 3; i++)
    give(holds[i]);
  unmake("again");
}

TEST(a_request_behind_a_larger_one_waits)
{
  struct live_ask large, small;
  dibs_hold *two;

  make("order", 3);
  two = take(a, "order", 2);
  ask(&large, b, '3', "order");
  expect_counts("order", 2, 1);
  ask(&small, a, '1', "order");
  expect_counts("order", 2, 2);
  live_refused(try_take(b, "order", 1), DIBS_BUSY);
  give(two);
  two = live_ask_granted(&large, SOON_MS);
  live_still_waits(&small, 0);
  give(two);
  give(live_ask_granted(&small, SOON_MS));
  unmake("order");
}

TEST(impossible_requests_are_refused)
{
  dibs_hold *hold = NULL;

  live_expect(a, dibs_acquire(a, DIBS_PERMITS("none", 1), NULL, &hold), DIBS_ERR_NOT_SET);
  live_expect_words(a, "dibs_semaphore_set");
  make("two", 2);
  live_expect(a, dibs_acquire(a, DIBS_PERMITS("two", 3), NULL, &hold), DIBS_ERR_ARGUMENT);
  live_expect_words(a, "3 permits");
  live_expect(a, dibs_acquire(a, DIBS_PERMITS("two", DIBS_PERMITS_MAX + 1), NULL, &hold),
              DIBS_ERR_ARGUMENT);
  live_expect(a, dibs_semaphore_set(a, dibs_text("two"), 2000000000u, 0, NULL),
              DIBS_ERR_ARGUMENT);
  unmake("two");
  unmake("two");
}

TEST(drain_takes_what_is_free)
{
  dibs_hold *two, *rest = NULL, *none = NULL;

  make("drain", 6);
  two = take(a, "drain", 2);
  live_expect(b, dibs_acquire(b, DIBS_PERMITS("drain", DIBS_UNITS_ALL_FREE), NULL, &rest),
              DIBS_OK);
  assert_int_equal(live_info(rest).units, 4);
  live_expect_refused(b,
                      dibs_acquire(b, DIBS_PERMITS("drain", DIBS_UNITS_ALL_FREE), NULL,
                                   &none), DIBS_BUSY);
  give(rest);
  expect_counts("drain", 2, 0);
  give(two);
  unmake("drain");
}

/* ---- resizing ---- */

TEST(more_permits_let_waiters_in)
{
  struct live_ask one, two;
  dibs_hold *hold;

  make("up", 1);
  hold = take(a, "up", 1);
  ask(&one, b, '1', "up");
  ask(&two, b, '1', "up");
  expect_counts("up", 1, 2);
  make("up", 3);
  give(live_ask_granted(&one, SOON_MS));
  give(live_ask_granted(&two, SOON_MS));
  give(hold);
  unmake("up");
}

TEST(fewer_permits_take_nothing_away)
{
  dibs_hold *three;

  make("down", 4);
  three = take(a, "down", 3);
  make("down", 2);
  assert_int_equal(dibs_hold_state(three), DIBS_HOLD_HELD);
  live_refused(try_take(b, "down", 1), DIBS_BUSY);
  give(three);
  assert_int_equal(try_take(b, "down", 2), DIBS_OK);
  live_expect(b, dibs_acquire(b, DIBS_PERMITS("down", 3), NULL, &three), DIBS_ERR_ARGUMENT);
  unmake("down");
}

/* One that waits for more than there are now learns it, and does not block the others. */
TEST(a_waiter_that_no_longer_fits_is_refused)
{
  struct live_ask large, small;
  dibs_hold *four;

  make("shrunk", 4);
  four = take(a, "shrunk", 4);
  ask(&large, b, '3', "shrunk");
  expect_counts("shrunk", 4, 1);
  ask(&small, b, '2', "shrunk");
  expect_counts("shrunk", 4, 2);
  make("shrunk", 2);
  assert_true(live_ask_wait(&large, SOON_MS));
  assert_int_equal(large.status, DIBS_ERR_ARGUMENT);
  give(four);
  give(live_ask_granted(&small, SOON_MS));
  unmake("shrunk");
}

TEST(set_if_absent_and_delete_tell_what_is_there)
{
  uint32_t permits = 0;
  dibs_hold *hold;

  live_expect(a,
              dibs_semaphore_set(a, dibs_text("absent"), 3, DIBS_SEMAPHORE_IF_ABSENT,
                                 &permits), DIBS_OK);
  assert_int_equal(permits, 3);
  live_expect(b,
              dibs_semaphore_set(b, dibs_text("absent"), 9, DIBS_SEMAPHORE_IF_ABSENT,
                                 &permits), DIBS_OK);
  assert_int_equal(permits, 3);
  hold = take(a, "absent", 1);
  live_expect(b, dibs_semaphore_delete(b, dibs_text("absent")), DIBS_BUSY);
  give(hold);
  unmake("absent");
  live_expect(b, dibs_semaphore_set(b, dibs_text("absent"), 9, DIBS_SEMAPHORE_IF_ABSENT, NULL),
              DIBS_OK);
  unmake("absent");
}

/* ---- waiting ends ---- */

TEST(time_limits_and_cancels_leave_nothing)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 100);
  dibs_canceller *cancel = NULL;
  dibs_hold *two, *hold = NULL;

  make("limit", 2);
  two = take(a, "limit", 2);
  live_expect_refused(b, dibs_acquire(b, DIBS_PERMITS("limit", 1), &o, &hold), DIBS_TIMED_OUT);
  assert_int_equal(dibs_canceller_new(&cancel), DIBS_OK);
  dibs_cancel(cancel);
  o.cancel = cancel;
  assert_int_equal(dibs_acquire(b, DIBS_PERMITS("limit", 1), &o, &hold), DIBS_CANCELLED);
  cancel = dibs_canceller_free(cancel);
  expect_counts("limit", 2, 0);
  give(two);
  unmake("limit");
}

/* ---- leases ---- */

TEST(permits_are_renewed_and_a_fixed_lease_is_not)
{
  dibs_lock_options o = live_lock_options(400, 0);
  uint64_t renewed = live_stats(a).renewed;
  struct live_loss loss = { 0 };
  dibs_hold *kept = NULL, *fixed = NULL;

  make("leases", 2);
  live_expect_ok(dibs_acquire(a, DIBS_PERMITS("leases", 1), &o, &kept));
  o.flags = DIBS_LOCK_FIXED;
  live_report_loss(&o, &loss);
  live_expect_ok(dibs_acquire(a, DIBS_PERMITS("leases", 1), &o, &fixed));
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_equal(dibs_hold_state(kept), DIBS_HOLD_HELD);
  assert_int_not_equal(dibs_release(fixed), DIBS_OK);
  assert_true(live_stats(a).renewed > renewed);
  give(kept);
  /* Its loss is told a little before its end, and it is given back at the end. */
  o = live_lock_options(400, LIVE_LONG_MS);
  live_expect_ok(dibs_acquire(a, DIBS_PERMITS("leases", 2), &o, &kept));
  give(kept);
  unmake("leases");
}

/* Killed with 3 of 5, all 5 are there within one lease. */
TEST(a_killed_holders_permits_return_within_one_lease)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  dibs_hold *five = NULL;
  int pipes[2];
  int64_t killed_at;
  pid_t child;
  char byte;

  make("killed", 5);
  assert_int_equal(pipe(pipes), 0);
  child = fork();
  if (child == 0) {
    dibs_lock_options three = live_lock_options(1500, 0);
    dibs_client *client = NULL;
    dibs_hold *hold = NULL;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dibs_open(live_url(), NULL, &client, NULL) != DIBS_OK ||
        dibs_acquire(client, DIBS_PERMITS("killed", 3), &three, &hold) != DIBS_OK ||
        write(pipes[1], "x", 1) != 1)
      _exit(1);
    for (;;)
      pause();
  }
  (void)close(pipes[1]);
  assert_int_equal(read(pipes[0], &byte, 1), 1);
  (void)close(pipes[0]);
  assert_int_equal(kill(child, SIGKILL), 0);
  killed_at = live_now_ms();
  assert_int_equal(promise_waitpid(child, NULL, 0), child);
  live_expect(a, dibs_acquire(a, DIBS_PERMITS("killed", 5), &o, &five), DIBS_OK);
  assert_true(live_now_ms() - killed_at < 1500 + 1000 + 1000 + 1500);
  give(five);
  expect_counts("killed", 0, 0);
  unmake("killed");
}

/* Many threads of two clients: at no moment more than the limit are inside. */
struct party {
  dibs_client *client;
  int rounds;
};

enum { LIMIT = 4 };
static _Atomic int inside, most_inside;

static void *worker(void *data)
{
  struct party *p = data;
  dibs_lock_options o = live_lock_options(TTL_MS, 0);

  for (int i = 0; i < p->rounds; i++) {
    uint32_t count = 1 + (uint32_t)(i % 3);
    dibs_hold *hold = NULL;
    int now, most;

    if (dibs_acquire(p->client, DIBS_PERMITS("crowd", count), &o, &hold) != DIBS_OK) {
      live_fault("acquire failed");
      return NULL;
    }
    now = atomic_fetch_add(&inside, (int)count) + (int)count;
    promise_kept(now <= LIMIT, "%d permits of %d are out", now, LIMIT);
    most = atomic_load(&most_inside);
    while (now > most && !atomic_compare_exchange_weak(&most_inside, &most, now))
      continue;
    /* It works while it is inside: else hardly two would be seen there together. */
    if (dibs_ping(p->client, LIVE_LONG_MS, NULL) != DIBS_OK)
      live_fault("ping failed");
    (void)atomic_fetch_sub(&inside, (int)count);
    if (dibs_release(hold) != DIBS_OK)
      live_fault("release failed");
  }
  return NULL;
}

TEST(never_more_than_the_limit_are_inside)
{
  struct party parties[2] = { { a, (int)live_times(60) }, { b, (int)live_times(60) } };
  pthread_t threads[8];

  make("crowd", LIMIT);
  for (int i = 0; i < 8; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, worker, &parties[i % 2]), 0);
  for (int i = 0; i < 8; i++)
    (void)pthread_join(threads[i], NULL);
  assert_int_equal(live_faults(), 0);
  assert_true(atomic_load(&most_inside) <= LIMIT);
  assert_true(atomic_load(&most_inside) >= 3);
  expect_counts("crowd", 0, 0);
  unmake("crowd");
}

RUN_TESTS(setup, teardown)

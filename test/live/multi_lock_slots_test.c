/* SPDX-License-Identifier: MIT */
/* test/live/multi_lock_slots_test.c - several locks as one whose names are on different nodes
 * of a cluster, while slots move: one hold with one fence, nobody inside together, nobody stuck,
 * and nothing left behind however it ends. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "no_reentry.h"
#include "two_in_cluster.h"

enum { TTL_MS = 20000, SOON_MS = 8000, NAMES = 10, THREADS = 8, CLIENTS = 4 };

static int slots[NAMES];
static char names[NAMES][32];              /* in the order of their slots */
static const char *three[3];

static int setup(void **state)
{
  (void)state;
  two_in_cluster(DIBS_DIALECT_NATIVE);
  for (int i = 0; i < NAMES; i++) {
    char prefix[16];

    slots[i] = 800 + i * 1600;
    (void)snprintf(prefix, sizeof(prefix), "name-%d", i);
    test_cluster_name_in(slots[i], prefix, names[i], sizeof(names[i]));
  }
  three[0] = names[1];
  three[1] = names[5];
  three[2] = names[8];
  return 0;
}

static void expect_all_free(void)
{
  for (int i = 0; i < NAMES; i++)
    live_expect_free(b, names[i], SOON_MS);
}

/* ---- stories ---- */

TEST(names_on_three_nodes_are_one_hold_with_one_fence)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  uint64_t before = 0;
  dibs_hold *hold = NULL;

  for (int i = 0; i < 3; i++) {
    dibs_hold *one = live_lock(b, three[i], TTL_MS);

    before = dibs_hold_fence(one) > before ? dibs_hold_fence(one) : before;
    live_expect(b, dibs_release(one), DIBS_OK);
  }
  live_expect(a, acquire_names(a, three, 3, &o, &hold), DIBS_OK);
  PROMISE_GROWN(dibs_hold_fence(hold), before);
  before = dibs_hold_fence(hold);
  for (int i = 0; i < 3; i++)
    live_refused(live_try(b, three[i]), DIBS_BUSY);
  live_expect(a, dibs_release(hold), DIBS_OK);
  for (int i = 0; i < 3; i++) {
    hold = live_lock(b, three[i], TTL_MS);
    PROMISE_GROWN(dibs_hold_fence(hold), before);
    live_expect(b, dibs_release(hold), DIBS_OK);
  }
}

/* Of each of `tags`, in the order of their slots, so many names as its letter says. */
static void take_tags(const char *const *tags, const char *counts, const char *ending)
{
  static char bytes[DIBS_MANY_MAX][64];
  const char *wanted[DIBS_MANY_MAX];
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *hold = NULL, *one;
  uint64_t fence;
  size_t count = 0;

  for (size_t tag = 0; counts[tag] != '\0'; tag++)
    for (int i = 0; i < counts[tag] - '0'; i++) {
      (void)snprintf(bytes[count], sizeof(bytes[0]), "{%s}%s%d", tags[tag], ending, i);
      wanted[count] = bytes[count];
      count++;
    }
  live_expect(a, acquire_names(a, wanted, count, &o, &hold), DIBS_OK);
  fence = dibs_hold_fence(hold);
  for (size_t i = 0; i < count; i++)
    live_refused(live_try(b, wanted[i]), DIBS_BUSY);
  live_expect(a, dibs_release(hold), DIBS_OK);
  for (size_t i = 0; i < count; i++) {
    one = live_lock(b, wanted[i], TTL_MS);
    PROMISE_GROWN(dibs_hold_fence(one), fence);
    live_expect(b, dibs_release(one), DIBS_OK);
  }
}

TEST(several_names_of_one_slot_are_raised_together)
{
  static const char *const counts[] = { "211", "121", "112", "222", "903" };

  for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
    take_tags(three, counts[i], "account-");
}

TEST(names_of_one_slot_may_be_longer_together_than_one_name)
{
  take_tags(three, "991", "an-account-whose-name-is-longer-than-that-of-most-other-accounts-");
}

TEST(it_has_no_token_and_says_so)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  char token[DIBS_TOKEN_SIZE];
  dibs_hold *hold = NULL;

  live_expect(a, acquire_names(a, three, 3, &o, &hold), DIBS_OK);
  assert_int_equal(dibs_hold_token(hold, token, sizeof(token)), DIBS_ERR_UNSUPPORTED);
  assert_int_equal(dibs_hold_detach(hold), DIBS_ERR_UNSUPPORTED);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  live_expect(a, dibs_release(hold), DIBS_OK);
  expect_all_free();
}

TEST(a_try_takes_all_or_nothing)
{
  dibs_hold *last = live_lock(b, three[2], TTL_MS), *hold = NULL;

  live_expect_refused(a, acquire_names_now(a, three, 3, NULL, &hold), DIBS_BUSY);
  assert_null(hold);
  live_expect_free(b, three[0], SOON_MS);
  live_expect_free(b, three[1], SOON_MS);
  live_expect(b, dibs_release(last), DIBS_OK);
  expect_all_free();
}

TEST(who_has_one_of_them_does_not_wait_for_itself)
{
  expect_no_reentry(a, b, three);
}

TEST(it_is_renewed_on_all_nodes)
{
  dibs_lock_options o = live_lock_options(600, LIVE_LONG_MS);
  int64_t until;
  dibs_hold *hold = NULL;

  live_expect(a, acquire_names(a, three, 3, &o, &hold), DIBS_OK);
  until = live_now_ms() + 2000;
  while (live_now_ms() < until)
    for (int i = 0; i < 3; i++)
      live_refused(live_try(b, three[i]), DIBS_BUSY);
  assert_int_not_equal(dibs_hold_state(hold), DIBS_HOLD_GONE);
  live_expect(a, dibs_release(hold), DIBS_OK);
  expect_all_free();
}

/* ---- while it waits for the last of them ---- */

enum ending { BY_TIME, BY_CANCEL, BY_CLOSE };

static bool has_the_first(void *nothing)
{
  (void)nothing;
  return live_try(b, three[0]) == DIBS_BUSY && live_try(b, three[1]) == DIBS_BUSY;
}

static void end_while_it_waits(enum ending how, dibs_status wanted)
{
  dibs_lock_options o = live_lock_options(TTL_MS, how == BY_TIME ? 1500 : 0);
  dibs_client *waiter = cluster_open(cluster_options(DIBS_DIALECT_NATIVE));
  dibs_hold *last = live_lock(b, three[2], TTL_MS);
  struct live_ask ask;

  live_ask_begin_many(&ask, waiter, three, 3, &o);
  assert_true(live_until(how == BY_TIME ? 1000 : LIVE_LONG_MS, has_the_first, NULL));
  if (how == BY_CANCEL)
    dibs_request_cancel(ask.request);
  if (how == BY_CLOSE)
    waiter = dibs_close(waiter);
  assert_true(live_ask_wait(&ask, LIVE_LONG_MS));
  assert_int_equal(ask.status, wanted);
  assert_null(ask.hold);
  live_expect_free(b, three[0], SOON_MS);
  live_expect_free(b, three[1], SOON_MS);
  live_expect(b, dibs_release(last), DIBS_OK);
  expect_all_free();
  waiter = dibs_close(waiter);
}

/* All are granted at last, and one node does not answer when its lease is raised. */
TEST(the_time_limit_counts_when_a_node_is_stopped_before_the_last_is_granted)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 3000);
  dibs_hold *last = live_lock(b, three[2], TTL_MS);
  struct test_server *node = test_cluster_member(cluster, test_cluster_owner(cluster, slots[1]));
  struct live_ask ask;

  live_ask_begin_many(&ask, a, three, 3, &o);
  assert_true(live_until(2000, has_the_first, NULL));
  test_server_pause(node);
  live_expect(b, dibs_release(last), DIBS_OK);
  assert_true(live_ask_wait(&ask, TTL_MS / 2));
  test_server_resume(node);
  assert_int_equal(ask.status, DIBS_UNKNOWN);
  assert_null(ask.hold);
  expect_all_free();
}

TEST(a_time_limit_leaves_nothing)
{
  end_while_it_waits(BY_TIME, DIBS_TIMED_OUT);
}

TEST(a_cancel_leaves_nothing)
{
  end_while_it_waits(BY_CANCEL, DIBS_CANCELLED);
}

TEST(a_close_leaves_nothing)
{
  end_while_it_waits(BY_CLOSE, DIBS_ERR_CLOSED);
}

/* Cancelled at the moment at which the last of them is granted. */
TEST(a_cancel_at_any_moment_leaves_nothing)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);

  for (long run = live_times(60); run > 0; run--) {
    dibs_hold *last = live_lock(b, three[2], TTL_MS);
    struct live_ask ask;

    live_ask_begin_many(&ask, a, three, 3, &o);
    assert_true(live_until(LIVE_LONG_MS, has_the_first, NULL));
    live_expect(b, dibs_release(last), DIBS_OK);
    for (long turn = run * 3000; turn > 0; turn--)
      atomic_signal_fence(memory_order_seq_cst);
    dibs_request_cancel(ask.request);
    assert_true(live_ask_wait(&ask, LIVE_LONG_MS));
    if (ask.status == DIBS_OK)
      live_expect(a, dibs_release(ask.hold), DIBS_OK);
    else
      assert_int_equal(ask.status, DIBS_CANCELLED);
  }
  expect_all_free();
}

TEST(one_that_is_lost_while_another_is_waited_for_is_taken_again)
{
  dibs_lock_options o = live_lock_options(3000, LIVE_LONG_MS);
  dibs_hold *last = live_lock(b, three[2], TTL_MS);
  int owner = test_cluster_owner(cluster, slots[1]);
  struct live_ask ask;

  live_ask_begin_many(&ask, a, three, 3, &o);
  assert_true(live_until(LIVE_LONG_MS, has_the_first, NULL));
  assert_int_equal(test_server_integer(test_cluster_member(cluster, owner), "DEL %s",
                                       live_key(three[0])), 1);
  assert_true(live_until(LIVE_LONG_MS, has_the_first, NULL));
  live_expect(b, dibs_release(last), DIBS_OK);
  assert_true(live_ask_wait(&ask, LIVE_LONG_MS));
  assert_int_equal(ask.status, DIBS_OK);
  live_expect(a, dibs_release(ask.hold), DIBS_OK);
  expect_all_free();
}

TEST(losing_one_of_them_loses_all)
{
  struct live_loss loss = { 0 };
  dibs_lock_options o = live_lock_options(900, LIVE_LONG_MS);
  dibs_hold *hold = NULL;
  int owner = test_cluster_owner(cluster, slots[5]);

  live_report_loss(&o, &loss);
  live_expect(a, acquire_names(a, three, 3, &o, &hold), DIBS_OK);
  assert_int_equal(test_server_integer(test_cluster_member(cluster, owner), "DEL %s",
                                       live_key(three[1])), 1);
  assert_true(live_loss_wait(&loss, SOON_MS));
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_GONE);
  expect_all_free();                       /* before anybody released it */
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
  assert_int_equal(atomic_load(&loss.count), 1);
}

/* ---- a hold with an end ---- */

static bool is_gone(void *hold)
{
  return dibs_hold_state(hold) == DIBS_HOLD_GONE;
}

/* That waited for the last name for longer than it is to last; how many ms it lasted. */
static int64_t lasts_for(dibs_lock_options o)
{
  dibs_hold *last = live_lock(b, three[2], TTL_MS);
  int64_t until = live_now_ms() + 3 * o.ttl_ms, begun;
  struct live_ask ask;

  live_ask_begin_many(&ask, a, three, 3, &o);
  assert_true(live_until(LIVE_LONG_MS, has_the_first, NULL));
  while (live_now_ms() < until)
    live_refused(live_try(b, three[0]), DIBS_BUSY);
  live_expect(b, dibs_release(last), DIBS_OK);
  assert_true(live_ask_wait(&ask, LIVE_LONG_MS));
  begun = live_now_ms();
  assert_int_equal(ask.status, DIBS_OK);
  assert_true(live_until(SOON_MS, is_gone, ask.hold));
  begun = live_now_ms() - begun;
  assert_int_not_equal(dibs_release(ask.hold), DIBS_OK);
  expect_all_free();
  return begun;
}

TEST(a_fixed_hold_begins_when_all_names_are_granted)
{
  dibs_lock_options o = live_lock_options(1000, LIVE_LONG_MS);

  o.flags = DIBS_LOCK_FIXED;
  assert_in_range(lasts_for(o), 900, 1100);
}

TEST(max_hold_ms_begins_when_all_names_are_granted)
{
  dibs_lock_options o = live_lock_options(1000, LIVE_LONG_MS);

  o.max_hold_ms = 2000;
  assert_in_range(lasts_for(o), 1900, 2200);
}

/* ---- a crowd ---- */

static struct {
  dibs_client *clients[CLIENTS];
  _Atomic int inside[NAMES];
  uint64_t fences[NAMES];                  /* by whoever is inside */
  _Atomic long rounds_left;
} crowd;

static void visit(int who, dibs_client *c, unsigned *seed)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 60000);
  const char *wanted[NAMES];
  int which[NAMES], count = 0;
  dibs_hold *hold = NULL;
  dibs_status status;

  for (int i = 0; i < NAMES; i++)
    if (rand_r(seed) % 3 == 0) {
      which[count] = i;
      wanted[count++] = names[i];
    }
  if (count == 0)
    return;
  o.flags = DIBS_LOCK_NO_OWNER;
  status = acquire_names(c, wanted, (size_t)count, &o, &hold);
  if (status != DIBS_OK) {
    live_fault("%d names: %s", count, dibs_status_name(status));
    return;
  }
  for (int i = 0; i < count; i++) {
    int other = atomic_exchange(&crowd.inside[which[i]], who);

    promise_kept(other == 0, "%s: %d and %d are inside together", wanted[i], other, who);
    PROMISE_GROWN(dibs_hold_fence(hold), crowd.fences[which[i]]);
    crowd.fences[which[i]] = dibs_hold_fence(hold);
  }
  for (int i = 0; i < count; i++)
    atomic_store(&crowd.inside[which[i]], 0);
  status = dibs_release(hold);
  if (status != DIBS_OK)
    live_fault("release: %s", dibs_status_name(status));
}

static void *visit_again_and_again(void *data)
{
  int who = (int)(uintptr_t)data;
  unsigned seed = (unsigned)who * 7919;

  while (atomic_fetch_sub(&crowd.rounds_left, 1) > 0)
    visit(who, crowd.clients[who % CLIENTS], &seed);
  return NULL;
}

static void move(int slot)
{
  int to = (test_cluster_owner(cluster, slot) + 1) % 3;

  test_cluster_move_begin(cluster, slot, to);
  (void)test_cluster_move_keys(cluster, slot, to, -1);
  test_cluster_move_finish(cluster, slot, to);
}

TEST(random_subsets_exclude_each_other_while_slots_move)
{
  pthread_t threads[THREADS];
  int moves = 0;

  crowd.rounds_left = live_times(300);
  for (int i = 0; i < CLIENTS; i++)
    crowd.clients[i] = cluster_open(cluster_options(DIBS_DIALECT_NATIVE));
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, visit_again_and_again,
                                    (void *)(uintptr_t)(i + 1)), 0);
  while (atomic_load(&crowd.rounds_left) > 0)
    move(slots[moves++ % NAMES]);
  for (int i = 0; i < THREADS; i++)
    (void)pthread_join(threads[i], NULL);
  print_message("# %d slots moved\n", moves);
  assert_int_equal(live_faults(), 0);
  for (int i = 0; i < CLIENTS; i++)
    crowd.clients[i] = dibs_close(crowd.clients[i]);
  expect_all_free();
}

RUN_TESTS(setup, teardown)

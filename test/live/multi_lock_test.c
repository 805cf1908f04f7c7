/* SPDX-License-Identifier: MIT */
/* test/live/multi_lock_test.c - several locks as one: all or nothing, nothing held while
 * waiting, no deadlock whatever the order. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"

enum { TTL_MS = 20000, SOON_MS = 8000, NAMES = 10, CLIENTS = 6 };

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
  live_expect_clean(live_server);
  return live_server_teardown(state);
}

static dibs_hold *take(dibs_client *client, const char *const *names, size_t count)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  dibs_hold *hold = NULL;

  live_expect(client, acquire_names(client, names, count, &o, &hold), DIBS_OK);
  return hold;
}

static void give(dibs_hold *hold)
{
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

static void needs_sets(void)
{
  static const char *const names[] = { "probe" };

  give(take(a, names, 1));
}

/* By a thread that owns nothing else. */
static dibs_status try_elsewhere(dibs_client *client, const char *name)
{
  return live_try(client, name);
}

struct many_ask {
  dibs_client *client;
  const char *const *names;
  size_t count;
  int wait_ms;
  _Atomic bool is_over;
  dibs_status status;
  dibs_hold *hold;
};

static void *ask_run(void *data)
{
  struct many_ask *m = data;
  dibs_lock_options o = live_lock_options(TTL_MS, m->wait_ms);

  m->status = acquire_names(m->client, m->names, m->count, &o, &m->hold);
  m->is_over = true;
  return NULL;
}

static bool is_over(void *data)
{
  return ((struct many_ask *)data)->is_over;
}

/* ---- stories ---- */

TEST(a_set_is_all_its_members)
{
  needs_sets();
  static const char *const names[] = { "b", "a", "c", "a" };
  dibs_hold *hold = take(a, names, 4);
  uint64_t fence = dibs_hold_fence(hold);

  for (int i = 0; i < 3; i++)
    live_refused(try_elsewhere(b, names[i]), DIBS_BUSY);
  assert_int_equal(live_info(hold).units, 1);
  give(hold);
  for (int i = 0; i < 3; i++) {
    hold = live_lock(b, names[i], TTL_MS);
    PROMISE_GROWN(dibs_hold_fence(hold), fence);
    give(hold);
  }
}

TEST(a_try_takes_all_or_nothing)
{
  needs_sets();
  static const char *const names[] = { "t1", "t2", "t3" };
  dibs_hold *one = live_lock(b, "t2", TTL_MS), *hold = NULL;

  live_expect_refused(a, acquire_names_now(a, names, 3, NULL, &hold), DIBS_BUSY);
  assert_int_equal(try_elsewhere(b, "t1"), DIBS_OK);
  assert_int_equal(try_elsewhere(b, "t3"), DIBS_OK);
  give(one);
  live_expect(a, acquire_names_now(a, names, 3, NULL, &hold), DIBS_OK);
  give(hold);
}

static void expect_name(const dibs_hold *hold, size_t index, dibs_bytes wanted)
{
  char name[DIBS_NAME_MAX + 1];
  size_t size = 0;

  assert_int_equal(dibs_hold_name(hold, index, name, sizeof(name), &size), DIBS_OK);
  assert_int_equal(size, wanted.size);
  assert_memory_equal(name, wanted.bytes, size);
  assert_int_equal(name[size], 0);
}

TEST(a_set_has_names_of_any_bytes)
{
  char longest[DIBS_NAME_MAX] = { 'l' };
  const dibs_bytes names[] = { { "\0", 1 }, { "a\0x", 3 }, { "b", 1 },
                               { longest, sizeof(longest) } };     /* in order */
  dibs_hold *hold = NULL, *other = NULL;

  live_expect(a, dibs_acquire(a, DIBS_LOCKS(names, 4), NULL, &hold), DIBS_OK);
  for (size_t i = 0; i < 4; i++)
    expect_name(hold, i, names[i]);
  assert_int_equal(dibs_hold_name(hold, 4, NULL, 0, NULL), DIBS_ERR_ARGUMENT);
  live_expect_refused(b, acquire_now(b, DIBS_LOCKS(&names[1], 1), NULL, &other), DIBS_BUSY);
  live_refused(try_elsewhere(b, "b"), DIBS_BUSY);
  assert_int_equal(try_elsewhere(b, "a"), DIBS_OK);
  assert_int_equal(try_elsewhere(b, "x"), DIBS_OK);
  give(hold);
  live_tell_all("FLUSHALL");           /* live_expect_clean() reads no keys with a zero */
}

/* Names of one slot, as a Cluster keeps what it has of several. */
TEST(nothing_is_held_while_waiting)
{
  needs_sets();
  static const char *const names[] = { "{n}1", "{n}2", "{n}3" };
  dibs_hold *middle = live_lock(b, "{n}2", TTL_MS);
  struct many_ask m = { .client = a, .names = names, .count = 3 };
  pthread_t thread;

  assert_int_equal(pthread_create(&thread, NULL, ask_run, &m), 0);
  live_expect_waiters(live_server, "{n}2", 1);
  assert_int_equal(try_elsewhere(b, "{n}1"), DIBS_OK);
  assert_int_equal(try_elsewhere(b, "{n}3"), DIBS_OK);
  give(middle);
  (void)pthread_join(thread, NULL);
  assert_int_equal(m.status, DIBS_OK);
  give(m.hold);
}

TEST(a_time_limit_leaves_nothing)
{
  needs_sets();
  static const char *const names[] = { "l1", "l2" };
  dibs_hold *second = live_lock(b, "l2", TTL_MS), *hold = NULL;
  dibs_lock_options o = live_lock_options(TTL_MS, 150);

  live_expect_refused(a, acquire_names(a, names, 2, &o, &hold), DIBS_TIMED_OUT);
  assert_int_equal(try_elsewhere(b, "l1"), DIBS_OK);
  give(second);
  live_expect_free(b, "l2", SOON_MS);
}

/* Two threads of one client: the one's single lock is not disowned by the other's set. */
TEST(a_set_respects_locks_of_its_own_client)
{
  needs_sets();
  static const char *const names[] = { "o1", "o2" };
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  dibs_hold *single = NULL;
  struct many_ask m = { .client = a, .names = names, .count = 2 };
  pthread_t thread;

  assert_int_equal(dibs_lock(a, "o1", &o, &single), DIBS_OK);
  assert_int_equal(pthread_create(&thread, NULL, ask_run, &m), 0);
  live_expect_waiters(live_server, "o1", 1);
  assert_int_equal(dibs_hold_state(single), DIBS_HOLD_HELD);
  assert_false(m.is_over);
  give(single);
  (void)pthread_join(thread, NULL);
  assert_int_equal(m.status, DIBS_OK);
  live_refused(try_elsewhere(a, "o2"), DIBS_BUSY);
  give(m.hold);
}

TEST(an_owner_does_not_wait_for_itself)
{
  needs_sets();
  static const char *const names[] = { "s1", "s2" };
  dibs_hold *single = live_lock(a, "s2", TTL_MS), *hold = NULL;

  live_expect(a, acquire_names(a, names, 2, NULL, &hold), DIBS_WOULD_DEADLOCK);
  give(single);
  single = take(a, names, 2);
  live_expect(a, dibs_lock(a, "s1", NULL, &hold), DIBS_WOULD_DEADLOCK);
  live_expect(a, acquire_names(a, names, 2, NULL, &hold), DIBS_WOULD_DEADLOCK);
  give(single);
}

TEST(a_lingering_member_is_given_back)
{
  needs_sets();
  static const char *const names[] = { "g1", "g2" };
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  int64_t until = live_now_ms() + LIVE_LONG_MS;
  dibs_hold *hold = NULL;

  o.linger_ms = 60000;
  do {
    assert_int_equal(dibs_lock(a, "g1", &o, &hold), DIBS_OK);
    give(hold);
  } while (live_lease_end_us(live_server, "g1") == 0 && live_now_ms() < until);
  o = live_lock_options(TTL_MS, SOON_MS);
  live_expect(a, acquire_names(a, names, 2, &o, &hold), DIBS_OK);
  give(hold);
}

TEST(losing_one_member_loses_the_set)
{
  needs_sets();
  static const char *const names[] = { "x1", "x2" };
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  struct live_loss loss = { 0 };
  dibs_inspection *in = NULL;
  dibs_hold *hold = NULL;

  live_report_loss(&o, &loss);
  live_expect_ok(acquire_names(a, names, 2, &o, &hold));
  assert_int_equal(dibs_inspect(b, dibs_text("x2"), &in), DIBS_OK);
  live_expect_ok(dibs_break(b, dibs_text("x2"), in->lease));
  in = dibs_inspection_free(in);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_GONE);
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
  live_expect_free(b, "x1", SOON_MS);
}

TEST(a_set_is_renewed)
{
  needs_sets();
  static const char *const names[] = { "r1", "r2", "r3" };
  dibs_lock_options o = live_lock_options(300, 0);
  uint64_t renewed = live_stats(a).renewed;
  int64_t until = live_now_ms() + LIVE_LONG_MS;
  dibs_hold *hold = NULL;

  live_expect_ok(acquire_names(a, names, 3, &o, &hold));
  while (live_stats(a).renewed < renewed + 5 && live_now_ms() < until)
    for (int i = 0; i < 3; i++)
      live_refused(try_elsewhere(b, names[i]), DIBS_BUSY);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  give(hold);
}

TEST(a_hundred_names_and_no_more)
{
  needs_sets();
  char texts[101][16];
  const char *names[101];
  dibs_hold *hold = NULL;

  for (int i = 0; i < 101; i++) {
    (void)snprintf(texts[i], sizeof(texts[i]), "h-%d", i);
    names[i] = texts[i];
  }
  hold = take(a, names, 100);
  live_refused(try_elsewhere(b, "h-99"), DIBS_BUSY);
  give(hold);
  live_expect(a, acquire_names(a, names, 101, NULL, &hold), DIBS_ERR_ARGUMENT);
  live_expect_words(a, "101");
  live_expect(a, acquire_names(a, names, 0, NULL, &hold), DIBS_ERR_ARGUMENT);
}

/* ---- random subsets in random order ---- */

static _Atomic int owners[NAMES];

static void *crowd_run(void *data)
{
  unsigned seed = (unsigned)(uintptr_t)data;
  dibs_client *client = NULL;
  long rounds = live_times(60);

  if (dibs_open(live_url(), NULL, &client, NULL) != DIBS_OK) {
    live_fault("open");
    return NULL;
  }
  for (long round = 0; round < rounds; round++) {
    dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
    char texts[4][8];
    const char *names[4];
    int chosen[4];
    size_t count = 1 + (size_t)(rand_r(&seed) % 4);
    dibs_hold *hold = NULL;
    dibs_status status;

    for (size_t i = 0; i < count; i++) {
      chosen[i] = rand_r(&seed) % NAMES;
      for (size_t j = 0; j < i; j++)
        if (chosen[j] == chosen[i])
          chosen[i] = -1;
      (void)snprintf(texts[i], sizeof(texts[i]), "z%d", chosen[i] < 0 ? chosen[0] : chosen[i]);
      names[i] = texts[i];
    }
    status = count == 1 ? dibs_lock(client, names[0], &o, &hold)
                        : acquire_names(client, names, count, &o, &hold);
    if (status != DIBS_OK) {
      live_fault("round %ld: %s", round, dibs_status_name(status));
      break;
    }
    for (size_t i = 0; i < count; i++)
      if (chosen[i] >= 0)
        promise_kept(atomic_fetch_add(&owners[chosen[i]], 1) == 0, "two have z%d",
                     chosen[i]);
    if (dibs_ping(client, LIVE_LONG_MS, NULL) != DIBS_OK)      /* its work */
      live_fault("ping");
    for (size_t i = 0; i < count; i++)
      if (chosen[i] >= 0)
        (void)atomic_fetch_sub(&owners[chosen[i]], 1);
    if (dibs_release(hold) != DIBS_OK)
      live_fault("release");
  }
  client = dibs_close(client);
  return NULL;
}

TEST(random_subsets_exclude_each_other_and_never_stall)
{
  needs_sets();
  pthread_t threads[CLIENTS];

  for (int i = 0; i < CLIENTS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, crowd_run, (void *)(uintptr_t)(i + 1)),
                     0);
  for (int i = 0; i < CLIENTS; i++)
    (void)pthread_join(threads[i], NULL);
  assert_int_equal(live_faults(), 0);
}

/* A set whose members are always taken one by one by others gets its turn all the same. */
static _Atomic bool stop_greedy;

static void *greedy_run(void *data)
{
  const char *name = data;
  dibs_client *client = NULL;

  if (dibs_open(live_url(), NULL, &client, NULL) != DIBS_OK)
    return NULL;
  while (!stop_greedy) {
    dibs_hold *hold = NULL;

    if (dibs_lock(client, name, NULL, &hold) == DIBS_OK)
      (void)dibs_release(hold);
  }
  client = dibs_close(client);
  return NULL;
}

TEST(a_set_is_not_starved)
{
  needs_sets();
  static const char *const names[] = { "v1", "v2", "v3" };
  pthread_t greedy[6], thread;
  struct many_ask m = { .client = a, .names = names, .count = 3, .wait_ms = LIVE_LONG_MS };

  stop_greedy = false;
  for (int i = 0; i < 6; i++)
    assert_int_equal(pthread_create(&greedy[i], NULL, greedy_run,
                                    (void *)(uintptr_t)names[i / 2]), 0);
  assert_int_equal(pthread_create(&thread, NULL, ask_run, &m), 0);
  assert_true(live_until(LIVE_LONG_MS, is_over, &m));
  stop_greedy = true;
  (void)pthread_join(thread, NULL);
  assert_int_equal(m.status, DIBS_OK);
  give(m.hold);                         /* before the others can end, who wait for it */
  for (int i = 0; i < 6; i++)
    (void)pthread_join(greedy[i], NULL);
}

RUN_TESTS(setup, teardown)

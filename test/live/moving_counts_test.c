/* SPDX-License-Identifier: MIT */
/* test/live/moving_counts_test.c - what is counted while slots of a cluster move is counted once:
 * latches, guarded sums, rates, permits, parties of a barrier, sets and lists, each of several
 * keys of which some have gone and others have not. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "one_cluster.h"

enum { CLIENTS = 3, KINDS = 8, ROUNDS = 120, PERMITS = 200, PARTIES = 3, TTL_MS = 30000 };

static const char *const prefixes[KINDS] = { "latch", "sum", "rate", "permits", "barrier", "set",
                                             "list", "word" };
static dibs_client *clients[CLIENTS];
static char names[KINDS][32];
static int slots[KINDS];
static _Atomic int workers, granted, inside, added, put, taken;

static int setup(void **state)
{
  (void)state;
  cluster_start();
  for (int i = 0; i < CLIENTS; i++)
    clients[i] = cluster_open(cluster_options(DIBS_DIALECT_NATIVE));
  for (int i = 0; i < KINDS; i++) {
    slots[i] = 500 + i * 2000;
    test_cluster_name_in(slots[i], prefixes[i], names[i], sizeof(names[i]));
  }
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  for (int i = 0; i < CLIENTS; i++)
    clients[i] = dibs_close(clients[i]);
  cluster = test_cluster_stop(cluster);
  return 0;
}

/* ---- what clients do ---- */

static bool is_ok(const char *what, dibs_client *c, dibs_status status)
{
  dibs_error error = DIBS_ERROR_INIT;

  if (status == DIBS_OK)
    return true;
  (void)dibs_client_error(c, 0, &error);
  live_fault("%s: %s: %s", what, dibs_status_name(status), error.text);
  return false;
}

/* Each id comes in two rounds, and counts in one. */
static void count_down(int who, int round)
{
  char id[32];

  (void)snprintf(id, sizeof(id), "%d-%d", who, round / 2);
  (void)is_ok("latch", clients[who], dibs_latch_down(clients[who], names[0], 1, id, NULL));
  (void)is_ok("latch", clients[who], dibs_latch_down(clients[who], names[0], 1, NULL, NULL));
}

static void take_of_rate(int who)
{
  const dibs_wait_options once = { .size = sizeof(once), .wait_ms = 0 };
  dibs_status status = dibs_rate_limiter_acquire(clients[who], names[2], 1, &once, NULL);

  if (status != DIBS_BUSY && is_ok("rate", clients[who], status))
    atomic_fetch_add(&granted, 1);
}

static void enter(int who)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *hold = NULL;

  if (!is_ok("permits", clients[who], dibs_acquire(clients[who], DIBS_PERMIT_OF(names[3], 2), &o,
                                                   &hold)))
    return;
  promise_kept(atomic_fetch_add(&inside, 1) < 2, "three are inside with two permits");
  atomic_fetch_sub(&inside, 1);
  (void)is_ok("permits", clients[who], dibs_release(hold));
}

static void meet(int who)
{
  (void)is_ok("barrier", clients[who],
              dibs_barrier_await(clients[who], names[4], PARTIES, NULL, NULL));
}

static void use_data(int who, int round)
{
  char element[32];
  bool is_new = false;
  dibs_value *value = NULL;

  (void)snprintf(element, sizeof(element), "%d", round);
  if (is_ok("set", clients[who], dibs_set_add(clients[who], names[5], dibs_text(element), &is_new)))
    atomic_fetch_add(&added, is_new);
  if (is_ok("list", clients[who], dibs_list_add(clients[who], names[6], dibs_text(element), NULL)))
    atomic_fetch_add(&put, 1);
  if (round % 2 == 0 &&
      is_ok("list", clients[who], dibs_list_pop_first(clients[who], names[6], &value)))
    atomic_fetch_add(&taken, value != NULL);
  value = dibs_value_free(value);
}

static void *work(void *data)
{
  int who = (int)(uintptr_t)data;

  for (int round = 0; round < ROUNDS && live_faults() == 0; round++) {
    count_down(who, round);
    take_of_rate(who);
    enter(who);
    use_data(who, round);
    if (round % 10 == 0)
      meet(who);
  }
  atomic_fetch_sub(&workers, 1);
  return NULL;
}

static void *add_up(void *data)
{
  dibs_hold *hold = NULL;
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_client *c = clients[0];

  if (is_ok("lock", c, dibs_lock(c, "of the sum", &o, &hold))) {
    for (int round = 0; round < ROUNDS && live_faults() == 0; round++) {
      (void)is_ok("sum", c, dibs_guarded_incr(c, names[1], dibs_hold_fence(hold), 1, NULL));
      (void)is_ok("ttl", c, dibs_data_expire(c, names[1], 3600000, NULL));
      (void)is_ok("word", c, dibs_guarded_set(c, names[7], dibs_hold_fence(hold), "x", 1, 0));
      (void)is_ok("word", c, dibs_data_delete(c, names[7], NULL));
    }
    (void)is_ok("lock", c, dibs_release(hold));
  }
  (void)data;
  atomic_fetch_sub(&workers, 1);
  return NULL;
}

/* ---- the story ---- */

static void move(int slot)
{
  int to = (test_cluster_owner(cluster, slot) + 1) % 3;

  test_cluster_move_begin(cluster, slot, to);
  while (test_cluster_move_keys(cluster, slot, to, 1) > 0)
    continue;
  test_cluster_move_finish(cluster, slot, to);
}

static int64_t sum(void)
{
  dibs_value *value = NULL;
  int64_t number;

  live_expect(clients[1], dibs_guarded_get(clients[1], names[1], &value, NULL), DIBS_OK);
  number = strtoll((const char *)value->bytes, NULL, 10);
  value = dibs_value_free(value);
  return number;
}

TEST(what_is_counted_while_slots_move_is_counted_once)
{
  dibs_rate rate = DIBS_RATE_INIT;
  pthread_t threads[CLIENTS + 1];
  int64_t left = 0, free_permits = -1;
  uint64_t size = 0;
  int moves = 0;

  rate.permits = PERMITS;
  rate.interval_ms = 3600000;
  live_expect(clients[0], dibs_latch_set(clients[0], names[0], 1000000), DIBS_OK);
  live_expect(clients[0], dibs_rate_limiter_set(clients[0], names[2], &rate, DIBS_RATE_RESET),
              DIBS_OK);
  workers = CLIENTS + 1;
  for (int i = 0; i <= CLIENTS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, i == CLIENTS ? add_up : work,
                                    (void *)(uintptr_t)i), 0);
  while (atomic_load(&workers) > 0)
    move(slots[moves++ % KINDS]);
  for (int i = 0; i <= CLIENTS; i++)
    (void)pthread_join(threads[i], NULL);
  print_message("# %d slots moved\n", moves);
  assert_int_equal(live_faults(), 0);
  live_expect(clients[1], dibs_latch_count(clients[1], names[0], &left), DIBS_OK);
  assert_int_equal(1000000 - left, CLIENTS * (ROUNDS + ROUNDS / 2));
  assert_int_equal(sum(), ROUNDS);
  assert_int_equal(granted, PERMITS);
  live_expect(clients[1], dibs_rate_limiter_get(clients[1], names[2], NULL, &free_permits),
              DIBS_OK);
  assert_int_equal(free_permits, 0);
  assert_int_equal(added, ROUNDS);
  live_expect(clients[1], dibs_list_size(clients[1], names[6], &size), DIBS_OK);
  assert_int_equal(size, put - taken);
}

RUN_TESTS(setup, teardown)

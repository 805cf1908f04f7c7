/* SPDX-License-Identifier: MIT */
/* test/live/crowd_test.c - a crowd at one name: few commands for each hand-over,
 * and each client gets its turn. Each client stands for a process. */
#include "tests.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"

enum { CLIENTS = 10, THREADS = 10, CROWD = CLIENTS * THREADS };

static dibs_client *clients[CLIENTS];

static int setup(void **state)
{
  (void)live_server_setup(state);
  for (int i = 0; i < CLIENTS; i++)
    clients[i] = live_open(live_url());
  return 0;
}

static int teardown(void **state)
{
  for (int i = 0; i < CLIENTS; i++)
    clients[i] = dibs_close(clients[i]);
  live_expect_clean(live_server);
  return live_server_teardown(state);
}

struct visitor {
  int number;
  char mode;                     /* m, w, p */
  long rounds;
  int64_t longest_us;
};

static dibs_status take(const struct visitor *v, dibs_hold **ret_hold)
{
  dibs_client *client = clients[v->number % CLIENTS];

  if (v->mode == 'm')
    return dibs_lock(client, "herd-m", NULL, ret_hold);
  if (v->mode == 'w')
    return dibs_acquire(client, DIBS_WRITE("herd-w"), NULL, ret_hold);
  return dibs_acquire(client, DIBS_PERMITS("herd-p", 1), NULL, ret_hold);
}

static void *visit(void *data)
{
  struct visitor *v = data;

  for (long i = 0; i < v->rounds; i++) {
    int64_t began = live_now_us(), took;
    dibs_hold *hold = NULL;
    dibs_status status = take(v, &hold);

    if (status != DIBS_OK) {
      live_fault("not taken: %s", dibs_status_name(status));
      return NULL;
    }
    took = live_now_us() - began;
    if (took > v->longest_us)
      v->longest_us = took;
    status = dibs_release(hold);
    if (status != DIBS_OK)
      live_fault("not released: %s", dibs_status_name(status));
  }
  return NULL;
}

static uint64_t commands(void)
{
  uint64_t sum = 0;

  for (int i = 0; i < CLIENTS; i++)
    sum += live_stats(clients[i]).commands;
  return sum;
}

static void crowd(char mode)
{
  struct visitor visitors[CROWD];
  pthread_t threads[CROWD];
  int64_t longest[CROWD];
  long rounds = live_times(20);
  uint64_t before = commands();
  double each;

  for (int i = 0; i < CROWD; i++) {
    visitors[i] = (struct visitor){ .number = i, .mode = mode, .rounds = rounds };
    assert_int_equal(pthread_create(&threads[i], NULL, visit, &visitors[i]), 0);
  }
  for (int i = 0; i < CROWD; i++) {
    (void)pthread_join(threads[i], NULL);
    longest[i] = visitors[i].longest_us;
  }
  assert_int_equal(live_faults(), 0);
  each = (double)(commands() - before) / (double)(rounds * CROWD);
  print_message("# %c: %.2f commands each, longest wait %lld us, median %lld us\n", mode, each,
                (long long)live_max(longest, CROWD), (long long)live_median(longest, CROWD));
  /* In a quorum each server is asked. */
  assert_true(each <= (CLIENTS + 2) * (live_place() == LIVE_QUORUM ? live_server_count() : 1));
  assert_true(live_max(longest, CROWD) < 10 * live_median(longest, CROWD));
}

TEST(a_crowd_at_a_mutex)
{
  crowd('m');
}

TEST(a_crowd_of_writers)
{
  crowd('w');
}

TEST(a_crowd_at_a_semaphore)
{
  live_expect(clients[0], dibs_semaphore_set(clients[0], dibs_text("herd-p"), 3, 0, NULL),
              DIBS_OK);
  crowd('p');
  live_expect(clients[0], dibs_semaphore_delete(clients[0], dibs_text("herd-p")), DIBS_OK);
}

RUN_TESTS(setup, teardown)

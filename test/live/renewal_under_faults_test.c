/* SPDX-License-Identifier: MIT */
/* test/live/renewal_under_faults_test.c - threads lock a few names again and again while
 * connections are killed and keys deleted: every hold is renewed or told lost, never neither
 * (S7). 5 s by default; DIBS_TEST_SCALE=120: ten minutes. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <poll.h>

#include "live.h"
#include "stall.h"

enum { THREADS = 32, CLIENTS = 4, NAMES = 8, TTL_MS = 500 };

static dibs_client *clients[CLIENTS];
static _Atomic bool is_over;
static _Atomic long renewed_holds, lost_holds, released_holds;

static int setup(void **state)
{
  dibs_options o = live_options();

  (void)live_server_setup(state);
  o.connect_timeout_ms = 10000;
  for (int i = 0; i < CLIENTS; i++)
    clients[i] = live_open_with(live_url(), &o);
  return 0;
}

static int teardown(void **state)
{
  for (int i = 0; i < CLIENTS; i++)
    clients[i] = dibs_close(clients[i]);
  live_expect_clean_but_presence(live_server);
  return live_server_teardown(state);
}

/* Does nothing but look until `until_us`. A lease that is believed must stand on the server,
 * unless its key was deleted: the server's own deadline is read after the belief. */
static void keep(dibs_hold *hold, int64_t until_us)
{
  while (live_now_us() < until_us && dibs_hold_state(hold) != DIBS_HOLD_GONE) {
    int64_t valid_ms = dibs_hold_valid_ms(hold);

    if (valid_ms > TTL_MS)
      live_fault("valid for %lld ms of %d", (long long)valid_ms, TTL_MS);
    (void)poll(NULL, 0, 5);
  }
}

/* What was believed for longer than a lease was renewed; what is gone was told, once. */
static void check_end(dibs_hold *hold, const struct live_loss *loss, int64_t granted_us,
                      dibs_status status, bool was_gone)
{
  int told = atomic_load(&loss->count);

  (void)hold;
  promise_kept(!was_gone || status != DIBS_OK, "gone, and released as held");
  promise_kept(told <= 1, "told lost %d times", told);
  if (was_gone)
    (void)atomic_fetch_add(&lost_holds, 1);
  else if (live_now_us() - granted_us > 2 * TTL_MS * 1000)
    (void)atomic_fetch_add(&renewed_holds, 1);
  if (status == DIBS_OK)
    (void)atomic_fetch_add(&released_holds, 1);
}

static bool was_reported(void *data)
{
  return atomic_load(&((struct live_loss *)data)->count) > 0;
}

static void one_hold(dibs_client *client, unsigned *seed)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  struct live_loss loss = { .count = 0 };
  dibs_hold *hold = NULL;
  char name[16];
  int64_t granted_us;
  dibs_status status;
  bool was_gone;

  (void)snprintf(name, sizeof(name), "name-%u", rand_r(seed) % NAMES);
  live_report_loss(&o, &loss);
  o.wait_ms = 3000;
  status = dibs_lock(client, name, &o, &hold);
  if (status != DIBS_OK) {
    if (status != DIBS_TIMED_OUT && status != DIBS_UNKNOWN && status != DIBS_ERR_UNREACHABLE)
      live_fault("lock: %s", dibs_status_name(status));
    return;
  }
  granted_us = live_now_us();
  keep(hold, granted_us + (rand_r(seed) % 4 == 0 ? 3 * TTL_MS : 20) * 1000);
  was_gone = dibs_hold_state(hold) == DIBS_HOLD_GONE;
  if (was_gone && !live_until(2000, was_reported, &loss))
    live_fault("gone, and never told");
  status = dibs_release(hold);
  check_end(hold, &loss, granted_us, status, was_gone);
}

static void *lock_again_and_again(void *number)
{
  unsigned seed = (unsigned)(uintptr_t)number;

  while (!atomic_load(&is_over))
    one_hold(clients[(uintptr_t)number % CLIENTS], &seed);
  return NULL;
}

static void disturb(unsigned *seed)
{
  switch (rand_r(seed) % 8) {
  case 0:
    live_tell_all("CLIENT KILL TYPE pubsub");
    break;
  case 1:
  case 2:
    (void)test_server_command(live_server, "DEL dibs:m:{name-%d}", (int)(rand_r(seed) % NAMES));
    break;
  case 3:
    live_tell_all("SCRIPT FLUSH");
    break;
  default:
    live_tell_all("CLIENT KILL TYPE normal SKIPME yes");
  }
  (void)poll(NULL, 0, (int)(rand_r(seed) % 120));
}

/* A slow machine is given more time for it. */
static bool have_enough_happened(void)
{
  return atomic_load(&renewed_holds) > 0 && atomic_load(&lost_holds) > 0   /* keys were deleted */
         && atomic_load(&released_holds) > 50;
}

TEST(every_hold_is_renewed_or_told_lost)
{
  live_needs_keys();
  int64_t end = live_now_ms() + live_times(5) * 1000;
  pthread_t threads[THREADS];
  unsigned seed = 1;

  for (uintptr_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, lock_again_and_again, (void *)(i + 1)),
                     0);
  while (live_now_ms() < end || (!have_enough_happened() && live_now_ms() < end + 30000))
    disturb(&seed);
  atomic_store(&is_over, true);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_int_equal(live_faults(), 0);
  assert_true(have_enough_happened());
}

/* Whether a hold whose connection is killed is still held after nearly three leases. */
static bool is_kept_alive(int ttl_ms)
{
  dibs_hold *hold = live_lock(clients[0], "again", ttl_ms);
  int64_t until = live_now_ms() + ttl_ms * 8 / 3;

  live_tell_all("CLIENT KILL TYPE normal SKIPME yes");
  while (live_now_ms() < until && dibs_hold_state(hold) != DIBS_HOLD_GONE)
    (void)poll(NULL, 0, 2);
  return dibs_release(hold) == DIBS_OK;
}

/* The watchdog of a name works as well for the hundredth hold of it as for the first. A lease
 * that the machine let run out, because nobody got a processor, proves nothing: then another
 * one is taken, twice as long. */
TEST(the_watchdog_takes_up_every_new_hold)
{
  int ttl_ms = 150;
  long kept = 0;

  stall_watch_start();
  while (kept < live_times(5)) {
    stall_mark begin = stall_now();
    int64_t stalled_ms;

    if (is_kept_alive(ttl_ms)) {
      kept++;
      continue;
    }
    stalled_ms = stall_since_ms(&begin);
    if (stalled_ms < ttl_ms / 5)
      fail_msg("a lease of %d ms was lost; %lld ms were waited for a processor", ttl_ms,
               (long long)stalled_ms);
    if (ttl_ms > 5000)
      break;
    ttl_ms *= 2;
  }
  stall_watch_stop();
  if (kept < live_times(5))
    skip();                  /* nothing can be held here for five seconds */
}

RUN_TESTS(setup, teardown)

/* SPDX-License-Identifier: MIT */
/* test/live/silent_server_test.c - every exported function that waits for a server keeps its one
 * limit (call_limits.h) when the server is slow, and falls silent after any of its replies. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "call_limits.h"
#include "now.h"

enum { REPLIES_MAX = 8, DELAY_MS = 200 };

static dibs_client *other;

static bool starts(const struct trial *t, const char *with)
{
  return strncmp(t->row->function, with, strlen(with)) == 0;
}

static void values_free(struct trial *t)
{
  t->value = dibs_value_free(t->value);
  t->inspection = dibs_inspection_free(t->inspection);
  t->fleet = dibs_fleet_free(t->fleet);
  t->history = dibs_history_free(t->history);
  t->leader = dibs_leader_free(t->leader);
}

/* What makes the call wait, or send more than one request. */
static dibs_status prepare(const struct trial *t)
{
  static struct trial party;             /* of the barrier; it waits to the end */
  dibs_lock_options o = live_lock_options(60000, LIVE_LONG_MS);
  dibs_rate slow = { .size = sizeof(slow), .permits = 1, .interval_ms = 600000 };
  dibs_hold *hold;
  dibs_status status;

  if (starts(t, "dibs_lock") || starts(t, "dibs_try_lock") || starts(t, "dibs_inspect") ||
      starts(t, "dibs_acquire") || starts(t, "try_lock"))
    return dibs_lock(other, t->name, &o, &hold);
  if (starts(t, "take_read") || starts(t, "take_write"))
    return dibs_acquire(other, DIBS_WRITE(t->name), &o, &hold);
  if (starts(t, "take_permit")) {
    status = dibs_semaphore_set(other, dibs_text(t->name), 1, 0, NULL);
    return status != DIBS_OK ? status : dibs_acquire(other, DIBS_PERMITS(t->name, 1), &o,
                                                     &hold);
  }
  if (starts(t, "dibs_get_leader"))
    return dibs_acquire(other, DIBS_LEAD(t->name, "v"), &o, &hold);
  if (starts(t, "dibs_latch"))
    return dibs_latch_set(other, t->name, 1);
  if (starts(t, "dibs_barrier_reset"))
    return dibs_barrier_await_async(other, t->name, 2, NULL, on_barrier, &party, NULL);
  if (starts(t, "dibs_rate_limiter_acquire")) {
    status = dibs_rate_limiter_set(other, t->name, &slow, DIBS_RATE_RESET);
    return status != DIBS_OK ? status : try_rate(other, t->name);
  }
  return DIBS_OK;
}

/* They send requests until they have all: their limit is from the last reply. */
static const char *const walks[] = {
  "dibs_list", "dibs_list_names", "dibs_fleet_read", "dibs_history_read", "dibs_examine",
  "dibs_map_each", "dibs_set_each", "dibs_list_range",
};

static int64_t talked_for_ms(const struct trial *t, int64_t begun_us, int64_t silent_us)
{
  return silent_us > begun_us && is_in(t->row->function, walks, sizeof(walks) / sizeof(walks[0]))
           ? (silent_us - begun_us) / 1000 : 0;
}

/* Returns whether the server was silent during the call. */
static bool silent_after(struct trial *t, int replies, int attempt, int64_t *ret_over)
{
  struct test_proxy *proxy = test_proxy_start(live_server);
  dibs_client *c = open_at(test_proxy_url(proxy));
  struct test_proxy_counts counts;
  char name[96];
  int64_t begun_us;
  bool was_silent;

  (void)snprintf(name, sizeof(name), "%s %d %d", t->row->function, replies, attempt);
  limited(t, name);
  if (prepare(t) != DIBS_OK || dibs_ping(c, LIVE_LONG_MS, NULL) != DIBS_OK)
    live_fault("%s: not prepared", name);
  test_proxy_delay(proxy, TEST_TO_SERVER, DELAY_MS);
  if (replies == 0)
    test_proxy_black_hole(proxy, TEST_BOTH);
  else
    test_proxy_silence_after(proxy, (unsigned)replies);
  begun_us = test_now_us();
  *ret_over = over_limit(t, c);
  counts = test_proxy_counts(proxy);
  *ret_over -= talked_for_ms(t, begun_us, counts.silent_since_us);
  was_silent = replies == 0 || counts.dropped_to_client > 0;
  values_free(t);
  c = dibs_close(c);
  proxy = test_proxy_stop(proxy);
  return was_silent;
}

static void *with_a_server_that_falls_silent(void *data)
{
  struct trial *t = data;
  bool was_silent = true;

  for (int replies = 0; was_silent && replies < REPLIES_MAX; replies++) {
    int64_t over = BOUND_MS + 1;

    for (int i = 0; i < TRIES && over > BOUND_MS; i++)
      was_silent = silent_after(t, replies, i, &over);
    if (over > BOUND_MS)
      is_late(t, over, replies);
  }
  return NULL;
}

TEST(every_call_keeps_its_limit_when_the_server_falls_silent)
{
  dibs_lock_options o = live_lock_options(600000, LIVE_LONG_MS);
  dibs_options patient = live_options();
  dibs_hold *hold;

  patient.connect_timeout_ms = patient.command_timeout_ms = LIVE_LONG_MS;
  other = live_open_with(live_url(), &patient);
  hold = live_lock_with(other, two[1], &o);
  run_all(with_a_server_that_falls_silent);
  (void)dibs_release(hold);
  other = dibs_close(other);
}

static int setup(void **state)
{
  (void)every_call_setup(state);
  stall_watch_start();
  return 0;
}

static int teardown(void **state)
{
  other = dibs_close(other);
  stall_watch_stop();
  return live_server_teardown(state);
}

int main(void)
{
  if (live_is_beyond(LIVE_ONE))
    return 0;

  return tests_run(setup, teardown, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* test/live/call_limits.h - the limit of each exported function that waits for a server, as
 * <dibs/client.h> lists them, and how long a call took beyond it. */
#ifndef TEST_CALL_LIMITS_H
#define TEST_CALL_LIMITS_H

#include "every_call.h"
#include "stall.h"

/* The limits of a call, 1 s, and of what follows a wait differ from the sums of two of them. */
enum { CONNECT_MS = 1000, COMMAND_MS = 500, WAIT_MS = 300, CLOSE_MS = 250, BOUND_MS = 50 };
enum { TRIES = 3 };

/* ---- the limits ---- */

/* wait_ms. */
static const char *const waiting[] = {
  "dibs_lock", "dibs_acquire", "take_names", "take_read", "take_write", "take_permit",
  "dibs_latch_await", "dibs_ping",
};
/* The same, and a command timeout for the reply to what ends them. */
static const char *const waiting_for_their_end[] = {
  "take_lead", "dibs_barrier_await", "dibs_rate_limiter_acquire", "dibs_list_take",
};

static const char *const publishing[] = { "try_lead" };

static bool is_in(const char *name, const char *const *list, size_t count)
{
  size_t size = strlen(name);

  if (size > 6 && strcmp(name + size - 6, "_async") == 0)
    size -= 6;
  for (size_t i = 0; i < count; i++)
    if (strlen(list[i]) == size && strncmp(name, list[i], size) == 0)
      return true;
  return false;
}

static int limit_of(const char *function)
{
  if (is_in(function, waiting, sizeof(waiting) / sizeof(waiting[0])))
    return WAIT_MS;
  if (is_in(function, waiting_for_their_end,
            sizeof(waiting_for_their_end) / sizeof(waiting_for_their_end[0])))
    return WAIT_MS + COMMAND_MS;
  return is_in(function, publishing, 1) ? CONNECT_MS + COMMAND_MS : CONNECT_MS;
}

/* ---- one call ---- */

static dibs_client *open_at(const char *url)
{
  dibs_options o = live_options();
  dibs_client *c = NULL;

  o.connect_timeout_ms = CONNECT_MS;
  o.command_timeout_ms = COMMAND_MS;
  o.close_timeout_ms = CLOSE_MS;
  if (dibs_open(url, &o, &c, NULL) != DIBS_OK)
    live_fault("dibs_open()");
  return c;
}

/* Returns how much longer than its limit the call took, without stalls of the machine. */
static int64_t over_limit(struct trial *t, dibs_client *c)
{
  stall_mark stalls = stall_now();
  int64_t begun = live_now_ms();
  dibs_status status;

  atomic_store(&t->callbacks, 0);
  status = t->row->call(c, t);           /* its callback may have written to `t` already */
  if (!t->row->has_callback || status != DIBS_OK)
    t->status = status;
  else
    (void)live_until(LIVE_LONG_MS, has_callback_run, t);
  return live_now_ms() - begun - stall_since_ms(&stalls) - limit_of(t->row->function);
}

static void limited(struct trial *t, const char *name)
{
  static const dibs_wait_options looks = { sizeof(looks), 0, WAIT_MS, NULL };
  static const dibs_lock_options locks = { .size = sizeof(locks), .wait_ms = WAIT_MS,
                                           .ttl_ms = 30000 };

  t->name = name;
  t->wait_options = &looks;
  t->lock_options = &locks;
  t->ping_ms = WAIT_MS;
}

static void is_late(const struct trial *t, int64_t over_ms, int replies)
{
  live_fault("%s may take %d ms, and took %lld more (after %d replies; %s)", t->row->function,
             limit_of(t->row->function), (long long)over_ms, replies,
             dibs_status_name(t->status));
}

/* Runs all rows, a thread for each; asserts that none called live_fault(). */
static void run_all(void *(*run)(void *trial))
{
  static struct trial trials[ROW_COUNT];
  int faults = live_faults();

  for (size_t i = 0; i < ROW_COUNT; i++)
    trials[i] = trial_of(i, live_url(), NULL);
  run_all_rows(trials, NULL, run);
  assert_int_equal(live_faults() - faults, 0);
}

#endif

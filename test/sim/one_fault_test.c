/* SPDX-License-Identifier: MIT */
/* Every single fault at every moment: two programs take a lock in turn, and in each world one
 * thing goes wrong, once, at one of the moments at which anything happens in the world without
 * faults, or just before it. Complete where chance is not: no position is left out.
 *
 * What must hold: never two believers, but for data that the server lost; fences grow; each
 * call comes back in its time; all programs end; whoever comes then is served as soon as a
 * lease may run out, and leaves nothing but the memory of it. */
#include "tests.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dibs/sim.h>

enum { PROGRAMS = 2, CYCLES = 3, TTL_MS = 300, WAIT_MS = 20000, MOMENTS_MAX = 2000,
       LIMIT_MS = 120000, SLACK_MS = 60,
       /* A lease by its deadline, or watched: and a poll that finds it. */
       OVER_MS = TTL_MS + 1000 + 1500 };

/* What one world was like. */
static struct {
  dibs_hold *holds[PROGRAMS + 1];
  uint64_t top_fence;
  int grants, failures;
  bool may_overlap, may_fail;
} seen;

static int64_t moments[MOMENTS_MAX];
static size_t moment_count, world_count;

/* ---- the programs ---- */

static void cycle(dibs_client *client, int self)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  dibs_sim *sim = dibs_sim_current();
  int64_t begun = dibs_sim_now_us(sim), stopped_ms = TTL_MS * 2;
  dibs_status status;
  dibs_hold *hold;
  uint64_t fence;

  o.ttl_ms = TTL_MS;
  o.wait_ms = WAIT_MS;
  status = dibs_lock(client, "job", &o, &hold);
  if (dibs_sim_now_us(sim) - begun > (WAIT_MS + SLACK_MS + stopped_ms) * 1000ll)
    dibs_sim_flaw("L7: %d waited for %lld us", self,
                  (long long)(dibs_sim_now_us(sim) - begun));
  if (status != DIBS_OK) {
    dibs_sim_note("lock answers %s", dibs_status_text(status));
    seen.failures++;
    if (!seen.may_fail)
      dibs_sim_flaw("%d is not granted: %s", self, dibs_status_text(status));
    return;
  }
  fence = dibs_hold_fence(hold);
  if (fence <= seen.top_fence)
    dibs_sim_flaw("S2: fence %" PRIu64 " after %" PRIu64, fence, seen.top_fence);
  seen.top_fence = fence;
  seen.grants++;
  seen.holds[self] = hold;
  dibs_sim_sleep_us(300);
  seen.holds[self] = NULL;
  (void)dibs_release(hold);
}

/* Comes when everybody else has ended, and the fault is over. */
static void last(void *data)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  dibs_client *client = NULL;
  dibs_hold *hold;

  (void)data;
  o.ttl_ms = TTL_MS;
  o.wait_ms = OVER_MS;
  if (dibs_open("redis://server", NULL, &client, NULL) != DIBS_OK)
    return;
  if (dibs_lock(client, "job", &o, &hold) != DIBS_OK)
    dibs_sim_flaw("L1: it is not free after %d ms", OVER_MS);
  else if (dibs_release(hold) != DIBS_OK)
    dibs_sim_flaw("it cannot be released");
  client = dibs_close(client);
}

static void program(void *data)
{
  dibs_client *client = NULL;

  (void)data;
  if (dibs_open("redis://server", NULL, &client, NULL) != DIBS_OK)
    return;
  for (int i = 0; i < CYCLES; i++)
    cycle(client, dibs_sim_self());
  client = dibs_close(client);
}

/* ---- the oracle ---- */

static void look(dibs_sim *sim, void *data)
{
  int believers = 0;

  for (int i = 1; i <= PROGRAMS; i++)
    if (seen.holds[i] != NULL && dibs_sim_valid_us(sim, i, seen.holds[i]) > 0)
      believers++;
  if (believers > 1 && !seen.may_overlap)
    dibs_sim_flaw("S1: two believe");
  if (data != NULL && moment_count < MOMENTS_MAX &&
      (moment_count == 0 || moments[moment_count - 1] != dibs_sim_now_us(sim)))
    moments[moment_count++] = dibs_sim_now_us(sim);
}

static dibs_sim *world(void)
{
  dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;
  dibs_sim *sim;

  memset(&seen, 0, sizeof(seen));
  o.delay_min_us = o.delay_max_us = 50;
  sim = dibs_sim_new(&o);
  assert_non_null(sim);
  for (int i = 0; i < PROGRAMS; i++)
    (void)dibs_sim_start(sim, i == 0 ? "first" : "second", program, NULL);
  return sim;
}

static void find_moments(void)
{
  dibs_sim *sim = world();

  moment_count = 0;
  dibs_sim_watch(sim, look, moments);
  assert_true(dibs_sim_run(sim, LIMIT_MS));
  assert_null(dibs_sim_first_flaw(sim));
  assert_int_equal(seen.grants, PROGRAMS * CYCLES);
  sim = dibs_sim_free(sim);
  assert_in_range(moment_count, 40, MOMENTS_MAX - 1);
}

/* ---- one fault ---- */

static void expect_all_is_well(dibs_sim *sim, const dibs_sim_fault *f, bool has_ended)
{
  bool one_died = f->kind == DIBS_SIM_KILL || f->kind == DIBS_SIM_VANISH;
  const char *flaw = dibs_sim_first_flaw(sim), *left;
  char words[160];

  (void)dibs_sim_fault_text(f, words, sizeof(words));
  if (flaw != NULL)
    fail_msg("%s: %s", words, flaw);
  if (!has_ended)
    fail_msg("%s: somebody waits for ever", words);
  if (!one_died && seen.grants + seen.failures != PROGRAMS * CYCLES)
    fail_msg("%s: %d grants and %d failures", words, seen.grants, seen.failures);
  dibs_sim_heal(sim);
  (void)dibs_sim_start(sim, "last", last, NULL);
  if (!dibs_sim_run(sim, LIMIT_MS))
    fail_msg("%s: the last one waits for ever", words);
  flaw = dibs_sim_first_flaw(sim);
  if (flaw != NULL)
    fail_msg("%s: %s", words, flaw);
  left = dibs_sim_server(sim, "GET dibs:m:{job}");
  if (left[0] != '=')                  /* so begins the memory of a free lock */
    fail_msg("%s: %s is left", words, left);
}

static void run_with(dibs_sim_fault f, bool loses_data, bool may_fail)
{
  dibs_sim *sim = world();
  bool has_ended;

  seen.may_overlap = loses_data;
  seen.may_fail = may_fail;
  dibs_sim_watch(sim, look, NULL);
  assert_int_equal(dibs_sim_inject(sim, &f), DIBS_OK);
  has_ended = dibs_sim_run(sim, LIMIT_MS);
  expect_all_is_well(sim, &f, has_ended);
  sim = dibs_sim_free(sim);
  world_count++;
}

/* At each moment, and a little before: after what came before it, on the way to it. */
static void at_each_moment(dibs_sim_fault f, int processes, bool loses_data, bool may_fail)
{
  for (size_t i = 0; i < moment_count; i++)
    for (int early = 0; early < 2; early++)
      for (int p = processes == 0 ? 0 : 1; p <= processes; p++) {
        f.at_us = moments[i] - (early == 0 ? 0 : 20);
        f.process = p;
        run_with(f, loses_data, may_fail);
      }
}

TEST(whatever_happens_to_one_program)
{
  static const dibs_sim_fault faults[] = {
    { .kind = DIBS_SIM_PAUSE, .ms = 2 }, { .kind = DIBS_SIM_PAUSE, .ms = TTL_MS * 2 },
    { .kind = DIBS_SIM_KILL }, { .kind = DIBS_SIM_VANISH },
  };

  find_moments();
  for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
    at_each_moment(faults[i], PROGRAMS, false, false);
}

TEST(whatever_happens_to_its_connections)
{
  static const dibs_sim_fault faults[] = {
    { .kind = DIBS_SIM_CUT }, { .kind = DIBS_SIM_CUT_LATE, .ms = 1 },
    { .kind = DIBS_SIM_CUT_LATE, .ms = TTL_MS * 2 }, { .kind = DIBS_SIM_CUT_REPLY },
    { .kind = DIBS_SIM_HOLD, .ms = 1 }, { .kind = DIBS_SIM_HOLD, .ms = TTL_MS * 2 },
    { .kind = DIBS_SIM_HOLD, .ms = TTL_MS * 2, .direction = DIBS_SIM_TO_CLIENT },
    { .kind = DIBS_SIM_BLACK_HOLE, .ms = 1 },
    { .kind = DIBS_SIM_BLACK_HOLE, .ms = TTL_MS * 2, .direction = DIBS_SIM_TO_SERVER },
    { .kind = DIBS_SIM_BLACK_HOLE, .ms = TTL_MS * 2, .direction = DIBS_SIM_TO_CLIENT },
    { .kind = DIBS_SIM_REFUSE, .ms = TTL_MS * 2 },
  };

  find_moments();
  for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
    at_each_moment(faults[i], PROGRAMS, false, false);
}

TEST(whatever_happens_to_the_server)
{
  static const dibs_sim_fault faults[] = {
    { .kind = DIBS_SIM_SERVER_PAUSE, .ms = TTL_MS * 2 },
    { .kind = DIBS_SIM_SERVER_RESTART, .ms = 5 },
    { .kind = DIBS_SIM_SERVER_RESTART, .ms = TTL_MS * 2 },
    { .kind = DIBS_SIM_SERVER_FORGET }, { .kind = DIBS_SIM_SERVER_KILL_CLIENTS },
    { .kind = DIBS_SIM_SERVER_KILL_CLIENTS, .ms = 1 },
    { .kind = DIBS_SIM_SERVER_BUSY, .ms = TTL_MS * 2 },
    { .kind = DIBS_SIM_SERVER_LOADING, .ms = TTL_MS * 2 },
    { .kind = DIBS_SIM_SERVER_WALL_STEP, .ms = 60000 },
    { .kind = DIBS_SIM_SERVER_WALL_STEP, .ms = -600000 },
  };

  find_moments();
  for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
    at_each_moment(faults[i], 0, false, false);
}

TEST(when_it_refuses_requests_fail_and_nothing_is_left)
{
  static const dibs_sim_fault faults[] = {
    { .kind = DIBS_SIM_SERVER_FULL, .ms = TTL_MS * 2 },
    { .kind = DIBS_SIM_SERVER_READ_ONLY, .ms = TTL_MS * 2 },
    { .kind = DIBS_SIM_SERVER_MISCONF, .ms = TTL_MS * 2 },
  };

  find_moments();
  for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
    at_each_moment(faults[i], 0, false, true);
}

TEST(when_it_loses_its_data_fences_grow_and_everybody_goes_on)
{
  static const dibs_sim_fault faults[] = {
    { .kind = DIBS_SIM_SERVER_FLUSH }, { .kind = DIBS_SIM_SERVER_EVICT },
    { .kind = DIBS_SIM_SERVER_EMPTY, .ms = 5 },
  };

  find_moments();
  for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
    at_each_moment(faults[i], 0, true, false);
}

int main(void)
{
  int failures = tests_run(NULL, NULL, NULL, NULL);

  (void)printf("# %zu worlds\n", world_count);
  return failures;
}

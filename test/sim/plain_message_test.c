/* SPDX-License-Identifier: MIT */
/* A waiter of the dialect plain has a lock as soon as a client of dibs has released it, by a
 * message; dialects.md 3. The releases of other libraries are found by polls. */
#include "tests.h"

#include <stdint.h>
#include <stdlib.h>

#include <dibs/sim.h>

#include "expect.h"

#define URL "redis://server?dialect=plain"

enum { HOLD_MS = 3000, WAIT_MS = 10, WORLD_MS = 60000, WORLDS = 10 };
enum { SOON_US = 2000 };                /* a message, an acquire and its reply */

static struct {
  const char *url;
  int64_t freed_us, granted_us;
} seen;

static void holds(void *data)
{
  dibs_client *c = NULL;
  dibs_hold *hold = NULL;

  (void)data;
  EXPECT(dibs_open(seen.url, NULL, &c, NULL) == DIBS_OK);
  EXPECT(dibs_lock(c, "x", NULL, &hold) == DIBS_OK);
  dibs_sim_sleep_ms(HOLD_MS);
  EXPECT(dibs_release(hold) == DIBS_OK);
  seen.freed_us = dibs_sim_now_us(dibs_sim_current());
  c = dibs_close(c);
}

static void waits(void *data)
{
  dibs_client *c = NULL;
  dibs_hold *hold = NULL;

  (void)data;
  dibs_sim_sleep_ms(WAIT_MS);
  EXPECT(dibs_open(seen.url, NULL, &c, NULL) == DIBS_OK);
  EXPECT(dibs_lock(c, "x", NULL, &hold) == DIBS_OK);
  seen.granted_us = dibs_sim_now_us(dibs_sim_current());
  EXPECT(dibs_release(hold) == DIBS_OK);
  c = dibs_close(c);
}

/* Returns how long after the release the waiter was granted the lock. */
static int64_t played(const char *url, uint64_t seed)
{
  dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;
  dibs_sim *sim;

  seen.url = url;
  seen.freed_us = seen.granted_us = 0;
  o.seed = seed;
  sim = dibs_sim_new(&o);
  assert_int_equal(dibs_sim_start(sim, "holds", holds, NULL), 1);
  assert_int_equal(dibs_sim_start(sim, "waits", waits, NULL), 2);
  assert_true(dibs_sim_run(sim, WORLD_MS));
  assert_null(dibs_sim_first_flaw(sim));
  sim = dibs_sim_free(sim);
  return seen.granted_us - seen.freed_us;
}

TEST(a_release_ends_the_pause_of_a_waiter)
{
  for (uint64_t seed = 1; seed <= WORLDS; seed++)
    assert_true(played(URL, seed) <= SOON_US);
}

TEST(without_messages_a_poll_finds_it)
{
  int64_t longest_us = 0;

  for (uint64_t seed = 1; seed <= WORLDS; seed++) {
    int64_t us = played(URL "&pubsub=no", seed);

    longest_us = us > longest_us ? us : longest_us;
  }
  assert_in_range(longest_us, SOON_US, 260000);
}

RUN_TESTS(NULL, NULL)

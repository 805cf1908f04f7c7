/* SPDX-License-Identifier: MIT */
/* Two who take one lock of the dialect redisson again and again, one near the server and one far
 * from it: by who asks first alone, the far one would hardly ever have it (redisson.md 2). */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <dibs/sim.h>

#include "expect.h"

#define URL "redis://server?dialect=redisson"

enum {
  NEAR = 1, FAR = 2, WORLD_MS = 4000, FAR_MS = 1, HOLD_US = 5000, TURNS_MIN = 50, WORLDS = 10
};

static struct {
  int turns[FAR + 1];
  uint32_t flags;
} seen;

static void takes_turns(void *data)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  dibs_client *c = NULL;

  (void)data;
  o.flags = seen.flags;
  EXPECT(dibs_open(URL, NULL, &c, NULL) == DIBS_OK);
  while (dibs_sim_now_us(dibs_sim_current()) < WORLD_MS * 1000) {
    dibs_hold *hold = NULL;

    EXPECT(dibs_lock(c, "x", &o, &hold) == DIBS_OK);
    seen.turns[dibs_sim_self()]++;
    dibs_sim_sleep_us(HOLD_US);
    EXPECT(dibs_release(hold) == DIBS_OK);
  }
  c = dibs_close(c);
}

static void play(uint64_t seed)
{
  dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;
  const dibs_sim_fault far = { .kind = DIBS_SIM_SLOW, .process = FAR, .ms = 2 * WORLD_MS,
                               .delay_ms = FAR_MS };
  dibs_sim *sim;

  o.seed = seed;
  seen.turns[NEAR] = seen.turns[FAR] = 0;
  sim = dibs_sim_new(&o);
  assert_int_equal(dibs_sim_start(sim, "near", takes_turns, NULL), NEAR);
  assert_int_equal(dibs_sim_start(sim, "far", takes_turns, NULL), FAR);
  assert_int_equal(dibs_sim_inject(sim, &far), DIBS_OK);
  assert_true(dibs_sim_run(sim, 10 * WORLD_MS));
  assert_null(dibs_sim_first_flaw(sim));
  sim = dibs_sim_free(sim);
  printf("# seed %llu: the near one %d times, the far one %d times\n", (unsigned long long)seed,
         seen.turns[NEAR], seen.turns[FAR]);
}

/* A quarter of all turns at least. */
TEST(the_far_one_has_turns_too)
{
  for (uint64_t seed = 1; seed <= WORLDS; seed++) {
    play(seed);
    assert_true(seen.turns[NEAR] >= TURNS_MIN && seen.turns[FAR] >= TURNS_MIN);
    assert_true(seen.turns[FAR] >= (seen.turns[NEAR] + seen.turns[FAR]) / 4);
  }
}

RUN_TESTS(NULL, NULL)

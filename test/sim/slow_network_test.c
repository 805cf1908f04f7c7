/* SPDX-License-Identifier: MIT */
/* Renewals on a slow network: a lease whose renewal is answered in time is kept, and a connection
 * that vanished is replaced while there is time. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>

#include <dibs/dibs.h>
#include <dibs/sim.h>

#include "expect.h"

typedef struct story {
  int32_t trip_ms, ttl_ms, renew_every_ms;
  /* After the grant; `kind` 0: none. */
  dibs_sim_fault_kind kind;
  int64_t after_ms, ms;
  int64_t refused_ms;                 /* from the fault on */
} story;

static dibs_sim *sim;

static void inject(const story *s)
{
  int64_t at_us = dibs_sim_now_us(sim) + s->after_ms * 1000;
  dibs_sim_fault f = { .kind = s->kind, .at_us = at_us, .ms = s->ms };
  dibs_sim_fault refuse = { .kind = DIBS_SIM_REFUSE, .at_us = at_us, .ms = s->refused_ms };

  EXPECT(s->kind == 0 || dibs_sim_inject(sim, &f) == DIBS_OK);
  EXPECT(s->refused_ms == 0 || dibs_sim_inject(sim, &refuse) == DIBS_OK);
}

static void holds(void *data)
{
  const story *s = data;
  dibs_options o = DIBS_OPTIONS_INIT;
  dibs_lock_options wish = DIBS_LOCK_OPTIONS_INIT;
  dibs_client *c = NULL;
  dibs_hold *hold = NULL;

  o.renew_every_ms = s->renew_every_ms;
  wish.ttl_ms = s->ttl_ms;
  EXPECT(dibs_open("redis://server", &o, &c, NULL) == DIBS_OK);
  EXPECT(dibs_lock(c, "x", &wish, &hold) == DIBS_OK);
  inject(s);
  dibs_sim_sleep_ms((int64_t)s->ttl_ms * 10);
  EXPECT(dibs_hold_state(hold) == DIBS_HOLD_HELD);
  EXPECT(dibs_release(hold) == DIBS_OK);
  c = dibs_close(c);
}

static void is_kept(story s)
{
  char flaw[200];

  for (uint64_t seed = 1; seed <= 20; seed++) {
    dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;

    o.seed = seed;
    o.delay_min_us = o.delay_max_us = s.trip_ms * 500;
    sim = dibs_sim_new(&o);
    (void)dibs_sim_start(sim, "one", holds, &s);
    assert_true(dibs_sim_run(sim, 600000));
    (void)snprintf(flaw, sizeof(flaw), "%s",
                   dibs_sim_first_flaw(sim) == NULL ? "" : dibs_sim_first_flaw(sim));
    sim = dibs_sim_free(sim);
    assert_string_equal(flaw, "");
  }
}

TEST(a_lease_of_four_round_trips)
{
  is_kept((story){ .trip_ms = 750, .ttl_ms = 3000 });
  is_kept((story){ .trip_ms = 800, .ttl_ms = 3000 });
}

/* The server has no script for renewals yet. */
TEST(a_lease_that_has_no_time_for_a_refusal_of_the_script)
{
  is_kept((story){ .trip_ms = 800, .ttl_ms = 2000 });
  is_kept((story){ .trip_ms = 800, .ttl_ms = 3000, .renew_every_ms = 1500 });
}

TEST(a_lease_of_five_round_trips_that_is_renewed_late)
{
  is_kept((story){ .trip_ms = 600, .ttl_ms = 3000, .renew_every_ms = 1500 });
}

/* The new connection is there in time for one renewal, and not for another connection. */
TEST(an_outage_for_most_of_a_lease)
{
  for (int64_t ms = 3000; ms <= 5000; ms += 100)
    is_kept((story){ .trip_ms = 800, .ttl_ms = 10000, .kind = DIBS_SIM_CUT, .after_ms = 500,
                     .refused_ms = ms });
}

TEST(a_connection_that_vanishes_is_replaced_in_time)
{
  for (int64_t ms = 2000; ms < 4000; ms += 100)
    is_kept((story){ .trip_ms = 200, .ttl_ms = 3000, .kind = DIBS_SIM_BLACK_HOLE,
                     .after_ms = ms, .ms = 500 });
}

/* The inbox comes up while the first renewal is on its way to nowhere, and causes another. */
TEST(a_connection_that_vanishes_is_replaced_in_time_though_another_renewal_was_sent)
{
  is_kept((story){ .trip_ms = 200, .ttl_ms = 3000, .kind = DIBS_SIM_BLACK_HOLE, .after_ms = 100,
                   .ms = 1000 });
}

RUN_TESTS(NULL, NULL)

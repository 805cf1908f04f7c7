/* SPDX-License-Identifier: MIT */
/* Simulated clusters whose slots are on their way: what seeds of sim/deployed found once, as
 * short as it gets. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <dibs/sim.h>

enum { SLOT_OF_B = 3300, RUN_MS = 60000 };

static int rounds;

static dibs_sim *begin(const dibs_sim_options *o, void (*program)(void *), int count)
{
  dibs_sim *sim = dibs_sim_new(o);

  assert_non_null(sim);
  rounds = 0;
  for (int i = 0; i < count; i++)
    (void)dibs_sim_start(sim, "p", program, NULL);
  return sim;
}

static void run_and_end(dibs_sim *sim, int rounds_wanted)
{
  assert_true(dibs_sim_run(sim, RUN_MS));
  if (dibs_sim_first_flaw(sim) != NULL)
    fail_msg("%s", dibs_sim_first_flaw(sim));
  assert_int_equal(rounds, rounds_wanted);
  (void)dibs_sim_free(sim);
}

static dibs_client *cluster_client(void)
{
  dibs_client *c = NULL;

  if (dibs_open("redis+cluster://s1,s2,s3", NULL, &c, NULL) != DIBS_OK)
    dibs_sim_flaw("no client");
  return c;
}

static void takes_turns(void *data)
{
  dibs_client *c = cluster_client();

  (void)data;
  for (int i = 0; i < 100; i++) {
    dibs_hold *hold = NULL;

    if (dibs_lock(c, "b", NULL, &hold) == DIBS_OK)
      rounds += dibs_release(hold) == DIBS_OK;
    dibs_sim_sleep_ms(50);
  }
  c = dibs_close(c);
}

/* Seed 34 of cluster-bare, 2026-11-21: ASK led to a server that had just become a replica. It
 * answers READONLY, and whose name was asked there once was reminded by nobody. */
TEST(who_is_sent_to_a_replica_by_ask_asks_the_owner_again)
{
  static const dibs_sim_fault faults[] = {
    { .kind = DIBS_SIM_SERVER_PROMOTE, .at_us = 1505000, .server = 4 },
    { .kind = DIBS_SIM_SERVER_SLOT, .at_us = 1516000, .server = 1, .slot = SLOT_OF_B,
      .ms = 1606 },
  };
  dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;
  dibs_sim *sim;

  o.cluster_nodes = 3;
  o.replicas = 1;
  o.down_after_ms = 4000;
  sim = begin(&o, takes_turns, 1);
  for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
    assert_int_equal(dibs_sim_inject(sim, &faults[i]), DIBS_OK);
  run_and_end(sim, 100);
}

static void takes_several(void *data)
{
  const dibs_bytes names[] = { dibs_text("{b}1"), dibs_text("{b}2"), dibs_text("a") };
  dibs_client *c = cluster_client();

  (void)data;
  for (int i = 0; i < 100; i++) {
    dibs_hold *hold = NULL;

    if (dibs_acquire(c, DIBS_LOCKS(names, 3), NULL, &hold) == DIBS_OK)
      rounds += dibs_release(hold) == DIBS_OK;
    dibs_sim_sleep_ms(5);
  }
  c = dibs_close(c);
}

/* The two names of one slot get the token of the third while their slot is on its way. */
TEST(names_of_one_slot_are_raised_together_while_it_moves)
{
  dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;
  dibs_sim *sim;

  o.cluster_nodes = 3;
  sim = begin(&o, takes_several, 2);
  for (int i = 0; i < 20; i++) {
    const dibs_sim_fault move = { .kind = DIBS_SIM_SERVER_SLOT, .at_us = 1500000 + i * 70000,
                                  .server = (i + 1) % 3, .slot = SLOT_OF_B, .ms = 40 };

    assert_int_equal(dibs_sim_inject(sim, &move), DIBS_OK);
  }
  run_and_end(sim, 200);
}

/* ---- a primary that is one no longer ---- */

enum { WRITERS = 8 };

static dibs_client *shared;

static int at_work;

static void writes(void *data)
{
  const char *key = data;

  for (uint64_t fence = 1; fence <= 400; fence++) {
    dibs_status status = dibs_guarded_set(shared, key, fence, "v", 1, 0);

    if (status != DIBS_OK)
      dibs_sim_flaw("%s, fence %d: %s", key, (int)fence, dibs_status_name(status));
    rounds++;
    dibs_sim_sleep_ms(1);
  }
  at_work--;
}

static void writes_at_once(void *data)
{
  static char keys[WRITERS][8];

  (void)data;
  if (dibs_open("redis://s1,s2", NULL, &shared, NULL) != DIBS_OK)
    dibs_sim_flaw("no client");
  at_work = WRITERS;
  for (int i = 0; i < WRITERS; i++) {
    (void)snprintf(keys[i], sizeof(keys[i]), "k%d", i);
    dibs_sim_thread(writes, keys[i]);
  }
  while (at_work > 0)
    dibs_sim_sleep_ms(10);
  shared = dibs_close(shared);
}

/* A refused write was not executed: it waits for the new primary, as a lock does. */
TEST(writes_of_which_a_primary_on_its_way_out_refuses_several_reach_one)
{
  static const dibs_sim_fault demoted = { .kind = DIBS_SIM_SERVER_READ_ONLY, .at_us = 200000,
                                          .ms = 300 };
  dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;
  dibs_sim *sim;

  o.replicas = 1;
  sim = begin(&o, writes_at_once, 1);
  assert_int_equal(dibs_sim_inject(sim, &demoted), DIBS_OK);
  run_and_end(sim, 400 * WRITERS);
}

RUN_TESTS(NULL, NULL)

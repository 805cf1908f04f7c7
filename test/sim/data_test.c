/* SPDX-License-Identifier: MIT */
/* A queue in a simulated world whose connections break, with answers on them and requests on
 * their way: what is done twice, or lost in silence, is found by counting. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dibs/dibs.h>
#include <dibs/sim.h>

#include "expect.h"

#define URL "redis://server"
#define HOUR_MS 3600000

enum { ELEMENTS = 60, TAKERS = 3, WORLDS = 100 };

static dibs_sim *sim;

static struct {
  bool is_in[ELEMENTS], is_perhaps_in[ELEMENTS];
  int taken[ELEMENTS];
  int unknown_adds, unknown_takes;    /* as they were told */
  bool is_added;                      /* all that there will be */
} seen;

static dibs_client *open_client(void)
{
  dibs_client *c = NULL;

  EXPECT(dibs_open(URL, NULL, &c, NULL) == DIBS_OK);
  return c;
}

/* What surely was not done is done again. */
static void add_one(dibs_client *c, int i)
{
  dibs_status status;
  char words[16];

  (void)snprintf(words, sizeof(words), "%d", i);
  do
    status = dibs_list_add(c, "jobs", dibs_text(words), NULL);
  while (status == DIBS_ERR_UNREACHABLE);
  EXPECT(status == DIBS_OK || status == DIBS_UNKNOWN);
  seen.is_in[i] = status == DIBS_OK;
  seen.is_perhaps_in[i] = status == DIBS_UNKNOWN;
  seen.unknown_adds += status == DIBS_UNKNOWN;
}

static void adds(void *data)
{
  dibs_client *c = open_client();

  (void)data;
  for (int i = 0; i < ELEMENTS; i++) {
    dibs_sim_sleep_ms((int64_t)dibs_sim_random(60));
    add_one(c, i);
  }
  seen.is_added = true;
  c = dibs_close(c);
}

static void takes(void *data)
{
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;
  dibs_client *c = open_client();
  bool is_over = false;

  (void)data;
  o.wait_ms = 300;
  while (!is_over) {
    bool was_added = seen.is_added;
    dibs_value *got = NULL;
    dibs_status status = dibs_list_take(c, "jobs", &o, &got);

    if (status == DIBS_OK)
      seen.taken[strtol(got->bytes, NULL, 10)]++;
    else
      EXPECT(status == DIBS_UNKNOWN || status == DIBS_TIMED_OUT ||
             status == DIBS_ERR_UNREACHABLE);
    seen.unknown_takes += status == DIBS_UNKNOWN;
    got = dibs_value_free(got);
    is_over = was_added && status == DIBS_TIMED_OUT;
  }
  c = dibs_close(c);
}

static void breaks(void *data)
{
  static const dibs_sim_fault_kind kinds[] = { DIBS_SIM_CUT, DIBS_SIM_CUT_LATE,
                                               DIBS_SIM_CUT_REPLY, DIBS_SIM_SERVER_FORGET };

  (void)data;
  while (!seen.is_added) {
    dibs_sim_fault f = { .kind = kinds[dibs_sim_random(4)], .at_us = dibs_sim_now_us(sim),
                         .process = 1 + (int)dibs_sim_random(TAKERS + 1), .ms = 30 };

    EXPECT(dibs_sim_inject(sim, &f) == DIBS_OK);
    dibs_sim_sleep_ms(20 + (int64_t)dibs_sim_random(100));
  }
}

static void expect_whole(void)
{
  int lost = 0;

  for (int i = 0; i < ELEMENTS; i++) {
    if (seen.taken[i] > 1)
      fail_msg("%d was taken %d times", i, seen.taken[i]);
    assert_true(seen.taken[i] == 0 || seen.is_in[i] || seen.is_perhaps_in[i]);
    lost += seen.is_in[i] && seen.taken[i] == 0;
  }
  assert_true(lost <= seen.unknown_takes);
}

TEST(nothing_is_done_twice_and_no_loss_is_silent)
{
  int adds_in_doubt = 0, takes_in_doubt = 0;

  for (uint64_t seed = 1; seed <= WORLDS; seed++) {
    dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;

    o.seed = seed;
    o.delay_min_us = 100;
    o.delay_max_us = 3000;
    sim = dibs_sim_new(&o);
    assert_non_null(sim);
    memset(&seen, 0, sizeof(seen));
    (void)dibs_sim_start(sim, "adder", adds, NULL);
    for (int i = 0; i < TAKERS; i++)
      (void)dibs_sim_start(sim, "taker", takes, NULL);
    (void)dibs_sim_start(sim, "faults", breaks, NULL);
    assert_true(dibs_sim_run(sim, HOUR_MS));
    if (dibs_sim_first_flaw(sim) != NULL)
      fail_msg("seed %d: %s", (int)seed, dibs_sim_first_flaw(sim));
    expect_whole();
    adds_in_doubt += seen.unknown_adds;
    takes_in_doubt += seen.unknown_takes;
    sim = dibs_sim_free(sim);
  }
  assert_true(adds_in_doubt > 20 && takes_in_doubt > 20);      /* it was not all calm */
}

/* ---- a change without a reply is not made after its call ---- */

enum { HELD_MS = 2500, APART_MS = 1000 };        /* over the command_timeout, 2 s, and under it */

static dibs_client *shared;

/* The first request without a reply: after command_timeout it ends the connection of both. */
static void adds_before(void *data)
{
  (void)data;
  EXPECT(dibs_list_add(shared, "other", dibs_text("e"), NULL) == DIBS_UNKNOWN);
}

/* The request of this call arrives half a second after the connection has ended. */
static void pops_in_doubt(void *data)
{
  dibs_sim_fault f = { .kind = DIBS_SIM_HOLD, .ms = HELD_MS, .at_us = 0 };
  dibs_value *got = NULL;
  int64_t begun;
  char then[32];

  (void)data;
  shared = open_client();
  for (int i = 0; i < 2; i++)
    EXPECT(dibs_list_add(shared, "jobs", dibs_text("e"), NULL) == DIBS_OK);
  EXPECT(dibs_list_pop_first(shared, "jobs", &got) == DIBS_OK);   /* the server has the script */
  got = dibs_value_free(got);
  EXPECT(dibs_sim_inject(sim, &f) == DIBS_OK);
  dibs_sim_thread(adds_before, NULL);
  dibs_sim_sleep_ms(APART_MS);
  begun = dibs_sim_now_us(sim);
  EXPECT(dibs_list_pop_first(shared, "jobs", &got) == DIBS_UNKNOWN && got == NULL);
  EXPECT(dibs_sim_now_us(sim) - begun <= 2050 * 1000);       /* command_timeout */
  (void)snprintf(then, sizeof(then), "%s", dibs_sim_server(sim, "LLEN jobs"));
  dibs_sim_sleep_ms(10000);
  EXPECT(strcmp(dibs_sim_server(sim, "LLEN jobs"), then) == 0);
  shared = dibs_close(shared);
}

TEST(a_change_without_a_reply_is_not_made_after_its_call)
{
  sim = dibs_sim_new(NULL);
  assert_non_null(sim);
  (void)dibs_sim_start(sim, "p", pops_in_doubt, NULL);
  assert_true(dibs_sim_run(sim, HOUR_MS));
  if (dibs_sim_first_flaw(sim) != NULL)
    fail_msg("%s", dibs_sim_first_flaw(sim));
  sim = dibs_sim_free(sim);
}

/* ---- maps ---- */

static bool count(dibs_bytes key, dibs_bytes value, void *data)
{
  *(int *)data += key.size > 0 && value.size == 1;
  return true;
}

static void keeps_a_map(void *data)
{
  dibs_client *c = open_client();
  dibs_value *old = NULL;
  char key[16];
  int entries = 0;

  (void)data;
  for (int i = 0; i < 100; i++) {
    (void)snprintf(key, sizeof(key), "%d", i);
    EXPECT(dibs_map_put(c, "map", dibs_text(key), dibs_text("1"), &old) == DIBS_OK);
    EXPECT(old == NULL);
  }
  EXPECT(dibs_map_put(c, "map", dibs_text("7"), dibs_text("2"), &old) == DIBS_OK);
  EXPECT(old != NULL && strcmp(old->bytes, "1") == 0);
  old = dibs_value_free(old);
  EXPECT(dibs_map_each(c, "map", count, &entries) == DIBS_OK);
  EXPECT(entries >= 100);
  EXPECT(strcmp(dibs_sim_server(sim, "HGET map 7"), "2") == 0);
  c = dibs_close(c);
}

TEST(a_map_is_kept_in_a_world)
{
  dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;

  sim = dibs_sim_new(&o);
  assert_non_null(sim);
  (void)dibs_sim_start(sim, "p", keeps_a_map, NULL);
  assert_true(dibs_sim_run(sim, HOUR_MS));
  if (dibs_sim_first_flaw(sim) != NULL)
    fail_msg("%s", dibs_sim_first_flaw(sim));
  sim = dibs_sim_free(sim);
}

/* ---- its end, and that of the fence of its guarded writes ---- */

enum { DAY_MS = 24 * HOUR_MS };

static void guards(void *data)
{
  const dibs_field old = { "a", "old", 3 }, new = { "a", "new", 3 };
  bool keeps = *(const bool *)data, is_done = false;
  dibs_client *c = open_client();

  EXPECT(dibs_guarded_hset(c, "map", 6, &new, 1) == DIBS_OK);
  EXPECT(dibs_data_expire(c, "map", HOUR_MS, &is_done) == DIBS_OK && is_done);
  EXPECT(dibs_guarded_hset(c, "map", 7, &new, 1) == DIBS_OK);
  if (keeps)
    EXPECT(dibs_data_persist(c, "map", &is_done) == DIBS_OK && is_done);
  else
    EXPECT(dibs_data_expire(c, "map", (int64_t)9 * DAY_MS, &is_done) == DIBS_OK && is_done);
  dibs_sim_sleep_ms((int64_t)3 * DAY_MS);
  EXPECT(dibs_guarded_hset(c, "map", 6, &old, 1) == DIBS_FENCED);
  EXPECT(strcmp(dibs_sim_server(sim, "HGET map a"), "new") == 0);
  c = dibs_close(c);
}

TEST(a_map_that_lives_longer_is_still_closed_to_an_old_holder)
{
  for (int i = 0; i < 2; i++) {
    dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;
    bool keeps = i == 0;

    sim = dibs_sim_new(&o);
    assert_non_null(sim);
    (void)dibs_sim_start(sim, "p", guards, &keeps);
    assert_true(dibs_sim_run(sim, (int64_t)4 * DAY_MS));
    if (dibs_sim_first_flaw(sim) != NULL)
      fail_msg("%s", dibs_sim_first_flaw(sim));
    sim = dibs_sim_free(sim);
  }
}

RUN_TESTS(NULL, NULL)

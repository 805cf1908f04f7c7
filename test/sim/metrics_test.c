/* SPDX-License-Identifier: MIT */
/* Metrics of simulated clients: durations in virtual time, of each client and of the fleet. */
#include "tests.h"

#include <stdint.h>
#include <string.h>

#include <dibs/sim.h>

#include "expect.h"

#define URL "redis://server"
#define HOUR_MS 3600000

/* A few round trips of at most 400 us each. */
#define CLOSE_US 20000

typedef struct numbers {
  dibs_fleet_row row;
  dibs_metrics all;
} numbers;

static numbers first, second;
static dibs_fleet_row totals;

static dibs_client *open_client(void)
{
  dibs_options o = DIBS_OPTIONS_INIT;
  dibs_client *c = NULL;

  o.classes = "other:*, job:*";
  EXPECT(dibs_open(URL, &o, &c, NULL) == DIBS_OK);
  return c;
}

/* Holds "job:1" for some time, from an instant on. */
static void hold_for(dibs_client *c, int64_t from_ms, int64_t ms)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  dibs_hold *hold = NULL;

  o.ttl_ms = 3000;
  o.wait_ms = DIBS_FOREVER;
  dibs_sim_sleep_ms(from_ms);
  EXPECT(dibs_lock(c, "job:1", &o, &hold) == DIBS_OK);
  dibs_sim_sleep_ms(ms);
  EXPECT(dibs_release(hold) == DIBS_OK);
}

static void read_numbers(dibs_client *c, numbers *n)
{
  dibs_metrics *m = NULL;

  EXPECT(dibs_metrics_read(c, &m) == DIBS_OK);
  EXPECT(m->count == 1 && strcmp(m->rows[0]->class_name, "job:*") == 0);
  n->row = *m->rows[0];
  n->all = *m;
  EXPECT(dibs_metrics_free(m) == NULL);
}

static void holds_first(void *data)
{
  dibs_client *c = open_client();

  (void)data;
  hold_for(c, 0, 5000);
  read_numbers(c, &first);
  EXPECT(dibs_close(c) == NULL);
}

static void waits_for_it(void *data)
{
  dibs_client *c = open_client();

  (void)data;
  hold_for(c, 1000, 2000);
  read_numbers(c, &second);
  EXPECT(dibs_close(c) == NULL);
}

static void reads_the_totals(void *data)
{
  dibs_client *c = open_client();
  dibs_fleet *fleet = NULL;

  (void)data;
  dibs_sim_sleep_ms(60000);
  EXPECT(dibs_fleet_read(c, &fleet) == DIBS_OK);
  EXPECT(fleet->count == 1);
  totals = *fleet->rows[0];
  EXPECT(dibs_fleet_free(fleet) == NULL);
  EXPECT(dibs_close(c) == NULL);
}

static void expect_about(uint64_t us, uint64_t wanted_ms)
{
  assert_in_range(us, wanted_ms * 1000 - CLOSE_US, wanted_ms * 1000 + CLOSE_US);
}

TEST(waits_and_holds_are_in_virtual_time)
{
  dibs_sim *sim = dibs_sim_new(NULL);

  assert_non_null(sim);
  EXPECT(dibs_sim_start(sim, "a", holds_first, NULL) >= 0);
  EXPECT(dibs_sim_start(sim, "b", waits_for_it, NULL) >= 0);
  EXPECT(dibs_sim_start(sim, "c", reads_the_totals, NULL) >= 0);
  assert_true(dibs_sim_run(sim, HOUR_MS));
  assert_null(dibs_sim_first_flaw(sim));
  assert_null(dibs_sim_free(sim));

  assert_int_equal(first.row.waits[DIBS_FLEET_OK].count, 1);
  expect_about(first.row.holds[DIBS_FLEET_RELEASED].sum_us, 5000);
  expect_about(second.row.waits[DIBS_FLEET_OK].sum_us, 4000);
  expect_about(second.row.holds[DIBS_FLEET_RELEASED].sum_us, 2000);
  assert_int_equal(second.all.handovers[DIBS_HANDOVER_MESSAGE], 1);
  assert_true(first.all.renewed >= 4);
  assert_in_range(first.all.lease_slack_ppm, 600000, 700000);
  assert_true(first.all.round_trips.count > 0);
  assert_true(first.all.round_trips.sum_us <= first.all.round_trips.count * 1000);

  assert_int_equal(totals.waits[DIBS_FLEET_OK].count, 2);
  assert_int_equal(totals.waits[DIBS_FLEET_OK].sum_us,
                   first.row.waits[DIBS_FLEET_OK].sum_us +
                     second.row.waits[DIBS_FLEET_OK].sum_us);
  assert_int_equal(totals.holds[DIBS_FLEET_RELEASED].sum_us,
                   first.row.holds[DIBS_FLEET_RELEASED].sum_us +
                     second.row.holds[DIBS_FLEET_RELEASED].sum_us);
}

RUN_TESTS(NULL, NULL)

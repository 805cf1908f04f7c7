/* SPDX-License-Identifier: MIT */
/* The log of a client in a simulated world: its limit counts in virtual time, and what it left out
 * is reported when the period is over, though nothing else happens. */
#include "tests.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <dibs/sim.h>

#include "expect.h"

static int made, left_out;

static void on_line(const dibs_log_line *line, void *data)
{
  (void)data;
  if (strcmp(line->event, "released") == 0)
    made++;
  if (strcmp(line->event, "suppressed") == 0 && strcmp(line->fields[0]->value, "released") == 0)
    left_out += atoi(line->fields[1]->value);
}

static void takes_and_releases(dibs_client *client, int count)
{
  dibs_hold *hold = NULL;

  for (int i = 0; i < count; i++) {
    EXPECT(dibs_lock(client, "job", NULL, &hold) == DIBS_OK);
    EXPECT(dibs_release(hold) == DIBS_OK);
  }
  dibs_sim_sleep_ms(10);               /* the callbacks have run */
}

static void logs(void *data)
{
  dibs_log_options o = DIBS_LOG_OPTIONS_INIT;
  dibs_client *client = NULL;

  (void)data;
  o.level = DIBS_LOG_DEBUG;
  EXPECT(dibs_open("redis://server", NULL, &client, NULL) == DIBS_OK);
  EXPECT(dibs_client_set_log(client, &o, on_line, NULL, NULL) == DIBS_OK);
  takes_and_releases(client, 30);
  EXPECT(made == 10 && left_out == 0);
  dibs_sim_sleep_ms(11000);
  EXPECT(made == 10 && left_out == 20);
  takes_and_releases(client, 30);
  EXPECT(made == 20 && left_out == 20);
  client = dibs_close(client);
}

TEST(what_the_limit_left_out_is_told_after_its_period)
{
  dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;
  dibs_sim *sim;

  o.seed = 1;
  sim = dibs_sim_new(&o);
  assert_non_null(sim);
  (void)dibs_sim_start(sim, "p", logs, NULL);
  assert_true(dibs_sim_run(sim, 60000));
  assert_null(dibs_sim_first_flaw(sim));
  assert_int_equal(made, 20);
  assert_int_equal(left_out, 40);      /* the rest by dibs_close() */
  sim = dibs_sim_free(sim);
}

RUN_TESTS(NULL, NULL)

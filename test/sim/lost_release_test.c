/* SPDX-License-Identifier: MIT */
/* A simulated failover that loses a release which its client had been told of: the client is idle,
 * and yet the name is free soon, and not a whole ttl later. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>

#include <dibs/sim.h>

enum { TTL_MS = 600000, LAG_MS = 3000, IN_SYNC_MS = 4 * LAG_MS, RUN_MS = 400000,
       DOWN_AFTER_MS = 1000, SOON_MS = 20000 };

static const char *url;
static int64_t free_us;          /* when another client got the name */
static uint64_t most_commands;   /* of the idle client */

static dibs_client *opened(void)
{
  dibs_options o = DIBS_OPTIONS_INIT;
  dibs_client *c = NULL;

  o.connect_timeout_ms = 60000;
  if (dibs_open(url, &o, &c, NULL) != DIBS_OK)
    dibs_sim_flaw("no client");
  return c;
}

static bool takes(dibs_client *c, int32_t ttl_ms, dibs_hold **ret_hold)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;

  o.ttl_ms = ttl_ms;
  return dibs_try_lock(c, "n", &o, ret_hold) == DIBS_OK;
}

static void releases_and_is_idle(void *data)
{
  dibs_client *c = opened();
  dibs_client_info info = { .size = sizeof(info) };
  dibs_hold *hold = NULL;

  (void)data;
  if (!takes(c, TTL_MS, &hold))
    dibs_sim_flaw("not granted");
  dibs_sim_sleep_ms(IN_SYNC_MS);
  if (dibs_release(hold) != DIBS_OK)
    dibs_sim_flaw("not released");
  dibs_sim_sleep_ms(RUN_MS / 2);
  if (dibs_client_get_info(c, &info) == DIBS_OK)
    most_commands = info.commands;
  c = dibs_close(c);
}

static void tries(void *data)
{
  dibs_client *c;
  dibs_hold *hold = NULL;

  (void)data;
  dibs_sim_sleep_ms(IN_SYNC_MS + 2000);        /* the old primary is gone */
  c = opened();
  while (!takes(c, 1000, &hold))
    dibs_sim_sleep_ms(100);
  free_us = dibs_sim_now_us(dibs_sim_current());
  (void)dibs_release(hold);
  c = dibs_close(c);
}

/* `fault` of the primary 500 ms after the release. */
static void fails_over(dibs_sim_options o, dibs_sim_fault fault)
{
  dibs_sim *sim;

  o.replicas = 1;
  o.down_after_ms = DOWN_AFTER_MS;
  sim = dibs_sim_new(&o);
  assert_non_null(sim);
  free_us = 0;
  for (int i = 1; i <= 6; i++)
    (void)dibs_sim_inject(sim, &(dibs_sim_fault){ .kind = DIBS_SIM_SERVER_LAG, .server = i,
                                                  .ms = LAG_MS });
  (void)dibs_sim_start(sim, "idle", releases_and_is_idle, NULL);
  (void)dibs_sim_start(sim, "other", tries, NULL);
  fault.at_us = (IN_SYNC_MS + 500) * 1000;
  assert_int_equal(dibs_sim_inject(sim, &fault), DIBS_OK);
  assert_true(dibs_sim_run(sim, RUN_MS));
  if (dibs_sim_first_flaw(sim) != NULL)
    fail_msg("%s", dibs_sim_first_flaw(sim));
  assert_in_range(free_us / 1000 - fault.at_us / 1000, DOWN_AFTER_MS, SOON_MS);
  assert_in_range(most_commands, 1, 200);
  (void)dibs_sim_free(sim);
}

static dibs_sim_options sentinels(void)
{
  dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;

  url = "redis+sentinel://sentinel1,sentinel2,sentinel3/service";
  o.sentinels = 3;
  return o;
}

static dibs_sim_options cluster(void)
{
  dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;

  url = "redis+cluster://s1,s2,s3";
  o.cluster_nodes = 3;
  return o;
}

TEST(sentinels_replace_a_primary_that_is_down)
{
  fails_over(sentinels(), (dibs_sim_fault){ .kind = DIBS_SIM_SERVER_RESTART, .ms = 100000,
                                            .server = 1 });
}

/* No connection breaks: a message of the sentinels is the first that the client notices. */
TEST(sentinels_replace_a_primary_that_stands_still)
{
  fails_over(sentinels(), (dibs_sim_fault){ .kind = DIBS_SIM_SERVER_PAUSE, .ms = 100000,
                                            .server = 1 });
}

TEST(a_cluster_replaces_a_node_that_is_down)
{
  fails_over(cluster(), (dibs_sim_fault){ .kind = DIBS_SIM_SERVER_RESTART, .ms = 100000,
                                          .server = 1 });
}

TEST(a_cluster_replaces_a_node_that_stands_still)
{
  fails_over(cluster(), (dibs_sim_fault){ .kind = DIBS_SIM_SERVER_PAUSE, .ms = 100000,
                                          .server = 1 });
}

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* test/live/demoted_server_test.c - the primary is demoted, and the connections to it stay: a
 * client leaves it for the new primary, whatever it asks for and however it is refused. */
#include "tests.h"

#include <stdint.h>

#include "deployment.h"
#include "live.h"

static struct test_set *set;

static int setup(void **state)
{
  (void)state;
  set = test_set_start(&(struct test_set_options){ .replicas = 1 });
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  set = test_set_stop(set);
  return 0;
}

static const char *tell_old(const char *words)
{
  return test_server_command(test_set_member(set, 0), words);
}

/* MASTERDOWN is its answer to everything. */
TEST_WITH(a_replica_that_cannot_reach_its_primary_is_left, setup, teardown)
{
  dibs_client *client = live_open(test_set_url(set));
  dibs_lock_options o = live_lock_options(0, LIVE_LONG_MS);
  dibs_hold *hold = live_lock(client, "before", 0);

  live_expect(client, dibs_release(hold), DIBS_OK);
  test_promote(test_set_member(set, 1));
  assert_string_equal(tell_old("CONFIG SET replica-serve-stale-data no"), "OK");
  assert_string_equal(tell_old("REPLICAOF 127.0.0.1 1"), "OK");
  hold = live_lock_with(client, "after", &o);
  live_expect(client, dibs_release(hold), DIBS_OK);
  client = dibs_close(client);
}

static bool is_written(void *client)
{
  return dibs_guarded_set(client, "balance", 7, "1", 1, 0) == DIBS_OK;
}

/* No lock is asked for. */
TEST_WITH(a_replica_that_refuses_a_write_is_left, setup, teardown)
{
  dibs_client *client = live_open(test_set_url(set));

  assert_true(is_written(client));
  test_promote(test_set_member(set, 1));
  test_demote(test_set_member(set, 0), test_set_member(set, 1));
  assert_true(live_until(LIVE_LONG_MS, is_written, client));
  client = dibs_close(client);
}

RUN_TESTS(NULL, NULL)

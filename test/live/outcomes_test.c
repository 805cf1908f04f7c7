/* SPDX-License-Identifier: MIT */
/* test/live/outcomes_test.c - each outcome that a header lists comes in the situation that it
 * describes: the tables of test/live/outcomes/, one test for each. */
#include "tests.h"
#include "outcomes/outcomes.h"

static void expect_all(const struct outcome_table *table)
{
  int faults = live_faults();

  outcomes_walk(table);
  assert_int_equal(live_faults() - faults, 0);
}

TEST(each_way_to_take_a_lock_has_its_outcomes)
{
  int faults = live_faults();

  outcomes_walk_ways();
  assert_int_equal(live_faults() - faults, 0);
}

TEST(maps_lists_and_sets_have_their_outcomes)
{
  int faults = live_faults();

  outcomes_walk_data();
  assert_int_equal(live_faults() - faults, 0);
}

#define TABLE_TEST(name, table) \
  TEST(name) \
  { \
    expect_all(&table); \
  }

TABLE_TEST(each_call_with_a_hold_has_its_outcomes, outcomes_of_holds)
TABLE_TEST(each_call_with_a_token_has_its_outcomes, outcomes_of_tokens)
TABLE_TEST(each_view_of_a_name_has_its_outcomes, outcomes_of_views)
TABLE_TEST(semaphores_and_read_write_locks_have_their_outcomes, outcomes_of_shares)
TABLE_TEST(latches_and_barriers_have_their_outcomes, outcomes_of_latches)
TABLE_TEST(leaders_and_observers_have_their_outcomes, outcomes_of_elections)
TABLE_TEST(guarded_writes_have_their_outcomes, outcomes_of_writes)
TABLE_TEST(rate_limiters_have_their_outcomes, outcomes_of_rates)
TABLE_TEST(calls_that_wait_for_no_server_have_their_outcomes, outcomes_of_clients)
TABLE_TEST(opening_and_settings_have_their_outcomes, outcomes_of_opens)
TABLE_TEST(readings_have_their_outcomes, outcomes_of_readings)
TABLE_TEST(calls_without_a_client_have_their_outcomes, outcomes_of_places)
TABLE_TEST(a_list_that_is_waited_for_has_its_outcomes, outcomes_of_data)

static int setup(void **state)
{
  (void)live_server_setup(state);
  situations_begin();
  return 0;
}

static int teardown(void **state)
{
  situations_end();
  return live_server_teardown(state);
}

int main(void)
{
  if (live_is_beyond(LIVE_ONE))
    return 0;
  return tests_run(setup, teardown, NULL, NULL);
}

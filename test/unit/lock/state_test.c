/* SPDX-License-Identifier: MIT */
/* lock/state.c: which state of a lease may follow which. */
#include "tests.h"

#include <string.h>

#include "lock/table.h"

#define BIT(state) (1U << (state))

static unsigned may_follow(lease_state from)
{
  unsigned found = 0;

  for (lease_state to = LEASE_IDLE; to < LEASE_STATES; to++)
    found |= state_may_follow(from, to) ? BIT(to) : 0;
  return found;
}

static unsigned may_precede(lease_state to)
{
  unsigned found = 0;

  for (lease_state from = LEASE_IDLE; from < LEASE_STATES; from++)
    found |= state_may_follow(from, to) ? BIT(from) : 0;
  return found;
}

static unsigned all_from(lease_state first)
{
  unsigned found = BIT(first), before = 0;

  while (found != before) {
    before = found;
    for (lease_state from = LEASE_IDLE; from < LEASE_STATES; from++)
      if ((before & BIT(from)) != 0)
        found |= may_follow(from);
  }
  return found;
}

TEST(every_state_follows_from_idle_and_leads_back_to_it)
{
  assert_int_equal(all_from(LEASE_IDLE), BIT(LEASE_STATES) - BIT(LEASE_IDLE));
  for (lease_state from = LEASE_IDLE; from < LEASE_STATES; from++)
    assert_true((all_from(from) & BIT(LEASE_IDLE)) != 0);
}

TEST(an_idle_lease_only_begins_an_ask)
{
  assert_int_equal(may_follow(LEASE_IDLE), BIT(LEASE_ASKING));
}

TEST(only_a_granted_ask_or_a_parked_lease_becomes_held)
{
  assert_int_equal(may_precede(LEASE_HELD), BIT(LEASE_ASKING) | BIT(LEASE_QUEUED) |
                                           BIT(LEASE_CONFIRMING) | BIT(LEASE_ACKING) |
                                           BIT(LEASE_PARKED));
}

TEST(a_held_lease_is_parked_released_or_detached)
{
  assert_int_equal(may_follow(LEASE_HELD),
                   BIT(LEASE_PARKED) | BIT(LEASE_RELEASING) | BIT(LEASE_IDLE));
}

TEST(only_a_held_lease_is_parked)
{
  assert_int_equal(may_precede(LEASE_PARKED), BIT(LEASE_HELD));
}

TEST(a_release_or_a_cancellation_is_over_before_the_next_ask)
{
  assert_int_equal(may_follow(LEASE_RELEASING), BIT(LEASE_IDLE));
  assert_int_equal(may_follow(LEASE_CANCELLING), BIT(LEASE_IDLE));
}

TEST(a_grant_that_replicas_have_not_acknowledged_is_released_not_cancelled)
{
  assert_false(state_may_follow(LEASE_ACKING, LEASE_CANCELLING));
  assert_false(state_may_follow(LEASE_ACKING, LEASE_IDLE));
  assert_true(state_may_follow(LEASE_ACKING, LEASE_RELEASING));
}

TEST(the_number_of_parked_leases_is_counted)
{
  static lock_table t;
  static lease l = { .table = &t, .state = LEASE_HELD };

  lease_set_state(&l, LEASE_PARKED);
  assert_int_equal(t.backend.counts.parked, 1);
  lease_set_state(&l, LEASE_HELD);
  assert_int_equal(t.backend.counts.parked, 0);
  lease_set_state(&l, LEASE_PARKED);
  lease_set_state(&l, LEASE_RELEASING);
  assert_int_equal(t.backend.counts.parked, 0);
}

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* The era guard: a server that became primary, or lost its data, makes nobody an owner for a
 * while, whatever is asked; who had a lock goes on. doc/design/protocol.md 16. */

#include "tests.h"

#include <stdio.h>
#include <string.h>

#include "era_story.h"
#include "server.h"

static acquire_answer granted(int who, uint64_t ask)
{
  acquire_answer a = world_acquire(w, who, ask);

  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  return a;
}

/* ---- what is held back ---- */

TEST(an_era_that_is_known_and_over_costs_nothing)
{
  granted(ANNA, 1);
}

TEST(a_new_primary_grants_nothing_until_its_quarantine_is_over)
{
  acquire_answer a;

  era_change();
  a = world_try(w, ANNA, 1);
  assert_quarantined(&a, ACQUIRE_BUSY, QUARANTINE_MS);
  assert_string_equal(world_type(w), "none");
  era_at(QUARANTINE_US - 1);
  a = world_try(w, ANNA, 2);
  assert_quarantined(&a, ACQUIRE_BUSY, 0);
  era_at(QUARANTINE_US);
  assert_int_equal(world_try(w, ANNA, 3).outcome, ACQUIRE_GRANTED);
}

TEST(a_server_that_lost_the_era_has_lost_the_leases_too)
{
  acquire_answer a;

  assert_int_equal(test_server_integer(world_server(w), "DEL %s", ERA_KEY), 1);
  a = world_try(w, ANNA, 1);
  assert_quarantined(&a, ACQUIRE_BUSY, QUARANTINE_MS);
  era_at(QUARANTINE_US);
  granted(ANNA, 2);
}

TEST(an_era_key_of_another_kind_is_none)
{
  acquire_answer a;

  test_server_command(world_server(w), "DEL %s", ERA_KEY);
  test_server_command(world_server(w), "HSET %s a b", ERA_KEY);
  a = world_try(w, ANNA, 1);
  assert_quarantined(&a, ACQUIRE_BUSY, QUARANTINE_MS);
}

TEST(those_who_wait_are_queued_and_served_in_turn)
{
  acquire_answer a;

  world_listen(w, ANNA);
  world_listen(w, BERT);
  era_change();
  a = world_acquire(w, ANNA, 1);
  assert_quarantined(&a, ACQUIRE_WAITING, QUARANTINE_MS);
  assert_int_equal(a.rank, 0);
  era_at(1000000);
  a = world_acquire(w, BERT, 1);
  assert_quarantined(&a, ACQUIRE_WAITING, QUARANTINE_MS - 1000);
  assert_int_equal(a.rank, 1);
  era_at(QUARANTINE_US);
  assert_int_equal(world_acquire(w, BERT, 1).outcome, ACQUIRE_WAITING);
  assert_non_null(strstr(world_messages(w, ANNA), "grant:"));
  assert_string_equal(world_messages(w, BERT), "");
  assert_int_equal(world_acquire(w, ANNA, 1).outcome, ACQUIRE_AGAIN);
}

TEST(who_has_no_inbox_is_deaf_in_quarantine_too)
{
  era_change();
  assert_int_equal(world_acquire(w, ANNA, 1).outcome, ACQUIRE_NO_SUBSCRIBER);
}

/* ---- who had it before ---- */

TEST(an_owner_that_survived_renews_and_is_told_so_again)
{
  acquire_answer a = granted(ANNA, 1);
  renew_answer r;

  era_change();
  era_at(10000000);
  r = world_renew(w, ANNA, &a.lease, 30000);
  assert_true(r.is_ours);
  assert_int_equal(r.remaining_ms, 30000);
  assert_int_equal(world_acquire(w, ANNA, 1).outcome, ACQUIRE_AGAIN);
  assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
  assert_int_equal(world_try(w, BERT, 1).outcome, ACQUIRE_BUSY);
}

/* The old primary may have given it away, and the new one may not know. */
TEST(a_lease_that_ended_is_not_renewed_in_quarantine)
{
  acquire_answer a = granted(ANNA, 1);

  era_change();
  era_at(30000000);
  assert_true(world_renew(w, ANNA, &a.lease, 1000).is_ours);
  era_at(31000001);
  assert_false(world_renew(w, ANNA, &a.lease, 30000).is_ours);
}

TEST(a_lease_that_ended_is_renewed_when_the_era_is_old)
{
  acquire_answer a = granted(ANNA, 1);

  era_at(31000001);
  assert_true(world_renew(w, ANNA, &a.lease, 30000).is_ours);
}

TEST(a_lease_of_the_same_client_is_disowned_but_not_followed_at_once)
{
  acquire_answer a, old = granted(ANNA, 1);

  world_listen(w, ANNA);
  era_change();
  a = world_acquire(w, ANNA, 2);
  assert_quarantined(&a, ACQUIRE_WAITING, QUARANTINE_MS);
  era_at(QUARANTINE_US);
  a = world_acquire(w, ANNA, 2);
  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  assert_true(a.lease.token > old.lease.token);
  assert_string_equal(world_messages(w, ANNA), "");
}

/* ---- nobody is handed anything ---- */

typedef void end_it(const lease_id *lease);

static void by_release(const lease_id *l)
{
  assert_int_equal(world_release(w, ANNA, l).outcome, RELEASE_DONE);
}

static void by_cancel(const lease_id *l)
{
  assert_int_equal(world_cancel(w, ANNA, l->ask, 0), 1);
}

static void by_break(const lease_id *l)
{
  assert_int_equal(world_break(w, CARL, l).outcome, RELEASE_DONE);
}

TEST(what_is_let_go_is_handed_on_after_the_quarantine)
{
  static end_it *const ways[] = { by_release, by_cancel, by_break };

  for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
    acquire_answer a;

    era_clear(state);
    world_listen(w, BERT);
    a = granted(ANNA, 1);
    assert_int_equal(world_acquire(w, BERT, 1).outcome, ACQUIRE_WAITING);
    era_change();
    ways[i](&a.lease);
    assert_string_equal(world_messages(w, BERT), "");
    assert_int_equal(world_inspect(w, CARL).holder_count, 0);
    assert_int_equal(world_inspect(w, CARL).waiter_count, 1);
    a = world_acquire(w, BERT, 1);
    assert_quarantined(&a, ACQUIRE_WAITING, QUARANTINE_MS);
    assert_int_equal(world_try(w, CARL, 1).outcome, ACQUIRE_BUSY);
    era_at(QUARANTINE_US);
    granted(BERT, 1);
    assert_string_equal(world_type(w), "hash");
  }
}

TEST(a_dead_lease_is_not_taken_in_quarantine_by_clock_or_by_watching)
{
  acquire_call c = world_call(w, 1);
  acquire_answer a = granted(ANNA, 1);

  era_change();
  world_try(w, BERT, 1);
  era_at(31500000);
  assert_int_equal(world_try(w, BERT, 2).outcome, ACQUIRE_BUSY);
  c = world_call(w, 3);
  c.waits = false;
  c.watched = &a.lease;
  assert_int_equal(world_send(w, BERT, &c).outcome, ACQUIRE_BUSY);
  era_at(QUARANTINE_US);
  c.ask = 4;
  c.estimate_us = world_time_us(w);
  assert_int_equal(world_send(w, BERT, &c).outcome, ACQUIRE_GRANTED);
}

TEST(nobodys_lease_cannot_be_renewed_or_let_go)
{
  acquire_answer a;

  world_listen(w, ANNA);
  era_change();
  a = world_acquire(w, ANNA, 1);
  assert_false(world_renew(w, BERT, &a.lease, 30000).is_ours);
  assert_int_equal(world_release(w, BERT, &a.lease).outcome, RELEASE_GONE);
  assert_int_equal(world_break(w, BERT, &a.lease).outcome, RELEASE_GONE);
  a = world_acquire(w, ANNA, 1);
  assert_quarantined(&a, ACQUIRE_WAITING, QUARANTINE_MS);
}

/* ---- twice, late ---- */

TEST(what_was_over_stays_over_in_quarantine)
{
  acquire_answer a = granted(ANNA, 5);

  world_release(w, ANNA, &a.lease);
  era_change();
  world_listen(w, ANNA);
  assert_int_equal(world_acquire(w, ANNA, 5).outcome, ACQUIRE_ENDED);
  assert_int_equal(world_acquire(w, ANNA, 4).outcome, ACQUIRE_ENDED);
  assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
  world_cancel(w, ANNA, 6, 0);
  assert_int_equal(world_acquire(w, ANNA, 6).outcome, ACQUIRE_ENDED);
}

TEST(a_second_failover_begins_a_second_quarantine)
{
  acquire_answer a;

  era_change();
  world_try(w, ANNA, 1);
  era_at(QUARANTINE_US - 1000);
  era_change();
  a = world_try(w, ANNA, 2);
  assert_quarantined(&a, ACQUIRE_BUSY, QUARANTINE_MS);
  era_at(2 * QUARANTINE_US - 1001);
  a = world_try(w, ANNA, 3);
  assert_int_equal(a.outcome, ACQUIRE_BUSY);
}

/* ---- clocks ---- */

TEST(a_clock_set_back_costs_one_quarantine_more_and_not_the_step)
{
  acquire_answer a;

  era_change();
  world_try(w, ANNA, 1);
  era_at(-INT64_C(86400) * 1000000);
  a = world_try(w, ANNA, 2);
  assert_quarantined(&a, ACQUIRE_BUSY, QUARANTINE_MS);
  era_at(-INT64_C(86400) * 1000000 + QUARANTINE_US);
  granted(ANNA, 3);
}

TEST(who_has_watched_nobody_for_the_whole_quarantine_needs_no_clock)
{
  acquire_call c = world_call(w, 1);
  acquire_answer a;

  era_change();
  a = world_try(w, ANNA, 1);
  era_at(1);
  c = world_call(w, 2);
  c.watched = &a.lease;
  assert_int_equal(world_send(w, ANNA, &c).outcome, ACQUIRE_GRANTED);
  /* Of another era it is worth nothing. */
  era_change();
  era_at(2);
  c = world_call(w, 3);
  c.waits = false;
  c.watched = &a.lease;
  assert_int_equal(world_send(w, BERT, &c).outcome, ACQUIRE_BUSY);
}

TEST(an_era_is_kept_for_as_long_as_it_is_used)
{
  acquire_answer a;

  test_server_command(world_server(w), "PEXPIRE %s 100000", ERA_KEY);
  era_at(INT64_C(7200) * 1000000);
  a = granted(ANNA, 1);
  assert_in_range(test_server_integer(world_server(w), "PTTL %s", ERA_KEY), 2591000000,
                  2592000000);
  world_release(w, ANNA, &a.lease);
  /* And a small step back is no quarantine. */
  era_at(INT64_C(7000) * 1000000);
  granted(ANNA, 2);
}

/* ---- a full server ---- */

TEST(a_full_server_lets_go_in_a_new_era_and_begins_the_quarantine_later)
{
  acquire_call c = world_call(w, 1);
  acquire_answer a = granted(ANNA, 1);
  const char *error;

  world_listen(w, BERT);
  world_listen(w, CARL);
  assert_int_equal(world_acquire(w, BERT, 1).outcome, ACQUIRE_WAITING);
  era_change();
  stage_fill_memory();
  assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
  assert_string_equal(world_messages(w, BERT), "");
  error = world_acquire_error(w, CARL, &c);
  assert_non_null(strstr(error, "OOM"));
  stage_empty_memory();
  era_at(QUARANTINE_US - 1);
  assert_int_equal(world_acquire(w, BERT, 1).outcome, ACQUIRE_WAITING);
}

RUN_STAGE(stage_start_with_debug, stage_stop, era_clear, NULL)

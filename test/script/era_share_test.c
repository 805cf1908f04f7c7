/* SPDX-License-Identifier: MIT */
/* The era guard for readers, writers, permits and sets of names: nobody comes in by any
 * door before the quarantine is over. doc/design/protocol.md 16. */

#include "tests.h"

#include <string.h>

#include "era_story.h"
#include "members.h"
#include "server.h"
#include "shares.h"

static int clear(void **state)
{
  share_mistake_us = 0;
  return era_clear(state);
}

static lease_id granted(int who, char mode, uint64_t units, uint64_t ask)
{
  acquire_answer a = share_ask(w, who, mode, units, ask);

  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  return a.lease;
}

/* ---- shares ---- */

TEST(readers_writers_and_permits_are_held_back)
{
  static const char modes[] = { 'r', 'w', 'p' };
  uint64_t limit;

  for (size_t i = 0; i < sizeof(modes); i++) {
    acquire_answer a;

    clear(state);
    if (modes[i] == 'p')
      assert_true(share_set(w, SHARE_SET, 3, &limit));
    era_change();
    a = share_try(w, ANNA, modes[i], 1, 1);
    assert_quarantined(&a, ACQUIRE_BUSY, QUARANTINE_MS);
    era_at(QUARANTINE_US - 1);
    assert_int_equal(share_try(w, ANNA, modes[i], 1, 2).outcome, ACQUIRE_BUSY);
    era_at(QUARANTINE_US);
    granted(ANNA, modes[i], 1, 3);
  }
}

TEST(a_reader_does_not_join_readers_that_survived)
{
  lease_id anna = granted(ANNA, 'r', 1, 1);
  acquire_answer a;

  era_change();
  a = share_try(w, BERT, 'r', 1, 1);
  assert_quarantined(&a, ACQUIRE_BUSY, QUARANTINE_MS);
  assert_int_equal(share_ask(w, ANNA, 'r', 1, 1).outcome, ACQUIRE_AGAIN);
  assert_true(share_renew(w, ANNA, &anna, 60000, 'r').is_ours);
  assert_true(share_release(w, ANNA, &anna, 0));
}

typedef void end_it(const lease_id *lease);

static void by_release(const lease_id *l) { assert_true(share_release(w, ANNA, l, 0)); }
static void by_late_release(const lease_id *l)
{
  assert_true(share_release(w, ANNA, l, START_US + 1000000));
}
static void by_cancel(const lease_id *l)
{
  assert_int_equal(share_cancel(w, ANNA, l->ask, 0), 1);
}
static void by_break(const lease_id *l)
{
  assert_int_equal(share_break(w, CARL, l).outcome, RELEASE_DONE);
}
static void by_downgrade(const lease_id *l)
{
  assert_true(share_renew(w, ANNA, l, 60000, 'r').is_ours);
}

TEST(who_waits_comes_in_after_the_quarantine_only)
{
  static end_it *const ways[] = { by_release, by_late_release, by_cancel, by_break,
                                  by_downgrade };

  for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
    lease_id anna;
    acquire_answer a;

    clear(state);
    anna = granted(ANNA, 'w', 1, 1);
    world_listen(w, BERT);
    assert_int_equal(share_ask(w, BERT, 'r', 1, 1).outcome, ACQUIRE_WAITING);
    era_change();
    ways[i](&anna);
    assert_string_equal(world_messages(w, BERT), "");
    a = share_ask(w, BERT, 'r', 1, 1);
    assert_quarantined(&a, ACQUIRE_WAITING, QUARANTINE_MS);
    era_at(QUARANTINE_US);
    assert_int_equal(share_ask(w, BERT, 'r', 1, 1).outcome, ACQUIRE_GRANTED);
  }
}

TEST(more_permits_let_nobody_in_during_the_quarantine)
{
  uint64_t limit;

  assert_true(share_set(w, SHARE_SET, 1, &limit));
  granted(ANNA, 'p', 1, 1);
  world_listen(w, BERT);
  assert_int_equal(share_ask(w, BERT, 'p', 1, 1).outcome, ACQUIRE_WAITING);
  era_change();
  assert_true(share_set(w, SHARE_SET, 5, &limit));
  assert_string_equal(world_messages(w, BERT), "");
  era_at(QUARANTINE_US);
  assert_true(share_set(w, SHARE_SET, 5, &limit));
  assert_non_null(strstr(world_messages(w, BERT), "share:"));
}

TEST(a_share_that_ended_is_not_renewed_in_quarantine)
{
  lease_id anna = granted(ANNA, 'r', 1, 1);

  era_change();
  era_at(30000000);
  assert_true(share_renew(w, ANNA, &anna, 1000, 'r').is_ours);
  era_at(31000001);
  assert_false(share_renew(w, ANNA, &anna, 30000, 'r').is_ours);
}

TEST(a_holder_that_is_gone_is_not_replaced_in_quarantine)
{
  granted(ANNA, 'w', 1, 1);
  era_change();
  assert_int_equal(share_try(w, BERT, 'w', 1, 1).outcome, ACQUIRE_BUSY);
  era_at(31500000);
  assert_int_equal(share_try(w, BERT, 'w', 1, 2).outcome, ACQUIRE_BUSY);
  era_at(QUARANTINE_US);
  granted(BERT, 'w', 1, 3);
}

/* ---- sets ---- */

TEST(a_set_waits_for_its_first_member_that_is_quarantined)
{
  many_answer m;

  world_listen(w, ANNA);
  era_change();
  m = members_try(w, ANNA, "ab", 1);
  assert_quarantined(&m.a, ACQUIRE_BUSY, QUARANTINE_MS);
  assert_int_equal(m.busy, 'a');
  m = members_acquire(w, ANNA, "ab", 1);
  assert_quarantined(&m.a, ACQUIRE_WAITING, QUARANTINE_MS);
  assert_int_equal(m.busy, 'a');
  assert_string_equal(members_queue(w, 'b'), "");
  era_at(QUARANTINE_US);
  assert_int_equal(members_acquire(w, ANNA, "ab", 1).a.outcome, ACQUIRE_GRANTED);
}

TEST(a_set_on_a_server_that_knows_no_era_waits_too)
{
  many_answer m;

  world_listen(w, ANNA);
  test_server_command(world_server(w), "DEL %s", ERA_KEY);
  m = members_try(w, ANNA, "ab", 1);
  assert_quarantined(&m.a, ACQUIRE_BUSY, QUARANTINE_MS);
}

TEST(a_set_that_survived_is_told_so_again_and_handed_to_nobody)
{
  many_answer m = members_acquire(w, ANNA, "ab", 1);

  world_listen(w, BERT);
  assert_int_equal(one_acquire(w, BERT, 'b', 1).outcome, ACQUIRE_WAITING);
  era_change();
  assert_int_equal(members_acquire(w, ANNA, "ab", 1).a.outcome, ACQUIRE_AGAIN);
  assert_int_equal(members_release(w, ANNA, "ab", &m.a.lease).outcome, RELEASE_DONE);
  assert_string_equal(world_messages(w, BERT), "");
  assert_string_equal(members_holder(w, 'b'), "");
  assert_int_equal(one_try(w, CARL, 'a', 1).outcome, ACQUIRE_BUSY);
  era_at(QUARANTINE_US);
  assert_int_equal(one_acquire(w, BERT, 'b', 1).outcome, ACQUIRE_GRANTED);
}

/* What it lets go is written after a write to the busy member, which was never seen here. */
TEST(a_try_of_a_set_in_quarantine_makes_no_key_without_an_end)
{
  members_plant(w, 'b', ANNA, 1, 1, 20000);
  era_change();
  assert_int_equal(members_try(w, ANNA, "ab", 2).a.outcome, ACQUIRE_BUSY);
  assert_string_equal(members_holder(w, 'b'), "");
  assert_true(test_server_integer(world_server(w), "PTTL %s", members_key('a')) > 0);
}

/* What it has kept is its own, but not of one lease, so it is not the whole set's yet. */
TEST(what_a_set_has_kept_does_not_make_it_an_owner_in_quarantine)
{
  acquire_answer bert = one_acquire(w, BERT, 'b', 1);
  many_call c = members_call(w, "ab", 1);
  many_answer m;

  world_listen(w, ANNA);
  c.keeps = true;
  m = members_send(w, ANNA, &c);
  assert_int_equal(m.a.outcome, ACQUIRE_WAITING);
  assert_int_equal(m.busy, 'b');
  assert_int_equal(one_release(w, BERT, 'b', &bert.lease).outcome, RELEASE_DONE);
  assert_non_null(strstr(world_messages(w, ANNA), "grant:"));
  era_change();
  m = members_send(w, ANNA, &c);
  assert_quarantined(&m.a, ACQUIRE_WAITING, QUARANTINE_MS);
  era_at(QUARANTINE_US);
  c.estimate_us = world_time_us(w);
  m = members_send(w, ANNA, &c);
  assert_int_equal(m.a.outcome, ACQUIRE_GRANTED);
}

TEST(an_older_ask_of_the_set_is_disowned_but_not_followed_at_once)
{
  many_answer m = members_acquire(w, ANNA, "ab", 1);

  assert_int_equal(m.a.outcome, ACQUIRE_GRANTED);
  world_listen(w, ANNA);
  era_change();
  assert_int_equal(members_acquire(w, ANNA, "ab", 2).a.outcome, ACQUIRE_WAITING);
  assert_int_equal(members_acquire(w, ANNA, "ab", 2).a.outcome, ACQUIRE_WAITING);
  assert_int_equal(one_try(w, CARL, 'b', 1).outcome, ACQUIRE_BUSY);
  era_at(QUARANTINE_US);
  assert_int_equal(members_acquire(w, ANNA, "ab", 2).a.outcome, ACQUIRE_GRANTED);
}

RUN_STAGE(stage_start_with_debug, stage_stop, clear, NULL)

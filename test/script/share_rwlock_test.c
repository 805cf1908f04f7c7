/* SPDX-License-Identifier: MIT */
/* Read/write locks by their scripts: who goes in with whom, in which order, and what the
 * dead, the late and the repeated find. S1, S8, S10, L2, L3, L10, L12. */

#include "tests.h"

#include <stdio.h>
#include <string.h>

#include "server.h"
#include "share_story.h"

static acquire_answer reads(int who, uint64_t ask) { return share_ask(w, who, 'r', 1, ask); }
static acquire_answer writes(int who, uint64_t ask) { return share_ask(w, who, 'w', 1, ask); }

/* ---- who goes in ---- */

TEST(readers_share_and_a_writer_does_not)
{
  acquire_answer a = reads(ANNA, 1), b = reads(BERT, 1);

  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  assert_int_equal(a.remaining_ms, 30000);
  assert_int_equal(b.outcome, ACQUIRE_GRANTED);
  assert_true(b.lease.token > a.lease.token);
  assert_int_equal(share_try(w, CARL, 'w', 1, 1).outcome, ACQUIRE_BUSY);
  share_release(w, ANNA, &a.lease, 0);
  assert_int_equal(share_try(w, CARL, 'w', 1, 2).outcome, ACQUIRE_BUSY);
  share_release(w, BERT, &b.lease, 0);
  assert_int_equal(share_try(w, CARL, 'w', 1, 3).outcome, ACQUIRE_GRANTED);
  assert_int_equal(share_try(w, ANNA, 'r', 1, 2).outcome, ACQUIRE_BUSY);
  assert_int_equal(share_try(w, ANNA, 'w', 1, 3).outcome, ACQUIRE_BUSY);
}

TEST(one_client_may_read_many_times)
{
  for (uint64_t ask = 1; ask <= 100; ask++)
    assert_int_equal(reads(ANNA, ask).outcome, ACQUIRE_GRANTED);
  assert_int_equal(world_inspect(w, ANNA).used, 100);
}

TEST(a_reader_behind_a_waiting_writer_waits)
{
  acquire_answer a = reads(ANNA, 1), b;

  share_hear(BERT, DORA);
  b = writes(BERT, 1);
  assert_int_equal(b.outcome, ACQUIRE_WAITING);
  assert_int_equal(b.rank, 0);
  assert_true(lease_id_equal(&b.lease, &a.lease));
  assert_int_equal(reads(CARL, 1).rank, 1);
  assert_int_equal(share_try(w, EMIL, 'r', 1, 1).outcome, ACQUIRE_BUSY);
  share_release(w, ANNA, &a.lease, 0);
  b.lease = share_told(BERT, 1, 1);
  share_nothing_told(CARL);
  share_release(w, BERT, &b.lease, 0);
  share_told(CARL, 1, 1);
}

TEST(consecutive_readers_go_together_and_those_behind_a_writer_later)
{
  acquire_answer a = writes(ANNA, 1);
  lease_id b, c;

  share_hear(BERT, FRED);
  reads(BERT, 1);
  reads(CARL, 1);
  writes(DORA, 1);
  reads(EMIL, 1);
  share_release(w, ANNA, &a.lease, 0);
  b = share_told(BERT, 1, 1);
  c = share_told(CARL, 1, 1);
  share_nothing_told(DORA);
  share_nothing_told(EMIL);
  share_release(w, BERT, &b, 0);
  share_nothing_told(DORA);
  share_release(w, CARL, &c, 0);
  b = share_told(DORA, 1, 1);
  share_nothing_told(EMIL);
  share_release(w, DORA, &b, 0);
  share_told(EMIL, 1, 1);
}

TEST(a_writer_that_gives_up_lets_the_readers_behind_it_in)
{
  share_hear(BERT, CARL);
  reads(ANNA, 1);
  writes(BERT, 1);
  reads(CARL, 1);
  assert_int_equal(share_cancel(w, BERT, 1, 0), 0);
  share_told(CARL, 1, 1);
}

TEST(a_grant_tells_how_many_wait_behind_it)
{
  acquire_answer a = writes(ANNA, 1);
  const char *messages;
  inbox_message m;

  share_hear(BERT, DORA);
  writes(BERT, 1);
  reads(CARL, 1);
  writes(DORA, 1);
  assert_int_equal(share_renew(w, ANNA, &a.lease, 30000, 'w').waiters, 3);
  share_release(w, ANNA, &a.lease, 0);
  messages = world_messages(w, BERT);
  assert_true(inbox_message_read(messages, strlen(messages) - 1, &m));
  assert_int_equal(m.waiters, 2);
  /* The one who asked, and made others go in, waits behind them. */
  share_release(w, BERT, &m.lease, 0);
  messages = world_messages(w, CARL);
  assert_true(inbox_message_read(messages, strlen(messages) - 1, &m));
  assert_int_equal(m.waiters, 1);
}

/* ---- inspect ---- */

TEST(inspect_counts_no_waiter_without_an_inbox_and_no_share_that_is_over)
{
  int64_t start_us;
  inspect_answer i;

  start_us = world_time_us(w);
  world_set_time(w, start_us);
  share_hear(BERT, CARL);
  assert_int_equal(reads(ANNA, 1).outcome, ACQUIRE_GRANTED);
  writes(BERT, 1);
  writes(CARL, 1);
  world_deafen(w, BERT);
  i = share_inspect(w);
  assert_int_equal(i.waiter_count, 1);
  assert_int_equal(i.shown, 1);
  assert_string_equal(i.waiters[0].client, world_native(w, CARL)->client);
  world_set_time(w, start_us + 30900000);
  assert_int_equal(share_inspect(w).used, 1);
  assert_int_equal(share_try(w, DORA, 'w', 1, 1).outcome, ACQUIRE_BUSY);
  world_set_time(w, start_us + 31100000);
  i = share_inspect(w);
  assert_int_equal(i.used, 0);
  assert_int_equal(i.holder_count, 0);
  assert_int_equal(i.waiter_count, 1);
}

/* ---- downgrade ---- */

TEST(a_writer_that_goes_on_as_a_reader_lets_readers_in_but_no_writer)
{
  acquire_answer a = writes(ANNA, 1);
  renew_answer r;

  share_hear(BERT, CARL);
  reads(BERT, 1);
  writes(CARL, 1);
  r = share_renew(w, ANNA, &a.lease, 30000, 'r');
  assert_true(r.is_ours);
  assert_int_equal(r.remaining_ms, 30000);
  assert_int_equal(r.waiters, 1);
  share_told(BERT, 1, 1);
  share_nothing_told(CARL);
  assert_int_equal(world_inspect(w, ANNA).holders[0].mode, 'r');
  /* Repeated, it changes nothing; there is no way back. */
  assert_true(share_renew(w, ANNA, &a.lease, 30000, 'r').is_ours);
  assert_true(share_renew(w, ANNA, &a.lease, 30000, 'w').is_ours);
  assert_int_equal(world_inspect(w, ANNA).holders[0].mode, 'r');
}

TEST(a_downgrade_without_a_ttl_does_not_lengthen)
{
  acquire_answer a = writes(ANNA, 1);
  inspect_answer i;

  share_renew(w, ANNA, &a.lease, 0, 'r');
  i = world_inspect(w, ANNA);
  assert_int_equal(i.holders[0].renewals, 0);
  assert_int_equal(i.holders[0].mode, 'r');
}

/* ---- the dead ---- */

TEST(the_deaf_are_not_queued_and_dead_waiters_are_passed_over)
{
  acquire_answer a = writes(ANNA, 1);
  share_call c;

  assert_int_equal(writes(BERT, 1).outcome, ACQUIRE_NO_SUBSCRIBER);
  share_hear(BERT, DORA);
  writes(BERT, 1);
  c = share_call_of(w, 'w', 1, 1);
  c.give_up_us = world_time_us(w) + 1;
  share_send(w, CARL, &c);
  reads(DORA, 1);
  world_deafen(w, BERT);
  world_set_time(w, START_US + 1000);
  share_release(w, ANNA, &a.lease, 0);
  share_nothing_told(CARL);
  share_told(DORA, 1, 1);
}

TEST(dead_readers_hold_a_writer_up_for_one_lease_only)
{
  share_call c = share_call_of(w, 'r', 1, 1);
  acquire_answer a;

  share_hear(CARL, CARL);
  c.ttl_ms = 5000;
  share_send(w, ANNA, &c);
  c.ttl_ms = 8000;
  a = share_send(w, BERT, &c);
  assert_int_equal(writes(CARL, 1).outcome, ACQUIRE_WAITING);
  world_set_time(w, a.server_us + 6500000);
  a = writes(CARL, 1);
  assert_int_equal(a.outcome, ACQUIRE_WAITING);
  assert_int_equal(world_inspect(w, CARL).holder_count, 1);
  assert_string_equal(a.lease.client, world_native(w, BERT)->client);
  world_set_time(w, a.server_us + 3000000);
  assert_int_equal(writes(CARL, 1).outcome, ACQUIRE_GRANTED);
}

TEST(in_doubt_a_holder_is_over_only_by_watching)
{
  share_call c = share_call_of(w, 'w', 1, 1);
  acquire_answer a;

  c.estimate_us = 0;
  c.ttl_ms = 1000;
  a = share_send(w, ANNA, &c);
  world_set_time(w, a.server_us + 60000000);
  assert_int_equal(share_try(w, BERT, 'r', 1, 1).outcome, ACQUIRE_BUSY);
  assert_true(share_renew(w, ANNA, &a.lease, 500, 'w').is_ours);
  c = share_call_of(w, 'r', 1, 2);
  c.waits = false;
  c.watched = &a.lease;
  c.watched_renewals = 0;
  assert_int_equal(share_send(w, BERT, &c).outcome, ACQUIRE_BUSY);
  c.watched_renewals = 1;
  c.ask = 3;
  assert_int_equal(share_send(w, BERT, &c).outcome, ACQUIRE_GRANTED);
}

TEST(a_wait_does_not_keep_a_holder_that_is_over_but_in_doubt)
{
  share_call c = share_call_of(w, 'w', 1, 1);
  acquire_answer a;

  world_listen(w, BERT);
  c.estimate_us = 0;
  a = share_send(w, ANNA, &c);
  world_set_time(w, a.server_us + 20 * 60000000LL);
  test_server_command(world_server(w), "PEXPIRE " WORLD_KEY " 3550000");
  c = share_call_of(w, 'r', 1, 1);
  assert_int_equal(share_send(w, BERT, &c).outcome, ACQUIRE_WAITING);
  assert_in_range(test_server_integer(world_server(w), "PTTL " WORLD_KEY), 1, 3550000);
}

TEST(a_lease_past_its_deadline_that_nobody_took_is_still_its_clients)
{
  acquire_answer a = writes(ANNA, 1);

  world_set_time(w, a.server_us + 60000000);
  assert_int_equal(share_renew(w, ANNA, &a.lease, 30000, 'w').remaining_ms, 30000);
  assert_true(share_release(w, ANNA, &a.lease, 0));
  assert_false(share_release(w, ANNA, &a.lease, 0));
  assert_false(share_renew(w, ANNA, &a.lease, 30000, 'w').is_ours);
}

/* ---- late and repeated ---- */

TEST(the_same_ask_again_changes_nothing)
{
  acquire_answer a = reads(ANNA, 7), again;
  char before[512];

  snprintf(before, sizeof(before), "%s", share_dump(w));
  again = reads(ANNA, 7);
  assert_int_equal(again.outcome, ACQUIRE_AGAIN);
  assert_true(lease_id_equal(&again.lease, &a.lease));
  assert_int_equal(again.units, 1);
  assert_string_equal(share_dump(w), before);
}

TEST(a_repeated_request_keeps_its_place)
{
  acquire_answer a = writes(ANNA, 1);

  share_hear(BERT, CARL);
  writes(BERT, 1);
  writes(CARL, 1);
  assert_int_equal(writes(BERT, 1).rank, 0);
  assert_int_equal(writes(CARL, 1).rank, 1);
  assert_int_equal(world_inspect(w, ANNA).waiter_count, 2);
  share_release(w, ANNA, &a.lease, 0);
  share_told(BERT, 1, 1);
}

TEST(a_request_past_its_time_changes_nothing)
{
  share_call c = share_call_of(w, 'r', 1, 1);

  c.until_us = world_time_us(w) - 1;
  assert_int_equal(share_send(w, ANNA, &c).outcome, ACQUIRE_LATE);
  assert_string_equal(world_type(w), "none");
}

TEST(a_copy_of_a_cancelled_ask_finds_its_tombstone)
{
  acquire_answer a = writes(ANNA, 1);
  int64_t until = world_time_us(w) + 10000000;

  share_hear(BERT, CARL);
  writes(CARL, 1);
  writes(BERT, 1);
  share_cancel(w, BERT, 1, until);
  assert_int_equal(writes(BERT, 1).outcome, ACQUIRE_ENDED);
  assert_int_equal(share_cancel(w, ANNA, 1, until), 1);
  share_told(CARL, 1, 1);
  share_nothing_told(BERT);
  assert_int_equal(writes(ANNA, 1).outcome, ACQUIRE_ENDED);
  assert_false(share_release(w, ANNA, &a.lease, 0));
}

TEST(a_release_leaves_a_tombstone_where_copies_may_be_about)
{
  acquire_answer a = reads(ANNA, 1);

  assert_true(share_release(w, ANNA, &a.lease, world_time_us(w) + 10000000));
  assert_int_equal(reads(ANNA, 1).outcome, ACQUIRE_ENDED);
  assert_int_equal(reads(ANNA, 2).outcome, ACQUIRE_GRANTED);
}

/* The name is no read/write lock yet, and may become a semaphore. */
TEST(a_cancel_of_a_name_nobody_used_is_remembered_for_a_while)
{
  assert_int_equal(share_cancel(w, ANNA, 1, world_time_us(w) + 5000000), 0);
  assert_int_equal(reads(ANNA, 1).outcome, ACQUIRE_ENDED);
  assert_true(share_set(w, SHARE_SET, 3, NULL));
  share_set(w, SHARE_DELETE, 0, NULL);
  share_cancel(w, ANNA, 1, world_time_us(w) - 1);
  assert_string_equal(world_type(w), "none");
}

TEST(a_release_with_another_token_does_nothing)
{
  acquire_answer a = writes(ANNA, 1);
  lease_id other = a.lease;

  other.token++;
  assert_false(share_release(w, ANNA, &other, 0));
  assert_false(share_renew(w, ANNA, &other, 30000, 'w').is_ours);
  assert_int_equal(share_break(w, BERT, &other).outcome, RELEASE_GONE);
  assert_int_equal(writes(ANNA, 1).outcome, ACQUIRE_AGAIN);
}

TEST(a_broken_reader_is_told_and_the_others_stay)
{
  acquire_answer a = reads(ANNA, 1), b = reads(BERT, 1);
  char lost[128];

  share_hear(ANNA, BERT);
  assert_int_equal(share_break(w, CARL, &a.lease).outcome, RELEASE_DONE);
  snprintf(lost, sizeof(lost), "lost %s orders\n", lease_text(&a.lease));
  assert_string_equal(world_messages(w, ANNA), lost);
  share_nothing_told(BERT);
  assert_true(share_renew(w, BERT, &b.lease, 30000, 'r').is_ours);
  assert_false(share_renew(w, ANNA, &a.lease, 30000, 'r').is_ours);
}

/* Another process ends it; the one that was granted it may still renew it. */
TEST(a_release_by_token_is_told_and_a_release_is_not)
{
  acquire_answer a = reads(ANNA, 1), b = reads(BERT, 1);
  char told[256];

  share_hear(ANNA, BERT);
  assert_true(share_token_release(w, CARL, &a.lease));
  snprintf(told, sizeof(told), "released %s orders\nlost %s orders\n", lease_text(&a.lease),
           lease_text(&a.lease));
  assert_string_equal(world_messages(w, ANNA), told);
  assert_false(share_token_release(w, CARL, &a.lease));
  share_nothing_told(ANNA);
  assert_true(share_release(w, BERT, &b.lease, 0));
  share_nothing_told(BERT);
}

/* ---- much at once ---- */

TEST(one_script_lets_64_in_and_the_next_goes_on)
{
  acquire_answer a = writes(ANNA, 1);
  inspect_answer i;
  int told_count = 0;

  share_hear(BERT, BERT);
  for (uint64_t ask = 1; ask <= 100; ask++)
    assert_int_equal(reads(BERT, ask).outcome, ACQUIRE_WAITING);
  share_release(w, ANNA, &a.lease, 0);
  i = world_inspect(w, ANNA);
  assert_int_equal(i.used, 64);
  assert_int_equal(i.waiter_count, 36);
  for (const char *at = world_messages(w, BERT); (at = strchr(at, '\n')) != NULL; at++)
    told_count++;
  assert_int_equal(told_count, 64);
  /* A renewal of one of those who are in. */
  assert_int_equal(share_renew(w, BERT, &i.holders[63].lease, 30000, 'r').waiters, 0);
  assert_int_equal(world_inspect(w, ANNA).used, 100);
}

TEST(a_thousand_dead_are_dropped_by_one_script_and_the_rest_by_the_next)
{
  acquire_answer a = writes(ANNA, 1);

  share_hear(BERT, CARL);
  for (uint64_t ask = 1; ask <= 1010; ask++)
    reads(BERT, ask);
  reads(CARL, 1);
  world_deafen(w, BERT);
  share_release(w, ANNA, &a.lease, 0);
  share_nothing_told(CARL);
  assert_int_equal(reads(CARL, 1).outcome, ACQUIRE_GRANTED);
  assert_int_equal(world_inspect(w, ANNA).waiter_count, 0);
}

TEST(an_inspection_shows_all_by_token_up_to_a_hundred)
{
  inspect_answer i;

  share_hear(BERT, BERT);
  for (uint64_t ask = 1; ask <= 150; ask++)
    reads(ANNA, ask);
  for (uint64_t ask = 1; ask <= 120; ask++)
    writes(BERT, ask);
  share_cancel(w, BERT, 7, 0);
  i = world_inspect(w, ANNA);
  assert_int_equal(i.kind, NATIVE_RWLOCK);
  assert_int_equal(i.holder_count, 150);
  assert_int_equal(i.shown_holders, 100);
  for (size_t n = 0; n < 100; n++)
    assert_int_equal(i.holders[n].lease.ask, n + 1);
  assert_int_equal(i.waiter_count, 119);
  assert_int_equal(i.shown, 100);
  assert_int_equal(i.waiters[6].ask, 8);
  assert_int_equal(i.waiters[6].mode, 'w');
}

RUN_STAGE(stage_start, stage_stop, share_clear_clock, stage_check_errors)

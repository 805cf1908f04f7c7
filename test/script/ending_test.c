/* SPDX-License-Identifier: MIT */
/* How a lease or an ask ends: release, renew, cancel, break; and what inspect tells.
 * S3, S8, S9; F1, F2, F7, F8, F13. */

#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"
#include "stage.h"
#include "rendered.h"

TEST(a_release_frees_the_lock_and_may_be_repeated)
{
  acquire_answer a = world_acquire(w, ANNA, 1);

  assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
  assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
  assert_int_equal(world_inspect(w, ANNA).holder_count, 0);
}

TEST(a_release_that_comes_late_learns_who_took_the_lease)
{
  lease_id dead = world_plant(w, ANNA, 1, -1001, 30000, 0);
  acquire_answer a = world_acquire(w, BERT, 1);
  release_answer r = world_release(w, ANNA, &dead);

  assert_int_equal(r.outcome, RELEASE_TAKEN);
  assert_true(lease_id_equal(&r.taker, &a.lease));
  assert_int_equal(world_acquire(w, BERT, 1).outcome, ACQUIRE_AGAIN);
  /* Taken and given back since. */
  world_release(w, BERT, &a.lease);
  assert_int_equal(world_release(w, ANNA, &dead).outcome, RELEASE_GONE);
}

TEST(a_release_of_what_never_was_finds_it_gone)
{
  lease_id l = { .ask = 1, .token = 5 };

  memcpy(l.client, world_native(w, ANNA)->client, CLIENT_ID_SIZE);
  assert_int_equal(world_release(w, ANNA, &l).outcome, RELEASE_GONE);
  assert_string_equal(world_type(w), "none");
}

TEST(a_lease_past_its_deadline_that_nobody_took_is_still_its_clients)
{
  lease_id l = world_plant(w, ANNA, 1, -60000, 30000, 0);
  renew_answer r = world_renew(w, ANNA, &l, 30000);

  assert_true(r.is_ours);
  assert_int_equal(r.remaining_ms, 30000);
  l = world_plant(w, ANNA, 1, -60000, 30000, 0);
  assert_int_equal(world_release(w, ANNA, &l).outcome, RELEASE_DONE);
}

TEST(a_token_that_begins_with_another_is_another)
{
  acquire_answer a = world_acquire(w, ANNA, 1);
  lease_id shorter = a.lease;

  shorter.token /= 10;
  assert_int_equal(world_release(w, ANNA, &shorter).outcome, RELEASE_TAKEN);
  assert_false(world_renew(w, ANNA, &shorter, 30000).is_ours);
}

/* ---- renew ---- */

TEST(a_renewal_never_shortens)
{
  lease_id l = world_plant(w, ANNA, 1, 20000, 30000, 0);
  renew_answer r = world_renew(w, ANNA, &l, 1000);

  assert_in_range(r.remaining_ms, 15000, 20000);
  assert_int_equal(world_inspect(w, ANNA).holders[0].lease_ms, 30000);
  assert_int_equal(world_inspect(w, ANNA).holders[0].renewals, 1);
}

TEST(a_renewal_lengthens_the_lease_and_its_length)
{
  acquire_answer a = world_acquire(w, ANNA, 1);
  renew_answer r = world_renew(w, ANNA, &a.lease, 7200000);

  assert_int_equal(r.remaining_ms, 7200000);
  assert_int_equal(world_inspect(w, ANNA).holders[0].lease_ms, 7200000);
  assert_true(test_server_integer(world_server(w), "PTTL " WORLD_KEY) > 4 * 7200000 - 60000);
}

TEST(a_renewal_after_the_clock_stepped_back_promises_one_length)
{
  lease_id l = world_plant(w, ANNA, 1, 500000, 30000, 0);

  assert_int_equal(world_renew(w, ANNA, &l, 30000).remaining_ms, 30000);
}

TEST(a_renewal_in_doubt_of_the_clock_takes_the_deadline_away)
{
  lease_id l = world_plant(w, ANNA, 1, -60000, 30000, 0);

  world_renew_at(w, ANNA, &l, 1, 0);
  assert_non_null(strstr(test_server_command(world_server(w), "GET " WORLD_KEY), " 30000 1 2"));
  /* A shorter one cannot give it back: the longer promise may still be believed. */
  world_renew(w, ANNA, &l, 29999);
  assert_non_null(strstr(test_server_command(world_server(w), "GET " WORLD_KEY), " 30000 2 2"));
  world_renew(w, ANNA, &l, 30000);
  assert_non_null(strstr(test_server_command(world_server(w), "GET " WORLD_KEY), " 30000 3 0"));
}

TEST(a_renewal_raises_the_retention)
{
  acquire_answer a = world_acquire(w, ANNA, 1);

  test_server_command(world_server(w), "PEXPIRE " WORLD_KEY " 3000");
  world_renew(w, ANNA, &a.lease, 30000);
  assert_true(test_server_integer(world_server(w), "PTTL " WORLD_KEY) > HOUR_MS - 60000);
  /* Of the hash as well. */
  world_listen(w, BERT);
  world_acquire(w, BERT, 1);
  test_server_command(world_server(w), "PEXPIRE " WORLD_KEY " 3000");
  world_renew(w, ANNA, &a.lease, 30000);
}

TEST(a_renewal_never_creates_a_lease)
{
  acquire_answer a = world_acquire(w, ANNA, 1);

  world_release(w, ANNA, &a.lease);
  assert_false(world_renew(w, ANNA, &a.lease, 30000).is_ours);
  test_server_command(world_server(w), "DEL " WORLD_KEY);
  assert_false(world_renew(w, ANNA, &a.lease, 30000).is_ours);
  assert_string_equal(world_type(w), "none");
}

TEST(a_renewal_tells_how_many_wait)
{
  acquire_answer a = world_acquire(w, ANNA, 1);

  assert_int_equal(world_renew(w, ANNA, &a.lease, 30000).waiters, 0);
  world_listen(w, BERT);
  world_listen(w, CARL);
  world_acquire(w, BERT, 1);
  world_acquire(w, CARL, 1);
  assert_int_equal(world_renew(w, ANNA, &a.lease, 30000).waiters, 2);
}

TEST(a_batch_of_renewals_answers_each_in_its_place)
{
  static const char *const names[] = { "one", "two", "three" };
  lease_id leases[3];
  renew_item items[3];
  const resp_reply *r;
  renew_answer a;
  buffer *out;

  out = world_buffer(w);
  for (int i = 0; i < 3; i++) {
    acquire_call c = world_call(w, 1);
    acquire_answer got;
    c.name = names[i];
    c.name_size = strlen(names[i]);
    got = world_send(w, ANNA, &c);
    leases[i] = got.lease;
    items[i] = (renew_item){ names[i], strlen(names[i]), &leases[i], 40000 };
  }
  leases[1].token++;
  assert_true(RENDERED(native_renew, world_native(w, ANNA), out, false, items, 3,
                       world_time_us(w)));
  r = world_raw(w, out);
  buffer_clear(out);
  assert_true(native_renew_answer(r, 0, &a) && a.is_ours && a.remaining_ms == 40000);
  assert_true(native_renew_answer(r, 1, &a) && !a.is_ours);
  assert_true(native_renew_answer(r, 2, &a) && a.is_ours && a.remaining_ms == 40000);
  assert_false(native_renew_answer(r, 3, &a));
}

/* Renews two locks in one call, whose keys would end in 2000 s. */
static int64_t retention_after_a_batch(const renew_item items[2])
{
  buffer *out = world_buffer(w);
  renew_answer a;

  /* A deadline is a whole millisecond: another renewal before it would find it far enough. */
  for (int64_t begin = world_time_us(w); world_time_us(w) < begin + 2000;)
    continue;
  for (int i = 0; i < 2; i++)
    test_server_command(world_server(w), "PEXPIRE dibs:m:{%s} 2000000", items[i].name);
  assert_true(RENDERED(native_renew, world_native(w, ANNA), out, false, items, 2,
                       world_time_us(w)));
  assert_true(native_renew_answer(world_raw(w, out), 1, &a) && a.is_ours);
  buffer_clear(out);
  assert_true(test_server_integer(world_server(w), "PTTL dibs:m:{%s}", items[0].name) >
              HOUR_MS - 60000);
  return test_server_integer(world_server(w), "PTTL dibs:m:{%s}", items[1].name);
}

TEST(a_batch_sets_the_retention_of_a_short_lease_each_eighth_time)
{
  static const char *const names[] = { "one", "two" };
  lease_id leases[2];
  renew_item items[2];

  for (int i = 0; i < 2; i++) {
    acquire_call c = world_call(w, 1);

    c.name = names[i];
    c.name_size = strlen(names[i]);
    leases[i] = world_send(w, ANNA, &c).lease;
    items[i] = (renew_item){ names[i], strlen(names[i]), &leases[i], 30000 };
  }
  for (int n = 1; n <= 24; n++) {
    int64_t left = retention_after_a_batch(items);

    assert_true(n % 8 == 0 ? left > HOUR_MS - 60000 : left <= 2000000);
  }
  items[1].ttl_ms = 60001;
  for (int n = 0; n < 3; n++)
    assert_true(retention_after_a_batch(items) > HOUR_MS - 60000);
}

TEST(a_renewal_of_a_hundred_locks_is_one_call)
{
  static char names[RENEW_BATCH_MAX][16];
  static lease_id leases[RENEW_BATCH_MAX];
  static renew_item items[RENEW_BATCH_MAX];
  const resp_reply *r;
  buffer *out = world_buffer(w);

  for (int i = 0; i < RENEW_BATCH_MAX; i++) {
    acquire_call c = world_call(w, 1);
    c.name = names[i];
    c.name_size = (size_t)snprintf(names[i], sizeof(names[i]), "lock-%d", i);
    leases[i] = world_send(w, ANNA, &c).lease;
    items[i] = (renew_item){ names[i], c.name_size, &leases[i], 40000 };
  }
  assert_true(RENDERED(native_renew, world_native(w, ANNA), out, false, items,
                       RENEW_BATCH_MAX, world_time_us(w)));
  r = world_raw(w, out);
  buffer_clear(out);
  for (size_t i = 0; i < RENEW_BATCH_MAX; i++) {
    renew_answer a;
    assert_true(native_renew_answer(r, i, &a) && a.is_ours);
  }
}

/* ---- cancel ---- */

TEST(a_cancelled_waiter_is_gone_and_its_late_copy_ended)
{
  acquire_answer held = world_acquire(w, ANNA, 1);

  world_listen(w, BERT);
  world_listen(w, CARL);
  world_acquire(w, BERT, 4);
  world_acquire(w, CARL, 1);
  assert_int_equal(world_cancel(w, BERT, 4, 0), 0);
  assert_int_equal(world_acquire(w, BERT, 4).outcome, ACQUIRE_ENDED);
  world_release(w, ANNA, &held.lease);
  assert_int_equal(world_acquire(w, CARL, 1).outcome, ACQUIRE_AGAIN);
  assert_string_equal(world_messages(w, BERT), "");
}

TEST(behind_a_cancelled_head_the_next_is_first)
{
  world_listen(w, ANNA);
  world_listen(w, BERT);
  world_listen(w, CARL);
  world_acquire(w, ANNA, 1);
  world_acquire(w, BERT, 1);
  world_acquire(w, CARL, 1);
  world_cancel(w, BERT, 1, 0);
  world_messages(w, ANNA);
  assert_int_equal(world_acquire(w, CARL, 1).rank, 0);
  assert_non_null(strstr(world_messages(w, ANNA), "want "));
}

TEST(a_cancel_that_overtakes_its_ask_leaves_a_tombstone)
{
  world_listen(w, BERT);
  world_listen(w, CARL);
  world_acquire(w, ANNA, 1);
  world_acquire(w, CARL, 1);
  world_cancel(w, BERT, 4, world_time_us(w) + 60000000);
  assert_int_equal(world_acquire(w, BERT, 4).outcome, ACQUIRE_ENDED);
  assert_int_equal(world_acquire(w, BERT, 3).outcome, ACQUIRE_ENDED);
  assert_int_equal(world_inspect(w, ANNA).waiter_count, 1);
  /* The next ask is a new one, at the end of the queue. */
  assert_int_equal(world_acquire(w, BERT, 5).outcome, ACQUIRE_WAITING);
  assert_int_equal(world_inspect(w, ANNA).waiter_count, 2);
}

TEST(a_cancel_past_its_time_leaves_no_tombstone)
{
  world_listen(w, BERT);
  world_listen(w, CARL);
  world_acquire(w, ANNA, 1);
  world_acquire(w, CARL, 1);
  world_cancel(w, BERT, 4, world_time_us(w) - 1);
  assert_int_equal(test_server_integer(world_server(w), "HLEN " WORLD_KEY), 5);
}

TEST(a_cancel_on_a_free_lock_ends_the_late_ask)
{
  acquire_answer a = world_acquire(w, ANNA, 1);

  world_release(w, ANNA, &a.lease);
  world_cancel(w, BERT, 4, 0);
  assert_int_equal(world_acquire(w, BERT, 4).outcome, ACQUIRE_ENDED);
  /* The token goes on growing from the last grant. */
  assert_true(world_acquire(w, BERT, 5).lease.token > a.lease.token);
  world_clear(w);
  world_cancel(w, BERT, 4, 0);
  assert_int_equal(world_acquire(w, BERT, 4).outcome, ACQUIRE_ENDED);
  assert_int_equal(world_acquire(w, BERT, 5).outcome, ACQUIRE_GRANTED);
}

TEST(a_cancel_gives_up_a_lease_it_did_not_know_of)
{
  acquire_answer a;

  world_listen(w, BERT);
  world_acquire(w, ANNA, 3);
  world_acquire(w, BERT, 1);
  assert_int_equal(world_cancel(w, ANNA, 3, 0), 1);
  a = world_acquire(w, BERT, 1);
  assert_int_equal(a.outcome, ACQUIRE_AGAIN);
  assert_int_equal(world_cancel(w, BERT, 1, 0), 1);
  assert_int_equal(world_inspect(w, ANNA).holder_count, 0);
}

TEST(a_late_cancel_spares_a_later_ask)
{
  world_listen(w, BERT);
  world_acquire(w, ANNA, 3);
  assert_int_equal(world_cancel(w, ANNA, 2, 0), 0);
  assert_int_equal(world_acquire(w, ANNA, 3).outcome, ACQUIRE_AGAIN);
  world_acquire(w, BERT, 6);
  assert_int_equal(world_cancel(w, BERT, 5, 0), 0);
  assert_int_equal(world_acquire(w, BERT, 6).outcome, ACQUIRE_WAITING);
  assert_int_equal(world_cancel(w, ANNA, 2, 0), 0);
  assert_int_equal(world_acquire(w, ANNA, 3).outcome, ACQUIRE_AGAIN);
}

TEST(a_cancel_of_others_changes_nothing_of_a_string)
{
  const char *before;

  world_acquire(w, ANNA, 3);
  before = test_server_command(world_server(w), "GET " WORLD_KEY);
  assert_int_equal(world_cancel(w, BERT, 9, 0), 0);
  assert_string_equal(test_server_command(world_server(w), "GET " WORLD_KEY), before);
}

TEST(a_lease_in_other_hands_is_not_disowned_by_its_client)
{
  acquire_answer held, a;

  world_listen(w, ANNA);
  held = world_acquire(w, ANNA, 1);
  world_detach(w, ANNA, &held.lease);
  assert_int_equal(world_try(w, ANNA, 2).outcome, ACQUIRE_BUSY);
  a = world_acquire(w, ANNA, 3);
  assert_int_equal(a.outcome, ACQUIRE_WAITING);
  assert_true(lease_id_equal(&a.lease, &held.lease));
  assert_int_equal(world_cancel(w, ANNA, 3, 0), 0);
  assert_true(world_renew(w, BERT, &held.lease, 30000).is_ours);
  world_acquire(w, ANNA, 4);
  assert_int_equal(world_release(w, BERT, &held.lease).outcome, RELEASE_DONE);
  assert_int_equal(world_acquire(w, ANNA, 4).outcome, ACQUIRE_AGAIN);
}

/* ---- break ---- */

TEST(a_break_ousts_the_holder_once_and_tells_it)
{
  acquire_answer held;
  char lost[128];

  world_listen(w, ANNA);
  world_listen(w, BERT);
  held = world_acquire(w, ANNA, 1);
  world_acquire(w, BERT, 1);
  world_messages(w, ANNA);
  assert_int_equal(world_break(w, CARL, &held.lease).outcome, RELEASE_DONE);
  snprintf(lost, sizeof(lost), "lost %s orders\n", lease_text(&held.lease));
  assert_string_equal(world_messages(w, ANNA), lost);
  assert_int_equal(world_acquire(w, BERT, 1).outcome, ACQUIRE_AGAIN);
  /* Repeated, it does not oust the next (F8). */
  assert_int_equal(world_break(w, CARL, &held.lease).outcome, RELEASE_TAKEN);
  assert_int_equal(world_acquire(w, BERT, 1).outcome, ACQUIRE_AGAIN);
}

TEST(the_release_of_a_broken_lease_says_that_it_was_over)
{
  acquire_answer held = world_acquire(w, ANNA, 1);

  assert_int_equal(world_break(w, CARL, &held.lease).outcome, RELEASE_DONE);
  assert_int_equal(world_release(w, ANNA, &held.lease).outcome, RELEASE_GONE);
  assert_int_equal(world_break(w, CARL, &held.lease).outcome, RELEASE_UNTAKEN);
  assert_false(world_renew(w, ANNA, &held.lease, 30000).is_ours);
  assert_int_equal(world_acquire(w, ANNA, 1).outcome, ACQUIRE_ENDED);
  assert_true(world_acquire(w, ANNA, 2).lease.token > held.lease.token);
}

/* ---- by its token ---- */

/* Another process ends it; the one that was granted it may still renew it. */
TEST(a_release_by_token_tells_the_holder_and_its_own_release_does_not)
{
  acquire_answer held, next;
  char told[300];

  world_listen(w, ANNA);
  world_listen(w, BERT);
  for (uint64_t ask = 1; ask <= 3; ask += 2) {        /* without a waiter, then with one */
    held = world_acquire(w, ANNA, ask);
    if (ask == 3)
      (void)world_acquire(w, BERT, 1);
    world_messages(w, ANNA);
    assert_int_equal(world_token_release(w, CARL, &held.lease).outcome, RELEASE_DONE);
    snprintf(told, sizeof(told), "released %s orders\nlost %s orders\n", lease_text(&held.lease),
             lease_text(&held.lease));
    assert_string_equal(world_messages(w, ANNA), told);
    assert_int_equal(world_renew(w, ANNA, &held.lease, 30000).gone,
                     ask == 3 ? RELEASE_TAKEN : RELEASE_UNTAKEN);
    /* Repeated, it ends nothing. */
    assert_int_equal(world_token_release(w, CARL, &held.lease).outcome,
                     ask == 3 ? RELEASE_TAKEN : RELEASE_DONE);
    assert_string_equal(world_messages(w, ANNA), "");
  }
  next = world_acquire(w, BERT, 1);
  assert_int_equal(next.outcome, ACQUIRE_AGAIN);
  world_messages(w, BERT);
  assert_int_equal(world_release(w, BERT, &next.lease).outcome, RELEASE_DONE);
  assert_string_equal(world_messages(w, BERT), "");
}

/* ---- inspect ---- */

TEST(inspect_shows_the_holder_and_the_waiters_in_order)
{
  acquire_answer held;
  inspect_answer i = world_inspect(w, ANNA);

  assert_int_equal(i.holder_count, 0);
  assert_int_equal(i.last_token, 0);
  world_listen(w, BERT);
  world_listen(w, CARL);
  world_listen(w, DORA);
  held = world_acquire(w, ANNA, 3);
  world_acquire(w, BERT, 5);
  world_acquire(w, CARL, 6);
  world_acquire(w, DORA, 7);
  world_cancel(w, CARL, 6, 0);
  i = world_inspect(w, ANNA);
  assert_int_equal(i.kind, NATIVE_MUTEX);
  assert_int_equal(i.holder_count, 1);
  assert_int_equal(i.shown_holders, 1);
  assert_true(lease_id_equal(&i.holders[0].lease, &held.lease));
  assert_int_equal(i.holders[0].mode, 'x');
  assert_in_range(i.holders[0].remaining_ms, 1, 30000);
  assert_int_equal(i.holders[0].lease_ms, 30000);
  assert_int_equal(i.waiter_count, 2);
  assert_int_equal(i.shown, 2);
  assert_string_equal(i.waiters[0].client, world_native(w, BERT)->client);
  assert_int_equal(i.waiters[0].ask, 5);
  assert_in_range(i.waiters[0].queued_us, held.server_us, i.server_us);
  assert_string_equal(i.waiters[1].client, world_native(w, DORA)->client);
  world_cancel(w, BERT, 5, 0);
  world_cancel(w, DORA, 7, 0);
  world_release(w, ANNA, &held.lease);
  i = world_inspect(w, ANNA);
  assert_int_equal(i.holder_count, 0);
  assert_int_equal(i.last_token, held.lease.token);
  assert_int_equal(i.waiter_count, 0);
}

TEST(inspect_counts_a_waiter_only_while_its_inbox_is_there)
{
  inspect_answer i;

  world_listen(w, BERT);
  world_listen(w, CARL);
  world_acquire(w, ANNA, 1);
  world_acquire(w, BERT, 1);
  world_acquire(w, CARL, 1);
  assert_int_equal(world_inspect(w, ANNA).waiter_count, 2);
  world_deafen(w, BERT);
  i = world_inspect(w, ANNA);
  assert_int_equal(i.waiter_count, 1);
  assert_int_equal(i.shown, 1);
  assert_string_equal(i.waiters[0].client, world_native(w, CARL)->client);
}

TEST(inspect_shows_a_lease_for_as_long_as_a_try_is_refused)
{
  static const struct {
    int64_t left_ms;
    int flags;
    bool is_held;
  } cases[] = { { -900, 0, true }, { -1100, 0, false }, { -60000, 2, true } };

  world_set_time(w, world_time_us(w));
  for (uint64_t i = 0; i < 3; i++) {
    inspect_answer seen;

    (void)world_plant(w, ANNA, 1, cases[i].left_ms, 30000, cases[i].flags);
    seen = world_inspect(w, BERT);
    assert_int_equal(seen.holder_count, cases[i].is_held);
    assert_int_equal(seen.shown_holders, cases[i].is_held);
    assert_int_equal(world_try(w, BERT, i + 1).outcome,
                     cases[i].is_held ? ACQUIRE_BUSY : ACQUIRE_GRANTED);
  }
}

RUN_STAGE(stage_start, stage_stop, stage_clear, stage_check_errors)

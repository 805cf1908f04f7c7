/* SPDX-License-Identifier: MIT */
/* lua/native/raise.lua and share_raise.lua: a lease gets a higher token, and nothing else of
 * it changes. doc/design/protocol.md 18. */

#include "tests.h"

#include <string.h>

#include "server.h"
#include "set_story.h"
#include "shares.h"
#include "stage.h"
#include "rendered.h"

static int64_t raise_to(const lease_id *l, uint64_t token, bool is_share)
{
  const protocol *n = world_native(w, ANNA);
  const resp_node *root;

  if (is_share)
    assert_true(RENDERED(native_share_raise, n, world_buffer(w), false, WORLD_NAME, 6, l,
                         token));
  else
    assert_true(RENDERED(native_raise, n, world_buffer(w), false, WORLD_NAME, 6, l,
                         token));
  root = resp_root(stage_send_kept(WORLD_KEY));
  assert_int_equal(root->kind, RESP_INTEGER);
  return root->integer;
}

static lease_id with_token(lease_id l, uint64_t token)
{
  l.token = token;
  return l;
}

TEST(a_raised_lease_differs_in_its_token_only)
{
  acquire_answer a = world_acquire(w, ANNA, 7);
  lease_id high = with_token(a.lease, a.lease.token + 5000001);
  inspect_answer before, after;

  world_renew(w, ANNA, &a.lease, 30000);
  before = world_inspect(w, BERT);
  assert_int_equal(raise_to(&a.lease, high.token, false), 1);
  after = world_inspect(w, BERT);
  assert_true(lease_id_equal(&after.holders[0].lease, &high));
  assert_in_range(after.holders[0].remaining_ms, before.holders[0].remaining_ms - 1000,
                  before.holders[0].remaining_ms + 1);
  assert_int_equal(after.holders[0].renewals, before.holders[0].renewals);
  assert_int_equal(after.holders[0].lease_ms, 30000);
  assert_string_equal(world_type(w), "string");
  /* It is the holder's under its new name only. */
  assert_false(world_renew(w, ANNA, &a.lease, 30000).is_ours);
  assert_true(world_renew(w, ANNA, &high, 30000).is_ours);
  assert_int_equal(world_release(w, ANNA, &high).outcome, RELEASE_DONE);
}

/* A token of a program may be from before it. */
TEST(a_raised_lease_is_renewed_and_released_by_its_older_token)
{
  acquire_answer a = world_acquire(w, ANNA, 7);
  lease_id high = with_token(a.lease, a.lease.token + 1);
  acquire_answer next;

  assert_int_equal(raise_to(&a.lease, high.token, false), 1);
  assert_true(world_token_renew(w, CARL, &a.lease, 40000).is_ours);
  assert_int_equal(world_inspect(w, BERT).holders[0].lease_ms, 40000);
  assert_int_equal(world_token_release(w, CARL, &a.lease).outcome, RELEASE_DONE);
  next = world_acquire(w, ANNA, 8);
  assert_true(next.lease.token > high.token);
  assert_false(world_token_renew(w, CARL, &a.lease, 40000).is_ours);
  assert_int_equal(world_token_release(w, CARL, &a.lease).outcome, RELEASE_TAKEN);
}

TEST(a_raised_lease_is_still_the_detached_one)
{
  acquire_answer a = world_acquire(w, ANNA, 7);

  assert_int_equal(raise_to(&a.lease, a.lease.token + 1, false), 1);
  world_detach(w, ANNA, &a.lease);
  assert_int_equal(world_try(w, ANNA, 8).outcome, ACQUIRE_BUSY);
  assert_int_equal(world_cancel(w, ANNA, 8, 0), 0);
  assert_int_equal(world_inspect(w, BERT).holder_count, 1);
}

TEST(a_token_far_ahead_of_the_clock_keeps_the_deadline)
{
  acquire_answer a = world_acquire(w, ANNA, 1);
  lease_id high = with_token(a.lease, a.lease.token + UINT64_C(3000000000));

  assert_int_equal(raise_to(&a.lease, high.token, false), 1);
  assert_in_range(world_acquire(w, ANNA, 1).remaining_ms, 29000, 30001);
  assert_int_equal(world_release(w, ANNA, &high).outcome, RELEASE_DONE);
  assert_int_equal(world_acquire(w, BERT, 1).lease.token, high.token + 1);
}

TEST(those_who_wait_stay_and_are_granted_above_it)
{
  acquire_answer a = world_acquire(w, ANNA, 1);
  lease_id high = with_token(a.lease, a.lease.token + UINT64_C(3000000000));

  world_listen(w, BERT);
  assert_int_equal(world_acquire(w, BERT, 1).outcome, ACQUIRE_WAITING);
  assert_int_equal(raise_to(&a.lease, high.token, false), 1);
  assert_string_equal(world_type(w), "hash");
  assert_int_equal(world_inspect(w, ANNA).waiter_count, 1);
  world_messages(w, BERT);
  assert_int_equal(world_release(w, ANNA, &high).outcome, RELEASE_DONE);
  assert_non_null(strstr(world_messages(w, BERT), "grant:"));
  assert_int_equal(world_acquire(w, BERT, 1).lease.token, high.token + 1);
}

TEST(a_copy_that_comes_twice_or_late_changes_nothing)
{
  acquire_answer a = world_acquire(w, ANNA, 1), b;
  lease_id high = with_token(a.lease, a.lease.token + 100);
  lease_id higher = with_token(a.lease, a.lease.token + 200);

  assert_int_equal(raise_to(&a.lease, high.token, false), 1);
  assert_int_equal(raise_to(&a.lease, high.token, false), 1);
  assert_int_equal(raise_to(&high, higher.token, false), 1);
  assert_int_equal(raise_to(&a.lease, high.token, false), 0);
  assert_true(world_renew(w, ANNA, &higher, 30000).is_ours);
  assert_int_equal(world_release(w, ANNA, &higher).outcome, RELEASE_DONE);
  assert_int_equal(raise_to(&higher, higher.token + 1, false), 0);
  b = world_acquire(w, BERT, 1);
  assert_int_equal(raise_to(&higher, b.lease.token + 1, false), 0);
  assert_true(world_renew(w, BERT, &b.lease, 30000).is_ours);
}

TEST(a_token_is_never_lowered_and_never_from_two_to_the_52_on)
{
  acquire_answer a = world_acquire(w, ANNA, 1);

  assert_int_equal(raise_to(&a.lease, a.lease.token - 1, false), 0);
  assert_int_equal(raise_to(&a.lease, UINT64_C(1) << 52, false), 0);
  assert_true(world_renew(w, ANNA, &a.lease, 30000).is_ours);
}

/* Of the set of these letters. */
static int64_t raise_set_to(const char *letters, const lease_id *l, uint64_t token)
{
  many_call c = members_call(w, letters, 1);
  const resp_node *root;

  assert_true(RENDERED(native_many_raise, world_native(w, ANNA), world_buffer(w), false, c.names,
                       c.count, l, token));
  root = resp_root(world_raw(w, world_buffer(w)));
  buffer_clear(world_buffer(w));
  assert_int_equal(root->kind, RESP_INTEGER);
  return root->integer;
}

TEST(all_members_of_a_set_are_raised_also_where_others_wait)
{
  acquire_answer a = members_acquire(w, ANNA, "abc", 1).a;
  lease_id high = with_token(a.lease, a.lease.token + 5000001);

  world_listen(w, BERT);
  assert_int_equal(members_acquire(w, BERT, "bd", 1).a.outcome, ACQUIRE_WAITING);
  assert_int_equal(raise_set_to("abc", &a.lease, high.token), 1);
  assert_int_equal(raise_set_to("abc", &a.lease, high.token), 1);
  assert_int_equal(raise_set_to("abc", &a.lease, high.token - 1), 0);
  for (const char *letter = "abc"; *letter != 0; letter++)
    assert_held(*letter, &high);
  assert_int_equal(members_release(w, ANNA, "abc", &high).outcome, RELEASE_DONE);
  assert_true(members_acquire(w, BERT, "bd", 1).a.lease.token > high.token);
}

TEST(a_set_that_lost_one_member_is_not_raised)
{
  acquire_answer a = members_acquire(w, ANNA, "abc", 1).a;

  test_server_command(world_server(w), "DEL %s", members_key('c'));
  assert_int_equal(raise_set_to("abc", &a.lease, a.lease.token + 100), 0);
  assert_held('a', &a.lease);
  assert_held('b', &a.lease);
}

TEST(what_is_not_there_is_not_made)
{
  lease_id l = { .ask = 1, .token = 5 };

  memcpy(l.client, world_native(w, ANNA)->client, CLIENT_ID_SIZE);
  assert_int_equal(raise_to(&l, 6, false), 0);
  assert_int_equal(raise_to(&l, 6, true), 0);
  assert_string_equal(world_type(w), "none");
}

TEST(a_raised_share_differs_in_its_token_only)
{
  static const char modes[] = { 'r', 'w' };

  for (size_t i = 0; i < sizeof(modes); i++) {
    acquire_answer a, b;
    lease_id high;
    inspect_answer seen;

    stage_clear(state);
    a = share_ask(w, ANNA, modes[i], 1, 1);
    b = modes[i] == 'r' ? share_ask(w, BERT, 'r', 1, 1) : a;
    high = with_token(a.lease, b.lease.token + 5000001);
    assert_int_equal(raise_to(&a.lease, high.token, true), 1);
    assert_int_equal(raise_to(&a.lease, high.token, true), 1);
    assert_int_equal(raise_to(&a.lease, high.token - 1, true), 0);
    share_dump(w);
    seen = share_inspect(w);
    assert_int_equal(seen.last_token, high.token);
    assert_int_equal(share_ask(w, ANNA, modes[i], 1, 1).lease.token, high.token);
    assert_false(share_renew(w, ANNA, &a.lease, 30000, modes[i]).is_ours);
    assert_true(share_renew(w, ANNA, &high, 30000, modes[i]).is_ours);
    assert_true(share_release(w, ANNA, &high, 0));
    if (modes[i] == 'r')
      assert_true(share_release(w, BERT, &b.lease, 0));
    a = share_ask(w, CARL, 'w', 1, 1);
    assert_int_equal(a.outcome, ACQUIRE_GRANTED);
    assert_int_equal(a.lease.token, high.token + 1);
  }
}

TEST(a_share_below_another_stays_below_the_last_token)
{
  acquire_answer a = share_ask(w, ANNA, 'r', 1, 1);
  share_call c = share_call_of(w, 'r', 1, 1);
  acquire_answer b;

  c.min_token = a.lease.token + 1000000;
  b = share_send(w, BERT, &c);
  assert_int_equal(raise_to(&a.lease, a.lease.token + 10, true), 1);
  assert_int_equal(share_inspect(w).last_token, b.lease.token);
}

TEST_WITH(a_full_server_raises, stage_clear, NULL)
{
  acquire_answer a = world_acquire(w, ANNA, 1);
  lease_id high = with_token(a.lease, a.lease.token + 100);

  stage_fill_memory();
  assert_int_equal(raise_to(&a.lease, high.token, false), 1);
  assert_true(world_renew(w, ANNA, &high, 30000).is_ours);
  stage_empty_memory();
  world_release(w, ANNA, &high);
  test_server_command(world_server(w), "DEL %s", WORLD_KEY);
  a = share_ask(w, ANNA, 'r', 1, 1);
  stage_fill_memory();
  assert_int_equal(raise_to(&a.lease, a.lease.token + 100, true), 1);
  stage_empty_memory();
  a = members_acquire(w, ANNA, "abc", 1).a;
  stage_fill_memory();
  assert_int_equal(raise_set_to("abc", &a.lease, a.lease.token + 100), 1);
}

TEST_WITH(another_kind_of_name_is_refused, stage_clear, NULL)
{
  acquire_answer a = world_acquire(w, ANNA, 1);

  assert_true(RENDERED(native_share_raise, world_native(w, ANNA), world_buffer(w), false,
                       WORLD_NAME, 6, &a.lease, 99));
  assert_int_equal(resp_root(stage_send())->kind, RESP_ERROR);
  test_server_command(world_server(w), "DEL %s", WORLD_KEY);
  a = share_ask(w, ANNA, 'r', 1, 1);
  assert_true(RENDERED(native_raise, world_native(w, ANNA), world_buffer(w), false,
                       WORLD_NAME, 6, &a.lease, 99));
  assert_int_equal(resp_root(stage_send())->kind, RESP_ERROR);
}

RUN_STAGE(stage_start, stage_stop, stage_clear, stage_check_errors)

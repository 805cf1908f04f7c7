/* SPDX-License-Identifier: MIT */
/* How a set's lease or ask ends: release, cancel, renew, break; late and repeated requests;
 * and what is refused as a whole. S3, S8, S9; doc/design/protocol.md 4, 6, 10. */

#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"
#include "set_story.h"
#include "rendered.h"

/* ---- release ---- */

TEST(a_release_hands_each_member_to_its_next_waiter)
{
  many_answer m;

  hear();
  m = members_acquire(w, ANNA, "abc", 1);
  one_acquire(w, BERT, 'a', 1);
  one_acquire(w, CARL, 'c', 1);
  assert_int_equal(members_release(w, ANNA, "abc", &m.a.lease).outcome, RELEASE_DONE);
  assert_int_equal(one_acquire(w, BERT, 'a', 1).outcome, ACQUIRE_AGAIN);
  assert_int_equal(one_acquire(w, CARL, 'c', 1).outcome, ACQUIRE_AGAIN);
  assert_free('b');
  assert_int_equal(one_acquire(w, DORA, 'b', 1).outcome, ACQUIRE_GRANTED);
}

TEST(a_repeated_release_is_done_and_a_late_copy_of_the_ask_ended)
{
  many_answer m = members_acquire(w, ANNA, "ab", 4);

  members_release(w, ANNA, "ab", &m.a.lease);
  assert_int_equal(members_release(w, ANNA, "ab", &m.a.lease).outcome, RELEASE_DONE);
  assert_int_equal(members_acquire(w, ANNA, "ab", 4).a.outcome, ACQUIRE_ENDED);
  assert_int_equal(members_try(w, ANNA, "ab", 4).a.outcome, ACQUIRE_ENDED);
  /* One member that remembers is enough. */
  one_acquire(w, BERT, 'a', 1);
  assert_int_equal(members_acquire(w, ANNA, "ab", 4).a.outcome, ACQUIRE_ENDED);
  assert_string_equal(members_queue(w, 'a'), "");
}

TEST(a_release_tells_the_worst_and_lets_go_of_the_others)
{
  many_answer m = members_acquire(w, ANNA, "abc", 1);
  release_answer r;
  lease_id taker;

  test_server_command(world_server(w), "DEL %s", members_key('a'));
  assert_int_equal(members_release(w, ANNA, "abc", &m.a.lease).outcome, RELEASE_GONE);
  assert_free('b');
  m = members_acquire(w, ANNA, "abc", 2);
  test_server_command(world_server(w), "DEL %s", members_key('a'));
  taker = members_plant(w, 'b', BERT, 0, 1, 30000);
  r = members_release(w, ANNA, "abc", &m.a.lease);
  assert_int_equal(r.outcome, RELEASE_TAKEN);
  assert_true(lease_id_equal(&r.taker, &taker));
  assert_held('b', &taker);
  assert_free('c');
}

TEST(one_member_that_is_gone_is_not_renewed_and_loses_the_set)
{
  many_answer m = members_acquire(w, ANNA, "ab", 1);
  renew_item items[2];
  const resp_reply *r;
  renew_answer a;

  test_server_command(world_server(w), "DEL %s", members_key('b'));
  for (size_t i = 0; i < 2; i++)
    items[i] = (renew_item){ i == 0 ? "a" : "b", 1, &m.a.lease, 40000 };
  assert_true(RENDERED(native_renew, world_native(w, ANNA), world_buffer(w), false, items,
                       2, world_time_us(w)));
  r = world_raw(w, world_buffer(w));
  buffer_clear(world_buffer(w));
  assert_true(native_renew_answer(r, 0, &a));
  assert_true(a.is_ours);
  assert_true(native_renew_answer(r, 1, &a));
  assert_false(a.is_ours);
  assert_string_equal(members_value(w, 'b'), "");
}

TEST(a_broken_member_is_told_to_the_inbox_of_the_client)
{
  many_answer m;
  char lost[128];

  hear();
  m = members_acquire(w, ANNA, "ab", 1);
  assert_true(RENDERED(native_break, world_native(w, BERT), world_buffer(w), false, "b",
                       1, &m.a.lease, world_time_us(w)));
  (void)world_raw(w, world_buffer(w));
  buffer_clear(world_buffer(w));
  (void)snprintf(lost, sizeof(lost), "lost %s b\n", lease_text(&m.a.lease));
  assert_string_equal(world_messages(w, ANNA), lost);
  assert_int_equal(members_release(w, ANNA, "ab", &m.a.lease).outcome, RELEASE_GONE);
  assert_free('a');
}

TEST(a_release_by_token_is_told_once_and_a_release_is_not)
{
  many_answer m;
  char told[256];

  hear();
  m = members_acquire(w, ANNA, "ab", 1);
  assert_int_equal(members_token_release(w, BERT, "ab", &m.a.lease).outcome, RELEASE_DONE);
  (void)snprintf(told, sizeof(told), "released %s b\nlost %s b\n", lease_text(&m.a.lease),
                 lease_text(&m.a.lease));
  assert_string_equal(world_messages(w, ANNA), told);
  assert_int_equal(members_token_release(w, BERT, "ab", &m.a.lease).outcome, RELEASE_DONE);
  assert_string_equal(world_messages(w, ANNA), "");
  m = members_acquire(w, ANNA, "ab", 2);
  assert_int_equal(members_release(w, ANNA, "ab", &m.a.lease).outcome, RELEASE_DONE);
  assert_string_equal(world_messages(w, ANNA), "");
}

/* ---- cancel ---- */

TEST(a_cancel_gives_up_all_and_a_late_copy_of_the_ask_is_ended)
{
  hear();
  members_acquire(w, ANNA, "ab", 4);
  one_acquire(w, BERT, 'b', 1);
  assert_int_equal(members_cancel(w, ANNA, "ab", 1, 4, 0), 1);
  assert_free('a');
  assert_int_equal(one_acquire(w, BERT, 'b', 1).outcome, ACQUIRE_AGAIN);
  assert_int_equal(members_cancel(w, ANNA, "ab", 1, 4, 0), 0);
  assert_int_equal(members_acquire(w, ANNA, "ab", 4).a.outcome, ACQUIRE_ENDED);
}

TEST(a_cancelled_place_becomes_a_tombstone)
{
  acquire_answer b;
  char tombstone[64];

  hear();
  b = one_acquire(w, BERT, 'b', 1);
  members_acquire(w, ANNA, "abc", 4);
  one_acquire(w, CARL, 'b', 1);
  assert_int_equal(members_cancel(w, ANNA, "abc", 1, 4, 0), 0);
  (void)snprintf(tombstone, sizeof(tombstone), "x %s", entry(ANNA, 1, 4));
  assert_int_equal(strncmp(members_queue(w, 'b'), tombstone, strlen(tombstone)), 0);
  assert_int_equal(members_acquire(w, ANNA, "abc", 4).a.outcome, ACQUIRE_ENDED);
  one_release(w, BERT, 'b', &b.lease);
  assert_int_equal(one_acquire(w, CARL, 'b', 1).outcome, ACQUIRE_AGAIN);
  /* A newer ask of the set is none of its business. */
  assert_int_equal(members_acquire(w, ANNA, "abc", 5).a.outcome, ACQUIRE_WAITING);
  assert_int_equal(members_cancel(w, ANNA, "abc", 1, 4, 0), 0);
  assert_string_equal(members_queue(w, 'b'), entry(ANNA, 1, 5));
}

TEST(a_cancel_before_its_ask_arrives_ends_it)
{
  hear();
  assert_int_equal(members_cancel(w, ANNA, "ab", 1, 4, 0), 0);
  assert_int_equal(members_acquire(w, ANNA, "ab", 4).a.outcome, ACQUIRE_ENDED);
  assert_int_equal(members_acquire(w, ANNA, "ab", 5).a.outcome, ACQUIRE_GRANTED);
}

TEST(a_cancel_gives_up_what_was_kept)
{
  many_call c = members_call(w, "abc", 4);

  hear();
  c.keeps = true;
  one_acquire(w, CARL, 'c', 1);
  members_send(w, ANNA, &c);
  assert_int_equal(members_cancel(w, ANNA, "abc", 1, 4, 0), 1);
  assert_free('a');
  assert_free('b');
  assert_int_equal(members_send(w, ANNA, &c).a.outcome, ACQUIRE_ENDED);
  assert_free('a');
}

TEST(another_set_of_the_client_is_not_cancelled)
{
  many_call second = members_call(w, "cd", 3);
  many_answer m = members_acquire(w, ANNA, "ab", 4), n;

  second.set = 2;
  n = members_send(w, ANNA, &second);
  assert_int_equal(members_cancel(w, ANNA, "abcd", 3, 9, 0), 0);
  assert_int_equal(one_cancel(w, ANNA, 'a', 99, 0), 0);
  assert_held('a', &m.a.lease);
  assert_held('c', &n.a.lease);
}

/* ---- refused as a whole ---- */

static const char *everything(void)
{
  static char kept[8][64];
  static unsigned next;
  char *out = kept[next++ % 8];

  (void)snprintf(out, 64, "%s", test_server_command(world_server(w), "DEBUG DIGEST"));
  return out;
}

static void forget_errors(void) { test_server_command(world_server(w), "CONFIG RESETSTAT"); }

TEST(a_member_of_another_kind_refuses_all_before_anything_is_written)
{
  many_call c = members_call(w, "abcd", 1);
  const char *before;

  hear();
  members_plant(w, 'b', ANNA, 1, 1, 30000);
  test_server_command(world_server(w), "RPUSH %s x", members_key('d'));
  before = everything();
  assert_int_equal(strncmp(members_error(w, ANNA, &c), "WRONGTYPE", 9), 0);
  assert_string_equal(everything(), before);
  test_server_command(world_server(w), "DEL %s", members_key('d'));
  test_server_command(world_server(w), "HSET %s s %s h 1 n 1", members_key('d'), "rw 0 0 0");
  before = everything();
  assert_int_equal(strncmp(members_error(w, ANNA, &c), "WRONGTYPE", 9), 0);
  assert_string_equal(everything(), before);
  forget_errors();
}

TEST(letting_go_passes_over_a_member_of_another_kind)
{
  many_answer m = members_acquire(w, ANNA, "abc", 1);

  test_server_command(world_server(w), "DEL %s", members_key('b'));
  test_server_command(world_server(w), "RPUSH %s x", members_key('b'));
  assert_int_equal(members_release(w, ANNA, "abc", &m.a.lease).outcome, RELEASE_GONE);
  assert_free('a');
  assert_free('c');
  assert_int_equal(members_acquire(w, ANNA, "ac", 2).a.outcome, ACQUIRE_GRANTED);
  assert_int_equal(members_cancel(w, ANNA, "abc", 1, 2, 0), 1);
  assert_free('a');
  assert_free('c');
  assert_string_equal(test_server_command(world_server(w), "TYPE %s", members_key('b')),
                      "list");
  forget_errors();      /* the list's, said by the server each time that we looked */
}

TEST(a_member_that_was_driven_to_the_last_token_is_usable_at_once)
{
  many_call c = members_call(w, "ab", 1);
  uint64_t now = (uint64_t)world_time_us(w);

  c.min_token = 9007199254740991u;
  test_server_command(world_server(w), "SET %s =%s:1:9007199254740991 PX %d",
                      members_key('b'), world_native(w, BERT)->client, HOUR_MS);
  assert_in_range(members_send(w, ANNA, &c).a.lease.token, now, now + 60000000);
}

/* Sent to a full server it changes nothing at all. */
static void assert_refused(const many_call *c)
{
  const char *before = everything(), *error;

  stage_fill_memory();
  error = members_error(w, ANNA, c);
  assert_int_equal(resp_fault_of(error, strlen(error)), RESP_FAULT_REFUSED);
  stage_empty_memory();
  assert_string_equal(everything(), before);
  forget_errors();
}

TEST(a_full_server_refuses_to_grant_and_changes_nothing)
{
  many_call c = members_call(w, "abc", 5);
  lease_id dead;
  many_answer m;

  hear();
  assert_refused(&c);
  m = members_acquire(w, BERT, "abc", 1);
  members_release(w, BERT, "abc", &m.a.lease);
  assert_refused(&c);
  /* One that comes with a queue: its entry would go, its lease be written. */
  dead = members_plant(w, 'a', BERT, 0, 1, 999999);
  members_acquire(w, ANNA, "abc", 4);
  one_acquire(w, CARL, 'a', 1);
  c.watched = &dead;
  assert_refused(&c);
  assert_int_equal(members_send(w, ANNA, &c).a.outcome, ACQUIRE_GRANTED);
}

TEST(a_full_server_refuses_to_wait_and_changes_nothing)
{
  many_call c = members_call(w, "abc", 5);
  acquire_answer b;

  hear();
  one_acquire(w, CARL, 'c', 1);
  assert_refused(&c);
  /* With members to hand on, kept ones to lengthen, and a place to leave. */
  b = one_acquire(w, BERT, 'b', 1);
  members_send(w, ANNA, &c);
  one_acquire(w, DORA, 'b', 1);
  one_release(w, BERT, 'b', &b.lease);
  assert_refused(&c);
  c.keeps = true;
  assert_refused(&c);
  c.waits = false;
  assert_refused(&c);
  c.waits = true;
  c.ask = 6;
  assert_refused(&c);
  assert_int_equal(members_send(w, ANNA, &c).busy, 'b');
}

TEST(a_full_server_still_lets_go)
{
  many_answer m;

  hear();
  for (uint64_t ask = 1; ask <= 2; ask++) {
    m = members_acquire(w, ANNA, "abc", ask);
    assert_int_equal(m.a.outcome, ACQUIRE_GRANTED);
    one_acquire(w, BERT, 'b', ask);
    stage_fill_memory();
    if (ask == 1)
      assert_int_equal(members_release(w, ANNA, "abc", &m.a.lease).outcome, RELEASE_DONE);
    else
      assert_int_equal(members_cancel(w, ANNA, "abc", 1, ask, 0), 1);
    stage_empty_memory();
    assert_free('a');
    assert_free('c');
    m.a = one_acquire(w, BERT, 'b', ask);
    assert_int_equal(m.a.outcome, ACQUIRE_AGAIN);
    one_release(w, BERT, 'b', &m.a.lease);
  }
  forget_errors();
}

RUN_STAGE(stage_start, stage_stop, stage_clear, stage_check_errors)

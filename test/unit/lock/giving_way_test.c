/* SPDX-License-Identifier: MIT */
/* lock/giving_way.c: who heard of our release has time to come before we ask again; redisson.md 2.
 * A channel on which others listen is one whose release answers that more heard it than we. */
#include "nodes.h"

#define CHANNEL "redisson_lock__channel:{x}"
#define RW_CHANNEL "redisson_rwlock:{x}"

enum { WAKE_MS = 1, MOST_MS = 5, PATIENCE_MS = 20 };

static struct nodes *table(void)
{
  return nodes_new_of(DIALECT_REDISSON);
}

static uint64_t held(struct nodes *n)
{
  uint64_t id = nodes_lock(n, "x");

  assert_string_equal(nodes_next(n, 0), "acquire");
  nodes_answer(n, ":%lld", nodes_us(n));
  assert_string_equal(nodes_events(n), "g");
  return id;
}

/* Released at once, and `heard` heard it; 0: nobody did. */
static void released(struct nodes *n, uint64_t id, const char *verb, int heard)
{
  lock_release(n->table, id, n->now);
  assert_string_equal(nodes_next(n, 0), verb);
  if (heard > 0)
    nodes_answer(n, "[:1 :%d]", heard);
  else
    nodes_answer(n, ":1");
  assert_string_equal(nodes_events(n), "e");
}

static void expect_asked_only_after(struct nodes *n, int64_t ms, const char *verb)
{
  assert_string_equal(nodes_next(n, 0), "");
  nodes_pass(n, ms - 1);
  assert_string_equal(nodes_next(n, 0), "");
  nodes_pass(n, 1);
  assert_string_equal(nodes_next(n, 0), verb);
}

static void nobody_listened_and_the_next_ask_goes_out_at_once(void **state)
{
  struct nodes *n = table();

  (void)state;
  released(n, held(n), "release", 0);
  nodes_lock(n, "x");
  assert_string_equal(nodes_next(n, 0), "acquire");
  nodes_free(n);
}

static void who_listened_has_time_to_come_first(void **state)
{
  struct nodes *n = table();

  (void)state;
  released(n, held(n), "release", 1);
  nodes_lock(n, "x");
  expect_asked_only_after(n, WAKE_MS, "acquire");
  nodes_free(n);
}

static void another_name_is_not_held_up(void **state)
{
  struct nodes *n = table();

  (void)state;
  released(n, held(n), "release", 1);
  nodes_lock(n, "y");
  assert_string_equal(nodes_next(n, 0), "acquire");
  nodes_free(n);
}

static void the_time_is_longer_by_a_round_trip_like_ours_and_has_an_end(void **state)
{
  struct nodes *n = table();
  uint64_t id = held(n);

  (void)state;
  lock_release(n->table, id, n->now);
  assert_string_equal(nodes_next(n, 0), "release");
  nodes_pass(n, 2);
  nodes_answer(n, "[:1 :1]");
  id = nodes_lock(n, "x");
  expect_asked_only_after(n, WAKE_MS + 2, "acquire");
  nodes_answer(n, ":%lld", nodes_us(n));
  lock_release(n->table, id, n->now);
  assert_string_equal(nodes_next(n, 0), "release");
  nodes_pass(n, 900);
  nodes_answer(n, "[:1 :1]");
  nodes_lock(n, "x");
  expect_asked_only_after(n, MOST_MS, "acquire");
  nodes_free(n);
}

static void who_tries_asks_at_once(void **state)
{
  struct nodes *n = table();
  lock_wish w = nodes_wish("x");

  (void)state;
  w.is_try = true;
  released(n, held(n), "release", 1);
  nodes_lock_with(n, &w);
  assert_string_equal(nodes_next(n, 0), "acquire");
  nodes_free(n);
}

static void who_waits_for_a_moment_only_asks_at_once(void **state)
{
  struct nodes *n = table();
  lock_wish w = nodes_wish("x");

  (void)state;
  w.give_up_at = instant_add(n->now, SPAN_MS(PATIENCE_MS));
  released(n, held(n), "release", 1);
  nodes_lock_with(n, &w);
  assert_string_equal(nodes_next(n, 0), "acquire");
  nodes_free(n);
}

/* Waiting behind another thread of ours, by our own subscription: of two who heard it one was
 * we. Nothing is passed on inside the process any more when its time is over. */
static struct nodes *contended(uint64_t ret_ids[2])
{
  struct nodes *n = table();

  ret_ids[0] = held(n);
  ret_ids[1] = nodes_lock(n, "x");
  nodes_subscribe(n, 0);
  lock_release(n->table, ret_ids[0], n->now);
  assert_string_equal(nodes_events(n), "eg");
  ret_ids[0] = nodes_lock(n, "x");
  nodes_pass(n, 11);
  lock_release(n->table, ret_ids[1], n->now);
  assert_string_equal(nodes_next(n, 0), "release");
  return n;
}

static void our_own_subscription_is_nobody(void **state)
{
  uint64_t ids[2];
  struct nodes *n = contended(ids);

  (void)state;
  nodes_answer(n, "[:1 :1]");
  assert_string_equal(nodes_next(n, 0), "acquire");
  nodes_free(n);
}

static void hand_overs_inside_the_process_end_in_a_release_that_gives_way(void **state)
{
  uint64_t ids[2];
  struct nodes *n = contended(ids);

  (void)state;
  nodes_answer(n, "[:1 :2]");
  nodes_message_on(n, CHANNEL, "0");       /* our own words */
  expect_asked_only_after(n, WAKE_MS, "acquire");
  nodes_free(n);
}

/* ---- read/write locks: each who waits has an ask of his own, and hears by himself ---- */

static uint64_t writer(struct nodes *n, bool is_free)
{
  lock_wish w = nodes_wish("x");
  uint64_t id;

  w.kind = LOCK_WRITE;
  id = nodes_lock_with(n, &w);
  assert_string_equal(nodes_next(n, 0), "rw_acquire");
  if (is_free)
    nodes_answer(n, "[:1 :%lld :30000 :30000 :60 :1]", nodes_us(n));
  else
    nodes_answer(n, "[:3 :%lld :30000 :30000 $......................:1:1 :0 :0 :0]",
                 nodes_us(n));
  return id;
}

/* One writes, the other has waited and hears; nothing of that was sent yet. */
static struct nodes *two_writers(uint64_t *ret_holder)
{
  struct nodes *n = table();

  *ret_holder = writer(n, true);
  assert_string_equal(nodes_events(n), "g");
  (void)writer(n, false);
  nodes_subscribe(n, 0);
  assert_string_equal(nodes_next(n, 0), "rw_acquire");
  nodes_answer(n, "[:3 :%lld :30000 :30000 $......................:1:1 :0 :0 :0]", nodes_us(n));
  lock_release(n->table, *ret_holder, n->now);
  assert_string_equal(nodes_next(n, 0), "share_release");
  nodes_message_on(n, RW_CHANNEL, "1");
  return n;
}

static void a_writer_who_hears_us_ourselves_gives_way_like_a_new_one(void **state)
{
  uint64_t holder;
  struct nodes *n = two_writers(&holder);

  (void)state;
  assert_string_equal(nodes_next(n, 0), "");
  nodes_answer(n, "[:1 :2]");
  expect_asked_only_after(n, WAKE_MS, "rw_acquire");
  nodes_free(n);
}

static void a_writer_who_alone_heard_us_asks_behind_the_answer(void **state)
{
  uint64_t holder;
  struct nodes *n = two_writers(&holder);

  (void)state;
  assert_string_equal(nodes_next(n, 0), "");
  nodes_answer(n, "[:1 :1]");
  assert_string_equal(nodes_next(n, 0), "rw_acquire");
  nodes_free(n);
}

static void an_answer_that_does_not_come_holds_no_writer_up(void **state)
{
  uint64_t holder;
  struct nodes *n = two_writers(&holder);

  (void)state;
  expect_asked_only_after(n, MOST_MS, "rw_acquire");
  nodes_free(n);
}

static void a_writer_who_hears_another_asks_at_once(void **state)
{
  struct nodes *n = table();

  (void)state;
  (void)writer(n, false);
  nodes_subscribe(n, 0);
  assert_string_equal(nodes_next(n, 0), "rw_acquire");
  nodes_answer(n, "[:3 :%lld :30000 :30000 $......................:1:1 :0 :0 :0]", nodes_us(n));
  nodes_message_on(n, RW_CHANNEL, "1");
  assert_string_equal(nodes_next(n, 0), "rw_acquire");
  nodes_free(n);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(nobody_listened_and_the_next_ask_goes_out_at_once),
    cmocka_unit_test(who_listened_has_time_to_come_first),
    cmocka_unit_test(another_name_is_not_held_up),
    cmocka_unit_test(the_time_is_longer_by_a_round_trip_like_ours_and_has_an_end),
    cmocka_unit_test(who_tries_asks_at_once),
    cmocka_unit_test(who_waits_for_a_moment_only_asks_at_once),
    cmocka_unit_test(our_own_subscription_is_nobody),
    cmocka_unit_test(hand_overs_inside_the_process_end_in_a_release_that_gives_way),
    cmocka_unit_test(a_writer_who_hears_us_ourselves_gives_way_like_a_new_one),
    cmocka_unit_test(a_writer_who_alone_heard_us_asks_behind_the_answer),
    cmocka_unit_test(an_answer_that_does_not_come_holds_no_writer_up),
    cmocka_unit_test(a_writer_who_hears_another_asks_at_once),
  };

  return cmocka_run_group_tests_name("giving_way", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* lock/yielding.c: who heard of our release has time to come before we ask again; redisson.md 2.
 * A channel on which others listen is one whose release answers that more heard it than we. */
#include "tests.h"
#include "nodes.h"

#define CHANNEL "redisson_lock__channel:{x}"
#define RW_CHANNEL "redisson_rwlock:{x}"

enum { WAKE_MS = 1, MOST_MS = 5, PATIENCE_MS = 20 };

static struct nodes *table(void)
{
  return nodes_new_of(&redisson_dialect);
}

static uint64_t held(struct nodes *l)
{
  uint64_t id = nodes_lock(l, "x");

  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_answer(l, ":%lld", nodes_us(l));
  assert_string_equal(nodes_events(l), "g");
  return id;
}

/* Released at once, and `heard` heard it; 0: nobody did. */
static void released(struct nodes *l, uint64_t id, const char *verb, int heard)
{
  hold_release(l->front, id, l->now);
  assert_string_equal(nodes_next(l, 0), verb);
  if (heard > 0)
    nodes_answer(l, "[:1 :%d]", heard);
  else
    nodes_answer(l, ":1");
  assert_string_equal(nodes_events(l), "e");
}

static void expect_asked_only_after(struct nodes *l, int64_t ms, const char *verb)
{
  assert_string_equal(nodes_next(l, 0), "");
  nodes_pass(l, ms - 1);
  assert_string_equal(nodes_next(l, 0), "");
  nodes_pass(l, 1);
  assert_string_equal(nodes_next(l, 0), verb);
}

TEST(nobody_listened_and_the_next_ask_goes_out_at_once)
{
  struct nodes *l = table();

  released(l, held(l), "release", 0);
  nodes_lock(l, "x");
  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_free(l);
}

TEST(who_listened_has_time_to_come_first)
{
  struct nodes *l = table();

  released(l, held(l), "release", 1);
  nodes_lock(l, "x");
  expect_asked_only_after(l, WAKE_MS, "acquire");
  nodes_free(l);
}

TEST(another_name_is_not_held_up)
{
  struct nodes *l = table();

  released(l, held(l), "release", 1);
  nodes_lock(l, "y");
  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_free(l);
}

TEST(the_time_is_longer_by_a_round_trip_like_ours_and_has_an_end)
{
  struct nodes *l = table();
  uint64_t id = held(l);

  hold_release(l->front, id, l->now);
  assert_string_equal(nodes_next(l, 0), "release");
  nodes_pass(l, 2);
  nodes_answer(l, "[:1 :1]");
  id = nodes_lock(l, "x");
  expect_asked_only_after(l, WAKE_MS + 2, "acquire");
  nodes_answer(l, ":%lld", nodes_us(l));
  hold_release(l->front, id, l->now);
  assert_string_equal(nodes_next(l, 0), "release");
  nodes_pass(l, 900);
  nodes_answer(l, "[:1 :1]");
  nodes_lock(l, "x");
  expect_asked_only_after(l, MOST_MS, "acquire");
  nodes_free(l);
}

TEST(who_tries_asks_at_once)
{
  struct nodes *l = table();
  lock_spec w = nodes_wish("x");

  w.is_try = true;
  released(l, held(l), "release", 1);
  nodes_lock_with(l, &w);
  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_free(l);
}

TEST(who_waits_for_a_moment_only_asks_at_once)
{
  struct nodes *l = table();
  lock_spec w = nodes_wish("x");

  w.give_up_at = instant_add(l->now, SPAN_MS(PATIENCE_MS));
  released(l, held(l), "release", 1);
  nodes_lock_with(l, &w);
  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_free(l);
}

/* Waiting behind another thread of ours, by our own subscription: of two who heard it one was
 * we. Nothing is passed on inside the process any more when its time is over. */
static struct nodes *contended(uint64_t ret_ids[2])
{
  struct nodes *l = table();

  ret_ids[0] = held(l);
  ret_ids[1] = nodes_lock(l, "x");
  nodes_subscribe(l, 0);
  hold_release(l->front, ret_ids[0], l->now);
  assert_string_equal(nodes_events(l), "eg");
  ret_ids[0] = nodes_lock(l, "x");
  nodes_pass(l, 11);
  hold_release(l->front, ret_ids[1], l->now);
  assert_string_equal(nodes_next(l, 0), "release");
  return l;
}

TEST(our_own_subscription_is_nobody)
{
  uint64_t ids[2];
  struct nodes *l = contended(ids);

  nodes_answer(l, "[:1 :1]");
  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_free(l);
}

TEST(hand_overs_inside_the_process_end_in_a_release_that_gives_way)
{
  uint64_t ids[2];
  struct nodes *l = contended(ids);

  nodes_answer(l, "[:1 :2]");
  nodes_message_on(l, CHANNEL, "0");       /* our own words */
  expect_asked_only_after(l, WAKE_MS, "acquire");
  nodes_free(l);
}

/* ---- read/write locks: each who waits has an ask of his own, and hears by himself ---- */

static uint64_t writer(struct nodes *l, bool is_free)
{
  lock_spec w = nodes_wish("x");
  uint64_t id;

  w.kind = LOCK_RWLOCK;
  id = nodes_lock_with(l, &w);
  assert_string_equal(nodes_next(l, 0), "rw_acquire");
  if (is_free)
    nodes_answer(l, "[:1 :%lld :30000 :30000 :60 :1]", nodes_us(l));
  else
    nodes_answer(l, "[:3 :%lld :30000 :30000 $......................:1:1 :0 :0 :0]",
                 nodes_us(l));
  return id;
}

/* One writes, the other has waited and hears; nothing of that was sent yet. */
static struct nodes *two_writers(uint64_t *ret_holder)
{
  struct nodes *l = table();

  *ret_holder = writer(l, true);
  assert_string_equal(nodes_events(l), "g");
  (void)writer(l, false);
  nodes_subscribe(l, 0);
  assert_string_equal(nodes_next(l, 0), "rw_acquire");
  nodes_answer(l, "[:3 :%lld :30000 :30000 $......................:1:1 :0 :0 :0]", nodes_us(l));
  hold_release(l->front, *ret_holder, l->now);
  assert_string_equal(nodes_next(l, 0), "share_release");
  nodes_message_on(l, RW_CHANNEL, "1");
  return l;
}

TEST(a_writer_who_hears_us_ourselves_gives_way_like_a_new_one)
{
  uint64_t holder;
  struct nodes *l = two_writers(&holder);

  assert_string_equal(nodes_next(l, 0), "");
  nodes_answer(l, "[:1 :2]");
  expect_asked_only_after(l, WAKE_MS, "rw_acquire");
  nodes_free(l);
}

TEST(a_writer_who_alone_heard_us_asks_behind_the_answer)
{
  uint64_t holder;
  struct nodes *l = two_writers(&holder);

  assert_string_equal(nodes_next(l, 0), "");
  nodes_answer(l, "[:1 :1]");
  assert_string_equal(nodes_next(l, 0), "rw_acquire");
  nodes_free(l);
}

TEST(an_answer_that_does_not_come_holds_no_writer_up)
{
  uint64_t holder;
  struct nodes *l = two_writers(&holder);

  expect_asked_only_after(l, MOST_MS, "rw_acquire");
  nodes_free(l);
}

TEST(a_writer_who_hears_another_asks_at_once)
{
  struct nodes *l = table();

  (void)writer(l, false);
  nodes_subscribe(l, 0);
  assert_string_equal(nodes_next(l, 0), "rw_acquire");
  nodes_answer(l, "[:3 :%lld :30000 :30000 $......................:1:1 :0 :0 :0]", nodes_us(l));
  nodes_message_on(l, RW_CHANNEL, "1");
  assert_string_equal(nodes_next(l, 0), "rw_acquire");
  nodes_free(l);
}

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* quorum/multi_parts.c: several names of several slots, when what happens to one of them crosses
 * what happens to another. The slot of y is before that of x. */
#include "tests.h"
#include "../lock/nodes.h"

#include "quorum/multi.h"

struct story {
  struct nodes *n;
  multi *multi;
  hold_front *front;
  uint64_t id;
};

static struct story begin_with(lock_spec w)
{
  static const many_name names[] = { { "x", 1 }, { "y", 1 } };
  struct story s = { .n = nodes_new() };

  s.multi = multi_new(nodes_memory(), s.n->table, false);
  assert_non_null(s.multi);
  w.names = names;
  w.name_count = 2;
  s.front = hold_front_new(nodes_memory());
  assert_non_null(s.front);
  hold_front_add(s.front, multi_backend(s.multi));
  hold_front_add(s.front, lock_backend(s.n->table));
  assert_int_equal(hold_claim(s.front, &w, s.n->now, &s.id), DIBS_OK);
  assert_false(hold_is_one_lease(s.front, s.id));
  return s;
}

static struct story begin(void)
{
  return begin_with(nodes_wish(""));
}

static void end(struct story *s)
{
  hold_front_free(s->front);
  multi_free(s->multi);
  nodes_free(s->n);
}

static dibs_status last_status;         /* of the last event */
static char last_words[128];
static instant told_end;                /* of the last one that has it */

/* What the program is told, as letters. */
static const char *told(struct story *s)
{
  static char seen[32];
  size_t count = 0;
  lock_event event;

  while (multi_advance(s->multi, s->n->now))
    continue;
  while (hold_next_event(s->front, &event)) {
    seen[count++] = nodes_letter(event.kind);
    last_status = event.status;
    (void)snprintf(last_words, sizeof(last_words), "%s", event.words);
    if (event.valid_until.ns != 0)
      told_end = event.valid_until;
  }
  seen[count] = '\0';
  return seen;
}

static void grant(struct story *s, int token)
{
  assert_string_equal(nodes_next(s->n, 0), "many_acquire");
  nodes_answer(s->n, "[:1 :%lld :30000 :%d]", nodes_us(s->n), token);
}

static void release(struct story *s)
{
  assert_string_equal(nodes_next(s->n, 0), "many_release");
  nodes_answer(s->n, ":1");
}

/* The first part is broken: a message says so, and the answer to a renewal. */
static void lose(struct story *s)
{
  nodes_message(s->n, "lost " SELF ".1:1:60 y");
  assert_string_equal(nodes_next(s->n, 0), "renew");
  nodes_answer(s->n, "[:%lld :-1 :0]", nodes_us(s->n));
}

static struct story granted(void)
{
  struct story s = begin();

  grant(&s, 60);
  assert_string_equal(told(&s), "");
  grant(&s, 60);
  assert_string_equal(told(&s), "g");
  return s;
}

TEST(all_are_granted_together_and_given_back_together)
{
  struct story s = granted();

  assert_int_equal(hold_release(s.front, s.id, s.n->now), DIBS_OK);
  release(&s);
  assert_string_equal(told(&s), "");
  release(&s);
  assert_string_equal(told(&s), "e");
  assert_true(hold_is_quiet(s.front));
  end(&s);
}

static void released_as(const char *first, const char *second, dibs_status wanted)
{
  struct story s = granted();

  assert_int_equal(hold_release(s.front, s.id, s.n->now), DIBS_OK);
  assert_string_equal(nodes_next(s.n, 0), "many_release");
  nodes_answer(s.n, "%s", first);
  assert_string_equal(told(&s), "");
  assert_string_equal(nodes_next(s.n, 0), "many_release");
  nodes_answer(s.n, "%s", second);
  assert_string_equal(told(&s), "e");
  assert_int_equal(last_status, wanted);
  assert_string_equal(last_words, "it had ended before it was released");
  end(&s);
}

TEST(the_release_has_the_worst_end_of_its_parts)
{
  static const char taken[] = "[:3 $" OTHER ":1:99]";

  released_as(":1", ":2", DIBS_LOST);
  released_as(":2", ":1", DIBS_LOST);
  released_as(":2", taken, DIBS_TAKEN);
  released_as(taken, ":2", DIBS_TAKEN);
}

/* ---- a part that is lost before all are granted ---- */

static void finish(struct story *s)
{
  assert_int_equal(hold_release(s->front, s->id, s->n->now), DIBS_OK);
  release(s);
  assert_string_equal(told(s), "");
  release(s);
  assert_string_equal(told(s), "e");
  assert_int_equal(last_status, DIBS_OK);
  assert_int_equal(hold_counts(s->front).holds, 0);
  assert_true(hold_is_quiet(s->front));
  end(s);
}

/* That of y, while that of x waits for OTHER: the place in the queue of x is given up, as y is
 * before x in the order of all. */
static struct story lost_while_waiting(lock_spec w)
{
  struct story s = begin_with(w);

  grant(&s, 60);
  assert_string_equal(told(&s), "");
  assert_string_equal(nodes_next(s.n, 0), "many_acquire");
  nodes_answer(s.n, "[:3 :%lld :30000 :30000 $" OTHER ":9:50 :0 :0 :0]", nodes_us(s.n));
  lose(&s);
  assert_string_equal(told(&s), "");
  return s;
}

static void cancelled_and_released(struct story *s)
{
  for (int i = 0; i < 2; i++) {
    const char *verb = nodes_next(s->n, 0);

    assert_true(strcmp(verb, "many_cancel") == 0 || strcmp(verb, "many_release") == 0);
    nodes_answer(s->n, ":1");
  }
  assert_string_equal(told(s), "");
}

TEST(a_part_lost_while_another_is_waited_for_is_asked_for_again)
{
  struct story s = lost_while_waiting(nodes_wish(""));

  cancelled_and_released(&s);
  assert_string_equal(nodes_next(s.n, 0), "many_acquire");
  assert_non_null(strstr(nodes_words(s.n), "{y}"));
  assert_null(strstr(nodes_words(s.n), "{x}"));
  nodes_answer(s.n, "[:1 :%lld :30000 :80]", nodes_us(s.n));
  assert_string_equal(told(&s), "");
  grant(&s, 80);
  assert_string_equal(told(&s), "g");
  finish(&s);
}

TEST(the_limit_of_the_call_counts_while_a_lost_part_is_asked_for_again)
{
  lock_spec w = nodes_wish("");
  struct story s;

  w.give_up_at = instant_add((instant){ SPAN_MS(1000000).ns }, SPAN_MS(4000));
  s = lost_while_waiting(w);
  cancelled_and_released(&s);
  assert_string_equal(nodes_next(s.n, 0), "many_acquire");
  nodes_answer(s.n, "[:3 :%lld :30000 :30000 $" OTHER ":9:70 :0 :0 :0]", nodes_us(s.n));
  nodes_pass(s.n, 3999);
  assert_string_equal(told(&s), "");
  nodes_pass(s.n, 1);
  hold_tick(s.front, s.n->now);
  assert_string_equal(told(&s), "f");
  assert_int_equal(last_status, DIBS_TIMED_OUT);
  end(&s);
}

TEST(the_limit_of_the_call_counts_while_nothing_is_asked_for)
{
  lock_spec w = nodes_wish("");
  struct story s;

  w.give_up_at = instant_add((instant){ SPAN_MS(1000000).ns }, SPAN_MS(1000));
  s = begin_with(w);
  grant(&s, 60);
  assert_string_equal(told(&s), "");
  grant(&s, 70);                          /* and its release is not answered */
  lose(&s);
  assert_string_equal(told(&s), "");
  nodes_pass(s.n, 999);
  hold_tick(s.front, s.n->now);
  assert_string_equal(told(&s), "");
  nodes_pass(s.n, 1);
  hold_tick(s.front, s.n->now);
  assert_string_equal(told(&s), "f");
  assert_int_equal(last_status, DIBS_UNKNOWN);
  end(&s);
}

TEST(a_cancel_leaves_nothing_while_nothing_is_asked_for)
{
  struct story s = lost_while_waiting(nodes_wish(""));

  assert_true(hold_cancel(s.front, s.id, s.n->now));
  assert_string_equal(told(&s), "f");
  assert_int_equal(last_status, DIBS_CANCELLED);
  cancelled_and_released(&s);
  assert_string_equal(nodes_next(s.n, 0), "");
  assert_true(hold_is_quiet(s.front));
  end(&s);
}

TEST(a_close_leaves_nothing_while_nothing_is_asked_for)
{
  struct story s = lost_while_waiting(nodes_wish(""));

  hold_close(s.front, s.n->now);
  assert_string_equal(told(&s), "f");
  assert_int_equal(last_status, DIBS_ERR_CLOSED);
  cancelled_and_released(&s);
  assert_string_equal(nodes_next(s.n, 0), "");
  assert_true(hold_is_quiet(s.front));
  end(&s);
}

TEST(a_try_that_loses_a_part_fails)
{
  lock_spec w = nodes_wish("");
  struct story s;

  w.is_try = true;
  s = begin_with(w);
  grant(&s, 60);
  assert_string_equal(told(&s), "");
  lose(&s);
  grant(&s, 70);                          /* before anybody heard of the loss */
  assert_string_equal(told(&s), "f");
  assert_int_equal(last_status, DIBS_UNKNOWN);
  release(&s);
  release(&s);
  assert_string_equal(told(&s), "");
  assert_int_equal(hold_counts(s.front).holds, 0);
  assert_true(hold_is_quiet(s.front));
  end(&s);
}

TEST(a_part_granted_while_another_is_lost_is_given_back_and_both_are_asked_for_again)
{
  struct story s = begin();

  grant(&s, 60);
  assert_string_equal(told(&s), "");
  lose(&s);
  grant(&s, 70);                          /* before anybody heard of the loss */
  assert_string_equal(told(&s), "");
  release(&s);
  assert_string_equal(told(&s), "");
  release(&s);
  assert_string_equal(told(&s), "");
  grant(&s, 80);
  assert_string_equal(told(&s), "");
  grant(&s, 80);
  assert_string_equal(told(&s), "g");
  finish(&s);
}

TEST(a_grant_that_was_not_told_before_a_part_is_lost_is_none)
{
  struct story s = begin();

  grant(&s, 60);
  assert_string_equal(told(&s), "");
  grant(&s, 60);
  lose(&s);
  assert_string_equal(told(&s), "f");
  assert_int_equal(last_status, DIBS_UNKNOWN);
  end(&s);
}

TEST(a_part_lost_before_it_could_be_raised_is_not_held)
{
  struct story s = begin();

  grant(&s, 60);
  assert_string_equal(told(&s), "");
  grant(&s, 70);
  lose(&s);
  assert_string_equal(told(&s), "");
  release(&s);
  assert_string_equal(told(&s), "");
  release(&s);
  assert_string_equal(told(&s), "");
  grant(&s, 80);
  assert_string_equal(told(&s), "");
  grant(&s, 80);
  assert_string_equal(told(&s), "g");
  finish(&s);
}

TEST(a_part_whose_raise_shows_that_it_is_gone_is_asked_for_again)
{
  struct story s = begin();

  grant(&s, 60);
  assert_string_equal(told(&s), "");
  grant(&s, 70);
  assert_string_equal(told(&s), "");
  assert_string_equal(nodes_next(s.n, 0), "raise");
  nodes_answer(s.n, ":0");
  assert_string_equal(told(&s), "");
  release(&s);
  release(&s);
  assert_string_equal(told(&s), "");
  grant(&s, 80);
  assert_string_equal(told(&s), "");
  grant(&s, 80);
  assert_string_equal(told(&s), "g");
  finish(&s);
}

TEST(a_raise_that_the_server_refuses_is_not_tried_without_end)
{
  struct story s = begin();

  grant(&s, 60);
  assert_string_equal(told(&s), "");
  grant(&s, 70);
  assert_string_equal(told(&s), "");
  assert_string_equal(nodes_next(s.n, 0), "raise");
  nodes_answer(s.n, "-NOPERM no");
  assert_string_equal(told(&s), "f");
  assert_true(last_status < 0);
  end(&s);
}

/* x, at node 0, is lost while y, at node 1, is raised to the token that x had. */
TEST(a_part_that_is_being_raised_is_raised_again_when_the_lost_one_has_a_higher_token)
{
  struct story s = begin();
  uint64_t raise;

  nodes_move(s.n, "y", 1);
  assert_string_equal(nodes_next(s.n, 1), "many_acquire");
  nodes_answer(s.n, "[:1 :%lld :30000 :60]", nodes_us(s.n));
  assert_string_equal(told(&s), "");
  grant(&s, 70);
  assert_string_equal(told(&s), "");
  assert_string_equal(nodes_next(s.n, 1), "raise");
  raise = s.n->tag;
  nodes_message(s.n, "lost " SELF ".2:2:70 x");
  assert_string_equal(nodes_next(s.n, 0), "renew");
  nodes_answer(s.n, "[:%lld :-1 :0]", nodes_us(s.n));
  assert_string_equal(told(&s), "");
  release(&s);
  assert_string_equal(told(&s), "");
  grant(&s, 90);
  assert_string_equal(told(&s), "");
  s.n->tag = raise;
  nodes_answer(s.n, ":1");
  assert_string_equal(told(&s), "");
  assert_string_equal(nodes_next(s.n, 1), "raise");
  assert_non_null(strstr(nodes_words(s.n), SELF ".1:1:70 90"));
  nodes_answer(s.n, ":1");
  assert_string_equal(told(&s), "g");
  end(&s);
}

/* ---- the raise ---- */

static void renew(struct story *s, size_t node)
{
  assert_string_equal(nodes_next(s->n, node), "renew");
  nodes_answer(s->n, "[:%lld :0 :30000]", nodes_us(s->n));
}

static struct story begin_raise(void)
{
  struct story s = begin();

  grant(&s, 60);
  assert_string_equal(told(&s), "");
  grant(&s, 70);
  assert_string_equal(told(&s), "");
  assert_string_equal(nodes_next(s.n, 0), "raise");
  return s;
}

static void connect_again(struct story *s)
{
  lock_link_down(s->n->table, 0, DIBS_ERR_UNREACHABLE, "it broke", s->n->now);
  lock_link_up(s->n->table, 0, s->n->now);
  assert_string_equal(told(s), "");
  renew(s, 0);                            /* that of x */
  assert_string_equal(nodes_next(s->n, 0), "raise");
}

TEST(a_raise_without_an_answer_is_asked_again_by_the_next_connection)
{
  struct story s = begin_raise();

  connect_again(&s);
  connect_again(&s);
  nodes_answer(s.n, ":1");
  assert_string_equal(told(&s), "gs");
  renew(&s, 0);
  assert_string_equal(told(&s), "r");
  end(&s);
}

TEST(a_raise_whose_answer_is_none_is_asked_again_by_the_next_connection)
{
  struct story s = begin_raise();

  assert_int_equal(nodes_answer(s.n, "+what"), LOCK_BROKEN);
  connect_again(&s);
  nodes_answer(s.n, ":1");
  assert_string_equal(told(&s), "gs");
  renew(&s, 0);
  assert_string_equal(told(&s), "r");
  end(&s);
}

/* The raise was executed, then the lease was broken; the message comes first. */
TEST(a_part_broken_after_its_raise_is_lost_by_the_renewal_that_follows_the_answer)
{
  struct story s = begin_raise();
  uint64_t raise = s.n->tag;

  nodes_message(s.n, "lost " SELF ".1:1:70 y");
  assert_string_equal(nodes_next(s.n, 0), "");
  s.n->tag = raise;
  nodes_answer(s.n, ":1");
  assert_string_equal(told(&s), "g");
  assert_string_equal(nodes_next(s.n, 0), "renew");
  assert_non_null(strstr(nodes_words(s.n), SELF ".1:1:70"));
  nodes_answer(s.n, "[:%lld :-1 :0]", nodes_us(s.n));
  assert_string_equal(told(&s), "l");
  end(&s);
}

/* The lease was broken, then the raise found none. */
TEST(a_part_broken_before_its_raise_is_not_held)
{
  struct story s = begin_raise();

  nodes_message(s.n, "lost " SELF ".1:1:60 y");
  nodes_answer(s.n, ":0");
  assert_string_equal(told(&s), "");
  release(&s);
  release(&s);
  assert_string_equal(told(&s), "");
  grant(&s, 80);
  assert_string_equal(told(&s), "");
  grant(&s, 80);
  assert_string_equal(told(&s), "g");
  finish(&s);
}

TEST(doubt_about_one_part_is_not_over_by_a_renewal_of_another)
{
  struct story s = begin();

  nodes_move(s.n, "y", 1);
  assert_string_equal(nodes_next(s.n, 1), "many_acquire");
  nodes_answer(s.n, "[:1 :%lld :30000 :60]", nodes_us(s.n));
  assert_string_equal(told(&s), "");
  grant(&s, 60);
  assert_string_equal(told(&s), "g");
  lock_link_down(s.n->table, 1, DIBS_ERR_UNREACHABLE, "it broke", s.n->now);
  assert_string_equal(told(&s), "s");
  nodes_pass(s.n, 12000);
  assert_string_equal(nodes_next(s.n, 0), "renew");
  nodes_answer(s.n, "[:%lld :0 :30000]", nodes_us(s.n));
  assert_string_equal(told(&s), "");
  lock_link_up(s.n->table, 1, s.n->now);
  assert_string_equal(nodes_next(s.n, 1), "renew");
  nodes_answer(s.n, "[:%lld :0 :30000]", nodes_us(s.n));
  assert_string_equal(told(&s), "r");
  end(&s);
}

/* ---- a hold with an end ---- */

/* The first part is at node 0; the other, at node 1, is granted 59 s later. */
static struct story begin_late(lock_spec w)
{
  struct story s = begin_with(w);

  nodes_move(s.n, "x", 1);
  grant(&s, 60);
  for (int i = 0; i < 5; i++) {
    assert_string_equal(told(&s), "");
    nodes_pass(s.n, 11000);
    renew(&s, 0);
  }
  nodes_pass(s.n, 4000);
  assert_string_equal(nodes_next(s.n, 1), "many_acquire");
  nodes_answer(s.n, "[:1 :%lld :30000 :60]", nodes_us(s.n));
  assert_string_equal(told(&s), "g");
  return s;
}

TEST(a_fixed_lease_has_its_whole_length_from_the_grant_on)
{
  lock_spec w = nodes_wish("");
  struct story s;

  w.is_fixed = true;
  s = begin_late(w);
  renew(&s, 0);
  renew(&s, 1);
  nodes_pass(s.n, 29000);
  assert_string_equal(told(&s), "r");
  assert_string_equal(nodes_next(s.n, 0), "");
  assert_string_equal(nodes_next(s.n, 1), "");
  nodes_pass(s.n, 1000);
  assert_string_equal(told(&s), "l");
  end(&s);
}

TEST(the_longest_hold_is_counted_from_the_grant_on)
{
  lock_spec w = nodes_wish("");
  struct story s;

  w.max_hold = SPAN_MS(40000);
  s = begin_late(w);
  for (int i = 0; i < 3; i++) {
    nodes_pass(s.n, 12000);
    renew(&s, 0);
    renew(&s, 1);
    assert_string_equal(told(&s), "r");
  }
  nodes_pass(s.n, 3900);
  assert_string_equal(told(&s), "");
  nodes_pass(s.n, 100);
  assert_string_equal(told(&s), "l");
  end(&s);
}

TEST(the_end_that_is_told_with_the_grant_is_that_of_max_hold)
{
  lock_spec w = nodes_wish("");
  struct story s;

  w.max_hold = SPAN_MS(10000);
  s = begin_with(w);
  grant(&s, 60);
  assert_string_equal(told(&s), "");
  grant(&s, 60);
  assert_string_equal(told(&s), "g");
  assert_int_equal(instant_since(told_end, s.n->now).ns, SPAN_MS(10000).ns);
  end(&s);
}

/* ---- the loss of one part ---- */

/* y, at node 1, is not renewed; x is held for a second longer. Until 4 ms before the end of y. */
static struct story lost_by_its_deadline(void)
{
  struct story s = begin();

  nodes_move(s.n, "y", 1);
  assert_string_equal(nodes_next(s.n, 1), "many_acquire");
  nodes_answer(s.n, "[:1 :%lld :30000 :60]", nodes_us(s.n));
  assert_string_equal(told(&s), "");
  nodes_pass(s.n, 1000);
  grant(&s, 60);
  assert_string_equal(told(&s), "g");
  nodes_pass(s.n, span_to_ms(instant_since(told_end, s.n->now)) - 4);
  assert_string_equal(told(&s), "l");
  return s;
}

static bool sends_release(struct story *s, size_t node)
{
  const char *sent;
  bool is_sent = false;

  while (*(sent = nodes_next(s->n, node)) != '\0')
    is_sent |= strcmp(sent, "many_release") == 0;
  return is_sent;
}

/* The loss is reported a little early: the program may work on until the end that it knows. */
TEST(no_name_is_given_back_before_the_end_that_was_told)
{
  struct story s = lost_by_its_deadline();

  assert_false(sends_release(&s, 0));
  assert_false(sends_release(&s, 1));
  nodes_pass(s.n, 4);
  hold_tick(s.front, s.n->now);
  assert_string_equal(told(&s), "");
  assert_true(sends_release(&s, 0));
  assert_true(sends_release(&s, 1));
  end(&s);
}

TEST(a_close_gives_all_back_at_once_after_a_loss)
{
  struct story s = lost_by_its_deadline();

  hold_close(s.front, s.n->now);
  assert_string_equal(told(&s), "e");
  assert_true(sends_release(&s, 0));
  assert_true(sends_release(&s, 1));
  end(&s);
}

TEST(a_cancel_while_parts_are_raised_gives_all_back)
{
  struct story s = begin();

  grant(&s, 60);
  assert_string_equal(told(&s), "");
  grant(&s, 70);
  assert_string_equal(told(&s), "");
  assert_string_equal(nodes_next(s.n, 0), "raise");
  assert_true(hold_fail(s.front, s.id, DIBS_CANCELLED, "cancelled", s.n->now));
  nodes_answer(s.n, ":1");
  release(&s);
  release(&s);
  assert_string_equal(told(&s), "f");
  assert_true(hold_is_quiet(s.front));
  end(&s);
}

TEST(a_raise_without_an_answer_ends_at_the_limit_of_the_call)
{
  lock_spec w = nodes_wish("");
  struct story s;

  w.give_up_at = instant_add((instant){ SPAN_MS(1000000).ns }, SPAN_MS(4000));
  s = begin_with(w);
  nodes_pass(s.n, 3000);
  grant(&s, 60);
  assert_string_equal(told(&s), "");
  grant(&s, 70);
  assert_string_equal(told(&s), "");
  assert_string_equal(nodes_next(s.n, 0), "raise");
  nodes_pass(s.n, 999);
  hold_tick(s.front, s.n->now);
  assert_string_equal(told(&s), "");
  assert_int_equal(instant_since(hold_deadline(s.front), s.n->now).ns, SPAN_MS(1).ns);
  nodes_pass(s.n, 1);
  hold_tick(s.front, s.n->now);
  assert_string_equal(told(&s), "f");
  assert_int_equal(last_status, DIBS_UNKNOWN);
  end(&s);
}

/* As a process that was stopped: the limit and the ends of all leases are past at once. */
TEST(a_limit_that_passes_together_with_the_leases_gives_nothing_back_as_valid)
{
  lock_spec w = nodes_wish("");
  struct story s;

  w.give_up_at = instant_add((instant){ SPAN_MS(1000000).ns }, SPAN_MS(4000));
  s = begin_with(w);
  grant(&s, 60);
  assert_string_equal(told(&s), "");
  grant(&s, 70);
  assert_string_equal(told(&s), "");
  assert_string_equal(nodes_next(s.n, 0), "raise");
  s.n->now = instant_add(s.n->now, SPAN_MS(60000));
  hold_tick(s.front, s.n->now);
  assert_string_equal(told(&s), "f");
  assert_int_equal(last_status, DIBS_UNKNOWN);
  end(&s);
}

/* ---- one lease, as a quorum raises it ---- */

/* Whether it was lost, and as broken. */
static bool is_lost_as_broken(struct nodes *n)
{
  lock_event event;

  while (hold_next_event(n->front, &event))
    if (event.kind == LOCK_LOST)
      return event.was_broken;
  return false;
}

static struct nodes *raised_from_60(void)
{
  struct nodes *n = nodes_new();
  uint64_t id = nodes_held(n, "x");

  assert_int_equal(hold_raise(n->front, id, 70, n->now), DIBS_OK);
  assert_string_equal(nodes_next(n, 0), "raise");
  return n;
}

TEST(a_lease_broken_before_its_raise_is_lost_as_broken)
{
  struct nodes *n = raised_from_60();

  nodes_message(n, "lost " SELF ":1:60 x");
  nodes_answer(n, ":0");
  assert_true(is_lost_as_broken(n));
  nodes_free(n);
}

TEST(a_lease_broken_between_its_raise_and_the_answer_is_lost_as_broken)
{
  struct nodes *n = raised_from_60();

  nodes_message(n, "lost " SELF ":1:70 x");
  nodes_answer(n, ":1");
  assert_string_equal(nodes_next(n, 0), "renew");
  nodes_answer(n, "[:%lld :-1 :0]", nodes_us(n));
  assert_true(is_lost_as_broken(n));
  nodes_free(n);
}

/* ---- the notes ---- */

/* Takes all that is sent now; how many commands are `verb`. */
static int count_sent(struct story *s, const char *verb)
{
  const char *sent;
  int count = 0;

  while (*(sent = nodes_next(s->n, 0)) != '\0')
    count += strcmp(sent, verb) == 0;
  return count;
}

TEST(the_notes_of_all_parts_are_set_and_go_with_the_release)
{
  lock_spec w = nodes_wish("");
  struct story s;

  w.note = "for a test";
  s = begin_with(w);
  grant(&s, 60);
  assert_string_equal(told(&s), "");
  grant(&s, 60);
  assert_string_equal(told(&s), "g");
  assert_int_equal(count_sent(&s, "HSET"), 2);
  assert_int_equal(hold_release(s.front, s.id, s.n->now), DIBS_OK);
  assert_int_equal(count_sent(&s, "HDEL"), 2);
  end(&s);
}

RUN_TESTS(NULL, NULL)

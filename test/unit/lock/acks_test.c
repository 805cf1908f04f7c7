/* SPDX-License-Identifier: MIT */
/* lock/acks.c: a grant that counts only once replicas know of it, while leases end, slots
 * move, connections break and those who asked go away. */
#include "tests.h"
#include "nodes.h"

static lock_spec wants(int32_t replicas)
{
  lock_spec w = nodes_wish("x");

  w.min_replicas = replicas;
  return w;
}

/* Granted by the server; the replicas are asked next. */
static struct nodes *granted(const lock_spec *w)
{
  struct nodes *l = nodes_new();

  nodes_lock_with(l, w);
  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_answer(l, "[:1 :%lld :30000 :60]", nodes_us(l));
  assert_string_equal(nodes_events(l), "");
  return l;
}

static void renew(struct nodes *l, size_t node)
{
  assert_string_equal(nodes_next_ack(l, node), "renew");
  nodes_answer(l, "[:%lld :0 :30000]", nodes_us(l));
}

TEST(who_wants_replicas_is_granted_when_they_have_acknowledged)
{
  lock_spec w = wants(2);
  struct nodes *l = granted(&w);

  renew(l, 0);
  assert_string_equal(nodes_next_ack(l, 0), "WAIT");
  assert_string_equal(nodes_events(l), "");
  nodes_answer(l, ":2");
  assert_string_equal(nodes_events(l), "g");
  nodes_free(l);
}

TEST(too_few_are_a_fault_and_the_lease_is_given_back)
{
  lock_spec w = wants(2);
  struct nodes *l = granted(&w);

  renew(l, 0);
  assert_string_equal(nodes_next_ack(l, 0), "WAIT");
  nodes_pass(l, 1000);
  nodes_answer(l, ":1");
  assert_string_equal(nodes_events(l), "f");
  assert_int_equal(nodes_status(l), DIBS_ERR_NOT_REPLICATED);
  assert_non_null(strstr(nodes_reason(l), "1 of 2 replicas acknowledged the lock in time"));
  assert_string_equal(nodes_next(l, 0), "release");
  nodes_free(l);
}

/* Asking again does not help who may not ask. */
TEST(what_the_server_says_instead_of_their_number_is_reported)
{
  static const char *const refused[] = { "renew", "WAIT", "ROLE" };

  for (size_t i = 0; i < 3; i++) {
    lock_spec w = wants(i == 2 ? -1 : 1);
    struct nodes *l = granted(&w);

    if (i > 0)
      renew(l, 0);
    assert_string_equal(nodes_next_ack(l, 0), refused[i]);
    nodes_answer(l, "-NOPERM User u has no permissions to run the '%s' command", refused[i]);
    assert_string_equal(nodes_events(l), "f");
    assert_int_equal(nodes_status(l), DIBS_ERR_DENIED);
    assert_non_null(strstr(nodes_reason(l), "NOPERM User u has no permissions"));
    assert_non_null(strstr(nodes_reason(l), refused[i]));
    assert_string_equal(nodes_next(l, 0), "release");
    nodes_free(l);
  }
}

TEST(a_server_that_cannot_count_its_replicas_does_not_end_the_tries)
{
  lock_spec w = wants(1);
  struct nodes *l = granted(&w);

  renew(l, 0);
  assert_string_equal(nodes_next_ack(l, 0), "WAIT");
  nodes_answer(l, "-ERR WAIT cannot be used with replica instances");
  assert_string_equal(nodes_events(l), "f");
  assert_int_equal(nodes_status(l), DIBS_ERR_NOT_REPLICATED);
  assert_non_null(strstr(nodes_reason(l), "WAIT cannot be used with replica instances"));
  nodes_free(l);
}

TEST(a_majority_of_no_replicas_or_of_an_unknown_number_is_a_fault_that_says_so)
{
  static const char *const replies[] = { "[$master :5 *0]", ":1" };
  static const char *const why[] = { "has no replicas", "has not said how many replicas it has" };

  for (size_t i = 0; i < 2; i++) {
    lock_spec w = wants(-1);
    struct nodes *l = granted(&w);

    renew(l, 0);
    assert_string_equal(nodes_next_ack(l, 0), "ROLE");
    nodes_answer(l, "%s", replies[i]);
    assert_string_equal(nodes_events(l), "f");
    assert_int_equal(nodes_status(l), DIBS_ERR_NOT_REPLICATED);
    assert_non_null(strstr(nodes_reason(l), why[i]));
    nodes_free(l);
  }
}

/* WAIT counts what was written on its own connection. */
TEST(a_link_that_breaks_before_wait_is_answered_renews_once_more)
{
  lock_spec w = wants(1);
  struct nodes *l = granted(&w);
  uint64_t old;

  renew(l, 0);
  assert_string_equal(nodes_next_ack(l, 0), "WAIT");
  old = l->tag;
  lock_acks_down(l->table, 0, l->now);
  assert_string_equal(nodes_next_ack(l, 0), "renew");
  l->tag = old;
  nodes_answer(l, ":1");
  assert_string_equal(nodes_events(l), "");
  nodes_free(l);
}

static struct nodes *one_more(struct nodes *l, const char *name, int32_t replicas)
{
  lock_spec w = wants(replicas);

  w.name = name;
  nodes_lock_with(l, &w);
  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_answer(l, "[:1 :%lld :30000 :61]", nodes_us(l));
  return l;
}

static void wait_is(struct nodes *l, const char *words)
{
  assert_string_equal(nodes_next_ack(l, 0), "WAIT");
  assert_string_equal(nodes_words(l), words);
}

/* Nothing else can be sent on the link meanwhile. */
TEST(a_wait_in_vain_blocks_the_link_for_50_ms_at_most)
{
  lock_spec w = wants(2);
  struct nodes *l = granted(&w);

  renew(l, 0);
  wait_is(l, "WAIT 2 10 ");
  nodes_pass(l, 10);
  nodes_answer(l, ":1");
  wait_is(l, "WAIT 2 20 ");
  nodes_answer(l, ":1");
  wait_is(l, "WAIT 2 40 ");
  nodes_answer(l, ":1");
  wait_is(l, "WAIT 2 50 ");
  nodes_answer(l, ":1");
  wait_is(l, "WAIT 2 50 ");
  nodes_answer(l, ":2");
  assert_string_equal(nodes_events(l), "g");
  nodes_free(l);
}

/* The replica that is missing for "x" has no part in "y". */
TEST(who_wants_fewer_replicas_does_not_wait_for_those_that_others_want)
{
  lock_spec x = wants(2);
  struct nodes *l = granted(&x);
  uint64_t before;

  renew(l, 0);
  wait_is(l, "WAIT 2 10 ");
  before = l->tag;
  (void)one_more(l, "y", 1);
  renew(l, 0);
  assert_string_equal(nodes_next_ack(l, 0), "");         /* one WAIT at a time */
  l->tag = before;
  nodes_answer(l, ":1");
  assert_string_equal(nodes_events(l), "");              /* "y" was renewed after this WAIT */
  wait_is(l, "WAIT 1 20 ");
  nodes_answer(l, ":1");
  assert_string_equal(nodes_events(l), "g");
  wait_is(l, "WAIT 2 20 ");
  before = l->tag;
  (void)one_more(l, "z", 1);
  l->tag = before;
  nodes_answer(l, ":1");
  renew(l, 0);
  wait_is(l, "WAIT 1 10 ");
  nodes_answer(l, ":1");
  wait_is(l, "WAIT 2 10 ");
  nodes_free(l);
}

TEST(one_wait_is_for_all_that_were_renewed_before_it)
{
  lock_spec w = wants(1);
  struct nodes *l = granted(&w);

  (void)one_more(one_more(l, "y", 2), "z", 3);
  for (int i = 0; i < 3; i++)
    renew(l, 0);
  wait_is(l, "WAIT 1 10 ");
  assert_string_equal(nodes_next_ack(l, 0), "");
  nodes_answer(l, ":2");
  assert_string_equal(nodes_events(l), "gg");
  wait_is(l, "WAIT 3 10 ");
  nodes_answer(l, "-NOPERM User u has no permissions to run the 'wait' command");
  assert_string_equal(nodes_events(l), "f");
  nodes_free(l);
}

/* What it was about is gone; the link is free again with its reply only. */
TEST(the_reply_to_a_wait_whose_leases_have_ended_is_for_nobody)
{
  lock_spec w = wants(1);
  struct nodes *l = nodes_new();
  uint64_t first = nodes_lock_with(l, &w), wait;

  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_answer(l, "[:1 :%lld :30000 :60]", nodes_us(l));
  renew(l, 0);
  wait_is(l, "WAIT 1 10 ");
  wait = l->tag;
  assert_true(hold_cancel(l->front, first, l->now));
  assert_string_equal(nodes_events(l), "f");
  assert_string_equal(nodes_next(l, 0), "release");
  (void)one_more(l, "y", 1);
  renew(l, 0);
  assert_string_equal(nodes_next_ack(l, 0), "");
  l->tag = wait;
  nodes_answer(l, ":1");
  assert_string_equal(nodes_events(l), "");
  wait_is(l, "WAIT 1 20 ");
  nodes_answer(l, ":1");
  assert_string_equal(nodes_events(l), "g");
  nodes_free(l);
}

/* Such as through a proxy that closes the connection at WAIT: the name would stay taken. */
TEST(a_link_that_breaks_at_each_wait_does_not_lengthen_it)
{
  lock_spec w = wants(1);
  struct nodes *l = granted(&w);
  int64_t waited = 0;

  for (; strcmp(nodes_events(l), "f") != 0; waited += 500) {
    assert_true(waited < 10000);
    renew(l, 0);
    assert_string_equal(nodes_next_ack(l, 0), "WAIT");
    lock_acks_down(l->table, 0, l->now);
    nodes_pass(l, 500);
  }
  assert_int_equal(nodes_status(l), DIBS_ERR_NOT_REPLICATED);
  assert_in_range(waited, 1000, 3500);                    /* and at most a command_timeout */
  assert_string_equal(nodes_next(l, 0), "release");
  nodes_free(l);
}

/* The claim that was cancelled had less time: it does not count for the next one. */
TEST(who_comes_behind_has_his_own_time_for_replicas_though_the_link_breaks)
{
  lock_spec brief = wants(1), longer = wants(1);
  struct nodes *l = nodes_new();
  uint64_t first;

  longer.replicas_wait = SPAN_MS(10000);
  first = nodes_lock_with(l, &brief);
  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_answer(l, "[:1 :%lld :30000 :60]", nodes_us(l));
  nodes_lock_with(l, &longer);
  renew(l, 0);
  assert_string_equal(nodes_next_ack(l, 0), "WAIT");
  assert_true(hold_cancel(l->front, first, l->now));
  assert_string_equal(nodes_events(l), "f");
  lock_acks_down(l->table, 0, l->now);
  renew(l, 0);
  assert_string_equal(nodes_next_ack(l, 0), "WAIT");
  nodes_pass(l, 1500);
  nodes_answer(l, ":0");
  assert_string_equal(nodes_events(l), "");
  renew(l, 0);
  assert_string_equal(nodes_next_ack(l, 0), "WAIT");
  nodes_pass(l, 5000);
  nodes_answer(l, ":1");
  assert_string_equal(nodes_events(l), "g");
  nodes_free(l);
}

TEST(a_slot_that_moves_meanwhile_is_asked_about_where_it_is)
{
  lock_spec w = wants(1);
  struct nodes *l = granted(&w);

  assert_string_equal(nodes_next_ack(l, 0), "renew");
  assert_int_equal(nodes_answer(l, "-MOVED 16287 h:1"), LOCK_MOVED);
  assert_string_equal(nodes_events(l), "");
  nodes_move(l, "x", 1);
  renew(l, 1);
  assert_string_equal(nodes_next_ack(l, 1), "WAIT");
  nodes_answer(l, ":1");
  assert_string_equal(nodes_events(l), "g");
  nodes_free(l);
}

TEST(a_slot_that_is_on_its_way_is_asked_about_again_and_not_without_pause)
{
  lock_spec w = wants(1);
  struct nodes *l = granted(&w);
  int asked = 0;

  for (int i = 0; i < 1000; i++, nodes_pass(l, 1))
    while (strcmp(nodes_next_ack(l, 0), "renew") == 0) {
      nodes_answer(l, "-ASK 16287 h:1");
      asked++;
    }
  assert_in_range(asked, 10, 60);
  assert_string_equal(nodes_events(l), "");
  nodes_free(l);
}

/* Replicas are waited for; they may take longer than the lease of 1 s. */
static struct nodes *waiting_for_a_second(bool reports)
{
  lock_spec w = wants(1);
  struct nodes *l = nodes_new();

  w.ttl = SPAN_MS(1000);
  w.replicas_wait = SPAN_MS(5000);
  w.reports_replicas = reports;
  nodes_lock_with(l, &w);
  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_answer(l, "[:1 :%lld :1000 :60]", nodes_us(l));
  assert_string_equal(nodes_next_ack(l, 0), "renew");
  nodes_answer(l, "[:%lld :0 :1000]", nodes_us(l));
  assert_string_equal(nodes_next_ack(l, 0), "WAIT");
  return l;
}

/* Each WAIT takes its time, in vain, until there is none. How long in all, in milliseconds. */
static int asked_for(struct nodes *l)
{
  int waited = 0, ms = 0;

  do {
    assert_int_equal(sscanf(nodes_words(l), "WAIT 1 %d", &ms), 1);
    nodes_pass(l, ms);
    waited += ms;
    nodes_answer(l, ":0");
  } while (strcmp(nodes_next_ack(l, 0), "WAIT") == 0);
  return waited;
}

TEST(replicas_are_waited_for_while_a_quarter_of_the_lease_is_left)
{
  struct nodes *l = waiting_for_a_second(true);

  assert_in_range(asked_for(l), 700, 750);               /* less what the clocks may differ */
  assert_string_equal(nodes_events(l), "g");
  nodes_free(l);

  l = waiting_for_a_second(false);
  (void)asked_for(l);
  assert_string_equal(nodes_events(l), "f");
  assert_int_equal(nodes_status(l), DIBS_ERR_NOT_REPLICATED);
  nodes_free(l);
}

TEST(without_a_reply_about_replicas_it_is_granted_while_the_lease_lasts)
{
  struct nodes *l = waiting_for_a_second(true);

  nodes_pass(l, 800);
  assert_string_equal(nodes_events(l), "");
  nodes_pass(l, 100);
  assert_string_equal(nodes_events(l), "g");
  nodes_free(l);
}

/* No timer has run meanwhile. */
TEST(a_lease_that_ended_while_the_process_stood_still_is_not_believed)
{
  struct nodes *l = waiting_for_a_second(true);

  l->now = instant_add(l->now, SPAN_MS(1100));
  nodes_pass(l, 0);
  assert_string_equal(nodes_events(l), "");
  assert_string_equal(nodes_next(l, 0), "release");
  nodes_answer(l, ":1");
  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_answer(l, "[:1 :%lld :1000 :70]", nodes_us(l));
  assert_string_equal(nodes_next_ack(l, 0), "renew");       /* the new one is asked for, too */
  nodes_free(l);
}

TEST(a_lease_broken_meanwhile_is_not_believed)
{
  lock_spec w = wants(1);
  struct nodes *l = granted(&w);

  renew(l, 0);
  assert_string_equal(nodes_next_ack(l, 0), "WAIT");
  nodes_message(l, "lost " SELF ":1:60 x");
  assert_string_equal(nodes_next_ack(l, 0), "renew");
  nodes_answer(l, "[:%lld :-1 :0]", nodes_us(l));
  assert_string_equal(nodes_events(l), "");
  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_free(l);
}

/* The server grants the name again before it answers WAIT: that reply counts replicas of the
 * lease before. */
TEST(the_reply_to_a_wait_is_not_for_the_next_lease_of_its_name)
{
  lock_spec w = wants(1);
  struct nodes *l = nodes_new();
  uint64_t first = nodes_lock_with(l, &w), wait;

  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_answer(l, "[:1 :%lld :30000 :60]", nodes_us(l));
  renew(l, 0);
  wait_is(l, "WAIT 1 10 ");
  wait = l->tag;
  assert_true(hold_cancel(l->front, first, l->now));
  assert_string_equal(nodes_events(l), "f");
  nodes_lock_with(l, &w);
  assert_string_equal(nodes_next(l, 0), "release");
  nodes_answer(l, ":1");
  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_answer(l, "[:1 :%lld :30000 :61]", nodes_us(l));
  l->tag = wait;
  nodes_answer(l, ":1");
  assert_string_equal(nodes_events(l), "");
  renew(l, 0);
  wait_is(l, "WAIT 1 10 ");
  nodes_answer(l, ":1");
  assert_string_equal(nodes_events(l), "g");
  nodes_free(l);
}

/* The reply to WAIT is of the time before the message. */
TEST(a_lease_broken_meanwhile_is_not_granted_by_the_wait_under_way)
{
  lock_spec w = wants(1);
  struct nodes *l = granted(&w);
  uint64_t wait;

  renew(l, 0);
  wait_is(l, "WAIT 1 10 ");
  wait = l->tag;
  nodes_message(l, "lost " SELF ":1:60 x");
  assert_string_equal(nodes_next_ack(l, 0), "renew");
  l->tag = wait;
  nodes_answer(l, ":1");
  assert_string_equal(nodes_events(l), "");
  nodes_free(l);
}

TEST(who_comes_behind_and_wants_more_is_not_served_by_what_was_acknowledged)
{
  lock_spec one = wants(1), three = wants(3), most = wants(-1);
  struct nodes *l = nodes_new();
  uint64_t first, second;

  first = nodes_lock_with(l, &one);
  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_answer(l, "[:1 :%lld :30000 :60]", nodes_us(l));
  second = nodes_lock_with(l, &three);
  nodes_lock_with(l, &most);
  renew(l, 0);
  assert_string_equal(nodes_next_ack(l, 0), "WAIT");
  assert_true(hold_cancel(l->front, first, l->now));
  nodes_answer(l, ":1");
  assert_string_equal(nodes_events(l), "f");              /* the cancelled one */
  renew(l, 0);
  assert_string_equal(nodes_next_ack(l, 0), "WAIT");
  assert_true(hold_cancel(l->front, second, l->now));
  nodes_answer(l, ":1");
  assert_string_equal(nodes_events(l), "f");
  renew(l, 0);
  assert_string_equal(nodes_next_ack(l, 0), "ROLE");
  nodes_free(l);
}

TEST(who_wants_fewer_than_the_one_before_him_is_served_by_those)
{
  lock_spec three = wants(3), one = wants(1);
  struct nodes *l = nodes_new();
  uint64_t first;

  first = nodes_lock_with(l, &three);
  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_answer(l, "[:1 :%lld :30000 :60]", nodes_us(l));
  nodes_lock_with(l, &one);
  renew(l, 0);
  assert_string_equal(nodes_next_ack(l, 0), "WAIT");
  assert_true(hold_cancel(l->front, first, l->now));
  assert_string_equal(nodes_events(l), "f");
  nodes_answer(l, ":2");
  assert_string_equal(nodes_events(l), "g");
  nodes_free(l);
}

TEST(a_nested_hold_that_wants_more_than_its_outer_one_has_is_refused)
{
  lock_spec outer = nodes_wish("x"), inner = wants(1);
  struct nodes *l = nodes_new();

  outer.owner = inner.owner = "me";
  outer.owner_size = inner.owner_size = 2;
  nodes_lock_with(l, &outer);
  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_answer(l, "[:1 :%lld :30000 :60]", nodes_us(l));
  assert_string_equal(nodes_events(l), "g");
  nodes_lock_with(l, &inner);
  assert_string_equal(nodes_events(l), "f");
  assert_int_equal(nodes_status(l), DIBS_ERR_NOT_REPLICATED);
  inner.reports_replicas = true;
  nodes_lock_with(l, &inner);
  assert_string_equal(nodes_events(l), "g");
  nodes_free(l);
}

static lock_spec wants_as_me(int32_t replicas)
{
  lock_spec w = wants(replicas);

  w.owner = "me";
  w.owner_size = 2;
  return w;
}

TEST(a_nested_hold_that_wants_a_majority_of_an_unknown_number_is_refused_for_that)
{
  lock_spec outer = wants_as_me(1), more = wants_as_me(2), most = wants_as_me(-1);
  struct nodes *l = granted(&outer);

  renew(l, 0);
  assert_string_equal(nodes_next_ack(l, 0), "WAIT");
  nodes_answer(l, ":1");
  assert_string_equal(nodes_events(l), "g");
  nodes_lock_with(l, &more);
  assert_string_equal(nodes_events(l), "f");
  assert_non_null(strstr(nodes_reason(l), "acknowledged by fewer replicas"));
  nodes_lock_with(l, &most);
  assert_string_equal(nodes_events(l), "f");
  assert_int_equal(nodes_status(l), DIBS_ERR_NOT_REPLICATED);
  assert_non_null(strstr(nodes_reason(l), "did not ask for a majority"));
  nodes_free(l);
}

/* Behind a hold with a limit: the next lease of the name has none. */
TEST(the_limit_of_the_holder_before_does_not_shorten_what_is_acknowledged)
{
  lock_spec fixed = nodes_wish("x"), w = wants(1);
  struct nodes *l = nodes_new();
  uint64_t id;

  fixed.is_fixed = true;
  id = nodes_lock_with(l, &fixed);
  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_answer(l, "[:1 :%lld :30000 :60]", nodes_us(l));
  assert_string_equal(nodes_events(l), "g");
  nodes_lock_with(l, &w);
  assert_int_equal(hold_release(l->front, id, l->now), DIBS_OK);
  assert_string_equal(nodes_next(l, 0), "release");
  nodes_answer(l, ":1");
  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_answer(l, "[:1 :%lld :30000 :70]", nodes_us(l));
  assert_string_equal(nodes_next_ack(l, 0), "renew");
  assert_non_null(strstr(nodes_words(l), " 30000 "));
  nodes_free(l);
}

TEST(the_next_renewal_is_due_by_the_one_that_was_acknowledged)
{
  lock_spec w = wants(1);
  struct nodes *l;

  w.replicas_wait = SPAN_MS(25000);
  l = granted(&w);
  renew(l, 0);
  assert_string_equal(nodes_next_ack(l, 0), "WAIT");
  nodes_pass(l, 24000);
  nodes_answer(l, ":1");
  assert_string_equal(nodes_events(l), "g");
  nodes_pass(l, 1);
  assert_string_equal(nodes_next(l, 0), "renew");
  nodes_free(l);
}

TEST(who_is_cancelled_while_replicas_are_asked_gives_the_lease_back)
{
  lock_spec w = wants(1);
  struct nodes *l = nodes_new();
  uint64_t id = nodes_lock_with(l, &w);

  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_answer(l, "[:1 :%lld :30000 :60]", nodes_us(l));
  assert_string_equal(nodes_next_ack(l, 0), "renew");
  assert_true(hold_cancel(l->front, id, l->now));
  nodes_answer(l, "[:%lld :0 :30000]", nodes_us(l));
  assert_string_equal(nodes_next_ack(l, 0), "");
  assert_string_equal(nodes_events(l), "f");
  assert_string_equal(nodes_next(l, 0), "release");
  nodes_free(l);
}

RUN_TESTS(NULL, NULL)

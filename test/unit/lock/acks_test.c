/* SPDX-License-Identifier: MIT */
/* lock/acks.c: a grant that counts only once replicas know of it, while leases end, slots
 * move, connections break and those who asked go away. */
#include "nodes.h"

static lock_wish wants(int32_t replicas)
{
  lock_wish w = nodes_wish("x");

  w.min_replicas = replicas;
  return w;
}

/* Granted by the server; the replicas are asked next. */
static struct nodes *granted(const lock_wish *w)
{
  struct nodes *n = nodes_new();

  nodes_lock_with(n, w);
  assert_string_equal(nodes_next(n, 0), "acquire");
  nodes_answer(n, "[:1 :%lld :30000 :60]", nodes_us(n));
  assert_string_equal(nodes_events(n), "");
  return n;
}

static void renew(struct nodes *n, size_t node)
{
  assert_string_equal(nodes_next_ack(n, node), "renew");
  nodes_answer(n, "[:%lld :0 :30000]", nodes_us(n));
}

static void who_wants_replicas_is_granted_when_they_have_acknowledged(void **state)
{
  lock_wish w = wants(2);
  struct nodes *n = granted(&w);

  (void)state;
  renew(n, 0);
  assert_string_equal(nodes_next_ack(n, 0), "WAIT");
  assert_string_equal(nodes_events(n), "");
  nodes_answer(n, ":2");
  assert_string_equal(nodes_events(n), "g");
  nodes_free(n);
}

static void too_few_are_a_fault_and_the_lease_is_given_back(void **state)
{
  lock_wish w = wants(2);
  struct nodes *n = granted(&w);

  (void)state;
  renew(n, 0);
  assert_string_equal(nodes_next_ack(n, 0), "WAIT");
  nodes_pass(n, 1000);
  nodes_answer(n, ":1");
  assert_string_equal(nodes_events(n), "f");
  assert_int_equal(nodes_status(n), DIBS_ERR_NOT_REPLICATED);
  assert_string_equal(nodes_next(n, 0), "release");
  nodes_free(n);
}

/* WAIT counts what was written on its own connection. */
static void a_link_that_breaks_before_wait_is_answered_renews_once_more(void **state)
{
  lock_wish w = wants(1);
  struct nodes *n = granted(&w);
  uint64_t old;

  (void)state;
  renew(n, 0);
  assert_string_equal(nodes_next_ack(n, 0), "WAIT");
  old = n->tag;
  lock_acks_down(n->table, 0, n->now);
  assert_string_equal(nodes_next_ack(n, 0), "renew");
  n->tag = old;
  nodes_answer(n, ":1");
  assert_string_equal(nodes_events(n), "");
  nodes_free(n);
}

static void a_slot_that_moves_meanwhile_is_asked_about_where_it_is(void **state)
{
  lock_wish w = wants(1);
  struct nodes *n = granted(&w);

  (void)state;
  assert_string_equal(nodes_next_ack(n, 0), "renew");
  assert_int_equal(nodes_answer(n, "-MOVED 16287 h:1"), LOCK_MOVED);
  assert_string_equal(nodes_events(n), "");
  nodes_move(n, "x", 1);
  renew(n, 1);
  assert_string_equal(nodes_next_ack(n, 1), "WAIT");
  nodes_answer(n, ":1");
  assert_string_equal(nodes_events(n), "g");
  nodes_free(n);
}

static void a_slot_that_is_on_its_way_is_asked_about_again_and_not_without_pause(void **state)
{
  lock_wish w = wants(1);
  struct nodes *n = granted(&w);
  int asked = 0;

  (void)state;
  for (int i = 0; i < 1000; i++, nodes_pass(n, 1))
    while (strcmp(nodes_next_ack(n, 0), "renew") == 0) {
      nodes_answer(n, "-ASK 16287 h:1");
      asked++;
    }
  assert_in_range(asked, 10, 60);
  assert_string_equal(nodes_events(n), "");
  nodes_free(n);
}

static void a_lease_that_ends_meanwhile_is_not_believed(void **state)
{
  lock_wish w = wants(1);
  struct nodes *n;

  (void)state;
  w.ttl = SPAN_MS(1000);
  w.replicas_wait = SPAN_MS(5000);
  w.reports_replicas = true;
  n = nodes_new();
  nodes_lock_with(n, &w);
  assert_string_equal(nodes_next(n, 0), "acquire");
  nodes_answer(n, "[:1 :%lld :1000 :60]", nodes_us(n));
  assert_string_equal(nodes_next_ack(n, 0), "renew");
  nodes_answer(n, "[:%lld :0 :1000]", nodes_us(n));
  assert_string_equal(nodes_next_ack(n, 0), "WAIT");
  nodes_pass(n, 1100);
  assert_string_equal(nodes_events(n), "");
  assert_string_equal(nodes_next(n, 0), "release");
  nodes_answer(n, ":1");
  assert_string_equal(nodes_next(n, 0), "acquire");
  nodes_answer(n, "[:1 :%lld :1000 :70]", nodes_us(n));
  assert_string_equal(nodes_next_ack(n, 0), "renew");       /* the new one is asked for, too */
  nodes_free(n);
}

static void a_lease_broken_meanwhile_is_not_believed(void **state)
{
  lock_wish w = wants(1);
  struct nodes *n = granted(&w);

  (void)state;
  renew(n, 0);
  assert_string_equal(nodes_next_ack(n, 0), "WAIT");
  nodes_message(n, "lost " SELF ":1:60 x");
  nodes_answer(n, ":1");
  assert_string_equal(nodes_events(n), "");
  assert_string_equal(nodes_next(n, 0), "acquire");
  nodes_free(n);
}

static void who_comes_behind_and_wants_more_is_not_served_by_what_was_acknowledged(void **state)
{
  lock_wish one = wants(1), three = wants(3), most = wants(-1);
  struct nodes *n = nodes_new();
  uint64_t first, second;

  (void)state;
  first = nodes_lock_with(n, &one);
  assert_string_equal(nodes_next(n, 0), "acquire");
  nodes_answer(n, "[:1 :%lld :30000 :60]", nodes_us(n));
  second = nodes_lock_with(n, &three);
  nodes_lock_with(n, &most);
  renew(n, 0);
  assert_string_equal(nodes_next_ack(n, 0), "WAIT");
  assert_true(lock_cancel(n->table, first, n->now));
  nodes_answer(n, ":1");
  assert_string_equal(nodes_events(n), "f");              /* the cancelled one */
  renew(n, 0);
  assert_string_equal(nodes_next_ack(n, 0), "WAIT");
  assert_true(lock_cancel(n->table, second, n->now));
  nodes_answer(n, ":1");
  assert_string_equal(nodes_events(n), "f");
  renew(n, 0);
  assert_string_equal(nodes_next_ack(n, 0), "ROLE");
  nodes_free(n);
}

static void who_wants_fewer_than_the_one_before_him_is_served_by_those(void **state)
{
  lock_wish three = wants(3), one = wants(1);
  struct nodes *n = nodes_new();
  uint64_t first;

  (void)state;
  first = nodes_lock_with(n, &three);
  assert_string_equal(nodes_next(n, 0), "acquire");
  nodes_answer(n, "[:1 :%lld :30000 :60]", nodes_us(n));
  nodes_lock_with(n, &one);
  renew(n, 0);
  assert_string_equal(nodes_next_ack(n, 0), "WAIT");
  assert_true(lock_cancel(n->table, first, n->now));
  assert_string_equal(nodes_events(n), "f");
  nodes_answer(n, ":2");
  assert_string_equal(nodes_events(n), "g");
  nodes_free(n);
}

static void a_nested_hold_that_wants_more_than_its_outer_one_has_is_refused(void **state)
{
  lock_wish outer = nodes_wish("x"), inner = wants(1);
  struct nodes *n = nodes_new();

  (void)state;
  outer.owner = inner.owner = "me";
  outer.owner_size = inner.owner_size = 2;
  nodes_lock_with(n, &outer);
  assert_string_equal(nodes_next(n, 0), "acquire");
  nodes_answer(n, "[:1 :%lld :30000 :60]", nodes_us(n));
  assert_string_equal(nodes_events(n), "g");
  nodes_lock_with(n, &inner);
  assert_string_equal(nodes_events(n), "f");
  assert_int_equal(nodes_status(n), DIBS_ERR_NOT_REPLICATED);
  inner.reports_replicas = true;
  nodes_lock_with(n, &inner);
  assert_string_equal(nodes_events(n), "g");
  nodes_free(n);
}

/* Behind a hold with a limit: the next lease of the name has none. */
static void the_limit_of_the_holder_before_does_not_shorten_what_is_acknowledged(void **state)
{
  lock_wish fixed = nodes_wish("x"), w = wants(1);
  struct nodes *n = nodes_new();
  uint64_t id;

  (void)state;
  fixed.is_fixed = true;
  id = nodes_lock_with(n, &fixed);
  assert_string_equal(nodes_next(n, 0), "acquire");
  nodes_answer(n, "[:1 :%lld :30000 :60]", nodes_us(n));
  assert_string_equal(nodes_events(n), "g");
  nodes_lock_with(n, &w);
  assert_int_equal(lock_release(n->table, id, n->now), DIBS_OK);
  assert_string_equal(nodes_next(n, 0), "release");
  nodes_answer(n, ":1");
  assert_string_equal(nodes_next(n, 0), "acquire");
  nodes_answer(n, "[:1 :%lld :30000 :70]", nodes_us(n));
  assert_string_equal(nodes_next_ack(n, 0), "renew");
  assert_non_null(strstr(nodes_words(n), " 30000 "));
  nodes_free(n);
}

static void the_next_renewal_is_due_by_the_one_that_was_acknowledged(void **state)
{
  lock_wish w = wants(1);
  struct nodes *n;

  (void)state;
  w.replicas_wait = SPAN_MS(25000);
  n = granted(&w);
  renew(n, 0);
  assert_string_equal(nodes_next_ack(n, 0), "WAIT");
  nodes_pass(n, 24000);
  nodes_answer(n, ":1");
  assert_string_equal(nodes_events(n), "g");
  nodes_pass(n, 1);
  assert_string_equal(nodes_next(n, 0), "renew");
  nodes_free(n);
}

static void who_is_cancelled_while_replicas_are_asked_gives_the_lease_back(void **state)
{
  lock_wish w = wants(1);
  struct nodes *n = nodes_new();
  uint64_t id = nodes_lock_with(n, &w);

  (void)state;
  assert_string_equal(nodes_next(n, 0), "acquire");
  nodes_answer(n, "[:1 :%lld :30000 :60]", nodes_us(n));
  assert_string_equal(nodes_next_ack(n, 0), "renew");
  assert_true(lock_cancel(n->table, id, n->now));
  nodes_answer(n, "[:%lld :0 :30000]", nodes_us(n));
  assert_string_equal(nodes_next_ack(n, 0), "");
  assert_string_equal(nodes_events(n), "f");
  assert_string_equal(nodes_next(n, 0), "release");
  nodes_free(n);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(who_wants_replicas_is_granted_when_they_have_acknowledged),
    cmocka_unit_test(too_few_are_a_fault_and_the_lease_is_given_back),
    cmocka_unit_test(a_link_that_breaks_before_wait_is_answered_renews_once_more),
    cmocka_unit_test(a_slot_that_moves_meanwhile_is_asked_about_where_it_is),
    cmocka_unit_test(a_slot_that_is_on_its_way_is_asked_about_again_and_not_without_pause),
    cmocka_unit_test(a_lease_that_ends_meanwhile_is_not_believed),
    cmocka_unit_test(a_lease_broken_meanwhile_is_not_believed),
    cmocka_unit_test(who_comes_behind_and_wants_more_is_not_served_by_what_was_acknowledged),
    cmocka_unit_test(who_wants_fewer_than_the_one_before_him_is_served_by_those),
    cmocka_unit_test(a_nested_hold_that_wants_more_than_its_outer_one_has_is_refused),
    cmocka_unit_test(the_limit_of_the_holder_before_does_not_shorten_what_is_acknowledged),
    cmocka_unit_test(the_next_renewal_is_due_by_the_one_that_was_acknowledged),
    cmocka_unit_test(who_is_cancelled_while_replicas_are_asked_gives_the_lease_back),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}

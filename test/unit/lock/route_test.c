/* SPDX-License-Identifier: MIT */
/* lock/route.c, lock/channel.c: names whose slots move between nodes, and what was under way
 * there. */
#include "nodes.h"

static void *fresh(void) { return nodes_new(); }

/* ---- what was asked at the old node ---- */

static void a_release_that_was_cut_goes_out_at_the_new_node(void **state)
{
  struct nodes *n = fresh();
  uint64_t id = nodes_held(n, "x");

  (void)state;
  assert_int_equal(lock_release(n->table, id, n->now), DIBS_OK);
  assert_string_equal(nodes_next(n, 0), "release");
  nodes_move(n, "x", 1);
  assert_string_equal(nodes_next(n, 0), "");
  assert_string_equal(nodes_next(n, 1), "release");
  nodes_answer(n, ":1");
  assert_string_equal(nodes_events(n), "e");
  assert_int_equal(nodes_status(n), DIBS_OK);
  assert_true(lock_is_quiet(n->table));
  nodes_free(n);
}

static void a_renewal_that_the_old_node_answers_late_is_not_believed(void **state)
{
  struct nodes *n = fresh();
  uint64_t old;

  (void)state;
  nodes_held(n, "x");
  nodes_pass(n, 15000);
  assert_string_equal(nodes_next(n, 0), "renew");
  old = n->tag;
  nodes_move(n, "x", 1);
  assert_string_equal(nodes_next(n, 1), "renew");
  n->tag = old;
  nodes_answer(n, "[:%lld :0 :30000]", nodes_us(n));
  assert_string_equal(nodes_events(n), "");
  nodes_pass(n, 15000);
  assert_non_null(strchr(nodes_events(n), 'l'));
  nodes_free(n);
}

static void a_grant_that_the_old_node_answers_late_is_not_believed(void **state)
{
  struct nodes *n = fresh();
  uint64_t old;

  (void)state;
  nodes_lock(n, "x");
  assert_string_equal(nodes_next(n, 0), "acquire");
  old = n->tag;
  nodes_move(n, "x", 1);
  n->tag = old;
  nodes_answer(n, "[:1 :%lld :30000 :60]", nodes_us(n));
  assert_string_equal(nodes_events(n), "");
  assert_string_equal(nodes_next(n, 1), "acquire");
  nodes_free(n);
}

static void behind_ask_one_command_goes_elsewhere_with_asking(void **state)
{
  struct nodes *n = fresh();

  (void)state;
  nodes_lock(n, "x");
  assert_string_equal(nodes_next(n, 0), "acquire");
  assert_false(n->is_asking);
  assert_int_equal(nodes_answer(n, "-ASK 16287 h:1"), LOCK_ASK);
  lock_ask_at(n->table, lock_redirect(n->table)->slot, 1);
  assert_true(lock_wants_link(n->table, 1));
  assert_string_equal(nodes_next(n, 1), "acquire");
  assert_true(n->is_asking);
  assert_false(lock_wants_link(n->table, 1));
  nodes_answer(n, "[:1 :%lld :30000 :60]", nodes_us(n));
  assert_string_equal(nodes_events(n), "g");
  nodes_pass(n, 12000);
  assert_string_equal(nodes_next(n, 1), "");
  assert_string_equal(nodes_next(n, 0), "renew");
  nodes_free(n);
}

static void two_nodes_that_send_a_name_to_and_fro_are_not_asked_without_pause(void **state)
{
  struct nodes *n = fresh();
  int asked = 0;
  uint16_t at = 0;

  (void)state;
  nodes_lock(n, "x");
  for (int i = 0; i < 1000; i++, nodes_pass(n, 1))
    while (strcmp(nodes_next(n, at), "acquire") == 0) {
      assert_int_equal(nodes_answer(n, "-MOVED 16287 h:1"), LOCK_MOVED);
      at = 1 - at;
      nodes_move(n, "x", at);
      assert_true(++asked < 30);
    }
  assert_in_range(asked, 6, 30);
  nodes_free(n);
}

static void a_name_sent_around_is_followed_at_once_again_behind_each_pause(void **state)
{
  struct nodes *n = fresh();
  uint16_t at = 0;

  (void)state;
  nodes_lock(n, "x");
  for (int i = 0; i < 50; i++) {           /* its slot moves each 10 ms */
    while (strcmp(nodes_next(n, at), "acquire") == 0) {
      nodes_answer(n, "-MOVED 16287 h:1");
      at = 1 - at;
      nodes_move(n, "x", at);
    }
    nodes_pass(n, 10);
  }
  nodes_pass(n, 1000);
  assert_string_equal(nodes_next(n, at), "acquire");
  nodes_answer(n, "-MOVED 16287 h:1");
  at = 1 - at;
  nodes_move(n, "x", at);
  assert_string_equal(nodes_next(n, at), "acquire");
  nodes_answer(n, "[:1 :%lld :30000 :60]", nodes_us(n));
  assert_string_equal(nodes_events(n), "g");
  nodes_free(n);
}

/* ---- those who wait ---- */

static void a_waiter_does_not_fail_because_its_slot_moves_to_a_node_without_a_link(void **state)
{
  struct nodes *n = fresh();

  (void)state;
  lock_link_down(n->table, 1, DIBS_ERR_UNREACHABLE, "never was up", (instant){ 2 });
  nodes_queued(n, "x");
  nodes_pass(n, 20000);
  nodes_move(n, "x", 1);
  nodes_pass(n, 4900);
  assert_string_equal(nodes_events(n), "");
  nodes_pass(n, 200);
  assert_string_equal(nodes_events(n), "f");
  assert_int_equal(nodes_status(n), DIBS_ERR_UNREACHABLE);
  nodes_free(n);
}

static void a_waiter_does_not_fail_because_nobody_serves_its_slot_for_a_moment(void **state)
{
  struct nodes *n = fresh();

  (void)state;
  lock_link_down(n->table, NOBODY, DIBS_ERR_UNREACHABLE, "long ago", (instant){ 2 });
  nodes_queued(n, "x");
  nodes_pass(n, 20000);
  nodes_move(n, "x", NOBODY);
  nodes_pass(n, 1000);
  nodes_move(n, "x", 2);
  assert_string_equal(nodes_events(n), "");
  assert_string_equal(nodes_next(n, 2), "acquire");
  nodes_free(n);
}

static void slots_that_nobody_serves_do_not_lengthen_an_outage(void **state)
{
  struct nodes *n = fresh();

  (void)state;
  nodes_queued(n, "x");
  nodes_pass(n, 20000);
  lock_link_down(n->table, 0, DIBS_ERR_UNREACHABLE, "it died", n->now);
  nodes_pass(n, 3000);
  nodes_move(n, "x", NOBODY);
  nodes_pass(n, 1900);
  assert_string_equal(nodes_events(n), "");
  nodes_pass(n, 200);
  assert_string_equal(nodes_events(n), "f");
  nodes_free(n);
}

/* ---- channels ---- */

static void an_inbox_is_asked_for_again_behind_a_time_when_nobody_served_its_slot(void **state)
{
  struct nodes *n = fresh();

  (void)state;
  nodes_queued(n, "x");
  nodes_move(n, "x", NOBODY);
  nodes_move(n, "x", 1);
  assert_string_equal(nodes_channel(n, 1), "dibs:inbox:{x}:" SELF);
  assert_string_equal(nodes_channel(n, 0), "");
  nodes_free(n);
}

static void an_inbox_that_nobody_wants_any_more_while_nobody_serves_it_is_forgotten(void **state)
{
  struct nodes *n = fresh();
  uint64_t id;

  (void)state;
  id = nodes_queued(n, "x");
  nodes_queued(n, "y");
  nodes_move(n, "x", NOBODY);
  assert_true(lock_cancel(n->table, id, n->now));
  nodes_pass(n, 70000);                   /* the cancel is given up */
  assert_int_equal(lock_get_counts(n->table).names, 1);
  nodes_move(n, "x", 1);
  nodes_move(n, "y", NOBODY);             /* its inbox joins the list where that of x stood */
  nodes_move(n, "y", 1);
  assert_string_equal(nodes_channel(n, 1), "dibs:inbox:{y}:" SELF);
  assert_string_equal(nodes_channel(n, 1), "");
  nodes_free(n);
}

static void names_of_one_tag_share_an_inbox_until_the_last_leaves_it(void **state)
{
  struct nodes *n = fresh();
  uint64_t one, two;

  (void)state;
  one = nodes_queued(n, "{t}1");
  two = nodes_lock(n, "{t}2");
  assert_string_equal(nodes_next(n, 0), "acquire");
  nodes_answer(n, "[:3 :%lld :30000 :30000 $" OTHER ":9:50 :0 :5]", nodes_us(n));
  assert_string_equal(nodes_channel(n, 0), "");
  assert_true(lock_cancel(n->table, one, n->now));
  assert_string_equal(nodes_next(n, 0), "cancel");
  nodes_answer(n, ":0");
  assert_string_equal(nodes_channel(n, 0), "");
  assert_true(lock_cancel(n->table, two, n->now));
  assert_string_equal(nodes_next(n, 0), "cancel");
  nodes_answer(n, ":0");
  assert_string_equal(nodes_channel(n, 0), "-dibs:inbox:{t}:" SELF);
  nodes_free(n);
}

/* ---- leases that nobody asked for ---- */

static void a_lease_to_be_given_back_waits_until_somebody_serves_its_slot(void **state)
{
  struct nodes *n = fresh();

  (void)state;
  nodes_move(n, "x", NOBODY);
  nodes_message(n, "want " SELF ":7:50 x");
  for (size_t i = 0; i < NODES; i++)
    assert_string_equal(nodes_next(n, i), "");
  nodes_move(n, "x", 2);
  assert_string_equal(nodes_next(n, 2), "release");
  nodes_free(n);
}

static void a_lease_is_given_back_at_the_node_that_has_it_by_now(void **state)
{
  struct nodes *n = fresh();

  (void)state;
  nodes_message(n, "want " SELF ":7:50 x");
  assert_string_equal(nodes_next(n, 0), "release");
  assert_int_equal(nodes_answer(n, "-MOVED 16287 h:1"), LOCK_MOVED);
  nodes_move(n, "x", 1);
  assert_string_equal(nodes_next(n, 0), "");
  assert_string_equal(nodes_next(n, 1), "release");
  assert_int_equal(nodes_answer(n, "-ASK 16287 h:1"), LOCK_ASK);
  lock_ask_at(n->table, lock_redirect(n->table)->slot, 2);
  assert_string_equal(nodes_next(n, 1), "");
  assert_string_equal(nodes_next(n, 2), "release");
  assert_true(n->is_asking);
  nodes_answer(n, ":1");
  for (size_t i = 0; i < NODES; i++)
    assert_string_equal(nodes_next(n, i), "");
  assert_true(lock_is_quiet(n->table));
  nodes_free(n);
}

static void a_lease_is_given_back_again_behind_a_connection_that_broke(void **state)
{
  struct nodes *n = fresh();

  (void)state;
  nodes_message(n, "want " SELF ":7:50 x");
  assert_string_equal(nodes_next(n, 0), "release");
  lock_link_down(n->table, 0, DIBS_ERR_UNREACHABLE, "it broke", n->now);
  assert_true(lock_wants_link(n->table, 0));
  lock_link_up(n->table, 0, n->now);
  assert_string_equal(nodes_next(n, 0), "release");
  nodes_free(n);
}

/* ---- refusals ---- */

static void a_raise_that_was_not_sent_is_sent_later(void **state)
{
  struct nodes *n = fresh();
  uint64_t id = nodes_held(n, "x");

  (void)state;
  assert_int_equal(lock_raise(n->table, id, 90, n->now), DIBS_OK);
  assert_string_equal(nodes_next(n, 0), "raise");
  lock_unsent(n->table, n->tag, n->now);
  nodes_pass(n, 100);
  assert_string_equal(nodes_next(n, 0), "raise");
  nodes_free(n);
}

static void a_name_that_is_idle_is_forgotten_though_slots_change_before(void **state)
{
  struct nodes *n = fresh();
  uint64_t id;

  (void)state;
  lock_link_down(n->table, 0, DIBS_ERR_UNREACHABLE, "it died", n->now);
  id = nodes_lock(n, "x");
  assert_true(lock_cancel(n->table, id, n->now));
  nodes_move(n, "y", 1);
  nodes_pass(n, 1);
  assert_int_equal(lock_get_counts(n->table).names, 0);
  nodes_free(n);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_release_that_was_cut_goes_out_at_the_new_node),
    cmocka_unit_test(a_renewal_that_the_old_node_answers_late_is_not_believed),
    cmocka_unit_test(a_grant_that_the_old_node_answers_late_is_not_believed),
    cmocka_unit_test(behind_ask_one_command_goes_elsewhere_with_asking),
    cmocka_unit_test(two_nodes_that_send_a_name_to_and_fro_are_not_asked_without_pause),
    cmocka_unit_test(a_name_sent_around_is_followed_at_once_again_behind_each_pause),
    cmocka_unit_test(a_waiter_does_not_fail_because_its_slot_moves_to_a_node_without_a_link),
    cmocka_unit_test(a_waiter_does_not_fail_because_nobody_serves_its_slot_for_a_moment),
    cmocka_unit_test(slots_that_nobody_serves_do_not_lengthen_an_outage),
    cmocka_unit_test(an_inbox_is_asked_for_again_behind_a_time_when_nobody_served_its_slot),
    cmocka_unit_test(an_inbox_that_nobody_wants_any_more_while_nobody_serves_it_is_forgotten),
    cmocka_unit_test(names_of_one_tag_share_an_inbox_until_the_last_leaves_it),
    cmocka_unit_test(a_lease_to_be_given_back_waits_until_somebody_serves_its_slot),
    cmocka_unit_test(a_lease_is_given_back_at_the_node_that_has_it_by_now),
    cmocka_unit_test(a_lease_is_given_back_again_behind_a_connection_that_broke),
    cmocka_unit_test(a_raise_that_was_not_sent_is_sent_later),
    cmocka_unit_test(a_name_that_is_idle_is_forgotten_though_slots_change_before),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}

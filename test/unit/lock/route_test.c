/* SPDX-License-Identifier: MIT */
/* lock/route.c, lock/channel.c: names whose slots move between nodes, and what was under way
 * there. */
#include "tests.h"
#include "nodes.h"

static void *fresh(void) { return nodes_new(); }

/* ---- what was asked at the old node ---- */

TEST(a_release_that_was_cut_goes_out_at_the_new_node)
{
  struct nodes *l = fresh();
  uint64_t id = nodes_held(l, "x");

  assert_int_equal(hold_release(l->front, id, l->now), DIBS_OK);
  assert_string_equal(nodes_next(l, 0), "release");
  nodes_move(l, "x", 1);
  assert_string_equal(nodes_next(l, 0), "");
  assert_string_equal(nodes_next(l, 1), "release");
  nodes_answer(l, ":1");
  assert_string_equal(nodes_events(l), "e");
  assert_int_equal(nodes_status(l), DIBS_OK);
  assert_true(hold_is_quiet(l->front));
  nodes_free(l);
}

TEST(a_renewal_that_the_old_node_answers_late_is_not_believed)
{
  struct nodes *l = fresh();
  uint64_t old;

  nodes_held(l, "x");
  nodes_pass(l, 15000);
  assert_string_equal(nodes_next(l, 0), "renew");
  old = l->tag;
  nodes_move(l, "x", 1);
  assert_string_equal(nodes_next(l, 1), "renew");
  l->tag = old;
  nodes_answer(l, "[:%lld :0 :30000]", nodes_us(l));
  assert_string_equal(nodes_events(l), "");
  nodes_pass(l, 15000);
  assert_non_null(strchr(nodes_events(l), 'l'));
  nodes_free(l);
}

TEST(a_grant_that_the_old_node_answers_late_is_not_believed)
{
  struct nodes *l = fresh();
  uint64_t old;

  nodes_lock(l, "x");
  assert_string_equal(nodes_next(l, 0), "acquire");
  old = l->tag;
  nodes_move(l, "x", 1);
  l->tag = old;
  nodes_answer(l, "[:1 :%lld :30000 :60]", nodes_us(l));
  assert_string_equal(nodes_events(l), "");
  assert_string_equal(nodes_next(l, 1), "acquire");
  nodes_free(l);
}

TEST(behind_ask_one_command_goes_elsewhere_with_asking)
{
  struct nodes *l = fresh();

  nodes_lock(l, "x");
  assert_string_equal(nodes_next(l, 0), "acquire");
  assert_false(l->is_asking);
  assert_int_equal(nodes_answer(l, "-ASK 16287 h:1"), LOCK_ASK);
  lock_ask_at(l->table, lock_redirect(l->table)->slot, 1);
  assert_true(lock_wants_link(l->table, 1));
  assert_string_equal(nodes_next(l, 1), "acquire");
  assert_true(l->is_asking);
  assert_false(lock_wants_link(l->table, 1));
  nodes_answer(l, "[:1 :%lld :30000 :60]", nodes_us(l));
  assert_string_equal(nodes_events(l), "g");
  nodes_pass(l, 12000);
  assert_string_equal(nodes_next(l, 1), "");
  assert_string_equal(nodes_next(l, 0), "renew");
  nodes_free(l);
}

TEST(two_nodes_that_send_a_name_to_and_fro_are_not_asked_without_pause)
{
  struct nodes *l = fresh();
  int asked = 0;
  uint16_t at = 0;

  nodes_lock(l, "x");
  for (int i = 0; i < 1000; i++, nodes_pass(l, 1))
    while (strcmp(nodes_next(l, at), "acquire") == 0) {
      assert_int_equal(nodes_answer(l, "-MOVED 16287 h:1"), LOCK_MOVED);
      at = 1 - at;
      nodes_move(l, "x", at);
      assert_true(++asked < 30);
    }
  assert_in_range(asked, 6, 30);
  nodes_free(l);
}

TEST(a_name_sent_around_is_followed_at_once_again_behind_each_pause)
{
  struct nodes *l = fresh();
  uint16_t at = 0;

  nodes_lock(l, "x");
  for (int i = 0; i < 50; i++) {           /* its slot moves each 10 ms */
    while (strcmp(nodes_next(l, at), "acquire") == 0) {
      nodes_answer(l, "-MOVED 16287 h:1");
      at = 1 - at;
      nodes_move(l, "x", at);
    }
    nodes_pass(l, 10);
  }
  nodes_pass(l, 1000);
  assert_string_equal(nodes_next(l, at), "acquire");
  nodes_answer(l, "-MOVED 16287 h:1");
  at = 1 - at;
  nodes_move(l, "x", at);
  assert_string_equal(nodes_next(l, at), "acquire");
  nodes_answer(l, "[:1 :%lld :30000 :60]", nodes_us(l));
  assert_string_equal(nodes_events(l), "g");
  nodes_free(l);
}

/* ---- those who wait ---- */

TEST(a_waiter_does_not_fail_because_its_slot_moves_to_a_node_without_a_link)
{
  struct nodes *l = fresh();

  lock_link_down(l->table, 1, DIBS_ERR_UNREACHABLE, "never was up", (instant){ 2 });
  nodes_queued(l, "x");
  nodes_pass(l, 20000);
  nodes_move(l, "x", 1);
  nodes_pass(l, 4900);
  assert_string_equal(nodes_events(l), "");
  nodes_pass(l, 200);
  assert_string_equal(nodes_events(l), "f");
  assert_int_equal(nodes_status(l), DIBS_ERR_UNREACHABLE);
  nodes_free(l);
}

TEST(a_waiter_does_not_fail_because_nobody_serves_its_slot_for_a_moment)
{
  struct nodes *l = fresh();

  lock_link_down(l->table, NOBODY, DIBS_ERR_UNREACHABLE, "long ago", (instant){ 2 });
  nodes_queued(l, "x");
  nodes_pass(l, 20000);
  nodes_move(l, "x", NOBODY);
  nodes_pass(l, 1000);
  nodes_move(l, "x", 2);
  assert_string_equal(nodes_events(l), "");
  assert_string_equal(nodes_next(l, 2), "acquire");
  nodes_free(l);
}

TEST(slots_that_nobody_serves_do_not_lengthen_an_outage)
{
  struct nodes *l = fresh();

  nodes_queued(l, "x");
  nodes_pass(l, 20000);
  lock_link_down(l->table, 0, DIBS_ERR_UNREACHABLE, "it died", l->now);
  nodes_pass(l, 3000);
  nodes_move(l, "x", NOBODY);
  nodes_pass(l, 1900);
  assert_string_equal(nodes_events(l), "");
  nodes_pass(l, 200);
  assert_string_equal(nodes_events(l), "f");
  nodes_free(l);
}

/* ---- channels ---- */

TEST(an_inbox_is_asked_for_again_behind_a_time_when_nobody_served_its_slot)
{
  struct nodes *l = fresh();

  nodes_queued(l, "x");
  nodes_move(l, "x", NOBODY);
  nodes_move(l, "x", 1);
  assert_string_equal(nodes_channel(l, 1), "dibs:inbox:{x}:" SELF);
  assert_string_equal(nodes_channel(l, 0), "");
  nodes_free(l);
}

TEST(an_inbox_that_nobody_wants_any_more_while_nobody_serves_it_is_forgotten)
{
  struct nodes *l = fresh();
  uint64_t id;

  id = nodes_queued(l, "x");
  nodes_queued(l, "y");
  nodes_move(l, "x", NOBODY);
  assert_true(hold_cancel(l->front, id, l->now));
  nodes_pass(l, 70000);                   /* the cancel is given up */
  assert_int_equal(hold_counts(l->front).names, 1);
  nodes_move(l, "x", 1);
  nodes_move(l, "y", NOBODY);             /* its inbox joins the list where that of x stood */
  nodes_move(l, "y", 1);
  assert_string_equal(nodes_channel(l, 1), "dibs:inbox:{y}:" SELF);
  assert_string_equal(nodes_channel(l, 1), "");
  nodes_free(l);
}

TEST(names_of_one_tag_share_an_inbox_until_the_last_leaves_it)
{
  struct nodes *l = fresh();
  uint64_t one, two;

  one = nodes_queued(l, "{t}1");
  two = nodes_lock(l, "{t}2");
  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_answer(l, "[:3 :%lld :30000 :30000 $" OTHER ":9:50 :0 :5]", nodes_us(l));
  assert_string_equal(nodes_channel(l, 0), "");
  assert_true(hold_cancel(l->front, one, l->now));
  assert_string_equal(nodes_next(l, 0), "cancel");
  nodes_answer(l, ":0");
  assert_string_equal(nodes_channel(l, 0), "");
  assert_true(hold_cancel(l->front, two, l->now));
  assert_string_equal(nodes_next(l, 0), "cancel");
  nodes_answer(l, ":0");
  assert_string_equal(nodes_channel(l, 0), "-dibs:inbox:{t}:" SELF);
  nodes_free(l);
}

/* A channel that was asked for in the same packet, and is allowed, is confirmed later. */
TEST(a_refusal_of_one_channel_leaves_the_others_asked_for)
{
  static const char refused[] = "dibs:inbox:{x}:" SELF, other[] = "dibs:inbox:{y}:" SELF;
  struct nodes *l = fresh();
  size_t size = strlen(other);

  nodes_queued(l, "x");
  nodes_queued(l, "y");
  nodes_move(l, "x", 1);
  nodes_move(l, "y", 1);
  assert_string_equal(nodes_channel(l, 1), refused);
  assert_string_equal(nodes_channel(l, 1), other);
  lock_channel_refused(l->table, 1, fnv1a(FNV1A_START, refused, size), true, "NOPERM", l->now);
  assert_string_equal(nodes_next(l, 1), "acquire");
  nodes_answer(l, "[:3 :%lld :30000 :30000 $" OTHER ":9:50 :0 :5]", nodes_us(l));
  assert_string_equal(nodes_next(l, 1), "acquire");
  nodes_answer(l, "[:3 :%lld :30000 :30000 $" OTHER ":9:51 :0 :5]", nodes_us(l));
  lock_channel_up(l->table, 1, other, size, l->now);
  assert_string_equal(nodes_next(l, 1), "acquire");          /* what it had not heard before */
  assert_non_null(strstr(nodes_words(l), " y "));
  nodes_free(l);
}

static void refuse_for(struct nodes *l, size_t node, int64_t ms)
{
  for (int64_t at = 0; at < ms; at += 10) {
    nodes_pass(l, 10);
    if (strcmp(nodes_next(l, node), "acquire") == 0)
      nodes_answer(l, "-NOREPLICAS Not enough good replicas to write.");
  }
}

/* Queued, and its slot moved: the new node does not count its subscription, which is confirmed
 * behind the request, or before it. */
static struct nodes *not_counted(bool is_before)
{
  struct nodes *l = fresh();

  nodes_queued(l, "x");
  nodes_move(l, "x", 1);
  if (is_before)
    nodes_subscribe(l, 1);
  nodes_pass(l, 1);
  assert_string_equal(nodes_next(l, 1), "acquire");
  nodes_pass(l, 1);
  if (!is_before)
    nodes_subscribe(l, 1);
  nodes_answer(l, "[:6 :%lld]", nodes_us(l));
  return l;
}

TEST(a_node_that_could_not_yet_count_the_subscription_is_no_proxy)
{
  for (int is_before = 0; is_before < 2; is_before++) {
    struct nodes *l = not_counted(is_before != 0);
    const char *why = "";

    nodes_pass(l, 3000);
    (void)nodes_next(l, 1);
    nodes_pass(l, 3000);
    (void)lock_polls(l->table, 1, false, l->now, &why);
    assert_int_equal(strstr(why, "proxy") != NULL, is_before);
    nodes_free(l);
  }
}

TEST(a_node_that_refuses_then_is_not_polled)
{
  struct nodes *l = not_counted(false);
  const char *why;

  refuse_for(l, 1, 5000);
  assert_false(lock_polls(l->table, 1, false, l->now, &why));
  nodes_free(l);
}

/* ---- leases that nobody asked for ---- */

TEST(a_lease_to_be_given_back_waits_until_somebody_serves_its_slot)
{
  struct nodes *l = fresh();

  nodes_move(l, "x", NOBODY);
  nodes_message(l, "want " SELF ":7:50 x");
  for (size_t i = 0; i < NODES; i++)
    assert_string_equal(nodes_next(l, i), "");
  nodes_move(l, "x", 2);
  assert_string_equal(nodes_next(l, 2), "release");
  nodes_free(l);
}

TEST(a_lease_is_given_back_at_the_node_that_has_it_by_now)
{
  struct nodes *l = fresh();

  nodes_message(l, "want " SELF ":7:50 x");
  assert_string_equal(nodes_next(l, 0), "release");
  assert_int_equal(nodes_answer(l, "-MOVED 16287 h:1"), LOCK_MOVED);
  nodes_move(l, "x", 1);
  assert_string_equal(nodes_next(l, 0), "");
  assert_string_equal(nodes_next(l, 1), "release");
  assert_int_equal(nodes_answer(l, "-ASK 16287 h:1"), LOCK_ASK);
  lock_ask_at(l->table, lock_redirect(l->table)->slot, 2);
  assert_string_equal(nodes_next(l, 1), "");
  assert_string_equal(nodes_next(l, 2), "release");
  assert_true(l->is_asking);
  nodes_answer(l, ":1");
  for (size_t i = 0; i < NODES; i++)
    assert_string_equal(nodes_next(l, i), "");
  assert_true(hold_is_quiet(l->front));
  nodes_free(l);
}

TEST(a_lease_is_given_back_again_behind_a_connection_that_broke)
{
  struct nodes *l = fresh();

  nodes_message(l, "want " SELF ":7:50 x");
  assert_string_equal(nodes_next(l, 0), "release");
  lock_link_down(l->table, 0, DIBS_ERR_UNREACHABLE, "it broke", l->now);
  assert_true(lock_wants_link(l->table, 0));
  lock_link_up(l->table, 0, l->now);
  assert_string_equal(nodes_next(l, 0), "release");
  nodes_free(l);
}

/* ---- refusals ---- */

TEST(a_raise_that_was_not_sent_is_sent_later)
{
  struct nodes *l = fresh();
  uint64_t id = nodes_held(l, "x");

  assert_int_equal(hold_raise(l->front, id, 90, l->now), DIBS_OK);
  assert_string_equal(nodes_next(l, 0), "raise");
  lock_unsent(l->table, l->tag, l->now);
  nodes_pass(l, 100);
  assert_string_equal(nodes_next(l, 0), "raise");
  nodes_free(l);
}

static const char *why(struct nodes *l, uint64_t id)
{
  static char words[256];
  text shown = text_over(words, sizeof(words));

  words[0] = '\0';
  hold_add_why(l->front, id, "", &shown);
  return words;
}

TEST(a_raise_that_is_done_ends_the_reason)
{
  struct nodes *l = fresh();
  uint64_t id = nodes_held(l, "x");

  assert_int_equal(hold_raise(l->front, id, 90, l->now), DIBS_OK);
  assert_string_equal(nodes_next(l, 0), "raise");
  nodes_answer(l, "-NOREPLICAS Not enough good replicas to write.");
  assert_non_null(strstr(why(l, id), "NOREPLICAS"));
  nodes_pass(l, 1000);
  assert_string_equal(nodes_next(l, 0), "raise");
  nodes_answer(l, ":1");
  assert_string_equal(nodes_events(l), "R");
  assert_string_equal(why(l, id), "");
  nodes_free(l);
}

/* Until the raise is done, no renewal could be refused. */
TEST(what_refused_a_raise_is_the_reason_of_the_loss)
{
  struct nodes *l = fresh();
  uint64_t id = nodes_held(l, "x");
  bool is_lost = false;

  assert_int_equal(hold_raise(l->front, id, 90, l->now), DIBS_OK);
  for (int i = 0; i < 400 && !is_lost; i++) {
    const char *command = nodes_next(l, 0);

    if (*command != 0) {
      assert_string_equal(command, "raise");
      nodes_answer(l, "-NOREPLICAS Not enough good replicas to write.");
    }
    nodes_pass(l, 100);
    is_lost = strchr(nodes_events(l), 'l') != NULL;
  }
  assert_true(is_lost);
  assert_non_null(strstr(nodes_reason(l), "not renewed in time; "));
  assert_non_null(strstr(nodes_reason(l), "NOREPLICAS"));
  nodes_free(l);
}

TEST(a_name_that_is_idle_is_forgotten_though_slots_change_before)
{
  struct nodes *l = fresh();
  uint64_t id;

  lock_link_down(l->table, 0, DIBS_ERR_UNREACHABLE, "it died", l->now);
  id = nodes_lock(l, "x");
  assert_true(hold_cancel(l->front, id, l->now));
  nodes_move(l, "y", 1);
  nodes_pass(l, 1);
  assert_int_equal(hold_counts(l->front).names, 0);
  nodes_free(l);
}

RUN_TESTS(NULL, NULL)

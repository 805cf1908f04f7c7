/* SPDX-License-Identifier: MIT */
/* Stories of observations: a question, repeated whenever its answer may have changed. An
 * observer that could not listen for a while asks when it is subscribed again. */
#include "tests.h"

#include <stdio.h>

#include "peer.h"

#define THING "thing:{n}"

/* "a" observes, the first answer is `first`, both connections are up. */
static struct peer *observing_by(struct peer *p, struct watch w, const char *first)
{
  peer_observe(p, "a", w);
  peer_connect(p, 0);
  peer_serve(p, "inspect", "%s", first);
  peer_expect_told(p, "observed a 3");
  peer_connect(p, 1);
  peer_expect(p, "inspect");           /* the subscription stands */
  peer_answer(p, "3");
  peer_expect_told(p, "observed a 3");
  peer_expect_nothing(p);
  assert_int_equal(peer_channels(p), 1);
  return p;
}

static struct peer *observing(struct watch w, const char *first)
{
  return observing_by(peer_new(), w, first);
}

static struct peer *impatient(struct watch w, const char *first)
{
  engine_settings s = peer_settings();

  s.patience = PATIENCE_NEVER;
  return observing_by(peer_new_with(&s), w, first);
}

static void asked(struct peer *p, const char *answer, const char *told)
{
  peer_serve(p, "inspect", "%s", answer);
  peer_expect_told(p, told);
}

TEST(it_asks_at_once_when_it_hears_when_told_and_after_a_while)
{
  struct peer *p = observing((struct watch){ .every_ms = 3000 }, "3");

  peer_speak(p, THING, "0");
  asked(p, "2", "observed a 2");
  peer_expect_nothing(p);
  peer_advance_ms(p, 2699);
  peer_expect_nothing(p);
  peer_advance_ms(p, 301);
  asked(p, "0", "observed a 0");
  peer_expect_told_nothing(p);
  peer_free(p);
}

TEST(what_other_channels_say_is_no_hint)
{
  struct peer *p = observing((struct watch){ 0 }, "3");

  peer_speak(p, "thing:{m}", "0");
  peer_message(p, "0");
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(a_message_that_nobody_heard_is_made_up_for_by_the_subscription)
{
  struct peer *p = observing((struct watch){ 0 }, "3");

  peer_break(p, 1);
  peer_speak(p, THING, "0");           /* to nobody */
  peer_expect_nothing(p);
  assert_true(peer_wants(p, 1));
  peer_connect(p, 1);
  asked(p, "0", "observed a 0");
  peer_free(p);
}

TEST(a_subscription_confirmed_late_asks_when_it_is)
{
  struct peer *p = peer_new();

  peer_hold_channels(p);
  peer_observe(p, "a", (struct watch){ .every_ms = 60000 });
  peer_connect(p, 0);
  peer_connect(p, 1);
  asked(p, "1", "observed a 1");
  peer_advance_ms(p, 1500);
  peer_expect_nothing(p);
  peer_subscribed(p);
  asked(p, "0", "observed a 0");
  peer_free(p);
}

TEST(messages_while_a_question_is_under_way_make_one_more_after_it)
{
  struct peer *p = observing((struct watch){ 0 }, "3");

  peer_speak(p, THING, "0");
  peer_expect(p, "inspect");
  peer_speak(p, THING, "0");
  peer_speak(p, THING, "0");
  peer_expect_nothing(p);
  peer_answer(p, "2");
  peer_expect_told(p, "observed a 2");
  asked(p, "0", "observed a 0");
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(a_lost_answer_is_asked_for_again)
{
  struct peer *p = observing((struct watch){ 0 }, "3");

  peer_speak(p, THING, "0");
  peer_expect(p, "inspect");
  peer_break(p, 0);
  peer_expect_told_nothing(p);
  peer_connect(p, 0);
  asked(p, "0", "observed a 0");
  peer_free(p);
}

TEST(a_server_that_forgot_the_script_gets_its_text_once)
{
  struct peer *p = observing((struct watch){ 0 }, "3");

  peer_speak(p, THING, "0");
  peer_serve(p, "inspect", "-NOSCRIPT No matching script.");
  peer_serve(p, "text:inspect", "2");
  peer_expect_told(p, "observed a 2");
  peer_speak(p, THING, "0");
  asked(p, "1", "observed a 1");       /* by its digest again */
  peer_free(p);
}

TEST(a_loading_server_is_asked_again_soon)
{
  struct peer *p = observing((struct watch){ 0 }, "3");

  peer_speak(p, THING, "0");
  peer_serve(p, "inspect", "-LOADING Redis is loading");
  peer_expect_nothing(p);
  peer_advance_ms(p, 20);
  asked(p, "0", "observed a 0");
  peer_free(p);
}

TEST(a_server_that_loads_for_ever_is_unreachable_after_the_connect_timeout)
{
  struct peer *p = impatient((struct watch){ 0 }, "3");

  peer_speak(p, THING, "0");
  for (int ms = 0; ms < 4900; ms += 20) {
    peer_advance_ms(p, 20);
    peer_expect_told_nothing(p);
    while (peer_try_expect(p, "inspect"))
      peer_answer(p, "-LOADING Redis is loading");
  }
  peer_advance_ms(p, 200);
  peer_expect_told(p, "over a DIBS_ERR_UNREACHABLE");
  peer_free(p);
}

TEST(an_answer_begins_the_connect_timeout_anew)
{
  struct peer *p = observing((struct watch){ 0 }, "3");

  for (int round = 0; round < 2; round++) {
    peer_speak(p, THING, "0");
    for (int ms = 0; ms < 3000; ms += 20) {
      peer_advance_ms(p, 20);
      while (peer_try_expect(p, "inspect"))
        peer_answer(p, "-LOADING Redis is loading");
    }
    peer_advance_to_command(p);
    asked(p, "3", "observed a 3");
  }
  peer_expect_told_nothing(p);
  peer_free(p);
}

static void refuse_credentials(struct peer *p)
{
  peer_break_why(p, 0, DIBS_ERR_AUTH, "WRONGPASS");
  peer_advance_ms(p, 1);
}

TEST(wrong_credentials_end_it_but_not_a_patient_one_that_knew_better)
{
  struct peer *p = observing((struct watch){ 0 }, "3");

  peer_observe(p, "b", (struct watch){ .is_patient = true });
  asked(p, "3", "observed b 3");
  refuse_credentials(p);
  peer_expect_told(p, "cut_off b DIBS_ERR_AUTH");
  peer_expect_told(p, "over a DIBS_ERR_AUTH");
  peer_expect_warning(p, "WRONGPASS");
  peer_observe(p, "c", (struct watch){ .is_patient = true });
  refuse_credentials(p);
  peer_expect_told(p, "over c DIBS_ERR_AUTH");
  peer_advance_ms(p, 60000);
  peer_expect_told_nothing(p);
  peer_connect(p, 0);
  asked(p, "2", "observed b 2");
  peer_free(p);
}

TEST(an_error_that_lasts_ends_it)
{
  struct peer *p = observing((struct watch){ 0 }, "3");

  peer_speak(p, THING, "0");
  peer_serve(p, "inspect", "-WRONGTYPE Operation against a key");
  peer_expect_told(p, "over a DIBS_ERR_WRONG_TYPE");
  assert_int_equal(peer_channels(p), 0);
  peer_advance_ms(p, 60000);
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(time_is_over_at_give_up_whatever_is_under_way)
{
  struct peer *p = observing((struct watch){ .wait_ms = 1000 }, "3");

  peer_advance_ms(p, 999);
  peer_speak(p, THING, "0");
  peer_expect(p, "inspect");
  peer_expect_told_nothing(p);
  peer_advance_ms(p, 1);
  peer_expect_told(p, "over a DIBS_TIMED_OUT");
  peer_answer(p, "0");
  peer_expect_told_nothing(p);
  assert_int_equal(peer_channels(p), 0);
  peer_free(p);
}

TEST(nothing_of_it_comes_after_its_end)
{
  struct peer *p = observing((struct watch){ 0 }, "3");

  peer_speak(p, THING, "0");
  peer_expect(p, "inspect");
  assert_true(peer_observe_end(p, "a"));
  assert_false(peer_observe_end(p, "a"));
  assert_int_equal(peer_channels(p), 0);
  peer_answer(p, "0");
  peer_advance_ms(p, 60000);
  peer_expect_told_nothing(p);
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(observations_of_a_channel_share_its_subscription)
{
  struct peer *p = observing((struct watch){ 0 }, "3");

  peer_observe(p, "b", (struct watch){ 0 });
  asked(p, "3", "observed b 3");
  peer_expect_nothing(p);              /* it stands already */
  assert_int_equal(peer_channels(p), 1);
  peer_observe(p, "c", (struct watch){ .channel = "thing:{m}" });
  assert_int_equal(peer_channels(p), 2);
  asked(p, "3", "observed c 3");
  asked(p, "3", "observed c 3");       /* once more: that it stands came meanwhile */
  peer_speak(p, THING, "0");
  peer_expect(p, "inspect");
  peer_expect(p, "inspect");
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(the_last_of_a_channel_leaves_it)
{
  struct peer *p = observing((struct watch){ 0 }, "3");

  peer_observe(p, "b", (struct watch){ 0 });
  asked(p, "3", "observed b 3");
  assert_int_equal(peer_channels(p), 1);
  peer_speak(p, THING, "0");
  peer_expect(p, "inspect");
  peer_expect(p, "inspect");
  assert_true(peer_observe_end(p, "a"));
  assert_int_equal(peer_channels(p), 1);
  assert_true(peer_observe_end(p, "b"));
  assert_int_equal(peer_channels(p), 0);
  peer_free(p);
}

TEST(without_a_server_it_is_unreachable_after_the_connect_timeout)
{
  struct peer *p = peer_new();

  peer_observe(p, "a", (struct watch){ 0 });
  peer_observe(p, "b", (struct watch){ .is_patient = true });
  for (int i = 0; i < 49; i++) {
    if (peer_wants(p, 0))
      peer_break(p, 0);
    peer_advance_ms(p, 100);
  }
  peer_expect_told_nothing(p);
  peer_advance_ms(p, 200);
  peer_expect_told(p, "cut_off b DIBS_ERR_UNREACHABLE");
  peer_expect_told(p, "over a DIBS_ERR_UNREACHABLE");
  peer_advance_ms(p, 600000);
  peer_expect_told_nothing(p);
  assert_true(peer_observe_end(p, "b"));
  peer_free(p);
}

/* ---- patient ones: they are told that the server cannot be asked, and go on ---- */

static struct peer *patient(void)
{
  return observing_by(peer_new(), (struct watch){ .every_ms = 3000, .is_patient = true }, "3");
}

TEST(a_patient_one_is_told_once_of_a_server_that_is_away_and_once_of_its_return)
{
  struct peer *p = patient();

  for (int round = 0; round < 2; round++) {
    peer_break(p, 0);
    peer_advance_ms(p, 4900);
    peer_expect_told_nothing(p);
    peer_advance_ms(p, 200);
    peer_expect_told(p, "cut_off a DIBS_ERR_UNREACHABLE");
    for (int i = 0; i < 20; i++) {
      if (peer_wants(p, 0))
        peer_break(p, 0);
      peer_advance_ms(p, 1000);
    }
    peer_expect_told_nothing(p);
    peer_connect(p, 0);
    peer_expect_told_nothing(p);         /* a connection is not yet a reply */
    asked(p, "3", "observed a 3");
    peer_expect_told_nothing(p);
  }
  peer_free(p);
}

TEST(a_patient_one_is_told_nothing_of_a_server_that_is_back_in_time)
{
  struct peer *p = patient();

  for (int round = 0; round < 3; round++) {
    peer_break(p, 0);
    peer_advance_ms(p, 4900);
    peer_connect(p, 0);
    asked(p, "3", "observed a 3");
    peer_expect_told_nothing(p);
  }
  peer_free(p);
}

TEST(a_connection_that_ends_before_the_reply_is_no_return)
{
  struct peer *p = patient();

  peer_break(p, 0);
  peer_advance_ms(p, 5100);
  peer_expect_told(p, "cut_off a DIBS_ERR_UNREACHABLE");
  peer_connect(p, 0);
  peer_expect(p, "inspect");
  peer_break(p, 0);
  peer_advance_ms(p, 20000);
  peer_expect_told_nothing(p);
  peer_connect(p, 0);
  asked(p, "2", "observed a 2");
  peer_free(p);
}

TEST(a_patient_one_is_told_of_a_server_that_loads_for_long)
{
  struct peer *p = patient();

  peer_speak(p, THING, "0");
  for (int ms = 0; ms < 10000; ms += 20) {
    peer_advance_ms(p, 20);
    while (peer_try_expect(p, "inspect"))
      peer_answer(p, "-LOADING Redis is loading");
    if (ms < 4900)
      peer_expect_told_nothing(p);
  }
  peer_expect_told(p, "cut_off a DIBS_ERR_UNREACHABLE");
  peer_expect_warning(p, "LOADING");
  peer_expect_told_nothing(p);
  peer_advance_to_command(p);
  asked(p, "0", "observed a 0");
  peer_free(p);
}

TEST(one_that_ends_while_it_is_cut_off_is_told_no_more)
{
  struct peer *p = patient();

  peer_break(p, 0);
  peer_advance_ms(p, 5100);
  peer_expect_told(p, "cut_off a DIBS_ERR_UNREACHABLE");
  assert_true(peer_observe_end(p, "a"));
  peer_advance_ms(p, 60000);
  peer_expect_told_nothing(p);
  peer_free(p);
}

TEST(a_server_that_comes_back_in_time_is_asked_at_once)
{
  struct peer *p = observing((struct watch){ .every_ms = 1000 }, "3");

  for (int i = 0; i < 2; i++) {        /* and the time is counted anew */
    peer_break(p, 0);
    peer_advance_ms(p, 4900);
    peer_expect_told_nothing(p);
    peer_connect(p, 0);
    asked(p, "3", "observed a 3");
  }
  peer_free(p);
}

/* What is observed is asked for every 3 s meanwhile. */
static void poll_for(struct peer *p, int64_t ms)
{
  for (int64_t at = 0; at < ms; at += 1000) {
    peer_advance_ms(p, 1000);
    if (peer_wants(p, 1))
      peer_connect(p, 1);
    if (peer_try_expect(p, "inspect"))
      peer_answer(p, "3");
    (void)peer_try_told(p, "observed a 3");
  }
}

static void expect_one_warning(struct peer *p)
{
  peer_expect_warning(p, "observers poll: NOPERM");
  assert_int_equal(peer_events(p, DIBS_EVENT_WARNING), 1);
}

TEST(a_forbidden_channel_is_polled_until_it_is_allowed)
{
  struct peer *p = peer_new();

  peer_forbid_channels(p);
  peer_observe(p, "a", (struct watch){ .every_ms = 3000 });
  peer_connect(p, 0);
  peer_connect(p, 1);
  asked(p, "3", "observed a 3");
  peer_expect_nothing(p);
  peer_advance_ms(p, 3000);
  asked(p, "0", "observed a 0");
  poll_for(p, 100000);
  expect_one_warning(p);
  assert_int_equal(peer_channels(p), 0);
  peer_allow_channels(p);
  poll_for(p, 34000);
  assert_int_equal(peer_channels(p), 1);
  peer_speak(p, THING, "0");
  asked(p, "2", "observed a 2");
  peer_free(p);
}

TEST(a_forbidden_inbox_is_polled_and_knocked_at_rarely)
{
  struct peer *p = peer_new();

  peer_forbid_inbox(p);
  peer_observe(p, "a", (struct watch){ .every_ms = 3000 });
  peer_connect(p, 0);
  peer_connect(p, 1);
  asked(p, "3", "observed a 3");
  for (int i = 0; i < 4; i++) {
    peer_advance_ms(p, 3000);
    asked(p, "3", "observed a 3");
    assert_false(peer_wants(p, 1));
  }
  poll_for(p, 100000);
  peer_expect_warning(p, "refuses SUBSCRIBE: \"NOPERM");
  assert_int_equal(peer_events(p, DIBS_EVENT_WARNING), 1);
  peer_allow_channels(p);
  poll_for(p, 31000);
  assert_int_equal(peer_channels(p), 1);
  peer_speak(p, THING, "0");
  asked(p, "2", "observed a 2");
  peer_free(p);
}

/* Also where the second connection cannot be had at all. */
TEST(without_an_inbox_the_program_hears_of_it_once)
{
  struct peer *p = peer_new();

  peer_refuse_inbox(p, "-ERR unknown command 'SUBSCRIBE'");
  peer_observe(p, "a", (struct watch){ .every_ms = 3000 });
  peer_connect(p, 0);
  asked(p, "3", "observed a 3");
  poll_for(p, 100000);
  peer_expect_warning(p, "unknown command");
  assert_int_equal(peer_events(p, DIBS_EVENT_WARNING), 1);
  peer_free(p);
}

TEST(a_replica_is_left_for_another_server)
{
  struct peer *p = observing((struct watch){ .every_ms = 1000 }, "3");

  peer_speak(p, THING, "0");
  peer_serve(p, "inspect", "-READONLY You can't write against a read only replica.");
  peer_advance_ms(p, 100);
  peer_connect(p, 0);
  asked(p, "0", "observed a 0");
  peer_free(p);
}

TEST(nothing_but_replicas_ends_it_after_the_connect_timeout)
{
  struct peer *p = peer_new();

  peer_observe(p, "a", (struct watch){ 0 });
  for (int i = 0; i < 49; i++) {
    if (peer_wants(p, 0))
      peer_connect(p, 0);
    if (peer_try_expect(p, "inspect"))
      peer_answer(p, "-READONLY You can't write against a read only replica.");
    peer_expect_told_nothing(p);
    peer_advance_ms(p, 100);
  }
  peer_advance_ms(p, 200);
  peer_expect_told(p, "over a DIBS_ERR_READ_ONLY");
  peer_free(p);
}

TEST(a_reply_may_name_the_time_of_the_next_question)
{
  struct peer *p = observing((struct watch){ .every_ms = 3000, .next_ms = 500 }, "3");

  peer_advance_ms(p, 499);
  peer_expect_nothing(p);
  peer_advance_ms(p, 1);
  asked(p, "2", "observed a 2");
  peer_advance_ms(p, 499);
  peer_expect_nothing(p);
  peer_advance_ms(p, 1);
  asked(p, "1", "observed a 1");
  peer_free(p);
}

TEST(a_time_later_than_the_next_poll_changes_nothing)
{
  struct peer *p = observing((struct watch){ .every_ms = 3000, .next_ms = 3500 }, "3");

  peer_advance_ms(p, 3000);
  asked(p, "2", "observed a 2");
  peer_free(p);
}

TEST(a_time_that_has_passed_means_now)
{
  struct peer *p = peer_new();

  peer_observe(p, "a", (struct watch){ .channel = "", .next_ms = -1 });
  peer_connect(p, 0);
  asked(p, "2", "observed a 2");
  asked(p, "1", "observed a 1");
  peer_expect(p, "inspect");
  peer_free(p);
}

TEST(what_has_no_channel_is_asked_by_time_alone)
{
  struct peer *p = peer_new();

  peer_observe(p, "a", (struct watch){ .channel = "", .every_ms = 10000 });
  peer_connect(p, 0);
  asked(p, "3", "observed a 3");
  assert_false(peer_wants(p, 1));      /* nor an inbox */
  assert_int_equal(peer_channels(p), 0);
  peer_advance_ms(p, 8900);
  peer_expect_nothing(p);
  peer_advance_ms(p, 1100);
  peer_expect(p, "inspect");
  peer_break(p, 0);
  assert_true(peer_wants(p, 0));       /* it is enough to want a server */
  peer_connect(p, 0);
  asked(p, "2", "observed a 2");
  assert_true(peer_observe_end(p, "a"));
  peer_free(p);
}

TEST(closing_ends_it)
{
  struct peer *p = observing((struct watch){ 0 }, "3");

  engine_close(peer_engine(p), peer_now(p));
  peer_advance_ms(p, 1);
  peer_expect_told(p, "over a DIBS_ERR_CLOSED");
  peer_free(p);
}

RUN_TESTS(NULL, NULL)

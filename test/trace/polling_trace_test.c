/* SPDX-License-Identifier: MIT */
/* Stories of waiters that get no messages: they poll within two seconds, the program hears of it
 * once, and they go back to messages when these can be had. */
#include "tests.h"

#include <stdint.h>
#include <string.h>

#include <dibs/client.h>

#include "peer.h"

#define A PEER_CLIENT
#define B PEER_OTHER
#define KEY "dibs:m:{n}"

enum { REFUSED, CLOSED, SILENT, INBOXES };

/* Time passes; what the inbox does, when the engine wants it. */
static void pass(struct peer *p, int kind, int64_t ms)
{
  for (int64_t at = 0; at < ms; at += 10) {
    if (peer_wants(p, 1) && kind == CLOSED)
      peer_break(p, 1);
    else if (peer_wants(p, 1) && kind == REFUSED)
      peer_connect(p, 1);
    peer_advance_ms(p, 10);
  }
}

/* The next command comes within `ms`. */
static void pass_to(struct peer *p, int kind, const char *command, int64_t ms)
{
  for (int64_t at = 0; at < ms; at += 10) {
    if (peer_try_expect(p, command))
      return;
    pass(p, kind, 10);
  }
  peer_expect(p, command);
}

static void answer_not_listening(struct peer *p)
{
  peer_answer(p, "[6 %lld]", peer_server_us(p));
}

static void answer_waiting(struct peer *p, int rank)
{
  peer_answer(p, "[3 %lld 30000 30000 '" B ":9:50 0 %d]", peer_server_us(p), rank);
}

static struct peer *begun(int kind, struct wish w)
{
  struct peer *p = peer_asked(w);

  if (kind == REFUSED)
    peer_refuse_inbox(p, "-ERR unknown command 'SUBSCRIBE'");
  peer_expect(p, "acquire " KEY " 1 w");
  answer_not_listening(p);
  return p;
}

TEST(without_an_inbox_a_waiter_polls_within_two_seconds)
{
  for (int kind = 0; kind < INBOXES; kind++) {
    struct peer *p = begun(kind, (struct wish){ 0 });

    pass_to(p, kind, "acquire " KEY " 1 p", 2000);
    answer_waiting(p, 0);
    for (int i = 0; i < 10; i++) {
      pass_to(p, kind, "acquire " KEY " 1 p", 1500);
      answer_waiting(p, 0);
    }
    pass_to(p, kind, "acquire " KEY " 1 p", 1500);
    peer_answer(p, "[1 %lld 30000 60]", peer_server_us(p));
    peer_expect_told(p, "granted a");
    peer_free(p);
  }
}

/* Also at once where it is known: the second lock. */
TEST(the_next_lock_polls_from_its_begin)
{
  struct peer *p = begun(REFUSED, (struct wish){ 0 });

  pass_to(p, REFUSED, "acquire " KEY " 1 p", 2000);
  answer_waiting(p, 0);
  peer_lock(p, "b", (struct wish){ .name = "m" });
  peer_expect(p, "acquire dibs:m:{m} 2 p");
  peer_free(p);
}

TEST(the_program_hears_of_it_once_with_the_reason)
{
  struct peer *p = begun(REFUSED, (struct wish){ 0 });

  pass_to(p, REFUSED, "acquire*", 2000);
  answer_waiting(p, 0);
  for (int i = 0; i < 60; i++) {
    pass_to(p, REFUSED, "acquire*", 1500);
    answer_waiting(p, 0);
    if (i == 3) {
      assert_int_equal(peer_events(p, DIBS_EVENT_WARNING), 1);
      peer_expect_warning(p, "waiters and observers poll");
    }
  }
  assert_int_equal(peer_events(p, DIBS_EVENT_WARNING), 1);
  assert_non_null(strstr(peer_last_event(p), "unknown command"));
  peer_free(p);
}

TEST(when_the_inbox_comes_the_waiter_goes_back_to_messages)
{
  struct peer *p = begun(REFUSED, (struct wish){ 0 });

  for (int i = 0; i < 5; i++) {
    pass_to(p, REFUSED, "acquire*", 2000);
    answer_waiting(p, 0);
  }
  peer_refuse_inbox(p, NULL);
  pass_to(p, REFUSED, "acquire " KEY " 1 w", 2000);
  answer_waiting(p, 0);
  peer_hands_over(p, "grant " A ":1:60 30000 0 n");
  peer_expect_told(p, "granted a");
  peer_free(p);
}

/* At the end of its place in the queue a waiter polls rarely. */
TEST(who_loses_its_inbox_far_behind_polls_within_two_seconds)
{
  for (int kind = 0; kind < INBOXES; kind++) {
    struct peer *p = peer_asked((struct wish){ 0 });

    peer_expect(p, "acquire*");
    answer_not_listening(p);
    peer_connect(p, 1);
    peer_expect(p, "acquire " KEY " 1 w");
    answer_waiting(p, 7);
    peer_advance_ms(p, 1000);
    peer_expect_nothing(p);
    if (kind == REFUSED)
      peer_refuse_inbox(p, "-ERR max number of clients reached");
    peer_break(p, 1);
    pass_to(p, kind, "acquire " KEY " 1 p", 2000);
    answer_waiting(p, 7);
    pass_to(p, kind, "acquire " KEY " 1 p", 1500);
    peer_free(p);
  }
}

TEST(a_wait_with_a_limit_times_out)
{
  for (int kind = 0; kind < INBOXES; kind++)
    for (int64_t ms = 500; ms <= 4500; ms += 4000) {
      struct peer *p = begun(kind, (struct wish){ .wait_ms = ms });

      for (int64_t at = 0; at < ms - 50; at += 10) {
        pass(p, kind, 10);
        if (peer_try_expect(p, "acquire*"))
          answer_waiting(p, 0);
      }
      peer_expect_told_nothing(p);
      pass(p, kind, 60);
      peer_expect_told(p, "failed a DIBS_TIMED_OUT");
      peer_free(p);
    }
}

/* A proxy that confirms subscriptions and passes none on: the server counts no subscriber. */
TEST(who_is_not_counted_polls_and_stays_with_it_for_a_minute)
{
  struct peer *p = begun(REFUSED, (struct wish){ 0 });
  int polls = 0, others = 0;

  peer_refuse_inbox(p, NULL);
  for (int64_t at = 0; at < 2500 && polls == 0; at += 10) {
    pass(p, REFUSED, 10);
    if (peer_try_expect(p, "acquire " KEY " 1 *")) {
      polls = strstr(peer_last_command(p), " p") != NULL;
      if (polls > 0)
        answer_waiting(p, 0);
      else
        answer_not_listening(p);
    }
  }
  assert_int_equal(polls, 1);
  for (int64_t at = 0; at < 50000; at += 10) {
    pass(p, REFUSED, 10);
    if (at % 7000 == 0)
      peer_break(p, 1);
    if (!peer_try_expect(p, "acquire " KEY " 1 *"))
      continue;
    others += strstr(peer_last_command(p), " p") == NULL;
    answer_waiting(p, 0);
  }
  assert_int_equal(others, 0);
  assert_int_equal(peer_events(p, DIBS_EVENT_WARNING), 1);
  assert_non_null(strstr(peer_last_event(p), "proxy"));
  peer_free(p);
}

TEST(a_short_outage_of_the_inbox_changes_nothing)
{
  struct peer *p = peer_queued((struct wish){ 0 });

  peer_break(p, 1);
  peer_advance_ms(p, 900);
  while (peer_try_expect(p, "acquire " KEY " 1 w"))
    answer_waiting(p, 0);
  peer_connect(p, 1);
  peer_expect(p, "acquire " KEY " 1 w");
  answer_waiting(p, 0);
  for (int i = 0; i < 3; i++) {
    pass_to(p, SILENT, "acquire " KEY " 1 w", 1500);
    answer_waiting(p, 0);
  }
  assert_int_equal(peer_events(p, DIBS_EVENT_WARNING), 0);
  peer_free(p);
}

/* The rights of a user may change: it polls at once, and tries again twice a minute. */
TEST(who_may_not_subscribe_polls_until_it_may)
{
  struct peer *p = peer_asked((struct wish){ 0 });

  peer_forbid_inbox(p);
  peer_expect(p, "acquire " KEY " 1 w");
  answer_not_listening(p);
  pass_to(p, REFUSED, "acquire " KEY " 1 p", 100);
  answer_waiting(p, 7);
  for (int i = 0; i < 60; i++) {
    pass_to(p, REFUSED, "acquire " KEY " 1 p*", 1500);
    answer_waiting(p, 7);
  }
  peer_expect_warning(p, "NOPERM");
  assert_int_equal(peer_events(p, DIBS_EVENT_WARNING), 1);
  peer_allow_channels(p);
  for (int i = 0; i < 60 && strstr(peer_last_command(p), " p") != NULL; i++) {
    pass_to(p, REFUSED, "acquire " KEY " 1 *", 1500);
    answer_waiting(p, 0);
  }
  assert_null(strstr(peer_last_command(p), " p"));
  peer_hands_over(p, "grant " A ":1:60 30000 0 n");
  peer_expect_told(p, "granted a");
  peer_free(p);
}

/* Who waits far behind, and is no longer allowed to listen, does not wait for its rare poll. */
TEST(who_may_no_longer_listen_polls_at_once)
{
  struct peer *p = peer_asked((struct wish){ 0 });

  peer_expect(p, "acquire*");
  answer_not_listening(p);
  peer_connect(p, 1);
  peer_expect(p, "acquire " KEY " 1 w");
  answer_waiting(p, 7);
  peer_forbid_inbox(p);
  peer_break(p, 1);
  pass_to(p, REFUSED, "acquire " KEY " 1 p", 100);
  peer_free(p);
}

/* Its messages were not missed meanwhile: the first ask after it is as always. */
TEST(an_outage_of_the_whole_server_is_no_reason_to_poll)
{
  struct peer *p = peer_queued((struct wish){ 0 });

  peer_break(p, 1);
  peer_break(p, 0);
  peer_advance_ms(p, 5000);
  peer_connect(p, 0);
  peer_expect(p, "acquire " KEY " 1 w");
  answer_not_listening(p);
  peer_connect(p, 1);
  peer_expect(p, "acquire " KEY " 1 w");
  peer_free(p);
}

/* It is not counted yet, and then the server refuses for a time: that says nothing of messages. */
TEST(refusals_after_an_answer_not_listening_are_no_reason_to_poll)
{
  struct peer *p = peer_asked((struct wish){ 0 });

  peer_expect(p, "acquire " KEY " 1 w");
  answer_not_listening(p);
  peer_connect(p, 1);
  for (int64_t at = 0; at < 8000; at += 10) {
    peer_advance_ms(p, 10);
    while (peer_try_expect(p, "acquire " KEY " 1 w"))
      peer_answer(p, "-NOREPLICAS Not enough good replicas to write.");
    if (at == 4000)
      assert_non_null(strstr(peer_last_event(p), "NOREPLICAS"));
  }
  peer_free(p);
}

TEST(an_outage_after_an_answer_not_listening_is_no_reason_to_poll)
{
  struct peer *p = peer_asked((struct wish){ 0 });

  peer_expect(p, "acquire " KEY " 1 w");
  answer_not_listening(p);
  peer_break(p, 0);
  peer_advance_ms(p, 5000);
  peer_connect(p, 0);
  peer_expect(p, "acquire " KEY " 1 w");
  peer_free(p);
}

TEST(shares_and_sets_poll_too)
{
  struct peer *p = peer_asked((struct wish){ .kind = LOCK_RWLOCK, .reads = true });

  peer_expect(p, "share_acquire dibs:m:{n} 1 r w");
  answer_not_listening(p);
  pass_to(p, CLOSED, "share_acquire dibs:m:{n} 1 r p", 2000);
  peer_free(p);
  p = peer_asked((struct wish){ .names = { "m", "n" }, .ttl_ms = 3000 });
  peer_expect(p, "many_acquire .1 1 w");
  answer_not_listening(p);
  pass_to(p, CLOSED, "many_acquire .1 1 p", 2000);
  peer_free(p);
}

RUN_TESTS(NULL, NULL)

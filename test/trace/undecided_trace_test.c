/* SPDX-License-Identifier: MIT */
/* Stories of servers that answer and cannot decide, and of outages: which status a waiting call
 * ends with, when it goes on, and what the program hears meanwhile. */
#include "tests.h"

#include <stdint.h>
#include <string.h>

#include <dibs/client.h>

#include "peer.h"

enum { MINUTE = 60000 };

static const char *const passing[] = {
  "-LOADING Redis is loading the dataset in memory",
  "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
  "-TRYAGAIN Multiple keys request during rehashing of slot",
  "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  "-CLUSTERDOWN The cluster is down",
  "-NOREPLICAS Not enough good replicas to write.",
  "-ERR Script attempted to execute a write command while the cluster is down and readonly",
};

/* Time passes; each request of the lock is answered with `error`. */
static void refuse_for(struct peer *p, const char *error, int64_t ms)
{
  for (int64_t at = 0; at < ms; at += 50) {
    peer_advance_ms(p, 50);
    while (peer_try_expect(p, "acquire*"))
      peer_answer(p, "%s", error);
  }
}

/* Likewise until the program is told `line`, from `first` to `last` ms from now. */
static void refuse_until_told(struct peer *p, const char *error, const char *line, int first,
                              int last)
{
  for (int ms = 0; ms <= last; ms += 10) {
    peer_advance_ms(p, 10);
    if (peer_try_told(p, line)) {
      assert_in_range(ms, first, last);
      return;
    }
    peer_expect_told_nothing(p);
    while (peer_try_expect(p, "acquire*"))
      peer_answer(p, "%s", error);
  }
  fail_msg("was not told \"%s\" in %d ms", line, last);
}

static const char *told(const char *error)
{
  return strncmp(error, "-NOREPL", 7) == 0 ? "failed a DIBS_ERR_REFUSED"
                                           : "failed a DIBS_ERR_UNREACHABLE";
}

TEST(a_wait_that_met_only_refusals_does_not_time_out)
{
  for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++) {
    struct peer *p = peer_asked((struct wish){ .wait_ms = 3000 });

    refuse_until_told(p, passing[i], told(passing[i]), 2950, 3050);
    peer_free(p);
  }
}

TEST(a_client_that_was_never_answered_gives_up_after_the_connect_timeout)
{
  for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++) {
    struct peer *p = peer_asked((struct wish){ .wait_ms = 10 * MINUTE });

    refuse_until_told(p, passing[i], told(passing[i]), 4950, 5050);
    peer_free(p);
  }
}

/* Queued behind another holder: the server has answered once. */
TEST(a_waiter_outlasts_refusals_of_minutes_and_gets_the_lock)
{
  for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++) {
    struct peer *p = peer_queued((struct wish){ 0 });

    refuse_for(p, passing[i], 5 * MINUTE);
    peer_expect_told_nothing(p);
    peer_advance_to_command(p);
    peer_serve(p, "acquire*", "[1 %lld 30000 60]", peer_server_us(p));
    peer_expect_told(p, "granted a");
    peer_free(p);
  }
}

/* ---- a full server, or one that cannot save ---- */

static const char *const full[] = {
  "-OOM command not allowed when used memory > 'maxmemory'.",
  "-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist",
};

/* With a limit each poll changes the entry, and so writes; without one most write nothing. */
TEST(a_queued_waiter_outlasts_a_full_server_with_and_without_a_limit)
{
  for (size_t i = 0; i < sizeof(full) / sizeof(full[0]); i++)
    for (int64_t wait_ms = 0; wait_ms <= 10 * MINUTE; wait_ms += 10 * MINUTE) {
      struct peer *p = peer_queued((struct wish){ .wait_ms = wait_ms });

      refuse_for(p, full[i], MINUTE);
      peer_expect_told_nothing(p);
      peer_advance_to_command(p);
      peer_serve(p, "acquire*", "[1 %lld 30000 60]", peer_server_us(p));
      peer_expect_told(p, "granted a");
      peer_free(p);
    }
}

TEST(a_queued_waiter_gets_its_grant_by_message_from_a_full_server)
{
  struct peer *p = peer_queued((struct wish){ .wait_ms = MINUTE });

  refuse_for(p, full[0], 1500);
  peer_hands_over(p, "grant " PEER_CLIENT ":1:60 30000 0 n");
  peer_expect_told(p, "granted a");
  peer_free(p);
}

TEST(a_full_server_at_the_end_of_a_queued_wait_is_refused)
{
  for (size_t i = 0; i < sizeof(full) / sizeof(full[0]); i++) {
    struct peer *p = peer_queued((struct wish){ .wait_ms = 10000 });

    refuse_until_told(p, full[i], "failed a DIBS_ERR_REFUSED", 9950, 10050);
    peer_free(p);
  }
}

TEST(a_full_server_refuses_a_new_request_at_once)
{
  struct peer *p = peer_asked((struct wish){ .wait_ms = MINUTE });

  peer_serve(p, "acquire*", "%s", full[0]);
  peer_expect_told(p, "failed a DIBS_ERR_REFUSED");
  peer_free(p);
}

TEST(refusals_at_the_end_of_a_long_wait_are_told_and_not_busy)
{
  for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++) {
    struct peer *p = peer_queued((struct wish){ .wait_ms = 5 * MINUTE });

    refuse_until_told(p, passing[i], told(passing[i]), 5 * MINUTE - 50, 5 * MINUTE + 50);
    peer_free(p);
  }
}

TEST(a_waiter_outlasts_an_outage_and_asks_again)
{
  struct peer *p = peer_queued((struct wish){ 0 });

  peer_break(p, 0);
  for (int i = 0; i < 600; i++) {
    peer_advance_ms(p, 100);
    if (peer_wants(p, 0))
      peer_break(p, 0);
  }
  peer_expect_told_nothing(p);
  while (!peer_wants(p, 0))
    peer_advance_ms(p, 10);
  peer_connect(p, 0);
  peer_serve(p, "acquire*", "[1 %lld 30000 60]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  peer_free(p);
}

TEST(with_fail_an_outage_is_borne_for_the_connect_timeout)
{
  engine_settings s = peer_settings();
  struct peer *p;

  s.patience = PATIENCE_NEVER;
  p = peer_new_with(&s);
  peer_lock(p, "a", (struct wish){ 0 });
  peer_connect(p, 0);
  refuse_until_told(p, passing[4], "failed a DIBS_ERR_UNREACHABLE", 4950, 5050);
  peer_free(p);
}

TEST(with_wait_a_server_that_was_never_there_is_waited_for)
{
  engine_settings s = peer_settings();
  struct peer *p;

  s.patience = PATIENCE_ALWAYS;
  p = peer_new_with(&s);
  peer_lock(p, "a", (struct wish){ 0 });
  for (int i = 0; i < 600; i++) {
    if (peer_wants(p, 0))
      peer_break(p, 0);
    peer_advance_ms(p, 100);
  }
  peer_expect_told_nothing(p);
  peer_free(p);
}

TEST(a_try_keeps_one_limit_while_the_server_refuses)
{
  struct peer *p = peer_asked((struct wish){ .is_try = true });

  refuse_until_told(p, passing[0], "failed a DIBS_ERR_UNREACHABLE", 4950, 5050);
  peer_free(p);
}

/* ---- what the program hears ---- */

TEST(who_waits_without_an_answer_is_warned_at_growing_intervals)
{
  struct peer *p = peer_queued((struct wish){ 0 });
  static const int64_t later_s[] = { 2, 4, 8, 16, 32, 60, 60 };

  peer_advance_to_command(p);
  peer_serve(p, "acquire*", "%s", passing[4]);
  refuse_for(p, passing[4], 1900);
  assert_int_equal(peer_events(p, DIBS_EVENT_WARNING), 0);
  refuse_for(p, passing[4], 200);
  assert_int_equal(peer_events(p, DIBS_EVENT_WARNING), 1);
  assert_non_null(strstr(peer_last_event(p), "CLUSTERDOWN"));
  for (size_t i = 0; i < sizeof(later_s) / sizeof(later_s[0]); i++) {
    refuse_for(p, passing[4], later_s[i] * 1000 - 400);
    assert_int_equal(peer_events(p, DIBS_EVENT_WARNING), (int)i + 1);
    refuse_for(p, passing[4], 400);
    assert_int_equal(peer_events(p, DIBS_EVENT_WARNING), (int)i + 2);
  }
  assert_int_equal(peer_events(p, DIBS_EVENT_RECOVERED), 0);
  peer_advance_to_command(p);
  peer_serve(p, "acquire*", "[1 %lld 30000 60]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  peer_advance_ms(p, 100);
  assert_int_equal(peer_events(p, DIBS_EVENT_RECOVERED), 1);
  peer_free(p);
}

TEST(a_short_refusal_is_not_told)
{
  struct peer *p = peer_asked((struct wish){ 0 });

  refuse_for(p, passing[0], 1500);
  peer_advance_to_command(p);
  peer_serve(p, "acquire*", "[1 %lld 30000 60]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  assert_int_equal(peer_events(p, DIBS_EVENT_WARNING), 0);
  assert_int_equal(peer_events(p, DIBS_EVENT_RECOVERED), 0);
  peer_free(p);
}

static void refuse_locks_and_answer_reads(struct peer *p, int ms)
{
  for (int at = 0; at < ms; at += 50) {
    peer_advance_ms(p, 50);
    while (peer_try_expect(p, "*"))
      if (strcmp(peer_last_command(p), "inspect") == 0)
        peer_answer(p, "1");
      else
        peer_answer(p, "-NOREPLICAS Not enough good replicas to write.");
    while (peer_try_told(p, "observed look 1"))
      ;
  }
}

/* The command shows the name meanwhile: a server without its replicas answers reads. */
TEST(a_wait_that_gave_up_while_reads_are_answered_is_no_recovery)
{
  struct peer *p = peer_asked((struct wish){ .wait_ms = 3000 });

  peer_observe(p, "look", (struct watch){ .channel = "", .every_ms = 700 });
  refuse_locks_and_answer_reads(p, 3050);
  peer_expect_told(p, "failed a DIBS_ERR_REFUSED");
  refuse_locks_and_answer_reads(p, 3000);
  assert_int_equal(peer_events(p, DIBS_EVENT_WARNING), 1);
  assert_int_equal(peer_events(p, DIBS_EVENT_RECOVERED), 0);
  peer_free(p);
}

/* It executes what needs no memory, such as the cancel. The next call that it answers shows that
 * it grants again. */
TEST(a_full_server_that_answers_the_cancel_has_not_recovered)
{
  struct peer *p = peer_queued((struct wish){ .wait_ms = 10000 });

  refuse_until_told(p, full[0], "failed a DIBS_ERR_REFUSED", 9950, 10050);
  peer_advance_ms(p, 50);
  peer_serve(p, "cancel 1", "0");
  peer_advance_ms(p, 50);
  assert_in_range(peer_events(p, DIBS_EVENT_WARNING), 1, 3);
  assert_int_equal(peer_events(p, DIBS_EVENT_RECOVERED), 0);
  peer_lock(p, "b", (struct wish){ 0 });
  peer_advance_to_command(p);
  peer_serve(p, "acquire*", "[1 %lld 30000 60]", peer_server_us(p));
  peer_expect_told(p, "granted b");
  peer_advance_ms(p, 50);
  assert_int_equal(peer_events(p, DIBS_EVENT_RECOVERED), 1);
  peer_free(p);
}

/* The answer to one waiter says nothing of another, which is refused until it gives up. */
TEST(an_answer_before_the_last_refusal_is_no_recovery)
{
  struct peer *p = peer_asked((struct wish){ .wait_ms = 3000 });

  peer_lock(p, "b", (struct wish){ .name = "m" });
  for (int ms = 0; ms < 3050; ms += 50) {
    peer_advance_ms(p, 50);
    while (peer_try_expect(p, "acquire*"))
      if (strstr(peer_last_command(p), "{m}") != NULL)
        peer_answer(p, "[1 %lld 30000 60]", peer_server_us(p));
      else
        peer_answer(p, "%s", passing[2]);
  }
  peer_expect_told(p, "granted b");
  peer_expect_told(p, "failed a DIBS_ERR_UNREACHABLE");
  peer_advance_ms(p, 3000);
  assert_int_equal(peer_events(p, DIBS_EVENT_WARNING), 1);
  assert_int_equal(peer_events(p, DIBS_EVENT_RECOVERED), 0);
  peer_free(p);
}

TEST(a_client_that_holds_and_asks_nothing_is_not_warned)
{
  struct peer *p = peer_new();

  peer_advance_ms(p, MINUTE);
  assert_int_equal(peer_events(p, DIBS_EVENT_WARNING), 0);
  peer_free(p);
}

/* A primary that became a replica: it connects, and says READONLY to the first command. */
TEST(a_server_that_comes_and_goes_is_told_less_and_less_often)
{
  struct peer *p = peer_queued((struct wish){ 0 });
  int first, events, tries = 0;

  peer_break(p, 0);
  for (int ms = 0; ms < 6000; ms += 10) {
    peer_advance_ms(p, 10);
    if (!peer_wants(p, 0))
      continue;
    peer_connect(p, 0);
    if (peer_try_expect(p, "acquire*"))
      peer_answer(p, "-READONLY You can't write against a read only replica.");
    tries++;
  }
  first = peer_events(p, DIBS_EVENT_CONNECTED) + peer_events(p, DIBS_EVENT_DISCONNECTED);
  assert_true(tries > 5);                /* it still tries */
  assert_in_range(first, 2, 6);
  for (int ms = 0; ms < MINUTE; ms += 10) {
    peer_advance_ms(p, 10);
    if (!peer_wants(p, 0))
      continue;
    peer_connect(p, 0);
    if (peer_try_expect(p, "acquire*"))
      peer_answer(p, "-READONLY You can't write against a read only replica.");
  }
  events = peer_events(p, DIBS_EVENT_CONNECTED) + peer_events(p, DIBS_EVENT_DISCONNECTED);
  assert_in_range(events - first, 0, 8);
  peer_free(p);
}

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* Stories of losses: the reason that the program gets is that of the server. */
#include "tests.h"

#include <stdio.h>
#include <string.h>

#include "seat.h"

#define TTL 3000
#define SERVER "redis://server:7000/0: "

static const char *const refusals[] = {
  "BUSY Redis is busy running a script.",
  "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist.",
  "LOADING Redis is loading the dataset in memory",
  "MASTERDOWN Link with MASTER is down",
  "NOREPLICAS Not enough good replicas to write.",
  "OOM command not allowed when used memory > 'maxmemory'.",
  "NOAUTH Authentication required.",
  "NOPERM User default has no permissions to run the 'evalsha' command",
  "CLUSTERDOWN The cluster is down",
  "ERR unknown command 'EVALSHA'",
};
#define REFUSALS (sizeof(refusals) / sizeof(refusals[0]))

/* Answers its renewals with an error until it is lost. */
static void refuse_until_lost(struct peer *p, const char *error)
{
  while (peer_events(p, DIBS_EVENT_LOST) == 0) {
    if (peer_try_expect(p, "*"))
      peer_answer(p, "-%s", error);
    peer_advance_ms(p, 1);
  }
}

static const char *why_now(struct peer *p, const char *who)
{
  static char words[512];
  text shown = text_over(words, sizeof(words));

  engine_add_why(peer_engine(p), peer_id(p, who), &shown);
  return words;
}

static void expect_in(const char *words, const char *part)
{
  if (strstr(words, part) == NULL)
    fail_msg("\"%s\" is not in \"%s\"", part, words);
}

TEST(a_loss_says_what_the_server_answered_to_its_renewals)
{
  for (size_t i = 0; i < REFUSALS; i++) {
    struct peer *p = peer_held((struct wish){ .ttl_ms = TTL });
    char wanted[256];

    (void)snprintf(wanted, sizeof(wanted), SERVER "%s", refusals[i]);
    refuse_until_lost(p, refusals[i]);
    peer_expect_told(p, "suspect a");
    peer_expect_told(p, "lost a DIBS_LOST");
    expect_in(peer_last_event(p), "\"n\": not renewed in time; ");
    expect_in(peer_last_event(p), wanted);
    expect_in(why_now(p, "a"), wanted);
    peer_free(p);
  }
}

TEST(the_reason_is_there_before_the_loss_and_gone_after_a_renewal)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = TTL });

  assert_string_equal(why_now(p, "a"), "");
  peer_advance_to_command(p);
  peer_expect(p, "renew*");
  assert_string_equal(why_now(p, "a"), "");
  peer_answer(p, "-%s", refusals[1]);
  peer_expect_told(p, "suspect a");
  expect_in(why_now(p, "a"), refusals[1]);
  peer_advance_to_command(p);
  peer_serve(p, "renew*", "[%lld 0 3000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  assert_string_equal(why_now(p, "a"), "");
  peer_free(p);
}

TEST(a_loss_says_why_there_is_no_connection)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = TTL });

  peer_advance_to_command(p);
  peer_serve(p, "renew*", "-%s", refusals[0]);
  peer_break_why(p, 0, DIBS_ERR_TLS, "the certificate has expired");
  expect_in(why_now(p, "a"), SERVER "the certificate has expired");
  while (peer_events(p, DIBS_EVENT_LOST) == 0)
    peer_advance_ms(p, 10);
  expect_in(peer_last_event(p), SERVER "the certificate has expired");
  peer_free(p);
}

TEST(a_loss_of_a_silent_server_says_that_a_renewal_was_not_answered)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = TTL });

  peer_advance_to_command(p);
  peer_expect(p, "renew*");
  while (peer_events(p, DIBS_EVENT_LOST) == 0)
    peer_advance_ms(p, 10);
  expect_in(peer_last_event(p), "not renewed in time; " SERVER "a renewal was not answered");
  peer_free(p);
}

/* A renewal gets no more than is left until the end. */
TEST(an_end_that_was_set_is_the_reason_whatever_was_refused)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = TTL, .max_hold_ms = TTL });

  peer_advance_to_command(p);
  peer_expect(p, "renew*");
  peer_renew(p);
  peer_expect_told(p, "renewed a");
  refuse_until_lost(p, refusals[1]);
  assert_string_equal(peer_last_event(p), "\"n\": max_hold_ms is over");
  peer_free(p);
}

TEST(an_end_that_was_set_is_not_the_reason_when_renewals_were_refused_before)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = TTL, .max_hold_ms = TTL + 500 });

  refuse_until_lost(p, refusals[1]);
  expect_in(peer_last_event(p), "\"n\": not renewed in time; ");
  peer_free(p);
}

TEST(readers_and_sets_say_it_too)
{
  struct peer *p = seated((struct wish){ .ttl_ms = TTL, .kind = LOCK_RWLOCK, .reads = true });

  refuse_until_lost(p, refusals[1]);
  expect_in(peer_last_event(p), refusals[1]);
  peer_free(p);

  p = peer_asked((struct wish){ .ttl_ms = TTL, .names = { "m", "n" } });
  peer_serve(p, "many_acquire*", "[1 %lld %d 60]", peer_server_us(p), TTL);
  peer_expect_told(p, "granted a");
  refuse_until_lost(p, refusals[1]);
  expect_in(peer_last_event(p), refusals[1]);
  peer_free(p);
}

TEST(of_holds_that_are_lost_at_once_each_has_its_event)
{
  static const char *const inner[] = { "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l" };
  const size_t count = sizeof(inner) / sizeof(inner[0]);
  struct peer *p = peer_held((struct wish){ .ttl_ms = TTL, .owner = "me" });

  for (size_t i = 0; i < count; i++)
    peer_lock(p, inner[i], (struct wish){ .ttl_ms = TTL, .owner = "me" });
  peer_advance_to_command(p);
  peer_expect(p, "renew*");
  while (peer_events(p, DIBS_EVENT_LOST) == 0)
    peer_advance_ms(p, 10);
  assert_int_equal(peer_events(p, DIBS_EVENT_LOST), count + 1);
  peer_free(p);
}

TEST(the_words_of_renewals_are_not_those_of_the_release)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = TTL });
  const char *words;

  peer_advance_to_command(p);
  peer_serve(p, "renew*", "-%s", refusals[1]);
  peer_release(p, "a");
  words = engine_refusal(peer_engine(p), peer_id(p, "a"));
  assert_null(words);
  peer_free(p);
}

RUN_TESTS(NULL, NULL)

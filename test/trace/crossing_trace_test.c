/* SPDX-License-Identifier: MIT */
/* Stories of what crosses on its way: answers to a lease that is over, grants whose message
 * was lost, refusals after a request that was served. */
#include "tests.h"

#include <stdio.h>
#include <string.h>

#include "peer.h"

#define A PEER_CLIENT
#define B PEER_OTHER
#define KEY "dibs:m:{n}"

TEST(a_renewal_unanswered_at_the_release_does_not_disturb_the_next_hold)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 3000 });

  peer_advance_to_command(p);
  peer_expect(p, "renew " A ":1:60");
  peer_release(p, "a");
  peer_lock(p, "b", (struct wish){ .ttl_ms = 3000 });
  peer_answer(p, "[%lld 0 3000]", peer_server_us(p));
  peer_serve(p, "release " A ":1:60", "1");
  peer_expect_told(p, "released a DIBS_OK");
  peer_serve(p, "acquire " KEY " 2 w", "[1 %lld 3000 61]", peer_server_us(p));
  peer_expect_told(p, "granted b");
  peer_advance_ms(p, 1200);
  peer_expect_told_nothing(p);
  peer_expect(p, "renew " A ":2:61");
  peer_free(p);
}

TEST(an_answer_read_together_with_the_doubt_ends_the_doubt)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 4000 });
  char bytes[64];

  peer_advance_to_command(p);
  peer_expect(p, "renew " A ":1:60");
  (void)snprintf(bytes, sizeof(bytes), "*3\r\n:%lld\r\n:0\r\n:4000\r\n", peer_server_us(p));
  engine_received(peer_engine(p), 0, bytes, strlen(bytes),
                  instant_add(peer_now(p), SPAN_MS(1100)));
  peer_stop_ms(p, 1100);
  peer_expect_told(p, "renewed a");
  peer_expect_told_nothing(p);
  assert_false(peer_wants(p, 0));
  peer_free(p);
}

TEST(who_is_granted_while_a_renewal_is_overdue_is_told)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 4000 });

  peer_lock(p, "b", (struct wish){ .ttl_ms = 4000 });
  peer_connect(p, 1);
  peer_serve(p, "renew*", "[%lld 0 4000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  peer_break(p, 0);
  peer_expect_told(p, "suspect a");
  peer_release(p, "a");
  peer_expect_told(p, "released a DIBS_OK");
  peer_expect_told(p, "granted b");
  peer_expect_told(p, "suspect b");
  peer_free(p);
}

/* The message was lost, and the next poll finds the grant: it came after the last poll that
 * found none, so the place is kept, however long ago the first request was sent. */
TEST(a_lost_message_does_not_cost_the_place)
{
  struct peer *p = peer_queued((struct wish){ .ttl_ms = 3000 });

  for (int i = 0; i < 5; i++) {
    peer_advance_to_command(p);
    peer_expect(p, "acquire " KEY " 1 w");
    peer_answer(p, "[3 %lld 30000 30000 '" B ":9:50 %d 0]", peer_server_us(p), i);
  }
  peer_advance_ms(p, 1000);
  peer_serve(p, "acquire " KEY " 1 w", "[2 %lld 2500 3000 60 0]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  assert_in_range(peer_valid_ms(p, "a"), 1, 3000 - 33 - 700);
  peer_expect(p, "renew " A ":1:60");
  peer_free(p);
}

TEST(a_grant_found_too_late_to_be_believed_is_confirmed_by_a_renewal)
{
  struct peer *p = peer_queued((struct wish){ .ttl_ms = 3000 });

  peer_break(p, 0);
  peer_advance_ms(p, 3500);
  peer_connect(p, 0);
  peer_serve(p, "acquire " KEY " 1 w", "[2 %lld 2500 3000 60 0]", peer_server_us(p));
  peer_expect_told_nothing(p);
  peer_serve(p, "renew " A ":1:60", "[%lld 0 3000]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  peer_free(p);
}

/* Found by model/mutex.pml (CANCEL_RELEASES): the grant of the message was over unread, and the
 * poll that crossed it was granted anew. A release of the first would leave the second, for a
 * whole lease, to nobody. */
TEST(who_cancels_what_is_being_confirmed_ends_the_whole_ask)
{
  struct peer *p = peer_queued((struct wish){ .ttl_ms = 4000 });

  peer_stop_ms(p, 5500);
  peer_hands_over(p, "grant " A ":1:60 4000 0 n");
  peer_expect(p, "acquire*");                 /* the poll that was overdue */
  peer_serve(p, "renew " A ":1:60", "[1 %lld 4000 61]", peer_server_us(p));
  peer_cancel(p, "a");
  peer_expect_told(p, "failed a DIBS_CANCELLED");
  peer_serve(p, "cancel 1", "[%lld -1 0]", peer_server_us(p));
  peer_answer(p, "1");
  assert_int_equal(engine_get_stats(peer_engine(p)).names, 0);
  peer_free(p);
}

TEST(a_refused_poll_leaves_no_entry_behind)
{
  struct peer *p = peer_queued((struct wish){ .ttl_ms = 3000 });

  peer_advance_to_command(p);
  peer_serve(p, "acquire " KEY " 1 w", "-NOPERM this user has no permissions");
  peer_expect_told(p, "failed a DIBS_ERR_DENIED");
  peer_serve(p, "cancel 1", "0");
  assert_int_equal(engine_get_stats(peer_engine(p)).names, 0);
  peer_free(p);
}

/* The copy may be granted behind the answer to the first: nobody would give it back. */
TEST(a_try_that_was_sent_twice_is_cancelled_when_it_fails)
{
  struct peer *p = peer_new();

  peer_lock(p, "a", (struct wish){ .ttl_ms = 3000, .is_try = true });
  peer_connect(p, 0);
  peer_expect(p, "acquire " KEY " 1 t");
  peer_break(p, 0);
  peer_connect(p, 0);
  peer_expect(p, "acquire " KEY " 1 t");
  peer_answer(p, "[4 %lld 3000 3000 '" B ":9:50 0 0]", peer_server_us(p));
  peer_expect_told(p, "failed a DIBS_BUSY");
  peer_serve(p, "cancel 1", "0");
  assert_int_equal(engine_get_stats(peer_engine(p)).names, 0);
  peer_free(p);
}

TEST(a_new_inbox_does_not_repeat_a_try_that_is_under_way)
{
  struct peer *p = peer_new();

  peer_lock(p, "w", (struct wish){ .name = "m", .ttl_ms = 3000 });
  peer_connect(p, 0);
  peer_serve(p, "acquire*", "[6 %lld]", peer_server_us(p));
  peer_lock(p, "a", (struct wish){ .name = "n", .ttl_ms = 3000, .is_try = true });
  peer_expect(p, "acquire " KEY " 2 t");
  peer_connect(p, 1);
  peer_expect(p, "acquire dibs:m:{m} 1 w");
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(an_answer_from_before_the_subscription_does_not_make_it_deaf)
{
  struct peer *p = peer_new();

  peer_lock(p, "w", (struct wish){ .name = "m", .ttl_ms = 3000 });
  peer_connect(p, 0);
  peer_serve(p, "acquire*", "[6 %lld]", peer_server_us(p));
  peer_lock(p, "a", (struct wish){ .name = "n", .ttl_ms = 3000 });
  peer_expect(p, "acquire " KEY " 2 w");
  peer_advance_ms(p, 1);
  peer_connect(p, 1);
  peer_answer(p, "[6 %lld]", peer_server_us(p));
  assert_false(peer_wants(p, 1));
  peer_expect(p, "acquire dibs:m:{m} 1 w");
  peer_advance_ms(p, 30);
  peer_expect(p, "acquire " KEY " 2 w");
  peer_free(p);
}

/* The asker found the lease, and no queue; the release has granted the lock to it meanwhile. */
static struct peer *released_a(void)
{
  struct peer *p = peer_queued((struct wish){ .ttl_ms = 3000 });

  peer_hands_over(p, "grant " A ":1:60 3000 0 n");
  peer_expect_told(p, "granted a");
  peer_release(p, "a");
  peer_serve(p, "release " A ":1:60", "1");
  peer_expect_told(p, "released a DIBS_OK");
  return p;
}

TEST(a_want_that_crosses_the_release_costs_no_call)
{
  struct peer *p = released_a();

  peer_message(p, "want " A ":1:60 n");
  peer_expect_nothing(p);
  peer_lock(p, "a", (struct wish){ .ttl_ms = 3000 });
  peer_expect(p, "acquire " KEY " 2 w");
  peer_message(p, "want " A ":1:60 n");
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(a_want_for_another_lease_than_the_released_one_is_answered)
{
  struct peer *p = released_a();

  peer_message(p, "want " A ":1:59 n");
  peer_expect(p, "text:release " A ":1:59");
  peer_message(p, "want " A ":9:60 n");
  peer_expect(p, "text:release " A ":9:60");
  peer_free(p);
}

/* A server that lost the release says so only by the `want` of another client, which comes
 * again with its next poll, after 800 ms at the earliest. */
TEST(the_second_want_after_the_release_is_answered)
{
  struct peer *p = released_a();

  peer_message(p, "want " A ":1:60 n");
  peer_expect_nothing(p);
  peer_advance_ms(p, 800);
  peer_message(p, "want " A ":1:60 n");
  peer_expect(p, "text:release " A ":1:60");
  peer_free(p);
}

TEST(a_want_on_another_connection_than_that_of_the_release_is_answered)
{
  struct peer *p = released_a();

  peer_lock(p, "a", (struct wish){ .ttl_ms = 3000 });
  peer_expect(p, "acquire " KEY " 2 w");
  peer_break(p, 0);
  peer_advance_ms(p, 50);
  peer_connect(p, 0);
  peer_expect(p, "acquire " KEY " 2 w");
  peer_message(p, "want " A ":1:60 n");
  peer_expect(p, "text:release " A ":1:60");
  peer_free(p);
}

TEST(a_grant_that_names_another_client_is_not_believed)
{
  struct peer *p = peer_queued((struct wish){ .ttl_ms = 3000 });

  peer_hands_over(p, "grant " B ":1:60 3000 0 n");
  peer_expect_told_nothing(p);
  peer_message(p, "want " B ":7:60 n");
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(an_answer_with_impossible_times_is_no_answer)
{
  static const char *const answers[] = {
    "[1 %lld 9000000 60]",                        /* more than was asked for */
    "[1 %lld 3000 9223372036854775807]",          /* a token no fence can be made of */
    "[2 %lld 9223372036854775807 9223372036854775807 60 0]",
    "[3 %lld 5000 -1 'BBBBBBBBBBBBBBBBBBBBBB:9:50 0 0]",
    "[3 %lld 5000 4000 'BBBBBBBBBBBBBBBBBBBBBB:9:50 0 0]",
    "[3 %lld 3000 3000 'BBBBBBBBBBBBBBBBBBBBBB:9:18446744073709551615 0 0]",
  };

  for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
    struct peer *p = peer_new();

    peer_lock(p, "a", (struct wish){ .ttl_ms = 3000 });
    peer_connect(p, 0);
    peer_expect(p, "acquire*");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    peer_answer(p, answers[i], peer_server_us(p));
#pragma GCC diagnostic pop
    peer_expect_told(p, "failed a DIBS_ERR_PROTOCOL");
    peer_free(p);
  }
}

RUN_TESTS(NULL, NULL)

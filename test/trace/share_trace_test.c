/* SPDX-License-Identifier: MIT */
/* Stories of seats: readers, writers and permits between lost answers, late messages and
 * broken connections. doc/design/protocol.md 9. */
#include "tests.h"

#include <stdio.h>
#include <string.h>

#include "seat.h"

#define A PEER_CLIENT
#define B PEER_OTHER
#define KEY "dibs:m:{n}"

/* ---- asking ---- */

#define READER .kind = LOCK_RWLOCK, .reads = true

TEST(an_answer_lost_with_its_connection_is_asked_for_again)
{
  struct peer *p = peer_new();

  peer_lock(p, "a", (struct wish){ READER, .ttl_ms = 3000 });
  peer_connect(p, 0);
  peer_expect(p, "share_acquire " KEY " 1 r w");
  peer_reconnect(p);
  peer_expect(p, "share_acquire " KEY " 1 r w");
  peer_answer(p, "[2 %lld 2990 3000 60 0 1]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  assert_in_range(peer_valid_ms(p, "a"), 1, 2999 - 33);
  peer_expect(p, "share_renew " A ":1:60 r");
  peer_free(p);
}

/* It may be over since, and another's: only a renewal tells. */
TEST(an_old_grant_found_by_asking_again_is_confirmed_before_it_is_believed)
{
  struct peer *p = peer_new();

  peer_lock(p, "a", (struct wish){ .kind = LOCK_RWLOCK, .ttl_ms = 3000 });
  peer_connect(p, 0);
  peer_expect(p, "share_acquire*");
  peer_break(p, 0);
  peer_advance_ms(p, 3500);
  peer_connect(p, 0);
  peer_serve(p, "share_acquire*", "[2 %lld 3000 3000 60 0 1]", peer_server_us(p));
  peer_expect_told_nothing(p);
  peer_serve(p, "share_renew " A ":1:60 w", "[%lld -1 0]", peer_server_us(p));
  peer_expect_told_nothing(p);
  peer_expect(p, "share_acquire " KEY " 2 w w");
  peer_free(p);
}

TEST(the_release_of_an_ask_that_was_cut_leaves_a_tombstone)
{
  struct peer *p = peer_new();

  peer_lock(p, "a", (struct wish){ .kind = LOCK_SEMAPHORE, .units = 2, .ttl_ms = 3000 });
  peer_connect(p, 0);
  peer_expect(p, "share_acquire " KEY " 1 p2 w");
  peer_reconnect(p);
  peer_expect(p, "share_acquire " KEY " 1 p2 w");
  peer_answer(p, "[2 %lld 2990 3000 60 0 2]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  peer_serve(p, "share_renew*", "[%lld 0 3000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  peer_release(p, "a");
  peer_serve(p, "share_release " A ":1:60 tombstone", "1");
  peer_expect_told(p, "released a DIBS_OK");
  peer_end_clean(p);
}

TEST(the_release_of_an_ask_that_was_sent_once_leaves_none)
{
  struct peer *p = seated((struct wish){ READER });

  peer_release(p, "a");
  peer_serve(p, "share_release " A ":1:60", "1");
  peer_expect_told(p, "released a DIBS_OK");
  peer_end_clean(p);
}

TEST(a_release_lost_and_repeated_was_done_by_the_first)
{
  struct peer *p = seated((struct wish){ .kind = LOCK_RWLOCK });

  peer_release(p, "a");
  peer_expect(p, "share_release " A ":1:60");
  peer_reconnect(p);
  peer_serve(p, "share_release " A ":1:60", "2");
  peer_expect_told(p, "released a DIBS_OK");
  peer_end_clean(p);
}

/* Its poll may be on its way behind the grant: cut with the connection, it could be granted
 * once more when nobody wants it. */
TEST(a_poll_cut_after_the_grant_by_message_leaves_a_tombstone_too)
{
  struct peer *p = seat_queued((struct wish){ READER });

  peer_advance_to_command(p);
  peer_expect(p, "share_acquire " KEY " 1 r w");
  peer_hands_over(p, "share " A ":1:60 3000 0 1 n");
  peer_expect_told(p, "granted a");
  while (peer_try_expect(p, "share_renew*"))
    ;
  peer_release(p, "a");
  peer_expect(p, "share_release " A ":1:60");
  peer_reconnect(p);
  peer_serve(p, "share_release " A ":1:60 tombstone", "2");
  peer_expect_told(p, "released a DIBS_OK");
  peer_end_clean(p);
}

TEST(a_cancelled_ask_ends_everywhere)
{
  struct peer *p = seat_queued((struct wish){ .kind = LOCK_RWLOCK });

  peer_cancel(p, "a");
  peer_expect_told(p, "failed a DIBS_CANCELLED");
  peer_expect(p, "share_cancel " A ":1");
  peer_hands_over(p, "share " A ":1:60 3000 0 1 n");      /* the cancel gives it back */
  peer_expect_nothing(p);
  peer_answer(p, "1");
  peer_end_clean(p);
}

/* The ask of "b" overtakes the cancel, which was not executed. */
TEST(a_try_that_met_our_own_cancelled_ask_asks_again)
{
  struct peer *p = seat_queued((struct wish){ .kind = LOCK_RWLOCK });

  peer_cancel(p, "a");
  peer_expect_told(p, "failed a DIBS_CANCELLED");
  peer_lock(p, "b", (struct wish){ .kind = LOCK_RWLOCK, .ttl_ms = 3000, .is_try = true });
  peer_expect(p, "share_cancel " A ":1");
  peer_expect(p, "share_acquire " KEY " 2 w t");
  peer_answer(p, "-NOSCRIPT No matching script. Please use EVAL.");
  peer_expect(p, "text:share_cancel " A ":1");
  peer_answer(p, "[4 %lld 30000 30000 '" B ":9:50 0 0 50]", peer_server_us(p));
  peer_expect_told_nothing(p);
  peer_answer(p, "1");
  peer_advance_to_command(p);
  peer_expect(p, "share_acquire " KEY " 2 w t");
  peer_answer(p, "[1 %lld 3000 3000 60 1]", peer_server_us(p));
  peer_expect_told(p, "granted b");
  peer_free(p);
}

/* ---- messages ---- */

TEST(a_message_before_the_answer_to_a_poll_is_the_grant)
{
  struct peer *p = seat_queued((struct wish){ READER });

  peer_advance_to_command(p);
  peer_expect(p, "share_acquire " KEY " 1 r w");
  peer_hands_over(p, "share " A ":1:60 3000 2 1 n");
  peer_expect_told(p, "granted a");
  peer_answer(p, "[2 %lld 3000 3000 60 0 1]", peer_server_us(p));
  peer_expect_told_nothing(p);
  assert_in_range(peer_valid_ms(p, "a"), 1, 3000 - 33);
  peer_free(p);
}

/* The share of the first message is over and another's when the ask is queued anew; what
 * was granted before that answer is not what is granted after it. */
TEST(a_message_older_than_the_last_answer_is_not_believed)
{
  struct peer *p = seat_queued((struct wish){ .kind = LOCK_RWLOCK });

  peer_stop_ms(p, 5000);
  peer_expect(p, "share_acquire " KEY " 1 w w");
  peer_answer(p, "[3 %lld 3000 3000 '" B ":10:61 0 0 61]", peer_server_us(p));
  peer_hands_over(p, "share " A ":1:60 3000 0 1 n");
  peer_expect_told_nothing(p);
  peer_hands_over(p, "share " A ":1:62 3000 0 1 n");
  peer_expect_told(p, "granted a");
  peer_free(p);
}

TEST(a_grant_message_too_old_to_believe_is_confirmed)
{
  struct peer *p = seat_queued((struct wish){ .kind = LOCK_SEMAPHORE });

  peer_break(p, 0);
  peer_advance_ms(p, 3100);
  peer_hands_over(p, "share " A ":1:60 3000 0 1 n");
  peer_expect_told_nothing(p);
  peer_connect(p, 0);
  peer_serve(p, "share_renew " A ":1:60 p", "[%lld 0 3000]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  peer_free(p);
}

TEST(a_share_for_an_ask_nobody_has_is_given_back_as_a_share)
{
  struct peer *p = seat_queued((struct wish){ READER });

  peer_hands_over(p, "share " A ":7:60 3000 0 1 n");
  peer_serve(p, "text:share_release " A ":7:60 tombstone", "1");
  peer_hands_over(p, "share " A ":8:61 3000 0 1 other");
  peer_serve(p, "text:share_release " A ":8:61 tombstone", "1");
  peer_hands_over(p, "grant " A ":9:62 3000 0 n");
  peer_expect(p, "text:release " A ":9:62");
  peer_expect_told_nothing(p);
  peer_free(p);
}

/* Anyone may have sent it, for any name. */
TEST(a_share_without_a_nonce_leaves_no_tombstone)
{
  struct peer *p = seat_queued((struct wish){ READER });

  peer_message(p, "share " A ":8:61 3000 0 1 other");
  peer_serve(p, "text:share_release " A ":8:61", "2");
  peer_message(p, "share " A ".7:1:60 3000 0 1 n");
  peer_message(p, "share " A ".7:1:9007199254740992 3000 0 1 n");
  peer_message(p, "share " A ".7:8:60 3000 0 1 other");
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(who_is_dropped_from_the_queue_asks_why)
{
  struct peer *p = seat_queued((struct wish){ .kind = LOCK_SEMAPHORE, .units = 5 });

  peer_message(p, "lost " A ":1:0 n");
  peer_serve(p, "share_acquire " KEY " 1 p5 w", "[8 %lld 4]", peer_server_us(p));
  peer_expect_told(p, "failed a DIBS_ERR_ARGUMENT");
  peer_expect(p, "share_cancel " A ":1");      /* it was asked for more than once */
  peer_answer(p, "0");
  peer_end_clean(p);
}

TEST(a_limit_goes_with_each_ask)
{
  struct peer *p = seat_queued((struct wish){ .kind = LOCK_SEMAPHORE, .units = 2, .limit = 3 });

  peer_message(p, "lost " A ":1:0 n");
  peer_expect(p, "share_acquire " KEY " 1 p2/3 w");
  peer_answer(p, "[10 %lld 4]", peer_server_us(p));
  peer_expect_told(p, "failed a DIBS_ERR_ARGUMENT");
  peer_expect(p, "share_cancel " A ":1");      /* it was asked for more than once */
  peer_answer(p, "0");
  peer_end_clean(p);
}

TEST(a_broken_share_is_lost_and_given_back)
{
  struct peer *p = seated((struct wish){ READER });

  peer_lock(p, "w", (struct wish){ .name = "m" });    /* keeps an inbox */
  peer_serve(p, "acquire*", "[6 %lld]", peer_server_us(p));
  peer_connect(p, 1);
  peer_expect(p, "share_renew*");
  peer_expect(p, "acquire*");
  peer_message(p, "lost " A ":1:60 n");
  peer_serve(p, "share_renew*", "[%lld -1 0]", peer_server_us(p));
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_expect(p, "share_release " A ":1:60");
  peer_free(p);
}

TEST(permits_asked_for_anew_are_as_many_as_before)
{
  struct peer *p = peer_new();

  peer_lock(p, "a", (struct wish){ .kind = LOCK_SEMAPHORE, .is_drain = true, .is_try = true,
                                   .ttl_ms = 1000 });
  peer_connect(p, 0);
  peer_expect(p, "share_acquire " KEY " 1 p0 t");
  peer_stop_ms(p, 1100);
  peer_answer(p, "[1 %lld 1000 1000 60 2]", peer_server_us(p));
  peer_expect_told_nothing(p);
  peer_serve(p, "share_release " A ":1:60", "1");
  peer_expect(p, "share_acquire " KEY " 2 p0 t");
  peer_free(p);
}

TEST(close_gives_back_each_seat)
{
  struct peer *p = seated((struct wish){ READER, .owner = "a" });

  peer_lock(p, "w", (struct wish){ .kind = LOCK_RWLOCK, .owner = "b", .ttl_ms = 3000 });
  peer_expect(p, "share_acquire " KEY " 2 w w");
  peer_close(p);
  peer_expect_told(p, "failed w DIBS_ERR_CLOSED");
  peer_expect(p, "share_release " A ":1:60");
  peer_serve(p, "share_cancel " A ":2", "[6 %lld]", peer_server_us(p));
  peer_answer(p, "1");
  peer_expect_told(p, "released a DIBS_OK");
  peer_answer(p, "0");
  peer_expect_told(p, "closed");
  peer_end_clean(p);
}

RUN_TESTS(NULL, NULL)

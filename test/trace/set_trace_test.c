/* SPDX-License-Identifier: MIT */
/* Stories of sets: several names, one lease, between answers that were lost, members that
 * were lost, and others who are in the way. doc/design/protocol.md 10. */
#include "tests.h"

#include <stdio.h>

#include "peer.h"

#define A PEER_CLIENT
#define B PEER_OTHER
#define L A ".1:1:60"
#define SET .names = { "m", "n" }, .ttl_ms = 3000

static struct peer *held(struct wish w)
{
  struct peer *p = peer_asked(w);

  peer_serve(p, "many_acquire .1 1 w", "[1 %lld 3000 60]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  return p;
}

/* The answer `waiting`: B's lease of 30 s is in the way, on the name of this place. */
static void answer_waiting(struct peer *p, int which)
{
  peer_answer(p, "[3 %lld 30000 30000 '" B ":9:50 0 0 %d]", peer_server_us(p), which);
}

static struct peer *queued(struct wish w)
{
  struct peer *p = peer_asked(w);

  peer_serve(p, "many_acquire .1 1 w", "[6 %lld]", peer_server_us(p));
  peer_connect(p, 1);
  peer_expect(p, "many_acquire .1 1 w");
  answer_waiting(p, 1);
  return p;
}

TEST(one_answer_and_one_release_are_for_all)
{
  struct peer *p = held((struct wish){ SET });

  assert_int_equal(peer_fence(p, "a"), 60 * 1024);
  peer_release(p, "a");
  peer_serve(p, "many_release " L, "1");
  peer_expect_told(p, "released a DIBS_OK");
  peer_end_clean(p);
}

TEST(a_grant_by_message_is_a_reason_to_ask_and_no_lease)
{
  struct peer *p = queued((struct wish){ SET });

  peer_hands_over(p, "grant " A ".1:1:60 3000 0 n");
  peer_expect_told_nothing(p);
  peer_serve(p, "many_acquire .1 1 w", "[1 %lld 3000 61]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  peer_free(p);
}

TEST(after_three_rounds_it_keeps_what_it_has)
{
  struct peer *p = queued((struct wish){ SET });

  for (int round = 1; round <= 3; round++) {
    peer_hands_over(p, "grant " A ".1:1:%d 3000 0 n", 60 + round);
    peer_expect(p, "many_acquire .1 1 w");
    answer_waiting(p, round % 2);
  }
  peer_advance_to_command(p);
  peer_expect(p, "many_acquire .1 1 w keeps");
  answer_waiting(p, 1);

  /* The third of a ttl: what is kept lasts. */
  peer_advance_ms(p, 1000);
  peer_expect(p, "many_acquire .1 1 w keeps");
  peer_cancel(p, "a");
  peer_expect_told(p, "failed a DIBS_CANCELLED");
  peer_expect(p, "many_cancel .1 1");
  answer_waiting(p, 1);
  peer_answer(p, "1");
  peer_end_clean(p);
}

TEST(a_poll_that_found_nothing_new_is_no_round)
{
  struct peer *p = queued((struct wish){ SET });

  for (int poll = 0; poll < 6; poll++) {
    peer_advance_to_command(p);
    peer_expect(p, "many_acquire .1 1 w");
    answer_waiting(p, 1);
  }
  peer_free(p);
}

TEST(a_member_gone_at_the_renewal_loses_all)
{
  struct peer *p = held((struct wish){ SET });

  peer_advance_to_command(p);
  peer_serve(p, "renew " L " " L, "[%lld 0 3000 -1 0]", peer_server_us(p));
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_expect(p, "many_release " L);          /* the others are not kept from anybody */
  peer_answer(p, "[3 '" B ":7:90]");
  peer_release(p, "a");
  peer_expect_told(p, "released a DIBS_TAKEN");
  peer_end_clean(p);
}

TEST(a_set_lasts_as_long_as_its_shortest_member)
{
  struct peer *p = held((struct wish){ SET });

  peer_advance_to_command(p);
  peer_serve(p, "renew*", "[%lld 0 3000 0 2500]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  assert_in_range(peer_valid_ms(p, "a"), 1, 2500 - 25);
  peer_free(p);
}

TEST(an_answer_lost_with_its_connection_is_asked_for_again)
{
  struct peer *p = peer_new();

  peer_lock(p, "a", (struct wish){ SET });
  peer_connect(p, 0);
  peer_expect(p, "many_acquire .1 1 w");
  peer_reconnect(p);
  peer_serve(p, "many_acquire .1 1 w", "[2 %lld 2990 3000 60 0]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  peer_expect(p, "renew " L " " L);
  peer_free(p);
}

TEST(an_old_grant_that_one_member_lost_is_asked_for_anew)
{
  struct peer *p = peer_new();

  peer_lock(p, "a", (struct wish){ SET });
  peer_connect(p, 0);
  peer_expect(p, "many_acquire .1 1 w");
  peer_break(p, 0);
  peer_advance_ms(p, 3500);
  peer_connect(p, 0);
  peer_serve(p, "many_acquire .1 1 w", "[2 %lld 3000 3000 60 0]", peer_server_us(p));
  peer_expect_told_nothing(p);
  peer_serve(p, "renew " L " " L, "[%lld -1 0 0 3000]", peer_server_us(p));
  peer_expect_told_nothing(p);
  peer_expect(p, "many_acquire .1 2 w");
  peer_free(p);
}

TEST(a_grant_for_a_set_that_is_gone_is_given_back_by_the_single_script)
{
  struct peer *p = queued((struct wish){ SET });

  peer_hands_over(p, "grant " A ".7:3:60 3000 0 n");
  peer_serve(p, "text:release " A ".7:3:60", "1");
  peer_message(p, "want " A ".7:4:61 n");
  peer_expect(p, "text:release " A ".7:4:61");
  peer_expect_told_nothing(p);
  peer_free(p);
}

/* Of detached sets only the last are remembered; a want for an older one is not told from
 * one for a lease that nobody has, and must not end what may be in other hands. */
TEST(a_detached_set_is_never_given_back_however_many_there_are)
{
  struct peer *p = queued((struct wish){ SET });
  char words[64];

  for (int i = 2; i < 80; i++) {
    peer_lock(p, "b", (struct wish){ .names = { "m", "n" } });
    (void)snprintf(words, sizeof(words), "many_acquire .%d %d w", i, i);
    peer_serve(p, words, "[1 %lld 30000 %d]", peer_server_us(p), 60 + i);
    peer_expect_told(p, "granted b");
    assert_int_equal(peer_detach(p, "b"), DIBS_OK);
    peer_expect_told(p, "detached b DIBS_OK");
  }
  for (int i = 2; i < 80; i++)
    peer_message(p, "want " A ".%d:%d:%d n", i, i, 60 + i);
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(a_grant_that_crosses_the_cancel_is_left_to_it)
{
  struct peer *p = queued((struct wish){ SET });

  peer_cancel(p, "a");
  peer_expect_told(p, "failed a DIBS_CANCELLED");
  peer_expect(p, "many_cancel .1 1");
  peer_hands_over(p, "grant " A ".1:1:60 3000 0 n");
  peer_expect_nothing(p);
  peer_answer(p, "1");
  peer_end_clean(p);
}

TEST(a_member_broken_by_an_administrator_loses_all)
{
  struct peer *p = queued((struct wish){ SET });

  peer_advance_to_command(p);
  peer_serve(p, "many_acquire .1 1 w", "[1 %lld 3000 60]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  peer_message(p, "lost " L " m");
  peer_serve(p, "renew*", "[%lld -1 0 0 3000]", peer_server_us(p));
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_expect(p, "many_release " L);
  peer_free(p);
}

TEST(a_release_lost_and_repeated_was_done_by_the_first)
{
  struct peer *p = held((struct wish){ SET });

  peer_release(p, "a");
  peer_expect(p, "many_release " L);
  peer_reconnect(p);
  peer_serve(p, "many_release " L, "[3 '" B ":4:90]");
  peer_expect_told(p, "released a DIBS_OK");
  peer_end_clean(p);
}

TEST(each_set_is_a_client_of_its_own)
{
  struct peer *p = held((struct wish){ SET, .owner = "a" });

  peer_lock(p, "b", (struct wish){ SET, .owner = "b" });
  peer_expect(p, "many_acquire .2 2 w");
  peer_lock(p, "c", (struct wish){ SET, .owner = "a" });
  peer_expect_told(p, "failed c DIBS_WOULD_DEADLOCK");
  peer_lock(p, "d", (struct wish){ .name = "m", .owner = "a" });
  peer_expect_told(p, "failed d DIBS_WOULD_DEADLOCK");
  peer_free(p);
}

TEST(a_try_that_was_sent_twice_is_cancelled_when_it_fails)
{
  struct peer *p = peer_new();

  peer_lock(p, "a", (struct wish){ SET, .is_try = true });
  peer_connect(p, 0);
  peer_expect(p, "many_acquire .1 1 t");
  peer_reconnect(p);
  peer_expect(p, "many_acquire .1 1 t");
  peer_answer(p, "[4 %lld 3000 3000 '" B ":9:50 0 0 0]", peer_server_us(p));
  peer_expect_told(p, "failed a DIBS_BUSY");
  peer_serve(p, "many_cancel .1 1", "0");
  peer_end_clean(p);
}

TEST(close_cancels_a_set_that_waits)
{
  struct peer *p = queued((struct wish){ SET });

  peer_close(p);
  peer_expect_told(p, "failed a DIBS_ERR_CLOSED");
  peer_serve(p, "many_cancel .1 1", "0");
  peer_expect_told(p, "closed");
  peer_end_clean(p);
}

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* Stories of leases that linger: kept idle for the next who wants them here, and let go as
 * soon as somebody elsewhere does, or could unheard. doc/design/protocol.md 11. */
#include "tests.h"

#include <stdio.h>

#include "peer.h"

#define A PEER_CLIENT
#define L A ":1:60"
#define KEY "dibs:m:{n}"
#define LINGERS .ttl_ms = 3000, .linger_ms = 2000

static uint64_t parked(struct peer *p) { return engine_get_stats(peer_engine(p)).holds; }

/* "a" holds L, its inbox stands. */
static struct peer *held(void)
{
  struct peer *p = peer_held((struct wish){ LINGERS });

  peer_connect(p, 1);
  peer_serve(p, "renew " L, "[%lld 0 3000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  return p;
}

static struct peer *idle(void)
{
  struct peer *p = held();

  peer_release(p, "a");
  peer_expect_told(p, "released a DIBS_OK");
  peer_expect_nothing(p);
  assert_int_equal(parked(p), 0);
  return p;
}

static void released(struct peer *p)
{
  peer_serve(p, "release " L, "1");
  assert_int_equal(engine_get_stats(peer_engine(p)).names, 0);
  peer_expect_told_nothing(p);
  peer_free(p);
}

TEST(it_is_taken_again_without_a_word_and_with_a_higher_fence)
{
  struct peer *p = idle();
  uint64_t fence = 60 * 1024;

  peer_lock(p, "b", (struct wish){ LINGERS });
  peer_expect_told(p, "granted b");
  peer_expect_nothing(p);
  assert_int_equal(peer_fence(p, "b"), fence + 1);
  peer_free(p);
}

TEST(it_ends_when_its_time_is_over)
{
  struct peer *p = idle();

  for (int i = 0; i < 1999; i++) {
    peer_advance_ms(p, 1);
    if (peer_try_expect(p, "renew " L))
      peer_answer(p, "[%lld 0 3000]", peer_server_us(p));
  }
  peer_advance_ms(p, 1);
  released(p);
}

/* Whoever has the token may release by it when the hold is long released: that must not end
 * the hold of somebody else. */
TEST(a_lease_whose_token_was_written_does_not_linger)
{
  struct peer *p = held();

  assert_true(engine_keep_alone(peer_engine(p), peer_id(p, "a")));
  peer_release(p, "a");
  peer_serve(p, "release " L, "1");
  peer_expect_told(p, "released a DIBS_OK");
  peer_free(p);
}

TEST(a_lease_whose_token_was_written_is_not_handed_over)
{
  struct peer *p = held();

  peer_lock(p, "b", (struct wish){ LINGERS });
  assert_true(engine_keep_alone(peer_engine(p), peer_id(p, "a")));
  peer_release(p, "a");
  peer_serve(p, "release " L, "1");
  peer_expect_told(p, "released a DIBS_OK");
  peer_serve(p, "acquire " KEY " 2 w", "[1 %lld 3000 61]", peer_server_us(p));
  peer_expect_told(p, "granted b");
  peer_release(p, "b");                     /* its own lease is its own */
  peer_expect_told(p, "released b DIBS_OK");
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(a_want_ends_it_at_once)
{
  struct peer *p = idle();

  peer_message(p, "want " L " n");
  released(p);
}

/* The want is about the idle lease; by then it is in use, and its next release tells. */
TEST(a_want_during_a_local_reacquire_is_met_by_the_next_release)
{
  struct peer *p = idle();

  peer_lock(p, "b", (struct wish){ LINGERS });
  peer_expect_told(p, "granted b");
  peer_message(p, "want " L " n");
  peer_expect_nothing(p);
  peer_release(p, "b");
  peer_serve(p, "release " L, "1");
  peer_expect_told(p, "released b DIBS_OK");
  peer_free(p);
}

/* The message comes by another connection than the reply. */
TEST(a_want_that_comes_before_the_reply_that_grants_is_met_by_the_release)
{
  struct peer *p = idle();

  peer_message(p, "want " L " n");
  peer_serve(p, "release " L, "1");
  peer_lock(p, "b", (struct wish){ LINGERS });
  peer_expect(p, "acquire " KEY " 2 w");
  peer_message(p, "want " PEER_CLIENT ":2:70 n");
  peer_answer(p, "70");
  peer_expect_told(p, "granted b");
  peer_release(p, "b");
  peer_serve(p, "release " PEER_CLIENT ":2:70", "1");
  peer_expect_told(p, "released b DIBS_OK");
  peer_free(p);
}

TEST(who_comes_when_it_is_being_let_go_asks_the_server)
{
  struct peer *p = idle();

  peer_message(p, "want " L " n");
  peer_lock(p, "b", (struct wish){ LINGERS });
  peer_expect_told_nothing(p);
  peer_serve(p, "release " L, "1");
  peer_expect(p, "acquire " KEY " 2 w");
  peer_free(p);
}

static void taken_and_released(struct peer *p, int token)
{
  peer_lock(p, "b", (struct wish){ LINGERS });
  peer_serve(p, "acquire*", "[1 %lld 3000 %d]", peer_server_us(p), token);
  peer_expect_told(p, "granted b");
  peer_release(p, "b");
}

/* Another client takes it each time: then keeping it costs more than it saves. */
TEST(what_is_wanted_each_time_does_not_linger_for_three_grants_then_for_six)
{
  struct peer *p = idle();

  peer_message(p, "want " L " n");
  peer_serve(p, "release " L, "1");
  for (int ask = 2; ask <= 13; ask++) {
    bool lingers = ask == 2 || ask == 6 || ask == 13;
    char release[64];

    (void)snprintf(release, sizeof(release), "release " A ":%d:%d", ask, 60 + ask);
    taken_and_released(p, 60 + ask);
    if (lingers) {
      peer_expect_told(p, "released b DIBS_OK");
      peer_expect_nothing(p);
      peer_message(p, "want " A ":%d:%d n", ask, 60 + ask);
    }
    peer_serve(p, release, "1");
    if (!lingers)
      peer_expect_told(p, "released b DIBS_OK");
  }
  peer_free(p);
}

TEST(a_lost_inbox_ends_it)
{
  struct peer *p = idle();

  peer_break(p, 1);
  released(p);
}

TEST(without_an_inbox_it_does_not_begin)
{
  struct peer *p = held();

  peer_break(p, 1);
  peer_release(p, "a");
  peer_serve(p, "release " L, "1");
  peer_expect_told(p, "released a DIBS_OK");
  peer_free(p);
}

/* The want was lost with the old inbox; the renewal that its return asked for tells. */
TEST(a_renewal_that_tells_of_waiters_ends_it)
{
  struct peer *p = idle();

  peer_advance_to_command(p);
  peer_serve(p, "renew " L, "[%lld 1 3000]", peer_server_us(p));
  released(p);
}

TEST(while_the_link_is_lost_it_is_taken_in_doubt_and_only_while_it_lasts)
{
  struct peer *p = idle();

  peer_break(p, 0);
  peer_advance_ms(p, 1500);
  peer_lock(p, "b", (struct wish){ LINGERS });
  peer_expect_told(p, "granted b");
  peer_expect_told(p, "suspect b");
  assert_in_range(peer_valid_ms(p, "b"), 1, 1500 - 33);
  peer_advance_ms(p, 1500);
  peer_expect_told(p, "lost b DIBS_LOST");
  peer_free(p);
}

TEST(one_that_is_nearly_over_is_not_taken)
{
  struct peer *p = idle();

  peer_break(p, 0);
  peer_advance_ms(p, 1990);
  peer_lock(p, "b", (struct wish){ LINGERS });
  peer_expect_told_nothing(p);
  peer_connect(p, 0);
  peer_serve(p, "release " L, "1");
  peer_expect(p, "acquire " KEY " 2 w");
  peer_free(p);
}

TEST(a_renewal_that_finds_it_gone_ends_it_silently)
{
  struct peer *p = idle();

  peer_advance_to_command(p);
  peer_serve(p, "renew " L, "[%lld -1 0]", peer_server_us(p));
  released(p);
}

TEST(a_refused_renewal_is_repeated_until_the_end)
{
  struct peer *p = idle();
  int refusals = 0;

  for (int i = 0; i < 1999; i++) {
    peer_advance_ms(p, 1);
    if (peer_try_expect(p, "renew " L)) {
      peer_answer(p, "-BUSY Redis is busy running a script");
      refusals++;
    }
  }
  assert_true(refusals > 2);
  peer_advance_ms(p, 1);
  released(p);
}

/* Who came back while a renewal of the idle lease was on its way is told what it says. */
TEST(a_lease_lost_under_the_renewal_of_its_idle_time_is_lost_to_its_taker)
{
  struct peer *p = idle();

  peer_advance_to_command(p);
  peer_expect(p, "renew " L);
  peer_lock(p, "b", (struct wish){ LINGERS });
  peer_expect_told(p, "granted b");
  peer_answer(p, "[%lld -1 0]", peer_server_us(p));
  peer_expect_told(p, "lost b DIBS_LOST");
  peer_expect(p, "release " L);
  peer_free(p);
}

TEST(close_gives_it_back)
{
  struct peer *p = idle();

  peer_close(p);
  peer_serve(p, "release " L, "1");
  peer_expect_told(p, "closed");
  peer_free(p);
}

TEST(a_broken_one_is_not_taken_again)
{
  struct peer *p = idle();

  peer_message(p, "lost " L " n");
  peer_lock(p, "b", (struct wish){ LINGERS });
  peer_expect_told_nothing(p);
  peer_serve(p, "release " L, "2");
  peer_expect(p, "acquire " KEY " 2 w");
  peer_free(p);
}

TEST(a_fixed_wish_does_not_take_it)
{
  struct peer *p = idle();

  peer_lock(p, "b", (struct wish){ .ttl_ms = 3000, .is_fixed = true });
  peer_expect_told_nothing(p);
  peer_serve(p, "release " L, "1");
  peer_expect(p, "acquire " KEY " 2 w");
  peer_free(p);
}

/* Longer than the lease, then taken in the same breath: the end comes first. */
TEST(a_process_that_slept_through_it_does_not_take_it)
{
  struct peer *p = idle();

  peer_stop_ms(p, 3500);
  peer_lock(p, "b", (struct wish){ LINGERS });
  peer_expect_told_nothing(p);
  peer_free(p);
}

RUN_TESTS(NULL, NULL)

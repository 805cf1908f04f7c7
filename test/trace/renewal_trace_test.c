/* SPDX-License-Identifier: MIT */
/* Stories of renewals that are late, refused or crossed by a message, and of leases that are
 * shorter than their holder asked for. protocol.md 5. */
#include "tests.h"

#include <string.h>

#include "peer.h"

#define A PEER_CLIENT
#define KEY "dibs:m:{n}"

/* ---- a lease that is over sooner than its holder's ttl ---- */

TEST(a_grant_whose_reply_was_slow_is_renewed_before_it_is_lost)
{
  struct peer *p = peer_asked((struct wish){ .ttl_ms = 2000 });
  long long us = peer_server_us(p);

  peer_expect(p, "acquire*");
  peer_advance_ms(p, 1400);
  peer_answer(p, "[1 %lld 2000 60]", us);
  peer_expect_told(p, "granted a");
  peer_advance_ms(p, 1);
  peer_serve(p, "renew " A ":1:60", "[%lld 0 2000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  peer_free(p);
}

TEST(a_confirmation_whose_reply_was_slow_counts_for_the_next_renewal)
{
  struct peer *p = peer_queued((struct wish){ .ttl_ms = 3000 });
  long long us;

  peer_break(p, 0);
  peer_advance_ms(p, 3500);
  peer_connect(p, 0);
  peer_serve(p, "acquire " KEY " 1 w", "[2 %lld 2500 3000 60 0]", peer_server_us(p));
  peer_expect(p, "renew " A ":1:60");
  us = peer_server_us(p);
  peer_advance_ms(p, 700);
  peer_answer(p, "[%lld 0 3000]", us);
  peer_expect_told(p, "granted a");
  peer_advance_ms(p, 410);               /* a third of its ttl since the renewal */
  peer_expect(p, "renew " A ":1:60");
  peer_free(p);
}

/* "a" was asked for with a second, and "b" waits behind it with half a minute. The grant is that of
 * the first copy. */
TEST(a_grant_of_an_earlier_copy_with_a_shorter_ttl_is_renewed_at_once)
{
  struct peer *p = peer_queued((struct wish){ .ttl_ms = 1000 });
  long long us;

  peer_advance_to_command(p);
  peer_expect(p, "acquire " KEY " 1 w");
  us = peer_server_us(p);
  peer_lock(p, "b", (struct wish){ .ttl_ms = 30000 });
  peer_advance_ms(p, 1);
  peer_cancel(p, "a");
  peer_expect_told(p, "failed a DIBS_CANCELLED");
  peer_message(p, "grant " A ":1:55 1000 0 n");       /* without a nonce: it asks again */
  peer_expect(p, "acquire " KEY " 1 w");
  peer_answer(p, "[1 %lld 1000 60]", us);
  peer_expect_told(p, "granted b");
  peer_expect(p, "renew " A ":1:60");
  peer_free(p);
}

/* The outer hold has a second, and the inner one asks for half a minute. */
static struct peer *short_with_a_long_inner_one(void)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 1000, .owner = "x" });

  peer_advance_ms(p, 100);
  peer_lock(p, "b", (struct wish){ .ttl_ms = 30000, .owner = "x" });
  peer_expect_told(p, "granted b");
  peer_expect(p, "renew " A ":1:60");
  return p;
}

TEST(a_short_lease_with_a_longer_inner_hold_is_renewed_again_soon_after_a_refusal)
{
  struct peer *p = short_with_a_long_inner_one();

  peer_answer(p, "-BUSY Redis is busy running a script");
  peer_expect_told(p, "suspect a");
  peer_expect_told(p, "suspect b");
  peer_advance_ms(p, 250);
  peer_serve(p, "renew " A ":1:60", "[%lld 0 30000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  peer_expect_told(p, "renewed b");
  peer_free(p);
}

TEST(the_link_of_a_short_lease_with_a_longer_inner_hold_is_replaced_in_time)
{
  struct peer *p = short_with_a_long_inner_one();

  peer_advance_ms(p, 450);
  peer_expect_told(p, "suspect a");
  peer_expect_told(p, "suspect b");
  assert_true(peer_wants(p, 0));
  peer_connect(p, 0);
  peer_serve(p, "renew " A ":1:60", "[%lld 0 30000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  peer_expect_told(p, "renewed b");
  peer_free(p);
}

/* ---- fixed leases, whose end does not move ---- */

static struct peer *fixed_and_reconnected(void)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 3000, .is_fixed = true });

  peer_advance_ms(p, 100);
  peer_break(p, 0);
  peer_expect_told(p, "suspect a");
  peer_advance_ms(p, 1);
  peer_connect(p, 0);
  peer_expect(p, "renew " A ":1:60");
  return p;
}

TEST(a_fixed_lease_is_known_again_with_a_new_connection_and_ends_when_it_did)
{
  struct peer *p = fixed_and_reconnected();
  int64_t valid_ms = peer_valid_ms(p, "a");

  peer_answer(p, "[%lld 0 2899]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  assert_int_equal(peer_valid_ms(p, "a"), valid_ms);
  peer_advance_ms(p, valid_ms - 6);
  peer_expect_told_nothing(p);
  peer_expect_nothing(p);
  peer_advance_ms(p, 2);
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_free(p);
}

TEST(a_fixed_lease_that_its_server_forgot_is_lost_with_the_new_connection)
{
  struct peer *p = fixed_and_reconnected();

  peer_answer(p, "[%lld -1 2]", peer_server_us(p));
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_free(p);
}

/* ---- a renewal on its way when a message says that the lease has ended ---- */

static struct peer *renewing_and_listening(void)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_advance_ms(p, 600);
  peer_connect(p, 1);
  peer_expect(p, "renew " A ":1:60");
  peer_renew(p);
  peer_expect_told(p, "renewed a");
  peer_advance_to_command(p);
  peer_expect(p, "renew " A ":1:60");
  return p;
}

TEST(a_reply_from_before_a_break_leaves_the_reason_of_the_loss)
{
  struct peer *p = renewing_and_listening();

  peer_message(p, "lost " A ":1:60 n");
  peer_expect(p, "renew " A ":1:60");
  peer_renew(p);                         /* the first one */
  peer_expect_told(p, "renewed a");
  peer_answer(p, "[%lld -1 2]", peer_server_us(p));
  peer_expect_told(p, "lost a DIBS_LOST");
  assert_non_null(strstr(peer_last_event(p), "others ended it"));
  peer_free(p);
}

TEST(a_reply_from_before_a_release_by_token_leaves_the_reason_of_the_loss)
{
  struct peer *p = renewing_and_listening();

  peer_message(p, "released " A ":1:60 n");
  peer_renew(p);
  peer_expect_told(p, "renewed a");
  peer_message(p, "lost " A ":1:60 n");
  peer_serve(p, "renew " A ":1:60", "[%lld -1 3]", peer_server_us(p));
  peer_expect_told(p, "lost a DIBS_LOST let go");
  peer_free(p);
}

/* ---- how long a reply is waited for ---- */

TEST(a_second_renewal_does_not_excuse_the_reply_to_the_first)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 2000 });

  peer_advance_ms(p, 520);
  peer_connect(p, 1);
  peer_expect(p, "renew " A ":1:60");
  peer_advance_ms(p, 400);
  peer_message(p, "lost " A ":1:60 n");
  peer_expect(p, "renew " A ":1:60");
  peer_expect_told_nothing(p);
  peer_advance_ms(p, 100);                /* a quarter of the ttl after the first */
  peer_expect_told(p, "suspect a");
  assert_true(peer_wants(p, 0));
  peer_free(p);
}

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* Stories of holding: the watchdog, suspicion, loss. protocol.md 5. */
#include "tests.h"

#include <stdio.h>

#include "peer.h"

#define A PEER_CLIENT
#define B PEER_OTHER
#define KEY "dibs:m:{n}"

TEST(the_watchdog_renews_at_a_third_and_counts_from_the_sending)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_advance_ms(p, 8900);
  peer_expect_nothing(p);
  peer_advance_ms(p, 2300);
  peer_expect(p, "renew " A ":1:60");
  peer_advance_ms(p, 300);
  peer_answer(p, "[%lld 0 30000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  assert_in_range(peer_valid_ms(p, "a"), 30000 - 303 - 2500, 30000 - 303 - 300);
  peer_free(p);
}

/* Cut off, the holder is told once, and not after the deadline. */
TEST(cut_off_it_is_lost_once_before_the_deadline)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 3000 });

  peer_break(p, 0);
  peer_expect_told(p, "suspect a");
  peer_advance_ms(p, 3000 - 33 - 10);
  peer_expect_told_nothing(p);
  peer_advance_ms(p, 9);
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_advance_ms(p, 100000);
  peer_expect_told_nothing(p);
  peer_release(p, "a");
  peer_expect_told(p, "released a DIBS_LOST");
  peer_free(p);
}

/* A failed renewal never ends the watchdog. */
TEST(refused_renewals_are_tried_until_one_succeeds)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 3000 });

  peer_advance_ms(p, 1200);
  for (int i = 0; i < 5; i++) {
    peer_expect(p, "renew " A ":1:60");
    peer_answer(p, i % 2 ? "-LOADING Redis is loading" : "-MISCONF no disk");
    peer_advance_ms(p, 160);
  }
  peer_expect_told(p, "suspect a");
  peer_expect_told_nothing(p);
  peer_serve(p, "renew " A ":1:60", "[%lld 0 3000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  peer_advance_ms(p, 1200);
  peer_expect(p, "renew " A ":1:60");
  peer_free(p);
}

/* Extend never creates; a gap in ownership is a loss. */
TEST(a_renewal_that_is_not_ours_any_more_is_a_loss_at_once)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_advance_ms(p, 11200);
  peer_serve(p, "renew*", "[%lld -1 0]", peer_server_us(p));
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_serve(p, "release " A ":1:60", "[3 '" B ":4:90]");
  peer_release(p, "a");
  peer_expect_told(p, "released a DIBS_TAKEN");
  peer_expect_nothing(p);
  peer_free(p);
}

/* The program slept through its lease: lost comes before anything else it may see. */
TEST(a_stopped_process_learns_its_loss_first)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 3000 });

  peer_stop_ms(p, 60000);
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_free(p);
}

TEST(a_late_answer_to_a_renewal_revives_nothing)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 3000 });

  peer_advance_ms(p, 1200);
  peer_expect(p, "renew*");
  peer_stop_ms(p, 1900);
  peer_expect_told(p, "suspect a");
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_free(p);
}

/* After the release nothing is renewed, ever. */
TEST(nothing_is_renewed_after_the_release)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 3000 });

  peer_release(p, "a");
  peer_serve(p, "release " A ":1:60", "1");
  peer_expect_told(p, "released a DIBS_OK");
  peer_advance_ms(p, 100000);
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(a_release_without_an_answer_is_not_followed_by_a_renewal)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 3000 });

  peer_release(p, "a");
  peer_expect(p, "release*");
  peer_advance_ms(p, 1900);
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(max_hold_ends_renewal_and_the_hold)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 3000, .max_hold_ms = 5000 });
  instant end = instant_add(peer_now(p), SPAN_MS(5000));
  int renewals = 0;

  while (!peer_try_told(p, "lost a DIBS_LOST")) {
    peer_advance_ms(p, 1);
    if (peer_try_expect(p, "renew*"))
      peer_renew(p);
    renewals += peer_try_told(p, "renewed a");
    assert_true(peer_valid_ms(p, "a") <= (end.ns - peer_now(p).ns) / 1000000);
  }
  assert_true(renewals > 3);
  assert_in_range((end.ns - peer_now(p).ns) / 1000000, 4, 6);
  assert_string_equal(peer_last_event(p), "\"n\": max_hold_ms is over");
  peer_advance_ms(p, 10);
  peer_expect(p, "release " A ":1:60");
  peer_free(p);
}

/* ---- a warning before the end ---- */

/* A reply that leaves the lease as long as it was when it was granted. */
static void renews(struct peer *p, const char *pattern)
{
  peer_advance_to_command(p);
  peer_serve(p, pattern, "[%lld 0 3000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
}

TEST(cut_off_it_is_warned_before_it_is_lost)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 3000, .warn_ms = 1000 });

  peer_break(p, 0);
  peer_expect_told(p, "suspect a");
  peer_advance_ms(p, peer_valid_ms(p, "a") - 1000 - 1);
  peer_expect_told_nothing(p);
  peer_advance_ms(p, 2);
  peer_expect_told(p, "ends_soon a");
  peer_advance_ms(p, 990);
  peer_expect_told_nothing(p);
  peer_advance_ms(p, 10);
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_advance_ms(p, 100000);
  peer_expect_told_nothing(p);
  peer_free(p);
}

TEST(renewed_in_time_it_is_not_warned)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 3000, .warn_ms = 1000 });

  for (int i = 0; i < 5; i++)
    renews(p, "renew*");
  peer_expect_told_nothing(p);
  peer_free(p);
}

/* Each end is warned of once; a renewal makes a new one. */
TEST(a_renewal_after_the_warning_begins_anew)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 3000, .warn_ms = 1000 });

  for (int i = 0; i < 2; i++) {
    bool is_warned = false;

    for (int tries = 0; tries < 40 && !is_warned; tries++) {
      peer_advance_to_command(p);
      (void)peer_try_told(p, "suspect a");
      is_warned = peer_try_told(p, "ends_soon a");
      peer_expect(p, "renew*");
      if (is_warned)
        peer_answer(p, "[%lld 0 3000]", peer_server_us(p));
      else
        peer_answer(p, "-MISCONF no disk");
    }
    assert_true(is_warned);
    peer_expect_told(p, "renewed a");
    peer_expect_told_nothing(p);
  }
  peer_free(p);
}

/* Renewals do not move the end of a hold with max_hold. */
TEST(the_end_by_max_hold_is_warned_of_once)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 3000, .max_hold_ms = 5000,
                                            .warn_ms = 1500 });
  instant end = instant_add(peer_now(p), SPAN_MS(5000));
  int warnings = 0, renewals = 0;

  while (peer_now(p).ns < end.ns - SPAN_MS(50).ns) {
    peer_advance_ms(p, 5);
    if (peer_try_expect(p, "renew*"))
      peer_renew(p);
    renewals += peer_try_told(p, "renewed a");
    if (peer_try_told(p, "ends_soon a")) {
      warnings++;
      assert_in_range((end.ns - peer_now(p).ns) / 1000000, 1490, 1500);
    }
  }
  assert_int_equal(warnings, 1);
  assert_true(renewals > 3);
  peer_advance_ms(p, 50);
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_free(p);
}

TEST(a_fixed_lease_is_warned_of_too)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 3000, .is_fixed = true, .warn_ms = 500 });

  peer_advance_ms(p, peer_valid_ms(p, "a") - 500 - 1);
  peer_expect_told_nothing(p);
  peer_advance_ms(p, 2);
  peer_expect_told(p, "ends_soon a");
  peer_advance_ms(p, 500);
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_free(p);
}

TEST(after_a_release_nothing_is_warned_of)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 3000, .is_fixed = true, .warn_ms = 500 });

  peer_release(p, "a");
  peer_expect(p, "release*");
  peer_advance_ms(p, 900);
  peer_expect_told_nothing(p);
  peer_answer(p, "1");
  peer_expect_told(p, "released a DIBS_OK");
  peer_advance_ms(p, 100000);
  peer_expect_told_nothing(p);
  peer_free(p);
}

/* Also when the lease ends sooner than that at once. */
TEST(an_inner_hold_has_a_warning_of_its_own)
{
  struct peer *p = peer_held((struct wish){ .owner = "x", .ttl_ms = 3000, .is_fixed = true,
                                            .warn_ms = 200 });

  peer_advance_ms(p, 2000);
  peer_lock(p, "b", (struct wish){ .owner = "x", .ttl_ms = 3000, .warn_ms = 2000 });
  peer_expect_told(p, "granted b");
  peer_advance_ms(p, 1);
  peer_expect_told(p, "ends_soon b");
  peer_expect_told_nothing(p);
  peer_advance_ms(p, peer_valid_ms(p, "a") - 200 + 1);
  peer_expect_told(p, "ends_soon a");
  peer_expect_told_nothing(p);
  peer_free(p);
}

TEST(a_fixed_lease_is_never_renewed)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 3000, .is_fixed = true });

  peer_advance_ms(p, 2900);
  peer_expect_nothing(p);
  peer_advance_ms(p, 70);
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_free(p);
}

TEST(a_new_connection_renews_at_once)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_break(p, 0);
  peer_expect_told(p, "suspect a");
  peer_advance_ms(p, 1);
  peer_connect(p, 0);
  peer_serve(p, "renew " A ":1:60", "[%lld 0 30000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  peer_free(p);
}

/* The connection is there and silent. Do not wait for a whole lease. */
TEST(a_silent_connection_is_replaced_within_a_quarter_of_the_ttl)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 4000 });

  peer_advance_ms(p, 1600);
  peer_expect(p, "renew*");
  peer_advance_ms(p, 1050);
  assert_true(peer_wants(p, 0));
  peer_connect(p, 0);
  peer_serve(p, "renew " A ":1:60", "[%lld 0 4000]", peer_server_us(p));
  peer_expect_told(p, "suspect a");
  peer_expect_told(p, "renewed a");
  peer_free(p);
}

TEST(many_leases_are_renewed_by_one_command)
{
  struct peer *p = peer_held((struct wish){ .name = "n" });

  peer_lock(p, "b", (struct wish){ .name = "m" });
  peer_serve(p, "acquire*", "[1 %lld 30000 61]", peer_server_us(p));
  peer_break(p, 0);
  peer_advance_ms(p, 1);
  peer_connect(p, 0);
  peer_expect(p, "renew " A ":1:60 " A ":2:61");
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(a_broken_lease_is_looked_at_by_message_and_lost_by_the_answer)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_lock(p, "b", (struct wish){ 0 });         /* a local waiter opens the inbox */
  peer_connect(p, 1);
  peer_serve(p, "renew*", "[%lld 0 30000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  peer_message(p, "lost " A ":1:60 n");
  peer_expect_told_nothing(p);
  peer_serve(p, "renew " A ":1:60", "[%lld -1 0]", peer_server_us(p));
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_free(p);
}

static struct peer *held_and_listening(void)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_advance_ms(p, 600);
  peer_connect(p, 1);
  peer_serve(p, "renew*", "[%lld 0 30000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  return p;
}

/* `released` names the reason only. */
TEST(a_lease_that_its_token_released_is_lost_as_let_go)
{
  struct peer *p = held_and_listening();

  peer_message(p, "released " A ":1:60 n");
  peer_expect_nothing(p);
  peer_message(p, "lost " A ":1:60 n");
  peer_expect_told_nothing(p);
  peer_serve(p, "renew " A ":1:60", "[%lld -1 3]", peer_server_us(p));
  peer_expect_told(p, "lost a DIBS_LOST let go");
  assert_non_null(strstr(peer_last_event(p), "released by its token"));
  peer_free(p);
}

/* A break would have raised the last token. */
TEST(a_lease_that_was_the_last_grant_was_let_go_also_without_a_message)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_advance_ms(p, 11200);
  peer_serve(p, "renew " A ":1:60", "[%lld -1 4]", peer_server_us(p));
  peer_expect_told(p, "lost a DIBS_LOST let go");
  peer_free(p);
}

TEST(a_lease_that_its_token_released_before_its_holder_did_was_let_go)
{
  struct peer *p = held_and_listening();

  peer_message(p, "released " A ":1:60 n");
  peer_release(p, "a");
  peer_serve(p, "release " A ":1:60", "[3 '" B ":1:61]");
  peer_expect_told(p, "released a DIBS_TAKEN let go");
  peer_free(p);
}

TEST(a_forged_release_by_token_ends_no_hold_and_is_forgotten)
{
  struct peer *p = held_and_listening();

  peer_message(p, "released " A ":1:60 n");
  peer_message(p, "lost " A ":1:60 n");
  peer_serve(p, "renew " A ":1:60", "[%lld 0 30000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  peer_message(p, "lost " A ":1:60 n");
  peer_serve(p, "renew " A ":1:60", "[%lld -1 2]", peer_server_us(p));
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_free(p);
}

TEST(a_forged_loss_costs_a_renewal_and_no_hold)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_lock(p, "b", (struct wish){ 0 });
  peer_connect(p, 1);
  peer_serve(p, "renew*", "[%lld 0 30000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  peer_message(p, "lost " A ":1:60 n");
  peer_serve(p, "renew " A ":1:60", "[%lld 0 30000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(a_lost_message_for_another_lease_is_ignored)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_lock(p, "b", (struct wish){ 0 });
  peer_connect(p, 1);
  peer_serve(p, "renew*", "[%lld 0 30000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  peer_message(p, "lost " A ":1:59 n");
  peer_expect_told_nothing(p);
  peer_free(p);
}

RUN_TESTS(NULL, NULL)

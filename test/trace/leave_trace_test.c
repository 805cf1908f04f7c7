/* SPDX-License-Identifier: MIT */
/* Stories of release and close: outcome unknown is an outcome. */
#include "tests.h"

#include <stdio.h>

#include "peer.h"

#define A PEER_CLIENT
#define B PEER_OTHER
#define KEY "dibs:m:{n}"

TEST(a_held_lock_is_released)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_release(p, "a");
  peer_expect(p, "release " A ":1:60");
  peer_expect_told_nothing(p);
  peer_answer(p, "1");
  peer_expect_told(p, "released a DIBS_OK");
  peer_free(p);
}

TEST(a_release_that_finds_the_name_free_is_of_a_lost_lease)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_release(p, "a");
  peer_serve(p, "release*", "2");
  peer_expect_told(p, "released a DIBS_LOST");
  peer_free(p);
}

TEST(a_lock_that_another_client_has_now_is_taken)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_release(p, "a");
  peer_serve(p, "release*", "[3 '" B ":4:90]");
  peer_expect_told(p, "released a DIBS_TAKEN");
  peer_free(p);
}

TEST(after_a_loss_the_name_can_be_taken_again)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_release(p, "a");
  peer_serve(p, "release*", "2");
  peer_expect_told(p, "released a DIBS_LOST");
  peer_lock(p, "b", (struct wish){ 0 });
  peer_serve(p, "acquire " KEY " 2 w", "[1 %lld 30000 61]", peer_server_us(p));
  peer_expect_told(p, "granted b");
  peer_free(p);
}

/* The reply of the release is lost; the second one finds another holder. */
TEST(not_yours_to_a_repeated_release_means_the_first_did_it)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_release(p, "a");
  peer_expect(p, "release*");
  peer_break(p, 0);
  peer_advance_ms(p, 1);
  peer_connect(p, 0);
  peer_serve(p, "release " A ":1:60", "[3 '" B ":4:90]");
  peer_expect_told(p, "released a DIBS_OK");
  peer_free(p);
}

TEST(a_refused_release_was_not_executed_and_counts_as_no_first_one)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_release(p, "a");
  peer_serve(p, "release*", "-BUSY Redis is busy running a script");
  peer_advance_ms(p, 30);
  peer_serve(p, "release*", "2");
  peer_expect_told(p, "released a DIBS_LOST");
  peer_free(p);
}

TEST(a_release_without_an_answer_is_unknown_after_the_command_timeout)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_break(p, 0);
  peer_expect_told(p, "suspect a");
  peer_release(p, "a");
  peer_advance_ms(p, 1999);
  peer_expect_told_nothing(p);
  peer_advance_ms(p, 1);
  peer_expect_told(p, "released a DIBS_UNKNOWN");
  peer_free(p);
}

/* The library goes on trying after it answered "unknown". */
TEST(an_unknown_release_is_still_delivered)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_break(p, 0);
  peer_expect_told(p, "suspect a");
  peer_release(p, "a");
  peer_advance_ms(p, 3000);
  peer_expect_told(p, "released a DIBS_UNKNOWN");
  peer_connect(p, 0);
  peer_serve(p, "release " A ":1:60", "1");
  peer_advance_ms(p, 60000);
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(a_new_wish_waits_for_the_answer_to_the_release)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_release(p, "a");
  peer_expect(p, "release*");
  peer_lock(p, "b", (struct wish){ 0 });
  peer_expect_nothing(p);
  peer_answer(p, "1");
  peer_expect(p, "acquire " KEY " 2 w");
  peer_free(p);
}

TEST(a_lease_lost_by_the_deadline_is_still_given_back)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 1000, .is_fixed = true });

  peer_advance_ms(p, 990);
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_serve(p, "release " A ":1:60", "1");
  peer_release(p, "a");
  peer_expect_told(p, "released a DIBS_LOST");
  peer_expect_nothing(p);
  peer_free(p);
}

/* Lost is told 5 ms before the end: until then its holder may not have heard of it. */
TEST(what_was_promised_is_not_given_away_before_its_end)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 1000, .is_fixed = true });

  peer_advance_ms(p, 1000 - 13 - 4);
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_expect_nothing(p);
  peer_break(p, 0);                      /* nor on a new connection */
  peer_connect(p, 0);
  peer_expect_nothing(p);
  peer_advance_ms(p, 4);
  peer_serve(p, "release " A ":1:60", "1");
  peer_free(p);
}

TEST(what_was_lost_is_given_back_by_close_at_once)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 1000, .is_fixed = true });

  peer_advance_ms(p, 1000 - 13 - 4);
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_close(p);
  peer_serve(p, "release " A ":1:60", "1");
  peer_free(p);
}

/* Before and after the release is given up; with a server there is a reply to wait for. */
TEST(close_does_not_wait_for_a_server_that_is_away_with_a_lease_that_is_over)
{
  for (int later_ms = 0; later_ms <= 20000; later_ms += 20000) {
    struct peer *p = peer_held((struct wish){ .ttl_ms = 3000 });

    peer_break(p, 0);
    peer_expect_told(p, "suspect a");
    peer_advance_ms(p, 3000 + later_ms);
    peer_expect_told(p, "lost a DIBS_LOST");
    engine_close(peer_engine(p), peer_now(p));
    peer_advance_ms(p, 0);
    peer_expect_told(p, "released a DIBS_LOST");
    peer_expect_told(p, "closed");
    peer_free(p);
  }
}

TEST(close_waits_for_the_release_of_a_lease_that_may_be_there)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 3000 });

  peer_break(p, 0);
  peer_expect_told(p, "suspect a");
  engine_close(peer_engine(p), peer_now(p));
  peer_advance_ms(p, 1000);
  peer_expect_told_nothing(p);
  peer_connect(p, 0);
  peer_serve(p, "release " A ":1:60", "1");
  peer_free(p);
}

/* Which was lost at its end before: that says nothing about the present lease. */
TEST(close_waits_for_the_release_of_the_next_lease_of_a_name)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 3000 });

  peer_break(p, 0);
  peer_expect_told(p, "suspect a");
  peer_advance_ms(p, 3000);
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_lock(p, "b", (struct wish){ .ttl_ms = 3000 });
  peer_connect(p, 0);
  peer_serve(p, "release " A ":1:60", "1");
  peer_serve(p, "acquire*", "[1 %lld 3000 90]", peer_server_us(p));
  peer_expect_told(p, "granted b");
  peer_break(p, 0);
  peer_expect_told(p, "suspect b");
  engine_close(peer_engine(p), peer_now(p));
  peer_advance_ms(p, 1000);
  peer_expect_told(p, "released a DIBS_LOST");
  peer_expect_told_nothing(p);
  peer_free(p);
}

TEST(close_releases_what_is_held_and_leaves_the_queues)
{
  struct peer *p = peer_held((struct wish){ .name = "n" });

  peer_lock(p, "b", (struct wish){ .name = "m" });
  peer_expect(p, "acquire*");
  engine_close(peer_engine(p), peer_now(p));
  peer_advance_ms(p, 0);
  peer_expect(p, "release " A ":1:60");
  peer_serve(p, "cancel 2", "[6 %lld]", peer_server_us(p));
  peer_answer(p, "1");
  peer_answer(p, "0");
  peer_advance_ms(p, 0);
  peer_expect_told(p, "failed b DIBS_ERR_CLOSED");
  peer_expect_told(p, "released a DIBS_OK");
  peer_expect_told(p, "closed");
  peer_free(p);
}

TEST(closing_an_idle_client_ends_at_once)
{
  struct peer *p = peer_new();

  engine_close(peer_engine(p), peer_now(p));
  peer_advance_ms(p, 0);
  peer_expect_told(p, "closed");
  assert_false(peer_wants(p, 0));
  peer_free(p);
}

TEST(a_stale_id_is_answered_stale)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_release(p, "a");
  peer_serve(p, "release*", "1");
  peer_expect_told(p, "released a DIBS_OK");
  assert_int_equal(engine_release(peer_engine(p), 12345, peer_now(p)), DIBS_ERR_STALE);
  assert_int_equal(engine_detach(peer_engine(p), 0, peer_now(p)), DIBS_ERR_STALE);
  peer_free(p);
}

/* ---- a server that refuses ---- */

static const char *const refusals[] = {
  "-NOPERM User u has no permissions to run the 'evalsha' command",
  "-ERR Function not found",
  "-NOREPLICAS Not enough good replicas to write.",
  "-OOM command not allowed when used memory > 'maxmemory'.",
  "-MISCONF Redis is configured to save RDB snapshots",
  "-NOAUTH Authentication required.",
  "-ERR unknown command 'EVALSHA'",
};

/* Each such command is refused for so long; returns how often it came. */
static int refuse_for(struct peer *p, const char *command, const char *error, int64_t ms)
{
  int count = 0;

  for (int64_t at = 0; at < ms; at += 50) {
    while (peer_try_expect(p, command)) {
      peer_answer(p, "%s", error);
      count++;
    }
    peer_advance_ms(p, 50);
  }
  return count;
}

TEST(a_refused_release_is_repeated_and_in_time_it_is_a_release)
{
  for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
    struct peer *p = peer_held((struct wish){ 0 });

    peer_release(p, "a");
    assert_in_range(refuse_for(p, "release " A ":1:60", refusals[i], 1500), 2, 20);
    peer_expect_told_nothing(p);
    peer_advance_to_command(p);
    peer_serve(p, "release " A ":1:60", "1");
    peer_expect_told(p, "released a DIBS_OK");
    peer_advance_ms(p, 60000);
    peer_expect_nothing(p);
    peer_free(p);
  }
}

TEST(a_release_that_is_refused_for_long_is_unknown_and_goes_on)
{
  for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
    struct peer *p = peer_held((struct wish){ 0 });

    peer_release(p, "a");
    (void)refuse_for(p, "release*", refusals[i], 1950);
    peer_expect_told_nothing(p);
    (void)refuse_for(p, "release*", refusals[i], 100);
    peer_expect_told(p, "released a DIBS_UNKNOWN");
    assert_in_range(refuse_for(p, "release*", refusals[i], 20000), 15, 50);
    peer_advance_to_command(p);
    peer_serve(p, "release " A ":1:60", "1");
    peer_advance_ms(p, 60000);
    peer_expect_nothing(p);
    peer_free(p);
  }
}

TEST(a_refused_release_is_not_repeated_after_the_end_of_its_lease)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_release(p, "a");
  (void)refuse_for(p, "release*", refusals[0], 32000);
  peer_expect_told(p, "released a DIBS_UNKNOWN");
  assert_int_equal(refuse_for(p, "release*", refusals[0], 60000), 0);
  peer_lock(p, "b", (struct wish){ 0 });
  peer_expect(p, "acquire " KEY " 2 w");
  peer_free(p);
}

/* The server stood still: it executes the renewal late, and has the lease for a ttl more. */
TEST(a_lease_whose_renewal_may_be_executed_after_a_long_outage_is_released)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 3000 });

  peer_advance_to_command(p);
  peer_expect(p, "renew " A ":1:60");
  peer_break(p, 0);
  peer_expect_told(p, "suspect a");
  peer_advance_ms(p, 20000);
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_connect(p, 0);
  peer_expect(p, "text:release " A ":1:60");
  peer_answer(p, "1");
  peer_expect_nothing(p);
  peer_free(p);
}

/* The script ended the lease, and was not permitted to tell the next holder. */
TEST(a_release_that_failed_inside_its_script_may_have_released)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_release(p, "a");
  peer_expect(p, "release*");
  peer_answer(p, "-NOPERM User u has no permissions to run the 'pexpire' command script: "
                 "f1c54cde5ac53dfa09ba9c1f43d6e0fe5b8d6c0a, on @user_script:40.");
  peer_advance_ms(p, 30);
  peer_serve(p, "release*", "[3 '" B ":4:90]");
  peer_expect_told(p, "released a DIBS_OK");
  peer_free(p);
}

TEST(a_cancel_that_is_refused_is_repeated)
{
  for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
    struct peer *p = peer_queued((struct wish){ 0 });

    peer_cancel(p, "a");
    peer_expect_told(p, "failed a DIBS_CANCELLED");
    assert_in_range(refuse_for(p, "cancel 1", refusals[i], 5000), 4, 20);
    peer_advance_to_command(p);
    peer_serve(p, "cancel 1", "1");
    peer_advance_ms(p, 120000);
    peer_expect_nothing(p);
    peer_free(p);
  }
}

/* As if it asked itself: "b" would be refused, too. */
TEST(who_waits_for_a_release_that_is_forbidden_is_denied)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_release(p, "a");
  peer_expect(p, "release*");
  peer_lock(p, "b", (struct wish){ 0 });
  peer_answer(p, "%s", refusals[0]);
  peer_expect_told(p, "failed b DIBS_ERR_DENIED");
  peer_advance_to_command(p);
  peer_expect(p, "release*");
  peer_lock(p, "c", (struct wish){ 0 });
  peer_answer(p, "1");
  peer_expect_told(p, "released a DIBS_OK");
  peer_expect(p, "acquire " KEY " 2 w");
  peer_free(p);
}

TEST(a_forbidden_release_of_a_share_is_repeated)
{
  struct peer *p = peer_asked((struct wish){ .kind = LOCK_RWLOCK, .reads = true });

  peer_serve(p, "share_acquire*", "[1 %lld 30000 30000 60 1]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  peer_release(p, "a");
  assert_in_range(refuse_for(p, "share_release*", refusals[0], 1500), 2, 20);
  peer_expect_told_nothing(p);
  peer_advance_to_command(p);
  peer_serve(p, "share_release*", "1");
  peer_expect_told(p, "released a DIBS_OK");
  peer_free(p);
}

RUN_TESTS(NULL, NULL)

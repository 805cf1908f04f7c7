/* SPDX-License-Identifier: MIT */
/* Stories of asking, waiting and being granted. protocol.md 4, 5; review F1-F5. */
#include "tests.h"

#include <stdio.h>

#include "peer.h"

#define A PEER_CLIENT
#define B PEER_OTHER
#define KEY "dibs:m:{n}"

TEST(a_free_lock_costs_one_command_and_needs_no_inbox)
{
  struct peer *p = peer_asked((struct wish){ 0 });

  peer_serve(p, "acquire " KEY " 1 w", "[1 %lld 30000 77]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  assert_int_equal(peer_fence(p, "a"), 77 * 1024);
  assert_int_equal(peer_valid_ms(p, "a"), 30000 - 303);
  assert_false(peer_wants(p, 1));
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(a_waiter_subscribes_before_it_is_queued)
{
  struct peer *p = peer_asked((struct wish){ 0 });

  peer_serve(p, "acquire " KEY " 1 w", "[6 %lld]", peer_server_us(p));
  peer_expect_nothing(p);
  assert_true(peer_wants(p, 1));
  peer_connect(p, 1);
  peer_expect(p, "acquire " KEY " 1 w");
  peer_free(p);
}

TEST(a_grant_by_message_is_believed_from_the_last_poll_and_renewed_in_time)
{
  struct peer *p = peer_queued((struct wish){ 0 });

  peer_advance_ms(p, 500);
  peer_hands_over(p, "grant " A ":1:60 30000 0 n");
  peer_expect_told(p, "granted a");
  assert_int_equal(peer_valid_ms(p, "a"), 30000 - 303 - 500);
  peer_expect_nothing(p);
  peer_advance_ms(p, 8400);                   /* not from the message: 9 s after the poll */
  peer_expect_nothing(p);
  peer_advance_ms(p, 2100);
  peer_serve(p, "renew " A ":1:60", "[%lld 0 30000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  assert_in_range(peer_valid_ms(p, "a"), 30000 - 303 - 2100, 30000 - 303);
  peer_free(p);
}

TEST(a_grant_by_message_long_after_the_last_poll_is_renewed_at_once)
{
  struct peer *p = peer_queued((struct wish){ 0 });

  peer_stop_ms(p, 8000);
  peer_hands_over(p, "grant " A ":1:60 30000 0 n");
  peer_expect_told(p, "granted a");
  assert_int_equal(peer_valid_ms(p, "a"), 30000 - 303 - 8000);
  peer_expect(p, "acquire*");                 /* the poll that was overdue */
  peer_serve(p, "renew " A ":1:60", "[2 %lld 30000 30000 60 0]", peer_server_us(p));
  peer_answer(p, "[%lld 0 30000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  assert_int_equal(peer_valid_ms(p, "a"), 30000 - 303);
  peer_free(p);
}

/* F3: the first ask was cancelled, its grant is still on the way. */
TEST(a_grant_for_an_ask_that_is_over_is_given_back)
{
  struct peer *p = peer_queued((struct wish){ 0 });

  peer_cancel(p, "a");
  peer_expect_told(p, "failed a DIBS_CANCELLED");
  peer_serve(p, "cancel 1", "0");
  peer_lock(p, "b", (struct wish){ 0 });
  peer_expect(p, "acquire " KEY " 2 w");
  peer_hands_over(p, "grant " A ":1:60 30000 0 n");
  peer_expect_told_nothing(p);
  peer_expect(p, "text:release " A ":1:60");
  peer_free(p);
}

TEST(a_grant_for_a_name_that_nobody_wants_is_given_back)
{
  struct peer *p = peer_queued((struct wish){ 0 });

  peer_cancel(p, "a");
  peer_serve(p, "cancel 1", "0");
  peer_hands_over(p, "grant " A ":1:60 30000 0 n");
  peer_expect(p, "text:release " A ":1:60");
  peer_free(p);
}

/* F4a: the answer was lost, asked again, and the message comes after the second answer. */
TEST(a_second_word_of_the_same_grant_is_ignored)
{
  struct peer *p = peer_queued((struct wish){ 0 });

  peer_break(p, 0);
  peer_advance_ms(p, 50);
  peer_connect(p, 0);
  peer_serve(p, "acquire " KEY " 1 w", "[2 %lld 29000 30000 60 0]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  peer_expect(p, "renew " A ":1:60");
  peer_hands_over(p, "grant " A ":1:60 30000 0 n");
  peer_expect_nothing(p);
  peer_expect_told_nothing(p);
  peer_free(p);
}

/* F4b: `want` may overtake the answer that grants. */
TEST(a_want_that_overtakes_the_grant_gives_nothing_back)
{
  struct peer *p = peer_queued((struct wish){ 0 });

  peer_advance_ms(p, 1100);
  peer_expect(p, "acquire " KEY " 1 w");
  peer_message(p, "want " A ":1:60 n");
  peer_expect_nothing(p);
  peer_answer(p, "[1 %lld 30000 60]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  peer_free(p);
}

TEST(a_grant_older_than_what_the_server_told_since_is_ignored)
{
  struct peer *p = peer_queued((struct wish){ 0 });

  peer_hands_over(p, "grant " A ":1:50 30000 0 n");
  peer_expect_told_nothing(p);
  peer_expect_nothing(p);
  peer_free(p);
}

/* The reply is lost, not the request. */
TEST(a_lost_grant_is_asked_for_again_by_the_same_number)
{
  struct peer *p = peer_asked((struct wish){ 0 });

  peer_expect(p, "acquire " KEY " 1 w");
  peer_advance_ms(p, 1000);
  peer_break(p, 0);
  peer_advance_ms(p, 40);
  peer_connect(p, 0);
  peer_serve(p, "acquire " KEY " 1 w", "[2 %lld 29000 30000 60 0]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  /* No longer than a lease from the first sending, whatever "remaining" says. */
  assert_in_range(peer_valid_ms(p, "a"), 1, 29000 - 293);
  peer_free(p);
}

TEST(remaining_of_a_stepped_server_cannot_lengthen_a_repeated_grant)
{
  struct peer *p = peer_asked((struct wish){ 0 });

  peer_expect(p, "acquire " KEY " 1 w");
  peer_advance_ms(p, 1900);
  peer_break(p, 0);
  peer_connect(p, 0);
  peer_serve(p, "acquire*", "[2 %lld 30000 30000 60 0]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  assert_int_equal(peer_valid_ms(p, "a"), 30000 - 303 - 1900);
  peer_free(p);
}

TEST(a_grant_that_ended_on_its_way_is_given_back_and_asked_anew)
{
  struct peer *p = peer_asked((struct wish){ .ttl_ms = 1000 });

  peer_expect(p, "acquire " KEY " 1 w");
  peer_advance_ms(p, 1500);
  peer_answer(p, "[1 %lld 1000 60]", peer_server_us(p));
  peer_expect_told_nothing(p);
  peer_serve(p, "release " A ":1:60", "1");
  peer_expect(p, "acquire " KEY " 2 w*");
  peer_free(p);
}

TEST(an_ended_ask_goes_on_under_a_new_number)
{
  struct peer *p = peer_asked((struct wish){ 0 });

  peer_serve(p, "acquire " KEY " 1 w", "[5 %lld]", peer_server_us(p));
  peer_expect(p, "acquire " KEY " 2 w");
  peer_expect_told_nothing(p);
  peer_free(p);
}

TEST(a_late_answer_is_sent_again_at_once)
{
  struct peer *p = peer_asked((struct wish){ 0 });

  peer_serve(p, "acquire " KEY " 1 w", "[7 %lld]", peer_server_us(p));
  peer_expect(p, "acquire " KEY " 1 w*");
  peer_free(p);
}

TEST(the_first_in_the_queue_polls_within_a_second)
{
  struct peer *p = peer_queued((struct wish){ 0 });

  peer_advance_ms(p, 790);
  peer_expect_nothing(p);
  peer_advance_ms(p, 220);
  peer_expect(p, "acquire " KEY " 1 w");
  peer_free(p);
}

TEST(one_far_behind_polls_only_after_the_holders_lease)
{
  struct peer *p = peer_asked((struct wish){ 0 });

  peer_serve(p, "acquire*", "[6 %lld]", peer_server_us(p));
  peer_connect(p, 1);
  peer_serve(p, "acquire*", "[3 %lld 20000 30000 '" B ":9:50 0 40]", peer_server_us(p));
  peer_advance_ms(p, 20900);
  peer_expect_nothing(p);
  peer_advance_ms(p, 200);
  peer_expect(p, "acquire*");
  peer_free(p);
}

/* Rule "over" without any wall clock: watched, unrenewed, for the whole length. */
TEST(a_lease_watched_for_its_whole_length_is_named)
{
  struct peer *p = peer_queued((struct wish){ .ttl_ms = 3000 });

  for (int i = 0; i < 31; i++) {
    peer_advance_ms(p, 1000);
    peer_expect(p, i < 30 ? "acquire " KEY " 1 w" : "acquire " KEY " 1 w watched");
    peer_answer(p, "[3 %lld %d 30000 '" B ":9:50 0 0]", peer_server_us(p),
                i < 29 ? 29000 - i * 1000 : 0);
  }
  peer_free(p);
}

TEST(a_renewal_of_the_holder_starts_the_watch_again)
{
  struct peer *p = peer_queued((struct wish){ .ttl_ms = 3000 });

  for (int i = 0; i < 40; i++) {
    peer_advance_ms(p, 1000);
    peer_expect(p, "acquire " KEY " 1 w");
    peer_answer(p, "[3 %lld 30000 30000 '" B ":9:50 %d 0]", peer_server_us(p), i / 10);
  }
  peer_free(p);
}

/* Rule "over" by the server's clock: a second after the end, and not at the next poll. */
TEST(a_lease_that_has_ended_is_asked_for_when_it_can_be_taken)
{
  struct peer *p = peer_queued((struct wish){ .ttl_ms = 30000 });
  int left = 2000;

  peer_advance_ms(p, 1000);
  peer_expect(p, "acquire " KEY " 1 w");
  peer_answer(p, "[3 %lld %d 30000 '" B ":9:50 0 0]", peer_server_us(p), left);
  for (; left > -1000; left--) {
    peer_advance_ms(p, 1);
    if (peer_try_expect(p, "acquire " KEY " 1 w"))
      peer_answer(p, "[3 %lld %d 30000 '" B ":9:50 0 0]", peer_server_us(p),
                  left - 1);
  }
  peer_advance_ms(p, 2);
  peer_expect(p, "acquire " KEY " 1 w");
  peer_free(p);
}

/* After a step of the server's clock its deadlines decide nothing. */
TEST(after_a_step_of_the_servers_clock_the_estimate_is_withheld)
{
  struct peer *p = peer_queued((struct wish){ 0 });

  peer_step_server_ms(p, 60000);
  peer_advance_ms(p, 1000);
  peer_expect(p, "acquire " KEY " 1 w");
  peer_answer(p, "[3 %lld 0 30000 '" B ":9:50 0 0]", peer_server_us(p));
  peer_advance_ms(p, 1000);
  peer_expect(p, "acquire " KEY " 1 w doubt");
  peer_free(p);
}

/* The last poll is so old that the lease may be over before the message is read. */
TEST(a_grant_after_a_long_silence_waits_for_its_renewal)
{
  struct peer *p = peer_queued((struct wish){ .ttl_ms = 4000 });

  peer_stop_ms(p, 3500);
  peer_hands_over(p, "grant " A ":1:60 4000 0 n");
  peer_expect_told_nothing(p);
  peer_expect(p, "acquire*");                 /* the poll that was overdue */
  peer_serve(p, "renew " A ":1:60", "[2 %lld 4000 4000 60 0]", peer_server_us(p));
  peer_answer(p, "[%lld 0 4000]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  assert_int_equal(peer_valid_ms(p, "a"), 4000 - 43);
  peer_free(p);
}

/* The server granted it to this client: DIBS_TIMED_OUT would say that another one has it. */
TEST(a_limit_that_ends_before_a_grant_is_confirmed_is_no_other_holder)
{
  struct peer *p = peer_queued((struct wish){ .ttl_ms = 4000, .wait_ms = 3600 });

  peer_stop_ms(p, 3500);
  peer_hands_over(p, "grant " A ":1:60 4000 0 n");
  peer_expect(p, "acquire*");
  peer_expect(p, "renew " A ":1:60");
  peer_advance_ms(p, 100);
  peer_expect_told(p, "failed a DIBS_UNKNOWN");
  peer_expect(p, "cancel 1");
  peer_free(p);
}

TEST(a_grant_that_its_renewal_does_not_confirm_is_asked_anew)
{
  struct peer *p = peer_queued((struct wish){ .ttl_ms = 4000 });

  peer_stop_ms(p, 5000);
  peer_hands_over(p, "grant " A ":1:60 4000 0 n");
  peer_expect(p, "acquire*");
  peer_serve(p, "renew " A ":1:60", "[5 %lld]", peer_server_us(p));
  peer_answer(p, "[%lld -1 0]", peer_server_us(p));
  peer_expect_told_nothing(p);
  peer_expect(p, "acquire " KEY " 2 w");
  peer_free(p);
}

TEST(a_new_inbox_asks_again_at_once)
{
  struct peer *p = peer_queued((struct wish){ 0 });

  peer_break(p, 1);
  peer_advance_ms(p, 1);
  peer_connect(p, 1);
  peer_expect(p, "acquire " KEY " 1 w");
  peer_free(p);
}

TEST(a_deaf_inbox_is_replaced)
{
  struct peer *p = peer_queued((struct wish){ 0 });

  peer_advance_ms(p, 1000);
  peer_serve(p, "acquire*", "[6 %lld]", peer_server_us(p));
  peer_advance_ms(p, 100);
  assert_true(peer_wants(p, 1));
  peer_free(p);
}

TEST(a_try_that_meets_a_holder_is_busy)
{
  struct peer *p = peer_asked((struct wish){ .is_try = true });

  peer_expect(p, "acquire " KEY " 1 t");
  peer_answer(p, "[4 %lld 30000 30000 '" B ":9:50 0 0]", peer_server_us(p));
  peer_expect_told(p, "failed a DIBS_BUSY");
  peer_expect_nothing(p);
  peer_free(p);
}

/* It ended 300 ms ago, and can be taken a second after its end. */
TEST(a_try_on_a_lease_that_has_ended_asks_again_when_it_can_be_taken)
{
  struct peer *p = peer_asked((struct wish){ .is_try = true });

  peer_expect(p, "acquire " KEY " 1 t");
  peer_answer(p, "[4 %lld -300 30000 '" B ":9:50 0 0]", peer_server_us(p));
  peer_expect_told_nothing(p);
  peer_advance_ms(p, 699);
  peer_expect_nothing(p);
  peer_advance_ms(p, 4);
  peer_serve(p, "acquire " KEY " 1 t", "%lld", peer_server_us(p));
  peer_expect_told(p, "granted a");
  peer_free(p);
}

/* Its deadline is in doubt, or the holder has renewed it meanwhile. */
TEST(a_try_waits_for_the_end_of_a_lease_once)
{
  static const int remaining[] = { -1002, 30000 };

  for (int i = 0; i < 2; i++) {
    struct peer *p = peer_asked((struct wish){ .is_try = true });

    peer_expect(p, "acquire " KEY " 1 t");
    peer_answer(p, "[4 %lld -300 30000 '" B ":9:50 0 0]", peer_server_us(p));
    peer_advance_ms(p, 703);
    peer_expect(p, "acquire " KEY " 1 t");
    peer_answer(p, "[4 %lld %d 30000 '" B ":9:50 0 0]", peer_server_us(p), remaining[i]);
    peer_expect_told(p, "failed a DIBS_BUSY");
    peer_expect(p, "cancel 1");          /* it was sent twice */
    peer_free(p);
  }
}

/* The limit of the try comes first. */
TEST(a_try_without_time_for_the_end_of_a_lease_is_busy)
{
  struct peer *p = peer_asked((struct wish){ .is_try = true, .wait_ms = 500 });

  peer_expect(p, "acquire " KEY " 1 t");
  peer_answer(p, "[4 %lld -300 30000 '" B ":9:50 0 0]", peer_server_us(p));
  peer_expect_told(p, "failed a DIBS_BUSY");
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(when_wait_ms_is_over_the_place_is_given_up)
{
  struct peer *p = peer_queued((struct wish){ .wait_ms = 700 });

  peer_advance_ms(p, 699);
  peer_expect_told_nothing(p);
  peer_advance_ms(p, 1);
  peer_expect_told(p, "failed a DIBS_TIMED_OUT");
  peer_expect(p, "cancel 1");
  peer_free(p);
}

/* S10: the answer to a cancelled ask may still grant; the cancel behind it
 * gives that back, so the engine must not believe it. */
TEST(a_grant_behind_a_cancel_is_not_believed)
{
  struct peer *p = peer_asked((struct wish){ 0 });

  peer_expect(p, "acquire " KEY " 1 w");
  peer_cancel(p, "a");
  peer_expect_told(p, "failed a DIBS_CANCELLED");
  peer_serve(p, "cancel 1", "[1 %lld 30000 60]", peer_server_us(p));
  peer_answer(p, "1");
  peer_expect_told_nothing(p);
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(a_cancel_is_repeated_until_it_is_answered)
{
  struct peer *p = peer_queued((struct wish){ 0 });

  peer_cancel(p, "a");
  peer_expect(p, "cancel 1");
  peer_break(p, 0);
  peer_connect(p, 0);
  peer_expect(p, "cancel 1");
  peer_free(p);
}

TEST(a_cancel_before_the_connection_sends_nothing)
{
  struct peer *p = peer_new();

  peer_lock(p, "a", (struct wish){ 0 });
  peer_cancel(p, "a");
  peer_expect_told(p, "failed a DIBS_CANCELLED");
  peer_connect(p, 0);
  peer_expect_nothing(p);
  peer_free(p);
}

/* ---- messages that the server did not send ---- */

static void expect_it_is_asked(struct peer *p)
{
  peer_expect_told_nothing(p);
  peer_expect(p, "acquire " KEY " 1 w");
  peer_answer(p, "[3 %lld 30000 30000 '" B ":9:50 0 0]", peer_server_us(p));
  peer_expect_told_nothing(p);
  peer_expect_nothing(p);
}

TEST(a_forged_grant_is_not_believed)
{
  struct peer *p = peer_queued((struct wish){ 0 });

  peer_message(p, "grant " A ":1:%lld 30000 0 n", peer_server_us(p));
  expect_it_is_asked(p);
  peer_message(p, "grant:00000000000000000042 " A ":1:%lld 30000 0 n", peer_server_us(p));
  expect_it_is_asked(p);
  peer_hands_over(p, "grant " A ":1:60 30000 0 n");
  peer_expect_told(p, "granted a");
  peer_free(p);
}

/* What a server script of protocol version 1 sends is a reason to ask at once. */
TEST(a_grant_without_a_nonce_is_found_by_asking)
{
  struct peer *p = peer_queued((struct wish){ 0 });

  peer_message(p, "grant " A ":1:60 30000 0 n");
  peer_serve(p, "acquire " KEY " 1 w", "[2 %lld 30000 30000 60 0]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  peer_free(p);
}

TEST(the_nonce_of_an_ask_does_not_help_another)
{
  struct peer *p = peer_queued((struct wish){ 0 });

  peer_hands_over(p, "grant " A ":1:60 30000 0 n");
  peer_expect_told(p, "granted a");
  peer_release(p, "a");
  peer_serve(p, "release " A ":1:60", "1");
  peer_expect_told(p, "released a DIBS_OK");
  peer_lock(p, "b", (struct wish){ 0 });
  peer_expect(p, "acquire " KEY " 2 w");
  peer_answer(p, "[3 %lld 30000 30000 '" B ":9:50 0 0]", peer_server_us(p));
  peer_message(p, "grant:%020llu " A ":2:60 30000 0 n", peer_nonce(1));
  peer_expect_told_nothing(p);
  peer_expect(p, "acquire " KEY " 2 w");
  peer_free(p);
}

TEST(a_grant_by_message_over_an_hour_ahead_is_not_believed_but_named)
{
  static const long long tokens[] = { 9007199254740900, 9007199254740985, 9007199254740992 };

  for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
    struct peer *p = peer_queued((struct wish){ 0 });
    char warning[64];

    peer_hands_over(p, "grant " A ":1:%lld 30000 0 n", tokens[i]);
    (void)snprintf(warning, sizeof(warning), "token %lld", tokens[i]);
    peer_expect_warning(p, warning);
    expect_it_is_asked(p);
    peer_free(p);
  }
}

/* As a client of version 1 may have left it: given back, and asked for again. */
TEST(an_answer_with_a_token_that_no_clock_shows_becomes_no_hold_and_no_floor)
{
  struct peer *p = peer_queued((struct wish){ 0 });

  peer_advance_to_command(p);
  peer_expect(p, "acquire " KEY " 1 w");
  peer_answer(p, "[2 %lld 30000 30000 9007199254740985 0]", peer_server_us(p));
  peer_expect_warning(p, "token 9007199254740985");
  peer_serve(p, "release " A ":1:9007199254740985", "1");
  peer_serve(p, "acquire " KEY " 2 w", "[1 %lld 30000 60]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  assert_int_equal(peer_fence(p, "a"), 60 * 1024);
  peer_free(p);
}

/* The server's clock was set back by two hours: the fences of this name go on. */
TEST(an_answer_with_a_token_far_ahead_is_believed_named_and_no_floor_for_others)
{
  struct peer *p = peer_queued((struct wish){ 0 });
  long long token = peer_server_us(p) + 7200000000;
  char warning[64];

  peer_advance_to_command(p);
  peer_serve(p, "acquire " KEY " 1 w", "[1 %lld 30000 %lld]", peer_server_us(p), token);
  (void)snprintf(warning, sizeof(warning), "token %lld", token);
  peer_expect_warning(p, warning);
  peer_expect_told(p, "granted a");
  assert_int_equal(peer_fence(p, "a"), token * 1024);
  peer_release(p, "a");
  (void)snprintf(warning, sizeof(warning), "release " A ":1:%lld", token);
  peer_expect(p, warning);
  peer_lock(p, "again", (struct wish){ 0 });
  peer_answer(p, "1");
  peer_expect_told(p, "released a DIBS_OK");
  peer_expect(p, "acquire " KEY " 2 w far");
  peer_answer(p, "[1 %lld 30000 %lld]", peer_server_us(p), token + 1);
  peer_expect_told(p, "granted again");
  peer_lock(p, "other", (struct wish){ .name = "elsewhere" });
  peer_expect(p, "acquire dibs:m:{elsewhere} 3 w");
  peer_free(p);
}

/* A clock that was set back makes an old grant look like one that came after the last answer. */
TEST(after_a_step_of_the_clock_a_grant_by_message_is_only_a_hint)
{
  struct peer *p = peer_queued((struct wish){ 0 });

  peer_advance_to_command(p);
  peer_expect(p, "acquire " KEY " 1 w");
  peer_answer(p, "[3 %lld 30000 30000 '" B ":9:50 0 0]", peer_server_us(p) - 7200000000);
  peer_hands_over(p, "grant " A ":1:60 30000 0 n");
  peer_expect_told_nothing(p);
  peer_expect(p, "acquire " KEY " 1 w doubt");
  peer_free(p);
}

static int commands_by(struct peer *p, int flood)
{
  int count = 0;

  for (int i = 1000; i < 21000; i++) {
    if (flood == 0)
      peer_message(p, "grant " A ":1:%d 30000 0 n", i);
    else if (flood == 1)
      peer_message(p, "grant " A ":%d:60 30000 0 n", i);
    else if (flood == 2)
      peer_message(p, "want " A ":%d:60 n", i);
    else
      peer_message(p, "share " A ":%d:60 30000 0 1 n", i);
    while (peer_try_expect(p, "*")) {
      count++;
      if (flood == 0)
        peer_answer(p, "[3 %lld 30000 30000 '" B ":9:50 0 0]", peer_server_us(p));
      else
        peer_answer(p, "1");
    }
  }
  return count;
}

TEST(a_flood_of_forged_messages_does_not_become_a_flood_of_commands)
{
  for (int flood = 0; flood < 4; flood++) {
    struct peer *p = peer_queued((struct wish){ 0 });

    assert_in_range(commands_by(p, flood), 1, 1001);
    peer_free(p);
  }
}

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* Stories inside one process: re-entry, local queue, bounded hand-over. protocol.md 6. */
#include "tests.h"

#include <stdio.h>

#include "peer.h"

#define A PEER_CLIENT
#define B PEER_OTHER
#define KEY "dibs:m:{n}"

TEST(the_owner_re_enters_without_a_word_to_the_server)
{
  struct peer *p = peer_held((struct wish){ .owner = "x" });

  peer_lock(p, "b", (struct wish){ .owner = "x" });
  peer_expect_told(p, "granted b");
  assert_int_equal(peer_fence(p, "a"), peer_fence(p, "b"));
  peer_release(p, "a");
  peer_expect_told(p, "released a DIBS_OK");
  peer_expect_nothing(p);
  peer_release(p, "b");
  peer_expect(p, "release " A ":1:60");
  peer_free(p);
}

/* Its token would end the other hold, which goes on. */
TEST(one_of_two_holds_of_an_owner_cannot_be_detached)
{
  struct peer *p = peer_held((struct wish){ .owner = "x" });

  peer_lock(p, "b", (struct wish){ .owner = "x" });
  peer_expect_told(p, "granted b");
  assert_int_equal(peer_detach(p, "a"), DIBS_ERR_ARGUMENT);
  assert_int_equal(peer_detach(p, "b"), DIBS_ERR_ARGUMENT);
  peer_release(p, "a");
  peer_expect_told(p, "released a DIBS_OK");
  assert_int_equal(peer_detach(p, "b"), DIBS_OK);
  peer_expect_told(p, "detached b DIBS_OK");
  peer_end_clean(p);
}

TEST(another_owner_of_the_same_client_waits)
{
  struct peer *p = peer_held((struct wish){ .owner = "x" });

  peer_lock(p, "b", (struct wish){ .owner = "y" });
  peer_lock(p, "c", (struct wish){ .owner = "y", .is_try = true });
  peer_expect_told(p, "failed c DIBS_BUSY");
  peer_expect_told_nothing(p);
  peer_free(p);
}

TEST(nobody_is_an_owner_without_a_key)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_lock(p, "b", (struct wish){ .is_try = true });
  peer_expect_told(p, "failed b DIBS_BUSY");
  peer_free(p);
}

/* ---- a try behind a waiter of the same client ---- */

#define TRY .is_try = true, .owner = "t"

/* "a" waits, "b" tries: neither knows more than the server has said. */
static struct peer *try_behind_an_ask(struct wish first)
{
  struct peer *p = peer_asked(first);

  peer_expect(p, "acquire " KEY " 1 w");
  peer_lock(p, "b", (struct wish){ TRY });
  peer_expect_told_nothing(p);
  return p;
}

TEST(a_try_behind_a_waiter_is_busy_only_when_the_server_has_said_so)
{
  struct peer *p = try_behind_an_ask((struct wish){ .owner = "x" });

  peer_answer(p, "[3 %lld 30000 30000 '" B ":9:50 0 0]", peer_server_us(p));
  peer_expect_told(p, "failed b DIBS_BUSY");
  peer_lock(p, "c", (struct wish){ TRY });        /* that is known now */
  peer_expect_told(p, "failed c DIBS_BUSY");
  peer_expect_told_nothing(p);
  peer_free(p);
}

TEST(a_try_behind_a_waiter_that_is_granted_is_busy)
{
  struct peer *p = try_behind_an_ask((struct wish){ .owner = "x" });

  peer_answer(p, "60");
  peer_expect_told(p, "granted a");
  peer_expect_told(p, "failed b DIBS_BUSY");
  peer_expect_told_nothing(p);
  peer_free(p);
}

TEST(a_try_of_the_owner_that_is_granted_meanwhile_re_enters)
{
  struct peer *p = try_behind_an_ask((struct wish){ .owner = "t" });

  peer_answer(p, "60");
  peer_expect_told(p, "granted a");
  peer_expect_told(p, "granted b");
  peer_free(p);
}

TEST(a_try_behind_a_waiter_of_a_server_that_cannot_decide_is_not_busy)
{
  struct peer *p = try_behind_an_ask((struct wish){ .owner = "x", .wait_ms = 20000 });

  peer_answer(p, "-CLUSTERDOWN The cluster is down");
  for (int i = 0; i < 510 && !peer_try_told(p, "failed a DIBS_ERR_UNREACHABLE"); i++) {
    peer_expect_told_nothing(p);
    peer_advance_ms(p, 10);
    while (peer_try_expect(p, "acquire*"))
      peer_answer(p, "-CLUSTERDOWN The cluster is down");
  }
  peer_expect_told(p, "failed b DIBS_ERR_UNREACHABLE");
  peer_free(p);
}

TEST(a_try_behind_a_queued_waiter_without_a_server_is_not_busy)
{
  struct peer *p = peer_queued((struct wish){ .owner = "x" });

  peer_break(p, 0);
  peer_lock(p, "b", (struct wish){ TRY });
  peer_expect_told_nothing(p);
  for (int i = 0; i < 52; i++) {
    if (peer_wants(p, 0))
      peer_break(p, 0);
    peer_advance_ms(p, 100);
  }
  peer_expect_told(p, "failed b DIBS_ERR_UNREACHABLE");
  peer_expect_told_nothing(p);
  peer_free(p);
}

/* The waiter gives up; its entry in the queue is not one of the try. */
TEST(a_try_that_is_left_alone_in_the_queue_is_busy_and_leaves_it)
{
  struct peer *p = try_behind_an_ask((struct wish){ .owner = "x" });

  peer_cancel(p, "a");
  peer_expect_told(p, "failed a DIBS_CANCELLED");
  peer_expect_told_nothing(p);
  peer_answer(p, "[3 %lld 30000 30000 '" B ":9:50 0 0]", peer_server_us(p));
  peer_expect_told(p, "failed b DIBS_BUSY");
  peer_expect(p, "cancel 1");
  peer_free(p);
}

TEST(a_try_that_is_left_alone_gets_the_name_if_it_is_free)
{
  struct peer *p = try_behind_an_ask((struct wish){ .owner = "x" });

  peer_cancel(p, "a");
  peer_expect_told(p, "failed a DIBS_CANCELLED");
  peer_answer(p, "60");
  peer_expect_told(p, "granted b");
  peer_free(p);
}

/* One answer ends all tries that began before it was asked for, and no later one. */
TEST(tries_share_an_answer_that_was_asked_for_after_they_began)
{
  struct peer *p = peer_new();

  peer_lock(p, "a", (struct wish){ .is_try = true, .owner = "x" });
  peer_lock(p, "b", (struct wish){ TRY });
  peer_connect(p, 0);
  peer_expect(p, "acquire " KEY " 1 t");
  peer_advance_ms(p, 1);
  peer_lock(p, "c", (struct wish){ .is_try = true, .owner = "y" });
  peer_expect_told_nothing(p);
  peer_answer(p, "[4 %lld 20000 30000 '" B ":9:50 0 0]", peer_server_us(p));
  peer_expect_told(p, "failed a DIBS_BUSY");
  peer_expect_told(p, "failed b DIBS_BUSY");
  peer_expect_told_nothing(p);
  peer_serve(p, "acquire " KEY " 2 t", "60");
  peer_expect_told(p, "granted c");
  peer_free(p);
}

TEST(no_reentry_is_refused_at_once)
{
  struct peer *p = peer_held((struct wish){ .owner = "x" });

  peer_lock(p, "b", (struct wish){ .owner = "x", .no_reentry = true });
  peer_expect_told(p, "failed b DIBS_WOULD_DEADLOCK");
  peer_expect_nothing(p);
  peer_free(p);
}

/* The lease of the outermost hold, and what an inner hold wants of its end. */
TEST(an_inner_hold_has_the_end_that_it_wants_or_is_refused)
{
  static const struct { struct wish outer, inner; bool is_granted; } rows[] = {
    { { .ttl_ms = 3000 }, { .is_fixed = true, .ttl_ms = 3000 }, false },
    { { .ttl_ms = 3000, .max_hold_ms = 9000 }, { .is_fixed = true, .ttl_ms = 9000 }, false },
    { { .ttl_ms = 3000, .is_fixed = true }, { .is_fixed = true, .ttl_ms = 3000 }, true },
    { { .ttl_ms = 3000, .is_fixed = true }, { .is_fixed = true, .ttl_ms = 2000 }, false },
    { { .ttl_ms = 3000, .is_fixed = true }, { .ttl_ms = 3000 }, true },
    { { .ttl_ms = 3000 }, { .ttl_ms = 3000, .max_hold_ms = 9000 }, false },
    { { .ttl_ms = 3000, .max_hold_ms = 9000 }, { .ttl_ms = 3000, .max_hold_ms = 9000 }, true },
    { { .ttl_ms = 3000, .max_hold_ms = 9000 }, { .ttl_ms = 3000, .max_hold_ms = 8999 }, false },
    { { .ttl_ms = 3000, .is_fixed = true }, { .ttl_ms = 3000, .max_hold_ms = 3000 }, true },
  };

  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct wish outer = rows[i].outer, inner = rows[i].inner;
    struct peer *p;

    outer.owner = inner.owner = "x";
    p = peer_held(outer);
    peer_lock(p, "b", inner);
    peer_expect_told(p, rows[i].is_granted ? "granted b" : "failed b DIBS_ERR_ARGUMENT");
    peer_expect_nothing(p);
    peer_free(p);
  }
}

TEST(re_entry_with_a_longer_ttl_lengthens_the_lease)
{
  struct peer *p = peer_held((struct wish){ .owner = "x", .ttl_ms = 1000 });

  peer_lock(p, "b", (struct wish){ .owner = "x", .ttl_ms = 9000 });
  peer_serve(p, "renew " A ":1:60", "[%lld 0 9000]", peer_server_us(p));
  peer_expect_told(p, "granted b");
  peer_free(p);
}

/* With the inbox open and nobody elsewhere, hand-over inside costs nothing. */
static struct peer *held_before(struct wish next)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_lock(p, "b", next);
  peer_connect(p, 1);
  peer_serve(p, "renew*", "[%lld 0 30000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  return p;
}

static struct peer *held_with_inbox(void)
{
  return held_before((struct wish){ 0 });
}

/* It would block the name for 30 s if the process died now, and b wants 3 s for that. */
TEST(a_lease_is_not_passed_to_a_waiter_with_a_shorter_ttl_before_its_last_part)
{
  static const struct { int after_ms; bool passes; } rows[] = { { 0, false }, { 27500, true } };

  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct peer *p = held_before((struct wish){ .ttl_ms = 3000 });

    peer_stop_ms(p, rows[i].after_ms);
    peer_release(p, "a");
    if (rows[i].passes) {
      peer_expect_told(p, "released a DIBS_OK");
      peer_expect_told(p, "granted b");
    } else {
      peer_expect(p, "release " A ":1:60");
    }
    peer_free(p);
  }
}

static void passes_from_a_to_b(struct peer *p)
{
  peer_release(p, "a");
  peer_expect_told(p, "released a DIBS_OK");
  peer_expect_told(p, "granted b");
}

TEST(the_next_waiter_of_the_process_gets_it_without_the_server)
{
  struct peer *p = held_with_inbox();

  passes_from_a_to_b(p);
  peer_expect_nothing(p);
  assert_true(peer_fence(p, "b") > peer_fence(p, "a"));
  peer_free(p);
}

/* "a" holds and "b" waits; each asks again. Then the server decides who is next. */
static void expect_sixteen_in_a_row(struct peer *p)
{
  int count = 0;

  for (count = 0; count < 100; count++) {
    const char *holder = count % 2 ? "b" : "a", *next = count % 2 ? "a" : "b";
    char released[32], granted[32];

    snprintf(released, sizeof(released), "released %s DIBS_OK", holder);
    snprintf(granted, sizeof(granted), "granted %s", next);
    peer_release(p, holder);
    if (count == 16)
      break;
    peer_expect_told(p, released);
    peer_expect_told(p, granted);
    peer_lock(p, holder, (struct wish){ 0 });
  }
  peer_expect(p, "release " A ":1:60");
  peer_expect_told_nothing(p);
  peer_free(p);
}

TEST(with_waiters_elsewhere_at_most_sixteen_in_a_row)
{
  struct peer *p = held_with_inbox();

  peer_message(p, "want " A ":1:60 n");
  expect_sixteen_in_a_row(p);
}

static struct peer *handed_over(void)
{
  struct peer *p = peer_queued((struct wish){ 0 });

  peer_lock(p, "b", (struct wish){ 0 });
  peer_hands_over(p, "grant " A ":1:60 30000 0 n");
  peer_expect_told(p, "granted a");
  return p;
}

/* The server says nothing of the next one that comes: script/queue, handed over. */
TEST(a_lease_that_was_handed_over_passes_as_if_others_waited)
{
  expect_sixteen_in_a_row(handed_over());
}

TEST(until_it_is_renewed_and_nobody_waits)
{
  struct peer *p = handed_over();

  peer_advance_to_command(p);
  peer_serve(p, "renew " A ":1:60", "[%lld 0 30000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  for (int i = 0; i < 40; i++) {
    peer_release(p, "a");
    peer_expect_told(p, "released a DIBS_OK");
    peer_expect_told(p, "granted b");
    peer_lock(p, "a", (struct wish){ 0 });
    peer_release(p, "b");
    peer_expect_told(p, "released b DIBS_OK");
    peer_expect_told(p, "granted a");
    peer_lock(p, "b", (struct wish){ 0 });
  }
  peer_expect_nothing(p);
  peer_free(p);
}

/* The message comes by another connection than the reply, which is older. */
TEST(a_reply_from_before_a_want_does_not_deny_it)
{
  struct peer *p = held_with_inbox();

  peer_advance_to_command(p);
  peer_expect(p, "renew " A ":1:60");
  peer_message(p, "want " A ":1:60 n");
  peer_renew(p);
  peer_expect_told(p, "renewed a");
  expect_sixteen_in_a_row(p);
}

/* "a" waits again, and "b" releases. */
static void b_has_it_for_over_ten_milliseconds(struct peer *p)
{
  passes_from_a_to_b(p);
  peer_lock(p, "a", (struct wish){ 0 });
  peer_advance_ms(p, 11);
  peer_release(p, "b");
}

TEST(the_reply_to_a_later_renewal_says_who_waits)
{
  struct peer *p = held_with_inbox();

  peer_message(p, "want " A ":1:60 n");
  peer_advance_to_command(p);
  peer_serve(p, "renew " A ":1:60", "[%lld 0 30000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  b_has_it_for_over_ten_milliseconds(p);
  peer_expect_told(p, "released b DIBS_OK");
  peer_expect_told(p, "granted a");
  peer_free(p);
}

TEST(with_waiters_elsewhere_ten_milliseconds_end_it_too)
{
  struct peer *p = held_with_inbox();

  peer_message(p, "want " A ":1:60 n");
  b_has_it_for_over_ten_milliseconds(p);
  peer_expect(p, "release " A ":1:60");
  peer_free(p);
}

TEST(alone_the_process_hands_over_until_the_local_numbers_end)
{
  struct peer *p = held_with_inbox();
  uint64_t before = peer_fence(p, "a");
  int count;

  for (count = 0; count < 1023; count++) {
    const char *holder = count % 2 ? "b" : "a", *next = count % 2 ? "a" : "b";
    char line[32];

    peer_release(p, holder);
    snprintf(line, sizeof(line), "released %s DIBS_OK", holder);
    peer_expect_told(p, line);
    snprintf(line, sizeof(line), "granted %s", next);
    peer_expect_told(p, line);
    assert_true(peer_fence(p, next) > before);
    before = peer_fence(p, next);
    peer_lock(p, holder, (struct wish){ 0 });
  }
  peer_release(p, "b");
  peer_expect(p, "release " A ":1:60");
  peer_free(p);
}

TEST(a_fixed_lease_is_never_passed_on_inside)
{
  struct peer *p = peer_held((struct wish){ .is_fixed = true });

  peer_lock(p, "b", (struct wish){ 0 });
  peer_release(p, "a");
  peer_serve(p, "release " A ":1:60", "1");
  peer_expect(p, "acquire " KEY " 2 w");
  peer_free(p);
}

/* "a" has a lease of 1 s and a hold of 900 ms, its inbox stands. Renewed about every 500 ms, it is
 * renewed once, for what is left of the hold. */
static struct peer *held_with_limit(int64_t linger_ms)
{
  engine_settings s = peer_settings();
  struct peer *p;

  s.renew_every = SPAN_MS(500);
  p = peer_new_with(&s);
  peer_lock(p, "a", (struct wish){ .ttl_ms = 1000, .max_hold_ms = 900, .linger_ms = linger_ms });
  peer_connect(p, 0);
  peer_serve(p, "acquire*", "[1 %lld 1000 60]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  if (linger_ms == 0)
    peer_lock(p, "b", (struct wish){ .ttl_ms = 1000 });
  peer_connect(p, 1);
  peer_serve(p, "renew*", "[%lld 0 900]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  return p;
}

/* Its next renewal would be due when it has ended. */
TEST(a_lease_that_a_limit_has_cut_is_renewed_at_once_for_the_next_holder)
{
  for (int is_answered = 0; is_answered <= 1; is_answered++) {
    struct peer *p = held_with_limit(0);

    peer_advance_to_command(p);
    peer_expect(p, "renew " A ":1:60");
    if (is_answered) {
      peer_answer(p, "[%lld 0 %lld]", peer_server_us(p), (long long)peer_valid_ms(p, "a"));
      peer_expect_told(p, "renewed a");
    }
    peer_release(p, "a");
    peer_expect_told(p, "released a DIBS_OK");
    peer_expect_told(p, "granted b");
    peer_expect(p, "renew " A ":1:60");
    if (!is_answered) {
      peer_answer(p, "[%lld 0 %lld]", peer_server_us(p), (long long)peer_valid_ms(p, "b"));
      peer_expect_told(p, "renewed b");
    }
    peer_answer(p, "[%lld 0 1000]", peer_server_us(p));
    peer_expect_told(p, "renewed b");
    assert_in_range(peer_valid_ms(p, "b"), 900, 1000);
    peer_free(p);
  }
}

TEST(a_lease_that_a_limit_has_cut_is_renewed_at_once_when_it_lingers)
{
  struct peer *p = held_with_limit(2000);

  peer_advance_to_command(p);
  peer_serve(p, "renew*", "[%lld 0 %lld]", peer_server_us(p), (long long)peer_valid_ms(p, "a"));
  peer_expect_told(p, "renewed a");
  peer_release(p, "a");
  peer_expect_told(p, "released a DIBS_OK");
  peer_expect(p, "renew " A ":1:60");
  peer_free(p);
}

TEST(a_limit_that_has_cut_no_renewal_costs_none)
{
  struct peer *p = held_with_limit(0);

  peer_release(p, "a");
  peer_expect_told(p, "released a DIBS_OK");
  peer_expect_told(p, "granted b");
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(a_thousand_waiting_threads_are_one_ask)
{
  struct peer *p = peer_new();

  for (int i = 0; i < 50; i++) {
    static char names[50][8];
    snprintf(names[i], sizeof(names[i]), "w%d", i);
    peer_lock(p, names[i], (struct wish){ 0 });
  }
  peer_connect(p, 0);
  peer_expect(p, "acquire " KEY " 1 w");
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(when_the_hold_is_lost_the_next_waiter_asks_anew)
{
  struct peer *p = held_with_inbox();

  peer_message(p, "lost " A ":1:60 n");
  peer_serve(p, "renew " A ":1:60", "[%lld -1 0]", peer_server_us(p));
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_serve(p, "release " A ":1:60", "[3 '" B ":4:90]");
  peer_serve(p, "acquire " KEY " 2 w", "[1 %lld 30000 99]", peer_server_us(p));
  peer_expect_told(p, "granted b");
  peer_release(p, "a");
  peer_expect_told(p, "released a DIBS_TAKEN");
  peer_free(p);
}

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* Stories of seats: readers, writers and permits between lost answers, late messages and
 * broken connections. doc/design/protocol.md 9. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "peer.h"

#define A PEER_CLIENT
#define B PEER_OTHER
#define KEY "dibs:m:{n}"

static long long now_us(struct peer *p) { return (long long)peer_server_us(p); }

/* "a" has the share A:1:60 of 3 s. */
static struct peer *seated(struct wish w)
{
  struct peer *p = peer_new();

  w.ttl_ms = w.ttl_ms > 0 ? w.ttl_ms : 3000;
  peer_lock(p, "a", w);
  peer_connect(p, 0);
  peer_expect(p, "share_acquire*");
  peer_answer(p, "[1 %lld %lld %lld 60 %lld]", now_us(p), (long long)w.ttl_ms,
              (long long)w.ttl_ms, (long long)(w.units > 0 ? w.units : 1));
  peer_expect_told(p, "granted a");
  return p;
}

/* The answer `waiting` behind B:9:50, which has all its time left; T is the last token. */
static void answer_waiting(struct peer *p, int rank, int last)
{
  peer_answer(p, "[3 %lld 30000 30000 '" B ":9:50 0 %d %d]", now_us(p), rank, last);
}

/* "a" waits, ttl 3 s, its inbox stands. */
static struct peer *queued(struct wish w)
{
  struct peer *p = peer_new();

  w.ttl_ms = 3000;
  peer_lock(p, "a", w);
  peer_connect(p, 0);
  peer_expect(p, "share_acquire*");
  peer_answer(p, "[6 %lld]", now_us(p));
  peer_connect(p, 1);
  peer_expect(p, "share_acquire*");
  answer_waiting(p, 0, 50);
  return p;
}

static void reconnect(struct peer *p)
{
  peer_break(p, 0);
  peer_advance_ms(p, 1);
  peer_connect(p, 0);
}

static void forget(struct peer *p)
{
  assert_int_equal(engine_get_stats(peer_engine(p)).names, 0);
  peer_expect_told_nothing(p);
  peer_expect_nothing(p);
  peer_free(p);
}

/* ---- asking ---- */

static void an_answer_lost_with_its_connection_is_asked_for_again(void **state)
{
  struct peer *p = peer_new();

  (void)state;
  peer_lock(p, "a", (struct wish){ .kind = LOCK_READ, .ttl_ms = 3000 });
  peer_connect(p, 0);
  peer_expect(p, "share_acquire " KEY " 1 r w");
  reconnect(p);
  peer_expect(p, "share_acquire " KEY " 1 r w");
  peer_answer(p, "[2 %lld 2990 3000 60 0 1]", now_us(p));
  peer_expect_told(p, "granted a");
  assert_in_range(peer_valid_ms(p, "a"), 1, 2999 - 33);
  peer_expect(p, "share_renew " A ":1:60 r");
  peer_free(p);
}

/* It may be over since, and another's: only a renewal tells. */
static void an_old_grant_found_by_asking_again_is_confirmed_before_it_is_believed(void **state)
{
  struct peer *p = peer_new();

  (void)state;
  peer_lock(p, "a", (struct wish){ .kind = LOCK_WRITE, .ttl_ms = 3000 });
  peer_connect(p, 0);
  peer_expect(p, "share_acquire*");
  peer_break(p, 0);
  peer_advance_ms(p, 3500);
  peer_connect(p, 0);
  peer_expect(p, "share_acquire*");
  peer_answer(p, "[2 %lld 3000 3000 60 0 1]", now_us(p));
  peer_expect_told_nothing(p);
  peer_expect(p, "share_renew " A ":1:60 w");
  peer_answer(p, "[%lld -1 0]", now_us(p));
  peer_expect_told_nothing(p);
  peer_expect(p, "share_acquire " KEY " 2 w w");
  peer_free(p);
}

static void the_release_of_an_ask_that_was_cut_leaves_a_tombstone(void **state)
{
  struct peer *p = peer_new();

  (void)state;
  peer_lock(p, "a", (struct wish){ .kind = LOCK_PERMITS, .units = 2, .ttl_ms = 3000 });
  peer_connect(p, 0);
  peer_expect(p, "share_acquire " KEY " 1 p2 w");
  reconnect(p);
  peer_expect(p, "share_acquire " KEY " 1 p2 w");
  peer_answer(p, "[2 %lld 2990 3000 60 0 2]", now_us(p));
  peer_expect_told(p, "granted a");
  peer_expect(p, "share_renew*");
  peer_answer(p, "[%lld 0 3000]", now_us(p));
  peer_expect_told(p, "renewed a");
  peer_release(p, "a");
  peer_expect(p, "share_release " A ":1:60 tombstone");
  peer_answer(p, "1");
  peer_expect_told(p, "released a DIBS_OK");
  forget(p);
}

static void the_release_of_an_ask_that_was_sent_once_leaves_none(void **state)
{
  struct peer *p = seated((struct wish){ .kind = LOCK_READ });

  (void)state;
  peer_release(p, "a");
  peer_expect(p, "share_release " A ":1:60");
  peer_answer(p, "1");
  peer_expect_told(p, "released a DIBS_OK");
  forget(p);
}

static void a_release_lost_and_repeated_was_done_by_the_first(void **state)
{
  struct peer *p = seated((struct wish){ .kind = LOCK_WRITE });

  (void)state;
  peer_release(p, "a");
  peer_expect(p, "share_release " A ":1:60");
  reconnect(p);
  peer_expect(p, "share_release " A ":1:60");
  peer_answer(p, "2");
  peer_expect_told(p, "released a DIBS_OK");
  forget(p);
}

/* Its poll may be on its way behind the grant: cut with the connection, it could be granted
 * once more when nobody wants it. */
static void a_poll_cut_after_the_grant_by_message_leaves_a_tombstone_too(void **state)
{
  struct peer *p = queued((struct wish){ .kind = LOCK_READ });

  (void)state;
  peer_advance_to_command(p);
  peer_expect(p, "share_acquire " KEY " 1 r w");
  peer_message(p, "share " A ":1:60 3000 0 1 n");
  peer_expect_told(p, "granted a");
  while (peer_try_expect(p, "share_renew*"))
    ;
  peer_release(p, "a");
  peer_expect(p, "share_release " A ":1:60");
  reconnect(p);
  peer_expect(p, "share_release " A ":1:60 tombstone");
  peer_answer(p, "2");
  peer_expect_told(p, "released a DIBS_OK");
  forget(p);
}

static void a_cancelled_ask_ends_everywhere(void **state)
{
  struct peer *p = queued((struct wish){ .kind = LOCK_WRITE });

  (void)state;
  peer_cancel(p, "a");
  peer_expect_told(p, "failed a DIBS_CANCELLED");
  peer_expect(p, "share_cancel " A ":1");
  peer_message(p, "share " A ":1:60 3000 0 1 n");      /* the cancel gives it back */
  peer_expect_nothing(p);
  peer_answer(p, "1");
  forget(p);
}

/* ---- messages ---- */

static void a_message_before_the_answer_to_a_poll_is_the_grant(void **state)
{
  struct peer *p = queued((struct wish){ .kind = LOCK_READ });

  (void)state;
  peer_advance_to_command(p);
  peer_expect(p, "share_acquire " KEY " 1 r w");
  peer_message(p, "share " A ":1:60 3000 2 1 n");
  peer_expect_told(p, "granted a");
  peer_answer(p, "[2 %lld 3000 3000 60 0 1]", now_us(p));
  peer_expect_told_nothing(p);
  assert_in_range(peer_valid_ms(p, "a"), 1, 3000 - 33);
  peer_free(p);
}

/* The share of the first message is over and another's when the ask is queued anew; what
 * was granted before that answer is not what is granted after it. */
static void a_message_older_than_the_last_answer_is_not_believed(void **state)
{
  struct peer *p = queued((struct wish){ .kind = LOCK_WRITE });

  (void)state;
  peer_stop_ms(p, 5000);
  peer_expect(p, "share_acquire " KEY " 1 w w");
  peer_answer(p, "[3 %lld 3000 3000 '" B ":10:61 0 0 61]", now_us(p));
  peer_message(p, "share " A ":1:60 3000 0 1 n");
  peer_expect_told_nothing(p);
  peer_message(p, "share " A ":1:62 3000 0 1 n");
  peer_expect_told(p, "granted a");
  peer_free(p);
}

static void a_grant_message_too_old_to_believe_is_confirmed(void **state)
{
  struct peer *p = queued((struct wish){ .kind = LOCK_PERMITS });

  (void)state;
  peer_break(p, 0);
  peer_advance_ms(p, 3100);
  peer_message(p, "share " A ":1:60 3000 0 1 n");
  peer_expect_told_nothing(p);
  peer_connect(p, 0);
  peer_expect(p, "share_renew " A ":1:60 p");
  peer_answer(p, "[%lld 0 3000]", now_us(p));
  peer_expect_told(p, "granted a");
  peer_free(p);
}

static void a_share_for_an_ask_nobody_has_is_given_back_as_a_share(void **state)
{
  struct peer *p = queued((struct wish){ .kind = LOCK_READ });

  (void)state;
  peer_message(p, "share " A ":7:60 3000 0 1 n");
  peer_expect(p, "text:share_release " A ":7:60 tombstone");
  peer_answer(p, "1");
  peer_message(p, "share " A ":8:61 3000 0 1 other");
  peer_expect(p, "text:share_release " A ":8:61 tombstone");
  peer_answer(p, "1");
  peer_message(p, "grant " A ":9:62 3000 0 n");
  peer_expect(p, "text:release " A ":9:62");
  peer_expect_told_nothing(p);
  peer_free(p);
}

static void who_is_dropped_from_the_queue_asks_why(void **state)
{
  struct peer *p = queued((struct wish){ .kind = LOCK_PERMITS, .units = 5 });

  (void)state;
  peer_message(p, "lost " A ":1:0 n");
  peer_expect(p, "share_acquire " KEY " 1 p5 w");
  peer_answer(p, "[8 %lld 4]", now_us(p));
  peer_expect_told(p, "failed a DIBS_ERR_ARGUMENT");
  peer_expect(p, "share_cancel " A ":1");      /* it was asked for more than once */
  peer_answer(p, "0");
  forget(p);
}

static void a_broken_share_is_lost_and_given_back(void **state)
{
  struct peer *p = seated((struct wish){ .kind = LOCK_READ });

  (void)state;
  peer_lock(p, "w", (struct wish){ .name = "m" });    /* keeps an inbox */
  peer_expect(p, "acquire*");
  peer_answer(p, "[6 %lld]", now_us(p));
  peer_connect(p, 1);
  peer_expect(p, "share_renew*");
  peer_expect(p, "acquire*");
  peer_message(p, "lost " A ":1:60 n");
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_expect(p, "share_release " A ":1:60");
  peer_free(p);
}

/* ---- readers together ---- */

static void readers_that_come_while_the_first_asks_go_with_it(void **state)
{
  struct peer *p = peer_new();

  (void)state;
  peer_lock(p, "a", (struct wish){ .kind = LOCK_READ, .owner = "a", .ttl_ms = 3000 });
  peer_lock(p, "b", (struct wish){ .kind = LOCK_READ, .owner = "b", .ttl_ms = 3000 });
  peer_lock(p, "c", (struct wish){ .kind = LOCK_READ, .owner = "c", .ttl_ms = 3000 });
  peer_connect(p, 0);
  peer_expect(p, "share_acquire " KEY " 1 r w");
  peer_expect_nothing(p);
  peer_cancel(p, "b");
  peer_expect_told(p, "failed b DIBS_CANCELLED");
  peer_answer(p, "[1 %lld 3000 3000 60 1]", now_us(p));
  peer_expect_told(p, "granted a");
  peer_expect_told(p, "granted c");
  assert_true(peer_fence(p, "c") > peer_fence(p, "a"));
  assert_int_equal(peer_valid_ms(p, "c"), peer_valid_ms(p, "a"));
  peer_release(p, "a");
  peer_expect_told(p, "released a DIBS_OK");
  peer_expect_nothing(p);
  peer_release(p, "c");
  peer_expect(p, "share_release " A ":1:60");
  peer_free(p);
}

static void when_the_first_gives_up_the_others_go_on_asking(void **state)
{
  struct peer *p = peer_new();

  (void)state;
  peer_lock(p, "a", (struct wish){ .kind = LOCK_READ, .owner = "a", .ttl_ms = 3000 });
  peer_lock(p, "b", (struct wish){ .kind = LOCK_READ, .owner = "b", .ttl_ms = 3000 });
  peer_connect(p, 0);
  peer_expect(p, "share_acquire " KEY " 1 r w");
  peer_cancel(p, "a");
  peer_expect_told(p, "failed a DIBS_CANCELLED");
  peer_expect_nothing(p);
  peer_answer(p, "[1 %lld 3000 3000 60 1]", now_us(p));
  peer_expect_told(p, "granted b");
  peer_free(p);
}

/* A fence has room for 1024 holds of one lease: the next grant's begin above them. */
static void no_more_readers_go_together_than_have_fences(void **state)
{
  static char who[1100][8];
  struct peer *p = peer_new();
  engine_stats s;
  lock_request r = { .kind = LOCK_READ, .name = "n", .name_size = 1, .ttl = SPAN_MS(3000),
                     .give_up_at = INSTANT_NEVER };
  uint64_t id;

  (void)state;
  for (size_t i = 0; i < sizeof(who) / sizeof(who[0]); i++) {
    r.context = who[i];
    assert_int_equal(engine_lock(peer_engine(p), &r, peer_now(p), &id), DIBS_OK);
  }
  s = engine_get_stats(peer_engine(p));
  assert_int_equal(s.names, 2);
  assert_int_equal(s.waiting, 1100);
  peer_free(p);
}

static void a_reader_does_not_join_a_lease_that_is_nearly_over(void **state)
{
  engine_settings s = peer_settings();
  struct peer *p;

  (void)state;
  s.local_handover_time = SPAN_MS(60000);
  p = peer_new_with(&s);
  peer_lock(p, "a", (struct wish){ .kind = LOCK_READ, .owner = "a", .ttl_ms = 3000 });
  peer_connect(p, 0);
  peer_expect(p, "share_acquire*");
  peer_stop_ms(p, 1900);
  peer_answer(p, "[1 %lld 3000 3000 60 1]", now_us(p));
  peer_expect_told(p, "granted a");
  peer_lock(p, "b", (struct wish){ .kind = LOCK_READ, .owner = "b", .ttl_ms = 3000 });
  peer_expect_told(p, "granted b");
  peer_stop_ms(p, 100);
  peer_lock(p, "c", (struct wish){ .kind = LOCK_READ, .owner = "c", .ttl_ms = 3000 });
  peer_expect_told_nothing(p);
  peer_free(p);
}

static void a_reader_does_not_go_in_past_somebody_who_is_known_to_wait(void **state)
{
  struct peer *p = queued((struct wish){ .kind = LOCK_READ, .owner = "a" });

  (void)state;
  peer_lock(p, "b", (struct wish){ .kind = LOCK_READ, .owner = "b", .ttl_ms = 3000 });
  peer_expect(p, "share_acquire " KEY " 2 r w");        /* "a" has its place already */
  peer_message(p, "share " A ":1:60 3000 1 1 n");
  peer_expect_told(p, "granted a");
  peer_lock(p, "c", (struct wish){ .kind = LOCK_READ, .owner = "c", .ttl_ms = 3000 });
  peer_expect_told_nothing(p);                          /* with "b", not with "a" */
  peer_expect_nothing(p);
  peer_lock(p, "d", (struct wish){ .kind = LOCK_READ, .owner = "a", .ttl_ms = 3000 });
  peer_expect_told(p, "granted d");                     /* re-entry, whoever waits */
  peer_free(p);
}

static void one_seat_with_room_is_shared_only_while_nobody_waits(void **state)
{
  engine_settings s = peer_settings();
  struct peer *p;

  (void)state;
  s.local_handover_time = SPAN_MS(60000);
  p = peer_new_with(&s);
  peer_lock(p, "a", (struct wish){ .kind = LOCK_READ, .owner = "a", .ttl_ms = 3000 });
  peer_connect(p, 0);
  peer_expect(p, "share_acquire*");
  peer_answer(p, "[1 %lld 3000 3000 60 1]", now_us(p));
  peer_expect_told(p, "granted a");
  peer_advance_to_command(p);
  peer_expect(p, "share_renew " A ":1:60 r");
  peer_answer(p, "[%lld 1 3000]", now_us(p));
  peer_expect_told(p, "renewed a");
  peer_lock(p, "b", (struct wish){ .kind = LOCK_READ, .owner = "b", .ttl_ms = 3000 });
  peer_expect(p, "share_acquire " KEY " 2 r w");
  peer_free(p);
}

/* Its place on the server was told to end with the first one's patience. */
static void when_the_first_loses_patience_the_place_is_kept_for_the_others(void **state)
{
  struct peer *p = peer_new();

  (void)state;
  peer_lock(p, "a", (struct wish){ .kind = LOCK_READ, .owner = "a", .wait_ms = 200,
                                   .ttl_ms = 3000 });
  peer_connect(p, 0);
  peer_expect(p, "share_acquire " KEY " 1 r w");
  peer_lock(p, "b", (struct wish){ .kind = LOCK_READ, .owner = "b", .ttl_ms = 3000 });
  peer_expect_nothing(p);
  answer_waiting(p, 5, 50);
  peer_advance_ms(p, 199);
  peer_expect_nothing(p);
  peer_advance_ms(p, 1);
  peer_expect_told(p, "failed a DIBS_TIMED_OUT");
  peer_expect(p, "share_acquire " KEY " 1 r w");
  answer_waiting(p, 5, 50);
  peer_expect_nothing(p);
  peer_free(p);
}

/* A lease with more holders than one is nobody's to give into other hands. */
static void a_reader_that_shares_its_lease_cannot_be_detached(void **state)
{
  struct peer *p = peer_new();

  (void)state;
  peer_lock(p, "a", (struct wish){ .kind = LOCK_READ, .owner = "a", .ttl_ms = 3000 });
  peer_lock(p, "b", (struct wish){ .kind = LOCK_READ, .owner = "b", .ttl_ms = 3000 });
  peer_connect(p, 0);
  peer_expect(p, "share_acquire*");
  peer_answer(p, "[1 %lld 3000 3000 60 1]", now_us(p));
  peer_expect_told(p, "granted a");
  peer_expect_told(p, "granted b");
  assert_int_equal(peer_detach(p, "a"), DIBS_ERR_ARGUMENT);
  peer_release(p, "b");
  peer_expect_told(p, "released b DIBS_OK");
  assert_int_equal(peer_detach(p, "a"), DIBS_OK);
  peer_expect_told(p, "detached a DIBS_OK");
  forget(p);
}

static void nobody_joins_a_lease_whose_token_was_written(void **state)
{
  struct peer *p = seated((struct wish){ .kind = LOCK_READ, .owner = "a" });
  uint64_t id = peer_id(p, "a");

  (void)state;
  assert_true(engine_keep_alone(peer_engine(p), id));
  peer_lock(p, "b", (struct wish){ .kind = LOCK_READ, .owner = "b", .ttl_ms = 3000 });
  peer_expect(p, "share_acquire " KEY " 2 r w");
  peer_free(p);
}

/* ---- the writer who goes on as a reader ---- */

static void a_downgrade_goes_out_at_once_and_keeps_the_lease(void **state)
{
  struct peer *p = seated((struct wish){ .kind = LOCK_WRITE });
  int64_t valid = peer_valid_ms(p, "a");

  (void)state;
  peer_downgrade(p, "a");
  peer_expect(p, "share_renew " A ":1:60 r");
  assert_int_equal(peer_valid_ms(p, "a"), valid);
  peer_answer(p, "[%lld 0 3000]", now_us(p));
  peer_expect_told(p, "renewed a");
  peer_expect_nothing(p);
  peer_free(p);
}

static void a_downgrade_during_a_renewal_is_told_by_another_one(void **state)
{
  struct peer *p = seated((struct wish){ .kind = LOCK_WRITE });

  (void)state;
  peer_advance_to_command(p);
  peer_expect(p, "share_renew " A ":1:60 w");
  peer_downgrade(p, "a");
  peer_expect(p, "share_renew " A ":1:60 r");
  peer_answer(p, "[%lld 0 3000]", now_us(p));
  peer_expect_told(p, "renewed a");
  reconnect(p);                                   /* the answer to `r` is lost */
  peer_expect_told(p, "suspect a");
  peer_expect(p, "share_renew " A ":1:60 r");
  peer_answer(p, "[%lld 0 3000]", now_us(p));
  peer_expect_told(p, "renewed a");
  peer_advance_to_command(p);
  peer_expect(p, "share_renew " A ":1:60 r");
  peer_free(p);
}

static void a_refused_downgrade_is_repeated(void **state)
{
  struct peer *p = seated((struct wish){ .kind = LOCK_WRITE, .is_fixed = true });

  (void)state;
  peer_downgrade(p, "a");
  peer_expect(p, "share_renew " A ":1:60 r still");
  peer_answer(p, "-BUSY Redis is busy running a script");
  peer_expect_told(p, "suspect a");
  peer_advance_to_command(p);
  peer_expect(p, "share_renew " A ":1:60 r still");
  peer_free(p);
}

/* The answer tells what the server's clock says of the old deadline; set back meanwhile, it
 * says too much, and those who watch the lease count from its grant. */
static void the_downgrade_of_a_fixed_lease_does_not_lengthen_what_is_believed(void **state)
{
  struct peer *p = seated((struct wish){ .kind = LOCK_WRITE, .is_fixed = true });

  (void)state;
  peer_advance_ms(p, 2000);
  peer_downgrade(p, "a");
  peer_expect(p, "share_renew " A ":1:60 r still");
  peer_step_server_ms(p, -2000);
  peer_answer(p, "[%lld 0 3000]", now_us(p));
  assert_in_range(peer_valid_ms(p, "a"), 1, 1000);
  peer_advance_ms(p, 1000);
  while (peer_try_told(p, "renewed a"))
    ;
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_free(p);
}

static void the_last_write_hold_of_an_owner_that_reads_is_a_downgrade(void **state)
{
  struct peer *p = seated((struct wish){ .kind = LOCK_WRITE, .owner = "a" });

  (void)state;
  peer_lock(p, "r", (struct wish){ .kind = LOCK_READ, .owner = "a", .ttl_ms = 3000 });
  peer_expect_told(p, "granted r");
  peer_release(p, "a");
  peer_expect_told(p, "released a DIBS_OK");
  peer_expect(p, "share_renew " A ":1:60 r");
  peer_lock(p, "w", (struct wish){ .kind = LOCK_WRITE, .owner = "a", .ttl_ms = 3000 });
  peer_expect_told(p, "failed w DIBS_WOULD_DEADLOCK");
  peer_free(p);
}

static void permits_asked_for_anew_are_as_many_as_before(void **state)
{
  struct peer *p = peer_new();

  (void)state;
  peer_lock(p, "a", (struct wish){ .kind = LOCK_PERMITS, .is_drain = true, .is_try = true,
                                   .ttl_ms = 1000 });
  peer_connect(p, 0);
  peer_expect(p, "share_acquire " KEY " 1 p0 t");
  peer_stop_ms(p, 1100);
  peer_answer(p, "[1 %lld 1000 1000 60 2]", now_us(p));
  peer_expect_told_nothing(p);
  peer_expect(p, "share_release " A ":1:60");
  peer_answer(p, "1");
  peer_expect(p, "share_acquire " KEY " 2 p0 t");
  peer_free(p);
}

static void close_gives_back_each_seat(void **state)
{
  struct peer *p = seated((struct wish){ .kind = LOCK_READ, .owner = "a" });

  (void)state;
  peer_lock(p, "w", (struct wish){ .kind = LOCK_WRITE, .owner = "b", .ttl_ms = 3000 });
  peer_expect(p, "share_acquire " KEY " 2 w w");
  peer_close(p);
  peer_expect_told(p, "failed w DIBS_ERR_CLOSED");
  peer_expect(p, "share_release " A ":1:60");
  peer_expect(p, "share_cancel " A ":2");
  peer_answer(p, "[6 %lld]", now_us(p));
  peer_answer(p, "1");
  peer_expect_told(p, "released a DIBS_OK");
  peer_answer(p, "0");
  peer_expect_told(p, "closed");
  forget(p);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_answer_lost_with_its_connection_is_asked_for_again),
    cmocka_unit_test(an_old_grant_found_by_asking_again_is_confirmed_before_it_is_believed),
    cmocka_unit_test(the_release_of_an_ask_that_was_cut_leaves_a_tombstone),
    cmocka_unit_test(the_release_of_an_ask_that_was_sent_once_leaves_none),
    cmocka_unit_test(a_release_lost_and_repeated_was_done_by_the_first),
    cmocka_unit_test(a_poll_cut_after_the_grant_by_message_leaves_a_tombstone_too),
    cmocka_unit_test(a_cancelled_ask_ends_everywhere),
    cmocka_unit_test(a_message_before_the_answer_to_a_poll_is_the_grant),
    cmocka_unit_test(a_message_older_than_the_last_answer_is_not_believed),
    cmocka_unit_test(a_grant_message_too_old_to_believe_is_confirmed),
    cmocka_unit_test(a_share_for_an_ask_nobody_has_is_given_back_as_a_share),
    cmocka_unit_test(who_is_dropped_from_the_queue_asks_why),
    cmocka_unit_test(a_broken_share_is_lost_and_given_back),
    cmocka_unit_test(readers_that_come_while_the_first_asks_go_with_it),
    cmocka_unit_test(when_the_first_gives_up_the_others_go_on_asking),
    cmocka_unit_test(no_more_readers_go_together_than_have_fences),
    cmocka_unit_test(a_reader_does_not_join_a_lease_that_is_nearly_over),
    cmocka_unit_test(a_reader_does_not_go_in_past_somebody_who_is_known_to_wait),
    cmocka_unit_test(one_seat_with_room_is_shared_only_while_nobody_waits),
    cmocka_unit_test(when_the_first_loses_patience_the_place_is_kept_for_the_others),
    cmocka_unit_test(a_reader_that_shares_its_lease_cannot_be_detached),
    cmocka_unit_test(nobody_joins_a_lease_whose_token_was_written),
    cmocka_unit_test(a_downgrade_goes_out_at_once_and_keeps_the_lease),
    cmocka_unit_test(a_downgrade_during_a_renewal_is_told_by_another_one),
    cmocka_unit_test(a_refused_downgrade_is_repeated),
    cmocka_unit_test(the_downgrade_of_a_fixed_lease_does_not_lengthen_what_is_believed),
    cmocka_unit_test(the_last_write_hold_of_an_owner_that_reads_is_a_downgrade),
    cmocka_unit_test(permits_asked_for_anew_are_as_many_as_before),
    cmocka_unit_test(close_gives_back_each_seat),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}

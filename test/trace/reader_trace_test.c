/* SPDX-License-Identifier: MIT */
/* Stories of readers who share a seat, and of writers who go on as readers.
 * doc/design/protocol.md 9. */
#include "tests.h"

#include <stdio.h>
#include <string.h>

#include "seat.h"

#define A PEER_CLIENT
#define B PEER_OTHER
#define KEY "dibs:m:{n}"

/* ---- readers together ---- */

#define READER .kind = LOCK_RWLOCK, .reads = true

TEST(readers_that_come_while_the_first_asks_go_with_it)
{
  struct peer *p = peer_new();

  peer_lock(p, "a", (struct wish){ READER, .owner = "a", .ttl_ms = 3000 });
  peer_lock(p, "b", (struct wish){ READER, .owner = "b", .ttl_ms = 3000 });
  peer_lock(p, "c", (struct wish){ READER, .owner = "c", .ttl_ms = 3000 });
  peer_connect(p, 0);
  peer_expect(p, "share_acquire " KEY " 1 r w");
  peer_expect_nothing(p);
  peer_cancel(p, "b");
  peer_expect_told(p, "failed b DIBS_CANCELLED");
  peer_answer(p, "[1 %lld 3000 3000 60 1]", peer_server_us(p));
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

TEST(when_the_first_gives_up_the_others_go_on_asking)
{
  struct peer *p = peer_new();

  peer_lock(p, "a", (struct wish){ READER, .owner = "a", .ttl_ms = 3000 });
  peer_lock(p, "b", (struct wish){ READER, .owner = "b", .ttl_ms = 3000 });
  peer_connect(p, 0);
  peer_expect(p, "share_acquire " KEY " 1 r w");
  peer_cancel(p, "a");
  peer_expect_told(p, "failed a DIBS_CANCELLED");
  peer_expect_nothing(p);
  peer_answer(p, "[1 %lld 3000 3000 60 1]", peer_server_us(p));
  peer_expect_told(p, "granted b");
  peer_free(p);
}

/* A fence has room for 1024 holds of one lease: the next grant's begin above them. */
TEST(no_more_readers_go_together_than_have_fences)
{
  static char who[1100][8];
  struct peer *p = peer_new();
  engine_stats s;
  lock_spec r = { READER, .name = "n", .name_size = 1, .ttl = SPAN_MS(3000),
                  .give_up_at = INSTANT_NEVER };
  uint64_t id;

  for (size_t i = 0; i < sizeof(who) / sizeof(who[0]); i++) {
    r.context = who[i];
    assert_int_equal(engine_lock(peer_engine(p), &r, peer_now(p), &id), DIBS_OK);
  }
  s = engine_get_stats(peer_engine(p));
  assert_int_equal(s.names, 2);
  assert_int_equal(s.waiting, 1100);
  peer_free(p);
}

TEST(a_reader_does_not_join_a_lease_that_is_nearly_over)
{
  engine_settings s = peer_settings();
  struct peer *p;

  s.local_handover_time = SPAN_MS(60000);
  p = peer_new_with(&s);
  peer_lock(p, "a", (struct wish){ READER, .owner = "a", .ttl_ms = 3000 });
  peer_connect(p, 0);
  peer_expect(p, "share_acquire*");
  peer_stop_ms(p, 1900);
  peer_answer(p, "[1 %lld 3000 3000 60 1]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  peer_lock(p, "b", (struct wish){ READER, .owner = "b", .ttl_ms = 3000 });
  peer_expect_told(p, "granted b");
  peer_stop_ms(p, 100);
  peer_lock(p, "c", (struct wish){ READER, .owner = "c", .ttl_ms = 3000 });
  peer_expect_told_nothing(p);
  peer_free(p);
}

TEST(a_reader_does_not_go_in_past_somebody_who_is_known_to_wait)
{
  struct peer *p = seat_queued((struct wish){ READER, .owner = "a" });

  peer_lock(p, "b", (struct wish){ READER, .owner = "b", .ttl_ms = 3000 });
  peer_expect(p, "share_acquire " KEY " 2 r w");        /* "a" has its place already */
  peer_hands_over(p, "share " A ":1:60 3000 1 1 n");
  peer_expect_told(p, "granted a");
  peer_lock(p, "c", (struct wish){ READER, .owner = "c", .ttl_ms = 3000 });
  peer_expect_told_nothing(p);                          /* with "b", not with "a" */
  peer_expect_nothing(p);
  peer_lock(p, "d", (struct wish){ READER, .owner = "a", .ttl_ms = 3000 });
  peer_expect_told(p, "granted d");                     /* re-entry, whoever waits */
  peer_free(p);
}

TEST(one_seat_with_room_is_shared_only_while_nobody_waits)
{
  engine_settings s = peer_settings();
  struct peer *p;

  s.local_handover_time = SPAN_MS(60000);
  p = peer_new_with(&s);
  peer_lock(p, "a", (struct wish){ READER, .owner = "a", .ttl_ms = 3000 });
  peer_connect(p, 0);
  peer_serve(p, "share_acquire*", "[1 %lld 3000 3000 60 1]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  peer_advance_to_command(p);
  peer_serve(p, "share_renew " A ":1:60 r", "[%lld 1 3000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  peer_lock(p, "b", (struct wish){ READER, .owner = "b", .ttl_ms = 3000 });
  peer_expect(p, "share_acquire " KEY " 2 r w");
  peer_free(p);
}

/* Its place on the server was told to end with the first one's patience. */
TEST(when_the_first_loses_patience_the_place_is_kept_for_the_others)
{
  struct peer *p = peer_new();

  peer_lock(p, "a", (struct wish){ READER, .owner = "a", .wait_ms = 200,
                                   .ttl_ms = 3000 });
  peer_connect(p, 0);
  peer_expect(p, "share_acquire " KEY " 1 r w");
  peer_lock(p, "b", (struct wish){ READER, .owner = "b", .ttl_ms = 3000 });
  peer_expect_nothing(p);
  seat_answer_waiting(p, 5, 50);
  peer_advance_ms(p, 199);
  peer_expect_nothing(p);
  peer_advance_ms(p, 1);
  peer_expect_told(p, "failed a DIBS_TIMED_OUT");
  peer_expect(p, "share_acquire " KEY " 1 r w");
  seat_answer_waiting(p, 5, 50);
  peer_expect_nothing(p);
  peer_free(p);
}

/* A lease with more holders than one is nobody's to give into other hands. */
TEST(a_reader_that_shares_its_lease_cannot_be_detached)
{
  struct peer *p = peer_new();

  peer_lock(p, "a", (struct wish){ READER, .owner = "a", .ttl_ms = 3000 });
  peer_lock(p, "b", (struct wish){ READER, .owner = "b", .ttl_ms = 3000 });
  peer_connect(p, 0);
  peer_serve(p, "share_acquire*", "[1 %lld 3000 3000 60 1]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  peer_expect_told(p, "granted b");
  assert_int_equal(peer_detach(p, "a"), DIBS_ERR_ARGUMENT);
  peer_release(p, "b");
  peer_expect_told(p, "released b DIBS_OK");
  assert_int_equal(peer_detach(p, "a"), DIBS_OK);
  peer_expect_told(p, "detached a DIBS_OK");
  peer_end_clean(p);
}

/* Its end stays where it is when only an inner hold without one is left. */
TEST(a_reader_does_not_join_a_lease_that_ends)
{
  static const struct wish outer[] = {
    { READER, .owner = "a", .is_fixed = true },
    { READER, .owner = "a", .max_hold_ms = 3000 },
  };

  for (size_t i = 0; i < sizeof(outer) / sizeof(outer[0]); i++) {
    struct peer *p = seated(outer[i]);

    peer_lock(p, "inner", (struct wish){ READER, .owner = "a", .ttl_ms = 3000 });
    peer_expect_told(p, "granted inner");
    peer_release(p, "a");
    peer_expect_told(p, "released a DIBS_OK");
    peer_lock(p, "b", (struct wish){ READER, .owner = "b", .ttl_ms = 3000 });
    peer_expect_told_nothing(p);
    peer_expect(p, "share_acquire " KEY " 2 r w");
    peer_free(p);
  }
}

TEST(nobody_joins_a_lease_whose_token_was_written)
{
  struct peer *p = seated((struct wish){ READER, .owner = "a" });
  uint64_t id = peer_id(p, "a");

  assert_true(engine_keep_alone(peer_engine(p), id));
  peer_lock(p, "b", (struct wish){ READER, .owner = "b", .ttl_ms = 3000 });
  peer_expect(p, "share_acquire " KEY " 2 r w");
  peer_free(p);
}

/* ---- the writer who goes on as a reader ---- */

TEST(a_downgrade_goes_out_at_once_and_keeps_the_lease)
{
  struct peer *p = seated((struct wish){ .kind = LOCK_RWLOCK });
  int64_t valid = peer_valid_ms(p, "a");

  peer_downgrade(p, "a");
  peer_expect(p, "share_renew " A ":1:60 r");
  assert_int_equal(peer_valid_ms(p, "a"), valid);
  peer_answer(p, "[%lld 0 3000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(a_downgrade_during_a_renewal_is_told_by_another_one)
{
  struct peer *p = seated((struct wish){ .kind = LOCK_RWLOCK });

  peer_advance_to_command(p);
  peer_expect(p, "share_renew " A ":1:60 w");
  peer_downgrade(p, "a");
  peer_serve(p, "share_renew " A ":1:60 r", "[%lld 0 3000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  peer_reconnect(p);                                   /* the answer to `r` is lost */
  peer_expect_told(p, "suspect a");
  peer_serve(p, "share_renew " A ":1:60 r", "[%lld 0 3000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  peer_advance_to_command(p);
  peer_expect(p, "share_renew " A ":1:60 r");
  peer_free(p);
}

TEST(a_refused_downgrade_is_repeated)
{
  struct peer *p = seated((struct wish){ .kind = LOCK_RWLOCK, .is_fixed = true });

  peer_downgrade(p, "a");
  peer_serve(p, "share_renew " A ":1:60 r still", "-BUSY Redis is busy running a script");
  peer_expect_told(p, "suspect a");
  peer_advance_to_command(p);
  peer_expect(p, "share_renew " A ":1:60 r still");
  peer_free(p);
}

/* The answer tells what the server's clock says of the old deadline; set back meanwhile, it
 * says too much, and those who watch the lease count from its grant. */
TEST(the_downgrade_of_a_fixed_lease_does_not_lengthen_what_is_believed)
{
  struct peer *p = seated((struct wish){ .kind = LOCK_RWLOCK, .is_fixed = true });

  peer_advance_ms(p, 2000);
  peer_downgrade(p, "a");
  peer_expect(p, "share_renew " A ":1:60 r still");
  peer_step_server_ms(p, -2000);
  peer_answer(p, "[%lld 0 3000]", peer_server_us(p));
  assert_in_range(peer_valid_ms(p, "a"), 1, 1000);
  peer_advance_ms(p, 1000);
  while (peer_try_told(p, "renewed a"))
    ;
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_free(p);
}

TEST(the_last_write_hold_of_an_owner_that_reads_is_a_downgrade)
{
  struct peer *p = seated((struct wish){ .kind = LOCK_RWLOCK, .owner = "a" });

  peer_lock(p, "r", (struct wish){ READER, .owner = "a", .ttl_ms = 3000 });
  peer_expect_told(p, "granted r");
  peer_release(p, "a");
  peer_expect_told(p, "released a DIBS_OK");
  peer_expect(p, "share_renew " A ":1:60 r");
  peer_lock(p, "w", (struct wish){ .kind = LOCK_RWLOCK, .owner = "a", .ttl_ms = 3000 });
  peer_expect_told(p, "failed w DIBS_WOULD_DEADLOCK");
  peer_free(p);
}

RUN_TESTS(NULL, NULL)

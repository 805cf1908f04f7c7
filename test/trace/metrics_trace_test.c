/* SPDX-License-Identifier: MIT */
/* Stories of what a client counts about itself: how leases changed hands, how near renewals came to
 * their ends, round trips, connections made again. include/dibs/metrics.h */
#include "tests.h"

#include <stdio.h>

#include "peer.h"

#define A PEER_CLIENT
#define B PEER_OTHER
#define KEY "dibs:m:{n}"
#define LINGERS .ttl_ms = 3000, .linger_ms = 2000, .owner = "x"

static void expect_handovers(struct peer *p, uint64_t message, uint64_t poll, uint64_t local,
                             uint64_t linger)
{
  engine_stats s = engine_get_stats(peer_engine(p));

  assert_int_equal(s.handovers[DIBS_HANDOVER_MESSAGE], message);
  assert_int_equal(s.handovers[DIBS_HANDOVER_POLL], poll);
  assert_int_equal(s.handovers[DIBS_HANDOVER_LOCAL], local);
  assert_int_equal(s.handovers[DIBS_HANDOVER_LINGER], linger);
}

/* ---- hand-overs ---- */

TEST(a_free_lock_is_no_hand_over)
{
  struct peer *p = peer_held((struct wish){ 0 });

  expect_handovers(p, 0, 0, 0, 0);
  peer_free(p);
}

TEST(a_grant_by_message_counts_as_one)
{
  struct peer *p = peer_queued((struct wish){ 0 });

  peer_advance_ms(p, 500);
  peer_hands_over(p, "grant " A ":1:60 30000 0 n");
  peer_expect_told(p, "granted a");
  expect_handovers(p, 1, 0, 0, 0);
  peer_free(p);
}

TEST(a_late_message_counts_when_its_renewal_confirms_it)
{
  struct peer *p = peer_queued((struct wish){ .ttl_ms = 4000 });

  peer_stop_ms(p, 3500);
  peer_hands_over(p, "grant " A ":1:60 4000 0 n");
  expect_handovers(p, 0, 0, 0, 0);
  peer_expect(p, "acquire*");
  peer_serve(p, "renew " A ":1:60", "[2 %lld 4000 4000 60 0]", peer_server_us(p));
  peer_answer(p, "[%lld 0 4000]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  expect_handovers(p, 1, 0, 0, 0);
  peer_free(p);
}

TEST(a_grant_found_by_time_is_a_poll)
{
  struct peer *p = peer_queued((struct wish){ 0 });

  peer_advance_to_command(p);
  peer_serve(p, "acquire " KEY " 1 w", "[1 %lld 30000 60]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  expect_handovers(p, 0, 1, 0, 0);
  peer_free(p);
}

TEST(a_release_to_another_owner_of_the_client_is_local)
{
  struct peer *p = peer_held((struct wish){ .owner = "x" });

  peer_lock(p, "b", (struct wish){ .owner = "y" });
  peer_connect(p, 1);
  peer_serve(p, "renew " A ":1:60", "[%lld 0 30000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  peer_release(p, "a");
  peer_expect_told(p, "released a DIBS_OK");
  peer_expect_told(p, "granted b");
  expect_handovers(p, 0, 0, 1, 0);
  peer_free(p);
}

TEST(a_lingering_lease_counts_each_time_that_it_is_taken)
{
  struct peer *p = peer_held((struct wish){ LINGERS });
  bool sends;
  uint64_t fence;
  instant until;

  peer_connect(p, 1);
  peer_serve(p, "renew " A ":1:60", "[%lld 0 3000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  assert_true(engine_park(peer_engine(p), peer_id(p, "a"), peer_now(p), &sends));
  assert_true(engine_retake(peer_engine(p), peer_id(p, "a"), "x", 1, peer_now(p), &fence,
                            &until));
  expect_handovers(p, 0, 0, 0, 1);
  peer_release(p, "a");
  peer_expect_told(p, "released a DIBS_OK");
  peer_lock(p, "b", (struct wish){ LINGERS });
  peer_expect_told(p, "granted b");
  expect_handovers(p, 0, 0, 0, 2);
  peer_free(p);
}

/* ---- renewals ---- */

static int32_t slack(struct peer *p)
{
  return engine_lease_slack(peer_engine(p), peer_now(p));
}

static void renewed_after_ms(struct peer *p, int64_t ms)
{
  peer_advance_to_command(p);
  peer_expect(p, "renew " A ":1:60");
  peer_advance_ms(p, ms);
  peer_answer(p, "[%lld 0 30000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
}

/* Of 30 s, renewed after 9 to 11: 62 to 69 % are left, less for a slow reply. */
TEST(the_slack_is_what_was_left_when_a_renewal_was_confirmed)
{
  struct peer *p = peer_held((struct wish){ 0 });

  assert_int_equal(slack(p), -1);
  renewed_after_ms(p, 0);
  assert_in_range(slack(p), 620000, 691000);
  renewed_after_ms(p, 1500);
  assert_in_range(slack(p), 570000, 641000);
  for (int i = 0; i < 14; i++)           /* more than two minutes */
    renewed_after_ms(p, 0);
  assert_in_range(slack(p), 620000, 691000);
  assert_int_equal(engine_get_stats(peer_engine(p)).renewed, 16);
  peer_free(p);
}

/* ---- the connection ---- */

TEST(round_trips_are_from_the_command_to_its_reply)
{
  struct peer *p = peer_asked((struct wish){ 0 });
  dibs_fleet_times before, after;

  fleet_read_round_trips(engine_fleet(peer_engine(p)), &before);
  peer_expect(p, "acquire " KEY " 1 w");
  peer_advance_ms(p, 250);
  peer_answer(p, "[1 %lld 30000 60]", peer_server_us(p));
  fleet_read_round_trips(engine_fleet(peer_engine(p)), &after);
  assert_int_equal(after.count - before.count, 1);
  assert_int_equal(after.sum_us - before.sum_us, 250000);
  peer_free(p);
}

TEST(a_connection_made_again_is_counted)
{
  struct peer *p = peer_held((struct wish){ 0 });

  assert_int_equal(engine_get_stats(peer_engine(p)).reconnects, 0);
  peer_reconnect(p);
  assert_int_equal(engine_get_stats(peer_engine(p)).reconnects, 1);
  peer_free(p);
}

RUN_TESTS(NULL, NULL)

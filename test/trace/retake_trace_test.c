/* SPDX-License-Identifier: MIT */
/* Stories of the short way back from a parked lease: engine_park() and engine_retake() change
 * nothing where anything else is to be done, and otherwise what a release and a grant change.
 * doc/design/protocol.md 11. */
#include "tests.h"

#include <stdio.h>

#include "base/fence.h"
#include "peer.h"

#define A PEER_CLIENT
#define L A ":1:60"
#define RAISED A ":1:61"
#define KEY "dibs:m:{n}"
#define LINGERS .ttl_ms = 3000, .linger_ms = 2000, .owner = "x"

static uint64_t id;                  /* of "a" */
static uint64_t fence;               /* of its last grant */

static uint64_t holds(struct peer *p) { return engine_get_stats(peer_engine(p)).holds; }

static bool park(struct peer *p)
{
  bool sends = false, is_parked = engine_park(peer_engine(p), id, peer_now(p), &sends);

  if (sends)
    peer_advance_ms(p, 0);
  return is_parked;
}

static bool retake_as(struct peer *p, const char *owner)
{
  uint64_t before = fence;
  instant until;

  if (!engine_retake(peer_engine(p), id, owner, 1, peer_now(p), &fence, &until))
    return false;
  assert_true(fence > before);
  assert_true(instant_before(peer_now(p), until));
  return true;
}

static bool retake(struct peer *p) { return retake_as(p, "x"); }

static void renewed(struct peer *p, const char *command)
{
  peer_serve(p, command, "[%lld 0 3000]", peer_server_us(p));
}

static struct peer *held(void)
{
  struct peer *p = peer_held((struct wish){ LINGERS });

  peer_connect(p, 1);
  renewed(p, "renew " L);
  peer_expect_told(p, "renewed a");
  id = peer_id(p, "a");
  fence = peer_fence(p, "a");
  return p;
}

static struct peer *parked(void)
{
  struct peer *p = held();

  assert_true(park(p));
  assert_int_equal(holds(p), 0);
  return p;
}

static void ends(struct peer *p, const char *lease)
{
  char command[128];

  (void)snprintf(command, sizeof(command), "release %s", lease);
  peer_expect_told(p, "released a DIBS_OK");
  peer_serve(p, command, "1");
  assert_int_equal(engine_get_stats(peer_engine(p)).names, 0);
  assert_false(retake(p));
  peer_expect_told_nothing(p);
  peer_free(p);
}

TEST(each_time_has_a_higher_fence_and_nothing_is_sent)
{
  struct peer *p = parked();

  for (uint64_t i = 1; i <= 100; i++) {
    assert_true(retake(p));
    assert_int_equal(fence, fence_of_token(60, i));
    assert_int_equal(holds(p), 1);
    assert_false(retake(p));
    assert_true(park(p));
    assert_false(park(p));
  }
  peer_expect_nothing(p);
  peer_expect_told_nothing(p);
  peer_free(p);
}

/* S7: while it stood still no timer has run. */
TEST(a_process_that_slept_neither_takes_it_nor_says_that_it_held_it)
{
  static const int asleep_ms[] = { 1000, 2100, 2999, 3000, 3500 };

  for (size_t i = 0; i < sizeof(asleep_ms) / sizeof(asleep_ms[0]); i++) {
    struct peer *p = parked();
    instant late = instant_add(peer_now(p), span_ms(asleep_ms[i]));
    instant until;
    bool sends;

    assert_false(engine_retake(peer_engine(p), id, "x", 1, late, &fence, &until));
    assert_true(retake(p));
    late = instant_add(peer_now(p), span_ms(asleep_ms[i]));
    assert_false(engine_park(peer_engine(p), id, late, &sends));
    peer_free(p);
  }
}

TEST(a_want_while_it_is_parked_ends_it)
{
  struct peer *p = parked();

  peer_message(p, "want " L " n");
  ends(p, L);
}

TEST(a_want_while_it_is_held_has_its_turn_at_the_release)
{
  struct peer *p = parked();

  assert_true(retake(p));
  peer_message(p, "want " L " n");
  assert_false(park(p));
  peer_release(p, "a");
  peer_serve(p, "release " L, "1");
  peer_expect_told(p, "released a DIBS_OK");
  peer_free(p);
}

TEST(a_waiter_of_this_process_has_its_turn_too)
{
  struct peer *p = parked();

  assert_true(retake(p));
  peer_lock(p, "b", (struct wish){ .ttl_ms = 3000, .linger_ms = 2000, .owner = "y" });
  peer_expect_told_nothing(p);
  assert_false(park(p));
  peer_release(p, "a");
  peer_expect_told(p, "released a DIBS_OK");
  peer_expect_told(p, "granted b");
  assert_true(peer_fence(p, "b") > fence);
  peer_free(p);
}

TEST(it_belongs_to_the_owner_who_took_it_last)
{
  struct peer *p = parked();

  assert_true(retake_as(p, "y"));
  peer_lock(p, "b", (struct wish){ LINGERS, .is_try = true });
  peer_expect_told(p, "failed b DIBS_BUSY");
  peer_lock(p, "c", (struct wish){ .ttl_ms = 3000, .linger_ms = 2000, .owner = "y" });
  peer_expect_told(p, "granted c");
  assert_int_equal(peer_fence(p, "c"), fence);
  assert_false(park(p));                 /* one of two holds */
  peer_free(p);
}

/* The inner hold has none of its own, and nor has the next one. */
TEST(the_limit_of_an_outer_hold_that_was_released_first_does_not_outlive_the_inner_one)
{
  struct peer *p = peer_held((struct wish){ LINGERS, .max_hold_ms = 3500 });

  peer_connect(p, 1);
  renewed(p, "renew " L);
  peer_expect_told(p, "renewed a");
  peer_lock(p, "b", (struct wish){ LINGERS });
  peer_expect_told(p, "granted b");
  peer_release(p, "a");
  peer_expect_told(p, "released a DIBS_OK");
  id = peer_id(p, "b");
  assert_false(park(p));
  peer_release(p, "b");
  peer_expect_told(p, "released b DIBS_OK");
  peer_lock(p, "c", (struct wish){ LINGERS });
  peer_expect_told(p, "granted c");
  for (int i = 0; i < 4000; i++) {
    peer_advance_ms(p, 1);
    if (peer_try_expect(p, "renew " L))
      peer_answer(p, "[%lld 0 3000]", peer_server_us(p));
    while (peer_try_told(p, "renewed c"))
      continue;
    peer_expect_told_nothing(p);
  }
  peer_free(p);
}

TEST(the_ordinary_way_takes_it_from_the_short_one)
{
  struct peer *p = parked();

  peer_lock(p, "b", (struct wish){ .ttl_ms = 3000, .linger_ms = 100, .owner = "y" });
  peer_expect_told(p, "released a DIBS_OK");
  peer_expect_told(p, "granted b");
  assert_true(peer_fence(p, "b") > fence);
  assert_false(retake(p));
  peer_free(p);
}

/* The time counts from the last release; the timer was set by the first. */
TEST(it_ends_when_it_was_not_taken_for_its_time)
{
  struct peer *p = parked();
  int left = 1000;

  for (int i = 0; i < 1500; i++) {
    peer_advance_ms(p, 1);
    if (peer_try_expect(p, "renew " L))
      peer_answer(p, "[%lld 0 3000]", peer_server_us(p));
  }
  assert_true(retake(p));
  assert_true(park(p));
  for (int i = 0; i < 1999; i++, left--) {
    peer_advance_ms(p, 1);
    if (peer_try_expect(p, "renew " L))
      peer_answer(p, "[%lld 0 3000]", peer_server_us(p));
  }
  peer_expect_told_nothing(p);
  peer_advance_ms(p, 1);
  ends(p, L);
}

TEST(close_ends_it)
{
  struct peer *p = parked();

  peer_close(p);
  peer_expect_told(p, "released a DIBS_OK");
  peer_serve(p, "release " L, "1");
  peer_expect_told(p, "closed");
  peer_free(p);
}

/* ---- fences: a token has 1024 ---- */

/* Half of them are used. */
static struct peer *half_used(void)
{
  struct peer *p = parked();

  while (!peer_try_expect(p, "raise " L)) {
    assert_true(retake(p));
    assert_true(park(p));
    assert_true(fence < fence_of_token(60, 600));
  }
  return p;
}

TEST(a_higher_token_comes_while_half_of_the_fences_are_left)
{
  struct peer *p = half_used();

  assert_true(retake(p));                /* meanwhile they are used */
  assert_int_equal(token_of_fence(fence), 60);
  peer_answer(p, "1");
  assert_true(park(p));
  assert_true(retake(p));
  assert_int_equal(fence, fence_of_token(61, 1));
  assert_true(park(p));
  peer_expect_nothing(p);
  peer_message(p, "want " RAISED " n");
  ends(p, RAISED);
}

/* The server's clock was set back by two hours. */
TEST(a_higher_token_far_ahead_is_no_floor_for_other_names)
{
  struct peer *p = peer_queued((struct wish){ LINGERS });
  long long token = peer_server_us(p) + 7200000000;
  char words[64];

  peer_advance_to_command(p);
  peer_serve(p, "acquire " KEY " 1 w", "[1 %lld 3000 %lld]", peer_server_us(p), token);
  (void)snprintf(words, sizeof(words), "token %lld", token);
  peer_expect_warning(p, words);
  peer_expect_told(p, "granted a");
  id = peer_id(p, "a");
  fence = peer_fence(p, "a");
  (void)snprintf(words, sizeof(words), "raise " A ":1:%lld", token);
  while (!peer_try_expect(p, words))
    assert_true(park(p) && retake(p));
  peer_answer(p, "1");
  peer_lock(p, "other", (struct wish){ .name = "elsewhere" });
  peer_expect(p, "acquire dibs:m:{elsewhere} 2 w");
  peer_free(p);
}

TEST(without_it_the_last_fence_ends_the_lease)
{
  struct peer *p = half_used();
  int count = 0;

  while (retake(p) && park(p))
    count++;
  assert_int_equal(fence, fence_of_token(60, FENCES_PER_TOKEN - 1));
  assert_true(count > 400);
  peer_free(p);
}

/* Which lease is to be released shows only the reply. */
TEST(a_want_during_the_raise_is_answered_after_it)
{
  struct peer *p = half_used();

  peer_message(p, "want " L " n");
  peer_expect_nothing(p);
  peer_answer(p, "1");
  ends(p, RAISED);
}

/* The token that the program has may be from before the raise. */
TEST(a_lease_that_is_detached_during_the_raise_stays_detached)
{
  struct peer *p = half_used();

  assert_true(retake(p));
  assert_int_equal(engine_detach(peer_engine(p), id, peer_now(p)), DIBS_OK);
  peer_advance_ms(p, 0);
  peer_expect_told(p, "detached a DIBS_OK");
  peer_answer(p, "1");
  peer_message(p, "want " RAISED " n");
  peer_expect_nothing(p);
  peer_free(p);
}

TEST(a_loss_that_is_reported_during_the_raise_is_looked_at)
{
  struct peer *p = half_used();

  assert_true(retake(p));
  peer_message(p, "lost " RAISED " n");
  peer_answer(p, "1");
  peer_serve(p, "renew " RAISED, "[%lld -1 2]", peer_server_us(p));
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_free(p);
}

TEST(a_reply_that_is_lost_is_asked_for_again)
{
  struct peer *p = half_used();

  peer_reconnect(p);
  peer_serve(p, "raise " L, "1");
  renewed(p, "renew " RAISED);
  assert_true(retake(p));
  assert_int_equal(fence, fence_of_token(61, 1));
  peer_free(p);
}

TEST(a_refusal_costs_the_higher_token_and_not_the_lease)
{
  struct peer *p = half_used();

  peer_answer(p, "-NOPERM this user has no permissions to run this");
  for (int i = 0; i < 10; i++) {
    assert_true(retake(p));
    assert_true(park(p));
  }
  peer_expect_nothing(p);
  assert_int_equal(token_of_fence(fence), 60);
  peer_free(p);
}

TEST(a_lease_that_the_server_lacks_is_lost)
{
  struct peer *p = half_used();

  assert_true(retake(p));
  peer_answer(p, "0");
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_free(p);
}

RUN_TESTS(NULL, NULL)

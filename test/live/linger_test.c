/* SPDX-License-Identifier: MIT */
/* test/live/linger_test.c - a lease that its client keeps, idle, costs the next acquire
 * nothing, and nobody else more than a message (protocol.md 11). */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "two_clients.h"

enum { TTL_MS = 20000, SOON_MS = 8000 };

static dibs_lock_options lingering(int linger_ms)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);

  o.linger_ms = linger_ms;
  return o;
}

static void cycle(const char *name, int linger_ms)
{
  dibs_lock_options o = lingering(linger_ms);

  assert_int_equal(dibs_release(live_lock_with(client, name, &o)), DIBS_OK);
}

static bool is_held(void *name)
{
  return live_lease_end_us(live_server, name) != 0;
}

static bool is_free(void *name)
{
  return !is_held(name);
}

/* The inbox has to stand before anything is kept: the first cycles open it. */
static void keep_idle(const char *name, int linger_ms)
{
  int64_t until = live_now_ms() + LIVE_LONG_MS;
  char word[64];

  (void)snprintf(word, sizeof(word), "%s", name);
  do {
    cycle(name, linger_ms);
    if (is_held(word))
      return;
  } while (live_now_ms() < until);
  fail_msg("%s is never kept", name);
}

TEST(taking_it_again_sends_nothing)
{
  uint64_t fence = 0;
  dibs_lock_options o = lingering(60000);
  dibs_client_info before, after;

  keep_idle("again", 60000);
  before = live_stats(client);
  for (int i = 0; i < 500; i++) {
    dibs_hold *hold = live_lock_with(client, "again", &o);

    PROMISE_GROWN(dibs_hold_fence(hold), fence);
    fence = dibs_hold_fence(hold);
    assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
    assert_int_equal(dibs_release(hold), DIBS_OK);
  }
  after = live_stats(client);
  assert_int_equal(after.granted_local - before.granted_local, 500);
  /* Renewals and presence may fall in between; 500 acquires would be 1000 commands. */
  assert_true(after.commands - before.commands < 20);
}

TEST(fences_grow_beyond_the_local_numbers)
{
  uint64_t fence = 0;
  dibs_lock_options o = lingering(60000);

  for (int i = 0; i < 2500; i++) {
    dibs_hold *hold = live_lock_with(client, "numbers", &o);

    PROMISE_GROWN(dibs_hold_fence(hold), fence);
    fence = dibs_hold_fence(hold);
    assert_int_equal(dibs_release(hold), DIBS_OK);
  }
}

TEST(a_waiter_gets_it_at_once)
{
  int64_t began;
  dibs_hold *hold;

  keep_idle("waiter", 60000);
  began = live_now_ms();
  hold = live_lock(other, "waiter", TTL_MS);
  assert_true(live_now_ms() - began < SOON_MS);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

TEST(a_try_of_another_client_succeeds)
{
  for (int i = 0; i < 5; i++) {
    keep_idle("try", 60000);
    /* On a machine that is busy the owner may answer later than the 20 ms of a try. */
    live_expect_free(other, "try", SOON_MS);
  }
}

TEST(a_try_against_a_lease_in_use_is_busy)
{
  dibs_lock_options o = lingering(60000);
  dibs_hold *hold;

  keep_idle("in-use", 60000);
  hold = live_lock_with(client, "in-use", &o);
  live_refused(live_try(other, "in-use"), DIBS_BUSY);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  live_expect_free(other, "in-use", SOON_MS);
}

TEST(it_ends_by_itself)
{
  char name[] = "ends";

  keep_idle(name, 100);
  assert_true(live_until(LIVE_LONG_MS, is_free, name));
}

TEST(an_idle_lease_is_renewed)
{
  dibs_lock_options o = live_lock_options(300, 0);
  uint64_t renewed = live_stats(client).renewed;
  int64_t began = live_now_ms();
  char name[] = "renewed";

  o.linger_ms = 60000;
  do
    assert_int_equal(dibs_release(live_lock_with(client, name, &o)), DIBS_OK);
  while (!is_held(name) && live_now_ms() - began < LIVE_LONG_MS);
  while (live_stats(client).renewed < renewed + 5 && live_now_ms() - began < LIVE_LONG_MS)
    (void)live_until(10, is_free, name);
  assert_true(live_stats(client).renewed >= renewed + 5);
  assert_true(is_held(name));
  live_expect_free(other, name, SOON_MS);
}

/* Nobody could tell us that he wants it. */
TEST(a_broken_inbox_ends_it)
{
  char name[] = "deaf";

  keep_idle(name, 60000);
  live_tell_all("CLIENT KILL TYPE pubsub");
  assert_true(live_until(SOON_MS, is_free, name));
}

TEST(a_break_ends_it)
{
  dibs_inspection *in = NULL;

  keep_idle("broken", 60000);
  assert_int_equal(dibs_inspect(other, dibs_text("broken"), &in), DIBS_OK);
  assert_true(in->is_held);
  live_expect_ok(dibs_break(other, dibs_text("broken"), in->lease));
  in = dibs_inspection_free(in);
  assert_int_equal(live_try(other, "broken"), DIBS_OK);
  cycle("broken", 60000);
  live_expect_free(other, "broken", SOON_MS);
}

TEST(close_gives_it_back)
{
  dibs_client *third = live_open(live_url()), *kept = client;
  char name[] = "close";

  client = third;
  keep_idle(name, 60000);
  client = kept;
  assert_null(dibs_close(third));
  assert_true(is_free(name));
}

TEST(auto_begins_with_the_habit_and_ends_with_demand)
{
  live_needs_keys();                       /* what a quorum gives is never kept */
  char name[] = "auto";

  cycle(name, DIBS_LINGER_AUTO);
  assert_true(is_free(name));           /* once is no habit */
  keep_idle(name, DIBS_LINGER_AUTO);
  for (int i = 0; i < 2; i++) {         /* wanted twice in a row while idle */
    keep_idle(name, DIBS_LINGER_AUTO);
    live_expect_free(other, name, SOON_MS);
  }
  cycle(name, DIBS_LINGER_AUTO);
  assert_true(is_free(name));
}

TEST(options_are_checked)
{
  dibs_lock_options o = lingering(-2);
  dibs_hold *hold = NULL;

  live_expect(client, dibs_lock(client, "bad", &o, &hold), DIBS_ERR_ARGUMENT);
  live_expect_words(client, "linger_ms");
  o = lingering(1000);
  o.flags = DIBS_LOCK_FIXED;
  live_expect(client, dibs_lock(client, "bad", &o, &hold), DIBS_ERR_ARGUMENT);
  live_expect_words(client, "DIBS_LOCK_FIXED");
  o = lingering(1000);
  live_expect(client, dibs_acquire(client, DIBS_READ("bad"), &o, &hold), DIBS_ERR_ARGUMENT);
  live_expect_words(client, "linger_ms");
}

RUN_TESTS(setup, teardown)

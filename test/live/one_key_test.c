/* SPDX-License-Identifier: MIT */
/* test/live/one_key_test.c - `x` and `{x}` have one key, so they are one lock: within a client,
 * between clients, and while the holder receives messages about the other spelling. */
#include "tests.h"

#include <stdint.h>

#include "live.h"

enum { TTL_MS = 60000, WAIT_MS = 300 };

static dibs_client *holder, *other;

static int setup(void **state)
{
  (void)live_server_setup(state);
  holder = live_open(live_url());
  other = live_open(live_url());
  return 0;
}

static int teardown(void **state)
{
  holder = dibs_close(holder);
  other = dibs_close(other);
  live_expect_clean(live_server);
  return live_server_teardown(state);
}

static dibs_status take_one(dibs_client *client, const char *name, int wait_ms, dibs_hold **ret)
{
  dibs_lock_options o = live_lock_options(TTL_MS, wait_ms);

  o.flags = DIBS_LOCK_NO_OWNER;
  o.linger_ms = 60000;                /* the inbox is wanted at once */
  return dibs_lock(client, name, &o, ret);
}

static dibs_status take_two(dibs_client *client, const char *name, int wait_ms, dibs_hold **ret)
{
  dibs_lock_options o = live_lock_options(TTL_MS, wait_ms);
  const char *names[] = { name, "y" };

  o.flags = DIBS_LOCK_NO_OWNER;
  return acquire_names(client, names, 2, &o, ret);
}

static dibs_status take_to_write(dibs_client *client, const char *name, int wait_ms,
                                 dibs_hold **ret)
{
  dibs_lock_options o = live_lock_options(TTL_MS, wait_ms);

  o.flags = DIBS_LOCK_NO_OWNER;
  return dibs_acquire(client, DIBS_WRITE(name), &o, ret);
}

typedef dibs_status (*take)(dibs_client *client, const char *name, int wait_ms, dibs_hold **ret);

/* Once the holder receives messages, the first waiter's request sends it `want`. */
static void check(take first, take second, const char *plain, const char *in_braces)
{
  const char *const spellings[] = { plain, in_braces };

  for (int i = 0; i < 2; i++) {
    dibs_hold *hold = NULL, *none = NULL;

    live_expect(holder, first(holder, spellings[i], LIVE_LONG_MS, &hold), DIBS_OK);
    live_refused(second(holder, spellings[1 - i], 50, &none), DIBS_TIMED_OUT);
    live_refused(second(other, spellings[1 - i], WAIT_MS, &none), DIBS_TIMED_OUT);
    promise_kept(dibs_hold_state(hold) != DIBS_HOLD_GONE, "%s is held", spellings[i]);
    assert_int_equal(dibs_release(hold), DIBS_OK);
    live_expect(other, second(other, spellings[1 - i], LIVE_LONG_MS, &hold), DIBS_OK);
    assert_int_equal(dibs_release(hold), DIBS_OK);
  }
}

TEST(locks_with_one_key_exclude_each_other)
{
  check(take_one, take_one, "x", "{x}");
  check(take_one, take_one, "a{}b", "{a{}b}");
}

TEST(sets_include_a_name_in_both_spellings)
{
  check(take_one, take_two, "x", "{x}");
  check(take_two, take_one, "x", "{x}");
}

TEST(writers_with_one_key_exclude_each_other)
{
  check(take_to_write, take_to_write, "file", "{file}");
}

TEST(an_owner_enters_again_in_either_spelling)
{
  dibs_hold *outer = live_lock(holder, "again", TTL_MS), *inner = NULL;
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);

  live_expect(holder, dibs_lock(holder, "{again}", &o, &inner), DIBS_OK);
  assert_true(dibs_hold_fence(outer) == dibs_hold_fence(inner));
  assert_int_equal(dibs_release(inner), DIBS_OK);
  assert_int_equal(dibs_hold_state(outer), DIBS_HOLD_HELD);
  assert_int_equal(dibs_release(outer), DIBS_OK);
}

TEST(a_waiter_is_granted_what_was_held_in_the_other_spelling)
{
  struct live_ask a;
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *hold = live_lock(holder, "handed", TTL_MS);

  live_ask_begin(&a, other, "{handed}", &o);
  live_still_waits(&a, 100);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  assert_int_equal(dibs_release(live_ask_granted(&a, LIVE_LONG_MS)), DIBS_OK);
}

RUN_TESTS(setup, teardown)

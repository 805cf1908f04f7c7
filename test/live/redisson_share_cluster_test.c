/* SPDX-License-Identifier: MIT */
/* test/live/redisson_share_cluster_test.c - what shares a name in the dialect redisson, in a
 * cluster: all keys of a name in one slot, and waiters woken on the channels that its clients
 * use there. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "two_in_cluster.h"

/* Without a word, who waits asks again after 800 to 1000 ms. */
enum { TTL_MS = 60000, WAKE_MS = 200, NAMES = 8 };

static int setup(void **state)
{
  (void)state;
  two_in_cluster(DIBS_DIALECT_REDISSON);
  return 0;
}

static const char *const names[NAMES] = { "1", "2", "3", "{a}b", "c{d}", "e f", "7", "8" };

static dibs_status take(dibs_client *c, char mode, const char *name,
                        const dibs_lock_options *o, dibs_hold **ret_hold)
{
  switch (mode) {
  case 'r': return dibs_acquire(c, DIBS_READ(name), o, ret_hold);
  case 'w': return dibs_acquire(c, DIBS_WRITE(name), o, ret_hold);
  default: return dibs_acquire(c, DIBS_PERMITS(name, (uint32_t)(mode - '0')), o, ret_hold);
  }
}

/* Whether somebody listens on this channel at some node. */
static bool is_heard(void *channel)
{
  for (int i = 0; i < test_cluster_count(cluster); i++) {
    const struct test_server *s = test_cluster_member(cluster, i);
    bool has_shards = test_server_knows(s, "ssubscribe");

    if (test_server_integer(s, "EVAL %s 0 %s %s",
                            "return redis.call('PUBSUB', ARGV[1], ARGV[2])[2]",
                            has_shards ? "SHARDNUMSUB" : "NUMSUB", (const char *)channel) > 0)
      return true;
  }
  return false;
}

/* How long after the release the other has it. */
static int64_t hand_over_ms(char holds, char waits, const char *name, uint32_t flags)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *hold = NULL;
  char channel[64];
  struct live_ask ask;
  int64_t released;

  (void)snprintf(channel, sizeof(channel), strchr(name, '{') != NULL ? "%s:%s" : "%s:{%s}",
                 holds == 'r' || holds == 'w' ? "redisson_rwlock" : "redisson_sc", name);
  o.flags = flags;
  live_expect(a, take(a, holds, name, &o, &hold), DIBS_OK);
  live_ask_begin_as(&ask, b, waits, name, &o);
  assert_true(live_until(LIVE_LONG_MS, is_heard, channel));
  released = live_now_ms();
  live_expect(a, dibs_release(hold), DIBS_OK);
  live_expect(b, dibs_release(live_ask_granted(&ask, LIVE_LONG_MS)), DIBS_OK);
  return ask.ended_at_ms - released;
}

TEST(readers_and_writers_are_woken)
{
  int64_t took[2 * NAMES];

  for (size_t i = 0; i < NAMES; i++) {
    took[2 * i] = hand_over_ms('r', 'w', names[i], 0);
    took[2 * i + 1] = hand_over_ms('w', 'r', names[i], 0);
  }
  assert_in_range(live_median(took, 2 * NAMES), 0, WAKE_MS);
}

TEST(who_waits_for_permits_of_either_kind_is_woken)
{
  int64_t took[2 * NAMES];

  for (size_t i = 0; i < NAMES; i++) {
    live_expect(a, dibs_semaphore_set(a, dibs_text(names[i]), 3, 0, NULL), DIBS_OK);
    took[2 * i] = hand_over_ms('2', '3', names[i], 0);
    took[2 * i + 1] = hand_over_ms('3', '1', names[i], DIBS_PERMITS_PLAIN);
    live_expect(a, dibs_semaphore_delete(a, dibs_text(names[i])), DIBS_OK);
  }
  assert_in_range(live_median(took, 2 * NAMES), 0, WAKE_MS);
}

TEST(renewals_of_many_slots_keep_all)
{
  dibs_lock_options o = live_lock_options(600, LIVE_LONG_MS);
  int64_t until = live_now_ms() + 1500;
  dibs_hold *holds[NAMES];

  for (size_t i = 0; i < NAMES; i++)
    live_expect(a, take(a, i % 2 == 0 ? 'r' : 'w', names[i], &o, &holds[i]), DIBS_OK);
  while (live_now_ms() < until)
    for (size_t i = 0; i < NAMES; i++)
      assert_int_equal(dibs_hold_state(holds[i]), DIBS_HOLD_HELD);
  for (size_t i = 0; i < NAMES; i++)
    live_expect(a, dibs_release(holds[i]), DIBS_OK);
}

RUN_TESTS(setup, teardown)

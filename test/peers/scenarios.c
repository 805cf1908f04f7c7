/* SPDX-License-Identifier: MIT */
/* test/peers/scenarios.c - the table of what is played with two peers, and with which two it makes
 * sense. A new scenario is a line here and a function. */
#include "stage.h"

#include <stddef.h>

#include "live.h"
#include <string.h>

enum { CYCLES = 2000 };             /* of all four workers; DIBS_TEST_SCALE=50: 10^5 */

static bool reenters(const struct peer *a, const struct peer *b)
{
  (void)b;
  return (a->traits & REENTERS) != 0;
}

static bool renews(const struct peer *a, const struct peer *b)
{
  (void)b;
  return (a->traits & RENEWS) != 0;
}

static bool forces(const struct peer *a, const struct peer *b)
{
  (void)a;
  return (b->traits & FORCES) != 0;
}

/* Two that ask server after server may be in each other's way for seconds. */
static bool is_with_ours(const struct peer *a, const struct peer *b)
{
  return strcmp(a->program, "dibs") == 0 || strcmp(b->program, "dibs") == 0;
}

/* Whether who waits for a lock of `a` at `b` can know at once that it is free. */
static bool is_heard(const struct peer *a, const struct peer *b)
{
  return (b->traits & POLLS) != 0 || (a->traits & TELLS & b->traits >> 1) != 0 ||
         (a->traits & TELLS_OLD & b->traits >> 1) != 0;
}

static bool lets_in(const struct peer *a, const struct peer *b)
{
  return ((a->traits | b->traits) & LETS_IN) != 0;
}

static bool hear_each_other(const struct peer *a, const struct peer *b)
{
  return is_heard(a, b) && is_heard(b, a);
}

/* Whether `b` can read how often `a` has it, who counts on the server. */
static bool is_count_seen(const struct peer *a, const struct peer *b)
{
  return (a->traits & REENTERS) != 0 && (a->traits & SEES_COUNTS) == 0 &&
         (b->traits & SEES_COUNTS) != 0;
}

/* One library knows what it does itself; and a fair place of ours is long. */
static bool are_two(const struct peer *a, const struct peer *b)
{
  return a != b;
}

/* Their semaphores have permits without leases. */
static bool are_redisson(const struct peer *a, const struct peer *b)
{
  return a->family == FAMILY_REDISSON && b->family == FAMILY_REDISSON;
}

/* Both go on by themselves when their one server was away. */
static bool reconnect(const struct peer *a, const struct peer *b)
{
  return are_redisson(a, b) && live_place() == LIVE_ONE;
}

_Static_assert(HEARS >> 1 == TELLS && HEARS_OLD >> 1 == TELLS_OLD, "is_heard()");

const struct scenario stage_scenarios[] = {
  { "canary", "canary", "two inside are found", scene_canary, NULL, true, 40000 },
  { "lock", "lock", "never two inside", scene_exclusion, NULL, true, CYCLES },
  { "lock", "lock", "each side gets its share", scene_shares, lets_in, true, 2000 },
  { "lock", "lock", "wakes at once", scene_wakes, is_heard, false, 0 },
  { "lock", "lock", "counts its owner's locks", scene_reenters, reenters, false, 0 },
  { "lock", "lock", "a lease ends", scene_expires, NULL, false, 0 },
  { "lock", "lock", "is kept beyond its lease", scene_renews, renews, false, 0 },
  { "lock", "lock", "is seen by the other", scene_seen, NULL, false, 0 },
  { "lock", "lock", "the watchdog is seen by the other", scene_seen_renewed, renews, false, 0 },
  { "lock", "lock", "its count is seen by the other", scene_seen_count, is_count_seen, false, 0 },
  { "lock", "lock", "taken by force", scene_forced, forces, false, 0 },
  { "lock", "lock", "the holder is killed", scene_crash, NULL, false, 0 },
  { "lock", "lock", "a waiter is killed", scene_waiter_crash, NULL, false, 0 },
  { "lock", "lock", "by any name", scene_names, hear_each_other, true, 0 },
  { "lock", "lock", "all is forgotten", scene_flushed, NULL, false, 0 },
  { "lock", "lock", "the server begins anew", scene_restarted_empty, reconnect, false, 0 },
  { "lock", "lock", "the server comes back", scene_restarted, reconnect, false, 0 },
  { "fair", "fair", "never two inside", scene_exclusion, NULL, true, CYCLES },
  { "fair", "fair", "each side gets its share", scene_shares, lets_in, true, 1000 },
  { "fair", "fair", "wakes at once", scene_wakes, is_heard, false, 0 },
  { "fair", "fair", "counts its owner's locks", scene_reenters, reenters, false, 0 },
  { "fair", "fair", "is kept beyond its lease", scene_renews, renews, false, 0 },
  { "fair", "fair", "is seen by the other", scene_seen, NULL, false, 0 },
  { "fair", "fair", "taken by force", scene_forced, forces, false, 0 },
  { "fair", "fair", "the holder is killed", scene_crash, NULL, false, 0 },
  { "fair", "fair", "the first who waits is killed", scene_waiter_crash, are_two, false, 0 },
  { "fair", "fair", "by any name", scene_names, hear_each_other, true, 0 },
  { "fair", "fair", "first come, first served", scene_fair_order, NULL, false, 0 },
  { "spin", "spin", "never two inside", scene_exclusion, NULL, true, CYCLES },
  { "spin", "spin", "wakes at once", scene_wakes, NULL, false, 0 },
  { "spin", "spin", "counts its owner's locks", scene_reenters, reenters, false, 0 },
  { "spin", "spin", "a lease ends", scene_expires, NULL, false, 0 },
  { "spin", "spin", "is kept beyond its lease", scene_renews, renews, false, 0 },
  { "spin", "spin", "is seen by the other", scene_seen, NULL, false, 0 },
  { "spin", "spin", "taken by force", scene_forced, forces, false, 0 },
  { "spin", "spin", "the holder is killed", scene_crash, NULL, false, 0 },
  { "spin", "spin", "a waiter is killed", scene_waiter_crash, NULL, false, 0 },
  { "fenced", "fenced", "never two inside", scene_exclusion, NULL, true, CYCLES },
  { "fenced", "fenced", "each side gets its share", scene_shares, lets_in, true, 1000 },
  { "fenced", "fenced", "wakes at once", scene_wakes, is_heard, false, 0 },
  { "fenced", "fenced", "counts its owner's locks", scene_reenters, reenters, false, 0 },
  { "fenced", "fenced", "tokens grow on both sides", scene_tokens, NULL, false, 0 },
  { "fenced", "fenced", "a lease ends", scene_expires, NULL, false, 0 },
  { "fenced", "fenced", "is kept beyond its lease", scene_renews, renews, false, 0 },
  { "fenced", "fenced", "is seen by the other", scene_seen, NULL, false, 0 },
  { "fenced", "fenced", "taken by force", scene_forced, forces, false, 0 },
  { "fenced", "fenced", "the holder is killed", scene_crash, NULL, false, 0 },
  { "fenced", "fenced", "a waiter is killed", scene_waiter_crash, NULL, false, 0 },
  { "fenced", "fenced", "by any name", scene_names, hear_each_other, true, 0 },
  { "rw", "write", "writers and readers", scene_shared_exclusion, NULL, true, CYCLES },
  { "rw", "write", "each writer gets his share", scene_shares, lets_in, true, 1000 },
  { "rw", "write", "who goes with whom", scene_readers, is_heard, false, 0 },
  { "rw", "write", "a writer counts its locks", scene_reenters, reenters, false, 0 },
  { "rw", "write", "a writer wakes at once", scene_wakes, is_heard, false, 0 },
  { "rw", "write", "a writer's lease ends", scene_expires, NULL, false, 0 },
  { "rw", "write", "writing is kept beyond its lease", scene_renews, renews, false, 0 },
  { "rw", "read", "reading is kept beyond its lease", scene_renews, renews, false, 0 },
  { "rw", "write", "writing is seen by the other", scene_seen, NULL, false, 0 },
  { "rw", "read", "reading is seen by the other", scene_seen, NULL, false, 0 },
  { "rw", "read", "a reader's watchdog is seen by the other", scene_seen_renewed, renews, false,
    0 },
  { "rw", "write", "the writer is killed", scene_crash, NULL, false, 0 },
  { "rw", "write", "a waiting writer is killed", scene_waiter_crash, NULL, false, 0 },
  { "rw", "read", "a reader is killed", scene_crash, NULL, false, 0 },
  { "rw", "write", "by any name", scene_names, hear_each_other, true, 0 },
  { "rw", "write", "writing taken by force", scene_forced, forces, false, 0 },
  { "rw", "read", "reading taken by force", scene_forced, forces, false, 0 },
  { "multi", "multi", "all of them or none", scene_several, NULL, false, 0 },
  { "red", "red", "all of them or none", scene_several, NULL, false, 0 },
  { "redlock", "redlock", "never two inside", scene_exclusion_in_rounds, is_with_ours, true, 200 },
  { "redlock", "redlock", "wakes at once", scene_wakes, is_heard, false, 0 },
  { "redlock", "redlock", "a lease ends", scene_expires, NULL, false, 0 },
  { "redlock", "redlock", "is kept beyond its lease", scene_renews, renews, false, 0 },
  { "redlock", "redlock", "the holder is killed", scene_crash, NULL, false, 0 },
  { "semaphore", "semaphore", "never more than permits", scene_exclusion, NULL, true, CYCLES },
  { "semaphore", "semaphore", "counts and wakes", scene_permits, is_heard, false, 0 },
  { "semaphore", "semaphore", "the holder is killed", scene_permits_gone, are_redisson, false, 0 },
  { "expirable", "expirable", "never more than permits", scene_exclusion, NULL, true, CYCLES },
  { "expirable", "expirable", "counts and wakes", scene_permits, is_heard, false, 0 },
  { "expirable", "expirable", "a permit's lease ends", scene_permits_expire, NULL, false, 0 },
  { "expirable", "expirable", "the holder is killed", scene_permits_crash, NULL, false, 0 },
  { "latch", "latch", "down from both sides", scene_latch, NULL, false, 0 },
  { "rate", "rate", "one rate for both", scene_rate, NULL, false, 0 },
  { "data", "map", "the same values", scene_collections, NULL, false, 0 },
};
const int stage_scenario_count = sizeof(stage_scenarios) / sizeof(stage_scenarios[0]);

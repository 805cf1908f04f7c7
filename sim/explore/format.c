/* SPDX-License-Identifier: MIT */
/* Whose format the locks of a world have, what it cannot promise, and what is drawn of it. */
#include "explore.h"

static const lock_format native = {
  .hands_over = true, .has_tokens = true, .remembers_asks = true, .survives_steps = true,
  .reports_holders = true, .forgets_waiters = true
};

/* doc/design/redisson.md 3.
 * No hand-over: a release says that the lock is free, and who asks first has it.
 * No tokens: the hash has an owner and a number; the fence is not on the server.
 * No memory of asks: a key beside the lock, for some seconds, and only where a copy may come.
 * Steps: a lease is the time to live of a key, by a clock that is the server's alone.
 * Holders: who has what is unlocked by force learns it by his next renewal.
 * Waiters: the queue of a fair lock and its deadlines have no time to live. */
static const lock_format redisson = { .hands_over = false };

const lock_format *format_of(const plan *p)
{
  return p->is_redisson ? &redisson : &native;
}

const char *redisson_kind_name(redisson_kind f)
{
  static const char *const names[] = { "plain", "fair", "fenced", "spin" };

  return names[f];
}

uint32_t redisson_kind_flag(const plan *p, unsigned names)
{
  static const uint32_t flags[] = { 0, DIBS_LOCK_FAIR, DIBS_LOCK_FENCED, DIBS_LOCK_SPIN };

  for (int i = 0; i < MUTEXES && p->is_redisson; i++)
    if ((names >> i & 1) != 0)
      return flags[p->redisson_kinds[i]];
  return 0;
}

/* From a stream of its own: the rest of the world is that of a native one. */
void plan_redisson(plan *p, kinds asked)
{
  random_source r;

  random_seed(&r, p->seed ^ 0x7265646973736f6eu);
  p->is_redisson = true;
  p->client_flags = 0;                  /* deadlocks are looked for in native worlds only */
  for (int i = 0; i < MUTEXES; i++) {
    do
      p->redisson_kinds[i] = (redisson_kind)random_below(&r, 4);
    while ((asked & ((unsigned)KIND_PLAIN << p->redisson_kinds[i])) == 0);
  }
  p->peers = random_below(&r, 2) == 0 ? 0 : 1 + (int)random_below(&r, PEERS_MAX);
}

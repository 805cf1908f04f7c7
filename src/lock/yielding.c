/* SPDX-License-Identifier: MIT */
/* lock/yielding.c - yields after a release, where the first client that asks gets the
 * name: other processes need a wake-up before they ask, so this one delays its next ask.
 * doc/design/redisson.md 2. */
#include "lock/table.h"

#define YIELD_WAKE SPAN_MS(1)      /* wake-up of a waiter; a round trip like ours follows */
#define YIELD_MOST SPAN_MS(5)
#define YIELD_PATIENCE SPAN_MS(20) /* waiters with less time left ask at once */

/* A try must report the present state, so it does not yield. */
static bool has_patience(const lease *l, instant until)
{
  const claim_terms *wish = wish_of(&l->claims);

  return wish != NULL && !wish->is_try &&
         !instant_before(wish->give_up_at, instant_add(until, YIELD_PATIENCE));
}

/* Asks at `at`, or at its next poll if that is earlier. */
static void ask_at(lease *l, instant at)
{
  timers_set(&l->table->timers, &l->poll,
             timer_is_set(&l->poll) ? instant_min(l->poll.at, at) : at);
}

void yield_ask(lease *l, instant now)
{
  const lock_table *t = l->table;
  instant until = { 0 };

  if (!t->protocol.dialect->traits.hands_over)
    until = reuse_yield_until(&t->reuse, l->bytes, l->size);
  if (instant_before(now, until) && has_patience(l, until))
    ask_at(l, until);
  else
    lease_due(l);
}

/* Any of several shared leases of the name may have subscribed it, if it waits. */
static const channel *own_channel(const lease *l)
{
  const lease *other = l;

  if (l->kind == LEASE_SHARED)
    for (other = l->shared.entry->first; other->channel == NULL && other->shared.next != NULL;)
      other = other->shared.next;
  return other->channel;
}

/* Whether this message may be about a release that this client has sent. */
static bool is_released_by_us(const lease *l)
{
  const lease *other = l->kind == LEASE_SHARED ? l->shared.entry->first : NULL;

  for (; other != NULL; other = other->shared.next)
    if (other->state == LEASE_RELEASING && other->end_sendings > 0)
      return true;
  return false;
}

void yield_reported(lease *l, instant now)
{
  instant until = instant_add(now, YIELD_MOST);

  if (is_released_by_us(l) && has_patience(l, until))
    ask_at(l, until);                    /* or when the reply shows no other subscriber */
  else
    yield_ask(l, now);
}

void yield_given(lease *l, uint64_t heard, instant sent_at, instant now)
{
  lock_table *t = l->table;
  span pause = span_min((span){ YIELD_WAKE.ns + instant_since(now, sent_at).ns }, YIELD_MOST);
  const channel *ours = own_channel(l);
  uint64_t we_heard = ours != NULL && ours->is_asked ? 1 : 0;

  if (heard > we_heard)
    reuse_yields(&t->reuse, l->bytes, l->size, instant_add(now, pause));
  if (l->kind == LEASE_SHARED && heard > 0)
    for (lease *other = l->shared.entry->first; other != NULL; other = other->shared.next)
      if (other->channel != NULL && other->state == LEASE_QUEUED)
        yield_ask(other, now);
}

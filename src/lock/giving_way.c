/* SPDX-License-Identifier: MIT */
/* lock/giving_way.c - where a release only tells that a name is free, and who asks first has it:
 * others who were told are let in before our own next ask, which needs no wake-up as they do.
 * doc/design/redisson.md 2. */
#include "lock/table.h"

#define WAY_WAKE SPAN_MS(1)        /* others' wake-up; behind it a round trip, as long as ours */
#define WAY_MOST SPAN_MS(5)
#define WAY_PATIENCE SPAN_MS(20)   /* who gives up sooner asks at once */

/* Who tries wants to know what is now. */
static bool has_patience(const name *n, instant until)
{
  const claim *head = n->waiting;

  return head != NULL && !head->is_try &&
         !instant_before(head->give_up_at, instant_add(until, WAY_PATIENCE));
}

/* Its poll, or sooner. */
static void ask_at(name *n, instant at)
{
  timers_set(&n->table->timers, &n->poll,
             timer_is_set(&n->poll) ? instant_min(n->poll.at, at) : at);
}

void way_ask(name *n, instant now)
{
  const lock_table *t = n->table;
  instant until = { 0 };

  if (!dialect_traits_of(&t->native)->hands_over)
    until = habit_way_until(&t->habits, n->bytes, n->size);
  if (instant_before(now, until) && has_patience(n, until))
    ask_at(n, until);
  else
    name_due(n);
}

/* Of several seats any may have subscribed it: those that wait. */
static const channel *own_channel(const name *n)
{
  const name *other = n;

  if (n->kind == NAME_SEAT)
    for (other = n->resource->first; other->channel == NULL && other->next_seat != NULL;)
      other = other->next_seat;
  return other->channel;
}

/* Whether a release of ours is on its way that may be what the channel tells of. */
static bool is_released_by_us(const name *n)
{
  const name *other = n->kind == NAME_SEAT ? n->resource->first : NULL;

  for (; other != NULL; other = other->next_seat)
    if (other->state == NAME_RELEASING && other->release_was_sent)
      return true;
  return false;
}

void way_told(name *n, instant now)
{
  instant until = instant_add(now, WAY_MOST);

  if (is_released_by_us(n) && has_patience(n, until))
    ask_at(n, until);                    /* or when the answer says that nobody else heard */
  else
    way_ask(n, now);
}

void way_given(name *n, uint64_t heard, instant sent_at, instant now)
{
  lock_table *t = n->table;
  span pause = span_min((span){ WAY_WAKE.ns + instant_since(now, sent_at).ns }, WAY_MOST);
  const channel *ours = own_channel(n);
  uint64_t we_heard = ours != NULL && ours->is_asked ? 1 : 0;

  if (heard > we_heard)
    habit_gives_way(&t->habits, n->bytes, n->size, instant_add(now, pause));
  if (n->kind == NAME_SEAT && heard > 0)
    for (name *other = n->resource->first; other != NULL; other = other->next_seat)
      if (other->channel != NULL && other->state == NAME_QUEUED)
        way_ask(other, now);
}

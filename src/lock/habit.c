/* SPDX-License-Identifier: MIT */
/* lock/habit.c - counts that decide whether a name is kept after its release, and until when
 * others come first. */
#include "lock/habit.h"

#define SOON SPAN_MS(1000)
#define TIMES_TAKEN 3
#define TIMES_REVOKED 2

static uint64_t hash_of(const void *name, size_t size)
{
  const unsigned char *bytes = name;
  uint64_t hash = 14695981039346656037u;         /* FNV-1a */

  for (size_t i = 0; i < size; i++)
    hash = (hash ^ bytes[i]) * 1099511628211u;
  return hash != 0 ? hash : 1;
}

static size_t place_of(uint64_t hash)
{
  return (hash ^ hash >> 32) % HABITS;
}

static habit *habit_of(habits *h, const void *name, size_t size)
{
  uint64_t hash = hash_of(name, size);
  habit *one = &h->all[place_of(hash)];

  if (one->name != hash)
    *one = (habit){ .name = hash };
  return one;
}

void habit_taken(habits *h, const void *name, size_t size, instant now)
{
  habit *one = habit_of(h, name, size);

  if (one->taken > 0 && instant_since(now, one->released_at).ns > SOON.ns)
    one->taken = 0;
  if (one->taken < TIMES_TAKEN)
    one->taken++;
}

void habit_released(habits *h, const void *name, size_t size, bool is_wanted, instant now)
{
  habit *one = habit_of(h, name, size);

  one->released_at = now;
  if (is_wanted)
    one->taken = 0;
}

void habit_revoked(habits *h, const void *name, size_t size)
{
  habit *one = habit_of(h, name, size);

  if (++one->revoked >= TIMES_REVOKED)
    *one = (habit){ .name = one->name, .way_until = one->way_until };
}

void habit_paid(habits *h, const void *name, size_t size)
{
  habit_of(h, name, size)->revoked = 0;
}

void habit_gives_way(habits *h, const void *name, size_t size, instant until)
{
  habit_of(h, name, size)->way_until = until;
}

instant habit_way_until(const habits *h, const void *name, size_t size)
{
  uint64_t hash = hash_of(name, size);
  const habit *one = &h->all[place_of(hash)];

  return one->name == hash ? one->way_until : (instant){ 0 };
}

bool habit_says_linger(const habits *h, const void *name, size_t size)
{
  uint64_t hash = hash_of(name, size);
  const habit *one = &h->all[place_of(hash)];

  return one->name == hash && one->taken >= TIMES_TAKEN;
}

/* SPDX-License-Identifier: MIT */
/* lock/reuse_history.c - counters that decide whether a name is parked after its release, and
 * until when other clients ask first. */
#include "lock/reuse_history.h"

#include "lock/name_place.h"

#define SOON SPAN_MS(1000)
#define TIMES_TAKEN 3u
#define TIMES_REVOKED 2u
#define DOUBLINGS 5             /* of the pause: up to 96 grants */

static reuse_record *reuse_record_of(reuse_history *h, const void *name, size_t size)
{
  uint64_t hash = name_hash(name, size);
  reuse_record *one = &h->all[name_place(hash, REUSE_RECORDS)];

  if (one->name != hash)
    *one = (reuse_record){ .name = hash };
  return one;
}

void reuse_taken(reuse_history *h, const void *name, size_t size, instant now)
{
  reuse_record *one = reuse_record_of(h, name, size);

  if (one->taken > 0 && instant_since(now, one->released_at).ns > SOON.ns)
    one->taken = 0;
  if (one->taken < TIMES_TAKEN)
    one->taken++;
  if (one->pause > 0)
    one->pause--;
}

void reuse_released(reuse_history *h, const void *name, size_t size, bool is_wanted, instant now)
{
  reuse_record *one = reuse_record_of(h, name, size);

  one->released_at = now;
  if (is_wanted)
    one->taken = 0;
}

void reuse_revoked(reuse_history *h, const void *name, size_t size)
{
  reuse_record *one = reuse_record_of(h, name, size);

  if (one->revoked < TIMES_REVOKED + DOUBLINGS)
    one->revoked++;
  if (one->revoked < TIMES_REVOKED)
    return;
  one->taken = 0;
  one->pause = TIMES_TAKEN << (one->revoked - TIMES_REVOKED);
}

void reuse_paid(reuse_history *h, const void *name, size_t size)
{
  reuse_record_of(h, name, size)->revoked = 0;
}

void reuse_yields(reuse_history *h, const void *name, size_t size, instant until)
{
  reuse_record_of(h, name, size)->yield_until = until;
}

instant reuse_yield_until(const reuse_history *h, const void *name, size_t size)
{
  uint64_t hash = name_hash(name, size);
  const reuse_record *one = &h->all[name_place(hash, REUSE_RECORDS)];

  return one->name == hash ? one->yield_until : (instant){ 0 };
}

bool reuse_says_linger(const reuse_history *h, const void *name, size_t size, bool is_auto)
{
  uint64_t hash = name_hash(name, size);
  const reuse_record *one = &h->all[name_place(hash, REUSE_RECORDS)];

  if (one->name != hash)
    return !is_auto;
  return one->pause == 0 && (!is_auto || one->taken >= TIMES_TAKEN);
}

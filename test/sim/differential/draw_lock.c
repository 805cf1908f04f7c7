/* SPDX-License-Identifier: MIT */
/* test/sim/differential/draw_lock.c - requests for locks, sets of them, and shares: by few
 * clients for few names, repeated, stale and late ones, with leases seen in answers. */
#include "draw.h"
#include "rendered.h"

#include <assert.h>
#include <string.h>

static const char *const names[DRAW_NAMES] = { "a", "b", "c" };

typedef struct drawn_request {
  int who;
  protocol *by;
  const char *name;
  uint64_t ask;
  int64_t ttl_ms, until_us, estimate_us, give_up_us;
  bool waits;
  lease_id lease;          /* mostly the newest seen of that client */
  bool has_watched;        /* that lease */
} drawn_request;

static lease_id some_lease(draw *d, const protocol *by)
{
  size_t known = d->lease_count < DRAW_LEASES ? d->lease_count : DRAW_LEASES;
  lease_id l = { .ask = 1, .token = 1700000000123456 };

  memcpy(l.client, by->client, CLIENT_ID_SIZE);
  for (size_t back = 1; back <= known; back++) {
    const lease_id *seen = &d->leases[(d->lease_count - back) % DRAW_LEASES];
    bool is_his = strcmp(seen->client, by->client) == 0;

    if (is_his ? !draw_once_in(d, 6) : draw_once_in(d, 20))
      return *seen;
  }
  return l;
}

static drawn_request some_request(draw *d)
{
  static const int64_t ttls[] = { 1, 500, 500, 900, 5000, 30000, 30000, 3600000 };
  drawn_request r = { .who = (int)draw_below(d, DRAW_CLIENTS), .ttl_ms = ttls[draw_below(d, 8)] };

  r.by = &d->clients[r.who];
  r.name = names[draw_once_in(d, 3) ? draw_below(d, DRAW_NAMES) : 0];
  d->asks[r.who] += draw_once_in(d, 4);
  r.ask = d->asks[r.who] - (draw_once_in(d, 8) && d->asks[r.who] > 1);
  r.waits = !draw_once_in(d, 3);
  r.estimate_us = draw_once_in(d, 5) ? 0 : d->wall_us;
  if (draw_once_in(d, 6))
    r.estimate_us = d->wall_us + (int64_t)draw_below(d, 5) * 250000 - 500000;
  if (draw_once_in(d, 6))
    r.until_us = d->wall_us + (int64_t)draw_below(d, 3) - 1;
  if (draw_once_in(d, 3))
    r.give_up_us = d->wall_us + (int64_t)draw_below(d, 2000000);
  r.lease = some_lease(d, r.by);
  d->asked = (lease_id){ .ask = r.ask };
  memcpy(d->asked.client, r.by->client, CLIENT_ID_SIZE);
  r.has_watched = draw_once_in(d, 6);
  draw_edge(d, r.ttl_ms);
  draw_edge(d, r.ttl_ms + 1000);         /* when it is over for others */
  if (draw_once_in(d, 10))
    draw_edge(d, 3600000);               /* when its key is */
  return r;
}

static uint64_t some_renewals(draw *d) { return draw_below(d, 3); }

/* ---- one name ---- */

static bool acquire(draw *d, const drawn_request *r)
{
  acquire_call c = { .name = r->name, .name_size = 1, .ask = r->ask, .ttl_ms = r->ttl_ms,
                     .waits = r->waits, .lingers = draw_once_in(d, 4), .until_us = r->until_us,
                     .estimate_us = r->estimate_us, .give_up_us = r->give_up_us,
                     .watched = r->has_watched ? &r->lease : NULL,
                     .watched_renewals = some_renewals(d),
                     .detached = draw_once_in(d, 12) ? &r->lease : NULL };

  if (draw_once_in(d, 20))
    c.min_token = (uint64_t)d->wall_us + draw_below(d, 5000000);
  return RENDERED(native_acquire, r->by, &d->command, false, &c);
}

static bool renew(draw *d, const drawn_request *r)
{
  renew_item items[3];
  lease_id others[3];
  size_t count = draw_once_in(d, 4) ? 3 : 1;

  for (size_t i = 0; i < count; i++) {
    others[i] = i == 0 ? r->lease : some_lease(d, r->by);
    items[i] = (renew_item){ i == 0 ? r->name : names[i], 1, &others[i], r->ttl_ms };
  }
  return RENDERED(native_renew, r->by, &d->command, false, items, count, r->estimate_us);
}

void draw_lock(draw *d)
{
  drawn_request r = some_request(d);
  uint64_t kind = draw_below(d, 100);
  bool is_made;

  buffer_clear(&d->command);
  if (kind < 50)
    is_made = acquire(d, &r);
  else if (kind < 68)
    is_made = RENDERED(native_release, r.by, &d->command, false, r.name, 1, &r.lease,
                       r.estimate_us);
  else if (kind < 80)
    is_made = renew(d, &r);
  else if (kind < 90)
    is_made = RENDERED(native_cancel, r.by, &d->command, false, r.name, 1, r.ask,
                       draw_once_in(d, 2) ? 0 : d->wall_us + 500000, r.estimate_us,
                       draw_once_in(d, 12) ? &r.lease : NULL);
  else if (kind < 94)
    is_made = RENDERED(native_break, r.by, &d->command, false, r.name, 1, &r.lease,
                       r.estimate_us);
  else
    is_made = RENDERED(native_inspect, r.by, &d->command, false, r.name, 1);
  assert(is_made);
}

/* ---- shares ---- */

static bool share_acquire(draw *d, const drawn_request *r, bool is_semaphore)
{
  share_call c = { .name = r->name, .name_size = 1, .ask = r->ask, .mode = 'p',
                   .units = 1 + draw_below(d, 3), .ttl_ms = r->ttl_ms, .waits = r->waits,
                   .until_us = r->until_us, .estimate_us = r->estimate_us,
                   .give_up_us = r->give_up_us, .watched = r->has_watched ? &r->lease : NULL,
                   .watched_renewals = some_renewals(d) };

  if (!is_semaphore) {
    c.mode = draw_once_in(d, 3) ? 'w' : 'r';
    c.units = 1;
  } else {
    if (!c.waits && draw_once_in(d, 4))
      c.units = 0;
    if (draw_once_in(d, 3))
      c.limit = 3 + draw_below(d, 2);
  }
  return RENDERED(native_share_acquire, r->by, &d->command, false, &c);
}

static bool share_set(draw *d, const drawn_request *r)
{
  share_set_what what = draw_once_in(d, 6) ? SHARE_DELETE : draw_once_in(d, 3) ? SHARE_SET
                                                                           : SHARE_SET_IF_ABSENT;

  return RENDERED(native_share_set, r->by, &d->command, false, r->name, 1, what,
                  1 + draw_below(d, 4), r->estimate_us);
}

/* The name `a` is a read/write lock, `b` a semaphore, `c` either. */
void draw_share(draw *d)
{
  drawn_request r = some_request(d);
  uint64_t kind = draw_below(d, 100);
  bool is_semaphore = r.name[0] == 'b' || (r.name[0] == 'c' && draw_once_in(d, 2)), is_made;
  share_renew_item item = { r.name, 1, &r.lease, draw_once_in(d, 5) ? 0 : r.ttl_ms,
                            is_semaphore ? 'p' : draw_once_in(d, 3) ? 'r' : 'w', 0, false };

  buffer_clear(&d->command);
  if (is_semaphore && kind < 12)
    is_made = share_set(d, &r);
  else if (kind < 58)
    is_made = share_acquire(d, &r, is_semaphore);
  else if (kind < 74)
    is_made = RENDERED(native_share_release, r.by, &d->command, false, r.name, 1,
                       &r.lease, draw_once_in(d, 3) ? d->wall_us + 500000 : 0,
                       r.estimate_us);
  else if (kind < 85)
    is_made = RENDERED(native_share_renew, r.by, &d->command, false, &item, 1,
                       r.estimate_us);
  else if (kind < 93)
    is_made = RENDERED(native_share_cancel, r.by, &d->command, false, r.name, 1, r.ask,
                       draw_once_in(d, 2) ? 0 : d->wall_us + 500000, r.estimate_us);
  else if (kind < 96)
    is_made = RENDERED(native_break, r.by, &d->command, false, r.name, 1, &r.lease,
                       r.estimate_us);
  else
    is_made = RENDERED(native_inspect, r.by, &d->command, false, r.name, 1);
  assert(is_made);
}

/* ---- several names ---- */

void draw_many(draw *d)
{
  drawn_request r = some_request(d);
  uint64_t kind = draw_below(d, 100);
  many_name all[DRAW_NAMES];
  many_call c = { .names = all, .set = 1, .ask = r.ask, .ttl_ms = r.ttl_ms, .waits = r.waits,
                  .keeps = draw_once_in(d, 4), .until_us = r.until_us,
                  .estimate_us = r.estimate_us, .give_up_us = r.give_up_us,
                  .watched = r.has_watched ? &r.lease : NULL,
                  .watched_renewals = some_renewals(d) };
  bool is_made;

  for (size_t i = 0; i < DRAW_NAMES; i++)
    if (draw_once_in(d, 2) || (i + 1 == DRAW_NAMES && c.count == 0))
      all[c.count++] = (many_name){ names[i], 1 };
  d->asked.set = 1;
  r.lease.set = draw_once_in(d, 8) ? r.lease.set : 1;
  buffer_clear(&d->command);
  if (kind < 60)
    is_made = RENDERED(native_many_acquire, r.by, &d->command, false, &c);
  else if (kind < 82)
    is_made = RENDERED(native_many_release, r.by, &d->command, false, all, c.count,
                       &r.lease, r.estimate_us);
  else
    is_made = RENDERED(native_many_cancel, r.by, &d->command, false, all, c.count, 1,
                       r.ask, draw_once_in(d, 2) ? 0 : d->wall_us + 500000,
                       r.estimate_us);
  assert(is_made);
}

/* SPDX-License-Identifier: MIT */
/* Wire: which call of the dialect each kind of name makes, and with what. */
#include "lock/table.h"

#include <string.h>

int64_t wire_ms(span s)
{
  return (s.ns + 999999) / 1000000;
}

/* The server time after which a request sent now is of no use to anybody. */
static int64_t until(const name *n, instant now)
{
  const lock_table *t = n->table;
  instant last = now;
  instant patience = instant_add(now, t->settings.command_timeout);

  for (const claim *c = n->waiting; c != NULL && instant_before(last, patience);
       c = c->next)
    last = instant_max(last, c->give_up_at);
  return server_clock_at(&name_route(n)->clock, instant_min(last, patience));
}

/* Who waits without an inbox is known to live by his polls. */
static int64_t give_up(name *n, instant now)
{
  const lock_table *t = n->table;
  instant last = { 0 };

  for (const claim *c = n->waiting; c != NULL; c = c->next)
    last = instant_max(last, c->give_up_at);
  n->told_give_up = last;
  if (t->only_polls && n->ask_waits)     /* three polls and some; protocol.md 15 */
    last = instant_min(last, instant_add(now, (span){ 3 * ask_poll_span(t, n->ask_ttl).ns +
                                                      SPAN_MS(500).ns }));
  return instant_is_never(last) ? 0 : server_clock_at(&name_route(n)->clock, last);
}

static int64_t estimate(const route *r, instant now)
{
  return server_clock_trusted_at(&r->clock, now);
}

/* The lease that we have watched for its whole length without a renewal, or NULL. */
static const lease_id *watched(const name *n, instant now)
{
  if (n->watched.token == 0 ||
      instant_since(now, n->watched_since).ns <
        lease_watch(n->watched_length, n->table->settings.clock_rate_error_ppm).ns)
    return NULL;
  return &n->watched;
}

/* ---- acquire ---- */

static many_call many_of(const name *n, uint64_t ask, span ttl)
{
  return (many_call){ .names = n->members, .count = n->member_count, .set = n->set,
                      .ask = ask, .ttl_ms = wire_ms(ttl), .waits = n->ask_waits,
                      .keeps = n->rounds >= ROUNDS_FREE };
}

static bool mutex_acquire(name *n, buffer *out, span ttl, instant now)
{
  lock_table *t = n->table;
  const claim *head = n->waiting;
  acquire_call a = { .name = n->bytes, .name_size = n->size, .ask = n->ask,
                     .ttl_ms = wire_ms(ttl), .waits = n->ask_waits,
                     .polls = t->only_polls && n->ask_waits,
                     .lingers = linger_asks(n, head), .until_us = until(n, now),
                     .give_up_us = give_up(n, now), .estimate_us = estimate(name_route(n), now),
                     .floor = head->floor > t->floor ? head->floor : t->floor,
                     .flavour = n->flavour, .detached = hold_detached(n),
                     .watched = watched(n, now), .watched_renewals = n->watched_renewals };

  n->ask_lingers = a.lingers;
  return dialect_acquire(&t->native, out, n->with_text, &a);
}

static bool seat_acquire(name *n, buffer *out, span ttl, instant now)
{
  const lock_table *t = n->table;
  share_call s = { .name = n->bytes, .name_size = n->size, .ask = n->ask, .mode = n->mode,
                   .units = n->wanted_units, .ttl_ms = wire_ms(ttl), .waits = n->ask_waits,
                   .polls = t->only_polls && n->ask_waits,
                   .until_us = until(n, now), .give_up_us = give_up(n, now),
                   .estimate_us = estimate(name_route(n), now),
                   .floor = n->waiting->floor > t->floor ? n->waiting->floor
                                                               : t->floor,
                   .flavour = n->flavour, .watched = watched(n, now),
                   .watched_renewals = n->watched_renewals };

  return dialect_share_acquire(&t->native, out, n->with_text, &s);
}

static bool set_acquire(name *n, buffer *out, span ttl, instant now)
{
  const lock_table *t = n->table;
  many_call m = many_of(n, n->ask, ttl);

  m.polls = t->only_polls && n->ask_waits;
  m.until_us = until(n, now);
  m.give_up_us = give_up(n, now);
  m.estimate_us = estimate(name_route(n), now);
  m.floor = t->floor;
  m.watched = watched(n, now);
  m.watched_renewals = n->watched_renewals;
  return native_many_acquire(&t->native, out, n->with_text, &m);
}

bool wire_acquire(name *n, buffer *out, span ttl, instant now)
{
  switch (n->kind) {
  case NAME_MUTEX:
  case NAME_PLACE:
    return mutex_acquire(n, out, ttl, now);
  case NAME_SEAT:
    return seat_acquire(n, out, ttl, now);
  case NAME_SET:
    return set_acquire(n, out, ttl, now);
  }
  return false;
}

bool wire_acquire_answer(const lock_table *t, const call *c, name *n,
                         const resp_reply *reply, acquire_answer *ret)
{
  many_call m;
  size_t busy = 0;

  switch (c->name_kind) {
  case NAME_MUTEX:
  case NAME_PLACE:
    return native_acquire_answer(&t->native, c->ask, wire_ms(c->ttl), reply, ret);
  case NAME_SEAT:
    return native_share_answer(&t->native, c->ask, reply, ret);
  case NAME_SET:
    m = many_of(n, c->ask, c->ttl);
    if (!native_many_answer(&t->native, &m, reply, ret, &busy))
      return false;
    n->busy = busy;
    return true;
  }
  return false;
}

/* ---- leaving ---- */

/* Until when a copy of a request of now may still come in. */
static int64_t patience(const route *r, instant now)
{
  return server_clock_at(&r->clock, instant_add(now, r->table->settings.command_timeout));
}

/* Of the lease that a seat has. */
static share_ending share_end_of(const name *n, int64_t copies_us, instant now)
{
  return (share_ending){ .name = n->bytes, .name_size = n->size, .lease = n->lease,
                         .flavour = n->flavour, .units = n->mode == 'p' ? n->units : 0,
                         .ttl_ms = wire_ms(n->ttl), .copies_us = copies_us,
                         .estimate_us = estimate(name_route(n), now) };
}

/* Of the ask that a seat has open. */
static share_ending share_end_of_ask(const name *n, int64_t copies_us, instant now)
{
  share_ending e = share_end_of(n, copies_us, now);

  e.lease = (lease_id){ .ask = n->ask };
  memcpy(e.lease.client, n->table->native.client, sizeof(e.lease.client));
  e.units = n->wanted_units;
  return e;
}

bool wire_release(const name *n, buffer *out, instant now)
{
  const lock_table *t = n->table;
  share_ending e;
  int64_t now_us = estimate(name_route(n), now);

  switch (n->kind) {
  case NAME_MUTEX:
  case NAME_PLACE:
    return dialect_release(&t->native, out, n->with_text, n->bytes, n->size, &n->lease,
                           n->ask_was_cut ? patience(name_route(n), now) : 0, now_us);
  case NAME_SEAT:
    e = share_end_of(n, n->ask_was_cut ? patience(name_route(n), now) : 0, now);
    return dialect_share_release(&t->native, out, n->with_text, &e);
  case NAME_SET:
    return native_many_release(&t->native, out, n->with_text, n->members, n->member_count,
                               &n->lease, now_us);
  }
  return false;
}

bool wire_cancel(const name *n, buffer *out, instant now)
{
  const lock_table *t = n->table;
  int64_t until_us = patience(name_route(n), now), now_us = estimate(name_route(n), now);
  share_ending e;

  switch (n->kind) {
  case NAME_MUTEX:
  case NAME_PLACE:
    return dialect_cancel(&t->native, out, n->with_text, n->bytes, n->size, n->ask, until_us,
                          now_us, hold_detached(n));
  case NAME_SEAT:
    e = share_end_of_ask(n, until_us, now);
    return dialect_share_cancel(&t->native, out, n->with_text, &e);
  case NAME_SET:
    return native_many_cancel(&t->native, out, n->with_text, n->members, n->member_count,
                              n->set, n->ask, until_us, now_us);
  }
  return false;
}

/* By EVAL: nobody is there to repeat it after NOSCRIPT. */
bool wire_stray(const route *r, buffer *out, const stray *s, instant now)
{
  const native *words = &r->table->native;
  share_ending e = { .name = s->name, .name_size = s->size, .lease = s->lease,
                     .copies_us = patience(r, now), .estimate_us = estimate(r, now) };

  if (s->is_share)
    return dialect_share_release(words, out, true, &e);
  return dialect_release(words, out, true, s->name, s->size, &s->lease, patience(r, now),
                         estimate(r, now));
}

bool wire_raise(const name *n, buffer *out)
{
  const native *words = &n->table->native;

  if (n->kind == NAME_SEAT)
    return dialect_share_raise(words, out, n->with_text, n->bytes, n->size, &n->lease,
                               n->raise_to);
  return dialect_raise(words, out, n->with_text, n->bytes, n->size, &n->lease, n->raise_to);
}

/* ---- renewals: all of one kind, a set alone ---- */

bool wire_renews_nothing(const name *n)
{
  return name_is_unleased(n) || (n->is_fixed && !n->confirm_now);
}

static span renewal_ttl(const name *n, instant now)
{
  if (wire_renews_nothing(n))
    return (span){ 0 };
  return span_min(n->ttl, instant_since(n->limit, now));
}

static bool seats_renew(const route *r, buffer *out, name *const *names, size_t count,
                        instant now)
{
  share_renew_item items[RENEW_BATCH_MAX];

  for (size_t i = 0; i < count; i++)
    items[i] = (share_renew_item){ names[i]->bytes, names[i]->size, &names[i]->lease,
                                   wire_ms(renewal_ttl(names[i], now)), names[i]->mode,
                                   names[i]->units };
  return dialect_share_renew(&r->table->native, out, r->renew_with_text, items, count,
                            estimate(r, now));
}

bool wire_renew(const route *r, buffer *out, name *const *names, size_t count, instant now)
{
  renew_item items[RENEW_BATCH_MAX];
  const name *first = names[0];

  if (first->kind == NAME_SEAT)
    return seats_renew(r, out, names, count, now);
  if (first->kind == NAME_SET) {
    count = first->member_count;
    for (size_t i = 0; i < count; i++)
      items[i] = (renew_item){ first->members[i].name, first->members[i].size, &first->lease,
                               wire_ms(renewal_ttl(first, now)) };
  } else {
    for (size_t i = 0; i < count; i++)
      items[i] = (renew_item){ names[i]->bytes, names[i]->size, &names[i]->lease,
                               wire_ms(renewal_ttl(names[i], now)) };
  }
  return dialect_renew(&r->table->native, out, r->renew_with_text, items, count,
                       estimate(r, now));
}

bool wire_needs_renewal(const name *n, instant now)
{
  if (n->raise_to != 0)
    return false;                        /* of which lease, nobody could say */
  switch (n->state) {
  case NAME_CONFIRMING:
  case NAME_LINGERING:
    return true;
  case NAME_HELD:
    return n->is_downgrading || renewal_ttl(n, now).ns > 0;
  default:
    return false;
  }
}

/* ---- tokens ---- */

bool wire_token(const name *n, text *out)
{
  many_name one = { n->bytes, n->size };

  switch (n->kind) {
  case NAME_MUTEX:
  case NAME_PLACE:
    return token_write(TOKEN_LEASE, &n->lease, &one, 1, out);
  case NAME_SEAT:
    return token_write(TOKEN_SHARE, &n->lease, &one, 1, out);
  case NAME_SET:
    return token_write(TOKEN_MANY, &n->lease, n->members, n->member_count, out);
  }
  return false;
}

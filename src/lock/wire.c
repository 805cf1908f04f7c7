/* SPDX-License-Identifier: MIT */
/* lock/wire.c - the call of the dialect for each kind of name, and its arguments. */
#include "lock/table.h"

#include <string.h>

int64_t wire_ms(span s)
{
  return (s.ns + 999999) / 1000000;
}

/* A request that the server executes more than a quarter of a second after its sending makes a
 * lease in doubt (protocol.md 4). If its client has died meanwhile, as while the server was
 * stopped, no try takes that lease before the end of its key. So such a request is refused at
 * first: its client sends it again. Not over a connection on which all requests are that late. */
#define PROMPT SPAN_MS(250)

static bool is_prompt(const lease *l, instant now)
{
  const server_clock *c = &lease_route(l)->clock;

  return l->attempts == 0 && server_clock_trusted_at(c, now) != 0 &&
         c->doubt_us < span_to_us(PROMPT) / 2;
}

/* The server time after which a request sent now has no effect. */
static int64_t until(const lease *l, instant now)
{
  const lock_table *t = l->table;
  instant last = instant_max(now, waiters_limit(&l->claims));
  span most = is_prompt(l, now) ? span_min(PROMPT, t->settings.command_timeout)
                                : t->settings.command_timeout;

  return server_clock_at(&lease_route(l)->clock, instant_min(last, instant_add(now, most)));
}

/* A waiter without an inbox proves by its polls that it lives. */
static int64_t give_up(lease *l, instant now)
{
  const lock_table *t = l->table;
  instant last = waiters_limit(&l->claims);

  l->wait->sent_give_up = last;
  if (lease_only_polls(l) && l->ask.waits)       /* three polls and 500 ms; protocol.md 15 */
    last = instant_min(last, instant_add(now, (span){ 3 * ask_poll_span(t, l->ask.ttl).ns +
                                                      SPAN_MS(500).ns }));
  return instant_is_never(last) ? 0 : server_clock_at(&lease_route(l)->clock, last);
}

static int64_t estimate(const route *r, instant now)
{
  return server_clock_trusted_at(&r->clock, now);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
  return a > b ? a : b;
}

/* The token of the grant must be above it. */
static uint64_t min_token_of(const lease *l)
{
  if (l->lock_kind == LOCK_FENCED)
    return fence_memory_last(&l->table->fences, l->bytes, l->size);
  return larger(l->ended_token,
                larger(extras_of(wish_of(&l->claims))->min_token, l->table->min_token));
}

/* The lease that this client has watched for its whole length without a renewal, or NULL. */
static const lease_id *watched(const lease *l, instant now)
{
  const watched_lease *w = &l->wait->watched;

  if (w->lease.token == 0 ||
      instant_since(now, w->since).ns <
        lease_watch(w->length, l->table->settings.clock_rate_error_ppm).ns)
    return NULL;
  return &w->lease;
}

/* ---- acquire ---- */

static many_call many_of(const lease *l, uint64_t ask, span ttl)
{
  return (many_call){ .names = l->many.names, .count = l->many.count, .set = l->many.number,
                      .ask = ask, .ttl_ms = wire_ms(ttl), .waits = l->ask.waits,
                      .keeps = l->many.rounds >= ROUNDS_FREE };
}

static bool mutex_acquire(lease *l, request *out, span ttl, instant now)
{
  lock_table *t = l->table;
  acquire_call a = { .name = l->bytes, .name_size = l->size, .ask = l->ask.number,
                     .ttl_ms = wire_ms(ttl), .waits = l->ask.waits,
                     .polls = lease_only_polls(l) && l->ask.waits,
                     .nonce = ask_nonce(t, l->ask.number),
                     .lingers = park_asks(l, wish_of(&l->claims)), .until_us = until(l, now),
                     .give_up_us = give_up(l, now), .estimate_us = estimate(lease_route(l), now),
                     .min_token = min_token_of(l),
                     .kind = l->lock_kind, .detached = detached_of(l),
                     .watched = watched(l, now), .watched_renewals = l->wait->watched.renewals };

  l->ask.offers_idle = a.lingers;
  return t->protocol.dialect->acquire(&t->protocol, out, &a);
}

static bool shared_acquire(lease *l, request *out, span ttl, instant now)
{
  const lock_table *t = l->table;
  share_call s = { .name = l->bytes, .name_size = l->size, .ask = l->ask.number, .mode = l->mode,
                   .units = l->shared.wanted_units, .limit = l->shared.wanted_limit,
                   .ttl_ms = wire_ms(ttl), .waits = l->ask.waits,
                   .polls = lease_only_polls(l) && l->ask.waits,
                   .nonce = ask_nonce(t, l->ask.number),
                   .until_us = until(l, now), .give_up_us = give_up(l, now),
                   .estimate_us = estimate(lease_route(l), now),
                   .min_token = min_token_of(l),
                   .kind = l->lock_kind, .watched = watched(l, now),
                   .watched_renewals = l->wait->watched.renewals };

  return t->protocol.dialect->share_acquire(&t->protocol, out, &s);
}

static bool set_acquire(lease *l, request *out, span ttl, instant now)
{
  const lock_table *t = l->table;
  many_call m = many_of(l, l->ask.number, ttl);

  m.polls = lease_only_polls(l) && l->ask.waits;
  m.nonce = ask_nonce(t, l->ask.number);
  m.until_us = until(l, now);
  m.give_up_us = give_up(l, now);
  m.estimate_us = estimate(lease_route(l), now);
  m.min_token = min_token_of(l);
  m.watched = watched(l, now);
  m.watched_renewals = l->wait->watched.renewals;
  return native_many_acquire(&t->protocol, out, &m);
}

bool wire_acquire(lease *l, request *out, span ttl, instant now)
{
  switch (l->kind) {
  case LEASE_MUTEX:
  case LEASE_QUEUE_ENTRY:
    return mutex_acquire(l, out, ttl, now);
  case LEASE_SHARED:
    return shared_acquire(l, out, ttl, now);
  case LEASE_SET:
    return set_acquire(l, out, ttl, now);
  }
  return false;
}

bool wire_acquire_answer(const lock_table *t, const call *c, lease *l,
                         const resp_reply *reply, acquire_answer *ret)
{
  many_call m;
  size_t busy = 0;

  switch (c->lease_kind) {
  case LEASE_MUTEX:
  case LEASE_QUEUE_ENTRY:
    return native_acquire_answer(&t->protocol, c->ask, wire_ms(c->ttl), reply, ret);
  case LEASE_SHARED:
    return native_share_answer(&t->protocol, c->ask, reply, ret);
  case LEASE_SET:
    m = many_of(l, c->ask, c->ttl);
    if (!native_many_answer(&t->protocol, &m, reply, ret, &busy))
      return false;
    l->many.busy = busy;
    return true;
  }
  return false;
}

/* ---- leaving ---- */

/* Until when a copy of a request sent now may arrive. */
static int64_t patience(const route *r, instant now)
{
  return server_clock_at(&r->clock, instant_add(now, r->table->settings.command_timeout));
}

/* The end of a shared lease. */
static share_ending share_end_of(const lease *l, int64_t copies_us, instant now)
{
  return (share_ending){ .name = l->bytes, .name_size = l->size, .lease = l->term.id,
                         .kind = l->lock_kind, .units = l->mode == 'p' ? l->term.units : 0,
                         .ttl_ms = wire_ms(l->term.ttl), .copies_us = copies_us,
                         .estimate_us = estimate(lease_route(l), now) };
}

/* The end of the open ask of a shared lease. */
static share_ending share_end_of_ask(const lease *l, int64_t copies_us, instant now)
{
  share_ending e = share_end_of(l, copies_us, now);

  e.lease = (lease_id){ .ask = l->ask.number };
  memcpy(e.lease.client, l->table->protocol.client, sizeof(e.lease.client));
  e.units = l->shared.wanted_units;
  return e;
}

bool wire_release(const lease *l, request *out, instant now)
{
  const protocol *p = &l->table->protocol;
  share_ending e;
  int64_t now_us = estimate(lease_route(l), now);

  switch (l->kind) {
  case LEASE_MUTEX:
  case LEASE_QUEUE_ENTRY:
    return p->dialect->release(p, out, l->bytes, l->size, &l->term.id,
                               l->ask.may_arrive_late ? patience(lease_route(l), now) : 0,
                               now_us);
  case LEASE_SHARED:
    e = share_end_of(l, l->ask.may_arrive_late ? patience(lease_route(l), now) : 0, now);
    return p->dialect->share_release(p, out, &e);
  case LEASE_SET:
    return native_many_release(p, out, l->many.names, l->many.count, &l->term.id, now_us);
  }
  return false;
}

bool wire_may_ifeq(const lease *l, instant now)
{
  const route *r = lease_route(l);

  return r->ifeq == IFEQ_KNOWN && l->kind == LEASE_MUTEX && l->term.is_as_granted &&
         l->end_sendings == 0 && l->table->protocol.dialect->release_ifeq != NULL &&
         estimate(r, now) != 0;
}

bool wire_release_ifeq(const lease *l, request *out)
{
  const protocol *p = &l->table->protocol;
  lease_string stored = { .ttl_ms = wire_ms(l->ask.ttl), .lingers = l->ask.offers_idle };

  return p->dialect->release_ifeq(p, out, l->bytes, l->size, &l->term.id, &stored);
}

bool wire_cancel(const lease *l, request *out, instant now)
{
  const protocol *p = &l->table->protocol;
  int64_t until_us = patience(lease_route(l), now), now_us = estimate(lease_route(l), now);
  share_ending e;

  switch (l->kind) {
  case LEASE_MUTEX:
  case LEASE_QUEUE_ENTRY:
    return p->dialect->cancel(p, out, l->bytes, l->size, l->ask.number, until_us, now_us,
                              detached_of(l));
  case LEASE_SHARED:
    e = share_end_of_ask(l, until_us, now);
    return p->dialect->share_cancel(p, out, &e);
  case LEASE_SET:
    return native_many_cancel(p, out, l->many.names, l->many.count, l->many.number,
                              l->ask.number, until_us, now_us);
  }
  return false;
}

bool wire_orphan(const route *r, request *out, const orphan *s, instant now)
{
  const protocol *p = &r->table->protocol;
  share_ending e = { .name = s->name, .name_size = s->size, .lease = s->lease,
                     .copies_us = s->is_hearsay ? 0 : patience(r, now),
                     .estimate_us = estimate(r, now) };

  if (s->is_share)
    return p->dialect->share_release(p, out, &e);
  return p->dialect->release(p, out, s->name, s->size, &s->lease, e.copies_us, e.estimate_us);
}

bool wire_raise(const lease *l, request *out)
{
  const protocol *p = &l->table->protocol;

  switch (l->kind) {
  case LEASE_MUTEX:
  case LEASE_QUEUE_ENTRY:
    return p->dialect->raise(p, out, l->bytes, l->size, &l->term.id, l->term.raise_to);
  case LEASE_SHARED:
    return p->dialect->share_raise(p, out, l->bytes, l->size, &l->term.id, l->term.raise_to);
  case LEASE_SET:
    return native_many_raise(p, out, l->many.names, l->many.count, &l->term.id,
                             l->term.raise_to);
  }
  return false;
}

/* ---- renewals: all of one kind, a set alone ---- */

bool wire_renews_nothing(const lease *l)
{
  return lease_never_ends(l) || (l->term.is_fixed && !l->term.must_confirm);
}

/* The limit of its holders cuts it. A margin longer, so that they have it until then; the end of a
 * fixed lease does not move. */
static span renewal_ttl(const lease *l, instant now)
{
  span ttl = l->term.ttl, left = span_min(ttl, instant_since(l->term.limit, now));

  if (wire_renews_nothing(l))
    return (span){ 0 };
  if (!l->term.is_fixed)
    left.ns += lease_margin(ttl, l->table->settings.clock_rate_error_ppm).ns;
  return span_min(ttl, left);
}

static bool shared_renew(const route *r, request *out, lease *const *names, size_t count,
                         instant now)
{
  const protocol *p = &r->table->protocol;
  share_renew_item items[RENEW_BATCH_MAX];

  for (size_t i = 0; i < count; i++)
    items[i] = (share_renew_item){ names[i]->bytes, names[i]->size, &names[i]->term.id,
                                   wire_ms(renewal_ttl(names[i], now)), names[i]->mode,
                                   names[i]->term.units, .is_of_token = false };
  return p->dialect->share_renew(p, out, items, count, estimate(r, now));
}

bool wire_renew(const route *r, request *out, lease *const *names, size_t count,
                instant now)
{
  const protocol *p = &r->table->protocol;
  renew_item items[RENEW_BATCH_MAX];
  const lease *first = names[0];

  if (first->kind == LEASE_SHARED)
    return shared_renew(r, out, names, count, now);
  if (first->kind == LEASE_SET) {
    count = first->many.count;
    for (size_t i = 0; i < count; i++)
      items[i] = (renew_item){ first->many.names[i].name, first->many.names[i].size,
                               &first->term.id, wire_ms(renewal_ttl(first, now)) };
  } else {
    for (size_t i = 0; i < count; i++) {
      items[i] = (renew_item){ names[i]->bytes, names[i]->size, &names[i]->term.id,
                               wire_ms(renewal_ttl(names[i], now)) };
      names[i]->term.is_as_granted = false;
    }
  }
  return p->dialect->renew(p, out, items, count, estimate(r, now));
}

bool wire_needs_renewal(const lease *l, instant now)
{
  if (l->term.raise_to != 0)
    return false;                        /* its lease could not be identified */
  switch (l->state) {
  case LEASE_CONFIRMING:
  case LEASE_PARKED:
    return true;
  case LEASE_HELD:
    return l->is_downgrading || renewal_ttl(l, now).ns > 0;
  default:
    return false;
  }
}

/* ---- tokens ---- */

bool wire_token(const lease *l, text *out)
{
  many_name one = { l->bytes, l->size };

  switch (l->kind) {
  case LEASE_MUTEX:
  case LEASE_QUEUE_ENTRY:
    return token_write(TOKEN_LEASE, &l->term.id, &one, 1, out);
  case LEASE_SHARED:
    return token_write(TOKEN_SHARE, &l->term.id, &one, 1, out);
  case LEASE_SET:
    return token_write(TOKEN_MANY, &l->term.id, l->many.names, l->many.count, out);
  }
  return false;
}

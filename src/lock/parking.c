/* SPDX-License-Identifier: MIT */
/* lock/parking.c - parked leases: a mutex without a claim is kept for the next one
 * (protocol.md 11). Only where the server knows of it and a revocation request can arrive. */
#include "lock/table.h"

#include "base/fence.h"
#include "hold/claim.h"

#define AUTO_PARKED_FOR SPAN_MS(1000)
#define RENUMBER_FROM (FENCES_PER_TOKEN / 2)

static bool is_auto(span linger)
{
  return linger.ns < 0;
}

bool park_asks(const lease *l, const claim_terms *wish)
{
  if (l->kind != LEASE_MUTEX || wish->is_fixed || wish->linger.ns == 0 ||
      !l->table->protocol.dialect->traits.hands_over)
    return false;
  return reuse_says_linger(&l->table->reuse, l->bytes, l->size, is_auto(wish->linger));
}

bool park_is_wanted(const lease *l, const claim_terms *spec, instant now)
{
  const lock_table *t = l->table;

  return l->kind == LEASE_MUTEX && spec->linger.ns != 0 && l->ask.offers_idle &&
         l->claims.waiting == NULL && l->term.waiters_elsewhere == 0 && inbox_hears(l) &&
         !t->is_closing && !l->term.is_fixed && !l->term.is_suspect &&
         !l->term.is_reported_broken && !l->term.is_named &&
         l->local_number + 1 < FENCES_PER_TOKEN && instant_before(now, l->term.valid_until);
}

static instant parked_until(const lease *l)
{
  return instant_add(l->idle_since, l->linger);
}

/* A token has few fences, and an application can use them up in less than a millisecond. So
 * the lease gets a higher token in the background, while the rest of them lasts. */
static bool renumber_begin(lease *l)
{
  if (l->renumber != RENUMBER_NONE || l->local_number < RENUMBER_FROM || l->term.raise_to != 0)
    return false;
  l->renumber = RENUMBER_ASKED;
  l->term.raise_to = l->term.id.token + 1;
  l->term.raise_was_sent = false;
  lease_due(l);
  return true;
}

lease_state park_begin(lease *l, span linger, instant now)
{
  lock_table *t = l->table;

  l->idle_since = now;
  hold_unlimit(l);
  l->handovers = 0;
  if (l->note_is_set)
    note_is_due(l);
  hold_set_deadline(l);
  l->linger = is_auto(linger) ? AUTO_PARKED_FOR : linger;
  timers_set(&t->timers, &l->poll, parked_until(l));
  (void)renumber_begin(l);
  return LEASE_PARKED;
}

static void park_end(lease *l, instant now)
{
  lease_become(l, LEASE_RELEASING, now);
}

/* Another client wants the parked lease. */
lease_state park_revoked(lease *l)
{
  if (l->claims.parked != NULL)
    park_forget(l);
  reuse_revoked(&l->table->reuse, l->bytes, l->size);
  return LEASE_RELEASING;
}

lease_state park_take(lease *l, instant now)
{
  lock_table *t = l->table;

  if (!hold_may_pass(l, now))
    return LEASE_RELEASING;              /* too old, or for a fixed lease: ask again */
  if (l->claims.parked != NULL)
    park_forget(l);
  timers_clear(&t->timers, &l->poll);
  reuse_paid(&t->reuse, l->bytes, l->size);
  t->backend.counts.handovers[DIBS_HANDOVER_LINGER]++;
  hold_pass(l, now);
  l->handovers = 0;
  return LEASE_HELD;
}

/* ---- the short way: the claim is kept with its parked lease ----
 *
 * Park and take change only what a grant and a release change in the end. They stop where
 * anything else is to be done, a timer is due for example: the ordinary way does that. */

static bool is_due(const lock_table *t, instant now)
{
  return !instant_before(now, timers_first(&t->timers));
}

/* While a raise is under way, a renewal that is due is not sent. */
static void renewal_goes_on(lease *l)
{
  if ((l->state == LEASE_HELD || l->state == LEASE_PARKED) &&
      (!timer_is_set(&l->renew) || l->term.is_suspect || l->term.must_confirm))
    lease_renewal_due(l);
}

bool park_renumbered(lease *l)
{
  if (l->renumber != RENUMBER_ASKED)
    return false;
  l->renumber = RENUMBER_NONE;
  l->local_number = 0;               /* a present holder keeps its fence, which is lower */
  renewal_goes_on(l);
  return true;
}

bool park_renumber_refused(lease *l)
{
  if (l->renumber != RENUMBER_ASKED)
    return false;
  l->renumber = RENUMBER_REFUSED;
  l->term.raise_to = 0;
  if (l->state == LEASE_RELEASING)
    lease_due(l);
  renewal_goes_on(l);
  return true;
}

static bool may_park(const lease *l, const claim *c, instant now)
{
  const claim_extras *e = extras_of(&c->spec);

  /* The limit may be that of an outer hold, which ended before: park_begin() lifts it. */
  return l->claims.holders->next == NULL && instant_is_never(l->term.limit) &&
         e->max_hold.ns == 0 && e->warn.ns == 0 &&
         c->spec.note == NULL && !l->note_is_set && c->events == 0 && e->min_replicas == 0 &&
         l->term.ttl.ns == c->spec.ttl.ns && park_is_wanted(l, &c->spec, now);
}

bool park(claim *c, instant now, bool *ret_sends)
{
  lease *l = lease_of_claim(c);
  lock_table *t = l->table;

  if (is_due(t, now) || !may_park(l, c, now))
    return false;
  holder_park(&l->claims);
  lease_set_state(l, LEASE_PARKED);
  l->idle_since = now;
  l->linger = is_auto(c->spec.linger) ? AUTO_PARKED_FOR : c->spec.linger;
  *ret_sends = renumber_begin(l);
  /* A timer that is set for an earlier time stays: park_polls() sets it again. */
  if (!timer_is_set(&l->poll) || instant_before(parked_until(l), l->poll.at)) {
    timers_set(&t->timers, &l->poll, parked_until(l));
    *ret_sends = true;
  }
  return true;
}

static bool may_retake(const lease *l, const claim *c, instant now)
{
  return !l->term.is_suspect && (timer_is_set(&l->renew) || l->term.raise_to != 0) &&
         hold_may_pass_to(l, &c->spec, c->id, now);
}

bool park_retake(claim *c, const void *owner, size_t owner_size, instant now,
                 hold_retaken *ret)
{
  lease *l = lease_of_claim(c);
  lock_table *t = l->table;

  if (c->owner_size != owner_size || is_due(t, now) || !may_retake(l, c, now))
    return false;
  if (!l->reuse_has_paid)
    reuse_paid(&t->reuse, l->bytes, l->size);
  l->reuse_has_paid = true;
  t->backend.counts.handovers[DIBS_HANDOVER_LINGER]++;
  l->local_number++;
  parked_holds(&l->claims, owner, fence_of(l, l->term.id.token));
  lease_set_state(l, LEASE_HELD);
  *ret = (hold_retaken){ .fence = c->fence, .valid_until = hold_end(l) };
  return true;
}

void park_forget(lease *l)
{
  if (is_auto(l->claims.parked->spec.linger))
    reuse_released(&l->table->reuse, l->bytes, l->size, false, l->idle_since);
  claim_end(l->claims.parked, LOCK_RELEASED, DIBS_OK);
}

/* The timer may also be that of a raise that is repeated. */
lease_state park_polls(lease *l, instant now)
{
  if (l->term.raise_to != 0)
    lease_due(l);
  if (!instant_before(now, parked_until(l)))
    return LEASE_RELEASING;
  timers_set(&l->table->timers, &l->poll, parked_until(l));
  return LEASE_PARKED;
}

/* ---- limits ---- */

size_t lock_expire(lock_table *t, span age, instant now)
{
  size_t count = 0;
  lease *next;

  for (lease *l = t->first_lease; l != NULL; l = next) {
    next = l->next;
    if (l->state != LEASE_PARKED || instant_since(now, l->idle_since).ns < age.ns)
      continue;
    park_end(l, now);
    count++;
  }
  return count;
}

static lease *longest_idle(const lock_table *t)
{
  lease *found = NULL;

  if (t->backend.counts.parked == 0)
    return NULL;
  for (lease *l = t->first_lease; l != NULL; l = l->next)
    if (l->state == LEASE_PARKED &&
        (found == NULL || instant_before(l->idle_since, found->idle_since)))
      found = l;
  return found;
}

bool park_make_room(lock_table *t, instant now)
{
  lease *l;

  if (t->settings.names_max == 0 || t->backend.counts.names < t->settings.names_max)
    return true;
  l = longest_idle(t);
  if (l != NULL)
    park_end(l, now);
  return l != NULL;
}

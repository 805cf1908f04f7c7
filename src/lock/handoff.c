/* SPDX-License-Identifier: MIT */
/* lock/handoff.c - the claims that hold a lease: the first waiter when it is granted, the next
 * one after a release in this process, readers that share it, owners that hold it again. */
#include "lock/table.h"

#include "base/fence.h"
#include "hold/claim.h"

/* A fenced lock of another dialect has its own fences; others leave room for local
 * handoffs. */
uint64_t fence_of(const lease *l, uint64_t token)
{
  return l->lock_kind == LOCK_FENCED ? token : fence_of_token(token, l->local_number);
}

uint64_t fence_token(const lease *l, uint64_t fence)
{
  return l->lock_kind == LOCK_FENCED ? fence : token_of_fence(fence);
}

/* ---- the holder ---- */

static void report_acks(claim *c, const lease *l)
{
  uint32_t wanted;

  if (l->acks == NULL)
    return;
  wanted = extras_of(&c->spec)->min_replicas != 0 ? acks_number(l, &c->spec) : l->acks->wanted;
  c->acknowledged = l->acks->acknowledged;
  c->replicas_wanted = wanted > 0 ? wanted : l->acks->wanted;
  c->has_fsync = l->acks->has_fsync;
}

/* Makes the first waiter the outermost holder of the lease. */
void hold_first(lease *l, instant now)
{
  claim *c = l->claims.waiting;
  const claim_terms *spec = &c->spec;
  span max_hold = extras_of(spec)->max_hold;

  report_acks(c, l);
  waiter_holds(&l->claims, fence_of(l, l->term.id.token), l->term.units, l->term.is_suspect);
  /* A fixed lease may have been granted to a longer ask of this name, or be confirmed. */
  l->term.limit = spec->is_fixed ? instant_add(now, spec->ttl)
             : max_hold.ns > 0 ? instant_add(now, max_hold) : INSTANT_NEVER;
  l->term.is_fixed = spec->is_fixed;
  l->is_part = spec->is_part;
  if (spec->note != NULL || l->note_is_set)
    note_is_due(l);
  hold_set_deadline(l);
}

/* A lease that is fixed from now on is renewed for the last time. */
void hold_limit_lease(lease *l, instant limit, bool is_fixed)
{
  l->term.limit = limit;
  l->term.is_fixed = is_fixed;
  if (is_fixed) {
    l->term.must_confirm = true;
    lease_renewal_due(l);
  }
  hold_set_deadline(l);
}

/* The holder with a limit is gone. A renewal that the limit has cut made the lease short, so that
 * the next one may be due after its end. */
void hold_unlimit(lease *l)
{
  span left = instant_since(l->term.valid_until, l->renew.at);

  if (instant_is_never(l->term.limit))
    return;
  l->term.limit = INSTANT_NEVER;
  if (l->renewing_at != NULL || !timer_is_set(&l->renew) || left.ns < l->term.ttl.ns / 3)
    lease_renewal_due(l);
}

/* Readers share the lease; each has its own fence. */
void hold_join(lease *l, instant now)
{
  while (l->claims.waiting != NULL) {
    l->local_number++;
    hold_first(l, now);
    l->table->backend.counts.granted_local++;
  }
}

/* How many make a majority is asked for a hold that wants one. */
static const char *too_few_words(const lease *l, const claim_terms *wish)
{
  return acks_number(l, wish) > 0
           ? "this owner holds it already, acknowledged by fewer replicas"
           : "this owner holds it already, and its outer hold did not ask for a majority";
}

bool hold_reenters(lease *l, claim *c)
{
  if (l->state != LEASE_HELD || holder_of(&l->claims, c->owner, c->owner_size) == NULL)
    return false;
  if (l->is_part || c->spec.is_part) {   /* as a set */
    claim_fail(c, DIBS_WOULD_DEADLOCK, "this owner holds it, alone or as one of several");
    return true;
  }
  if (!c->spec.no_reentry && !extras_of(&c->spec)->reports_replicas && l->kind != LEASE_SHARED &&
      acks_are_wanted(l, &c->spec, c->id)) {
    claim_fail(c, DIBS_ERR_NOT_REPLICATED, too_few_words(l, &c->spec));
    return true;
  }
  (void)claim_reenters(&l->claims, c, &(held_terms){ .reads = l->mode == 'r',
                                                     .is_suspect = l->term.is_suspect,
                                                     .is_fixed = l->term.is_fixed,
                                                     .limit = l->term.limit });
  if (c->state != CLAIM_HELD)
    return true;
  report_acks(c, l);
  hold_set_deadline(l);                  /* it may want a warning */
  if (c->spec.ttl.ns > l->term.ttl.ns && !l->term.is_fixed) {     /* never shortens a lease */
    l->term.ttl = c->spec.ttl;
    lease_renewal_due(l);
  }
  return true;
}

/* ---- local handoff (protocol.md 6) ---- */

bool hold_may_pass(const lease *l, instant now)
{
  const claim_terms *next = wish_of(&l->claims);

  return next != NULL && hold_may_pass_to(l, next, waiter_id(&l->claims), now);
}

bool hold_may_pass_to(const lease *l, const claim_terms *next, uint64_t claim_id, instant now)
{
  const lock_table *t = l->table;
  span left = instant_since(l->term.valid_until, now);

  if (l->kind != LEASE_MUTEX || next->is_fixed ||
      l->term.is_fixed || l->term.is_named ||
      t->is_closing || l->lock_kind == LOCK_FENCED || l->is_part || next->is_part)
    return false;
  if (l->term.is_reported_broken || l->local_number + 1 >= FENCES_PER_TOKEN)
    return false;
  /* Nor a lease that would outlive its next holder for longer than that one's ttl. */
  if (left.ns < next->ttl.ns / 3 || left.ns > next->ttl.ns)
    return false;
  if (acks_are_wanted(l, next, claim_id))
    return false;
  if (l->term.waiters_elsewhere == 0 && inbox_hears(l))
    return true;
  /* A client elsewhere waits, or may wait without a message. */
  if (l->handovers >= t->settings.local_handovers_max)
    return false;
  return l->handovers == 0 ||
         instant_since(now, l->handovers_since).ns < t->settings.local_handover_time.ns;
}

void hold_pass(lease *l, instant now)
{
  claim *next = l->claims.waiting;
  span before = l->term.ttl;

  if (l->handovers++ == 0)
    l->handovers_since = now;
  l->local_number++;
  l->term.ttl = next->spec.ttl;
  hold_unlimit(l);
  hold_first(l, now);
  wait_forget_if_unused(l);
  l->table->backend.counts.granted_local++;
  if (l->term.ttl.ns != before.ns || !timer_is_set(&l->renew))
    lease_renewal_due(l);
}

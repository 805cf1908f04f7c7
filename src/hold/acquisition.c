/* SPDX-License-Identifier: MIT */
/* hold/acquisition.c - the claims of one record: those that wait, hold, have lost it. */
#include "hold/claim.h"

#include <assert.h>
#include <string.h>

bool acquisition_is_unused(const acquisition *a)
{
  return a->waiting == NULL && a->holders == NULL && a->lost == NULL;
}

size_t claims_count(const claim *claims)
{
  size_t count = 0;
  const claim *c;

  DL_COUNT(claims, c, count);
  return count;
}

claim *holder_of(const acquisition *a, const void *owner, size_t owner_size)
{
  claim *c = a->holders;

  while (c != NULL && !claim_is_of(c, owner, owner_size))
    c = c->next;
  return c;
}

bool holders_write(const acquisition *a, const claim *except)
{
  for (const claim *c = a->holders; c != NULL; c = c->next)
    if (c != except && !c->spec.reads)
      return true;
  return false;
}

/* ---- waiting ---- */

void claim_wait(acquisition *a, claim *c)
{
  assert(c->of == NULL && c->state == CLAIM_WAITING);
  c->of = a;
  DL_APPEND(a->waiting, c);
}

void waiters_move(acquisition *from, acquisition *to)
{
  while (from->waiting != NULL) {
    claim *c = from->waiting;

    DL_DELETE(from->waiting, c);
    c->of = NULL;
    claim_wait(to, c);
  }
}

void waiters_fail(acquisition *a, dibs_status status, const char *words)
{
  while (a->waiting != NULL)
    claim_fail(a->waiting, status, words);
}

void waiter_fail(acquisition *a, dibs_status status, const char *words)
{
  claim_fail(a->waiting, status, words);
}

void waiter_refuse(acquisition *a, const watched_lease *watched, instant free_at,
                   const char *words)
{
  claim *c = a->waiting;

  claim_fail(c, DIBS_BUSY, words);
  claim_terms_free(c);
  c->refusal = (claim_refusal){ *watched, free_at };
  c->is_refused = true;
}

void waiter_was_short(acquisition *a)
{
  a->waiting->was_short = true;
}

void waiter_report(acquisition *a, lock_event_kind kind)
{
  claim_report(a->waiting, kind);
}

const claim_terms *wish_of(const acquisition *a)
{
  return a->waiting != NULL ? &a->waiting->spec : NULL;
}

uint64_t waiter_id(const acquisition *a)
{
  return a->waiting->id;
}

instant waiter_since(const acquisition *a)
{
  return a->waiting->asked_at;
}

instant waiters_limit(const acquisition *a)
{
  instant last = { 0 };

  for (const claim *c = a->waiting; c != NULL; c = c->next)
    if (c == a->waiting || !c->spec.is_try)
      last = instant_max(last, c->spec.give_up_at);
  return last;
}

/* ---- holding ---- */

static void hold(claim *c, uint64_t fence, uint64_t units, int depth)
{
  acquisition *a = c->of;
  lock_counts *counts = &c->backend->counts;

  assert(c->state == CLAIM_WAITING);
  DL_DELETE(a->waiting, c);
  timers_clear(c->backend->timers, &c->timer);
  DL_APPEND(a->holders, c);
  c->state = CLAIM_HELD;
  c->fence = fence;
  c->units = units;
  c->depth = depth;
  claim_count_waiting(c, -1);
  counts->holds++;
  counts->granted++;
}

static void report_hold(claim *c, bool is_suspect)
{
  claim_report(c, LOCK_GRANTED);
  if (is_suspect)
    claim_report(c, LOCK_SUSPECT);
}

void waiter_holds(acquisition *a, uint64_t fence, uint64_t units, bool is_suspect)
{
  claim *c = a->waiting;

  hold(c, fence, units, 1);
  report_hold(c, is_suspect);
}

static int depth_of(const acquisition *a, const claim *c)
{
  int depth = 1;

  for (const claim *other = a->holders; other != NULL; other = other->next)
    depth += claim_is_of(other, c->owner, c->owner_size);
  return depth;
}

end_terms end_terms_of(bool is_fixed, span ttl, span max_hold, instant from)
{
  span most = is_fixed ? ttl : max_hold;

  return (end_terms){ .is_fixed = is_fixed,
                      .at = most.ns > 0 ? instant_add(from, most) : INSTANT_NEVER };
}

const char *inner_end_fault(end_terms wanted, end_terms outer)
{
  if (wanted.is_fixed && !outer.is_fixed)
    return "this owner holds the name already, by a lease that is renewed: DIBS_LOCK_FIXED is for "
           "the outermost hold";
  if (instant_before(wanted.at, outer.at))
    return "this owner holds the name already, and may do so for longer: DIBS_LOCK_FIXED and "
           "max_hold_ms are for the outermost hold";
  return NULL;
}

static const char *end_fault(const claim *c, const held_terms *held)
{
  return inner_end_fault(end_terms_of(c->spec.is_fixed, c->spec.ttl, extras_of(&c->spec)->max_hold,
                                      c->asked_at),
                         (end_terms){ .is_fixed = held->is_fixed, .at = held->limit });
}

bool claim_reenters(acquisition *a, claim *c, const held_terms *held)
{
  const claim *outer = holder_of(a, c->owner, c->owner_size);
  const char *fault = end_fault(c, held);

  if (outer == NULL)
    return false;
  if (c->spec.no_reentry) {
    claim_fail(c, DIBS_WOULD_DEADLOCK, "this owner holds the name already");
  } else if (held->reads && !c->spec.reads) {
    claim_fail(c, DIBS_WOULD_DEADLOCK,
               "this owner reads it: a writer would wait for itself; release first");
  } else if (fault != NULL) {
    claim_fail(c, DIBS_ERR_ARGUMENT, fault);
  } else {
    hold(c, outer->fence, outer->units, depth_of(a, c));
    c->backend->counts.granted_local++;
    report_hold(c, held->is_suspect);
  }
  return true;
}

const claim_terms *hold_spec_of(const acquisition *a)
{
  return a->holders != NULL ? &a->holders->spec : NULL;
}

uint64_t holders_fence(const acquisition *a)
{
  return a->holders->fence;
}

void holders_set_fence(acquisition *a, uint64_t fence)
{
  for (claim *c = a->holders; c != NULL; c = c->next)
    c->fence = fence;
}

void holders_report(const acquisition *a, lock_event_kind kind)
{
  for (claim *c = a->holders; c != NULL; c = c->next)
    claim_report(c, kind);
}

static bool was_warned_of(const claim_extras *e, instant end)
{
  return e->warned_end.ns != 0 && !instant_before(e->warned_end, end);
}

/* It is reported once for each end: of a hold with max_hold, renewals do not move that. */
void holders_end_at(const acquisition *a, instant end)
{
  for (claim *c = a->holders; c != NULL; c = c->next) {
    claim_extras *e = c->spec.extras;

    if (e == NULL || e->warn.ns == 0 || c->state != CLAIM_HELD || was_warned_of(e, end))
      continue;
    e->warned_end = (instant){ 0 };
    timers_set(c->backend->timers, &c->timer, (instant){ end.ns - e->warn.ns });
  }
}

void claim_ends_soon(claim *c)
{
  claim_extras *e = c->spec.extras;        /* only they have such a timer */

  e->warned_end = (instant){ c->timer.at.ns + e->warn.ns };
  claim_report(c, LOCK_ENDS_SOON);
}

void holders_were_broken(acquisition *a)
{
  for (claim *c = a->holders; c != NULL; c = c->next)
    c->was_broken = true;
}

void holders_were_let_go(acquisition *a)
{
  for (claim *c = a->holders; c != NULL; c = c->next)
    c->was_let_go = true;
}

void holders_lose(acquisition *a, dibs_status status, const char *words)
{
  while (a->holders != NULL) {
    claim *c = a->holders;

    DL_DELETE(a->holders, c);
    DL_APPEND(a->lost, c);
    timers_clear(c->backend->timers, &c->timer);
    c->state = CLAIM_LOST;
    c->status = status;
    claim_say(c, words);
    c->backend->counts.lost++;
    claim_report(c, LOCK_LOST);
  }
}

/* ---- parked ---- */

void holder_park(acquisition *a)
{
  claim *c = a->holders;

  assert(c->next == NULL && a->parked == NULL);
  a->holders = NULL;
  a->parked = c;
  c->state = CLAIM_PARKED;
  c->backend->counts.holds--;
  c->backend->counts.released++;
}

void parked_holds(acquisition *a, const void *owner, uint64_t fence)
{
  claim *c = a->parked;
  lock_counts *counts = &c->backend->counts;

  assert(a->holders == NULL);
  a->parked = NULL;
  a->holders = c;
  c->state = CLAIM_HELD;
  c->fence = fence;
  if (c->owner_size > 0)
    memcpy(c->owner, owner, c->owner_size);
  counts->holds++;
  counts->granted++;
  counts->granted_local++;
}

/* ---- the end ---- */

void holders_release(acquisition *a, instant limit)
{
  for (claim *c = a->holders; c != NULL; c = c->next) {
    c->state = CLAIM_RELEASING;
    timers_clear(c->backend->timers, &c->timer);
    claim_say(c, "");                    /* about renewals */
    if (!instant_is_never(limit))
      timers_set(c->backend->timers, &c->timer, limit);
  }
}

void holders_say(acquisition *a, const char *words)
{
  for (claim *c = a->holders; c != NULL; c = c->next)
    claim_say(c, words);
}

const char *holders_words(const acquisition *a)
{
  return a->holders != NULL && a->holders->words != NULL ? a->holders->words : "";
}

void holders_end(acquisition *a, dibs_status status, const char *words)
{
  while (a->holders != NULL) {
    claim *c = a->holders;

    claim_say(c, words);
    claim_end(c, LOCK_RELEASED, status);
  }
}

void lost_end(acquisition *a)
{
  while (a->lost != NULL)
    claim_end(a->lost, LOCK_RELEASED, a->lost->status);
}

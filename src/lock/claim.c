/* SPDX-License-Identifier: MIT */
/* lock/claim.c - the backend of a lock table: from the spec of a claim to its hold. */
#include "lock/table.h"

#include "hold/claim.h"

#include <assert.h>

lease *lease_of_claim(const claim *c)
{
  return c->of != NULL ? RECORD_OF(lease, claims, c->of) : NULL;
}

static lock_table *table_of(hold_backend *b)
{
  return (lock_table *)b;
}

/* ---- a new claim ---- */

static void mutex_place(lease *l, claim *c, instant now)
{
  if (hold_reenters(l, c)) {
    return;
  } else if (l->state == LEASE_PARKED) {
    claim_arm(c, now);
    lease_become(l, park_take(l, now), now);
  } else if (set_holds(l->table, l->bytes, l->size, c->owner, c->owner_size)) {
    claim_fail(c, DIBS_WOULD_DEADLOCK, "this owner holds it as one of several");
    lease_forget_if_unused(l);
  } else {
    if (l->state == LEASE_HELD && !c->spec.is_try)
      inbox_want(l);                    /* revocation requests matter from now on */
    claim_arm(c, now);
    tries_end(l, now);
    lease_start_next(l, now);
  }
}

/* Queues `c`, or ends it at once by what this process knows. */
static void claim_place(lease *l, claim *c, lock_kind kind, instant now)
{
  claim_wait(&l->claims, c);
  if (l->lock_kind != kind) {
    claim_fail(c, DIBS_ERR_ARGUMENT, "this client uses the name as a lock of another kind: one "
                                     "name is plain, fair, spin or fenced");
    return;
  }
  switch (l->kind) {
  case LEASE_MUTEX:
  case LEASE_QUEUE_ENTRY:
    mutex_place(l, c, now);
    break;
  case LEASE_SHARED:
    share_place(l, c, now);
    break;
  case LEASE_SET:
    set_place(l, c, now);
    break;
  }
}

/* The name in memory that this request joins. */
static lease *lease_found(const lock_table *t, const lock_spec *spec, instant now)
{
  if (spec_is_many(spec))
    return NULL;
  return kind_is_exclusive(spec->kind) ? mutex_found(t, spec) : share_found(t, spec, now);
}

static lease *lease_new(lock_table *t, const lock_spec *spec, instant now)
{
  if (spec_is_many(spec))
    return set_new(t, spec);
  return kind_is_exclusive(spec->kind) ? mutex_begin(t, spec, now) : shared_new(t, spec, now);
}

static dibs_status place(hold_backend *b, claim *c, const lock_spec *spec, instant now)
{
  lock_table *t = table_of(b);
  lease *l;

  if (t->is_closing)
    return DIBS_ERR_CLOSED;
  if (!table_reserve_timers(t, 0))
    return DIBS_ERR_NO_MEMORY;
  l = lease_found(t, spec, now);
  if (l == NULL && !park_make_room(t, now))
    return DIBS_ERR_LIMIT;
  if (l == NULL)
    l = lease_new(t, spec, now);
  if (l == NULL)
    return DIBS_ERR_NO_MEMORY;
  if (!wait_reserve(l) || (spec->min_replicas != 0 && !acks_reserve(l)) ||
      !wait_report_claim(t, c)) {
    lease_forget_if_unused(l);
    return DIBS_ERR_NO_MEMORY;
  }
  if (spec->watched != NULL && spec->watched->lease.token != 0)
    l->wait->watched = *spec->watched;
  claim_place(l, c, spec_is_mutex(spec) ? spec->kind : l->lock_kind, now);
  wait_report_waits(t, c, now);
  if ((l = lease_of_claim(c)) != NULL)
    wait_forget_if_unused(l);
  return DIBS_OK;
}

/* ---- from the program ---- */

static void fail(claim *c, dibs_status status, const char *words, instant now)
{
  lease *l = lease_of_claim(c);

  claim_fail(c, status, words);
  if (l->claims.waiting == NULL)
    lease_become(l, lease_unwanted(l, now), now);
}

static void release(claim *c, instant now)
{
  lease *l = lease_of_claim(c);
  lock_table *t = l->table;

  /* Due timers ran before (S7): it has not ended. */
  assert(lease_never_ends(l) || instant_before(now, hold_end(l)));
  if (l->claims.holders->next != NULL) {     /* an inner or outer hold remains */
    claim_end(c, LOCK_RELEASED, DIBS_OK);
    t->backend.counts.released++;
    if (l->kind == LEASE_SHARED)
      share_released(l);
    return;
  }
  if (l->kind == LEASE_MUTEX && c->spec.linger.ns < 0)
    reuse_released(&t->reuse, l->bytes, l->size, l->term.waiters_elsewhere > 0, now);
  if (park_is_wanted(l, &c->spec, now)) {
    span linger = c->spec.linger;

    claim_end(c, LOCK_RELEASED, DIBS_OK);
    t->backend.counts.released++;
    lease_become(l, park_begin(l, linger, now), now);
    return;
  }
  if (hold_may_pass(l, now)) {
    claim_end(c, LOCK_RELEASED, DIBS_OK);
    t->backend.counts.released++;
    t->backend.counts.handovers[DIBS_HANDOVER_LOCAL]++;
    hold_pass(l, now);
    return;
  }
  holders_release(&l->claims, instant_add(now, t->settings.command_timeout));
  lease_become(l, LEASE_RELEASING, now);
}

/* ---- the reply to the release of its lease ---- */

/* It was valid when the program released it. */
static dibs_status release_status(const lease *l, const release_answer *a)
{
  /* "Not yours" to a repeated request: the first copy released it, and its reply was lost. */
  if (a->outcome == RELEASE_DONE || l->end_sendings > 1)
    return DIBS_OK;
  return a->outcome == RELEASE_TAKEN ? DIBS_TAKEN : DIBS_LOST;
}

void claims_released(lease *l, const release_answer *a)
{
  /* DIBS_LOST stays, also where the lease was still there: it was released now, and the
   * program, which may continue until its own release, is not informed of the next holder. */
  if (a->outcome == RELEASE_TAKEN)
    for (claim *c = l->claims.lost; c != NULL; c = c->next)
      if (fence_token(l, c->fence) >= l->term.granted_token)
        c->status = DIBS_TAKEN;

  if (l->term.is_let_go)
    holders_were_let_go(&l->claims);
  while (l->claims.holders != NULL) {
    claim *c = l->claims.holders;
    dibs_status status = release_status(l, a);

    l->table->backend.counts.released++;
    claim_say(c, status == DIBS_OK ? "" : "it had ended before it was released");
    claim_end(c, LOCK_RELEASED, status);
  }
}

/* ---- other calls ---- */

static void forget(acquisition *a)
{
  lease_forget_if_unused(RECORD_OF(lease, claims, a));
}

static dibs_status raise(claim *c, uint64_t token, instant now)
{
  lease *l = lease_of_claim(c);

  (void)now;
  if (token <= l->term.id.token || l->term.raise_to != 0)
    return DIBS_ERR_ARGUMENT;            /* a second token could not be matched with its lease */
  l->term.raise_to = token;
  l->term.raise_was_sent = false;
  lease_due(l);
  return DIBS_OK;
}

static void limit(claim *c, instant until, bool is_fixed)
{
  hold_limit_lease(lease_of_claim(c), until, is_fixed);
}

static bool keep_alone(claim *c)
{
  return share_keep_alone(lease_of_claim(c), c);
}

static dibs_status detach(claim *c, instant now)
{
  lease *l = lease_of_claim(c);
  lock_table *t = l->table;

  if (l->claims.holders->next != NULL)
    return DIBS_ERR_ARGUMENT;            /* the token would end what the others believe in */
  if (!detached_remember(l))
    return DIBS_ERR_NO_MEMORY;
  /* The lease began before now by the server's clock. */
  t->detached_until = instant_max(t->detached_until, instant_add(now, l->term.ttl));
  claim_end(c, LOCK_DETACHED, DIBS_OK);
  lease_become(l, hold_forget(l), now);
  return DIBS_OK;
}

instant lock_detached_until(const lock_table *t)
{
  return t->detached_until;
}

static void downgrade(acquisition *a, instant now)
{
  (void)now;
  share_downgrade(RECORD_OF(lease, claims, a));
}

static bool token(const claim *c, text *out)
{
  return wire_token(lease_of_claim(c), out);
}

static void check(claim *c)
{
  lease *l = lease_of_claim(c);

  if (l->state == LEASE_HELD && !lease_never_ends(l))
    hold_check(l);
}

static void add_why(const claim *c, const char *before, text *out)
{
  lease_add_why(lease_of_claim(c), before, out);
}

static void describe(const claim *c, lock_event *event)
{
  const lease *l = lease_of_claim(c);
  many_name first = { 0 };

  (void)lease_next_name(l, 0, &first);
  event->name = first.name;
  event->name_size = first.size;
  if (c->state == CLAIM_HELD) {
    event->valid_until = hold_end(l);
    event->token = l->term.id.token;
  }
}

const hold_ops lease_ops = {
  .name = "single", .place = place, .fail = fail, .release = release, .forget = forget,
  .detach = detach, .downgrade = downgrade, .keep_alone = keep_alone, .token = token,
  .check = check, .add_why = add_why, .raise = raise, .limit = limit, .park = park,
  .retake = park_retake, .describe = describe, .tick = table_tick, .deadline = table_deadline,
  .close = table_close, .is_quiet = table_is_quiet, .next_name = table_next_name,
};

hold_backend *lock_backend(lock_table *t)
{
  return &t->backend;
}

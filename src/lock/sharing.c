/* SPDX-License-Identifier: MIT */
/* lock/sharing.c - the shared lease that a claim on a read/write lock or semaphore takes,
 * or its queue entry for a fair lock, and the rules for multi-locks with names that their
 * owner already holds (protocol.md 9, 10). */
#include "lock/table.h"

#include <string.h>

#include "base/fence.h"
#include "hold/claim.h"

static bool has_holder(const lease *l, const void *owner, size_t owner_size)
{
  return holder_of(&l->claims, owner, owner_size) != NULL;
}

/* The shared lease by which the owner already reads or writes. */
static lease *shared_of_owner(const lock_entry *e, const lock_spec *spec)
{
  if (e == NULL || kind_has_permits(spec->kind))
    return NULL;
  for (lease *l = e->last; l != NULL; l = l->shared.previous)
    if (l->state == LEASE_HELD && l->kind == LEASE_SHARED && l->mode != 'p' &&
        has_holder(l, spec->owner, spec->owner_size))
      return l;
  return NULL;
}

static bool is_plain_reader(const lock_spec *spec)
{
  return spec->reads && !spec->is_fixed && spec->max_hold.ns == 0 && !spec->no_reentry;
}

/* Whether another reader of this client may join the newest shared lease: within the
 * limits of a local handoff, and only while no waiter is known. */
static bool may_join(const lease *l, const lock_spec *spec, instant now)
{
  const lock_table *t = l->table;
  const claim *first = l->claims.holders != NULL ? l->claims.holders : l->claims.waiting;

  if (l->term.is_named || l->shared.claims_ever >= FENCES_PER_TOKEN || l->mode != 'r' ||
      !is_plain_reader(spec))
    return false;
  if (first == NULL || !first->spec.reads || first->spec.is_fixed ||
      extras_of(&first->spec)->max_hold.ns > 0 ||
      first->spec.no_reentry || first->spec.ttl.ns != spec->ttl.ns)
    return false;
  if (t->settings.local_handovers_max == 0 ||
      instant_since(now, l->shared.since).ns >= t->settings.local_handover_time.ns)
    return false;
  /* An outer hold that is released may have set an end, which a fixed lease always has. */
  if (l->state == LEASE_HELD)
    return l->term.waiters_elsewhere == 0 && !l->term.is_suspect &&
           instant_is_never(l->term.limit) && !l->term.is_reported_broken &&
           l->claims.lost == NULL &&
           instant_since(l->term.valid_until, now).ns >= spec->ttl.ns / 3;
  return l->state == LEASE_ASKING && l->ask.waits && !spec->is_try;
}

lease *share_found(const lock_table *t, const lock_spec *spec, instant now)
{
  const lock_entry *e = entry_find(t, spec->name, spec->name_size);
  lease *l = shared_of_owner(e, spec);

  if (l != NULL)
    return l;
  return e != NULL && may_join(e->last, spec, now) ? e->last : NULL;
}

bool share_cancels_beside(const lease *l)
{
  const lease *other = l->kind == LEASE_SHARED || l->kind == LEASE_QUEUE_ENTRY
                         ? l->shared.entry->first : NULL;

  while (other != NULL && other->state != LEASE_CANCELLING)
    other = other->shared.next;
  return other != NULL;
}

/* The token of the lease is given out: a release by token must not end another owner's
 * hold. So no claim joins the lease, and no local handoff passes it. false: another owner
 * shares it already. */
bool share_keep_alone(lease *l, const claim *c)
{
  l->term.is_named = true;
  for (const claim *other = l->claims.holders; other != NULL; other = other->next)
    if (other != c && !claim_is_of(other, c->owner, c->owner_size))
      return false;
  return true;
}

void share_place(lease *l, claim *c, instant now)
{
  if (hold_reenters(l, c))
    return;
  l->shared.claims_ever++;
  if (l->state == LEASE_HELD) {
    hold_join(l, now);
  } else {
    claim_arm(c, now);
    lease_start_next(l, now);
  }
}

/* One of several claims of a shared lease has ended: the others may only read. */
void share_released(lease *l)
{
  if (l->mode == 'w' && !holders_write(&l->claims, NULL))
    share_downgrade(l);
}

void share_downgrade(lease *l)
{
  l->mode = 'r';
  l->is_downgrading = true;
  l->shared.since = (instant){ 0 };    /* later readers ask the server */
  lease_renewal_due(l);
}

/* ---- fair locks of another dialect: one queue entry for each claim ---- */

static lease *queue_entry_of(const lock_entry *e, const lock_spec *spec, bool of_owner)
{
  for (lease *l = e != NULL ? e->last : NULL; l != NULL; l = l->shared.previous)
    if (l->kind == LEASE_QUEUE_ENTRY &&
        (!of_owner || (l->state == LEASE_HELD && has_holder(l, spec->owner, spec->owner_size))))
      return l;
  return NULL;
}

/* Also finds a name that is in use as another kind of lock: there the claim is refused. */
lease *mutex_found(const lock_table *t, const lock_spec *spec)
{
  lease *l = mutex_find(t, spec->name, spec->name_size);

  return l != NULL ? l : queue_entry_of(entry_find(t, spec->name, spec->name_size), spec,
                                            spec->kind == LOCK_FAIR);
}

lease *mutex_begin(lock_table *t, const lock_spec *spec, instant now)
{
  lease *l;

  if (spec->kind == LOCK_FAIR)
    return shared_new(t, spec, now);
  l = mutex_new(t, spec->name, spec->name_size);
  if (l != NULL)
    l->lock_kind = spec->kind;
  return l;
}

/* ---- sets ---- */

static bool is_member(const lease *set, const void *bytes, size_t size)
{
  for (size_t i = 0; i < set->many.count; i++)
    if (set->many.names[i].size == size && memcmp(set->many.names[i].name, bytes, size) == 0)
      return true;
  return false;
}

/* Whether a multi-lock that this owner holds includes the name. */
bool set_holds(const lock_table *t, const void *bytes, size_t size, const void *owner,
               size_t owner_size)
{
  for (const lease *l = t->first_set; l != NULL; l = l->many.next)
    if (l->state == LEASE_HELD && has_holder(l, owner, owner_size) && is_member(l, bytes, size))
      return true;
  return false;
}

static bool owner_has(const lock_table *t, const many_name *m, const void *owner,
                      size_t owner_size)
{
  const lease *mutex = mutex_find(t, m->name, m->size);

  if (mutex != NULL && mutex->state == LEASE_HELD && has_holder(mutex, owner, owner_size))
    return true;
  return set_holds(t, m->name, m->size, owner, owner_size);
}

bool lock_owner_has(const lock_table *t, const many_name *names, size_t count,
                    const void *owner, size_t owner_size)
{
  for (size_t i = 0; i < count; i++)
    if (owner_has(t, &names[i], owner, owner_size))
      return true;
  return false;
}

void set_place(lease *l, claim *c, instant now)
{
  if (lock_owner_has(l->table, l->many.names, l->many.count, c->owner, c->owner_size)) {
    claim_fail(c, DIBS_WOULD_DEADLOCK, OWNER_HAS_WORDS);
    lease_forget_if_unused(l);
    return;
  }
  claim_arm(c, now);
  lease_start_next(l, now);
}

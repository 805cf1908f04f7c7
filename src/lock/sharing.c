/* SPDX-License-Identifier: MIT */
/* Sharing: which seat a claim on a read/write lock or semaphore takes, or which place in the
 * queue of a fair lock, and what sets of names may not do with names that their owner has
 * already (protocol.md 9, 10). */
#include "lock/table.h"

#include <string.h>

#define LOCAL_NUMBERS 1024

static bool has_holder(const name *n, const void *owner, size_t owner_size)
{
  for (const claim *c = n->holders; c != NULL; c = c->next)
    if (claim_is_of(c, owner, owner_size))
      return true;
  return false;
}

/* The seat by which the owner reads or writes already. */
static name *seat_of_owner(const resource *r, const lock_wish *w)
{
  if (r == NULL || w->kind == LOCK_PERMITS)
    return NULL;
  for (name *n = r->last; n != NULL; n = n->previous_seat)
    if (n->state == NAME_HELD && n->kind == NAME_SEAT && n->mode != 'p' &&
        has_holder(n, w->owner, w->owner_size))
      return n;
  return NULL;
}

static bool is_plain_reader(const lock_wish *w)
{
  return w->kind == LOCK_READ && !w->is_fixed && w->max_hold.ns == 0 && !w->no_reentry;
}

/* Whether a further reader of this client may go in with the newest seat: for as long as
 * a local hand-over may favour it, and only if nobody is known to wait. */
static bool may_join(const name *n, const lock_wish *w, instant now)
{
  const lock_table *t = n->table;
  const claim *first = n->holders != NULL ? n->holders : n->waiting;

  if (n->is_named || n->seated >= LOCAL_NUMBERS || n->mode != 'r' || !is_plain_reader(w))
    return false;
  if (first == NULL || !first->reads || first->is_fixed || first->max_hold.ns > 0 ||
      first->no_reentry || first->ttl.ns != w->ttl.ns)
    return false;
  if (t->settings.local_handovers_max == 0 ||
      instant_since(now, n->seated_at).ns >= t->settings.local_handover_time.ns)
    return false;
  if (n->state == NAME_HELD)
    return n->waiters_elsewhere == 0 && !n->is_suspect && n->lost == NULL &&
           instant_since(n->valid_until, now).ns >= w->ttl.ns / 3;
  return n->state == NAME_ASKING && n->ask_waits && !w->is_try;
}

name *share_found(const lock_table *t, const lock_wish *w, instant now)
{
  const resource *r = share_resource(t, w->name, w->name_size);
  name *n = seat_of_owner(r, w);

  if (n != NULL)
    return n;
  return r != NULL && may_join(r->last, w, now) ? r->last : NULL;
}

/* The lease goes into other hands: whoever ends it there must end nobody else's here. So from
 * now on nobody joins it, and it is not passed on. false: somebody else is by it already. */
static bool keep_alone(name *n, const claim *c)
{
  n->is_named = true;
  for (const claim *other = n->holders; other != NULL; other = other->next)
    if (other != c && !claim_is_of(other, c->owner, c->owner_size))
      return false;
  return true;
}

bool lock_keep_alone(lock_table *t, uint64_t id)
{
  const claim *c = slots_get(&t->slots, id);

  return c == NULL || c->state != CLAIM_HELD || keep_alone(c->name, c);
}

static bool writes(const name *n)
{
  for (const claim *c = n->holders; c != NULL; c = c->next)
    if (!c->reads)
      return true;
  return false;
}

void share_place(name *n, claim *c, instant now)
{
  if (n->state == NAME_HELD && has_holder(n, c->owner, c->owner_size)) {
    if (c->no_reentry)
      claim_fail(c, DIBS_WOULD_DEADLOCK, "this owner holds the name already");
    else if (!c->reads && n->mode == 'r')
      claim_fail(c, DIBS_WOULD_DEADLOCK,
                 "this owner reads it: a writer would wait for itself; release first");
    else
      hold_reenter(n, c, now);
  } else if (n->state == NAME_HELD) {
    n->seated++;
    hold_join(n, now);
  } else {
    n->seated++;
    claim_arm(c, now);
    name_settle(n, now);
  }
}

/* One of several claims of a seat has gone: who is left may only read. */
void share_released(name *n)
{
  if (n->mode == 'w' && !writes(n))
    share_downgrade(n);
}

void share_downgrade(name *n)
{
  n->mode = 'r';
  n->is_downgrading = true;
  n->seated_at = (instant){ 0 };       /* whoever comes now asks the server */
  name_renewal_due(n);
}

dibs_status lock_downgrade(lock_table *t, uint64_t id, instant now)
{
  claim *c = slots_get(&t->slots, id);
  name *n;

  (void)now;
  if (c == NULL || (c->state != CLAIM_HELD && c->state != CLAIM_LOST))
    return DIBS_ERR_STALE;
  n = c->name;
  if (n->kind != NAME_SEAT || n->mode == 'p')
    return DIBS_ERR_ARGUMENT;
  if (c->state == CLAIM_LOST)
    return DIBS_LOST;
  if (c->reads)
    return DIBS_OK;
  for (const claim *other = n->holders; other != NULL; other = other->next)
    if (other != c && !other->reads)
      return DIBS_ERR_ARGUMENT;
  c->reads = true;
  share_downgrade(n);
  return DIBS_OK;
}

/* ---- fair locks of another dialect: each who waits stands in the queue himself ---- */

static name *place_of(const resource *r, const lock_wish *w, bool of_owner)
{
  for (name *n = r != NULL ? r->last : NULL; n != NULL; n = n->previous_seat)
    if (n->kind == NAME_PLACE &&
        (!of_owner || (n->state == NAME_HELD && has_holder(n, w->owner, w->owner_size))))
      return n;
  return NULL;
}

/* One that is in use as another kind of lock is found, too: there the claim is refused. */
name *mutex_found(const lock_table *t, const lock_wish *w)
{
  name *n = mutex_find(t, w->name, w->name_size);

  return n != NULL ? n : place_of(share_resource(t, w->name, w->name_size), w,
                                  w->flavour == FLAVOUR_FAIR);
}

name *mutex_begin(lock_table *t, const lock_wish *w, instant now)
{
  name *n;

  if (w->flavour == FLAVOUR_FAIR)
    return seat_new(t, w, now);
  n = mutex_new(t, w->name, w->name_size);
  if (n != NULL)
    n->flavour = w->flavour;
  return n;
}

/* ---- sets ---- */

static bool is_member(const name *set, const void *bytes, size_t size)
{
  for (size_t i = 0; i < set->member_count; i++)
    if (set->members[i].size == size && memcmp(set->members[i].name, bytes, size) == 0)
      return true;
  return false;
}

/* Whether a set that this owner holds has the name in it. */
bool set_holds(const lock_table *t, const void *bytes, size_t size, const void *owner,
               size_t owner_size)
{
  for (const name *n = t->first_set; n != NULL; n = n->next_set)
    if (n->state == NAME_HELD && has_holder(n, owner, owner_size) && is_member(n, bytes, size))
      return true;
  return false;
}

static bool owner_has(const lock_table *t, const many_name *m, const claim *c)
{
  const name *mutex = mutex_find(t, m->name, m->size);

  if (mutex != NULL && mutex->state == NAME_HELD &&
      has_holder(mutex, c->owner, c->owner_size))
    return true;
  return set_holds(t, m->name, m->size, c->owner, c->owner_size);
}

void set_place(name *n, claim *c, instant now)
{
  for (size_t i = 0; i < n->member_count; i++)
    if (owner_has(n->table, &n->members[i], c)) {
      claim_fail(c, DIBS_WOULD_DEADLOCK, "this owner holds one of the names already");
      name_forget_if_unused(n);
      return;
    }
  claim_arm(c, now);
  name_settle(n, now);
}

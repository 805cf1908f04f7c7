/* SPDX-License-Identifier: MIT */
/* lock/view.c - lists the names that a table has in memory. */
#include "lock/table.h"

static lock_name_state idle_state(const lease *l)
{
  if (l->claims.waiting != NULL)
    return LOCK_NAME_WAITING;
  return l->claims.lost != NULL ? LOCK_NAME_LOST : LOCK_NAME_LEAVING;
}

static lock_name_state view_state(const lease *l)
{
  switch (l->state) {
  case LEASE_ASKING:
  case LEASE_QUEUED:
  case LEASE_CONFIRMING:
  case LEASE_ACKING:
    return LOCK_NAME_WAITING;
  case LEASE_HELD:
    return l->term.is_suspect ? LOCK_NAME_SUSPECT : LOCK_NAME_HELD;
  case LEASE_PARKED:
    return LOCK_NAME_PARKED;
  case LEASE_IDLE:
  case LEASE_RELEASING:
  case LEASE_CANCELLING:
    break;
  }
  return idle_state(l);
}

static void view_fill(const lease *l, lock_name *ret)
{
  *ret = (lock_name){ .name = l->bytes, .size = l->size, .kind = l->lock_kind,
                      .reads = l->mode == 'r',
                      .state = view_state(l), .waiting = claims_count(l->claims.waiting),
                      .lost = claims_count(l->claims.lost),
                      .units = l->kind == LEASE_SHARED ? l->shared.wanted_units : 1 };
  if (l->state == LEASE_HELD && l->claims.holders != NULL) {
    ret->holds = claims_count(l->claims.holders);
    ret->units = l->term.units;
    ret->fence = holders_fence(&l->claims);
  }
  if (l->state == LEASE_HELD || l->state == LEASE_PARKED)
    ret->valid_until = hold_end(l);
  if (l->state == LEASE_PARKED)
    ret->idle_since = l->idle_since;
}

bool table_next_name(const hold_backend *b, lock_name_at *at, lock_name *ret)
{
  const lock_table *t = (const lock_table *)b;
  const lease *l = at->name;

  if (l == NULL)
    l = t->first_lease;
  else if (++at->member >= set_count(l)) {
    l = l->next;
    at->member = 0;
    if (l == NULL)
      return false;
  }
  at->name = l;
  if (l == NULL)
    return false;
  view_fill(l, ret);
  if (l->kind == LEASE_SET) {
    ret->name = l->many.names[at->member].name;
    ret->size = l->many.names[at->member].size;
  }
  return true;
}

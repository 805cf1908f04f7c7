/* SPDX-License-Identifier: MIT */
/* lock/view.c - what a table has in memory of its names, for the program to look at. */
#include "lock/table.h"

static lock_name_state idle_state(const name *n)
{
  if (n->waiting != NULL)
    return LOCK_NAME_WAITING;
  return n->lost != NULL ? LOCK_NAME_LOST : LOCK_NAME_LEAVING;
}

static lock_name_state view_state(const name *n)
{
  switch (n->state) {
  case NAME_ASKING:
  case NAME_QUEUED:
  case NAME_CONFIRMING:
  case NAME_ACKING:
    return LOCK_NAME_WAITING;
  case NAME_HELD:
    return n->is_suspect ? LOCK_NAME_SUSPECT : LOCK_NAME_HELD;
  case NAME_LINGERING:
    return LOCK_NAME_LINGERING;
  case NAME_IDLE:
  case NAME_RELEASING:
  case NAME_CANCELLING:
    break;
  }
  return idle_state(n);
}

static lock_kind view_kind(const name *n)
{
  if (n->kind != NAME_SEAT)
    return LOCK_MUTEX;
  return n->mode == 'p' ? LOCK_PERMITS : n->mode == 'w' ? LOCK_WRITE : LOCK_READ;
}

static size_t claims_count(const claim *claims)
{
  size_t count = 0;
  const claim *c;

  DL_COUNT(claims, c, count);
  return count;
}

static void view_fill(const name *n, lock_name *ret)
{
  *ret = (lock_name){ .name = n->bytes, .size = n->size, .kind = view_kind(n),
                      .state = view_state(n), .waiting = claims_count(n->waiting),
                      .lost = claims_count(n->lost),
                      .units = n->kind == NAME_SEAT ? n->wanted_units : 1 };
  if (n->state == NAME_HELD && n->holders != NULL) {
    ret->holds = claims_count(n->holders);
    ret->units = n->units;
    ret->fence = n->holders->fence;
  }
  if (n->state == NAME_HELD || n->state == NAME_LINGERING)
    ret->valid_until = hold_end(n);
  if (n->state == NAME_LINGERING)
    ret->idle_since = n->idle_since;
}

bool lock_next_name(const lock_table *t, lock_name_at *at, lock_name *ret)
{
  const name *n = at->name;

  if (n == NULL)
    n = t->first_name;
  else if (++at->member >= n->member_count) {
    n = n->next;
    at->member = 0;
    if (n == NULL)
      return false;
  }
  at->name = n;
  if (n == NULL)
    return false;
  view_fill(n, ret);
  if (n->kind == NAME_SET) {
    ret->name = n->members[at->member].name;
    ret->size = n->members[at->member].size;
  }
  return true;
}

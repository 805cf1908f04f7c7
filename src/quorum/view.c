/* SPDX-License-Identifier: MIT */
/* quorum/view.c - lists names, holders and waiters for the program. */
#include "quorum/internal.h"

static lock_name_state view_state(const quorum_record *r)
{
  switch (r->state) {
  case RECORD_HELD:
    return r->is_suspect ? LOCK_NAME_SUSPECT : LOCK_NAME_HELD;
  case RECORD_ENDING:
    return LOCK_NAME_LOST;
  case RECORD_LEAVING:
    return LOCK_NAME_LEAVING;
  case RECORD_HERE:
  case RECORD_ROUND:
  case RECORD_QUEUED:
  case RECORD_RESTING:
    break;
  }
  return LOCK_NAME_WAITING;
}

static void view_fill(const lock_entry *e, const quorum_record *r, lock_name *ret)
{
  *ret = (lock_name){ .name = e->bytes + 1, .size = e->size - 1, .kind = r->kind,
                      .reads = r->reads,
                      .state = view_state(r), .waiting = r->claims.waiting != NULL,
                      .lost = claims_count(r->claims.lost), .units = 1 };
  if (r->state != RECORD_HELD || r->claims.holders == NULL)
    return;
  ret->holds = claims_count(r->claims.holders);
  ret->fence = holders_fence(&r->claims);
  ret->valid_until = held_end(r);
}

/* For a mutex the first quorum record only: the others wait for it in this process. */
static const quorum_record *part_next(const lock_entry *e, const quorum_record *r)
{
  return r == NULL ? e->first : e->bytes[0] == 'x' ? NULL : r->next;
}

bool quorum_next_name(const hold_backend *b, lock_name_at *at, lock_name *ret)
{
  const quorum *q = (const quorum *)b;
  const lock_entry *e = at->name != NULL ? at->name : q->entries;
  const quorum_record *r = e != NULL ? part_next(e, at->part) : NULL;

  while (e != NULL && r == NULL) {
    e = e->by_bytes.next;
    r = e != NULL ? e->first : NULL;
  }
  if (e == NULL)
    return false;
  at->name = e;
  at->part = r;
  view_fill(e, r, ret);
  if (e->bytes[0] == 'x')
    for (r = r->next; r != NULL; r = r->next)
      ret->waiting += r->claims.waiting != NULL;
  return true;
}

/* SPDX-License-Identifier: MIT */
/* quorum/view.c - what is in memory of the names, for the program to look at. */
#include "quorum/parts.h"

static lock_name_state view_state(const ballot *b)
{
  switch (b->state) {
  case BALLOT_HELD:
    return b->is_suspect ? LOCK_NAME_SUSPECT : LOCK_NAME_HELD;
  case BALLOT_ENDING:
    return LOCK_NAME_LOST;
  case BALLOT_LEAVING:
    return LOCK_NAME_LEAVING;
  case BALLOT_HERE:
  case BALLOT_ROUND:
  case BALLOT_AT_LEAD:
  case BALLOT_RESTING:
    break;
  }
  return LOCK_NAME_WAITING;
}

static size_t claims_count(const claim *claims)
{
  size_t count = 0;
  const claim *c;

  DL_COUNT(claims, c, count);
  return count;
}

static void view_fill(const name *n, const ballot *b, lock_name *ret)
{
  *ret = (lock_name){ .name = n->bytes + 1, .size = n->size - 1, .kind = b->kind,
                      .state = view_state(b), .waiting = b->waiter != NULL,
                      .lost = claims_count(b->lost), .units = 1 };
  if (b->is_downgraded)
    ret->kind = LOCK_READ;
  if (b->state != BALLOT_HELD || b->holders == NULL)
    return;
  ret->holds = claims_count(b->holders);
  ret->fence = b->holders->fence;
  ret->valid_until = held_end(b);
}

/* Behind the first ballot of a mutex stand those that wait for it here. */
static const ballot *part_next(const name *n, const ballot *b)
{
  return b == NULL ? n->first : n->bytes[0] == 'x' ? NULL : b->next;
}

bool quorum_next_name(const quorum *q, lock_name_at *at, lock_name *ret)
{
  const name *n = at->name != NULL ? at->name : q->names;
  const ballot *b = n != NULL ? part_next(n, at->part) : NULL;

  while (n != NULL && b == NULL) {
    n = n->by_bytes.next;
    b = n != NULL ? n->first : NULL;
  }
  if (n == NULL)
    return false;
  at->name = n;
  at->part = b;
  view_fill(n, b, ret);
  if (n->bytes[0] == 'x')
    for (b = b->next; b != NULL; b = b->next)
      ret->waiting += b->waiter != NULL;
  return true;
}

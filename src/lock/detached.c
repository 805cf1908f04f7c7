/* SPDX-License-Identifier: MIT */
/* lock/detached.c - the leases that continue without this client, because their tokens were passed
 * on. */
#include "lock/table.h"

#include <string.h>

#define SHARES_MAX 64

/* uthash allocates from the client's memory functions too; `t` is in scope at each use. */
#undef uthash_malloc
#undef uthash_free
#define uthash_malloc(bytes) mem_alloc(&t->memory, (bytes))
#define uthash_free(pointer, bytes) mem_free(&t->memory, (pointer))

static detached *mutex_of(const lock_table *t, const char *name, size_t size)
{
  detached *d = NULL;

  HASH_FIND(by_name, t->detached_mutexes, name, size, d);
  return d;
}

const lease_id *detached_of(const lease *l)
{
  const detached *d = l->kind == LEASE_MUTEX ? mutex_of(l->table, l->bytes, l->size) : NULL;

  return d != NULL ? &d->lease : NULL;
}

bool is_detached(const lock_table *t, const lease_id *id, const char *name, size_t size)
{
  const detached *mutex = mutex_of(t, name, size);

  if (mutex != NULL && lease_id_is_grant(id, &mutex->lease))
    return true;
  for (const detached *d = t->detached_shares; d != NULL; d = d->next)
    if (lease_id_is_grant(id, &d->lease))
      return true;
  return false;
}

static detached *detached_new(lock_table *t, const lease *l, size_t size)
{
  detached *d = mem_zalloc(&t->memory, sizeof(*d) + size);

  if (d == NULL)
    return NULL;
  t->backend.counts.bytes += sizeof(*d) + size;
  d->lease = l->term.id;
  d->has_note = l->note_is_set;
  d->size = size;
  memcpy(d->name, l->bytes, size);
  return d;
}

static void release(lock_table *t, detached *d)
{
  t->backend.counts.bytes -= sizeof(*d) + d->size;
  mem_free(&t->memory, d);
}

static void mutex_forget(lock_table *t, detached *d)
{
  HASH_DELETE(by_name, t->detached_mutexes, d);
  release(t, d);
}

/* Only the last shared leases are remembered: a late message about one comes soon. */
static void forget_oldest_share(lock_table *t)
{
  detached **oldest = &t->detached_shares, *d;
  size_t count = 1;

  if (*oldest == NULL)
    return;
  for (; (*oldest)->next != NULL; oldest = &(*oldest)->next)
    count++;
  if (count < SHARES_MAX)
    return;
  d = *oldest;
  *oldest = NULL;
  if (d->lease.ask > t->forgotten_ask)
    t->forgotten_ask = d->lease.ask;
  release(t, d);
}

static bool share_remember(lock_table *t, const lease *l)
{
  detached *d;

  forget_oldest_share(t);
  d = detached_new(t, l, 0);
  if (d == NULL)
    return false;
  d->next = t->detached_shares;
  t->detached_shares = d;
  return true;
}

static bool mutex_remember(lock_table *t, const lease *l)
{
  detached *d = mutex_of(t, l->bytes, l->size);

  if (d != NULL) {
    d->lease = l->term.id;     /* the former one has ended: the new lease came after it */
    d->has_note = l->note_is_set;
    return true;
  }
  d = detached_new(t, l, l->size);
  if (d == NULL)
    return false;
  HASH_ADD(by_name, t->detached_mutexes, name[0], d->size, d);
  if (d->by_name.tbl == NULL) {
    release(t, d);
    return false;
  }
  return true;
}

bool detached_remember(const lease *l)
{
  return l->kind == LEASE_MUTEX ? mutex_remember(l->table, l) : share_remember(l->table, l);
}

void detached_is_over(lease *l, const lease_id *granted)
{
  lock_table *t = l->table;
  detached *d = l->kind == LEASE_MUTEX ? mutex_of(t, l->bytes, l->size) : NULL;

  if (d == NULL || granted->token <= d->lease.token)
    return;
  l->note_is_set = l->note_is_set || d->has_note;
  mutex_forget(t, d);
}

void detached_free(lock_table *t)
{
  while (t->detached_mutexes != NULL)
    mutex_forget(t, t->detached_mutexes);
  while (t->detached_shares != NULL) {
    detached *d = t->detached_shares;

    t->detached_shares = d->next;
    release(t, d);
  }
}

/* SPDX-License-Identifier: MIT */
/* lock/names.c - the names of a table: creates, finds and forgets each kind, and keeps the
 * two lists of names with a command to send. */
#include "lock/table.h"

#include <string.h>

/* uthash allocates from the client's memory functions too; `t` is in scope at each use. */
#undef uthash_malloc
#undef uthash_free
#define uthash_malloc(bytes) mem_alloc(&t->memory, (bytes))
#define uthash_free(pointer, bytes) mem_free(&t->memory, (pointer))

/* ---- what waiting needs ---- */

#define SPARE_WAITS_MAX 64       /* a lock that is free at once allocates none */

bool wait_reserve(lease *l)
{
  lock_table *t = l->table;
  lease_wait *w = t->spare_waits;

  if (l->wait != NULL)
    return true;
  if (w != NULL) {
    t->spare_waits = w->next;
    t->spare_wait_count--;
    *w = (lease_wait){ .next = NULL };
  } else if ((w = mem_zalloc(&t->memory, sizeof(*w))) == NULL) {
    return false;
  }
  l->wait = w;
  t->backend.counts.bytes += sizeof(*w);
  return true;
}

static void wait_forget(lease *l)
{
  lock_table *t = l->table;
  lease_wait *w = l->wait;

  if (w == NULL)
    return;
  l->wait = NULL;
  t->backend.counts.bytes -= sizeof(*w);
  if (t->spare_wait_count >= SPARE_WAITS_MAX) {
    mem_free(&t->memory, w);
    return;
  }
  w->next = t->spare_waits;
  t->spare_waits = w;
  t->spare_wait_count++;
}

/* What it knows of another holder is over with the grant; with IDLE it is not. */
void wait_forget_if_unused(lease *l)
{
  if (l->claims.waiting == NULL &&
      lease_is_in(l, IN(LEASE_HELD) | IN(LEASE_PARKED) | IN(LEASE_RELEASING)))
    wait_forget(l);
}

/* ---- all of them ---- */

static size_t bytes_of(const lease *l)
{
  return sizeof(*l) + l->size + (l->acks != NULL ? sizeof(*l->acks) : 0);
}

static void list_join(lease *l)
{
  lock_table *t = l->table;

  DL_APPEND(t->first_lease, l);
  t->backend.counts.names++;
  t->backend.counts.bytes += bytes_of(l);
  lease_find_route(l);
}

static void list_leave(lease *l)
{
  lock_table *t = l->table;

  DL_DELETE(t->first_lease, l);
  t->backend.counts.names--;
  lease_ask_route(l, NULL);
  l->route->names--;
  channel_leave(l);
  t->backend.counts.bytes -= bytes_of(l);
}

/* Not yet in any list. */
static lease *lease_make(lock_table *t, lease_kind kind, const void *bytes, size_t size)
{
  lease *l;

  if (!table_reserve_timers(t, 3))
    return NULL;
  l = mem_zalloc(&t->memory, sizeof(*l) + size);
  if (l == NULL)
    return NULL;

  l->table = t;
  l->kind = kind;
  l->state = LEASE_IDLE;
  l->term.limit = INSTANT_NEVER;
  l->term.units = 1;
  l->size = size;
  if (bytes != NULL)
    memcpy(l->bytes, bytes, size);
  timer_init(&l->poll, TIMER_POLL);
  timer_init(&l->renew, TIMER_RENEW);
  timer_init(&l->deadline, TIMER_DEADLINE);
  l->id = slots_add(&t->lease_slots, l);
  if (l->id == 0) {
    mem_free(&t->memory, l);
    return NULL;
  }
  return l;
}

static lease *lease_unmake(lease *l)
{
  lock_table *t = l->table;

  slots_remove(&t->lease_slots, l->id);
  wait_forget(l);
  if (l->kind == LEASE_SET)
    mem_free(&t->memory, l->many.names);
  mem_free(&t->memory, l->acks);
  mem_free(&t->memory, l);
  return NULL;
}

/* ---- mutexes ---- */

lease *mutex_find(const lock_table *t, const void *bytes, size_t size)
{
  lease *l = NULL;

  HASH_FIND(by_bytes, t->mutexes, bytes, size, l);
  return l;
}

lease *mutex_new(lock_table *t, const void *bytes, size_t size)
{
  lease *l = lease_make(t, LEASE_MUTEX, bytes, size);

  if (l == NULL)
    return NULL;
  HASH_ADD(by_bytes, t->mutexes, bytes[0], l->size, l);
  if (l->by_bytes.tbl == NULL)
    return lease_unmake(l);
  list_join(l);
  return l;
}

/* ---- shared leases, entries of queues ---- */

lock_entry *entry_find(const lock_table *t, const void *bytes, size_t size)
{
  lock_entry *e = NULL;

  HASH_FIND(by_bytes, t->entries, bytes, size, e);
  return e;
}

static lock_entry *entry_new(lock_table *t, const void *bytes, size_t size)
{
  lock_entry *e = mem_zalloc(&t->memory, sizeof(*e) + size);

  if (e == NULL)
    return NULL;
  e->size = size;
  memcpy(e->bytes, bytes, size);
  HASH_ADD(by_bytes, t->entries, bytes[0], e->size, e);
  if (e->by_bytes.tbl == NULL) {
    mem_free(&t->memory, e);
    return NULL;
  }
  return e;
}

static void entry_leave(lease *l)
{
  lock_table *t = l->table;
  lock_entry *e = l->shared.entry;

  if (l->shared.previous != NULL)
    l->shared.previous->shared.next = l->shared.next;
  else
    e->first = l->shared.next;
  if (l->shared.next != NULL)
    l->shared.next->shared.previous = l->shared.previous;
  else
    e->last = l->shared.previous;
  if (e->first != NULL)
    return;
  HASH_DELETE(by_bytes, t->entries, e);
  mem_free(&t->memory, e);
}

static char mode_of(const lock_spec *spec)
{
  if (spec->kind == LOCK_RWLOCK)
    return spec->reads ? 'r' : 'w';
  return kind_has_permits(spec->kind) ? 'p' : 0;
}

lease *shared_new(lock_table *t, const lock_spec *spec, instant now)
{
  lock_entry *e = entry_find(t, spec->name, spec->name_size);
  lease_kind kind = spec_is_mutex(spec) ? LEASE_QUEUE_ENTRY : LEASE_SHARED;
  lease *l = lease_make(t, kind, spec->name, spec->name_size);

  if (l == NULL)
    return NULL;
  if (e == NULL)
    e = entry_new(t, spec->name, spec->name_size);
  if (e == NULL)
    return lease_unmake(l);

  l->shared.entry = e;
  l->shared.previous = e->last;
  if (e->last != NULL)
    e->last->shared.next = l;
  else
    e->first = l;
  e->last = l;
  l->mode = mode_of(spec);
  l->shared.wanted_units = kind_has_permits(spec->kind) ? spec->units : 1;
  l->shared.wanted_limit = spec->limit;
  l->lock_kind = spec->kind;
  l->shared.since = now;
  list_join(l);
  return l;
}

bool lease_never_ends(const lease *l)
{
  return l->lock_kind == LOCK_COUNTER;
}

lease *shared_find(const lock_table *t, const void *bytes, size_t size, uint64_t ask)
{
  const lock_entry *e = entry_find(t, bytes, size);
  lease *l = e != NULL ? e->last : NULL;

  while (l != NULL && l->ask.number != ask)
    l = l->shared.previous;
  return l;
}

/* ---- sets ---- */

lease *set_new(lock_table *t, const lock_spec *spec)
{
  size_t size = 0, at = 0;
  lease *l;

  for (size_t i = 0; i < spec->name_count; i++)
    size += spec->names[i].size;
  l = lease_make(t, LEASE_SET, NULL, size);
  if (l == NULL)
    return NULL;
  l->many.names = mem_alloc(&t->memory, spec->name_count * sizeof(l->many.names[0]));
  if (l->many.names == NULL)
    return lease_unmake(l);
  for (size_t i = 0; i < spec->name_count; i++) {
    memcpy(l->bytes + at, spec->names[i].name, spec->names[i].size);
    l->many.names[i] = (many_name){ l->bytes + at, spec->names[i].size };
    at += spec->names[i].size;
  }
  l->many.count = spec->name_count;
  if (++t->last_set == 0)      /* after 2^32 multi-locks: the first have ended, 0 means none */
    t->last_set = 1;
  l->many.number = t->last_set;
  DL_PREPEND2(t->first_set, l, many.previous, many.next);
  list_join(l);
  return l;
}

lease *set_find(const lock_table *t, uint32_t set)
{
  lease *l = t->first_set;

  while (l != NULL && l->many.number != set)
    l = l->many.next;
  return l;
}

size_t set_count(const lease *l)
{
  return l->kind == LEASE_SET ? l->many.count : 0;
}

bool lease_next_name(const lease *l, size_t i, many_name *ret_name)
{
  bool is_set = l->kind == LEASE_SET;

  if (i >= (is_set ? l->many.count : 1))
    return false;
  *ret_name = is_set ? l->many.names[i] : (many_name){ l->bytes, l->size };
  return true;
}

uint32_t set_number(const lease *l)
{
  return l->kind == LEASE_SET ? l->many.number : 0;
}

/* ---- the end of a lease ---- */

void lease_free(lease *l)
{
  lock_table *t = l->table;

  timers_clear(&t->timers, &l->poll);
  timers_clear(&t->timers, &l->renew);
  timers_clear(&t->timers, &l->deadline);
  switch (l->kind) {
  case LEASE_MUTEX:
    HASH_DELETE(by_bytes, t->mutexes, l);
    break;
  case LEASE_SHARED:
  case LEASE_QUEUE_ENTRY:
    entry_leave(l);
    break;
  case LEASE_SET:
    DL_DELETE2(t->first_set, l, many.previous, many.next);
    break;
  }
  list_leave(l);
  (void)lease_unmake(l);
}

void lease_forget_if_unused(lease *l)
{
  if (l->state != LEASE_IDLE || !acquisition_is_unused(&l->claims))
    return;
  if (l->is_due || l->is_renewal_due)
    lease_route(l)->has_idle_dues = true;
  else
    lease_free(l);
}

void lease_start_next(lease *l, instant now)
{
  if (l->state != LEASE_IDLE)
    return;
  timers_clear(&l->table->timers, &l->poll);
  if (l->claims.waiting != NULL)
    lease_become(l, ask_begin(l, now), now);
  else
    lease_forget_if_unused(l);
}

/* ---- names with a command to send ---- */

void lease_due(lease *l)
{
  route *r = lease_route(l);

  if (l->is_due)
    return;
  l->is_due = true;
  l->next_due = NULL;
  if (r->last_due != NULL)
    r->last_due->next_due = l;
  else
    r->first_due = l;
  r->last_due = l;
}

void lease_renewal_due(lease *l)
{
  route *r = lease_route(l);

  if (l->is_renewal_due)
    return;
  l->is_renewal_due = true;
  l->next_renewal = NULL;
  if (r->last_renewal != NULL)
    r->last_renewal->next_renewal = l;
  else
    r->first_renewal = l;
  r->last_renewal = l;
}

/* Removes names whose claims ended while no link was up to take them off these lists. */
void dues_sweep(route *r)
{
  lease *due = r->first_due, *renewals = r->first_renewal, *l;

  r->has_idle_dues = false;
  r->first_due = r->last_due = r->first_renewal = r->last_renewal = NULL;
  while ((l = due) != NULL) {
    due = l->next_due;
    l->is_due = false;
    if (l->state != LEASE_IDLE)
      lease_due(l);
    else if (!l->is_renewal_due)
      lease_forget_if_unused(l);
  }
  while ((l = renewals) != NULL) {
    renewals = l->next_renewal;
    l->is_renewal_due = false;
    if (l->state != LEASE_IDLE)
      lease_renewal_due(l);
    else
      lease_forget_if_unused(l);
  }
}

/* SPDX-License-Identifier: MIT */
/* lock/names.c - the names of a table: how each kind is made, found and forgotten, and the
 * two lists of those that have something to send. */
#include "lock/table.h"

#include <string.h>

/* uthash takes its buckets from the client's memory too; `t` is in scope at each use. */
#undef uthash_malloc
#undef uthash_free
#define uthash_malloc(bytes) mem_alloc(&t->memory, (bytes))
#define uthash_free(pointer, bytes) mem_free(&t->memory, (pointer))

/* ---- all of them ---- */

static void list_join(name *n)
{
  lock_table *t = n->table;

  DL_APPEND(t->first_name, n);
  t->counts.names++;
  t->counts.bytes += sizeof(*n) + n->size;
  name_find_route(n);
}

static void list_leave(name *n)
{
  lock_table *t = n->table;

  DL_DELETE(t->first_name, n);
  t->counts.names--;
  name_ask_route(n, NULL);
  n->route->names--;
  channel_leave(n);
  t->counts.bytes -= sizeof(*n) + n->size;
}

/* Not yet in any list. */
static name *name_make(lock_table *t, name_kind kind, const void *bytes, size_t size)
{
  name *n;

  if (!table_reserve_timers(t, 3))
    return NULL;
  n = mem_zalloc(&t->memory, sizeof(*n) + size);
  if (n == NULL)
    return NULL;

  n->table = t;
  n->kind = kind;
  n->state = NAME_IDLE;
  n->limit = INSTANT_NEVER;
  n->units = 1;
  n->size = size;
  if (bytes != NULL)
    memcpy(n->bytes, bytes, size);
  timer_init(&n->poll, TIMER_POLL, n);
  timer_init(&n->renew, TIMER_RENEW, n);
  timer_init(&n->deadline, TIMER_DEADLINE, n);
  n->id = slots_add(&t->name_slots, n);
  if (n->id == 0) {
    mem_free(&t->memory, n);
    return NULL;
  }
  return n;
}

static name *name_unmake(name *n)
{
  lock_table *t = n->table;

  slots_remove(&t->name_slots, n->id);
  mem_free(&t->memory, n->members);
  mem_free(&t->memory, n);
  return NULL;
}

/* ---- mutexes ---- */

name *mutex_find(const lock_table *t, const void *bytes, size_t size)
{
  name *n = NULL;

  HASH_FIND(by_bytes, t->mutexes, bytes, size, n);
  return n;
}

name *mutex_new(lock_table *t, const void *bytes, size_t size)
{
  name *n = name_make(t, NAME_MUTEX, bytes, size);

  if (n == NULL)
    return NULL;
  HASH_ADD(by_bytes, t->mutexes, bytes[0], n->size, n);
  if (n->by_bytes.tbl == NULL)
    return name_unmake(n);
  list_join(n);
  return n;
}

/* ---- seats of shared resources, places in queues ---- */

static resource *resource_find(const lock_table *t, const void *bytes, size_t size)
{
  resource *r = NULL;

  HASH_FIND(by_bytes, t->resources, bytes, size, r);
  return r;
}

static resource *resource_new(lock_table *t, const void *bytes, size_t size)
{
  resource *r = mem_zalloc(&t->memory, sizeof(*r) + size);

  if (r == NULL)
    return NULL;
  r->size = size;
  memcpy(r->bytes, bytes, size);
  HASH_ADD(by_bytes, t->resources, bytes[0], r->size, r);
  if (r->by_bytes.tbl == NULL) {
    mem_free(&t->memory, r);
    return NULL;
  }
  return r;
}

static void resource_leave(name *n)
{
  lock_table *t = n->table;
  resource *r = n->resource;

  if (n->previous_seat != NULL)
    n->previous_seat->next_seat = n->next_seat;
  else
    r->first = n->next_seat;
  if (n->next_seat != NULL)
    n->next_seat->previous_seat = n->previous_seat;
  else
    r->last = n->previous_seat;
  if (r->first != NULL)
    return;
  HASH_DELETE(by_bytes, t->resources, r);
  mem_free(&t->memory, r);
}

resource *share_resource(const lock_table *t, const void *bytes, size_t size)
{
  return resource_find(t, bytes, size);
}

static char mode_of(const lock_wish *w)
{
  switch (w->kind) {
  case LOCK_READ:
    return 'r';
  case LOCK_WRITE:
    return 'w';
  case LOCK_PERMITS:
    return 'p';
  case LOCK_MUTEX:
  case LOCK_MANY:
    break;
  }
  return 0;
}

name *seat_new(lock_table *t, const lock_wish *w, instant now)
{
  resource *r = resource_find(t, w->name, w->name_size);
  name_kind kind = w->kind == LOCK_MUTEX ? NAME_PLACE : NAME_SEAT;
  name *n = name_make(t, kind, w->name, w->name_size);

  if (n == NULL)
    return NULL;
  if (r == NULL)
    r = resource_new(t, w->name, w->name_size);
  if (r == NULL)
    return name_unmake(n);

  n->resource = r;
  n->previous_seat = r->last;
  if (r->last != NULL)
    r->last->next_seat = n;
  else
    r->first = n;
  r->last = n;
  n->mode = mode_of(w);
  n->wanted_units = w->kind == LOCK_PERMITS ? w->units : 1;
  n->flavour = w->flavour;
  n->seated_at = now;
  list_join(n);
  return n;
}

bool name_is_unleased(const name *n)
{
  return n->flavour == FLAVOUR_UNLEASED;
}

name *seat_find(const lock_table *t, const void *bytes, size_t size, uint64_t ask)
{
  const resource *r = resource_find(t, bytes, size);
  name *n = r != NULL ? r->last : NULL;

  while (n != NULL && n->ask != ask)
    n = n->previous_seat;
  return n;
}

/* ---- sets ---- */

name *set_new(lock_table *t, const lock_wish *w)
{
  size_t size = 0, at = 0;
  name *n;

  for (size_t i = 0; i < w->name_count; i++)
    size += w->names[i].size;
  n = name_make(t, NAME_SET, NULL, size);
  if (n == NULL)
    return NULL;
  n->members = mem_alloc(&t->memory, w->name_count * sizeof(n->members[0]));
  if (n->members == NULL)
    return name_unmake(n);
  for (size_t i = 0; i < w->name_count; i++) {
    memcpy(n->bytes + at, w->names[i].name, w->names[i].size);
    n->members[i] = (many_name){ n->bytes + at, w->names[i].size };
    at += w->names[i].size;
  }
  n->member_count = w->name_count;
  if (++t->last_set == 0)      /* after 2^32 sets: the first are long over, 0 means none */
    t->last_set = 1;
  n->set = t->last_set;
  DL_PREPEND2(t->first_set, n, previous_set, next_set);
  list_join(n);
  return n;
}

name *set_find(const lock_table *t, uint32_t set)
{
  name *n = t->first_set;

  while (n != NULL && n->set != set)
    n = n->next_set;
  return n;
}

/* ---- the end of a name ---- */

void name_free(name *n)
{
  lock_table *t = n->table;

  timers_clear(&t->timers, &n->poll);
  timers_clear(&t->timers, &n->renew);
  timers_clear(&t->timers, &n->deadline);
  switch (n->kind) {
  case NAME_MUTEX:
    HASH_DELETE(by_bytes, t->mutexes, n);
    break;
  case NAME_SEAT:
  case NAME_PLACE:
    resource_leave(n);
    break;
  case NAME_SET:
    DL_DELETE2(t->first_set, n, previous_set, next_set);
    break;
  }
  list_leave(n);
  (void)name_unmake(n);
}

void name_forget_if_unused(name *n)
{
  if (n->state != NAME_IDLE || n->waiting != NULL || n->holders != NULL ||
      n->lost != NULL)
    return;
  if (n->is_due || n->is_renewal_due)
    name_route(n)->has_idle_dues = true;
  else
    name_free(n);
}

void name_settle(name *n, instant now)
{
  if (n->state != NAME_IDLE)
    return;
  timers_clear(&n->table->timers, &n->poll);
  if (n->waiting != NULL)
    ask_begin(n, now);
  else
    name_forget_if_unused(n);
}

/* ---- who has something to send ---- */

void name_due(name *n)
{
  route *r = name_route(n);

  if (n->is_due)
    return;
  n->is_due = true;
  n->next_due = NULL;
  if (r->last_due != NULL)
    r->last_due->next_due = n;
  else
    r->first_due = n;
  r->last_due = n;
}

void name_renewal_due(name *n)
{
  route *r = name_route(n);

  if (n->is_renewal_due)
    return;
  n->is_renewal_due = true;
  n->next_renewal = NULL;
  if (r->last_renewal != NULL)
    r->last_renewal->next_renewal = n;
  else
    r->first_renewal = n;
  r->last_renewal = n;
}

/* Names whose claims ended while no link was there to take them off these lists. */
void dues_sweep(route *r)
{
  name *due = r->first_due, *renewals = r->first_renewal, *n;

  r->has_idle_dues = false;
  r->first_due = r->last_due = r->first_renewal = r->last_renewal = NULL;
  while ((n = due) != NULL) {
    due = n->next_due;
    n->is_due = false;
    if (n->state != NAME_IDLE)
      name_due(n);
    else if (!n->is_renewal_due)
      name_forget_if_unused(n);
  }
  while ((n = renewals) != NULL) {
    renewals = n->next_renewal;
    n->is_renewal_due = false;
    if (n->state != NAME_IDLE)
      name_renewal_due(n);
    else
      name_forget_if_unused(n);
  }
}

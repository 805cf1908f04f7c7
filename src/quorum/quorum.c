/* SPDX-License-Identifier: MIT */
/* quorum/quorum.c - names and their records, and the life of a quorum. */
#include "quorum/internal.h"

#include <assert.h>
#include <string.h>

/* uthash allocates its buckets from the client's memory; `q` is in scope at each use. */
#undef uthash_malloc
#undef uthash_free
#define uthash_malloc(bytes) mem_alloc(&q->memory, (bytes))
#define uthash_free(pointer, bytes) mem_free(&q->memory, (pointer))

quorum *quorum_new(const quorum_settings *s)
{
  quorum *q = mem_zalloc(s->memory, sizeof(*q));

  assert(s->count >= 1 && s->count <= QUORUM_SERVERS_MAX);
  if (q == NULL)
    return NULL;
  q->memory = *s->memory;
  random_seed(&q->random, s->seed);
  q->connect_timeout = s->connect_timeout;
  q->command_timeout = s->command_timeout;
  q->is_patient = s->is_patient;
  q->names_max = s->names_max;
  q->count = s->count;
  q->majority = s->count / 2 + 1;
  q->closing_until = INSTANT_NEVER;
  timers_init(&q->timers, &q->memory);
  q->backend.ops = &quorum_ops;
  q->backend.timers = &q->timers;
  for (size_t i = 0; i < s->count; i++) {
    q->servers[i].table = s->tables[i];
    q->servers[i].front = hold_front_new(&q->memory);
    if (q->servers[i].front == NULL)
      return quorum_free(q);
    hold_front_add(q->servers[i].front, lock_backend(s->tables[i]));
  }
  return q;
}

/* ---- names ---- */

static lock_entry *entry_of(quorum *q, const lock_spec *spec, bool make)
{
  char bytes[NAME_MAX_BYTES + 1];
  size_t size = spec->name_size + 1;
  lock_entry *e = NULL;

  bytes[0] = spec->kind == LOCK_MUTEX ? 'x' : 's';
  memcpy(bytes + 1, spec->name, spec->name_size);
  HASH_FIND(by_bytes, q->entries, bytes, size, e);
  if (e != NULL || !make)
    return e;

  e = mem_zalloc(&q->memory, sizeof(*e) + size);
  if (e == NULL)
    return NULL;
  e->size = size;
  memcpy(e->bytes, bytes, size);
  HASH_ADD(by_bytes, q->entries, bytes[0], e->size, e);
  if (e->by_bytes.tbl == NULL) {
    mem_free(&q->memory, e);
    return NULL;
  }
  q->backend.counts.names++;
  return e;
}

lock_entry *quorum_entry(quorum *q, const lock_spec *spec)
{
  return entry_of(q, spec, false);
}

static void entry_forget(quorum *q, lock_entry *e)
{
  if (e->first != NULL)
    return;
  HASH_DELETE(by_bytes, q->entries, e);
  mem_free(&q->memory, e);
  q->backend.counts.names--;
}

static bool is_mutex(const lock_entry *e)
{
  return e->bytes[0] == 'x';
}

/* ---- records ---- */

quorum_record *record_new(quorum *q, const lock_spec *spec)
{
  quorum_record *r = mem_zalloc(&q->memory, sizeof(*r) + q->count * sizeof(r->members[0]));
  char *note = mem_copy_text(&q->memory, spec->note);
  lock_entry *e = NULL;

  if (r != NULL && (spec->note == NULL || note != NULL))
    e = entry_of(q, spec, true);
  if (e == NULL) {
    mem_free(&q->memory, note);
    mem_free(&q->memory, r);
    return NULL;
  }
  r->quorum = q;
  r->entry = e;
  r->state = RECORD_HERE;
  r->kind = spec->kind;
  r->reads = spec->reads;
  r->is_fixed = spec->is_fixed;
  r->ttl = spec->ttl;
  r->note = note;
  r->limit = INSTANT_NEVER;
  timer_init(&r->stage, TIMER_STAGE);
  timer_init(&r->repair, TIMER_REPAIR);
  for (size_t i = 0; i < q->count; i++)
    r->members[i].record = r;

  r->previous = e->last;
  if (e->last != NULL)
    e->last->next = r;
  else
    e->first = r;
  e->last = r;
  DL_PREPEND2(q->records, r, previous_of_all, next_of_all);
  q->record_count++;
  return r;
}

quorum_record *record_asking(quorum_record *r)
{
  return r->kind == LOCK_MUTEX && r->entry != NULL ? r->entry->first : r;
}

void record_forget(quorum_record *r)
{
  quorum *q = r->quorum;

  if (r->state != RECORD_LEAVING || r->open > 0 || !acquisition_is_unused(&r->claims))
    return;
  DL_DELETE2(q->records, r, previous_of_all, next_of_all);
  q->record_count--;
  mem_free(&q->memory, r->note);
  mem_free(&q->memory, r);
}

static void name_part(quorum_record *r, instant now)
{
  quorum *q = r->quorum;
  lock_entry *e = r->entry;
  quorum_record *next = e->first == r && is_mutex(e) ? r->next : NULL;

  if (r->previous != NULL)
    r->previous->next = r->next;
  else
    e->first = r->next;
  if (r->next != NULL)
    r->next->previous = r->previous;
  else
    e->last = r->previous;
  r->next = r->previous = NULL;
  r->entry = NULL;
  if (next != NULL && !q->is_closing)
    round_begin(next, now);
  entry_forget(q, e);
}

void record_leave(quorum_record *r, instant now)
{
  quorum *q = r->quorum;

  timers_clear(&q->timers, &r->stage);
  timers_clear(&q->timers, &r->repair);
  for (size_t i = 0; i < q->count; i++)
    member_withdraw(&r->members[i], now);
  r->state = RECORD_LEAVING;
  if (r->entry != NULL)
    name_part(r, now);
  record_forget(r);
}

/* Passes the quorum record to the next waiter for the same: it keeps what `b` has reached, above
 * all its queue entry. */
static bool pass_on(quorum_record *r, instant now)
{
  quorum_record *next = r->next;
  char *note = r->note;

  if (r->quorum->is_closing || !is_mutex(r->entry) || r->state == RECORD_HERE || next == NULL ||
      next->is_fixed != r->is_fixed || next->ttl.ns != r->ttl.ns ||
      wish_of(&next->claims)->is_try)
    return false;
  waiters_move(&next->claims, &r->claims);
  r->note = next->note;
  next->note = note;
  record_leave(next, now);
  return true;
}

void record_fail(quorum_record *r, dibs_status status, const char *words, instant now)
{
  report_why(record_asking(r));
  waiter_fail(&r->claims, status, words);
  if ((status != DIBS_TIMED_OUT && status != DIBS_CANCELLED) || !pass_on(r, now))
    record_leave(r, now);
}

quorum *quorum_free(quorum *q)
{
  quorum_record *r;

  if (q == NULL)
    return NULL;
  for (size_t i = 0; i < q->count; i++)
    (void)hold_front_free(q->servers[i].front);
  timers_deinit(&q->timers);             /* it writes to the timers that are set */
  while ((r = q->records) != NULL) {
    q->records = r->next_of_all;
    mem_free(&q->memory, r->note);
    mem_free(&q->memory, r);
  }
  while (q->entries != NULL) {
    lock_entry *entry = q->entries;

    entry->first = NULL;
    entry_forget(q, entry);
  }
  mem_free(&q->memory, q);
  return NULL;
}

void quorum_advance(quorum *q, instant now)
{
  bool again = true;
  lock_event e;

  while (again) {
    again = false;
    for (size_t i = 0; i < q->count; i++)
      while (hold_next_event(q->servers[i].front, &e)) {
        again = true;                    /* its effects may cause more events */
        member_event(q, &e, now);
      }
  }
}

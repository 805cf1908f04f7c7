/* SPDX-License-Identifier: MIT */
/* quorum/quorum.c - life, names and their ballots, and what the program asks for. */
#include "quorum/parts.h"

#include <assert.h>
#include <string.h>

/* uthash takes its buckets from the client's memory too; `q` is in scope at each use. */
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
  for (size_t i = 0; i < s->count; i++)
    q->servers[i].table = s->tables[i];
  q->closing_until = INSTANT_NEVER;
  timers_init(&q->timers, &q->memory);
  slots_init(&q->slots, &q->memory);
  return q;
}

/* ---- names ---- */

static name *name_of(quorum *q, const lock_wish *w, bool make)
{
  char bytes[NAME_MAX_BYTES + 1];
  size_t size = w->name_size + 1;
  name *n = NULL;

  bytes[0] = w->kind == LOCK_MUTEX ? 'x' : 's';
  memcpy(bytes + 1, w->name, w->name_size);
  HASH_FIND(by_bytes, q->names, bytes, size, n);
  if (n != NULL || !make)
    return n;

  n = mem_zalloc(&q->memory, sizeof(*n) + size);
  if (n == NULL)
    return NULL;
  n->size = size;
  memcpy(n->bytes, bytes, size);
  HASH_ADD(by_bytes, q->names, bytes[0], n->size, n);
  if (n->by_bytes.tbl == NULL) {
    mem_free(&q->memory, n);
    return NULL;
  }
  q->counts.names++;
  return n;
}

name *quorum_name(quorum *q, const lock_wish *w)
{
  return name_of(q, w, false);
}

static void name_forget(quorum *q, name *n)
{
  if (n->first != NULL)
    return;
  HASH_DELETE(by_bytes, q->names, n);
  mem_free(&q->memory, n);
  q->counts.names--;
}

static bool is_mutex(const name *n)
{
  return n->bytes[0] == 'x';
}

/* ---- ballots ---- */

ballot *ballot_new(quorum *q, const lock_wish *w, claim *c)
{
  ballot *b = mem_zalloc(&q->memory, sizeof(*b) + q->count * sizeof(b->votes[0]));
  char *note = mem_copy_text(&q->memory, w->note);
  name *n = b != NULL && (w->note == NULL || note != NULL) ? name_of(q, w, true) : NULL;

  if (n == NULL) {
    mem_free(&q->memory, note);
    mem_free(&q->memory, b);
    return NULL;
  }
  b->quorum = q;
  b->name = n;
  b->state = BALLOT_HERE;
  b->kind = w->kind;
  b->is_fixed = w->is_fixed;
  b->ttl = w->ttl;
  b->note = note;
  b->limit = INSTANT_NEVER;
  timer_init(&b->stage, TIMER_STAGE, b);
  timer_init(&b->repair, TIMER_REPAIR, b);
  for (size_t i = 0; i < q->count; i++)
    b->votes[i].ballot = b;
  b->waiter = c;
  c->ballot = b;

  b->previous = n->last;
  if (n->last != NULL)
    n->last->next = b;
  else
    n->first = b;
  n->last = b;
  DL_PREPEND2(q->ballots, b, previous_of_all, next_of_all);
  q->ballot_count++;
  return b;
}

void ballot_forget(ballot *b)
{
  quorum *q = b->quorum;

  if (b->state != BALLOT_LEAVING || b->open > 0 || b->waiter != NULL ||
      b->holders != NULL || b->lost != NULL)
    return;
  DL_DELETE2(q->ballots, b, previous_of_all, next_of_all);
  q->ballot_count--;
  mem_free(&q->memory, b->note);
  mem_free(&q->memory, b);
}

static void name_part(ballot *b, instant now)
{
  quorum *q = b->quorum;
  name *n = b->name;
  ballot *next = n->first == b && is_mutex(n) ? b->next : NULL;

  if (b->previous != NULL)
    b->previous->next = b->next;
  else
    n->first = b->next;
  if (b->next != NULL)
    b->next->previous = b->previous;
  else
    n->last = b->previous;
  b->next = b->previous = NULL;
  b->name = NULL;
  if (next != NULL && !q->is_closing)
    round_begin(next, now);
  name_forget(q, n);
}

void ballot_leave(ballot *b, instant now)
{
  quorum *q = b->quorum;

  timers_clear(&q->timers, &b->stage);
  timers_clear(&q->timers, &b->repair);
  for (size_t i = 0; i < q->count; i++)
    vote_withdraw(&b->votes[i], now);
  b->state = BALLOT_LEAVING;
  if (b->name != NULL)
    name_part(b, now);
  ballot_forget(b);
}

/* One that waits behind `b` for the same: what `b` has reached, its place at the lead above
 * all, is of use to it. */
static bool pass_on(ballot *b, instant now)
{
  ballot *next = b->next;
  char *note = b->note;

  if (b->quorum->is_closing || !is_mutex(b->name) || b->state == BALLOT_HERE || next == NULL ||
      next->is_fixed != b->is_fixed || next->ttl.ns != b->ttl.ns || next->waiter->is_try)
    return false;
  b->waiter = next->waiter;
  b->waiter->ballot = b;
  b->note = next->note;
  next->note = note;
  next->waiter = NULL;
  ballot_leave(next, now);
  return true;
}

void ballot_fail(ballot *b, dibs_status status, const char *words, instant now)
{
  claim *c = b->waiter;

  b->waiter = NULL;
  tell_why(b);
  tell_end(c, LOCK_FAILED, status, words);
  if ((status != DIBS_TIMED_OUT && status != DIBS_CANCELLED) || !pass_on(b, now))
    ballot_leave(b, now);
}

quorum *quorum_free(quorum *q)
{
  memory m;
  ballot *b;
  lock_event e;

  if (q == NULL)
    return NULL;
  timers_deinit(&q->timers);             /* it writes to those that are set */
  while (quorum_next_event(q, &e))
    continue;                            /* ended claims live in no list but this one */
  while ((b = q->ballots) != NULL) {
    mem_free(&q->memory, b->waiter);
    while (b->holders != NULL) {
      claim *c = b->holders;
      DL_DELETE(b->holders, c);
      mem_free(&q->memory, c);
    }
    while (b->lost != NULL) {
      claim *c = b->lost;
      DL_DELETE(b->lost, c);
      mem_free(&q->memory, c);
    }
    q->ballots = b->next_of_all;
    mem_free(&q->memory, b->note);
    mem_free(&q->memory, b);
  }
  while (q->names != NULL) {
    name *n = q->names;
    n->first = NULL;
    name_forget(q, n);
  }
  slots_deinit(&q->slots);
  m = q->memory;
  mem_free(&m, q);
  return NULL;
}

void quorum_pump(quorum *q, instant now)
{
  bool again = true;
  lock_event e;

  while (again) {
    again = false;
    for (size_t i = 0; i < q->count; i++)
      while (lock_next_event(q->servers[i].table, &e)) {
        again = true;                    /* and its effects may make others */
        vote_event(q, &e, now);
      }
  }
}

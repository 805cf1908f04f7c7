/* SPDX-License-Identifier: MIT */
/* test/oracle/history_derive.c - asks, grants and what became of them, from sorted records. */
#include "history_parts.h"

#include <stdlib.h>
#include <string.h>

/* One start of a worker. */
struct life { int64_t last_ns, killed_ns, dead_ns; };

struct lives { struct life *all; size_t count; };

struct calls {
  int32_t *slots;              /* indices of asks, -1: empty; open addressing */
  size_t mask;
  struct lives lives[WORKERS_MAX];
};

/* ---- lives ---- */

static struct life *life_of(struct history *h, uint16_t worker, uint16_t life)
{
  struct lives *l;

  if (worker >= WORKERS_MAX)
    return NULL;
  l = &h->calls->lives[worker];
  while (l->count <= life) {
    l->all = history_grow(l->all, l->count + 1, sizeof(*l->all));
    l->all[l->count++] = (struct life){ 0 };
  }
  return &l->all[life];
}

static void note_life(struct history *h, const struct record *r)
{
  struct life *of_writer = life_of(h, r->worker, r->life);

  if (of_writer != NULL && r->at_ns > of_writer->last_ns)
    of_writer->last_ns = r->at_ns;
  if (r->op == OP_LIFE && r->phase == PHASE_OK && r->owner < WORKERS_MAX) {
    struct life *dead = life_of(h, r->owner, (uint16_t)r->value);

    dead->killed_ns = r->sent_ns;
    dead->dead_ns = r->at_ns;
  }
}

int64_t history_last_ns(const struct history *h, uint16_t worker, uint16_t life)
{
  const struct lives *l = worker < WORKERS_MAX ? &h->calls->lives[worker] : NULL;

  return l != NULL && life < l->count ? l->all[life].last_ns : 0;
}

/* ---- which ask a record belongs to ---- */

static size_t hash_of(const struct record *r)
{
  uint64_t x = r->call * 0x9e3779b97f4a7c15U;

  x ^= ((uint64_t)r->worker << 40) ^ ((uint64_t)r->life << 20) ^ r->lock;
  x *= 0xbf58476d1ce4e5b9U;
  return (size_t)(x ^ (x >> 31));
}

static bool is_of(const struct ask *a, const struct record *r)
{
  return a->call == r->call && a->worker == r->worker && a->life == r->life &&
         a->lock == r->lock;
}

/* Its slot: that of its ask, or an empty one. */
static size_t slot_of(const struct history *h, const struct record *r)
{
  size_t at = hash_of(r) & h->calls->mask;

  while (h->calls->slots[at] >= 0 && !is_of(&h->asks[h->calls->slots[at]], r))
    at = (at + 1) & h->calls->mask;
  return at;
}

static struct ask *ask_of(struct history *h, const struct record *r)
{
  int32_t index = h->calls->slots[slot_of(h, r)];

  return index < 0 ? NULL : &h->asks[index];
}

static struct grant *grant_of(struct history *h, const struct record *r)
{
  struct ask *a = ask_of(h, r);

  return a == NULL || a->grant < 0 ? NULL : &h->grants[a->grant];
}

const struct grant *history_grant_of(const struct history *h, const struct record *r)
{
  int32_t index = h->calls->slots[slot_of(h, r)];

  if (index < 0 || h->asks[index].grant < 0)
    return NULL;
  return &h->grants[h->asks[index].grant];
}

static bool is_ask(const struct record *r)
{
  return r->op == OP_LOCK || r->op == OP_TRY;
}

static void make_room(struct history *h)
{
  size_t asks = 0, size = 16;

  for (size_t i = 0; i < h->count; i++)
    asks += is_ask(&h->records[i]) && h->records[i].phase == PHASE_INVOKE;
  while (size < asks * 2)
    size *= 2;
  h->calls = history_memory(1, sizeof(*h->calls));
  h->calls->slots = history_memory(size, sizeof(int32_t));
  memset(h->calls->slots, 0xff, size * sizeof(int32_t));
  h->calls->mask = size - 1;
  h->asks = history_memory(asks, sizeof(*h->asks));
  h->grants = history_memory(asks, sizeof(*h->grants));
}

/* ---- asks and grants ---- */

static void take_invoke(struct history *h, size_t at)
{
  const struct record *r = &h->records[at];
  size_t slot = slot_of(h, r);

  if (h->calls->slots[slot] >= 0) {
    history_flaw(h, "w%u asks twice as call %llu", r->worker, (unsigned long long)r->call);
    return;
  }
  h->calls->slots[slot] = (int32_t)h->ask_count;
  h->asks[h->ask_count++] = (struct ask){
    .worker = r->worker, .life = r->life, .thread = r->thread, .lock = r->lock,
    .op = r->op, .phase = PHASE_INVOKE, .mode = r->mode, .flags = r->flags,
    .units = r->units, .ttl_ms = r->ttl_ms, .deadline_ms = r->deadline_ms,
    .call = r->call, .invoked_ns = r->at_ns, .ended_ns = INT64_MAX, .grant = -1,
    .invoke_at = at, .end_at = SIZE_MAX };
}

static void take_grant(struct history *h, struct ask *a, size_t at)
{
  const struct record *r = &h->records[at];
  struct grant *g = &h->grants[h->grant_count];

  *g = (struct grant){
    .index = (uint32_t)h->grant_count, .worker = a->worker, .life = a->life,
    .thread = a->thread, .lock = a->lock, .mode = a->mode,
    .flags = (uint8_t)(a->flags | r->flags), .units = r->units, .ttl_ms = a->ttl_ms,
    .call = a->call, .fence = r->fence, .invoked_ns = a->invoked_ns,
    .excused_ns = (r->flags & FLAG_EXCUSED) != 0 ? r->at_ns : 0, .granted_ns = r->at_ns,
    .valid_ns = r->valid_ns, .invoke_at = a->invoke_at,
    .ok_at = at, .end_at = SIZE_MAX };
  a->grant = (int32_t)h->grant_count++;
}

static void take_outcome(struct history *h, size_t at)
{
  const struct record *r = &h->records[at];
  struct ask *a = ask_of(h, r);

  if (a == NULL || a->phase != PHASE_INVOKE) {
    history_flaw(h, "w%u: an outcome of call %llu, which was not asked", r->worker,
                 (unsigned long long)r->call);
    return;
  }
  a->phase = r->phase;
  a->status = r->status;
  a->ended_ns = r->at_ns;
  a->end_at = at;
  if (r->phase == PHASE_OK)
    take_grant(h, a, at);
}

static void take_release(struct grant *g, const struct record *r, size_t at)
{
  if (r->phase == PHASE_INVOKE) {
    g->release_ns = r->at_ns;
  } else {
    g->released_ns = r->at_ns;
    g->release_status = r->status;
  }
  g->end_at = at;
}

/* What a sample or a callback tells of a grant. */
static void take_belief(struct grant *g, const struct record *r, size_t at)
{
  bool is_over = r->op == OP_LOST || r->valid_ns == 0;

  if (is_over && (g->lost_ns == 0 || r->at_ns < g->lost_ns) &&
      (g->release_ns == 0 || r->at_ns < g->release_ns)) {
    g->lost_ns = r->at_ns;
    g->end_at = at;
  }
  if (r->op == OP_LOST)
    g->lost_status = r->status;
  if (!is_over && r->valid_ns > g->valid_ns)
    g->valid_ns = r->valid_ns;
}

static void take_event(struct history *h, size_t at)
{
  const struct record *r = &h->records[at];
  struct grant *g;

  if (is_ask(r)) {
    if (r->phase == PHASE_INVOKE)
      take_invoke(h, at);
    else
      take_outcome(h, at);
    return;
  }
  if (r->op == OP_MARK && r->lock < MARKERS_MAX)
    h->reached[r->lock] += r->value;
  if (r->op != OP_RELEASE && r->op != OP_SAMPLE && r->op != OP_LOST && r->op != OP_EXCUSED)
    return;
  g = grant_of(h, r);
  if (g == NULL)
    history_flaw(h, "w%u: call %llu was never granted", r->worker,
                 (unsigned long long)r->call);
  else if (r->op == OP_RELEASE)
    take_release(g, r, at);
  else if (r->op == OP_EXCUSED)
    g->excused_ns = g->excused_ns == 0 ? r->at_ns : g->excused_ns;
  else
    take_belief(g, r, at);
}

static void earliest(int64_t *end, int64_t other)
{
  if (other != 0 && other < *end)
    *end = other;
}

static void end_grant(struct history *h, struct grant *g)
{
  const struct life *l = life_of(h, g->worker, g->life);

  if (l != NULL && l->dead_ns != 0)
    g->died_ns = l->killed_ns > l->last_ns ? l->killed_ns : l->last_ns;
  if (g->release_ns != 0)
    g->died_ns = 0;
  g->believed_ns = g->valid_ns;
  earliest(&g->believed_ns, g->release_ns);
  earliest(&g->believed_ns, g->lost_ns);
  earliest(&g->believed_ns, g->excused_ns);
  earliest(&g->believed_ns, g->died_ns);
  if (g->believed_ns < g->granted_ns)
    g->believed_ns = g->granted_ns;
}

/* ---- faults ---- */

static struct fault_window *window_of(struct history *h, uint64_t number)
{
  for (size_t i = h->fault_count; i > 0; i--)
    if (h->faults[i - 1].number == number)
      return &h->faults[i - 1];
  return NULL;
}

static void take_fault(struct history *h, const struct record *r)
{
  struct fault_window *f = window_of(h, r->call);

  if (r->phase == PHASE_INVOKE) {
    h->faults = history_grow(h->faults, h->fault_count + 1, sizeof(*h->faults));
    h->faults[h->fault_count++] = (struct fault_window){
      .begin_ns = r->at_ns, .in_force_ns = INT64_MAX, .lifting_ns = INT64_MAX,
      .end_ns = INT64_MAX, .number = r->call, .worker = r->owner, .lock = r->lock,
      .kind = r->mode };
    return;
  }
  if (f == NULL) {
    history_flaw(h, "fault %llu ends and never began", (unsigned long long)r->call);
    return;
  }
  if (r->phase == PHASE_INFO)
    f->in_force_ns = r->at_ns;
  if (r->phase == PHASE_FAIL || (r->phase == PHASE_OK && f->lifting_ns == INT64_MAX))
    f->lifting_ns = r->at_ns;
  if (r->phase == PHASE_OK)
    f->end_ns = r->at_ns;
}

void history_derive(struct history *h)
{
  make_room(h);
  for (size_t i = 0; i < h->count; i++) {
    note_life(h, &h->records[i]);
    if (h->records[i].op == OP_FAULT)
      take_fault(h, &h->records[i]);
    else
      take_event(h, i);
  }
  for (size_t i = 0; i < h->grant_count; i++)
    end_grant(h, &h->grants[i]);
}

struct calls *history_calls_free(struct calls *c)
{
  if (c == NULL)
    return NULL;
  for (size_t i = 0; i < WORKERS_MAX; i++)
    free(c->lives[i].all);
  free(c->slots);
  free(c);
  return NULL;
}

/* ---- questions ---- */

bool history_is_faulty(const struct history *h, uint16_t worker, int64_t from, int64_t to)
{
  for (size_t i = 0; i < h->fault_count; i++) {
    const struct fault_window *f = &h->faults[i];

    if (worker != EVERYBODY && f->worker != EVERYBODY && f->worker != worker)
      continue;
    if (f->begin_ns <= to && f->end_ns >= from)
      return true;
  }
  return false;
}

size_t history_grants_in_faults(const struct history *h)
{
  size_t sum = 0;

  for (size_t i = 0; i < h->grant_count; i++)
    sum += history_is_faulty(h, EVERYBODY, h->grants[i].granted_ns, h->grants[i].believed_ns);
  return sum;
}

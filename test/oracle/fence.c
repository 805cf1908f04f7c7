/* SPDX-License-Identifier: MIT */
/* test/oracle/fence.c - C2, C3, C4: what fences say, and what the pages saw. */
#include "history_parts.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- C2 ---- */

void check_witness(const struct history *h, const struct expectations *e, struct findings *f)
{
  (void)e;
  for (size_t i = 0; i < h->count; i++) {
    const struct record *r = &h->records[i];
    const struct grant *g;

    f->examined[CHECK_WITNESS] += r->op == OP_SAMPLE;
    if (r->op != OP_CLASH)
      continue;
    g = history_grant_of(h, r);
    findings_add(f, CHECK_WITNESS, (size_t[]){ g == NULL ? SIZE_MAX : g->ok_at, i }, 2,
                 "w%02u%c saw w%02lld%c in \"%s\" beside itself", r->worker, 'a' + r->thread,
                 (long long)r->value / WORKER_THREADS_MAX,
                 'a' + (int)(r->value % WORKER_THREADS_MAX),
                 r->lock < h->lock_count ? h->locks[r->lock].name : "?");
  }
}

/* ---- C3 ---- */

static bool shares_lease(const struct grant *a, const struct grant *b)
{
  return a->worker == b->worker && a->life == b->life &&
         ((a->flags | b->flags) & FLAG_NESTED) != 0;
}

/* Readers are served together, and one who joins others of its client has their lease. */
static bool has_own_fence(const struct grant *g)
{
  return g->mode != HOLD_READ;
}

static void add_order(const struct history *h, const struct grant *a, const struct grant *b,
                      const char *what, struct findings *f)
{
  findings_add(f, CHECK_FENCE, (size_t[]){ a->ok_at, b->invoke_at, b->ok_at }, 3,
               "\"%s\": fence %llu of w%02u, then %llu of w%02u: %s", h->locks[a->lock].name,
               (unsigned long long)a->fence, a->worker, (unsigned long long)b->fence, b->worker,
               what);
}

static int by_answer(const void *one, const void *other)
{
  const struct grant *a = *(const struct grant *const *)one;
  const struct grant *b = *(const struct grant *const *)other;

  return a->granted_ns < b->granted_ns ? -1 : a->granted_ns > b->granted_ns;
}

static int by_ask(const void *one, const void *other)
{
  const struct grant *a = *(const struct grant *const *)one;
  const struct grant *b = *(const struct grant *const *)other;

  return a->invoked_ns < b->invoked_ns ? -1 : a->invoked_ns > b->invoked_ns;
}

static int by_fence(const void *one, const void *other)
{
  const struct grant *a = *(const struct grant *const *)one;
  const struct grant *b = *(const struct grant *const *)other;

  return a->fence < b->fence ? -1 : a->fence > b->fence;
}

/* Walks the asks of one lock in time; `highest`: the highest fence answered before each. */
static void order_of_lock(const struct history *h, const struct grant **asks,
                          const struct grant **answers, size_t count, struct findings *f)
{
  const struct grant *highest = NULL, *highest_own = NULL;
  size_t answered = 0;

  qsort(asks, count, sizeof(struct grant *), by_ask);
  qsort(answers, count, sizeof(struct grant *), by_answer);
  for (size_t i = 0; i < count; i++) {
    const struct grant *g = asks[i], *before;

    for (; answered < count && answers[answered]->granted_ns < g->invoked_ns; answered++) {
      const struct grant *a = answers[answered];

      if (highest == NULL || a->fence > highest->fence)
        highest = a;
      if (has_own_fence(a) && (highest_own == NULL || a->fence > highest_own->fence))
        highest_own = a;
    }
    /* Two readers may be in any order, but not a reader and a writer. */
    before = has_own_fence(g) ? highest : highest_own;
    f->examined[CHECK_FENCE]++;
    if (before != NULL && before->fence >= g->fence && !shares_lease(before, g))
      add_order(h, before, g, "the later ask has no higher one", f);
  }
}

/* Of two leases that exclude each other, and were believed when they were reported, the one
 * that was reported later is the later one, whenever it was asked for. */
static void order_of_beliefs(const struct history *h, const struct grant **answers,
                             size_t count, struct findings *f)
{
  const struct grant *highest = NULL;

  for (size_t i = 0; i < count; i++) {
    const struct grant *g = answers[i];
    bool excludes = g->mode == HOLD_EXCLUSIVE || g->mode == HOLD_WRITE;

    if (g->believed_ns <= g->granted_ns)
      continue;
    if (highest != NULL && excludes && g->fence < highest->fence &&
        highest->granted_ns >= g->invoked_ns && !shares_lease(highest, g))
      add_order(h, highest, g, "the later belief has no higher one", f);
    if (highest == NULL || g->fence > highest->fence)
      highest = g;
  }
}

/* Neither was before the other. */
static bool do_asks_cross(const struct grant *a, const struct grant *b)
{
  return a->invoked_ns <= b->granted_ns && b->invoked_ns <= a->granted_ns;
}

static bool may_have_one_fence(const struct expectations *e, const struct grant *a,
                               const struct grant *b)
{
  if (shares_lease(a, b))
    return true;
  if (!do_asks_cross(a, b))
    return false;
  return (e->allows_shared_reads && !has_own_fence(a) && !has_own_fence(b)) ||
         (e->has_two_issuers && a->worker != b->worker);
}

static void reuse_in_lock(const struct history *h, const struct expectations *e,
                          const struct grant **grants, size_t count, struct findings *f)
{
  qsort(grants, count, sizeof(struct grant *), by_fence);
  for (size_t i = 1; i < count; i++)
    if (grants[i]->fence == grants[i - 1]->fence &&
        !may_have_one_fence(e, grants[i], grants[i - 1]))
      add_order(h, grants[i - 1], grants[i], "issued twice", f);
}

void check_fence(const struct history *h, const struct expectations *e, struct findings *f)
{
  const struct grant **some = history_memory(h->grant_count, sizeof(struct grant *));
  const struct grant **others = history_memory(h->grant_count, sizeof(struct grant *));

  for (size_t lock = 0; lock < h->lock_count && !e->allows_fence_reuse; lock++) {
    size_t count = 0;

    for (size_t i = 0; i < h->grant_count; i++)
      if (h->grants[i].lock == lock && h->grants[i].fence != 0)
        some[count] = others[count] = &h->grants[i], count++;
    order_of_lock(h, some, others, count, f);
    if (e->orders_beliefs)
      order_of_beliefs(h, others, count, f);
    reuse_in_lock(h, e, some, count, f);
  }
  free(some);
  free(others);
}

/* ---- C4 ---- */

struct write { const struct record *record; const struct grant *grant; size_t at; };

static int by_place(const void *one, const void *other)
{
  const struct write *a = one, *b = other;

  if (a->record->lock != b->record->lock)
    return a->record->lock < b->record->lock ? -1 : 1;
  return a->record->value < b->record->value ? -1 : a->record->value > b->record->value;
}

static void add_stale(const struct history *h, const struct write *a, const struct write *b,
                      const char *what, struct findings *f)
{
  findings_add(f, CHECK_STORE, (size_t[]){ a->at, b->at, a->grant->ok_at, b->grant->ok_at }, 4,
               "\"%s\": place %lld by w%02u, then %lld by w%02u: %s",
               h->locks[a->record->lock].name, (long long)a->record->value, a->record->worker,
               (long long)b->record->value, b->record->worker, what);
}

/* In the order of the store: a grant that was answered before another was even asked for
 * may not write after that other. */
static void check_writes(const struct history *h, const struct expectations *e,
                         const struct write *writes, size_t count, struct findings *f)
{
  const struct write *newest = NULL;

  for (size_t i = 0; i < count; i++) {
    const struct write *w = &writes[i], *last = i == 0 ? NULL : &writes[i - 1];

    if (last == NULL || last->record->lock != w->record->lock)
      newest = last = NULL;
    f->examined[CHECK_STORE]++;
    if (last != NULL && last->record->value == w->record->value)
      add_stale(h, last, w, "one place, two writes", f);
    if (last != NULL && last->record->fence > w->record->fence)
      add_stale(h, last, w, "a lower fence was let in", f);
    if (last != NULL && last->record->fence == w->record->fence &&
        last->grant != w->grant && !may_have_one_fence(e, last->grant, w->grant))
      add_stale(h, last, w, "two grants wrote with one fence", f);
    if (newest != NULL && w->grant->granted_ns < newest->grant->invoked_ns)
      add_stale(h, newest, w, "a stale write was let in", f);
    if (newest == NULL || w->grant->invoked_ns > newest->grant->invoked_ns)
      newest = w;
  }
}

void check_store(const struct history *h, const struct expectations *e, struct findings *f)
{
  struct write *writes = history_memory(h->count, sizeof(*writes));
  size_t count = 0, refused = 0;

  for (size_t i = 0; i < h->count; i++) {
    const struct record *r = &h->records[i];
    const struct grant *g;

    if (r->op != OP_WRITE || r->lock >= h->lock_count)
      continue;
    g = history_grant_of(h, r);
    refused += r->phase == PHASE_FAIL && r->value == -1;
    if (r->phase == PHASE_OK && g != NULL)
      writes[count++] = (struct write){ r, g, i };
  }
  qsort(writes, count, sizeof(*writes), by_place);
  check_writes(h, e, writes, count, f);
  if (refused > 0)
    (void)snprintf(f->notes[CHECK_STORE], sizeof(f->notes[0]), "%zu stale writes refused",
                   refused);
  free(writes);
}

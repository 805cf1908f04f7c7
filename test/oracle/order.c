/* SPDX-License-Identifier: MIT */
/* test/oracle/order.c - C7: nobody is served before one who was seen ahead of him.
 *
 * Who is where in a queue only the server knows, so only what an inspector saw counts: those
 * in one look are in the order of that look, and who asked after it was answered is behind
 * them all. Left out, as they have rights of their own: sets, nested and lingering holds, and
 * workers with threads, who may hand a lease on among themselves. */
#include "history_parts.h"

#include <stdlib.h>
#include <string.h>

/* An ask that was seen waiting, and when first. */
struct seen { const struct ask *ask; size_t look_at; uint64_t look; int64_t rank; };

struct order {
  const struct history *h;
  const struct ask ***by_worker;       /* [worker][n], by invoked_ns, of one lock */
  size_t *by_worker_count;
  bool has_threads[WORKERS_MAX];
  struct seen *seen, *by_look;         /* the same, by ask and by look */
  size_t seen_count;
};

static void note_threads(struct order *o)
{
  for (size_t i = 0; i < o->h->ask_count; i++)
    if (o->h->asks[i].thread > 0)
      o->has_threads[o->h->asks[i].worker] = true;
}

/* The one ask of `worker` on `lock` that was open all through the look. */
static const struct ask *open_ask(const struct order *o, const struct record *r)
{
  const struct ask **all = o->by_worker[r->owner];
  size_t low = 0, high = o->by_worker_count[r->owner];

  while (low < high) {
    size_t middle = (low + high) / 2;

    if (all[middle]->invoked_ns < r->sent_ns)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0 || all[low - 1]->ended_ns <= r->at_ns)
    return NULL;
  return all[low - 1];
}

static bool is_plain(const struct ask *a)
{
  return (a->flags & (FLAG_MANY | FLAG_NESTED)) == 0;
}

static void collect_asks(struct order *o, uint16_t lock)
{
  for (size_t i = 0; i < WORKERS_MAX; i++)
    o->by_worker_count[i] = 0;
  for (size_t i = 0; i < o->h->ask_count; i++) {
    const struct ask *a = &o->h->asks[i];
    size_t *count = &o->by_worker_count[a->worker];

    if (a->lock != lock || a->worker >= WORKERS_MAX)
      continue;
    if ((*count & (*count - 1)) == 0)
      o->by_worker[a->worker] = history_grow(o->by_worker[a->worker],
                                           *count == 0 ? 1 : 2 * *count,
                                           sizeof(struct ask *));
    o->by_worker[a->worker][(*count)++] = a;
  }
}

static int by_ask_then_look(const void *one, const void *other)
{
  const struct seen *a = one, *b = other;

  if (a->ask != b->ask)
    return a->ask < b->ask ? -1 : 1;
  return a->look_at < b->look_at ? -1 : a->look_at > b->look_at;
}

static int by_look(const void *one, const void *other)
{
  const struct seen *a = one, *b = other;

  if (a->look != b->look)
    return a->look < b->look ? -1 : 1;
  return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static void collect_seen(struct order *o, uint16_t lock)
{
  o->seen_count = 0;
  for (size_t i = 0; i < o->h->count; i++) {
    const struct record *r = &o->h->records[i];
    const struct ask *a;

    if (r->op != OP_QUEUED || r->lock != lock || r->owner >= WORKERS_MAX)
      continue;
    a = open_ask(o, r);
    if (a == NULL || !is_plain(a) || o->has_threads[r->owner])
      continue;
    if ((o->seen_count & (o->seen_count - 1)) == 0)
      o->seen = history_grow(o->seen, o->seen_count == 0 ? 1 : 2 * o->seen_count,
                           sizeof(*o->seen));
    o->seen[o->seen_count++] = (struct seen){ a, i, r->call, r->value };
  }
  o->by_look = history_grow(o->by_look, o->seen_count + 1, sizeof(*o->by_look));
  if (o->seen_count == 0)
    return;
  memcpy(o->by_look, o->seen, o->seen_count * sizeof(*o->seen));
  qsort(o->seen, o->seen_count, sizeof(*o->seen), by_ask_then_look);
  qsort(o->by_look, o->seen_count, sizeof(*o->by_look), by_look);
}

/* Whether `one` and `other` cannot be in together, so that the later was served later. */
static bool conflicts(const struct grant *one, const struct grant *other)
{
  if (one->mode == HOLD_PERMITS)
    return false;
  return one->mode != HOLD_READ || other->mode != HOLD_READ;
}

static size_t first_of_look(const struct order *o, uint64_t look)
{
  size_t low = 0, high = o->seen_count;

  while (low < high) {
    size_t middle = (low + high) / 2;

    if (o->by_look[middle].look < look)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Whether `later` was behind in the look where `first` was seen: further back there, or not
 * even asked for. */
static bool was_behind(const struct order *o, const struct seen *first,
                       const struct grant *later)
{
  const struct record *look = &o->h->records[first->look_at];

  if (later->invoked_ns > look->at_ns)
    return true;
  for (size_t i = first_of_look(o, first->look);
       i < o->seen_count && o->by_look[i].look == first->look; i++)
    if (o->by_look[i].ask->grant == (int32_t)later->index && o->by_look[i].rank > first->rank)
      return true;
  return false;
}

static bool is_live(const struct history *h, const struct ask *a, const struct grant *g)
{
  return !history_is_faulty(h, a->worker, a->invoked_ns, g->granted_ns) &&
         history_stalled_ns(h, a->worker, a->invoked_ns, g->granted_ns) <
           a->ttl_ms * 500000LL;
}

static size_t first_grant_after(const struct history *h, int64_t instant)
{
  size_t low = 0, high = h->grant_count;

  while (low < high) {
    size_t middle = (low + high) / 2;

    if (h->grants[middle].granted_ns <= instant)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void look_for_overtakers(struct order *o, const struct seen *s, struct findings *f)
{
  const struct history *h = o->h;
  const struct grant *mine = s->ask->grant < 0 ? NULL : &h->grants[s->ask->grant];
  int64_t look_ns = h->records[s->look_at].at_ns;

  if (mine == NULL || !is_live(h, s->ask, mine))
    return;
  f->examined[CHECK_ORDER]++;
  for (size_t i = first_grant_after(h, look_ns); i < mine->index; i++) {
    const struct grant *g = &h->grants[i];

    if (g->lock != mine->lock || g->worker == mine->worker || !conflicts(g, mine))
      continue;
    if (o->has_threads[g->worker] || (g->flags & (FLAG_MANY | FLAG_NESTED | FLAG_LINGER)) != 0)
      continue;
    if (was_behind(o, s, g))
      findings_add(f, CHECK_ORDER, (size_t[]){ s->look_at, g->invoke_at, g->ok_at, mine->ok_at },
                   4, "\"%s\": w%02u was seen waiting, and w%02u, behind it, was served first",
                   h->locks[mine->lock].name, mine->worker, g->worker);
  }
}

void check_order(const struct history *h, const struct expectations *e, struct findings *f)
{
  struct order o = { .h = h };

  (void)e;
  o.by_worker = history_memory(WORKERS_MAX, sizeof(*o.by_worker));
  o.by_worker_count = history_memory(WORKERS_MAX, sizeof(*o.by_worker_count));
  note_threads(&o);
  for (uint16_t lock = 0; lock < h->lock_count; lock++) {
    collect_asks(&o, lock);
    collect_seen(&o, lock);
    for (size_t i = 0; i < o.seen_count; i++)
      if (i == 0 || o.seen[i].ask != o.seen[i - 1].ask)
        look_for_overtakers(&o, &o.seen[i], f);
  }
  for (size_t i = 0; i < WORKERS_MAX; i++)
    free(o.by_worker[i]);
  free(o.by_worker);
  free(o.by_worker_count);
  free(o.seen);
  free(o.by_look);
}

/* SPDX-License-Identifier: MIT */
/* test/oracle/self_fence.c - C11: nobody believes longer than anybody could have
 * promised, and who cannot be told by the server is told by his own clock in time (S7). */
#include "history_parts.h"

#include <stdio.h>
#include <stdlib.h>

enum { LATE_MS = 50 };

/* Times in which no answer reached a worker, in the order of their beginnings. */
struct deaf { const struct fault_window **all; size_t count; };

static bool is_deaf(const struct fault_window *f)
{
  return (f->kind == FAULT_STOP || f->kind == FAULT_SERVER_DOWN ||
          f->kind == FAULT_SERVER_STOP || f->kind == FAULT_CUT_OFF ||
          f->kind == FAULT_HELD_UP) && f->in_force_ns < f->lifting_ns;
}

static int by_begin(const void *one, const void *other)
{
  const struct fault_window *a = *(const struct fault_window *const *)one;
  const struct fault_window *b = *(const struct fault_window *const *)other;

  return a->in_force_ns < b->in_force_ns ? -1 : a->in_force_ns > b->in_force_ns;
}

static struct deaf collect(const struct history *h)
{
  struct deaf d = { history_memory(h->fault_count, sizeof(struct fault_window *)), 0 };

  for (size_t i = 0; i < h->fault_count; i++)
    if (is_deaf(&h->faults[i]))
      d.all[d.count++] = &h->faults[i];
  if (d.count > 1)
    qsort(d.all, d.count, sizeof(struct fault_window *), by_begin);
  return d;
}

/* The first window that began after the grant and outlasted its lease; NULL: none. `end`:
 * windows from then on do not matter. */
static const struct fault_window *outlasting(const struct deaf *d, const struct grant *g,
                                             int64_t end)
{
  size_t low = 0, high = d->count;

  while (low < high) {
    size_t middle = (low + high) / 2;

    if (d->all[middle]->in_force_ns < g->granted_ns)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < d->count && d->all[low]->in_force_ns < end; low++) {
    const struct fault_window *f = d->all[low];

    if ((f->worker == EVERYBODY || f->worker == g->worker) &&
        f->lifting_ns >= f->in_force_ns + g->ttl_ms * 1000000LL)
      return f;
  }
  return NULL;
}

static void look_at_sample(const struct history *h, const struct deaf *d, size_t at,
                           struct findings *f)
{
  const struct record *r = &h->records[at];
  const struct grant *g = history_grant_of(h, r);
  const struct fault_window *window;
  int64_t ttl_ns;

  if (g == NULL || r->valid_ns == 0)
    return;
  ttl_ns = g->ttl_ms * 1000000LL;
  f->examined[CHECK_SELF_FENCE]++;
  if (r->valid_ns - r->at_ns > ttl_ns)
    findings_add(f, CHECK_SELF_FENCE, (size_t[]){ g->ok_at, at }, 2,
                 "w%02u is promised more than a whole lease", r->worker);
  if ((g->flags & FLAG_FIXED) != 0 && r->valid_ns > g->granted_ns + ttl_ns)
    findings_add(f, CHECK_SELF_FENCE, (size_t[]){ g->ok_at, at }, 2,
                 "w%02u: a lease that is never renewed became longer", r->worker);
  if (r->op == OP_SAMPLE && g->lost_ns != 0 && r->at_ns > g->lost_ns)
    findings_add(f, CHECK_SELF_FENCE, (size_t[]){ g->ok_at, g->end_at, at }, 3,
                 "w%02u believes again in what it was told lost", r->worker);
  window = outlasting(d, g, r->at_ns);
  if (window != NULL && r->at_ns > window->in_force_ns + ttl_ns)
    findings_add(f, CHECK_SELF_FENCE, (size_t[]){ g->ok_at, at }, 2,
                 "w%02u believes %.1f ms after the last instant that a renewal can have made "
                 "good", r->worker, (double)(r->at_ns - window->in_force_ns - ttl_ns) / 1e6);
}

static bool is_over_by(const struct grant *g, int64_t instant)
{
  return (g->release_ns != 0 && g->release_ns <= instant) ||
         (g->died_ns != 0 && g->died_ns <= instant);
}

static void look_at_loss(const struct history *h, const struct deaf *d, const struct grant *g,
                         int64_t slack_ns, int64_t *worst_ns, struct findings *f)
{
  const struct fault_window *window = outlasting(d, g, INT64_MAX);
  int64_t due, told = g->lost_ns == 0 ? INT64_MAX : g->lost_ns, late;

  if (window == NULL)
    return;
  due = window->in_force_ns + g->ttl_ms * 1000000LL;
  if (is_over_by(g, window->in_force_ns))
    return;
  if (window->kind == FAULT_STOP && window->end_ns > due)
    due = window->end_ns;
  /* Who gave it back, or died, before he had to be told need not be told; he may have begun
   * late, as a process that goes on is not at once given a processor. */
  if (is_over_by(g, due + slack_ns + history_stalled_ns(h, g->worker, due, g->release_ns)))
    return;
  if (told == INT64_MAX && history_last_ns(h, g->worker, g->life) < due + slack_ns)
    return;
  f->examined[CHECK_SELF_FENCE]++;
  if (told == INT64_MAX) {
    findings_add(f, CHECK_SELF_FENCE, (size_t[]){ g->ok_at, g->end_at }, 2,
                 "w%02u was not told that its lease ran out", g->worker);
    return;
  }
  late = told - due;
  if (late > 0)
    late -= history_stalled_ns(h, g->worker, due, told);
  if (late > *worst_ns)
    *worst_ns = late;
  if (late > slack_ns && late - history_stalled_ns(h, RUNNER, due, told) > slack_ns)
    findings_add(f, CHECK_SELF_FENCE, (size_t[]){ g->ok_at, g->end_at }, 2,
                 "w%02u was told of its loss %.1f ms late", g->worker, (double)late / 1e6);
}

void check_self_fence(const struct history *h, const struct expectations *e,
                      struct findings *f)
{
  struct deaf d = collect(h);
  int64_t slack_ns = (e->late_ms_max == 0 ? LATE_MS : e->late_ms_max) * 1000000LL;
  int64_t worst_ns = 0;

  for (size_t i = 0; i < h->count; i++)
    if (h->records[i].op == OP_SAMPLE ||
        ((h->records[i].op == OP_LOCK || h->records[i].op == OP_TRY) &&
         h->records[i].phase == PHASE_OK))
      look_at_sample(h, &d, i, f);
  for (size_t i = 0; i < h->grant_count; i++)
    look_at_loss(h, &d, &h->grants[i], slack_ns, &worst_ns, f);
  (void)snprintf(f->notes[CHECK_SELF_FENCE], sizeof(f->notes[0]),
                 "told at most %.1f ms after the last possible end", (double)worst_ns / 1e6);
  free(d.all);
}

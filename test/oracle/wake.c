/* SPDX-License-Identifier: MIT */
/* test/oracle/wake.c - C8: a free lock does not lie about while somebody waits for it
 * (L2), and that of a dead holder only for its lease (L1). Mutexes only: with shared holds it
 * is not certain from outside that a waiter could have been let in. */
#include "history_parts.h"

#include <stdio.h>
#include <stdlib.h>

#include <dibs/status.h>

enum { WAITED_NS = 5000000, WAKE_MS = 1050, TAKEOVER_MS = 1000 };

struct gaps { int64_t *all; size_t count; int64_t dead_max; };

/* A lease of a dead holder may be taken over one second behind its end. */
static int64_t limit_ns(const struct expectations *e, const struct grant *before)
{
  int64_t most_ms = e->wake_ms_max == 0 ? WAKE_MS : e->wake_ms_max;

  if (before->released_ns == 0 || before->release_status != 0)
    most_ms += TAKEOVER_MS + before->ttl_ms + before->ttl_ms / 20;
  return most_ms * 1000000;
}

/* When the lock was free for sure, or its holder gone; 0: not known. */
static int64_t free_since(const struct grant *g)
{
  if (g->released_ns != 0 && g->release_status == 0)
    return g->released_ns;
  return g->release_ns == 0 ? g->died_ns : 0;
}

static bool is_plain(const struct grant *g)
{
  return (g->flags & (FLAG_MANY | FLAG_NESTED | FLAG_LINGER)) == 0;
}

/* Whether a fault of somebody else than the dead holder was on. */
static bool is_disturbed(const struct history *h, const struct grant *before, int64_t from,
                         int64_t to)
{
  for (size_t i = 0; i < h->fault_count; i++)
    if (h->faults[i].begin_ns <= to && h->faults[i].end_ns >= from &&
        (before->died_ns == 0 || h->faults[i].worker != before->worker))
      return true;
  return false;
}

static int64_t gap_of(const struct history *h, uint16_t worker, int64_t from, int64_t to)
{
  int64_t gap = to - from;

  if (gap <= 0)
    return 0;
  gap -= history_stalled_ns(h, worker, from, to);
  return gap > 0 ? gap : 0;
}

static void look_at(const struct history *h, const struct expectations *e,
                    const struct grant *before, const struct grant *next, struct gaps *gaps,
                    struct findings *f)
{
  int64_t since = free_since(before), gap;

  if (since == 0 || next->invoked_ns > since - WAITED_NS)
    return;
  if (is_disturbed(h, before, since, next->granted_ns))
    return;
  gap = gap_of(h, next->worker, since, next->granted_ns);
  f->examined[CHECK_WAKE]++;
  if (before->died_ns != 0)
    gaps->dead_max = gap > gaps->dead_max ? gap : gaps->dead_max;
  else
    gaps->all[gaps->count++] = gap;
  if (gap - history_stalled_ns(h, RUNNER, since, next->granted_ns) > limit_ns(e, before))
    findings_add(f, CHECK_WAKE, (size_t[]){ before->end_at, next->invoke_at, next->ok_at }, 3,
                 "\"%s\" lay free for %.1f ms while w%02u waited", h->locks[next->lock].name,
                 (double)gap / 1e6, next->worker);
}

/* An ask that gave up although the lock had been free for long. */
static void look_at_timeouts(const struct history *h, const struct expectations *e,
                             const struct grant *last, const struct grant *next,
                             const struct ask *a, struct findings *f)
{
  int64_t since = last == NULL ? 0 : free_since(last), gap;

  if (since == 0 || a->invoked_ns > since - WAITED_NS ||
      (next != NULL && next->granted_ns <= a->ended_ns) ||
      is_disturbed(h, last, since, a->ended_ns))
    return;
  gap = gap_of(h, a->worker, since, a->ended_ns) -
        history_stalled_ns(h, RUNNER, since, a->ended_ns);
  f->examined[CHECK_WAKE]++;
  if (gap > limit_ns(e, last))
    findings_add(f, CHECK_WAKE, (size_t[]){ last->end_at, a->invoke_at, a->end_at }, 3,
                 "\"%s\" lay free for %.1f ms, and w%02u gave up waiting for it",
                 h->locks[a->lock].name, (double)gap / 1e6, a->worker);
}

static int by_size(const void *one, const void *other)
{
  const int64_t *a = one, *b = other;

  return *a < *b ? -1 : *a > *b;
}

static int by_end(const void *one, const void *other)
{
  const struct ask *a = *(const struct ask *const *)one;
  const struct ask *b = *(const struct ask *const *)other;

  return a->ended_ns < b->ended_ns ? -1 : a->ended_ns > b->ended_ns;
}

/* The asks of a lock that waited to the end of their patience, by that end. */
static size_t patient_asks(const struct history *h, uint16_t lock, const struct ask **ret_asks)
{
  size_t count = 0;

  for (size_t i = 0; i < h->ask_count; i++) {
    const struct ask *a = &h->asks[i];

    if (a->lock == lock && a->op == OP_LOCK && a->phase == PHASE_FAIL &&
        (a->flags & (FLAG_MANY | FLAG_CANCEL)) == 0 && a->status == DIBS_TIMED_OUT)
      ret_asks[count++] = a;
  }
  if (count > 0)
    qsort(ret_asks, count, sizeof(struct ask *), by_end);
  return count;
}

static void look_at_lock(const struct history *h, const struct expectations *e, uint16_t lock,
                         const struct ask **asks, struct gaps *gaps, struct findings *f)
{
  size_t count = patient_asks(h, lock, asks), at = 0;
  const struct grant *last = NULL;

  for (size_t i = 0; i < h->grant_count; i++) {
    const struct grant *g = &h->grants[i];

    if (g->lock != lock || (g->flags & FLAG_NESTED) != 0)
      continue;
    for (; at < count && asks[at]->ended_ns < g->granted_ns; at++)
      look_at_timeouts(h, e, last, g, asks[at], f);
    if (last != NULL && is_plain(g) && is_plain(last))
      look_at(h, e, last, g, gaps, f);
    last = g;
  }
  for (; at < count; at++)
    look_at_timeouts(h, e, last, NULL, asks[at], f);
}

static void judge(const struct expectations *e, struct gaps *gaps, struct findings *f)
{
  double p50, p99;

  if (gaps->count == 0)
    return;
  qsort(gaps->all, gaps->count, sizeof(*gaps->all), by_size);
  p50 = (double)gaps->all[gaps->count / 2] / 1e6;
  p99 = (double)gaps->all[gaps->count * 99 / 100] / 1e6;
  (void)snprintf(f->notes[CHECK_WAKE], sizeof(f->notes[0]),
                 "p50 %.2f ms, p99 %.2f ms, max %.1f ms; after deaths max %.0f ms", p50, p99,
                 (double)gaps->all[gaps->count - 1] / 1e6, (double)gaps->dead_max / 1e6);
  if (e->wake_ms_p99 != 0 && gaps->count >= 100 && p99 > e->wake_ms_p99)
    findings_add(f, CHECK_WAKE, NULL, 0, "the 99th of 100 wake-ups took %.2f ms", p99);
  else if (e->wake_ms_p99 != 0 && gaps->count >= 5 && p50 > e->wake_ms_p99)
    findings_add(f, CHECK_WAKE, NULL, 0, "every second wake-up took %.2f ms or more", p50);
}

void check_wake(const struct history *h, const struct expectations *e, struct findings *f)
{
  struct gaps gaps = { history_memory(h->grant_count, sizeof(int64_t)), 0, 0 };
  const struct ask **asks = history_memory(h->ask_count, sizeof(struct ask *));

  for (uint16_t lock = 0; lock < h->lock_count; lock++)
    if (h->locks[lock].kind == 'm')
      look_at_lock(h, e, lock, asks, &gaps, f);
  judge(e, &gaps, f);
  free(gaps.all);
  free(asks);
}

/* SPDX-License-Identifier: MIT */
/* test/oracle/sweep.c - C1, C5, C6: grants as intervals of belief, swept in time. */
#include "history_parts.h"

#include <stdio.h>
#include <stdlib.h>

/* Whether it is re-entry. */
static bool is_same_owner(const struct grant *a, const struct grant *b)
{
  return a->worker == b->worker && a->life == b->life && a->thread == b->thread &&
         ((a->flags | b->flags) & FLAG_NESTED) != 0;
}

/* The grants of one lock that are believed at the instant of the sweep. */
struct active { const struct grant **all; size_t count; };

static void drop_ended(struct active *a, int64_t now)
{
  size_t kept = 0;

  for (size_t i = 0; i < a->count; i++)
    if (a->all[i]->believed_ns > now)
      a->all[kept++] = a->all[i];
  a->count = kept;
}

typedef void look(const struct history *h, const struct active *others, const struct grant *g,
                  struct findings *f);

/* Calls `is_wrong` for each grant of the locks of this kind, with those beside it. */
static void sweep(const struct history *h, char kind, enum check check, look *is_wrong,
                  struct findings *f)
{
  struct active actives[LOCKS_MAX];

  for (size_t i = 0; i < LOCKS_MAX; i++)
    actives[i] = (struct active){ NULL, 0 };
  for (size_t i = 0; i < h->grant_count; i++) {
    const struct grant *g = &h->grants[i];
    struct active *a;

    if (g->lock >= h->lock_count || h->locks[g->lock].kind != kind)
      continue;
    a = &actives[g->lock];
    drop_ended(a, g->granted_ns);
    f->examined[check]++;
    is_wrong(h, a, g, f);
    if (g->believed_ns > g->granted_ns) {
      a->all = history_grow(a->all, a->count + 1, sizeof(struct grant *));
      a->all[a->count++] = g;
    }
  }
  for (size_t i = 0; i < LOCKS_MAX; i++)
    free(actives[i].all);
}

static void add_overlap(const struct history *h, enum check check, const struct grant *a,
                        const struct grant *b, struct findings *f)
{
  int64_t end = a->believed_ns < b->believed_ns ? a->believed_ns : b->believed_ns;
  const size_t lines[] = { a->ok_at, a->end_at, b->ok_at, b->end_at };

  if (end - b->granted_ns > f->overlap_ns)
    f->overlap_ns = end - b->granted_ns;
  findings_add(f, check, lines, 4, "\"%s\" is believed by w%02u.%u%c and w%02u.%u%c for %.3f ms",
               h->locks[a->lock].name, a->worker, a->life, 'a' + a->thread, b->worker, b->life,
               'a' + b->thread, (double)(end - b->granted_ns) / 1e6);
}

/* ---- C1 ---- */

static void excludes(const struct history *h, const struct active *others,
                     const struct grant *g, struct findings *f)
{
  /* A grant with no belief at all overlaps with nobody. */
  for (size_t i = 0; i < others->count && g->believed_ns > g->granted_ns; i++)
    if (!is_same_owner(others->all[i], g))
      add_overlap(h, CHECK_EXCLUSION, others->all[i], g, f);
}

void check_exclusion(const struct history *h, const struct expectations *e, struct findings *f)
{
  (void)e;
  sweep(h, 'm', CHECK_EXCLUSION, excludes, f);
}

/* ---- C6 ---- */

static void excludes_writers(const struct history *h, const struct active *others,
                             const struct grant *g, struct findings *f)
{
  for (size_t i = 0; i < others->count && g->believed_ns > g->granted_ns; i++)
    if (!is_same_owner(others->all[i], g) &&
        (others->all[i]->mode == HOLD_WRITE || g->mode == HOLD_WRITE))
      add_overlap(h, CHECK_READERS, others->all[i], g, f);
}

void check_readers(const struct history *h, const struct expectations *e, struct findings *f)
{
  (void)e;
  sweep(h, 'r', CHECK_READERS, excludes_writers, f);
}

/* ---- C5 ---- */

static void keeps_to_limit(const struct history *h, const struct active *others,
                           const struct grant *g, struct findings *f)
{
  size_t lines[8] = { g->ok_at }, line_count = 1;
  uint64_t sum = g->units, limit = h->locks[g->lock].limit;

  if (g->believed_ns <= g->granted_ns)
    return;
  for (size_t i = 0; i < others->count; i++) {
    sum += others->all[i]->units;
    if (line_count < 8)
      lines[line_count++] = others->all[i]->ok_at;
  }
  if (sum > limit)
    findings_add(f, CHECK_PERMITS, lines, line_count,
                 "\"%s\": %llu permits are believed at once, there are %llu",
                 h->locks[g->lock].name, (unsigned long long)sum, (unsigned long long)limit);
}

bool shared_state_agrees(const struct shared_state *s, char ret_why[80])
{
  if (s->units != s->used)
    (void)snprintf(ret_why, 80, "S1': %llu units are used, its holders have %llu",
                   (unsigned long long)s->used, (unsigned long long)s->units);
  else if (s->used > s->limit)
    (void)snprintf(ret_why, 80, "S1': %llu permits are out, and there are %llu",
                   (unsigned long long)s->used, (unsigned long long)s->limit);
  else if (s->writers > 0 && s->holders > 1)
    (void)snprintf(ret_why, 80, "S4: a writer among %zu holders", s->holders);
  else
    return true;
  return false;
}

void check_permits(const struct history *h, const struct expectations *e, struct findings *f)
{
  (void)e;
  sweep(h, 'p', CHECK_PERMITS, keeps_to_limit, f);
}

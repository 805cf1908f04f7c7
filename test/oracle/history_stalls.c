/* SPDX-License-Identifier: MIT */
/* test/oracle/history_stalls.c - when a process did not run, though it wanted to: stopped by a
 * signal, or passed over by a busy machine. */
#include "history_parts.h"

#include <stdlib.h>

struct gap { int64_t from, to; };

struct worker_gaps {
  struct gap *all;             /* sorted, none touches another */
  size_t count;
};

struct stalls {
  struct worker_gaps workers[WORKERS_MAX + 1];   /* the last: the runner */
};

static struct worker_gaps *gaps_of(const struct history *h, uint16_t worker)
{
  if (worker < WORKERS_MAX)
    return &h->stalls->workers[worker];
  return worker == RUNNER ? &h->stalls->workers[WORKERS_MAX] : NULL;
}

static void add(struct worker_gaps *g, int64_t from, int64_t to)
{
  if (g == NULL || to <= from)
    return;
  g->all = history_grow(g->all, g->count + 1, sizeof(*g->all));
  g->all[g->count++] = (struct gap){ from, to };
}

static int by_begin(const void *one, const void *other)
{
  const struct gap *a = one, *b = other;

  return a->from < b->from ? -1 : a->from > b->from;
}

static void merge(struct worker_gaps *g)
{
  size_t kept = 0;

  if (g->count == 0)
    return;
  qsort(g->all, g->count, sizeof(*g->all), by_begin);
  for (size_t i = 1; i < g->count; i++) {
    if (g->all[i].from > g->all[kept].to)
      g->all[++kept] = g->all[i];
    else if (g->all[i].to > g->all[kept].to)
      g->all[kept].to = g->all[i].to;
  }
  g->count = kept + 1;
}

void history_find_stalls(struct history *h)
{
  h->stalls = history_memory(1, sizeof(*h->stalls));
  for (size_t i = 0; i < h->count; i++)
    if (h->records[i].op == OP_STALL)
      add(gaps_of(h, h->records[i].worker), h->records[i].sent_ns, h->records[i].at_ns);
  for (size_t i = 0; i < h->fault_count; i++)
    if (h->faults[i].kind == FAULT_STOP)
      add(gaps_of(h, h->faults[i].worker), h->faults[i].begin_ns, h->faults[i].end_ns);
  for (size_t i = 0; i <= WORKERS_MAX; i++)
    merge(&h->stalls->workers[i]);
}

struct stalls *history_stalls_free(struct stalls *s)
{
  if (s == NULL)
    return NULL;
  for (size_t i = 0; i <= WORKERS_MAX; i++)
    free(s->workers[i].all);
  free(s);
  return NULL;
}

int64_t history_stalled_ns(const struct history *h, uint16_t worker, int64_t from, int64_t to)
{
  const struct worker_gaps *g = gaps_of(h, worker);
  size_t low = 0, high = g == NULL ? 0 : g->count;
  int64_t sum = 0;

  while (low < high) {         /* the first that ends behind `from` */
    size_t middle = (low + high) / 2;

    if (g->all[middle].to <= from)
      low = middle + 1;
    else
      high = middle;
  }
  for (; g != NULL && low < g->count && g->all[low].from < to; low++) {
    int64_t begin = g->all[low].from > from ? g->all[low].from : from;
    int64_t end = g->all[low].to < to ? g->all[low].to : to;

    sum += end - begin;
  }
  return sum;
}

/* SPDX-License-Identifier: MIT */
/* test/oracle/history.c - a history in memory: of records that are given, in any order, or
 * written one after the other. */
#include "history_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *history_memory(size_t count, size_t size)
{
  void *memory = calloc(count == 0 ? 1 : count, size);

  if (memory == NULL) {
    (void)fputs("no memory\n", stderr);
    exit(70);
  }
  return memory;
}

void *history_grow(void *old, size_t count, size_t size)
{
  void *memory = realloc(old, count * size);

  if (memory == NULL) {
    (void)fputs("no memory\n", stderr);
    exit(70);
  }
  return memory;
}

void history_flaw(struct history *h, const char *format, ...)
{
  va_list values;

  if (h->flaw[0] != '\0')
    return;
  va_start(values, format);
  (void)vsnprintf(h->flaw, sizeof(h->flaw), format, values);
  va_end(values);
}

static int by_time(const void *one, const void *other)
{
  const struct record *a = one, *b = other;

  if (a->at_ns != b->at_ns)
    return a->at_ns < b->at_ns ? -1 : 1;
  if (a->worker != b->worker)
    return a->worker < b->worker ? -1 : 1;
  if (a->life != b->life)
    return a->life < b->life ? -1 : 1;
  return a->seq < b->seq ? -1 : a->seq > b->seq;
}

bool history_is_known(const struct history *h, const struct record *r)
{
  bool has_worker = r->worker < WORKERS_MAX || r->worker == RUNNER;
  bool has_lock = r->lock < h->lock_count || r->lock == NO_LOCK || r->op == OP_MARK;

  return r->op >= OP_LOCK && r->op <= OP_LAST && r->phase >= PHASE_INVOKE &&
         r->phase <= PHASE_INFO && r->thread < WORKER_THREADS_MAX && has_worker && has_lock;
}

void history_finish(struct history *h)
{
  if (h->count > 1)
    qsort(h->records, h->count, sizeof(*h->records), by_time);
  history_derive(h);
  history_find_stalls(h);
}

struct history *history_of(const struct record *records, size_t count,
                           const struct run_lock *locks, size_t lock_count)
{
  struct history *h = history_memory(1, sizeof(*h));

  h->records = history_memory(count, sizeof(*h->records));
  if (count > 0)
    memcpy(h->records, records, count * sizeof(*records));
  h->count = count;
  if (lock_count > 0)
    memcpy(h->locks, locks, lock_count * sizeof(*locks));
  h->lock_count = lock_count;
  for (size_t i = 0; i < count; i++)
    if (!history_is_known(h, &h->records[i]))
      history_flaw(h, "record %zu has values that nobody knows", i);
  history_finish(h);
  return h;
}

struct history *history_free(struct history *h)
{
  if (h == NULL)
    return NULL;
  h->stalls = history_stalls_free(h->stalls);
  h->calls = history_calls_free(h->calls);
  free(h->records);
  free(h->grants);
  free(h->asks);
  free(h->faults);
  free(h);
  return NULL;
}

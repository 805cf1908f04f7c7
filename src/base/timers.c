/* SPDX-License-Identifier: MIT */
/* base/timers.c - a binary heap of instants.
 *
 * The heap starts at place 1, so that place 0 in a timer means "not set", and the
 * children of place p are 2p and 2p + 1. */
#include "base/base.h"

#include <assert.h>

#define TIMERS_CAPACITY_MIN 16

void timers_init(timers *ts, const memory *m)
{
  *ts = (timers){ .memory = *m };
}

void timers_deinit(timers *ts)
{
  for (size_t i = 1; i <= ts->count; i++)
    ts->heap[i]->place = 0;
  mem_free(&ts->memory, ts->heap);
  ts->heap = NULL;
  ts->count = ts->capacity = 0;
}

bool timers_reserve(timers *ts, size_t total)
{
  size_t capacity = TIMERS_CAPACITY_MIN;
  timer **heap;

  if (total <= ts->capacity)
    return true;
  if (total > SIZE_MAX / sizeof(*heap) / 4)
    return false;
  while (capacity < total)
    capacity *= 2;
  heap = mem_realloc(&ts->memory, ts->heap, (capacity + 1) * sizeof(*heap));
  if (heap == NULL)
    return false;
  ts->heap = heap;
  ts->capacity = capacity;
  return true;
}

void timer_init(timer *t, int kind, void *owner)
{
  *t = (timer){ .kind = kind, .owner = owner };
}

static bool is_before(const timer *a, const timer *b)
{
  if (a->at.ns != b->at.ns)
    return a->at.ns < b->at.ns;
  return a->sequence < b->sequence;
}

static void put(timers *ts, timer *t, size_t place)
{
  ts->heap[place] = t;
  t->place = place;
}

/* Moves `t` from the hole at `place` to where it belongs, upwards or downwards. */
static void settle(timers *ts, timer *t, size_t place)
{
  while (place > 1 && is_before(t, ts->heap[place / 2])) {
    put(ts, ts->heap[place / 2], place);
    place /= 2;
  }
  while (2 * place <= ts->count) {
    size_t child = 2 * place;
    if (child < ts->count && is_before(ts->heap[child + 1], ts->heap[child]))
      child++;
    if (!is_before(ts->heap[child], t))
      break;
    put(ts, ts->heap[child], place);
    place = child;
  }
  put(ts, t, place);
}

void timers_set(timers *ts, timer *t, instant at)
{
  size_t place = t->place;

  if (place == 0) {
    assert(ts->count < ts->capacity);
    place = ++ts->count;
  }
  t->at = at;
  t->sequence = ts->sequence++;
  settle(ts, t, place);
}

void timers_clear(timers *ts, timer *t)
{
  size_t place = t->place;
  timer *last;

  if (place == 0)
    return;
  assert(place <= ts->count && ts->heap[place] == t);
  last = ts->heap[ts->count--];
  t->place = 0;
  if (last != t)
    settle(ts, last, place);
}

instant timers_first(const timers *ts)
{
  return ts->count == 0 ? INSTANT_NEVER : ts->heap[1]->at;
}

timer *timers_pop(timers *ts, instant now)
{
  timer *t;

  if (ts->count == 0 || instant_before(now, ts->heap[1]->at))
    return NULL;
  t = ts->heap[1];
  timers_clear(ts, t);
  return t;
}

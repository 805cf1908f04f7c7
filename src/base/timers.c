/* SPDX-License-Identifier: MIT */
/* base/timers.c - a heap of instants with four children for each entry, so that a hundred
 * thousand leases are few levels deep.
 *
 * The heap starts at index 1; place 0 in a timer means "not set". The children of index p
 * are 4p - 2 to 4p + 1. */
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
    ts->heap[i].timer->place = 0;
  mem_free(&ts->memory, ts->heap);
  ts->heap = NULL;
  ts->count = ts->capacity = 0;
}

bool timers_reserve(timers *ts, size_t total)
{
  size_t capacity = TIMERS_CAPACITY_MIN;
  timer_entry *heap;

  if (total <= ts->capacity)
    return true;
  if (total > SIZE_MAX / sizeof(*heap) / 4 || total > UINT32_MAX / 4)
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

void timer_init(timer *t, int kind)
{
  *t = (timer){ .kind = kind };
}

static bool is_before(const timer_entry *a, const timer_entry *b)
{
  if (a->at.ns != b->at.ns)
    return a->at.ns < b->at.ns;
  return a->sequence < b->sequence;
}

static void put(timers *ts, timer_entry e, size_t place)
{
  ts->heap[place] = e;
  e.timer->place = (uint32_t)place;
}

static size_t first_child(size_t place)
{
  return 4 * (place - 1) + 2;
}

static size_t parent(size_t place)
{
  return (place - 2) / 4 + 1;
}

/* The earliest of the children that begin at `place`. */
static size_t earliest(const timers *ts, size_t place)
{
  size_t end = place + 4 <= ts->count + 1 ? place + 4 : ts->count + 1;
  size_t best = place;

  for (size_t other = place + 1; other < end; other++)
    if (is_before(&ts->heap[other], &ts->heap[best]))
      best = other;
  return best;
}

/* Moves `e` from the free entry at `place` to its position, upwards or downwards. */
static void settle(timers *ts, timer_entry e, size_t place)
{
  while (place > 1 && is_before(&e, &ts->heap[parent(place)])) {
    put(ts, ts->heap[parent(place)], place);
    place = parent(place);
  }
  while (first_child(place) <= ts->count) {
    size_t child = earliest(ts, first_child(place));

    if (!is_before(&ts->heap[child], &e))
      break;
    put(ts, ts->heap[child], place);
    place = child;
  }
  put(ts, e, place);
}

void timers_set(timers *ts, timer *t, instant at)
{
  size_t place = t->place;

  if (place == 0) {
    assert(ts->count < ts->capacity);
    place = ++ts->count;
  }
  t->at = at;
  settle(ts, (timer_entry){ at, ts->sequence++, t }, place);
}

void timers_clear(timers *ts, timer *t)
{
  size_t place = t->place;
  timer_entry last;

  if (place == 0)
    return;
  assert(place <= ts->count && ts->heap[place].timer == t);
  last = ts->heap[ts->count--];
  t->place = 0;
  if (last.timer != t)
    settle(ts, last, place);
}

instant timers_first(const timers *ts)
{
  return ts->count == 0 ? INSTANT_NEVER : ts->heap[1].at;
}

timer *timers_pop(timers *ts, instant now)
{
  timer *t;

  if (ts->count == 0 || instant_before(now, ts->heap[1].at))
    return NULL;
  t = ts->heap[1].timer;
  timers_clear(ts, t);
  return t;
}

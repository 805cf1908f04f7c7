/* SPDX-License-Identifier: MIT */
/* watch/table.c - the table of live names, and which of them to inspect next. */
#include <stdlib.h>
#include <string.h>

#include "watch/watch.h"

static int name_compare(const char *a, size_t a_size, const char *b, size_t b_size)
{
  int order = memcmp(a, b, a_size < b_size ? a_size : b_size);

  return order != 0 ? order : (a_size > b_size) - (a_size < b_size);
}

static int row_compare(const void *one, const void *other)
{
  const watch_row *a = one, *b = other;

  return name_compare(a->name, a->size, b->name, b->size);
}

void watch_free(watch_table *t)
{
  for (size_t i = 0; i < t->count; i++)
    free(t->rows[i].name);
  free(t->rows);
  *t = (watch_table){ 0 };
}

bool watch_copy(const watch_table *from, watch_table *to)
{
  watch_table copy = *from;

  copy.rows = malloc((from->count + 1) * sizeof(*copy.rows));
  copy.capacity = from->count;
  copy.count = 0;
  for (; copy.rows != NULL && copy.count < from->count; copy.count++) {
    const watch_row *r = &from->rows[copy.count];
    char *name = malloc(r->size + 1);

    if (name == NULL)
      break;
    memcpy(name, r->name, r->size + 1);
    copy.rows[copy.count] = *r;
    copy.rows[copy.count].name = name;
  }
  if (copy.rows == NULL || copy.count < from->count) {
    watch_free(&copy);
    return false;
  }
  *to = copy;
  return true;
}

void watch_walk_begin(watch_table *t)
{
  t->walk++;
  t->sorted = t->count;
}

/* Among the rows that were there before the walk; NULL. */
static watch_row *row_find(watch_table *t, const char *name, size_t size)
{
  size_t low = 0, high = t->sorted;

  while (low < high) {
    size_t middle = low + (high - low) / 2;
    watch_row *r = &t->rows[middle];
    int order = name_compare(name, size, r->name, r->size);

    if (order == 0)
      return r;
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return NULL;
}

bool watch_walk_name(watch_table *t, const char *name, size_t size)
{
  watch_row *r = row_find(t, name, size);
  char *copy;

  if (r != NULL) {
    r->walk = t->walk;
    return true;
  }
  if (t->count == t->capacity) {
    size_t capacity = t->capacity == 0 ? 64 : 2 * t->capacity;
    watch_row *rows = realloc(t->rows, capacity * sizeof(*rows));

    if (rows == NULL)
      return false;
    t->rows = rows;
    t->capacity = capacity;
  }
  copy = malloc(size + 1);
  if (copy == NULL)
    return false;
  memcpy(copy, name, size);
  copy[size] = 0;
  t->rows[t->count++] = (watch_row){ .name = copy, .size = size, .walk = t->walk };
  return true;
}

void watch_walk_end(watch_table *t)
{
  size_t kept = 0;

  if (t->count > 0)
    qsort(t->rows, t->count, sizeof(*t->rows), row_compare);
  for (size_t i = 0; i < t->count; i++) {
    watch_row *r = &t->rows[i];

    if (r->walk != t->walk || (kept > 0 && row_compare(r, &t->rows[kept - 1]) == 0))
      free(r->name);
    else
      t->rows[kept++] = *r;
  }
  t->count = t->sorted = kept;
}

size_t watch_plan(watch_table *t, size_t most, size_t *ret_rows)
{
  size_t planned = 0;

  for (size_t i = 0; i < t->count && planned < most / 2; i++) {
    if (t->rows[i].waiters > 0)
      ret_rows[planned++] = i;
  }
  for (size_t tried = 0; tried < t->count && planned < most; tried++) {
    size_t i = t->next++ % t->count;
    bool is_planned = false;

    for (size_t k = 0; k < planned && t->rows[i].waiters > 0; k++)
      is_planned = is_planned || ret_rows[k] == i;
    if (!is_planned)
      ret_rows[planned++] = i;
  }
  return planned;
}

void watch_inspected(watch_row *r, const dibs_inspection *i, int64_t now_ms)
{
  r->is_seen = true;
  r->seen_ms = now_ms;
  r->is_held = i != NULL && i->is_held;
  r->waiters = i != NULL ? i->waiter_count : 0;
  r->holders = 0;
  r->held_ms = r->left_ms = r->oldest_ms = r->pid = 0;
  r->host[0] = r->program[0] = 0;
  if (i == NULL)
    return;
  r->kind = i->kind;
  r->used = i->used;
  r->limit = i->limit;
  r->fence = i->fence;
  r->holders = i->holder_count;
  r->ttl_ms = i->ttl_ms;
  for (size_t k = 0; k < i->shown_holders; k++) {
    const dibs_holder *h = i->holders[k];

    r->held_ms = h->party->waited_ms > r->held_ms ? h->party->waited_ms : r->held_ms;
    r->left_ms = k == 0 || h->remaining_ms < r->left_ms ? h->remaining_ms : r->left_ms;
  }
  for (size_t k = 0; k < i->party_count; k++) {
    if (i->waiters[k]->waited_ms > r->oldest_ms)
      r->oldest_ms = i->waiters[k]->waited_ms;
  }
  if (i->shown_holders > 0) {
    memcpy(r->host, i->holders[0]->party->host, sizeof(r->host));
    memcpy(r->program, i->holders[0]->party->program, sizeof(r->program));
    r->pid = i->holders[0]->party->pid;
    r->mode = i->holders[0]->party->mode;
  }
}

int64_t watch_held_ms(const watch_row *r, int64_t now_ms)
{
  return r->is_held ? r->held_ms + now_ms - r->seen_ms : 0;
}

int64_t watch_left_ms(const watch_row *r, int64_t now_ms)
{
  int64_t left = r->left_ms - (now_ms - r->seen_ms);

  return r->is_held && left > 0 ? left : 0;
}

int64_t watch_oldest_ms(const watch_row *r, int64_t now_ms)
{
  return r->waiters > 0 ? r->oldest_ms + now_ms - r->seen_ms : 0;
}

watch_sums watch_sum(const watch_table *t, int64_t now_ms)
{
  watch_sums s = { .names = t->count };

  for (size_t i = 0; i < t->count; i++) {
    int64_t oldest = watch_oldest_ms(&t->rows[i], now_ms);

    s.held += t->rows[i].is_held;
    s.waiting += t->rows[i].waiters;
    s.not_seen += !t->rows[i].is_seen;
    s.oldest_ms = oldest > s.oldest_ms ? oldest : s.oldest_ms;
  }
  return s;
}

/* ---- selection ---- */

typedef struct ranked {
  const watch_row *row;
  int64_t rank;
} ranked;

static int rank_compare(const void *one, const void *other)
{
  const ranked *a = one, *b = other;

  if (a->rank != b->rank)
    return a->rank > b->rank ? -1 : 1;
  return row_compare(a->row, b->row);
}

#define ORDER_WORD(order, word) [order] = #word,
const char *const watch_order_words[WATCH_ORDER_COUNT] = { WATCH_ORDERS(ORDER_WORD) };

static int64_t rank_of(const watch_row *r, enum watch_order order, int64_t now_ms)
{
  switch (order) {
  case WATCH_BY_HELD:
    return watch_held_ms(r, now_ms);
  case WATCH_BY_LEASE:
    return r->is_held ? -watch_left_ms(r, now_ms) : INT64_MIN;
  case WATCH_BY_WAIT:
    return r->waiters > 0 ? (INT64_C(1) << 40) + watch_oldest_ms(r, now_ms) :
                            watch_held_ms(r, now_ms) / 1000000;
  case WATCH_BY_NAME:
  default:
    return 0;
  }
}

size_t watch_select(const watch_table *t, enum watch_order order, const char *filter, bool all,
                    int64_t now_ms, const watch_row **ret_rows)
{
  ranked *found = malloc((t->count + 1) * sizeof(*found));
  size_t count = 0;

  for (size_t i = 0; i < t->count && found != NULL; i++) {
    const watch_row *r = &t->rows[i];

    if ((all || r->is_held || r->waiters > 0) && strstr(r->name, filter) != NULL)
      found[count++] = (ranked){ r, rank_of(r, order, now_ms) };
  }
  if (count > 0)
    qsort(found, count, sizeof(*found), rank_compare);
  for (size_t i = 0; i < count; i++)
    ret_rows[i] = found[i].row;
  free(found);
  return count;
}

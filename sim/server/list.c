/* SPDX-License-Identifier: MIT */
/* Lists: an array with room at both ends. */
#include "server/value.h"

#include <string.h>

list *list_new(void) { return sim_zalloc(sizeof(list)); }

list *list_free(list *l)
{
  if (l == NULL)
    return NULL;
  for (size_t i = 0; i < l->count; i++)
    sim_free(l->items[l->start + i]);
  sim_free(l->items);
  sim_free(l);
  return NULL;
}

/* Room for one more at either end. */
static void make_room(list *l)
{
  size_t capacity = l->count * 3 + 8;
  size_t start = l->count + 4;
  blob **items;

  if (l->start > 0 && l->start + l->count < l->capacity)
    return;
  items = sim_alloc(capacity * sizeof(blob *));
  if (l->count > 0)
    memcpy(items + start, l->items + l->start, l->count * sizeof(blob *));
  sim_free(l->items);
  l->items = items;
  l->start = start;
  l->capacity = capacity;
}

void list_insert(list *l, size_t before, slice s)
{
  blob **at;

  make_room(l);
  if (before < l->count / 2 || (before == 0 && l->count > 0)) {
    l->start--;
    at = l->items + l->start;
    memmove(at, at + 1, before * sizeof(blob *));
    at += before;
  } else {
    at = l->items + l->start + before;
    memmove(at + 1, at, (l->count - before) * sizeof(blob *));
  }
  *at = blob_new(s);
  l->count++;
}

void list_remove(list *l, size_t i)
{
  blob **at = l->items + l->start + i;

  sim_free(*at);
  l->count--;
  if (i == 0)
    l->start++;
  else
    memmove(at, at + 1, (l->count - i) * sizeof(blob *));
}

void list_set(list *l, size_t i, slice s)
{
  blob **at = l->items + l->start + i;
  blob *old = *at;

  *at = blob_new(s);
  sim_free(old);
}

list *list_copy(const list *l)
{
  list *copy = list_new();

  for (size_t i = 0; i < l->count; i++)
    list_insert(copy, i, list_at(l, i));
  return copy;
}

/* SPDX-License-Identifier: MIT */
/* base/slots.c - maps ids to pointers.
 *
 * An id is generation << 32 | index. Generations start at 1, so no id is 0, and increase
 * at each removal. An index without further generations is not used again, so an id is
 * unique forever. */
#include "base/base.h"

#include <assert.h>

#define SLOT_NONE UINT32_MAX
#define SLOTS_CAPACITY_MIN 16
#define SLOTS_CAPACITY_MAX (1u << 27)   /* keeps sizes in range on 32-bit machines */

void slots_init(slots *s, const memory *m)
{
  *s = (slots){ .memory = *m, .first_free = SLOT_NONE };
}

void slots_deinit(slots *s)
{
  mem_free(&s->memory, s->all);
  s->all = NULL;
  s->count = s->capacity = 0;
  s->first_free = SLOT_NONE;
}

static bool slots_grow(slots *s)
{
  uint32_t capacity = s->capacity == 0 ? SLOTS_CAPACITY_MIN : s->capacity * 2;
  slot *all;

  if (s->capacity >= SLOTS_CAPACITY_MAX)
    return false;
  all = mem_realloc(&s->memory, s->all, capacity * sizeof(*all));
  if (all == NULL)
    return false;
  /* The new slots form the free list, lowest first. */
  for (uint32_t i = s->capacity; i < capacity; i++)
    all[i] = (slot){ .generation = 1, .next_free = i + 1 < capacity ? i + 1 : SLOT_NONE };
  s->first_free = s->capacity;
  s->all = all;
  s->capacity = capacity;
  return true;
}

uint64_t slots_add(slots *s, void *item)
{
  uint32_t place;

  assert(item != NULL);
  if (s->first_free == SLOT_NONE && !slots_grow(s))
    return 0;
  place = s->first_free;
  s->first_free = s->all[place].next_free;
  s->all[place].item = item;
  s->count++;
  return (uint64_t)s->all[place].generation << 32 | place;
}

static slot *slot_of(const slots *s, uint64_t id)
{
  uint32_t place = (uint32_t)id;

  if (place >= s->capacity || s->all[place].generation != id >> 32
      || s->all[place].item == NULL)
    return NULL;
  return &s->all[place];
}

void *slots_get(const slots *s, uint64_t id)
{
  const slot *found = slot_of(s, id);

  return found == NULL ? NULL : found->item;
}

void slots_remove(slots *s, uint64_t id)
{
  slot *found = slot_of(s, id);

  assert(found != NULL);
  found->item = NULL;
  s->count--;
  if (found->generation == UINT32_MAX)
    return;
  found->generation++;
  found->next_free = s->first_free;
  s->first_free = (uint32_t)id;
}

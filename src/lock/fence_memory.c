/* SPDX-License-Identifier: MIT */
/* lock/fence_memory.c - a table in place of the names, which have no limit. */
#include "lock/fence_memory.h"

#include "lock/name_place.h"

void fence_memory_add(fence_memory *m, const void *name, size_t size, uint64_t fence)
{
  uint64_t hash = name_hash(name, size);
  size_t i = name_place(hash, FENCE_RECORDS);

  if (m->all[i].name == hash && m->all[i].fence > fence)
    return;
  m->all[i].name = hash;
  m->all[i].fence = fence;
}

uint64_t fence_memory_last(const fence_memory *m, const void *name, size_t size)
{
  uint64_t hash = name_hash(name, size);
  size_t i = name_place(hash, FENCE_RECORDS);

  return m->all[i].name == hash ? m->all[i].fence : 0;
}

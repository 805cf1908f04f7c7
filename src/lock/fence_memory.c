/* SPDX-License-Identifier: MIT */
/* lock/fence_memory.c - a table in place of the names, which have no limit. */
#include "lock/fence_memory.h"

#include "base/hash.h"

static uint64_t hash_of(const void *name, size_t size)
{
  uint64_t hash = fnv1a(FNV1A_START, name, size);

  return hash != 0 ? hash : 1;
}

static size_t place_of(uint64_t hash)
{
  return (hash ^ hash >> 32) % FENCE_RECORDS;
}

void fence_memory_add(fence_memory *m, const void *name, size_t size, uint64_t fence)
{
  uint64_t hash = hash_of(name, size);
  size_t i = place_of(hash);

  if (m->all[i].name == hash && m->all[i].fence > fence)
    return;
  m->all[i].name = hash;
  m->all[i].fence = fence;
}

uint64_t fence_memory_last(const fence_memory *m, const void *name, size_t size)
{
  uint64_t hash = hash_of(name, size);
  size_t i = place_of(hash);

  return m->all[i].name == hash ? m->all[i].fence : 0;
}

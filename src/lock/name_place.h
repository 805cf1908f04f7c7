/* SPDX-License-Identifier: MIT */
/* lock/name_place.h - for small tables of names where names with the same place replace each
 * other: reuse_history.h, fence_memory.h. */
#ifndef LOCK_NAME_PLACE_H
#define LOCK_NAME_PLACE_H

#include "base/hash.h"

/* Never 0, which is an unused record. */
static inline uint64_t name_hash(const void *name, size_t size)
{
  uint64_t hash = fnv1a(FNV1A_START, name, size);

  return hash != 0 ? hash : 1;
}

/* Below `records`. */
static inline size_t name_place(uint64_t hash, size_t records)
{
  return (size_t)((hash ^ hash >> 32) % records);
}

#endif

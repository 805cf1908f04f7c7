/* SPDX-License-Identifier: MIT */
/* lock/fence_memory.h - the last fence of each fenced lock of Redisson's that this client had. Its
 * counter is a key of its own, without a clock: if the server lost it, the next grants would have
 * lower fences. A small table, where names with the same place replace each other; a name that it
 * takes for another skips some numbers, no more. */
#ifndef LOCK_FENCE_MEMORY_H
#define LOCK_FENCE_MEMORY_H

#include "base/base.h"

#define FENCE_RECORDS 128
typedef struct fence_memory {
  struct { uint64_t name, fence; } all[FENCE_RECORDS];    /* name: hash; 0: unused */
} fence_memory;

void fence_memory_add(fence_memory *m, const void *name, size_t size, uint64_t fence);
/* 0: none is known. */
uint64_t fence_memory_last(const fence_memory *m, const void *name, size_t size);

#endif

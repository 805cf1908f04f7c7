/* SPDX-License-Identifier: MIT */
/* base/plain_memory.h - the memory of the process, for what belongs to no client, and for clients
 * without an allocator of their own. Not for pure modules. */
#ifndef BASE_PLAIN_MEMORY_H
#define BASE_PLAIN_MEMORY_H

#include <stdlib.h>

#include "base/base.h"

static inline void *plain_allocate(size_t bytes, void *data)
{
  (void)data;
  return malloc(bytes);
}

static inline void *plain_reallocate(void *old, size_t bytes, void *data)
{
  (void)data;
  return realloc(old, bytes);
}

static inline void plain_release(void *old, void *data)
{
  (void)data;
  free(old);
}

#define PLAIN_MEMORY { plain_allocate, plain_reallocate, plain_release, NULL }

static inline memory plain_memory(void) { return (memory)PLAIN_MEMORY; }

#endif

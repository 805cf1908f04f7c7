/* SPDX-License-Identifier: MIT */
/* sim/server/table.h - uthash with this room's memory, and keys of bytes. */
#ifndef SIM_SERVER_TABLE_H
#define SIM_SERVER_TABLE_H

#include <stdlib.h>

#include "server/value.h"

/* FNV-1a; the same in every run. uthash's own has fall-throughs that clang refuses. */
static inline unsigned table_hash(const void *bytes, size_t size)
{
  const unsigned char *at = bytes;
  uint64_t h = 0xcbf29ce484222325U;

  for (size_t i = 0; i < size; i++)
    h = (h ^ at[i]) * 0x100000001b3U;
  return (unsigned)(h ^ h >> 32);
}

#define HASH_FUNCTION(bytes, size, hash) ((hash) = table_hash((bytes), (size)))
#define uthash_malloc(bytes) sim_alloc(bytes)
#define uthash_free(pointer, bytes) sim_free(pointer)
#define uthash_fatal(message) abort()
#include <uthash.h>

#endif

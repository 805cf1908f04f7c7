/* SPDX-License-Identifier: MIT */
/* See memory.h. */
#include "server/memory.h"

#include <stdlib.h>

static void *or_end(void *p)
{
  if (p == NULL)
    abort();
  return p;
}

void *sim_alloc(size_t size) { return or_end(malloc(size == 0 ? 1 : size)); }

void *sim_zalloc(size_t size) { return or_end(calloc(1, size == 0 ? 1 : size)); }

void *sim_realloc(void *old, size_t size)
{
  return or_end(realloc(old, size == 0 ? 1 : size));
}

void sim_free(void *p) { free(p); }

static void *allocate(size_t bytes, void *data)
{
  (void)data;
  return sim_alloc(bytes);
}

static void *reallocate(void *old, size_t bytes, void *data)
{
  (void)data;
  return sim_realloc(old, bytes);
}

static void release(void *p, void *data)
{
  (void)data;
  free(p);
}

const memory *sim_memory(void)
{
  static const memory ending = { allocate, reallocate, release, NULL };

  return &ending;
}

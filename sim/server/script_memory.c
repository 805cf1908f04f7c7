/* SPDX-License-Identifier: MIT */
/* Lua's memory: small pieces come from lists of their own size, which costs a third of what
 * malloc does; a script makes some hundred of them. */
#include "server/script.h"

#include <string.h>

#define STEP 16
#define SMALL 256
#define BLOCK_BYTES 65536

typedef struct piece { struct piece *next; } piece;
typedef struct block { struct block *next; } block;

struct script_memory {
  piece *unused[SMALL / STEP + 1];       /* by size in steps */
  block *blocks;
};

script_memory *script_memory_new(void) { return sim_zalloc(sizeof(script_memory)); }

script_memory *script_memory_free(script_memory *m)
{
  while (m->blocks != NULL) {
    block *b = m->blocks;

    m->blocks = b->next;
    sim_free(b);
  }
  sim_free(m);
  return NULL;
}

/* Cuts a new block into pieces of that many steps. */
static void fill(script_memory *m, size_t steps)
{
  size_t size = steps * STEP;
  block *b = sim_alloc(BLOCK_BYTES);

  b->next = m->blocks;
  m->blocks = b;
  for (size_t at = STEP; at + size <= BLOCK_BYTES; at += size) {
    piece *p = (piece *)(void *)((char *)b + at);

    p->next = m->unused[steps];
    m->unused[steps] = p;
  }
}

static void *take(script_memory *m, size_t size)
{
  size_t steps = (size + STEP - 1) / STEP;
  piece *p;

  if (size > SMALL)
    return sim_alloc(size);
  if (m->unused[steps] == NULL)
    fill(m, steps);
  p = m->unused[steps];
  m->unused[steps] = p->next;
  return p;
}

static void give(script_memory *m, void *old, size_t size)
{
  size_t steps = (size + STEP - 1) / STEP;
  piece *p = old;

  if (size > SMALL) {
    sim_free(old);
  } else if (size > 0) {
    p->next = m->unused[steps];
    m->unused[steps] = p;
  }
}

void *script_memory_change(void *data, void *old, size_t old_size, size_t size)
{
  void *fresh;

  if (old == NULL)
    old_size = 0;
  if (old_size > SMALL && size > SMALL)
    return sim_realloc(old, size);
  fresh = size == 0 ? NULL : take(data, size);
  if (fresh != NULL && old_size > 0)
    memcpy(fresh, old, old_size < size ? old_size : size);
  give(data, old, old_size);
  return fresh;
}

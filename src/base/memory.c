/* SPDX-License-Identifier: MIT */
/* base/memory.c - allocates with the client's allocator, and wipes secrets. */
#include "base/base.h"

#include <string.h>

void *mem_alloc(const memory *m, size_t bytes)
{
  /* An allocator may return NULL for 0 bytes, which would look like a refusal. */
  return m->allocate(bytes > 0 ? bytes : 1, m->data);
}

void *mem_zalloc(const memory *m, size_t bytes)
{
  void *p = mem_alloc(m, bytes);

  if (p != NULL)
    memset(p, 0, bytes);
  return p;
}

void *mem_realloc(const memory *m, void *old, size_t bytes)
{
  return m->reallocate(old, bytes > 0 ? bytes : 1, m->data);
}

void mem_free(const memory *m, void *p)
{
  if (p != NULL)
    m->release(p, m->data);              /* reads `m` before the call, which may free it */
}

char *mem_copy(const memory *m, const void *bytes, size_t size)
{
  char *copy;

  if (size == SIZE_MAX)
    return NULL;
  copy = mem_alloc(m, size + 1);
  if (copy == NULL)
    return NULL;
  if (size > 0)
    memcpy(copy, bytes, size);
  copy[size] = 0;
  return copy;
}

char *mem_copy_text(const memory *m, const char *words)
{
  return words == NULL ? NULL : mem_copy(m, words, strlen(words));
}

void mem_wipe(void *p, size_t bytes)
{
  /* Stores to a volatile object stay, even if the memory is freed right after. */
  volatile unsigned char *at = p;

  while (bytes > 0) {
    *at++ = 0;
    bytes--;
  }
}

void mem_free_secret(const memory *m, char *words)
{
  if (words != NULL)
    mem_wipe(words, strlen(words));
  mem_free(m, words);
}

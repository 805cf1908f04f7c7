/* SPDX-License-Identifier: MIT */
/* base/buffer.c - bytes appended at the end, consumed at the beginning.
 *
 *   bytes          start            end          capacity
 *   |  consumed    |   content      |    free    | */
#include "base/base.h"

#include <assert.h>
#include <string.h>

#define BUFFER_CAPACITY_MIN 256

void buffer_init(buffer *b, const memory *m)
{
  *b = (buffer){ .memory = *m };
}

void buffer_deinit(buffer *b)
{
  mem_free(&b->memory, b->bytes);
  b->bytes = NULL;
  b->start = b->end = b->capacity = 0;
}

bool buffer_reserve(buffer *b, size_t more)
{
  size_t size = buffer_size(b);
  size_t capacity = b->capacity;
  char *bytes;

  if (b->capacity - b->end >= more)
    return true;
  if (more > SIZE_MAX / 2 - size)
    return false;
  /* Move the content down only if this frees at least as much as it moves: otherwise many
   * small appends to a large content would take quadratic time. */
  if (capacity >= size + more && b->start >= size) {
    if (size > 0)
      memmove(b->bytes, b->bytes + b->start, size);
    b->start = 0;
    b->end = size;
    return true;
  }
  if (capacity < BUFFER_CAPACITY_MIN)
    capacity = BUFFER_CAPACITY_MIN;
  while (capacity - b->end < more)
    capacity *= 2;
  bytes = mem_realloc(&b->memory, b->bytes, capacity);
  if (bytes == NULL)
    return false;
  b->bytes = bytes;
  b->capacity = capacity;
  return true;
}

bool buffer_append(buffer *b, const void *bytes, size_t size)
{
  if (size == 0)
    return true;
  if (!buffer_reserve(b, size))
    return false;
  memcpy(b->bytes + b->end, bytes, size);
  b->end += size;
  return true;
}

void buffer_consume(buffer *b, size_t size)
{
  assert(size <= buffer_size(b));
  b->start += size;
  if (b->start == b->end)
    b->start = b->end = 0;
}

void buffer_clear(buffer *b)
{
  b->start = b->end = 0;
}

void buffer_truncate(buffer *b, size_t size)
{
  assert(size <= buffer_size(b));
  b->end -= size;
  if (b->start == b->end)
    b->start = b->end = 0;
}

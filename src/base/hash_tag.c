/* SPDX-License-Identifier: MIT */
/* base/hash_tag.c - tags in braces, and one spelling for the names of one key. */
#include "base/hash_tag.h"

#include <string.h>

bool hash_tag_is_in(const void *bytes, size_t size)
{
  const char *at = bytes;
  const char *open = size > 0 ? memchr(at, '{', size) : NULL;
  const char *close;

  if (open == NULL)
    return false;
  close = memchr(open, '}', size - (size_t)(open - at));
  return close != NULL && close > open + 1;
}

void hash_tag_spell(const void **name, size_t *size)
{
  const char *bytes = *name;

  if (*size <= 2 || bytes[0] != '{' || bytes[1] == '}' || bytes[*size - 1] != '}' ||
      hash_tag_is_in(bytes + 1, *size - 2))
    return;
  *name = bytes + 1;
  *size -= 2;
}

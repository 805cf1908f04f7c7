/* SPDX-License-Identifier: MIT */
/* api/pattern.c - whether a name is one that a caller asks for by a pattern of fnmatch(3). */
#include "api/pattern.h"

#include <fnmatch.h>
#include <string.h>

#include "base/hash_tag.h"

bool pattern_means(const char *pattern, const char *name)
{
  return strcmp(pattern, name) == 0 || fnmatch(pattern, name, 0) == 0;
}

bool pattern_means_lock(const protocol *n, const char *pattern, const char *name)
{
  char braced[NAME_MAX_BYTES + 3];
  text all = text_over(braced, sizeof(braced));
  const void *spelled = braced;
  size_t size;

  if (pattern_means(pattern, name))
    return true;
  if (pattern[0] != '{' || pattern[strlen(pattern) - 1] != '}')
    return false;
  text_format(&all, "{%s}", name);
  size = all.used;
  dialect_spell(n, &spelled, &size);
  return size < all.used && pattern_means(pattern, braced);
}

/* With a '}' and no tag a latch and a lock of one name are in different slots. */
bool pattern_is_in_one_slot(const char *pattern)
{
  size_t size = strlen(pattern);

  return size > 0 && size <= NAME_MAX_BYTES && strpbrk(pattern, "*?[\\") == NULL &&
         (strchr(pattern, '}') == NULL || hash_tag_is_in(pattern, size));
}

/* SPDX-License-Identifier: MIT */
/* topo/server_url_parts.c - cuts and decodes parts of a URL; finds the nearest option name. */
#include "topo/server_url_parts.h"

#include <limits.h>
#include <string.h>

#include "base/hex.h"
#include "base/nearest.h"

bool part_is(part p, const char *words)
{
  return strlen(words) == p.size && memcmp(words, p.at, p.size) == 0;
}

bool part_has(part p, char c)
{
  return p.size > 0 && memchr(p.at, c, p.size) != NULL;
}

void part_skip(part *p, size_t size)
{
  p->at += size;
  p->size -= size;
}

bool part_split(part *rest, char c, part *ret_before)
{
  const char *at = rest->size > 0 ? memchr(rest->at, c, rest->size) : NULL;

  if (at == NULL)
    return false;
  *ret_before = (part){ rest->at, (size_t)(at - rest->at) };
  part_skip(rest, ret_before->size + 1);
  return true;
}

bool part_next(part *rest, char c, part *ret_item)
{
  if (rest->size == 0)
    return false;
  if (!part_split(rest, c, ret_item)) {
    *ret_item = *rest;
    rest->size = 0;
  }
  return true;
}

size_t part_count(part p, char c)
{
  size_t count = 0;

  for (size_t i = 0; i < p.size; i++)
    count += p.at[i] == c;
  return count;
}

dibs_status url_fault(url_reading *r, const char *words)
{
  text_add(r->why, words);
  return DIBS_ERR_CONFIG;
}

static dibs_status decode_fault(url_reading *r, const char *name, const char *words)
{
  text_add(r->why, name);
  return url_fault(r, words);
}

dibs_status url_decode(url_reading *r, part p, const char *name, char **ret_text)
{
  char *decoded;
  size_t used = 0;

  /* Checks before it copies: after a fault, no copy of a secret is left. */
  for (size_t i = 0; i < p.size; i++) {
    if (p.at[i] != '%')
      continue;
    if (p.size - i < 3 || hex_byte(p.at + i + 1) < 0)
      return decode_fault(r, name, " has a '%' without two hexadecimal digits after it; "
                                   "a '%' itself is written %25");
    if (p.at[i + 1] == '0' && p.at[i + 2] == '0')
      return decode_fault(r, name, " has a zero byte, %00");
  }
  decoded = mem_alloc(&r->url.memory, p.size + 1);
  if (decoded == NULL)
    return DIBS_ERR_NO_MEMORY;
  for (size_t i = 0; i < p.size; i++) {
    if (p.at[i] == '%') {
      decoded[used++] = (char)hex_byte(p.at + i + 1);
      i += 2;
    } else {
      decoded[used++] = p.at[i];
    }
  }
  decoded[used] = 0;
  *ret_text = decoded;
  return DIBS_OK;
}

dibs_status url_database_read(url_reading *r, part words)
{
  uint64_t database;

  if (r->has_database)
    return url_fault(r, "the database is given twice, in the path and as db=");
  if (!text_to_uint(words.at, words.size, &database) || database > INT_MAX)
    return url_fault(r, "the database must be a number, as in /0");
  r->url.database = (int)database;
  r->has_database = true;
  return DIBS_OK;
}

bool url_is_word(char c)
{
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
    || c == '.' || c == '-' || c == '_';
}

static char small_of(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

bool host_is_same(const char *a, const char *b)
{
  while (*a != 0 && small_of(*a) == small_of(*b)) {
    a++;
    b++;
  }
  return *a == 0 && *b == 0;
}

const char *words_nearest(part p, const char *const *words, size_t count)
{
  const char *nearest = NULL;
  size_t least = 3;

  for (size_t i = 0; i < count; i++) {
    size_t size = strlen(words[i]);
    size_t distance = edit_distance(p.at, p.size, words[i], size);

    /* Two changes of a short name leave nothing in common. */
    if (distance < least && distance < size) {
      least = distance;
      nearest = words[i];
    }
  }
  return nearest;
}

/* SPDX-License-Identifier: MIT */
/* Bytes as the server reads and writes them: words, numbers, patterns. */
#include "server/value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

slice slice_of(const char *words) { return (slice){ words, strlen(words) }; }

bool slice_equal(slice a, slice b)
{
  return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

bool slice_is(slice a, const char *word)
{
  for (size_t i = 0; i < a.size; i++)
    if (word[i] == 0 || lower(a.bytes[i]) != lower(word[i]))
      return false;
  return word[a.size] == 0;
}

int slice_compare(slice a, slice b)
{
  int order = memcmp(a.bytes, b.bytes, a.size < b.size ? a.size : b.size);

  return order != 0 ? order : a.size < b.size ? -1 : a.size > b.size;
}

/* Numbers of so many digits cannot overflow. */
#define SAFE_DIGITS 18

bool slice_to_integer(slice s, int64_t *ret)
{
  bool is_negative = s.size > 0 && s.bytes[0] == '-';
  uint64_t limit = is_negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
  uint64_t n = 0;
  size_t i = is_negative ? 1 : 0;

  if (i == s.size || (s.bytes[i] == '0' && s.size > 1))
    return false;
  for (; i < s.size; i++) {
    uint64_t digit = (uint64_t)(s.bytes[i] - '0');

    if (digit > 9 || (i >= SAFE_DIGITS && n > (limit - digit) / 10))
      return false;
    n = n * 10 + digit;
  }
  *ret = is_negative ? (int64_t)(0 - n) : (int64_t)n;
  return true;
}

bool slice_to_double(slice s, double *ret)
{
  return s.size > 0 && s.bytes[0] != ' ' && slice_to_bound(s, ret);
}

bool slice_to_bound(slice s, double *ret)
{
  char room[128], *end;

  if (s.size >= sizeof(room))
    return false;
  memcpy(room, s.bytes, s.size);
  room[s.size] = 0;
  *ret = strtod(room, &end);
  return end == room + s.size && !isnan(*ret);
}

slice slice_from_integer(int64_t n, char room[SLICE_FORMAT_MAX])
{
  text t = text_over(room, SLICE_FORMAT_MAX);

  text_add_int(&t, n);
  return (slice){ room, t.used };
}

slice slice_from_double(double d, char room[SLICE_FORMAT_MAX])
{
  int size;

  if (isinf(d))
    return d > 0 ? SLICE("inf") : SLICE("-inf");
  size = snprintf(room, SLICE_FORMAT_MAX, "%.17g", d);
  return (slice){ room, (size_t)size };
}

/* One class "[a-z]" at p->bytes, behind its bracket; moves `p` behind its end. */
static bool class_matches(slice *p, char c)
{
  bool is_not = p->size > 0 && p->bytes[0] == '^';
  bool is_in = false;
  size_t i = is_not ? 1 : 0;

  while (i < p->size && p->bytes[i] != ']') {
    if (p->bytes[i] == '\\' && i + 1 < p->size) {
      i++;
      is_in = is_in || p->bytes[i] == c;
    } else if (i + 2 < p->size && p->bytes[i + 1] == '-') {
      char from = p->bytes[i], to = p->bytes[i + 2];

      is_in = is_in || (from <= to ? c >= from && c <= to : c >= to && c <= from);
      i += 2;
    } else {
      is_in = is_in || p->bytes[i] == c;
    }
    i++;
  }
  i = i < p->size ? i + 1 : i;
  *p = (slice){ p->bytes + i, p->size - i };
  return is_in != is_not;
}

/* One item of the pattern that is no star; moves `p` behind it. */
static bool one_matches(slice *p, char c)
{
  char wanted = p->bytes[0];

  *p = (slice){ p->bytes + 1, p->size - 1 };
  if (wanted == '?')
    return true;
  if (wanted == '[')
    return class_matches(p, c);
  if (wanted == '\\' && p->size > 0) {
    wanted = p->bytes[0];
    *p = (slice){ p->bytes + 1, p->size - 1 };
  }
  return wanted == c;
}

/* The last star takes one byte more whenever what follows it does not match. */
bool slice_matches(slice pattern, slice s)
{
  slice behind_star = { NULL, 0 };
  size_t at = 0, star_at = 0;

  while (at < s.size || pattern.size > 0) {
    if (pattern.size > 0 && pattern.bytes[0] == '*') {
      pattern = (slice){ pattern.bytes + 1, pattern.size - 1 };
      behind_star = pattern;
      star_at = at;
      continue;
    }
    if (pattern.size > 0 && at < s.size && one_matches(&pattern, s.bytes[at])) {
      at++;
      continue;
    }
    if (behind_star.bytes == NULL || star_at >= s.size)
      return false;
    pattern = behind_star;
    at = ++star_at;
  }
  return true;
}

blob *blob_new(slice s)
{
  blob *b = sim_alloc(sizeof(*b) + s.size + 1);

  b->size = s.size;
  memcpy(b->bytes, s.bytes, s.size);
  b->bytes[s.size] = 0;
  return b;
}

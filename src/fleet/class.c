/* SPDX-License-Identifier: MIT */
/* fleet/class.c - the class of a name: a pattern of the client; else the part before the first
 * ':', where numbers, UUIDs and hashes are '*' and what is not printable is '?'. Names are
 * unbounded, classes are few. */
#include "fleet/class.h"

#include <string.h>

#include "base/base.h"

#define HASH_DIGITS_MIN 8

static bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_letter(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* 8-4-4-4-12 hexadecimal digits. */
static size_t uuid_at(const char *at, size_t size)
{
  static const size_t groups[] = { 8, 4, 4, 4, 12 };
  size_t used = 0;

  if (size < 36)
    return 0;
  for (size_t g = 0; g < 5; g++) {
    for (size_t i = 0; i < groups[g]; i++)
      if (!is_hex(at[used++]))
        return 0;
    if (g < 4 && at[used++] != '-')
      return 0;
  }
  return used;
}

/* The length of a number or hash here; 0: none. A hash is a word of hexadecimal digits that has
 * a decimal one. */
static size_t variable_at(const char *at, size_t size)
{
  size_t digits = 0, hex = 0;
  bool has_digit = false;

  if (uuid_at(at, size) > 0)
    return uuid_at(at, size);
  while (digits < size && is_digit(at[digits]))
    digits++;
  while (hex < size && is_hex(at[hex]))
    has_digit = is_digit(at[hex++]) || has_digit;
  if (has_digit && hex >= HASH_DIGITS_MIN && (hex == size || !is_letter(at[hex])))
    return hex;
  return digits;
}

/* The length of a character of UTF-8 that needs more than one byte; 0: none. */
static size_t wide_at(const unsigned char *at, size_t size)
{
  size_t count = at[0] >= 0xf0 && at[0] < 0xf5 ? 4 : at[0] >= 0xe0 ? 3 : 2;
  uint32_t value;

  if (at[0] < 0xc2 || at[0] > 0xf4 || count > size)
    return 0;
  value = at[0] & (0x7fu >> count);
  for (size_t i = 1; i < count; i++) {
    if ((at[i] & 0xc0) != 0x80)
      return 0;
    value = value << 6 | (at[i] & 0x3f);
  }
  /* Overlong, a surrogate, too large, or a control character of the second block. */
  if ((count == 3 && value < 0x800) || (count == 4 && (value < 0x10000 || value > 0x10ffff)) ||
      (value >= 0xd800 && value <= 0xdfff) || value < 0xa0)
    return 0;
  return count;
}

/* A brace would change the slot of the key; the others mean something where keys are listed. */
static bool is_plain(char c)
{
  return c > ' ' && c < 0x7f && strchr("{}[],\"\\", c) == NULL;
}

/* ---- patterns ---- */

typedef struct pattern {
  const char *at;
  size_t size;
} pattern;

/* Cuts the next one from `rest`, which is NULL after the last. */
static bool pattern_next(const char **rest, pattern *ret)
{
  const char *end;

  if (*rest == NULL || **rest == 0)
    return false;
  while (**rest == ' ' || **rest == '\t')
    ++*rest;
  end = strchr(*rest, ',');
  *ret = (pattern){ *rest, end == NULL ? strlen(*rest) : (size_t)(end - *rest) };
  *rest = end == NULL ? NULL : end + 1;
  while (ret->size > 0 && (ret->at[ret->size - 1] == ' ' || ret->at[ret->size - 1] == '\t'))
    ret->size--;
  return true;
}

/* After a difference the last '*' takes one byte more. */
static bool pattern_fits(pattern p, const char *name, size_t size)
{
  size_t at = 0, used = 0, star = p.size, taken = 0;

  while (used < size) {
    if (at < p.size && p.at[at] == '*') {
      star = at++;
      taken = used;
    } else if (at < p.size && p.at[at] == name[used]) {
      at++;
      used++;
    } else if (star < p.size) {
      at = star + 1;
      used = ++taken;
    } else {
      return false;
    }
  }
  while (at < p.size && p.at[at] == '*')
    at++;
  return at == p.size;
}

static bool pattern_of(const char *patterns, const char *name, size_t size,
                       char ret_name[FLEET_CLASS_SIZE])
{
  text out = text_over(ret_name, FLEET_CLASS_SIZE);
  pattern p;

  while (pattern_next(&patterns, &p))
    if (pattern_fits(p, name, size)) {
      text_add_bytes(&out, p.at, p.size);
      return true;
    }
  return false;
}

size_t fleet_classes_count(const char *patterns)
{
  size_t count = 0;
  pattern p;

  while (pattern_next(&patterns, &p))
    count++;
  return count;
}

bool fleet_class_is_possible(const char *name, size_t size)
{
  for (size_t i = 0, wide; i < size; i += wide > 0 ? wide : 1) {
    wide = wide_at((const unsigned char *)name + i, size - i);
    if (wide == 0 && !is_plain(name[i]))
      return false;
  }
  return size > 0 && size < FLEET_CLASS_SIZE;
}

static const char *pattern_fault(pattern p)
{
  if (p.size == 0)
    return " is empty";
  if (p.size >= FLEET_CLASS_SIZE)
    return " is longer than 64 bytes";
  if (!fleet_class_is_possible(p.at, p.size) || memchr(p.at, '?', p.size) != NULL)
    return " has a character that a class cannot have: a blank, a control, one of ?{}[]\"\\, or "
           "what is not UTF-8";
  return NULL;
}

bool fleet_classes_check(const char *patterns, text *why)
{
  const char *fault = NULL;
  size_t number = 0;
  pattern p;

  if (patterns != NULL && strlen(patterns) > FLEET_PATTERNS_BYTES_MAX) {
    text_add(why, "classes is longer than 1024 bytes");
    return false;
  }
  if (fleet_classes_count(patterns) > FLEET_CLASSES_MAX) {
    text_add(why, "classes has more than 64 patterns");
    return false;
  }
  while (fault == NULL && pattern_next(&patterns, &p)) {
    fault = pattern_fault(p);
    number++;
  }
  if (fault == NULL)
    return true;
  text_format(why, "classes: pattern %zu", number);
  if (p.size > 0) {
    text_add(why, ", ");
    text_add_quoted(why, p.at, p.size);
    text_add(why, ",");
  }
  text_add(why, fault);
  return false;
}

/* ---- names ---- */

static void class_of_name(const char *name, size_t size, char ret_name[FLEET_CLASS_SIZE])
{
  text out = text_over(ret_name, FLEET_CLASS_SIZE);
  const char *colon = memchr(name, ':', size);
  bool is_inside = false;               /* of a word, where a hash does not begin */

  if (colon != NULL && colon > name)
    size = (size_t)(colon - name);
  for (size_t i = 0, used; i < size && out.used + 4 < FLEET_CLASS_SIZE; i += used) {
    size_t wide = wide_at((const unsigned char *)name + i, size - i);

    used = is_inside && !is_digit(name[i]) ? 0 : variable_at(name + i, size - i);
    is_inside = used == 0 && is_letter(name[i]);
    if (used > 0)
      text_add(&out, "*");
    else if (wide > 0)
      text_add_bytes(&out, name + i, wide);
    else
      text_add_bytes(&out, is_plain(name[i]) ? name + i : "?", 1);
    used = used > 0 ? used : wide > 0 ? wide : 1;
  }
}

bool fleet_class_name(const char *patterns, const char *name, size_t size,
                      char ret_name[FLEET_CLASS_SIZE])
{
  if (pattern_of(patterns, name, size, ret_name))
    return true;
  class_of_name(name, size, ret_name);
  return false;
}

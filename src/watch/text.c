/* SPDX-License-Identifier: MIT */
/* watch/text.c - text that grows, and names of any bytes as printable text. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "watch/watch.h"

static bool make_room(watch_text *t, size_t more)
{
  size_t size = t->size == 0 ? 1024 : t->size;
  char *bytes;

  while (size < t->used + more + 1)
    size *= 2;
  if (size == t->size)
    return true;
  bytes = t->has_no_memory ? NULL : realloc(t->bytes, size);
  if (bytes == NULL) {
    t->has_no_memory = true;
    return false;
  }
  t->bytes = bytes;
  t->size = size;
  return true;
}

void watch_add_bytes(watch_text *t, const char *bytes, size_t size)
{
  if (!make_room(t, size))
    return;
  memcpy(t->bytes + t->used, bytes, size);
  t->used += size;
  t->bytes[t->used] = 0;
}

void watch_add(watch_text *t, const char *format, ...)
{
  va_list arguments;
  char line[1024];
  int size;

  va_start(arguments, format);
  size = vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  if (size > 0)
    watch_add_bytes(t, line, (size_t)size < sizeof(line) ? (size_t)size : sizeof(line) - 1);
}

void watch_text_free(watch_text *t)
{
  free(t->bytes);
  *t = (watch_text){ 0 };
}

size_t watch_character(const char *text, size_t left)
{
  const unsigned char *s = (const unsigned char *)text;
  uint32_t code = s[0];
  size_t size = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 :
                s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;

  if (size == 0 || size > left)
    return 0;
  if (size > 1)
    code &= 0x7fu >> size;
  for (size_t i = 1; i < size; i++) {
    if ((s[i] & 0xc0) != 0x80)
      return 0;
    code = code << 6 | (s[i] & 0x3fu);
  }
  if ((size == 3 && code < 0x800) || (size == 4 && (code < 0x10000 || code > 0x10ffff)) ||
      (code >= 0xd800 && code < 0xe000))
    return 0;
  if (code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
      (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) ||
      code == 0xfeff)
    return 0;
  return size;
}

/* The bytes of the next character, also of text that was cut within one. */
static size_t next_size(const char *text, size_t size)
{
  size_t one = 1;

  while (one < size && ((unsigned char)text[one] & 0xc0) == 0x80)
    one++;
  return one;
}

size_t watch_width(const char *text, size_t size, watch_cells *cells)
{
  size_t width = 0;

  for (size_t at = 0, one; at < size; at += one) {
    one = next_size(text + at, size - at);
    width += cells == NULL ? 1 : cells(text + at, one);
  }
  return width;
}

size_t watch_cut(const char *text, size_t size, size_t most, watch_cells *cells)
{
  size_t at = 0, width = 0;

  while (at < size) {
    size_t one = next_size(text + at, size - at);

    width += cells == NULL ? 1 : cells(text + at, one);
    if (width > most)
      break;
    at += one;
  }
  return at;
}

void watch_add_safe(watch_text *t, const char *name, size_t size)
{
  for (size_t at = 0; at < size;) {
    size_t one = watch_character(name + at, size - at);

    if (one == 0)
      watch_add(t, "\\x%02x", (unsigned)(unsigned char)name[at++]);
    else
      watch_add_bytes(t, name + at, one);
    at += one;
  }
}

void watch_add_pattern(watch_text *t, const char *name, size_t size)
{
  for (size_t i = 0; i < size; i++) {
    if (name[i] != 0 && strchr("*?[\\", name[i]) != NULL)
      watch_add_bytes(t, "\\", 1);
    watch_add_bytes(t, name + i, 1);
  }
}

void watch_add_time(watch_text *t, int64_t us)
{
  int64_t s = us / 1000000, minutes = s / 60, hours = s / 3600;

  if (us < 0)
    watch_add(t, "-");
  else if (us < 100)
    watch_add(t, "<0.1ms");
  else if (us < 10000)
    watch_add(t, "%d.%dms", (int)(us / 1000), (int)(us % 1000 / 100));
  else if (us < 1000000)
    watch_add(t, "%dms", (int)(us / 1000));
  else if (s < 100)
    watch_add(t, "%d.%ds", (int)s, (int)(us % 1000000 / 100000));
  else if (hours == 0)
    watch_add(t, "%d:%02d", (int)minutes, (int)(s % 60));
  else if (hours < 24)
    watch_add(t, "%d:%02d:%02d", (int)hours, (int)(minutes % 60), (int)(s % 60));
  else
    watch_add(t, "%lldd %02d:%02d", (long long)(hours / 24), (int)(hours % 24),
              (int)(minutes % 60));
}

/* SPDX-License-Identifier: MIT */
/* cli/printable.c - text that came from elsewhere, as terminals may get it. */
#include <locale.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "cli/message.h"
#include "watch/watch.h"

const char *printable_bytes(const char *bytes, size_t size, char *ret_text, size_t ret_size)
{
  size_t used = 0;

  for (size_t at = 0; at < size;) {
    size_t one = watch_character(bytes + at, size - at), width = one == 0 ? 4 : one;

    if (used + width >= ret_size)
      break;
    if (one == 0)
      snprintf(ret_text + used, 5, "\\x%02x", (unsigned)(unsigned char)bytes[at++]);
    else
      memcpy(ret_text + used, bytes + at, one);
    used += width;
    at += one;
  }
  ret_text[used] = '\0';
  return ret_text;
}

const char *printable(const char *text, char *ret_text, size_t ret_size)
{
  return printable_bytes(text, strlen(text), ret_text, ret_size);
}

/* ---- widths ---- */

#define FIRST_WIDE 0x1100    /* below, no character is wider than a cell */
#define EMOJI_MARK 0xfe0f    /* many terminals give what stands before it a second cell */

static pthread_once_t is_loaded = PTHREAD_ONCE_INIT;
static locale_t utf8;        /* 0: this system has none */

static void load(void)
{
  utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/* By libc's table, for which a command sets up no locale before it meets such a character. What
 * that does not know is two cells: a text that is cut early does no harm, one that wraps does. */
static size_t wide_cells(wchar_t c)
{
  locale_t before;
  int cells;

  pthread_once(&is_loaded, load);
  if (utf8 == (locale_t)0)
    return 2;
  before = uselocale(utf8);
  cells = wcwidth(c);
  uselocale(before);
  return cells < 0 ? 2 : (size_t)cells;
}

size_t printable_cells(const char *character, size_t size)
{
  const unsigned char *bytes = (const unsigned char *)character;
  uint32_t code;

  if (size < 3 || size > 4)                        /* 3 bytes are U+0800 and more */
    return 1;
  code = bytes[0] & (size == 3 ? 0x0fu : 0x07u);
  for (size_t i = 1; i < size; i++)
    code = code << 6 | (bytes[i] & 0x3fu);
  return code < FIRST_WIDE || code == EMOJI_MARK ? 1 : wide_cells((wchar_t)code);
}

size_t printable_width(const char *text)
{
  return watch_width(text, strlen(text), printable_cells);
}

size_t printable_cut(const char *text, size_t columns)
{
  return watch_cut(text, strlen(text), columns, printable_cells);
}

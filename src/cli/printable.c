/* SPDX-License-Identifier: MIT */
/* cli/printable.c - text that came from elsewhere, as terminals may get it. */
#include <stdio.h>
#include <string.h>

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

size_t printable_cut(const char *text, size_t columns)
{
  size_t at = 0, seen = 0;

  for (; text[at] != '\0'; at++) {
    bool is_start = ((unsigned char)text[at] & 0xc0) != 0x80;

    if (is_start && seen++ == columns)
      break;
  }
  return at;
}

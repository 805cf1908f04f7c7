/* SPDX-License-Identifier: MIT */
/* test/lib/resp_scan.c - where replies end in a stream of RESP 2 or 3. */
#include "resp_scan.h"

#include <stdlib.h>
#include <string.h>

/* A complete first line of an element. */
static void take_line(struct resp_scan *s)
{
  long long number = strtoll(s->line + 1, NULL, 10);
  uint64_t count = number > 0 ? (uint64_t)number : 0;

  switch (s->line[0]) {
  case '$':
  case '!':
  case '=':
    s->skip = number >= 0 ? count + 2 : 0;
    s->elements_left -= 1;
    break;
  case '*':
  case '~':
  case '>':
    s->elements_left += count - 1;
    break;
  case '%':
    s->elements_left += 2 * count - 1;
    break;
  case '|':                     /* attributes come before the element itself */
    s->elements_left += 2 * count;
    break;
  default:
    s->elements_left -= 1;
    break;
  }
}

size_t resp_scan_feed(struct resp_scan *s, const char *bytes, size_t size,
                      bool *ret_is_end)
{
  size_t at = 0;

  *ret_is_end = false;
  while (at < size) {
    if (s->skip > 0) {
      size_t more = size - at < s->skip ? size - at : (size_t)s->skip;
      at += more;
      s->skip -= more;
    } else {
      if (!s->is_inside) {
        s->is_inside = true;
        s->elements_left = 1;
      }
      /* Long simple strings and errors: only the first characters matter. */
      if (s->line_size < sizeof(s->line) - 1)
        s->line[s->line_size++] = bytes[at];
      s->line[s->line_size] = '\0';
      if (bytes[at++] != '\n')
        continue;
      take_line(s);
      s->line_size = 0;
    }
    if (s->skip == 0 && s->elements_left == 0) {
      s->is_inside = false;
      *ret_is_end = true;
      return at;
    }
  }
  return at;
}

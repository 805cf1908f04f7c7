/* SPDX-License-Identifier: MIT */
/* wire_words.h - replies of a server, written short: [..] a list, 'text', 12 a number, ~ nothing;
 * "-ERR ..." and "+OK" are themselves. */
#ifndef WIRE_WORDS_H
#define WIRE_WORDS_H

#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

static inline size_t children_count(const char *words)
{
  size_t count = 0;
  size_t depth = 0;

  for (; depth > 0 || *words != ']'; words++) {
    if (*words == ' ')
      continue;
    count += depth == 0;
    if (*words == '[') {
      depth++;
    } else if (*words == ']') {
      depth--;
    } else if (*words == '\'') {
      words = strchr(words + 1, '\'');
    } else {
      while (words[1] != ' ' && words[1] != ']')
        words++;
    }
  }
  return count;
}

static inline void wire_add(buffer *out, const char *words)
{
  char piece[700];
  int size;

  if (*words == '-' || *words == '+') {
    size = snprintf(piece, sizeof(piece), "%s\r\n", words);
    assert_true(buffer_append(out, piece, (size_t)size));
    return;
  }
  while (*words != 0) {
    if (*words == ' ' || *words == ']') {
      words++;
      continue;
    }
    if (*words == '[') {
      size = snprintf(piece, sizeof(piece), "*%zu\r\n", children_count(++words));
    } else if (*words == '~') {
      size = snprintf(piece, sizeof(piece), "$-1\r\n");
      words++;
    } else if (*words == '\'') {
      size_t length = strcspn(++words, "'");
      size = snprintf(piece, sizeof(piece), "$%zu\r\n%.*s\r\n", length, (int)length, words);
      words += length + 1;
    } else {
      char *end;
      size = snprintf(piece, sizeof(piece), ":%lld\r\n", strtoll(words, &end, 10));
      assert_ptr_not_equal(end, words);
      words = end;
    }
    assert_true(buffer_append(out, piece, (size_t)size));
  }
}

#endif

/* SPDX-License-Identifier: MIT */
/* Bytes to words: RESP arrays of strings, and lines as people type them. */
#include "server/parts.h"

#include <string.h>

#define WORDS_MAX INT64_C(1048576)
#define STRING_MAX INT64_C(536870912)
#define LINE_MAX_SIZE 65536u

static void add_word(word_list *w, slice s)
{
  if (w->count == w->capacity) {
    w->capacity = w->capacity * 2 + 16;
    w->all = sim_realloc(w->all, w->capacity * sizeof(slice));
  }
  w->all[w->count++] = s;
}

/* The line at `*at`, without its end; moves behind it. */
static bool take_line(slice bytes, size_t *at, slice *ret)
{
  const char *begin = bytes.bytes + *at;
  const char *end = memchr(begin, '\n', bytes.size - *at);

  if (end == NULL)
    return false;
  *at += (size_t)(end - begin) + 1;
  *ret = (slice){ begin, (size_t)(end - begin) };
  if (ret->size > 0 && end[-1] == '\r')
    ret->size--;
  return true;
}

/* Words with blanks between; "double quotes" keep blanks, and know no escapes. */
static read_result read_typed(slice bytes, word_list *w, size_t *ret_used, text *fault)
{
  slice line;
  size_t at = 0;

  if (!take_line(bytes, &at, &line)) {
    if (bytes.size <= LINE_MAX_SIZE)
      return READ_MORE;
    text_add(fault, "Protocol error: too big inline request");
    return READ_FAULT;
  }
  *ret_used = at;
  for (size_t i = 0; i < line.size;) {
    bool is_quoted = line.bytes[i] == '"';
    size_t begin = is_quoted ? i + 1 : i;

    if (line.bytes[i] == ' ') {
      i++;
      continue;
    }
    i = begin;
    while (i < line.size && line.bytes[i] != (is_quoted ? '"' : ' '))
      i++;
    if (is_quoted && i == line.size) {
      text_add(fault, "Protocol error: unbalanced quotes in request");
      return READ_FAULT;
    }
    add_word(w, (slice){ line.bytes + begin, i - begin });
    i += is_quoted;
  }
  return READ_COMMAND;
}

/* One "$5\r\nwords\r\n". */
static read_result read_word(slice bytes, size_t *at, word_list *w, text *fault)
{
  slice line;
  int64_t size;

  if (*at == bytes.size)
    return READ_MORE;
  if (bytes.bytes[*at] != '$') {
    text_add(fault, "Protocol error: expected '$', got '");
    text_add_bytes(fault, bytes.bytes + *at, 1);
    text_add(fault, "'");
    return READ_FAULT;
  }
  if (!take_line(bytes, at, &line))
    return READ_MORE;
  if (!slice_to_integer((slice){ line.bytes + 1, line.size - 1 }, &size) || size < 0 ||
      size > STRING_MAX) {
    text_add(fault, "Protocol error: invalid bulk length");
    return READ_FAULT;
  }
  if (bytes.size - *at < (size_t)size + 2)
    return READ_MORE;
  add_word(w, (slice){ bytes.bytes + *at, (size_t)size });
  *at += (size_t)size + 2;
  return READ_COMMAND;
}

read_result read_command(slice bytes, word_list *w, size_t *ret_used, text *fault)
{
  slice line;
  size_t at = 0;
  int64_t count;

  w->count = 0;
  if (bytes.size == 0)
    return READ_MORE;
  if (bytes.bytes[0] != '*')
    return read_typed(bytes, w, ret_used, fault);
  if (!take_line(bytes, &at, &line))
    return READ_MORE;
  if (!slice_to_integer((slice){ line.bytes + 1, line.size - 1 }, &count) ||
      count > WORDS_MAX) {
    text_add(fault, "Protocol error: invalid multibulk length");
    return READ_FAULT;
  }
  for (int64_t i = 0; i < count; i++) {
    read_result got = read_word(bytes, &at, w, fault);

    if (got != READ_COMMAND)
      return got;
  }
  *ret_used = at;
  return READ_COMMAND;
}

/* SPDX-License-Identifier: MIT */
/* test/sim/differential/frame.c - see frame.h. */
#include "frame.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resp_scan.h"
#include "base/plain_memory.h"
#include "script/script.h"

const memory frame_heap = PLAIN_MEMORY;

/* ---- parts ---- */

frame frame_first(const char *bytes, size_t size)
{
  struct resp_scan scan = { .elements_left = 0 };
  bool is_end;
  size_t taken = resp_scan_feed(&scan, bytes, size, &is_end);

  return (frame){ bytes, is_end ? taken : 0 };
}

/* Behind the first line. */
static size_t line_size(frame f)
{
  const char *end = memchr(f.bytes, '\n', f.size);

  assert(end != NULL);
  return (size_t)(end - f.bytes) + 1;
}

static int64_t line_number(frame f) { return strtoll(f.bytes + 1, NULL, 10); }

int64_t frame_count(frame f) { return f.bytes[0] == '*' ? line_number(f) : -1; }

frame frame_child(frame f, size_t i)
{
  size_t at = line_size(f);
  frame child;

  assert((int64_t)i < frame_count(f));
  do {
    child = frame_first(f.bytes + at, f.size - at);
    at += child.size;
  } while (i-- > 0);
  return child;
}

frame frame_text(frame f)
{
  size_t line = line_size(f);

  if (f.bytes[0] == '$')
    return line_number(f) < 0 ? (frame){ "", 0 }
                              : (frame){ f.bytes + line, (size_t)line_number(f) };
  return (frame){ f.bytes + 1, line - 3 };
}

/* ---- comparison ---- */

static bool is_same(frame a, frame b)
{
  return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

static int compare(const void *left, const void *right)
{
  const frame *a = left, *b = right;
  int difference = memcmp(a->bytes, b->bytes, a->size < b->size ? a->size : b->size);

  return difference != 0 ? difference : (a->size > b->size) - (a->size < b->size);
}

/* The elements, `each` of them joined, sorted. */
static frame *sorted(frame f, size_t each, size_t *ret_count)
{
  size_t count = (size_t)frame_count(f) / each, at = line_size(f);
  frame *all = calloc(count + 1, sizeof(*all));

  assert(all != NULL);
  for (size_t i = 0; i < count; i++) {
    all[i].bytes = f.bytes + at;
    for (size_t part = 0; part < each; part++)
      all[i].size += frame_first(all[i].bytes + all[i].size, f.size - at - all[i].size).size;
    at += all[i].size;
  }
  qsort(all, count, sizeof(*all), compare);
  *ret_count = count;
  return all;
}

static bool is_same_set(frame a, frame b, size_t each)
{
  size_t count = 0, others = 0;
  frame *mine, *theirs;
  bool is_equal = frame_count(a) == frame_count(b) && frame_count(a) >= 0;

  if (!is_equal)
    return is_same(a, b);
  mine = sorted(a, each, &count);
  theirs = sorted(b, each, &others);
  for (size_t i = 0; i < count && is_equal; i++)
    is_equal = is_same(mine[i], theirs[i]);
  free(mine);
  free(theirs);
  return is_equal;
}

static bool is_same_scan(frame a, frame b, size_t each)
{
  if (frame_count(a) != 2 || frame_count(b) != 2)
    return is_same(a, b);
  return is_same(frame_child(a, 0), frame_child(b, 0))
         && is_same_set(frame_child(a, 1), frame_child(b, 1), each);
}

static bool are_same_replies(frame a, frame b)
{
  bool is_equal = frame_count(a) == frame_count(b) && frame_count(a) >= 0;

  for (int64_t i = 0; i < frame_count(a) && is_equal; i++) {
    frame mine = frame_child(a, (size_t)i), theirs = frame_child(b, (size_t)i);
    is_equal = is_same_set(mine, theirs, 1) || is_same_scan(mine, theirs, 1);
  }
  return is_equal;
}

bool frame_equal(frame a, frame b, frame_order order)
{
  if (is_same(a, b))
    return true;
  switch (order) {
  case FRAME_OF_ANY_ORDER:  return are_same_replies(a, b);
  case FRAME_AS_SET:        return is_same_set(a, b, 1);
  case FRAME_AS_PAIRS:      return is_same_set(a, b, 2);
  case FRAME_SCANNED:       return is_same_scan(a, b, 1);
  case FRAME_SCANNED_PAIRS: return is_same_scan(a, b, 2);
  default:                  return false;
  }
}

/* ---- for people ---- */

/* All of it, where text_add_quoted() shows the first 64 bytes. */
static void add_quoted(text *out, frame words)
{
  static const char hex[] = "0123456789abcdef";

  text_add(out, "\"");
  for (size_t i = 0; i < words.size; i++) {
    unsigned char c = (unsigned char)words.bytes[i];
    char escaped[4] = { '\\', 'x', hex[c >> 4], hex[c & 15] };

    if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
      text_add_bytes(out, escaped, sizeof(escaped));
    else
      text_add_bytes(out, &c, 1);
  }
  text_add(out, "\"");
}

static bool is_named_script(frame words, text *out)
{
  for (size_t i = 0; i < script_count; i++) {
    const script *s = script_table[i];
    bool is_text = words.size == s->size && memcmp(words.bytes, s->bytes, s->size) == 0;

    if (!is_text && (words.size != 40 || memcmp(words.bytes, s->sha1, 40) != 0))
      continue;
    text_add(out, is_text ? "<text of " : "<digest of ");
    text_add(out, s->name);
    text_add(out, ">");
    return true;
  }
  return false;
}

void frame_print(frame f, text *out)
{
  frame words;
  int64_t count;

  if (f.size == 0) {
    text_add(out, "(nothing)");
    return;
  }
  count = frame_count(f);
  if ((f.bytes[0] == '$' || f.bytes[0] == '*') && line_number(f) < 0) {
    text_add(out, f.bytes[0] == '$' ? "(nil)" : "(nil array)");
    return;
  }
  if (count >= 0) {
    text_add(out, "[");
    for (int64_t i = 0; i < count; i++) {
      text_add(out, i > 0 ? ", " : "");
      frame_print(frame_child(f, (size_t)i), out);
    }
    text_add(out, "]");
    return;
  }
  words = frame_text(f);
  if (f.bytes[0] == '$') {
    if (!is_named_script(words, out))
      add_quoted(out, words);
  } else
    text_add_bytes(out, words.bytes - (f.bytes[0] != ':'), words.size + (f.bytes[0] != ':'));
}

void frame_print_all(frame several, text *out)
{
  frame f = several;

  do {
    f = frame_first(several.bytes, several.size);
    frame_print(f, out);
    several.bytes += f.size;
    several.size -= f.size;
    text_add(out, several.size > 0 ? ", " : "");
  } while (several.size > 0 && f.size > 0);
}

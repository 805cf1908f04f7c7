/* SPDX-License-Identifier: MIT */
/* Keys as text that tells them wholly; equal keys give equal texts. */
#include "server/parts.h"

#include <stdlib.h>
#include <string.h>

static void add(buffer *out, slice s) { (void)buffer_append(out, s.bytes, s.size); }

static void add_integer(buffer *out, int64_t n)
{
  char room[SLICE_FORMAT_MAX];

  add(out, slice_from_integer(n, room));
}

static void add_quoted(buffer *out, slice s)
{
  static const char digits[] = "0123456789abcdef";

  add(out, SLICE("\""));
  for (size_t i = 0; i < s.size; i++) {
    unsigned char c = (unsigned char)s.bytes[i];
    char escaped[4] = { '\\', 'x', digits[c >> 4], digits[c & 15] };

    if (c < ' ' || c > '~' || c == '"' || c == '\\')
      add(out, (slice){ escaped, 4 });
    else
      add(out, (slice){ s.bytes + i, 1 });
  }
  add(out, SLICE("\""));
}

static int by_name(const void *a, const void *b)
{
  const hash_field *const *x = a, *const *y = b;

  return slice_compare(hash_field_name(*x), hash_field_name(*y));
}

static void add_hash(buffer *out, const hash *h)
{
  const hash_field **sorted = sim_alloc(hash_count(h) * sizeof(hash_field *));
  size_t count = 0;

  for (const hash_field *f = hash_next(h, NULL); f != NULL; f = hash_next(h, f))
    sorted[count++] = f;
  qsort(sorted, count, sizeof(sorted[0]), by_name);
  for (size_t i = 0; i < count; i++) {
    add(out, SLICE(" "));
    add_quoted(out, hash_field_name(sorted[i]));
    add(out, SLICE("="));
    add_quoted(out, hash_field_value(sorted[i]));
  }
  sim_free(sorted);
}

static void add_list(buffer *out, const list *l)
{
  for (size_t i = 0; i < l->count; i++) {
    add(out, SLICE(" "));
    add_quoted(out, list_at(l, i));
  }
}

static void add_zset(buffer *out, const zset *z)
{
  for (size_t i = 0; i < zset_count(z); i++) {
    char room[SLICE_FORMAT_MAX];
    double score;
    slice name = zset_at(z, i, &score);

    add(out, SLICE(" "));
    add_quoted(out, name);
    add(out, SLICE("="));
    add(out, slice_from_double(score, room));
  }
}

void report_key(key *entry, buffer *out)
{
  const value *v = key_value(entry);

  add(out, slice_of(value_kind_name(v->kind)));
  switch (v->kind) {
  case VALUE_NONE: break;
  case VALUE_STRING:
    add(out, SLICE(" "));
    add_quoted(out, blob_slice(v->as.string));
    break;
  case VALUE_STREAM:
  case VALUE_LIST: add_list(out, v->as.list); break;
  case VALUE_HASH: add_hash(out, v->as.hash); break;
  case VALUE_ZSET: add_zset(out, v->as.zset); break;
  }
  if (key_expires_ms(entry) != NEVER_MS) {
    add(out, SLICE(" until "));
    add_integer(out, key_expires_ms(entry));
  }
  (void)buffer_append(out, "", 1);
}

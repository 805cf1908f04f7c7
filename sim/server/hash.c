/* SPDX-License-Identifier: MIT */
/* Hashes: fields in the order in which they were first set. */
#include "server/table.h"

/* Where a real server turns its compact form into a table; it never turns back. */
#define SMALL_FIELDS 512
#define SMALL_BYTES 64

struct hash_field {
  UT_hash_handle hh;
  uint64_t number;
  blob *value;
  size_t size;
  char name[];
};

struct hash {
  hash_field *fields;
  uint64_t last_number;
  bool is_big;
};

hash *hash_new(void) { return sim_zalloc(sizeof(hash)); }

hash *hash_free(hash *h)
{
  hash_field *f, *next;

  if (h == NULL)
    return NULL;
  f = h->fields;
  HASH_CLEAR(hh, h->fields);
  for (; f != NULL; f = next) {
    next = f->hh.next;
    sim_free(f->value);
    sim_free(f);
  }
  sim_free(h);
  return NULL;
}

size_t hash_count(const hash *h) { return HASH_COUNT(h->fields); }

static hash_field *find(const hash *h, slice name)
{
  hash_field *f;

  HASH_FIND(hh, h->fields, name.bytes, name.size, f);
  return f;
}

bool hash_get(const hash *h, slice name, slice *ret_value)
{
  const hash_field *f = find(h, name);

  if (f != NULL)
    *ret_value = blob_slice(f->value);
  return f != NULL;
}

static hash_field *add(hash *h, slice name, uint64_t number)
{
  hash_field *f = sim_alloc(sizeof(*f) + name.size + 1);

  f->number = number;
  f->size = name.size;
  memcpy(f->name, name.bytes, name.size);
  HASH_ADD_KEYPTR(hh, h->fields, f->name, f->size, f);
  return f;
}

bool hash_set(hash *h, slice name, slice held)
{
  hash_field *f = find(h, name);
  bool is_new = f == NULL;

  if (is_new)
    f = add(h, name, ++h->last_number);
  else if (held.size == f->value->size) {
    memmove(f->value->bytes, held.bytes, held.size);
    return false;
  } else
    sim_free(f->value);
  f->value = blob_new(held);
  if (name.size > SMALL_BYTES || held.size > SMALL_BYTES ||
      HASH_COUNT(h->fields) > SMALL_FIELDS)
    h->is_big = true;
  return is_new;
}

bool hash_remove(hash *h, slice name)
{
  hash_field *f = find(h, name);

  if (f == NULL)
    return false;
  HASH_DELETE(hh, h->fields, f);
  sim_free(f->value);
  sim_free(f);
  return true;
}

hash *hash_copy(const hash *h)
{
  hash *copy = hash_new();

  copy->last_number = h->last_number;
  copy->is_big = h->is_big;
  for (const hash_field *f = h->fields; f != NULL; f = f->hh.next)
    add(copy, hash_field_name(f), f->number)->value = blob_new(blob_slice(f->value));
  return copy;
}

const hash_field *hash_next(const hash *h, const hash_field *after)
{
  return after == NULL ? h->fields : after->hh.next;
}

slice hash_field_name(const hash_field *f) { return (slice){ f->name, f->size }; }

slice hash_field_value(const hash_field *f) { return blob_slice(f->value); }

uint64_t hash_field_number(const hash_field *f) { return f->number; }

bool hash_is_small(const hash *h) { return !h->is_big; }

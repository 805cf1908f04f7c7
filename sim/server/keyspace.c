/* SPDX-License-Identifier: MIT */
/* Keys: a table in the order of insertion, and an array to draw from. */
#include "server/table.h"

struct key {
  UT_hash_handle hh;
  value value;
  int64_t expires_ms;
  uint64_t number;
  size_t place;         /* in keyspace.all */
  size_t size;
  char name[];
};

void value_clear(value *v)
{
  switch (v->kind) {
  case VALUE_NONE: break;
  case VALUE_STRING: sim_free(v->as.string); break;
  case VALUE_STREAM:
  case VALUE_LIST: list_free(v->as.list); break;
  case VALUE_HASH: hash_free(v->as.hash); break;
  case VALUE_ZSET: zset_free(v->as.zset); break;
  }
  v->kind = VALUE_NONE;
}

value value_copy(const value *v)
{
  value copy = { .kind = v->kind };

  switch (v->kind) {
  case VALUE_NONE: break;
  case VALUE_STRING: copy.as.string = blob_new(blob_slice(v->as.string)); break;
  case VALUE_STREAM:
  case VALUE_LIST: copy.as.list = list_copy(v->as.list); break;
  case VALUE_HASH: copy.as.hash = hash_copy(v->as.hash); break;
  case VALUE_ZSET: copy.as.zset = zset_copy(v->as.zset); break;
  }
  return copy;
}

const char *value_kind_name(value_kind kind)
{
  static const char *const names[] = { "none", "string", "list", "hash", "zset", "stream" };

  return names[kind];
}

key *keyspace_find(const keyspace *k, slice name)
{
  key *entry;

  HASH_FIND(hh, k->table, name.bytes, name.size, entry);
  return entry;
}

key *keyspace_add(keyspace *k, slice name)
{
  key *entry = sim_zalloc(sizeof(*entry) + name.size + 1);

  if (k->count == k->capacity) {
    k->capacity = k->capacity * 2 + 16;
    k->all = sim_realloc(k->all, k->capacity * sizeof(key *));
  }
  entry->expires_ms = NEVER_MS;
  entry->number = ++k->last_number;
  entry->place = k->count;
  entry->size = name.size;
  memcpy(entry->name, name.bytes, name.size);
  k->all[k->count++] = entry;
  HASH_ADD_KEYPTR(hh, k->table, entry->name, entry->size, entry);
  return entry;
}

void keyspace_remove(keyspace *k, key *entry)
{
  key *last = k->all[--k->count];

  k->all[entry->place] = last;
  last->place = entry->place;
  HASH_DELETE(hh, k->table, entry);
  value_clear(&entry->value);
  sim_free(entry);
}

void keyspace_clear(keyspace *k)
{
  HASH_CLEAR(hh, k->table);
  for (size_t i = 0; i < k->count; i++) {
    value_clear(&k->all[i]->value);
    sim_free(k->all[i]);
  }
  sim_free(k->all);
  *k = (keyspace){ NULL, NULL, 0, 0, k->last_number };
}

void keyspace_copy(keyspace *to, const keyspace *from)
{
  for (key *entry = from->table; entry != NULL; entry = entry->hh.next) {
    key *copy = keyspace_add(to, key_name(entry));

    copy->expires_ms = entry->expires_ms;
    copy->value = value_copy(&entry->value);
  }
}

key *keyspace_next(const keyspace *k, const key *after)
{
  return after == NULL ? k->table : after->hh.next;
}

key *keyspace_draw(const keyspace *k, random_source *random)
{
  return k->count == 0 ? NULL : k->all[random_below(random, k->count)];
}

slice key_name(const key *entry) { return (slice){ entry->name, entry->size }; }

value *key_value(key *entry) { return &entry->value; }

uint64_t key_number(const key *entry) { return entry->number; }

int64_t key_expires_ms(const key *entry) { return entry->expires_ms; }

void key_set_expires_ms(key *entry, int64_t at_ms) { entry->expires_ms = at_ms; }

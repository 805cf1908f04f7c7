/* SPDX-License-Identifier: MIT */
/* sim/server/value.h - what keys hold, and the tables of keys.
 *
 * Tables keep the order of insertion, and number their entries: walks are the same in
 * every run, and a cursor (the number of the next entry) survives removals. Nothing here
 * knows time or connections. */
#ifndef SIM_SERVER_VALUE_H
#define SIM_SERVER_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "server/memory.h"

/* ---- text.c ---- */

typedef struct slice { const char *bytes; size_t size; } slice;

#define SLICE(literal) ((slice){ (literal), sizeof(literal) - 1 })
#define SLICE_FORMAT_MAX 64          /* room for any number as text */

slice slice_of(const char *words);
bool slice_equal(slice a, slice b);
bool slice_is(slice a, const char *word);          /* upper or lower case alike */
int slice_compare(slice a, slice b);               /* by bytes */
/* As the server reads numbers: no blank, no plus, no zero in front. */
bool slice_to_integer(slice s, int64_t *ret);
bool slice_to_double(slice s, double *ret);        /* with inf; never nan */
bool slice_to_bound(slice s, double *ret);         /* blanks in front, and "" is 0 */
slice slice_from_integer(int64_t n, char room[SLICE_FORMAT_MAX]);
slice slice_from_double(double d, char room[SLICE_FORMAT_MAX]);    /* 17 digits */
bool slice_matches(slice pattern, slice s);        /* * ? [a-z] [^a] and \ */
void slice_sha1(slice s, char ret_hex[41]);

/* ---- blob: bytes of their own ---- */

typedef struct blob { size_t size; char bytes[]; } blob;

blob *blob_new(slice s);
static inline slice blob_slice(const blob *b) { return (slice){ b->bytes, b->size }; }

/* ---- hashes ---- */

struct UT_hash_handle;
typedef struct hash hash;
typedef struct hash_field hash_field;

hash *hash_new(void);
hash *hash_free(hash *h);
hash *hash_copy(const hash *h);
size_t hash_count(const hash *h);
bool hash_get(const hash *h, slice name, slice *ret_value);
bool hash_set(hash *h, slice name, slice value);   /* whether it is new */
bool hash_remove(hash *h, slice name);
/* Walks: NULL begins, NULL ends. Nothing may be removed but the field before. */
const hash_field *hash_next(const hash *h, const hash_field *after);
slice hash_field_name(const hash_field *f);
slice hash_field_value(const hash_field *f);
uint64_t hash_field_number(const hash_field *f);   /* from 1, growing */
/* A small hash is answered whole by HSCAN, whatever COUNT says. Once big, always big. */
bool hash_is_small(const hash *h);

/* ---- lists ---- */

typedef struct list { blob **items; size_t start, count, capacity; } list;

list *list_new(void);
list *list_free(list *l);
list *list_copy(const list *l);
static inline slice list_at(const list *l, size_t i) { return blob_slice(l->items[l->start + i]); }
void list_insert(list *l, size_t before, slice s);
void list_remove(list *l, size_t i);
void list_set(list *l, size_t i, slice s);

/* ---- sorted sets: by score, then by name ---- */

typedef struct zset zset;

zset *zset_new(void);
zset *zset_free(zset *z);
zset *zset_copy(const zset *z);
size_t zset_count(const zset *z);
bool zset_score(const zset *z, slice name, double *ret);
void zset_set(zset *z, slice name, double score);
bool zset_remove(zset *z, slice name);
slice zset_at(const zset *z, size_t rank, double *ret_score);
bool zset_rank(const zset *z, slice name, size_t *ret_rank);
/* How many come before all members of `score` (or behind: are not above it). */
size_t zset_below(const zset *z, double score, bool is_included);

/* ---- values and keys ---- */

typedef enum value_kind {
  VALUE_NONE, VALUE_STRING, VALUE_LIST, VALUE_HASH, VALUE_ZSET,
  VALUE_STREAM          /* as.list; commands_stream.c */
} value_kind;

typedef struct value {
  value_kind kind;
  union { blob *string; list *list; hash *hash; zset *zset; } as;
} value;

void value_clear(value *v);
value value_copy(const value *v);
const char *value_kind_name(value_kind kind);

#define NEVER_MS INT64_MAX

typedef struct key key;
typedef struct keyspace {
  key *table;           /* uthash head */
  key **all;            /* without order: to draw from */
  size_t count, capacity;
  uint64_t last_number;
} keyspace;

key *keyspace_find(const keyspace *k, slice name);
key *keyspace_add(keyspace *k, slice name);        /* not there yet; holds nothing */
void keyspace_remove(keyspace *k, key *entry);
void keyspace_clear(keyspace *k);
void keyspace_copy(keyspace *to, const keyspace *from);
key *keyspace_next(const keyspace *k, const key *after);   /* in order of insertion */
key *keyspace_draw(const keyspace *k, random_source *random);      /* NULL: empty */

slice key_name(const key *entry);
value *key_value(key *entry);
uint64_t key_number(const key *entry);
int64_t key_expires_ms(const key *entry);          /* NEVER_MS: it does not */
void key_set_expires_ms(key *entry, int64_t at_ms);

#endif

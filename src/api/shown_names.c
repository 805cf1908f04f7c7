/* SPDX-License-Identifier: MIT */
/* api/shown_names.c - see shown_names.h. */
#include "api/shown_names.h"

#include "base/hash.h"
#include "dialect/native.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include <string.h>

/* uthash allocates from the client's memory functions too; `m` is in scope at each use. */
#undef uthash_malloc
#undef uthash_free
#define uthash_malloc(bytes) mem_alloc(m, (bytes))
#define uthash_free(pointer, bytes) mem_free(m, (pointer))

struct shown_name {
  UT_hash_handle by_key;
  size_t size;
  char key[];                      /* the family, then the name */
};

static size_t key_write(char key[NAME_MAX_BYTES + 1], dibs_family family, const char *name,
                        size_t size)
{
  key[0] = (char)family;
  memcpy(key + 1, name, size);
  return size + 1;
}

bool shown_names_have(const shown_name *all, dibs_family family, const char *name, size_t size)
{
  char key[NAME_MAX_BYTES + 1];
  const shown_name *found = NULL;
  size_t key_size;

  if (all == NULL)
    return false;
  key_size = key_write(key, family, name, size);
  HASH_FIND_BYHASHVALUE(by_key, all, key, key_size, hash_in_memory(key, key_size), found);
  return found != NULL;
}

void shown_names_add(const memory *m, shown_name **all, dibs_family family, const char *name,
                     size_t size)
{
  shown_name *n = mem_zalloc(m, sizeof(*n) + size + 1);

  if (n == NULL)
    return;
  n->size = key_write(n->key, family, name, size);
  HASH_ADD_KEYPTR_BYHASHVALUE(by_key, *all, n->key, n->size, hash_in_memory(n->key, n->size), n);
  if (n->by_key.tbl == NULL)
    mem_free(m, n);
}

void shown_names_free(const memory *m, shown_name **all)
{
  shown_name *n, *next;

  HASH_ITER(by_key, *all, n, next) {
    HASH_DELETE(by_key, *all, n);
    mem_free(m, n);
  }
}

/* SPDX-License-Identifier: MIT */
/* Sorted sets: a table by name, and an array by score. */
#include "server/table.h"

typedef struct zset_member {
  UT_hash_handle hh;
  double score;
  size_t size;
  char name[];
} zset_member;

struct zset {
  zset_member *names;
  zset_member **ranked;
  size_t count, capacity;
};

zset *zset_new(void) { return sim_zalloc(sizeof(zset)); }

zset *zset_free(zset *z)
{
  if (z == NULL)
    return NULL;
  HASH_CLEAR(hh, z->names);
  for (size_t i = 0; i < z->count; i++)
    sim_free(z->ranked[i]);
  sim_free(z->ranked);
  sim_free(z);
  return NULL;
}

size_t zset_count(const zset *z) { return z->count; }

static slice name_of(const zset_member *m) { return (slice){ m->name, m->size }; }

static zset_member *find(const zset *z, slice name)
{
  zset_member *m;

  HASH_FIND(hh, z->names, name.bytes, name.size, m);
  return m;
}

/* How many members come before (score, name). */
static size_t place_of(const zset *z, double score, slice name)
{
  size_t low = 0, high = z->count;

  while (low < high) {
    size_t middle = (low + high) / 2;
    const zset_member *m = z->ranked[middle];

    if (m->score < score || (m->score == score && slice_compare(name_of(m), name) < 0))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void put(zset *z, zset_member *m)
{
  size_t place = place_of(z, m->score, name_of(m));

  memmove(z->ranked + place + 1, z->ranked + place,
          (z->count - place) * sizeof(zset_member *));
  z->ranked[place] = m;
  z->count++;
}

static void take(zset *z, const zset_member *m)
{
  size_t place = place_of(z, m->score, name_of(m));

  z->count--;
  memmove(z->ranked + place, z->ranked + place + 1,
          (z->count - place) * sizeof(zset_member *));
}

void zset_set(zset *z, slice name, double score)
{
  zset_member *m = find(z, name);

  score += 0.0;                                  /* there is no -0 */
  if (m != NULL) {
    take(z, m);
    m->score = score;
    put(z, m);
    return;
  }
  if (z->count == z->capacity) {
    z->capacity = z->capacity * 2 + 8;
    z->ranked = sim_realloc(z->ranked, z->capacity * sizeof(zset_member *));
  }
  m = sim_alloc(sizeof(*m) + name.size + 1);
  m->score = score;
  m->size = name.size;
  memcpy(m->name, name.bytes, name.size);
  HASH_ADD_KEYPTR(hh, z->names, m->name, m->size, m);
  put(z, m);
}

bool zset_remove(zset *z, slice name)
{
  zset_member *m = find(z, name);

  if (m == NULL)
    return false;
  take(z, m);
  HASH_DELETE(hh, z->names, m);
  sim_free(m);
  return true;
}

bool zset_score(const zset *z, slice name, double *ret)
{
  const zset_member *m = find(z, name);

  if (m != NULL)
    *ret = m->score;
  return m != NULL;
}

slice zset_at(const zset *z, size_t rank, double *ret_score)
{
  *ret_score = z->ranked[rank]->score;
  return name_of(z->ranked[rank]);
}

bool zset_rank(const zset *z, slice name, size_t *ret_rank)
{
  const zset_member *m = find(z, name);

  if (m != NULL)
    *ret_rank = place_of(z, m->score, name);
  return m != NULL;
}

size_t zset_below(const zset *z, double score, bool is_included)
{
  size_t low = 0, high = z->count;

  while (low < high) {
    size_t middle = (low + high) / 2;
    double there = z->ranked[middle]->score;

    if (there < score || (is_included && there == score))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

zset *zset_copy(const zset *z)
{
  zset *copy = zset_new();

  for (size_t i = 0; i < z->count; i++)
    zset_set(copy, name_of(z->ranked[i]), z->ranked[i]->score);
  return copy;
}

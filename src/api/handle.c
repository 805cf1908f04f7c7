/* SPDX-License-Identifier: MIT */
/* api/handle.c - see handle.h. Places are in chunks that double in size and never move;
 * free places form a stack whose head has a counter against the ABA problem. */
#include "api/handle.h"

#include <assert.h>
#include <stdlib.h>

#include "drive/drive.h"
#include "drive/fork_epoch.h"

#define CHUNK_FIRST 64u
#define CHUNKS_MAX 20
#define PINS_MASK 0x7fffffffu
#define RETIRED 0x80000000u

#if UINTPTR_MAX > 0xffffffffu
#define PLACE_BITS 31
#else
#define PLACE_BITS 19              /* leaves 12 bits of generation */
#endif
#define PLACES_MAX ((1u << PLACE_BITS) - 1)

static _Atomic(handle *) chunks[CHUNKS_MAX];
static _Atomic uint64_t free_head;      /* counter << 32 | place + 1 */

/* ---- places ---- */

static handle *handle_at(uint32_t place)
{
  /* Chunk i begins at CHUNK_FIRST * (2^i - 1). */
  int i = 31 - __builtin_clz(place / CHUNK_FIRST + 1);
  handle *chunk = i < CHUNKS_MAX ? atomic_load(&chunks[i]) : NULL;

  return chunk == NULL ? NULL : &chunk[place - CHUNK_FIRST * ((1u << i) - 1)];
}

static void free_push(handle *h)
{
  uint64_t head = atomic_load(&free_head), mine;

  do {
    atomic_store(&h->next_free, (uint32_t)head);
    mine = ((head >> 32) + 1) << 32 | (h->place + 1);
  } while (!atomic_compare_exchange_weak(&free_head, &head, mine));
}

static handle *free_pop(void)
{
  uint64_t head = atomic_load(&free_head), rest;
  handle *h;

  do {
    if ((uint32_t)head == 0)
      return NULL;
    h = handle_at((uint32_t)head - 1);
    if (h == NULL)
      return NULL;
    rest = ((head >> 32) + 1) << 32 | atomic_load(&h->next_free);
  } while (!atomic_compare_exchange_weak(&free_head, &head, rest));
  return h;
}

/* Adds the next chunk; true when there are new places, added by any thread. */
static bool table_grow(void)
{
  uint32_t size = CHUNK_FIRST, first = 0;
  handle *chunk, *none = NULL;
  int i = 0;

  for (; i < CHUNKS_MAX && atomic_load(&chunks[i]) != NULL; i++) {
    first += size;
    size *= 2;
  }
  if (i == CHUNKS_MAX || first + size > PLACES_MAX)
    return false;
  /* Process-wide, so the allocator of a client cannot be used. */
  chunk = calloc(size, sizeof(*chunk));
  if (chunk == NULL)
    return false;
  for (uint32_t p = 0; p < size; p++) {
    chunk[p].place = first + p;
    atomic_store(&chunk[p].word, (uint64_t)1 << 32);
    atomic_store(&chunk[p].fd, -1);
  }
  if (!atomic_compare_exchange_strong(&chunks[i], &none, chunk)) {
    free(chunk);
    return true;
  }
  for (uint32_t p = 0; p < size; p++)
    free_push(&chunk[p]);
  return true;
}

/* ---- values ---- */

/* As many bits of the generation as a value holds; never 0. */
static uintptr_t value_of(uint32_t place, uint64_t word)
{
  return ((uintptr_t)(word >> 32) << PLACE_BITS << 1) | (uintptr_t)place << 1 | 1u;
}

static handle *handle_of(uintptr_t value)
{
  return (value & 1u) == 0 ? NULL : handle_at((uint32_t)(value >> 1) & PLACES_MAX);
}

static bool is_of(const handle *h, uint64_t word, uintptr_t value, handle_kind kind)
{
  return (word & RETIRED) == 0 && value_of(h->place, word) == value &&
         atomic_load(&h->kind) == (int)kind;
}

void *handle_value(const handle *h)
{
  return (void *)value_of(h->place, atomic_load(&h->word));
}

/* ---- life ---- */

handle *handle_new(handle_kind kind, void *owner, const void *client)
{
  handle *h;

  while ((h = free_pop()) == NULL)
    if (!table_grow())
      return NULL;
  h->owner = owner;
  fact_set(&h->client, client);
  fact_set(&h->epoch, fork_epoch());
  fact_set(&h->valid_until_ns, 0);
  fact_set(&h->fence, 0);
  fact_set(&h->depth, 0);
  fact_set(&h->units, 0);
  fact_set(&h->condition, DIBS_HOLD_GONE);
  fact_set(&h->durability, 0);
  fact_set(&h->fd, -1);
  fact_set(&h->may_park, false);
  fact_set(&h->kind, kind);
  return h;
}

handle *handle_pin(const void *value, handle_kind kind)
{
  handle *h = handle_of((uintptr_t)value);
  uint64_t word;

  if (h == NULL)
    return NULL;
  drive_enter_call();                    /* before it is pinned: signal handlers look at it */
  word = atomic_load(&h->word);
  do {
    if (!is_of(h, word, (uintptr_t)value, kind)) {
      drive_leave_call();
      return NULL;
    }
  } while (!atomic_compare_exchange_weak(&h->word, &word, word + 1));
  return h;
}

handle *handle_pin_client_if_parks(const void *value, handle **ret_client)
{
  handle *h = handle_of((uintptr_t)value);
  const void *client;

  if (h == NULL || !atomic_load(&h->may_park) ||
      !is_of(h, atomic_load(&h->word), (uintptr_t)value, HANDLE_HOLD))
    return NULL;
  client = atomic_load_explicit(&h->client, memory_order_acquire);
  *ret_client = handle_pin(client, HANDLE_CLIENT);
  if (*ret_client == NULL || is_of(h, atomic_load(&h->word), (uintptr_t)value, HANDLE_HOLD))
    return *ret_client == NULL ? NULL : h;
  handle_unpin(*ret_client);             /* the place has another handle now */
  return NULL;
}

bool handle_is(const handle *h, const void *value, handle_kind kind)
{
  return is_of(h, atomic_load(&h->word), (uintptr_t)value, kind);
}

/* The last unpin of a retired place frees it. */
static void give_back(handle *h, uint64_t word)
{
  if ((word & PINS_MASK) != 0 || (word & RETIRED) == 0)
    return;
  if (atomic_compare_exchange_strong(&h->word, &word, word & ~(uint64_t)RETIRED))
    free_push(h);
}

void handle_unpin(handle *h)
{
  give_back(h, atomic_fetch_sub(&h->word, 1) - 1);
  drive_leave_call();
}

void handle_end(handle *h)
{
  uint64_t word = atomic_load(&h->word), next;

  fact_set(&h->kind, 0);
  do {
    assert((word & RETIRED) == 0);
    next = (word + ((uint64_t)1 << 32)) | RETIRED;
    if (next >> 32 == 0)
      next |= (uint64_t)1 << 32;         /* generation 0 would make a small value */
  } while (!atomic_compare_exchange_weak(&h->word, &word, next));
  give_back(h, next);
}

bool handle_has_next(const handle *h)
{
  return atomic_load_explicit(&h->word, memory_order_relaxed) >> 32 != UINT32_MAX;
}

void handle_renew(handle *h)
{
  atomic_store_explicit(&h->condition, DIBS_HOLD_GONE, memory_order_release);
  (void)atomic_fetch_add(&h->word, (uint64_t)1 << 32);
}

void handle_wait(const handle *h)
{
  uint64_t next = atomic_load(&h->word) >> 32;

  /* Pinned calls no longer use the client's mutex; only their unpin is missing. */
  for (;;) {
    uint64_t word = atomic_load(&h->word);

    if (word >> 32 != next || (word & RETIRED) == 0 || (word & PINS_MASK) == 0)
      return;
    drive_nap();
  }
}

bool handle_look(const void *value, handle_kind kind, handle_view *ret_view)
{
  handle *h = handle_of((uintptr_t)value);
  handle_view view;

  if (h == NULL || !is_of(h, atomic_load(&h->word), (uintptr_t)value, kind))
    return false;
  view.epoch = atomic_load(&h->epoch);
  view.fence = atomic_load(&h->fence);
  view.valid_until_ns = atomic_load(&h->valid_until_ns);
  view.depth = atomic_load(&h->depth);
  view.units = atomic_load(&h->units);
  view.condition = atomic_load(&h->condition);
  view.durability = atomic_load(&h->durability);
  /* Still the same handle: so all fields were its own. */
  if (!is_of(h, atomic_load(&h->word), (uintptr_t)value, kind))
    return false;
  *ret_view = view;
  return true;
}

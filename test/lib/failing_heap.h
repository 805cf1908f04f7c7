/* SPDX-License-Identifier: MIT */
/* failing_heap.h - memory for tests: counts, refuses on command, notices leaks.
 *
 * Its three functions fit `memory` of base/ and dibs_allocator alike. A reallocation
 * always moves, so that a kept old address is found by the sanitizer. Any thread. */
#ifndef FAILING_HEAP_H
#define FAILING_HEAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct failing_heap {
  atomic_size_t asked;     /* allocations and reallocations so far, refused ones too */
  atomic_size_t refused;
  atomic_size_t live;      /* blocks not released */
  size_t fail_at;          /* the first request to refuse, counted from 1; 0: none */
  bool keeps_failing;      /* also refuse all that come behind it */
  const char *secret;      /* NULL, or a text that no released block may contain */
} failing_heap;

void *failing_heap_allocate(size_t bytes, void *heap);
void *failing_heap_reallocate(void *block, size_t bytes, void *heap);
void failing_heap_release(void *block, void *heap);

/* A `memory` or a dibs_allocator over `heap`, by the type named. */
#define FAILING_HEAP_AS(type, heap) \
  ((type){ failing_heap_allocate, failing_heap_reallocate, failing_heap_release, (heap) })

/* One run of what is tested: makes, uses and frees all its things through `heap`, and
 * answers whether it got through; false is right only when memory was refused. */
typedef bool (*failing_heap_scenario)(failing_heap *heap, void *data);

/* Runs `scenario` with nothing refused, then once for each of its requests with that one
 * refused, then with all from that one on. Fails the test on a leak, or when a run does
 * not get through although nothing was refused. */
void failing_heap_try_all(failing_heap_scenario scenario, void *data);

#endif

/* SPDX-License-Identifier: MIT */
/* failing_heap.c - see failing_heap.h. Each block has a head that says its size. */
#include "tests.h"
#include "failing_heap.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIVE_MARK UINT64_C(0x6c69766562c0ffee)
#define DEAD_MARK UINT64_C(0x64656164b10c0000)
#define RUNS_MAX 100000

typedef union head {
  struct { uint64_t mark; size_t size; } is;
  max_align_t aligned;
} head;

static bool is_refused(failing_heap *heap)
{
  size_t request = atomic_fetch_add(&heap->asked, 1) + 1;
  bool refused = heap->fail_at != 0
    && (heap->keeps_failing ? request >= heap->fail_at : request == heap->fail_at);

  if (refused)
    atomic_fetch_add(&heap->refused, 1);
  return refused;
}

static head *head_of(void *block)
{
  head *h = (head *)block - 1;

  if (h->is.mark != LIVE_MARK) {
    fprintf(stderr, "failing_heap: a block that is not (or no longer) its own\n");
    abort();
  }
  return h;
}

static bool contains(const char *bytes, size_t size, const char *words)
{
  size_t length = strlen(words);

  for (size_t i = 0; length <= size && i <= size - length; i++)
    if (memcmp(bytes + i, words, length) == 0)
      return true;
  return false;
}

static void *block_new(failing_heap *heap, size_t bytes)
{
  head *h = malloc(sizeof(*h) + bytes);

  if (h == NULL)
    abort();
  h->is.mark = LIVE_MARK;
  h->is.size = bytes;
  /* What was never written must not look like zeros. */
  memset(h + 1, 0xa5, bytes);
  atomic_fetch_add(&heap->live, 1);
  return h + 1;
}

void *failing_heap_allocate(size_t bytes, void *heap)
{
  return is_refused(heap) ? NULL : block_new(heap, bytes);
}

void *failing_heap_reallocate(void *block, size_t bytes, void *heap)
{
  void *moved;

  if (is_refused(heap))
    return NULL;
  moved = block_new(heap, bytes);
  if (block != NULL) {
    size_t size = head_of(block)->is.size;
    memcpy(moved, block, size < bytes ? size : bytes);
    failing_heap_release(block, heap);
  }
  return moved;
}

void failing_heap_release(void *block, void *heap)
{
  failing_heap *owner = heap;
  head *h;

  if (block == NULL)
    return;
  h = head_of(block);
  if (owner->secret != NULL && contains(block, h->is.size, owner->secret)) {
    fprintf(stderr, "failing_heap: a released block still contains the secret\n");
    abort();
  }
  h->is.mark = DEAD_MARK;
  memset(block, 0x5a, h->is.size);
  atomic_fetch_sub(&owner->live, 1);
  free(h);
}

/* One run; false when the scenario never came to the request to refuse. A run without a refusal
 * must get through; on a busy machine its time limits may pass first, so it has three attempts. */
static bool run(failing_heap_scenario scenario, void *data, size_t fail_at, bool keeps_failing)
{
  for (int attempt = 0; attempt < 3; attempt++) {
    failing_heap heap = { .fail_at = fail_at, .keeps_failing = keeps_failing };
    bool is_through = scenario(&heap, data);

    if (atomic_load(&heap.live) != 0)
      fail_msg("%zu blocks leaked with request %zu refused", atomic_load(&heap.live), fail_at);
    if (atomic_load(&heap.refused) > 0)
      return true;
    if (is_through)
      return false;
  }
  fail_msg("not through, though nothing was refused (%zu)", fail_at);
  return false;
}

void failing_heap_try_all(failing_heap_scenario scenario, void *data)
{
  assert_false(run(scenario, data, 0, false));
  for (size_t keeps = 0; keeps < 2; keeps++) {
    size_t fail_at = 1;
    while (fail_at < RUNS_MAX && run(scenario, data, fail_at, keeps == 1))
      fail_at++;
    assert_true(fail_at > 1);      /* else the scenario asks for no memory at all */
    assert_true(fail_at < RUNS_MAX);
  }
}

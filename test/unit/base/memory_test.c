/* SPDX-License-Identifier: MIT */
/* Unit: base/memory.c - allocation through a table of functions, copies, wiping. */
#include "tests.h"
#include "base/base.h"

#include <stdint.h>
#include <string.h>

#include "failing_heap.h"

TEST(zeroed_memory_is_zero)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  unsigned char *p = mem_zalloc(&m, 100);

  for (size_t i = 0; i < 100; i++)
    assert_int_equal(p[i], 0);
  mem_free(&m, p);
  assert_int_equal(heap.live, 0);
}

TEST(no_bytes_are_still_a_block)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  void *p = mem_alloc(&m, 0);

  assert_non_null(p);
  p = mem_realloc(&m, p, 0);
  assert_non_null(p);
  mem_free(&m, p);
}

TEST(a_copy_has_a_final_zero)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  char *copy = mem_copy(&m, "a\0b", 3);

  assert_memory_equal(copy, "a\0b", 4);
  mem_free(&m, copy);
  copy = mem_copy(&m, NULL, 0);
  assert_string_equal(copy, "");
  mem_free(&m, copy);
}

TEST(a_copy_that_cannot_have_a_final_zero_is_refused)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);

  assert_null(mem_copy(&m, "x", SIZE_MAX));
  assert_int_equal(heap.asked, 0);
}

TEST(no_text_has_no_copy)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);

  assert_null(mem_copy_text(&m, NULL));
  mem_free(&m, NULL);
  mem_free_secret(&m, NULL);
}

TEST(a_secret_is_wiped_before_it_is_freed)
{
  failing_heap heap = { .secret = "hunter2" };    /* aborts when it sees it released */
  memory m = FAILING_HEAP_AS(memory, &heap);

  mem_free_secret(&m, mem_copy_text(&m, "hunter2"));
  assert_int_equal(heap.live, 0);
}

TEST(wiping_clears_each_byte_and_no_more)
{
  char bytes[] = "abcdef";

  mem_wipe(bytes + 1, 4);
  assert_memory_equal(bytes, "a\0\0\0\0f", 7);
}

static bool copies(failing_heap *heap, void *data)
{
  memory m = FAILING_HEAP_AS(memory, heap);
  char *one = mem_copy_text(&m, "one");
  char *two = mem_zalloc(&m, 10);
  char *three = one == NULL ? NULL : mem_realloc(&m, one, 100);
  bool is_through = one != NULL && two != NULL && three != NULL;

  (void)data;
  mem_free(&m, two);
  mem_free(&m, three != NULL ? three : one);
  return is_through;
}

TEST(refusals_are_answered_with_null)
{
  failing_heap_try_all(copies, NULL);
}

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* Unit: base/memory.c - allocation through a table of functions, copies, wiping. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "failing_heap.h"

static void zeroed_memory_is_zero(void **state)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  unsigned char *p = mem_zalloc(&m, 100);

  (void)state;
  for (size_t i = 0; i < 100; i++)
    assert_int_equal(p[i], 0);
  mem_free(&m, p);
  assert_int_equal(heap.live, 0);
}

static void no_bytes_are_still_a_block(void **state)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  void *p = mem_alloc(&m, 0);

  (void)state;
  assert_non_null(p);
  p = mem_realloc(&m, p, 0);
  assert_non_null(p);
  mem_free(&m, p);
}

static void a_copy_has_a_final_zero(void **state)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  char *copy = mem_copy(&m, "a\0b", 3);

  (void)state;
  assert_memory_equal(copy, "a\0b", 4);
  mem_free(&m, copy);
  copy = mem_copy(&m, NULL, 0);
  assert_string_equal(copy, "");
  mem_free(&m, copy);
}

static void a_copy_that_cannot_have_a_final_zero_is_refused(void **state)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);

  (void)state;
  assert_null(mem_copy(&m, "x", SIZE_MAX));
  assert_int_equal(heap.asked, 0);
}

static void no_text_has_no_copy(void **state)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);

  (void)state;
  assert_null(mem_copy_text(&m, NULL));
  mem_free(&m, NULL);
  mem_free_secret(&m, NULL);
}

static void a_secret_is_wiped_before_it_is_freed(void **state)
{
  failing_heap heap = { .secret = "hunter2" };    /* aborts when it sees it released */
  memory m = FAILING_HEAP_AS(memory, &heap);

  (void)state;
  mem_free_secret(&m, mem_copy_text(&m, "hunter2"));
  assert_int_equal(heap.live, 0);
}

static void wiping_clears_each_byte_and_no_more(void **state)
{
  char bytes[] = "abcdef";

  (void)state;
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

static void refusals_are_answered_with_null(void **state)
{
  (void)state;
  failing_heap_try_all(copies, NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(zeroed_memory_is_zero),
    cmocka_unit_test(no_bytes_are_still_a_block),
    cmocka_unit_test(a_copy_has_a_final_zero),
    cmocka_unit_test(a_copy_that_cannot_have_a_final_zero_is_refused),
    cmocka_unit_test(no_text_has_no_copy),
    cmocka_unit_test(a_secret_is_wiped_before_it_is_freed),
    cmocka_unit_test(wiping_clears_each_byte_and_no_more),
    cmocka_unit_test(refusals_are_answered_with_null),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Unit: base/buffer.c - bytes in at the end, out at the front, in order, none lost. */
#include "tests.h"
#include "base/base.h"

#include <stdint.h>
#include <string.h>

#include "failing_heap.h"

TEST(bytes_come_out_as_they_went_in)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  buffer b;
  uint8_t next_in = 0;
  uint8_t next_out = 0;

  buffer_init(&b, &m);
  for (size_t round = 0; round < 2000; round++) {
    size_t in = round * 7 % 61;
    size_t out = round * 5 % 53;
    for (size_t i = 0; i < in; i++) {
      assert_true(buffer_append(&b, &next_in, 1));
      next_in++;
    }
    if (out > buffer_size(&b))
      out = buffer_size(&b);
    for (size_t i = 0; i < out; i++)
      assert_int_equal((uint8_t)buffer_bytes(&b)[i], next_out++);
    buffer_consume(&b, out);
  }
  buffer_deinit(&b);
  assert_int_equal(heap.live, 0);
}

TEST(a_steady_flow_does_not_grow_it)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  buffer b;

  buffer_init(&b, &m);
  assert_true(buffer_append(&b, "head", 4));
  for (size_t i = 0; i < 100000; i++) {
    assert_true(buffer_append(&b, "0123456789", 10));
    buffer_consume(&b, 10);
  }
  assert_true(b.capacity <= 1024);
  assert_int_equal(heap.asked, 1);
  buffer_deinit(&b);
}

TEST(an_empty_one_still_has_an_address)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  buffer b;

  buffer_init(&b, &m);
  assert_int_equal(buffer_size(&b), 0);
  assert_non_null(buffer_bytes(&b));
  assert_true(buffer_append(&b, NULL, 0));
  buffer_consume(&b, 0);
  buffer_deinit(&b);
}

TEST(reserved_room_is_used_without_asking)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  buffer b;
  char kilobyte[1000] = { 0 };

  buffer_init(&b, &m);
  assert_true(buffer_reserve(&b, sizeof(kilobyte)));
  heap.fail_at = 1;
  heap.keeps_failing = true;
  assert_true(buffer_append(&b, kilobyte, sizeof(kilobyte)));
  buffer_deinit(&b);
}

TEST(too_much_is_refused_and_changes_nothing)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  buffer b;

  buffer_init(&b, &m);
  assert_true(buffer_append(&b, "abc", 3));
  assert_false(buffer_reserve(&b, SIZE_MAX));
  assert_false(buffer_reserve(&b, SIZE_MAX - 2));
  heap.fail_at = heap.asked + 1;
  assert_false(buffer_append(&b, (char[5000]){ 0 }, 5000));
  assert_int_equal(buffer_size(&b), 3);
  assert_memory_equal(buffer_bytes(&b), "abc", 3);
  buffer_deinit(&b);
}

TEST(truncating_drops_the_newest_bytes)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  buffer b;

  buffer_init(&b, &m);
  assert_true(buffer_append(&b, "abcdef", 6));
  buffer_consume(&b, 1);
  buffer_truncate(&b, 2);
  assert_int_equal(buffer_size(&b), 3);
  assert_memory_equal(buffer_bytes(&b), "bcd", 3);
  buffer_clear(&b);
  assert_int_equal(buffer_size(&b), 0);
  buffer_deinit(&b);
}

static bool fills(failing_heap *heap, void *data)
{
  memory m = FAILING_HEAP_AS(memory, heap);
  buffer b;
  size_t kept = 0;

  (void)data;
  buffer_init(&b, &m);
  for (size_t i = 0; i < 1000; i++) {
    char c = (char)i;
    kept += buffer_append(&b, &c, 1);
  }
  assert_int_equal(buffer_size(&b), kept);
  buffer_deinit(&b);
  return kept == 1000;
}

TEST(refusals_lose_no_byte)
{
  failing_heap_try_all(fills, NULL);
}

RUN_TESTS(NULL, NULL)

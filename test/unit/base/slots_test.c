/* SPDX-License-Identifier: MIT */
/* Unit: base/slots.c - an id finds its own item or nobody. */
#include "tests.h"
#include "base/base.h"

#include <stdint.h>

#include "failing_heap.h"

TEST(an_old_id_does_not_find_the_next_tenant)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  slots s;
  int a, b;
  uint64_t first, second;

  slots_init(&s, &m);
  first = slots_add(&s, &a);
  assert_ptr_equal(slots_get(&s, first), &a);
  slots_remove(&s, first);
  assert_null(slots_get(&s, first));
  second = slots_add(&s, &b);
  assert_true(first != second);
  assert_null(slots_get(&s, first));
  assert_ptr_equal(slots_get(&s, second), &b);
  slots_deinit(&s);
  assert_int_equal(heap.live, 0);
}

TEST(made_up_ids_find_nobody)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  slots s;
  int a;
  uint64_t id;

  slots_init(&s, &m);
  assert_null(slots_get(&s, 0));
  assert_null(slots_get(&s, UINT64_MAX));
  id = slots_add(&s, &a);
  assert_null(slots_get(&s, 0));
  assert_null(slots_get(&s, id + 1));               /* a place never used */
  assert_null(slots_get(&s, id + (UINT64_C(1) << 32)));
  assert_null(slots_get(&s, UINT64_MAX));
  slots_deinit(&s);
}

TEST(a_place_with_used_up_generations_is_retired)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  slots s;
  int a;
  uint64_t old, id;

  slots_init(&s, &m);
  id = slots_add(&s, &a);
  slots_remove(&s, id);
  s.all[(uint32_t)id].generation = UINT32_MAX;
  old = slots_add(&s, &a);
  assert_int_equal((uint32_t)old, (uint32_t)id);
  slots_remove(&s, old);
  assert_null(slots_get(&s, old));
  for (size_t i = 0; i < 100; i++)
    assert_int_not_equal((uint32_t)slots_add(&s, &a), (uint32_t)id);
  slots_deinit(&s);
}

static bool churns(failing_heap *heap, void *data)
{
  memory m = FAILING_HEAP_AS(memory, heap);
  slots s;
  int items[100];
  uint64_t ids[100];
  size_t refused = 0;

  (void)data;
  slots_init(&s, &m);
  for (size_t round = 0; round < 3; round++) {
    for (size_t i = 0; i < 100; i++) {
      ids[i] = slots_add(&s, &items[i]);
      refused += ids[i] == 0;
    }
    for (size_t i = 0; i < 100; i++) {
      if (ids[i] == 0)
        continue;
      assert_ptr_equal(slots_get(&s, ids[i]), &items[i]);
      slots_remove(&s, ids[i]);
    }
    assert_int_equal(s.count, 0);
  }
  slots_deinit(&s);
  return refused == 0;
}

TEST(refusals_lose_no_item)
{
  failing_heap_try_all(churns, NULL);
}

RUN_TESTS(NULL, NULL)

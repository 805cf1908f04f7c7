/* SPDX-License-Identifier: MIT */
/* lock/fence_memory.c: the last fence of a name is the floor of its next ones (redisson.md 2). */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>

#include "lock/fence_memory.h"

static fence_memory all;

static int empty(void **state)
{
  (void)state;
  all = (fence_memory){ { { .name = 0 } } };
  return 0;
}

TEST(the_highest_fence_of_a_name_is_kept)
{
  assert_int_equal(fence_memory_last(&all, "a", 1), 0);
  fence_memory_add(&all, "a", 1, 7);
  fence_memory_add(&all, "a", 1, 5);
  assert_int_equal(fence_memory_last(&all, "a", 1), 7);
  assert_int_equal(fence_memory_last(&all, "b", 1), 0);
  fence_memory_add(&all, "a", 1, 8);
  assert_int_equal(fence_memory_last(&all, "a", 1), 8);
}

/* A name has its own last fence, or none; never that of another. */
TEST(names_replace_each_other)
{
  char name[16];
  int known = 0;

  for (uint64_t i = 1; i <= 10 * FENCE_RECORDS; i++)
    fence_memory_add(&all, name, (size_t)snprintf(name, sizeof(name), "n%d", (int)i), i);
  for (uint64_t i = 1; i <= 10 * FENCE_RECORDS; i++) {
    size_t size = (size_t)snprintf(name, sizeof(name), "n%d", (int)i);
    uint64_t last = fence_memory_last(&all, name, size);

    assert_true(last == 0 || last == i);
    known += last != 0;
  }
  assert_in_range(known, 1, FENCE_RECORDS);
}

RUN_TESTS_EACH(NULL, NULL, empty, NULL)

/* SPDX-License-Identifier: MIT */
/* Unit: api/pattern.c - patterns that need one slot of a Cluster only. */
#include "tests.h"

#include <string.h>

#include "api/pattern.h"

TEST(a_name_needs_one_slot)
{
  static const char *const names[] = { "a", "orders:7", "{a}", "{a}:b}", "b{a}c", "{", "a b" };

  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    if (!pattern_is_in_one_slot(names[i]))
      fail_msg("%s", names[i]);
}

/* A latch "a}b" is in the slot of "a}b", a lock in that of "a". */
TEST(a_pattern_or_a_name_with_two_slots_does_not)
{
  static const char *const others[] = { "", "*", "a*", "a?", "[a]", "\\a", "{a}*", "a}b", "{}a",
                                        "a{}" };
  char longer[NAME_MAX_BYTES + 2];

  for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
    if (pattern_is_in_one_slot(others[i]))
      fail_msg("%s", others[i]);
  memset(longer, 'a', sizeof(longer) - 1);
  longer[sizeof(longer) - 1] = 0;
  assert_false(pattern_is_in_one_slot(longer));
  longer[NAME_MAX_BYTES] = 0;
  assert_true(pattern_is_in_one_slot(longer));
}

RUN_TESTS(NULL, NULL)

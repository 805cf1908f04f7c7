/* SPDX-License-Identifier: MIT */
/* Unit: base/nearest.c - the edit distance. */
#include "base/nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define LONGEST "abcdefghijklmnopqrstuvwxyz012345"

static void expect_distance(const char *a, const char *b, size_t wanted)
{
  assert_int_equal(edit_distance(a, strlen(a), b, strlen(b)), wanted);
  assert_int_equal(edit_distance(b, strlen(b), a, strlen(a)), wanted);
}

static void letters_are_added_removed_and_replaced(void **state)
{
  (void)state;
  expect_distance("", "", 0);
  expect_distance("", "abc", 3);
  expect_distance("rnu", "run", 2);
  expect_distance("elcet", "elect", 2);
  expect_distance("prefx", "prefix", 1);
  expect_distance("kitten", "sitting", 3);
  expect_distance("Saturday", "Sunday", 3);
}

static void longer_words_are_far(void **state)
{
  (void)state;
  expect_distance(LONGEST, LONGEST, 0);
  expect_distance(LONGEST "6", LONGEST, EDIT_DISTANCE_MAX);
  expect_distance(LONGEST "6", LONGEST "6", EDIT_DISTANCE_MAX);
  expect_distance(LONGEST "6", "", EDIT_DISTANCE_MAX);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(letters_are_added_removed_and_replaced),
    cmocka_unit_test(longer_words_are_far),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}

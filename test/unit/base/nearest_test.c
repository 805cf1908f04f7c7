/* SPDX-License-Identifier: MIT */
/* Unit: base/nearest.c - the edit distance. */
#include "tests.h"
#include "base/nearest.h"

#include <stdint.h>
#include <string.h>

#define LONGEST "abcdefghijklmnopqrstuvwxyz012345"

static void expect_distance(const char *a, const char *b, size_t wanted)
{
  assert_int_equal(edit_distance(a, strlen(a), b, strlen(b)), wanted);
  assert_int_equal(edit_distance(b, strlen(b), a, strlen(a)), wanted);
}

TEST(letters_are_added_removed_and_replaced)
{
  expect_distance("", "", 0);
  expect_distance("", "abc", 3);
  expect_distance("rnu", "run", 2);
  expect_distance("elcet", "elect", 2);
  expect_distance("prefx", "prefix", 1);
  expect_distance("kitten", "sitting", 3);
  expect_distance("Saturday", "Sunday", 3);
}

TEST(longer_words_are_far)
{
  expect_distance(LONGEST, LONGEST, 0);
  expect_distance(LONGEST "6", LONGEST, EDIT_DISTANCE_MAX);
  expect_distance(LONGEST "6", LONGEST "6", EDIT_DISTANCE_MAX);
  expect_distance(LONGEST "6", "", EDIT_DISTANCE_MAX);
}

RUN_TESTS(NULL, NULL)

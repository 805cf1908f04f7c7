/* SPDX-License-Identifier: MIT */
/* JSON on stdout without memory. */
#include "tests.h"

#include <stdlib.h>

#include "cli/json.h"

static bool is_full;

static void *take(size_t size)
{
  return is_full ? NULL : malloc(size);
}

TEST(an_object_that_memory_does_not_suffice_for_leaves_the_output_incomplete)
{
  json_t *object;

  json_set_alloc_funcs(take, free);
  object = json_pack("{s:s}", "token", "lease:1");
  assert_non_null(object);
  assert_true(json_is_complete());
  is_full = true;
  json_print(object);
  is_full = false;
  assert_false(json_is_complete());
}

RUN_TESTS(NULL, NULL)

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

TEST(characters_that_control_a_terminal_are_escaped)
{
  json_t *object = json_pack("{s:s}", "n", "\x1b\x7f\xc2\x80\xc2\x9bm\xc2\xa0\xc3\xa9");
  char *line = json_line(object);

  assert_string_equal(line, "{\"n\":\"\\u001B\\u007F\\u0080\\u009Bm\xc2\xa0\xc3\xa9\"}");
  free(line);
  json_decref(object);
}

RUN_TESTS(NULL, NULL)

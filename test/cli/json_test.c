/* SPDX-License-Identifier: MIT */
/* JSON on stdout without memory. */
#include "tests.h"

#include <stdlib.h>
#include <string.h>

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

TEST(a_name_of_any_bytes_is_written_as_digits_and_read_again)
{
  static const char name[] = "a\0\xff";
  char hex[2 * DIBS_NAME_MAX + 1], back[DIBS_NAME_MAX + 1];
  char longest[2 * DIBS_NAME_MAX + 3];

  name_to_hex(name, 3, hex);
  assert_string_equal(hex, "6100ff");
  assert_int_equal(name_of_hex("6100FF", back), 3);
  assert_memory_equal(back, name, 3);
  assert_int_equal(back[3], 0);
  name_to_hex(name, 0, hex);
  assert_string_equal(hex, "");
  assert_int_equal(name_of_hex("", back), 0);
  assert_int_equal(name_of_hex("610", back), 0);
  assert_int_equal(name_of_hex("6g", back), 0);
  assert_int_equal(name_of_hex("g6", back), 0);
  memset(longest, 'a', sizeof(longest));
  longest[2 * DIBS_NAME_MAX] = '\0';
  assert_int_equal(name_of_hex(longest, back), DIBS_NAME_MAX);
  longest[2 * DIBS_NAME_MAX] = 'a';
  longest[2 * DIBS_NAME_MAX + 2] = '\0';
  assert_int_equal(name_of_hex(longest, back), 0);
}

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* Unit: resp/resp_command.c - commands as RESP arrays of strings. */
#include "tests.h"
#include "resp/resp.h"

#include <stdint.h>
#include <string.h>

#include "failing_heap.h"

TEST(a_command_is_an_array_of_strings)
{
  static const char wanted[] = "+x\r\n*4\r\n$4\r\nEVAL\r\n$3\r\na\0b\r\n$0\r\n\r\n$1\r\n \r\n";
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  resp_argument words[4] = { RESP_TEXT("EVAL"), { "a\0b", 3 }, { NULL, 0 }, { " ", 1 } };
  buffer out;

  buffer_init(&out, &m);
  assert_true(buffer_append(&out, "+x\r\n", 4));
  assert_true(resp_command(&out, words, 4));
  assert_int_equal(buffer_size(&out), sizeof(wanted) - 1);
  assert_memory_equal(buffer_bytes(&out), wanted, sizeof(wanted) - 1);
  buffer_deinit(&out);
  assert_int_equal(heap.live, 0);
}

/* More words than fit the stack of the function. */
static bool writes_many(failing_heap *heap, void *data)
{
  memory m = FAILING_HEAP_AS(memory, heap);
  resp_argument words[500];
  buffer out;
  bool is_written;

  (void)data;
  for (size_t i = 0; i < 500; i++)
    words[i] = RESP_TEXT("word");
  buffer_init(&out, &m);
  is_written = resp_command(&out, words, 500);
  assert_int_equal(buffer_size(&out), is_written ? 6 + 500 * 10 : 0);
  buffer_deinit(&out);
  return is_written;
}

TEST(a_refused_command_leaves_the_buffer_as_it_was)
{
  failing_heap_try_all(writes_many, NULL);
}

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* Unit: request/ - commands as values: what they become on the wire, and where they go. */
#include "tests.h"
#include "request/request.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "failing_heap.h"

#define DIGEST "2067d915024a3e1657c4169c84f809f8ebdcff79"

static const script sample = { "native/sample", "return 1\n", 9, DIGEST, "dibs_sample_01234567" };
static failing_heap heap;

static memory plain(void)
{
  heap = (failing_heap){ 0 };
  return FAILING_HEAP_AS(memory, &heap);
}

static void expect_rendered(const request *r, bool by_function, const char *wanted)
{
  buffer out;

  buffer_init(&out, &r->bytes.memory);
  assert_true(buffer_append(&out, "before", 6));
  assert_true(request_render(r, by_function, &out));
  assert_int_equal(buffer_size(&out), 6 + strlen(wanted));
  assert_memory_equal(buffer_bytes(&out) + 6, wanted, strlen(wanted));
  buffer_deinit(&out);
}

/* ---- what travels ---- */

static void expect_call(bool carries_text, bool by_function, size_t key_count,
                        size_t argument_count, const char *wanted)
{
  resp_argument keys[2] = { RESP_TEXT("k1"), RESP_TEXT("k2") };
  resp_argument arguments[1] = { RESP_TEXT("a") };
  memory m = plain();
  request r;

  request_init(&r, &m);
  assert_true(request_script(&r, &sample, keys, key_count, arguments, argument_count));
  r.carries_text = carries_text;
  expect_rendered(&r, by_function, wanted);
  request_deinit(&r);
}

TEST(a_known_script_is_called_by_its_digest)
{
  expect_call(false, false, 2, 1,
              "*6\r\n$7\r\nEVALSHA\r\n$40\r\n" DIGEST "\r\n"
              "$1\r\n2\r\n$2\r\nk1\r\n$2\r\nk2\r\n$1\r\na\r\n");
}

TEST(an_unknown_one_by_its_text)
{
  expect_call(true, false, 1, 1,
              "*5\r\n$4\r\nEVAL\r\n$9\r\nreturn 1\n\r\n$1\r\n1\r\n$2\r\nk1\r\n$1\r\na\r\n");
  expect_call(true, false, 0, 0, "*3\r\n$4\r\nEVAL\r\n$9\r\nreturn 1\n\r\n$1\r\n0\r\n");
}

TEST(a_function_by_its_name_with_text_or_without)
{
  static const char wanted[] = "*5\r\n$5\r\nFCALL\r\n$20\r\ndibs_sample_01234567\r\n$1\r\n1\r\n"
                               "$2\r\nk1\r\n$1\r\na\r\n";

  expect_call(false, true, 1, 1, wanted);
  expect_call(true, true, 1, 1, wanted);
}

TEST(a_plain_command_is_its_arguments_with_any_bytes)
{
  resp_argument arguments[3] = { RESP_TEXT("SET"), { "", 0 }, { "\0\r\n", 3 } };
  memory m = plain();
  buffer out;
  request r;

  request_init(&r, &m);
  buffer_init(&out, &m);
  assert_true(request_command(&r, arguments, 3));
  assert_true(request_render(&r, true, &out));
  assert_int_equal(buffer_size(&out), 4 + 9 + 6 + 9);
  assert_memory_equal(buffer_bytes(&out), "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$3\r\n\0\r\n\r\n", 28);
  buffer_deinit(&out);
  request_deinit(&r);
}

TEST(keys_and_arguments_may_come_one_by_one)
{
  memory m = plain();
  request r;

  request_init(&r, &m);
  request_begin(&r, &sample);
  request_put(&r, "k1", 2);
  request_put(&r, "k2", 2);
  request_keys_end(&r);
  assert_true(request_add(&r, &RESP_TEXT("a"), 1));
  expect_rendered(&r, false,
                  "*6\r\n$7\r\nEVALSHA\r\n$40\r\n" DIGEST "\r\n"
                  "$1\r\n2\r\n$2\r\nk1\r\n$2\r\nk2\r\n$1\r\na\r\n");
  request_deinit(&r);
}

TEST(a_copy_travels_as_its_original_and_a_request_starts_over)
{
  resp_argument key = RESP_TEXT("k1"), name = RESP_TEXT("PING");
  memory m = plain();
  request r, copy;

  request_init(&r, &m);
  request_init(&copy, &m);
  assert_true(request_is_empty(&copy));
  assert_true(request_command(&copy, &name, 1));
  assert_true(request_script(&r, &sample, &key, 1, NULL, 0));
  r.carries_text = true;
  assert_true(request_copy(&copy, &r));
  assert_true(request_command(&r, &name, 1));
  expect_rendered(&copy, false,
                  "*4\r\n$4\r\nEVAL\r\n$9\r\nreturn 1\n\r\n$1\r\n1\r\n$2\r\nk1\r\n");
  expect_rendered(&r, false, "*1\r\n$4\r\nPING\r\n");
  request_deinit(&copy);
  request_deinit(&r);
}

/* ---- which server ---- */

static void expect_key(const request *r, const char *wanted)
{
  const char *key;
  size_t size;

  assert_true(request_key(r, &key, &size));
  assert_int_equal(size, strlen(wanted));
  assert_memory_equal(key, wanted, size);
}

TEST(the_first_key_decides)
{
  resp_argument words[3] = { RESP_TEXT("HSET"), RESP_TEXT("key"), RESP_TEXT("field") };
  memory m = plain();
  const char *key;
  size_t size;
  request r;

  request_init(&r, &m);
  assert_false(request_key(&r, &key, &size));
  assert_true(request_command(&r, words, 1));
  assert_false(request_key(&r, &key, &size));
  assert_true(request_is_command(&r, "HSET"));
  assert_false(request_is_command(&r, "HSE"));
  assert_true(request_command(&r, words, 3));
  expect_key(&r, "key");
  assert_true(request_script(&r, &sample, words + 2, 1, words, 2));
  expect_key(&r, "field");
  assert_false(request_is_command(&r, "field"));
  assert_true(request_script(&r, &sample, NULL, 0, words, 2));
  assert_false(request_key(&r, &key, &size));
  request_deinit(&r);
}

/* ---- memory ---- */

static bool calls(failing_heap *failing, void *data)
{
  memory m = FAILING_HEAP_AS(memory, failing);
  resp_argument keys[100], arguments[2000];
  bool is_filled, is_written;
  request r;
  buffer out;

  (void)data;
  for (size_t i = 0; i < 100; i++)
    keys[i] = RESP_TEXT("k");
  for (size_t i = 0; i < 2000; i++)
    arguments[i] = RESP_TEXT("a");
  request_init(&r, &m);
  buffer_init(&out, &m);
  is_filled = request_script(&r, &sample, keys, 100, arguments, 2000);
  assert_true(is_filled == !r.is_incomplete);
  is_written = request_render(&r, false, &out);
  assert_true(is_filled || !is_written);
  assert_true(is_written == (buffer_size(&out) > 0));
  if (is_written)
    assert_memory_equal(buffer_bytes(&out), "*2103\r\n", 7);
  buffer_deinit(&out);
  request_deinit(&r);
  return is_written;
}

TEST(refused_memory_leaves_nothing_that_could_be_sent)
{
  failing_heap_try_all(calls, NULL);
}

TEST(a_request_that_was_filled_once_allocates_no_more)
{
  resp_argument key = RESP_TEXT("k"), argument = RESP_TEXT("a");
  memory m = plain();
  size_t asked;
  request r;

  request_init(&r, &m);
  assert_true(request_script(&r, &sample, &key, 1, &argument, 1));
  asked = heap.asked;
  for (int i = 0; i < 100; i++)
    assert_true(request_script(&r, &sample, &key, 1, &argument, 1));
  assert_int_equal(heap.asked, asked);
  request_deinit(&r);
}

RUN_TESTS(NULL, NULL)

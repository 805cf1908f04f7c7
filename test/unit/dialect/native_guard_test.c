/* SPDX-License-Identifier: MIT */
/* The calls of the guarded writes, word for word; their keys; their answers. */

#include "tests.h"
#include "call_reader.h"
#include "dialect/native/guard.h"
#include "failing_heap.h"
#include "rendered.h"

#define ANNA "AAAAAAAAAAAAAAAAAAAAAA"

static const protocol here = { .prefix = "dibs", .client = ANNA };
static const guard_call stock = { .key = "stock", .key_size = 5, .fence = INT64_MAX,
                                  .number = 7, .settled = 4 };

#define HEAD "9223372036854775807", ANNA, "7", "4"

TEST(each_call_says_its_keys_its_fence_and_its_number)
{
  resp_argument words[] = { RESP_TEXT("a"), RESP_TEXT(""), RESP_TEXT("b"), RESP_TEXT("2") };

  assert_true(RENDERED(native_guarded_set, &here, &sent, false, &stock, RESP_TEXT("v"),
                       30));
  CHECK_WORDS(&sent, &script_native_guarded_set, "2", "stock", "dibs:f:{stock}", HEAD, "v",
              "30", NO_LIMIT);
  assert_true(RENDERED(native_guarded_hset, &here, &sent, false, &stock, words, 4));
  CHECK_WORDS(&sent, &script_native_guarded_hset, "2", "stock", "dibs:f:{stock}", HEAD, "a",
              "", "b", "2", NO_LIMIT);
  assert_true(RENDERED(native_guarded_hdel, &here, &sent, false, &stock, words, 1));
  CHECK_WORDS(&sent, &script_native_guarded_hdel, "2", "stock", "dibs:f:{stock}", HEAD, "a",
              NO_LIMIT);
  assert_true(RENDERED(native_guarded_del, &here, &sent, false, &stock));
  CHECK_WORDS(&sent, &script_native_guarded_del, "2", "stock", "dibs:f:{stock}", HEAD,
              NO_LIMIT);
  assert_true(RENDERED(native_guarded_incr, &here, &sent, false, &stock, INT64_MIN));
  CHECK_WORDS(&sent, &script_native_guarded_incr, "3", "stock", "dibs:f:{stock}",
              "dibs:c:{stock}:" ANNA, HEAD, "-9223372036854775808", NO_LIMIT);
  assert_true(RENDERED(native_guarded_get, &here, &sent, false, RESP_TEXT("stock"), NULL, 7));
  CHECK_WORDS(&sent, &script_native_guarded_get, "2", "stock", "dibs:f:{stock}", "7");
  assert_true(RENDERED(native_guarded_get, &here, &sent, false, RESP_TEXT("stock"), &words[0], 7));
  CHECK_WORDS(&sent, &script_native_guarded_get, "2", "stock", "dibs:f:{stock}", "7", "a");
}

TEST(a_key_with_a_tag_keeps_it_and_is_not_the_one_without)
{
  guard_call c = stock;

  c.key = "{stock}";
  c.key_size = 7;
  assert_true(RENDERED(native_guarded_incr, &here, &sent, false, &c, 1));
  CHECK_WORDS(&sent, &script_native_guarded_incr, "3", "{stock}", "dibs:f::{stock}",
              "dibs:c::{stock}:" ANNA, HEAD, "1", NO_LIMIT);
}

TEST(keys_whose_fence_could_not_be_in_their_slot_are_refused)
{
  char longest[NAME_MAX_BYTES + 1];

  memset(longest, 'x', sizeof(longest));
  assert_non_null(native_guard_fault("", 0));
  assert_non_null(native_guard_fault("}", 1));
  assert_non_null(native_guard_fault("a}b", 3));
  assert_non_null(native_guard_fault("a{}b", 4));
  assert_non_null(native_guard_fault("{}{b}", 5));
  assert_non_null(native_guard_fault(longest, sizeof(longest)));
  assert_null(native_guard_fault(longest, sizeof(longest) - 1));
  assert_null(native_guard_fault("{", 1));
  assert_null(native_guard_fault("}{a}", 4));
}

/* The largest there is. */
static bool sets_a_thousand_fields(failing_heap *heap, void *data)
{
  memory m = FAILING_HEAP_AS(memory, heap);
  resp_argument words[2 * GUARD_FIELDS_MAX];
  buffer none;
  bool is_written;

  (void)data;
  for (size_t i = 0; i < 2 * GUARD_FIELDS_MAX; i++)
    words[i] = RESP_TEXT("w");
  buffer_init(&none, &m);
  is_written = RENDERED(native_guarded_hset, &here, &none, false, &stock, words,
                        2 * GUARD_FIELDS_MAX);
  assert_true(is_written == (buffer_size(&none) > 0));
  if (is_written)
    assert_memory_equal(buffer_bytes(&none), "*2010\r\n", 7);
  buffer_deinit(&none);
  return is_written;
}

TEST(a_call_may_be_refused_memory)
{
  failing_heap_try_all(sets_a_thousand_fields, NULL);
}

static bool reads(const char *bytes, guard_outcome *ret_outcome, int64_t *ret_value)
{
  resp_reply *r = reply_of(bytes);
  bool is_read = native_guard_answer(r, ret_outcome, ret_value);

  resp_reply_free(r);
  return is_read;
}

TEST(answers_are_read)
{
  guard_outcome o;
  int64_t v = 5;

  assert_true(reads(":1\r\n", &o, NULL));
  assert_int_equal(o, GUARD_WRITTEN);
  assert_true(reads(":0\r\n", &o, &v));
  assert_int_equal(o, GUARD_FENCED);
  assert_true(reads(":2\r\n", &o, &v));
  assert_int_equal(o, GUARD_LATE);
  assert_int_equal(v, 5);
  assert_true(reads("*2\r\n:1\r\n$2\r\n-7\r\n", &o, &v));
  assert_int_equal(o, GUARD_WRITTEN);
  assert_int_equal(v, -7);
  assert_true(reads("*2\r\n:1\r\n$20\r\n-9223372036854775808\r\n", &o, &v));
  assert_true(v == INT64_MIN);
  assert_true(reads("*2\r\n:1\r\n$19\r\n9223372036854775807\r\n", &o, &v));
  assert_true(v == INT64_MAX);
}

TEST(answers_of_another_shape_are_not)
{
  static const char *const strange[] = { ":3\r\n", ":-1\r\n", "$1\r\n1\r\n", "*0\r\n",
    "*1\r\n:1\r\n", "*2\r\n:1\r\n:1\r\n", "*2\r\n:0\r\n$1\r\n1\r\n", "*2\r\n:1\r\n$0\r\n\r\n",
    "*2\r\n:1\r\n$1\r\n-\r\n", "*2\r\n:1\r\n$19\r\n9223372036854775808\r\n",
    "*2\r\n:1\r\n$20\r\n-9223372036854775809\r\n", "*3\r\n:1\r\n$1\r\n1\r\n:1\r\n", ":1\r\n" };
  guard_outcome o;
  int64_t v;

  for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++)
    assert_false(reads(strange[i], &o, &v));
  assert_false(reads("*2\r\n:1\r\n$1\r\n1\r\n", &o, NULL));
}

static bool reads_value(const char *bytes, data_value *ret_value, uint64_t *ret_fence)
{
  resp_reply *r = reply_of(bytes);
  bool is_read = native_guarded_value(r, ret_value, ret_fence);

  resp_reply_free(r);
  return is_read;
}

TEST(values_with_their_fence_are_read)
{
  static const char *const strange[] = { ":1\r\n", "$1\r\nv\r\n", "*1\r\n$1\r\nv\r\n",
    "*2\r\n$1\r\nv\r\n:7\r\n", "*2\r\n$1\r\nv\r\n$2\r\n-1\r\n", "*2\r\n:-1\r\n$1\r\n7\r\n",
    "*3\r\n$1\r\nv\r\n$1\r\n7\r\n$1\r\n7\r\n", "*2\r\n*0\r\n$1\r\n7\r\n" };
  data_value value;
  uint64_t fence;

  assert_true(reads_value("*2\r\n$1\r\nv\r\n$19\r\n9223372036854775807\r\n", &value, &fence));
  assert_true(value.is_there && value.size == 1 && fence == INT64_MAX);
  assert_true(reads_value("*2\r\n$-1\r\n$1\r\n0\r\n", &value, &fence));
  assert_true(!value.is_there && fence == 0);
  assert_true(reads_value("*2\r\n:2000000\r\n$1\r\n7\r\n", &value, &fence));
  assert_true(value.is_there && value.bytes == NULL && value.size == 2000000);
  for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++)
    assert_false(reads_value(strange[i], &value, &fence));
}

RUN_TESTS_EACH(NULL, NULL, call_begin, call_end)

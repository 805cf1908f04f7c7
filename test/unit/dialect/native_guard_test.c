/* SPDX-License-Identifier: MIT */
/* Which keys can be guarded; the answers of guarded writes and reads. */

#include "tests.h"
#include "answer_reader.h"
#include "dialect/native/guard.h"

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

RUN_TESTS(NULL, NULL)

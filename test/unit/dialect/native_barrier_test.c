/* SPDX-License-Identifier: MIT */
/* The answers of the barrier scripts, the strange ones too. */

#include "tests.h"
#include "answer_reader.h"
#include "dialect/native/barrier.h"

static bool arrive_read(const char *bytes, barrier_answer *ret)
{
  resp_reply *r = reply_of(bytes);
  bool is_read = native_barrier_arrive_answer(r, ret);

  resp_reply_free(r);
  return is_read;
}

static bool leave_read(const char *bytes)
{
  resp_reply *r = reply_of(bytes);
  barrier_answer a;
  bool is_read = native_barrier_leave_answer(r, &a);

  resp_reply_free(r);
  return is_read;
}

static bool look_read(const char *bytes)
{
  resp_reply *r = reply_of(bytes);
  barrier_look l;
  bool is_read = native_barrier_look_answer(r, &l);

  resp_reply_free(r);
  return is_read;
}

TEST(an_answer_is_read_field_by_field)
{
  barrier_answer a;

  assert_true(arrive_read("*5\r\n:1\r\n:5\r\n:2\r\n:1\r\n:8999\r\n", &a));
  assert_int_equal(a.outcome, BARRIER_WAITING);
  assert_int_equal(a.generation, 5);
  assert_int_equal(a.arrived, 2);
  assert_int_equal(a.place, 1);
  assert_int_equal(a.look_ms, 8999);
  assert_true(arrive_read("*4\r\n:2\r\n:5\r\n:3\r\n:2\r\n", &a));
  assert_int_equal(a.outcome, BARRIER_PASSED);
  assert_true(arrive_read("*2\r\n:4\r\n:8\r\n", &a));
  assert_int_equal(a.arrived, 8);
  assert_true(arrive_read("*1\r\n:5\r\n", &a));
  assert_int_equal(a.outcome, BARRIER_LATE);
  assert_true(leave_read("*1\r\n:0\r\n"));
  assert_true(leave_read("*4\r\n:2\r\n:5\r\n:0\r\n:2\r\n"));
  assert_true(look_read("*4\r\n:2\r\n:5\r\n:0\r\n:2\r\n"));
}

TEST(strange_answers_are_refused)
{
  barrier_answer a;

  assert_false(arrive_read("+OK\r\n", &a));
  assert_false(arrive_read(":1\r\n", &a));
  assert_false(arrive_read("*0\r\n", &a));
  assert_false(arrive_read("*1\r\n:0\r\n", &a));
  assert_false(arrive_read("*1\r\n:6\r\n", &a));
  assert_false(arrive_read("*4\r\n:1\r\n:5\r\n:2\r\n:1\r\n", &a));
  assert_false(arrive_read("*5\r\n:1\r\n:5\r\n:2\r\n:1\r\n:-1\r\n", &a));
  assert_false(arrive_read("*5\r\n:1\r\n:5\r\n:10001\r\n:1\r\n:1\r\n", &a));
  assert_false(arrive_read("*5\r\n:1\r\n:9007199254740993\r\n:1\r\n:1\r\n:1\r\n", &a));
  assert_false(arrive_read("*4\r\n:2\r\n$1\r\n5\r\n:3\r\n:2\r\n", &a));
  assert_false(arrive_read("*1\r\n:4\r\n", &a));
  assert_false(leave_read("*1\r\n:1\r\n"));
  assert_false(leave_read("*4\r\n:4\r\n:5\r\n:0\r\n:2\r\n"));
  assert_false(look_read("*4\r\n:2\r\n:5\r\n:2\r\n:2\r\n"));
  assert_false(look_read("*3\r\n:2\r\n:5\r\n:0\r\n"));
}

TEST(a_reset_answers_one_or_none)
{
  static const char *const answers[] = { ":0\r\n", ":1\r\n", ":2\r\n", "+1\r\n" };

  for (size_t i = 0; i < 4; i++) {
    resp_reply *r = reply_of(answers[i]);

    assert_int_equal(native_barrier_reset_answer(r), i < 2);
    resp_reply_free(r);
  }
}

RUN_TESTS(NULL, NULL)

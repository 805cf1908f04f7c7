/* SPDX-License-Identifier: MIT */
/* The calls of the barrier scripts, word for word, and their answers, the strange ones too. */

#include "tests.h"
#include "call_reader.h"
#include "dialect/native/barrier.h"
#include "rendered.h"

#define ANNA "AAAAAAAAAAAAAAAAAAAAAA"

static const protocol here = { .prefix = "dibs", .client = ANNA };
static const barrier_call call = { .name = "x", .name_size = 1, .party = 7, .parties = 3,
                                   .generation = 5, .silence_ms = 9000 };

TEST(each_call_says_what_its_script_expects)
{
  assert_true(RENDERED(native_barrier_arrive, &here, &sent, false, &call));
  CHECK_WORDS(&sent, &script_native_barrier_arrive, "1", "dibs:b:{x}", ANNA ":7", "3", "5",
              "9000", "dibs:barrier:{x}", NO_LIMIT);
  assert_true(RENDERED(native_barrier_leave, &here, &sent, false, &call));
  CHECK_WORDS(&sent, &script_native_barrier_leave, "1", "dibs:b:{x}", ANNA ":7", "5",
              "dibs:barrier:{x}");
  assert_true(RENDERED(native_barrier_look, &here, &sent, false, "{a}b", 4));
  CHECK_WORDS(&sent, &script_native_barrier_look, "1", "dibs:b:{a}b");
  assert_true(RENDERED(native_barrier_reset, &here, &sent, false, "x", 1,
                       9007199254740991));
  CHECK_WORDS(&sent, &script_native_barrier_reset, "1", "dibs:b:{x}", "9007199254740991",
              "dibs:barrier:{x}", NO_LIMIT);
}

TEST(the_longest_names_and_numbers_have_room)
{
  protocol long_one = { .client = ANNA };
  barrier_call c = { .party = UINT64_MAX, .parties = 10000, .generation = UINT64_MAX,
                     .silence_ms = INT64_MAX };
  char name[NAME_MAX_BYTES];

  memset(long_one.prefix, 'p', PREFIX_MAX_BYTES);
  memset(name, 'n', sizeof(name));
  c.name = name;
  c.name_size = sizeof(name);
  assert_true(RENDERED(native_barrier_arrive, &long_one, &sent, false, &c));
  assert_true(RENDERED(native_barrier_leave, &long_one, &sent, false, &c));
  assert_non_null(memmem(buffer_bytes(&sent), buffer_size(&sent), "n}\r\n", 4));
}

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

RUN_TESTS_EACH(NULL, NULL, call_begin, call_end)

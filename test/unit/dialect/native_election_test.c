/* SPDX-License-Identifier: MIT */
/* The answers of the election scripts, the strange ones too. */

#include "tests.h"

#include <stdio.h>

#include "answer_reader.h"
#include "dialect/native/election.h"

#define ANNA "AAAAAAAAAAAAAAAAAAAAAA"
#define LEASE ANNA ":7:1700000000000000"

static const lease_id lease = { .client = ANNA, .ask = 7, .token = 1700000000000000 };

/* Reads {now, state, lease, remaining, length, renewals, fence, value}. */
static bool look_read(const char *lease_text, const char *numbers, const char *fence,
                      const char *state_text, elect_answer *ret)
{
  char bytes[512];
  resp_reply *r;
  bool is_read;

  (void)snprintf(bytes, sizeof(bytes),
                 "*8\r\n:1700000000000001\r\n:%s\r\n$%zu\r\n%s\r\n%s$%zu\r\n%s\r\n$4\r\nhere\r\n",
                 state_text, strlen(lease_text), lease_text, numbers, strlen(fence), fence);
  r = reply_of(bytes);
  is_read = native_elect_look_answer(r, ret);
  assert_true(!is_read || memcmp(ret->value, "here", 4) == 0);
  resp_reply_free(r);
  return is_read;
}

#define TIMES ":20000\r\n:30000\r\n:4\r\n"

TEST(a_look_is_read_field_by_field)
{
  elect_answer a;

  assert_true(look_read(LEASE, TIMES, "1740800000000000002", "1", &a));
  assert_true(a.is_held);
  assert_false(a.is_leaving);
  assert_true(lease_id_equal(&a.lease, &lease));
  assert_int_equal(a.remaining_ms, 20000);
  assert_int_equal(a.lease_ms, 30000);
  assert_int_equal(a.renewals, 4);
  assert_true(a.epoch == 1740800000000000002);
  assert_int_equal(a.value_size, 4);
  /* A grant that came after the last telling is the later epoch. */
  assert_true(look_read(LEASE, TIMES, "17", "2", &a));
  assert_true(a.epoch == 1700000000000000u * 1024);
  assert_true(a.is_leaving);
  assert_true(look_read("", ":0\r\n:0\r\n:0\r\n", "", "0", &a));
  assert_int_equal(a.epoch, 0);
  assert_false(a.is_held);
}

TEST(strange_looks_are_refused)
{
  elect_answer a;

  assert_false(look_read("", TIMES, "", "1", &a));
  assert_false(look_read("x", TIMES, "", "1", &a));
  assert_false(look_read(LEASE, TIMES, "", "3", &a));
  assert_false(look_read(LEASE, TIMES, "-1", "1", &a));
  assert_false(look_read(LEASE, TIMES, "18446744073709551615", "1", &a));
  assert_false(look_read(LEASE, TIMES, "1x", "1", &a));
  assert_false(look_read(LEASE, ":30001\r\n:30000\r\n:4\r\n", "", "1", &a));
  assert_false(look_read(LEASE, ":1\r\n:9000000000\r\n:4\r\n", "", "1", &a));
  assert_false(look_read(LEASE, ":1\r\n:30000\r\n:-4\r\n", "", "1", &a));
}

TEST(a_telling_is_told_or_not)
{
  static const char *const answers[] = { ":0\r\n", ":1\r\n", ":2\r\n", "+OK\r\n", "*0\r\n" };
  bool told;

  for (size_t i = 0; i < 5; i++) {
    resp_reply *r = reply_of(answers[i]);

    told = i == 0;
    assert_int_equal(native_elect_publish_answer(r, &told), i < 2);
    if (i < 2)
      assert_int_equal(told, i == 1);
    resp_reply_free(r);
  }
}

RUN_TESTS(NULL, NULL)

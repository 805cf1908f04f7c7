/* SPDX-License-Identifier: MIT */
/* Shared resources: which answers count. */

#include "tests.h"
#include "answer_reader.h"
#include "dialect/native.h"

#define ANNA "AAAAAAAAAAAAAAAAAAAAAA"
#define BERT "BBBBBBBBBBBBBBBBBBBBBB"

static const protocol here = { .prefix = "dibs", .client = ANNA };

static bool answer_of(const char *bytes, acquire_answer *a)
{
  resp_reply *r = reply_of(bytes);
  bool is_good = native_share_answer(&here, 7, r, a);

  resp_reply_free(r);
  return is_good;
}

TEST(a_grant_says_length_token_and_units)
{
  acquire_answer a;

  assert_true(answer_of("*6\r\n:1\r\n:1000\r\n:300\r\n:300\r\n:1001\r\n:5\r\n", &a));
  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  assert_int_equal(a.server_us, 1000);
  assert_int_equal(a.remaining_ms, 300);
  assert_int_equal(a.lease_ms, 300);
  assert_int_equal(a.units, 5);
  assert_string_equal(a.lease.client, ANNA);
  assert_int_equal(a.lease.ask, 7);
  assert_int_equal(a.lease.token, 1001);
}

TEST(a_repeated_ask_learns_its_renewals_too)
{
  acquire_answer a;

  assert_true(answer_of("*7\r\n:2\r\n:1000\r\n:-20\r\n:300\r\n:1001\r\n:4\r\n:5\r\n", &a));
  assert_int_equal(a.outcome, ACQUIRE_AGAIN);
  assert_int_equal(a.remaining_ms, -20);
  assert_int_equal(a.lease_ms, 300);
  assert_int_equal(a.renewals, 4);
  assert_int_equal(a.units, 5);
  assert_int_equal(a.lease.token, 1001);
}

TEST(who_waits_learns_who_ends_first_and_how_many_are_ahead)
{
  acquire_answer a;

  assert_true(answer_of("*8\r\n:3\r\n:1000\r\n:20\r\n:300\r\n$29\r\n" BERT ":3:1001\r\n"
                        ":4\r\n:6\r\n:1007\r\n", &a));
  assert_int_equal(a.outcome, ACQUIRE_WAITING);
  assert_string_equal(a.lease.client, BERT);
  assert_int_equal(a.lease.token, 1001);
  assert_int_equal(a.renewals, 4);
  assert_int_equal(a.rank, 6);
  assert_int_equal(a.last_token, 1007);
}

TEST(nobody_may_hold_what_is_busy)
{
  acquire_answer a;

  assert_true(answer_of("*8\r\n:4\r\n:1000\r\n:0\r\n:0\r\n$0\r\n\r\n:0\r\n:0\r\n:9\r\n", &a));
  assert_int_equal(a.outcome, ACQUIRE_BUSY);
  assert_int_equal(a.lease.token, 0);
  assert_false(a.holder_lingers);
}

TEST(refusals_say_why)
{
  acquire_answer a;

  assert_true(answer_of("*3\r\n:8\r\n:1000\r\n:5\r\n", &a));
  assert_int_equal(a.outcome, ACQUIRE_TOO_MANY);
  assert_int_equal(a.units, 5);
  assert_true(answer_of("*2\r\n:9\r\n:1000\r\n", &a));
  assert_int_equal(a.outcome, ACQUIRE_NOT_SET);
  assert_true(answer_of("*3\r\n:10\r\n:1000\r\n:5\r\n", &a));
  assert_int_equal(a.outcome, ACQUIRE_OTHER_LIMIT);
  assert_int_equal(a.units, 5);
  for (int outcome = ACQUIRE_ENDED; outcome <= ACQUIRE_LATE; outcome++) {
    char bytes[] = "*2\r\n:5\r\n:1000\r\n";
    bytes[5] = (char)('0' + outcome);
    assert_true(answer_of(bytes, &a));
    assert_int_equal(a.outcome, outcome);
  }
}

TEST(other_shapes_are_refused)
{
  static const char *const bad[] = {
    ":1000\r\n", "*0\r\n", "*2\r\n:0\r\n:1000\r\n", "*2\r\n:10\r\n:1000\r\n",
    "*2\r\n:11\r\n:1000\r\n", "*3\r\n:11\r\n:1000\r\n:5\r\n",
    "*2\r\n:9\r\n:-1\r\n", "*2\r\n:8\r\n:1000\r\n", "*3\r\n:8\r\n:1000\r\n:-1\r\n",
    "*3\r\n:9\r\n:1000\r\n:1\r\n", "*5\r\n:1\r\n:1000\r\n:300\r\n:300\r\n:1001\r\n",
    "*6\r\n:1\r\n:1000\r\n:300\r\n:300\r\n:1001\r\n:0\r\n",
    "*6\r\n:1\r\n:1000\r\n:301\r\n:300\r\n:1001\r\n:5\r\n",
    "*6\r\n:1\r\n:1000\r\n:300\r\n:300\r\n:0\r\n:5\r\n",
    "*6\r\n:1\r\n:1000\r\n:300\r\n:300\r\n:9007199254740993\r\n:5\r\n",
    "*7\r\n:2\r\n:1000\r\n:300\r\n:300\r\n:1001\r\n:4\r\n:0\r\n",
    "*7\r\n:3\r\n:1000\r\n:20\r\n:300\r\n:1001\r\n:4\r\n:6\r\n",
    "*7\r\n:3\r\n:1000\r\n:20\r\n:300\r\n$4\r\nBERT\r\n:4\r\n:6\r\n",
    "*7\r\n:4\r\n:1000\r\n:20\r\n:10\r\n$0\r\n\r\n:4\r\n:6\r\n",
  };
  acquire_answer a = { .rank = 77 };

  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    if (answer_of(bad[i], &a))
      fail_msg("taken: %s", bad[i]);
    assert_int_equal(a.rank, 77);
  }
}

TEST(setting_answers_whether_it_was_done_and_the_count)
{
  static const char *const bad[] = { ":1\r\n", "*1\r\n:1\r\n", "*2\r\n:2\r\n:5\r\n",
                                     "*2\r\n:1\r\n:-5\r\n", "*2\r\n:-1\r\n:5\r\n" };
  resp_reply *r = reply_of("*2\r\n:1\r\n:5\r\n");
  uint64_t limit;
  bool is_done;

  assert_true(native_share_set_answer(r, &is_done, &limit));
  assert_true(is_done);
  assert_int_equal(limit, 5);
  resp_reply_free(r);
  r = reply_of("*2\r\n:0\r\n:6\r\n");
  assert_true(native_share_set_answer(r, &is_done, &limit));
  assert_false(is_done);
  assert_int_equal(limit, 6);
  resp_reply_free(r);
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    r = reply_of(bad[i]);
    assert_false(native_share_set_answer(r, &is_done, &limit));
    resp_reply_free(r);
  }
}

RUN_TESTS(NULL, NULL)

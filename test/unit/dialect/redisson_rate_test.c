/* SPDX-License-Identifier: MIT */
/* The names of rate limiters in a cluster; their answers. */

#include "tests.h"
#include "answer_reader.h"
#include "dialect/redisson/rate.h"

#define ANNA "AAAAAAAAAAAAAAAAAAAAAA"

static const protocol here = { .prefix = "dibs", .client = ANNA };

TEST(in_cluster_names_whose_keys_would_part_are_refused)
{
  static const char *const bad[] = { "a}b", "a{b", "a{}b", "}{" };
  static const char *const good[] = { "a", "{t}b", "b{t}" };
  protocol cluster = here;

  cluster.has_tags = true;
  for (size_t i = 0; i < 4; i++) {
    assert_non_null(rate_name_fault(&cluster, bad[i], strlen(bad[i])));
    assert_null(rate_name_fault(&here, bad[i], strlen(bad[i])));
  }
  for (size_t i = 0; i < 3; i++)
    assert_null(rate_name_fault(&cluster, good[i], strlen(good[i])));
}

static rate_answer answer_of(const char *bytes)
{
  rate_answer a;
  resp_reply *r = reply_of(bytes);

  assert_true(rate_acquire_answer(r, &a));
  resp_reply_free(r);
  return a;
}

TEST(an_answer_grants_or_tells_when_or_why_not)
{
  assert_int_equal(answer_of("*2\r\n:1\r\n:4\r\n").outcome, RATE_GRANTED);
  assert_int_equal(answer_of("*2\r\n:1\r\n:4\r\n").left, 4);
  assert_int_equal(answer_of("*2\r\n:0\r\n:250\r\n").outcome, RATE_LATER);
  assert_int_equal(answer_of("*2\r\n:0\r\n:250\r\n").wait_ms, 250);
  assert_int_equal(answer_of("*1\r\n:-1\r\n").outcome, RATE_NOT_SET);
  assert_int_equal(answer_of("*3\r\n:-2\r\n:5\r\n:1000\r\n").outcome, RATE_TOO_MANY);
  assert_int_equal(answer_of("*3\r\n:-2\r\n:5\r\n:1000\r\n").rate, 5);
}

TEST(odd_answers_are_refused)
{
  static const char *const odd[] = { "$1\r\n2\r\n", ":1\r\n", "*0\r\n", "*1\r\n:1\r\n",
                                     "*2\r\n:2\r\n:1\r\n", "*2\r\n:0\r\n:-5\r\n",
                                     "*2\r\n:1\r\n$1\r\n1\r\n", "*3\r\n:-1\r\n:5\r\n:5\r\n",
                                     "$2\r\n-2\r\n", "$0\r\n\r\n" };

  for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
    resp_reply *r = reply_of(odd[i]);
    rate_answer a;
    rate_state s;
    int64_t done;

    assert_false(rate_acquire_answer(r, &a));
    assert_false(rate_look_answer(r, &s));
    assert_false(rate_change_answer(r, &done));
    assert_true(i == 0 || !rate_release_answer(r, &done));
    resp_reply_free(r);
  }
}

TEST(changes_and_looks_are_read)
{
  resp_reply *r = reply_of("*5\r\n:10\r\n:1000\r\n:0\r\n:1\r\n:7\r\n");
  rate_state s;
  int64_t n;

  assert_true(rate_look_answer(r, &s) && s.is_set);
  assert_int_equal(s.rate, 10);
  assert_int_equal(s.interval_ms, 1000);
  assert_int_equal(s.keepalive_ms, 0);
  assert_int_equal(s.type, 1);
  assert_int_equal(s.left, 7);
  resp_reply_free(r);
  r = reply_of("$2\r\n-1\r\n");
  assert_true(rate_change_answer(r, &n) && n == -1);
  resp_reply_free(r);
  r = reply_of("$2\r\n12\r\n");
  assert_true(rate_release_answer(r, &n) && n == 12);
  assert_false(rate_change_answer(r, &n));
  resp_reply_free(r);
  r = reply_of("*1\r\n:-1\r\n");
  assert_true(rate_release_answer(r, &n) && n == -1);
  assert_true(rate_look_answer(r, &s) && !s.is_set);
  resp_reply_free(r);
}

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* The answers of the scripts for several names. */

#include "tests.h"

#include <stdio.h>

#include "answer_reader.h"
#include "dialect/native.h"

#define ANNA "AAAAAAAAAAAAAAAAAAAAAA"
#define BERT "BBBBBBBBBBBBBBBBBBBBBB"
#define LEASE "$28\r\n" BERT ".4:1:7\r\n"

static const protocol here = { .prefix = "dibs", .client = ANNA };

static bool answer_of(const char *bytes, acquire_answer *a, size_t *busy)
{
  /* In the order of the keys: x, yy, y. */
  static const many_name asked[] = { { "y", 1 }, { "yy", 2 }, { "{x}", 3 } };
  many_call c = { .names = asked, .count = 3, .set = 6, .ask = 5, .ttl_ms = 30000 };
  resp_reply *r = reply_of(bytes);
  bool is_good = native_many_answer(&here, &c, r, a, busy);

  resp_reply_free(r);
  return is_good;
}

TEST(a_grant_is_one_lease_of_the_set)
{
  acquire_answer a;
  size_t busy = 77;

  assert_true(answer_of("*4\r\n:1\r\n:100\r\n:30000\r\n:150\r\n", &a, &busy));
  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  assert_int_equal(a.server_us, 100);
  assert_int_equal(a.remaining_ms, 30000);
  assert_int_equal(a.lease_ms, 30000);
  assert_string_equal(a.lease.client, ANNA);
  assert_int_equal(a.lease.set, 6);
  assert_int_equal(a.lease.ask, 5);
  assert_int_equal(a.lease.token, 150);
  assert_true(answer_of("*6\r\n:2\r\n:100\r\n:-7\r\n:30000\r\n:50\r\n:3\r\n", &a, &busy));
  assert_int_equal(a.outcome, ACQUIRE_AGAIN);
  assert_int_equal(a.remaining_ms, -7);
  assert_int_equal(a.lease.set, 6);
  assert_int_equal(a.renewals, 3);
  assert_int_equal(busy, 77);
}

TEST(waiting_and_busy_tell_which_name_as_the_caller_has_it)
{
  static const size_t callers[] = { 2, 1, 0 };
  acquire_answer a;
  size_t busy;
  char bytes[200];

  for (size_t i = 0; i < 3; i++) {
    (void)snprintf(bytes, sizeof(bytes), "*8\r\n:3\r\n:100\r\n:20\r\n:30000\r\n" LEASE
                   ":2\r\n:4\r\n:%zu\r\n", i);
    assert_true(answer_of(bytes, &a, &busy));
    assert_int_equal(busy, callers[i]);
  }
  assert_int_equal(a.outcome, ACQUIRE_WAITING);
  assert_int_equal(a.rank, 4);
  assert_int_equal(a.renewals, 2);
  assert_int_equal(a.lease.set, 4);
  assert_string_equal(a.lease.client, BERT);
  assert_true(answer_of("*8\r\n:4\r\n:100\r\n:20\r\n:30000\r\n" LEASE ":2\r\n:1\r\n:0\r\n", &a,
                        &busy));
  assert_int_equal(a.outcome, ACQUIRE_BUSY);
  assert_true(a.holder_lingers);
}

TEST(ended_deaf_and_late_are_bare)
{
  acquire_answer a;
  size_t busy;

  assert_true(answer_of("*2\r\n:5\r\n:100\r\n", &a, &busy));
  assert_int_equal(a.outcome, ACQUIRE_ENDED);
  assert_true(answer_of("*2\r\n:6\r\n:100\r\n", &a, &busy));
  assert_int_equal(a.outcome, ACQUIRE_NO_SUBSCRIBER);
  assert_true(answer_of("*2\r\n:7\r\n:100\r\n", &a, &busy));
  assert_int_equal(a.outcome, ACQUIRE_LATE);
}

TEST(any_other_answer_is_refused)
{
  static const char *const bad[] = {
    ":100\r\n", "$-1\r\n", "*0\r\n", "*2\r\n:8\r\n:100\r\n", "*2\r\n:0\r\n:100\r\n",
    "*3\r\n:5\r\n:100\r\n:1\r\n", "*2\r\n:5\r\n:-1\r\n", "*4\r\n:1\r\n:100\r\n:30001\r\n:150\r\n",
    "*4\r\n:1\r\n:100\r\n:30000\r\n:0\r\n", "*4\r\n:1\r\n:100\r\n:30000\r\n:9007199254740993\r\n",
    "*6\r\n:2\r\n:100\r\n:30001\r\n:30000\r\n:50\r\n:3\r\n",
    "*7\r\n:3\r\n:100\r\n:20\r\n:30000\r\n" LEASE ":2\r\n:4\r\n",
    "*8\r\n:3\r\n:100\r\n:20\r\n:30000\r\n" LEASE ":2\r\n:4\r\n:3\r\n",
    "*8\r\n:3\r\n:100\r\n:20\r\n:30000\r\n" LEASE ":2\r\n:4\r\n:-1\r\n",
    "*8\r\n:3\r\n:100\r\n:20\r\n:30000\r\n$1\r\nx\r\n:2\r\n:4\r\n:0\r\n",
  };
  acquire_answer a = { .rank = 99 };
  size_t busy = 77;

  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    if (answer_of(bad[i], &a, &busy))
      fail_msg("taken: %s", bad[i]);
    assert_int_equal(a.rank, 99);
    assert_int_equal(busy, 77);
  }
}

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* The calls of the scripts for several names, word for word, in the one order of all sets;
 * and their answers. */

#include "tests.h"

#include <stdio.h>

#include "answer_reader.h"
#include "call_reader.h"
#include "dialect/native.h"
#include "rendered.h"

#define ANNA "AAAAAAAAAAAAAAAAAAAAAA"
#define BERT "BBBBBBBBBBBBBBBBBBBBBB"
#define LEASE "$28\r\n" BERT ".4:1:7\r\n"

static const protocol here = { .prefix = "dibs", .client = ANNA };
static const lease_id lease = { .client = ANNA, .set = 3, .ask = 7, .token = 1700000000000000 };
static const many_name names[] = { { "a", 1 }, { "two words", 9 } };

/* ---- calls ---- */

TEST(an_acquire_says_all_its_arguments)
{
  lease_id watched = { .client = BERT, .set = 9, .ask = 3, .token = 99 };
  many_call c = { .names = names, .count = 2, .set = 4294967295u, .ask = 8, .ttl_ms = 30000,
    .waits = true, .nonce = 42, .keeps = true, .until_us = 11, .estimate_us = 12, .min_token = 13,
    .give_up_us = 14, .watched = &watched, .watched_renewals = 15 };

  assert_true(RENDERED(native_many_acquire, &here, &sent, false, &c));
  CHECK_WORDS(&sent, &script_native_many_acquire, "2", "dibs:m:{a}", "dibs:m:{two words}",
              ANNA ".4294967295", "8", "30000", "11", "13", "12",
              "w00000000000000000042 1 14 " BERT ".9:3:99 15 dibs", "a", "two words");
  c = (many_call){ .names = names, .count = 1, .set = 1, .ask = 8, .ttl_ms = 100,
                   .until_us = -5 };
  assert_true(RENDERED(native_many_acquire, &here, &sent, false, &c));
  CHECK_WORDS(&sent, &script_native_many_acquire, "1", "dibs:m:{a}", ANNA ".1", "8", "100", "0",
              "0", "0", "t 0 0 - 0 dibs", "a");
}

TEST(releases_and_cancels_name_all_members)
{
  assert_true(RENDERED(native_many_release, &here, &sent, false, names, 2, &lease, 77));
  CHECK_WORDS(&sent, &script_native_many_release, "2", "dibs:m:{a}", "dibs:m:{two words}",
              ANNA ".3:7:1700000000000000", "dibs", "77", "a", "two words", NO_LIMIT);
  assert_true(RENDERED(native_many_cancel, &here, &sent, false, names, 2, 3, 9, 123, -1));
  CHECK_WORDS(&sent, &script_native_many_cancel, "2", "dibs:m:{a}", "dibs:m:{two words}",
              ANNA ".3", "9", "123", "dibs", "0", "a", "two words");
}

/* Sorted by names `{x}` would stand behind `y`, where `x` stands before it. */
TEST(members_are_sorted_by_their_keys_and_each_sent_once)
{
  static const many_name spelled[] = { { "x", 1 }, { "y", 1 }, { "yy", 2 }, { "{x}", 3 } };
  static const many_name other[] = { { "y", 1 }, { "{x}", 3 } };
  many_call c = { .names = other, .count = 2, .set = 1, .ask = 8, .ttl_ms = 100 };

  assert_true(RENDERED(native_many_cancel, &here, &sent, false, spelled, 4, 3, 9, 0, 0));
  CHECK_WORDS(&sent, &script_native_many_cancel, "3", "dibs:m:{x}", "dibs:m:{yy}", "dibs:m:{y}",
              ANNA ".3", "9", "0", "dibs", "0", "x", "yy", "y");
  assert_true(RENDERED(native_many_acquire, &here, &sent, false, &c));
  CHECK_WORDS(&sent, &script_native_many_acquire, "2", "dibs:m:{x}", "dibs:m:{y}", ANNA ".1",
              "8", "100", "0", "0", "0", "t 0 0 - 0 dibs", "{x}", "y");
}

TEST(the_longest_calls_fit)
{
  static char bytes[MANY_NAMES_MAX][NAME_MAX_BYTES];
  many_name longest[MANY_NAMES_MAX];
  lease_id l = { .client = ANNA, .set = UINT32_MAX, .ask = UINT64_MAX, .token = UINT64_MAX };
  protocol far = { .client = ANNA };
  many_call c = { .names = longest, .count = MANY_NAMES_MAX, .set = UINT32_MAX,
    .ask = UINT64_MAX, .ttl_ms = INT64_MAX, .waits = true, .keeps = true,
    .until_us = INT64_MAX, .estimate_us = INT64_MAX, .min_token = UINT64_MAX,
    .give_up_us = INT64_MAX, .watched = &l, .watched_renewals = UINT64_MAX };

  memset(far.prefix, 'p', PREFIX_MAX_BYTES);
  memset(bytes, 'n', sizeof(bytes));
  for (size_t i = 0; i < MANY_NAMES_MAX; i++) {
    bytes[i][0] = (char)i;
    longest[i] = (many_name){ bytes[i], NAME_MAX_BYTES };
  }
  assert_true(RENDERED(native_many_acquire, &far, &sent, true, &c));
  assert_true(RENDERED(native_many_release, &far, &sent, true, longest, MANY_NAMES_MAX, &l,
                       INT64_MAX));
  assert_true(RENDERED(native_many_cancel, &far, &sent, true, longest, MANY_NAMES_MAX,
                       UINT32_MAX, UINT64_MAX, INT64_MAX, INT64_MAX));
}

/* ---- answers ---- */

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

RUN_TESTS_EACH(NULL, NULL, call_begin, call_end)

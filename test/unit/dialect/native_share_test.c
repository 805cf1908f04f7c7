/* SPDX-License-Identifier: MIT */
/* Shared resources: the calls word for word, the longest ones, and which answers count. */

#include "tests.h"
#include "answer_reader.h"
#include "call_reader.h"
#include "dialect/native.h"
#include "failing_heap.h"
#include "rendered.h"

#define ANNA "AAAAAAAAAAAAAAAAAAAAAA"
#define BERT "BBBBBBBBBBBBBBBBBBBBBB"

static const protocol here = { .prefix = "dibs", .client = ANNA };
static const lease_id lease = { .client = ANNA, .ask = 7, .token = 1700000000000000 };

/* ---- calls ---- */

TEST(an_acquire_says_all_its_arguments)
{
  lease_id watched = { .client = BERT, .ask = 3, .token = 99 };
  share_call c = { .name = "two words", .name_size = 9, .ask = 8, .mode = 'r', .units = 1,
    .ttl_ms = 30000, .waits = true, .nonce = UINT64_MAX,
    .until_us = 11, .estimate_us = 12, .min_token = 13,
    .give_up_us = 14, .watched = &watched, .watched_renewals = 15 };

  assert_true(RENDERED(native_share_acquire, &here, &sent, false, &c));
  CHECK_WORDS(&sent, &script_native_share_acquire, "1", "dibs:m:{two words}", ANNA, "8",
              "30000", "11", "13", "12", "r",
              "w18446744073709551615 14 " BERT ":3:99 15 dibs two words");
}

TEST(permits_are_counted_in_the_mode)
{
  share_call c = { .name = "x", .name_size = 1, .ask = 8, .mode = 'p', .units = 5,
    .ttl_ms = 100, .until_us = -5 };

  assert_true(RENDERED(native_share_acquire, &here, &sent, false, &c));
  CHECK_WORDS(&sent, &script_native_share_acquire, "1", "dibs:m:{x}", ANNA, "8", "100", "0",
              "0", "0", "p5", "t 0 - 0 dibs x");
}

TEST(releases_and_cancels_name_the_ask_apart_from_the_token)
{
  assert_true(RENDERED(native_share_release, &here, &sent, false, "x", 1, &lease, 123,
                       77));
  CHECK_WORDS(&sent, &script_native_share_release, "1", "dibs:m:{x}", ANNA ":7",
              "1700000000000000", "dibs x", "77", "123");
  assert_true(RENDERED(native_share_cancel, &here, &sent, false, "x", 1, 9, 123, 77));
  CHECK_WORDS(&sent, &script_native_share_cancel, "1", "dibs:m:{x}", ANNA ":9", "123",
              "dibs x", "77");
}

TEST(a_renewal_says_of_each_what_it_is_to_be)
{
  share_renew_item items[2] = { { "x", 1, &lease, 100, 'r', 0 },
                                { "{y}", 3, &lease, 0, 'p', 5 } };

  assert_true(RENDERED(native_share_renew, &here, &sent, false, items, 2, 55));
  CHECK_WORDS(&sent, &script_native_share_renew, "2", "dibs:m:{x}", "dibs:m:{y}",
              ANNA ":7:1700000000000000", "100 r dibs x", ANNA ":7:1700000000000000",
              "0 p dibs {y}", "55");
}

TEST(the_count_is_set_or_forgotten)
{
  assert_true(RENDERED(native_share_set, &here, &sent, false, "x", 1, SHARE_SET, 5, 77));
  CHECK_WORDS(&sent, &script_native_share_set, "1", "dibs:m:{x}", "set", "5", "dibs x", "77",
              NO_LIMIT);
  assert_true(RENDERED(native_share_set, &here, &sent, false, "x", 1, SHARE_SET_IF_ABSENT,
                       5, 77));
  CHECK_WORDS(&sent, &script_native_share_set, "1", "dibs:m:{x}", "absent", "5", "dibs x", "77",
              NO_LIMIT);
  assert_true(RENDERED(native_share_set, &here, &sent, false, "x", 1, SHARE_DELETE, 0,
                       77));
  CHECK_WORDS(&sent, &script_native_share_set, "1", "dibs:m:{x}", "delete", "0", "dibs x", "77",
              NO_LIMIT);
}

TEST(the_longest_calls_fit)
{
  static char name[NAME_MAX_BYTES];
  static share_renew_item items[RENEW_BATCH_MAX];
  lease_id longest = { .client = ANNA, .ask = UINT64_MAX, .token = UINT64_MAX };
  protocol far = { .client = ANNA };
  share_call c = { .name = name, .name_size = sizeof(name), .ask = UINT64_MAX, .mode = 'p',
    .units = UINT64_MAX, .ttl_ms = INT64_MAX, .waits = true, .until_us = INT64_MAX,
    .estimate_us = INT64_MAX, .min_token = UINT64_MAX, .give_up_us = INT64_MAX,
    .watched = &longest, .watched_renewals = UINT64_MAX };

  memset(name, 'n', sizeof(name));
  memset(far.prefix, 'p', PREFIX_MAX_BYTES);
  for (size_t i = 0; i < RENEW_BATCH_MAX; i++)
    items[i] = (share_renew_item){ name, sizeof(name), &longest, INT64_MAX, 'r', 0 };
  assert_true(RENDERED(native_share_acquire, &far, &sent, true, &c));
  assert_true(RENDERED(native_share_release, &far, &sent, true, name, sizeof(name),
                       &longest, INT64_MAX, INT64_MAX));
  assert_true(RENDERED(native_share_cancel, &far, &sent, true, name, sizeof(name),
                       UINT64_MAX, INT64_MAX, INT64_MAX));
  assert_true(RENDERED(native_share_renew, &far, &sent, true, items, RENEW_BATCH_MAX,
                       INT64_MAX));
  assert_true(RENDERED(native_share_set, &far, &sent, true, name, sizeof(name),
                       SHARE_SET_IF_ABSENT, UINT64_MAX, INT64_MAX));
}

TEST(refused_memory_leaves_nothing_in_the_buffer)
{
  failing_heap heap = { .fail_at = 1, .keeps_failing = true };
  memory refusing = FAILING_HEAP_AS(memory, &heap);
  share_call c = { .name = "x", .name_size = 1, .ask = 8, .mode = 'w', .ttl_ms = 100 };
  share_renew_item item = { "x", 1, &lease, 100, 'w', 0 };
  buffer none;

  buffer_init(&none, &refusing);
  assert_false(RENDERED(native_share_acquire, &here, &none, false, &c));
  assert_false(RENDERED(native_share_release, &here, &none, false, "x", 1, &lease, 0, 77));
  assert_false(RENDERED(native_share_cancel, &here, &none, false, "x", 1, 9, 0, 0));
  assert_false(RENDERED(native_share_renew, &here, &none, false, &item, 1, 0));
  assert_false(RENDERED(native_share_set, &here, &none, false, "x", 1, SHARE_SET, 1, 0));
  assert_int_equal(buffer_size(&none), 0);
  buffer_deinit(&none);
}

/* ---- answers ---- */

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

RUN_TESTS_EACH(NULL, NULL, call_begin, call_end)

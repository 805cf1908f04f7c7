/* SPDX-License-Identifier: MIT */
/* The answers of the native scripts: each shape read, every other refused. */

#include "tests.h"
#include "answer_reader.h"
#include "dialect/native.h"

#define ANNA "AAAAAAAAAAAAAAAAAAAAAA"
#define LEASE "$26\r\n" ANNA ":1:7\r\n"

static const protocol here = { .prefix = "dibs", .client = "BBBBBBBBBBBBBBBBBBBBBB" };

static bool acquire_of(const char *bytes, acquire_answer *a)
{
  resp_reply *r = reply_of(bytes);
  bool is_good = native_acquire_answer(&here, 5, 30000, r, a);

  resp_reply_free(r);
  return is_good;
}

TEST(a_bare_number_is_a_grant_at_that_time)
{
  acquire_answer a;

  assert_true(acquire_of(":1700000000000000\r\n", &a));
  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  assert_int_equal(a.server_us, 1700000000000000);
  assert_int_equal(a.lease.token, 1700000000000000);
  assert_int_equal(a.lease.ask, 5);
  assert_string_equal(a.lease.client, here.client);
  assert_int_equal(a.remaining_ms, 30000);
  assert_int_equal(a.lease_ms, 30000);
}

TEST(bare_digits_are_the_same)
{
  acquire_answer a;

  assert_true(acquire_of("$16\r\n1700000000000000\r\n", &a));
  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  assert_int_equal(a.server_us, 1700000000000000);
  assert_int_equal(a.lease.token, 1700000000000000);
}

TEST(a_grant_ahead_of_the_clock_tells_both)
{
  acquire_answer a;

  assert_true(acquire_of("*4\r\n:1\r\n:100\r\n:20000\r\n:150\r\n", &a));
  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  assert_int_equal(a.server_us, 100);
  assert_int_equal(a.lease.token, 150);
  assert_int_equal(a.remaining_ms, 20000);
}

TEST(a_repeated_grant_tells_what_remains)
{
  acquire_answer a;

  assert_true(acquire_of("*6\r\n:2\r\n:100\r\n:-7\r\n:30000\r\n:50\r\n:3\r\n", &a));
  assert_int_equal(a.outcome, ACQUIRE_AGAIN);
  assert_int_equal(a.remaining_ms, -7);
  assert_int_equal(a.lease_ms, 30000);
  assert_int_equal(a.lease.token, 50);
  assert_int_equal(a.lease.ask, 5);
  assert_int_equal(a.renewals, 3);
}

TEST(waiting_and_busy_name_the_holder)
{
  acquire_answer a;

  assert_true(acquire_of("*7\r\n:3\r\n:100\r\n:20\r\n:30000\r\n" LEASE ":2\r\n:4\r\n", &a));
  assert_int_equal(a.outcome, ACQUIRE_WAITING);
  assert_string_equal(a.lease.client, ANNA);
  assert_int_equal(a.renewals, 2);
  assert_int_equal(a.rank, 4);
  assert_false(a.holder_lingers);
  assert_true(acquire_of("*7\r\n:4\r\n:100\r\n:20\r\n:30000\r\n" LEASE ":2\r\n:1\r\n", &a));
  assert_int_equal(a.outcome, ACQUIRE_BUSY);
  assert_true(a.holder_lingers);
  assert_int_equal(a.rank, 0);
}

TEST(the_short_outcomes_tell_the_time)
{
  acquire_answer a;

  assert_true(acquire_of("*2\r\n:5\r\n:100\r\n", &a) && a.outcome == ACQUIRE_ENDED);
  assert_true(acquire_of("*2\r\n:6\r\n:100\r\n", &a) && a.outcome == ACQUIRE_NO_SUBSCRIBER);
  assert_true(acquire_of("*2\r\n:7\r\n:100\r\n", &a) && a.outcome == ACQUIRE_LATE);
  assert_int_equal(a.server_us, 100);
}

TEST(other_shapes_are_no_answer_to_acquire)
{
  static const char *const bad[] = {
    "$-1\r\n", "+OK\r\n", "-ERR x\r\n", "$0\r\n\r\n", "$1\r\n0\r\n",
    "$2\r\n01\r\n", "$2\r\n1 \r\n", "$16\r\n9007199254740993\r\n", "*0\r\n",
    "*1\r\n:1\r\n", ":0\r\n", ":-1\r\n",
    "*2\r\n:0\r\n:1\r\n", "*2\r\n:8\r\n:1\r\n", "*2\r\n:1\r\n:1\r\n",
    "*3\r\n:5\r\n:1\r\n:1\r\n", "*4\r\n:1\r\n:1\r\n:1\r\n:0\r\n",
    "*4\r\n:1\r\n:1\r\n:1\r\n$1\r\n5\r\n", "*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n",
    "*6\r\n:2\r\n:1\r\n:1\r\n:1\r\n:1\r\n:-1\r\n",
    "*7\r\n:3\r\n:1\r\n:1\r\n:1\r\n:7\r\n:1\r\n:1\r\n",
    "*7\r\n:3\r\n:1\r\n:1\r\n:1\r\n$1\r\nx\r\n:1\r\n:1\r\n",
    "*6\r\n:3\r\n:1\r\n:1\r\n:1\r\n" LEASE ":1\r\n",
    "*7\r\n:4\r\n:1\r\n:1\r\n:1\r\n" LEASE ":1\r\n$-1\r\n",
  };
  acquire_answer a = { .rank = 9 };

  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    if (acquire_of(bad[i], &a))
      fail_msg("taken: %s", bad[i]);
    assert_int_equal(a.rank, 9);
  }
}

/* ---- release, cancel, renew ---- */

static bool release_of(const char *bytes, release_answer *a)
{
  resp_reply *r = reply_of(bytes);
  bool is_good = native_release_answer(r, a);

  resp_reply_free(r);
  return is_good;
}

TEST(a_release_is_done_expired_or_taken)
{
  release_answer a;

  assert_true(release_of(":1\r\n", &a) && a.outcome == RELEASE_DONE);
  assert_true(release_of(":2\r\n", &a) && a.outcome == RELEASE_GONE);
  assert_true(release_of("*2\r\n:3\r\n" LEASE, &a) && a.outcome == RELEASE_TAKEN);
  assert_string_equal(a.taker.client, ANNA);
  assert_false(release_of(":3\r\n", &a));
  assert_false(release_of(":0\r\n", &a));
  assert_false(release_of("*2\r\n:1\r\n" LEASE, &a));
  assert_false(release_of("*1\r\n:3\r\n", &a));
  assert_false(release_of("*2\r\n:3\r\n$1\r\nx\r\n", &a));
  assert_false(release_of("$1\r\n1\r\n", &a));
}

TEST(a_release_shows_whether_the_server_has_ifeq)
{
  release_answer a;

  assert_true(release_of(":5\r\n", &a) && a.outcome == RELEASE_DONE && a.has_ifeq);
  assert_true(release_of(":1\r\n", &a) && !a.has_ifeq);
  assert_false(release_of("*2\r\n:5\r\n:1\r\n", &a));
}

TEST(a_release_by_ifeq_answers_ok_or_nothing)
{
  static const struct { const char *bytes; bool is_good, is_done; } cases[] = {
    { "+OK\r\n", true, true }, { "$-1\r\n", true, false }, { ":1\r\n", false, false },
    { "+QUEUED\r\n", false, false }, { "$2\r\nOK\r\n", false, false },
    { "*0\r\n", false, false },
  };

  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    resp_reply *r = reply_of(cases[i].bytes);
    bool is_done = false;

    assert_int_equal(native_release_ifeq_answer(r, &is_done), cases[i].is_good);
    assert_int_equal(is_done, cases[i].is_done);
    resp_reply_free(r);
  }
}

TEST(a_cancel_answers_nought_or_one)
{
  static const struct { const char *bytes; bool is_good; } cases[] = {
    { ":0\r\n", true }, { ":1\r\n", true }, { ":2\r\n", false }, { "+OK\r\n", false },
  };

  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    resp_reply *r = reply_of(cases[i].bytes);
    assert_int_equal(native_cancel_answer(r), cases[i].is_good);
    resp_reply_free(r);
  }
}

TEST(a_renewal_answers_each_lock_in_its_place)
{
  resp_reply *r = reply_of("*5\r\n:100\r\n:2\r\n:30000\r\n:-1\r\n:0\r\n");
  renew_answer a;
  int64_t server_us;

  assert_true(native_renew_server_us(r, &server_us));
  assert_int_equal(server_us, 100);
  assert_true(native_renew_answer(r, 0, &a));
  assert_true(a.is_ours && a.waiters == 2 && a.remaining_ms == 30000);
  assert_true(native_renew_answer(r, 1, &a));
  assert_false(a.is_ours);
  assert_false(native_renew_answer(r, 2, &a));
  resp_reply_free(r);

  r = reply_of("*3\r\n:100\r\n:-2\r\n:0\r\n");
  assert_false(native_renew_answer(r, 0, &a));
  resp_reply_free(r);
  r = reply_of(":1\r\n");
  assert_false(native_renew_server_us(r, &server_us));
  assert_false(native_renew_answer(r, 0, &a));
  resp_reply_free(r);
}

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* What an inspection answers: locks, read/write locks, semaphores; and what is none. */

#include "tests.h"
#include "answer_reader.h"
#include "dialect/native.h"

#define ANNA "AAAAAAAAAAAAAAAAAAAAAA"
#define LEASE "$41\r\n" ANNA ":7:1700000000000000\r\n"
#define HOLDER LEASE "$1\r\nr\r\n:1\r\n:20\r\n:30\r\n:4\r\n"
#define WAITER "$22\r\n" ANNA "\r\n$1\r\n5\r\n$3\r\n123\r\n$1\r\nw\r\n:1\r\n"

static bool inspect_of(const char *bytes, inspect_answer *a)
{
  resp_reply *r = reply_of(bytes);
  bool is_good = native_inspect_answer(r, a);

  resp_reply_free(r);
  return is_good;
}

TEST(an_inspection_shows_holders_and_waiters)
{
  static inspect_answer a;

  assert_true(inspect_of("*31\r\n:100\r\n:1\r\n:1700000000000001\r\n:0\r\n:2\r\n:0\r\n:2\r\n"
                         ":9\r\n:2\r\n" HOLDER HOLDER WAITER WAITER, &a));
  assert_int_equal(a.server_us, 100);
  assert_int_equal(a.kind, NATIVE_RWLOCK);
  assert_int_equal(a.last_token, 1700000000000001);
  assert_int_equal(a.used, 2);
  assert_int_equal(a.holder_count, 2);
  assert_int_equal(a.shown_holders, 2);
  assert_string_equal(a.holders[1].lease.client, ANNA);
  assert_int_equal(a.holders[1].mode, 'r');
  assert_int_equal(a.holders[1].units, 1);
  assert_int_equal(a.holders[1].remaining_ms, 20);
  assert_int_equal(a.holders[1].lease_ms, 30);
  assert_int_equal(a.holders[1].renewals, 4);
  assert_int_equal(a.waiter_count, 9);
  assert_int_equal(a.shown, 2);
  assert_int_equal(a.waiters[1].ask, 5);
  assert_int_equal(a.waiters[1].queued_us, 123);
  assert_int_equal(a.waiters[1].mode, 'w');
}

TEST(of_a_semaphore_it_says_the_count_and_how_often_it_was_set)
{
  static inspect_answer a;

  assert_true(inspect_of("*9\r\n:100\r\n:2\r\n:7\r\n:5\r\n:0\r\n:3\r\n:0\r\n:0\r\n:0\r\n", &a));
  assert_int_equal(a.kind, NATIVE_SEMAPHORE);
  assert_int_equal(a.limit, 5);
  assert_int_equal(a.generation, 3);
  assert_int_equal(a.shown_holders, 0);
}

/* A set of names waits as a client of its own, `C.n`; its people are those of C. */
TEST(who_waits_for_a_set_is_shown_as_its_client)
{
  static inspect_answer a;

  assert_true(inspect_of("*14\r\n:1\r\n:0\r\n:7\r\n:0\r\n:0\r\n:0\r\n:0\r\n:1\r\n:0\r\n"
                         "$24\r\n" ANNA ".3\r\n$1\r\n5\r\n$3\r\n123\r\n$1\r\nx\r\n:1\r\n", &a));
  assert_string_equal(a.waiters[0].client, ANNA);
}

#define HEAD ":1\r\n:0\r\n:7\r\n:0\r\n:1\r\n:0\r\n:1\r\n:0\r\n"

TEST(other_shapes_are_no_inspection)
{
  static const char *const bad[] = {
    ":1\r\n", "*0\r\n", "*8\r\n" HEAD, "*9\r\n" HEAD ":1\r\n", "*9\r\n" HEAD ":-1\r\n",
    "*15\r\n" HEAD ":0\r\n" HOLDER, "*21\r\n" HEAD ":2\r\n" HOLDER HOLDER,
    "*16\r\n" HEAD ":1\r\n" HOLDER ":1\r\n",
    "*9\r\n:1\r\n:3\r\n:7\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n",
    "*15\r\n" HEAD ":1\r\n$1\r\nx\r\n$1\r\nr\r\n:1\r\n:20\r\n:30\r\n:4\r\n",
    "*15\r\n" HEAD ":1\r\n" LEASE "$1\r\nq\r\n:1\r\n:20\r\n:30\r\n:4\r\n",
    "*15\r\n" HEAD ":1\r\n" LEASE "$1\r\nr\r\n:1\r\n:31\r\n:30\r\n:4\r\n",
    "*14\r\n" HEAD ":0\r\n$22\r\n" ANNA "\r\n$2\r\n05\r\n$3\r\n123\r\n$1\r\nw\r\n:1\r\n",
    "*14\r\n" HEAD ":0\r\n$1\r\nx\r\n$1\r\n5\r\n$3\r\n123\r\n$1\r\nw\r\n:1\r\n",
  };
  static inspect_answer a;

  assert_true(inspect_of("*15\r\n" HEAD ":1\r\n" HOLDER, &a));
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
    if (inspect_of(bad[i], &a))
      fail_msg("taken: %s", bad[i]);
}

TEST(more_waiters_than_a_script_shows_are_refused)
{
  char *bytes = malloc(128 + 101 * sizeof(WAITER));
  static inspect_answer a;

  strcpy(bytes, "*509\r\n" HEAD ":0\r\n");
  for (int i = 0; i < 100; i++)
    strcat(bytes, WAITER);
  assert_true(inspect_of(bytes, &a));
  assert_int_equal(a.shown, 100);
  memcpy(bytes, "*514", 4);
  strcat(bytes, WAITER);
  assert_false(inspect_of(bytes, &a));
  free(bytes);
}

RUN_TESTS(NULL, NULL)

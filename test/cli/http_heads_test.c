/* SPDX-License-Identifier: MIT */
/* test/cli/http_heads_test.c - which connections end because their request does not come. */
#include "tests.h"

#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/http_heads.h"

static http_heads heads;
static int ours[HTTP_CONNECTIONS_MAX + 1], theirs[HTTP_CONNECTIONS_MAX + 1];

static int setup(void **state)
{
  (void)state;
  heads = (http_heads){ .mutex = PTHREAD_MUTEX_INITIALIZER };
  for (int i = 0; i <= HTTP_CONNECTIONS_MAX; i++) {
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
      return -1;
    ours[i] = pair[0];
    theirs[i] = pair[1];
  }
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  for (int i = 0; i <= HTTP_CONNECTIONS_MAX; i++) {
    (void)close(ours[i]);
    (void)close(theirs[i]);
  }
  return 0;
}

static bool is_ended(int i)
{
  char byte;

  return recv(theirs[i], &byte, 1, MSG_DONTWAIT) == 0;
}

TEST(a_connection_ends_when_its_time_is_over)
{
  http_heads_set(&heads, ours[0], 100);
  http_heads_set(&heads, ours[1], 200);
  http_heads_end_late(&heads, 99);
  assert_false(is_ended(0));
  http_heads_end_late(&heads, 100);
  assert_true(is_ended(0));
  assert_false(is_ended(1));
}

TEST(one_whose_request_has_come_stays)
{
  http_heads_set(&heads, ours[0], 100);
  http_heads_set(&heads, ours[0], 0);
  http_heads_end_late(&heads, 1000);
  assert_false(is_ended(0));
  http_heads_set(&heads, ours[0], 2000);         /* it is answered, and waits for the next */
  http_heads_end_late(&heads, 1999);
  assert_false(is_ended(0));
  http_heads_end_late(&heads, 2000);
  assert_true(is_ended(0));
}

/* Later the number of its socket may belong to another connection. */
TEST(one_is_ended_once)
{
  http_heads_set(&heads, ours[0], 100);
  http_heads_end_late(&heads, 100);
  assert_int_equal(dup2(ours[1], ours[0]), ours[0]);
  http_heads_end_late(&heads, 200);
  assert_false(is_ended(1));
}

TEST(each_of_as_many_as_there_may_be_has_a_time)
{
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < HTTP_CONNECTIONS_MAX; i++)
      http_heads_set(&heads, ours[i], 100);
    for (int i = 0; round == 0 && i < HTTP_CONNECTIONS_MAX; i++)
      http_heads_set(&heads, ours[i], 0);
  }
  http_heads_set(&heads, ours[HTTP_CONNECTIONS_MAX], 100);    /* none is left: without a time */
  http_heads_end_late(&heads, 100);
  for (int i = 0; i < HTTP_CONNECTIONS_MAX; i++)
    assert_true(is_ended(i));
  assert_false(is_ended(HTTP_CONNECTIONS_MAX));
}

RUN_TESTS_EACH(NULL, NULL, setup, teardown)

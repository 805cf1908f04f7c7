/* SPDX-License-Identifier: MIT */
/* Unit: api/writing.c - what a guarded write tells the server of those before it, and which
 * calls go on with the number of an earlier one. */
#include "tests.h"

#include <stdint.h>
#include <string.h>

#include "api/writing.h"
#include "failing_heap.h"

static failing_heap heap;
static client_record client;

static guard_call on(const char *key, uint64_t fence)
{
  return (guard_call){ .key = key, .key_size = strlen(key), .fence = fence };
}

static writing *begin(const char *key, uint64_t fence, guard_call *ret_call)
{
  *ret_call = on(key, fence);
  return writing_begin(&client, ret_call, NULL);
}

static writing *begin_sum(const char *key, uint64_t fence, int64_t by, guard_call *ret_call)
{
  *ret_call = on(key, fence);
  return writing_begin(&client, ret_call, &by);
}

TEST(a_write_alone_says_that_all_before_it_is_settled)
{
  guard_call c;

  for (uint64_t i = 1; i <= 3; i++) {
    writing *w = begin("k", 1, &c);

    assert_int_equal(c.number, i);
    assert_int_equal(c.settled, i);
    writing_end(&client, w, true);
  }
}

TEST(a_write_beside_another_on_its_key_says_so)
{
  guard_call first, second, elsewhere;
  writing *a = begin("k", 1, &first), *b, *c;

  c = begin("other", 1, &elsewhere);
  b = begin("k", 1, &second);
  assert_int_equal(elsewhere.settled, 2);
  assert_int_equal(second.number, 3);
  assert_int_equal(second.settled, 1);
  writing_end(&client, a, true);
  writing_end(&client, b, true);
  writing_end(&client, c, true);
  a = begin("k", 1, &first);
  assert_int_equal(first.settled, 4);
  writing_end(&client, a, true);
}

TEST(an_unsettled_sum_is_gone_on_with_by_the_same_call_only)
{
  guard_call c;
  writing *w = begin_sum("k", 1, 5, &c);

  writing_end(&client, w, false);
  w = begin_sum("k", 1, 6, &c);                       /* another sum */
  assert_int_equal(c.number, 2);
  assert_int_equal(c.settled, 1);
  writing_end(&client, w, true);
  w = begin_sum("k", 2, 5, &c);                       /* another hold */
  assert_int_equal(c.number, 3);
  writing_end(&client, w, true);
  w = begin_sum("l", 1, 5, &c);                       /* another key */
  assert_int_equal(c.number, 4);
  writing_end(&client, w, true);
  w = begin("k", 1, &c);                              /* no sum */
  assert_int_equal(c.number, 5);
  writing_end(&client, w, true);
  w = begin_sum("k", 1, 5, &c);
  assert_int_equal(c.number, 1);
  writing_end(&client, w, true);
  w = begin_sum("k", 1, 5, &c);
  assert_int_equal(c.number, 6);
  assert_int_equal(c.settled, 6);
  writing_end(&client, w, true);
}

TEST(a_sum_that_runs_is_nobody_elses)
{
  guard_call first, second;
  writing *a = begin_sum("k", 1, 5, &first), *b = begin_sum("k", 1, 5, &second);

  assert_int_equal(first.number, 1);
  assert_int_equal(second.number, 2);
  writing_end(&client, a, true);
  writing_end(&client, b, true);
}

TEST(an_unsettled_sum_leaves_a_write_on_its_key_settled)
{
  guard_call c;
  writing *w = begin_sum("k", 1, 5, &c);

  writing_end(&client, w, false);
  w = begin("k", 1, &c);
  assert_int_equal(c.settled, 2);
  writing_end(&client, w, true);
}

TEST(an_unsettled_sum_is_forgotten_a_hundred_writes_later)
{
  guard_call c;
  writing *w = begin_sum("k", 1, 5, &c);

  writing_end(&client, w, false);
  for (int i = 0; i < WRITING_MEMORY; i++)
    writing_end(&client, begin("other", 1, &c), true);
  w = begin_sum("k", 1, 6, &c);
  assert_int_equal(c.settled, 1);                     /* it is still known */
  writing_end(&client, w, true);
  w = begin_sum("k", 1, 6, &c);
  assert_int_equal(c.settled, c.number);
  writing_end(&client, w, true);
  assert_null(client.first_writing);
}

TEST(what_is_unsettled_at_the_end_is_freed)
{
  guard_call c;

  for (int64_t by = 0; by < 10; by++)
    writing_end(&client, begin_sum("k", 1, by, &c), false);
  writings_free(&client);
  assert_null(client.first_writing);
}

TEST(refused_memory_begins_nothing)
{
  guard_call c;

  heap.fail_at = 1;
  assert_null(begin("k", 1, &c));
  assert_null(client.first_writing);
  assert_int_equal(client.writings, 0);
}

static int setup(void **state)
{
  (void)state;
  heap = (failing_heap){ 0 };
  client = (client_record){ .memory = FAILING_HEAP_AS(memory, &heap) };
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  writings_free(&client);
  return heap.live == 0 ? 0 : -1;
}

RUN_TESTS_EACH(NULL, NULL, setup, teardown)

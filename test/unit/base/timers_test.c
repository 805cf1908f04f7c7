/* SPDX-License-Identifier: MIT */
/* Unit: base/timers.c - due timers come out in order of time, then of setting. */
#include "tests.h"
#include "base/base.h"

#include <stdint.h>
#include <string.h>

#include "failing_heap.h"

#define MANY 500

static instant at(int64_t ns) { return (instant){ ns }; }

TEST(the_earliest_comes_first)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  timers ts;
  timer all[MANY];
  random_source r;
  int64_t last = 0;
  size_t count = 0;

  random_seed(&r, 3);
  timers_init(&ts, &m);
  assert_true(timers_reserve(&ts, MANY));
  for (size_t i = 0; i < MANY; i++) {
    timer_init(&all[i], (int)i);
    timers_set(&ts, &all[i], at((int64_t)random_below(&r, 1000)));
  }
  /* Move some, take some away. */
  for (size_t i = 0; i < MANY; i += 3)
    timers_set(&ts, &all[i], at((int64_t)random_below(&r, 1000)));
  for (size_t i = 0; i < MANY; i += 5)
    timers_clear(&ts, &all[i]);
  while (!instant_is_never(timers_first(&ts))) {
    timer *t = timers_pop(&ts, timers_first(&ts));
    assert_non_null(t);
    assert_false(timer_is_set(t));
    assert_true(t->at.ns >= last);
    assert_true(t->kind % 5 != 0);
    last = t->at.ns;
    count++;
  }
  assert_int_equal(count, MANY - MANY / 5);
  timers_deinit(&ts);
  assert_int_equal(heap.live, 0);
}

TEST(equal_ones_fire_in_the_order_of_setting)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  timers ts;
  timer all[20];

  timers_init(&ts, &m);
  assert_true(timers_reserve(&ts, 20));
  for (int i = 0; i < 20; i++) {
    timer_init(&all[i], i);
    timers_set(&ts, &all[i], at(10));
  }
  timers_set(&ts, &all[4], at(10));     /* set anew: now the last */
  for (int i = 0; i < 20; i++)
    assert_int_equal(timers_pop(&ts, at(10))->kind, i < 4 ? i : i < 19 ? i + 1 : 4);
  timers_deinit(&ts);
}

TEST(none_comes_out_before_its_instant)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  timers ts;
  timer t;

  timers_init(&ts, &m);
  assert_true(instant_is_never(timers_first(&ts)));
  assert_null(timers_pop(&ts, INSTANT_NEVER));
  assert_true(timers_reserve(&ts, 1));
  timer_init(&t, 1);
  timers_clear(&ts, &t);                /* not set: no effect */
  timers_set(&ts, &t, at(10));
  assert_null(timers_pop(&ts, at(9)));
  assert_ptr_equal(timers_pop(&ts, at(10)), &t);
  assert_null(timers_pop(&ts, at(11)));
  timers_deinit(&ts);
}

TEST(a_timer_that_outlives_the_heap_is_not_set)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  timers ts;
  timer t;

  timers_init(&ts, &m);
  assert_true(timers_reserve(&ts, 1));
  timer_init(&t, 1);
  timers_set(&ts, &t, at(1));
  timers_deinit(&ts);
  assert_false(timer_is_set(&t));
}

TEST(setting_within_the_reserve_asks_for_no_memory)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  timers ts;
  timer all[100];

  timers_init(&ts, &m);
  assert_true(timers_reserve(&ts, 100));
  heap.fail_at = 1;
  heap.keeps_failing = true;
  for (int i = 0; i < 100; i++) {
    timer_init(&all[i], i);
    timers_set(&ts, &all[i], at(i));
  }
  assert_true(timers_reserve(&ts, 50));
  assert_false(timers_reserve(&ts, SIZE_MAX));
  timers_deinit(&ts);
}

static bool grows(failing_heap *heap, void *data)
{
  memory m = FAILING_HEAP_AS(memory, heap);
  timers ts;
  timer all[100];
  size_t set = 0;
  int64_t last = -1;

  (void)data;
  timers_init(&ts, &m);
  for (int i = 0; i < 100; i++) {
    timer_init(&all[i], i);
    if (!timers_reserve(&ts, ts.count + 1))
      continue;
    timers_set(&ts, &all[i], at(1000 - i));
    set++;
  }
  for (size_t i = 0; i < set; i++) {
    timer *t = timers_pop(&ts, at(1000));
    assert_true(t->at.ns > last);
    last = t->at.ns;
  }
  timers_deinit(&ts);
  return set == 100;
}

TEST(refusals_lose_no_timer)
{
  failing_heap_try_all(grows, NULL);
}

TEST(instants_saturate)
{
  assert_true(instant_is_never(instant_add(INSTANT_NEVER, SPAN_MS(1))));
  assert_true(instant_is_never(instant_add(at(INT64_MAX - 5), (span){ 6 })));
  assert_true(instant_add(at(5), (span){ 6 }).ns == 11);
  assert_true(instant_since(at(5), at(7)).ns == -2);
}

RUN_TESTS(NULL, NULL)

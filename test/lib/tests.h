/* SPDX-License-Identifier: MIT */
/* tests.h - cmocka with what it needs, and the tests of a program, each named once:
 *
 *   TEST(a_held_lock_is_released)
 *   {
 *     ...
 *   }
 *
 *   RUN_TESTS(setup, teardown)
 *
 * RUN_TESTS() is main(): it runs the tests of the file in their order, the fixtures around all
 * of them; RUN_TESTS_EACH() has two more around each test that was not written with its own, by
 * TEST_WITH(). NULL is no fixture. A test finds in `*state` what its setup made. A main() that
 * has more to do calls tests_run(). The priorities of the constructors keep the order, which
 * gcc reverses in a build with b_lto. */
#ifndef TESTS_H
#define TESTS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#define TESTS_MAX 64

struct test_list {
  struct CMUnitTest tests[TESTS_MAX];
  size_t count;
};

static inline struct test_list *test_list(void)
{
  static struct test_list list;

  return &list;
}

static inline void test_add(struct CMUnitTest test)
{
  struct test_list *list = test_list();

  if (list->count == TESTS_MAX)
    abort();
  list->tests[list->count++] = test;
}

static inline int tests_run(CMFixtureFunction before_all, CMFixtureFunction after_all,
                            CMFixtureFunction before, CMFixtureFunction after)
{
  struct test_list *list = test_list();

  for (size_t i = 0; i < list->count; i++)
    if (list->tests[i].setup_func == NULL && list->tests[i].teardown_func == NULL) {
      list->tests[i].setup_func = before;
      list->tests[i].teardown_func = after;
    }
  return _cmocka_run_group_tests("tests", list->tests, list->count, before_all, after_all);
}

#define TEST_WITH(name, before, after)                                                       \
  static void name(void **state);                                                            \
  static __attribute__((constructor(1000 + __COUNTER__))) void add_##name(void)              \
  {                                                                                          \
    test_add((struct CMUnitTest){ #name, name, (before), (after), NULL });                   \
  }                                                                                          \
  static void name(__attribute__((unused)) void **state)

#define TEST(name) TEST_WITH(name, NULL, NULL)

#define RUN_TESTS_EACH(before_all, after_all, before, after)                                 \
  int main(void)                                                                             \
  {                                                                                          \
    return tests_run((before_all), (after_all), (before), (after));                          \
  }

#define RUN_TESTS(before_all, after_all) RUN_TESTS_EACH(before_all, after_all, NULL, NULL)

#endif

/* SPDX-License-Identifier: MIT */
/* Unit: base/descriptor.h - a number that the library has is given to no other descriptor of it,
 * also when the program has closed it. */
#include "tests.h"
#include "base/descriptor.h"

static int null_open(void)
{
  return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

TEST(a_number_that_the_program_closed_is_not_used_again)
{
  int first = descriptor_keep(null_open()), second, third;

  assert_true(first > STDERR_FILENO);
  assert_int_equal(close(first), 0);
  second = descriptor_keep(null_open());
  third = descriptor_keep(null_open());
  assert_true(second > first && third > second);
  assert_int_equal(fcntl(first, F_GETFD), -1);
  assert_int_equal(fcntl(second, F_GETFD), FD_CLOEXEC);
  descriptor_close(third);
  descriptor_close(second);
  assert_int_equal(fcntl(second, F_GETFD), -1);
  descriptor_close(first);
  assert_int_equal(descriptor_keep(null_open()), first);
  descriptor_close(first);
}

TEST(no_descriptor_is_none)
{
  errno = 0;
  assert_int_equal(descriptor_keep(-1), -1);
  assert_int_equal(errno, 0);
}

TEST(numbers_that_are_too_great_are_not_remembered)
{
  assert_true(descriptor_number_take(1 << 20));
  assert_true(descriptor_number_take(1 << 20));
  assert_true(descriptor_number_take((1 << 20) - 1));
  assert_false(descriptor_number_take((1 << 20) - 1));
  descriptor_number_give(1 << 20);
  descriptor_number_give((1 << 20) - 1);
  assert_true(descriptor_number_take((1 << 20) - 1));
  descriptor_number_give((1 << 20) - 1);
}

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* test/peers/overlap_test.c - the checker of the peers' intervals finds what overlaps, and only
 * that. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <unistd.h>

#include "overlap.h"

static struct overlaps of(const struct interval *all, size_t count, size_t permits)
{
  struct intervals i = { 0 };
  struct overlaps o;

  for (size_t k = 0; k < count; k++)
    intervals_add(&i, all[k]);
  o = intervals_check(&i, permits);
  intervals_deinit(&i);
  return o;
}

TEST(one_after_the_other_is_right_in_any_order_of_files)
{
  const struct interval all[] = { { 30, 40, 1, false }, { 10, 20, 0, false },
                                  { 20, 30, 0, false } };
  struct overlaps o = of(all, 3, 1);

  assert_int_equal(o.count, 0);
  assert_int_equal(o.handovers, 1);
  assert_int_equal(o.inside_max, 1);
}

TEST(a_nanosecond_too_early_is_found_and_named)
{
  const struct interval all[] = { { 10, 20, 0, false }, { 19, 30, 1, false } };
  struct overlaps o = of(all, 2, 1);

  assert_int_equal(o.count, 1);
  assert_int_equal(o.first[0].who, 0);
  assert_int_equal(o.first[1].who, 1);
}

TEST(a_long_one_is_not_forgotten_behind_short_ones)
{
  const struct interval all[] = { { 10, 100, 0, true }, { 20, 30, 1, true },
                                  { 40, 50, 1, true }, { 60, 70, 2, false } };

  assert_int_equal(of(all, 3, 1).count, 0);
  assert_int_equal(of(all, 4, 1).count, 1);
}

TEST(readers_share_and_writers_do_not)
{
  const struct interval all[] = { { 10, 20, 0, false }, { 15, 18, 1, true } };

  assert_int_equal(of(all, 2, 1).count, 1);
}

TEST(as_many_as_there_are_permits)
{
  const struct interval all[] = { { 10, 20, 0, false }, { 11, 20, 1, false },
                                  { 12, 20, 2, false } };

  assert_int_equal(of(all, 3, 3).count, 0);
  assert_int_equal(of(all, 3, 3).inside_max, 3);
  assert_int_equal(of(all, 3, 2).count, 1);
}

TEST(a_file_that_is_no_record_is_refused)
{
  char path[] = "/tmp/dibs-overlap-XXXXXX";
  struct intervals i = { 0 };
  int fd = mkstemp(path);

  assert_true(fd >= 0);
  assert_int_equal(write(fd, "1 2\n3 4\n", 8), 8);
  assert_true(intervals_read(&i, path, 0, false));
  assert_int_equal(i.count, 2);
  assert_int_equal(write(fd, "oh\n", 3), 3);
  assert_false(intervals_read(&i, path, 0, false));
  assert_int_equal(unlink(path), 0);
  assert_false(intervals_read(&i, path, 0, false));
  intervals_deinit(&i);
  (void)close(fd);
}

RUN_TESTS(NULL, NULL)

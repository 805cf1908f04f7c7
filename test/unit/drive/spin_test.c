/* SPDX-License-Identifier: MIT */
/* test/unit/drive/spin_test.c - when a leader spins before it sleeps. */
#include "tests.h"

#include "drive/spin.h"

/* Waits that sleep at once until the next spin. */
static unsigned sleeps(spin_history *h)
{
  unsigned count = 0;

  while (!spin_is_next(h))
    count++;
  return count;
}

TEST(success_spins_again)
{
  spin_history h = { 0 };

  for (int i = 0; i < 10; i++) {
    assert_true(spin_is_next(&h));
    spin_ended(&h, SPIN_PAID);
  }
}

TEST(failures_in_a_row_make_spins_rare)
{
  spin_history h = { 0 };

  for (unsigned expected = 1; expected <= 1024; expected *= 2) {
    spin_ended(&h, SPIN_IN_VAIN);
    assert_int_equal(sleeps(&h), expected);
  }
  spin_ended(&h, SPIN_IN_VAIN);
  assert_int_equal(sleeps(&h), 1024);

  spin_ended(&h, SPIN_PAID);
  assert_int_equal(sleeps(&h), 0);
  spin_ended(&h, SPIN_IN_VAIN);
  assert_int_equal(sleeps(&h), 1);
}

TEST(a_spin_that_lost_its_processor_is_not_repeated_soon)
{
  spin_history h = { 0 };

  spin_ended(&h, SPIN_PUT_OFF);
  assert_int_equal(sleeps(&h), 64);
  spin_ended(&h, SPIN_PUT_OFF);
  assert_int_equal(sleeps(&h), 128);
  spin_ended(&h, SPIN_IN_VAIN);
  assert_int_equal(sleeps(&h), 256);
  spin_ended(&h, SPIN_PAID);
  assert_int_equal(sleeps(&h), 0);
}

/* More than there are processors never spin together, and each that leaves makes room. */
TEST(spinners_leave_a_processor_free)
{
  int most = 0, again = 0;

  while (spinner_enters())
    most++;
  for (int i = 0; i < most; i++)
    spinner_leaves();
  while (spinner_enters())
    again++;
  for (int i = 0; i < again; i++)
    spinner_leaves();
  assert_int_equal(again, most);
}

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* lock/reuse_history.c: when DIBS_LINGER_AUTO begins and ends (protocol.md 11). */
#include "tests.h"

#include <stdio.h>

#include "lock/reuse_history.h"

#define AT(ms) ((instant){ SPAN_MS(1000000 + (ms)).ns })

static reuse_history all;

static void use(const char *name, int64_t ms)
{
  reuse_taken(&all, name, 1, AT(ms));
  reuse_released(&all, name, 1, false, AT(ms));
}

static bool lingers(const char *name)
{
  return reuse_says_linger(&all, name, 1, true);
}

static int clean(void **state)
{
  (void)state;
  all = (reuse_history){ { { .name = 0 } } };
  return 0;
}

TEST(three_times_in_a_row_is_reuse)
{
  use("a", 0);
  use("a", 900);
  assert_false(lingers("a"));
  use("a", 1800);
  assert_true(lingers("a"));
  assert_false(lingers("b"));
}

TEST(a_pause_begins_anew)
{
  use("a", 0);
  use("a", 100);
  use("a", 1101);
  assert_false(lingers("a"));
  use("a", 1200);
  use("a", 1300);
  assert_true(lingers("a"));
}

TEST(demand_at_the_release_begins_anew)
{
  use("a", 0);
  use("a", 1);
  reuse_taken(&all, "a", 1, AT(2));
  reuse_released(&all, "a", 1, true, AT(2));
  assert_false(lingers("a"));
}

TEST(two_revocations_in_a_row_end_it)
{
  for (int i = 0; i < 3; i++)
    use("a", i);
  reuse_revoked(&all, "a", 1);
  assert_true(lingers("a"));
  reuse_paid(&all, "a", 1);            /* in between it paid */
  reuse_revoked(&all, "a", 1);
  assert_true(lingers("a"));
  reuse_revoked(&all, "a", 1);
  assert_false(lingers("a"));
}

static bool lingers_unless_it_costs(const char *name)
{
  return reuse_says_linger(&all, name, 1, false);
}

/* Two clients in turn: each of them takes the name without keeping it, and seldom tries. */
TEST(what_is_revoked_each_time_pauses_for_twice_as_many_grants)
{
  assert_true(lingers_unless_it_costs("a"));
  use("a", 0);
  reuse_revoked(&all, "a", 1);
  assert_true(lingers_unless_it_costs("a"));
  for (int i = 1; i < 8; i++) {
    static const int pauses[] = { 0, 3, 6, 12, 24, 48, 96, 96 };

    reuse_revoked(&all, "a", 1);
    for (int grants = 0; grants < pauses[i]; grants++) {
      assert_false(lingers_unless_it_costs("a"));
      use("a", 60000 * i + grants);            /* however late */
    }
    assert_true(lingers_unless_it_costs("a"));
  }
  reuse_paid(&all, "a", 1);
  reuse_revoked(&all, "a", 1);
  assert_true(lingers_unless_it_costs("a"));
}

TEST(names_that_share_a_place_forget_each_other)
{
  char name[8];

  for (int i = 0; i < 3; i++)
    use("a", i);
  for (int i = 0; i < 5000; i++) {
    int size = snprintf(name, sizeof(name), "n%d", i);

    reuse_taken(&all, name, (size_t)size, AT(10));
  }
  assert_false(lingers("a"));
}

RUN_TESTS_EACH(NULL, NULL, clean, NULL)

/* SPDX-License-Identifier: MIT */
/* test/live/no_reentry.h - an owner that has one of several names, or a hold of several, is refused
 * each of them, in every dialect. */
#ifndef TEST_NO_REENTRY_H
#define TEST_NO_REENTRY_H

#include "live.h"

/* Also where another client has the name that comes first. */
static void expect_no_reentry(dibs_client *mine, dibs_client *others, const char *const names[2])
{
  dibs_lock_options o = live_lock_options(20000, LIVE_LONG_MS);
  dibs_hold *hold = NULL, *first = live_lock(others, names[0], 20000);
  dibs_hold *last = live_lock(mine, names[1], 20000);

  live_expect(mine, acquire_names(mine, names, 2, &o, &hold), DIBS_WOULD_DEADLOCK);
  live_expect(others, dibs_release(first), DIBS_OK);
  live_expect(mine, acquire_names(mine, names, 2, &o, &hold), DIBS_WOULD_DEADLOCK);
  assert_int_equal(dibs_hold_state(last), DIBS_HOLD_HELD);
  live_expect(mine, dibs_release(last), DIBS_OK);

  live_expect(mine, acquire_names(mine, names, 2, &o, &hold), DIBS_OK);
  for (int i = 0; i < 2; i++) {
    live_expect(mine, dibs_lock(mine, names[i], &o, &first), DIBS_WOULD_DEADLOCK);
    live_expect(mine, dibs_try_lock(mine, names[i], &o, &first), DIBS_WOULD_DEADLOCK);
  }
  live_expect(mine, acquire_names(mine, names, 2, &o, &first), DIBS_WOULD_DEADLOCK);
  live_expect(mine, dibs_release(hold), DIBS_OK);
  for (int i = 0; i < 2; i++)
    live_expect_free(others, names[i], 8000);
}

#endif

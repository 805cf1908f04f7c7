/* SPDX-License-Identifier: MIT */
/* test/live/clock_step_test.c - after a step of the server's clock dibs_inspect() calls a name held
 * as long as a try of another client fails: of leases from before the step, whose end the new
 * clock has passed or moved away, and of leases from after it, whose clients doubt the clock. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>

#include "live.h"

enum { TTL_MS = 20000, STEP_MS = 600000 };   /* keys live for an hour at least */

typedef dibs_status take(dibs_client *c, const char *name, const dibs_lock_options *o,
                         dibs_hold **ret_hold);

static dibs_status permit(dibs_client *c, const char *name, const dibs_lock_options *o,
                          dibs_hold **ret_hold)
{
  live_expect_ok(dibs_semaphore_set(c, dibs_text(name), 1, DIBS_SEMAPHORE_IF_ABSENT, NULL));
  return acquire_now(c, DIBS_PERMITS(name, 1), o, ret_hold);
}

static dibs_status writer(dibs_client *c, const char *name, const dibs_lock_options *o,
                          dibs_hold **ret_hold)
{
  return acquire_now(c, DIBS_WRITE(name), o, ret_hold);
}

static take *const kinds[] = { dibs_try_lock, writer, permit };

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static const char *name_of(char name[32], size_t kind, const char *when)
{
  (void)snprintf(name, 32, "%s %zu", when, kind);
  return name;
}

/* Takes a lock of each kind, with leases that are not renewed. */
static void take_all(dibs_client *c, const char *when)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  dibs_hold *hold;
  char name[32];

  for (size_t i = 0; i < KINDS; i++) {
    live_expect(c, kinds[i](c, name_of(name, i, when), &o, &hold), DIBS_OK);
    live_expect_ok(dibs_hold_detach(hold));
  }
}

static void agree(dibs_client *c, const char *when)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  dibs_inspection *seen = NULL;
  dibs_hold *hold;
  char name[32];
  bool is_held;
  dibs_status status;

  for (size_t i = 0; i < KINDS; i++) {
    live_expect_ok(dibs_inspect(c, dibs_text(name_of(name, i, when)), &seen));
    is_held = seen->is_held;
    seen = dibs_inspection_free(seen);
    status = kinds[i](c, name, &o, &hold);
    if (is_held != (status == DIBS_BUSY))
      live_fault("%s: %s, and a try says %s", name, is_held ? "held" : "free",
                 dibs_status_name(status));
    if (status == DIBS_OK)
      (void)dibs_release(hold);
  }
}

static void after_a_step(int64_t ms)
{
  struct test_server_options with = { .has_clock = true };
  struct test_server *server = test_server_start_with(&with);
  dibs_client *before = live_open(test_server_url(server)), *after;
  int faults = live_faults();

  take_all(before, "before");
  agree(before, "before");
  live_expect_ok(dibs_ping(before, LIVE_LONG_MS, NULL));
  test_server_clock_shift(server, ms);
  after = live_open(test_server_url(server));
  take_all(after, "after");
  agree(after, "before");
  agree(before, "after");
  before = dibs_close(before);
  after = dibs_close(after);
  server = test_server_stop(server);
  assert_int_equal(live_faults() - faults, 0);
}

TEST(set_ahead_an_inspection_and_a_try_agree)
{
  after_a_step(STEP_MS);
}

TEST(set_back_an_inspection_and_a_try_agree)
{
  after_a_step(-STEP_MS);
}

RUN_TESTS(NULL, NULL)

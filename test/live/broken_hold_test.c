/* SPDX-License-Identifier: MIT */
/* test/live/broken_hold_test.c - a holder learns that its lock was broken long before its next
 * renewal: each ttl here is an hour. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "live.h"

#define TTL_MS 3600000

typedef struct kind {
  const char *name;
  dibs_status (*take)(const char *name, const dibs_lock_options *o, dibs_hold **ret);
} kind;

static dibs_client *holder, *administrator;

static int setup(void **state)
{
  (void)live_server_setup(state);
  administrator = live_open(live_url());
  return 0;
}

static int teardown(void **state)
{
  administrator = dibs_close(administrator);
  live_expect_clean(live_server);
  return live_server_teardown(state);
}

static dibs_status mutex(const char *name, const dibs_lock_options *o, dibs_hold **ret)
{
  return dibs_lock(holder, name, o, ret);
}

static dibs_status reader(const char *name, const dibs_lock_options *o, dibs_hold **ret)
{
  return dibs_read_lock(holder, name, o, ret);
}

static dibs_status writer(const char *name, const dibs_lock_options *o, dibs_hold **ret)
{
  return dibs_write_lock(holder, name, o, ret);
}

static dibs_status many(const char *name, const dibs_lock_options *o, dibs_hold **ret)
{
  const char *names[] = { "other", name };

  return dibs_lock_many(holder, names, 2, o, ret);
}

static bool was_renewed(void *before)
{
  return live_stats(holder).renewed > *(uint64_t *)before;
}

static void break_it(const char *name)
{
  dibs_inspection *seen = NULL;

  live_expect_ok(dibs_inspect(administrator, name, &seen));
  assert_int_equal(seen->shown_holders, 1);
  live_expect_ok(dibs_break(administrator, name, seen->holders[0].lease));
  seen = dibs_inspection_free(seen);
}

/* Of a client without a subscription. The first renewal comes with one. */
static void expect_loss(const kind *k, unsigned flags, bool is_subscribed)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  struct live_loss loss = { 0 };
  uint64_t renewed = 0;
  dibs_hold *hold = NULL;

  o.flags = flags;
  o.on_lost = live_on_lost;
  o.on_lost_data = &loss;
  holder = live_open(live_url());
  live_expect(holder, k->take(k->name, &o, &hold), DIBS_OK);
  if (is_subscribed)
    assert_true(live_until(LIVE_LONG_MS, was_renewed, &renewed));
  break_it(k->name);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_equal(loss.why, DIBS_LOST);
  assert_int_equal(dibs_release(hold), DIBS_LOST);
  holder = dibs_close(holder);
}

static void each_kind_learns_it(void **state)
{
  const kind kinds[] = {
    { "mutex", mutex }, { "read", reader }, { "write", writer }, { "many", many },
  };

  (void)state;
  for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
    expect_loss(&kinds[i], 0, false);
    expect_loss(&kinds[i], 0, true);
  }
}

static void a_fixed_lease_learns_it(void **state)
{
  const kind fixed = { "fixed", mutex };

  (void)state;
  expect_loss(&fixed, DIBS_LOCK_FIXED, false);
}

int main(void)
{
  if (live_is_beyond(LIVE_CLUSTER))
    return 0;
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_kind_learns_it),
    cmocka_unit_test(a_fixed_lease_learns_it),
  };

  return cmocka_run_group_tests(tests, setup, teardown);
}

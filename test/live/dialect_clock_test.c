/* SPDX-License-Identifier: MIT */
/* test/live/dialect_clock_test.c - the server's clock is set, in formats whose leases are the
 * server's expiry: what they lose by it, as the guides say, and what dibs does then. Native
 * leases are not concerned: F18. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>

#include "live.h"

#define REGISTRY "orders"

enum { TTL_MS = 3000, HOUR_MS = 3600000, DEAD_MS = 5000 };

static const dibs_dialect formats[] = { DIBS_DIALECT_REDISSON, DIBS_DIALECT_SPRING,
                                        DIBS_DIALECT_PLAIN };

struct place {
  dibs_dialect dialect;
  struct test_server *server;
  dibs_client *a, *b;
};

static dibs_client *open_at(const struct place *p)
{
  dibs_options o = live_options();

  o.dialect = p->dialect;
  if (o.dialect == DIBS_DIALECT_SPRING)
    o.registry = REGISTRY;
  return live_open_with(test_server_url(p->server), &o);
}

static void in_each_format(void (*test)(const struct place *p))
{
  for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
    struct test_server_options o = { .has_clock = true };
    struct place p = { .dialect = formats[i], .server = test_server_start_with(&o) };

    p.a = open_at(&p);
    p.b = open_at(&p);
    test(&p);
    dibs_close(p.a);
    dibs_close(p.b);
    test_server_stop(p.server);
  }
}

/* ---- ahead ---- */

static void is_taken_early_and_told(const struct place *p)
{
  struct live_loss loss = { 0 };
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  dibs_hold *early = NULL, *hold;
  uint64_t fence;

  live_report_loss(&o, &loss);
  hold = live_lock_with(p->a, "early", &o);
  fence = dibs_hold_fence(hold);
  test_server_clock_shift(p->server, HOUR_MS);
  live_expect(p->b, dibs_try_lock(p->b, "early", &o, &early), DIBS_OK);
  PROMISE_GROWN(dibs_hold_fence(early), fence);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_GONE);
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
  live_expect(p->b, dibs_release(early), DIBS_OK);
}

TEST(set_ahead_a_lease_ends_early_and_its_holder_is_told)
{
  in_each_format(is_taken_early_and_told);
}

/* ---- back ---- */

static void take_and_die(const struct place *p, const char *name)
{
  static const char hash[] = "redis.call('HSET', KEYS[1], "
                             "'b983c153-7421-469a-addb-44fb92259a1b:42', 1) "
                             "return redis.call('PEXPIRE', KEYS[1], ARGV[1])";
  static const char string[] = "redis.call('SET', KEYS[1], 'somebody', 'PX', ARGV[1]) return 1";
  char key[64];

  if (p->dialect == DIBS_DIALECT_SPRING)
    (void)snprintf(key, sizeof(key), REGISTRY ":%s", name);
  else
    (void)snprintf(key, sizeof(key), "%s", name);
  assert_int_equal(test_server_integer(p->server, "EVAL %s 1 %s %d",
                                       p->dialect == DIBS_DIALECT_REDISSON ? hash : string,
                                       key, DEAD_MS), 1);
}

static void is_kept_by_the_dead(const struct place *p)
{
  dibs_inspection *in = NULL;

  take_and_die(p, "late");
  test_server_clock_shift(p->server, -HOUR_MS);
  live_expect(p->b, dibs_inspect(p->b, dibs_text("late"), &in), DIBS_OK);
  assert_true(in->is_held);
  assert_in_range(in->remaining_ms, HOUR_MS - LIVE_LONG_MS, HOUR_MS + DEAD_MS);
  live_expect_ok(dibs_break(p->b, dibs_text("late"), in->lease));
  dibs_inspection_free(in);
  assert_int_equal(live_try(p->b, "late"), DIBS_OK);
}

TEST(set_back_a_dead_lease_stays_until_somebody_breaks_it)
{
  in_each_format(is_kept_by_the_dead);
}

RUN_TESTS(NULL, NULL)

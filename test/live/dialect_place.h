/* SPDX-License-Identifier: MIT */
/* test/live/dialect_place.h - a server of one's own and two clients of one dialect on it, for the
 * tests of dialects: the other side does by raw commands what another library does. */
#ifndef TEST_DIALECT_PLACE_H
#define TEST_DIALECT_PLACE_H

#include "live.h"
#include "server_parts.h"

static struct test_server *server;
static dibs_client *a, *b;

/* Of clients of this dialect: each test says which. */
static dibs_options dialect_options(void);

static dibs_client *open_at(const char *url)
{
  dibs_options o = dialect_options();

  return live_open_with(url, &o);
}

static int setup(void **state)
{
  (void)state;
  server = test_server_start();
  a = open_at(test_server_url(server));
  b = open_at(test_server_url(server));
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  a = dibs_close(a);
  b = dibs_close(b);
  server = test_server_stop(server);
  return 0;
}

static int empty(void **state)
{
  (void)state;
  (void)test_server_command(server, "FLUSHALL");
  return 0;
}

/* Assert: two of ours take turns at a name, each with a higher fence. */
static inline void expect_turns(int rounds, int ttl_ms, int soon_ms)
{
  dibs_lock_options o = live_lock_options(ttl_ms, LIVE_LONG_MS);
  dibs_hold *hold = live_lock(a, "turns", ttl_ms);

  for (int i = 0; i < rounds; i++) {
    dibs_client *next = i % 2 == 0 ? b : a;
    uint64_t fence = dibs_hold_fence(hold);
    struct live_ask ask;

    live_refused(live_try(next, "turns"), DIBS_BUSY);
    live_ask_begin(&ask, next, "turns", &o);
    live_expect_ok(dibs_release(hold));
    hold = live_ask_granted(&ask, soon_ms);
    PROMISE_GROWN(dibs_hold_fence(hold), fence);
  }
  live_expect_ok(dibs_release(hold));
}

#endif

/* SPDX-License-Identifier: MIT */
/* test/live/metrics_promtool_test.c - Prometheus' own checker accepts the text of a client
 * that did a little of everything. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "live.h"

enum { TTL_MS = 20000 };

static bool print(const char *piece, size_t size, void *data)
{
  return fwrite(piece, 1, size, data) == size;
}

static void use_all(dibs_client *c)
{
  dibs_hold *seat = NULL, *reader = NULL;

  live_expect_ok(dibs_release(live_lock(c, "orders:1", TTL_MS)));
  (void)live_lock(c, "orders:2", TTL_MS);
  live_expect_ok(dibs_release(live_lock(c, "gr\xc3\xbc\xc3\x9f" "e \"\n\\:1", TTL_MS)));
  live_expect_ok(dibs_semaphore_set(c, dibs_text("seats"), 2, 0, NULL));
  live_expect_ok(dibs_acquire(c, DIBS_PERMITS("seats", 1), NULL, &seat));
  live_expect_ok(dibs_acquire(c, DIBS_READ("plan:1"), NULL, &reader));
  live_expect_ok(dibs_release(reader));
}

TEST(promtool_accepts_the_text)
{
  dibs_client *c;
  FILE *checker;

  if (system("command -v promtool >/dev/null") != 0)
    skip();
  c = live_open(live_url());
  use_all(c);
  checker = popen("promtool check metrics", "w");
  assert_non_null(checker);
  live_expect(c, dibs_metrics_write(c, DIBS_METRICS_PROMETHEUS, print, checker), DIBS_OK);
  assert_int_equal(pclose(checker), 0);
  assert_null(dibs_close(c));
}

RUN_TESTS(live_server_setup, live_server_teardown)

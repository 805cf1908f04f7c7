/* SPDX-License-Identifier: MIT */
/* test/live/renewal_ends_test.c - renewals end with the hold: MONITOR shows none of a
 * lease after its release returned, and max_hold_ms ends what nobody releases. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <poll.h>

#include <hiredis/hiredis.h>

#include "proxy.h"
#include "server_parts.h"
#include "two_clients.h"

static int setup_renewing(void **state)
{
  dibs_options o = live_options();

  o.renew_every_ms = 1;
  return two_clients(state, &o);
}

/* ---- MONITOR ---- */

static redisContext *monitor_start(void)
{
  redisContext *c = test_server_connect(live_server);

  assert_int_equal(c->err, 0);
  freeReplyObject(redisCommand(c, "MONITOR"));
  return c;
}

/* Reads until `mark` was echoed; how often `lease` was written before, granted or renewed. */
static int monitor_count(redisContext *c, const char *lease, const char *mark)
{
  char held[100];
  int count = 0;

  (void)snprintf(held, sizeof(held), "\"%s ", lease);
  for (;;) {
    redisReply *line = NULL;
    bool is_mark;

    assert_int_equal(redisGetReply(c, (void **)&line), REDIS_OK);
    is_mark = strstr(line->str, mark) != NULL;
    count += strstr(line->str, held) != NULL;
    freeReplyObject(line);
    if (is_mark)
      return count;
  }
}

static void lease_of(const char *name, char *ret, size_t size)
{
  dibs_inspection *seen = NULL;

  assert_int_equal(dibs_inspect(other, dibs_text(name), &seen), DIBS_OK);
  assert_true(seen->is_held);
  (void)snprintf(ret, size, "%s", seen->lease);
  seen = dibs_inspection_free(seen);
}

TEST(no_renewal_follows_a_release)
{
  live_needs_one_view();
  redisContext *monitor = monitor_start();
  char lease[96], mark[48];
  uint64_t renewed = live_stats(client).renewed;

  for (long run = live_times(100); run > 0; run--) {
    dibs_hold *hold = live_lock(client, "watched", 1000);

    lease_of("watched", lease, sizeof(lease));
    for (int i = (int)(run % 4); i > 0; i--)
      (void)poll(NULL, 0, 1);
    assert_int_equal(dibs_release(hold), DIBS_OK);
    (void)snprintf(mark, sizeof(mark), "mark:released-%ld", run);
    (void)test_server_command(live_server, "ECHO %s", mark);
    assert_true(monitor_count(monitor, lease, mark) > 0);
    /* A renewal that comes late comes before the next mark, twenty periods later. */
    if (run % 10 == 0)
      (void)poll(NULL, 0, 20);
    (void)snprintf(mark, sizeof(mark), "mark:later-%ld", run);
    (void)test_server_command(live_server, "ECHO %s", mark);
    assert_int_equal(monitor_count(monitor, lease, mark), 0);
  }
  assert_true(live_stats(client).renewed > renewed);
  redisFree(monitor);
}

TEST(no_renewal_follows_a_release_that_failed)
{
  live_needs_one_server();
  struct test_proxy *proxy = test_proxy_start(live_server);
  dibs_options o = live_options();
  dibs_client *cut_off;
  redisContext *monitor;
  dibs_hold *hold;
  char lease[96];

  o.renew_every_ms = 5;
  cut_off = live_open_with(live_url_by(proxy), &o);
  hold = live_lock(cut_off, "failed", 1000);
  lease_of("failed", lease, sizeof(lease));
  test_proxy_black_hole(proxy, TEST_BOTH);
  assert_int_equal(dibs_release(hold), DIBS_UNKNOWN);
  monitor = monitor_start();
  test_proxy_pass(proxy, TEST_BOTH);
  live_expect_free(other, "failed", LIVE_LONG_MS);
  (void)test_server_command(live_server, "ECHO mark:freed");
  (void)monitor_count(monitor, lease, "mark:freed");      /* the release itself */
  (void)poll(NULL, 0, 100);
  (void)test_server_command(live_server, "ECHO mark:later");
  assert_int_equal(monitor_count(monitor, lease, "mark:later"), 0);
  redisFree(monitor);
  cut_off = dibs_close(cut_off);
  proxy = test_proxy_stop(proxy);
}

TEST(no_renewal_follows_a_detach_or_a_loss)
{
  live_needs_one_view();
  redisContext *monitor = monitor_start();
  struct live_loss loss = { .count = 0 };
  dibs_lock_options o = live_lock_options(1000, LIVE_LONG_MS);
  dibs_hold *hold = live_lock(client, "detached", 300);
  char lease[96];

  lease_of("detached", lease, sizeof(lease));
  live_expect_ok(live_detach(hold));
  assert_int_equal(dibs_release(hold), DIBS_ERR_STALE);
  (void)test_server_command(live_server, "ECHO mark:detached");
  (void)monitor_count(monitor, lease, "mark:detached");
  live_expect_free(other, "detached", LIVE_LONG_MS);
  (void)test_server_command(live_server, "ECHO mark:over");
  assert_int_equal(monitor_count(monitor, lease, "mark:over"), 0);

  live_report_loss(&o, &loss);
  hold = live_lock_with(client, "dropped", &o);
  lease_of("dropped", lease, sizeof(lease));
  assert_int_equal(test_server_integer(live_server, "DEL %s", live_key("dropped")), 1);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  (void)test_server_command(live_server, "ECHO mark:lost");
  (void)monitor_count(monitor, lease, "mark:lost");
  (void)poll(NULL, 0, 50);
  (void)test_server_command(live_server, "ECHO mark:after");
  assert_int_equal(monitor_count(monitor, lease, "mark:after"), 0);
  assert_string_equal(test_server_command(live_server, "EXISTS %s", live_key("dropped")), "0");
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
  redisFree(monitor);
}

/* ---- the cap ---- */

TEST(max_hold_ends_a_hold_that_is_never_released)
{
  struct live_loss loss = { .count = 0 };
  dibs_lock_options o = live_lock_options(300, LIVE_LONG_MS);
  int64_t taken_at = live_now_ms();
  dibs_hold *hold;

  o.max_hold_ms = 900;
  live_report_loss(&o, &loss);
  hold = live_lock_with(client, "capped", &o);
  /* Renewed beyond its ttl, but not beyond the cap. */
  while (live_now_ms() - taken_at < 500) {
    assert_int_equal(dibs_hold_state(hold) == DIBS_HOLD_GONE, 0);
    (void)poll(NULL, 0, 5);
  }
  live_expect_free(other, "capped", 900 + 500);
  assert_true(live_now_ms() - taken_at >= 850);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_GONE);
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
  assert_int_equal(atomic_load(&loss.count), 1);
}

static void *take_and_die(void *status)
{
  dibs_lock_options o = live_lock_options(300, LIVE_LONG_MS);
  dibs_hold *leaked = NULL;

  o.max_hold_ms = 600;
  *(dibs_status *)status = dibs_lock(client, "leaked", &o, &leaked);
  return NULL;
}

TEST(a_dead_thread_keeps_its_lock_until_the_cap_only)
{
  dibs_status status = DIBS_UNKNOWN;
  pthread_t thread;

  assert_int_equal(pthread_create(&thread, NULL, take_and_die, &status), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(status, DIBS_OK);
  assert_int_equal(live_try(other, "leaked"), DIBS_BUSY);
  live_expect_free(other, "leaked", 600 + 500);
}

RUN_TESTS(setup_renewing, teardown)

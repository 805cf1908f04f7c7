/* SPDX-License-Identifier: MIT */
/* test/live/release_races_renewal_test.c - releases race renewals, a thousand of them a second: no
 * hold is ever told lost, and a release that failed is done later. DIBS_TEST_SCALE=100: a
 * million cycles. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <poll.h>

#include "proxy.h"
#include "two_clients.h"

enum { THREADS = 4 };

static struct live_loss loss;

static int setup_renewing(void **state)
{
  dibs_options o = live_options();

  o.renew_every_ms = 1;
  o.command_timeout_ms = 5000;
  return two_clients(state, &o);
}

static void *cycle(void *data)
{
  const char *name = data;
  dibs_lock_options o = live_lock_options(5000, LIVE_LONG_MS);

  live_report_loss(&o, &loss);
  for (long run = live_times(10000.0 / THREADS); run > 0; run--) {
    dibs_hold *hold = NULL;
    dibs_status status = dibs_lock(client, name, &o, &hold);

    if (status != DIBS_OK) {
      live_fault("lock: %s", dibs_status_name(status));
      break;
    }
    if (run % 100 == 0)
      (void)poll(NULL, 0, 3);       /* long enough for renewals to be under way */
    status = dibs_release(hold);
    if (status != DIBS_OK)
      live_fault("release: %s", dibs_status_name(status));
  }
  return NULL;
}

static void run_threads(char names[THREADS][16])
{
  pthread_t threads[THREADS];

  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, cycle, names[i]), 0);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_int_equal(live_faults(), 0);
  assert_int_equal(atomic_load(&loss.count), 0);
  assert_int_equal(live_stats(client).lost, 0);
}

TEST(releases_that_race_renewals_lose_nothing)
{
  uint64_t renewed = live_stats(client).renewed;

  run_threads((char[THREADS][16]){ "a", "b", "c", "d" });
  assert_true(live_stats(client).renewed > renewed);
}

TEST(nor_do_they_where_threads_contend)
{
  run_threads((char[THREADS][16]){ "e", "e", "f", "f" });
}

TEST(a_release_that_failed_is_done_by_the_library)
{
  live_needs_one_server();
  struct test_proxy *proxy = test_proxy_start(live_server);
  dibs_client *cut_off = live_open(live_url_by(proxy));
  dibs_hold *hold = live_lock(cut_off, "failed", 60000);

  test_proxy_refuse(proxy, true);
  test_proxy_cut(proxy);
  assert_int_equal(dibs_release(hold), DIBS_UNKNOWN);
  live_refused(live_try(other, "failed"), DIBS_BUSY);
  test_proxy_refuse(proxy, false);
  live_expect_free(other, "failed", 5000);      /* long before its ttl */
  cut_off = dibs_close(cut_off);
  proxy = test_proxy_stop(proxy);
}

struct errand {
  dibs_client *client;
  const char *token;
};

static bool is_released(void *data)
{
  const struct errand *e = data;

  return dibs_token_release(e->client, e->token) == DIBS_OK;
}

/* The token outlives the failure: whoever has it can try again. */
TEST(a_release_by_token_that_failed_can_be_tried_again)
{
  live_needs_one_server();
  struct test_proxy *proxy = test_proxy_start(live_server);
  dibs_options o = live_options();
  char token[DIBS_TOKEN_SIZE];
  dibs_hold *hold = live_lock(other, "token", 60000);
  struct errand again = { .token = token };
  dibs_client *cut_off;

  o.connect_timeout_ms = 200;
  o.command_timeout_ms = 200;
  cut_off = live_open_with(live_url_by(proxy), &o);
  live_expect_ok(dibs_hold_token(hold, token, sizeof(token)));
  live_expect_ok(live_detach(hold));
  test_proxy_refuse(proxy, true);
  assert_int_not_equal(dibs_token_release(cut_off, token), DIBS_OK);
  live_refused(live_try(client, "token"), DIBS_BUSY);
  test_proxy_refuse(proxy, false);
  again.client = cut_off;
  assert_true(live_until(LIVE_LONG_MS, is_released, &again));
  assert_int_equal(live_try(client, "token"), DIBS_OK);
  cut_off = dibs_close(cut_off);
  proxy = test_proxy_stop(proxy);
}

RUN_TESTS(setup_renewing, teardown)

/* SPDX-License-Identifier: MIT */
/* test/live/time_limit_test.c - every blocking call has one limit, and keeps it: against a
 * server that is stopped, from a client that was connected before, and from a new one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <dibs/barrier.h>
#include <dibs/dibs.h>
#include <dibs/doctor.h>
#include <dibs/election.h>
#include <dibs/guard.h>
#include <dibs/latch.h>
#include <dibs/list.h>
#include <dibs/map.h>
#include <dibs/rate.h>
#include <dibs/set.h>

#include "live.h"
#include "stall.h"

enum { CONNECT_MS = 700, COMMAND_MS = 300, WAIT_MS = 400, CLOSE_MS = 250, BOUND_MS = 50 };

static dibs_client *client;
static dibs_hold *hold;
static char token[DIBS_TOKEN_SIZE];

typedef dibs_status call(dibs_client *c);

static bool no_row(const dibs_inspection *inspection, void *data)
{
  (void)inspection;
  (void)data;
  return true;
}

static bool no_name(dibs_family family, const char *name, size_t name_size, void *data)
{
  (void)family;
  (void)name;
  (void)name_size;
  (void)data;
  return true;
}

/* ---- calls that wait: wait_ms; here, without any answer, the limit of those that do not, as that
 * is longer ---- */

static dibs_lock_options waits(void)
{
  return live_lock_options(5000, WAIT_MS);
}

static dibs_wait_options looks(void)
{
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;

  o.wait_ms = WAIT_MS;
  return o;
}

static dibs_status lock(dibs_client *c)
{
  dibs_lock_options o = waits();
  dibs_hold *got;

  return dibs_lock(c, "l", &o, &got);
}

static dibs_status read_lock(dibs_client *c)
{
  dibs_lock_options o = waits();
  dibs_hold *got;

  return dibs_read_lock(c, "rw", &o, &got);
}

static dibs_status permits(dibs_client *c)
{
  dibs_lock_options o = waits();
  dibs_hold *got;

  return dibs_acquire_permits(c, "s", 1, &o, &got);
}

static dibs_status many(dibs_client *c)
{
  static const char *const names[] = { "m1", "m2" };
  dibs_lock_options o = waits();
  dibs_hold *got;

  return dibs_lock_many(c, names, 2, &o, &got);
}

static dibs_status latch_wait(dibs_client *c)
{
  dibs_wait_options o = looks();

  return dibs_latch_await(c, "latch", &o);
}

static dibs_status limiter(dibs_client *c)
{
  dibs_wait_options o = looks();

  return dibs_rate_limiter_acquire(c, "rate", 1, &o);
}

static dibs_status list_take(dibs_client *c)
{
  dibs_wait_options o = looks();
  dibs_value *element;

  return dibs_list_take(c, "list", &o, &element);
}

static dibs_status barrier_await(dibs_client *c)
{
  dibs_wait_options o = looks();

  return dibs_barrier_await(c, "barrier", 2, &o, NULL);
}

static dibs_status campaign(dibs_client *c)
{
  dibs_lock_options o = waits();
  dibs_hold *got;

  return dibs_campaign(c, "election", "value", &o, &got);
}

static dibs_status ping(dibs_client *c)
{
  uint64_t us;

  return dibs_ping(c, WAIT_MS, &us);
}

/* ---- those that do not: the longer of connect and command timeout ---- */

static dibs_status try_lock(dibs_client *c)
{
  dibs_hold *got;

  return dibs_try_lock(c, "l", NULL, &got);
}

static dibs_status try_write(dibs_client *c)
{
  dibs_hold *got;

  return dibs_try_write_lock(c, "rw", NULL, &got);
}

static dibs_status try_permits(dibs_client *c)
{
  dibs_hold *got;

  return dibs_try_acquire_permits(c, "s", 1, NULL, &got);
}

static dibs_status inspect(dibs_client *c)
{
  dibs_inspection *found;

  return dibs_inspect(c, "l", &found);
}

static dibs_status list(dibs_client *c)
{
  return dibs_list(c, NULL, no_row, NULL);
}

static dibs_status list_names(dibs_client *c)
{
  return dibs_list_names(c, DIBS_FAMILY_LATCH, NULL, no_name, NULL);
}

static dibs_status semaphore_set(dibs_client *c)
{
  return dibs_semaphore_set(c, "s", 2);
}

static dibs_status token_renew(dibs_client *c)
{
  return dibs_token_renew(c, token, 1000, NULL);
}

static dibs_status latch_set(dibs_client *c)
{
  return dibs_latch_set(c, "latch", 2);
}

static dibs_status latch_count(dibs_client *c)
{
  int64_t left;

  return dibs_latch_count(c, "latch", &left);
}

static dibs_status barrier_get(dibs_client *c)
{
  dibs_barrier_info info = { .size = sizeof(info) };

  return dibs_barrier_get(c, "barrier", &info);
}

static dibs_status get_leader(dibs_client *c)
{
  dibs_leader *leader;

  return dibs_get_leader(c, "election", &leader);
}

static dibs_status guarded_set(dibs_client *c)
{
  return dibs_guarded_set(c, "key", 5, "v", 1, 0);
}

static dibs_status rate_try(dibs_client *c)
{
  int64_t later;

  return dibs_rate_limiter_try_acquire(c, "rate", 1, &later);
}

static dibs_status map_put(dibs_client *c)
{
  dibs_bytes k = { "k", 1 };

  return dibs_map_put(c, "map", k, k, NULL);
}

static const struct row {
  const char *name;
  call *run;
  int limit_ms;
} rows[] = {
  { "dibs_lock", lock, CONNECT_MS },
  { "dibs_read_lock", read_lock, CONNECT_MS },
  { "dibs_acquire_permits", permits, CONNECT_MS },
  { "dibs_lock_many", many, CONNECT_MS },
  { "dibs_latch_await", latch_wait, CONNECT_MS },
  { "dibs_rate_limiter_acquire", limiter, CONNECT_MS },
  { "dibs_list_take", list_take, CONNECT_MS },
  { "dibs_barrier_await", barrier_await, CONNECT_MS + COMMAND_MS },
  { "dibs_campaign", campaign, CONNECT_MS },
  { "dibs_ping", ping, WAIT_MS },
  { "dibs_try_lock", try_lock, CONNECT_MS },
  { "dibs_try_write_lock", try_write, CONNECT_MS },
  { "dibs_try_acquire_permits", try_permits, CONNECT_MS },
  { "dibs_inspect", inspect, CONNECT_MS },
  { "dibs_list", list, CONNECT_MS },
  { "dibs_list_names", list_names, CONNECT_MS },
  { "dibs_semaphore_set", semaphore_set, CONNECT_MS },
  { "dibs_token_renew", token_renew, CONNECT_MS },
  { "dibs_latch_set", latch_set, CONNECT_MS },
  { "dibs_latch_count", latch_count, CONNECT_MS },
  { "dibs_barrier_get", barrier_get, CONNECT_MS },
  { "dibs_get_leader", get_leader, CONNECT_MS },
  { "dibs_guarded_set", guarded_set, CONNECT_MS },
  { "dibs_rate_limiter_try_acquire", rate_try, CONNECT_MS },
  { "dibs_map_put", map_put, CONNECT_MS },
};

/* ---- the world ---- */

static dibs_client *open_at(const char *url)
{
  dibs_options o = live_options();

  o.connect_timeout_ms = CONNECT_MS;
  o.command_timeout_ms = COMMAND_MS;
  o.close_timeout_ms = CLOSE_MS;
  return live_open_with(url, &o);
}

static dibs_client *open_quick(void)
{
  return open_at(live_url());
}

static int setup(void **state)
{
  (void)live_server_setup(state);
  stall_watch_start();
  client = live_open(live_url());
  hold = live_lock(client, "tokened", 60000);
  assert_int_equal(dibs_hold_token(hold, token, sizeof(token)), DIBS_OK);
  client = dibs_close(client);
  return 0;
}

/* A test may have failed in between. */
static int go_on(void **state)
{
  (void)state;
  test_server_resume(live_server);
  client = dibs_close(client);
  return 0;
}

static int teardown(void **state)
{
  stall_watch_stop();
  return live_server_teardown(state);
}

static void is_cannot_ask(const char *name, dibs_status status)
{
  if (status != DIBS_ERR_UNREACHABLE && status != DIBS_UNKNOWN)
    fail_msg("%s: %s", name, dibs_status_name(status));
}

static void in_time(const char *name, int64_t begun_ms, const stall_mark *stalls, int limit_ms)
{
  int64_t took = live_now_ms() - begun_ms - stall_since_ms(stalls);

  if (took > limit_ms + BOUND_MS)
    fail_msg("%s may take %d ms, and took %lld", name, limit_ms, (long long)took);
}

/* The first that is late may be so for want of a processor: it is run again. */
static void run_row(const struct row *r, dibs_client *c)
{
  stall_mark stalls = stall_now();
  int64_t begun = live_now_ms();

  is_cannot_ask(r->name, r->run(c));
  if (live_now_ms() - begun - stall_since_ms(&stalls) > r->limit_ms + BOUND_MS) {
    stalls = stall_now();
    begun = live_now_ms();
    is_cannot_ask(r->name, r->run(c));
    in_time(r->name, begun, &stalls, r->limit_ms);
  }
}

static void every_call_keeps_its_limit_when_the_server_is_stopped(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    client = open_quick();
    live_expect_free(client, "warm", LIVE_LONG_MS);
    test_server_pause(live_server);
    run_row(&rows[i], client);
    run_row(&rows[i], client);           /* its connection is broken by now */
    test_server_resume(live_server);
    client = dibs_close(client);
  }
}

static void every_call_of_a_new_client_keeps_its_limit(void **state)
{
  (void)state;
  test_server_pause(live_server);
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    client = open_quick();
    run_row(&rows[i], client);
    client = dibs_close(client);
  }
  test_server_resume(live_server);
}

/* Nothing answers and no connection ends: what a pulled cable looks like. */
static void calls_keep_their_limit_over_a_half_open_connection(void **state)
{
  static const struct row some[] = {
    { "dibs_lock", lock, WAIT_MS },
    { "dibs_latch_await", latch_wait, WAIT_MS },
    { "dibs_try_lock", try_lock, CONNECT_MS },
    { "dibs_guarded_set", guarded_set, CONNECT_MS },
  };
  struct test_proxy *proxy = test_proxy_start(live_server);

  (void)state;
  for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
    client = open_at(test_proxy_tcp_url(proxy));
    live_expect_free(client, "warm", LIVE_LONG_MS);
    test_proxy_black_hole(proxy, TEST_BOTH);
    run_row(&some[i], client);
    run_row(&some[i], client);
    test_proxy_pass(proxy, TEST_BOTH);
    client = dibs_close(client);
  }
  proxy = test_proxy_stop(proxy);
}

static void release_and_close_keep_theirs(void **state)
{
  stall_mark stalls;
  int64_t begun;

  (void)state;
  client = open_quick();
  hold = live_lock(client, "held", 60000);
  (void)live_lock(client, "held too", 60000);
  test_server_pause(live_server);
  stalls = stall_now();
  begun = live_now_ms();
  assert_int_equal(dibs_release(hold), DIBS_UNKNOWN);
  in_time("dibs_release", begun, &stalls, COMMAND_MS);
  stalls = stall_now();
  begun = live_now_ms();
  client = dibs_close(client);
  in_time("dibs_close", begun, &stalls, CLOSE_MS);
  test_server_resume(live_server);
}

static void the_limit_of_a_call_can_be_set(void **state)
{
  static const struct row row = { "dibs_inspect", inspect, 150 };

  (void)state;
  client = open_quick();
  live_expect_free(client, "warm", LIVE_LONG_MS);
  assert_int_equal(dibs_set_call_timeout(client, -1), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_set_call_timeout(client, 150), DIBS_OK);
  test_server_pause(live_server);
  run_row(&row, client);
  test_server_resume(live_server);
  client = dibs_close(client);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(every_call_keeps_its_limit_when_the_server_is_stopped, go_on),
    cmocka_unit_test_teardown(every_call_of_a_new_client_keeps_its_limit, go_on),
    cmocka_unit_test_teardown(calls_keep_their_limit_over_a_half_open_connection, go_on),
    cmocka_unit_test_teardown(release_and_close_keep_theirs, go_on),
    cmocka_unit_test_teardown(the_limit_of_a_call_can_be_set, go_on),
  };

  return cmocka_run_group_tests(tests, setup, teardown);
}

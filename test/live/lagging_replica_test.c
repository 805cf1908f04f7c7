/* SPDX-License-Identifier: MIT */
/* test/live/lagging_replica_test.c - a replica that lags is promoted: the first holder is told
 * that its lock is lost within one renewal period, and its fence is lower than the second's; each
 * grant says what stands behind it. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "deployment.h"
#include "live.h"

enum { TTL_MS = 6000, PERIOD_MS = TTL_MS / 3, SLACK_MS = 1500 };

static struct test_set *set;

static int setup(void **state)
{
  (void)state;
  set = test_set_start(&(struct test_set_options){ .replicas = 1 });
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  set = test_set_stop(set);
  return 0;
}

/* From now on the replica hears nothing of what the primary does. */
static void replica_lags(void)
{
  assert_string_equal(test_server_command(test_set_member(set, 1), "REPLICAOF 127.0.0.1 1"),
                      "OK");
}

/* Returns when there is a new primary. */
static int64_t fail_over(void)
{
  test_server_kill9(test_set_member(set, 0));
  test_promote(test_set_member(set, 1));
  return live_now_ms();
}

TEST_WITH(a_holder_that_the_new_primary_does_not_know_is_told_in_one_period,
          setup, teardown)
{
  struct live_loss loss = { 0 };
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_client *a = live_open(test_set_url(set)), *b = live_open(test_set_url(set));
  dibs_hold *first, *second;
  uint64_t first_fence;
  int64_t promoted_ms;

  live_report_loss(&o, &loss);
  replica_lags();
  first = live_lock_with(a, "account", &o);
  first_fence = dibs_hold_fence(first);
  assert_int_equal(live_info(first).durability, DIBS_DURABLE_PRIMARY);
  promoted_ms = fail_over();
  second = live_lock(b, "account", TTL_MS);
  PROMISE_GROWN(dibs_hold_fence(second), first_fence);
  assert_true(live_loss_wait(&loss, PERIOD_MS + SLACK_MS));
  assert_in_range(live_now_ms() - promoted_ms, 0, PERIOD_MS + SLACK_MS);
  assert_int_equal(dibs_hold_state(first), DIBS_HOLD_GONE);
  live_expect(b, dibs_guarded_set(b, "balance", dibs_hold_fence(second), "2", 1, 0), DIBS_OK);
  live_expect_refused(a, dibs_guarded_set(a, "balance", first_fence, "1", 1, 0),
                      DIBS_FENCED);
  assert_string_equal(test_server_command(test_set_member(set, 1), "GET balance"), "2");
  assert_int_not_equal(dibs_release(first), DIBS_OK);
  live_expect(b, dibs_release(second), DIBS_OK);
  assert_int_equal(atomic_load(&loss.count), 1);
  a = dibs_close(a);
  b = dibs_close(b);
}

TEST_WITH(a_holder_that_it_knows_goes_on, setup, teardown)
{
  struct live_loss loss = { 0 };
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_client *a = live_open(test_set_url(set)), *b = live_open(test_set_url(set));
  dibs_hold *first;
  uint64_t renewed;
  int64_t end_ms;

  live_report_loss(&o, &loss);
  first = live_lock_with(a, "kept", &o);
  assert_true(test_set_wait_in_sync(set, LIVE_LONG_MS));
  (void)fail_over();
  renewed = live_stats(a).renewed;
  end_ms = live_now_ms() + LIVE_LONG_MS;
  while (live_stats(a).renewed < renewed + 2 && live_now_ms() < end_ms)
    (void)live_loss_wait(&loss, 50);
  assert_true(live_stats(a).renewed >= renewed + 2);
  live_refused(live_try(b, "kept"), DIBS_BUSY);
  assert_int_equal(atomic_load(&loss.count), 0);
  live_expect(a, dibs_release(first), DIBS_OK);
  live_expect_free(b, "kept", LIVE_LONG_MS);
  a = dibs_close(a);
  b = dibs_close(b);
}

static bool is_free(void *data)
{
  const char *stored = test_server_command(test_set_member(set, 1), "GET dibs:m:{stuck}");

  (void)data;
  return stored[0] == '=';
}

/* No client asks for the name, and the one that released it has nothing to send. */
TEST_WITH(a_release_that_it_does_not_know_is_repeated_by_an_idle_client, setup, teardown)
{
  dibs_client *a = live_open(test_set_url(set)), *b;
  dibs_hold *hold = live_lock(a, "stuck", 600000);

  assert_true(test_set_wait_in_sync(set, LIVE_LONG_MS));
  replica_lags();
  live_expect(a, dibs_release(hold), DIBS_OK);
  assert_false(is_free(NULL));
  (void)fail_over();
  assert_true(live_until(LIVE_LONG_MS, is_free, NULL));
  b = live_open(test_set_url(set));
  live_expect_free(b, "stuck", LIVE_LONG_MS);
  a = dibs_close(a);
  b = dibs_close(b);
}

TEST_WITH(who_asked_for_a_replica_is_not_granted_what_it_lacks, setup, teardown)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_client *a = live_open(test_set_url(set));
  dibs_hold *hold = NULL;

  o.min_replicas = 1;
  o.replicas_wait_ms = LIVE_LONG_MS;
  hold = live_lock_with(a, "safe", &o);
  assert_int_equal(live_info(hold).durability, DIBS_DURABLE_REPLICAS);
  assert_int_equal(live_info(hold).acknowledged, 1);
  assert_int_equal(live_info(hold).wanted, 1);
  live_expect(a, dibs_release(hold), DIBS_OK);
  replica_lags();
  hold = NULL;
  o.replicas_wait_ms = 300;
  assert_int_equal(dibs_lock(a, "unsafe", &o, &hold), DIBS_ERR_NOT_REPLICATED);
  assert_null(hold);
  live_expect_free(a, "unsafe", LIVE_LONG_MS);
  a = dibs_close(a);
}

TEST(a_quorum_says_how_many_have_it)
{
  struct test_quorum *q = test_quorum_start(3, NULL, NULL);
  dibs_client *a = live_open(test_quorum_url(q));
  dibs_hold *hold = live_lock(a, "many", TTL_MS);

  assert_int_equal(live_info(hold).durability, DIBS_DURABLE_QUORUM);
  assert_int_equal(live_info(hold).wanted, 2);
  assert_in_range(live_info(hold).acknowledged, 2, 3);
  live_expect(a, dibs_release(hold), DIBS_OK);
  a = dibs_close(a);
  q = test_quorum_stop(q);
}

/* ---- a primary that becomes a replica of another server ---- */

enum { DEMOTED_MS = 6000 };

struct tries { dibs_client *client; int64_t until_ms; };

/* Asks all the time, so that each refusal of the replica is seen. */
static bool is_time_over(void *data)
{
  const struct tries *t = data;

  assert_int_not_equal(live_try(t->client, "demoted"), DIBS_BUSY);
  return live_now_ms() >= t->until_ms;
}

static int pairs_of(struct live_events *e)
{
  int up = atomic_load(&e->counts[DIBS_EVENT_CONNECTED]);
  int down = atomic_load(&e->counts[DIBS_EVENT_DISCONNECTED]);

  return up > down ? up : down;
}

TEST_WITH(a_primary_that_becomes_a_replica_is_told_at_most_once_a_second, setup, teardown)
{
  struct live_events events = { .mutex = PTHREAD_MUTEX_INITIALIZER };
  struct test_server *s = test_set_member(set, 0), *other = test_set_member(set, 1);
  dibs_options o = live_options();
  struct tries t = { 0 };
  int before, more;

  o.on_event = live_on_event;
  o.on_event_data = &events;
  o.degrade = DIBS_DEGRADE_FAIL;
  t.client = live_open_with(test_server_url(s), &o);
  live_expect_free(t.client, "demoted", LIVE_LONG_MS);
  before = pairs_of(&events);
  test_promote(other);
  test_demote(s, other);
  t.until_ms = live_now_ms() + DEMOTED_MS;
  assert_true(live_until(2 * DEMOTED_MS, is_time_over, &t));
  more = pairs_of(&events) - before;
  assert_in_range(more, 1, DEMOTED_MS / 1000 + 1);
  assert_int_equal(live_try(t.client, "demoted"), DIBS_ERR_READ_ONLY);
  test_promote(s);
  live_expect_free(t.client, "demoted", LIVE_LONG_MS);
  t.client = dibs_close(t.client);
}

RUN_TESTS(NULL, NULL)

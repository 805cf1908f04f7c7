/* SPDX-License-Identifier: MIT */
/* test/live/observer_end_test.c - an observation that ends while its callback still has to report a
 * change, or while its client is closed. */
#include "tests.h"

#include <stdint.h>

#include <poll.h>

#include "live.h"

enum { ROUNDS = 40 };

struct reports {
  _Atomic int leaders, ends, marks;
  _Atomic bool is_busy, may_go;
  dibs_observer *observer;
};

static void on_leader(const dibs_error *error, const dibs_leader *leader, void *data)
{
  struct reports *r = data;

  if (error->status == DIBS_OK && leader == NULL)
    live_fault("DIBS_OK came with no leader");
  if (leader != NULL && leader->error->status != error->status)
    live_fault("%s came with a leader of %s", dibs_status_name(error->status),
               dibs_status_name(leader->error->status));
  if (leader != NULL)
    r->leaders++;
  else
    r->ends++;
}

/* Callbacks that come after it wait. */
static void keep_busy(const dibs_error *error, dibs_hold *hold, void *data)
{
  struct reports *r = data;

  if (error->status != DIBS_OK || dibs_release(hold) != DIBS_OK)
    live_fault("a lock for a callback: %s", dibs_status_name(error->status));
  r->is_busy = true;
  while (!r->may_go)
    (void)poll(NULL, 0, 1);
  r->marks++;
}

static bool has_leader(void *data) { return ((struct reports *)data)->leaders > 0; }
static bool has_end(void *data) { return ((struct reports *)data)->ends > 0; }
static bool is_busy(void *data) { return ((struct reports *)data)->is_busy; }
static bool has_two_marks(void *data) { return ((struct reports *)data)->marks == 2; }

static bool is_over(void *data)
{
  struct reports *r = data;
  dibs_leader *leader = NULL;
  dibs_status status = dibs_observer_next(r->observer, &leader);

  (void)test_server_command(live_server, "PUBLISH dibs:elect:{job} look");
  (void)dibs_leader_free(leader);
  return status < 0;
}

TEST(an_observer_that_ends_while_its_report_waits_ends_once)
{
  dibs_client *client = live_open(live_url()), *other = live_open(live_url());
  struct reports r = { .ends = 0 };
  dibs_hold *hold = NULL;

  live_expect_ok(dibs_observe(client, "job", on_leader, &r, NULL, &r.observer));
  assert_true(live_until(LIVE_LONG_MS, has_leader, &r));
  live_expect_ok(dibs_lock_async(client, "busy", NULL, keep_busy, &r, NULL));
  assert_true(live_until(LIVE_LONG_MS, is_busy, &r));
  live_expect_ok(dibs_acquire(other, DIBS_LEAD("job", "me"), NULL, &hold));
  live_expect_ok(dibs_release(hold));
  (void)test_server_command(live_server, "DEL %s", live_key("job"));
  (void)test_server_command(live_server, "HSET %s no lock", live_key("job"));
  assert_true(live_until(LIVE_LONG_MS, is_over, &r));
  r.may_go = true;
  assert_true(live_until(LIVE_LONG_MS, has_end, &r));
  live_expect_ok(dibs_lock_async(client, "busy", NULL, keep_busy, &r, NULL));
  assert_true(live_until(LIVE_LONG_MS, has_two_marks, &r));
  assert_int_equal(r.ends, 1);
  assert_int_equal(live_faults(), 0);
  r.observer = dibs_observer_free(r.observer);
  (void)test_server_command(live_server, "DEL %s", live_key("job"));
  other = dibs_close(other);
  client = dibs_close(client);
}

/* For ThreadSanitizer: the end of the client comes about when the callback runs. */
TEST(a_client_is_closed_while_its_observer_reports)
{
  dibs_client *other = live_open(live_url());

  for (int i = 0; i < live_times(ROUNDS); i++) {
    dibs_client *client = live_open(live_url());
    struct reports r = { .ends = 0 };
    dibs_hold *hold = NULL;

    live_expect_ok(dibs_observe(client, "round", on_leader, &r, NULL, &r.observer));
    if (i % 2 == 0)
      live_expect_ok(dibs_acquire(other, DIBS_LEAD("round", "me"), NULL, &hold));
    client = dibs_close(client);
    if (hold != NULL)
      live_expect_ok(dibs_release(hold));
    assert_true(r.ends <= 1);
  }
  assert_int_equal(live_faults(), 0);
  other = dibs_close(other);
}

/* ---- reports that the program has not run yet ---- */

static bool has_news(void *observer)
{
  dibs_leader *leader = NULL;
  dibs_status status = dibs_observer_next(observer, &leader);

  (void)dibs_leader_free(leader);
  return status == DIBS_OK;
}

/* Returns when the first report of `r` is to be run by dibs_process() or dibs_close(). */
static dibs_client *with_a_report(dibs_leader_callback callback, struct reports *r,
                                  struct reports *beside)
{
  dibs_options o = live_options();
  dibs_client *client;

  o.flags = DIBS_CLIENT_PROCESS_CALLBACKS;
  client = live_open_with(live_url(), &o);
  live_expect_ok(dibs_observe(client, "job", callback, r, NULL, &r->observer));
  live_expect_ok(dibs_observe(client, "job", NULL, NULL, NULL, &beside->observer));
  assert_true(live_until(LIVE_LONG_MS, has_news, beside->observer));
  return client;
}

static void frees_itself(const dibs_error *error, const dibs_leader *leader, void *data)
{
  struct reports *r = data;

  on_leader(error, leader, data);
  r->observer = dibs_observer_free(r->observer);
}

TEST(an_observer_that_is_freed_in_its_callback_reports_no_end)
{
  struct reports r = { .ends = 0 }, beside = { .ends = 0 };
  dibs_client *client = with_a_report(frees_itself, &r, &beside);

  (void)test_server_command(live_server, "HSET %s no lock", live_key("job"));
  assert_true(live_until(LIVE_LONG_MS, is_over, &beside));
  live_expect_ok(dibs_ping(client, LIVE_LONG_MS, NULL));     /* behind its request */
  (void)test_server_command(live_server, "DEL %s", live_key("job"));
  live_expect_ok(dibs_process(client, NULL));
  assert_int_equal(r.leaders, 1);
  assert_int_equal(r.ends, 0);
  client = dibs_close(client);
  assert_int_equal(r.leaders + r.ends, 1);
}

TEST(closing_the_client_is_not_reported)
{
  struct reports r = { .ends = 0 }, beside = { .ends = 0 };
  dibs_client *client = with_a_report(on_leader, &r, &beside);

  client = dibs_close(client);
  assert_int_equal(r.leaders, 1);
  assert_int_equal(r.ends, 0);
  assert_int_equal(live_faults(), 0);
}

int main(void)
{
  if (live_is_beyond(LIVE_ONE))          /* it puts something else under a lock's key */
    return 0;
  return tests_run(live_server_setup, live_server_teardown, NULL, NULL);
}

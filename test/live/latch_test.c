/* SPDX-License-Identifier: MIT */
/* test/live/latch_test.c - the calls of dibs/latch.h one by one: counting, and each way in
 * which a wait can end, blocking and with a callback. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "one_client.h"

#define NAME "gate"
#define CHANNEL "redisson_countdownlatch__channel__{gate}"

#define run(...) test_server_command(live_server, __VA_ARGS__)

/* ---- a wait with a callback ---- */

static dibs_request *begin_at(dibs_client *c, const char *name, struct live_ending *e, int wait_ms,
                              dibs_canceller *cancel)
{
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;
  dibs_request *request = NULL;

  memset(e, 0, sizeof(*e));
  o.wait_ms = wait_ms == 0 ? DIBS_FOREVER : wait_ms;
  o.cancel = cancel;
  live_expect(c, dibs_latch_await_async(c, name, &o, live_note_ending, e, &request), DIBS_OK);
  assert_non_null(request);
  return request;
}

static bool is_heard(void *data)
{
  return strcmp(run("PUBSUB NUMSUB %s", CHANNEL), (const char *)data) == 0;
}

/* One that surely waits: its subscription stands. */
static dibs_request *begin(struct live_ending *e)
{
  char listening[] = "[" CHANNEL ", 1]";
  dibs_request *request = begin_at(client, NAME, e, 0, NULL);

  assert_true(live_until(LIVE_LONG_MS, is_heard, listening));
  assert_int_equal(atomic_load(&e->callbacks), 0);
  return request;
}

static dibs_status await_ms(dibs_client *c, const char *name, int wait_ms)
{
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;

  o.wait_ms = wait_ms == 0 ? DIBS_FOREVER : wait_ms;
  return dibs_latch_await(c, name, &o);
}

static void arm(int64_t count)
{
  live_expect(client, dibs_latch_set(client, NAME, count), DIBS_OK);
}

static void disarm(void)
{
  live_expect(client, dibs_latch_delete(client, NAME), DIBS_OK);
}

/* ---- counting ---- */

TEST(it_is_armed_counted_read_and_disarmed)
{
  int64_t left = -1;

  live_expect(client, dibs_latch_count(client, NAME, &left), DIBS_OK);
  assert_int_equal(left, 0);
  live_expect(client, dibs_latch_down(client, NAME, 1, NULL, &left), DIBS_ERR_NOT_SET);
  arm(5);
  live_expect(client, dibs_latch_set(client, NAME, 2), DIBS_BUSY);
  live_expect_words(client, "armed already");
  live_expect(client, dibs_latch_down(client, NAME, 2, "part", &left), DIBS_OK);
  assert_int_equal(left, 3);
  live_expect(client, dibs_latch_down(client, NAME, 2, "part", NULL), DIBS_OK);
  live_expect(client, dibs_latch_count(client, NAME, &left), DIBS_OK);
  assert_int_equal(left, 3);
  disarm();
  live_expect(client, dibs_latch_count(client, NAME, &left), DIBS_OK);
  assert_int_equal(left, 0);
  disarm();
}

TEST(what_cannot_be_is_refused_with_words)
{
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;
  char id[130];

  memset(id, 'i', 129);
  id[129] = '\0';
  live_expect(client, dibs_latch_set(client, NAME, 0), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_latch_set(client, NAME, ((int64_t)1 << 53) + 1), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_latch_set(client, "", 1), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_latch_set(client, NULL, 1), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_latch_down(client, NAME, -1, NULL, NULL), DIBS_ERR_ARGUMENT);
  live_expect_words(client, "count");
  live_expect(client, dibs_latch_down(client, NAME, 1, id, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_latch_down(client, NAME, 1, "", NULL), DIBS_ERR_ARGUMENT);
  live_expect_words(client, "id");
  live_expect(client, dibs_latch_count(client, NAME, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_latch_await(client, "", NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_latch_await_async(client, NAME, NULL, NULL, NULL, NULL),
              DIBS_ERR_ARGUMENT);
  live_expect_words(client, "callback");
  o.wait_ms = -1;
  live_expect(client, dibs_latch_await(client, NAME, &o), DIBS_ERR_ARGUMENT);
  live_expect_words(client, "wait_ms");
  o.wait_ms = DIBS_FOREVER;
  o.flags = 1;
  live_expect(client, dibs_latch_await(client, NAME, &o), DIBS_ERR_ARGUMENT);
  o.flags = 0;
  o.size = 1;
  live_expect(client, dibs_latch_await(client, NAME, &o), DIBS_ERR_ARGUMENT);
}

/* ---- waiting ---- */

TEST(nobody_waits_for_what_is_not_armed)
{
  struct live_ending e;

  live_expect(client, dibs_latch_await(client, NAME, NULL), DIBS_OK);
  begin_at(client, NAME, &e, 0, NULL);
  live_expect_ending(&e, DIBS_OK);
}

TEST(a_wait_is_cancelled_by_its_request_once)
{
  live_needs_one_view();
  struct live_ending e;
  dibs_request *request;

  arm(1);
  request = begin(&e);
  assert_int_equal(dibs_request_cancel(request), DIBS_OK);
  assert_int_equal(dibs_request_cancel(request), DIBS_ERR_STALE);
  live_expect_ending(&e, DIBS_CANCELLED);
  live_expect(client, dibs_latch_down(client, NAME, 1, NULL, NULL), DIBS_OK);
  assert_int_equal(atomic_load(&e.callbacks), 1);
  request = begin_at(client, NAME, &e, 0, NULL);
  live_expect_ending(&e, DIBS_OK);
  assert_int_equal(dibs_request_cancel(request), DIBS_ERR_STALE);
}

struct cancelling {
  dibs_canceller *canceller;
  _Atomic int status;
};

static void *wait_cancellable(void *data)
{
  struct cancelling *c = data;
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;

  o.cancel = c->canceller;
  atomic_store(&c->status, dibs_latch_await(client, NAME, &o));
  return NULL;
}

TEST(a_canceller_ends_all_its_waits)
{
  live_needs_one_view();
  struct cancelling c = { .status = -99 };
  struct live_ending one, two, after;
  pthread_t thread;

  assert_int_equal(dibs_canceller_new(&c.canceller), DIBS_OK);
  arm(1);
  begin(&one);
  begin_at(client, NAME, &two, 0, c.canceller);
  assert_int_equal(pthread_create(&thread, NULL, wait_cancellable, &c), 0);
  (void)poll(NULL, 0, 20);       /* early or late, it is cancelled */
  dibs_cancel(c.canceller);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(atomic_load(&c.status), DIBS_CANCELLED);
  live_expect_ending(&two, DIBS_CANCELLED);
  begin_at(client, NAME, &after, 0, c.canceller);
  live_expect_ending(&after, DIBS_CANCELLED);
  assert_int_equal(atomic_load(&one.callbacks), 0);
  disarm();
  arm(1);
  live_expect(client, dibs_latch_down(client, NAME, 1, NULL, NULL), DIBS_OK);
  live_expect_ending(&one, DIBS_OK);
  c.canceller = dibs_canceller_free(c.canceller);
}

TEST(who_waits_for_a_deleted_one_waits_on)
{
  live_needs_one_view();
  struct live_ending e;

  arm(2);
  begin(&e);
  disarm();
  assert_false(live_until(200, live_has_ended, &e));
  live_expect(client, dibs_latch_await(client, NAME, NULL), DIBS_OK);    /* who comes now */
  arm(1);
  assert_false(live_until(200, live_has_ended, &e));
  live_expect(client, dibs_latch_down(client, NAME, 1, NULL, NULL), DIBS_OK);
  live_expect_ending(&e, DIBS_OK);
}

TEST(the_channel_is_left_with_the_last_wait)
{
  live_needs_one_view();
  char nobody[] = "[" CHANNEL ", 0]";
  struct live_ending one, two;
  dibs_request *a, *b;

  arm(1);
  a = begin(&one);
  b = begin(&two);
  assert_int_equal(dibs_request_cancel(a), DIBS_OK);
  live_expect_ending(&one, DIBS_CANCELLED);
  assert_false(live_until(100, is_heard, nobody));
  assert_int_equal(dibs_request_cancel(b), DIBS_OK);
  live_expect_ending(&two, DIBS_CANCELLED);
  assert_true(live_until(LIVE_LONG_MS, is_heard, nobody));
  disarm();
}

/* ---- callbacks, threads, processes ---- */

struct counting {
  dibs_client *client;
  _Atomic int callbacks, status;
  _Atomic int64_t left;
};

static void note_the_count(const dibs_error *error, int64_t left, void *data)
{
  struct counting *c = data;

  atomic_store(&c->status, error->status);
  atomic_store(&c->left, left);
  (void)atomic_fetch_add(&c->callbacks, 1);
}

static bool is_counted(void *data)
{
  return atomic_load(&((struct counting *)data)->callbacks) > 0;
}

static void expect_count(struct counting *c, dibs_status status, int64_t left)
{
  assert_true(live_until(LIVE_LONG_MS, is_counted, c));
  assert_int_equal(atomic_load(&c->status), status);
  assert_int_equal(atomic_load(&c->left), left);
  atomic_store(&c->callbacks, 0);
}

/* Their arguments end with this function. */
static void count_in_a_callback(const dibs_error *error, void *data)
{
  struct counting *c = data;
  char name[] = NAME, id[] = "part";

  if (error->status != DIBS_OK ||
      dibs_latch_down_async(c->client, name, 2, id, note_the_count, c, NULL) != DIBS_OK)
    live_fault("a count in a callback");
  memset(name, 'x', sizeof(name) - 1);
  memset(id, 'x', sizeof(id) - 1);
}

TEST(a_latch_is_armed_and_counted_in_callbacks)
{
  struct counting c = { .client = client };
  struct live_ending e = { .client = client };

  live_expect(client, dibs_latch_set_async(client, NAME, 5, count_in_a_callback, &c, NULL),
              DIBS_OK);
  expect_count(&c, DIBS_OK, 3);
  live_expect(client, dibs_latch_set_async(client, NAME, 5, live_note_ending, &e, NULL), DIBS_OK);
  live_expect_ending(&e, DIBS_BUSY);
  live_expect(client, dibs_latch_down_async(client, NAME, 2, "part", note_the_count, &c, NULL),
              DIBS_OK);
  expect_count(&c, DIBS_OK, 3);
  live_expect(client, dibs_latch_count_async(client, NAME, note_the_count, &c, NULL), DIBS_OK);
  expect_count(&c, DIBS_OK, 3);
  disarm();
  live_expect(client, dibs_latch_down_async(client, NAME, 1, NULL, note_the_count, &c, NULL),
              DIBS_OK);
  expect_count(&c, DIBS_ERR_NOT_SET, 0);
  live_expect(client, dibs_latch_set_async(client, NAME, 1, NULL, NULL, NULL),
              DIBS_ERR_ARGUMENT);
  live_expect_words(client, "callback");
  live_expect(client, dibs_latch_set_async(client, NAME, 0, live_note_ending, &e, NULL),
              DIBS_ERR_ARGUMENT);
  live_expect_words(client, "count");
  assert_int_equal(live_faults(), 0);
}

static void begin_count(dibs_client *c, struct counting *to, dibs_request **ret_request)
{
  live_expect(c, dibs_latch_down_async(c, NAME, 1, NULL, note_the_count, to, ret_request),
              DIBS_OK);
}

TEST(a_cancelled_count_is_unknown_once_it_was_sent)
{
  live_needs_one_server();
  dibs_options o = live_options();
  struct counting c = { .client = client };
  dibs_request *request = NULL;
  dibs_client *mine;

  o.connect_timeout_ms = o.command_timeout_ms = LIVE_LONG_MS;
  mine = live_open_with("unix:///nonexistent/dibs.sock", &o);
  begin_count(mine, &c, &request);
  assert_int_equal(dibs_request_cancel(request), DIBS_OK);
  assert_int_equal(dibs_request_cancel(request), DIBS_ERR_STALE);
  expect_count(&c, DIBS_CANCELLED, 0);
  mine = dibs_close(mine);

  mine = live_open_with(live_url(), &o);
  live_expect(mine, dibs_latch_set(mine, NAME, 2), DIBS_OK);
  test_server_pause(live_server);
  begin_count(mine, &c, &request);
  assert_int_equal(dibs_request_cancel(request), DIBS_OK);
  expect_count(&c, DIBS_UNKNOWN, 0);
  live_expect(mine, dibs_latch_count_async(mine, NAME, note_the_count, &c, &request), DIBS_OK);
  assert_int_equal(dibs_request_cancel(request), DIBS_OK);
  expect_count(&c, DIBS_CANCELLED, 0);               /* it only reads */
  test_server_resume(live_server);
  live_expect(mine, dibs_latch_delete(mine, NAME), DIBS_OK);
  mine = dibs_close(mine);
}

TEST(a_client_without_threads_waits_in_its_caller_and_in_its_loop)
{
  dibs_options o = live_options();
  dibs_client *quiet;
  struct live_ending e;
  struct pollfd fd;

  o.flags |= DIBS_CLIENT_NO_THREAD;
  quiet = live_open_with(live_url(), &o);
  arm(1);
  live_expect(quiet, await_ms(quiet, NAME, 100), DIBS_TIMED_OUT);
  begin_at(quiet, NAME, &e, 0, NULL);
  fd = (struct pollfd){ .fd = dibs_fd(quiet), .events = POLLIN };
  for (int i = 0; i < 1000 && atomic_load(&e.callbacks) == 0; i++) {
    int64_t left = live_process(quiet);

    if (i == 20)
      live_expect(client, dibs_latch_down(client, NAME, 1, NULL, NULL), DIBS_OK);
    (void)poll(&fd, 1, left < 0 || left > 20 ? 20 : (int)left);
  }
  live_expect_ending(&e, DIBS_OK);
  assert_null(dibs_close(quiet));
}

TEST(closing_ends_waits)
{
  dibs_client *mine = live_open(live_url());
  struct live_ending e;
  dibs_request *request;

  arm(1);
  request = begin_at(mine, NAME, &e, 0, NULL);
  assert_null(dibs_close(mine));
  live_expect_ending(&e, DIBS_ERR_CLOSED);
  assert_int_equal(dibs_request_cancel(request), DIBS_ERR_STALE);
  disarm();
}

static void *wait_for_close(void *data)
{
  struct cancelling *c = data;

  atomic_store(&c->status, dibs_latch_await((dibs_client *)(void *)c->canceller, NAME, NULL));
  return NULL;
}

TEST(closing_ends_blocked_waits_too)
{
  live_needs_one_view();
  dibs_client *mine = live_open(live_url());
  struct cancelling c = { .canceller = (dibs_canceller *)(void *)mine, .status = -99 };
  char listening[] = "[" CHANNEL ", 1]";
  pthread_t thread;

  arm(1);
  assert_int_equal(pthread_create(&thread, NULL, wait_for_close, &c), 0);
  assert_true(live_until(LIVE_LONG_MS, is_heard, listening));
  assert_null(dibs_close(mine));
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(atomic_load(&c.status), DIBS_ERR_CLOSED);
  disarm();
}

/* ---- servers that come and go ---- */

TEST(a_server_that_comes_back_with_its_data_is_waited_for)
{
  live_needs_one_server();
  struct live_ending e;

  arm(1);
  begin(&e);
  test_server_restart(live_server, true);
  assert_false(live_until(300, live_has_ended, &e));
  live_expect(client, dibs_latch_down(client, NAME, 1, NULL, NULL), DIBS_OK);
  live_expect_ending(&e, DIBS_OK);
}

TEST(a_server_that_comes_back_empty_releases)
{
  live_needs_one_server();
  struct live_ending e;

  arm(1);
  begin(&e);
  test_server_restart(live_server, false);
  live_expect_ending(&e, DIBS_OK);
}

TEST(a_server_that_stays_away_is_unreachable)
{
  live_needs_one_server();
  struct live_ending e;
  int64_t before;

  client_is_impatient();
  arm(1);
  begin(&e);
  before = live_now_ms();
  test_server_kill9(live_server);
  live_expect_ending(&e, DIBS_ERR_UNREACHABLE);
  assert_in_range(live_now_ms() - before, 900, 2500);      /* connect_timeout_ms is 1 s */
  before = live_now_ms();
  live_expect(client, dibs_latch_await(client, NAME, NULL), DIBS_ERR_UNREACHABLE);
  assert_in_range(live_now_ms() - before, 900, 2500);
  live_expect(client, await_ms(client, NAME, 100), DIBS_ERR_UNREACHABLE);
  test_server_restart(live_server, false);
  live_expect(client, dibs_latch_await(client, NAME, NULL), DIBS_OK);
}

RUN_TESTS(setup, teardown)

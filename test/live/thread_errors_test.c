/* SPDX-License-Identifier: MIT */
/* test/live/thread_errors_test.c - whose an error is: of the thread that called, of the
 * callback's own operation; and that a client is a handle as a hold is. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <dibs/dibs.h>
#include <poll.h>

#include "one_client.h"

enum { ROUNDS = 2000 };

static dibs_error last(dibs_client *c)
{
  dibs_error e = { .size = sizeof(e), .status = (dibs_status)99 };

  (void)dibs_client_error(c, 0, &e);
  return e;
}

/* ---- threads ---- */

static _Atomic long wrong;

static void *lock_what_is_no_mutex(void *data)
{
  dibs_hold *hold = NULL;

  (void)data;
  for (int i = 0; i < ROUNDS; i++) {
    dibs_status status = dibs_lock(client, "a-rw-name", NULL, &hold);
    dibs_error e = last(client);

    if (status != DIBS_ERR_WRONG_TYPE || e.status != status || strstr(e.text, "permits") != NULL)
      atomic_fetch_add(&wrong, 1);
  }
  return NULL;
}

static void *take_permits_of_nothing(void *data)
{
  dibs_hold *hold = NULL;

  (void)data;
  for (int i = 0; i < ROUNDS; i++) {
    dibs_status status = dibs_acquire(client, DIBS_PERMITS("unset", 1), NULL, &hold);

    if (status != DIBS_ERR_NOT_SET || last(client).status != status)
      atomic_fetch_add(&wrong, 1);
  }
  return NULL;
}

TEST(an_error_is_of_the_thread_that_called)
{
  live_needs_keys();
  pthread_t one, other;
  dibs_hold *hold = NULL;

  live_expect(client, dibs_acquire(client, DIBS_READ("a-rw-name"), NULL, &hold), DIBS_OK);
  assert_int_equal(pthread_create(&one, NULL, lock_what_is_no_mutex, NULL), 0);
  assert_int_equal(pthread_create(&other, NULL, take_permits_of_nothing, NULL), 0);
  assert_int_equal(pthread_join(one, NULL), 0);
  assert_int_equal(pthread_join(other, NULL), 0);
  assert_int_equal(atomic_load(&wrong), 0);
  live_expect(client, dibs_release(hold), DIBS_OK);
}

/* ---- one call after the other ---- */

static void expect_last(dibs_status status)
{
  dibs_error e = last(client);

  assert_int_equal(e.status, status);
  assert_int_equal(e.text[0] == 0, status == DIBS_OK);
}

TEST(each_call_replaces_what_the_one_before_left)
{
  live_needs_keys();
  dibs_client *other = live_open(live_url());
  dibs_lock_options short_wait = live_lock_options(30000, 50);
  dibs_hold *hold = NULL, *none = NULL, *stale;

  assert_int_equal(dibs_lock(client, "", NULL, &none), DIBS_ERR_ARGUMENT);
  expect_last(DIBS_ERR_ARGUMENT);
  live_expect(other, dibs_lock(other, "taken", NULL, &hold), DIBS_OK);
  live_refused(dibs_try_lock(client, "taken", NULL, &none), DIBS_BUSY);
  expect_last(DIBS_BUSY);
  live_refused(dibs_lock(client, "taken", &short_wait, &none), DIBS_TIMED_OUT);
  expect_last(DIBS_TIMED_OUT);
  live_expect(other, dibs_release(hold), DIBS_OK);
  live_expect(client, dibs_lock(client, "taken", NULL, &stale), DIBS_OK);
  expect_last(DIBS_OK);
  assert_int_equal(dibs_lock(client, "", NULL, &none), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_release(stale), DIBS_OK);
  expect_last(DIBS_OK);
  assert_int_equal(dibs_lock(client, "", NULL, &none), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_release(stale), DIBS_ERR_STALE);
  expect_last(DIBS_ERR_STALE);
  assert_int_equal(dibs_latch_down(client, "not armed", 1, NULL, NULL), DIBS_ERR_NOT_SET);
  expect_last(DIBS_ERR_NOT_SET);
  assert_int_equal(last(other).status, DIBS_OK);       /* it was another client's */
  assert_int_equal(last(NULL).status, DIBS_ERR_NOT_SET);
  other = dibs_close(other);
}

/* ---- callbacks ---- */

struct told {
  _Atomic int count;
  dibs_error error;
  char name[DIBS_NAME_MAX + 1];
};

static void on_lock(const dibs_error *error, dibs_hold *hold, void *data)
{
  struct told *t = data;

  t->error = *error;
  if (hold != NULL)
    (void)dibs_release_async(hold, NULL, NULL);
  (void)atomic_fetch_add(&t->count, 1);
}

static void on_lost(dibs_hold *hold, const dibs_loss *loss, void *data)
{
  struct told *t = data;

  (void)hold;
  t->error.status = loss->why;
  (void)snprintf(t->error.text, sizeof(t->error.text), "%s", loss->text);
  (void)snprintf(t->name, sizeof(t->name), "%.*s", (int)loss->name_size, loss->name);
  (void)atomic_fetch_add(&t->count, 1);
}

static bool was_reported(void *data)
{
  return atomic_load(&((struct told *)data)->count) > 0;
}

TEST(a_callback_gets_the_error_of_its_own_operation)
{
  struct told kind = { .count = 0 }, permits = { .count = 0 }, fine = { .count = 0 };
  dibs_hold *hold = NULL;

  live_expect(client, dibs_acquire(client, DIBS_READ("rw"), NULL, &hold), DIBS_OK);
  live_expect_ok(dibs_lock_async(client, "rw", NULL, on_lock, &kind, NULL));
  live_expect_ok(dibs_acquire_async(client, DIBS_PERMITS("none", 1), NULL, on_lock, &permits,
                                    NULL));
  live_expect_ok(dibs_lock_async(client, "free", NULL, on_lock, &fine, NULL));
  assert_true(live_until(LIVE_LONG_MS, was_reported, &kind));
  assert_true(live_until(LIVE_LONG_MS, was_reported, &permits));
  assert_true(live_until(LIVE_LONG_MS, was_reported, &fine));
  assert_int_equal(kind.error.status, DIBS_ERR_WRONG_TYPE);
  assert_int_equal(permits.error.status, DIBS_ERR_NOT_SET);
  assert_string_not_equal(kind.error.text, permits.error.text);
  if (live_place() == LIVE_ONE)
    assert_string_equal(kind.error.node, live_url());
  else
    assert_string_not_equal(kind.error.node, "");
  assert_int_equal(fine.error.status, DIBS_OK);
  assert_string_equal(fine.error.text, "");
  expect_last(DIBS_OK);                     /* of this thread */
  live_expect(client, dibs_release(hold), DIBS_OK);
}

TEST(a_loss_says_what_was_lost_and_why)
{
  dibs_lock_options o = live_lock_options(30000, 0);
  struct told t = { .count = 0 };
  dibs_inspection *seen = NULL;
  dibs_hold *hold = NULL;

  o.on_lost = on_lost;
  o.on_lost_data = &t;
  live_expect(client, dibs_lock(client, "orders/7", &o, &hold), DIBS_OK);
  live_expect(client, dibs_inspect(client, dibs_text("orders/7"), &seen), DIBS_OK);
  live_expect(client, dibs_break(client, dibs_text("orders/7"), seen->lease), DIBS_OK);
  seen = dibs_inspection_free(seen);
  assert_true(live_until(15000, was_reported, &t));
  assert_true(t.error.status > 0);
  assert_string_equal(t.name, "orders/7");
  assert_string_not_equal(t.error.text, "");
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
}

TEST(a_hold_knows_its_names)
{
  static const char *const names[] = { "b", "a", "long name", "a" };
  const dibs_bytes bytes = { "x\0y", 3 };
  char name[DIBS_NAME_MAX + 1];
  dibs_hold *hold = NULL;
  size_t size = 0;

  live_expect(client, dibs_acquire(client, DIBS_LOCKS(&bytes, 1), NULL, &hold), DIBS_OK);
  live_expect(client, dibs_hold_name(hold, 0, NULL, 0, &size), DIBS_OK);
  assert_int_equal(size, 3);
  live_expect(client, dibs_hold_name(hold, 0, name, sizeof(name), NULL), DIBS_OK);
  assert_memory_equal(name, "x\0y", 4);
  assert_int_equal(dibs_hold_name(hold, 0, name, 3, &size), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_hold_name(hold, 1, name, sizeof(name), NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_release(hold), DIBS_OK);
  assert_int_equal(dibs_hold_name(hold, 0, name, sizeof(name), NULL), DIBS_ERR_STALE);
  live_expect(client, acquire_names(client, names, 4, NULL, &hold), DIBS_OK);
  for (size_t i = 0; i < 3; i++) {
    live_expect(client, dibs_hold_name(hold, i, name, sizeof(name), &size), DIBS_OK);
    assert_string_equal(name, i == 0 ? "a" : i == 1 ? "b" : "long name");
    assert_int_equal(size, strlen(name));
  }
  assert_int_equal(dibs_hold_name(hold, 3, name, sizeof(name), NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_release(hold), DIBS_OK);
}

TEST(a_hold_says_what_it_is)
{
  dibs_lock_options fixed = live_lock_options(30000, 0);
  dibs_hold_info info = DIBS_HOLD_INFO_INIT, small;
  dibs_hold *hold = NULL;

  fixed.flags = DIBS_LOCK_FIXED;
  live_expect(client, dibs_lock(client, "what", &fixed, &hold), DIBS_OK);
  live_expect(client, dibs_hold_get_info(hold, &info), DIBS_OK);
  assert_int_equal(info.size, sizeof(info));
  assert_int_equal(info.state, DIBS_HOLD_HELD);
  assert_int_equal(info.depth, 1);
  assert_int_equal(info.units, 1);
  assert_int_equal(info.fence, dibs_hold_fence(hold));
  assert_in_range(info.valid_ms, 1, 30000);
  assert_int_equal(info.durability, live_place() == LIVE_QUORUM ? DIBS_DURABLE_QUORUM
                                                               : DIBS_DURABLE_PRIMARY);
  memset(&small, 0xff, sizeof(small));
  small.size = offsetof(dibs_hold_info, units);       /* of an older program */
  live_expect(client, dibs_hold_get_info(hold, &small), DIBS_OK);
  assert_int_equal(small.size, offsetof(dibs_hold_info, units));
  assert_int_equal(small.depth, 1);
  assert_int_equal(small.units, UINT32_MAX);
  live_expect(client, dibs_release(hold), DIBS_OK);
  assert_int_equal(dibs_hold_get_info(hold, &info), DIBS_ERR_STALE);
  assert_int_equal(dibs_hold_get_info(hold, NULL), DIBS_ERR_ARGUMENT);
}

/* ---- what is no call ---- */

static void on_leader(const dibs_error *error, const dibs_leader *leader, void *data)
{
  (void)error;
  (void)leader;
  (void)data;
}

static void fail_in_data_free(void *data)
{
  (void)data;
  (void)dibs_release(NULL);
}

TEST(reading_and_freeing_leave_the_error_unchanged)
{
  live_needs_keys();
  dibs_observer *observer = NULL, *seen = NULL;
  dibs_canceller *canceller = NULL;
  dibs_leader *leader = NULL;
  dibs_hold *hold = NULL, *none = NULL;

  live_expect_ok(dibs_canceller_new(&canceller));
  live_expect(client, dibs_observe(client, "seen", NULL, NULL, NULL, &seen), DIBS_OK);
  live_expect(client, dibs_observe(client, "seen", on_leader, client, fail_in_data_free, &observer),
              DIBS_OK);
  live_expect(client, dibs_get_leader(client, "seen", &leader), DIBS_OK);
  live_expect(client, dibs_lock(client, "read", NULL, &hold), DIBS_OK);
  assert_int_equal(dibs_lock(client, "", NULL, &none), DIBS_ERR_ARGUMENT);
  assert_true(dibs_hold_fence(hold) > 0 && dibs_hold_valid_ms(hold) > 0);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  assert_true(dibs_is_connected(client) && dibs_client_call_timeout(client) > 0);
  assert_string_not_equal(dibs_client_id(client), "");
  assert_int_equal(dibs_fd(client), -1);
  expect_last(DIBS_ERR_ARGUMENT);
  leader = dibs_leader_free(leader);
  canceller = dibs_canceller_free(canceller);
  assert_true(dibs_observer_fd(seen) >= 0);
  expect_last(DIBS_ERR_ARGUMENT);
  for (int again = 0; again < 2; again++) {            /* stale, the second time */
    (void)dibs_observer_free(seen);
    (void)dibs_observer_free(observer);
    assert_int_equal(dibs_observer_fd(seen), -1);
    expect_last(DIBS_ERR_ARGUMENT);
  }
  live_expect(client, dibs_release(hold), DIBS_OK);
}

static void call_that_fails(const dibs_error *error, dibs_hold *hold, void *data)
{
  (void)error;
  (void)hold;
  *(bool *)data = dibs_release(NULL) == DIBS_ERR_STALE;
}

TEST(the_error_of_a_close_is_not_that_of_a_callback_in_it)
{
  dibs_options o = live_options();
  bool has_failed = false;
  dibs_client *own;

  o.flags |= DIBS_CLIENT_NO_THREAD;
  own = live_open_with(live_url(), &o);
  live_expect_ok(dibs_lock_async(own, "closing", NULL, call_that_fails, &has_failed, NULL));
  own = dibs_close(own);
  assert_true(has_failed);
  assert_int_equal(last(NULL).status, DIBS_OK);
}

/* ---- a client is a handle ---- */

static void expect_refused(dibs_client *c, dibs_status wanted)
{
  dibs_client_info stats = DIBS_CLIENT_INFO_INIT;
  dibs_error error = DIBS_ERROR_INIT;
  dibs_inspection *seen = NULL;
  dibs_hold *hold = NULL;
  int64_t left;

  assert_int_equal(dibs_lock(c, "a", NULL, &hold), wanted);
  assert_int_equal(last(c).status, wanted);
  assert_int_equal(dibs_lock_async(c, "a", NULL, on_lock, NULL, NULL), wanted);
  assert_int_equal(dibs_ping(c, 0, NULL), wanted);
  assert_int_equal(dibs_inspect(c, dibs_text("a"), &seen), wanted);
  assert_int_equal(dibs_latch_count(c, "a", &left), wanted);
  assert_int_equal(dibs_client_get_info(c, &stats), wanted);
  assert_int_equal(dibs_process(c, &left), wanted);
  assert_int_equal(dibs_client_set_credentials(c, NULL, NULL), wanted);
  assert_int_equal(dibs_map_put(c, "m", (dibs_bytes){ "k", 1 }, (dibs_bytes){ "v", 1 }, NULL),
                   wanted);
  assert_int_equal(dibs_fd(c), -1);
  assert_int_equal(dibs_client_error(c, 1, &error), wanted);
  assert_false(dibs_is_connected(c));
  assert_string_equal(dibs_client_id(c), "");
  assert_null(dibs_close(c));
}

TEST(a_closed_or_invented_client_is_refused)
{
  dibs_client *closed = live_open(live_url());
  char memory[64] = { 0 };
  dibs_client *other;

  assert_null(dibs_close(closed));
  expect_refused(closed, DIBS_ERR_STALE);
  other = live_open(live_url());             /* gets its place in the table */
  expect_refused(closed, DIBS_ERR_STALE);
  expect_refused((dibs_client *)(void *)memory, DIBS_ERR_STALE);
  expect_refused((dibs_client *)(void *)(memory + 1), DIBS_ERR_STALE);
  expect_refused((dibs_client *)UINTPTR_MAX, DIBS_ERR_STALE);
  expect_refused(NULL, DIBS_ERR_ARGUMENT);
  live_expect(other, dibs_ping(other, 0, NULL), DIBS_OK);
  other = dibs_close(other);
}

struct shared {
  dibs_client *client;
  _Atomic int odd, calls;
};

static void *call_until_closed(void *data)
{
  struct shared *s = data;
  dibs_status status = DIBS_OK;

  while (status != DIBS_ERR_STALE) {
    dibs_hold *hold = NULL;

    status = dibs_try_lock(s->client, "closing", NULL, &hold);
    if (status == DIBS_OK)
      (void)dibs_release(hold);
    else if (status != DIBS_BUSY && status != DIBS_ERR_CLOSED && status != DIBS_ERR_STALE &&
             status != DIBS_UNKNOWN)
      (void)atomic_fetch_add(&s->odd, 1);
    (void)atomic_fetch_add(&s->calls, 1);
  }
  return NULL;
}

static void *close_it(void *data)
{
  (void)dibs_close(data);
  return NULL;
}

TEST(closing_while_others_call_and_close_ends_them_stale)
{
  pthread_t callers[4], closers[2];

  for (int round = 0; round < 20; round++) {
    struct shared s = { .client = live_open(live_url()) };

    for (int i = 0; i < 4; i++)
      assert_int_equal(pthread_create(&callers[i], NULL, call_until_closed, &s), 0);
    while (atomic_load(&s.calls) < 40)
      (void)poll(NULL, 0, 1);
    for (int i = 0; i < 2; i++)
      assert_int_equal(pthread_create(&closers[i], NULL, close_it, s.client), 0);
    for (int i = 0; i < 2; i++)
      assert_int_equal(pthread_join(closers[i], NULL), 0);
    for (int i = 0; i < 4; i++)
      assert_int_equal(pthread_join(callers[i], NULL), 0);
    assert_int_equal(atomic_load(&s.odd), 0);
  }
}

static bool is_cut(void *c)
{
  return !dibs_is_connected(c);
}

TEST(it_tells_whether_a_server_is_there)
{
  struct test_server *s = test_server_start();
  dibs_client *c = live_open(test_server_url(s));

  assert_false(dibs_is_connected(c));
  live_expect(c, dibs_ping(c, 0, NULL), DIBS_OK);
  assert_true(dibs_is_connected(c));
  test_server_kill9(s);
  assert_true(live_until(LIVE_LONG_MS, is_cut, c));
  c = dibs_close(c);
  s = test_server_stop(s);
}

RUN_TESTS(setup, teardown)

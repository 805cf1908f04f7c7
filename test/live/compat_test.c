/* SPDX-License-Identifier: MIT */
/* test/live/compat_test.c - a program of 0.5, by <dibs/compat-0.5.h>: each old name takes what it
 * took, and answers what it answered. */
#include "tests.h"

#include <stdint.h>
#include <string.h>

#define DIBS_COMPAT_QUIET
#include <dibs/compat-0.5.h>

#include "two_clients.h"

enum { TTL_MS = 60000 };

static dibs_lock_options o;
static const char *const both[] = { "a", "b" };

typedef dibs_status by_name(dibs_client *c, const char *name, const dibs_lock_options *options,
                            dibs_hold **ret_hold);
typedef dibs_status by_name_async(dibs_client *c, const char *name,
                                  const dibs_lock_options *options, dibs_lock_callback callback,
                                  void *data, dibs_request **ret_request);

/* ---- the forms of each kind, as one function ---- */

#define OF_BYTES(function) \
  static dibs_status function##_n(dibs_client *c, const char *name, \
                                  const dibs_lock_options *options, dibs_hold **ret_hold) \
  { \
    return function(c, name, strlen(name), options, ret_hold); \
  }
#define WITH_ONE(function, ...) \
  static dibs_status function##_n(dibs_client *c, const char *name, \
                                  const dibs_lock_options *options, dibs_hold **ret_hold) \
  { \
    return function(c, name, __VA_ARGS__, options, ret_hold); \
  }
#define WITH_ONE_ASYNC(function, one) \
  static dibs_status function##_n(dibs_client *c, const char *name, \
                                  const dibs_lock_options *options, dibs_lock_callback callback, \
                                  void *data, dibs_request **ret_request) \
  { \
    return function(c, name, one, options, callback, data, ret_request); \
  }
#define OF_BOTH(function) \
  static dibs_status function##_n(dibs_client *c, const char *name, \
                                  const dibs_lock_options *options, dibs_hold **ret_hold) \
  { \
    (void)name; \
    return function(c, both, 2, options, ret_hold); \
  }
#define OF_BOTH_ASYNC(function) \
  static dibs_status function##_n(dibs_client *c, const char *name, \
                                  const dibs_lock_options *options, dibs_lock_callback callback, \
                                  void *data, dibs_request **ret_request) \
  { \
    (void)name; \
    return function(c, both, 2, options, callback, data, ret_request); \
  }

OF_BYTES(dibs_lock_bytes)
OF_BYTES(dibs_try_lock_bytes)
OF_BYTES(dibs_read_lock_bytes)
OF_BYTES(dibs_try_read_lock_bytes)
OF_BYTES(dibs_write_lock_bytes)
OF_BYTES(dibs_try_write_lock_bytes)
OF_BYTES(dibs_drain_permits_bytes)
WITH_ONE(dibs_acquire_permits, 1)
WITH_ONE(dibs_try_acquire_permits, 1)
WITH_ONE(dibs_acquire_permits_bytes, strlen(name), 1)
WITH_ONE(dibs_try_acquire_permits_bytes, strlen(name), 1)
WITH_ONE(dibs_campaign, "v")
WITH_ONE(dibs_try_campaign, "v")
WITH_ONE_ASYNC(dibs_acquire_permits_async, 1)
WITH_ONE_ASYNC(dibs_try_acquire_permits_async, 1)
WITH_ONE_ASYNC(dibs_campaign_async, "v")
OF_BOTH(dibs_lock_many)
OF_BOTH(dibs_try_lock_many)
OF_BOTH_ASYNC(dibs_lock_many_async)
OF_BOTH_ASYNC(dibs_try_lock_many_async)

/* A kind of target that excludes it, the function, and whether it waits for that. */
static const struct { int32_t kind; by_name *take; bool waits; } blocking[] = {
  { DIBS_TARGET_LOCK, dibs_lock_bytes_n, true },
  { DIBS_TARGET_LOCK, dibs_try_lock_bytes_n, false },
  { DIBS_TARGET_WRITE, dibs_read_lock, true },
  { DIBS_TARGET_WRITE, dibs_try_read_lock, false },
  { DIBS_TARGET_READ, dibs_write_lock, true },
  { DIBS_TARGET_READ, dibs_try_write_lock, false },
  { DIBS_TARGET_WRITE, dibs_read_lock_bytes_n, true },
  { DIBS_TARGET_WRITE, dibs_try_read_lock_bytes_n, false },
  { DIBS_TARGET_READ, dibs_write_lock_bytes_n, true },
  { DIBS_TARGET_READ, dibs_try_write_lock_bytes_n, false },
  { DIBS_TARGET_PERMITS, dibs_acquire_permits_n, true },
  { DIBS_TARGET_PERMITS, dibs_try_acquire_permits_n, false },
  { DIBS_TARGET_PERMITS, dibs_drain_permits, false },
  { DIBS_TARGET_PERMITS, dibs_acquire_permits_bytes_n, true },
  { DIBS_TARGET_PERMITS, dibs_try_acquire_permits_bytes_n, false },
  { DIBS_TARGET_PERMITS, dibs_drain_permits_bytes_n, false },
  { DIBS_TARGET_LOCK, dibs_lock_many_n, true },
  { DIBS_TARGET_LOCK, dibs_try_lock_many_n, false },
  { DIBS_TARGET_LOCK, dibs_campaign_n, true },
  { DIBS_TARGET_LOCK, dibs_try_campaign_n, false },
};

static const struct { int32_t kind; by_name_async *take; bool waits; } by_callback[] = {
  { DIBS_TARGET_LOCK, dibs_try_lock_async, false },
  { DIBS_TARGET_WRITE, dibs_read_lock_async, true },
  { DIBS_TARGET_WRITE, dibs_try_read_lock_async, false },
  { DIBS_TARGET_READ, dibs_write_lock_async, true },
  { DIBS_TARGET_READ, dibs_try_write_lock_async, false },
  { DIBS_TARGET_PERMITS, dibs_acquire_permits_async_n, true },
  { DIBS_TARGET_PERMITS, dibs_try_acquire_permits_async_n, false },
  { DIBS_TARGET_LOCK, dibs_lock_many_async_n, true },
  { DIBS_TARGET_LOCK, dibs_try_lock_many_async_n, false },
  { DIBS_TARGET_LOCK, dibs_campaign_async_n, true },
};

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* ---- with all of them ---- */

static void prepare(int32_t kind)
{
  live_tell_all("FLUSHALL");
  if (kind == DIBS_TARGET_PERMITS)
    live_expect(other, dibs_semaphore_set(other, "a", 1), DIBS_OK);
}

static dibs_hold *of_another(int32_t kind)
{
  dibs_hold *theirs = NULL;

  live_expect(other, dibs_acquire(other, &DIBS_TARGET(kind, "a", 0, 0, NULL), &o, &theirs),
              DIBS_OK);
  return theirs;
}

TEST(what_is_free_is_taken_and_what_is_not_is_refused)
{
  dibs_hold *theirs, *mine = NULL;
  dibs_status status;

  for (size_t i = 0; i < COUNT(blocking); i++) {
    prepare(blocking[i].kind);
    o.wait_ms = LIVE_LONG_MS;
    live_expect(client, blocking[i].take(client, "a", &o, &mine), DIBS_OK);
    live_expect(client, dibs_release(mine), DIBS_OK);
    theirs = of_another(blocking[i].kind);
    o.wait_ms = blocking[i].waits ? 0 : LIVE_LONG_MS;        /* a try ignores it */
    status = blocking[i].take(client, "a", &o, &mine);
    live_expect_refused(client, status, blocking[i].waits ? DIBS_TIMED_OUT : DIBS_BUSY);
    live_expect(other, dibs_release(theirs), DIBS_OK);
  }
}

static dibs_hold *given;

static void on_lock(const dibs_error *error, dibs_hold *hold, void *data)
{
  given = hold;
  live_note_ending(error, data);
}

static void start(by_name_async *take, dibs_status wanted)
{
  struct live_ending e = { 0 };

  live_expect(client, take(client, "a", &o, on_lock, &e, NULL), DIBS_OK);
  assert_true(live_until(LIVE_LONG_MS, live_has_ended, &e));
  live_expect_ending(&e, wanted);
}

/* Only that a wait_ms of 0 is DIBS_BUSY. */
TEST(callbacks_get_nearly_the_same)
{
  dibs_hold *theirs;

  for (size_t i = 0; i < COUNT(by_callback); i++) {
    prepare(by_callback[i].kind);
    o.wait_ms = LIVE_LONG_MS;
    start(by_callback[i].take, DIBS_OK);
    live_expect(client, dibs_release(given), DIBS_OK);
    theirs = of_another(by_callback[i].kind);
    o.wait_ms = by_callback[i].waits ? 0 : LIVE_LONG_MS;
    start(by_callback[i].take, DIBS_BUSY);
    live_expect(other, dibs_release(theirs), DIBS_OK);
  }
}

/* What dibs_target gives another meaning, or none. */
TEST(what_was_refused_still_is)
{
  const char *const many[DIBS_MANY_MAX + 1] = { "a" };
  dibs_hold *none = NULL, *outer = NULL;

  prepare(DIBS_TARGET_PERMITS);
  live_expect(client, dibs_acquire_permits(client, "a", 0, &o, &none), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_try_acquire_permits(client, "a", UINT32_MAX, NULL, &none),
              DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_lock_many(client, many, DIBS_MANY_MAX + 1, &o, &none),
              DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_lock_many(client, NULL, 1, &o, &none), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_lock_many(client, many, 0, &o, &none), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_read_lock(client, NULL, &o, &none), DIBS_ERR_ARGUMENT);
  prepare(DIBS_TARGET_LOCK);
  live_expect(client, dibs_lock_many(client, both, 1, NULL, &outer), DIBS_OK);
  live_expect(client, dibs_lock_many(client, both, 1, NULL, &none), DIBS_WOULD_DEADLOCK);
  live_expect(client, dibs_release(outer), DIBS_OK);
  assert_null(none);
}

TEST(rates_are_taken_and_read_as_before)
{
  dibs_rate r = DIBS_RATE_INIT, got = DIBS_RATE_INIT;
  dibs_wait_options w = DIBS_WAIT_OPTIONS_INIT;
  int64_t left = -1, when_ms = -1;

  live_tell_all("FLUSHALL");
  r.permits = 2;
  r.interval_ms = 600000;
  w.wait_ms = 0;
  live_expect(client, dibs_rate_limiter_set(client, "a", &r, DIBS_RATE_RESET), DIBS_OK);
  live_expect(client, dibs_rate_limiter_acquire(client, "a", 1, NULL), DIBS_OK);
  live_expect(client, dibs_rate_limiter_available(client, "a", &left), DIBS_OK);
  assert_int_equal(left, 1);
  live_expect(client, dibs_rate_limiter_config(client, "a", &got), DIBS_OK);
  assert_int_equal(got.permits, 2);
  live_expect(client, dibs_rate_limiter_try_acquire(client, "a", 1, &when_ms), DIBS_OK);
  assert_int_equal(when_ms, 0);
  live_expect(client, dibs_rate_limiter_try_acquire(client, "a", 1, &when_ms), DIBS_BUSY);
  assert_in_range(when_ms, 1, 600000);
  live_expect_refused(client, dibs_rate_limiter_acquire(client, "a", 1, &w), DIBS_TIMED_OUT);
  assert_int_equal(dibs_rate_limiter_available(client, "a", NULL), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_rate_limiter_config(client, "a", NULL), DIBS_ERR_ARGUMENT);
  live_tell_all("FLUSHALL");             /* nothing else ends the answer to the first set */
}

static int compat_setup(void **state)
{
  o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  return setup(state);
}

int main(void)
{
  if (live_is_beyond(LIVE_ONE))
    return 0;
  return tests_run(compat_setup, teardown, NULL, NULL);
}

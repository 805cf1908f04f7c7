/* SPDX-License-Identifier: MIT */
/* test/live/every_call.h - one row for each exported function that asks a server, and of
 * dibs_acquire() for each kind, for tests of what holds for all of them. first_reason_test.c checks
 * that none is missing. */
#ifndef TEST_EVERY_CALL_H
#define TEST_EVERY_CALL_H

#include <stdio.h>

#include "live.h"

/* One row at work, in a thread of its own with a client of its own. */
struct trial {
  const struct row *row;
  const char *url;
  const dibs_options *options;
  const char *name;
  const dibs_lock_options *lock_options;     /* NULL: defaults, without a limit */
  const dibs_wait_options *wait_options;
  int32_t ping_ms;
  dibs_status status;             /* what it returned, or its callback was given */
  dibs_error error;               /* dibs_client_error() of its thread, or the callback's */
  _Atomic int callbacks;
  dibs_hold *hold;                /* where answers go: there are none */
  dibs_value *value;
  dibs_inspection *inspection;
  dibs_fleet *fleet;
  dibs_history *history;
  dibs_leader *leader;
  dibs_barrier_info barrier;
  dibs_rate rate;
  uint64_t unsigned_number;
  int64_t number;
  bool is_so;
};

static const dibs_bytes bytes = { "b", 1 };
static const char *const two[] = { "reason/a", "reason/b" };
static const dibs_bytes two_bytes[] = { { "reason/a", 8 }, { "reason/b", 8 } };
static const dibs_field field = { "f", "v", 1 };
static char token[DIBS_TOKEN_SIZE], lease[256];

static void tell(struct trial *t, const dibs_error *error)
{
  t->status = error->status;
  t->error = *error;
  (void)atomic_fetch_add(&t->callbacks, 1);
}

static void on_lock(const dibs_error *error, dibs_hold *none, void *data)
{
  (void)none;
  tell(data, error);
}

static void on_wait(const dibs_error *error, void *data)
{
  tell(data, error);
}

static void on_number(const dibs_error *error, int64_t number, void *data)
{
  (void)number;
  tell(data, error);
}

static void on_barrier(const dibs_error *error, const dibs_barrier_info *info, void *data)
{
  (void)info;
  tell(data, error);
}

static bool on_lock_seen(const dibs_inspection *seen, void *data)
{
  (void)seen;
  return data == NULL;
}

static bool on_name(dibs_family family, const char *name, size_t size, void *data)
{
  (void)family;
  (void)name;
  (void)size;
  return data == NULL;
}

static bool on_element(uint64_t index, dibs_bytes element, void *data)
{
  (void)index;
  (void)element;
  return data == NULL;
}

static bool on_entry(dibs_bytes key, dibs_bytes element, void *data)
{
  (void)key;
  (void)element;
  return data == NULL;
}

static bool on_member(dibs_bytes member, void *data)
{
  (void)member;
  return data == NULL;
}

static bool on_finding(const dibs_finding *finding, void *data)
{
  (void)finding;
  return data == NULL;
}

/* ---- each kind of target, waiting or not ---- */

#define TAKES(kind, target) \
  static inline dibs_status take_##kind(dibs_client *c, const char *text, \
                                        const dibs_lock_options *o, dibs_hold **ret_hold) \
  { \
    (void)text; \
    return dibs_acquire(c, target(text), o, ret_hold); \
  } \
  static inline dibs_status try_##kind(dibs_client *c, const char *text, \
                                       const dibs_lock_options *o, dibs_hold **ret_hold) \
  { \
    (void)text; \
    return acquire_now(c, target(text), o, ret_hold); \
  } \
  static inline dibs_status take_##kind##_async(dibs_client *c, const char *text, \
                                                const dibs_lock_options *o, void *data) \
  { \
    (void)text; \
    return dibs_acquire_async(c, target(text), o, on_lock, data, NULL); \
  } \
  static inline dibs_status try_##kind##_async(dibs_client *c, const char *text, \
                                               const dibs_lock_options *o, void *data) \
  { \
    (void)text; \
    return acquire_now_async(c, target(text), o, on_lock, data, NULL); \
  }

#define A_PERMIT(text) DIBS_PERMITS(text, 1)
#define ALL_FREE(text) DIBS_PERMITS(text, DIBS_UNITS_ALL_FREE)
#define A_LIMIT(text) DIBS_PERMIT_OF(text, 1)
#define A_LEADER(text) DIBS_LEAD(text, "v")
#define TWO_NAMES(text) DIBS_LOCKS(two_bytes, 2)

TAKES(lock, DIBS_LOCK)
TAKES(read, DIBS_READ)
TAKES(write, DIBS_WRITE)
TAKES(permit, A_PERMIT)
TAKES(all_free, ALL_FREE)
TAKES(limit, A_LIMIT)
TAKES(lead, A_LEADER)
TAKES(names, TWO_NAMES)

static inline dibs_status try_rate(dibs_client *c, const char *text)
{
  static const dibs_wait_options at_once = { sizeof(at_once), 0, 0, NULL };

  return dibs_rate_limiter_acquire(c, text, 1, &at_once, NULL);
}

/* The function, and what it takes after the client. */
#define CALLS(X) \
  X(dibs_acquire, DIBS_LOCK(t->name), t->lock_options, &t->hold) \
  X(dibs_ping, t->ping_ms, &t->unsigned_number) \
  X(dibs_lock, t->name, t->lock_options, &t->hold) \
  X(dibs_try_lock, t->name, t->lock_options, &t->hold) \
  X(take_read, t->name, t->lock_options, &t->hold) \
  X(try_read, t->name, t->lock_options, &t->hold) \
  X(take_write, t->name, t->lock_options, &t->hold) \
  X(try_write, t->name, t->lock_options, &t->hold) \
  X(take_permit, t->name, t->lock_options, &t->hold) \
  X(try_permit, t->name, t->lock_options, &t->hold) \
  X(take_limit, t->name, t->lock_options, &t->hold) \
  X(try_limit, t->name, t->lock_options, &t->hold) \
  X(take_lead, t->name, t->lock_options, &t->hold) \
  X(try_lead, t->name, t->lock_options, &t->hold) \
  X(take_names, t->name, t->lock_options, &t->hold) \
  X(try_names, t->name, t->lock_options, &t->hold) \
  X(take_all_free, t->name, t->lock_options, &t->hold) \
  X(dibs_semaphore_set, dibs_text(t->name), 1, 0, NULL) \
  X(dibs_semaphore_delete, dibs_text(t->name)) \
  X(dibs_latch_set, t->name, 1) \
  X(dibs_latch_down, t->name, 1, NULL, NULL) \
  X(dibs_latch_count, t->name, &t->number) \
  X(dibs_latch_delete, t->name) \
  X(dibs_latch_await, t->name, t->wait_options) \
  X(dibs_barrier_await, t->name, 2, t->wait_options, NULL) \
  X(dibs_barrier_reset, t->name) \
  X(dibs_barrier_get, t->name, &t->barrier) \
  X(dibs_get_leader, t->name, &t->leader) \
  X(dibs_guarded_set, t->name, 1, "v", 1, 0) \
  X(dibs_guarded_hset, t->name, 1, &field, 1) \
  X(dibs_guarded_hdel, t->name, 1, two, 2) \
  X(dibs_guarded_del, t->name, 1) \
  X(dibs_guarded_incr, t->name, 1, 1, &t->number) \
  X(dibs_guarded_get, t->name, &t->value, &t->unsigned_number) \
  X(dibs_guarded_hget, t->name, "f", &t->value, &t->unsigned_number) \
  X(dibs_inspect, dibs_text(t->name), &t->inspection) \
  X(dibs_list, NULL, on_lock_seen, NULL) \
  X(dibs_list_names, DIBS_FAMILY_LOCK, NULL, on_name, NULL) \
  X(dibs_fleet_read, &t->fleet) \
  X(dibs_history_read, NULL, &t->history) \
  X(dibs_break, dibs_text(t->name), lease) \
  X(dibs_token_renew, token, 1000, NULL) \
  X(dibs_token_release, token) \
  X(dibs_rate_limiter_set, t->name, &t->rate, DIBS_RATE_IF_ABSENT) \
  X(dibs_rate_limiter_acquire, t->name, 1, t->wait_options, NULL) \
  X(try_rate, t->name) \
  X(dibs_rate_limiter_release, t->name, 1, NULL) \
  X(dibs_rate_limiter_get, t->name, &t->rate, &t->number) \
  X(dibs_rate_limiter_delete, t->name) \
  X(dibs_data_expire, t->name, 1000, NULL) \
  X(dibs_data_persist, t->name, NULL) \
  X(dibs_data_ttl, t->name, &t->number) \
  X(dibs_data_delete, t->name, NULL) \
  X(dibs_map_put, t->name, bytes, bytes, NULL) \
  X(dibs_map_put_if_absent, t->name, bytes, bytes, &t->is_so) \
  X(dibs_map_replace, t->name, bytes, bytes, &t->is_so) \
  X(dibs_map_replace_if, t->name, bytes, bytes, bytes, &t->is_so) \
  X(dibs_map_get, t->name, bytes, &t->value) \
  X(dibs_map_contains, t->name, bytes, &t->is_so) \
  X(dibs_map_size, t->name, &t->unsigned_number) \
  X(dibs_map_remove, t->name, bytes, NULL) \
  X(dibs_map_remove_if, t->name, bytes, bytes, &t->is_so) \
  X(dibs_map_each, t->name, on_entry, NULL) \
  X(dibs_list_add, t->name, bytes, NULL) \
  X(dibs_list_add_first, t->name, bytes, NULL) \
  X(dibs_list_get, t->name, 0, &t->value) \
  X(dibs_list_set, t->name, 0, bytes, &t->is_so) \
  X(dibs_list_insert, t->name, 0, bytes, &t->is_so) \
  X(dibs_list_remove, t->name, bytes, 0, NULL) \
  X(dibs_list_remove_at, t->name, 0, &t->is_so) \
  X(dibs_list_size, t->name, &t->unsigned_number) \
  X(dibs_list_range, t->name, 0, 0, on_element, NULL) \
  X(dibs_list_pop_first, t->name, &t->value) \
  X(dibs_list_pop_last, t->name, &t->value) \
  X(dibs_list_take, t->name, t->wait_options, &t->value) \
  X(dibs_set_add, t->name, bytes, NULL) \
  X(dibs_set_remove, t->name, bytes, NULL) \
  X(dibs_set_contains, t->name, bytes, &t->is_so) \
  X(dibs_set_size, t->name, &t->unsigned_number) \
  X(dibs_set_pop, t->name, &t->value) \
  X(dibs_set_each, t->name, on_member, NULL) \
  X(dibs_examine, on_finding, NULL)
#define CALLS_WITH_CALLBACK(X) \
  X(dibs_acquire_async, DIBS_READ(t->name), t->lock_options, on_lock, t, NULL) \
  X(dibs_lock_async, t->name, t->lock_options, on_lock, t, NULL) \
  X(try_lock_async, t->name, t->lock_options, t) \
  X(take_write_async, t->name, t->lock_options, t) \
  X(try_write_async, t->name, t->lock_options, t) \
  X(take_permit_async, t->name, t->lock_options, t) \
  X(try_permit_async, t->name, t->lock_options, t) \
  X(take_limit_async, t->name, t->lock_options, t) \
  X(try_limit_async, t->name, t->lock_options, t) \
  X(take_lead_async, t->name, t->lock_options, t) \
  X(try_lead_async, t->name, t->lock_options, t) \
  X(take_names_async, t->name, t->lock_options, t) \
  X(try_names_async, t->name, t->lock_options, t) \
  X(dibs_guarded_set_async, t->name, 1, "v", 1, 0, on_wait, t, NULL) \
  X(dibs_guarded_hset_async, t->name, 1, &field, 1, on_wait, t, NULL) \
  X(dibs_guarded_hdel_async, t->name, 1, two, 2, on_wait, t, NULL) \
  X(dibs_guarded_del_async, t->name, 1, on_wait, t, NULL) \
  X(dibs_guarded_incr_async, t->name, 1, 1, on_number, t, NULL) \
  X(dibs_latch_set_async, t->name, 1, on_wait, t, NULL) \
  X(dibs_latch_down_async, t->name, 1, NULL, on_number, t, NULL) \
  X(dibs_latch_count_async, t->name, on_number, t, NULL) \
  X(dibs_latch_await_async, t->name, t->wait_options, on_wait, t, NULL) \
  X(dibs_barrier_await_async, t->name, 2, t->wait_options, on_barrier, t, NULL) \
  X(dibs_rate_limiter_acquire_async, t->name, 1, t->wait_options, on_wait, t, NULL)

struct row {
  const char *function;
  const char *arguments;           /* as written in its row */
  dibs_status (*call)(dibs_client *c, struct trial *t);
  bool has_callback;
};

#define CALL(function, ...) \
  static dibs_status function##_row(dibs_client *c, struct trial *t) \
  { \
    (void)t; \
    return function(c, __VA_ARGS__); \
  }
CALLS(CALL)
CALLS_WITH_CALLBACK(CALL)

#define BLOCKING(function, ...) { #function, #__VA_ARGS__, function##_row, false },
#define WITH_CALLBACK(function, ...) { #function, #__VA_ARGS__, function##_row, true },
static const struct row rows[] = { CALLS(BLOCKING) CALLS_WITH_CALLBACK(WITH_CALLBACK) };

enum { AT_ONCE = 32 };        /* rows; all of them starve each other on a busy machine */
enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

static inline struct trial trial_of(size_t row, const char *url, const dibs_options *options)
{
  return (struct trial){ .row = &rows[row], .url = url, .options = options, .name = "r",
                         .error.size = sizeof(dibs_error),
                         .barrier.size = sizeof(dibs_barrier_info),
                         .rate = { .size = sizeof(dibs_rate), .permits = 1,
                                   .interval_ms = 1000, .type = DIBS_RATE_OVERALL } };
}

/* Runs all rows by `run`, a thread with `attributes` for each. `trials`: ROW_COUNT. */
static inline void run_all_rows(struct trial *trials, const pthread_attr_t *attributes,
                                void *(*run)(void *trial))
{
  pthread_t threads[ROW_COUNT];

  for (size_t first = 0; first < ROW_COUNT; first += AT_ONCE) {
    for (size_t i = first; i < ROW_COUNT && i < first + AT_ONCE; i++)
      assert_int_equal(pthread_create(&threads[i], attributes, run, &trials[i]), 0);
    for (size_t i = first; i < ROW_COUNT && i < first + AT_ONCE; i++)
      assert_int_equal(pthread_join(threads[i], NULL), 0);
  }
}

static inline bool has_callback_run(void *data)
{
  return atomic_load(&((struct trial *)data)->callbacks) > 0;
}

/* A token and a lease that once were. */
static inline int every_call_setup(void **state)
{
  dibs_inspection *seen = NULL;
  dibs_hold *hold;
  dibs_client *c;

  (void)live_server_setup(state);
  c = live_open(live_url());
  hold = live_lock(c, "r", 30000);
  live_expect(c, dibs_hold_token(hold, token, sizeof(token)), DIBS_OK);
  live_expect(c, dibs_inspect(c, dibs_text("r"), &seen), DIBS_OK);
  (void)snprintf(lease, sizeof(lease), "%s", seen->lease);
  seen = dibs_inspection_free(seen);
  live_expect(c, dibs_release(hold), DIBS_OK);
  c = dibs_close(c);
  return 0;
}

#endif

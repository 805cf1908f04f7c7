/* SPDX-License-Identifier: MIT */
/* test/live/first_reason_test.c - every exported call that asks a server tells the same status
 * and the same first reason when the server cannot be used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "live.h"

/* ---- the calls: one row for each exported function that asks a server ---- */

/* One row at work, in a thread of its own with a client of its own. */
struct trial {
  const struct row *row;
  const char *url;
  const dibs_options *options;
  dibs_status status;             /* what it returned, or its callback was given */
  dibs_error error;               /* dibs_last_error() of its thread, or the callback's */
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

/* The function, and what it takes after the client. */
#define CALLS(X) \
  X(dibs_ping, 0, &t->unsigned_number) \
  X(dibs_lock, "r", NULL, &t->hold) \
  X(dibs_lock_bytes, "r", 1, NULL, &t->hold) \
  X(dibs_try_lock, "r", NULL, &t->hold) \
  X(dibs_try_lock_bytes, "r", 1, NULL, &t->hold) \
  X(dibs_lock_many, two, 2, NULL, &t->hold) \
  X(dibs_try_lock_many, two, 2, NULL, &t->hold) \
  X(dibs_read_lock, "r", NULL, &t->hold) \
  X(dibs_try_read_lock, "r", NULL, &t->hold) \
  X(dibs_write_lock, "r", NULL, &t->hold) \
  X(dibs_try_write_lock, "r", NULL, &t->hold) \
  X(dibs_acquire_permits, "r", 1, NULL, &t->hold) \
  X(dibs_try_acquire_permits, "r", 1, NULL, &t->hold) \
  X(dibs_drain_permits, "r", NULL, &t->hold) \
  X(dibs_read_lock_bytes, "r", 1, NULL, &t->hold) \
  X(dibs_try_read_lock_bytes, "r", 1, NULL, &t->hold) \
  X(dibs_write_lock_bytes, "r", 1, NULL, &t->hold) \
  X(dibs_try_write_lock_bytes, "r", 1, NULL, &t->hold) \
  X(dibs_acquire_permits_bytes, "r", 1, 1, NULL, &t->hold) \
  X(dibs_try_acquire_permits_bytes, "r", 1, 1, NULL, &t->hold) \
  X(dibs_drain_permits_bytes, "r", 1, NULL, &t->hold) \
  X(dibs_campaign, "r", "v", NULL, &t->hold) \
  X(dibs_try_campaign, "r", "v", NULL, &t->hold) \
  X(dibs_semaphore_set, "r", 1) \
  X(dibs_semaphore_set_if_absent, "r", 1, NULL) \
  X(dibs_semaphore_delete, "r") \
  X(dibs_semaphore_set_bytes, "r", 1, 1) \
  X(dibs_semaphore_set_if_absent_bytes, "r", 1, 1, NULL) \
  X(dibs_semaphore_delete_bytes, "r", 1) \
  X(dibs_latch_set, "r", 1) \
  X(dibs_latch_down, "r", 1, NULL, NULL) \
  X(dibs_latch_count, "r", &t->number) \
  X(dibs_latch_delete, "r") \
  X(dibs_latch_await, "r", NULL) \
  X(dibs_barrier_await, "r", 2, NULL, NULL) \
  X(dibs_barrier_reset, "r") \
  X(dibs_barrier_get, "r", &t->barrier) \
  X(dibs_get_leader, "r", &t->leader) \
  X(dibs_guarded_set, "r", 1, "v", 1, 0) \
  X(dibs_guarded_hset, "r", 1, &field, 1) \
  X(dibs_guarded_hdel, "r", 1, two, 2) \
  X(dibs_guarded_del, "r", 1) \
  X(dibs_guarded_incr, "r", 1, 1, &t->number) \
  X(dibs_inspect, "r", &t->inspection) \
  X(dibs_inspect_bytes, "r", 1, &t->inspection) \
  X(dibs_list, NULL, on_lock_seen, NULL) \
  X(dibs_list_names, DIBS_FAMILY_LOCK, NULL, on_name, NULL) \
  X(dibs_fleet_read, &t->fleet) \
  X(dibs_history_read, NULL, &t->history) \
  X(dibs_break, "r", lease) \
  X(dibs_token_renew, token, 1000, NULL) \
  X(dibs_token_release, token) \
  X(dibs_rate_limiter_set, "r", &t->rate, DIBS_RATE_IF_ABSENT) \
  X(dibs_rate_limiter_acquire, "r", 1, NULL) \
  X(dibs_rate_limiter_try_acquire, "r", 1, NULL) \
  X(dibs_rate_limiter_release, "r", 1, NULL) \
  X(dibs_rate_limiter_available, "r", &t->number) \
  X(dibs_rate_limiter_config, "r", &t->rate) \
  X(dibs_rate_limiter_delete, "r") \
  X(dibs_data_expire, "r", 1000, NULL) \
  X(dibs_data_persist, "r", NULL) \
  X(dibs_data_ttl, "r", &t->number) \
  X(dibs_data_delete, "r", NULL) \
  X(dibs_map_put, "r", bytes, bytes, NULL) \
  X(dibs_map_put_if_absent, "r", bytes, bytes, &t->is_so) \
  X(dibs_map_replace, "r", bytes, bytes, &t->is_so) \
  X(dibs_map_replace_if, "r", bytes, bytes, bytes, &t->is_so) \
  X(dibs_map_get, "r", bytes, &t->value) \
  X(dibs_map_contains, "r", bytes, &t->is_so) \
  X(dibs_map_size, "r", &t->unsigned_number) \
  X(dibs_map_remove, "r", bytes, NULL) \
  X(dibs_map_remove_if, "r", bytes, bytes, &t->is_so) \
  X(dibs_map_each, "r", on_entry, NULL) \
  X(dibs_list_add, "r", bytes, NULL) \
  X(dibs_list_add_first, "r", bytes, NULL) \
  X(dibs_list_get, "r", 0, &t->value) \
  X(dibs_list_set, "r", 0, bytes, &t->is_so) \
  X(dibs_list_insert, "r", 0, bytes, &t->is_so) \
  X(dibs_list_remove, "r", bytes, 0, NULL) \
  X(dibs_list_remove_at, "r", 0, &t->is_so) \
  X(dibs_list_size, "r", &t->unsigned_number) \
  X(dibs_list_range, "r", 0, 0, on_element, NULL) \
  X(dibs_list_pop_first, "r", &t->value) \
  X(dibs_list_pop_last, "r", &t->value) \
  X(dibs_list_take, "r", NULL, &t->value) \
  X(dibs_set_add, "r", bytes, NULL) \
  X(dibs_set_remove, "r", bytes, NULL) \
  X(dibs_set_contains, "r", bytes, &t->is_so) \
  X(dibs_set_size, "r", &t->unsigned_number) \
  X(dibs_set_pop, "r", &t->value) \
  X(dibs_set_each, "r", on_member, NULL) \
  X(dibs_examine, on_finding, NULL)
#define CALLS_WITH_CALLBACK(X) \
  X(dibs_lock_async, "r", NULL, on_lock, t, NULL) \
  X(dibs_try_lock_async, "r", NULL, on_lock, t, NULL) \
  X(dibs_lock_many_async, two, 2, NULL, on_lock, t, NULL) \
  X(dibs_try_lock_many_async, two, 2, NULL, on_lock, t, NULL) \
  X(dibs_read_lock_async, "r", NULL, on_lock, t, NULL) \
  X(dibs_try_read_lock_async, "r", NULL, on_lock, t, NULL) \
  X(dibs_write_lock_async, "r", NULL, on_lock, t, NULL) \
  X(dibs_try_write_lock_async, "r", NULL, on_lock, t, NULL) \
  X(dibs_acquire_permits_async, "r", 1, NULL, on_lock, t, NULL) \
  X(dibs_try_acquire_permits_async, "r", 1, NULL, on_lock, t, NULL) \
  X(dibs_campaign_async, "r", "v", NULL, on_lock, t, NULL) \
  X(dibs_latch_await_async, "r", NULL, on_wait, t, NULL) \
  X(dibs_barrier_await_async, "r", 2, NULL, on_barrier, t, NULL) \
  X(dibs_rate_limiter_acquire_async, "r", 1, NULL, on_wait, t, NULL)


struct row {
  const char *function;
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

#define BLOCKING(function, ...) { #function, function##_row, false },
#define WITH_CALLBACK(function, ...) { #function, function##_row, true },
static const struct row rows[] = { CALLS(BLOCKING) CALLS_WITH_CALLBACK(WITH_CALLBACK) };

enum { AT_ONCE = 32 };        /* rows; all of them starve each other on a busy machine */
enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

/* Exported, and not in the table. */
static const char *const ask_nothing[] = {
  "dibs_acl_line", "dibs_cancel", "dibs_canceller_free", "dibs_canceller_new",
  "dibs_client_id", "dibs_close", "dibs_fd", "dibs_fence_admits", "dibs_fleet_bound_us",
  "dibs_fleet_change", "dibs_fleet_free", "dibs_full_url",
  "dibs_function_library", "dibs_get_stats", "dibs_hold_depth", "dibs_hold_detach",
  "dibs_hold_durability", "dibs_hold_fd", "dibs_hold_fence", "dibs_hold_name", "dibs_history_free",
  "dibs_hold_state", "dibs_hold_token", "dibs_hold_units", "dibs_hold_valid_ms",
  "dibs_inspection_free", "dibs_is_connected", "dibs_is_private", "dibs_key_lock_name",
  "dibs_last_error", "dibs_last_errors", "dibs_leader_free", "dibs_local_start",
  "dibs_local_status", "dibs_local_stop", "dibs_names_expire", "dibs_names_free",
  "dibs_names_list", "dibs_observer_fd", "dibs_observer_free", "dibs_open",
  "dibs_open_with_error", "dibs_process", "dibs_request_cancel", "dibs_sandbox_keep",
  "dibs_sandbox_start", "dibs_sandbox_start_with", "dibs_sandbox_stop",
  "dibs_set_call_timeout", "dibs_set_credentials", "dibs_status_is_retriable",
  "dibs_status_name", "dibs_status_text", "dibs_stripe", "dibs_url", "dibs_value_free",
  "dibs_version",
};
/* They need a hold or an observer, which need a server that answered before. */
static const char *const ask_for_a_hold[] = {
  "dibs_release", "dibs_release_async", "dibs_downgrade", "dibs_publish", "dibs_resign",
  "dibs_observe", "dibs_observer_next",
};

static bool is_in(const char *name, const char *const *list, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (strcmp(name, list[i]) == 0)
      return true;
  return false;
}

static bool is_row(const char *name)
{
  for (size_t i = 0; i < ROW_COUNT; i++)
    if (strcmp(name, rows[i].function) == 0)
      return true;
  return false;
}

static void every_exported_function_is_in_one_list(void **state)
{
  const size_t nothing = sizeof(ask_nothing) / sizeof(ask_nothing[0]);
  const size_t held = sizeof(ask_for_a_hold) / sizeof(ask_for_a_hold[0]);
  FILE *f = fopen(SYMBOLS, "r");
  size_t lines = 0;
  char name[128];

  (void)state;
  assert_non_null(f);
  for (; fscanf(f, "%127s", name) == 1; lines++) {
    int lists = is_row(name) + is_in(name, ask_nothing, nothing) +
                is_in(name, ask_for_a_hold, held);

    if (lists != 1)
      fail_msg("%s is in %d of the lists of this file: give the call a row in CALLS", name,
               lists);
  }
  (void)fclose(f);
  assert_int_equal(lines, ROW_COUNT + nothing + held);
}

/* ---- the same reason from all of them ---- */

static bool has_callback_run(void *data)
{
  return atomic_load(&((struct trial *)data)->callbacks) > 0;
}

static void *try_row(void *data)
{
  struct trial *t = data;
  dibs_client *c = NULL;
  dibs_status status = dibs_open(t->url, t->options, &c);

  if (status != DIBS_OK) {
    live_fault("%s: dibs_open(): %s", t->row->function, dibs_status_name(status));
    return NULL;
  }
  status = t->row->call(c, t);           /* its callback may have written to `t` already */
  if (!t->row->has_callback || status != DIBS_OK) {
    t->status = status;
    dibs_last_error(c, &t->error);
  } else if (!live_until(LIVE_LONG_MS, has_callback_run, t)) {
    live_fault("%s: its callback did not run", t->row->function);
  }
  c = dibs_close(c);
  return NULL;
}

static void compare(const struct trial *first, const struct trial *t, dibs_status wanted,
                    const char *word)
{
  if (t->status == wanted && t->error.status == wanted && strstr(t->error.text, word) != NULL &&
      strcmp(t->error.text, first->error.text) == 0 &&
      strcmp(t->error.node, first->error.node) == 0)
    return;
  live_fault("%s: %s, \"%s\" of %s at \"%s\"; %s: \"%s\" at \"%s\"; wanted %s with \"%s\"",
             t->row->function, dibs_status_name(t->status), t->error.text,
             dibs_status_name(t->error.status), t->error.node, first->row->function,
             first->error.text, first->error.node, dibs_status_name(wanted), word);
}

static void expect_of_all(const char *url, const dibs_options *options, dibs_status wanted,
                          const char *word)
{
  static struct trial trials[ROW_COUNT];
  pthread_t threads[ROW_COUNT];
  int faults = live_faults();

  for (size_t i = 0; i < ROW_COUNT; i++) {
    trials[i] = (struct trial){ .row = &rows[i], .url = url, .options = options,
                                .barrier.size = sizeof(dibs_barrier_info),
                                .rate = { sizeof(dibs_rate), 1, 1000, 0, DIBS_RATE_OVERALL } };
  }
  for (size_t first = 0; first < ROW_COUNT; first += AT_ONCE) {
    for (size_t i = first; i < ROW_COUNT && i < first + AT_ONCE; i++)
      assert_int_equal(pthread_create(&threads[i], NULL, try_row, &trials[i]), 0);
    for (size_t i = first; i < ROW_COUNT && i < first + AT_ONCE; i++)
      assert_int_equal(pthread_join(threads[i], NULL), 0);
  }
  for (size_t i = 0; i < ROW_COUNT; i++)
    compare(&trials[0], &trials[i], wanted, word);
  assert_int_equal(live_faults() - faults, 0);
}

static void a_refused_connection_has_one_reason(void **state)
{
  struct test_server *s = test_server_start();
  dibs_options o = live_options();

  (void)state;
  test_server_kill9(s);
  expect_of_all(test_server_tcp_url(s), &o, DIBS_ERR_UNREACHABLE, "refused");
  s = test_server_stop(s);
}

static void a_wrong_password_has_one_reason(void **state)
{
  const struct test_server_options with = { .password = "right" };
  struct test_server *s = test_server_start_with(&with);
  dibs_options o = live_options();

  (void)state;
  o.connect_timeout_ms = o.command_timeout_ms = LIVE_LONG_MS;
  o.password = "wrong";
  expect_of_all(test_server_tcp_url(s), &o, DIBS_ERR_AUTH, "WRONGPASS");
  s = test_server_stop(s);
}

static void a_database_that_is_not_there_has_the_words_of_the_server(void **state)
{
  dibs_options o = live_options();

  (void)state;
  o.connect_timeout_ms = o.command_timeout_ms = LIVE_LONG_MS;
  o.database = 99;
  expect_of_all(test_server_tcp_url(live_server), &o, DIBS_ERR_CONFIG, "DB index");
}

/* It waits for the end of the first line of the handshake. */
static void tls_to_a_plain_port_has_one_reason(void **state)
{
  dibs_options o = live_options();
  char url[64];

  (void)state;
  (void)snprintf(url, sizeof(url), "rediss://127.0.0.1:%d", test_server_port(live_server));
  o.connect_timeout_ms = 3000;
  expect_of_all(url, &o, DIBS_ERR_UNREACHABLE, "redis://");
}

/* A token and a lease that once were. */
static int setup(void **state)
{
  dibs_inspection *seen = NULL;
  dibs_hold *hold;
  dibs_client *c;

  (void)live_server_setup(state);
  c = live_open(live_url());
  hold = live_lock(c, "r", 30000);
  live_expect(c, dibs_hold_token(hold, token, sizeof(token)), DIBS_OK);
  live_expect(c, dibs_inspect(c, "r", &seen), DIBS_OK);
  (void)snprintf(lease, sizeof(lease), "%s", seen->lease);
  seen = dibs_inspection_free(seen);
  live_expect(c, dibs_release(hold), DIBS_OK);
  c = dibs_close(c);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_exported_function_is_in_one_list),
    cmocka_unit_test(a_refused_connection_has_one_reason),
    cmocka_unit_test(a_wrong_password_has_one_reason),
    cmocka_unit_test(a_database_that_is_not_there_has_the_words_of_the_server),
    cmocka_unit_test(tls_to_a_plain_port_has_one_reason),
  };

  return cmocka_run_group_tests(tests, setup, live_server_teardown);
}

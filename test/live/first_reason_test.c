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

#include "every_call.h"

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
  int faults = live_faults();

  for (size_t i = 0; i < ROW_COUNT; i++)
    trials[i] = trial_of(i, url, options);
  run_all_rows(trials, NULL, try_row);
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

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_exported_function_is_in_one_list),
    cmocka_unit_test(a_refused_connection_has_one_reason),
    cmocka_unit_test(a_wrong_password_has_one_reason),
    cmocka_unit_test(a_database_that_is_not_there_has_the_words_of_the_server),
    cmocka_unit_test(tls_to_a_plain_port_has_one_reason),
  };

  return cmocka_run_group_tests(tests, every_call_setup, live_server_teardown);
}

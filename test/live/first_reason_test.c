/* SPDX-License-Identifier: MIT */
/* test/live/first_reason_test.c - every exported call that asks a server tells the same status
 * and the same first reason when the server cannot be used. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "every_call.h"
#include "other_calls.h"

#define NAME(function, call) #function,
static const char *const ask_no_server[] = { CALLS_OF_HANDLES(NAME) CALLS_WITHOUT_A_SERVER(NAME) };

static int count_of(const char *name)
{
  int count = 0;

  for (size_t i = 0; i < sizeof(ask_no_server) / sizeof(ask_no_server[0]); i++)
    count += strcmp(name, ask_no_server[i]) == 0;
  return count;
}

static bool is_row(const char *name)
{
  for (size_t i = 0; i < ROW_COUNT; i++)
    if (strcmp(name, rows[i].function) == 0)
      return true;
  return false;
}

/* Others are dibs_acquire() of one kind. */
static size_t exported_rows(void)
{
  size_t count = 0;

  for (size_t i = 0; i < ROW_COUNT; i++)
    count += strncmp(rows[i].function, "dibs_", 5) == 0;
  return count;
}

TEST(every_exported_function_is_in_one_list)
{
  const size_t others = sizeof(ask_no_server) / sizeof(ask_no_server[0]);
  static const char *const libraries[] = { SYMBOLS, SYMBOLS_OF_DATA };
  size_t lines = 0;
  char name[128];

  for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
    FILE *f = fopen(libraries[i], "r");

    assert_non_null(f);
    while (fscanf(f, "%127s", name) == 1) {
      int lists = is_row(name) + count_of(name);

      if (lists != 1)
        fail_msg("%s is in %d of the lists: give it a row in every_call.h, or in other_calls.h if "
                 "it asks no server", name, lists);
      lines++;
    }
    (void)fclose(f);
  }
  assert_int_equal(lines, exported_rows() + others);
}

/* ---- the same reason from all of them ---- */

static void *try_row(void *data)
{
  struct trial *t = data;
  dibs_client *c = NULL;
  dibs_status status = dibs_open(t->url, t->options, &c, NULL);

  if (status != DIBS_OK) {
    live_fault("%s: dibs_open(): %s", t->row->function, dibs_status_name(status));
    return NULL;
  }
  status = t->row->call(c, t);           /* its callback may have written to `t` already */
  if (!t->row->has_callback || status != DIBS_OK) {
    t->status = status;
    (void)dibs_client_error(c, 0, &t->error);
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

TEST(a_refused_connection_has_one_reason)
{
  struct test_server *s = test_server_start();
  dibs_options o = live_options();

  test_server_kill9(s);
  expect_of_all(test_server_tcp_url(s), &o, DIBS_ERR_UNREACHABLE, "refused");
  s = test_server_stop(s);
}

TEST(a_wrong_password_has_one_reason)
{
  const struct test_server_options with = { .password = "right" };
  struct test_server *s = test_server_start_with(&with);
  dibs_options o = live_options();

  o.connect_timeout_ms = o.command_timeout_ms = LIVE_LONG_MS;
  o.password = "wrong";
  expect_of_all(test_server_tcp_url(s), &o, DIBS_ERR_AUTH, "WRONGPASS");
  s = test_server_stop(s);
}

TEST(a_database_that_is_not_there_has_the_words_of_the_server)
{
  dibs_options o = live_options();

  o.connect_timeout_ms = o.command_timeout_ms = LIVE_LONG_MS;
  o.database = 99;
  expect_of_all(test_server_tcp_url(live_server), &o, DIBS_ERR_CONFIG, "DB index");
}

/* It waits for the end of the first line of the handshake. */
TEST(tls_to_a_plain_port_has_one_reason)
{
  dibs_options o = live_options();
  char url[64];

  (void)snprintf(url, sizeof(url), "rediss://127.0.0.1:%d", test_server_port(live_server));
  o.connect_timeout_ms = 3000;
  expect_of_all(url, &o, DIBS_ERR_UNREACHABLE, "redis://");
}

RUN_TESTS(every_call_setup, live_server_teardown)

/* SPDX-License-Identifier: MIT */
/* test/live/short_time_test.c - a call whose time is over before its server has replied says how
 * long that was, and that it may be too short: nothing else is known. The server is stopped, which
 * is the same as far away. */
#include "tests.h"

#include <stdint.h>
#include <string.h>

#include <stdlib.h>
#include <unistd.h>

#include "deployment.h"
#include "live.h"

enum { SHORT_MS = 50 };

static dibs_client *client;
static dibs_hold *hold;

static dibs_status lock(void)
{
  dibs_lock_options o = live_lock_options(5000, SHORT_MS);

  return dibs_lock(client, "short", &o, &hold);
}

static dibs_status try_lock(void)
{
  return dibs_try_lock(client, "short", NULL, &hold);
}

static dibs_status await(void)
{
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;

  o.wait_ms = SHORT_MS;
  return dibs_latch_await(client, "short", &o);
}

static dibs_status arm(void)
{
  return dibs_latch_set(client, "short", 1);
}

static dibs_status inspect(void)
{
  dibs_inspection *seen = NULL;
  dibs_status status = dibs_inspect(client, dibs_text("short"), &seen);

  dibs_inspection_free(seen);
  return status;
}

static dibs_status ping(void)
{
  return dibs_ping(client, SHORT_MS, NULL);
}

static const struct {
  const char *function;
  dibs_status (*run)(void);
  dibs_status without_a_connection, without_a_reply;
} rows[] = {
  { "dibs_lock", lock, DIBS_ERR_UNREACHABLE, DIBS_UNKNOWN },
  { "dibs_try_lock", try_lock, DIBS_ERR_UNREACHABLE, DIBS_UNKNOWN },
  { "dibs_latch_await", await, DIBS_ERR_UNREACHABLE, DIBS_ERR_UNREACHABLE },
  { "dibs_latch_set", arm, DIBS_ERR_UNREACHABLE, DIBS_UNKNOWN },
  { "dibs_inspect", inspect, DIBS_ERR_UNREACHABLE, DIBS_ERR_UNREACHABLE },
  { "dibs_ping", ping, DIBS_ERR_UNREACHABLE, DIBS_ERR_UNREACHABLE },
};

static dibs_client *open_patient(const char *url, dibs_degrade degrade)
{
  dibs_options o = live_options();

  o.connect_timeout_ms = o.command_timeout_ms = LIVE_LONG_MS;
  o.degrade = degrade;
  return live_open_with(url, &o);
}

static void expect(size_t row, dibs_status wanted, const char *words)
{
  dibs_status status = rows[row].run();
  dibs_error error = DIBS_ERROR_INIT;

  (void)dibs_client_error(client, 0, &error);
  if (status != wanted || strstr(error.text, words) == NULL ||
      strstr(error.text, "which may be too short for this server") == NULL)
    live_fault("%s: %s, %s", rows[row].function, dibs_status_name(status), error.text);
}

/* `connects`: before the server is stopped. */
static void expect_all(bool connects)
{
  int faults = live_faults();

  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    client = open_patient(live_url(), DIBS_DEGRADE_FAIL);
    if (connects)
      live_expect(client, dibs_ping(client, LIVE_LONG_MS, NULL), DIBS_OK);
    live_expect_ok(dibs_client_set_call_timeout(client, SHORT_MS));
    test_server_pause(live_server);
    if (connects)
      expect(i, rows[i].without_a_reply, "no reply within ");
    else
      expect(i, rows[i].without_a_connection, "no connection within ");
    test_server_resume(live_server);
    client = dibs_close(client);
  }
  assert_int_equal(live_faults() - faults, 0);
}

TEST(without_a_connection_the_time_is_named)
{
  expect_all(false);
}

TEST(without_a_reply_the_time_is_named)
{
  expect_all(true);
}

TEST(a_reason_that_is_known_comes_first)
{
  dibs_error error = DIBS_ERROR_INIT;

  client = open_patient("unix:///nonexistent/dibs.sock", DIBS_DEGRADE_FAIL);
  assert_int_equal(lock(), DIBS_ERR_UNREACHABLE);
  (void)dibs_client_error(client, 0, &error);
  assert_non_null(strstr(error.text, "nonexistent"));
  assert_null(strstr(error.text, "too short"));
  client = dibs_close(client);
}

static bool has_words(const char *words)
{
  dibs_error error = DIBS_ERROR_INIT;

  (void)dibs_client_error(client, 0, &error);
  return strstr(error.text, words) != NULL;
}

/* Of a quorum: if with the silent ones there may be a majority. */
TEST(the_question_to_a_quorum_too)
{
  struct test_quorum *servers = test_quorum_start(3, NULL, NULL);

  client = open_patient(test_quorum_url(servers), DIBS_DEGRADE_FAIL);
  live_expect(client, dibs_ping(client, LIVE_LONG_MS, NULL), DIBS_OK);
  assert_int_equal(inspect(), DIBS_OK);
  live_expect_ok(dibs_client_set_call_timeout(client, SHORT_MS));
  for (int i = 0; i < 2; i++)
    test_server_pause(test_quorum_server(servers, i));
  assert_int_equal(inspect(), DIBS_ERR_UNREACHABLE);
  assert_true(has_words(" of 3 servers did not answer"));
  assert_true(has_words("the time of the call may be too short"));
  for (int i = 0; i < 2; i++) {
    test_server_resume(test_quorum_server(servers, i));
    test_server_kill9(test_quorum_server(servers, i));
  }
  live_expect_ok(dibs_client_set_call_timeout(client, 2000));     /* until their end is noticed */
  assert_int_equal(inspect(), DIBS_ERR_UNREACHABLE);
  assert_true(has_words(" of 3 servers did not answer"));
  assert_false(has_words("too short"));
  client = dibs_close(client);
  servers = test_quorum_stop(servers);
}

/* The server may be well, and others may have the lock there. */
TEST(a_short_time_is_no_outage_for_locks_of_this_machine)
{
  client = open_patient(live_url(), DIBS_DEGRADE_LOCAL);
  live_expect_ok(dibs_client_set_call_timeout(client, SHORT_MS));
  test_server_pause(live_server);
  live_refused(lock(), DIBS_ERR_UNREACHABLE);
  live_refused(try_lock(), DIBS_ERR_UNREACHABLE);
  test_server_resume(live_server);
  client = dibs_close(client);
}

static char directory[] = "/tmp/dibs-short-XXXXXX";

/* Locks of a machine are files. */
static int setup(void **state)
{
  if (mkdtemp(directory) == NULL || setenv("DIBS_LOCAL_DIR", directory, 1) != 0)
    return 1;
  return live_server_setup(state);
}

static int teardown(void **state)
{
  test_server_resume(live_server);
  client = dibs_close(client);
  (void)rmdir(directory);
  return live_server_teardown(state);
}

int main(void)
{
  if (live_is_beyond(LIVE_ONE))
    return 0;

  return tests_run(setup, teardown, NULL, NULL);
}

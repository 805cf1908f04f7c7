/* SPDX-License-Identifier: MIT */
/* test/live/bad_input_walk_test.c - every function that asks a server, with each argument wrong
 * that several of them have: no client, no name, options of unknown size, unknown bits, a time
 * before now. All are refused before anything is sent, in words that name the argument. The rows
 * are those of every_call.h: a function without one fails first_reason_test. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "every_call.h"

#define UNKNOWN_BIT 0x80000000u

static dibs_client *client;

static int setup(void **state)
{
  (void)every_call_setup(state);
  client = live_open(live_url());
  return 0;
}

static int teardown(void **state)
{
  client = dibs_close(client);
  return live_server_teardown(state);
}

/* Rows of several names have their own. */
static bool takes(const struct row *row, const char *argument)
{
  return strstr(row->arguments, argument) != NULL &&
         (strcmp(argument, "t->name") != 0 || strstr(row->function, "names") == NULL);
}

/* One wrong argument of all functions that take it. */
struct wrong {
  const char *what;                /* as in a row; "": of each row */
  const char *word;                /* in the message */
  const char *name;
  const dibs_lock_options *lock_options;
  const dibs_wait_options *wait_options;
  dibs_client *client;
};

static void refused(const struct row *row, const struct wrong *w)
{
  struct trial t = trial_of((size_t)(row - rows), live_url(), NULL);
  dibs_error error = DIBS_ERROR_INIT;
  dibs_status status;

  t.name = w->name;
  t.lock_options = w->lock_options;
  t.wait_options = w->wait_options;
  status = row->call(w->client, &t);
  assert_int_equal(dibs_client_error(NULL, 0, &error), DIBS_OK);
  if (status != DIBS_ERR_ARGUMENT || error.status != status ||
      strstr(error.text, w->word) == NULL)
    live_fault("%s(%s): %s, \"%s\"; wanted DIBS_ERR_ARGUMENT with \"%s\"", row->function,
               row->arguments, dibs_status_name(status), error.text, w->word);
  if (t.hold != NULL || t.value != NULL || t.inspection != NULL || t.leader != NULL ||
      t.fleet != NULL || t.history != NULL || atomic_load(&t.callbacks) != 0)
    live_fault("%s: refused, and an output or a callback", row->function);
}

static void all_refuse(struct wrong w)
{
  int count = 0;

  for (size_t i = 0; i < ROW_COUNT; i++)
    if (takes(&rows[i], w.what)) {
      refused(&rows[i], &w);
      count++;
    }
  assert_true(count > 2);
  assert_int_equal(live_faults(), 0);
}

TEST(no_client_is_refused)
{
  all_refuse((struct wrong){ .what = "", .word = "", .name = "r" });
}

TEST(no_name_is_refused)
{
  all_refuse((struct wrong){ .what = "t->name", .word = "", .client = client });
  all_refuse((struct wrong){ .what = "t->name", .word = "", .name = "", .client = client });
}

TEST(options_of_a_lock_are_refused_by_name)
{
  dibs_lock_options small = DIBS_LOCK_OPTIONS_INIT, bits = DIBS_LOCK_OPTIONS_INIT;
  dibs_lock_options short_ttl = DIBS_LOCK_OPTIONS_INIT;

  small.size = sizeof(size_t) - 1;
  bits.flags = UNKNOWN_BIT;
  short_ttl.ttl_ms = 99;
  all_refuse((struct wrong){ .what = "t->lock_options", .word = "size", .name = "r",
                             .lock_options = &small, .client = client });
  all_refuse((struct wrong){ .what = "t->lock_options", .word = "flags", .name = "r",
                             .lock_options = &bits, .client = client });
  all_refuse((struct wrong){ .what = "t->lock_options", .word = "ttl_ms", .name = "r",
                             .lock_options = &short_ttl, .client = client });
}

TEST(options_of_a_wait_are_refused_by_name)
{
  dibs_wait_options small = DIBS_WAIT_OPTIONS_INIT, bits = DIBS_WAIT_OPTIONS_INIT;
  dibs_wait_options before_now = DIBS_WAIT_OPTIONS_INIT;

  small.size = sizeof(size_t) - 1;
  bits.flags = UNKNOWN_BIT;
  before_now.wait_ms = -1;
  all_refuse((struct wrong){ .what = "t->wait_options", .word = "size", .name = "r",
                             .wait_options = &small, .client = client });
  all_refuse((struct wrong){ .what = "t->wait_options", .word = "flags", .name = "r",
                             .wait_options = &bits, .client = client });
  all_refuse((struct wrong){ .what = "t->wait_options", .word = "wait_ms", .name = "r",
                             .wait_options = &before_now, .client = client });
}

RUN_TESTS(setup, teardown)

/* SPDX-License-Identifier: MIT */
/* test/live/outcomes/situations.c - what the tables of outcomes share: clients, and situations. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "outcomes.h"

dibs_client *client, *other, *quick;
dibs_hold *hold;
char token[DIBS_TOKEN_SIZE];
const char *name;

/* ---- the tables ---- */

void outcome_expect(const char *function, const char *in, dibs_status got, dibs_status wanted)
{
  if (got != wanted)
    live_fault("%s, %s: %s instead of %s", function, in, dibs_status_name(got),
               dibs_status_name(wanted));
}

void outcomes_walk(const struct outcome_table *table)
{
  for (const struct outcome_row *r = table->rows; r < table->rows + table->count; r++) {
    name = r->situation;
    outcome_expect(r->function, r->situation, r->run(), r->outcome);
  }
}

void outcomes_walk_way(const char *function, unsigned traits, const struct way_row *rows,
                       size_t count)
{
  char named[96];

  for (const struct way_row *r = rows; r < rows + count; r++) {
    if (r->traits != 0 && (r->traits & traits) == 0)
      continue;
    (void)snprintf(named, sizeof(named), "%s-%s", function, r->situation);
    name = named;
    outcome_expect(function, r->situation, r->run(), r->outcome);
  }
}

/* ---- clients ---- */

dibs_options patient_options(void)
{
  dibs_options o = live_options();

  o.connect_timeout_ms = o.command_timeout_ms = LIVE_LONG_MS;
  return o;
}

void situations_begin(void)
{
  dibs_options patient = patient_options();

  client = live_open_with(live_url(), &patient);
  other = live_open_with(live_url(), &patient);
  quick = live_open(live_url());
}

void situations_end(void)
{
  test_server_resume(live_server);
  client = dibs_close(client);
  other = dibs_close(other);
  quick = dibs_close(quick);
}

dibs_client *nowhere(void)
{
  dibs_options o = live_options();

  o.connect_timeout_ms = SOON_MS;
  return live_open_with("unix:///nonexistent/dibs.sock", &o);
}

/* ---- leases ---- */

dibs_hold *held(dibs_client *c)
{
  return live_lock(c, name, TTL_MS);
}

void token_of(dibs_hold *of)
{
  live_expect_ok(dibs_hold_token(of, token, sizeof(token)));
}

void lease_of(char ret_lease[96])
{
  dibs_inspection *seen = NULL;

  live_expect_ok(dibs_inspect(other, dibs_text(name), &seen));
  memcpy(ret_lease, seen->lease, sizeof(seen->lease));
  seen = dibs_inspection_free(seen);
}

void deleted(void)
{
  (void)test_server_command(live_server, "DEL %s", live_key(name));
}

dibs_hold *fixed_and_over(void)
{
  struct live_loss loss = { .count = 0 };
  dibs_lock_options o = live_lock_options(SOON_MS, LIVE_LONG_MS);
  dibs_hold *over;

  o.flags = DIBS_LOCK_FIXED;
  live_report_loss(&o, &loss);
  over = live_lock_with(client, name, &o);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  return over;
}

void wait_for_end(void)
{
  dibs_inspection *seen = NULL;
  bool is_held;

  do {
    live_expect_ok(dibs_inspect(other, dibs_text(name), &seen));
    is_held = seen->is_held;
    seen = dibs_inspection_free(seen);
  } while (is_held);
}

/* ---- where a call is made ---- */

dibs_status in_a_child(situation *run)
{
  int status = 0;
  pid_t child = fork();

  assert_true(child >= 0);
  if (child == 0)
    _exit((int)run() + 100);
  assert_int_equal(promise_waitpid(child, &status, 0), child);
  return (dibs_status)(WEXITSTATUS(status) - 100);
}

static void *closes(void *data)
{
  *(dibs_client **)data = dibs_close(*(dibs_client **)data);
  return NULL;
}

static bool is_closing(void *data)
{
  return dibs_client_set_credentials(data, NULL, NULL) == DIBS_ERR_CLOSED;
}

dibs_status while_closing(dibs_status (*run)(dibs_client *c))
{
  dibs_options o = patient_options();
  dibs_client *closed;
  dibs_status status;
  pthread_t thread;

  o.close_timeout_ms = LIVE_LONG_MS;
  closed = live_open_with(live_url(), &o);
  hold = live_lock(closed, "held while closing", TTL_MS);
  test_server_pause(live_server);
  assert_int_equal(pthread_create(&thread, NULL, closes, &closed), 0);
  assert_true(live_until(LIVE_LONG_MS, is_closing, closed));
  status = run(closed);
  test_server_resume(live_server);
  assert_int_equal(pthread_join(thread, NULL), 0);
  live_expect_free(other, "held while closing", LIVE_LONG_MS);
  return status;
}

struct inside { situation *run; _Atomic int status, has_run; };

static void on_lock(const dibs_error *error, dibs_hold *granted, void *data)
{
  struct inside *i = data;

  (void)error;
  atomic_store(&i->status, i->run());
  (void)dibs_release(granted);
  atomic_store(&i->has_run, 1);
}

static bool has_run(void *data)
{
  return atomic_load(&((struct inside *)data)->has_run) != 0;
}

dibs_status in_a_callback(situation *run)
{
  struct inside i = { .run = run };
  char outer[96];

  (void)snprintf(outer, sizeof(outer), "%s outer", name);
  live_expect_ok(dibs_lock_async(client, outer, NULL, on_lock, &i, NULL));
  assert_true(live_until(LIVE_LONG_MS, has_run, &i));
  return (dibs_status)atomic_load(&i.status);
}

dibs_status without_descriptors(situation *run)
{
  struct rlimit limit, none = { 0 };
  dibs_status status;

  assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
  none.rlim_max = limit.rlim_max;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
  status = run();
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
  return status;
}

dibs_status without_a_reply(situation *run)
{
  dibs_client *patient = other;
  dibs_status status;

  other = quick;
  live_expect_ok(dibs_ping(quick, LIVE_LONG_MS, NULL));        /* it is connected */
  test_server_pause(live_server);
  status = run();
  test_server_resume(live_server);
  other = patient;
  return status;
}

dibs_status at_no_server(situation *run)
{
  dibs_client *patient = other;
  dibs_status status;

  other = nowhere();
  status = run();
  other = dibs_close(other);
  other = patient;
  return status;
}

dibs_status in_plain(situation *run)
{
  dibs_options o = patient_options();
  dibs_client *native = other;
  dibs_status status;

  o.dialect = DIBS_DIALECT_PLAIN;
  other = live_open_with(live_url(), &o);
  status = run();
  other = dibs_close(other);
  other = native;
  return status;
}

dibs_status of_a_list(situation *run)
{
  dibs_status status;

  (void)test_server_command(live_server, "RPUSH %s x", name);
  status = run();
  (void)test_server_command(live_server, "DEL %s", name);
  return status;
}

dibs_status with_an_era_guard(situation *run)
{
  dibs_options o = patient_options();
  dibs_client *former[] = { client, other };
  dibs_status status;

  o.prefix = "guarded";
  o.quarantine_ms = 1;
  client = live_open_with(live_url(), &o);
  other = live_open_with(live_url(), &o);
  status = run();
  client = dibs_close(client);
  other = dibs_close(other);
  client = former[0];
  other = former[1];
  return status;
}

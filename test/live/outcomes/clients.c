/* SPDX-License-Identifier: MIT */
/* test/live/outcomes/clients.c - calls that do not wait for a server: names in memory,
 * asynchronous forms, event loops. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>

#include "outcomes.h"

/* `client` is `c` while `run` runs. */
static dibs_status as_client(dibs_client *c, situation *run)
{
  dibs_client *former = client;
  dibs_status status;

  client = c;
  status = run();
  client = former;
  return status;
}

static situation *closing_runs;

static dibs_status run_closing(dibs_client *c)
{
  return as_client(c, closing_runs);
}

static dibs_status closing(situation *run)
{
  closing_runs = run;
  return while_closing(run_closing);
}

static dibs_status closed(situation *run)
{
  dibs_client *c = live_open(live_url()), *before = c;

  c = dibs_close(c);
  return as_client(before, run);
}

static dibs_status of_null(situation *run)
{
  return as_client(NULL, run);
}

/* ---- names in memory ---- */

static dibs_status list(void)
{
  dibs_names *names = NULL;
  dibs_status status = dibs_names_list(client, &names);

  names = dibs_names_free(names);
  return status;
}

static dibs_status expire(void)
{
  return dibs_names_expire(client, 0, NULL);
}

static dibs_status list_without_room(void) { return dibs_names_list(client, NULL); }
static dibs_status list_in_a_child(void) { return in_a_child(list); }
static dibs_status list_while_closing(void) { return closing(list); }
static dibs_status expire_before_now(void) { return dibs_names_expire(client, -1, NULL); }
static dibs_status expire_in_a_child(void) { return in_a_child(expire); }
static dibs_status expire_while_closing(void) { return closing(expire); }

/* ---- asynchronous forms ---- */

static _Atomic int ended;

static void on_lock(const dibs_error *error, dibs_hold *granted, void *data)
{
  (void)data;
  if (error->status == DIBS_OK)
    (void)dibs_release(granted);
  atomic_store(&ended, 1);
}

static bool has_ended(void *data)
{
  (void)data;
  return atomic_load(&ended) != 0;
}

static dibs_request *request;

static dibs_status ask(void)
{
  dibs_status status;

  atomic_store(&ended, 0);
  status = dibs_lock_async(client, name, NULL, on_lock, NULL, &request);
  if (status == DIBS_OK)
    assert_true(live_until(LIVE_LONG_MS, has_ended, NULL));
  return status;
}

static dibs_status ask_without_a_callback(void)
{
  return dibs_lock_async(client, name, NULL, NULL, NULL, NULL);
}

static dibs_status ask_for_a_spin_lock(void)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);

  o.flags = DIBS_LOCK_SPIN;
  return dibs_lock_async(client, name, &o, on_lock, NULL, NULL);
}

static dibs_status ask_beside_the_only_name(void)
{
  dibs_options o = patient_options();
  dibs_client *c;
  dibs_hold *only;
  dibs_status status;

  o.names_max = 1;
  c = live_open_with(live_url(), &o);
  only = live_lock(c, "the only one", TTL_MS);
  status = as_client(c, ask);
  live_expect(c, dibs_release(only), DIBS_OK);
  c = dibs_close(c);
  return status;
}

static dibs_status ask_in_a_child(void) { return in_a_child(ask); }
static dibs_status ask_while_closing(void) { return closing(ask); }

static dibs_status cancel_of_a_waiting_one(void)
{
  dibs_hold *theirs = held(other);
  dibs_status status;

  atomic_store(&ended, 0);
  live_expect_ok(dibs_lock_async(client, name, NULL, on_lock, NULL, &request));
  status = dibs_request_cancel(request);
  assert_true(live_until(LIVE_LONG_MS, has_ended, NULL));
  assert_int_equal(dibs_release(theirs), DIBS_OK);
  return status;
}

static dibs_status cancel_of_one_that_is_over(void)
{
  live_expect_ok(ask());
  return dibs_request_cancel(request);
}

static dibs_status let_go(void)
{
  return dibs_release_async(hold, NULL, NULL);
}

static dibs_status let_go_of_a_hold(void)
{
  hold = held(client);
  return let_go();
}

static dibs_status let_go_twice(void)
{
  live_expect_ok(let_go_of_a_hold());
  return let_go();
}

static dibs_status let_go_in_a_child(void)
{
  dibs_status status;

  hold = held(client);
  status = in_a_child(let_go);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  return status;
}

static dibs_status let_go_by(dibs_client *c)
{
  (void)c;
  return let_go();
}

static dibs_status let_go_while_closing(void) { return while_closing(let_go_by); }

/* ---- event loops ---- */

static dibs_status process(void)
{
  return dibs_process(client, NULL);
}

/* What `run` returns of a client in a program's own loop. */
static dibs_status in_a_loop(situation *run)
{
  dibs_options o = patient_options();
  dibs_client *c;
  dibs_status status;

  o.flags = DIBS_CLIENT_NO_THREAD;
  c = live_open_with(live_url(), &o);
  status = as_client(c, run);
  c = dibs_close(c);
  return status;
}

static dibs_status forked_process(void) { return in_a_child(process); }
static dibs_status process_in_a_loop(void) { return in_a_loop(process); }
static dibs_status process_in_a_child(void) { return in_a_loop(forked_process); }
static dibs_status process_while_closing(void) { return closing(process); }
static dibs_status process_of_a_closed_one(void) { return closed(process); }
static dibs_status process_of_null(void) { return of_null(process); }
static dibs_status process_in_a_callback(void) { return in_a_callback(process); }

/* ---- the table ---- */

#define ROWS(X, NOT_HERE) \
  X(dibs_names_list, DIBS_OK, list) \
  X(dibs_names_list, DIBS_ERR_ARGUMENT, list_without_room) \
  NOT_HERE(dibs_names_list, DIBS_ERR_NO_MEMORY, live/refused_memory) \
  X(dibs_names_list, DIBS_ERR_CLOSED, list_while_closing) \
  X(dibs_names_list, DIBS_ERR_FORKED, list_in_a_child) \
  X(dibs_names_expire, DIBS_OK, expire) \
  X(dibs_names_expire, DIBS_ERR_ARGUMENT, expire_before_now) \
  X(dibs_names_expire, DIBS_ERR_CLOSED, expire_while_closing) \
  X(dibs_names_expire, DIBS_ERR_FORKED, expire_in_a_child) \
  X(dibs_lock_async, DIBS_OK, ask) \
  X(dibs_lock_async, DIBS_ERR_ARGUMENT, ask_without_a_callback) \
  X(dibs_lock_async, DIBS_ERR_UNSUPPORTED, ask_for_a_spin_lock) \
  X(dibs_lock_async, DIBS_ERR_LIMIT, ask_beside_the_only_name) \
  NOT_HERE(dibs_lock_async, DIBS_ERR_NO_MEMORY, live/refused_memory) \
  X(dibs_lock_async, DIBS_ERR_CLOSED, ask_while_closing) \
  X(dibs_lock_async, DIBS_ERR_FORKED, ask_in_a_child) \
  X(dibs_request_cancel, DIBS_OK, cancel_of_a_waiting_one) \
  X(dibs_request_cancel, DIBS_ERR_STALE, cancel_of_one_that_is_over) \
  X(dibs_release_async, DIBS_OK, let_go_of_a_hold) \
  X(dibs_release_async, DIBS_ERR_STALE, let_go_twice) \
  X(dibs_release_async, DIBS_ERR_FORKED, let_go_in_a_child) \
  X(dibs_release_async, DIBS_ERR_CLOSED, let_go_while_closing) \
  X(dibs_process, DIBS_OK, process_in_a_loop) \
  X(dibs_process, DIBS_ERR_UNSUPPORTED, process) \
  X(dibs_process, DIBS_ERR_CLOSED, process_while_closing) \
  X(dibs_process, DIBS_ERR_FORKED, process_in_a_child) \
  X(dibs_process, DIBS_ERR_STALE, process_of_a_closed_one) \
  X(dibs_process, DIBS_ERR_ARGUMENT, process_of_null) \
  X(dibs_process, DIBS_ERR_WOULD_BLOCK, process_in_a_callback)

OUTCOMES(outcomes_of_clients);

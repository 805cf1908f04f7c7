/* SPDX-License-Identifier: MIT */
/* test/live/outcomes/holds.c - dibs_release(), and what a hold tells. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>

#include "outcomes.h"

/* ---- dibs_release ---- */

static dibs_status release(void)
{
  return dibs_release(hold);
}

static dibs_status release_of_a_hold(void)
{
  hold = held(client);
  return release();
}

static dibs_status release_of_a_deleted_lease(void)
{
  hold = held(client);
  deleted();
  return release();
}

static dibs_status release_of_a_lease_over(void)
{
  hold = fixed_and_over();
  return release();
}

/* No thread of the library runs: the release itself finds that it is over, and the lease stands on
 * the server. */
static dibs_status release_of_an_end_not_noticed(void)
{
  dibs_options o = patient_options();
  dibs_client *idle;
  dibs_status status;

  o.flags = DIBS_CLIENT_NO_THREAD;
  idle = live_open_with(live_url(), &o);
  hold = live_lock(idle, name, SOON_MS);
  wait_for_end();
  status = release();
  idle = dibs_close(idle);
  return status;
}

static dibs_status release_of_a_taken_name(void)
{
  dibs_hold *theirs;
  dibs_status status;

  hold = held(client);
  deleted();
  theirs = held(other);
  status = release();
  assert_int_equal(dibs_release(theirs), DIBS_OK);
  return status;
}

static dibs_status release_without_a_reply(void)
{
  dibs_status status;

  hold = held(quick);
  test_server_pause(live_server);
  status = release();
  test_server_resume(live_server);
  live_expect_free(other, name, LIVE_LONG_MS);
  return status;
}

static dibs_status second_release(void)
{
  (void)release_of_a_hold();
  return release();
}

static dibs_status release_of_nothing(void)
{
  return dibs_release(NULL);
}

static dibs_status release_in_a_child(void)
{
  dibs_status status;

  hold = held(client);
  status = in_a_child(release);
  assert_int_equal(release(), DIBS_OK);
  return status;
}

static dibs_status release_by(dibs_client *c)
{
  (void)c;
  return release();
}

/* The close releases it. */
static dibs_status release_while_closing(void)
{
  dibs_status status = while_closing(release_by);

  live_expect_free(other, name, LIVE_LONG_MS);
  return status;
}

/* ---- what a hold tells ---- */

static dibs_status hold_name(void)
{
  char bytes[DIBS_NAME_MAX + 1];

  return dibs_hold_name(hold, 0, bytes, sizeof(bytes), NULL);
}

static dibs_status hold_why(void)
{
  char bytes[512];

  return dibs_hold_why(hold, bytes, sizeof(bytes));
}

static dibs_status hold_token(void)
{
  return dibs_hold_token(hold, token, sizeof(token));
}

static dibs_status hold_info(void)
{
  dibs_hold_info i = DIBS_HOLD_INFO_INIT;

  return dibs_hold_get_info(hold, &i);
}

static dibs_status hold_detach(void)
{
  return live_detach(hold);
}

/* What `run` tells of a hold; released by the way where it still can be. */
static dibs_status of_a_hold(dibs_status (*run)(void))
{
  dibs_status status;

  hold = held(client);
  status = run();
  if (dibs_release(hold) == DIBS_ERR_STALE)
    deleted();
  return status;
}

static dibs_status of_a_released_hold(dibs_status (*run)(void))
{
  (void)release_of_a_hold();
  return run();
}

static dibs_status (*child_runs)(void);

static dibs_status child_run(void)
{
  return in_a_child(child_runs);
}

static dibs_status of_a_hold_in_a_child(dibs_status (*run)(void))
{
  child_runs = run;
  return of_a_hold(child_run);
}

static dibs_status no_name(void)
{
  return dibs_hold_name(hold, 1, NULL, 0, NULL);
}

static dibs_status no_room_for_why(void)
{
  return dibs_hold_why(hold, token, 0);
}

static dibs_status no_room(void)
{
  return dibs_hold_token(hold, token, 3);
}

static dibs_status no_size(void)
{
  dibs_hold_info i = { .size = 0 };

  return dibs_hold_get_info(hold, &i);
}

static dibs_status name_of_a_hold(void) { return of_a_hold(hold_name); }
static dibs_status name_that_is_not_there(void) { return of_a_hold(no_name); }
static dibs_status name_of_a_released_hold(void) { return of_a_released_hold(hold_name); }
static dibs_status name_in_a_child(void) { return of_a_hold_in_a_child(hold_name); }
static dibs_status why_of_a_hold(void) { return of_a_hold(hold_why); }
static dibs_status why_without_room(void) { return of_a_hold(no_room_for_why); }
static dibs_status why_of_a_released_hold(void) { return of_a_released_hold(hold_why); }
static dibs_status why_in_a_child(void) { return of_a_hold_in_a_child(hold_why); }
static dibs_status token_of_a_hold(void) { return of_a_hold(hold_token); }
static dibs_status token_without_room(void) { return of_a_hold(no_room); }
static dibs_status token_of_a_released_hold(void) { return of_a_released_hold(hold_token); }
static dibs_status info_of_a_hold(void) { return of_a_hold(hold_info); }
static dibs_status info_without_size(void) { return of_a_hold(no_size); }
static dibs_status info_of_a_released(void) { return of_a_released_hold(hold_info); }
static dibs_status detach_of_a_hold(void) { return of_a_hold(hold_detach); }
static dibs_status detach_of_a_released(void) { return of_a_released_hold(hold_detach); }

static dibs_status detach_of_a_lease_over(void)
{
  hold = fixed_and_over();
  return hold_detach();
}

/* Readers share a lease that is young. */
static dibs_status detach_of_a_shared_reader(void)
{
  dibs_options young = patient_options();
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_client *readers;
  dibs_hold *second;
  dibs_status status;

  young.local_handover_ms = LIVE_LONG_MS;
  readers = live_open_with(live_url(), &young);
  o.flags = DIBS_LOCK_NO_OWNER;
  live_expect_ok(dibs_acquire(readers, DIBS_READ(name), &o, &hold));
  live_expect_ok(dibs_acquire(readers, DIBS_READ(name), &o, &second));
  status = hold_detach();
  assert_int_equal(dibs_release(second), DIBS_OK);
  assert_int_equal(release(), DIBS_OK);
  readers = dibs_close(readers);
  return status;
}

/* ---- the table ---- */

#define ROWS(X, NOT_HERE) \
  X(dibs_release, DIBS_OK, release_of_a_hold) \
  X(dibs_release, DIBS_LOST, release_of_a_deleted_lease) \
  X(dibs_release, DIBS_LOST, release_of_a_lease_over) \
  X(dibs_release, DIBS_TAKEN, release_of_a_taken_name) \
  X(dibs_release, DIBS_LOST, release_of_an_end_not_noticed) \
  X(dibs_release, DIBS_UNKNOWN, release_without_a_reply) \
  X(dibs_release, DIBS_ERR_STALE, second_release) \
  X(dibs_release, DIBS_ERR_STALE, release_of_nothing) \
  X(dibs_release, DIBS_ERR_FORKED, release_in_a_child) \
  X(dibs_release, DIBS_ERR_CLOSED, release_while_closing) \
  X(dibs_hold_name, DIBS_OK, name_of_a_hold) \
  X(dibs_hold_name, DIBS_ERR_ARGUMENT, name_that_is_not_there) \
  X(dibs_hold_name, DIBS_ERR_STALE, name_of_a_released_hold) \
  X(dibs_hold_name, DIBS_ERR_FORKED, name_in_a_child) \
  X(dibs_hold_why, DIBS_OK, why_of_a_hold) \
  X(dibs_hold_why, DIBS_ERR_ARGUMENT, why_without_room) \
  X(dibs_hold_why, DIBS_ERR_STALE, why_of_a_released_hold) \
  X(dibs_hold_why, DIBS_ERR_FORKED, why_in_a_child) \
  X(dibs_hold_token, DIBS_OK, token_of_a_hold) \
  X(dibs_hold_token, DIBS_ERR_ARGUMENT, token_without_room) \
  X(dibs_hold_token, DIBS_ERR_STALE, token_of_a_released_hold) \
  NOT_HERE(dibs_hold_token, DIBS_ERR_UNSUPPORTED, live/multi_lock_slots) \
  X(dibs_hold_get_info, DIBS_OK, info_of_a_hold) \
  X(dibs_hold_get_info, DIBS_ERR_ARGUMENT, info_without_size) \
  X(dibs_hold_get_info, DIBS_ERR_STALE, info_of_a_released) \
  X(dibs_hold_detach, DIBS_OK, detach_of_a_hold) \
  X(dibs_hold_detach, DIBS_LOST, detach_of_a_lease_over) \
  X(dibs_hold_detach, DIBS_ERR_STALE, detach_of_a_released) \
  X(dibs_hold_detach, DIBS_ERR_ARGUMENT, detach_of_a_shared_reader) \
  NOT_HERE(dibs_hold_detach, DIBS_ERR_UNSUPPORTED, live/multi_lock_slots) \
  NOT_HERE(dibs_hold_detach, DIBS_ERR_NO_MEMORY, live/refused_memory)

OUTCOMES(outcomes_of_holds);

/* SPDX-License-Identifier: MIT */
/* test/live/outcomes/views.c - names on the server: inspect, list, break; cancellers. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>

#include "outcomes.h"

static dibs_status inspect(void)
{
  dibs_inspection *seen = NULL;
  dibs_status status = dibs_inspect(other, dibs_text(name), &seen);

  seen = dibs_inspection_free(seen);
  return status;
}

static dibs_status inspect_of_another_type(void)
{
  dibs_status status;

  (void)test_server_command(live_server, "RPUSH %s x", live_key(name));
  status = inspect();
  deleted();
  return status;
}

static dibs_status inspect_without_a_name(void)
{
  dibs_inspection *seen;

  return dibs_inspect(other, dibs_text(""), &seen);
}

static bool on_listed(const dibs_inspection *seen, void *data)
{
  (void)seen;
  (void)data;
  return true;
}

static dibs_status list(void)
{
  return dibs_list(other, NULL, on_listed, NULL);
}

static dibs_status list_of_all_in_a_dialect(void)
{
  dibs_options o = patient_options();
  dibs_client *java;
  dibs_status status;

  o.dialect = DIBS_DIALECT_REDISSON;
  java = live_open_with(live_url(), &o);
  status = dibs_list(java, NULL, on_listed, NULL);
  java = dibs_close(java);
  return status;
}

static char lease[96];

static dibs_status break_it(void)
{
  return dibs_break(other, dibs_text(name), lease);
}

static dibs_status break_of_a_lease(void)
{
  dibs_status status;

  hold = held(client);
  lease_of(lease);
  status = break_it();
  (void)dibs_release(hold);
  return status;
}

static dibs_status second_break(void)
{
  (void)break_of_a_lease();
  return break_it();
}

/* Another client has the name, or had it. */
static dibs_status break_of_a_followed_lease(bool gives_back)
{
  dibs_hold *theirs;
  dibs_status status;

  hold = held(client);
  lease_of(lease);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  theirs = held(other);
  if (gives_back)
    assert_int_equal(dibs_release(theirs), DIBS_OK);
  status = break_it();
  if (!gives_back)
    assert_int_equal(dibs_release(theirs), DIBS_OK);
  return status;
}

static dibs_status second_break_with_an_era_guard(void)
{
  return with_an_era_guard(second_break);
}

static dibs_status break_of_a_lease_before(void) { return break_of_a_followed_lease(true); }
static dibs_status break_of_a_taken_name(void) { return break_of_a_followed_lease(false); }

static dibs_status break_without_a_reply(void)
{
  dibs_status status;

  hold = held(client);
  lease_of(lease);
  status = without_a_reply(break_it);
  (void)dibs_release(hold);
  return status;
}

static dibs_status inspect_without_a_reply(void) { return without_a_reply(inspect); }
static dibs_status list_without_a_reply(void) { return without_a_reply(list); }

static dibs_status canceller(void)
{
  dibs_canceller *c = NULL;
  dibs_status status = dibs_canceller_new(&c);

  c = dibs_canceller_free(c);
  return status;
}

static dibs_status canceller_without_descriptors(void) { return without_descriptors(canceller); }

/* ---- the table ---- */

#define ROWS(X, NOT_HERE) \
  X(dibs_canceller_new, DIBS_OK, canceller) \
  NOT_HERE(dibs_canceller_new, DIBS_ERR_NO_MEMORY, it has no allocator to refuse it) \
  X(dibs_canceller_new, DIBS_ERR_SYSTEM, canceller_without_descriptors) \
  X(dibs_inspect, DIBS_OK, inspect) \
  X(dibs_inspect, DIBS_ERR_WRONG_TYPE, inspect_of_another_type) \
  X(dibs_inspect, DIBS_ERR_ARGUMENT, inspect_without_a_name) \
  X(dibs_inspect, DIBS_ERR_UNREACHABLE, inspect_without_a_reply) \
  X(dibs_list, DIBS_OK, list) \
  X(dibs_list, DIBS_ERR_ARGUMENT, list_of_all_in_a_dialect) \
  X(dibs_list, DIBS_ERR_UNREACHABLE, list_without_a_reply) \
  X(dibs_break, DIBS_OK, break_of_a_lease) \
  X(dibs_break, DIBS_EXPIRED, second_break) \
  X(dibs_break, DIBS_LOST, second_break_with_an_era_guard) \
  X(dibs_break, DIBS_LOST, break_of_a_lease_before) \
  X(dibs_break, DIBS_TAKEN, break_of_a_taken_name) \
  X(dibs_break, DIBS_UNKNOWN, break_without_a_reply) \
  NOT_HERE(dibs_break, DIBS_ERR_UNSUPPORTED, live/quorum)

OUTCOMES(outcomes_of_views);

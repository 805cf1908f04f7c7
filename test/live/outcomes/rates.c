/* SPDX-License-Identifier: MIT */
/* test/live/outcomes/rates.c - rate limiters. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>

#include "outcomes.h"

static dibs_rate slow(void)
{
  dibs_rate r = DIBS_RATE_INIT;

  r.permits = 1;
  r.interval_ms = 600000;
  return r;
}

static dibs_status set_as(dibs_rate_how how)
{
  dibs_rate r = slow();

  return dibs_rate_limiter_set(other, name, &r, how);
}

static dibs_status set(void) { return set_as(DIBS_RATE_IF_ABSENT); }
static dibs_status update(void) { return set_as(DIBS_RATE_UPDATE); }

static dibs_status acquire_some(uint32_t permits, dibs_canceller *cancel)
{
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;

  o.wait_ms = cancel != NULL ? DIBS_FOREVER : ANSWER_MS;
  o.cancel = cancel;
  return dibs_rate_limiter_acquire(other, name, permits, &o, NULL);
}

static dibs_status acquire(void) { return acquire_some(1, NULL); }
static dibs_status acquire_two(void) { return acquire_some(2, NULL); }

static dibs_status acquire_until_cancelled(void)
{
  dibs_canceller *c = NULL;
  dibs_status status;

  live_expect_ok(dibs_canceller_new(&c));
  dibs_cancel(c);
  status = acquire_some(1, c);
  c = dibs_canceller_free(c);
  return status;
}

static dibs_status take_some(uint32_t permits)
{
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;

  o.wait_ms = 0;
  return dibs_rate_limiter_acquire(other, name, permits, &o, NULL);
}

static dibs_status take(void) { return take_some(1); }
static dibs_status take_two(void) { return take_some(2); }

static dibs_status give_back(void)
{
  return dibs_rate_limiter_release(other, name, 1, NULL);
}

static dibs_status get(void)
{
  dibs_rate r = DIBS_RATE_INIT;
  int64_t available;

  return dibs_rate_limiter_get(other, name, &r, &available);
}

static dibs_status get_nothing(void)
{
  return dibs_rate_limiter_get(other, name, NULL, NULL);
}

static dibs_status forget(void)
{
  return dibs_rate_limiter_delete(other, name);
}

/* What `run` returns of a limiter that is set. */
static dibs_status of_a_set_one(situation *run)
{
  dibs_status status;

  live_expect_ok(set());
  status = run();
  (void)forget();
  return status;
}

static dibs_status exhausted(situation *run)
{
  dibs_status status;

  live_expect_ok(set());
  live_expect_ok(take());
  status = run();
  (void)forget();
  return status;
}

static dibs_status set_of_nothing(void)
{
  dibs_status status = set();

  (void)forget();
  return status;
}

static dibs_status set_to_nothing(void)
{
  dibs_rate r = slow();

  r.permits = 0;
  return dibs_rate_limiter_set(other, name, &r, DIBS_RATE_RESET);
}

static dibs_status set_with_a_reserved_field(void)
{
  dibs_rate r = slow();

  r.reserved = 1;
  return dibs_rate_limiter_set(other, name, &r, DIBS_RATE_RESET);
}

static dibs_status second_set(void) { return of_a_set_one(set); }
static dibs_status set_of_a_list(void) { return of_a_list(set); }
static dibs_status set_unanswered(void) { return without_a_reply(set); }
static dibs_status acquire_one(void) { return of_a_set_one(acquire); }
static dibs_status acquire_exhausted(void) { return exhausted(acquire); }
static dibs_status acquire_cancelled(void) { return exhausted(acquire_until_cancelled); }
static dibs_status acquire_too_many(void) { return of_a_set_one(acquire_two); }
static dibs_status acquire_of_a_list(void) { return of_a_list(acquire); }
static dibs_status acquire_without_a_server(void) { return at_no_server(acquire); }
static dibs_status acquire_unanswered(void) { return without_a_reply(acquire); }
static dibs_status take_one(void) { return of_a_set_one(take); }
static dibs_status take_exhausted(void) { return exhausted(take); }
static dibs_status take_too_many(void) { return of_a_set_one(take_two); }
static dibs_status take_of_a_list(void) { return of_a_list(take); }
static dibs_status take_unanswered(void) { return without_a_reply(take); }
static dibs_status take_without_a_server(void) { return at_no_server(take); }
static dibs_status give_back_one(void) { return exhausted(give_back); }
static dibs_status give_back_to_a_list(void) { return of_a_list(give_back); }
static dibs_status give_back_unanswered(void) { return without_a_reply(give_back); }
static dibs_status give_back_none(void)
{
  return dibs_rate_limiter_release(other, name, 0, NULL);
}

static dibs_status get_of_a_set_one(void) { return of_a_set_one(get); }
static dibs_status get_nothing_of_a_set_one(void) { return of_a_set_one(get_nothing); }
static dibs_status get_of_a_list(void) { return of_a_list(get); }
static dibs_status get_unanswered(void) { return without_a_reply(get); }
static dibs_status get_without_a_size(void)
{
  dibs_rate r = { .size = 0 };

  return dibs_rate_limiter_get(other, name, &r, NULL);
}

static dibs_status forget_of_a_set_one(void) { return of_a_set_one(forget); }
static dibs_status forget_of_a_list(void) { return of_a_list(forget); }
static dibs_status forget_unanswered(void) { return without_a_reply(forget); }
static dibs_status forget_without_a_name(void)
{
  name = "";
  return forget();
}

/* ---- the table ---- */

#define ROWS(X, NOT_HERE) \
  X(dibs_rate_limiter_set, DIBS_OK, set_of_nothing) \
  X(dibs_rate_limiter_set, DIBS_BUSY, second_set) \
  X(dibs_rate_limiter_set, DIBS_ERR_NOT_SET, update) \
  X(dibs_rate_limiter_set, DIBS_UNKNOWN, set_unanswered) \
  X(dibs_rate_limiter_set, DIBS_ERR_ARGUMENT, set_to_nothing) \
  X(dibs_rate_limiter_set, DIBS_ERR_ARGUMENT, set_with_a_reserved_field) \
  X(dibs_rate_limiter_set, DIBS_ERR_WRONG_TYPE, set_of_a_list) \
  NOT_HERE(dibs_rate_limiter_set, DIBS_ERR_UNSUPPORTED, live/quorum) \
  X(dibs_rate_limiter_acquire, DIBS_OK, acquire_one) \
  X(dibs_rate_limiter_acquire, DIBS_TIMED_OUT, acquire_exhausted) \
  X(dibs_rate_limiter_acquire, DIBS_CANCELLED, acquire_cancelled) \
  X(dibs_rate_limiter_acquire, DIBS_ERR_ARGUMENT, acquire_too_many) \
  X(dibs_rate_limiter_acquire, DIBS_ERR_NOT_SET, acquire) \
  X(dibs_rate_limiter_acquire, DIBS_ERR_UNREACHABLE, acquire_without_a_server) \
  X(dibs_rate_limiter_acquire, DIBS_ERR_UNREACHABLE, acquire_unanswered) \
  X(dibs_rate_limiter_acquire, DIBS_ERR_WRONG_TYPE, acquire_of_a_list) \
  X(dibs_rate_limiter_acquire, DIBS_OK, take_one) \
  X(dibs_rate_limiter_acquire, DIBS_BUSY, take_exhausted) \
  X(dibs_rate_limiter_acquire, DIBS_UNKNOWN, take_unanswered) \
  X(dibs_rate_limiter_acquire, DIBS_ERR_ARGUMENT, take_too_many) \
  X(dibs_rate_limiter_acquire, DIBS_ERR_NOT_SET, take) \
  X(dibs_rate_limiter_acquire, DIBS_ERR_UNREACHABLE, take_without_a_server) \
  X(dibs_rate_limiter_acquire, DIBS_ERR_WRONG_TYPE, take_of_a_list) \
  X(dibs_rate_limiter_release, DIBS_OK, give_back_one) \
  X(dibs_rate_limiter_release, DIBS_ERR_NOT_SET, give_back) \
  X(dibs_rate_limiter_release, DIBS_UNKNOWN, give_back_unanswered) \
  X(dibs_rate_limiter_release, DIBS_ERR_ARGUMENT, give_back_none) \
  X(dibs_rate_limiter_release, DIBS_ERR_WRONG_TYPE, give_back_to_a_list) \
  X(dibs_rate_limiter_get, DIBS_OK, get_of_a_set_one) \
  X(dibs_rate_limiter_get, DIBS_OK, get_nothing_of_a_set_one) \
  X(dibs_rate_limiter_get, DIBS_ERR_NOT_SET, get) \
  X(dibs_rate_limiter_get, DIBS_ERR_ARGUMENT, get_without_a_size) \
  X(dibs_rate_limiter_get, DIBS_ERR_WRONG_TYPE, get_of_a_list) \
  X(dibs_rate_limiter_get, DIBS_ERR_UNREACHABLE, get_unanswered) \
  X(dibs_rate_limiter_delete, DIBS_OK, forget) \
  X(dibs_rate_limiter_delete, DIBS_OK, forget_of_a_set_one) \
  X(dibs_rate_limiter_delete, DIBS_UNKNOWN, forget_unanswered) \
  X(dibs_rate_limiter_delete, DIBS_ERR_ARGUMENT, forget_without_a_name) \
  X(dibs_rate_limiter_delete, DIBS_ERR_WRONG_TYPE, forget_of_a_list)

OUTCOMES(outcomes_of_rates);

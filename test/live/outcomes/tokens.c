/* SPDX-License-Identifier: MIT */
/* test/live/outcomes/tokens.c - leases that are named by a token. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>

#include "outcomes.h"

static void detached(void)
{
  hold = held(client);
  token_of(hold);
  live_expect_ok(live_detach(hold));
}

static void broken(void)
{
  char lease[96];

  lease_of(lease);
  live_expect_ok(dibs_break(other, dibs_text(name), lease));
}

static dibs_status renew(void)
{
  return dibs_token_renew(other, token, TTL_MS, NULL);
}

static dibs_status token_release(void)
{
  return dibs_token_release(other, token);
}

/* Another client has it, and after `gives_back` had it. */
static dibs_status of_a_followed_token(dibs_status (*run)(void), bool gives_back)
{
  dibs_hold *theirs;
  dibs_status status;

  detached();
  broken();
  theirs = held(other);
  if (gives_back)
    assert_int_equal(dibs_release(theirs), DIBS_OK);
  status = run();
  if (!gives_back)
    assert_int_equal(dibs_release(theirs), DIBS_OK);
  return status;
}

static dibs_status renew_of_a_lease(void)
{
  dibs_status status;

  detached();
  status = renew();
  live_expect_ok(token_release());
  return status;
}

/* Its time is over, and no other client has asked for the name since. */
static dibs_status renew_after_the_end(void)
{
  dibs_status status;

  hold = live_lock(client, name, SOON_MS);
  token_of(hold);
  live_expect_ok(live_detach(hold));
  wait_for_end();
  status = renew();
  live_refused(live_try(client, name), DIBS_BUSY);
  live_expect_ok(token_release());
  return status;
}

static dibs_status renew_of_a_released_lease(void)
{
  detached();
  live_expect_ok(token_release());
  return renew();
}

static dibs_status renew_with_an_era_guard(void)
{
  return with_an_era_guard(renew_of_a_released_lease);
}

static dibs_status renew_of_a_taken_name(void) { return of_a_followed_token(renew, false); }
static dibs_status renew_of_a_followed_lease(void) { return of_a_followed_token(renew, true); }

static dibs_status renew_without_a_token(void)
{
  return dibs_token_renew(other, "x", TTL_MS, NULL);
}

static dibs_status token_release_of_a_lease(void)
{
  detached();
  return token_release();
}

static dibs_status second_token_release(void)
{
  live_expect_ok(token_release_of_a_lease());
  return token_release();
}

static dibs_status token_release_of_a_taken_name(void)
{
  return of_a_followed_token(token_release, false);
}

static dibs_status token_release_of_a_followed_lease(void)
{
  return of_a_followed_token(token_release, true);
}

/* Whether another client had the name since the end of a hold: dibs_release() does not know. */
static dibs_status token_release_of_a_lost_hold(bool is_followed)
{
  struct live_loss loss = { .count = 0 };
  dibs_lock_options o = live_lock_options(SOON_MS, LIVE_LONG_MS);

  o.flags = DIBS_LOCK_FIXED;
  live_report_loss(&o, &loss);
  hold = live_lock_with(client, name, &o);
  token_of(hold);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  if (is_followed)
    assert_int_equal(dibs_release(held(other)), DIBS_OK);
  live_expect(client, dibs_release(hold), DIBS_LOST);
  return token_release();
}

static dibs_status token_release_after_a_loss(void)
{
  return token_release_of_a_lost_hold(false);
}

static dibs_status token_release_after_a_loss_and_another(void)
{
  return token_release_of_a_lost_hold(true);
}

static dibs_status token_release_without_a_token(void)
{
  return dibs_token_release(other, "x");
}

static dibs_status renew_without_a_reply(void)
{
  dibs_status status;

  detached();
  status = without_a_reply(renew);
  live_expect_ok(token_release());
  return status;
}

static dibs_status token_release_without_a_reply(void)
{
  dibs_status status;

  detached();
  status = without_a_reply(token_release);
  live_expect_ok(token_release());       /* what comes late changes nothing */
  return status;
}

/* ---- the table ---- */

#define ROWS(X, NOT_HERE) \
  X(dibs_token_renew, DIBS_OK, renew_of_a_lease) \
  X(dibs_token_renew, DIBS_OK, renew_after_the_end) \
  X(dibs_token_renew, DIBS_EXPIRED, renew_of_a_released_lease) \
  X(dibs_token_renew, DIBS_LOST, renew_with_an_era_guard) \
  X(dibs_token_renew, DIBS_TAKEN, renew_of_a_taken_name) \
  X(dibs_token_renew, DIBS_LOST, renew_of_a_followed_lease) \
  X(dibs_token_renew, DIBS_UNKNOWN, renew_without_a_reply) \
  X(dibs_token_renew, DIBS_ERR_ARGUMENT, renew_without_a_token) \
  NOT_HERE(dibs_token_renew, DIBS_ERR_UNSUPPORTED, live/quorum) \
  X(dibs_token_release, DIBS_OK, token_release_of_a_lease) \
  X(dibs_token_release, DIBS_OK, second_token_release) \
  X(dibs_token_release, DIBS_OK, token_release_after_a_loss) \
  X(dibs_token_release, DIBS_LOST, token_release_after_a_loss_and_another) \
  X(dibs_token_release, DIBS_TAKEN, token_release_of_a_taken_name) \
  X(dibs_token_release, DIBS_LOST, token_release_of_a_followed_lease) \
  X(dibs_token_release, DIBS_UNKNOWN, token_release_without_a_reply) \
  X(dibs_token_release, DIBS_ERR_ARGUMENT, token_release_without_a_token) \
  NOT_HERE(dibs_token_release, DIBS_ERR_UNSUPPORTED, live/quorum)

OUTCOMES(outcomes_of_tokens);

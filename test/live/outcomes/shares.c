/* SPDX-License-Identifier: MIT */
/* test/live/outcomes/shares.c - semaphores, dibs_downgrade(), and what is special about several
 * names; all that takes a lock or permits is in ways.c. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>

#include "outcomes.h"

/* ---- semaphores ---- */

static dibs_status set(void)
{
  return dibs_semaphore_set(other, dibs_text(name), 1, 0, NULL);
}

static dibs_status set_if_absent(void)
{
  return dibs_semaphore_set(other, dibs_text(name), 1, DIBS_SEMAPHORE_IF_ABSENT, NULL);
}

static dibs_status set_delete(void)
{
  return dibs_semaphore_delete(other, dibs_text(name));
}

static dibs_status beside_a_lock(situation *run)
{
  dibs_hold *theirs = held(client);
  dibs_status status = run();

  assert_int_equal(dibs_release(theirs), DIBS_OK);
  return status;
}

static dibs_status delete_of_a_used_one(void)
{
  dibs_status status;

  live_expect_ok(set());
  live_expect_ok(dibs_acquire(client, DIBS_PERMITS(name, 1), NULL, &hold));
  status = set_delete();
  assert_int_equal(dibs_release(hold), DIBS_OK);
  return status;
}

static dibs_status delete_of_an_unused_one(void)
{
  live_expect_ok(set());
  return set_delete();
}

static dibs_status set_of_a_lock(void) { return beside_a_lock(set); }
static dibs_status set_if_absent_of_a_lock(void) { return beside_a_lock(set_if_absent); }
static dibs_status delete_of_a_lock(void) { return beside_a_lock(set_delete); }
static dibs_status set_without_a_reply(void) { return without_a_reply(set); }
static dibs_status absent_without_a_reply(void) { return without_a_reply(set_if_absent); }
static dibs_status delete_without_a_reply(void) { return without_a_reply(set_delete); }
static dibs_status set_in_plain(void) { return in_plain(set); }
static dibs_status absent_in_plain(void) { return in_plain(set_if_absent); }
static dibs_status delete_in_plain(void) { return in_plain(set_delete); }
static dibs_status set_to_more_than_allowed(void)
{
  return dibs_semaphore_set(other, dibs_text(name), 1000000001, 0, NULL);
}

static dibs_status absent_with_more_than_allowed(void)
{
  return dibs_semaphore_set(other, dibs_text(name), 1000000001, DIBS_SEMAPHORE_IF_ABSENT, NULL);
}

static dibs_status delete_without_a_name(void)
{
  return dibs_semaphore_delete(other, dibs_text(""));
}

/* ---- permits ---- */

static dibs_status permits(uint32_t count)
{
  dibs_lock_options o = live_lock_options(TTL_MS, ANSWER_MS);

  return dibs_acquire(client, DIBS_PERMITS(name, count), &o, &hold);
}

static dibs_status permits_of_nothing(void)
{
  return permits(1);
}

static dibs_status try_of_nothing(void)
{
  return acquire_now(client, DIBS_PERMITS(name, 1), NULL, &hold);
}

static dibs_status drain_of_nothing(void)
{
  return dibs_acquire(client, DIBS_PERMITS(name, DIBS_UNITS_ALL_FREE), NULL, &hold);
}

static dibs_status more_permits_than_there_are(void)
{
  live_expect_ok(set());
  return permits(2);
}

static dibs_status more_permits_in_a_pause(void)
{
  live_expect_ok(dibs_semaphore_set(other, dibs_text(name), 0, 0, NULL));
  return permits(2);
}

/* ---- read/write locks ---- */

static dibs_status downgrade_with(int32_t kind)
{
  dibs_status status;

  live_expect_ok(dibs_acquire(client, &DIBS_TARGET(kind, name, 0, 0, NULL), NULL, &hold));
  status = dibs_downgrade(hold);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  return status;
}

static dibs_status downgrade_of_a_writer(void) { return downgrade_with(DIBS_TARGET_WRITE); }
static dibs_status downgrade_of_a_reader(void) { return downgrade_with(DIBS_TARGET_READ); }
static dibs_status downgrade_of_a_lock(void) { return downgrade_with(DIBS_TARGET_LOCK); }

static dibs_status downgrade_of_an_inner_writer(void)
{
  dibs_hold *outer;
  dibs_status status;

  live_expect_ok(dibs_acquire(client, DIBS_WRITE(name), NULL, &outer));
  status = downgrade_with(DIBS_TARGET_WRITE);
  assert_int_equal(dibs_release(outer), DIBS_OK);
  return status;
}

static dibs_status downgrade_of_a_lost_writer(void)
{
  struct live_loss loss = { .count = 0 };
  dibs_lock_options o = live_lock_options(SOON_MS, LIVE_LONG_MS);
  dibs_status status;

  o.flags = DIBS_LOCK_FIXED;
  live_report_loss(&o, &loss);
  live_expect_ok(dibs_acquire(client, DIBS_WRITE(name), &o, &hold));
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  status = dibs_downgrade(hold);
  assert_int_equal(dibs_release(hold), DIBS_LOST);
  return status;
}

static dibs_status downgrade_of_a_released_writer(void)
{
  (void)downgrade_of_a_writer();
  return dibs_downgrade(hold);
}

/* No lease to read is as long with Redisson. */
static dibs_status downgrade_of_a_long_fixed_lease_of(int32_t kind)
{
  dibs_lock_options o = live_lock_options(60000, LIVE_LONG_MS);
  dibs_options options = live_options();
  dibs_client *java = NULL;
  dibs_status status;

  options.dialect = DIBS_DIALECT_REDISSON;
  o.flags = DIBS_LOCK_FIXED;
  java = live_open_with(live_url(), &options);
  live_expect_ok(dibs_acquire(java, &DIBS_TARGET(kind, name, 0, 0, NULL), &o, &hold));
  status = dibs_downgrade(hold);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  java = dibs_close(java);
  return status;
}

static dibs_status downgrade_of_a_long_fixed_writer(void)
{
  return downgrade_of_a_long_fixed_lease_of(DIBS_TARGET_WRITE);
}

static dibs_status downgrade_of_a_long_fixed_lock(void)
{
  return downgrade_of_a_long_fixed_lease_of(DIBS_TARGET_LOCK);
}

static dibs_status downgrade(void)
{
  return dibs_downgrade(hold);
}

static dibs_status downgrade_in_a_child(void)
{
  dibs_status status;

  live_expect_ok(dibs_acquire(client, DIBS_WRITE(name), NULL, &hold));
  status = in_a_child(downgrade);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  return status;
}

/* ---- of dibs_acquire() only ---- */

static dibs_status acquire_without_waiting(void)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  dibs_hold *theirs = NULL, *mine = NULL;
  dibs_status status;

  o.wait_ms = 0;
  live_expect(other, dibs_lock(other, name, NULL, &theirs), DIBS_OK);
  status = dibs_acquire(client, DIBS_LOCK(name), &o, &mine);
  live_expect(other, dibs_release(theirs), DIBS_OK);
  return status;
}

/* ---- stripes ---- */

static dibs_status stripe(void)
{
  char bytes[64];

  return dibs_stripe("name", "key", 3, 16, bytes, sizeof(bytes));
}

static dibs_status stripe_of_none(void)
{
  char bytes[64];

  return dibs_stripe("name", "key", 3, 0, bytes, sizeof(bytes));
}

/* ---- the table ---- */

#define ROWS(X, NOT_HERE) \
  X(dibs_semaphore_set, DIBS_OK, set) \
  X(dibs_semaphore_set, DIBS_ERR_WRONG_TYPE, set_of_a_lock) \
  X(dibs_semaphore_set, DIBS_ERR_ARGUMENT, set_to_more_than_allowed) \
  X(dibs_semaphore_set, DIBS_UNKNOWN, set_without_a_reply) \
  X(dibs_semaphore_set, DIBS_ERR_UNSUPPORTED, set_in_plain) \
  X(dibs_semaphore_set, DIBS_OK, set_if_absent) \
  X(dibs_semaphore_set, DIBS_ERR_WRONG_TYPE, set_if_absent_of_a_lock) \
  X(dibs_semaphore_set, DIBS_ERR_ARGUMENT, absent_with_more_than_allowed) \
  X(dibs_semaphore_set, DIBS_UNKNOWN, absent_without_a_reply) \
  X(dibs_semaphore_set, DIBS_ERR_UNSUPPORTED, absent_in_plain) \
  X(dibs_semaphore_delete, DIBS_OK, delete_of_an_unused_one) \
  X(dibs_semaphore_delete, DIBS_OK, set_delete) \
  X(dibs_semaphore_delete, DIBS_BUSY, delete_of_a_used_one) \
  X(dibs_semaphore_delete, DIBS_ERR_WRONG_TYPE, delete_of_a_lock) \
  X(dibs_semaphore_delete, DIBS_ERR_ARGUMENT, delete_without_a_name) \
  X(dibs_semaphore_delete, DIBS_UNKNOWN, delete_without_a_reply) \
  X(dibs_semaphore_delete, DIBS_ERR_UNSUPPORTED, delete_in_plain) \
  X(dibs_acquire, DIBS_ERR_NOT_SET, permits_of_nothing) \
  X(dibs_acquire, DIBS_ERR_NOT_SET, try_of_nothing) \
  X(dibs_acquire, DIBS_ERR_NOT_SET, drain_of_nothing) \
  X(dibs_acquire, DIBS_ERR_ARGUMENT, more_permits_than_there_are) \
  X(dibs_acquire, DIBS_TIMED_OUT, more_permits_in_a_pause) \
  NOT_HERE(dibs_acquire, DIBS_ERR_UNSUPPORTED, several names in a quorum) \
  X(dibs_acquire, DIBS_BUSY, acquire_without_waiting) \
  NOT_HERE(dibs_acquire, DIBS_LOST, live/election) \
  X(dibs_downgrade, DIBS_OK, downgrade_of_a_writer) \
  X(dibs_downgrade, DIBS_OK, downgrade_of_a_reader) \
  X(dibs_downgrade, DIBS_LOST, downgrade_of_a_lost_writer) \
  X(dibs_downgrade, DIBS_ERR_STALE, downgrade_of_a_released_writer) \
  X(dibs_downgrade, DIBS_ERR_FORKED, downgrade_in_a_child) \
  X(dibs_downgrade, DIBS_ERR_ARGUMENT, downgrade_of_a_lock) \
  X(dibs_downgrade, DIBS_ERR_ARGUMENT, downgrade_of_an_inner_writer) \
  X(dibs_downgrade, DIBS_ERR_ARGUMENT, downgrade_of_a_long_fixed_lock) \
  X(dibs_downgrade, DIBS_ERR_UNSUPPORTED, downgrade_of_a_long_fixed_writer) \
  X(dibs_stripe, DIBS_OK, stripe) \
  X(dibs_stripe, DIBS_ERR_ARGUMENT, stripe_of_none)

OUTCOMES(outcomes_of_shares);

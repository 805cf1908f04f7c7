/* SPDX-License-Identifier: MIT */
/* test/live/outcomes/latches.c - latches and barriers. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>

#include "outcomes.h"

static dibs_wait_options waits(int32_t wait_ms)
{
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;

  o.wait_ms = wait_ms;
  return o;
}

static dibs_status without_a_name(situation *run)
{
  name = "";
  return run();
}

/* ---- latches ---- */

static dibs_status arm(void)
{
  return dibs_latch_set(other, name, 1);
}

static dibs_status down(void)
{
  return dibs_latch_down(other, name, 1, NULL, NULL);
}

static dibs_status count(void)
{
  int64_t left;

  return dibs_latch_count(other, name, &left);
}

static dibs_status disarm(void)
{
  return dibs_latch_delete(other, name);
}

static dibs_status await(void)
{
  dibs_wait_options o = waits(ANSWER_MS);

  return dibs_latch_await(other, name, &o);
}

static dibs_status cancelled_await(void)
{
  dibs_wait_options o = waits(DIBS_FOREVER);
  dibs_status status;

  live_expect_ok(dibs_canceller_new(&o.cancel));
  dibs_cancel(o.cancel);
  status = dibs_latch_await(other, name, &o);
  o.cancel = dibs_canceller_free(o.cancel);
  return status;
}

static dibs_status of_an_armed_latch(situation *run)
{
  dibs_status status;

  live_expect_ok(arm());
  status = run();
  live_expect_ok(disarm());
  return status;
}

static dibs_status arm_of_nothing(void)
{
  dibs_status status = arm();

  live_expect_ok(disarm());
  return status;
}

static dibs_status second_arm(void) { return of_an_armed_latch(arm); }
static dibs_status arm_of_a_list(void) { return of_a_list(arm); }
static dibs_status arm_without_a_reply(void) { return without_a_reply(arm); }
static dibs_status arm_with_nothing(void) { return dibs_latch_set(other, name, 0); }
static dibs_status down_of_an_armed_one(void) { return of_an_armed_latch(down); }
static dibs_status down_of_a_list(void) { return of_a_list(down); }
static dibs_status down_without_a_reply(void) { return without_a_reply(down); }
static dibs_status down_by_nothing(void) { return dibs_latch_down(other, name, 0, NULL, NULL); }
static dibs_status count_of_a_list(void) { return of_a_list(count); }
static dibs_status count_without_a_reply(void) { return without_a_reply(count); }
static dibs_status count_without_room(void) { return dibs_latch_count(other, name, NULL); }
static dibs_status disarm_of_a_list(void) { return of_a_list(disarm); }
static dibs_status disarm_without_a_reply(void) { return without_a_reply(disarm); }
static dibs_status disarm_without_a_name(void) { return without_a_name(disarm); }
static dibs_status await_of_an_armed_one(void) { return of_an_armed_latch(await); }
static dibs_status await_that_is_cancelled(void) { return of_an_armed_latch(cancelled_await); }
static dibs_status await_of_a_list(void) { return of_a_list(await); }
static dibs_status await_without_a_name(void) { return without_a_name(await); }
static dibs_status await_without_a_server(void) { return at_no_server(await); }
static dibs_status await_without_a_reply(void) { return without_a_reply(await); }

/* ---- barriers ---- */

static dibs_status meet_with(uint32_t parties, dibs_wait_options o)
{
  dibs_barrier_info info = { .size = sizeof(info) };

  return dibs_barrier_await(other, name, parties, &o, &info);
}

static dibs_status meet_alone(void) { return meet_with(1, waits(LIVE_LONG_MS)); }
static dibs_status meet_in_vain(void) { return meet_with(2, waits(ANSWER_MS)); }
static dibs_status meet_nobody(void) { return meet_with(0, waits(ANSWER_MS)); }
static dibs_status meet_without_a_server(void) { return at_no_server(meet_in_vain); }

static dibs_status meet_at_a_broken_one(void)
{
  live_refused(meet_in_vain(), DIBS_TIMED_OUT);
  return meet_alone();
}

static dibs_status broken_meeting(void)
{
  live_refused(meet_in_vain(), DIBS_TIMED_OUT);
  return meet_with(2, waits(LIVE_LONG_MS));
}

static dibs_status cancelled_meeting(void)
{
  dibs_wait_options o = waits(DIBS_FOREVER);
  dibs_status status;

  live_expect_ok(dibs_canceller_new(&o.cancel));
  dibs_cancel(o.cancel);
  status = meet_with(2, o);
  o.cancel = dibs_canceller_free(o.cancel);
  return status;
}

static void on_meeting(const dibs_error *error, const dibs_barrier_info *info, void *data)
{
  (void)info;
  atomic_store((_Atomic int *)data, error->status);
}

static bool has_arrived(void *data)
{
  dibs_barrier_info info = { .size = sizeof(info) };

  (void)data;
  return dibs_barrier_get(client, name, &info) == DIBS_OK && info.arrived > 0;
}

/* What `run` returns while a party of two waits. */
static dibs_status beside_a_party(situation *run)
{
  static _Atomic int ended;
  dibs_request *party;
  dibs_status status;

  atomic_store(&ended, 1000);
  live_expect_ok(dibs_barrier_await_async(client, name, 2, NULL, on_meeting, &ended, &party));
  assert_true(live_until(LIVE_LONG_MS, has_arrived, NULL));
  status = run();
  (void)dibs_request_cancel(party);
  return status;
}

static dibs_status meet_three(void) { return meet_with(3, waits(LIVE_LONG_MS)); }
static dibs_status meet_other_parties(void) { return beside_a_party(meet_three); }

static dibs_status meet_without_a_reply(void) { return without_a_reply(meet_in_vain); }

static dibs_status reset(void)
{
  return dibs_barrier_reset(other, name);
}

static dibs_status reset_of_a_round(void) { return beside_a_party(reset); }
static dibs_status reset_without_a_name(void) { return without_a_name(reset); }
static dibs_status reset_without_a_reply(void) { return without_a_reply(reset); }
static dibs_status reset_without_a_server(void) { return at_no_server(reset); }

/* A reset looks first: that is replied to. */
static dibs_status reset_without_its_own_reply(void)
{
  struct test_proxy *proxy = test_proxy_start(live_server);
  dibs_client *patient = other;
  dibs_status status;

  other = live_open(live_url_by(proxy));
  live_expect_ok(dibs_client_set_call_timeout(other, ANSWER_MS));
  live_expect(other, dibs_ping(other, LIVE_LONG_MS, NULL), DIBS_OK);
  test_proxy_silence_after(proxy, 1);
  status = beside_a_party(reset);
  other = dibs_close(other);
  other = patient;
  proxy = test_proxy_stop(proxy);
  return status;
}

static dibs_status look(void)
{
  dibs_barrier_info info = { .size = sizeof(info) };

  return dibs_barrier_get(other, name, &info);
}

static dibs_status look_at_a_used_one(void)
{
  live_expect_ok(meet_alone());
  return look();
}

static dibs_status look_without_a_size(void)
{
  dibs_barrier_info info = { .size = 0 };

  return dibs_barrier_get(other, name, &info);
}

static dibs_status look_without_a_reply(void) { return without_a_reply(look); }

/* A barrier has a key under the prefix of its client. */
static dibs_status of_a_list_of_the_barrier(situation *run)
{
  dibs_status status;

  (void)test_server_command(live_server, "RPUSH dibs:b:{%s} x", name);
  status = run();
  (void)test_server_command(live_server, "DEL dibs:b:{%s}", name);
  return status;
}

static dibs_status meet_at_a_list(void) { return of_a_list_of_the_barrier(meet_in_vain); }
static dibs_status reset_of_a_list(void) { return of_a_list_of_the_barrier(reset); }
static dibs_status look_at_a_list(void) { return of_a_list_of_the_barrier(look); }

/* ---- the table ---- */

#define ROWS(X, NOT_HERE) \
  X(dibs_latch_set, DIBS_OK, arm_of_nothing) \
  X(dibs_latch_set, DIBS_BUSY, second_arm) \
  X(dibs_latch_set, DIBS_UNKNOWN, arm_without_a_reply) \
  X(dibs_latch_set, DIBS_ERR_WRONG_TYPE, arm_of_a_list) \
  X(dibs_latch_set, DIBS_ERR_ARGUMENT, arm_with_nothing) \
  X(dibs_latch_down, DIBS_OK, down_of_an_armed_one) \
  X(dibs_latch_down, DIBS_ERR_NOT_SET, down) \
  X(dibs_latch_down, DIBS_UNKNOWN, down_without_a_reply) \
  X(dibs_latch_down, DIBS_ERR_WRONG_TYPE, down_of_a_list) \
  X(dibs_latch_down, DIBS_ERR_ARGUMENT, down_by_nothing) \
  X(dibs_latch_count, DIBS_OK, count) \
  X(dibs_latch_count, DIBS_ERR_WRONG_TYPE, count_of_a_list) \
  X(dibs_latch_count, DIBS_ERR_ARGUMENT, count_without_room) \
  X(dibs_latch_count, DIBS_ERR_UNREACHABLE, count_without_a_reply) \
  X(dibs_latch_delete, DIBS_OK, disarm) \
  X(dibs_latch_delete, DIBS_UNKNOWN, disarm_without_a_reply) \
  X(dibs_latch_delete, DIBS_ERR_WRONG_TYPE, disarm_of_a_list) \
  X(dibs_latch_delete, DIBS_ERR_ARGUMENT, disarm_without_a_name) \
  X(dibs_latch_await, DIBS_OK, await) \
  X(dibs_latch_await, DIBS_TIMED_OUT, await_of_an_armed_one) \
  X(dibs_latch_await, DIBS_CANCELLED, await_that_is_cancelled) \
  X(dibs_latch_await, DIBS_ERR_UNREACHABLE, await_without_a_server) \
  X(dibs_latch_await, DIBS_ERR_UNREACHABLE, await_without_a_reply) \
  X(dibs_latch_await, DIBS_ERR_WRONG_TYPE, await_of_a_list) \
  X(dibs_latch_await, DIBS_ERR_ARGUMENT, await_without_a_name) \
  X(dibs_barrier_await, DIBS_OK, meet_alone) \
  X(dibs_barrier_await, DIBS_BROKEN, broken_meeting) \
  X(dibs_barrier_await, DIBS_BROKEN, meet_at_a_broken_one) \
  X(dibs_barrier_await, DIBS_TIMED_OUT, meet_in_vain) \
  X(dibs_barrier_await, DIBS_CANCELLED, cancelled_meeting) \
  X(dibs_barrier_await, DIBS_ERR_ARGUMENT, meet_other_parties) \
  X(dibs_barrier_await, DIBS_ERR_ARGUMENT, meet_nobody) \
  X(dibs_barrier_await, DIBS_ERR_UNREACHABLE, meet_without_a_server) \
  X(dibs_barrier_await, DIBS_ERR_UNREACHABLE, meet_without_a_reply) \
  X(dibs_barrier_await, DIBS_ERR_WRONG_TYPE, meet_at_a_list) \
  NOT_HERE(dibs_barrier_await, DIBS_UNKNOWN, live/barrier) \
  X(dibs_barrier_reset, DIBS_OK, reset) \
  X(dibs_barrier_reset, DIBS_OK, reset_of_a_round) \
  X(dibs_barrier_reset, DIBS_ERR_ARGUMENT, reset_without_a_name) \
  X(dibs_barrier_reset, DIBS_ERR_UNREACHABLE, reset_without_a_reply) \
  X(dibs_barrier_reset, DIBS_UNKNOWN, reset_without_its_own_reply) \
  X(dibs_barrier_reset, DIBS_ERR_UNREACHABLE, reset_without_a_server) \
  X(dibs_barrier_reset, DIBS_ERR_WRONG_TYPE, reset_of_a_list) \
  X(dibs_barrier_get, DIBS_OK, look_at_a_used_one) \
  X(dibs_barrier_get, DIBS_ERR_NOT_SET, look) \
  X(dibs_barrier_get, DIBS_ERR_ARGUMENT, look_without_a_size) \
  X(dibs_barrier_get, DIBS_ERR_UNREACHABLE, look_without_a_reply) \
  X(dibs_barrier_get, DIBS_ERR_WRONG_TYPE, look_at_a_list)

OUTCOMES(outcomes_of_latches);

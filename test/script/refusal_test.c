/* SPDX-License-Identifier: MIT */
/* What the scripts do when the server refuses writes for want of memory, or the
 * message for want of a permission (F16): letting go always works, asking fails cleanly. */

#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mode.h"
#include "server.h"
#include "stage.h"

static const char *stored(void)
{
  return test_server_command(world_server(w), "DEBUG DIGEST-VALUE " WORLD_KEY);
}

TEST(a_full_server_still_lets_go_of_a_lock_nobody_wants)
{
  acquire_answer a = world_acquire(w, ANNA, 1);

  stage_fill_memory();
  assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
  assert_int_equal(world_inspect(w, ANNA).holder_count, 0);
}

TEST(a_full_server_still_hands_over)
{
  acquire_answer a;

  world_listen(w, BERT);
  a = world_acquire(w, ANNA, 1);
  world_acquire(w, BERT, 1);
  stage_fill_memory();
  assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
  a = world_acquire(w, BERT, 1);
  assert_int_equal(a.outcome, ACQUIRE_AGAIN);
  assert_non_null(strstr(world_messages(w, BERT), "grant:"));
  /* The queue is empty now: the hash becomes a string again. */
  assert_int_equal(world_release(w, BERT, &a.lease).outcome, RELEASE_DONE);
  assert_string_equal(world_type(w), "string");
}

TEST(a_full_server_still_renews)
{
  acquire_answer a = world_acquire(w, ANNA, 1);

  world_listen(w, BERT);
  stage_fill_memory();
  assert_true(world_renew(w, ANNA, &a.lease, 40000).is_ours);
  stage_empty_memory();
  world_acquire(w, BERT, 1);
  stage_fill_memory();
  assert_int_equal(world_renew(w, ANNA, &a.lease, 50000).remaining_ms, 50000);
}

TEST(a_full_server_still_cancels)
{
  acquire_answer a = world_acquire(w, ANNA, 1);

  world_listen(w, BERT);
  world_acquire(w, BERT, 1);
  stage_fill_memory();
  world_cancel(w, BERT, 1, 0);
  assert_int_equal(world_inspect(w, ANNA).waiter_count, 0);
  assert_int_equal(world_cancel(w, ANNA, 1, 0), 1);
  assert_int_equal(world_inspect(w, ANNA).holder_count, 0);
  assert_int_equal(world_cancel(w, CARL, 1, 0), 0);
  assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
}

TEST(a_full_server_still_breaks)
{
  acquire_answer a = world_acquire(w, ANNA, 1);

  stage_fill_memory();
  assert_int_equal(world_break(w, BERT, &a.lease).outcome, RELEASE_DONE);
  assert_int_equal(world_inspect(w, ANNA).holder_count, 0);
}

TEST(a_full_server_refuses_to_grant_and_changes_nothing)
{
  acquire_call c = world_call(w, 1);
  const char *error;

  stage_fill_memory();
  error = world_acquire_error(w, ANNA, &c);
  assert_int_equal(resp_fault_of(error, strlen(error)), RESP_FAULT_REFUSED);
  assert_string_equal(world_type(w), "none");
}

TEST(a_full_server_refuses_to_queue_and_keeps_the_lease)
{
  acquire_call c = world_call(w, 1);
  const char *error, *before;
  acquire_answer a;

  world_listen(w, BERT);
  world_listen(w, CARL);
  a = world_acquire(w, ANNA, 1);
  before = stored();
  stage_fill_memory();
  error = world_acquire_error(w, BERT, &c);
  assert_int_equal(resp_fault_of(error, strlen(error)), RESP_FAULT_REFUSED);
  assert_string_equal(stored(), before);
  assert_string_equal(world_type(w), "string");

  stage_empty_memory();
  world_acquire(w, BERT, 1);
  before = stored();
  stage_fill_memory();
  error = world_acquire_error(w, CARL, &c);
  assert_int_equal(resp_fault_of(error, strlen(error)), RESP_FAULT_REFUSED);
  assert_string_equal(stored(), before);
  /* Who is queued already may go on asking, a holder too. */
  assert_int_equal(world_acquire(w, BERT, 1).outcome, ACQUIRE_WAITING);
  assert_int_equal(world_acquire(w, ANNA, 1).outcome, ACQUIRE_AGAIN);
  assert_int_equal(world_try(w, CARL, 2).outcome, ACQUIRE_BUSY);
  assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
}

TEST(a_waiters_floor_that_no_clock_reaches_does_not_stop_the_queue)
{
  acquire_answer a = world_acquire(w, ANNA, 1);
  acquire_call c = world_call(w, 1);
  uint64_t last = a.lease.token;

  world_listen(w, BERT);
  world_listen(w, CARL);
  c.min_token = 9007199254740990u;
  world_send(w, BERT, &c);
  world_acquire(w, CARL, 1);
  world_release(w, ANNA, &a.lease);
  a = world_acquire(w, BERT, 1);
  assert_in_range(a.lease.token, last + 1, last + 60000000);
  assert_int_equal(world_release(w, BERT, &a.lease).outcome, RELEASE_DONE);
  assert_non_null(strstr(world_messages(w, CARL), "grant:"));
}

TEST(who_may_not_publish_still_hands_over)
{
  const resp_argument weak[] = { RESP_TEXT("AUTH"), RESP_TEXT("weak"), RESP_TEXT("x") };
  const resp_argument strong[] = { RESP_TEXT("AUTH"), RESP_TEXT("default"), RESP_TEXT("x") };
  acquire_answer a;

  world_listen(w, BERT);
  a = world_acquire(w, ANNA, 1);
  world_acquire(w, BERT, 1);
  test_server_command(world_server(w),
                      "ACL SETUSER weak on nopass ~* +@all resetchannels");
  resp_command(world_buffer(w), weak, 3);
  assert_int_equal(resp_root(world_raw(w, world_buffer(w)))->kind, RESP_STATUS);
  buffer_clear(world_buffer(w));
  assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
  resp_command(world_buffer(w), strong, 3);
  assert_int_equal(resp_root(world_raw(w, world_buffer(w)))->kind, RESP_STATUS);
  buffer_clear(world_buffer(w));
  /* The message is lost, the grant is not: the poll finds it. */
  assert_string_equal(world_messages(w, BERT), "");
  assert_int_equal(world_acquire(w, BERT, 1).outcome, ACQUIRE_AGAIN);
}

/* The first waiter turns the string into a hash. */
TEST(a_waiter_without_one_of_its_rights_takes_no_lease_away)
{
  static const char *const commands[] = { "set", "del", "hset", "pexpire" };

  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
    acquire_call c = world_call(w, 1);
    const char *error;
    acquire_answer a;

    world_clear(w);
    world_listen(w, BERT);
    a = world_acquire(w, ANNA, 1);
    test_server_command(world_server(w), "ACL SETUSER %s -%s", mode_user(), commands[i]);
    error = world_acquire_error(w, BERT, &c);
    test_server_command(world_server(w), "ACL SETUSER %s +%s", mode_user(), commands[i]);
    assert_int_equal(resp_fault_of(error, strlen(error)), RESP_FAULT_DENIED);
    assert_int_equal(world_inspect(w, CARL).holder_count, 1);
    assert_int_equal(world_try(w, CARL, 1).outcome, ACQUIRE_BUSY);
    assert_true(world_renew(w, ANNA, &a.lease, 40000).is_ours);
    assert_in_range(test_server_integer(world_server(w), "PTTL " WORLD_KEY), HOUR_MS - 60000,
                    HOUR_MS);
    assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
  }
}

/* Not as one of another type. */
TEST(a_lock_that_the_user_may_not_read_is_denied)
{
  acquire_answer a = world_acquire(w, ANNA, 1);
  acquire_call c = world_call(w, 1);
  const char *errors[2];

  world_listen(w, BERT);
  world_listen(w, CARL);
  world_acquire(w, BERT, 1);
  test_server_command(world_server(w), "ACL SETUSER %s -hmget", mode_user());
  errors[0] = world_release_error(w, ANNA, &a.lease);
  assert_int_equal(resp_fault_of(errors[0], strlen(errors[0])), RESP_FAULT_DENIED);
  errors[1] = world_acquire_error(w, CARL, &c);
  assert_int_equal(resp_fault_of(errors[1], strlen(errors[1])), RESP_FAULT_DENIED);
  test_server_command(world_server(w), "ACL SETUSER %s +hmget", mode_user());
  assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
}

/* It was answered that the slot is on its way to another node. */
TEST(a_waiter_needs_no_right_to_ask_what_exists)
{
  acquire_answer a = world_acquire(w, ANNA, 1);

  world_listen(w, BERT);
  test_server_command(world_server(w), "ACL SETUSER %s -exists", mode_user());
  assert_int_equal(world_acquire(w, BERT, 1).outcome, ACQUIRE_WAITING);
  test_server_command(world_server(w), "ACL SETUSER %s +exists", mode_user());
  assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
  assert_int_equal(world_acquire(w, BERT, 1).outcome, ACQUIRE_AGAIN);
}

RUN_STAGE(stage_start_with_debug, stage_stop, stage_clear, NULL)

/* SPDX-License-Identifier: MIT */
/* Shared resources where the server refuses: full, without the right to publish (F16),
 * at the end of all tokens, or where the name is something else. What is refused has changed
 * nothing. */

#include "tests.h"

#include <string.h>

#include "mode.h"
#include "server.h"
#include "share_story.h"

static const char *stored(void)
{
  return test_server_command(world_server(w), "DEBUG DIGEST-VALUE " WORLD_KEY);
}

static void is_refused(const char *error, resp_fault fault)
{
  if (resp_fault_of(error, strlen(error)) != fault)
    fail_msg("answered: %s", error);
}

/* ---- full ---- */

TEST(a_full_server_still_takes_back_and_hands_over)
{
  acquire_answer a;

  world_listen(w, BERT);
  world_listen(w, CARL);
  a = share_ask(w, ANNA, 'w', 1, 1);
  share_ask(w, BERT, 'r', 1, 1);
  share_ask(w, CARL, 'r', 1, 1);
  stage_fill_memory();
  assert_true(share_release(w, ANNA, &a.lease, world_time_us(w) + 10000000));
  assert_non_null(strstr(world_messages(w, BERT), "share:"));
  assert_non_null(strstr(world_messages(w, CARL), "share:"));
  a = share_ask(w, BERT, 'r', 1, 1);
  assert_int_equal(a.outcome, ACQUIRE_AGAIN);
  assert_true(share_release(w, BERT, &a.lease, 0));
  assert_int_equal(share_cancel(w, CARL, 1, 0), 1);
  assert_int_equal(share_inspect(w).used, 0);
}

TEST(a_full_server_still_renews_and_downgrades)
{
  acquire_answer a = share_ask(w, ANNA, 'w', 1, 1);

  world_listen(w, BERT);
  share_ask(w, BERT, 'r', 1, 1);
  stage_fill_memory();
  assert_int_equal(share_renew(w, ANNA, &a.lease, 40000, 'r').remaining_ms, 40000);
  assert_non_null(strstr(world_messages(w, BERT), "share:"));
  stage_empty_memory();
  world_clear(w);
  share_set(w, SHARE_SET, 3, NULL);
  a = share_ask(w, ANNA, 'p', 2, 1);
  stage_fill_memory();
  assert_int_equal(share_renew(w, ANNA, &a.lease, 40000, 'p').remaining_ms, 40000);
}

TEST(a_full_server_still_cancels_those_who_wait_and_breaks)
{
  acquire_answer a = share_ask(w, ANNA, 'w', 1, 1);

  world_listen(w, BERT);
  share_ask(w, BERT, 'r', 1, 1);
  stage_fill_memory();
  share_cancel(w, BERT, 1, 0);
  assert_int_equal(share_inspect(w).waiter_count, 0);
  assert_int_equal(share_ask(w, BERT, 'r', 1, 1).outcome, ACQUIRE_ENDED);
  assert_int_equal(share_cancel(w, CARL, 1, 0), 0);
  assert_int_equal(share_break(w, BERT, &a.lease).outcome, RELEASE_DONE);
  assert_int_equal(share_inspect(w).used, 0);
}

TEST(a_full_server_refuses_grants_places_and_counts_and_changes_nothing)
{
  share_call c = share_call_of(w, 'r', 1, 1);
  const char *before;

  world_listen(w, BERT);
  stage_fill_memory();
  is_refused(share_acquire_error(w, ANNA, &c), RESP_FAULT_REFUSED);
  is_refused(share_set_error(w, SHARE_SET, 3), RESP_FAULT_REFUSED);
  assert_string_equal(world_type(w), "none");

  stage_empty_memory();
  share_ask(w, ANNA, 'r', 1, 1);
  before = stored();
  stage_fill_memory();
  c.ask = 2;
  is_refused(share_acquire_error(w, BERT, &c), RESP_FAULT_REFUSED);
  c.mode = 'w';
  is_refused(share_acquire_error(w, BERT, &c), RESP_FAULT_REFUSED);
  assert_string_equal(stored(), before);
  /* Those who only look are answered. */
  assert_int_equal(share_try(w, BERT, 'w', 1, 3).outcome, ACQUIRE_BUSY);
  assert_string_equal(stored(), before);
}

TEST(a_full_server_refuses_another_count_before_anybody_is_let_in)
{
  const char *before;

  world_listen(w, BERT);
  share_set(w, SHARE_SET, 1, NULL);
  share_ask(w, ANNA, 'p', 1, 1);
  share_ask(w, BERT, 'p', 1, 1);
  before = stored();
  stage_fill_memory();
  is_refused(share_set_error(w, SHARE_SET, 3), RESP_FAULT_REFUSED);
  assert_string_equal(stored(), before);
  assert_string_equal(world_messages(w, BERT), "");
}

/* ---- no right to publish ---- */

TEST(who_may_not_publish_still_lets_in)
{
  acquire_answer a = share_ask(w, ANNA, 'w', 1, 1);

  world_listen(w, BERT);
  share_ask(w, BERT, 'r', 1, 1);
  assert_string_equal(test_server_command(world_server(w), "ACL SETUSER default -publish"), "OK");
  assert_true(share_release(w, ANNA, &a.lease, 0));
  assert_string_equal(test_server_command(world_server(w), "ACL SETUSER default +publish"), "OK");
  assert_string_equal(world_messages(w, BERT), "");
  assert_int_equal(share_ask(w, BERT, 'r', 1, 1).outcome, ACQUIRE_AGAIN);
}

/* ---- no right to a command ---- */

static void acl(const char *sign, const char *command)
{
  assert_string_equal(test_server_command(world_server(w), "ACL SETUSER %s %s%s", mode_user(), sign,
                                          command), "OK");
}

/* Units that no holder has would never be free again. Each look compares both. */
TEST(a_release_without_one_of_its_rights_loses_no_unit)
{
  static const char *const commands[] = { "hset", "hdel", "hmget" };

  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
    for (int waiters = 0; waiters < 2; waiters++) {
      acquire_answer a;

      world_clear(w);
      world_listen(w, BERT);
      a = share_ask(w, ANNA, 'w', 1, 1);
      if (waiters > 0)
        share_ask(w, BERT, 'w', 1, 1);
      acl("-", commands[i]);
      (void)share_release_error(w, ANNA, &a.lease);
      (void)share_cancel_error(w, ANNA, 1);
      acl("+", commands[i]);
      assert_int_equal(share_inspect(w).used, 1);
      (void)share_release(w, ANNA, &a.lease, 0);
      if (waiters > 0)
        a = share_ask(w, BERT, 'w', 1, 1);
      (void)share_release(w, waiters > 0 ? BERT : ANNA, &a.lease, 0);
      assert_int_equal(share_inspect(w).used, 0);
    }
}

/* Units that the caller does not know it has would be in use until their end. */
TEST(a_share_without_one_of_its_rights_is_not_granted_or_waited_for)
{
  static const char *const states[] = { "", "rw 1 0 0 0 - 0", "rw 1 1 0 9007199254740000 - 1" };
  static const char *const commands[] = { "pexpire", "pttl", "hset" };

  for (size_t i = 0; i < 9; i++) {
    share_call c = share_call_of(w, 'r', 1, 1);
    const char *stored_state = states[i / 3], *before;

    world_clear(w);
    world_listen(w, BERT);
    if (*stored_state != 0)
      test_server_command(world_server(w), "HSET " WORLD_KEY " s %s", stored_state);
    test_server_command(world_server(w), "PEXPIRE " WORLD_KEY " 1800000");
    before = stored();
    if (*stored_state == 0 && i % 3 == 1)
      continue;                         /* a new key has no end that could be read */
    acl("-", commands[i % 3]);
    is_refused(share_acquire_error(w, BERT, &c), RESP_FAULT_DENIED);
    acl("+", commands[i % 3]);
    assert_string_equal(stored(), before);
  }
}

/* Not as one of another type. */
TEST(a_share_that_the_user_may_not_read_is_denied)
{
  share_call c = share_call_of(w, 'w', 1, 1);
  acquire_answer a = share_ask(w, ANNA, 'r', 1, 1);

  acl("-", "hmget");
  is_refused(share_release_error(w, ANNA, &a.lease), RESP_FAULT_DENIED);
  is_refused(share_cancel_error(w, ANNA, 1), RESP_FAULT_DENIED);
  is_refused(share_acquire_error(w, BERT, &c), RESP_FAULT_DENIED);
  acl("+", "hmget");
  assert_true(share_release(w, ANNA, &a.lease, 0));
}

/* A number that is kept under a key that ends would lose the permits in use. */
TEST(a_number_of_permits_without_one_of_its_rights_is_not_set)
{
  static const char *const commands[] = { "hset", "hdel", "persist" };

  world_listen(w, BERT);
  share_set(w, SHARE_SET_IF_ABSENT, 1, NULL);
  share_ask(w, ANNA, 'p', 1, 1);
  share_ask(w, BERT, 'p', 1, 1);
  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
    const char *before = stored();

    acl("-", commands[i]);
    (void)share_set_error(w, SHARE_SET, 3);
    acl("+", commands[i]);
    assert_string_equal(stored(), before);
  }
  share_set(w, SHARE_SET, 3, NULL);
  assert_int_equal(share_inspect(w).used, 2);
  assert_int_equal(test_server_integer(world_server(w), "PTTL " WORLD_KEY), -1);
}

/* ---- tokens ---- */

TEST(tokens_that_no_clock_reaches_count_for_nothing)
{
  share_call c = share_call_of(w, 'w', 1, 1);
  uint64_t now = (uint64_t)world_time_us(w);
  acquire_answer a;

  world_listen(w, BERT);
  c.min_token = 9007199254740991u;
  a = share_send(w, ANNA, &c);
  assert_in_range(a.lease.token, now, now + 60000000);
  test_server_command(world_server(w), "HSET " WORLD_KEY " s %s",
                      "rw 9007199254740991 1 0 1 - 1");
  share_ask(w, BERT, 'r', 1, 1);
  assert_true(share_release(w, ANNA, &a.lease, 0));
  assert_non_null(strstr(world_messages(w, BERT), "share:"));
  a = share_ask(w, BERT, 'r', 1, 1);
  assert_int_equal(a.outcome, ACQUIRE_AGAIN);
  assert_in_range(a.lease.token, now, now + 60000000);
}

/* ---- the name of something else ---- */

static void check_words(const char *error, const char *words)
{
  is_refused(error, RESP_FAULT_WRONG_TYPE);
  if (strstr(error, words) == NULL)
    fail_msg("answered: %s", error);
}

/* Every call that needs a shared resource, on what is none. */
static void refuses_all(const char *words)
{
  lease_id l = { .ask = 1, .token = 2 };
  share_call c = share_call_of(w, 'r', 1, 1);
  const char *before = stored();

  memcpy(l.client, world_native(w, ANNA)->client, CLIENT_ID_SIZE);
  check_words(share_acquire_error(w, ANNA, &c), words);
  c.mode = 'p';
  check_words(share_acquire_error(w, ANNA, &c), words);
  check_words(share_set_error(w, SHARE_SET, 3), words);
  check_words(share_set_error(w, SHARE_DELETE, 0), words);
  check_words(share_release_error(w, ANNA, &l), words);
  check_words(share_cancel_error(w, ANNA, 1), words);
  assert_false(share_renew(w, ANNA, &l, 30000, 'p').is_ours);
  assert_string_equal(stored(), before);
}

TEST(a_lock_is_no_shared_resource)
{
  world_acquire(w, ANNA, 1);
  assert_string_equal(world_type(w), "string");
  refuses_all("as a lock");
  world_listen(w, BERT);
  world_acquire(w, BERT, 1);
  assert_string_equal(world_type(w), "hash");
  refuses_all("as a lock");
}

TEST(a_shared_resource_is_no_lock)
{
  acquire_call c = world_call(w, 1);
  lease_id l;

  for (int turn = 0; turn < 2; turn++) {
    const char *before;
    world_clear(w);
    if (turn == 0)
      l = share_ask(w, ANNA, 'r', 1, 1).lease;
    else if (share_set(w, SHARE_SET, 3, NULL))
      l = share_ask(w, ANNA, 'p', 1, 1).lease;
    before = stored();
    is_refused(world_acquire_error(w, BERT, &c), RESP_FAULT_WRONG_TYPE);
    is_refused(world_acquire_error(w, ANNA, &c), RESP_FAULT_WRONG_TYPE);
    is_refused(world_release_error(w, ANNA, &l), RESP_FAULT_WRONG_TYPE);
    assert_string_equal(stored(), before);
  }
}

TEST(a_semaphore_is_no_read_write_lock_nor_the_reverse)
{
  share_call c = share_call_of(w, 'r', 1, 1);

  share_set(w, SHARE_SET, 3, NULL);
  check_words(share_acquire_error(w, ANNA, &c), "as a semaphore");
  c.mode = 'w';
  check_words(share_acquire_error(w, ANNA, &c), "as a semaphore");
  share_set(w, SHARE_DELETE, 0, NULL);
  share_send(w, ANNA, &c);
  c.mode = 'p';
  check_words(share_acquire_error(w, ANNA, &c), "as a read/write lock");
  check_words(share_set_error(w, SHARE_SET_IF_ABSENT, 3), "as a read/write lock");
  check_words(share_set_error(w, SHARE_DELETE, 3), "as a read/write lock");
}

TEST(anything_else_is_refused_and_left_as_it_is)
{
  static const char *const foreign[] = {
    "SET " WORLD_KEY " hello", "SET " WORLD_KEY " =x", "RPUSH " WORLD_KEY " a",
    "SADD " WORLD_KEY " a", "HSET " WORLD_KEY " a b", "HSET " WORLD_KEY " s hello h 1 n 1",
    "HSET " WORLD_KEY " s rw", "SET " WORLD_KEY " rw",
  };

  for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
    test_server_command(world_server(w), "FLUSHALL");
    test_server_command(world_server(w), foreign[i]);
    refuses_all("not of dibs");
  }
}

RUN_STAGE(stage_start_with_debug, stage_stop, share_clear, NULL)

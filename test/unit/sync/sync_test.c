/* SPDX-License-Identifier: MIT */
/* sync: what the rows make of replies, without a server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../dialect/answer_reader.h"
#include "sync/barrier.h"
#include "sync/data.h"
#include "sync/election.h"
#include "sync/guard.h"
#include "sync/latch.h"
#include "sync/rate.h"

static sync_next next_of(sync_op *op, const char *bytes)
{
  resp_reply *r = reply_of(bytes);
  sync_next next = op->row->read(op, r);

  resp_reply_free(r);
  return next;
}

static void each_row_has_a_name_a_question_and_a_reader(void **state)
{
  (void)state;
  for (size_t i = 0; sync_rows[i] != NULL; i++) {
    const sync_row *row = sync_rows[i];

    assert_non_null(row->name);
    assert_non_null(row->ask);
    assert_non_null(row->read);
    assert_true(row->every.ns >= 0);
    assert_true(row->channel == NULL || row->every.ns > 0);
    for (size_t k = 0; k < i; k++)
      assert_string_not_equal(row->name, sync_rows[k]->name);
  }
}

static void each_row_ends_on_a_reply_of_another_form(void **state)
{
  (void)state;
  for (size_t i = 0; sync_rows[i] != NULL; i++) {
    union {
      sync_op op; latch_op latch; barrier_op barrier; election_op election; rate_op rate;
      data_list_op list; guarded_op guarded;
    } any;
    sync_next next;

    memset(&any, 0, sizeof(any));
    any.op.row = sync_rows[i];
    if (any.op.row->keeps_reply)         /* the caller reads it */
      continue;
    next = next_of(&any.op, "*1\r\n*0\r\n");

    assert_int_equal(next.what, SYNC_OVER);
    assert_int_equal(next.status, DIBS_ERR_PROTOCOL);
    assert_string_not_equal(next.message, "");
  }
}

#define ARMED(count) "*3\r\n$1\r\n" count "\r\n$0\r\n\r\n$0\r\n\r\n"
#define ARMED_AFTER_ZERO "*3\r\n$1\r\n5\r\n$2\r\n17\r\n$0\r\n\r\n"
#define ZERO "*3\r\n$0\r\n\r\n$2\r\n17\r\n$0\r\n\r\n"
#define DELETED "*3\r\n$0\r\n\r\n$0\r\n\r\n$2\r\n18\r\n"

static void an_await_ends_at_zero_and_for_a_latch_that_is_not_armed(void **state)
{
  latch_op waits = { .op.row = &latch_await_row }, late = waits, missed = waits;

  (void)state;
  assert_int_equal(next_of(&waits.op, ARMED("2")).what, SYNC_REPEAT);
  assert_int_equal(next_of(&waits.op, ARMED("1")).what, SYNC_REPEAT);
  assert_int_equal(next_of(&waits.op, ZERO).what, SYNC_OVER);
  assert_int_equal(next_of(&late.op, ZERO).what, SYNC_OVER);
  /* Zero, and armed again before the next question. */
  assert_int_equal(next_of(&missed.op, ARMED("1")).what, SYNC_REPEAT);
  assert_int_equal(next_of(&missed.op, ARMED_AFTER_ZERO).what, SYNC_OVER);
}

static void an_await_goes_on_when_the_latch_is_deleted(void **state)
{
  latch_op l = { .op.row = &latch_await_row };

  (void)state;
  assert_int_equal(next_of(&l.op, ARMED("2")).what, SYNC_REPEAT);
  assert_int_equal(next_of(&l.op, DELETED).what, SYNC_REPEAT);
}

static void a_count_and_an_await_refuse_a_key_of_another_type(void **state)
{
  static const sync_row *const rows[] = { &latch_count_row, &latch_await_row };

  (void)state;
  for (size_t i = 0; i < 2; i++) {
    latch_op l = { .op.row = rows[i] };

    assert_int_equal(next_of(&l.op, "*3\r\n$1\r\n-\r\n$0\r\n\r\n$0\r\n\r\n").status,
                     DIBS_ERR_WRONG_TYPE);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_row_has_a_name_a_question_and_a_reader),
    cmocka_unit_test(each_row_ends_on_a_reply_of_another_form),
    cmocka_unit_test(an_await_ends_at_zero_and_for_a_latch_that_is_not_armed),
    cmocka_unit_test(an_await_goes_on_when_the_latch_is_deleted),
    cmocka_unit_test(a_count_and_an_await_refuse_a_key_of_another_type),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}

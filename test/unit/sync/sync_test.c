/* SPDX-License-Identifier: MIT */
/* sync: what the rows make of replies, without a server. */

#include "tests.h"
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

TEST(each_row_has_a_name_a_question_and_a_reader)
{
  for (size_t i = 0; sync_rows[i] != NULL; i++) {
    const sync_row *row = sync_rows[i];

    assert_non_null(row->name);
    assert_non_null(row->ask);
    assert_non_null(row->read);
    assert_true(row->every.ns >= 0);
    assert_true(row->channel == NULL || row->every.ns > 0);
    assert_true(row->repeats_for.ns == 0 || row->every.ns == 0);
    for (size_t k = 0; k < i; k++)
      assert_string_not_equal(row->name, sync_rows[k]->name);
  }
}

TEST(each_row_ends_on_a_reply_of_another_form)
{
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

TEST(an_await_ends_at_zero_and_for_a_latch_that_is_not_armed)
{
  latch_op waits = { .op.row = &latch_await_row }, late = waits, missed = waits;

  assert_int_equal(next_of(&waits.op, ARMED("2")).what, SYNC_REPEAT);
  assert_int_equal(next_of(&waits.op, ARMED("1")).what, SYNC_REPEAT);
  assert_int_equal(next_of(&waits.op, ZERO).what, SYNC_OVER);
  assert_int_equal(next_of(&late.op, ZERO).what, SYNC_OVER);
  /* Zero, and armed again before the next question. */
  assert_int_equal(next_of(&missed.op, ARMED("1")).what, SYNC_REPEAT);
  assert_int_equal(next_of(&missed.op, ARMED_AFTER_ZERO).what, SYNC_OVER);
}

TEST(an_await_goes_on_when_the_latch_is_deleted)
{
  latch_op l = { .op.row = &latch_await_row };

  assert_int_equal(next_of(&l.op, ARMED("2")).what, SYNC_REPEAT);
  assert_int_equal(next_of(&l.op, DELETED).what, SYNC_REPEAT);
}

TEST(a_count_and_an_await_refuse_a_key_of_another_type)
{
  static const sync_row *const rows[] = { &latch_count_row, &latch_await_row };

  for (size_t i = 0; i < 2; i++) {
    latch_op l = { .op.row = rows[i] };

    assert_int_equal(next_of(&l.op, "*3\r\n$1\r\n-\r\n$0\r\n\r\n$0\r\n\r\n").status,
                     DIBS_ERR_WRONG_TYPE);
  }
}

/* ---- barriers ---- */

#define LOOKED "*4\r\n:5\r\n:3\r\n:0\r\n:0\r\n"
#define ARRIVED "*5\r\n:1\r\n:5\r\n:2\r\n:1\r\n:8999\r\n"
#define PASSED "*4\r\n:2\r\n:5\r\n:3\r\n:2\r\n"

#define CLIENT "AAAAAAAAAAAAAAAAAAAAAA"

static const protocol agreed = { .prefix = "dibs", .client = CLIENT };

static bool undoes(const sync_op *op)
{
  request r;
  bool does;

  request_init(&r, &reader_heap);
  does = op->row->undo(op, &agreed, &r);
  request_deinit(&r);
  return does;
}

static barrier_op awaiting(void)
{
  return (barrier_op){ .op = { .row = &barrier_await_row, .now = { 1000 } }, .name = "b",
                       .name_size = 1, .party = 1, .parties = 3 };
}

TEST(a_party_looks_then_arrives_and_asks_until_the_round_ends)
{
  barrier_op b = awaiting();
  sync_next next;

  assert_false(undoes(&b.op));           /* it has not arrived */
  assert_int_equal(next_of(&b.op, LOOKED).what, SYNC_STEP);
  assert_true(b.has_looked && b.seen.generation == 5);
  assert_true(undoes(&b.op));
  next = next_of(&b.op, ARRIVED);
  assert_int_equal(next.what, SYNC_REPEAT);
  assert_int_equal(next.at.ns, 1000 + SPAN_MS(8999).ns);
  next = next_of(&b.op, PASSED);
  assert_true(next.what == SYNC_OVER && next.status == DIBS_OK);
  assert_int_equal(b.came.arrived, 3);
}

TEST(a_round_that_no_party_broke_is_not_said_to_be_broken_by_one)
{
  barrier_op b = awaiting();
  sync_next next;

  assert_int_equal(next_of(&b.op, LOOKED).what, SYNC_STEP);
  next = next_of(&b.op, "*4\r\n:3\r\n:5\r\n:2\r\n:1\r\n");
  assert_true(next.what == SYNC_OVER && next.status == DIBS_BROKEN);
  assert_string_equal(next.message, "");             /* that of the status */
  next = next_of(&b.op, "*4\r\n:3\r\n:5\r\n:0\r\n:0\r\n");
  assert_true(next.what == SYNC_OVER && next.status == DIBS_BROKEN);
  assert_string_equal(next.message, "the round was reset, or the server lost its data");
}

static dibs_status left(barrier_op *b, dibs_status end, const char *bytes)
{
  resp_reply *r = bytes == NULL ? NULL : reply_of(bytes);
  sync_next next = b->op.row->undone(&b->op, end, r);

  resp_reply_free(r);
  return next.what == SYNC_OVER ? next.status : end;
}

TEST(the_reply_to_leaving_decides_how_a_party_ends)
{
  barrier_op b = awaiting();

  assert_int_equal(left(&b, DIBS_CANCELLED, "*1\r\n:0\r\n"), DIBS_CANCELLED);
  assert_int_equal(left(&b, DIBS_ERR_UNREACHABLE, "*1\r\n:0\r\n"), DIBS_TIMED_OUT);
  assert_int_equal(left(&b, DIBS_ERR_DENIED, NULL), DIBS_ERR_DENIED);
  b.op.may_be_done = true;
  assert_int_equal(left(&b, DIBS_TIMED_OUT, NULL), DIBS_UNKNOWN);
  b.op.may_be_done = false;
  assert_int_equal(next_of(&b.op, LOOKED).what, SYNC_STEP);
  assert_int_equal(next_of(&b.op, ARRIVED).what, SYNC_REPEAT);
  assert_int_equal(left(&b, DIBS_ERR_DENIED, NULL), DIBS_UNKNOWN);
  assert_int_equal(left(&b, DIBS_TIMED_OUT, PASSED), DIBS_OK);
}

/* ---- rate limiters ---- */

TEST(a_wait_for_permits_asks_when_the_server_said_and_cancels_what_is_under_way)
{
  rate_op r = { .op = { .row = &rate_acquire_row, .now = { 1000 } }, .name = "r",
                .name_size = 1, .call.permits = 1 };
  sync_next next;

  random_seed(&r.random, 1);
  assert_true(undoes(&r.op));            /* the first request is under way */
  next = next_of(&r.op, "*2\r\n:0\r\n:250\r\n");
  assert_int_equal(next.what, SYNC_REPEAT);
  assert_in_range(next.at.ns - 1000, SPAN_MS(250).ns, SPAN_MS(270).ns);
  assert_false(undoes(&r.op));           /* none is until then */
  r.op.now = next.at;
  assert_true(undoes(&r.op));
  assert_int_equal(next_of(&r.op, "*1\r\n:-1\r\n").status, DIBS_ERR_NOT_SET);
  next = next_of(&r.op, "*3\r\n:-2\r\n:5\r\n:1000\r\n");
  assert_string_equal(next.message, "1 permits are wanted at once; this limiter never has more "
                                    "than 5 in 1000 ms");
}

TEST(a_try_for_permits_ends_with_the_first_reply_and_cancels_what_is_under_way)
{
  rate_op r = { .op = { .row = &rate_try_row, .now = { 1000 } }, .name = "r", .name_size = 1,
                .call.permits = 1 };
  sync_next next;

  assert_true(undoes(&r.op));
  next = next_of(&r.op, "*2\r\n:0\r\n:250\r\n");
  assert_true(next.what == SYNC_OVER && next.status == DIBS_BUSY);
  assert_int_equal(r.answer.wait_ms, 250);
}

/* ---- observers ---- */

#define LED_AT(ms) "*8\r\n:1700000000000001\r\n:1\r\n$26\r\n" CLIENT ":1:5\r\n" \
                   ":" ms "\r\n:30000\r\n:4\r\n$0\r\n\r\n$0\r\n\r\n"
#define LED LED_AT("20000")

TEST(an_observer_has_news_of_changes_and_believes_its_own_clock)
{
  election_op e = { .op = { .row = &election_observe_row, .now = { 1000 } } };
  sync_next next;

  next = next_of(&e.op, LED);
  assert_true(next.what == SYNC_REPEAT && next.is_news && e.state.is_led);
  assert_int_equal(next.at.ns, 1000 + SPAN_MS(20001).ns);
  assert_false(next_of(&e.op, LED).is_news);
  /* Not renewed for its whole length, though the server's clock shows a rest. */
  e.op.now.ns += SPAN_MS(30305).ns;
  next = next_of(&e.op, LED);
  assert_true(next.is_news && !e.state.is_led);
}

/* The fence of the last publication, of a lease with the token 5. */
#define LED_AFTER(fence) "*8\r\n:1700000000000001\r\n:1\r\n$26\r\n" CLIENT ":1:5\r\n" \
                         ":20000\r\n:30000\r\n:4\r\n$4\r\n" fence "\r\n$0\r\n\r\n"

TEST(an_empty_value_that_is_published_is_another_state_than_none)
{
  election_op e = { .op = { .row = &election_observe_row, .now = { 1000 } } };

  assert_false(e.state.is_known);
  assert_true(next_of(&e.op, LED_AFTER("4096")).is_news);      /* the leader before published */
  assert_true(e.state.is_known && e.state.is_led && !e.state.is_published);
  assert_true(next_of(&e.op, LED_AFTER("5120")).is_news);
  assert_true(e.state.is_led && e.state.is_published);
  assert_int_equal(e.state.value_size, 0);
  assert_false(next_of(&e.op, LED_AFTER("5120")).is_news);
}

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* Stories of operations that one reply ends: for how long a request whose reply is lost is sent
 * again. */
#include "tests.h"

#include "base/plain_memory.h"
#include "peer.h"
#include "sync/command.h"
#include "sync/guard.h"
#include "sync/latch.h"
#include "sync/rate.h"

#define READ_ONLY "-READONLY You can't write against a read only replica."

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };

typedef union any_op {
  sync_op op;
  latch_op latch;
  rate_op rate;
  guarded_op guarded;
} any_op;

typedef struct change {
  const sync_row *row;
  const char *command, *reply;
  int64_t kept_ms;                     /* the server keeps its reply for that long */
} change;

static const change changes[] = {
  { &latch_set_row, "latch_set*", "'1", MINUTE },
  { &latch_down_row, "latch_down*", "'9", MINUTE },
  { &latch_delete_row, "latch_delete*", "'1", MINUTE },
  { &rate_set_row, "rate_set*", "'1", MINUTE },
  { &rate_delete_row, "rate_delete*", "'1", MINUTE },
  { &rate_release_row, "rate_release*", "'1", MINUTE },
  { &guarded_write_row, "guarded_incr*", "[1 '5]", HOUR },
};

static void fill(any_op *a, const sync_row *row)
{
  *a = (any_op){ .op = { 0 } };
  if (row == &guarded_write_row) {
    a->guarded.kind = GUARDED_INCR;
    a->guarded.call = (guard_call){ .key = "n", .key_size = 1, .fence = 7, .number = 1 };
    a->guarded.by = 1;
  } else if (row == &rate_set_row || row == &rate_delete_row || row == &rate_release_row) {
    a->rate.name[0] = 'n';
    a->rate.name_size = 1;
    a->rate.call.permits = 1;
  } else {
    a->latch.call = (latch_call){ .name = "n", .name_size = 1, .number = 1, .count = 1 };
  }
  a->op.row = row;
}

/* "a" is under way, with a limit of `limit_ms`. */
static struct peer *sent(any_op *a, const change *c, int64_t limit_ms)
{
  struct peer *p = peer_new();

  fill(a, c->row);
  a->op.give_up_at = instant_add(peer_now(p), SPAN_MS(limit_ms));
  peer_run(p, "a", &a->op);
  peer_connect(p, 0);
  peer_expect(p, c->command);
  return p;
}

/* Its reply is lost, and the connection stays away for so long. */
static struct peer *lost(any_op *a, const change *c, int64_t limit_ms, int64_t ms)
{
  struct peer *p = sent(a, c, limit_ms);

  peer_break(p, 0);
  peer_advance_ms(p, ms);
  return p;
}

static void ends_in_doubt(struct peer *p)
{
  if (peer_wants(p, 0))
    peer_connect(p, 0);
  peer_expect_nothing(p);
  peer_expect_told(p, "over a DIBS_UNKNOWN");
  peer_free(p);
}

TEST(a_lost_reply_is_asked_for_again_while_the_server_keeps_it)
{
  for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
    any_op a;
    struct peer *p = lost(&a, &changes[i], 2 * HOUR, changes[i].kept_ms * 5 / 6);

    peer_expect_told_nothing(p);
    peer_connect(p, 0);
    peer_serve(p, changes[i].command, "%s", changes[i].reply);
    peer_expect_told(p, "over a DIBS_OK");
    peer_free(p);
  }
}

TEST(a_change_that_the_server_may_have_forgotten_is_not_sent_again)
{
  for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
    any_op a;

    ends_in_doubt(lost(&a, &changes[i], 2 * HOUR, changes[i].kept_ms));
  }
}

/* Each copy may have been the one that was executed: the time is that of the first. */
TEST(a_second_lost_copy_does_not_lengthen_that)
{
  any_op a;
  struct peer *p = lost(&a, &changes[1], HOUR, 40 * SECOND);

  peer_connect(p, 0);
  peer_expect(p, "latch_down*");
  peer_break(p, 0);
  peer_advance_ms(p, 20 * SECOND);
  ends_in_doubt(p);
}

TEST(a_change_that_was_sent_before_the_client_closes_is_in_doubt)
{
  for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
    any_op a;
    struct peer *p = sent(&a, &changes[i], HOUR);

    engine_close(peer_engine(p), peer_now(p));
    peer_advance_ms(p, 1);
    peer_expect_told(p, "over a DIBS_UNKNOWN");
    peer_free(p);
  }
}

TEST(a_change_that_was_not_sent_ends_with_the_client)
{
  for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
    any_op a;
    struct peer *p = peer_new();

    fill(&a, changes[i].row);
    a.op.give_up_at = instant_add(peer_now(p), SPAN_MS(HOUR));
    peer_run(p, "a", &a.op);
    engine_close(peer_engine(p), peer_now(p));
    peer_advance_ms(p, 1);
    peer_expect_told(p, "over a DIBS_ERR_CLOSED");
    peer_free(p);
  }
}

/* The refusal is about the second copy only. */
TEST(a_change_without_a_reply_that_is_refused_later_is_in_doubt)
{
  static const char *const refusals[] = {
    "-NOPERM this user has no permissions to run the 'evalsha' command",
    READ_ONLY,
  };

  for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
    for (size_t k = 0; k < sizeof(refusals) / sizeof(refusals[0]); k++) {
      any_op a;
      struct peer *p = lost(&a, &changes[i], HOUR, 1);

      peer_connect(p, 0);
      peer_serve(p, changes[i].command, "%s", refusals[k]);
      peer_expect_told(p, "over a DIBS_UNKNOWN");
      peer_free(p);
    }
}

TEST(a_change_without_a_reply_whose_client_is_not_admitted_any_more_is_in_doubt)
{
  for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
    any_op a;
    struct peer *p = sent(&a, &changes[i], HOUR);

    peer_break_why(p, 0, DIBS_ERR_AUTH, "WRONGPASS");
    peer_advance_ms(p, 0);
    peer_expect_told(p, "over a DIBS_UNKNOWN");
    peer_free(p);
  }
}

/* It changes nothing: what counts is why there is no reply. */
TEST(a_question_without_a_reply_whose_client_is_not_admitted_any_more_has_that_status)
{
  const resp_argument words[] = { RESP_TEXT("EXISTS"), RESP_TEXT("n") };
  const memory plain = PLAIN_MEMORY;
  struct peer *p = peer_new();
  command_op question = { .op = { .row = &command_row } };
  request k;

  request_init(&k, &plain);
  assert_true(request_command(&k, words, 2));
  question.command = &k;
  question.op.give_up_at = instant_add(peer_now(p), SPAN_MS(HOUR));
  peer_run(p, "a", &question.op);
  request_deinit(&k);
  peer_connect(p, 0);
  peer_expect(p, "EXISTS n");
  peer_break_why(p, 0, DIBS_ERR_AUTH, "WRONGPASS");
  peer_advance_ms(p, 0);
  peer_expect_told(p, "answered a DIBS_ERR_AUTH");
  peer_free(p);
}

TEST(what_was_refused_alone_has_the_status_of_the_refusal)
{
  any_op a;
  struct peer *p = sent(&a, &changes[1], HOUR);

  peer_answer(p, "-NOPERM this user has no permissions to run the 'evalsha' command");
  peer_expect_told(p, "over a DIBS_ERR_DENIED");
  peer_free(p);
}

static void count_down(struct peer *p, const char *label, any_op *a)
{
  fill(a, &latch_down_row);
  a->op.give_up_at = instant_add(peer_now(p), SPAN_MS(HOUR));
  peer_run(p, label, &a->op);
}

TEST(a_replica_that_refuses_a_change_is_left)
{
  any_op a, b;
  struct peer *p = sent(&a, &changes[1], HOUR);

  peer_answer(p, READ_ONLY);
  peer_expect_told(p, "over a DIBS_ERR_READ_ONLY");
  count_down(p, "b", &b);
  peer_advance_ms(p, 100);
  assert_true(peer_wants(p, 0));
  peer_free(p);
}

/* What the replica got before it was left is not in doubt; what comes later waits for a primary. */
TEST(a_replica_is_left_when_it_has_refused_all_that_was_sent)
{
  any_op a, b, c;
  struct peer *p = sent(&a, &changes[1], HOUR);

  count_down(p, "b", &b);
  peer_expect(p, "latch_down*");
  peer_answer(p, READ_ONLY);
  peer_expect_told(p, "over a DIBS_ERR_READ_ONLY");
  count_down(p, "c", &c);
  peer_expect_nothing(p);
  peer_answer(p, READ_ONLY);
  peer_expect_told(p, "over b DIBS_ERR_READ_ONLY");
  peer_advance_ms(p, 100);
  peer_connect(p, 0);
  peer_serve(p, "latch_down*", "'9");
  peer_expect_told(p, "over c DIBS_OK");
  peer_free(p);
}

/* It may have stopped: a renewal that is overdue needs another connection. */
TEST(a_replica_that_does_not_answer_a_renewal_is_left_before_the_lease_ends)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 3 * SECOND });

  peer_advance_ms(p, 600);
  peer_lock(p, "b", (struct wish){ .name = "m" });
  peer_expect(p, "acquire*");
  peer_advance_to_command(p);
  peer_expect(p, "renew*");
  peer_answer(p, READ_ONLY);                 /* to the acquire; none comes to the renewal */
  while (!peer_wants(p, 0))
    peer_advance_ms(p, 10);
  assert_true(peer_valid_ms(p, "a") > 1 * SECOND);
  peer_free(p);
}

/* Nothing more is sent to it, and so no renewal could be overdue. */
TEST(a_replica_that_does_not_answer_is_left_when_a_renewal_would_be_overdue)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 3 * SECOND });

  peer_advance_ms(p, 600);
  peer_lock(p, "b", (struct wish){ .name = "m" });
  peer_expect(p, "acquire*");
  peer_lock(p, "c", (struct wish){ .name = "k" });
  peer_expect(p, "acquire*");
  peer_answer(p, READ_ONLY);                 /* to the first; none comes to the second */
  while (!peer_wants(p, 0))
    peer_advance_ms(p, 10);
  assert_true(peer_valid_ms(p, "a") > 1 * SECOND);
  peer_free(p);
}

/* A change that writes nothing there, as a fenced one, has a result from a replica. */
TEST(a_replica_whose_other_replies_are_good_is_asked_less_and_less_often)
{
  struct peer *p = peer_asked((struct wish){ 0 });
  any_op a;
  int opened = 0;

  for (int ms = 0; ms < 3 * SECOND; ms++) {
    if (peer_try_expect(p, "acquire*")) {
      count_down(p, "b", &a);
      peer_expect(p, "latch_down*");
      peer_answer(p, READ_ONLY);
      peer_answer(p, "'9");
      peer_expect_told(p, "over b DIBS_OK");
    }
    peer_advance_ms(p, 1);
    if (peer_wants(p, 0)) {
      peer_connect(p, 0);
      opened++;
    }
  }
  assert_in_range(opened, 2, 20);
  peer_free(p);
}

/* Each time by another connection. */
static struct peer *refused_and_taken(any_op *a, int refusals)
{
  struct peer *p = sent(a, &changes[1], HOUR);

  for (int i = 0; i < refusals; i++) {
    peer_answer(p, READ_ONLY);
    peer_expect_told(p, "over a DIBS_ERR_READ_ONLY");
    count_down(p, "a", a);
    peer_advance_ms(p, 2 * SECOND);
    peer_connect(p, 0);
    peer_expect(p, "latch_down*");
  }
  peer_answer(p, "'9");
  peer_expect_told(p, "over a DIBS_OK");
  return p;
}

TEST(a_server_that_takes_changes_again_is_asked_again_at_once_after_a_lost_connection)
{
  any_op a, b;
  struct peer *p = refused_and_taken(&a, 4);

  count_down(p, "b", &b);
  peer_expect(p, "latch_down*");
  peer_break(p, 0);
  peer_advance_ms(p, 0);
  assert_true(peer_wants(p, 0));
  peer_free(p);
}

/* One address of several servers: at the second failover it is asked as soon as at the first. */
TEST(a_server_that_took_changes_for_a_while_is_left_as_for_the_first_time)
{
  any_op a, b;
  struct peer *p = refused_and_taken(&a, 6);

  peer_advance_ms(p, 2 * SECOND);
  count_down(p, "b", &b);
  peer_expect(p, "latch_down*");
  peer_answer(p, READ_ONLY);
  peer_expect_told(p, "over b DIBS_ERR_READ_ONLY");
  count_down(p, "a", &a);
  peer_advance_ms(p, 100);
  assert_true(peer_wants(p, 0));
  peer_free(p);
}

TEST(what_was_only_refused_has_its_whole_limit)
{
  any_op a;
  struct peer *p = sent(&a, &changes[1], HOUR);

  for (int i = 0; i < 300; i++) {
    peer_answer(p, "-LOADING Redis is loading the dataset in memory");
    peer_advance_ms(p, 500);
    peer_expect(p, "latch_down*");
  }
  peer_break(p, 0);
  peer_advance_ms(p, 40 * SECOND);
  peer_connect(p, 0);
  peer_serve(p, "latch_down*", "'9");
  peer_expect_told(p, "over a DIBS_OK");
  peer_free(p);
}

RUN_TESTS(NULL, NULL)

/* SPDX-License-Identifier: MIT */
/* sync/barrier.c - barriers: rounds in which parties wait for each other. */
#include "sync/barrier.h"

static const barrier_op *asking(const sync_op *op)
{
  return (const barrier_op *)(const void *)op;
}

static barrier_op *reading(sync_op *op)
{
  return (barrier_op *)(void *)op;
}

/* ---- look, reset ---- */

static bool look_ask(const sync_op *op, const protocol *p, request *out)
{
  const barrier_op *b = asking(op);

  return native_barrier_look(p, out, b->name, b->name_size);
}

static sync_next look_read(sync_op *op, const resp_reply *reply)
{
  if (!native_barrier_look_answer(reply, &reading(op)->seen))
    return sync_over(DIBS_ERR_PROTOCOL, "unexpected reply to the script barrier_look");
  return sync_over(DIBS_OK, "");
}

const sync_row barrier_look_row = { .name = "barrier.look", .only_reads = true,
                                    .ask = look_ask, .read = look_read };

static bool reset_ask(const sync_op *op, const protocol *p, request *out)
{
  const barrier_op *b = asking(op);

  return native_barrier_reset(p, out, b->name, b->name_size, b->seen.generation);
}

static sync_next reset_read(sync_op *op, const resp_reply *reply)
{
  (void)op;
  if (!native_barrier_reset_answer(reply))
    return sync_over(DIBS_ERR_PROTOCOL, "unexpected reply to the script barrier_reset");
  return sync_over(DIBS_OK, "");
}

const sync_row barrier_reset_row = { .name = "barrier.reset", .ask = reset_ask,
                                     .read = reset_read };

/* ---- await ---- */

static barrier_call call_of(const sync_op *op)
{
  const barrier_op *b = asking(op);

  return (barrier_call){ .name = b->name, .name_size = b->name_size, .party = b->party,
                         .parties = b->parties, .generation = b->seen.generation,
                         .silence_ms = BARRIER_SILENCE_MS };
}

static bool await_ask(const sync_op *op, const protocol *p, request *out)
{
  barrier_call c = call_of(op);

  return asking(op)->has_looked ? native_barrier_arrive(p, out, &c) : look_ask(op, p, out);
}

static const char *other_parties(barrier_op *b, uint32_t parties)
{
  text why = text_over(b->why, sizeof(b->why));

  text_format(&why, "parties is %u; the barrier in use has %u", b->parties, parties);
  return b->why;
}

/* In a round that a party broke some have arrived. */
static sync_next round_broken(const barrier_answer *a)
{
  return sync_over(DIBS_BROKEN,
                   a->arrived > 0 ? "" : "the round was reset, or the server lost its data");
}

static sync_next arrive_read(barrier_op *b, const resp_reply *reply)
{
  barrier_answer a;

  if (!native_barrier_arrive_answer(reply, &a))
    return sync_over(DIBS_ERR_PROTOCOL, "unexpected reply to the script barrier_arrive");
  b->came = a;
  switch (a.outcome) {
  case BARRIER_WAITING:
    return sync_repeat_at(instant_add(b->op.now, span_ms(a.look_ms)));
  case BARRIER_PASSED:
    return sync_over(DIBS_OK, "");
  case BARRIER_BROKEN:
    return round_broken(&a);
  case BARRIER_OTHER:
    return sync_over(DIBS_ERR_ARGUMENT, other_parties(b, a.arrived));
  case BARRIER_LATE:
  case BARRIER_NONE:
    break;
  }
  return sync_over(DIBS_UNKNOWN, "too many rounds have ended since: the server no longer has the "
                                 "record of this call");
}

static sync_next await_read(sync_op *op, const resp_reply *reply)
{
  barrier_op *b = reading(op);
  sync_next next;

  if (b->has_looked)
    return arrive_read(b, reply);
  next = look_read(op, reply);
  if (next.status != DIBS_OK)
    return next;
  b->has_looked = true;
  return sync_step();
}

static void await_channel(const sync_op *op, const protocol *p, text *out)
{
  const barrier_op *b = asking(op);

  native_barrier_channel(p, b->name, b->name_size, out);
}

static bool await_undo(const sync_op *op, const protocol *p, request *out)
{
  barrier_call c = call_of(op);

  return asking(op)->has_looked && native_barrier_leave(p, out, &c);
}

/* The round may have ended before; or the server did not confirm that this party left. */
static sync_next await_undone(sync_op *op, dibs_status end, const resp_reply *reply)
{
  barrier_answer a;

  if (reply == NULL && !op->may_be_done && reading(op)->came.outcome != BARRIER_WAITING)
    return sync_repeat();                /* its arrival was refused, or not sent */
  if (reply == NULL || !native_barrier_leave_answer(reply, &a))
    return sync_over(DIBS_UNKNOWN,
                     "the server has not confirmed that this party leaves: for 9 s the "
                     "other parties may still be released with it");
  if (a.outcome != BARRIER_PASSED && a.outcome != BARRIER_BROKEN)
    return end < 0 ? sync_over(DIBS_TIMED_OUT, "")  /* the limit expired before this reply */
                   : sync_repeat();
  reading(op)->came = a;
  return a.outcome == BARRIER_PASSED ? sync_over(DIBS_OK, "") : round_broken(&a);
}

const sync_row barrier_await_row = { .name = "barrier.await",
                                     .every = { BARRIER_EVERY_MS * INT64_C(1000000) },
                                     .ask = await_ask, .read = await_read,
                                     .channel = await_channel, .undo = await_undo,
                                     .undone = await_undone };

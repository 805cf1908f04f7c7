/* SPDX-License-Identifier: MIT */
/* sync/latch.c - count-down latches: arming, counting, and waiting for zero. */
#include "sync/latch.h"

#define NO_COUNT "the key of this name does not hold a count"
#define ODD_REPLY "unexpected reply to a latch script"

static const latch_op *asking(const sync_op *op)
{
  return (const latch_op *)(const void *)op;
}

static latch_op *reading(sync_op *op)
{
  return (latch_op *)(void *)op;
}

/* ---- set, down, delete ---- */

static bool set_ask(const sync_op *op, const protocol *p, request *out)
{
  return native_latch_set(p, out, &asking(op)->call);
}

static sync_next set_read(sync_op *op, const resp_reply *reply)
{
  bool was_armed;

  (void)op;
  if (!native_latch_set_answer(reply, &was_armed))
    return sync_over(DIBS_ERR_PROTOCOL, ODD_REPLY);
  return was_armed ? sync_over(DIBS_BUSY, "the latch is armed already, and was not changed")
                   : sync_over(DIBS_OK, "");
}

const sync_row latch_set_row = { .name = "latch.set", .repeats_for = SYNC_REPEATS_FOR,
                                 .ask = set_ask, .read = set_read };

static bool down_ask(const sync_op *op, const protocol *p, request *out)
{
  return native_latch_down(p, out, &asking(op)->call);
}

static sync_next down_read(sync_op *op, const resp_reply *reply)
{
  latch_op *l = reading(op);

  if (!native_latch_down_answer(reply, &l->left))
    return sync_over(DIBS_ERR_PROTOCOL, ODD_REPLY);
  if (l->left < 0)
    return sync_over(DIBS_ERR_NOT_SET, "the latch is not armed; see dibs_latch_set()");
  return sync_over(DIBS_OK, "");
}

const sync_row latch_down_row = { .name = "latch.down", .repeats_for = SYNC_REPEATS_FOR,
                                  .ask = down_ask, .read = down_read };

static bool delete_ask(const sync_op *op, const protocol *p, request *out)
{
  return native_latch_delete(p, out, &asking(op)->call);
}

static sync_next delete_read(sync_op *op, const resp_reply *reply)
{
  sync_next next = set_read(op, reply);

  return next.status == DIBS_BUSY ? sync_over(DIBS_OK, "") : next;     /* it was not armed */
}

const sync_row latch_delete_row = { .name = "latch.delete", .repeats_for = SYNC_REPEATS_FOR,
                                    .ask = delete_ask, .read = delete_read };

/* ---- count, await ---- */

static bool look_ask(const sync_op *op, const protocol *p, request *out)
{
  const latch_call *c = &asking(op)->call;

  return native_latch_look(p, out, c->name, c->name_size);
}

static sync_next look_read(const resp_reply *reply, latch_state *ret)
{
  if (!native_latch_look_answer(reply, ret))
    return sync_over(DIBS_ERR_PROTOCOL, "unexpected reply to latch_look");
  return ret->is_number ? sync_over(DIBS_OK, "") : sync_over(DIBS_ERR_WRONG_TYPE, NO_COUNT);
}

static sync_next count_read(sync_op *op, const resp_reply *reply)
{
  latch_state state = { 0 };
  sync_next next = look_read(reply, &state);

  reading(op)->left = state.left;
  return next;
}

const sync_row latch_count_row = { .name = "latch.count", .only_reads = true, .ask = look_ask,
                                   .read = count_read };

/* The latch may have reached zero and be armed again: the time of the last zero shows
 * that. A latch deleted since it was seen armed has not reached zero. */
static bool is_released(latch_op *l, const latch_state *s)
{
  bool was_zeroed = l->was_armed && s->zeroed_us != 0 && s->zeroed_us != l->zeroed_us;
  bool is_gone = s->left == 0;
  bool was_deleted = l->was_armed && s->deleted_us != 0 && s->deleted_us != l->deleted_us;

  if (was_zeroed || (is_gone && !was_deleted))
    return true;
  if (!is_gone)
    l->deleted_us = s->deleted_us;
  if (!l->was_armed)
    l->zeroed_us = s->zeroed_us;
  l->was_armed = true;
  return false;
}

static sync_next await_read(sync_op *op, const resp_reply *reply)
{
  latch_state state;
  sync_next next = look_read(reply, &state);

  return next.status != DIBS_OK || is_released(reading(op), &state) ? next : sync_repeat();
}

static void await_channel(const sync_op *op, const protocol *p, text *out)
{
  const latch_call *c = &asking(op)->call;

  native_latch_channel(p, c->name, c->name_size, out);
}

const sync_row latch_await_row = { .name = "latch.await", .every = { 3000000000 },
                                   .only_reads = true, .ask = look_ask, .read = await_read,
                                   .channel = await_channel };

/* SPDX-License-Identifier: MIT */
/* sync/barrier.c - looking at a barrier, and resetting it. */
#include "sync/barrier.h"

static bool look_ask(const sync_op *op, const protocol *p, request *out)
{
  const barrier_op *b = (const barrier_op *)(const void *)op;

  return native_barrier_look(p, out, b->name, b->name_size);
}

static sync_next look_read(sync_op *op, const resp_reply *reply)
{
  barrier_op *b = (barrier_op *)(void *)op;

  if (!native_barrier_look_answer(reply, &b->seen))
    return sync_over(DIBS_ERR_PROTOCOL, "unexpected reply to the script barrier_look");
  return sync_over(DIBS_OK, "");
}

const sync_row barrier_look_row = { .name = "barrier.look", .only_reads = true,
                                    .ask = look_ask, .read = look_read };

static bool reset_ask(const sync_op *op, const protocol *p, request *out)
{
  const barrier_op *b = (const barrier_op *)(const void *)op;

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

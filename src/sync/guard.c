/* SPDX-License-Identifier: MIT */
/* sync/guard.c - guarded writes: their requests and replies. */
#include "sync/guard.h"

static bool write_ask(const sync_op *op, const protocol *p, request *out)
{
  const guarded_op *g = (const guarded_op *)(const void *)op;

  switch (g->kind) {
  case GUARDED_SET:
    return native_guarded_set(p, out, &g->call, g->value, g->ttl_ms);
  case GUARDED_HSET:
    return native_guarded_hset(p, out, &g->call, g->arguments, g->count);
  case GUARDED_HDEL:
    return native_guarded_hdel(p, out, &g->call, g->arguments, g->count);
  case GUARDED_DEL:
    return native_guarded_del(p, out, &g->call);
  case GUARDED_INCR:
    break;
  }
  return native_guarded_incr(p, out, &g->call, g->by);
}

static sync_next write_read(sync_op *op, const resp_reply *reply)
{
  guarded_op *g = (guarded_op *)(void *)op;
  guard_outcome came;

  g->is_settled = true;
  if (!native_guard_answer(reply, &came, g->kind == GUARDED_INCR ? &g->sum : NULL))
    return sync_over(DIBS_ERR_PROTOCOL, "unexpected reply to a guarded write");
  g->is_written = came == GUARD_WRITTEN;
  if (came == GUARD_LATE)
    return sync_over(DIBS_UNKNOWN, "the server treats this write as a late copy");
  return sync_over(came == GUARD_FENCED ? DIBS_FENCED : DIBS_OK, "");
}

static bool write_denies(sync_op *op, const resp_node *error)
{
  guarded_op *g = (guarded_op *)(void *)op;

  if (g->kind == GUARDED_INCR && native_guard_denies(error))
    g->is_settled = true;
  return g->is_settled;
}

/* The server keeps sums for an hour: lua/native/guarded_incr.lua. */
const sync_row guarded_write_row = { .name = "guarded.write", .repeats_for = { 3500000000000 },
                                     .ask = write_ask, .read = write_read,
                                     .denies = write_denies };

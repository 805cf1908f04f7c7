/* SPDX-License-Identifier: MIT */
/* engine/ops.c - runs operations of sync/: one that is asked once as an ask, one that is
 * repeated as an observation. */
#include "engine/internal.h"

#include <assert.h>

dibs_status engine_run(engine *e, sync_op *op, instant now, uint64_t *ret_id)
{
  return op->row->every.ns == 0 ? ask_run(e, op, now, ret_id)
                                : observe_begin(e, op, now, ret_id);
}

bool engine_is_in_doubt(const engine *e, uint64_t id)
{
  const ask *a = slots_get(&e->ask_slots, id);

  return a != NULL && !a->op->row->only_reads && (a->state != ASK_OPEN || a->was_lost);
}

bool engine_stop(engine *e, uint64_t id, instant now)
{
  ask *a = slots_get(&e->ask_slots, id);

  if (a == NULL)
    return false;
  if (a->observation != NULL) {
    observe_end(e, a->observation, now);
  } else {
    ask_stop(e, a);
    engine_advance(e, now);
  }
  return true;
}

sync_next op_read(const engine *e, ask *a)
{
  sync_next next;

  a->op->now = e->now;
  next = a->op->row->read(a->op, a->reply);
  assert(next.what == SYNC_OVER || a->observation != NULL);
  if (!a->op->row->keeps_reply)
    a->reply = resp_reply_free(a->reply);
  a->is_decided = next.what == SYNC_OVER;
  if (next.what == SYNC_REPEAT && a->op->is_single)
    next = sync_over(DIBS_TIMED_OUT, "");
  return next;
}

void op_effect(engine *e, ask *a, effect *ret)
{
  bool has_reply = a->op->row->keeps_reply;
  dibs_status status = a->status;

  if (status == DIBS_UNKNOWN && a->op->row->only_reads)
    status = DIBS_ERR_UNREACHABLE;
  *ret = (effect){ .kind = has_reply ? EFFECT_ANSWERED : EFFECT_OP_OVER,
                   .context = a->op->context, .id = a->id, .status = status,
                   .is_decided = a->is_decided, .was_lost = a->was_lost, .reply = a->reply };
  a->reply = NULL;
  ret->text = engine_words(e, a->words);
}

/* SPDX-License-Identifier: MIT */
/* sync/data.c - waits for an element of a list. Where Java adds one, no channel has a message:
 * so the size is polled, a request that may be repeated. */
#include "sync/data.h"

#define SOON_MS 10
#define LATE_MS 250

static bool list_ask(const sync_op *op, const protocol *p, request *out)
{
  data_call c = { .verb = DATA_LIST_SIZE, .name = ((const data_list_op *)(const void *)op)->name };

  return data_encode(p, out, &c);
}

/* Half of the pause is random, from the digits of the clock: callers that began together
 * separate. */
static instant ask_again_at(data_list_op *l)
{
  int64_t pause_ms = l->pause_ms > 0 ? l->pause_ms : SOON_MS;
  int64_t half_ns = SPAN_MS(pause_ms).ns / 2;

  l->pause_ms = pause_ms * 2 < LATE_MS ? pause_ms * 2 : LATE_MS;
  return instant_add(l->op.now, (span){ half_ns + l->op.now.ns % half_ns });
}

static sync_next list_read(sync_op *op, const resp_reply *reply)
{
  int64_t size;

  if (!data_integer_answer(reply, &size))
    return sync_over(DIBS_ERR_PROTOCOL, "unexpected reply to LLEN");
  return size > 0 ? sync_over(DIBS_OK, "")
                  : sync_repeat_at(ask_again_at((data_list_op *)(void *)op));
}

const sync_row data_list_await_row = { .name = "data.list_await",
                                       .every = { LATE_MS * INT64_C(1000000) },
                                       .only_reads = true, .ask = list_ask,
                                       .read = list_read };

/* SPDX-License-Identifier: MIT */
/* sync/command.c - a request that the caller has made. */
#include "sync/command.h"

static bool command_ask(const sync_op *op, const protocol *p, request *out)
{
  (void)p;
  return request_copy(out, ((const command_op *)(const void *)op)->command);
}

static sync_next command_read(sync_op *op, const resp_reply *reply)
{
  (void)op;
  (void)reply;
  return sync_over(DIBS_OK, "");
}

const sync_row command_row = { .name = "command", .keeps_reply = true, .ask = command_ask,
                               .read = command_read };

/* SPDX-License-Identifier: MIT */
/* api/call.c - calls that run one operation of sync/. */
#include "api/call.h"

#include <stdalign.h>
#include <stddef.h>
#include <string.h>

typedef struct call {
  wait wait;
  call_end to;
  alignas(max_align_t) char op[];    /* its own copy */
} call;

static const wait_plan one_call = { 0 };

static void report(wait *w, const dibs_error *error)
{
  const call *k = (const call *)(const void *)w;

  k->to.deliver(&k->to, w->op, error);
}

static const wait_kind blocking_kind = { 0 };
static const wait_kind async_kind = { .report = report };

dibs_status call_blocking(client_record *c, sync_op *op, const wait_plan *plan)
{
  wait *w = wait_new(c, &blocking_kind, sizeof(*w));    /* not on the stack: a forked child
                                                           frees those of other threads */
  dibs_status status;

  if (w == NULL)
    return DIBS_ERR_NO_MEMORY;
  w->op = op;
  status = wait_blocking(w, plan != NULL ? plan : &one_call);
  (void)wait_free(w);
  return status;
}

dibs_status call_async(client_record *c, const sync_op *op, size_t size, const wait_plan *plan,
                       const call_end *to, dibs_request **ret_request)
{
  wait *w;
  call *k;

  if (to->callback == NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "callback is NULL");
  w = wait_new(c, &async_kind, sizeof(call) + size);
  k = (call *)(void *)w;
  if (w == NULL)
    return DIBS_ERR_NO_MEMORY;
  k->to = *to;
  memcpy(k->op, op, size);
  w->op = (sync_op *)(void *)k->op;
  return wait_async(w, plan != NULL ? plan : &one_call, ret_request);
}

void call_deliver_status(const call_end *to, const sync_op *op, const dibs_error *error)
{
  (void)op;
  ((dibs_wait_callback)to->callback)(error, to->data);
}

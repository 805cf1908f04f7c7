/* SPDX-License-Identifier: MIT */
/* api/latch.c - count-down latches: arguments of sync/latch.h. */
#include "api/call.h"

#include <dibs/latch.h>
#include <string.h>

#include "sync/latch.h"

#define COUNT_MAX ((int64_t)1 << 53)

/* ---- one request ---- */

static dibs_status prepare(client_record *c, const char *name, latch_op *l, const char *fault)
{
  dibs_status status;

  l->call.name = name;
  l->call.name_size = name == NULL ? 0 : strnlen(name, DIBS_NAME_MAX + 1);
  status = name_check(c, l->call.name, l->call.name_size);
  if (status == DIBS_OK && fault != NULL)
    status = client_refuse(c, DIBS_ERR_ARGUMENT, fault);
  if (status == DIBS_OK)
    status = one_place_check(c);
  drive_lock(c->drive);
  l->call.number = ++c->latch_number;
  drive_unlock(c->drive);
  return status;
}

/* `fault`: NULL, or why the arguments are refused. */
static dibs_status run(dibs_client *client, const char *name, latch_op *l, const char *fault)
{
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  if (status != DIBS_OK)
    return status;
  status = prepare(c, name, l, fault);
  if (status == DIBS_OK)
    status = call_blocking(c, &l->op, NULL);
  return client_end(c, status);
}

/* What the op borrows is in its request when this returns. */
static dibs_status run_async(dibs_client *client, const char *name, latch_op *l,
                             const char *fault, const call_end *to, dibs_request **ret_request)
{
  client_record *c;
  dibs_status status = client_begin(client, false, &c);

  if (status != DIBS_OK)
    return status;
  status = prepare(c, name, l, fault);
  if (status == DIBS_OK)
    status = call_async(c, &l->op, sizeof(*l), NULL, to, ret_request);
  return client_end(c, status);
}

static void deliver_left(const call_end *to, const sync_op *op, const dibs_error *error)
{
  const latch_op *l = (const latch_op *)(const void *)op;

  ((dibs_number_callback)to->callback)(error, error->status == DIBS_OK ? l->left : 0, to->data);
}

static const char *count_fault(int64_t count)
{
  return count >= 1 && count <= COUNT_MAX ? NULL : "the count must be 1 to 2^53";
}

dibs_status dibs_latch_set(dibs_client *client, const char *name, int64_t count)
{
  latch_op l = { .op.row = &latch_set_row, .call.count = count };

  return run(client, name, &l, count_fault(count));
}

dibs_status dibs_latch_set_async(dibs_client *client, const char *name, int64_t count,
                                 dibs_wait_callback callback, void *data,
                                 dibs_request **ret_request)
{
  latch_op l = { .op.row = &latch_set_row, .call.count = count };
  call_end to = { .deliver = call_deliver_status, .callback = (void (*)(void))callback,
                  .data = data };

  return run_async(client, name, &l, count_fault(count), &to, ret_request);
}

static latch_op down_of(int64_t count, const char *id)
{
  return (latch_op){ .op.row = &latch_down_row,
                     .call = { .count = count, .id = id,
                               .id_size = id == NULL ? 0 : strnlen(id, LATCH_ID_MAX + 1) } };
}

static const char *down_fault(const latch_op *l)
{
  size_t size = l->call.id_size;
  const char *fault = count_fault(l->call.count);

  if (fault == NULL && l->call.id != NULL && (size == 0 || size > LATCH_ID_MAX))
    fault = "id must be 1 to 128 bytes, or NULL";
  return fault;
}

dibs_status dibs_latch_down(dibs_client *client, const char *name, int64_t count,
                            const char *id, int64_t *ret_left)
{
  latch_op l = down_of(count, id);
  dibs_status status = run(client, name, &l, down_fault(&l));

  if (status == DIBS_OK && ret_left != NULL)
    *ret_left = l.left;
  return status;
}

dibs_status dibs_latch_down_async(dibs_client *client, const char *name, int64_t count,
                                  const char *id, dibs_number_callback callback, void *data,
                                  dibs_request **ret_request)
{
  latch_op l = down_of(count, id);
  call_end to = { .deliver = deliver_left, .callback = (void (*)(void))callback, .data = data };

  return run_async(client, name, &l, down_fault(&l), &to, ret_request);
}

dibs_status dibs_latch_delete(dibs_client *client, const char *name)
{
  latch_op l = { .op.row = &latch_delete_row };

  return run(client, name, &l, NULL);
}

dibs_status dibs_latch_count(dibs_client *client, const char *name, int64_t *ret_left)
{
  latch_op l = { .op.row = &latch_count_row };
  dibs_status status = run(client, name, &l, ret_left == NULL ? "ret_left is NULL" : NULL);

  if (status == DIBS_OK && ret_left != NULL)
    *ret_left = l.left;
  return status;
}

dibs_status dibs_latch_count_async(dibs_client *client, const char *name,
                                   dibs_number_callback callback, void *data,
                                   dibs_request **ret_request)
{
  latch_op l = { .op.row = &latch_count_row };
  call_end to = { .deliver = deliver_left, .callback = (void (*)(void))callback, .data = data };

  return run_async(client, name, &l, NULL, &to, ret_request);
}

/* ---- waiting ---- */

static latch_op await_of(const char *name)
{
  return (latch_op){ .op.row = &latch_await_row,
                     .call = { .name = name, .name_size = strlen(name) } };
}

static dibs_status await_blocking(client_record *c, const char *name,
                                  const dibs_wait_options *options)
{
  wait_plan plan;
  dibs_status status = wait_check(c, name, options, &plan);
  latch_op l;

  if (status != DIBS_OK)
    return status;
  l = await_of(name);
  return call_blocking(c, &l.op, &plan);
}

dibs_status dibs_latch_await(dibs_client *client, const char *name,
                             const dibs_wait_options *options)
{
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  return status == DIBS_OK ? client_end(c, await_blocking(c, name, options)) : status;
}

static dibs_status await_async(client_record *c, const char *name,
                               const dibs_wait_options *options, const call_end *to,
                               dibs_request **ret_request)
{
  wait_plan plan;
  dibs_status status = wait_check(c, name, options, &plan);
  latch_op l;

  if (status != DIBS_OK)
    return status;
  l = await_of(name);
  return call_async(c, &l.op, sizeof(l), &plan, to, ret_request);
}

dibs_status dibs_latch_await_async(dibs_client *client, const char *name,
                                   const dibs_wait_options *options,
                                   dibs_wait_callback callback, void *data,
                                   dibs_request **ret_request)
{
  call_end to = { .deliver = call_deliver_status, .callback = (void (*)(void))callback,
                  .data = data };
  client_record *c;
  dibs_status status = client_begin(client, false, &c);

  if (status != DIBS_OK)
    return status;
  return client_end(c, await_async(c, name, options, &to, ret_request));
}

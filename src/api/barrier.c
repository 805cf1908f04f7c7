/* SPDX-License-Identifier: MIT */
/* api/barrier.c - barriers: arguments and results of sync/barrier.h. */
#include "api/call.h"

#include <string.h>

#include <dibs/barrier.h>

#include "sync/barrier.h"

#define PARTIES_MAX 10000

/* ---- arguments and results ---- */

static barrier_op op_of(const sync_row *row, const char *name)
{
  barrier_op b = { .op.row = row, .name_size = strlen(name) };

  memcpy(b.name, name, b.name_size);
  return b;
}

static barrier_op await_of(client_record *c, const char *name, uint32_t parties)
{
  barrier_op b = op_of(&barrier_await_row, name);

  b.parties = parties;
  drive_lock(c->drive);
  b.party = ++c->parties;
  drive_unlock(c->drive);
  return b;
}

static dibs_barrier_info info_of(const barrier_op *b)
{
  bool has_passed = b->came.outcome == BARRIER_PASSED;

  return (dibs_barrier_info){ .size = sizeof(dibs_barrier_info),
                              .generation = b->came.generation, .parties = b->parties,
                              .index = b->came.place,
                              .arrived = has_passed ? b->parties : b->came.arrived,
                              .is_broken = !has_passed };
}

static dibs_status await_check(client_record *c, const char *name, uint32_t parties,
                               const dibs_wait_options *options, wait_plan *ret_plan)
{
  dibs_status status = wait_check(c, name, options, ret_plan);

  if (status == DIBS_OK && (parties < 1 || parties > PARTIES_MAX))
    status = client_refuse(c, DIBS_ERR_ARGUMENT, "parties is not 1 to 10000");
  return status;
}

static dibs_status info_check(client_record *c, const dibs_barrier_info *info)
{
  if (info == NULL || record_size_is_set(info->size))
    return DIBS_OK;
  return client_refuse(c, DIBS_ERR_ARGUMENT,
                       "dibs_barrier_info.size must be set to sizeof(dibs_barrier_info) before");
}

static dibs_status await_blocking(client_record *c, const char *name, uint32_t parties,
                                  const dibs_wait_options *options, dibs_barrier_info *ret_info)
{
  wait_plan plan;
  dibs_status status = await_check(c, name, parties, options, &plan);
  dibs_barrier_info info;
  barrier_op b;

  if (status == DIBS_OK)
    status = info_check(c, ret_info);
  if (status != DIBS_OK)
    return status;
  b = await_of(c, name, parties);
  status = call_blocking(c, &b.op, &plan);
  info = info_of(&b);
  if (ret_info != NULL && (status == DIBS_OK || status == DIBS_BROKEN))
    record_give(ret_info, &info, sizeof(info));
  return status;
}

dibs_status dibs_barrier_await(dibs_client *client, const char *name, uint32_t parties,
                               const dibs_wait_options *options, dibs_barrier_info *ret_info)
{
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  if (status != DIBS_OK)
    return status;
  return client_end(c, await_blocking(c, name, parties, options, ret_info));
}

static void deliver(const call_end *to, const sync_op *op, const dibs_error *error)
{
  dibs_barrier_info info = info_of((const barrier_op *)(const void *)op);
  bool has_info = error->status == DIBS_OK || error->status == DIBS_BROKEN;

  ((dibs_barrier_callback)to->callback)(error, has_info ? &info : NULL, to->data);
}

static dibs_status await_async(client_record *c, const char *name, uint32_t parties,
                               const dibs_wait_options *options, const call_end *to,
                               dibs_request **ret_request)
{
  wait_plan plan;
  dibs_status status = await_check(c, name, parties, options, &plan);
  barrier_op b;

  if (status != DIBS_OK)
    return status;
  b = await_of(c, name, parties);
  return call_async(c, &b.op, sizeof(b), &plan, to, ret_request);
}

dibs_status dibs_barrier_await_async(dibs_client *client, const char *name, uint32_t parties,
                                     const dibs_wait_options *options,
                                     dibs_barrier_callback callback, void *data,
                                     dibs_request **ret_request)
{
  call_end to = { .deliver = deliver, .callback = (void (*)(void))callback, .data = data };
  client_record *c;
  dibs_status status = client_begin(client, false, &c);

  if (status != DIBS_OK)
    return status;
  return client_end(c, await_async(c, name, parties, options, &to, ret_request));
}

/* ---- without waiting for others ---- */

dibs_status dibs_barrier_reset(dibs_client *client, const char *name)
{
  wait_plan plan;
  barrier_op b;
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  if (status != DIBS_OK)
    return status;
  status = wait_check(c, name, NULL, &plan);
  if (status != DIBS_OK)
    return client_end(c, status);
  b = op_of(&barrier_look_row, name);
  plan = (wait_plan){ .until = client_give_up_at(c) };
  status = call_blocking(c, &b.op, &plan);
  b.op.row = &barrier_reset_row;
  if (status == DIBS_OK && (b.seen.arrived > 0 || b.seen.is_broken))
    status = call_blocking(c, &b.op, &plan);
  return client_end(c, status);
}

static dibs_status barrier_get(client_record *c, const char *name, dibs_barrier_info *ret_info)
{
  wait_plan plan;
  barrier_op b;
  dibs_status status = wait_check(c, name, NULL, &plan);

  if (status != DIBS_OK)
    return status;
  if (ret_info == NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "ret_info is NULL");
  status = info_check(c, ret_info);
  if (status != DIBS_OK)
    return status;
  b = op_of(&barrier_look_row, name);
  status = call_blocking(c, &b.op, NULL);
  if (status != DIBS_OK)
    return status;
  if (b.seen.parties == 0)
    return client_refuse(c, DIBS_ERR_NOT_SET, "this barrier has not been used for an hour");
  record_give(ret_info, &(dibs_barrier_info){ .generation = b.seen.generation,
                                              .parties = b.seen.parties,
                                              .arrived = b.seen.arrived,
                                              .is_broken = b.seen.is_broken },
              sizeof(*ret_info));
  return DIBS_OK;
}

dibs_status dibs_barrier_get(dibs_client *client, const char *name, dibs_barrier_info *ret_info)
{
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  return status == DIBS_OK ? client_end(c, barrier_get(c, name, ret_info)) : status;
}

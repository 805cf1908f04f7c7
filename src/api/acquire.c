/* SPDX-License-Identifier: MIT */
/* api/acquire.c - dibs_acquire(): the call of each kind of target. */
#include <dibs/acquire.h>

#include <stddef.h>
#include <string.h>

#include <dibs/election.h>
#include <dibs/semaphore.h>

#include "api/campaign.h"
#include "api/many.h"

typedef struct acquisition {
  names_call names;                /* first; its call is that of one name, too */
  dibs_target target;              /* what this library knows of the program's */
  bool is_known;                   /* false: it is not a target, see `fault` */
  char fault[200];
  char value[DIBS_LEADER_VALUE_MAX + 1];
} acquisition;

static lock_kind kind_of(const dibs_target *t)
{
  switch (t->kind) {
  case DIBS_TARGET_READ:
  case DIBS_TARGET_WRITE:
    return LOCK_RWLOCK;
  case DIBS_TARGET_PERMITS:
    return LOCK_SEMAPHORE;
  default:
    return LOCK_MUTEX;
  }
}

/* ---- checks ---- */

static const char *fields_fault(const dibs_target *t)
{
  if (t->kind < DIBS_TARGET_LOCK || t->kind > DIBS_TARGET_LEAD)
    return "target.kind must be one of DIBS_TARGET_LOCK, _READ, _WRITE, _PERMITS, _LEAD";
  if (t->reserved != 0)
    return "target.reserved must be 0";
  if (t->kind != DIBS_TARGET_PERMITS && (t->units != 0 || t->limit != 0))
    return "target.units and .limit are for DIBS_TARGET_PERMITS only; leave them 0";
  if (t->kind != DIBS_TARGET_LEAD && (t->value.bytes != NULL || t->value.size != 0))
    return "target.value is for DIBS_TARGET_LEAD only; leave it empty";
  if (t->names == NULL)
    return "target.names is NULL";
  if (t->name_count != 1 && t->kind != DIBS_TARGET_LOCK)
    return "target.name_count must be 1; several names are for DIBS_TARGET_LOCK only";
  return NULL;
}

static const char *value_fault(const dibs_bytes *value)
{
  if (value->bytes == NULL && value->size != 0)
    return "target.value.bytes is NULL";
  if (value->size > DIBS_LEADER_VALUE_MAX)
    return "target.value is longer than 1024 bytes";
  if (value->size != 0 && memchr(value->bytes, 0, value->size) != NULL)
    return "target.value has a zero byte";
  return NULL;
}

static const char *fault_of(const acquisition *a)
{
  const char *fault = a->is_known ? fields_fault(&a->target) : a->fault;

  return fault != NULL ? fault : value_fault(&a->target.value);
}

static dibs_status permits_read(client_record *c, const dibs_target *t, lock_call *call)
{
  dibs_status status = DIBS_OK;

  call->spec.units = t->units == DIBS_UNITS_ALL_FREE ? 0 : t->units == 0 ? 1 : t->units;
  call->spec.limit = t->limit;
  if (call->spec.units != 0)
    status = semaphore_units_check(c, call->spec.units, 1);
  if (status == DIBS_OK)
    status = semaphore_units_check(c, t->limit, 0);
  if (status == DIBS_OK && t->limit != 0 && call->spec.units > t->limit)
    status = client_refuse(c, DIBS_ERR_ARGUMENT, "target.units is more than target.limit");
  return status;
}

static dibs_status value_read(client_record *c, acquisition *a)
{
  if (a->target.value.size != 0)
    memcpy(a->value, a->target.value.bytes, a->target.value.size);
  a->value[a->target.value.size] = '\0';
  a->names.call.value = a->value;
  return one_place_check(c);
}

static dibs_status target_read(client_record *c, lock_call *call)
{
  acquisition *a = (acquisition *)(void *)call;
  const dibs_target *t = &a->target;
  const char *fault = fault_of(a);

  if (fault != NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, fault);
  if (t->name_count != 1)
    return names_read(c, call);
  call->spec.name = t->names->bytes;
  call->spec.name_size = t->names->size;
  call->spec.reads = t->kind == DIBS_TARGET_READ;
  if (t->kind == DIBS_TARGET_PERMITS)
    return permits_read(c, t, call);
  return t->kind == DIBS_TARGET_LEAD ? value_read(c, a) : DIBS_OK;
}

/* ---- calls ---- */

static lock_call *call_of(acquisition *a, const dibs_target *target)
{
  text why = text_over(a->fault, sizeof(a->fault));

  a->target = (dibs_target){ .kind = 0 };
  a->is_known = target != NULL &&
                options_copy(target, &a->target, sizeof(a->target), "dibs_target", &why);
  if (target == NULL)
    text_add(&why, "target is NULL");
  a->names.call = (lock_call){ .spec = { .kind = kind_of(&a->target), .units = 1 },
                               .check = target_read };
  a->names.names = a->target.names;
  a->names.count = a->target.name_count;
  return &a->names.call;
}

/* All free permits are never waited for. */
static bool is_try(const acquisition *a, const dibs_lock_options *options)
{
  bool has_wait = options != NULL && options->size >= offsetof(dibs_lock_options, ttl_ms);

  return (has_wait && options->wait_ms == 0) || a->target.units == DIBS_UNITS_ALL_FREE;
}

/* What may be taken again by the short way. */
static bool is_one_mutex(const dibs_target *t)
{
  return t != NULL && t->size == sizeof(*t) && t->kind == DIBS_TARGET_LOCK &&
         fields_fault(t) == NULL && t->name_count == 1;
}

dibs_status dibs_acquire(dibs_client *client, const dibs_target *target,
                         const dibs_lock_options *options, dibs_hold **ret_hold)
{
  acquisition a;
  lock_call *call;

  if (is_one_mutex(target) &&
      retake(client, target->names->bytes, target->names->size, options, ret_hold))
    return DIBS_OK;
  call = call_of(&a, target);
  return (a.target.kind == DIBS_TARGET_LEAD ? campaign_blocking : take_blocking)(
    client, call, options, is_try(&a, options), ret_hold);
}

dibs_status dibs_acquire_async(dibs_client *client, const dibs_target *target,
                               const dibs_lock_options *options,
                               dibs_lock_callback callback, void *data,
                               dibs_request **ret_request)
{
  acquisition a;
  lock_call *call = call_of(&a, target);

  return take_async(client, call, options, is_try(&a, options), callback, data, ret_request);
}

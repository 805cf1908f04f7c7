/* SPDX-License-Identifier: MIT */
/* api/guard_read.c - reads of what guarded writes wrote, with its fence. */
#include <dibs/guard.h>
#include <string.h>

#include "api/guard.h"
#include "api/question.h"
#include "api/value.h"
#include "dialect/native/guard.h"

resp_argument guarded_key(const char *key)
{
  return (resp_argument){ key, key == NULL ? 0 : strnlen(key, NAME_MAX_BYTES + 1) };
}

dibs_status guarded_key_check(client_record *c, const void *key, size_t size)
{
  const char *fault = key == NULL ? "key is NULL" : native_guard_fault(key, size);

  return fault != NULL ? client_refuse(c, DIBS_ERR_ARGUMENT, fault) : DIBS_OK;
}

typedef struct guarded_read {
  resp_argument key, field;
  bool is_field;
  dibs_value **ret_value;
  uint64_t *ret_fence;
} guarded_read;

static dibs_status read_check(client_record *c, const guarded_read *g)
{
  dibs_status status = guarded_key_check(c, g->key.bytes, g->key.size);

  if (status != DIBS_OK)
    return status;
  if (g->is_field && g->field.bytes == NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "field is NULL");
  if (g->field.size > DIBS_KEY_MAX)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "field is longer than 65536 bytes");
  if (g->ret_value == NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "the parameter for the answer is NULL");
  return one_place_check(c);
}

static dibs_status read_hand_out(client_record *c, const guarded_read *g, const resp_reply *r)
{
  data_value value;
  uint64_t fence;
  dibs_status status;

  if (!native_guarded_value(r, &value, &fence))
    return client_refuse(c, DIBS_ERR_PROTOCOL, "unexpected reply to a guarded read");
  status = value_out(c, &value, true, g->ret_value);
  if (status == DIBS_OK && g->ret_fence != NULL)
    *g->ret_fence = fence;
  return status;
}

static dibs_status read_run(dibs_client *client, const guarded_read *g)
{
  client_record *c;
  request k;
  question q = { .end.status = DIBS_OK };
  dibs_status status = client_begin(client, true, &c);

  if (status != DIBS_OK)
    return status;
  request_init(&k, &c->memory);
  status = read_check(c, g);
  if (status == DIBS_OK &&
      !native_guarded_get(&c->names, &k, g->key, g->is_field ? &g->field : NULL, DIBS_DATA_MAX))
    status = client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  if (status == DIBS_OK)
    status = question_read_only(question_run(c, &q, &k));
  if (status == DIBS_OK)
    status = read_hand_out(c, g, q.reply);
  question_deinit(&q);
  request_deinit(&k);
  return client_end(c, status);
}

dibs_status dibs_guarded_get(dibs_client *c, const char *key, dibs_value **ret_value,
                             uint64_t *ret_fence)
{
  return read_run(c, &(guarded_read){ .key = guarded_key(key), .ret_value = ret_value,
                                      .ret_fence = ret_fence });
}

dibs_status dibs_guarded_hget(dibs_client *c, const char *key, const char *field,
                              dibs_value **ret_value, uint64_t *ret_fence)
{
  size_t size = field == NULL ? 0 : strnlen(field, DIBS_KEY_MAX + 1);

  return read_run(c, &(guarded_read){ .key = guarded_key(key), .field = { field, size },
                                      .is_field = true, .ret_value = ret_value,
                                      .ret_fence = ret_fence });
}

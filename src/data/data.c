/* SPDX-License-Identifier: MIT */
/* data/data.c - one call on a map, list or set: checks its arguments, sends one command and
 * interprets the reply; and the calls that are the same for all kinds. */
#include "data/data.h"

#include <string.h>

#define TTL_MAX 1000000000000000       /* 30 000 years: far below the limit of the server */

/* ---- what is wanted ---- */

data_wish data_wish_of(data_verb verb, const char *name)
{
  size_t size = name == NULL ? 0 : strnlen(name, NAME_MAX_BYTES + 1);

  return (data_wish){ .call = { .verb = verb, .name = { name, size } } };
}

static void fault(data_wish *w, bool is_so, const char *words)
{
  if (is_so && w->fault == NULL)
    w->fault = words;
}

static resp_argument taken(data_wish *w, dibs_bytes b)
{
  fault(w, b.bytes == NULL && b.size > 0, "bytes is NULL, and size is not 0");
  return (resp_argument){ b.bytes == NULL ? "" : b.bytes, b.size };
}

static void length_fault(data_wish *w, const char *what, size_t size, size_t limit)
{
  if (size > limit && w->fault == NULL && w->long_one == NULL) {
    w->long_one = what;
    w->size = size;
    w->limit = limit;
  }
}

void data_take_key(data_wish *w, dibs_bytes key)
{
  w->call.key = taken(w, key);
  length_fault(w, "the key or member", key.size, DIBS_KEY_MAX);
}

void data_take_value(data_wish *w, dibs_bytes value)
{
  w->call.value = taken(w, value);
  length_fault(w, "the value or element", value.size, DIBS_DATA_MAX);
}

void data_take_expected(data_wish *w, dibs_bytes expected)
{
  w->call.expected = taken(w, expected);
  length_fault(w, "the expected value", expected.size, DIBS_DATA_MAX);
}

void data_want(data_wish *w, const void *pointer)
{
  fault(w, pointer == NULL, "the parameter for the answer is NULL");
}

/* ---- one question ---- */

static dibs_status length_refuse(client_record *c, const data_wish *w)
{
  char words[128];
  text why = text_over(words, sizeof(words));

  text_format(&why, "%s has %zu bytes; %zu are the most", w->long_one, w->size, w->limit);
  return dibs_private_refuse(c, DIBS_ERR_ARGUMENT, words);
}

dibs_status data_check(client_record *c, data_wish *w)
{
  dibs_status status = dibs_private_name_check(c, w->call.name.bytes, w->call.name.size);

  if (status == DIBS_OK && w->fault != NULL)
    status = dibs_private_refuse(c, DIBS_ERR_ARGUMENT, w->fault);
  if (status == DIBS_OK && w->long_one != NULL)
    status = length_refuse(c, w);
  return status == DIBS_OK ? dibs_private_one_place_check(c) : status;
}

dibs_status data_run(client_record *c, const data_call *call, resp_reply **ret_reply)
{
  return dibs_private_data_run(c, call, INSTANT_NEVER, ret_reply);
}

dibs_status data_answer_is_odd(client_record *c)
{
  return dibs_private_refuse(c, DIBS_ERR_PROTOCOL, "unexpected reply to a data script");
}

dibs_status data_ask_integer(dibs_client *client, data_wish *w, int64_t *ret_value)
{
  client_record *c;
  dibs_status status = dibs_private_begin(client, &c);
  int64_t value = 0;
  resp_reply *reply = NULL;

  if (status != DIBS_OK)
    return status;
  status = data_check(c, w);
  if (status == DIBS_OK)
    status = data_run(c, &w->call, &reply);
  if (status == DIBS_OK && !data_integer_answer(reply, &value))
    status = data_answer_is_odd(c);
  if (status == DIBS_OK)
    *ret_value = value;
  resp_reply_free(reply);
  return dibs_private_end(c, status);
}

dibs_status data_ask_size(dibs_client *client, data_wish *w, uint64_t *ret_size)
{
  int64_t value = 0;
  dibs_status status = data_ask_integer(client, w, &value);

  if (status == DIBS_OK && ret_size != NULL)
    *ret_size = value > 0 ? (uint64_t)value : 0;
  return status;
}

dibs_status data_ask_bool(dibs_client *client, data_wish *w, bool *ret_is_so)
{
  int64_t value = 0;
  dibs_status status = data_ask_integer(client, w, &value);

  if (status == DIBS_OK && ret_is_so != NULL)
    *ret_is_so = value > 0;
  return status;
}

dibs_bytes data_bytes_of(const data_value *v)
{
  return (dibs_bytes){ .bytes = v->bytes, .size = v->size };
}

dibs_status data_ask_value(dibs_client *client, data_wish *w, dibs_value **ret_value)
{
  client_record *c;
  dibs_status status = dibs_private_begin(client, &c);
  resp_reply *reply = NULL;

  if (status != DIBS_OK)
    return status;
  data_want(w, ret_value);
  status = data_check(c, w);
  if (status == DIBS_OK)
    status = data_run(c, &w->call, &reply);
  if (status == DIBS_OK)
    status = dibs_private_data_value(c, w->call.verb, reply, ret_value);
  resp_reply_free(reply);
  return dibs_private_end(c, status);
}

/* ---- the same for all kinds ---- */

dibs_status dibs_data_expire(dibs_client *client, const char *name, int64_t ttl_ms,
                             bool *ret_done)
{
  data_wish w = data_wish_of(DATA_EXPIRE, name);

  w.call.number = ttl_ms;
  fault(&w, ttl_ms < 1 || ttl_ms > TTL_MAX, "ttl_ms must be 1 to 1000000000000000");
  return data_ask_bool(client, &w, ret_done);
}

dibs_status dibs_data_persist(dibs_client *client, const char *name, bool *ret_done)
{
  data_wish w = data_wish_of(DATA_PERSIST, name);

  return data_ask_bool(client, &w, ret_done);
}

dibs_status dibs_data_ttl(dibs_client *client, const char *name, int64_t *ret_ms)
{
  data_wish w = data_wish_of(DATA_TTL, name);

  data_want(&w, ret_ms);
  return data_ask_integer(client, &w, ret_ms);
}

dibs_status dibs_data_delete(dibs_client *client, const char *name, bool *ret_done)
{
  data_wish w = data_wish_of(DATA_DELETE, name);

  return data_ask_bool(client, &w, ret_done);
}

/* ---- locks that belong to a key ---- */

static const char *kind_word(dibs_key_lock kind)
{
  switch (kind) {
  case DIBS_KEY_LOCK: return "lock";
  case DIBS_KEY_FAIR_LOCK: return "fairlock";
  case DIBS_KEY_RW_LOCK: return "rw_lock";
  case DIBS_KEY_SEMAPHORE: return "semaphore";
  case DIBS_KEY_PERMITS: return "permitexpirablesemaphore";
  case DIBS_KEY_LATCH: return "countdownlatch";
  }
  return NULL;
}

dibs_status dibs_key_lock_name(const char *name, dibs_bytes key, dibs_key_lock kind,
                               char *ret_name, size_t size)
{
  const char *word = kind_word(kind);
  char bytes[DIBS_NAME_MAX + 1];
  text out = text_over(bytes, sizeof(bytes));

  if (name == NULL || ret_name == NULL || word == NULL || key.size > DIBS_KEY_MAX ||
      (key.bytes == NULL && key.size > 0) ||
      native_name_fault(name, strnlen(name, NAME_MAX_BYTES + 1)) != NULL)
    return DIBS_ERR_ARGUMENT;
  data_lock_name(name, (resp_argument){ key.bytes, key.size }, word, &out);
  if (out.is_cut || out.used >= size)
    return DIBS_ERR_ARGUMENT;
  memcpy(ret_name, bytes, out.used + 1);
  return DIBS_OK;
}

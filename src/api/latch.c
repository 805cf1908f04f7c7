/* SPDX-License-Identifier: MIT */
/* api/latch.c - count-down latches: arming, counting, and waiting for zero. */
#include "api/wait.h"

#include <dibs/latch.h>
#include <string.h>

#include "dialect/native_latch.h"

#define COUNT_MAX ((int64_t)1 << 53)
#define LOOK_EVERY SPAN_MS(3000)       /* where no message comes */

/* ---- one question ---- */

typedef bool (*latch_encode)(const native *n, buffer *out, bool with_text,
                             const latch_call *c);

static bool look_encode(const native *n, buffer *out, bool with_text, const latch_call *c)
{
  return native_latch_look(n, out, with_text, c->name, c->name_size);
}

static latch_call call_of(const char *name)
{
  return (latch_call){ .name = name,
                       .name_size = name == NULL ? 0 : strnlen(name, DIBS_NAME_MAX + 1) };
}

/* Checks the name, asks, and leaves the answer in `q`. question_deinit() must follow. */
static dibs_status ask(dibs_client *c, latch_encode encode, latch_call *call, question *q)
{
  buffer by_digest, by_text;
  dibs_status status;

  *q = (question){ .reply = NULL };
  status = client_pin(c);
  if (status != DIBS_OK)
    return status;
  status = name_check(c, call->name, call->name_size);
  drive_lock(c->drive);
  call->number = ++c->latch_number;
  drive_unlock(c->drive);
  buffer_init(&by_digest, &c->memory);
  buffer_init(&by_text, &c->memory);
  if (status == DIBS_OK && (!encode(&c->names, &by_digest, false, call) ||
                            !encode(&c->names, &by_text, true, call)))
    status = client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  if (status == DIBS_OK)
    status = question_run(c, q, &by_digest, &by_text);
  buffer_deinit(&by_digest);
  buffer_deinit(&by_text);
  client_unpin(c);
  return status;
}

static dibs_status answer_is_odd(dibs_client *c)
{
  return client_refuse(c, DIBS_ERR_PROTOCOL, "an answer about a latch of no known form");
}

static dibs_status count_check(dibs_client *c, int64_t count)
{
  if (count >= 1 && count <= COUNT_MAX)
    return DIBS_OK;
  return client_refuse(c, DIBS_ERR_ARGUMENT, "the count must be 1 to 2^53");
}

dibs_status dibs_latch_set(dibs_client *client, const char *name, int64_t count)
{
  latch_call call = call_of(name);
  dibs_status status = count_check(client, count);
  bool was_armed;
  question q;

  if (status != DIBS_OK)
    return status;
  call.count = count;
  status = ask(client, native_latch_set, &call, &q);
  if (status == DIBS_OK && !native_latch_set_answer(q.reply, &was_armed))
    status = answer_is_odd(client);
  else if (status == DIBS_OK && was_armed)
    status = DIBS_BUSY;
  question_deinit(&q);
  return status;
}

dibs_status dibs_latch_down(dibs_client *client, const char *name, int64_t count,
                            const char *id, int64_t *ret_left)
{
  latch_call call = call_of(name);
  dibs_status status = count_check(client, count);
  int64_t left;
  question q;

  if (status != DIBS_OK)
    return status;
  call.count = count;
  call.id = id;
  call.id_size = id == NULL ? 0 : strnlen(id, LATCH_ID_MAX + 1);
  if (id != NULL && (call.id_size == 0 || call.id_size > LATCH_ID_MAX))
    return client_refuse(client, DIBS_ERR_ARGUMENT, "id must be 1 to 128 bytes, or NULL");
  status = ask(client, native_latch_down, &call, &q);
  if (status == DIBS_OK && !native_latch_down_answer(q.reply, &left))
    status = answer_is_odd(client);
  else if (status == DIBS_OK && left < 0)
    status = client_refuse(client, DIBS_ERR_NOT_SET,
                           "the latch is not armed; see dibs_latch_set()");
  else if (status == DIBS_OK && ret_left != NULL)
    *ret_left = left;
  question_deinit(&q);
  return status;
}

dibs_status dibs_latch_delete(dibs_client *client, const char *name)
{
  latch_call call = call_of(name);
  dibs_status status;
  bool was_none;
  question q;

  status = ask(client, native_latch_delete, &call, &q);
  if (status == DIBS_OK && !native_latch_set_answer(q.reply, &was_none))
    status = answer_is_odd(client);
  question_deinit(&q);
  return status;
}

#define NO_COUNT "the key of this name does not hold a count"

dibs_status dibs_latch_count(dibs_client *client, const char *name, int64_t *ret_left)
{
  latch_call call = call_of(name);
  dibs_status status;
  latch_state state;
  question q;

  if (ret_left == NULL)
    return client_refuse(client, DIBS_ERR_ARGUMENT, "ret_left is NULL");
  status = question_read_only(ask(client, look_encode, &call, &q));
  if (status == DIBS_OK && !native_latch_look_answer(q.reply, &state))
    status = answer_is_odd(client);
  else if (status == DIBS_OK && !state.is_number)
    status = client_refuse(client, DIBS_ERR_WRONG_TYPE, NO_COUNT);
  else if (status == DIBS_OK)
    *ret_left = state.left;
  question_deinit(&q);
  return status;
}

/* ---- waiting ---- */

typedef struct latch_wait {
  wait wait;
  bool has_looked;
  uint64_t zeroed_us, deleted_us;      /* as they were when it was seen armed */
  dibs_wait_callback callback;
  void *data;
} latch_wait;

/* Zero may have been, and it may be armed again: the time of the last zero tells. One that
 * was deleted since we saw it armed has not come to zero. */
static bool is_released(latch_wait *l, const latch_state *s)
{
  bool was_zeroed = l->has_looked && s->zeroed_us != 0 && s->zeroed_us != l->zeroed_us;
  bool is_gone = s->left == 0;
  bool was_deleted = l->has_looked && s->deleted_us != 0 && s->deleted_us != l->deleted_us;

  if (was_zeroed || (is_gone && !was_deleted))
    return true;
  if (!is_gone)
    l->deleted_us = s->deleted_us;
  if (!l->has_looked)
    l->zeroed_us = s->zeroed_us;
  l->has_looked = true;
  return false;
}

static bool latch_look(wait *w, const resp_reply *reply)
{
  latch_wait *l = (latch_wait *)(void *)w;
  latch_state state;

  if (!native_latch_look_answer(reply, &state)) {
    w->status = client_fault(w->client, DIBS_ERR_PROTOCOL,
                             "an answer about a latch of no known form");
    return true;
  }
  if (!state.is_number) {
    w->status = client_fault(w->client, DIBS_ERR_WRONG_TYPE, NO_COUNT);
    return true;
  }
  return is_released(l, &state);
}

static void latch_tell(wait *w)
{
  const latch_wait *l = (const latch_wait *)(const void *)w;

  l->callback(w->status, l->data);
}

static const wait_kind latch_kind = { .look = latch_look, .tell = latch_tell };

/* What is asked, and its bytes. */
typedef struct looking {
  buffer by_digest, by_text;
  char channel[LATCH_CHANNEL_SIZE];
  wait_question question;
} looking;

static void looking_deinit(looking *k)
{
  buffer_deinit(&k->by_digest);
  buffer_deinit(&k->by_text);
}

static bool looking_init(looking *k, dibs_client *c, const char *name)
{
  text channel = text_over(k->channel, sizeof(k->channel));
  size_t size = strlen(name);

  native_latch_channel(name, size, &channel);
  buffer_init(&k->by_digest, &c->memory);
  buffer_init(&k->by_text, &c->memory);
  k->question = (wait_question){ .channel = k->channel, .channel_size = channel.used,
                                 .by_digest = &k->by_digest, .by_text = &k->by_text,
                                 .every = LOOK_EVERY };
  if (native_latch_look(&c->names, &k->by_digest, false, name, size) &&
      native_latch_look(&c->names, &k->by_text, true, name, size))
    return true;
  looking_deinit(k);
  (void)client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  return false;
}

dibs_status dibs_latch_await(dibs_client *client, const char *name,
                             const dibs_wait_options *options)
{
  wait_plan plan;
  dibs_status status = wait_check(client, name, options, true, &plan);
  looking k;
  wait *w;

  if (status != DIBS_OK)
    return status;
  w = wait_new(client, &latch_kind, sizeof(latch_wait));
  status = DIBS_ERR_NO_MEMORY;
  if (w != NULL && looking_init(&k, client, name)) {
    status = wait_blocking(w, &plan, &k.question);
    looking_deinit(&k);
  }
  (void)wait_free(w);
  return status;
}

dibs_status dibs_latch_await_async(dibs_client *client, const char *name,
                                   const dibs_wait_options *options,
                                   dibs_wait_callback callback, void *data,
                                   dibs_request **ret_request)
{
  wait_plan plan;
  dibs_status status = wait_check(client, name, options, false, &plan);
  latch_wait *l;
  looking k;

  if (status != DIBS_OK)
    return status;
  if (callback == NULL)
    return client_refuse(client, DIBS_ERR_ARGUMENT, "callback is NULL");
  l = (latch_wait *)(void *)wait_new(client, &latch_kind, sizeof(*l));
  if (l == NULL)
    return DIBS_ERR_NO_MEMORY;
  l->callback = callback;
  l->data = data;
  if (!looking_init(&k, client, name)) {
    (void)wait_free(&l->wait);
    return DIBS_ERR_NO_MEMORY;
  }
  status = wait_async(&l->wait, &plan, &k.question, ret_request);
  looking_deinit(&k);
  return status;
}

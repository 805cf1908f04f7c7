/* SPDX-License-Identifier: MIT */
/* api/latch.c - count-down latches: arming, counting, and waiting for zero. */
#include "api/wait.h"

#include <dibs/latch.h>
#include <string.h>

#include "dialect/native_latch.h"

#define COUNT_MAX ((int64_t)1 << 53)
#define LOOK_EVERY SPAN_MS(3000)       /* where no message comes */

#define NO_COUNT "the key of this name does not hold a count"

/* ---- one question ---- */

/* What is to be asked, and what the answer means. */
typedef struct latch_question {
  bool (*encode)(const native *n, buffer *out, bool with_text, const latch_call *c);
  dibs_status (*read)(dibs_client *c, const resp_reply *reply, int64_t *ret_left);
  latch_call call;
  int64_t *ret_left;             /* NULL: not wanted */
} latch_question;

static dibs_status ask_pinned(dibs_client *c, const latch_question *l)
{
  script_command k;
  question q;
  int64_t left = 0;
  dibs_status status;

  script_command_init(&k, c);
  status = script_command_run(c, &q, &k,
                       l->encode(&c->names, &k.by_digest, false, &l->call) &&
                         l->encode(&c->names, &k.by_text, true, &l->call));
  if (status == DIBS_OK)
    status = l->read(c, q.reply, &left);
  if (status == DIBS_OK && l->ret_left != NULL)
    *l->ret_left = left;
  question_deinit(&q);
  script_command_deinit(&k);
  return status;
}

/* `fault`: NULL, or why the arguments will not do. */
static dibs_status ask(dibs_client *c, const char *name, latch_question *l, const char *fault)
{
  dibs_status status = client_pin(c);

  if (status != DIBS_OK)
    return status;
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
  if (status == DIBS_OK)
    status = ask_pinned(c, l);
  client_unpin(c);
  return status;
}

static dibs_status answer_is_odd(dibs_client *c)
{
  return client_refuse(c, DIBS_ERR_PROTOCOL, "an answer about a latch of no known form");
}

static dibs_status set_read(dibs_client *c, const resp_reply *reply, int64_t *ret_left)
{
  bool was_armed;

  *ret_left = 0;
  if (!native_latch_set_answer(reply, &was_armed))
    return answer_is_odd(c);
  return was_armed ? DIBS_BUSY : DIBS_OK;
}

static dibs_status delete_read(dibs_client *c, const resp_reply *reply, int64_t *ret_left)
{
  dibs_status status = set_read(c, reply, ret_left);

  return status == DIBS_BUSY ? DIBS_OK : status;     /* it was not armed */
}

static dibs_status down_read(dibs_client *c, const resp_reply *reply, int64_t *ret_left)
{
  if (!native_latch_down_answer(reply, ret_left))
    return answer_is_odd(c);
  return *ret_left >= 0 ? DIBS_OK
                        : client_refuse(c, DIBS_ERR_NOT_SET,
                                        "the latch is not armed; see dibs_latch_set()");
}

static bool look_encode(const native *n, buffer *out, bool with_text, const latch_call *c)
{
  return native_latch_look(n, out, with_text, c->name, c->name_size);
}

static dibs_status look_read(dibs_client *c, const resp_reply *reply, int64_t *ret_left)
{
  latch_state state;

  if (!native_latch_look_answer(reply, &state))
    return answer_is_odd(c);
  *ret_left = state.left;
  return state.is_number ? DIBS_OK : client_refuse(c, DIBS_ERR_WRONG_TYPE, NO_COUNT);
}

static const char *count_fault(int64_t count)
{
  return count >= 1 && count <= COUNT_MAX ? NULL : "the count must be 1 to 2^53";
}

dibs_status dibs_latch_set(dibs_client *client, const char *name, int64_t count)
{
  latch_question l = { .encode = native_latch_set, .read = set_read,
                       .call = { .count = count } };

  return ask(client, name, &l, count_fault(count));
}

dibs_status dibs_latch_down(dibs_client *client, const char *name, int64_t count,
                            const char *id, int64_t *ret_left)
{
  size_t id_size = id == NULL ? 0 : strnlen(id, LATCH_ID_MAX + 1);
  latch_question l = { .encode = native_latch_down, .read = down_read, .ret_left = ret_left,
                       .call = { .count = count, .id = id, .id_size = id_size } };
  const char *fault = count_fault(count);

  if (fault == NULL && id != NULL && (id_size == 0 || id_size > LATCH_ID_MAX))
    fault = "id must be 1 to 128 bytes, or NULL";
  return ask(client, name, &l, fault);
}

dibs_status dibs_latch_delete(dibs_client *client, const char *name)
{
  latch_question l = { .encode = native_latch_delete, .read = delete_read };

  return ask(client, name, &l, NULL);
}

dibs_status dibs_latch_count(dibs_client *client, const char *name, int64_t *ret_left)
{
  latch_question l = { .encode = look_encode, .read = look_read, .ret_left = ret_left };

  return question_read_only(ask(client, name, &l, ret_left == NULL ? "ret_left is NULL" : NULL));
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
  script_command command;
  char channel[LATCH_CHANNEL_SIZE];
  wait_question question;
} looking;

static bool looking_init(looking *k, dibs_client *c, const char *name)
{
  text channel = text_over(k->channel, sizeof(k->channel));
  size_t size = strlen(name);

  native_latch_channel(&c->names, name, size, &channel);
  script_command_init(&k->command, c);
  k->question = (wait_question){ .channel = k->channel, .channel_size = channel.used,
                                 .by_digest = &k->command.by_digest,
                                 .by_text = &k->command.by_text, .every = LOOK_EVERY };
  if (native_latch_look(&c->names, &k->command.by_digest, false, name, size) &&
      native_latch_look(&c->names, &k->command.by_text, true, name, size))
    return true;
  script_command_deinit(&k->command);
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
    script_command_deinit(&k.command);
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
  script_command_deinit(&k.command);
  return status;
}

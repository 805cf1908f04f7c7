/* SPDX-License-Identifier: MIT */
/* Asks: commands of the program's own (inspect, list, break, tokens, ping). */
#include "engine/parts.h"

#include <assert.h>

static bool buffer_copy(buffer *to, const buffer *from, const memory *m)
{
  buffer_init(to, m);
  return from == NULL || buffer_append(to, buffer_bytes(from), buffer_size(from));
}

bool ask_init(engine *e, ask *a, const buffer *command, const buffer *with_text)
{
  buffer_init(&a->command, &e->memory);
  buffer_init(&a->with_text, &e->memory);
  return buffer_copy(&a->command, command, &e->memory) &&
         buffer_copy(&a->with_text, with_text, &e->memory) &&
         (a->id = slots_add(&e->ask_slots, a)) != 0;
}

void ask_deinit(engine *e, ask *a)
{
  buffer_deinit(&a->command);
  buffer_deinit(&a->with_text);
  a->reply = resp_reply_free(a->reply);
  if (a->id != 0)
    slots_remove(&e->ask_slots, a->id);
  a->id = 0;
}

void ask_free(engine *e, ask *a)
{
  ask_deinit(e, a);
  mem_free(&e->memory, a);
}

dibs_status engine_ask(engine *e, const buffer *command, const buffer *with_text,
                       void *context, instant give_up_at, instant now)
{
  ask *a;

  if (e->is_closing)
    return DIBS_ERR_CLOSED;
  a = mem_zalloc(&e->memory, sizeof(*a));
  if (a == NULL)
    return DIBS_ERR_NO_MEMORY;
  if (!ask_init(e, a, command, with_text)) {
    ask_free(e, a);
    return DIBS_ERR_NO_MEMORY;
  }

  a->state = ASK_OPEN;
  a->context = context;
  a->give_up_at = give_up_at;
  a->try_at = now;
  if (e->last_ask != NULL)
    e->last_ask->next = a;
  else
    e->first_ask = a;
  e->last_ask = a;
  engine_pump(e, now);
  return DIBS_OK;
}

void ask_done(ask *a, dibs_status status, const char *words)
{
  text shown = text_over(a->words, sizeof(a->words));

  a->state = ASK_DONE;
  a->status = status;
  text_add(&shown, words);
}

void ask_send(engine *e, ask *a, instant now)
{
  const buffer *command = a->use_text ? &a->with_text : &a->command;

  if (a->state != ASK_OPEN || instant_before(now, a->try_at))
    return;
  if (connection_send(e, command, a->id | TAG_ASKS, now))
    a->state = ASK_SENT;
  else
    a->try_at = instant_add(now, SPAN_MS(10));
}

void asks_send(engine *e, instant now)
{
  for (ask *a = e->first_ask; a != NULL; a = a->next)
    ask_send(e, a, now);
}

bool ask_fault_is_final(dibs_status why)
{
  return why == DIBS_ERR_AUTH || why == DIBS_ERR_TLS || why == DIBS_ERR_PROTOCOL ||
         why == DIBS_ERR_DENIED || why == DIBS_ERR_CONFIG;
}

/* The connection is gone. What was sent is asked again: all our asks may be repeated. */
void ask_unsent(ask *a, dibs_status why, const char *words)
{
  text shown = text_over(a->words, sizeof(a->words));

  if (a->state == ASK_DONE)
    return;
  a->was_lost = a->was_lost || a->state == ASK_SENT;
  a->state = ASK_OPEN;
  a->status = why;
  text_add(&shown, words);
}

void asks_unsent(engine *e, dibs_status why, const char *words)
{
  for (ask *a = e->first_ask; a != NULL; a = a->next) {
    ask_unsent(a, why, words);
    if (ask_fault_is_final(why))
      a->state = ASK_DONE;
  }
}

static void ask_refused(ask *a, const resp_node *error, instant now)
{
  resp_fault fault = resp_fault_of(error->bytes, error->size);

  if (fault == RESP_FAULT_NO_SCRIPT && !a->use_text && buffer_size(&a->with_text) > 0) {
    a->use_text = true;
    a->state = ASK_OPEN;
    a->try_at = now;
  } else if (fault == RESP_FAULT_LATER && a->attempts < 1000) {
    a->state = ASK_OPEN;
    a->status = DIBS_ERR_UNREACHABLE;
    a->try_at = instant_add(now, SPAN_MS(a->attempts < 5 ? 20 << a->attempts : 500));
    a->attempts++;
  } else {
    ask_done(a, resp_fault_status(fault), error->bytes);
  }
}

void ask_take_answer(ask *a, resp_reply *reply, instant now)
{
  if (resp_root(reply)->kind == RESP_ERROR) {
    ask_refused(a, resp_root(reply), now);
    resp_reply_free(reply);
    return;
  }
  a->reply = reply;
  ask_done(a, DIBS_OK, "");
}

bool ask_answered_with(engine *e, uint64_t tag, resp_reply *reply, instant now)
{
  ask *a = slots_get(&e->ask_slots, tag & ~(uint64_t)TAG_ASKS);

  if (a == NULL || a->state != ASK_SENT) {
    resp_reply_free(reply);
    return true;
  }
  if (a->observation != NULL)
    return observe_answered(e, a->observation, reply, now);
  ask_take_answer(a, reply, now);
  return true;
}

void asks_tick(engine *e, instant now)
{
  for (ask *a = e->first_ask; a != NULL; a = a->next) {
    if (a->state == ASK_DONE || instant_before(now, a->give_up_at))
      continue;
    if (a->state == ASK_SENT)
      ask_done(a, DIBS_UNKNOWN, "the server has not answered in time");
    else if (a->was_lost)
      ask_done(a, DIBS_UNKNOWN, a->words);
    else
      ask_done(a, a->status != DIBS_OK ? a->status : DIBS_ERR_UNREACHABLE,
               a->words[0] != '\0' ? a->words : "no connection to the server in time");
  }
}

instant asks_deadline(const engine *e)
{
  instant first = INSTANT_NEVER;

  for (const ask *a = e->first_ask; a != NULL; a = a->next) {
    if (a->state == ASK_DONE)
      continue;
    first = instant_min(first, a->give_up_at);
    if (a->state == ASK_OPEN && connection_is_ready(e, LINK_COMMANDS))
      first = instant_min(first, a->try_at);
  }
  return first;
}

void asks_close(engine *e)
{
  for (ask *a = e->first_ask; a != NULL; a = a->next)
    if (a->state != ASK_DONE)
      ask_done(a, DIBS_ERR_CLOSED, "the client is being closed");
}

bool asks_next_effect(engine *e, effect *ret)
{
  ask *before = NULL;

  for (ask *a = e->first_ask; a != NULL; before = a, a = a->next) {
    if (a->state != ASK_DONE)
      continue;
    if (before != NULL)
      before->next = a->next;
    else
      e->first_ask = a->next;
    if (e->last_ask == a)
      e->last_ask = before;

    *ret = (effect){ .kind = EFFECT_ANSWERED, .context = a->context, .status = a->status,
                     .reply = a->reply };
    ret->text = engine_words(e, a->words);
    a->reply = NULL;
    ask_free(e, a);
    return true;
  }
  return false;
}

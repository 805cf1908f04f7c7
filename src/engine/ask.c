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

server *ask_server(const engine *e, const ask *a)
{
  if (a->asking != NULL)
    return a->asking;
  return a->pinned != NULL ? a->pinned : server_of_command(e, &a->command);
}

static dibs_status ask_add(engine *e, server *pinned, bool is_once, const buffer *command,
                           const buffer *with_text, void *context, instant give_up_at,
                           instant now)
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
  a->pinned = pinned;
  a->is_once = is_once;
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

dibs_status engine_ask(engine *e, const buffer *command, const buffer *with_text,
                       void *context, instant give_up_at, instant now)
{
  return ask_add(e, NULL, false, command, with_text, context, give_up_at, now);
}

dibs_status engine_ask_once(engine *e, const buffer *command, const buffer *with_text,
                            void *context, instant give_up_at, instant now)
{
  return ask_add(e, NULL, true, command, with_text, context, give_up_at, now);
}

dibs_status engine_ask_at(engine *e, size_t number, const buffer *command,
                          const buffer *with_text, void *context, instant give_up_at,
                          instant now)
{
  if (number >= e->server_count)
    return DIBS_ERR_ARGUMENT;
  return ask_add(e, e->servers[number], false, command, with_text, context, give_up_at, now);
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
  server *s;
  bool is_sent;

  if (a->state != ASK_OPEN || instant_before(now, a->try_at))
    return;
  s = ask_server(e, a);
  if (!server_is_ready(s))
    return;
  is_sent = a->asking != NULL
              ? connection_send_asking(e, s->commands, command, a->id | TAG_ASKS, now)
              : connection_send(e, s->commands, command, a->id | TAG_ASKS, now);
  if (!is_sent) {
    a->try_at = instant_add(now, SPAN_MS(10));
    return;
  }
  a->state = ASK_SENT;
  a->sent_to = s;
  a->asking = NULL;
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

/* The connection is gone. What was sent is asked again: our asks may be repeated, but for
 * those that say they must not. */
void ask_unsent(ask *a, dibs_status why, const char *words)
{
  text shown = text_over(a->words, sizeof(a->words));

  if (a->state == ASK_DONE)
    return;
  if (a->is_once && a->state == ASK_SENT) {
    ask_done(a, DIBS_UNKNOWN, words);
    return;
  }
  a->was_lost = a->was_lost || a->state == ASK_SENT;
  a->state = ASK_OPEN;
  a->asking = NULL;                      /* where its slot was on its way to, by then */
  a->status = why;
  text_add(&shown, words);
}

void asks_unsent(engine *e, const server *s, dibs_status why, const char *words)
{
  for (ask *a = e->first_ask; a != NULL; a = a->next) {
    if (s != NULL && (a->state == ASK_SENT ? a->sent_to : ask_server(e, a)) != s)
      continue;
    ask_unsent(a, why, words);
    if (ask_fault_is_final(why))
      a->state = ASK_DONE;
  }
}

/* The key is elsewhere: asked again there, or where the next search says. */
static void ask_redirected(engine *e, ask *a, const resp_node *error, const server *from,
                           instant now)
{
  redirect r = { .port = 0 };
  server *s = NULL;

  if (redirect_read(error->bytes, error->size, &r))
    s = topology_redirect(e, &r, from, now);
  else
    topology_search(e, now);
  a->state = ASK_OPEN;
  a->status = DIBS_ERR_UNREACHABLE;
  a->asking = r.is_ask ? s : NULL;
  a->try_at = s != NULL && a->attempts < 5 ? now : instant_add(now, SPAN_MS(50));
  a->attempts++;
}

static void ask_refused(engine *e, ask *a, const resp_node *error, const server *from,
                        instant now)
{
  resp_fault fault = resp_fault_of(error->bytes, error->size);
  const char *advice = resp_fault_advice(fault);
  bool is_elsewhere = fault == RESP_FAULT_MOVED || fault == RESP_FAULT_ASK ||
                      fault == RESP_FAULT_NO_SLOT;

  /* Asked of one server and no other: that is its answer. */
  if (a->pinned != NULL && (fault == RESP_FAULT_MOVED || fault == RESP_FAULT_ASK)) {
    ask_done(a, DIBS_ERR_SERVER, error->bytes);
    return;
  }
  if (fault == RESP_FAULT_NO_SCRIPT && !a->use_text && buffer_size(&a->with_text) > 0) {
    a->use_text = true;
    a->state = ASK_OPEN;
    a->try_at = now;
  } else if (is_elsewhere && e->topology.slots != NULL && a->pinned == NULL &&
             a->attempts < 1000) {
    ask_redirected(e, a, error, from, now);
  } else if ((fault == RESP_FAULT_LATER || fault == RESP_FAULT_NO_SLOT) && a->attempts < 1000) {
    a->state = ASK_OPEN;
    a->status = DIBS_ERR_UNREACHABLE;
    a->try_at = instant_add(now, SPAN_MS(a->attempts < 5 ? 20 << a->attempts : 500));
    a->attempts++;
  } else {
    ask_done(a, resp_fault_status(fault), advice != NULL ? advice : error->bytes);
  }
}

void ask_take_answer(engine *e, ask *a, resp_reply *reply, const server *from, instant now)
{
  if (resp_root(reply)->kind == RESP_ERROR) {
    ask_refused(e, a, resp_root(reply), from, now);
    resp_reply_free(reply);
    return;
  }
  a->reply = reply;
  ask_done(a, DIBS_OK, "");
}

bool ask_answered_with(engine *e, uint64_t tag, resp_reply *reply, const server *from,
                       instant now)
{
  ask *a = slots_get(&e->ask_slots, tag & ~(uint64_t)TAG_ASKS);

  if (a == NULL || a->state != ASK_SENT) {
    resp_reply_free(reply);
    return true;
  }
  if (a->observation != NULL)
    return observe_answered(e, a->observation, reply, from, now);
  ask_take_answer(e, a, reply, from, now);
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
    if (a->state == ASK_OPEN && server_is_ready(ask_server(e, a)))
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

/* SPDX-License-Identifier: MIT */
/* engine/ask.c - requests without lock state: those of operations that one reply ends, and
 * those whose reply does not matter. */
#include "engine/internal.h"

#include <assert.h>

#include "sync/command.h"

#define IN_FRONT_MAX 2048        /* requests under way: after more, the reply would be overdue */

bool ask_init(engine *e, ask *a, const request *command)
{
  request_init(&a->command, &e->memory);
  if (command != NULL ? !request_copy(&a->command, command)
                      : !a->op->row->ask(a->op, &e->names, &a->command))
    return false;
  return (a->id = slots_add(&e->ask_slots, a)) != 0;
}

void ask_deinit(engine *e, ask *a)
{
  request_deinit(&a->command);
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

static bool is_brief(const ask *a)
{
  return a->op != NULL && a->op->is_brief;
}

static void list_join(engine *e, ask *a, instant now)
{
  a->state = ASK_OPEN;
  a->asked_at = a->try_at = now;
  if (e->last_ask != NULL)
    e->last_ask->next = a;
  else
    e->first_ask = a;
  e->last_ask = a;
}

static void list_leave(engine *e, const ask *a)
{
  ask *before = NULL;

  for (ask *b = e->first_ask; b != a; b = b->next)
    before = b;
  if (before != NULL)
    before->next = a->next;
  else
    e->first_ask = a->next;
  if (e->last_ask == a)
    e->last_ask = before;
}

static dibs_status ask_add(engine *e, sync_op *op, const request *command, instant give_up_at,
                           instant now, uint64_t *ret_id)
{
  ask *a;

  if (e->is_closing)
    return DIBS_ERR_CLOSED;
  a = mem_zalloc(&e->memory, sizeof(*a));
  if (a == NULL)
    return DIBS_ERR_NO_MEMORY;
  a->op = op;
  a->give_up_at = give_up_at;
  if (!ask_init(e, a, command)) {
    ask_free(e, a);
    return DIBS_ERR_NO_MEMORY;
  }
  if (op != NULL && op->is_pinned)
    a->pinned = e->servers[op->server];
  list_join(e, a, now);
  if (op != NULL && op->in_doubt_from.ns != 0)
    ask_doubt_of_before(a, now);
  *ret_id = a->id;
  if (is_brief(a) && a->pinned->report.is == SEEN_DOWN)
    ask_done(a, DIBS_ERR_UNREACHABLE, a->pinned->report.words);
  engine_advance(e, now);
  return DIBS_OK;
}

dibs_status ask_run(engine *e, sync_op *op, instant now, uint64_t *ret_id)
{
  if (op->is_pinned && op->server >= e->server_count)
    return DIBS_ERR_ARGUMENT;
  return ask_add(e, op, NULL, op->give_up_at, now, ret_id);
}

void engine_send(engine *e, const request *command, instant give_up_at, instant now)
{
  uint64_t id;

  (void)ask_add(e, NULL, command, give_up_at, now, &id);
}

void ask_stop(engine *e, ask *a)
{
  ask_doubt(a);
  list_leave(e, a);
  ask_free(e, a);
}

/* `words` may be `a->words`. */
static void words_set(ask *a, const char *words)
{
  text shown;

  if (words == a->words)
    return;
  shown = text_over(a->words, sizeof(a->words));
  text_add(&shown, words);
}

void ask_done(ask *a, dibs_status status, const char *words)
{
  a->state = ASK_DONE;
  a->status = status;
  words_set(a, words);
}

static bool send_on(engine *e, connection *c, const ask *a, instant now)
{
  if (link_unanswered(c->link) >= IN_FRONT_MAX)
    return false;
  return a->asking != NULL
           ? connection_send_asking(e, c, &a->command, a->id | TAG_ASKS, now)
           : connection_send(e, c, &a->command, a->id | TAG_ASKS, now);
}

void ask_send(engine *e, ask *a, instant now)
{
  server *s;

  if (a->state != ASK_OPEN || instant_before(now, a->try_at))
    return;
  s = ask_server(e, a);
  if (!server_is_ready(s))
    return;
  ask_times_set(e, a, s, now);
  if (!send_on(e, s->commands, a, now)) {
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

/* One command of a call is a change if a late copy of it is refused. */
static bool is_change(const ask *a)
{
  if (a->observation != NULL || a->op == NULL)
    return false;
  return a->op->row == &command_row ? a->command.has_limit : !a->op->row->only_reads;
}

static bool is_denied(const ask *a, const resp_node *error, const server *from)
{
  return a->op != NULL && a->op->row->denies != NULL && !ask_copy_may_come(a, from) &&
         a->op->row->denies(a->op, error);
}

/* A final fault says nothing about an earlier copy: it may have been executed. */
static dibs_status status_after(const ask *a, dibs_status fault)
{
  return a->was_lost && is_change(a) ? DIBS_UNKNOWN : fault;
}

/* The connection is gone. A sent command is sent again, unless its op forbids that (is_once): the
 * server may still execute it, and the caller decides by what it finds there after its call. */
void ask_unsent(ask *a, dibs_status why, const char *words)
{
  if (a->state == ASK_DONE || a->state == ASK_LOST)
    return;
  ask_doubt(a);
  if (a->op != NULL && a->op->is_once && a->state == ASK_SENT) {
    a->state = ASK_LOST;
    a->give_up_at = a->late_at;
    words_set(a, words);
    return;
  }
  a->state = ASK_OPEN;
  a->asking = NULL;                      /* the slot may have moved since */
  a->status = why;
  words_set(a, words);
}

void asks_unsent(engine *e, const server *s, dibs_status why, const char *words)
{
  for (ask *a = e->first_ask; a != NULL; a = a->next) {
    if (s != NULL && (a->state == ASK_SENT ? a->sent_to : ask_server(e, a)) != s)
      continue;
    ask_unsent(a, why, words);
    if (a->state == ASK_OPEN && (is_brief(a) || ask_fault_is_final(why)))
      ask_done(a, status_after(a, why), a->words);
  }
}

static void ask_keep(ask *a, dibs_status status, const char *words)
{
  a->state = ASK_OPEN;
  a->status = status;
  words_set(a, words);
}

/* Sends it again to the server of the redirection, or to that of the next search. */
static void ask_redirected(engine *e, ask *a, const resp_node *error, const server *from,
                           instant now)
{
  redirect r = { .port = 0 };            /* CLUSTERDOWN: so it stays */
  server *s;

  (void)redirect_read(error->bytes, error->size, &r);
  s = topology_redirect(e, &r, from, now);
  ask_keep(a, DIBS_ERR_UNREACHABLE, error->bytes);
  a->asking = r.is_ask ? s : NULL;
  a->try_at = s != NULL && a->attempts < 5 ? now : instant_add(now, SPAN_MS(50));
  a->attempts++;
}

static void ask_refused(engine *e, ask *a, const resp_node *error, const server *from,
                        instant now)
{
  resp_fault fault = resp_fault_of(error->bytes, error->size);
  bool is_elsewhere = fault == RESP_FAULT_MOVED || fault == RESP_FAULT_ASK ||
                      fault == RESP_FAULT_NO_SLOT;

  /* The ask is for this server of a Cluster only: the error is its result. */
  if (a->pinned != NULL && e->topology.slots != NULL &&
      (fault == RESP_FAULT_MOVED || fault == RESP_FAULT_ASK)) {
    ask_done(a, DIBS_ERR_SERVER, error->bytes);
    return;
  }
  if (fault == RESP_FAULT_LATE)
    ask_was_late(a, error, from, now);
  if (fault == RESP_FAULT_NO_PRIMARY)
    topology_search(e, now);
  if (fault == RESP_FAULT_NO_SCRIPT && a->command.script != NULL && !a->command.carries_text) {
    a->command.carries_text = true;
    a->state = ASK_OPEN;
    a->try_at = now;
  } else if (is_elsewhere && e->topology.slots != NULL && a->pinned == NULL) {
    ask_redirected(e, a, error, from, now);
  } else if (fault == RESP_FAULT_READ_ONLY && a->pinned == NULL && e->topology.finder != NULL) {
    /* It was not executed: it waits until the primary is found. */
    ask_keep(a, DIBS_ERR_READ_ONLY, error->bytes);
  } else if (fault != RESP_FAULT_READ_ONLY && fault != RESP_FAULT_NO_SCRIPT &&
             resp_fault_passes(fault) && !(is_brief(a) && e->topology.slots == NULL)) {
    ask_keep(a, resp_fault_status(fault), error->bytes);
    a->try_at = instant_add(now, SPAN_MS(a->attempts < 5 ? 20 << a->attempts : 500));
    a->attempts++;
  } else {
    dibs_status why = resp_fault_status(fault);
    char words[sizeof(a->words)];
    text shown = text_over(words, sizeof(words));

    resp_fault_add(error->bytes, error->size, &shown);
    ask_done(a, is_denied(a, error, from) ? why : status_after(a, why), words);
  }
}

/* Whether the server of a key answers it; an error of the command itself is an answer, too. */
static bool decides(const request *command, const resp_node *said)
{
  resp_fault fault;
  const char *key;
  size_t size;

  if (!request_key(command, &key, &size) || request_is_command(command, "SCAN"))
    return false;
  if (said->kind != RESP_ERROR)
    return true;
  fault = resp_fault_of(said->bytes, said->size);
  return fault == RESP_FAULT_OTHER || fault == RESP_FAULT_WRONG_TYPE;
}

void ask_take_answer(engine *e, ask *a, resp_reply *reply, const server *from, instant now)
{
  if (decides(&a->command, resp_root(reply)))
    report_answered(e, from, a->status != DIBS_OK ? ANSWERED_REFUSED : ANSWERED_ONE);
  if (resp_root(reply)->kind == RESP_ERROR) {
    ask_refused(e, a, resp_root(reply), from, now);
    resp_reply_free(reply);
    return;
  }
  ask_time_learn(a, reply, from, now);
  resp_reply_free(a->reply);             /* an older one that was not read */
  a->reply = reply;
  ask_done(a, DIBS_OK, "");
  if (a->op != NULL && a->observation == NULL) {
    sync_next next = op_read(e, a);

    ask_done(a, next.status, next.message);
  }
}

/* A server that was asked by name may be a replica, and known as one. */
static bool is_misplaced(const ask *a, const resp_node *said)
{
  return said->kind == RESP_ERROR && a->pinned == NULL &&
         resp_fault_of(said->bytes, said->size) == RESP_FAULT_READ_ONLY;
}

bool ask_answered_with(engine *e, uint64_t tag, resp_reply *reply, const server *from,
                       instant now)
{
  ask *a = slots_get(&e->ask_slots, tag & ~(uint64_t)TAG_ASKS);
  bool is_useless;

  if (a == NULL || a->state != ASK_SENT) {
    resp_reply_free(reply);
    return true;
  }
  if (a->observation != NULL)
    return observe_answered(e, a->observation, reply, from, now);
  is_useless = is_misplaced(a, resp_root(reply));
  ask_take_answer(e, a, reply, from, now);
  return !is_useless;
}

static void add_no_reply(const engine *e, const ask *a, instant now, text *out)
{
  bool was_connected = a->state == ASK_SENT || server_is_ready(ask_server(e, a));

  lock_add_no_reply(was_connected, instant_since(now, a->asked_at),
                    e->settings.connect_timeout, out);
}

void ask_without_reply(const engine *e, ask *a, dibs_status status, instant now)
{
  char words[128];
  text shown = text_over(words, sizeof(words));

  add_no_reply(e, a, now, &shown);
  ask_done(a, status, words);
}

dibs_status ask_fault(const engine *e, const ask *a, instant now, text *out)
{
  const char *words;
  dibs_status why = ask_why(e, a, &words);

  if (words[0] != 0)
    text_add(out, words);
  else
    add_no_reply(e, a, now, out);
  return why != DIBS_OK ? why : DIBS_ERR_UNREACHABLE;
}

void ask_unanswered(const engine *e, ask *a, instant now)
{
  char words[sizeof(a->words)];
  text shown = text_over(words, sizeof(words));
  dibs_status why = ask_fault(e, a, now, &shown);

  ask_done(a, why, words);
}

void asks_tick(engine *e, instant now)
{
  for (ask *a = e->first_ask; a != NULL; a = a->next) {
    if (a->state == ASK_DONE || instant_before(now, a->give_up_at))
      continue;
    if (a->state == ASK_LOST) {
      ask_done(a, DIBS_UNKNOWN, a->words);
      continue;
    }
    if (a->state == ASK_OPEN) {
      ask_unanswered(e, a, now);
      a->status = a->was_lost ? DIBS_UNKNOWN : a->status;
      continue;
    }
    ask_doubt(a);
    ask_without_reply(e, a, DIBS_UNKNOWN, now);
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
  for (ask *a = e->first_ask; a != NULL; a = a->next) {
    if (a->state == ASK_DONE)
      continue;
    ask_doubt(a);
    ask_done(a, status_after(a, DIBS_ERR_CLOSED), "the client is being closed");
  }
}

bool asks_next_effect(engine *e, effect *ret)
{
  for (ask *a = e->first_ask, *next; a != NULL; a = next) {
    bool has_effect = a->state == ASK_DONE && a->op != NULL;

    next = a->next;
    if (has_effect)
      op_effect(e, a, ret);
    if (a->state == ASK_DONE)
      ask_stop(e, a);
    if (has_effect)
      return true;
  }
  return false;
}

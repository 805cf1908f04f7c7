/* SPDX-License-Identifier: MIT */
/* engine/engine.c - the one state machine: inputs in, effects out. */
#include "engine/parts.h"

#define IDLE_PING SPAN_MS(10000)

void engine_tell(engine *e, int event, const char *words)
{
  news *n;
  text shown;

  if (e->news_count == NEWS_MAX) {        /* nobody pulls: the oldest goes */
    e->news_first = (e->news_first + 1) % NEWS_MAX;
    e->news_count--;
  }
  n = &e->news[(e->news_first + e->news_count++) % NEWS_MAX];
  n->event = event;
  shown = text_over(n->words, sizeof(n->words));
  text_add(&shown, words);
}

/* ---- life ---- */

static link *make_link(engine *e, link_role role, const char *channel)
{
  char client_name[32];
  text shown = text_over(client_name, sizeof(client_name));
  link_settings s = { .memory = &e->memory, .role = role, .user = e->settings.user,
                      .password = e->settings.password, .client_name = client_name,
                      .database = role == LINK_COMMANDS ? e->settings.database : 0,
                      .channel = channel, .answer_timeout = e->settings.command_timeout,
                      .idle_ping = IDLE_PING };

  text_add(&shown, "dibs:");
  text_add(&shown, e->settings.client_id);
  return link_new(&s);
}

static bool make_links(engine *e)
{
  native names;
  char channel[PREFIX_MAX_BYTES + 40];
  text prefix = text_over(names.prefix, sizeof(names.prefix));
  text client = text_over(names.client, sizeof(names.client));
  text inbox = text_over(channel, sizeof(channel));

  text_add(&prefix, e->prefix);
  text_add(&client, e->settings.client_id);
  native_inbox(&names, &inbox);
  e->connections[LINK_COMMANDS].link = make_link(e, LINK_COMMANDS, NULL);
  e->connections[LINK_INBOX].link = make_link(e, LINK_INBOX, channel);
  return e->connections[LINK_COMMANDS].link != NULL && e->connections[LINK_INBOX].link != NULL;
}

static bool make_locks(engine *e)
{
  lock_settings s = { .memory = &e->memory, .prefix = e->prefix,
                      .client_id = e->settings.client_id, .seed = e->settings.seed,
                      .connect_timeout = e->settings.connect_timeout,
                      .command_timeout = e->settings.command_timeout,
                      .renew_every = e->settings.renew_every,
                      .clock_rate_error_ppm = e->settings.clock_rate_error_ppm,
                      .local_handovers_max = e->settings.local_handovers_max,
                      .local_handover_time = e->settings.local_handover_time,
                      .tells_owners = e->settings.tells_owners };

  e->locks = lock_table_new(&s);
  return e->locks != NULL;
}

static bool copy_texts(engine *e)
{
  const engine_settings *s = &e->settings;

  e->prefix = mem_copy_text(&e->memory, s->prefix);
  e->host = mem_copy_text(&e->memory, s->host != NULL ? s->host : "");
  e->program = mem_copy_text(&e->memory, s->program != NULL ? s->program : "");
  e->version = mem_copy_text(&e->memory, s->version != NULL ? s->version : "");
  e->note = mem_copy_text(&e->memory, s->note != NULL ? s->note : "");
  return e->prefix != NULL && e->host != NULL && e->program != NULL && e->version != NULL &&
         e->note != NULL;
}

engine *engine_new(const engine_settings *settings, instant now)
{
  engine *e = mem_zalloc(&settings->memory, sizeof(*e));

  if (e == NULL)
    return NULL;
  e->memory = settings->memory;
  e->settings = *settings;
  buffer_init(&e->scratch, &e->memory);
  slots_init(&e->ask_slots, &e->memory);
  timers_init(&e->observe_timers, &e->memory);
  random_seed(&e->random, settings->seed ^ 0x6469627365646962u);
  for (int i = 0; i < ENGINE_LINKS; i++)
    e->connections[i].state = PLAN_OFF;
  if (!copy_texts(e) || !make_links(e) || !make_locks(e))
    return engine_free(e);
  e->settings.user = e->settings.password = NULL;      /* the links have their copies */
  (void)now;
  return e;
}

engine *engine_free(engine *e)
{
  memory m;

  if (e == NULL)
    return NULL;
  while (e->first_ask != NULL) {
    ask *a = e->first_ask;
    e->first_ask = a->next;
    ask_free(e, a);
  }
  observe_free(e);
  lock_table_free(e->locks);
  for (int i = 0; i < ENGINE_LINKS; i++)
    link_free(e->connections[i].link);
  slots_deinit(&e->ask_slots);
  buffer_deinit(&e->scratch);
  mem_free(&e->memory, e->note);
  mem_free(&e->memory, e->version);
  mem_free(&e->memory, e->program);
  mem_free(&e->memory, e->host);
  mem_free(&e->memory, e->prefix);
  m = e->memory;
  mem_free(&m, e);
  return NULL;
}

/* ---- what follows from every input ---- */

static void send_commands(engine *e, instant now)
{
  uint64_t tag;

  if (!connection_is_ready(e, LINK_COMMANDS))
    return;
  if (lock_wants_link(e->locks) && !e->is_closing)
    presence_announce(e, now);
  asks_send(e, now);
  for (;;) {
    buffer_clear(&e->scratch);
    if (!lock_next_command(e->locks, &e->scratch, &tag, now))
      return;
    if (!connection_send(e, &e->scratch, tag, now)) {
      lock_unsent(e->locks, tag, now);
      return;
    }
  }
}

static void say_goodbye(engine *e, instant now)
{
  if (!e->is_closing || e->is_closed || e->farewell_was_sent || !lock_is_quiet(e->locks))
    return;
  e->farewell_was_sent = true;
  e->is_closed = !presence_farewell(e, now);
}

void engine_pump(engine *e, instant now)
{
  if (lock_link_is_doubtful(e->locks) && connection_is_ready(e, LINK_COMMANDS))
    connection_drop(e, LINK_COMMANDS, DIBS_ERR_UNREACHABLE,
                    "a renewal was not answered in time", now);
  if (lock_inbox_is_deaf(e->locks) && connection_is_ready(e, LINK_INBOX))
    connection_drop(e, LINK_INBOX, DIBS_ERR_UNREACHABLE,
                    "the server does not know this subscription", now);

  if (lock_wants_link(e->locks) || e->first_ask != NULL || e->first_channel != NULL)
    connection_want(e, LINK_COMMANDS, now);
  if ((lock_wants_inbox(e->locks) || observe_wants_inbox(e, now)) && !e->is_closing)
    connection_want(e, LINK_INBOX, now);
  send_commands(e, now);
  say_goodbye(e, now);
}

/* ---- requests ---- */

dibs_status engine_lock(engine *e, const lock_request *r, instant now, uint64_t *ret_id)
{
  lock_wish w = { .context = r->context, .kind = r->kind, .names = r->names,
                  .name_count = r->name_count, .units = r->units, .linger = r->linger,
                  .name = r->name, .name_size = r->name_size,
                  .owner = r->owner, .owner_size = r->owner_size, .is_try = r->is_try,
                  .is_fixed = r->is_fixed, .no_reentry = r->no_reentry,
                  .blocks = r->blocks, .ttl = r->ttl,
                  .max_hold = r->max_hold, .give_up_at = r->give_up_at, .note = r->note };
  dibs_status status;

  lock_tick(e->locks, now);
  status = lock_claim(e->locks, &w, now, ret_id);
  engine_pump(e, now);
  return status;
}

bool engine_cancel(engine *e, uint64_t id, instant now)
{
  bool done;

  lock_tick(e->locks, now);
  done = lock_cancel(e->locks, id, now);
  engine_pump(e, now);
  return done;
}

bool engine_fail(engine *e, uint64_t id, dibs_status status, const char *words, instant now)
{
  bool done;

  lock_tick(e->locks, now);
  done = lock_fail(e->locks, id, status, words, now);
  engine_pump(e, now);
  return done;
}

bool engine_wait_is_told(const engine *e, uint64_t id)
{
  return lock_wait_is_told(e->locks, id);
}

/* Deadlines first: a hold that is over must not be released as if it were not (S7). */
dibs_status engine_release(engine *e, uint64_t id, instant now)
{
  dibs_status status;

  lock_tick(e->locks, now);
  status = lock_release(e->locks, id, now);
  engine_pump(e, now);
  return status;
}

dibs_status engine_detach(engine *e, uint64_t id, instant now)
{
  dibs_status status;

  lock_tick(e->locks, now);
  status = lock_detach(e->locks, id, now);
  engine_pump(e, now);
  return status;
}

dibs_status engine_downgrade(engine *e, uint64_t id, instant now)
{
  dibs_status status;

  lock_tick(e->locks, now);
  status = lock_downgrade(e->locks, id, now);
  engine_pump(e, now);
  return status;
}

void engine_close(engine *e, instant now)
{
  if (e->is_closing)
    return;
  lock_tick(e->locks, now);
  e->is_closing = true;
  asks_close(e);
  observe_close(e, now);
  lock_close(e->locks, now);
  engine_pump(e, now);
}

bool engine_keep_alone(engine *e, uint64_t id)
{
  return lock_keep_alone(e->locks, id);
}

bool engine_hold_token(const engine *e, uint64_t id, text *out)
{
  return lock_token(e->locks, id, out);
}

engine_stats engine_get_stats(const engine *e)
{
  lock_counts c = lock_get_counts(e->locks);

  return (engine_stats){ .granted = c.granted, .granted_local = c.granted_local,
                         .released = c.released, .lost = c.lost, .renewed = c.renewed,
                         .renew_failed = c.renew_failed, .commands = e->commands,
                         .messages = e->messages, .connects = e->connects,
                         .holds = c.holds, .waiting = c.waiting, .names = c.names,
                         .table_bytes = c.bytes };
}

/* ---- what the driver tells ---- */

void engine_wall_clock(engine *e, int64_t wall_us, instant now)
{
  lock_wall_clock(e->locks, wall_us, now);
}

static void ready(engine *e, int i, const link_event *event, instant now)
{
  connection *c = &e->connections[i];

  c->state = PLAN_READY;
  c->was_ready = true;
  c->failures = 0;
  e->connects++;
  if (i == LINK_INBOX) {
    lock_inbox_up(e->locks, now);
    observe_inbox_up(e, now);
    return;
  }
  lock_server_time(e->locks, event->server_us, event->sent_at, now);
  lock_link_up(e->locks, now);
  observe_link_up(e, now);
  engine_tell(e, DIBS_EVENT_CONNECTED, "");
}

static void leave_replica(engine *e, instant now)
{
  connection_drop(e, LINK_COMMANDS, DIBS_ERR_READ_ONLY,
                  "READONLY: this server is a replica; give the primary's address", now);
}

static void answered(engine *e, const link_event *event, instant now)
{
  lock_verdict verdict;

  if ((event->tag & TAG_OURS) == 0) {
    verdict = lock_answer(e->locks, event->tag, event->sent_at, event->reply, now);
    resp_reply_free(event->reply);
    e->connections[LINK_COMMANDS].refusals =
      verdict == LOCK_READ_ONLY ? e->connections[LINK_COMMANDS].refusals + 1 : 0;
    if (verdict == LOCK_READ_ONLY)
      leave_replica(e, now);
    else if (verdict == LOCK_BROKEN)
      connection_drop(e, LINK_COMMANDS, DIBS_ERR_PROTOCOL,
                      "an answer of no known form; is this a Redis or Valkey server?", now);
    return;
  }
  if ((event->tag & TAG_ASKS) == TAG_ASKS) {
    if (!ask_answered_with(e, event->tag, event->reply, now)) {
      e->connections[LINK_COMMANDS].refusals++;
      leave_replica(e, now);
    }
    return;
  }
  if ((uint32_t)event->tag == TAG_MEMORY)
    presence_memory_answered(e, event->reply);
  else if ((uint32_t)event->tag == TAG_FAREWELL)
    e->is_closed = true;
  resp_reply_free(event->reply);
}

static void message(engine *e, const link_event *event, instant now)
{
  const resp_node *root = resp_root(event->reply);
  const resp_node *name = resp_child(event->reply, root, 1);
  const resp_node *payload = resp_child(event->reply, root, 2);

  e->messages++;
  if (link_is_own_channel(e->connections[LINK_INBOX].link, name->bytes, name->size))
    lock_message(e->locks, payload->bytes, payload->size, now);
  else
    observe_message(e, name, now);
  resp_reply_free(event->reply);
}

static void pull_events(engine *e, int i, instant now)
{
  link_event event;

  while (link_next_event(e->connections[i].link, now, &event)) {
    switch (event.kind) {
    case LINK_EVENT_READY:
      ready(e, i, &event, now);
      break;
    case LINK_EVENT_ANSWER:
      answered(e, &event, now);
      break;
    case LINK_EVENT_MESSAGE:
      message(e, &event, now);
      break;
    case LINK_EVENT_SUBSCRIBED:
      observe_subscribed(e, resp_child(event.reply, resp_root(event.reply), 1), now);
      resp_reply_free(event.reply);
      break;
    case LINK_EVENT_FAULT:
      connection_drop(e, i, event.status, event.text, now);
      break;
    }
  }
}

void engine_connected(engine *e, int i, instant now)
{
  if (e->connections[i].state == PLAN_CONNECTING &&
      link_opened(e->connections[i].link, now) != DIBS_OK)
    connection_drop(e, i, DIBS_ERR_NO_MEMORY, "no memory for the handshake", now);
  engine_pump(e, now);
}

void engine_disconnected(engine *e, int i, dibs_status why, const char *words, instant now)
{
  lock_tick(e->locks, now);
  connection_lost(e, i, why, words, now);
  engine_pump(e, now);
}

void engine_received(engine *e, int i, const void *bytes, size_t size, instant now)
{
  /* Holds whose time is over are lost first, whatever these bytes say. */
  lock_tick(e->locks, now);
  link_received(e->connections[i].link, bytes, size, now);
  pull_events(e, i, now);
  engine_pump(e, now);
}

void engine_tick(engine *e, instant now)
{
  lock_tick(e->locks, now);
  for (int i = 0; i < ENGINE_LINKS; i++) {
    connection_tick(e, i, now);
    pull_events(e, i, now);
  }
  asks_tick(e, now);
  observe_tick(e, now);
  engine_pump(e, now);
}

instant engine_deadline(const engine *e)
{
  instant first = instant_min(lock_deadline(e->locks), asks_deadline(e));

  first = instant_min(first, timers_first(&e->observe_timers));
  for (int i = 0; i < ENGINE_LINKS; i++)
    first = instant_min(first, connection_deadline(e, i));
  if (e->is_announced && lock_wants_link(e->locks))
    first = instant_min(first, e->announce_again_at);
  return first;
}

bool engine_is_idle(const engine *e)
{
  lock_counts counts = lock_get_counts(e->locks);

  /* What lies idle here may be wanted by somebody at any moment. */
  if (counts.waiting > 0 || counts.lingering > 0 || e->first_observation != NULL)
    return false;
  for (int i = 0; i < ENGINE_LINKS; i++) {
    const connection *c = &e->connections[i];

    if (c->state == PLAN_CONNECTING || link_unanswered(c->link) > 0)
      return false;
  }
  return true;
}

const char *engine_output(const engine *e, int i, size_t *ret_size)
{
  return link_output(e->connections[i].link, ret_size);
}

void engine_written(engine *e, int i, size_t size)
{
  link_written(e->connections[i].link, size);
}

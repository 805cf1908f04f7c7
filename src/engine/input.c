/* SPDX-License-Identifier: MIT */
/* engine/input.c - passes inputs of the driver and events of links to the parts concerned. */
#include "engine/internal.h"

void engine_wall_clock(engine *e, int64_t wall_us, instant now)
{
  for (size_t i = 0; i < engine_table_count(e); i++)
    lock_wall_clock(engine_table(e, i), wall_us, now);
}

static void ready(engine *e, connection *c, const link_event *event, instant now)
{
  server *s = c->server;

  c->state = PLAN_READY;
  c->was_ready = true;
  c->ready_at = now;
  e->reconnects += c->has_worked;
  c->has_worked = true;
  c->failures = 0;
  c->refusal = DIBS_OK;
  e->connects++;
  switch (c->purpose) {
  case FOR_COMMANDS:
    s->refused_at = (instant){ 0 };
    lock_server_time(s->locks, s->route, event->server_us, event->sent_at, now);
    lock_link_up(s->locks, s->route, now);
    observe_link_up(e, s, now);
    report_connected(e, s, now);
    break;
  case FOR_INBOX:
    lock_inbox_up(s->locks, s->route, now);
    observe_inbox_up(e, s, now);
    break;
  case FOR_SCOUT:
    topology_probe_ready(e, c, now);
    break;
  case FOR_ACKS:
  case FOR_SENTINEL_NEWS:
    break;
  }
}

/* What was sent after the refused write gets its own refusal first: without a reply it would be in
 * doubt. */
static void drop_if_left(engine *e, connection *c, instant now)
{
  if (!c->is_left || link_unanswered(c->link) > 0)
    return;
  connection_drop(e, c, DIBS_ERR_READ_ONLY,
                  "READONLY: this server is a replica; give the primary's address", now);
}

static void report_warning(engine *e, lock_table *locks)
{
  const char *words = lock_take_warning(locks);

  if (words != NULL)
    engine_report(e, DIBS_EVENT_WARNING, words);
}

/* Handles the consequences of a lock reply for the connection. */
static void lock_answered(engine *e, connection *c, const link_event *event, instant now)
{
  server *s = c->server;
  bool is_ask = lock_is_ask(s->locks, event->tag);
  lock_verdict verdict = lock_answer(s->locks, event->tag, event->sent_at, event->reply, now);
  server *to;

  if (verdict == LOCK_FINE && resp_root(event->reply)->kind != RESP_ERROR) {
    server_decided(e, s, now);
    report_answered(e, s, is_ask ? ANSWERED_LOCK : ANSWERED_ONE);
  }
  resp_reply_free(event->reply);
  report_warning(e, s->locks);
  switch (verdict) {
  case LOCK_FINE:
    break;
  case LOCK_READ_ONLY:
    connection_leave_replica(c, now);
    break;
  case LOCK_BROKEN:
    connection_drop(e, c, DIBS_ERR_PROTOCOL,
                    "unexpected reply; is this a Redis or Valkey server?", now);
    break;
  case LOCK_NO_PRIMARY:
    topology_search(e, now);
    break;
  case LOCK_MOVED:
    (void)topology_redirect(e, lock_redirect(s->locks), s, now);
    break;
  case LOCK_ASK:
    to = topology_redirect(e, lock_redirect(s->locks), s, now);
    if (to != NULL)
      lock_ask_at(s->locks, lock_redirect(s->locks)->slot, to->route);
    break;
  }
}

static void farewell_answered(engine *e, server *s)
{
  if (s->farewell_was_sent)
    e->farewells--;
  s->farewell_was_sent = false;
  e->is_closed = e->farewells == 0;
}

static void answered(engine *e, connection *c, const link_event *event, instant now)
{
  if (c->purpose == FOR_COMMANDS) {
    fleet_round_trip(e->fleet, instant_since(now, event->sent_at));
    server_answered(c->server, resp_root(event->reply), now);
  }
  if (c->purpose == FOR_SCOUT) {
    topology_probe_answer(e, c, event->reply, now);
    resp_reply_free(event->reply);
    return;
  }
  if ((event->tag & TAG_OURS) == 0) {
    lock_answered(e, c, event, now);
    return;
  }
  if ((event->tag & TAG_ASKS) == TAG_ASKS) {
    if (!ask_answered_with(e, event->tag, event->reply, c->server, now))
      connection_leave_replica(c, now);
    return;
  }
  if ((uint32_t)event->tag == TAG_MEMORY)
    presence_memory_answered(e, c->server, event->reply);
  else if ((uint32_t)event->tag == TAG_FAREWELL)
    farewell_answered(e, c->server);
  else if ((uint32_t)event->tag == TAG_FLEET)
    fleet_link_answered(e, event->tag, event->reply, now);
  resp_reply_free(event->reply);
}

/* ---- channels ---- */

static void message(engine *e, connection *c, const link_event *event, instant now)
{
  const resp_node *root = resp_root(event->reply);
  const resp_node *name = resp_child(event->reply, root, 1);
  const resp_node *payload = resp_child(event->reply, root, 2);

  e->messages++;
  if (c->purpose == FOR_SENTINEL_NEWS)
    topology_message(e, payload->bytes, payload->size, now);
  else if (observed_channel_find(e, name->bytes, name->size) != NULL)
    observe_message(e, name, now);
  else {
    lock_message(c->server->locks, name->bytes, name->size, payload->bytes, payload->size,
                 now);
    report_warning(e, c->server->locks);
  }
}

static void subscribed(engine *e, connection *c, const link_event *event, instant now)
{
  server *s = c->server;
  const resp_node *name = resp_child(event->reply, resp_root(event->reply), 1);

  if (s == NULL)
    return;
  if (event->kind == LINK_EVENT_UNSUBSCRIBED) {
    topology_search(e, now);
    lock_channel_down(s->locks, s->route, name->bytes, name->size, now);
    observe_channel_ended(e, s, name, now);
  } else if (event->tag == TAG_NAME_CHANNEL) {
    lock_channel_up(s->locks, s->route, name->bytes, name->size, now);
  } else {
    observe_subscribed(e, s, name, now);
  }
}

/* Those of names and of observations may be forbidden: then they poll. */
static void channel_refused(engine *e, connection *c, const link_event *event, instant now)
{
  server *s = c->server;
  const resp_node *error = resp_root(event->reply);
  resp_fault fault = resp_fault_of(error->bytes, error->size);
  bool is_forbidden = fault == RESP_FAULT_DENIED;
  redirect r;

  if (s == NULL)
    return;
  if (event->tag == TAG_NAME_CHANNEL)
    lock_channel_refused(s->locks, s->route, event->channel, is_forbidden, error->bytes, now);
  if (event->tag == TAG_OBSERVED_CHANNEL)
    observe_channel_refused(e, s, event->channel, is_forbidden, now);
  if (event->tag == TAG_OBSERVED_CHANNEL && (is_forbidden || fault == RESP_FAULT_OTHER))
    report_channel_refused(e, s, error->bytes);
  if (is_forbidden)
    return;
  if (redirect_read(error->bytes, error->size, &r) && !r.is_ask)
    (void)topology_redirect(e, &r, s, now);
  else
    topology_search(e, now);
}

static void pull_events(engine *e, connection *c, instant now)
{
  link_event event;

  while (!c->is_done && link_next_event(c->link, now, &event)) {
    switch (event.kind) {
    case LINK_EVENT_READY:
      ready(e, c, &event, now);
      break;
    case LINK_EVENT_ANSWER:
      answered(e, c, &event, now);
      drop_if_left(e, c, now);
      break;
    case LINK_EVENT_MESSAGE:
      message(e, c, &event, now);
      resp_reply_free(event.reply);
      break;
    case LINK_EVENT_SUBSCRIBED:
    case LINK_EVENT_UNSUBSCRIBED:
      subscribed(e, c, &event, now);
      resp_reply_free(event.reply);
      break;
    case LINK_EVENT_REFUSED:
      channel_refused(e, c, &event, now);
      resp_reply_free(event.reply);
      break;
    case LINK_EVENT_FAULT:
      connection_drop(e, c, event.status, event.text, now);
      break;
    }
  }
}

void engine_connected(engine *e, int i, instant now)
{
  connection *c = connection_of(e, i);

  if (c != NULL && c->state == PLAN_CONNECTING && link_opened(c->link, now) != DIBS_OK)
    connection_drop(e, c, DIBS_ERR_NO_MEMORY, "no memory for the handshake", now);
  engine_advance(e, now);
}

void engine_files(engine *e, int i, const char *words)
{
  connection *c = connection_of(e, i);
  text shown;

  if (c == NULL)
    return;
  shown = text_over(c->files, sizeof(c->files));
  text_add(&shown, words);
}

void engine_resolving(engine *e, int i, bool is_resolving)
{
  connection *c = connection_of(e, i);

  if (c != NULL)
    c->is_resolving = is_resolving;
}

void engine_disconnected(engine *e, int i, dibs_status why, const char *words, instant now)
{
  connection *c = connection_of(e, i);

  hold_tick(e->front, now);
  if (c != NULL)
    connection_lost(e, c, why, words, now);
  engine_advance(e, now);
}

void engine_received(engine *e, int i, const void *bytes, size_t size, instant now)
{
  connection *c = connection_of(e, i);

  /* Overdue holds are lost first, whatever these bytes contain. */
  hold_tick(e->front, now);
  if (c != NULL) {
    link_received(c->link, bytes, size, now);
    pull_events(e, c, now);
  }
  engine_advance(e, now);
}

void engine_tick(engine *e, instant now)
{
  hold_tick(e->front, now);
  for (int i = 0; i < e->link_count; i++) {
    connection *c = connection_of(e, i);

    if (c == NULL)
      continue;
    connection_tick(e, c, now);
    pull_events(e, c, now);
  }
  asks_tick(e, now);
  observe_tick(e, now);
  engine_advance(e, now);
}

/* SPDX-License-Identifier: MIT */
/* engine/engine.c - the one state machine: inputs in, effects out. */
#include "engine/parts.h"

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

lock_table *engine_locks(const engine *e)
{
  return e->cluster_locks != NULL ? e->cluster_locks : e->servers[0]->locks;
}

/* Every table once: Cluster has one for all its servers. */
size_t engine_table_count(const engine *e)
{
  return e->cluster_locks != NULL ? 1 : e->server_count;
}

lock_table *engine_table(const engine *e, size_t i)
{
  return e->cluster_locks != NULL ? e->cluster_locks : e->servers[i]->locks;
}

static void names_init(engine *e)
{
  text prefix = text_over(e->names.prefix, sizeof(e->names.prefix));
  text client = text_over(e->names.client, sizeof(e->names.client));

  text_add(&prefix, e->prefix);
  text_add(&client, e->settings.client_id);
  e->names.dialect = e->settings.dialect;
}

static bool copy_texts(engine *e)
{
  const engine_settings *s = &e->settings;

  e->prefix = mem_copy_text(&e->memory, s->prefix);
  e->host = mem_copy_text(&e->memory, s->host != NULL ? s->host : "");
  e->program = mem_copy_text(&e->memory, s->program != NULL ? s->program : "");
  e->version = mem_copy_text(&e->memory, s->version != NULL ? s->version : "");
  e->note = mem_copy_text(&e->memory, s->note != NULL ? s->note : "");
  e->registry = mem_copy_text(&e->memory, s->registry != NULL ? s->registry : "");
  return e->prefix != NULL && e->host != NULL && e->program != NULL && e->version != NULL &&
         e->note != NULL && e->registry != NULL;
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
  if (!copy_texts(e))
    return engine_free(e);
  names_init(e);
  if (!topology_init(e) || !servers_init(e))
    return engine_free(e);
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
  servers_free(e);
  topology_free(e);
  mem_free_secret(&e->memory, e->user);
  mem_free_secret(&e->memory, e->password);
  slots_deinit(&e->ask_slots);
  buffer_deinit(&e->scratch);
  mem_free(&e->memory, e->note);
  mem_free(&e->memory, e->version);
  mem_free(&e->memory, e->program);
  mem_free(&e->memory, e->host);
  mem_free(&e->memory, e->prefix);
  mem_free(&e->memory, e->registry);
  m = e->memory;
  mem_free(&m, e);
  return NULL;
}

/* ---- what follows from every input ---- */

static bool is_quiet(const engine *e)
{
  if (e->quorum != NULL && !quorum_is_quiet(e->quorum))
    return false;
  if (e->spread != NULL && !spread_is_quiet(e->spread))
    return false;
  for (size_t i = 0; i < engine_table_count(e); i++)
    if (!lock_is_quiet(engine_table(e, i)))
      return false;
  return true;
}

static void say_goodbye(engine *e, instant now)
{
  if (!e->is_closing || e->is_closed || !is_quiet(e))
    return;
  if (!e->farewell_was_sent) {
    e->farewell_was_sent = true;
    for (size_t i = 0; i < e->server_count; i++)
      if (presence_farewell(e, e->servers[i], now)) {
        e->servers[i]->farewell_was_sent = true;
        e->farewells++;
      }
  }
  e->is_closed = e->farewells == 0;
}

void engine_pump(engine *e, instant now)
{
  e->now = now;
  if (e->quorum != NULL)
    quorum_pump(e->quorum, now);
  topology_pump(e, now);
  asks_send(e, now);
  for (size_t i = 0; i < e->server_count; i++)
    server_pump(e, e->servers[i], now);
  say_goodbye(e, now);
}

void engine_locks_tick(engine *e, instant now)
{
  for (size_t i = 0; i < engine_table_count(e); i++)
    lock_tick(engine_table(e, i), now);
  if (e->quorum != NULL) {
    quorum_tick(e->quorum, now);
    quorum_pump(e->quorum, now);
  }
}

lock_counts engine_counts(const engine *e)
{
  return e->quorum != NULL ? quorum_get_counts(e->quorum) : lock_get_counts(engine_locks(e));
}

instant engine_deadline(const engine *e)
{
  instant first = instant_min(topology_deadline(e), asks_deadline(e));

  first = instant_min(first, timers_first(&e->observe_timers));
  if (e->quorum != NULL)
    first = instant_min(first, quorum_deadline(e->quorum));
  for (size_t i = 0; i < engine_table_count(e); i++)
    first = instant_min(first, lock_deadline(engine_table(e, i)));
  for (int i = 0; i < e->link_count; i++)
    if (e->links[i] != NULL && !e->links[i]->is_done)
      first = instant_min(first, connection_deadline(e->links[i]));
  for (size_t i = 0; i < e->server_count && !e->is_closing; i++)
    if (e->servers[i]->is_announced &&
        (lock_wants_link(e->servers[i]->locks, e->servers[i]->route) ||
         presence_wants_link(e, e->servers[i])))
      first = instant_min(first, e->servers[i]->announce_again_at);
  return first;
}

bool engine_is_idle(const engine *e)
{
  lock_counts c = engine_counts(e);

  /* What lies idle here may be wanted by somebody at any moment. */
  if (c.waiting > 0 || c.lingering > 0 || e->first_observation != NULL)
    return false;
  for (int i = 0; i < e->link_count; i++) {
    const connection *l = e->links[i];

    if (l != NULL && (l->state == PLAN_CONNECTING || link_unanswered(l->link) > 0))
      return false;
  }
  return true;
}

int engine_link_count(const engine *e)
{
  return e->link_count;
}

const char *engine_output(const engine *e, int i, size_t *ret_size)
{
  const connection *c = connection_of(e, i);

  *ret_size = 0;
  return c != NULL ? link_output(c->link, ret_size) : "";
}

void engine_written(engine *e, int i, size_t size)
{
  connection *c = connection_of(e, i);

  if (c != NULL)
    link_written(c->link, size);
}

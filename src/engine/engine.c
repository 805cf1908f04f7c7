/* SPDX-License-Identifier: MIT */
/* engine/engine.c - the state machine of a client: inputs in, effects out. */
#include "engine/internal.h"

void engine_report(engine *e, int event, const char *words)
{
  engine_report_of(e, event, NULL, words);
}

void engine_report_of(engine *e, int event, const server_url *url, const char *words)
{
  news *n;
  text shown;

  if (e->news_count == NEWS_MAX) {        /* not taken: drop the oldest */
    e->news_first = (e->news_first + 1) % NEWS_MAX;
    e->news_count--;
  }
  n = &e->news[(e->news_first + e->news_count++) % NEWS_MAX];
  n->event = event;
  shown = text_over(n->words, sizeof(n->words));
  text_add(&shown, words);
  shown = text_over(n->node, sizeof(n->node));
  if (url != NULL)
    server_url_show(url, &shown);
}

/* ---- life ---- */

lock_table *engine_locks(const engine *e)
{
  return e->cluster_locks != NULL ? e->cluster_locks : e->servers[0]->locks;
}

/* Each table once: Cluster has one for all servers. */
size_t engine_table_count(const engine *e)
{
  return e->cluster_locks != NULL ? 1 : e->server_count;
}

lock_table *engine_table(const engine *e, size_t i)
{
  return e->cluster_locks != NULL ? e->cluster_locks : e->servers[i]->locks;
}

void engine_protocol(const engine_settings *settings, protocol *ret)
{
  bool is_cluster = settings->deployment->kind == DEPLOYMENT_CLUSTER;
  protocol_settings s = { .dialect = settings->dialect, .prefix = settings->prefix,
                          .client = settings->client_id, .registry = settings->registry,
                          .is_cluster = is_cluster,
                          /* since Redis 7.0; cleared when an older server is found */
                          .has_sharded_channels = is_cluster && !settings->shuns_shards,
                          .uses_functions = settings->uses_functions,
                          .is_quorum = settings->deployment->kind == DEPLOYMENT_QUORUM,
                          .quarantine = settings->quarantine };

  protocol_init(ret, &s);
}

static bool copy_texts(engine *e)
{
  const engine_settings *s = &e->settings;

  e->host = mem_copy_text(&e->memory, s->host != NULL ? s->host : "");
  e->program = mem_copy_text(&e->memory, s->program != NULL ? s->program : "");
  e->version = mem_copy_text(&e->memory, s->version != NULL ? s->version : "");
  e->note = mem_copy_text(&e->memory, s->note != NULL ? s->note : "");
  return e->host != NULL && e->program != NULL && e->version != NULL && e->note != NULL;
}

static bool make_fleet(engine *e, instant now)
{
  const engine_settings *s = &e->settings;
  fleet_settings f = { .memory = e->memory, .names = &e->names, .host = e->host,
                       .program = e->program, .note = e->note, .pid = s->pid,
                       .every = s->report_every, .history = s->history,
                       .history_max = s->history_max, .history_over = s->history_over,
                       .classes = s->classes };

  e->fleet = fleet_new(&f, now);
  return e->fleet != NULL;
}

fleet *engine_fleet(const engine *e)
{
  return e->fleet;
}

engine *engine_new(const engine_settings *settings, instant now)
{
  engine *e = mem_zalloc(&settings->memory, sizeof(*e));

  if (e == NULL)
    return NULL;
  e->memory = settings->memory;
  e->settings = *settings;
  request_init(&e->scratch, &e->memory);
  slots_init(&e->ask_slots, &e->memory);
  timers_init(&e->observe_timers, &e->memory);
  random_seed(&e->random, settings->seed ^ 0x6469627365646962u);
  e->is_patient = settings->patience == PATIENCE_ALWAYS;
  if (!copy_texts(e))
    return engine_free(e);
  engine_protocol(settings, &e->names);
  if (!make_fleet(e, now))
    return engine_free(e);
  if (!topology_init(e) || !servers_init(e))
    return engine_free(e);
  return e;
}

engine *engine_free(engine *e)
{
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
  e->fleet = fleet_free(e->fleet);
  mem_free_secret(&e->memory, e->user);
  mem_free_secret(&e->memory, e->password);
  slots_deinit(&e->ask_slots);
  request_deinit(&e->scratch);
  mem_free(&e->memory, e->note);
  mem_free(&e->memory, e->version);
  mem_free(&e->memory, e->program);
  mem_free(&e->memory, e->host);
  mem_free(&e->memory, e);
  return NULL;
}

/* ---- after every input ---- */

static bool is_quiet(const engine *e)
{
  if (!hold_is_quiet(e->front))
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
  if (!e->farewell_was_sent && fleet_link_is_open(e))
    return;                              /* its reply, or the end of its connection, comes first */
  if (!e->farewell_was_sent) {
    e->farewell_was_sent = true;
    fleet_link_farewell(e, now);
    for (size_t i = 0; i < e->server_count; i++)
      if (presence_farewell(e, e->servers[i], now)) {
        e->servers[i]->farewell_was_sent = true;
        e->farewells++;
      }
  }
  e->is_closed = e->farewells == 0;
}

void engine_advance(engine *e, instant now)
{
  e->now = now;
  if (e->quorum != NULL)
    quorum_advance(e->quorum, now);
  topology_advance(e, now);
  asks_send(e, now);
  for (size_t i = 0; i < e->server_count; i++)
    server_advance(e, e->servers[i], now);
  fleet_link_advance(e, now);
  report_advance(e, now);
  say_goodbye(e, now);
}

instant engine_deadline(const engine *e)
{
  instant first = instant_min(topology_deadline(e), asks_deadline(e));

  first = instant_min(first, report_deadline(e));
  first = instant_min(first, fleet_link_deadline(e));
  first = instant_min(first, timers_first(&e->observe_timers));
  first = instant_min(first, hold_deadline(e->front));
  for (int i = 0; i < e->link_count; i++)
    if (e->links[i] != NULL && !e->links[i]->is_done)
      first = instant_min(first, connection_deadline(e->links[i]));
  for (size_t i = 0; i < e->server_count && !e->is_closing; i++)
    if (e->servers[i]->is_announced && server_is_ready(e->servers[i]) &&
        (lock_wants_link(e->servers[i]->locks, e->servers[i]->route) ||
         presence_wants_link(e, e->servers[i])))
      first = instant_min(first, e->servers[i]->announce_again_at);
  return first;
}

bool engine_awaits_server(const engine *e)
{
  for (int i = 0; i < e->link_count; i++) {
    const connection *l = e->links[i];

    if (l != NULL && (l->state == PLAN_CONNECTING || link_unanswered(l->link) > 0))
      return true;
  }
  return false;
}

bool engine_is_idle(const engine *e)
{
  lock_counts c = hold_counts(e->front);

  /* Another client may want a parked lease at any time. */
  return c.waiting == 0 && c.parked == 0 && e->first_observation == NULL &&
         !engine_awaits_server(e);
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

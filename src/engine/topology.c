/* SPDX-License-Identifier: MIT */
/* engine/topology.c - finds the current servers, and applies the result. */
#include "engine/internal.h"

#include <string.h>

#define SEARCH_PAUSE_MS 50
#define SEARCH_PAUSE_MAX_MS 500
#define IN_A_ROW SPAN_MS(2000)   /* more frequent searches do not help */

/* ---- life ---- */

bool topology_init(engine *e)
{
  const deployment *d = e->settings.deployment;
  topology *t = &e->topology;

  if (d->kind == DEPLOYMENT_SINGLE || d->kind == DEPLOYMENT_QUORUM)
    return true;
  t->finder = finder_new(&e->memory, d);
  if (t->finder == NULL)
    return false;
  t->is_wanted = true;
  if (d->kind != DEPLOYMENT_CLUSTER)
    return true;
  t->slots = mem_alloc(&e->memory, SLOT_COUNT * sizeof(t->slots[0]));
  for (size_t i = 0; t->slots != NULL && i < SLOT_COUNT; i++)
    t->slots[i] = ROUTE_NONE;
  return t->slots != NULL;
}

void topology_free(engine *e)
{
  topology *t = &e->topology;

  for (int i = 0; i < ENGINE_LINKS_MAX; i++)
    if (e->links[i] != NULL && e->links[i]->server == NULL)
      (void)connection_free(e, e->links[i]);
  t->finder = finder_free(t->finder);
  if (t->sentinel.memory.allocate != NULL)
    server_url_deinit(&t->sentinel);
  mem_free(&e->memory, t->slots);
}

void topology_search(engine *e, instant now)
{
  (void)now;
  if (e->topology.finder != NULL)
    e->topology.is_wanted = e->topology.is_requested = true;
}

/* ---- probes ---- */

static void probes_home(engine *e)
{
  topology *t = &e->topology;
  int probe;

  while (finder_next_home(t->finder, &probe)) {
    connection *c = t->probes[probe];

    t->probes[probe] = NULL;
    if (c != NULL)
      connection_end(e, c);
  }
}

static void probes_out(engine *e, instant now)
{
  topology *t = &e->topology;
  const server_url *url;
  int probe;

  while (finder_next_probe(t->finder, now, &probe, &url)) {
    connection *c = connection_new(e, FOR_SCOUT, NULL, url);

    if (c == NULL) {
      finder_failed(t->finder, probe, DIBS_ERR_NO_MEMORY, "no memory for a connection", now);
      continue;
    }
    c->probe = probe;
    t->probes[probe] = c;
    connection_want(e, c, now);
  }
}

static void ask_next(engine *e, connection *c, instant now)
{
  request question;

  request_init(&question, &e->memory);
  if (finder_next_question(e->topology.finder, c->probe, &question) &&
      !connection_send(e, c, &question, TAG_IGNORED, now))
    connection_drop(e, c, DIBS_ERR_NO_MEMORY, "no memory for a request", now);
  request_deinit(&question);
}

void topology_probe_ready(engine *e, connection *c, instant now)
{
  ask_next(e, c, now);
}

void topology_probe_answer(engine *e, connection *c, const resp_reply *reply, instant now)
{
  finder_answer(e->topology.finder, c->probe, reply, now);
  if (e->topology.probes[c->probe] == c && !c->is_done)
    ask_next(e, c, now);
}

void topology_lost(engine *e, connection *c, dibs_status why, const char *words, instant now)
{
  topology *t = &e->topology;

  if (c->purpose == FOR_SENTINEL_NEWS) {
    finder_unsubscribed(t->finder);
    t->sentinel_news = NULL;
    t->may_listen = false;
    topology_search(e, now);             /* a message may have been missed */
  } else if (t->probes[c->probe] == c) {
    t->probes[c->probe] = NULL;
    finder_failed(t->finder, c->probe, why, words, now);
  }
  c->is_done = true;
  c->state = PLAN_OFF;
}

/* ---- messages of sentinels ---- */

void topology_message(engine *e, const char *payload, size_t size, instant now)
{
  if (!finder_is_concerned(e->topology.finder, payload, size))
    return;
  e->topology.is_news = true;
  topology_search(e, now);
}

static void listen(engine *e, instant now)
{
  topology *t = &e->topology;
  const server_url *url;

  if (t->sentinel_news != NULL || e->settings.deployment->kind != DEPLOYMENT_SENTINEL ||
      e->settings.only_polls || !t->may_listen || e->is_closing)
    return;
  url = finder_listen_at(t->finder);
  if (url == NULL)
    return;
  if (t->sentinel.memory.allocate != NULL)
    server_url_deinit(&t->sentinel);
  if (server_url_copy(url, &t->sentinel) != DIBS_OK) {
    t->sentinel = (server_url){ .host = NULL };
    return;
  }
  t->sentinel_news = connection_new(e, FOR_SENTINEL_NEWS, NULL, &t->sentinel);
  connection_want(e, t->sentinel_news, now);
}

/* ---- results ---- */

static void pause_next(engine *e, instant now)
{
  topology *t = &e->topology;
  int64_t ms = SEARCH_PAUSE_MS;
  unsigned vain = t->failures > t->repeats ? t->failures : t->repeats;

  for (unsigned i = 1; i < vain && ms < SEARCH_PAUSE_MAX_MS; i++)
    ms *= 2;
  if (ms > SEARCH_PAUSE_MAX_MS)
    ms = SEARCH_PAUSE_MAX_MS;
  t->next_at = instant_add(now, random_span(&e->random, SPAN_MS(ms / 2), SPAN_MS(ms)));
}

static void slots_apply(engine *e, instant now)
{
  lock_slots_changed(e->cluster_locks, now);
  observe_slots_changed(e, now);
  observe_ask_again(e, now);
}

static void use_primary(engine *e, const server_url *url, instant now)
{
  if (url != NULL)
    server_move(e, e->servers[0], url, now);
}

static server *server_of_node(engine *e, const char *host, int port)
{
  server_url url;
  server *s = NULL;

  if (deployment_url(e->settings.deployment, host, port, &url) != DIBS_OK)
    return NULL;
  s = server_get(e, &url);
  server_url_deinit(&url);
  return s;
}

/* Ends connections to nodes that serve nothing. */
static void servers_part(engine *e, instant now)
{
  for (size_t i = 0; i < e->server_count; i++)
    if (e->servers[i]->is_out)
      server_part(e, e->servers[i], now);
}

static void use_slots(engine *e, const slot_map *map, instant now)
{
  topology *t = &e->topology;
  uint16_t of_node[NODES_MAX];           /* numbers of servers */
  bool is_complete = true;

  if (map == NULL)
    return;
  if (!t->was_found) {
    e->has_sharded_channels = map->has_sharded_channels && !e->settings.shuns_shards;
    lock_sharded_channels(e->cluster_locks, e->has_sharded_channels);
  }
  for (size_t i = 0; i < e->server_count; i++)
    e->servers[i]->is_out = true;
  for (size_t i = 0; i < map->node_count; i++) {
    server *s = server_of_node(e, map->nodes[i].host, map->nodes[i].port);

    finder_learn(t->finder, map->nodes[i].host, map->nodes[i].port);
    of_node[i] = s != NULL ? (uint16_t)s->number : ROUTE_NONE;
    is_complete &= s != NULL;
    if (s != NULL)
      s->is_out = false;
  }
  for (size_t i = 0; i < SLOT_COUNT; i++) {
    t->slots[i] = map->node_of[i] < map->node_count ? of_node[map->node_of[i]] : ROUTE_NONE;
    is_complete &= t->slots[i] != ROUTE_NONE;
  }
  slots_apply(e, now);
  servers_part(e, now);
  if (!is_complete)                      /* a shard without a primary will have one soon */
    t->is_wanted = true;
}

static void found(engine *e, instant now)
{
  topology *t = &e->topology;

  t->failures = 0;
  t->repeats = instant_since(now, t->found_at).ns < IN_A_ROW.ns ? t->repeats + 1 : 0;
  t->found_at = now;
  pause_next(e, now);
  if (t->slots != NULL)
    use_slots(e, finder_take_slots(t->finder), now);
  else
    use_primary(e, finder_take_primary(t->finder), now);
  t->was_found = t->may_listen = true;
  report_search(e, true, "", now);
}

/* Requests without a known server fail with this reason, at their time limit. */
static void found_none(engine *e, instant now)
{
  topology *t = &e->topology;
  const char *words = "";
  dibs_status why = finder_why(t->finder, &words);

  t->is_none_news = false;
  t->failures++;
  t->is_wanted = true;
  pause_next(e, now);
  if (t->slots != NULL) {
    lock_link_down(e->cluster_locks, ROUTE_NONE, why, words, now);
    lock_fail_if_final(e->cluster_locks, ROUTE_NONE, now);
  } else if (!server_is_ready(e->servers[0])) {
    lock_link_down(e->servers[0]->locks, 0, why, words, now);
    lock_fail_if_final(e->servers[0]->locks, 0, now);
  }
  if (server_any_ready(e) == NULL) {
    asks_unsent(e, NULL, why, words);
    observe_link_down(e, NULL, why, words, now);
    report_search(e, false, words, now);
  }
}

server *topology_redirect(engine *e, const redirect *r, const server *from, instant now)
{
  server *s;

  if (e->topology.slots == NULL || r->port == 0) {
    if (e->topology.slots != NULL)
      finder_doubt(e->topology.finder);
    topology_search(e, now);
    return NULL;
  }
  s = server_of_node(e, r->host[0] != 0 ? r->host : from->url.host, r->port);
  if (s != NULL)
    s->is_out = false;
  if (s != NULL && r->is_ask)            /* the map is valid until the slot has moved */
    return s;
  topology_search(e, now);
  if (s == NULL)
    return NULL;
  e->topology.slots[r->slot] = (uint16_t)s->number;
  slots_apply(e, now);
  return s;
}

/* ---- after every input ---- */

/* For releases alone each connection that fails, and each message of a sentinel, begins one
 * search: of a server that is gone the client would otherwise search until the leases are over. */
static bool may_repeat(const engine *e)
{
  for (size_t i = 0; i < e->server_count && e->topology.is_requested; i++)
    if (lock_may_repeat(e->servers[i]->locks, e->servers[i]->route, e->topology.is_news, e->now))
      return true;
  return false;
}

static bool somebody_waits(const engine *e)
{
  if (e->first_ask != NULL || observe_is_open(e))
    return true;
  if (e->topology.slots != NULL && lock_is_lost_in_slots(e->cluster_locks))
    return true;
  for (size_t i = 0; i < e->server_count; i++)
    if (lock_waits_for(e->servers[i]->locks, e->servers[i]->route))
      return true;
  return may_repeat(e);
}

static bool may_begin(const engine *e, instant now)
{
  const topology *t = &e->topology;

  return t->is_wanted && finder_state_of(t->finder) != FINDER_LOOKING &&
         !instant_before(now, t->next_at) && somebody_waits(e);
}

static void take_result(engine *e, instant now)
{
  topology *t = &e->topology;

  if (finder_state_of(t->finder) == FINDER_FOUND)
    found(e, now);
  else if (finder_state_of(t->finder) == FINDER_NONE && t->is_none_news)
    found_none(e, now);
}

void topology_advance(engine *e, instant now)
{
  topology *t = &e->topology;

  if (t->finder == NULL)
    return;
  finder_tick(t->finder, now);
  take_result(e, now);
  if (t->slots != NULL && lock_is_lost_in_slots(e->cluster_locks))
    t->is_wanted = true;
  if (may_begin(e, now)) {
    t->is_wanted = t->is_requested = t->is_news = false;
    t->is_none_news = true;
    finder_begin(t->finder, instant_add(now, e->settings.connect_timeout), now);
  }
  probes_home(e);
  probes_out(e, now);
  probes_home(e);
  take_result(e, now);                   /* no probe could be sent */
  listen(e, now);
}

instant topology_deadline(const engine *e)
{
  const topology *t = &e->topology;
  instant at;

  if (t->finder == NULL)
    return INSTANT_NEVER;
  at = finder_deadline(t->finder);
  if (t->is_wanted && finder_state_of(t->finder) != FINDER_LOOKING && somebody_waits(e))
    at = instant_min(at, t->next_at);
  return at;
}

/* SPDX-License-Identifier: MIT */
/* engine/server.c - the servers that may have names, and the server of a key or command. */
#include "engine/internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

static lock_table *make_locks(engine *e)
{
  bool is_cluster = e->settings.deployment->kind == DEPLOYMENT_CLUSTER;
  lock_settings s = { .memory = &e->memory, .protocol = &e->names, .seed = e->settings.seed,
                      .connect_timeout = e->settings.connect_timeout,
                      .command_timeout = e->settings.command_timeout,
                      .renew_every = e->settings.renew_every,
                      .clock_rate_error_ppm = e->settings.clock_rate_error_ppm,
                      .local_handovers_max = e->settings.local_handovers_max,
                      .local_handover_time = e->settings.local_handover_time,
                      .reports_waits = e->settings.reports_waits,
                      .route_count = is_cluster ? 0 : 1, .slots = e->topology.slots,
                      .only_polls = e->settings.only_polls,
                      .is_patient = e->is_patient };

  if (e->settings.deployment->kind != DEPLOYMENT_QUORUM)     /* a quorum counts them itself */
    s.names_max = e->settings.names_max;
  s.seed += e->server_count;
  memcpy(s.nonce_key, e->settings.nonce_key, sizeof(s.nonce_key));
  return lock_table_new(&s);
}

static bool make_room(engine *e)
{
  server **more = mem_realloc(&e->memory, e->servers, (e->server_count + 1) * sizeof(*more));

  if (more != NULL)
    e->servers = more;
  return more != NULL;
}

static server *server_free(engine *e, server *s)
{
  (void)connection_free(e, s->commands);
  (void)connection_free(e, s->inbox);
  (void)connection_free(e, s->acks);
  if (s->has_url)
    server_url_deinit(&s->url);
  mem_free(&e->memory, s);
  return NULL;
}

static bool connect_new(engine *e, server *s)
{
  s->commands = connection_new(e, FOR_COMMANDS, s, &s->url);
  s->inbox = connection_new(e, FOR_INBOX, s, &s->url);
  return s->commands != NULL && s->inbox != NULL;
}

/* `url` NULL: not found yet. `locks` NULL: create a table. */
static server *server_new(engine *e, lock_table *locks, const server_url *url)
{
  server *s = make_room(e) ? mem_zalloc(&e->memory, sizeof(*s)) : NULL;

  if (s == NULL)
    return NULL;
  s->number = e->server_count;
  s->has_url = url != NULL && server_url_copy(url, &s->url) == DIBS_OK;
  if (s->has_url != (url != NULL) || (s->has_url && locks == NULL && !connect_new(e, s)))
    return server_free(e, s);
  s->locks = locks != NULL ? locks : make_locks(e);
  if (s->locks == NULL ||
      (locks != NULL && lock_add_route(locks, &s->route) != DIBS_OK)) {
    return server_free(e, s);
  }
  if (s->has_url)
    lock_route_moved(s->locks, s->route, &s->url);
  e->servers[e->server_count++] = s;
  return s;
}

static bool make_quorum(engine *e)
{
  lock_table *tables[QUORUM_SERVERS_MAX];
  quorum_settings s = { .memory = &e->memory, .tables = tables, .count = e->server_count,
                        .seed = e->settings.seed,
                        .connect_timeout = e->settings.connect_timeout,
                        .command_timeout = e->settings.command_timeout,
                        .is_patient = e->is_patient,
                        .names_max = e->settings.names_max };

  for (size_t i = 0; i < e->server_count; i++)
    tables[i] = e->servers[i]->locks;
  e->quorum = quorum_new(&s);
  if (e->quorum != NULL)
    hold_front_add(e->front, quorum_backend(e->quorum));
  return e->quorum != NULL;
}

static int by_address(const void *left, const void *right)
{
  const server_url *a = *(const server_url *const *)left;
  const server_url *b = *(const server_url *const *)right;
  int order = strcmp(a->host != NULL ? a->host : a->path, b->host != NULL ? b->host : b->path);

  return order != 0 ? order : a->port - b->port;
}

/* The same order for all clients, whatever their URLs: they queue at the same server. */
static bool make_voters(engine *e)
{
  const deployment *d = e->settings.deployment;
  const server_url *seeds[QUORUM_SERVERS_MAX];

  for (size_t i = 0; i < d->seed_count; i++)
    seeds[i] = &d->seeds[i];
  qsort(seeds, d->seed_count, sizeof(seeds[0]), by_address);
  for (size_t i = 0; i < d->seed_count; i++)
    if (server_new(e, NULL, seeds[i]) == NULL)
      return false;
  return true;
}

/* Multi-locks of several slots, or of a dialect that takes names one by one. */
static bool make_multi(engine *e, lock_table *locks)
{
  bool by_name = !e->names.dialect->traits.has_sets;

  if (e->cluster_locks == NULL && !by_name)
    return true;
  e->multi = multi_new(&e->memory, locks, by_name);
  if (e->multi != NULL)
    hold_front_add(e->front, multi_backend(e->multi));
  return e->multi != NULL;
}

static bool make_backends(engine *e, lock_table *locks)
{
  if (locks == NULL || !make_multi(e, locks))
    return false;
  hold_front_add(e->front, lock_backend(locks));
  return true;
}

static bool make_one(engine *e, const server_url *url)
{
  const server *s = server_new(e, NULL, url);

  return s != NULL && make_backends(e, s->locks);
}

bool servers_init(engine *e)
{
  const deployment *d = e->settings.deployment;

  e->front = hold_front_new(&e->memory);
  if (e->front == NULL)
    return false;
  switch (d->kind) {
  case DEPLOYMENT_SINGLE:
    return make_one(e, &d->seeds[0]);
  case DEPLOYMENT_REPLICATED:
  case DEPLOYMENT_SENTINEL:
    return make_one(e, NULL);
  case DEPLOYMENT_CLUSTER:
    e->cluster_locks = make_locks(e);
    return make_backends(e, e->cluster_locks);
  case DEPLOYMENT_QUORUM:
    return make_voters(e) && make_quorum(e);
  }
  return false;
}

void servers_free(engine *e)
{
  e->front = hold_front_free(e->front);
  e->quorum = quorum_free(e->quorum);
  e->multi = multi_free(e->multi);
  while (e->server_count > 0) {
    server *s = e->servers[--e->server_count];

    if (e->cluster_locks == NULL)
      lock_table_free(s->locks);
    (void)server_free(e, s);
  }
  e->cluster_locks = lock_table_free(e->cluster_locks);
  mem_free(&e->memory, e->servers);
}

/* ---- addresses ---- */

server *server_find(const engine *e, const server_url *url)
{
  for (size_t i = 0; i < e->server_count; i++)
    if (e->servers[i]->has_url && server_url_same_address(&e->servers[i]->url, url))
      return e->servers[i];
  return NULL;
}

server *server_get(engine *e, const server_url *url)
{
  server *s = server_find(e, url);

  return s != NULL ? s : server_new(e, e->cluster_locks, url);
}

void server_move(engine *e, server *s, const server_url *url, instant now)
{
  server_url copy;

  if (s->has_url && server_url_same_address(&s->url, url))
    return;
  if (server_url_copy(url, &copy) != DIBS_OK) {
    topology_search(e, now);
    return;
  }
  for (int i = 0; i < e->link_count; i++) {
    connection *c = e->links[i];

    if (c == NULL || c->server != s)
      continue;
    if (c->state != PLAN_OFF && c->state != PLAN_BACK_OFF)
      connection_drop(e, c, DIBS_ERR_UNREACHABLE, "another server is the primary now", now);
    connection_end(e, c);
  }
  if (s->has_url)
    server_url_deinit(&s->url);
  s->url = copy;
  s->has_url = true;
  lock_route_moved(s->locks, s->route, &s->url);
}

/* ---- selection ---- */

server *server_of_key(const engine *e, const char *key, size_t size)
{
  uint16_t number;

  if (e->topology.slots == NULL)
    return e->servers[0];
  number = e->topology.slots[slot_of_key(key, size)];
  return number < e->server_count ? e->servers[number] : NULL;
}

bool server_is_ready(const server *s)
{
  return s != NULL && connection_is_ready(s->commands);
}

const server *server_any_ready(const engine *e)
{
  for (size_t i = 0; i < e->server_count; i++)
    if (server_is_ready(e->servers[i]))
      return e->servers[i];
  return NULL;
}

void server_decided(engine *e, server *s, instant now)
{
  size_t count = 0;

  if (s->was_decided)
    return;
  s->was_decided = true;
  for (size_t i = 0; i < e->server_count; i++)
    count += e->servers[i]->was_decided;
  if (e->is_patient || e->settings.patience != PATIENCE_ONCE_ANSWERED ||
      (e->quorum != NULL && count <= e->server_count / 2))
    return;
  e->is_patient = true;
  for (size_t i = 0; i < engine_table_count(e); i++)
    lock_be_patient(engine_table(e, i), now);
  if (e->quorum != NULL)
    quorum_be_patient(e->quorum);
  observe_be_patient(e);
}

void server_answered(server *s, const resp_node *reply, instant now)
{
  resp_fault fault = reply->kind == RESP_ERROR ? resp_fault_of(reply->bytes, reply->size)
                                               : RESP_FAULT_OTHER;

  s->refused_at = fault == RESP_FAULT_LATER || fault == RESP_FAULT_NO_PRIMARY ? now
                                                                              : (instant){ 0 };
}

/* Of several that can be asked, the one whose refusal is the oldest: a quorum does not wait for one
 * that is BUSY. */
server *server_of_command(const engine *e, const request *command)
{
  server *found = NULL;
  const char *key;
  size_t size;

  if (e->topology.slots != NULL && request_key(command, &key, &size))
    return server_of_key(e, key, size);
  for (size_t i = 0; i < e->server_count; i++) {
    server *s = e->servers[i];

    if (server_is_ready(s) &&
        (found == NULL || instant_before(s->refused_at, found->refused_at)))
      found = s;
  }
  return found != NULL || e->server_count == 0 ? found : e->servers[0];
}

/* ---- after every input ---- */

static void send_commands(engine *e, server *s, instant now)
{
  for (;;) {
    lock_command k;

    if (!lock_next_command(s->locks, s->route, &e->scratch, &k, now))
      return;
    if (!(k.is_asking ? connection_send_asking(e, s->commands, &e->scratch, k.tag, now)
                      : connection_send(e, s->commands, &e->scratch, k.tag, now))) {
      lock_unsent(s->locks, k.tag, now);
      return;
    }
  }
}

static void send_acks(engine *e, server *s, instant now)
{
  uint64_t tag;

  if (!connection_is_ready(s->acks))
    return;
  for (;;) {
    if (!lock_next_ack_command(s->locks, s->route, &e->scratch, &tag, now))
      return;
    if (!connection_send(e, s->acks, &e->scratch, tag, now)) {
      connection_drop(e, s->acks, DIBS_ERR_NO_MEMORY, "no memory", now);
      return;
    }
  }
}

static void send_channels(engine *e, server *s, instant now)
{
  char bytes[CHANNEL_TEXT_SIZE];
  bool is_sharded = lock_channels_are_sharded(s->locks), is_left;

  if (!connection_is_ready(s->inbox))
    return;
  for (;;) {
    text channel = text_over(bytes, sizeof(bytes));
    dibs_status status;

    if (!lock_next_channel(s->locks, s->route, &channel, &is_left))
      return;
    status = is_left ? link_unsubscribe(s->inbox->link, bytes, channel.used, is_sharded, now)
                     : link_subscribe(s->inbox->link, bytes, channel.used, is_sharded,
                                      TAG_NAME_CHANNEL, now);
    if (status != DIBS_OK) {
      connection_drop(e, s->inbox, DIBS_ERR_NO_MEMORY, "no memory", now);
      return;
    }
  }
}

static void drop_bad_links(engine *e, server *s, instant now)
{
  /* Also a link to a replica, which is left when it has answered: that may never be. */
  if (lock_link_is_doubtful(s->locks, s->route) && s->commands != NULL &&
      s->commands->state == PLAN_READY)
    connection_drop(e, s->commands, DIBS_ERR_UNREACHABLE,
                    "a renewal was not answered in time", now);
  if (lock_inbox_has_no_subscriber(s->locks, s->route) && connection_is_ready(s->inbox))
    connection_drop(e, s->inbox, DIBS_ERR_UNREACHABLE,
                    "the server does not know this subscription", now);
}

static bool is_wanted(const engine *e, const server *s)
{
  if (lock_wants_link(s->locks, s->route) || presence_wants_link(e, s) ||
      fleet_link_wants(e, s))
    return true;
  if (e->first_ask == NULL && !observe_is_open(e))
    return false;
  return !s->is_out;       /* some are for any server, some for all */
}

/* Without memory or a free number, the next input tries again. */
static void want(engine *e, server *s, connection **c, purpose p, instant now)
{
  if (*c == NULL)
    *c = connection_new(e, p, s, &s->url);
  connection_want(e, *c, now);
}

static void part_with(engine *e, connection **c, instant now)
{
  connection *left = *c;

  if (left == NULL)
    return;
  if (left->state == PLAN_CONNECTING || left->state == PLAN_READY)
    connection_drop(e, left, DIBS_ERR_UNREACHABLE, "this server no longer serves any slot", now);
  *c = NULL;
  left->server = NULL;                   /* so that it is freed after its effects */
  connection_end(e, left);
}

void server_part(engine *e, server *s, instant now)
{
  part_with(e, &s->commands, now);
  part_with(e, &s->inbox, now);
  part_with(e, &s->acks, now);
}

void server_advance(engine *e, server *s, instant now)
{
  drop_bad_links(e, s, now);
  if (!s->has_url)
    return;
  if (is_wanted(e, s))
    want(e, s, &s->commands, FOR_COMMANDS, now);
  if (!e->is_closing && !s->is_out &&
      (lock_wants_inbox(s->locks, s->route) || observe_wants_inbox(e, s)))
    want(e, s, &s->inbox, FOR_INBOX, now);
  if (!e->is_closing && !s->is_out && lock_wants_acks(s->locks, s->route))
    want(e, s, &s->acks, FOR_ACKS, now);
  if (server_is_ready(s)) {
    if ((lock_wants_link(s->locks, s->route) || presence_wants_link(e, s)) &&
        !e->is_closing)
      presence_announce(e, s, now);
    send_commands(e, s, now);
  } else if (s->commands != NULL && s->commands->is_left) {
    lock_sends_no_more(s->locks, s->route, now);
  }
  send_acks(e, s, now);
  send_channels(e, s, now);
  report_polling(e, s, now);
}

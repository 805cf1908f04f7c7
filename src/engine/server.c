/* SPDX-License-Identifier: MIT */
/* Servers: where names live, one or many; which one a key or a command is for. */
#include "engine/parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

static lock_table *make_locks(engine *e)
{
  bool is_cluster = e->settings.deployment->kind == DEPLOYMENT_CLUSTER;
  lock_settings s = { .memory = &e->memory, .prefix = e->prefix,
                      .client_id = e->settings.client_id, .seed = e->settings.seed,
                      .connect_timeout = e->settings.connect_timeout,
                      .command_timeout = e->settings.command_timeout,
                      .renew_every = e->settings.renew_every,
                      .clock_rate_error_ppm = e->settings.clock_rate_error_ppm,
                      .local_handovers_max = e->settings.local_handovers_max,
                      .local_handover_time = e->settings.local_handover_time,
                      .tells_owners = e->settings.tells_owners,
                      .route_count = is_cluster ? 0 : 1, .slots = e->topology.slots,
                      .quarantine = e->settings.quarantine,
                      .uses_functions = e->settings.uses_functions,
                      .only_polls = e->settings.only_polls,
                      .dialect = e->settings.dialect, .registry = e->registry,
                      .is_voter = e->settings.deployment->kind == DEPLOYMENT_QUORUM,
                      .is_patient = e->settings.is_patient };

  if (e->settings.deployment->kind != DEPLOYMENT_QUORUM)     /* which counts them itself */
    s.names_max = e->settings.names_max;
  s.seed += e->server_count;
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

/* `url` NULL: not known yet. `locks` NULL: a table of its own. */
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
                        .is_patient = e->settings.is_patient,
                        .names_max = e->settings.names_max };

  for (size_t i = 0; i < e->server_count; i++)
    tables[i] = e->servers[i]->locks;
  e->quorum = quorum_new(&s);
  return e->quorum != NULL;
}

static int by_place(const void *left, const void *right)
{
  const server_url *a = *(const server_url *const *)left;
  const server_url *b = *(const server_url *const *)right;
  int order = strcmp(a->host != NULL ? a->host : a->path, b->host != NULL ? b->host : b->path);

  return order != 0 ? order : a->port - b->port;
}

/* In one order for all clients, however each wrote its URL: they queue on the same lead. */
static bool make_voters(engine *e)
{
  const deployment *d = e->settings.deployment;
  const server_url *seeds[QUORUM_SERVERS_MAX];

  for (size_t i = 0; i < d->seed_count; i++)
    seeds[i] = &d->seeds[i];
  qsort(seeds, d->seed_count, sizeof(seeds[0]), by_place);
  for (size_t i = 0; i < d->seed_count; i++)
    if (server_new(e, NULL, seeds[i]) == NULL)
      return false;
  return true;
}

/* Several names of one claim: of several slots, or of a format that takes them one by one. */
static bool make_spread(engine *e, lock_table *locks)
{
  bool by_name = !dialect_traits_of(&e->names)->has_sets;

  if (locks == NULL)
    return false;
  if (e->cluster_locks == NULL && !by_name)
    return true;
  e->spread = spread_new(&e->memory, locks, by_name);
  return e->spread != NULL;
}

static bool make_one(engine *e, const server_url *url)
{
  const server *s = server_new(e, NULL, url);

  return s != NULL && make_spread(e, s->locks);
}

bool servers_init(engine *e)
{
  const deployment *d = e->settings.deployment;

  switch (d->kind) {
  case DEPLOYMENT_SINGLE:
    return make_one(e, &d->seeds[0]);
  case DEPLOYMENT_REPLICATED:
  case DEPLOYMENT_SENTINEL:
    return make_one(e, NULL);
  case DEPLOYMENT_CLUSTER:
    e->cluster_locks = make_locks(e);
    return make_spread(e, e->cluster_locks);
  case DEPLOYMENT_QUORUM:
    return make_voters(e) && make_quorum(e);
  }
  return false;
}

void servers_free(engine *e)
{
  e->quorum = quorum_free(e->quorum);
  e->spread = spread_free(e->spread);
  while (e->server_count > 0) {
    server *s = e->servers[--e->server_count];

    if (e->cluster_locks == NULL)
      lock_table_free(s->locks);
    (void)server_free(e, s);
  }
  e->cluster_locks = lock_table_free(e->cluster_locks);
  mem_free(&e->memory, e->servers);
}

/* ---- where they are ---- */

server *server_find(const engine *e, const server_url *url)
{
  for (size_t i = 0; i < e->server_count; i++)
    if (e->servers[i]->has_url && server_url_same_place(&e->servers[i]->url, url))
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

  if (s->has_url && server_url_same_place(&s->url, url))
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
  lock_route_moved(s->locks, s->route);
}

/* ---- which one ---- */

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

/* Our own commands: a key is the word behind the command's, behind the number of keys where
 * it runs a script. */
static bool word_is(const resp_argument *word, const char *words)
{
  return word->size == strlen(words) && memcmp(word->bytes, words, word->size) == 0;
}

static bool key_of_command(const buffer *command, const char **ret_key, size_t *ret_size)
{
  resp_argument words[4];
  size_t count = resp_command_words(command, words, 4);
  bool is_script = count > 0 && (word_is(&words[0], "EVALSHA") || word_is(&words[0], "EVAL") ||
                                 word_is(&words[0], "FCALL"));
  size_t at = is_script ? 3 : 1;

  if (count <= at || (is_script && word_is(&words[2], "0")))
    return false;
  *ret_key = words[at].bytes;
  *ret_size = words[at].size;
  return true;
}

server *server_of_command(const engine *e, const buffer *command)
{
  const char *key;
  size_t size;

  if (e->topology.slots != NULL && key_of_command(command, &key, &size))
    return server_of_key(e, key, size);
  for (size_t i = 0; i < e->server_count; i++)
    if (server_is_ready(e->servers[i]))
      return e->servers[i];
  return e->server_count > 0 ? e->servers[0] : NULL;
}

/* ---- what follows from every input ---- */

static void send_commands(engine *e, server *s, instant now)
{
  for (;;) {
    lock_command k;

    buffer_clear(&e->scratch);
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
    buffer_clear(&e->scratch);
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
  if (lock_link_is_doubtful(s->locks, s->route) && server_is_ready(s))
    connection_drop(e, s->commands, DIBS_ERR_UNREACHABLE,
                    "a renewal was not answered in time", now);
  if (lock_inbox_is_deaf(s->locks, s->route) && connection_is_ready(s->inbox))
    connection_drop(e, s->inbox, DIBS_ERR_UNREACHABLE,
                    "the server does not know this subscription", now);
}

static bool is_wanted(const engine *e, const server *s)
{
  if (lock_wants_link(s->locks, s->route) || presence_wants_link(e, s))
    return true;
  if (e->first_ask == NULL && !observe_is_open(e))
    return false;
  return !s->is_out;       /* some are for any server, some for all */
}

/* Refused memory, or a number: the next input tries again. */
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
    connection_drop(e, left, DIBS_ERR_UNREACHABLE, "it serves no slot any more", now);
  *c = NULL;
  left->server = NULL;                   /* so it is freed behind the effects */
  connection_end(e, left);
}

void server_part(engine *e, server *s, instant now)
{
  part_with(e, &s->commands, now);
  part_with(e, &s->inbox, now);
  part_with(e, &s->acks, now);
}

void server_pump(engine *e, server *s, instant now)
{
  drop_bad_links(e, s, now);
  if (!s->has_url)
    return;
  if (is_wanted(e, s))
    want(e, s, &s->commands, FOR_COMMANDS, now);
  if (!e->is_closing && !s->is_out &&
      (lock_wants_inbox(s->locks, s->route) || observe_wants_inbox(e, s, now)))
    want(e, s, &s->inbox, FOR_INBOX, now);
  if (!e->is_closing && !s->is_out && lock_wants_acks(s->locks, s->route))
    want(e, s, &s->acks, FOR_ACKS, now);
  if (server_is_ready(s)) {
    if ((lock_wants_link(s->locks, s->route) || presence_wants_link(e, s)) &&
        !e->is_closing)
      presence_announce(e, s, now);
    send_commands(e, s, now);
  }
  send_acks(e, s, now);
  send_channels(e, s, now);
}

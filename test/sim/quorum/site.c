/* SPDX-License-Identifier: MIT */
/* Clients of a quorum and their servers over wires of memory. */
#include "site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/native.h"

struct parcel {
  parcel *next;
  instant at;
  size_t size;
  char bytes[];
};

/* ---- wires ---- */

static void wire_put(site *s, wire *w, size_t server, const void *bytes, size_t size)
{
  parcel *p = malloc(sizeof(*p) + size);
  span late = random_span(&s->random, (span){ 0 }, s->jitter);

  assert_non_null(p);
  *p = (parcel){ .at = instant_add(instant_add(s->now, s->delay[server]), late), .size = size };
  memcpy(p->bytes, bytes, size);
  if (w->last != NULL) {
    p->at = instant_max(p->at, w->last->at);
    w->last->next = p;
  } else {
    w->first = p;
  }
  w->last = p;
}

static parcel *wire_take(wire *w)
{
  parcel *p = w->first;

  w->first = p->next;
  if (w->first == NULL)
    w->last = NULL;
  return p;
}

static void wire_clear(wire *w)
{
  while (w->first != NULL)
    free(wire_take(w));
}

/* ---- servers ---- */

static void server_clock_set(site *s, size_t i)
{
  sim_server_clock(s->servers[i], SITE_START_US + s->now.ns / 1000 + s->skew_us[i]);
}

/* What the server has to say goes on the wires of those who are still there. */
static void server_speak(site *s, size_t i)
{
  sim_connection *c = NULL;

  while ((c = sim_server_next_to_send(s->servers[i], c)) != NULL) {
    cable *to = sim_connection_data(c);
    size_t size;
    const char *bytes = sim_connection_output(c, &size);

    if (to != NULL && to->end == c && size > 0)
      wire_put(s, &to->down, i, bytes, size);
    sim_connection_sent(c, size);
  }
}

static void server_hears(site *s, size_t i, sim_connection *c, const parcel *p)
{
  server_clock_set(s, i);
  sim_server_receive(s->servers[i], c, p->bytes, p->size);
  server_speak(s, i);
}

/* ---- cables ---- */

static void cable_down(site_client *c, size_t i, cable *k, bool arrives)
{
  site *s = c->site;
  bool was_up = k->is_up;

  if (k->end == NULL)
    return;
  while (arrives && k->up.first != NULL) {
    parcel *p = wire_take(&k->up);

    wire_put(s, &s->ghosts[i], i, p->bytes, p->size);
    s->ghosts[i].last->at = instant_add(s->ghosts[i].last->at,
                                        random_span(&s->random, (span){ 0 }, SPAN_MS(2000)));
    free(p);
  }
  sim_server_hang_up(s->servers[i], k->end);
  k->end = NULL;
  wire_clear(&k->up);
  wire_clear(&k->down);
  k->reader = resp_reader_free(k->reader);
  k->asked_count = 0;
  k->is_up = false;
  k->connect_at = instant_add(s->now, random_span(&s->random, SPAN_MS(1), SPAN_MS(50)));
  if (!was_up)
    return;
  if (k->is_inbox)
    lock_inbox_down(c->tables[i], 0, DIBS_ERR_UNREACHABLE, "cut", s->now);
  else
    lock_link_down(c->tables[i], 0, DIBS_ERR_UNREACHABLE, "cut", s->now);
}

static void cable_connect(site_client *c, size_t i, cable *k)
{
  site *s = c->site;
  char words[128];
  text t = text_over(words, sizeof(words));

  if (s->is_mute[i] || c->is_cut[i]) {
    k->connect_at = instant_add(s->now, SPAN_MS(20));
    return;
  }
  k->connect_at = INSTANT_NEVER;
  k->end = sim_server_accept(s->servers[i]);
  sim_connection_set_data(k->end, k);
  k->reader = resp_reader_new(&s->own_memory, RESP_LIMITS_DEFAULT);
  if (k->is_inbox) {
    text_add(&t, "SUBSCRIBE dibs:inbox:");
    text_add(&t, c->id);
    text_add(&t, "\r\n");
    wire_put(s, &k->up, i, words, t.used);
    return;
  }
  k->is_up = true;
  server_clock_set(s, i);
  lock_server_time(c->tables[i], 0, SITE_START_US + s->now.ns / 1000 + s->skew_us[i], s->now,
                   s->now);
  lock_wall_clock(c->tables[i], SITE_START_US + s->now.ns / 1000, s->now);
  lock_link_up(c->tables[i], 0, s->now);
}

static void inbox_reply(site_client *c, size_t i, cable *k, const resp_reply *r)
{
  const resp_node *word = resp_child(r, resp_root(r), 0), *body = resp_child(r, resp_root(r), 2);

  if (word->size == 9) {                 /* subscribe */
    k->is_up = true;
    lock_inbox_up(c->tables[i], 0, c->site->now);
  } else {
    lock_message(c->tables[i], "", 0, body->bytes, body->size, c->site->now);
  }
}

static void cable_hears(site_client *c, size_t i, cable *k, const parcel *p)
{
  site *s = c->site;
  resp_reply *r;

  assert_int_equal(resp_reader_feed(k->reader, p->bytes, p->size), DIBS_OK);
  while (resp_reader_next(k->reader, &r) == DIBS_OK && r != NULL) {
    if (k->is_inbox) {
      inbox_reply(c, i, k, r);
    } else {
      size_t at = k->first_asked++ % 1024;

      assert_true(k->asked_count-- > 0);
      assert_int_equal(lock_answer(c->tables[i], k->asked[at].tag, k->asked[at].sent_at, r,
                                   s->now), LOCK_FINE);
    }
    resp_reply_free(r);
  }
}

static void cable_sends(site_client *c, size_t i, cable *k)
{
  site *s = c->site;
  lock_command command;
  request asked;
  buffer out;

  request_init(&asked, &s->own_memory);
  buffer_init(&out, &s->own_memory);
  while (k->is_up && lock_next_command(c->tables[i], 0, &asked, &command, s->now)) {
    size_t at = (k->first_asked + k->asked_count++) % 1024;

    assert_true(request_render(&asked, false, &out));
    assert_true(k->asked_count < 1024);
    k->asked[at].tag = command.tag;
    k->asked[at].sent_at = s->now;
    wire_put(s, &k->up, i, buffer_bytes(&out), buffer_size(&out));
    buffer_clear(&out);
    s->commands++;
  }
  buffer_deinit(&out);
  request_deinit(&asked);
}

/* ---- a client after an input ---- */

static void client_events(site_client *c)
{
  lock_event e;

  quorum_advance(c->quorum, c->site->now);
  while (hold_next_event(c->front, &e))
    if (c->site->heard != NULL)
      c->site->heard(c, &e, c->site->data);
}

static void client_settle(site_client *c)
{
  site *s = c->site;

  client_events(c);
  for (size_t i = 0; i < s->server_count; i++) {
    if (lock_link_is_doubtful(c->tables[i], 0) && c->commands[i].is_up)
      cable_down(c, i, &c->commands[i], true);
    if (lock_inbox_has_no_subscriber(c->tables[i], 0) && c->inboxes[i].is_up)
      cable_down(c, i, &c->inboxes[i], false);
    if (lock_wants_link(c->tables[i], 0) && !c->commands[i].is_wanted) {
      c->commands[i].is_wanted = true;
      c->commands[i].connect_at = s->now;
    }
    if (lock_wants_inbox(c->tables[i], 0) && !c->inboxes[i].is_wanted) {
      c->inboxes[i].is_wanted = true;
      c->inboxes[i].connect_at = s->now;
    }
    cable_sends(c, i, &c->commands[i]);
  }
  client_events(c);
  for (size_t i = 0; i < s->server_count; i++)
    cable_sends(c, i, &c->commands[i]);
}

void site_settle(site *s)
{
  for (size_t i = 0; i < s->client_count; i++)
    client_settle(&s->clients[i]);
}

/* ---- time ---- */

static void client_first(const site_client *c, instant *first)
{
  const site *s = c->site;

  *first = instant_min(*first, hold_deadline(c->front));
  for (size_t i = 0; i < s->server_count; i++) {
    const cable *both[2] = { &c->commands[i], &c->inboxes[i] };

    for (size_t k = 0; k < 2; k++) {
      if (both[k]->is_wanted && both[k]->end == NULL)
        *first = instant_min(*first, both[k]->connect_at);
      if (s->is_mute[i] || c->is_cut[i])
        continue;
      if (both[k]->up.first != NULL)
        *first = instant_min(*first, both[k]->up.first->at);
      if (both[k]->down.first != NULL)
        *first = instant_min(*first, both[k]->down.first->at);
    }
  }
}

static bool is_due(const site *s, const wire *w)
{
  return w->first != NULL && !instant_before(s->now, w->first->at);
}

static void cable_run(site_client *c, size_t i, cable *k)
{
  site *s = c->site;

  if (k->is_wanted && k->end == NULL && !instant_before(s->now, k->connect_at))
    cable_connect(c, i, k);
  while (!s->is_mute[i] && !c->is_cut[i] && k->end != NULL && is_due(s, &k->up)) {
    parcel *p = wire_take(&k->up);

    server_hears(s, i, k->end, p);
    free(p);
  }
  while (!s->is_mute[i] && !c->is_cut[i] && k->end != NULL && is_due(s, &k->down)) {
    parcel *p = wire_take(&k->down);

    cable_hears(c, i, k, p);
    free(p);
    client_settle(c);
  }
}

static void client_run(site_client *c)
{
  site *s = c->site;

  for (size_t i = 0; i < s->server_count; i++) {
    cable_run(c, i, &c->commands[i]);
    cable_run(c, i, &c->inboxes[i]);
  }
  hold_tick(c->front, s->now);
  client_settle(c);
}

static void ghosts_run(site *s, size_t i)
{
  while (!s->is_mute[i] && is_due(s, &s->ghosts[i])) {
    parcel *p = wire_take(&s->ghosts[i]);
    sim_connection *c = sim_server_accept(s->servers[i]);

    server_hears(s, i, c, p);
    sim_server_hang_up(s->servers[i], c);
    free(p);
  }
}

void site_run(site *s, instant at)
{
  unsigned same = 0;

  site_settle(s);
  for (;;) {
    instant first = INSTANT_NEVER;

    for (size_t i = 0; i < s->client_count; i++)
      client_first(&s->clients[i], &first);
    for (size_t i = 0; i < s->server_count; i++)
      if (!s->is_mute[i] && s->ghosts[i].first != NULL)
        first = instant_min(first, s->ghosts[i].first->at);
    if (instant_before(at, first))
      break;
    same = instant_before(s->now, first) ? 0 : same + 1;
    assert_true(same < 10000);           /* time stands still */
    s->now = instant_max(s->now, first);
    for (size_t i = 0; i < s->server_count; i++)
      ghosts_run(s, i);
    for (size_t i = 0; i < s->client_count; i++)
      client_run(&s->clients[i]);
  }
  s->now = instant_max(s->now, at);
}

void site_run_for(site *s, span time) { site_run(s, instant_add(s->now, time)); }

/* ---- faults ---- */

void site_break(site *s, size_t client, size_t server, bool arrives)
{
  site_client *c = &s->clients[client];

  cable_down(c, server, &c->commands[server], arrives);
  cable_down(c, server, &c->inboxes[server], false);
}

void site_restart(site *s, size_t server, bool keeps_data)
{
  for (size_t i = 0; i < s->client_count; i++)
    site_break(s, i, server, false);
  wire_clear(&s->ghosts[server]);
  sim_server_restart(s->servers[server], keeps_data);
}

void site_ask(site *s, size_t server, const void *bytes, size_t size)
{
  size_t reply_size;

  server_clock_set(s, server);
  (void)sim_server_ask(s->servers[server], bytes, size, &reply_size);
  server_speak(s, server);
}

/* ---- life ---- */

static void client_init(site *s, size_t number, uint64_t seed, span quarantine)
{
  site_client *c = &s->clients[number];
  quorum_settings q = { .memory = &s->memory, .tables = c->tables, .count = s->server_count,
                        .seed = seed * 31 + number, .connect_timeout = SITE_CONNECT,
                        .command_timeout = SITE_COMMAND };
  protocol spoken;

  c->site = s;
  c->number = number;
  memset(c->id, 'A' + (int)number, 22);
  protocol_init(&spoken, &(protocol_settings){ .dialect = &native_dialect, .prefix = "dibs",
                                               .client = c->id, .is_quorum = true,
                                               .quarantine = quarantine });
  for (size_t i = 0; i < s->server_count; i++) {
    lock_settings l = { .memory = &s->memory, .protocol = &spoken,
                        .seed = seed * 131 + number * 11 + i, .connect_timeout = SITE_CONNECT,
                        .command_timeout = SITE_COMMAND, .clock_rate_error_ppm = 10000,
                        .local_handovers_max = 64, .local_handover_time = SPAN_MS(20),
                        .route_count = 1 };

    c->tables[i] = lock_table_new(&l);
    assert_non_null(c->tables[i]);
    c->inboxes[i].is_inbox = true;
    c->commands[i].connect_at = c->inboxes[i].connect_at = INSTANT_NEVER;
  }
  c->quorum = quorum_new(&q);
  assert_non_null(c->quorum);
  c->front = hold_front_new(&s->memory);
  assert_non_null(c->front);
  hold_front_add(c->front, quorum_backend(c->quorum));
}

void site_init(site *s, uint64_t seed, size_t servers, size_t clients, span quarantine)
{
  memset(s, 0, sizeof(*s));
  s->memory = FAILING_HEAP_AS(memory, &s->heap);
  s->own_memory = FAILING_HEAP_AS(memory, &s->own_heap);
  random_seed(&s->random, seed);
  s->now = (instant){ 1000000000 };
  s->server_count = servers;
  s->client_count = clients;
  s->jitter = SPAN_MS(1);
  for (size_t i = 0; i < servers; i++) {
    s->delay[i] = (span){ 500000 };
    s->servers[i] = sim_server_new(&(sim_server_settings){
      .seed = seed + i, .wall_us = SITE_START_US + s->now.ns / 1000 });
  }
  for (size_t i = 0; i < clients; i++)
    client_init(s, i, seed, quarantine);
}

void site_deinit(site *s)
{
  for (size_t i = 0; i < s->client_count; i++) {
    site_client *c = &s->clients[i];

    for (size_t k = 0; k < s->server_count; k++) {
      cable_down(c, k, &c->commands[k], false);
      cable_down(c, k, &c->inboxes[k], false);
    }
    c->front = hold_front_free(c->front);
    c->quorum = quorum_free(c->quorum);
    for (size_t k = 0; k < s->server_count; k++)
      lock_table_free(c->tables[k]);
  }
  for (size_t i = 0; i < s->server_count; i++) {
    wire_clear(&s->ghosts[i]);
    assert_null(sim_server_unknown(s->servers[i]));
    sim_server_free(s->servers[i]);
  }
  assert_int_equal(s->heap.live, 0);
  assert_int_equal(s->own_heap.live, 0);
}

/* ---- truth ---- */

static const char *key_of(const char *name, char key[64])
{
  text t = text_over(key, 64);

  text_add(&t, "dibs:m:{");
  text_add(&t, name);
  text_add(&t, "}");
  return key;
}

const char *site_lease(site *s, size_t server, const char *name)
{
  char key[64];
  const char *words;

  server_clock_set(s, server);
  (void)key_of(name, key);
  words = sim_server_key_text(s->servers[server], key, strlen(key));
  return words != NULL ? words : "";
}

/* Behind the last `:` of the lease: its token, and how many ms after it the lease is over. */
bool site_is_held(site *s, size_t server, const char *name)
{
  const char *words = site_lease(s, server, name);
  const char *lease = words[0] == 'h' ? strstr(words, "\"s\"=\"") : words;
  int64_t now_us = SITE_START_US + s->now.ns / 1000 + s->skew_us[server];
  long long token_us, ahead_ms;
  const char *at;

  if (lease == NULL || lease[0] == 0 || strncmp(lease, "string \"=", 9) == 0)
    return false;
  at = strchr(strchr(lease, ':') + 1, ':') + 1;
  assert_int_equal(sscanf(at, "%lld %lld", &token_us, &ahead_ms), 2);
  return now_us <= token_us + ahead_ms * 1000;
}

size_t site_queue_server(const site *s, const char *name)
{
  uint64_t hash = 14695981039346656037u;

  for (; *name != 0; name++)
    hash = (hash ^ (unsigned char)*name) * 1099511628211u;
  hash ^= hash >> 32;
  return (size_t)(hash % s->server_count);
}

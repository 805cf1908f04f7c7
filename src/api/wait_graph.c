/* SPDX-License-Identifier: MIT */
/* api/wait_graph.c - see wait_graph.h. */
#include "api/wait_graph.h"

#include <string.h>

typedef struct search {
  wait_graph *graph;
  const char *nonce;
  const graph_client *client;        /* the client of this wait */
  owner_entry self;                  /* and the wait */
  graph_path *path;
  struct { const graph_client *client; uint64_t id; } seen[GRAPH_NAMES];
  size_t seen_count;
} search;

/* ---- known facts; missing ones are put on the list ---- */

static graph_name *name_at(wait_graph *g, const void *name, size_t size)
{
  for (size_t i = 0; i < g->name_count; i++)
    if (g->names[i].size == size && memcmp(g->names[i].name, name, size) == 0)
      return &g->names[i];
  if (g->name_count == GRAPH_NAMES)
    return NULL;
  g->names[g->name_count] = (graph_name){ .name = name, .size = size };
  return &g->names[g->name_count++];
}

static graph_client *client_at(wait_graph *g, const char *id)
{
  graph_client *c;

  for (size_t i = 0; i < g->client_count; i++)
    if (strcmp(g->clients[i].id, id) == 0)
      return &g->clients[i];
  if (g->client_count == GRAPH_CLIENTS)
    return NULL;
  c = &g->clients[g->client_count++];
  *c = (graph_client){ .owners = NULL };
  memcpy(c->id, id, CLIENT_ID_SIZE);
  return c;
}

/* The owners that a client reported; none when they lack the nonce. */
static wait_report_reader reported_by(const search *s, const graph_client *c)
{
  if (c == NULL || c->owners == NULL ||
      (s->nonce != NULL && !wait_report_has_nonce(c->owners, c->owners_size, s->nonce)))
    return (wait_report_reader){ "", 0 };
  return wait_report_read(c->owners, c->owners_size);
}

/* ---- blocking owners ---- */

static const inspect_waiter *queued(const inspect_answer *a, const char *client, uint64_t ask)
{
  for (size_t i = 0; i < a->shown; i++)
    if (a->waiters[i].ask == ask && strcmp(a->waiters[i].client, client) == 0)
      return &a->waiters[i];
  return NULL;
}

static const inspect_holder *held_by(const inspect_answer *a, const char *client,
                                     const owner_entry *h)
{
  for (size_t i = 0; i < a->shown_holders; i++) {
    const lease_id *l = &a->holders[i].lease;

    if (l->set == h->set && l->ask == h->ask && (h->token == 0 || l->token == h->token) &&
        strcmp(l->client, client) == 0)
      return &a->holders[i];
  }
  return NULL;
}

static bool is_for(const owner_entry *e, char kind, const char *owner, const graph_name *n)
{
  return e->kind == kind && strcmp(e->owner, owner) == 0 && e->name_size == n->size &&
         memcmp(e->name, n->name, n->size) == 0;
}

/* All units of the name that one owner holds. */
static uint64_t units_of(const search *s, const graph_client *c, const char *owner,
                         const graph_name *n)
{
  wait_report_reader r = reported_by(s, c);
  uint64_t units = 0;
  owner_entry e;

  while (wait_report_next(&r, &e)) {
    const inspect_holder *held = is_for(&e, 'h', owner, n) ? held_by(n->seen, c->id, &e)
                                                           : NULL;
    if (held != NULL)
      units += held->units;
  }
  return units;
}

/* Whether this owner alone blocks the waiter, whatever the order of the queue. */
static bool is_in_the_way(const search *s, const graph_client *waiting, const owner_entry *w,
                          const graph_name *n, const graph_client *holding,
                          const owner_entry *h, const inspect_holder *held)
{
  const inspect_answer *a = n->seen;
  const inspect_waiter *q;

  if (a->kind == NATIVE_MUTEX)
    return true;
  q = queued(a, waiting->id, w->ask);        /* not queued: a grant may be on its way */
  if (q == NULL)
    return false;
  if (a->kind == NATIVE_RWLOCK)
    return q->mode == 'w' || held->mode == 'w';
  return units_of(s, holding, h->owner, n) + q->units > a->limit;
}

/* ---- the search ---- */

static bool is_older(const search *s, const graph_client *c, const owner_entry *w)
{
  int order = strcmp(c->id, s->client->id);

  if (w->since_us != s->self.since_us)
    return w->since_us < s->self.since_us;
  return order != 0 ? order < 0 : w->id < s->self.id;
}

static bool is_new(search *s, const graph_client *c, uint64_t id)
{
  for (size_t i = 0; i < s->seen_count; i++)
    if (s->seen[i].client == c && s->seen[i].id == id)
      return false;
  if (s->seen_count == GRAPH_NAMES)
    return false;
  s->seen[s->seen_count].client = c;
  s->seen[s->seen_count++].id = id;
  return true;
}

static bool from_wait(search *s, const graph_client *c, const owner_entry *w);

/* Continues from a blocking owner: it closes the cycle, or waits itself. */
static bool from_owner(search *s, const graph_client *c, const char *owner)
{
  wait_report_reader r = reported_by(s, c);
  owner_entry e;

  if (c == s->client && strcmp(owner, s->self.owner) == 0)
    return true;
  while (wait_report_next(&r, &e))
    if (e.kind == 'w' && strcmp(e.owner, owner) == 0 && is_older(s, c, &e) &&
        is_new(s, c, e.id) && from_wait(s, c, &e))
      return true;
  return false;
}

static void path_add(search *s, const graph_client *c, const owner_entry *w,
                     const inspect_holder *held, const owner_entry *h)
{
  graph_step *step = &s->path->steps[s->path->count++];

  *step = (graph_step){ .wait = w->id, .ask = w->ask, .name = w->name,
                        .name_size = w->name_size, .lease = held->lease, .hold = h->id };
  memcpy(step->waiter, c->id, CLIENT_ID_SIZE);
}

/* Follows all owners of this client that hold the name. */
static bool from_holders(search *s, const graph_client *c, const owner_entry *w,
                         const graph_name *n, const graph_client *holding)
{
  wait_report_reader r = reported_by(s, holding);
  owner_entry e;

  while (wait_report_next(&r, &e)) {
    const inspect_holder *held = is_for(&e, 'h', e.owner, n)
                                   ? held_by(n->seen, holding->id, &e) : NULL;

    if (held == NULL || !is_in_the_way(s, c, w, n, holding, &e, held))
      continue;
    path_add(s, c, w, held, &e);
    if (from_owner(s, holding, e.owner))
      return true;
    s->path->count--;
  }
  return false;
}

static bool from_wait(search *s, const graph_client *c, const owner_entry *w)
{
  const graph_name *n = name_at(s->graph, w->name, w->name_size);
  const graph_client *before = NULL;

  if (n == NULL || n->seen == NULL || s->path->count == GRAPH_STEPS)
    return false;
  for (size_t i = 0; i < n->seen->shown_holders; i++) {
    const graph_client *holding = client_at(s->graph, n->seen->holders[i].lease.client);

    if (holding == NULL || holding == before)
      continue;
    before = holding;
    if (from_holders(s, c, w, n, holding))
      return true;
  }
  return false;
}

bool graph_find(wait_graph *g, const char *client, uint64_t id, const char *nonce,
                graph_path *ret)
{
  search s = { .graph = g, .nonce = nonce, .path = ret };
  wait_report_reader r;

  *ret = (graph_path){ .count = 0 };
  s.client = client_at(g, client);
  r = reported_by(&s, s.client);
  while (wait_report_next(&r, &s.self))
    if (s.self.kind == 'w' && s.self.id == id)
      return from_wait(&s, s.client, &s.self);
  return false;
}

bool graph_path_equal(const graph_path *a, const graph_path *b)
{
  if (a->count != b->count)
    return false;
  for (size_t i = 0; i < a->count; i++) {
    const graph_step *x = &a->steps[i], *y = &b->steps[i];

    if (x->wait != y->wait || x->ask != y->ask || x->hold != y->hold ||
        !lease_id_equal(&x->lease, &y->lease) || strcmp(x->waiter, y->waiter) != 0)
      return false;
  }
  return true;
}

/* SPDX-License-Identifier: MIT */
/* lock/route.c - routes: the servers that store names, the route of each name, and what
 * each route needs. */
#include "lock/table.h"

#include <string.h>

/* ---- life ---- */

static route *route_new(lock_table *t, size_t number)
{
  route *r = mem_zalloc(&t->memory, sizeof(*r));

  if (r == NULL)
    return NULL;
  r->table = t;
  r->number = number;
  r->down_why = DIBS_ERR_UNREACHABLE;
  return r;
}

dibs_status lock_add_route(lock_table *t, size_t *ret_route)
{
  route **more = mem_realloc(&t->memory, t->routes, (t->route_count + 1) * sizeof(*more));
  route *r;

  if (more == NULL)
    return DIBS_ERR_NO_MEMORY;
  t->routes = more;
  r = route_new(t, t->route_count);
  if (r == NULL)
    return DIBS_ERR_NO_MEMORY;
  *ret_route = t->route_count;
  t->routes[t->route_count++] = r;
  return DIBS_OK;
}

bool routes_init(lock_table *t)
{
  size_t number;
  text words;

  for (size_t i = 0; i < t->settings.route_count; i++)
    if (lock_add_route(t, &number) != DIBS_OK)
      return false;
  t->nowhere = route_new(t, ROUTE_NONE);
  if (t->nowhere == NULL)
    return false;
  words = text_over(t->nowhere->down_words, sizeof(t->nowhere->down_words));
  text_add(&words, "no node of the cluster serves this name's slot");
  return true;
}

static void route_free(lock_table *t, route *r)
{
  if (r == NULL)
    return;
  while (r->calls != NULL)
    call_free(t, r->calls);
  while (r->orphans != NULL) {
    orphan *s = r->orphans;

    r->orphans = s->next;
    orphan_free(t, s);
  }
  again_drop(r);
  mem_free(&t->memory, r);
}

void routes_free(lock_table *t)
{
  for (size_t i = 0; i < t->route_count; i++)
    route_free(t, t->routes[i]);
  route_free(t, t->nowhere);
  mem_free(&t->memory, t->routes);
}

/* ---- which one ---- */

route *route_at(const lock_table *t, size_t number)
{
  return number < t->route_count ? t->routes[number] : t->nowhere;
}

route *route_of_slot(const lock_table *t, uint16_t which)
{
  return route_at(t, t->settings.slots[which]);
}

route *route_of_key(const lock_table *t, const char *key, size_t size)
{
  return t->settings.slots == NULL ? t->routes[0] : route_of_slot(t, slot_of_key(key, size));
}

uint16_t slot_of_name(const lock_table *t, const void *bytes, size_t size)
{
  char key[KEY_TEXT_SIZE];
  text k = text_over(key, sizeof(key));

  t->protocol.dialect->key(&t->protocol, bytes, size, &k);
  return slot_of_key(key, k.used);
}

route *route_of_name(const lock_table *t, const void *bytes, size_t size)
{
  return t->settings.slots == NULL ? t->routes[0]
                                   : route_of_slot(t, slot_of_name(t, bytes, size));
}

/* All names of a multi-lock have one tag, and so one slot: the caller ensures that. */
void lease_find_route(lease *l)
{
  lock_table *t = l->table;

  if (t->settings.slots == NULL) {
    l->route = t->routes[0];
  } else {                                 /* there may be no route yet */
    l->slot = l->kind == LEASE_SET ? slot_of_name(t, l->many.names[0].name, l->many.names[0].size)
                                  : slot_of_name(t, l->bytes, l->size);
    l->route = route_of_slot(t, l->slot);
  }
  l->route->names++;
}

void lease_ask_route(lease *l, route *r)
{
  if (l->ask_route != NULL)
    l->ask_route->asked--;
  l->ask_route = r;
  if (r != NULL)
    r->asked++;
}

route *lease_route(const lease *l)
{
  return l->ask_route != NULL ? l->ask_route : l->route;
}

bool route_is_usable(const route *r)
{
  return r->is_up && !r->is_read_only;
}

void route_add_words(const route *r, const char *before, const char *words, text *out)
{
  char place[128] = "";
  text shown = text_over(place, sizeof(place));

  if (r->url != NULL)
    server_url_show(r->url, &shown);
  text_add(out, before);
  if (place[0] != 0 && strstr(words, place) == NULL) {
    text_add(out, place);
    text_add(out, ": ");
  }
  text_add(out, words);
}

void lock_add_words(const lock_table *t, size_t r, const char *before, const char *words,
                    text *out)
{
  route_add_words(route_at(t, r), before, words, out);
}

bool lock_is_lost_in_slots(const lock_table *t)
{
  return t->nowhere->names > 0;
}

/* ---- what a route needs ---- */

bool lock_waits_for(const lock_table *t, size_t r)
{
  const route *wanted = t->routes[r];

  /* It may have no names yet, but a name was redirected to it. */
  return wanted->names > 0 || wanted->asked > 0 || wanted->orphans != NULL;
}

bool lock_wants_link(const lock_table *t, size_t r)
{
  return lock_waits_for(t, r) || t->routes[r]->again.first != NULL;
}

bool lock_wants_inbox(const lock_table *t, size_t r)
{
  return t->routes[r]->wants_inbox && !t->only_polls;
}

bool lock_wants_acks(const lock_table *t, size_t r)
{
  return t->routes[r]->wants_acks;
}

bool lock_link_is_doubtful(const lock_table *t, size_t r)
{
  return t->routes[r]->link_is_doubtful;
}

bool lock_inbox_has_no_subscriber(const lock_table *t, size_t r)
{
  return t->routes[r]->inbox_has_no_subscriber;
}

/* ---- its clock ---- */

void lock_server_time(lock_table *t, size_t r, int64_t server_us, instant sent_at, instant now)
{
  server_clock_learn(&t->routes[r]->clock, server_us, sent_at, now);
}

int64_t lock_server_us_at(const lock_table *t, size_t r, instant at)
{
  return server_clock_at(&route_at(t, r)->clock, at);
}

int64_t lock_server_us_trusted(const lock_table *t, size_t r, instant now)
{
  return server_clock_trusted_at(&route_at(t, r)->clock, now);
}

int64_t lock_server_us(const lock_table *t, instant now)
{
  return t->route_count > 0 ? server_clock_at(&t->routes[0]->clock, now) : 0;
}

void lock_raise_floor(const lock_table *t, uint64_t *floor, uint64_t token, instant now)
{
  token_raise_floor(floor, token, t->routes[0], now);
}

void lock_wall_clock(lock_table *t, int64_t wall_us, instant now)
{
  for (size_t i = 0; i < t->route_count; i++)
    server_clock_wall(&t->routes[i]->clock, wall_us, now);
}

void lock_route_moved(lock_table *t, size_t r, const server_url *url)
{
  t->routes[r]->clock = (server_clock){ .is_known = false };
  t->routes[r]->url = url;
}

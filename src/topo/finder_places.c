/* SPDX-License-Identifier: MIT */
/* topo/finder_places.c - whom there is to ask: the seeds of the URL, and a bounded number of
 * addresses that were told; and where sentinels can be listened to. */
#include "topo/finder_parts.h"

#include <string.h>

bool finder_places_init(finder *f)
{
  const deployment *d = f->deployment;

  f->places = mem_zalloc(&f->memory, (d->seed_count + LEARNED_MAX) * sizeof(*f->places));
  if (f->places == NULL)
    return false;
  for (size_t i = 0; i < d->seed_count; i++) {
    place *p = mem_zalloc(&f->memory, sizeof(*p));
    if (p == NULL)
      return false;
    p->url = &d->seeds[i];
    f->places[f->place_count++] = p;
  }
  return true;
}

static void place_free(finder *f, place *p)
{
  if (p->is_learned)
    server_url_deinit(&p->own);
  mem_free(&f->memory, p);
}

void finder_places_deinit(finder *f)
{
  for (size_t i = 0; i < f->place_count; i++)
    place_free(f, f->places[i]);
  mem_free(&f->memory, f->places);
}

/* ---- learning ---- */

/* Whether it may be left out for another. Not while somebody has its URL, and not one that
 * this search has asked: servers that name ever new ones would keep it going for ever. */
static bool is_dispensable(const finder *f, const place *p)
{
  return p->is_learned && p->guests == 0 && p != f->primary_place && p != f->ear
    && p != f->last_secret
    && (f->state != FINDER_LOOKING || p->state == PLACE_NEW);
}

/* A seat for one more, empty or that of who was learned before all others; NULL: none. */
static place **seat_find(finder *f)
{
  place **oldest = NULL;

  if (f->place_count < f->deployment->seed_count + LEARNED_MAX)
    return &f->places[f->place_count];
  for (size_t i = f->deployment->seed_count; i < f->place_count; i++)
    if (is_dispensable(f, f->places[i])
        && (oldest == NULL || f->places[i]->learned_at < (*oldest)->learned_at))
      oldest = &f->places[i];
  return oldest;
}

/* Sentinels have users and certificates of their own, which are in their seeds. */
static bool sentinel_url(const finder *f, server_url *mapped)
{
  server_url as_seed;

  if (server_url_copy(&f->deployment->seeds[0], &as_seed) != DIBS_OK)
    return false;
  mem_free_secret(&as_seed.memory, as_seed.host);
  as_seed.host = mapped->host;
  as_seed.port = mapped->port;
  mapped->host = NULL;
  server_url_deinit(mapped);
  *mapped = as_seed;
  return true;
}

static bool is_known(const finder *f, const server_url *url)
{
  for (size_t i = 0; i < f->place_count; i++)
    if (server_url_same_place(f->places[i]->url, url))
      return true;
  return false;
}

static place *place_new(finder *f, const char *host, int port, bool is_sentinel)
{
  place *p = mem_zalloc(&f->memory, sizeof(*p));

  if (p == NULL)
    return NULL;
  if (deployment_url(f->deployment, host, port, &p->own) != DIBS_OK) {
    mem_free(&f->memory, p);
    return NULL;
  }
  p->is_learned = true;
  p->url = &p->own;
  if ((!is_sentinel || sentinel_url(f, &p->own)) && !is_known(f, p->url))
    return p;
  place_free(f, p);
  return NULL;
}

void finder_remember(finder *f, const char *host, int port, bool is_sentinel)
{
  place **seat = seat_find(f);
  place *p;

  if (seat == NULL || (p = place_new(f, host, port, is_sentinel)) == NULL)
    return;
  p->learned_at = ++f->learned_count;
  if (*seat == NULL)
    f->place_count++;
  else
    place_free(f, *seat);
  *seat = p;
}

void finder_learn(finder *f, const char *host, int port)
{
  char checked[HOST_TOLD_SIZE];

  if (port >= 1 && port <= 65535 && host_told_read((part){ host, strlen(host) }, checked)
      && checked[0] != 0)
    finder_remember(f, checked, port, false);
}

/* ---- asking ---- */

/* Seeds begin with another one each time, so that not all clients press upon the first. */
place *finder_place_next(const finder *f)
{
  size_t seeds = f->deployment->seed_count;

  for (size_t i = 0; i < f->place_count; i++) {
    place *p = f->places[i < seeds ? (i + (size_t)(f->searches % seeds)) % seeds : i];
    if (p->state == PLACE_NEW)
      return p;
  }
  return NULL;
}

void finder_places_renew(finder *f)
{
  for (size_t i = 0; i < f->place_count; i++) {
    place *p = f->places[i];
    p->state = PLACE_NEW;
    p->role = (role_answer){ .role = ROLE_UNTOLD };
    p->sentinel = (sentinel_answer){ .port = 0 };
  }
}

bool finder_is_anybody_out(const finder *f)
{
  for (size_t i = 0; i < f->place_count; i++)
    if (f->places[i]->state == PLACE_ASKED)
      return true;
  return false;
}

void place_show(const place *p, text *out)
{
  bool has_colon;

  if (p->url->host == NULL) {
    text_add(out, p->url->path == NULL ? "" : p->url->path);
    return;
  }
  has_colon = strchr(p->url->host, ':') != NULL;
  text_add(out, has_colon ? "[" : "");
  text_add(out, p->url->host);
  text_add(out, has_colon ? "]:" : ":");
  text_add_int(out, p->url->port);
}

/* ---- listening ---- */

/* The next one behind `before` that can be listened to, round and round; `before` itself
 * comes last. */
static const place *ear_behind(const finder *f, const place *before)
{
  size_t start = 0;

  for (size_t i = 0; i < f->place_count; i++)
    if (f->places[i] == before)
      start = i + 1;
  for (size_t i = 0; i < f->place_count; i++) {
    const place *p = f->places[(start + i) % f->place_count];
    if (p->hears)
      return p;
  }
  return NULL;
}

void finder_ear_renew(finder *f)
{
  if (f->ear == NULL || !f->ear->hears)
    f->ear = ear_behind(f, f->ear);
}

const server_url *finder_listen_at(const finder *f)
{
  return f->ear == NULL ? NULL : f->ear->url;
}

void finder_deaf(finder *f)
{
  f->ear = ear_behind(f, f->ear);
}

bool finder_is_concerned(const finder *f, const char *payload, size_t size)
{
  const char *service = f->deployment->service;
  size_t length = service == NULL ? 0 : strlen(service);

  return length > 0 && size > length && memcmp(payload, service, length) == 0
    && payload[length] == ' ';
}

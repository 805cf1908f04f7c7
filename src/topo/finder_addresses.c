/* SPDX-License-Identifier: MIT */
/* topo/finder_addresses.c - keeps the addresses of a search: the seeds of the URL, a bounded
 * number of learned addresses, and the sentinel to subscribe at. */
#include "topo/finder_parts.h"

#include <string.h>

bool finder_addresses_init(finder *f)
{
  const deployment *d = f->deployment;

  f->addresses = mem_zalloc(&f->memory, (d->seed_count + LEARNED_MAX) * sizeof(*f->addresses));
  if (f->addresses == NULL)
    return false;
  for (size_t i = 0; i < d->seed_count; i++) {
    address *p = mem_zalloc(&f->memory, sizeof(*p));
    if (p == NULL)
      return false;
    p->url = &d->seeds[i];
    f->addresses[f->address_count++] = p;
  }
  return true;
}

static void address_free(finder *f, address *p)
{
  if (p->is_learned)
    server_url_deinit(&p->own);
  mem_free(&f->memory, p);
}

void finder_addresses_deinit(finder *f)
{
  for (size_t i = 0; i < f->address_count; i++)
    address_free(f, f->addresses[i]);
  mem_free(&f->memory, f->addresses);
}

/* ---- learning ---- */

/* Whether another address may replace it. Not while a probe borrows its URL, and not after
 * this search has asked it: servers that always name new addresses would never let it end. */
static bool is_dispensable(const finder *f, const address *p)
{
  return p->is_learned && p->guests == 0 && p != f->primary_address && p != f->ear
    && p != f->last_secret && p != f->map_from
    && (f->state != FINDER_LOOKING || p->state == PLACE_NEW);
}

/* An array element for a new address: empty, or that of the oldest learned address; NULL: none. */
static address **seat_find(finder *f)
{
  address **oldest = NULL;

  if (f->address_count < f->deployment->seed_count + LEARNED_MAX)
    return &f->addresses[f->address_count];
  for (size_t i = f->deployment->seed_count; i < f->address_count; i++)
    if (is_dispensable(f, f->addresses[i])
        && (oldest == NULL || f->addresses[i]->learned_at < (*oldest)->learned_at))
      oldest = &f->addresses[i];
  return oldest;
}

/* Sentinels have their own users and certificates: those of the seeds. */
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
  for (size_t i = 0; i < f->address_count; i++)
    if (server_url_same_address(f->addresses[i]->url, url))
      return true;
  return false;
}

static address *address_new(finder *f, const char *host, int port, bool is_sentinel)
{
  address *p = mem_zalloc(&f->memory, sizeof(*p));

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
  address_free(f, p);
  return NULL;
}

void finder_remember(finder *f, const char *host, int port, bool is_sentinel)
{
  address **seat = seat_find(f);
  address *p;

  if (seat == NULL || (p = address_new(f, host, port, is_sentinel)) == NULL)
    return;
  p->learned_at = ++f->learned_count;
  if (*seat == NULL)
    f->address_count++;
  else
    address_free(f, *seat);
  *seat = p;
}

void finder_learn(finder *f, const char *host, int port)
{
  char checked[HOST_REPORTED_SIZE];

  if (port >= 1 && port <= 65535 && host_reported_read((part){ host, strlen(host) }, checked)
      && checked[0] != 0)
    finder_remember(f, checked, port, false);
}

/* ---- asking ---- */

/* Each search begins with another seed, to spread the load of all clients. */
address *finder_address_next(const finder *f)
{
  size_t seeds = f->deployment->seed_count;

  for (size_t i = 0; i < f->address_count; i++) {
    address *p = f->addresses[i < seeds ? (i + (size_t)(f->searches % seeds)) % seeds : i];
    if (p->state == PLACE_NEW)
      return p;
  }
  return NULL;
}

void finder_addresses_renew(finder *f)
{
  for (size_t i = 0; i < f->address_count; i++) {
    address *p = f->addresses[i];
    p->state = PLACE_NEW;
    p->role = (role_answer){ .role = ROLE_UNKNOWN };
    p->sentinel = (sentinel_answer){ .port = 0 };
  }
}

bool finder_is_anybody_out(const finder *f)
{
  for (size_t i = 0; i < f->address_count; i++)
    if (f->addresses[i]->state == PLACE_ASKED)
      return true;
  return false;
}

void finder_address_show(const address *p, text *out)
{
  bool has_colon;

  if (p->url->host == NULL) {
    text_add(out, p->url->path == NULL ? "" : p->url->path);
    return;
  }
  has_colon = strchr(p->url->host, ':') != NULL;
  text_format(out, has_colon ? "[%s]:%d" : "%s:%d", p->url->host, p->url->port);
}

/* ---- listening ---- */

/* The next address after `before`, cyclically, that accepts subscriptions; `before` itself
 * comes last. */
static const address *ear_behind(const finder *f, const address *before)
{
  size_t start = 0;

  for (size_t i = 0; i < f->address_count; i++)
    if (f->addresses[i] == before)
      start = i + 1;
  for (size_t i = 0; i < f->address_count; i++) {
    const address *p = f->addresses[(start + i) % f->address_count];
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

void finder_unsubscribed(finder *f)
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

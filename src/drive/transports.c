/* SPDX-License-Identifier: MIT */
/* drive/transports.c - all connections by the engine's numbers, and their targets.
 *
 * One server needs two, a cluster hundreds: each is created at first use and kept for the
 * next link with its number. */
#include <assert.h>
#include <string.h>

#include "base/descriptor.h"
#include "drive/internal.h"

/* ---- places ---- */

static void place_clear(place *p, const memory *m)
{
  mem_free(m, p->host);
  mem_free(m, p->path);
  mem_free(m, p->name);
  *p = (place){ .host = NULL };
}

/* The certificate must have server_name if it is set, else the host that was dialled, also
 * an address that a cluster announced. */
static bool place_set(place *p, const memory *m, const server_url *server)
{
  const char *name = server->server_name != NULL ? server->server_name : server->host;
  text port, shown;

  place_clear(p, m);
  port = text_over(p->port, sizeof(p->port));
  shown = text_over(p->shown, sizeof(p->shown));
  text_add_int(&port, server->port);
  server_url_show(server, &shown);
  if (server->transport == SERVER_UNIX) {
    p->path = mem_copy_text(m, server->path);
    return p->path != NULL;
  }
  p->host = mem_copy_text(m, server->host);
  p->name = mem_copy_text(m, name);
  return p->host != NULL && p->name != NULL;
}

/* ---- one connection ---- */

transport *transports_get(const drive *d, int link)
{
  return link < d->transport_count ? d->transports[link] : NULL;
}

static transport *get_or_make(drive *d, int link)
{
  transport *t = transports_get(d, link);

  assert(link >= 0 && link < ENGINE_LINKS_MAX);
  if (t != NULL)
    return t;
  t = mem_zalloc(&d->memory, sizeof(*t));
  if (t == NULL)
    return NULL;
  t->link = link;
  t->fd = -1;
  t->dial.next_at = INSTANT_NEVER;
  buffer_init(&t->ciphertext, &d->memory);
  d->transports[link] = t;
  if (link >= d->transport_count)
    d->transport_count = link + 1;
  return t;
}

/* Keeps the server's name: the transport gets another target. */
static void remember_node(drive *d, const transport *t)
{
  if (d->heard_of != t)
    return;
  memcpy(d->node, t->place.shown, sizeof(d->node));
  d->heard_of = NULL;
}

void transports_open(drive *d, int link, const server_url *server, dibs_status refusal)
{
  transport *t = get_or_make(d, link);
  text why;
  dibs_status status;

  if (drive_is_forked(d))
    return;
  if (t == NULL) {
    engine_disconnected(d->engine, link, DIBS_ERR_NO_MEMORY, "no memory for a connection",
                        drive_now());
    return;
  }
  transport_close(d, t);
  remember_node(d, t);
  if (!place_set(&t->place, &d->memory, server)) {
    transport_fail(d, t, DIBS_ERR_NO_MEMORY, "no memory for a connection");
    return;
  }
  why = text_over(t->words, sizeof(t->words));
  status = tls_shared_get(&d->tls, server, &t->context, &why);
  if (status != DIBS_OK)
    transport_fail(d, t, status, t->words);
  else if (refusal == DIBS_OK || !files_begin(d, t, server, refusal))
    dial_begin(d, t);
}

/* The engine closed it, often after a timeout. */
void transports_close(drive *d, int link)
{
  transport *t = transports_get(d, link);

  if (t == NULL || t->state == TRANSPORT_NONE)
    return;
  d->heard_of = t;
  transport_close(d, t);
}

/* ---- all connections ---- */

bool transports_flush(drive *d)
{
  bool has_news = false;

  for (int i = 0; i < d->transport_count; i++)
    if (d->transports[i] != NULL && transport_flush(d, d->transports[i]))
      has_news = true;
  return has_news;
}

void transports_tick(drive *d, instant now)
{
  for (int i = 0; i < d->transport_count; i++)
    if (d->transports[i] != NULL) {
      files_tick(d, d->transports[i], now);
      dial_tick(d, d->transports[i], now);
    }
}

instant transports_deadline(const drive *d)
{
  instant first = INSTANT_NEVER;

  for (int i = 0; i < d->transport_count; i++) {
    const transport *t = d->transports[i];

    if (t != NULL && t->state == TRANSPORT_CONNECTING)
      first = instant_min(first, t->dial.next_at);
    else if (t != NULL && t->state == TRANSPORT_READING)
      first = instant_min(first, t->read_until);
  }
  return first;
}

void transports_drop(drive *d)
{
  for (int i = 0; i < d->transport_count; i++) {
    transport *t = d->transports[i];

    if (t == NULL)
      continue;
    for (; t->dial.count > 0; t->dial.count--)
      descriptor_close(t->dial.attempts[t->dial.count - 1].fd);
    if (t->fd >= 0)
      descriptor_close(t->fd);
    t->fd = -1;
    files_drop(t);
  }
  resolve_drop_all(d);
}

void transports_free(drive *d)
{
  for (int i = 0; i < d->transport_count; i++) {
    transport *t = d->transports[i];

    if (t == NULL)
      continue;
    transport_close(d, t);
    files_end(d, t);
    buffer_deinit(&t->ciphertext);
    place_clear(&t->place, &d->memory);
    mem_free(&d->memory, t);
  }
  resolve_free_all(d);
  d->transport_count = 0;
  d->heard_of = NULL;
}

/* SPDX-License-Identifier: MIT */
/* engine/observed_channel.c - channels of observations: one subscription each, on the
 * inbox link. */
#include "engine/internal.h"

#include <string.h>
#include <utlist.h>

observed_channel *observed_channel_find(const engine *e, const char *bytes, size_t size)
{
  for (observed_channel *c = e->first_channel; c != NULL; c = c->next)
    if (c->size == size && memcmp(c->bytes, bytes, size) == 0)
      return c;
  return NULL;
}

observed_channel *observed_channel_get(engine *e, const char *bytes, size_t size)
{
  observed_channel *c = observed_channel_find(e, bytes, size);

  if (c != NULL)
    return c;
  c = mem_zalloc(&e->memory, sizeof(*c) + size);
  if (c == NULL)
    return NULL;
  c->size = size;
  memcpy(c->bytes, bytes, size);
  LL_PREPEND(e->first_channel, c);
  return c;
}

/* Without memory, the next command tries again. */
void observed_channel_ask(engine *e, observed_channel *c, instant now)
{
  server *s = server_of_key(e, c->bytes, c->size);

  if (c->is_asked || s == NULL || !connection_is_ready(s->inbox) || instant_before(now, c->ask_at))
    return;
  c->server = s;
  c->is_asked = link_subscribe(s->inbox->link, c->bytes, c->size, e->has_sharded_channels,
                               TAG_OBSERVED_CHANNEL, now) == DIBS_OK;
}

static void drop_if_unused(engine *e, observed_channel *c, instant now)
{
  if (c->first != NULL)
    return;
  /* If this is refused: messages of channels without observations are ignored. */
  if (c->is_asked && connection_is_ready(c->server->inbox))
    (void)link_unsubscribe(c->server->inbox->link, c->bytes, c->size, e->has_sharded_channels,
                           now);
  LL_DELETE(e->first_channel, c);
  mem_free(&e->memory, c);
}

void observed_channel_join(observed_channel *c, observation *o)
{
  o->channel = c;
  DL_PREPEND2(c->first, o, channel_previous, channel_next);
}

void observed_channel_leave(engine *e, observation *o, instant now)
{
  observed_channel *c = o->channel;

  if (c == NULL)
    return;
  DL_DELETE2(c->first, o, channel_previous, channel_next);
  o->channel = NULL;
  drop_if_unused(e, c, now);
}

/* ---- the inbox link ---- */

bool observe_wants_inbox(const engine *e, const server *s)
{
  if (e->settings.only_polls)
    return false;
  for (const observed_channel *c = e->first_channel; c != NULL; c = c->next)
    if (server_of_key(e, c->bytes, c->size) == s)
      return true;
  return false;
}

void observe_inbox_up(engine *e, const server *s, instant now)
{
  for (observed_channel *c = e->first_channel; c != NULL; c = c->next)
    if (server_of_key(e, c->bytes, c->size) == s)
      observed_channel_ask(e, c, now);
}

void observe_inbox_down(engine *e, const server *s)
{
  for (observed_channel *c = e->first_channel; c != NULL; c = c->next)
    if (s == NULL || c->server == s)
      c->is_asked = c->is_up = false;
}

/* The slot has moved, or was not there: subscribe where the next search finds it. */
void observe_channel_ended(engine *e, const server *s, const resp_node *name, instant now)
{
  observed_channel *c = observed_channel_find(e, name->bytes, name->size);

  if (c == NULL || c->server != s)
    return;
  c->is_asked = c->is_up = false;
  observe_message(e, name, now);
}

void observe_subscribed(engine *e, server *s, const resp_node *name, instant now)
{
  observed_channel *c = observed_channel_find(e, name->bytes, name->size);

  if (c != NULL && c->server == s)
    c->is_asked = c->is_up = true;
  s->refusal_is_reported = false;
  observe_message(e, name, now);         /* messages before that were lost */
}

void observe_channel_refused(engine *e, const server *s, uint64_t hash, bool is_forbidden,
                             instant now)
{
  for (observed_channel *c = e->first_channel; c != NULL; c = c->next)
    if (c->server == s && !c->is_up && fnv1a(FNV1A_START, c->bytes, c->size) == hash) {
      c->is_asked = false;
      c->ask_at = is_forbidden ? instant_add(now, FORBIDDEN_FOR) : now;
    }
}

void observe_slots_changed(engine *e, instant now)
{
  for (observed_channel *c = e->first_channel; c != NULL; c = c->next) {
    if (server_of_key(e, c->bytes, c->size) == c->server)
      continue;
    c->is_asked = c->is_up = false;
    observed_channel_ask(e, c, now);
  }
}

/* SPDX-License-Identifier: MIT */
/* Channels of observations: subscribed once for all who observe, on the inbox link. */
#include "engine/parts.h"

#include <string.h>

#define FORBIDDEN_FOR SPAN_MS(60000)    /* then an ACL may have changed */

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
  c->next = e->first_channel;
  e->first_channel = c;
  return c;
}

/* Refused memory leaves it for the next question. */
void observed_channel_ask(engine *e, observed_channel *c, instant now)
{
  if (c->is_asked || !connection_is_ready(e, LINK_INBOX))
    return;
  c->is_asked = link_subscribe(e->connections[LINK_INBOX].link, c->bytes, c->size, now) ==
                DIBS_OK;
}

static void drop_if_unused(engine *e, observed_channel *c, instant now)
{
  observed_channel **at = &e->first_channel;

  if (c->first != NULL)
    return;
  /* Should it be refused: messages of channels that nobody observes are dropped. */
  if (c->is_asked)
    (void)link_unsubscribe(e->connections[LINK_INBOX].link, c->bytes, c->size, now);
  while (*at != c)
    at = &(*at)->next;
  *at = c->next;
  mem_free(&e->memory, c);
}

void observed_channel_join(observed_channel *c, observation *o)
{
  o->channel = c;
  o->channel_next = c->first;
  if (c->first != NULL)
    c->first->channel_previous = o;
  c->first = o;
}

void observed_channel_leave(engine *e, observation *o, instant now)
{
  observed_channel *c = o->channel;

  if (c == NULL)
    return;
  if (o->channel_previous != NULL)
    o->channel_previous->channel_next = o->channel_next;
  else
    c->first = o->channel_next;
  if (o->channel_next != NULL)
    o->channel_next->channel_previous = o->channel_previous;
  o->channel = NULL;
  drop_if_unused(e, c, now);
}

/* ---- the inbox link ---- */

bool observe_wants_inbox(const engine *e, instant now)
{
  return e->first_channel != NULL && !instant_before(now, e->inbox_forbidden_until);
}

void observe_inbox_up(engine *e, instant now)
{
  for (observed_channel *c = e->first_channel; c != NULL; c = c->next)
    observed_channel_ask(e, c, now);
}

void observe_inbox_down(engine *e, dibs_status why, instant now)
{
  if (why == DIBS_ERR_DENIED)
    e->inbox_forbidden_until = instant_add(now, FORBIDDEN_FOR);
  for (observed_channel *c = e->first_channel; c != NULL; c = c->next)
    c->is_asked = false;
}

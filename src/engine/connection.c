/* SPDX-License-Identifier: MIT */
/* Connections: when to make one, and what follows when it is up or gone. */
#include "engine/parts.h"

#define BACK_OFF_FIRST_MS 20
#define BACK_OFF_MAX_MS 1000

bool connection_is_ready(const engine *e, int i)
{
  return e->connections[i].state == PLAN_READY;
}

void connection_want(engine *e, int i, instant now)
{
  connection *c = &e->connections[i];

  if (c->state != PLAN_OFF)
    return;
  c->state = PLAN_CONNECTING;
  c->until = instant_add(now, e->settings.connect_timeout);
  c->tell_connect = true;
}

/* Capped and jittered, so that a thousand clients do not come back in step. The first
 * try after a working connection broke is at once. */
static span back_off(engine *e, connection *c)
{
  int64_t ms = BACK_OFF_FIRST_MS;
  unsigned failures = c->failures + c->refusals;

  if (c->was_ready && failures <= 1)
    return SPAN_MS(0);
  for (unsigned i = 1; i < failures && ms < BACK_OFF_MAX_MS; i++)
    ms *= 2;
  if (ms > BACK_OFF_MAX_MS)
    ms = BACK_OFF_MAX_MS;
  return random_span(&e->random, SPAN_MS(ms / 2), SPAN_MS(ms));
}

void connection_lost(engine *e, int i, dibs_status why, const char *words, instant now)
{
  connection *c = &e->connections[i];
  bool is_news = c->state == PLAN_READY || c->failures == 0;

  if (c->state == PLAN_OFF || c->state == PLAN_BACK_OFF)
    return;
  link_closed(c->link);
  c->failures++;
  c->until = instant_add(now, back_off(e, c));
  c->state = instant_before(now, c->until) ? PLAN_BACK_OFF : PLAN_OFF;
  c->was_ready = false;
  c->tell_connect = false;

  if (i == LINK_COMMANDS) {
    e->is_announced = false;
    e->is_closed |= e->farewell_was_sent;      /* its answer will not come */
    lock_link_down(e->locks, why, words, now);
    lock_fail_if_final(e->locks, now);
    asks_unsent(e, why, words);
    observe_link_down(e, why, words, now);
    if (is_news)
      engine_tell(e, DIBS_EVENT_DISCONNECTED, words);
  } else {
    lock_inbox_down(e->locks, why, words, now);
    observe_inbox_down(e, why, now);
  }
}

void connection_drop(engine *e, int i, dibs_status why, const char *words, instant now)
{
  e->connections[i].tell_disconnect = true;
  connection_lost(e, i, why, words, now);
}

instant connection_deadline(const engine *e, int i)
{
  const connection *c = &e->connections[i];
  instant at = link_deadline(c->link);

  return c->state == PLAN_CONNECTING || c->state == PLAN_BACK_OFF
           ? instant_min(at, c->until) : at;
}

void connection_tick(engine *e, int i, instant now)
{
  connection *c = &e->connections[i];

  link_tick(c->link, now);
  if (instant_before(now, c->until))
    return;
  if (c->state == PLAN_CONNECTING)
    connection_drop(e, i, DIBS_ERR_UNREACHABLE, "the server does not answer", now);
  else if (c->state == PLAN_BACK_OFF)
    c->state = PLAN_OFF;                 /* whoever still wants it asks again at once */
}

bool connection_send(engine *e, const buffer *command, uint64_t tag, instant now)
{
  if (!connection_is_ready(e, LINK_COMMANDS))
    return false;
  if (link_send(e->connections[LINK_COMMANDS].link, command, tag, now) != DIBS_OK)
    return false;
  e->commands++;
  return true;
}

/* SPDX-License-Identifier: MIT */
/* drive/effects.c - what the engine wants done: connections here, the rest by api/. */
#include <string.h>

#include "drive/parts.h"

/* The engine does not know addresses; people want them in "connected". */
static void event_complete(const drive *d, effect *e)
{
  if (e->event == DIBS_EVENT_CONNECTED && e->text[0] == 0)
    e->text = d->shown;
}

static void effect_do(drive *d, effect *e)
{
  switch (e->kind) {
  case EFFECT_CONNECT:
    transport_open(d, &d->transports[e->link]);
    return;
  case EFFECT_DISCONNECT:
    transport_close(d, &d->transports[e->link]);
    return;
  case EFFECT_CLOSED:
    d->is_closed = true;
    if (d->closer != NULL)
      drive_waiter_done(d, d->closer);
    return;
  case EFFECT_EVENT:
    event_complete(d, e);
    break;
  case EFFECT_LOCK_GRANTED:
  case EFFECT_LOCK_FAILED:
  case EFFECT_HOLD_RENEWED:
  case EFFECT_HOLD_SUSPECT:
  case EFFECT_HOLD_LOST:
  case EFFECT_RELEASED:
  case EFFECT_DETACHED:
  case EFFECT_ANSWERED:
  case EFFECT_OBSERVED:
    break;
  }
  d->handler.effect(d->handler.owner, e);
}

void drive_effects(drive *d)
{
  effect e;

  while (engine_next_effect(d->engine, &e))
    effect_do(d, &e);
}

void drive_settle_all(drive *d)
{
  bool has_news;

  do {
    drive_effects(d);
    has_news = false;
    for (int i = 0; i < ENGINE_LINKS; i++)
      has_news = transport_flush(d, &d->transports[i]) || has_news;
  } while (has_news);
  loop_timer_set(d);
}

void drive_settle(drive *d)
{
  drive_effects(d);
  if (!atomic_load(&d->reader_is_awake))
    drive_settle_all(d);
}

/* SPDX-License-Identifier: MIT */
/* drive/effects.c - executes the engine's effects: connections here, the rest in api/. */
#include <string.h>

#include "drive/internal.h"

/* With one server the engine gives no name; the event "connected" needs it. */
static void event_complete(const drive *d, effect *e)
{
  if (e->event == DIBS_EVENT_CONNECTED && e->text[0] == 0)
    e->text = d->up;
}

static void effect_do(drive *d, effect *e)
{
  switch (e->kind) {
  case EFFECT_CONNECT:
    transports_open(d, e->link, e->server, e->status);
    return;
  case EFFECT_DISCONNECT:
    transports_close(d, e->link);
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
  case EFFECT_HOLD_ENDS_SOON:
  case EFFECT_HOLD_LOST:
  case EFFECT_RELEASED:
  case EFFECT_DETACHED:
  case EFFECT_ANSWERED:
  case EFFECT_OP_NEWS:
  case EFFECT_OP_OVER:
    break;
  }
  d->handler.effect(d->handler.owner, e);
}

void drive_effects(drive *d)
{
  effect e;

  while (!d->must_stop && engine_next_effect(d->engine, &e))
    effect_do(d, &e);
}

void drive_send_all(drive *d)
{
  while (transports_flush(d))
    drive_effects(d);
  loop_timer_set(d);
  atomic_store(&d->unsent, 0);
}

void drive_flush_all(drive *d)
{
  drive_effects(d);
  drive_send_all(d);
}

/* Calls that were woken together come one after the other: one packet for some of them. */
static bool may_wait_for_others(drive *d)
{
  size_t unsent = atomic_fetch_add(&d->unsent, 1) + 1;      /* before it reads `woken` */

  return atomic_load(&d->woken) > 0 && unsent < d->together;
}

void drive_send(drive *d)
{
  if (!atomic_load(&d->reader_is_awake) && !may_wait_for_others(d))
    drive_send_all(d);
}

void drive_flush(drive *d)
{
  drive_effects(d);
  drive_send(d);
}

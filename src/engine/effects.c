/* SPDX-License-Identifier: MIT */
/* engine/effects.c - collects the effects of all parts of an engine, one after the other. */
#include "engine/internal.h"

#include <string.h>

/* Also frees connections that are not needed any more, after their last effect. */
static bool connection_effect(engine *e, effect *ret)
{
  for (int i = 0; i < e->link_count; i++) {
    connection *c = e->links[i];

    if (c == NULL)
      continue;
    if (c->report_disconnect) {
      c->report_disconnect = false;
      *ret = (effect){ .kind = EFFECT_DISCONNECT, .link = i };
      return true;
    }
    if (c->is_done) {
      (void)connection_free(e, c);
      continue;
    }
    if (c->report_connect) {
      c->report_connect = false;
      *ret = (effect){ .kind = EFFECT_CONNECT, .link = i, .server = c->url,
                       .status = c->refusal };
      return true;
    }
  }
  return false;
}

static effect_kind effect_kind_of(lock_event_kind kind)
{
  static const effect_kind kinds[] = {
    [LOCK_GRANTED] = EFFECT_LOCK_GRANTED, [LOCK_RENEWED] = EFFECT_HOLD_RENEWED,
    [LOCK_SUSPECT] = EFFECT_HOLD_SUSPECT, [LOCK_ENDS_SOON] = EFFECT_HOLD_ENDS_SOON,
    [LOCK_LOST] = EFFECT_HOLD_LOST,
    [LOCK_FAILED] = EFFECT_LOCK_FAILED, [LOCK_RELEASED] = EFFECT_RELEASED,
    [LOCK_DETACHED] = EFFECT_DETACHED,
  };

  return kinds[kind];
}

static void report_lost(engine *e, const lock_event *event)
{
  char words[512];
  text shown = text_over(words, sizeof(words));

  if (event->name != NULL)
    text_add_quoted(&shown, event->name, event->name_size);
  text_format(&shown, ": %s", event->words);
  engine_report(e, DIBS_EVENT_LOST, words);
}

const char *engine_words(engine *e, const char *words)
{
  text shown = text_over(e->effect_words, sizeof(e->effect_words));

  text_add(&shown, words);
  return e->effect_words;
}

/* Concerns quorum and multi only. */
static bool is_internal(lock_event_kind kind)
{
  return kind == LOCK_RAISED || kind == LOCK_HELD_BACK;
}

static bool next_lock_event(engine *e, lock_event *ret)
{
  bool is_one;

  while (e->multi != NULL && multi_advance(e->multi, e->now))
    engine_advance(e, e->now);           /* an event of a part leads to its next step */
  do
    is_one = hold_next_event(e->front, ret);
  while (is_one && is_internal(ret->kind));
  return is_one;
}

/* A replica has refused: no search has ended without a primary yet. */
static bool is_late(const engine *e, const lock_event *event)
{
  return event->was_short && (event->status != DIBS_ERR_READ_ONLY || e->topology.failures == 0);
}

static bool lock_effect(engine *e, effect *ret)
{
  lock_event event;

  if (!next_lock_event(e, &event))
    return false;
  *ret = (effect){ .kind = effect_kind_of(event.kind), .context = event.context,
                   .id = event.id, .fence = event.fence, .valid_until = event.valid_until,
                   .depth = event.depth, .units = event.units, .status = event.status,
                   .is_late = is_late(e, &event), .was_let_go = event.was_let_go,
                   .acknowledged = event.acknowledged,
                   .replicas_wanted = event.replicas_wanted, .has_fsync = event.has_fsync };
  ret->text = event.words;
  if (event.kind == LOCK_LOST)
    report_lost(e, &event);
  return true;
}

static bool news_effect(engine *e, effect *ret)
{
  const news *n = &e->news[e->news_first];

  if (e->news_count == 0)
    return false;
  *ret = (effect){ .kind = EFFECT_EVENT, .event = n->event, .node = e->effect_node };
  memcpy(e->effect_node, n->node, sizeof(e->effect_node));
  ret->text = engine_words(e, n->words);
  e->news_first = (e->news_first + 1) % NEWS_MAX;
  e->news_count--;
  return true;
}

static bool any_effect(engine *e, effect *ret)
{
  /* A loss is news, too: of many at once none must be dropped. */
  if (e->news_count == NEWS_MAX)
    return news_effect(e, ret);
  return connection_effect(e, ret) || lock_effect(e, ret) || asks_next_effect(e, ret) ||
         observe_next_effect(e, ret) || news_effect(e, ret);
}

static bool next_effect(engine *e, effect *ret)
{
  if (any_effect(e, ret))
    return true;
  /* The last event may have made quorum or multi quiet. */
  if (e->is_closing && !e->farewell_was_sent) {
    engine_advance(e, e->now);
    if (any_effect(e, ret))
      return true;
  }
  if (e->is_closed && !e->ended_was_reported) {
    e->ended_was_reported = true;
    *ret = (effect){ .kind = EFFECT_CLOSED };
    return true;
  }
  return false;
}

bool engine_next_effect(engine *e, effect *ret)
{
  if (!next_effect(e, ret))
    return false;
  if (ret->text == NULL)
    ret->text = "";
  return true;
}

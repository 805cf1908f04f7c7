/* SPDX-License-Identifier: MIT */
/* Effects: what the parts of an engine have to tell, one after the other. */
#include "engine/parts.h"

/* Also frees what nobody needs any more, once that has been told. */
static bool connection_effect(engine *e, effect *ret)
{
  for (int i = 0; i < e->link_count; i++) {
    connection *c = e->links[i];

    if (c == NULL)
      continue;
    if (c->tell_disconnect) {
      c->tell_disconnect = false;
      *ret = (effect){ .kind = EFFECT_DISCONNECT, .link = i };
      return true;
    }
    if (c->is_done) {
      (void)connection_free(e, c);
      continue;
    }
    if (c->tell_connect) {
      c->tell_connect = false;
      *ret = (effect){ .kind = EFFECT_CONNECT, .link = i, .server = c->url };
      return true;
    }
  }
  return false;
}

static effect_kind effect_kind_of(lock_event_kind kind)
{
  static const effect_kind kinds[] = {
    [LOCK_GRANTED] = EFFECT_LOCK_GRANTED, [LOCK_RENEWED] = EFFECT_HOLD_RENEWED,
    [LOCK_SUSPECT] = EFFECT_HOLD_SUSPECT, [LOCK_LOST] = EFFECT_HOLD_LOST,
    [LOCK_FAILED] = EFFECT_LOCK_FAILED, [LOCK_RELEASED] = EFFECT_RELEASED,
    [LOCK_DETACHED] = EFFECT_DETACHED,
  };

  return kinds[kind];
}

static void tell_lost(engine *e, const lock_event *event)
{
  char words[256];
  text shown = text_over(words, sizeof(words));

  if (event->name != NULL)
    text_add_quoted(&shown, event->name, event->name_size);
  text_add(&shown, ": ");
  text_add(&shown, event->words);
  engine_tell(e, DIBS_EVENT_LOST, words);
}

const char *engine_words(engine *e, const char *words)
{
  text shown = text_over(e->effect_words, sizeof(e->effect_words));

  text_add(&shown, words);
  return e->effect_words;
}

/* What was told of a part of several names leads to the next step of the whole. */
static bool next_table_event(engine *e, lock_event *ret)
{
  while (lock_next_event(engine_locks(e), ret)) {
    if (e->spread == NULL || !spread_take_event(e->spread, ret, e->now))
      return true;
    engine_pump(e, e->now);
  }
  return e->spread != NULL && spread_next_event(e->spread, ret);
}

/* Raised leases are the business of those above the tables. */
static bool next_lock_event(engine *e, lock_event *ret)
{
  bool is_one;

  do
    is_one = e->quorum != NULL ? quorum_next_event(e->quorum, ret) : next_table_event(e, ret);
  while (is_one && ret->kind == LOCK_RAISED);
  return is_one;
}

static bool lock_effect(engine *e, effect *ret)
{
  lock_event event;

  if (!next_lock_event(e, &event))
    return false;
  *ret = (effect){ .kind = effect_kind_of(event.kind), .context = event.context,
                   .id = event.id, .fence = event.fence, .valid_until = event.valid_until,
                   .depth = event.depth, .units = event.units, .status = event.status,
                   .acknowledged = event.acknowledged,
                   .replicas_wanted = event.replicas_wanted, .has_fsync = event.has_fsync };
  ret->text = event.words;
  if (event.kind == LOCK_LOST)
    tell_lost(e, &event);
  return true;
}

static bool news_effect(engine *e, effect *ret)
{
  const news *n = &e->news[e->news_first];

  if (e->news_count == 0)
    return false;
  *ret = (effect){ .kind = EFFECT_EVENT, .event = n->event };
  ret->text = engine_words(e, n->words);
  e->news_first = (e->news_first + 1) % NEWS_MAX;
  e->news_count--;
  return true;
}

static bool any_effect(engine *e, effect *ret)
{
  return connection_effect(e, ret) || lock_effect(e, ret) || asks_next_effect(e, ret) ||
         observe_next_effect(e, ret) || news_effect(e, ret);
}

static bool next_effect(engine *e, effect *ret)
{
  if (any_effect(e, ret))
    return true;
  /* With what was told last, those above the tables may have become quiet. */
  if (e->is_closing && !e->farewell_was_sent) {
    engine_pump(e, e->now);
    if (any_effect(e, ret))
      return true;
  }
  if (e->is_closed && !e->closed_was_told) {
    e->closed_was_told = true;
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

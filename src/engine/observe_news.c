/* SPDX-License-Identifier: MIT */
/* engine/observe_news.c - what observations report: their replies are read when the effect is
 * taken, one observation after the other. */
#include "engine/internal.h"

#include <utlist.h>

void observe_news_add(engine *e, observation *o)
{
  if (o->is_news)
    return;
  o->is_news = true;
  DL_APPEND2(e->first_news, o, previous_news, next_news);
}

void observe_news_remove(engine *e, observation *o)
{
  if (!o->is_news)
    return;
  o->is_news = false;
  DL_DELETE2(e->first_news, o, previous_news, next_news);
}

/* ---- effects ---- */

/* The next question of the op, which has no reply yet. false: no memory. */
static bool step(engine *e, observation *o)
{
  if (o->is_over)
    return true;
  if (!o->ask.op->row->ask(o->ask.op, &e->names, &o->ask.command))
    return false;
  o->is_outdated = o->ask.state == ASK_SENT;
  o->was_answered = o->was_answered && o->ask.op->row->is_patient;
  return true;
}

/* Has the op read its reply, and does what follows from it. true: it has news. */
static bool reply_read(engine *e, observation *o)
{
  sync_next next = op_read(e, &o->ask);

  if (next.what == SYNC_STEP && !step(e, o)) {
    next = sync_over(DIBS_ERR_NO_MEMORY, "");
    o->ask.is_decided = true;
  }
  if (next.what == SYNC_OVER) {
    ask_done(&o->ask, next.status, next.message);
    o->is_over = true;
  } else if (!instant_is_never(next.at)) {
    observe_hint(e, o, next.at, e->now);
    engine_advance(e, e->now);
  }
  return next.is_news;
}

static void news_effect(engine *e, observation *o, effect *ret)
{
  char words[sizeof(o->ask.words)];
  text shown = text_over(words, sizeof(words));

  *ret = (effect){ .kind = EFFECT_OP_NEWS, .context = o->ask.op->context, .id = o->ask.id };
  o->cut_off_is_told = o->is_cut_off;
  if (o->is_cut_off) {
    ret->status = ask_fault(e, &o->ask, e->now, &shown);
    ret->text = engine_words(e, words);
  }
}

/* Replies are read here. */
bool observe_next_effect(engine *e, effect *ret)
{
  for (observation *o = e->first_news; o != NULL; o = e->first_news) {
    bool has_news = o->ask.reply != NULL && reply_read(e, o);

    if (!o->is_over && o->is_cut_off != o->cut_off_is_told)
      has_news = true;
    if (!has_news && o->is_over) {
      op_effect(e, &o->ask, ret);
      ret->is_late = o->is_late;
      observe_end(e, o, e->now);
      return true;
    }
    if (!o->is_over)
      observe_news_remove(e, o);
    if (has_news) {
      news_effect(e, o, ret);
      return true;
    }
  }
  return false;
}

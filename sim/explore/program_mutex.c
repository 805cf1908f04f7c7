/* SPDX-License-Identifier: MIT */
/* Programs that lock: alone, in sets, nested, lingering, with limits, in the background. */
#include "explore.h"

#include <string.h>

static unsigned one_name(actor *a)
{
  return 1u << below(a, a->trial->plan->names);
}

static unsigned some_names(actor *a)
{
  unsigned all = (1u << a->trial->plan->names) - 1, names = 0;

  while (names == 0)
    names = (unsigned)below(a, all + 1) & all;
  return names;
}

/* ---- cancelled from another thread ---- */

typedef struct cancelling {
  actor *actor;
  dibs_canceller *canceller;
  int64_t after_us;
  bool is_done;
} cancelling;

static void cancel_main(void *data)
{
  cancelling *c = data;

  dibs_sim_sleep_us(c->after_us);
  dibs_cancel(c->canceller);
  c->is_done = true;
}

static grip *take_cancelled(actor *a, wish *w, dibs_status *ret_status)
{
  cancelling c = { .actor = a, .after_us = below(a, a->trial->plan->wait_ms * 1000) };
  grip *g;

  if (dibs_canceller_new(&c.canceller) != DIBS_OK)
    return NULL;
  w->options.cancel = c.canceller;
  dibs_sim_thread(cancel_main, &c);
  g = take(a, w, ret_status);
  while (!c.is_done)
    dibs_sim_sleep_ms(1);
  c.canceller = dibs_canceller_free(c.canceller);
  return g;
}

/* ---- nested: the same owner again ---- */

static void nest(actor *a, const wish *outer, grip *g)
{
  wish w = *outer;
  dibs_status status;
  grip *inner;

  w.is_inner = true;
  w.is_try = chance(a, 30);
  inner = take(a, &w, &status);
  if (inner == NULL)
    return;
  /* The outer one may have been lost before its thread went on. */
  if (inner->fence != g->fence && !g->is_over &&
      dibs_sim_valid_us(a->trial->sim, a->trial->lives[g->life].process, g->hold) > 0)
    flaw(a->trial, "an inner hold has another fence than the outer one");
  hold_for_a_while(a, inner);
  (void)give_back(a, inner, w.action);
}

/* ---- all of them ---- */

static int64_t overslept_us(const wish *w)
{
  return (int64_t)w->options.ttl_ms * 1000;
}

static void finish(actor *a, const wish *w, grip *g)
{
  if (w->action == ACT_NEST)
    nest(a, w, g);
  hold_for_a_while(a, g);
  /* Its own lease is over, and it does not know: what fences are for. Not while the others wait
   * for the end of the world: each would add a ttl to their wait (L6). */
  if (w->action == ACT_OVERSLEEP && !a->trial->is_ending)
    dibs_sim_sleep_us(overslept_us(w) + below(a, overslept_us(w)));
  (void)give_back(a, g, w->action);
}

static void set_up(actor *a, wish *w)
{
  const plan *p = a->trial->plan;

  switch (w->action) {
  case ACT_TRY: case ACT_TRY_MANY:
    w->is_try = true;
    break;
  case ACT_TIMED: case ACT_TIMED_MANY:
    w->options.wait_ms = 1 + (int32_t)below(a, p->wait_ms);
    break;
  case ACT_LINGER:
    w->options.linger_ms = chance(a, 30) ? DIBS_LINGER_AUTO : 1 + (int32_t)below(a, 500);
    break;
  case ACT_FIXED: case ACT_OVERSLEEP:
    w->options.flags = DIBS_LOCK_FIXED;
    break;
  case ACT_MAX_HOLD:
    w->options.max_hold_ms = w->options.ttl_ms + (int32_t)below(a, w->options.ttl_ms);
    break;
  case ACT_ASYNC:
    w->is_async = true;
    break;
  default:
    break;
  }
}

void act_mutex(actor *a, action what)
{
  bool is_set = what == ACT_MANY || what == ACT_TRY_MANY || what == ACT_TIMED_MANY;
  wish w = wish_for(a, what, is_set ? some_names(a) : one_name(a), 'x');
  dibs_status status = DIBS_OK;
  grip *g;

  w.is_set = is_set;
  set_up(a, &w);
  if (what == ACT_CANCELLED)
    g = take_cancelled(a, &w, &status);
  else
    g = take(a, &w, &status);
  if (g == NULL)
    return;
  if (what == ACT_MAX_HOLD)
    g->limit_at = g->taken_at + (int64_t)w.options.max_hold_ms * 1011 + 1000;
  finish(a, &w, g);
}

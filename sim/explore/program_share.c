/* SPDX-License-Identifier: MIT */
/* Programs that read, write and take permits. */
#include "explore.h"

static void set_permits(actor *a, action what, bool only_if_absent)
{
  trial *t = a->trial;
  uint32_t permits = only_if_absent ? t->plan->permits
                                    : 1 + (uint32_t)below(a, t->plan->permits + 1);
  call *c = call_begin(a, "semaphore_set", question_limit_ms(t));

  t->limits_named |= 1u << permits;
  (void)call_end(a, c, what,
                 dibs_semaphore_set(a->life->client, dibs_text(name_texts[NAME_SEM]), permits,
                                    only_if_absent ? DIBS_SEMAPHORE_IF_ABSENT : 0, NULL));
}

static void read_again(actor *a, const wish *outer, grip *g)
{
  wish w = *outer;
  dibs_status status;
  grip *inner;

  w.mode = 'r';
  w.is_inner = true;
  inner = take(a, &w, &status);
  if (inner == NULL) {
    (void)give_back(a, g, w.action);
    return;
  }
  hold_for_a_while(a, inner);
  if (chance(a, 50)) {                  /* the outer one first: it goes on as a reader */
    (void)give_back(a, g, w.action);
    hold_for_a_while(a, inner);
    (void)give_back(a, inner, w.action);
    return;
  }
  (void)give_back(a, inner, w.action);
  (void)give_back(a, g, w.action);
}

static void downgrade(actor *a, grip *g)
{
  dibs_status status = dibs_downgrade(g->hold);

  covered.outcomes[ACT_DOWNGRADE][status + 20]++;
  if (status == DIBS_OK) {
    g->mode = 'r';
    logged_downgrade(&g->logged, history_now(a->trial));
    cover(POINT_DOWNGRADE_SEEN);
  } else if (status != DIBS_LOST) {
    flaw(a->trial, "a downgrade answers %s", dibs_status_name(status));
  }
  hold_for_a_while(a, g);
}

static wish wish_of(actor *a, action what)
{
  const plan *p = a->trial->plan;
  bool of_permits = what == ACT_PERMITS || what == ACT_TRY_PERMITS ||
                    what == ACT_TIMED_PERMITS || what == ACT_DRAIN;
  bool reads = what == ACT_READ || what == ACT_TRY_READ ||
               (what == ACT_REREAD && chance(a, 50));
  wish w = wish_for(a, what, 1u << (of_permits ? NAME_SEM : NAME_RW),
                    of_permits ? 'p' : reads ? 'r' : 'w');

  w.is_try = what == ACT_TRY_READ || what == ACT_TRY_WRITE || what == ACT_TRY_PERMITS ||
             what == ACT_DRAIN;
  if (what == ACT_TIMED_WRITE || what == ACT_TIMED_PERMITS)
    w.options.wait_ms = 1 + (int32_t)below(a, p->wait_ms);
  if (of_permits)
    w.units = what == ACT_DRAIN ? 0 : 1 + (uint32_t)below(a, p->permits);
  if (of_permits && p->has_limits && chance(a, 60))
    w.limit = chance(a, 50) ? p->permits : 1 + (uint32_t)below(a, p->permits + 1);
  if (chance(a, 6))
    w.options.flags = DIBS_LOCK_FIXED;
  w.is_async = !w.is_try && w.options.wait_ms == DIBS_FOREVER &&
               what != ACT_REREAD && chance(a, 15);
  return w;
}

void act_share(actor *a, action what)
{
  dibs_status status;
  wish w;
  grip *g;

  if (what == ACT_RESIZE) {
    set_permits(a, what, false);
    return;
  }
  w = wish_of(a, what);
  g = take(a, &w, &status);
  if (g == NULL) {
    if (status == DIBS_ERR_NOT_SET)
      set_permits(a, what, true);
    return;
  }
  hold_for_a_while(a, g);
  if (what == ACT_REREAD) {
    read_again(a, &w, g);
    return;
  }
  if (what == ACT_DOWNGRADE)
    downgrade(a, g);
  (void)give_back(a, g, what);
}

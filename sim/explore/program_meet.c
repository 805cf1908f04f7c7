/* SPDX-License-Identifier: MIT */
/* Programs that meet: elections, latches, barriers, guarded writes; each checks what it was
 * promised itself (S2, S6). */
#include "explore.h"

#include <stdlib.h>
#include <string.h>

/* ---- election ---- */

static void lead(actor *a)
{
  wish w = wish_for(a, ACT_LEAD, 1u << 0, 'x');
  dibs_status status;
  grip *g;
  call *c;

  w.is_election = true;
  w.is_try = chance(a, 30);
  if (!w.is_try && chance(a, 50))
    w.options.wait_ms = 1 + (int32_t)below(a, a->trial->plan->wait_ms);
  g = take(a, &w, &status);
  if (g == NULL)
    return;
  hold_for_a_while(a, g);
  if (chance(a, 50)) {
    c = call_begin(a, "publish", question_limit_ms(a->trial));
    (void)call_end(a, c, ACT_LEAD, dibs_publish(g->hold, "another"));
  }
  (void)give_back(a, g, ACT_LEAD);
}

static void look_leader(actor *a)
{
  dibs_leader *leader = NULL;
  call *c = call_begin(a, "get_leader", question_limit_ms(a->trial));
  dibs_status status = dibs_get_leader(a->life->client, name_texts[0], &leader);

  if (call_end(a, c, ACT_LOOK_LEADER, status) == DIBS_OK)
    leader = dibs_leader_free(leader);
}

/* ---- latch ---- */

static void count_down(actor *a)
{
  trial *t = a->trial;
  int64_t left = 0;
  call *c = call_begin(a, "latch", question_limit_ms(t));
  dibs_status status;

  if (chance(a, 40))
    status = dibs_latch_set(a->life->client, LATCH_NAME, 1 + below(a, 3));
  else
    status = dibs_latch_down(a->life->client, LATCH_NAME, 1, NULL, &left);
  (void)call_end(a, c, ACT_LATCH, status);
}

static void await_zero(actor *a)
{
  trial *t = a->trial;
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;
  int64_t begun = trial_now(t);
  dibs_status status;
  call *c;

  o.wait_ms = 1 + (int32_t)below(a, t->plan->wait_ms);
  c = call_begin(a, "latch_await", o.wait_ms);
  status = dibs_latch_await(a->life->client, LATCH_NAME, &o);
  if (call_end(a, c, ACT_AWAIT, status) == DIBS_OK && t->latch_open_at < begun)
    flaw(t, "S6: released by a latch that was never at zero since %lld us",
         (long long)t->latch_open_at);
}

/* ---- barrier ---- */

static void count_passed(trial *t, const dibs_barrier_info *info)
{
  meeting_state *m = &t->meeting;
  int place = (int)(info->generation % GENERATIONS_KEPT);

  if (m->passed_generation[place] != info->generation || m->passed[place] == 0) {
    /* The first who passes: all others stand inside at this moment. */
    if (m->inside < (int)info->parties && !m->is_weak)
      flaw(t, "S6: generation %llu of %u parties passes with %d",
           (unsigned long long)info->generation, info->parties, m->inside);
    m->passed_generation[place] = info->generation;
    m->passed[place] = 0;
  }
  if (++m->passed[place] > (int)info->parties && !m->is_weak)
    flaw(t, "S6: %d of %u parties pass generation %llu", m->passed[place], info->parties,
         (unsigned long long)info->generation);
}

static void meet(actor *a)
{
  trial *t = a->trial;
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;
  dibs_barrier_info info = { .size = sizeof(info) };
  dibs_status status;
  call *c;

  o.wait_ms = 1 + (int32_t)below(a, t->plan->wait_ms);
  c = call_begin(a, "barrier_await", o.wait_ms + question_limit_ms(t));
  t->meeting.inside++;
  status = dibs_barrier_await(a->life->client, BARRIER_NAME, 2, &o, &info);
  if (call_end(a, c, ACT_BARRIER, status) == DIBS_OK)
    count_passed(t, &info);
  /* Who gave up where the server could not be told stands there until he is missed. */
  if (status == DIBS_OK || status == DIBS_BROKEN || t->plan->is_calm)
    t->meeting.inside--;
  if (status == DIBS_BROKEN && chance(a, 70)) {
    c = call_begin(a, "barrier_reset", question_limit_ms(t));
    (void)call_end(a, c, ACT_BARRIER, dibs_barrier_reset(a->life->client, BARRIER_NAME));
  }
}

/* ---- guarded writes ---- */

static grip *take_writer(actor *a, action what)
{
  wish w = wish_for(a, what, 1u << 0, 'x');
  dibs_status status;

  w.options.wait_ms = 1 + (int32_t)below(a, a->trial->plan->wait_ms);
  return take(a, &w, &status);
}

static void write_guarded(actor *a, uint64_t fence)
{
  trial *t = a->trial;
  register_state *r = &t->written;
  uint64_t applied = r->applied;
  call *c = call_begin(a, "guarded_set", question_limit_ms(t));
  dibs_status status;

  if (fence > r->tried)
    r->tried = fence;
  status = dibs_guarded_set(a->life->client, WRITTEN_KEY, fence, "x", 1, 0);
  (void)call_end(a, c, ACT_GUARD, status);
  if (status == DIBS_OK && fence < applied && !r->is_weak)
    flaw(t, "S2: a write of fence %llu is done after one of %llu", (unsigned long long)fence,
         (unsigned long long)applied);
  if (status == DIBS_FENCED && fence >= r->tried)
    flaw(t, "S2: a write of the newest fence %llu is refused", (unsigned long long)fence);
  if (status == DIBS_OK && fence > r->applied)
    r->applied = fence;
}

/* Counts once, whatever becomes of its answer. */
static void add_guarded(actor *a, uint64_t fence)
{
  trial *t = a->trial;
  int64_t value = 0;
  call *c = call_begin(a, "guarded_incr", question_limit_ms(t));
  dibs_status status;

  t->added.sum_unsure++;
  status = dibs_guarded_incr(a->life->client, ADDED_KEY, fence, 1, &value);
  (void)call_end(a, c, ACT_ADD, status);
  if (status == DIBS_OK) {
    t->added.sum_unsure--;
    t->added.sum_sure++;
  }
}

static void act_guarded(actor *a, action what)
{
  grip *g = take_writer(a, what);

  if (g == NULL)
    return;
  for (int64_t n = below(a, 3); n >= 0; n--) {
    if (what == ACT_GUARD)
      write_guarded(a, g->fence);
    else
      add_guarded(a, g->fence);
    hold_for_a_while(a, g);
  }
  (void)give_back(a, g, what);
}

void act_meet(actor *a, action what)
{
  switch (what) {
  case ACT_LEAD:        lead(a); break;
  case ACT_LOOK_LEADER: look_leader(a); break;
  case ACT_LATCH:       count_down(a); break;
  case ACT_AWAIT:       await_zero(a); break;
  case ACT_BARRIER:     meet(a); break;
  default:              act_guarded(a, what); break;
  }
}

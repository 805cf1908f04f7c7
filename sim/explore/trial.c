/* SPDX-License-Identifier: MIT */
/* A trial: one seed from its first event to its last. Faults and safety first; then all is
 * healed, nothing new is begun, and everybody must get what he waits for. */
#include "explore.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world/world.h"

#define SLICE_MS 25
#define HEAL_MS 4000            /* for what is not counted by leases: L6 */
#define POLL_MS 1100            /* who is told nothing looks again by then */

const char *const name_texts[NAMES] = { "a", "b", "c", "rw", "sem" };

static trial *current;

trial *trial_current(void) { return current; }

int64_t trial_now(const trial *t) { return dibs_sim_now_us(t->sim); }

int64_t history_now(const trial *t) { return trial_now(t) * 1000; }

static void flaw_list(trial *t, int64_t at_us, const char *format, va_list list)
{
  char words[400];

  if (t->flaw[0] != 0 && at_us >= t->flaw_at)
    return;
  (void)vsnprintf(words, sizeof(words), format, list);
  (void)snprintf(t->flaw, sizeof(t->flaw), "at %.6f s: %s", (double)at_us / 1e6, words);
  t->flaw_at = at_us;
  dibs_sim_note("FLAW %s", words);
}

void flaw(trial *t, const char *format, ...)
{
  va_list list;

  va_start(list, format);
  flaw_list(t, trial_now(t), format, list);
  va_end(list);
}

/* Something that is found later than it happened. */
void flaw_at(trial *t, int64_t at_us, const char *format, ...)
{
  va_list list;

  va_start(list, format);
  flaw_list(t, at_us, format, list);
  va_end(list);
}

/* ---- faults ---- */

static bool concerns(const dibs_sim_fault *f, const life *l)
{
  return f->kind >= DIBS_SIM_SERVER_PAUSE || f->process == 0 || f->process == l->slot;
}

static void cover_fault(trial *t, const dibs_sim_fault *f)
{
  uint64_t *counts = covered.faults[f->kind];
  bool is_over_hold = false, is_over_call = false;

  for (size_t i = 0; i < t->grip_top; i++) {
    const grip *g = &t->grips[i];

    is_over_hold = is_over_hold || (g->is_used && g->hold != NULL && !g->is_over &&
                                    concerns(f, &t->lives[g->life]));
  }
  for (int i = 0; i < CALLS_MAX; i++)
    is_over_call = is_over_call || (t->calls[i].is_open &&
                                    concerns(f, &t->lives[t->calls[i].life]));
  counts[0]++;
  counts[1] += is_over_hold;
  counts[2] += is_over_call;
}

/* What is lost while the server is down is seen when it is up again, at that very event. An event
 * of the fault's time may come before the server goes down. */
static void note_losing(trial *t, int64_t now)
{
  if (!t->is_losing)
    return;
  if (host_is_down(world_host(t->sim)))
    t->was_down = true;
  else if (now == t->losing_at)
    return;
  else if (t->was_down)
    t->was_down = false;
  else
    t->is_losing = false;
  t->losing_at = now;
}

/* S2. A fence is the time and more than whoever asks has seen; of a fenced lock of Redisson's,
 * a number that the server has. */
static bool fence_is_weak(const trial *t, int name)
{
  if (!t->plan->is_redisson)
    return t->has_lost && t->has_stepped_back;
  return name < MUTEXES && t->plan->redisson_kinds[name] == REDISSON_FENCED ? t->has_lost
                                                                        : t->has_stepped_back;
}

/* They are over on the server earlier than their holders know. */
static void cut_leases(trial *t, int64_t step_us)
{
  for (int name = 0; name < MUTEXES; name++)
    for (size_t i = 0; i < t->truths[name].holder_count; i++)
      t->truths[name].holders[i]->cut_us += step_us;
}

void trial_note_faults(trial *t)
{
  int64_t now = trial_now(t);

  note_losing(t, now);
  while (t->noted < t->injected && t->plan->faults[t->noted].at_us <= now) {
    const dibs_sim_fault *f = &t->plan->faults[t->noted++];

    cover_fault(t, f);
    if (fault_loses_data(f)) {
      t->is_losing = t->has_lost = true;
      t->losing_at = now;
      t->was_down = host_is_down(world_host(t->sim));
      t->written.is_weak = t->added.is_weak = t->meeting.is_weak = true;
    }
    if (f->kind == DIBS_SIM_SERVER_WALL_STEP) {
      t->has_stepped = true;
      t->has_stepped_back = t->has_stepped_back || f->ms < 0;
      t->step_us += f->ms * 1000;
    }
    if (f->kind == DIBS_SIM_KILL || f->kind == DIBS_SIM_VANISH)
      t->kills++;
    for (int i = 0; i < NAMES; i++)
      t->is_fence_weak[i] = t->is_fence_weak[i] || fence_is_weak(t, i);
    if (f->kind == DIBS_SIM_SERVER_WALL_STEP && f->ms > 0 &&
        !format_of(t->plan)->survives_steps)
      cut_leases(t, f->ms * 1000);
  }
}

/* Those of the next slice; whoever has the slot then meets them. */
static void inject(trial *t, int64_t until_us)
{
  while (t->injected < t->plan->fault_count &&
         t->plan->faults[t->injected].at_us < until_us) {
    dibs_sim_fault f = t->plan->faults[t->injected++];

    if (f.process > 0)
      f.process = t->lives[t->slot_life[f.process]].process;
    if (dibs_sim_inject(t->sim, &f) != DIBS_OK)
      flaw(t, "explorer: a fault that is none");
  }
}

/* ---- processes ---- */

static void life_begin(trial *t, int place)
{
  life *l = &t->lives[t->life_count];
  char name[16];

  *l = (life){ .trial = t, .slot = place, .number = t->life_count };
  (void)snprintf(name, sizeof(name), "p%d.%d", place, t->life_count++);
  l->process = dibs_sim_start(t->sim, name, program_main, l);
  t->slot_life[place] = l->number;
  /* Its own clock tells the truth, whatever was done to the server's: protocol.md 8. */
  process_find(t->sim, l->process)->wall_offset_us -= t->step_us;
  process_rate(process_find(t->sim, l->process), t->plan->ppm[place]);
}

static void restart(trial *t)
{
  for (int place = 1; place <= t->plan->processes; place++) {
    const life *l = &t->lives[t->slot_life[place]];

    if (!dibs_sim_has_ended(t->sim, l->process) || t->life_count == LIVES_MAX)
      continue;
    if (t->restart_at[place] == 0) {
      t->restart_at[place] = trial_now(t) + 1000 *
                            (int64_t)random_below(&t->random, (uint64_t)t->plan->ttl_ms[0] * 3);
    } else if (t->restart_at[place] <= trial_now(t)) {
      t->restart_at[place] = 0;
      cover(POINT_RESTARTED);
      life_begin(t, place);
    }
  }
}

/* ---- phases ---- */

static void run_faults(trial *t)
{
  for (int64_t at = 0; at < t->plan->run_ms && t->flaw[0] == 0; at += SLICE_MS) {
    inject(t, (at + SLICE_MS) * 1000);
    (void)dibs_sim_run(t->sim, SLICE_MS);
    restart(t);
  }
}

/* Nobody is handed a lock of Redisson's: each who wants one may have to look for it. And who
 * stands in the queue of a fair one and is dead holds it up until his deadline, as who has it
 * does; each by the server's clock, which may have been set back. */
static int64_t redisson_limit_ms(const trial *t, int64_t ttl_ms)
{
  int64_t limit = (t->plan->processes * t->plan->threads + t->plan->peers) * (ttl_ms + POLL_MS);
  int64_t now_us = host_wall_us(world_host(t->sim));

  for (int name = 0; name < MUTEXES; name++) {
    const truth *x = &t->truths[name];
    int64_t last_us = now_us;

    for (size_t i = 0; i < x->waiter_count; i++)
      if (x->waiters[i].give_up_us > last_us)
        last_us = x->waiters[i].give_up_us;
    for (size_t i = 0; i < x->holder_count; i++)
      if (x->holders[i]->deadline_us > last_us)
        last_us = x->holders[i]->deadline_us;
    limit += (last_us - now_us) / 1000;
  }
  return limit;
}

/* L6. Who died without the server's knowing may still be granted each name once. */
static int64_t heal_limit_ms(const trial *t)
{
  const plan *p = t->plan;
  int64_t ttl = p->ttl_ms[0] > p->ttl_ms[1] ? p->ttl_ms[0] : p->ttl_ms[1];
  int64_t dead = 0;

  for (int i = 1; i < t->life_count; i++)
    dead += t->lives[i].is_over;
  return (p->is_redisson ? redisson_limit_ms(t, ttl) : 0) + HEAL_MS +
         (2 + dead * p->threads) * (2 * ttl + 2200) + p->processes * p->threads * 100;
}

static void run_healed(trial *t)
{
  int64_t limit = heal_limit_ms(t), begun = trial_now(t);

  t->healed_at = begun;
  t->noted = t->injected = t->plan->fault_count;
  dibs_sim_heal(t->sim);
  t->is_ending = true;
  if (!dibs_sim_run(t->sim, limit) && t->flaw[0] == 0)
    flaw(t, "L6: %lld ms after all was healed somebody still waits", (long long)limit);
  covered.heal_us += (uint64_t)(trial_now(t) - begun);
  if (trial_now(t) - begun > (int64_t)covered.heal_max_us)
    covered.heal_max_us = (uint64_t)(trial_now(t) - begun);
  if (t->flaw[0] == 0)
    oracle_look(t->sim, t);
  if (t->flaw[0] == 0)
    oracle_end(t);
}

static void report(const trial *t, verdict *ret)
{
  memcpy(ret->flaw, t->flaw, sizeof(ret->flaw));
  ret->fingerprint = dibs_sim_fingerprint(t->sim);
  ret->cycles = t->cycles;
  ret->looks = t->looks;
  ret->grants = t->grants;
  covered.seeds++;
  covered.cycles += t->cycles;
  covered.looks += t->looks;
  covered.grants += t->grants;
  covered.losses += t->losses;
  covered.kills += t->kills;
  covered.virtual_us += (uint64_t)trial_now(t);
}

void trial_run(const plan *p, void (*on_trace)(const char *, void *), void *data,
               verdict *ret_verdict)
{
  dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;
  trial *t = calloc(1, sizeof(*t));

  if (t == NULL)
    abort();
  o.seed = p->seed;
  o.delay_min_us = p->delay_min_us;
  o.delay_max_us = p->delay_max_us;
  o.preempt_per_mille = p->preempt_per_mille;
  o.split_per_mille = p->split_per_mille;
  o.on_trace = on_trace;
  o.on_trace_data = data;
  o.flags = p->has_ifeq ? DIBS_SIM_IFEQ : 0;
  t->plan = p;
  t->traces = on_trace != NULL;
  t->next_due = INT64_MAX;
  t->life_count = 1;                  /* 0 is nobody */
  random_seed(&t->random, p->seed ^ 0x5bd1e995u);
  t->sim = dibs_sim_new(&o);
  current = t;
  dibs_sim_watch(t->sim, oracle_look, t);
  for (int place = 1; place <= p->processes; place++)
    life_begin(t, place);
  peers_begin(t);
  publisher_begin(t);
  run_faults(t);
  if (t->flaw[0] == 0)
    run_healed(t);
  if (t->flaw[0] == 0 && sim_server_unknown(world_server(t->sim)) != NULL)
    flaw(t, "the model does not know: %s", sim_server_unknown(world_server(t->sim)));
  oracle_history(t);
  history_log_free(&t->log);
  report(t, ret_verdict);
  dibs_sim_watch(t->sim, NULL, NULL);
  t->sim = dibs_sim_free(t->sim);
  current = NULL;
  free(t);
}

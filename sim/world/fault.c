/* SPDX-License-Identifier: MIT */
/* What may happen: as data, at its time. */
#include "world/world.h"

#include <stdlib.h>

static const struct fault_kind {
  dibs_sim_fault_kind kind;
  const char *name;
  bool is_of_server, lasts;
} kinds[] = {
  { DIBS_SIM_PAUSE, "PAUSE", false, true },
  { DIBS_SIM_KILL, "KILL", false, false },
  { DIBS_SIM_VANISH, "VANISH", false, false },
  { DIBS_SIM_WALL_STEP, "WALL_STEP", false, true },
  { DIBS_SIM_RATE, "RATE", false, false },
  { DIBS_SIM_CUT, "CUT", false, false },
  { DIBS_SIM_CUT_LATE, "CUT_LATE", false, true },
  { DIBS_SIM_CUT_REPLY, "CUT_REPLY", false, false },
  { DIBS_SIM_HOLD, "HOLD", false, true },
  { DIBS_SIM_BLACK_HOLE, "BLACK_HOLE", false, true },
  { DIBS_SIM_SLOW, "SLOW", false, true },
  { DIBS_SIM_REFUSE, "REFUSE", false, true },
  { DIBS_SIM_SERVER_PAUSE, "SERVER_PAUSE", true, true },
  { DIBS_SIM_SERVER_RESTART, "SERVER_RESTART", true, true },
  { DIBS_SIM_SERVER_EMPTY, "SERVER_EMPTY", true, true },
  { DIBS_SIM_SERVER_FLUSH, "SERVER_FLUSH", true, false },
  { DIBS_SIM_SERVER_FORGET, "SERVER_FORGET", true, false },
  { DIBS_SIM_SERVER_WALL_STEP, "SERVER_WALL_STEP", true, true },
  { DIBS_SIM_SERVER_FULL, "SERVER_FULL", true, true },
  { DIBS_SIM_SERVER_BUSY, "SERVER_BUSY", true, true },
  { DIBS_SIM_SERVER_LOADING, "SERVER_LOADING", true, true },
  { DIBS_SIM_SERVER_READ_ONLY, "SERVER_READ_ONLY", true, true },
  { DIBS_SIM_SERVER_MISCONF, "SERVER_MISCONF", true, true },
  { DIBS_SIM_SERVER_EVICT, "SERVER_EVICT", true, false },
  { DIBS_SIM_SERVER_KILL_CLIENTS, "SERVER_KILL_CLIENTS", true, true },
  { DIBS_SIM_SERVER_REPLICA, "SERVER_REPLICA", true, true },
  { DIBS_SIM_SERVER_FAIL_OVER, "SERVER_FAIL_OVER", true, true },
  { DIBS_SIM_SERVER_PART, "SERVER_PART", true, true },
  { DIBS_SIM_SERVER_LAG, "SERVER_LAG", true, true },
  { DIBS_SIM_SERVER_PROMOTE, "SERVER_PROMOTE", true, false },
  { DIBS_SIM_SERVER_SLOT, "SERVER_SLOT", true, true },
};

static const struct fault_kind *kind_of(dibs_sim_fault_kind kind)
{
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
    if (kinds[i].kind == kind)
      return &kinds[i];
  return NULL;
}

size_t dibs_sim_fault_text(const dibs_sim_fault *f, char *ret_text, size_t size)
{
  const struct fault_kind *k = kind_of(f->kind);
  text out = text_over(ret_text, size);

  text_add(&out, k == NULL ? "?" : k->name);
  if (k != NULL && !k->is_of_server) {
    text_add(&out, " process ");
    text_add_int(&out, f->process);
  }
  if (k != NULL && k->is_of_server && f->server > 0) {
    text_add(&out, " s");
    text_add_int(&out, f->server);
  }
  if (f->kind == DIBS_SIM_SERVER_PART) {
    text_add(&out, " from ");
    text_add(&out, f->process > 0 ? "process " : f->other_server > 0 ? "s"
                   : f->other_server == 0 ? "programs"
                   : f->other_server == -1 ? "all" : "other servers");
    if (f->process > 0 || f->other_server > 0)
      text_add_int(&out, f->process > 0 ? f->process : f->other_server);
  }
  if (f->kind == DIBS_SIM_SERVER_SLOT) {
    text_add(&out, " gets slot ");
    text_add_int(&out, f->slot);
  }
  text_add(&out, " at ");
  text_add_int(&out, f->at_us);
  text_add(&out, " us");
  if (k != NULL && k->lasts) {
    text_add(&out, " for ");
    text_add_int(&out, f->ms);
    text_add(&out, " ms");
  }
  if (f->kind == DIBS_SIM_RATE) {
    text_add(&out, " by ");
    text_add_int(&out, f->ppm);
    text_add(&out, " ppm");
  }
  if (f->kind == DIBS_SIM_SLOW) {
    text_add(&out, " up to ");
    text_add_int(&out, f->delay_ms);
    text_add(&out, " ms each");
  }
  if (f->kind == DIBS_SIM_HOLD || f->kind == DIBS_SIM_BLACK_HOLE)
    text_add(&out, f->direction == DIBS_SIM_TO_SERVER   ? " to the server"
                   : f->direction == DIBS_SIM_TO_CLIENT ? " to the client" : " both ways");
  return out.used;
}

/* ---- to one process ---- */

static void each_wire(dibs_sim *sim, const process *p, const dibs_sim_fault *f)
{
  wire *next;

  for (wire *w = sim->wires; w != NULL; w = next) {
    next = w->next;
    if (w->process != p || !w->is_open)
      continue;
    if (f->kind == DIBS_SIM_CUT)
      wire_reset(w, "cut");
    else
      wire_cut_late(w, f->ms * 1000000);
  }
}

static void raise_to(int64_t *until, int64_t at)
{
  if (at > *until)
    *until = at;
}

static void happen_to(process *p, const dibs_sim_fault *f)
{
  int64_t until = p->sim->now + f->ms * 1000000;

  switch (f->kind) {
  case DIBS_SIM_PAUSE:
    process_pause(p, f->ms * 1000000);
    break;
  case DIBS_SIM_KILL:
    process_end(p, ENDING_KILLED);
    break;
  case DIBS_SIM_VANISH:
    process_end(p, ENDING_VANISHED);
    break;
  case DIBS_SIM_WALL_STEP:
    p->wall_offset_us += f->ms * 1000;
    break;
  case DIBS_SIM_RATE:
    process_rate(p, f->ppm);
    break;
  case DIBS_SIM_CUT:
  case DIBS_SIM_CUT_LATE:
    each_wire(p->sim, p, f);
    break;
  case DIBS_SIM_CUT_REPLY:
    p->cuts_next_reply = true;
    break;
  case DIBS_SIM_SLOW:
    raise_to(&p->slow_until, until);
    p->slow_ms = f->delay_ms;
    break;
  case DIBS_SIM_REFUSE:
    raise_to(&p->refused_until, until);
    break;
  case DIBS_SIM_HOLD:
  case DIBS_SIM_BLACK_HOLE:
    for (int i = 0; i < 2; i++)
      if (f->direction == 0 || (f->direction >> i & 1) != 0)
        raise_to(f->kind == DIBS_SIM_HOLD ? &p->held_until[i] : &p->holed_until[i], until);
    break;
  default:
    break;
  }
}

/* ---- when ---- */

static void happen(dibs_sim *sim, const dibs_sim_fault *f)
{
  char words[160];

  if (trace_is_on(sim)) {
    (void)dibs_sim_fault_text(f, words, sizeof(words));
    trace(sim, NULL, "-- %s", words);
  }
  if (kind_of(f->kind)->is_of_server) {
    host_fault(sim, f);
    return;
  }
  for (process *p = sim->processes; p != NULL; p = p->next)
    if (p->ending == ENDING_NONE && (f->process == 0 || f->process == p->number))
      happen_to(p, f);
}

static void forget(dibs_sim *sim, planned_fault *f)
{
  planned_fault **at = &sim->faults;

  while (*at != f)
    at = &(*at)->next;
  *at = f->next;
  sim_timer_end(sim, &f->timer);
  free(f);
}

dibs_status dibs_sim_inject(dibs_sim *sim, const dibs_sim_fault *fault)
{
  planned_fault *f;

  if (kind_of(fault->kind) == NULL || fault->process < 0 ||
      (fault->process > 0 && process_find(sim, fault->process) == NULL) ||
      fault->server < 0 || fault->server > sim->host_count || fault->other_server < -2 ||
      fault->other_server > sim->host_count || fault->slot < 0 || fault->slot >= SLOT_COUNT ||
      fault->direction < 0 || fault->direction > DIBS_SIM_BOTH_WAYS)
    return DIBS_ERR_ARGUMENT;
  f = sim_zalloc(sizeof(*f));
  f->fault = *fault;
  f->next = sim->faults;
  sim->faults = f;
  sim_timer_new(sim, &f->timer, EVENT_FAULT, f);
  sim_timer_set(sim, &f->timer, fault->at_us * 1000);
  return DIBS_OK;
}

void fault_event(dibs_sim *sim, planned_fault *f)
{
  dibs_sim_fault fault = f->fault;

  forget(sim, f);
  happen(sim, &fault);
}

void faults_free(dibs_sim *sim)
{
  while (sim->faults != NULL)
    forget(sim, sim->faults);
}

void dibs_sim_heal(dibs_sim *sim)
{
  trace(sim, NULL, "-- all is well again");
  faults_free(sim);
  for (process *p = sim->processes; p != NULL; p = p->next) {
    for (int i = 0; i < 2; i++)
      p->held_until[i] = p->holed_until[i] = 0;
    p->slow_until = p->refused_until = 0;
    for (int i = 0; i < sim->host_count; i++)
      p->apart_from[i] = 0;
    p->cuts_next_reply = false;
    process_resume(p);
  }
  hosts_heal(sim);
}

void faults_sort(dibs_sim_fault *all, size_t count)
{
  for (size_t i = 1; i < count; i++) {
    dibs_sim_fault f = all[i];
    size_t j = i;

    for (; j > 0 && all[j - 1].at_us > f.at_us; j--)
      all[j] = all[j - 1];
    all[j] = f;
  }
}

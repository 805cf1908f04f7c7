/* SPDX-License-Identifier: MIT */
/* One world: its programs, who believes what, and what is wrong with that. */
#include "deployed.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo/topo.h"
#include "world/world.h"

#define HEAL_MS 20000

const char *const name_texts[NAMES] = { "a", "b", "c" };

typedef struct grip {
  bool is_used;
  int process, name;
  dibs_hold *hold;
  uint64_t fence;
} grip;

typedef struct trial {
  const plan *plan;
  dibs_sim *sim;
  grip grips[GRIPS];
  peer peers[PEERS];
  int peer_count;
  bool is_ending, is_wrong[NAMES];       /* an overlap is being seen */
  int64_t wrong_since[NAMES];
  /* The highest fence granted, and the highest that any grant told by now has. */
  uint64_t top_fence[NAMES];
  verdict *verdict;
} trial;

static void flaw(trial *t, unsigned promise, const char *format, ...)
{
  char words[300];
  va_list list;

  va_start(list, format);
  (void)vsnprintf(words, sizeof(words), format, list);
  va_end(list);
  dibs_sim_note("%s: %s", (t->plan->kind->promises & promise) != 0 ? "FLAW" : "expected", words);
  if ((t->plan->kind->promises & promise) != 0 && t->verdict->flaw[0] == 0)
    (void)snprintf(t->verdict->flaw, sizeof(t->verdict->flaw), "at %.6f s: %s",
                   (double)dibs_sim_now_us(t->sim) / 1e6, words);
}

/* ---- oracle ---- */

/* Who believes to have it; a peer by its number behind the programs. */
typedef struct believer { int number; uint64_t fence; } believer;

static size_t believers(const trial *t, int name, believer *ret_two)
{
  size_t count = 0;

  for (size_t i = 0; i < GRIPS && count < 2; i++) {
    const grip *g = &t->grips[i];

    if (g->is_used && g->name == name && (count == 0 || ret_two[0].number != g->process) &&
        dibs_sim_valid_us(t->sim, g->process, g->hold) > 0)
      ret_two[count++] = (believer){ g->process, g->fence };
  }
  for (int i = 0; i < t->peer_count && count < 2; i++) {
    const peer *p = &t->peers[i];

    if (p->is_inside && p->name == name && dibs_sim_now_us(t->sim) < p->valid_us)
      ret_two[count++] = (believer){ PROGRAMS + p->number, 0 };
  }
  return count;
}

static void look_at(trial *t, int name)
{
  int64_t now = dibs_sim_now_us(t->sim);
  believer two[2];

  if (believers(t, name, two) < 2) {
    t->is_wrong[name] = false;
    return;
  }
  if (!t->is_wrong[name]) {
    t->is_wrong[name] = true;
    t->wrong_since[name] = now;
    t->verdict->overlaps++;
    flaw(t, PROMISE_S1, "S1: %d (fence %llu) and %d (fence %llu) both believe to have %s",
         two[0].number, (unsigned long long)two[0].fence, two[1].number,
         (unsigned long long)two[1].fence, name_texts[name]);
  }
  if (now - t->wrong_since[name] > t->verdict->overlap_us)
    t->verdict->overlap_us = now - t->wrong_since[name];
}

static void look(dibs_sim *sim, void *data)
{
  trial *t = data;

  (void)sim;
  for (int i = 0; i < t->plan->names; i++)
    look_at(t, i);
}

/* ---- programs ---- */

static grip *grip_new(trial *t, int name, dibs_hold *hold)
{
  for (size_t i = 0; i < GRIPS; i++)
    if (!t->grips[i].is_used) {
      t->grips[i] = (grip){ true, dibs_sim_self(), name, hold, dibs_hold_fence(hold) };
      return &t->grips[i];
    }
  abort();
}

static void granted(trial *t, int name, uint64_t fence, uint64_t top_before)
{
  t->verdict->grants++;
  if (fence <= top_before) {
    t->verdict->steps_back++;
    flaw(t, PROMISE_S2, "S2: fence %llu of %s is not above %llu, which was told before it asked",
         (unsigned long long)fence, name_texts[name], (unsigned long long)top_before);
  }
  if (fence > t->top_fence[name])
    t->top_fence[name] = fence;
}

static bool is_a_surprise(dibs_status status)
{
  switch (status) {
  case DIBS_OK: case DIBS_BUSY: case DIBS_TIMED_OUT: case DIBS_UNKNOWN: case DIBS_LOST:
  case DIBS_EXPIRED: case DIBS_TAKEN: case DIBS_ERR_UNREACHABLE: case DIBS_ERR_REFUSED:
  case DIBS_ERR_READ_ONLY: case DIBS_ERR_NOT_REPLICATED:
    return false;
  default:
    return true;
  }
}

static void surprised(trial *t, const char *what, dibs_status status)
{
  t->verdict->refused += status == DIBS_ERR_UNREACHABLE || status == DIBS_ERR_REFUSED;
  if (is_a_surprise(status))
    flaw(t, PROMISE_L6, "%s ends with %s", what, dibs_status_name(status));
}

static void once(trial *t, dibs_client *client)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  int name = (int)dibs_sim_random((uint64_t)t->plan->names);
  uint64_t top_before = t->top_fence[name];
  dibs_hold *hold = NULL;
  dibs_status status;
  grip *g;

  o.ttl_ms = (int32_t)t->plan->ttl_ms;
  o.wait_ms = dibs_sim_random(3) == 0 ? (int32_t)(1 + dibs_sim_random(5000)) : 0;
  if (o.wait_ms == 0 && t->is_ending)
    o.wait_ms = 1000000;
  status = dibs_sim_random(6) == 0 ? dibs_try_lock(client, name_texts[name], &o, &hold)
                                   : dibs_lock(client, name_texts[name], &o, &hold);
  if (status != DIBS_OK) {
    surprised(t, "lock", status);
    return;
  }
  g = grip_new(t, name, hold);
  granted(t, name, g->fence, top_before);
  dibs_sim_sleep_ms((int64_t)dibs_sim_random((uint64_t)t->plan->hold_ms + 1));
  t->verdict->losses += dibs_hold_state(hold) == DIBS_GONE;
  g->is_used = false;
  surprised(t, "release", dibs_release(hold));
}

static void program(void *data)
{
  trial *t = data;
  dibs_options o = DIBS_OPTIONS_INIT;
  dibs_client *client = NULL;
  dibs_status status;

  o.command_timeout_ms = t->plan->command_timeout_ms;
  status = dibs_open(t->plan->url, &o, &client);
  if (status != DIBS_OK) {
    flaw(t, PROMISE_L6, "open %s ends with %s", t->plan->url, dibs_status_name(status));
    return;
  }
  while (!t->is_ending) {
    once(t, client);
    dibs_sim_sleep_ms((int64_t)dibs_sim_random((uint64_t)t->plan->think_ms + 1));
  }
  once(t, client);                       /* L6: all is well, everybody gets one more */
  client = dibs_close(client);
}

/* ---- one seed ---- */

static void peers_begin(trial *t)
{
  const plan *p = t->plan;

  t->peer_count = p->kind->has_peers ? PEERS : 0;
  for (int i = 0; i < t->peer_count; i++) {
    char name[16];

    t->peers[i] = (peer){ .sim = t->sim, .number = i + 1, .names = p->names,
                          .ttl_ms = p->ttl_ms, .think_ms = p->think_ms,
                          .hold_ms = p->hold_ms };
    random_seed(&t->peers[i].random, p->seed * 31 + (uint64_t)i);
    (void)snprintf(name, sizeof(name), "java%d", i + 1);
    (void)dibs_sim_start(t->sim, name, peer_main, &t->peers[i]);
  }
}

static void tell(trial *t)
{
  for (int i = 0; i < t->peer_count; i++)
    t->verdict->of_peers += t->peers[i].grants;
  t->verdict->promotions = t->sim->epoch;
  for (int i = 0; i < t->sim->host_count; i++) {
    const char *unknown = sim_server_unknown(t->sim->hosts[i]->server);

    t->verdict->promotions += host_is_node(t->sim->hosts[i]) &&
                              t->sim->hosts[i]->heir_of != NULL;
    if (unknown != NULL && t->verdict->flaw[0] == 0)
      (void)snprintf(t->verdict->flaw, sizeof(t->verdict->flaw),
                     "at 0.0 s: the model does not know: %s", unknown);
  }
}

void trial_run(const plan *p, void (*on_trace)(const char *, void *), void *data,
               verdict *ret_verdict)
{
  dibs_sim_options o = p->options;
  trial *t = calloc(1, sizeof(*t));

  if (t == NULL)
    abort();
  *ret_verdict = (verdict){ .flaw = "" };
  t->plan = p;
  t->verdict = ret_verdict;
  o.on_trace = on_trace;
  o.on_trace_data = data;
  t->sim = dibs_sim_new(&o);
  if (t->sim == NULL)
    abort();
  dibs_sim_watch(t->sim, look, t);
  for (int i = 1; i <= PROGRAMS; i++) {
    char name[8];

    (void)snprintf(name, sizeof(name), "p%d", i);
    (void)dibs_sim_start(t->sim, name, program, t);
  }
  peers_begin(t);
  for (size_t i = 0; i < p->fault_count; i++)
    if (dibs_sim_inject(t->sim, &p->faults[i]) != DIBS_OK)
      abort();
  (void)dibs_sim_run(t->sim, p->run_ms);
  dibs_sim_heal(t->sim);
  t->is_ending = true;
  for (int i = 0; i < t->peer_count; i++)
    t->peers[i].ends = true;
  if (!dibs_sim_run(t->sim, HEAL_MS + 2 * p->quarantine_ms +
                            PROGRAMS * 2 * (p->ttl_ms + p->hold_ms))) {
    ret_verdict->is_stuck = true;
    flaw(t, PROMISE_L6, "L6: long after all was healed somebody still waits");
  }
  tell(t);
  dibs_sim_watch(t->sim, NULL, NULL);
  t->sim = dibs_sim_free(t->sim);
  free(t);
}

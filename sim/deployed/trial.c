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
  struct logged logged;
  dibs_hold *hold;                       /* NULL: the place is free */
} grip;

typedef struct trial {
  const plan *plan;
  dibs_sim *sim;
  grip grips[GRIPS];
  peer peers[PEERS];
  int peer_count;
  bool is_ending;
  struct history_log log;
  struct findings findings;
  verdict *verdict;
} trial;

/* A move of a slot that is given up loses the keys that have moved: which-deployment.md warns of
 * it. */
static bool is_promised(const trial *t, unsigned promise)
{
  unsigned given_up = t->sim->given_up_moves > 0 ? PROMISE_S1 : 0;

  return (t->plan->kind->promises & ~given_up & promise) != 0;
}

__attribute__((format(printf, 4, 5)))
static void flaw(trial *t, unsigned promise, int64_t at_us, const char *format, ...)
{
  char words[300];
  va_list list;

  va_start(list, format);
  (void)vsnprintf(words, sizeof(words), format, list);
  va_end(list);
  dibs_sim_note("%s: %s", is_promised(t, promise) ? "FLAW" : "expected", words);
  if (is_promised(t, promise) && t->verdict->flaw[0] == 0)
    (void)snprintf(t->verdict->flaw, sizeof(t->verdict->flaw), "at %.6f s: %s",
                   (double)at_us / 1e6, words);
}

int64_t history_now(const dibs_sim *sim)
{
  return dibs_sim_now_us(sim) * 1000;
}

/* ---- oracle: the history is judged in the end, test/oracle ---- */

static void look(dibs_sim *sim, void *data)
{
  trial *t = data;

  for (size_t i = 0; i < GRIPS; i++) {
    grip *g = &t->grips[i];
    int64_t left = g->hold == NULL ? 0 : dibs_sim_valid_us(sim, g->logged.worker, g->hold);

    if (g->hold != NULL)
      logged_valid(&g->logged, history_now(sim), left == 0 ? 0 : history_now(sim) + left * 1000);
  }
}

static void judge(trial *t, const struct history *h, enum check check, unsigned promise)
{
  const struct finding *first = findings_first(&t->findings, check);

  if (first != NULL)
    flaw(t, promise, finding_at_ns(first, h) / 1000, "%s: %s", check_promise(check), first->text);
}

static void judge_history(trial *t)
{
  struct history *h = history_judge(&t->log, name_texts, "mmm", 0, false, &t->findings);

  t->verdict->overlaps = t->findings.counts[CHECK_EXCLUSION];
  t->verdict->overlap_us = t->findings.overlap_ns / 1000;
  t->verdict->steps_back = t->findings.counts[CHECK_FENCE];
  judge(t, h, CHECK_WHOLE, PROMISE_L6);
  judge(t, h, CHECK_EXCLUSION, PROMISE_S1);
  judge(t, h, CHECK_FENCE, PROMISE_S2);
  h = history_free(h);
  history_log_free(&t->log);
}

/* ---- programs ---- */

static grip *granted(trial *t, const struct logged *l, dibs_hold *hold)
{
  t->verdict->grants++;
  for (size_t i = 0; i < GRIPS; i++)
    if (t->grips[i].hold == NULL) {
      t->grips[i] = (grip){ *l, hold };
      logged_granted(&t->grips[i].logged, history_now(t->sim), dibs_hold_fence(hold),
                  history_now(t->sim) + dibs_sim_valid_us(t->sim, l->worker, hold) * 1000);
      return &t->grips[i];
    }
  abort();
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
    flaw(t, PROMISE_L6, dibs_sim_now_us(t->sim), "%s ends with %s", what, dibs_status_name(status));
}

static void once(trial *t, dibs_client *client)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  int name = (int)dibs_sim_random((uint64_t)t->plan->names);
  struct logged c = { .log = &t->log, .worker = (uint16_t)dibs_sim_self(), .locks = 1u << name,
                     .units = 1, .ttl_ms = (int32_t)t->plan->ttl_ms };
  dibs_hold *hold = NULL;
  dibs_status status;
  grip *g;

  o.ttl_ms = (int32_t)t->plan->ttl_ms;
  o.wait_ms = dibs_sim_random(3) == 0 ? (int32_t)dibs_sim_random(5000)
                                      : DIBS_FOREVER;
  if (o.wait_ms == DIBS_FOREVER && t->is_ending)
    o.wait_ms = 1000000;
  logged_ask(&c, history_now(t->sim), OP_LOCK);
  status = dibs_sim_random(6) == 0 ? dibs_try_lock(client, name_texts[name], &o, &hold)
                                   : dibs_lock(client, name_texts[name], &o, &hold);
  if (status != DIBS_OK) {
    logged_failed(&c, history_now(t->sim), status);
    surprised(t, "lock", status);
    return;
  }
  g = granted(t, &c, hold);
  dibs_sim_sleep_ms((int64_t)dibs_sim_random((uint64_t)t->plan->hold_ms + 1));
  t->verdict->losses += dibs_hold_state(hold) == DIBS_HOLD_GONE;
  logged_release(&g->logged, history_now(t->sim));
  g->hold = NULL;
  surprised(t, "release", dibs_release(hold));
}

static void program(void *data)
{
  trial *t = data;
  dibs_options o = DIBS_OPTIONS_INIT;
  dibs_client *client = NULL;
  dibs_status status;

  o.command_timeout_ms = t->plan->command_timeout_ms;
  status = dibs_open(t->plan->url, &o, &client, NULL);
  if (status != DIBS_OK) {
    flaw(t, PROMISE_L6, dibs_sim_now_us(t->sim), "open %s ends with %s", t->plan->url,
         dibs_status_name(status));
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

    t->peers[i] = (peer){ .sim = t->sim, .log = &t->log, .number = i + 1, .names = p->names,
                          .ttl_ms = p->ttl_ms, .think_ms = p->think_ms,
                          .hold_ms = p->hold_ms };
    random_seed(&t->peers[i].random, p->seed * 31 + (uint64_t)i);
    (void)snprintf(name, sizeof(name), "java%d", i + 1);
    (void)dibs_sim_start(t->sim, name, peer_main, &t->peers[i]);
  }
}

static void report(trial *t)
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
  ret_verdict->is_stuck = !dibs_sim_run(t->sim, HEAL_MS + 2 * p->quarantine_ms +
                            PROGRAMS * 2 * (p->ttl_ms + p->hold_ms));
  judge_history(t);
  if (ret_verdict->is_stuck)
    flaw(t, PROMISE_L6, dibs_sim_now_us(t->sim),
         "L6: long after all was healed somebody still waits");
  report(t);
  dibs_sim_watch(t->sim, NULL, NULL);
  t->sim = dibs_sim_free(t->sim);
  free(t);
}

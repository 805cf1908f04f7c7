/* SPDX-License-Identifier: MIT */
/* Time: what comes next, and the loop that brings it about. */
#include "world/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DELAY_MIN_US 20
#define DELAY_MAX_US 200
#define FIRST_PRIME 0x9e3779b97f4a7c15ull

dibs_sim *sim_now;

/* ---- timers ---- */

void sim_timer_new(dibs_sim *sim, sim_timer *t, int kind, void *owner)
{
  timer_init(&t->timer, kind);
  t->owner = owner;
  if (!timers_reserve(&sim->events, ++sim->timer_count))
    abort();
}

void sim_timer_set(dibs_sim *sim, sim_timer *t, int64_t at)
{
  timers_set(&sim->events, &t->timer, (instant){ at > sim->now ? at : sim->now });
}

void sim_timer_end(dibs_sim *sim, sim_timer *t)
{
  timers_clear(&sim->events, &t->timer);
  sim->timer_count--;
}

/* ---- chance, and what became of it ---- */

bool sim_chance(random_source *r, int32_t per_mille)
{
  return per_mille > 0 && random_below(r, 1000) < (uint64_t)per_mille;
}

void sim_mix(dibs_sim *sim, uint64_t value)
{
  sim->fingerprint = (sim->fingerprint ^ value) * FIRST_PRIME;
  sim->fingerprint ^= sim->fingerprint >> 29;
}

void sim_mix_bytes(dibs_sim *sim, const void *bytes, size_t size)
{
  const char *at = bytes;
  uint64_t word;

  for (; size >= sizeof(word); at += sizeof(word), size -= sizeof(word)) {
    memcpy(&word, at, sizeof(word));
    sim_mix(sim, word);
  }
  word = 0;
  memcpy(&word, at, size);
  sim_mix(sim, word);
}

uint64_t dibs_sim_fingerprint(const dibs_sim *sim) { return sim->fingerprint; }
sim_server *world_server(const dibs_sim *sim) { return sim->hosts[0]->server; }
host *world_host(const dibs_sim *sim) { return sim->hosts[0]; }

/* ---- life ---- */

/* One kind of deployment at a time, of a size that there is room for. */
static bool deployment_is_good(dibs_sim_options *o)
{
  int primaries = o->cluster_nodes > 0 ? o->cluster_nodes : o->servers > 1 ? o->servers : 1;

  if (o->servers < 0 || o->replicas < 0 || o->sentinels < 0 || o->cluster_nodes < 0 ||
      o->min_replicas_to_write < 0 || o->min_replicas_max_lag_s < 0 || o->down_after_ms < 0 ||
      o->servers > 15 || o->cluster_nodes > 15 || o->replicas > 4 || o->sentinels > 15)
    return false;
  if (o->down_after_ms == 0)
    o->down_after_ms = 1000;
  if (o->min_replicas_max_lag_s == 0)
    o->min_replicas_max_lag_s = 10;
  return primaries * (1 + o->replicas) + o->sentinels <= HOSTS_MAX &&
         (o->servers <= 1 || (o->replicas == 0 && o->sentinels == 0 && o->cluster_nodes == 0)) &&
         (o->cluster_nodes == 0 || o->sentinels == 0);
}

static bool options_read(const dibs_sim_options *from, dibs_sim_options *ret)
{
  static const dibs_sim_options defaults = DIBS_SIM_OPTIONS_INIT;

  *ret = defaults;
  if (from != NULL) {
    if (from->size != sizeof(*from))
      return false;
    *ret = *from;
  }
  if (ret->seed == 0)
    ret->seed = 1;
  if (ret->delay_max_us == 0)
    ret->delay_max_us = ret->delay_min_us > DELAY_MAX_US ? ret->delay_min_us : DELAY_MAX_US;
  if (ret->delay_min_us == 0)
    ret->delay_min_us = ret->delay_max_us < DELAY_MIN_US ? ret->delay_max_us : DELAY_MIN_US;
  if (!deployment_is_good(ret))
    return false;
  return (ret->flags & ~DIBS_SIM_IFEQ) == 0 && ret->delay_min_us >= 0 &&
         ret->delay_max_us >= ret->delay_min_us &&
         ret->preempt_per_mille >= 0 && ret->preempt_per_mille <= 1000 &&
         ret->split_per_mille >= 0 && ret->split_per_mille <= 1000;
}

dibs_sim *dibs_sim_new(const dibs_sim_options *options)
{
  dibs_sim_options known;
  random_source seeds;
  dibs_sim *sim;

  if (sim_now != NULL || !options_read(options, &known))
    return NULL;
  sim = sim_zalloc(sizeof(*sim));
  sim->options = known;
  timers_init(&sim->events, sim_memory());
  sim->last_process = &sim->processes;
  random_seed(&seeds, known.seed);
  random_seed(&sim->random_network, random_next(&seeds));
  random_seed(&sim->random_threads, random_next(&seeds));
  random_seed(&sim->random_ids, random_next(&seeds));
  random_seed(&sim->random_faults, random_next(&seeds));
  random_seed(&sim->random_hosts, random_next(&seeds));
  sim->last_epoch = 1;
  sim_now = sim;
  hosts_new(sim);
  return sim;
}

dibs_sim *dibs_sim_free(dibs_sim *sim)
{
  if (sim == NULL)
    return NULL;
  for (process *p = sim->processes; p != NULL; p = p->next)
    process_end(p, ENDING_VANISHED);
  while (sim->wires != NULL)
    wire_free(sim->wires);
  faults_free(sim);
  while (sim->processes != NULL) {
    process *p = sim->processes;

    sim->processes = p->next;
    free(p);
  }
  timers_deinit(&sim->events);           /* it writes to the timers, which hosts have too */
  hosts_free(sim);
  free(sim->first_flaw);
  free(sim->answer);
  sim_now = NULL;
  free(sim);
  return NULL;
}

/* ---- the loop ---- */

static void happen(dibs_sim *sim, timer *t)
{
  void *owner = RECORD_OF(sim_timer, timer, t)->owner;

  sim_mix(sim, (uint64_t)sim->now ^ (uint64_t)t->kind << 56);
  switch ((sim_event)t->kind) {
  case EVENT_WAKE:
    thread_ready(owner);
    break;
  case EVENT_RESUME:
    process_resume(owner);
    break;
  case EVENT_DRIVE:
    drive_event(owner);
    break;
  case EVENT_OPEN:
  case EVENT_UP:
  case EVENT_DOWN:
  case EVENT_GONE:
    wire_event(sim, owner, t->kind);
    break;
  case EVENT_FAULT:
    fault_event(sim, owner);
    break;
  case EVENT_SERVER_UP:
  case EVENT_SERVER_TICK:
    host_event(owner, t->kind);
    break;
  case EVENT_SHIP:
  case EVENT_BEAT:
    between_event(owner, t->kind);
    break;
  case EVENT_WATCH:
    watch_event(sim);
    break;
  case EVENT_SLOT:
    slots_event(sim, owner);
    break;
  }
}

static bool all_have_ended(const dibs_sim *sim)
{
  for (const process *p = sim->processes; p != NULL; p = p->next)
    if (p->ending == ENDING_NONE)
      return false;
  return true;
}

static void look(dibs_sim *sim)
{
  if (sim->watch != NULL)
    sim->watch(sim, sim->watch_data);
}

#define STEPS_AT_ONCE_MAX 1000000       /* worlds of 200 processes take some thousands */

bool dibs_sim_run(dibs_sim *sim, int64_t ms)
{
  int64_t until = sim->now + ms * 1000000;
  uint64_t steps_before = sim->steps;
  timer *t;

  threads_run(sim);
  look(sim);
  while (!all_have_ended(sim)) {
    instant next = timers_first(&sim->events);

    if (next.ns > until) {
      sim->now = until;
      return false;
    }
    if (sim->now != next.ns)
      steps_before = sim->steps;
    if (sim->steps - steps_before > STEPS_AT_ONCE_MAX) {
      dibs_sim_flaw("time stands still: a deadline that has come does not go away");
      return false;
    }
    sim->now = next.ns;
    t = timers_pop(&sim->events, next);
    sim->steps++;
    happen(sim, t);
    threads_run(sim);
    look(sim);
  }
  return true;
}

void dibs_sim_watch(dibs_sim *sim, void (*watch)(dibs_sim *sim, void *data), void *data)
{
  sim->watch = watch;
  sim->watch_data = data;
}

/* ---- small questions ---- */

int64_t dibs_sim_now_us(const dibs_sim *sim) { return sim->now / 1000; }

dibs_sim *dibs_sim_current(void)
{
  return sim_now != NULL && sim_now->running != NULL ? sim_now : NULL;
}

bool dibs_sim_has_ended(const dibs_sim *sim, int process_number)
{
  const process *p = process_find(sim, process_number);

  return p == NULL || p->ending != ENDING_NONE;
}

const char *dibs_sim_first_flaw(const dibs_sim *sim) { return sim->first_flaw; }

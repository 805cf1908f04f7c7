/* SPDX-License-Identifier: MIT */
/* Programs: processes on machines with clocks of their own, and their threads. */
#include "world/world.h"

#include <dibs/client.h>

#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/handle.h"
#include "drive/fork_epoch.h"

#define BOOT_MAX_S 1000000
#define PREEMPTED_MAX_US 1000
#define OUTSIDE_EPOCH 1

/* ---- who is who ---- */

process *process_find(const dibs_sim *sim, int number)
{
  process *p = sim->processes;

  while (p != NULL && p->number != number)
    p = p->next;
  return p;
}

process *process_current(const dibs_sim *sim)
{
  if (sim == NULL)
    return NULL;
  return sim->running != NULL ? sim->running->process : sim->looking;
}

uint64_t fork_epoch(void)
{
  const process *p = process_current(sim_now);

  return p != NULL ? p->epoch : OUTSIDE_EPOCH;
}

int dibs_sim_self(void)
{
  const process *p = process_current(sim_now);

  return p != NULL ? p->number : 0;
}

uint64_t dibs_sim_random(uint64_t limit)
{
  process *p = process_current(sim_now);

  return limit == 0 || p == NULL ? 0 : random_below(&p->random, limit);
}

/* ---- clocks ---- */

int64_t process_local_ns(const process *p, int64_t now)
{
  int64_t passed = now - p->set_at_ns;

  return p->boot_ns + passed + passed / 1000000 * p->ppm;
}

int64_t process_true_ns(const process *p, int64_t local)
{
  int64_t passed = local - p->boot_ns;
  int64_t at = p->set_at_ns + passed - passed / (1000000 + p->ppm) * p->ppm;

  /* The first guess is off by rounding only. */
  while (process_local_ns(p, at) < local)
    at += local - process_local_ns(p, at);
  return at;
}

void process_rate(process *p, int32_t ppm)
{
  int64_t now = p->sim->now;

  p->boot_ns = process_local_ns(p, now);
  p->set_at_ns = now;
  p->ppm = ppm;
  for (drive *d = p->drives; d != NULL; d = d->next)
    sim_timer_set(p->sim, &d->timer, now);
}

/* ---- threads ---- */

static void thread_run(void *data)
{
  thread *t = data;

  t->program(t->data);
}

thread *thread_new(process *p, void (*program)(void *), void *data)
{
  thread *t = sim_zalloc(sizeof(*t)), **at = &p->threads;

  t->process = p;
  t->program = program;
  t->data = data;
  t->number = ++p->sim->last_thread;
  t->fiber = fiber_new(thread_run, t);
  sim_timer_new(p->sim, &t->wake, EVENT_WAKE, t);
  while (*at != NULL)
    at = &(*at)->next;
  *at = t;
  return t;
}

void thread_ready(thread *t)
{
  dibs_sim *sim = t->process->sim;

  if (t->is_ready)
    return;
  timers_clear(&sim->events, &t->wake.timer);
  t->is_ready = true;
  t->next_ready = NULL;
  if (sim->last_ready != NULL)
    sim->last_ready->next_ready = t;
  else
    sim->first_ready = t;
  sim->last_ready = t;
}

void thread_block(thread *t)
{
  fiber_leave(t->fiber);
}

void thread_sleep(thread *t, int64_t ns)
{
  sim_timer_set(t->process->sim, &t->wake, t->process->sim->now + ns);
  thread_block(t);
}

/* Where another thread might come first: before a mutex is taken, after a call slept. */
void thread_preempt(dibs_sim *sim)
{
  thread *t = sim == NULL ? NULL : sim->running;

  if (t == NULL || !sim_chance(&sim->random_threads, sim->options.preempt_per_mille))
    return;
  if (sim_chance(&sim->random_threads, 500)) {
    thread_sleep(t, (int64_t)random_below(&sim->random_threads, PREEMPTED_MAX_US) * 1000);
    return;
  }
  thread_ready(t);
  thread_block(t);
}

static thread *ready_take(dibs_sim *sim)
{
  thread *t = sim->first_ready;

  if (t != NULL) {
    sim->first_ready = t->next_ready;
    if (sim->first_ready == NULL)
      sim->last_ready = NULL;
    t->is_ready = false;
  }
  return t;
}

static void thread_free(thread *t)
{
  sim_timer_end(t->process->sim, &t->wake);
  t->fiber = fiber_free(t->fiber);
  free(t);
}

static void thread_leave(thread *t)
{
  thread **at = &t->process->threads;

  while (*at != t)
    at = &(*at)->next;
  *at = t->next;
}

static void thread_go_on(dibs_sim *sim, thread *t)
{
  process *p = t->process;
  bool is_over;

  if (p->paused_until > sim->now) {
    sim_timer_set(sim, &t->wake, p->paused_until);
    return;
  }
  sim->running = t;
  sim_mix(sim, t->number);
  is_over = fiber_enter(t->fiber);
  sim->running = NULL;
  if (is_over) {
    thread_leave(t);
    thread_free(t);
  }
  if (p->threads == NULL)
    process_end(p, ENDING_DONE);
}

void threads_run(dibs_sim *sim)
{
  thread *t;

  while ((t = ready_take(sim)) != NULL)
    if (t->process->ending == ENDING_NONE)
      thread_go_on(sim, t);
}

void dibs_sim_thread(void (*program)(void *data), void *data)
{
  process *p = process_current(sim_now);

  if (p != NULL)
    thread_ready(thread_new(p, program, data));
}

void dibs_sim_sleep_us(int64_t us)
{
  thread *t = sim_now == NULL ? NULL : sim_now->running;

  if (t != NULL)
    thread_sleep(t, us > 0 ? us * 1000 : 0);
}

void dibs_sim_sleep_ms(int64_t ms) { dibs_sim_sleep_us(ms * 1000); }

/* ---- processes ---- */

int dibs_sim_start(dibs_sim *sim, const char *name, void (*program)(void *data), void *data)
{
  process *p = sim_zalloc(sizeof(*p));
  text shown = text_over(p->name, sizeof(p->name));

  p->sim = sim;
  p->number = ++sim->process_count;
  p->epoch = ++sim->last_epoch;
  text_add(&shown, name);
  random_seed(&p->random, random_next(&sim->random_ids));
  p->boot_ns = (int64_t)random_below(&sim->random_ids, BOOT_MAX_S) * 1000000000;
  p->set_at_ns = sim->now;
  p->wall_offset_us = host_wall_us(world_host(sim)) - p->boot_ns / 1000;
  sim_timer_new(sim, &p->resume, EVENT_RESUME, p);
  *sim->last_process = p;
  sim->last_process = &p->next;
  thread_ready(thread_new(p, program, data));
  return p->number;
}

void process_pause(process *p, int64_t ns)
{
  int64_t until = p->sim->now + ns;

  if (p->ending != ENDING_NONE || until <= p->paused_until)
    return;
  trace(p->sim, p, "is stopped for %lld ms", (long long)(ns / 1000000));
  p->paused_until = until;
  sim_timer_set(p->sim, &p->resume, until);
}

void process_resume(process *p)
{
  if (p->paused_until == 0)
    return;
  trace(p->sim, p, "goes on");
  p->paused_until = 0;
  timers_clear(&p->sim->events, &p->resume.timer);
}

static void ready_forget(dibs_sim *sim, const process *p)
{
  thread *first = sim->first_ready, *next;

  sim->first_ready = sim->last_ready = NULL;
  for (thread *t = first; t != NULL; t = next) {
    next = t->next_ready;
    t->is_ready = false;
    if (t->process != p)
      thread_ready(t);
  }
}

/* Its memory goes as a forked child frees what it has of its parent: nothing is sent. The
 * stacks go last, as waiters lie on them. */
void process_end(process *p, ending how)
{
  thread *threads = p->threads;
  dibs_sim *sim = p->sim;

  if (p->ending != ENDING_NONE)
    return;
  trace(sim, p, how == ENDING_DONE ? "ends" : how == ENDING_KILLED ? "is killed" : "vanishes");
  p->ending = how;
  ready_forget(sim, p);
  sim_timer_end(sim, &p->resume);
  p->threads = NULL;
  while (p->drives != NULL)
    (void)dibs_close(((client_record *)p->drives->handler.owner)->handle_word);
  while (threads != NULL) {
    thread *t = threads;

    threads = t->next;
    thread_free(t);
  }
}

/* ---- what it believes ---- */

int64_t dibs_sim_valid_us(dibs_sim *sim, int number, const dibs_hold *hold)
{
  process *p = process_find(sim, number), *before = sim->looking;
  handle_view view;
  int64_t left = 0;

  if (p == NULL || p->ending != ENDING_NONE)
    return 0;
  sim->looking = p;
  if (handle_look(hold, HANDLE_HOLD, &view) && view.condition != DIBS_HOLD_GONE)
    left = view.valid_until_ns - drive_now().ns;
  sim->looking = before;
  return left > 0 ? (left + 999) / 1000 : 0;
}

bool process_hold_lease(dibs_sim *sim, int number, const dibs_hold *hold, text *out)
{
  process *p = process_find(sim, number), *before = sim->looking;
  handle *h;
  bool is_there = false;

  if (p == NULL || p->ending != ENDING_NONE)
    return false;
  sim->looking = p;
  h = handle_pin(hold, HANDLE_HOLD);
  if (h != NULL) {
    const claim *cl = h->owner;

    is_there = !cl->is_over && engine_hold_token(drive_engine(cl->client->drive), cl->id, out);
    handle_unpin(h);
  }
  sim->looking = before;
  return is_there;
}

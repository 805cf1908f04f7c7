/* SPDX-License-Identifier: MIT */
/* The drive of one client: src/drive/drive.h without sockets and threads.
 *
 * A real drive is served by its thread, or by the calls that wait in it and dibs_process();
 * so is this one: what comes while nobody serves waits in its wires. The mutex needs no
 * code, as threads are switched only where it is not held. */
#include "world/world.h"

#include <string.h>

#define PROGRAM_OUTSIDE \
  "libdibs-sim: dibs_open() was called outside of a simulated program; call it in one that " \
  "dibs_sim_start() runs, or link libdibs instead"

/* ---- the machine ---- */

instant drive_now(void)
{
  const process *p = process_current(sim_now);

  return (instant){ p == NULL ? 0 : process_local_ns(p, sim_now->now) };
}

int64_t drive_wall_us(void)
{
  const process *p = process_current(sim_now);

  return p == NULL ? 0 : drive_now().ns / 1000 + p->wall_offset_us;
}

bool drive_random(void *ret_bytes, size_t size)
{
  uint8_t *bytes = ret_bytes;

  for (size_t i = 0; i < size; i++)
    bytes[i] = (uint8_t)random_next(&sim_now->random_ids);
  return true;
}

uint64_t drive_thread(void)
{
  return sim_now->running == NULL ? 0 : sim_now->running->number;
}

/* All threads are fibers of one, and none has signals. */
void drive_enter_call(void)
{
}

void drive_leave_call(void)
{
}

bool drive_is_in_call(void)
{
  return false;
}

int drive_enter_callback(void)
{
  return 0;
}

void drive_leave_callback(int before)
{
  (void)before;
}

bool drive_is_busy(void)
{
  return false;
}

void drive_nap(void)
{
  thread *t = sim_now->running;

  if (t != NULL)
    thread_sleep(t, 1000);
}

int64_t drive_process_id(void)
{
  return dibs_sim_self();
}

void drive_host(char *ret_name, size_t size)
{
  const process *p = process_current(sim_now);
  text shown = text_over(ret_name, size);

  if (p != NULL)
    text_add(&shown, p->name);
}

/* ---- life ---- */

dibs_status drive_may_open(text *why)
{
  if (process_current(sim_now) != NULL)
    return DIBS_OK;
  text_add(why, PROGRAM_OUTSIDE);
  return DIBS_ERR_CONFIG;
}

dibs_status drive_new(const drive_settings *settings, drive **ret_drive, text *why)
{
  process *p = process_current(sim_now);
  drive *d = mem_zalloc(&settings->engine.memory, sizeof(*d));

  (void)why;
  if (d == NULL)
    return DIBS_ERR_NO_MEMORY;
  d->memory = settings->engine.memory;
  d->engine = engine_new(&settings->engine, drive_now());
  if (d->engine == NULL) {
    mem_free(&settings->engine.memory, d);
    return DIBS_ERR_NO_MEMORY;
  }
  d->process = p;
  d->handler = settings->handler;
  d->alarm_at = INSTANT_NEVER;
  d->has_thread = settings->has_thread;
  d->has_callback_thread = settings->has_callback_thread;
  d->next = p->drives;
  p->drives = d;
  sim_timer_new(p->sim, &d->timer, EVENT_DRIVE, d);
  *ret_drive = d;
  return DIBS_OK;
}

static void list_leave(drive *d)
{
  drive **at = &d->process->drives;

  while (*at != d)
    at = &(*at)->next;
  *at = d->next;
}

void drive_end_effects(drive *d)
{
  d->effects_are_over = true;
}

void drive_stop(drive *d)
{
  if (d->process->ending == ENDING_NONE)
    callbacks_stop(d);
  else
    callbacks_drop(d);
}

drive *drive_free(drive *d)
{
  if (d == NULL)
    return NULL;
  drive_stop(d);
  for (int i = 0; i < ENGINE_LINKS_MAX; i++)
    if (d->wires[i] != NULL && d->process->ending == ENDING_VANISHED)
      wire_vanish(d->wires[i]);
    else if (d->wires[i] != NULL)
      wire_let_go(d->wires[i]);
  cancellers_free(d);
  list_leave(d);
  sim_timer_end(d->process->sim, &d->timer);
  d->engine = engine_free(d->engine);
  mem_free(&d->memory, d);
  return NULL;
}

void drive_close(drive *d, instant until)
{
  drive_waiter closer;

  drive_waiter_init(&closer);
  closer.is_done = d->is_closed;
  d->closer = &closer;
  engine_close(d->engine, drive_now());
  (void)drive_wait(d, &closer, until);
  d->closer = NULL;
}

/* ---- in and out ---- */

bool drive_is_forked(const drive *d) { return d->process != process_current(sim_now); }
bool drive_is_whole(const drive *d) { (void)d; return true; }
engine *drive_engine(drive *d) { return d->engine; }
const char *drive_node(const drive *d) { (void)d; return "server"; }

/* Of sentinels, for people; a simulated program has none to ask. */
dibs_status drive_ask_once(const memory *m, const server_url *url, const buffer *command,
                           span limit, resp_reply **ret_reply)
{
  (void)m, (void)url, (void)command, (void)limit, (void)ret_reply;
  return DIBS_ERR_UNSUPPORTED;
}

void drive_lock(drive *d)
{
  (void)d;
  thread_preempt(sim_now);
}

void drive_unlock(drive *d) { (void)d; }

/* ---- effects ---- */

static void effect_do(drive *d, effect *e)
{
  switch (e->kind) {
  case EFFECT_CONNECT:
    if (d->wires[e->link] != NULL)
      wire_let_go(d->wires[e->link]);
    wire_new(d, e->link, e->server);
    return;
  case EFFECT_DISCONNECT:
    if (d->wires[e->link] != NULL)
      wire_let_go(d->wires[e->link]);
    return;
  case EFFECT_CLOSED:
    d->is_closed = true;
    if (d->closer != NULL)
      drive_waiter_done(d, d->closer);
    return;
  case EFFECT_EVENT:
    if (e->event == DIBS_EVENT_CONNECTED && e->text[0] == 0)
      e->text = "server";
    break;
  case EFFECT_HOLD_LOST:
    trace(d->process->sim, d->process, "is told a loss: %s", e->text);
    break;
  default:
    break;
  }
  d->handler.effect(d->handler.owner, e);
}

void drive_alarm(drive *d, instant at)
{
  d->alarm_at = at;
}

static void timer_follow(drive *d)
{
  instant at = instant_min(engine_deadline(d->engine), d->alarm_at);
  dibs_sim *sim = d->process->sim;
  int64_t due;

  if (instant_is_never(at)) {
    timers_clear(&sim->events, &d->timer.timer);
    return;
  }
  due = process_true_ns(d->process, at.ns);
  if (!timer_is_set(&d->timer.timer) || d->timer.timer.at.ns != due)
    sim_timer_set(sim, &d->timer, due);
}

void drive_flush(drive *d)
{
  effect e;

  while (!d->effects_are_over && engine_next_effect(d->engine, &e))
    effect_do(d, &e);
  for (int i = 0; i < engine_link_count(d->engine); i++) {
    size_t size;
    const char *bytes = engine_output(d->engine, i, &size);

    if (size == 0 || d->wires[i] == NULL || !d->wires[i]->is_open)
      continue;
    wire_send(d->wires[i], UP, bytes, size, false);
    engine_written(d->engine, i, size);
  }
  timer_follow(d);
}

/* ---- who serves ---- */

bool drive_serve(drive *d) { return d->has_thread || d->waiting > 0 || d->is_served; }

/* What had come while nobody looked. */
static void catch_up(drive *d)
{
  for (int i = 0; i < engine_link_count(d->engine); i++)
    if (d->wires[i] != NULL)
      wire_served(d->wires[i]);
  sim_timer_set(d->process->sim, &d->timer, d->process->sim->now);
}

/* The engine and what it tells belong to the process, whoever runs now. */
static process *step_in(drive *d)
{
  process *before = sim_now->looking;

  sim_now->looking = d->process;
  return before;
}

static void step_out(drive *d, process *before)
{
  drive_flush(d);
  sim_now->looking = before;
}

void drive_event(drive *d)
{
  process *p = d->process, *before;

  if (p->paused_until > p->sim->now) {
    sim_timer_set(p->sim, &d->timer, p->paused_until);
    return;
  }
  if (!drive_serve(d))
    return;                        /* catch_up() sets it again */
  before = step_in(d);
  cancellers_look(d);
  engine_tick(d->engine, drive_now());
  if (!instant_before(drive_now(), d->alarm_at) && !d->effects_are_over) {
    d->alarm_at = INSTANT_NEVER;
    d->handler.alarm(d->handler.owner);
  }
  step_out(d, before);
}

void drive_wire_up(drive *d, wire *w)
{
  process *before = step_in(d);

  engine_connected(d->engine, w->link, drive_now());
  step_out(d, before);
}

void drive_wire_down(drive *d, wire *w, const char *words)
{
  process *before = step_in(d);

  engine_disconnected(d->engine, w->link, DIBS_ERR_UNREACHABLE, words, drive_now());
  step_out(d, before);
}

void drive_wire_bytes(drive *d, wire *w, const void *bytes, size_t size)
{
  process *before = step_in(d);

  engine_wall_clock(d->engine, drive_wall_us(), drive_now());
  engine_received(d->engine, w->link, bytes, size, drive_now());
  step_out(d, before);
}

/* ---- waiting ---- */

void drive_waiter_init(drive_waiter *w) { *w = (drive_waiter){ .is_done = false }; }

void drive_waiter_done(drive *d, drive_waiter *w)
{
  w->is_done = true;
  for (thread *t = d->process->threads; t != NULL; t = t->next)
    if (t->waiter == w)
      thread_ready(t);
}

bool drive_wait(drive *d, drive_waiter *w, instant until)
{
  dibs_sim *sim = sim_now;
  thread *t = sim->running;

  drive_flush(d);
  if (!drive_serve(d))
    catch_up(d);
  d->waiting++;
  t->waiter = w;
  while (!w->is_done && instant_before(drive_now(), until)) {
    if (!instant_is_never(until))
      sim_timer_set(sim, &t->wake, process_true_ns(d->process, until.ns));
    thread_block(t);
  }
  t->waiter = NULL;
  d->waiting--;
  timers_clear(&sim->events, &t->wake.timer);
  thread_preempt(sim);
  return w->is_done;
}

bool drive_call(drive *d, drive_op *op, instant until)
{
  drive_waiter_init(&op->waiter);
  drive_lock(d);
  op->run(op);
  op->has_run = true;
  return drive_wait(d, &op->waiter, until);
}

/* ---- a loop of the program's own: without a descriptor, as there is no kernel ---- */

int drive_fd(const drive *d)
{
  (void)d;
  return -1;
}

int drive_show_fd(drive *d)
{
  return drive_fd(d);
}

int64_t drive_process(drive *d)
{
  instant next, now;

  d->is_served = true;
  if (!d->has_thread) {
    catch_up(d);
    thread_sleep(sim_now->running, 0);
  }
  d->is_served = false;
  (void)drive_callbacks_run(d);
  drive_flush(d);
  next = engine_deadline(d->engine);
  now = drive_now();
  if (instant_is_never(next))
    return -1;
  return instant_before(now, next) ? span_to_ms(instant_since(next, now)) + 1 : 0;
}

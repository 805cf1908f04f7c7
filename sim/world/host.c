/* SPDX-License-Identifier: MIT */
/* The server's machine: its clock, its stops and starts, and what it is asked and sends. */
#include "world/world.h"

#define WALL_AT_START_US 1767225600000000ll     /* 2026-01-01 00:00 UTC */

void host_new(dibs_sim *sim)
{
  sim_server_settings s = { .seed = random_next(&sim->random_ids),
                            .wall_us = WALL_AT_START_US };

  sim->server_wall_us = WALL_AT_START_US;
  sim->server = sim_server_new(&s);
  sim_timer_new(sim, &sim->server_up, EVENT_SERVER_UP, sim);
  sim_timer_new(sim, &sim->server_tick, EVENT_SERVER_TICK, sim);
}

void host_free(dibs_sim *sim)
{
  sim->server = sim_server_free(sim->server);
}

int64_t host_wall_us(const dibs_sim *sim) { return sim->server_wall_us + sim->now / 1000; }
bool host_is_down(const dibs_sim *sim) { return sim->server_is_down; }
bool host_is_paused(const dibs_sim *sim) { return sim->server_paused_until > sim->now; }

/* ---- what it is asked, what it sends ---- */

static void tick_follow(dibs_sim *sim)
{
  int64_t at = sim_server_next_tick_us(sim->server);

  if (at == INT64_MAX)
    timers_clear(&sim->events, &sim->server_tick);
  else
    sim_timer_set(sim, &sim->server_tick, (at - sim->server_wall_us) * 1000);
}

void host_flush(dibs_sim *sim)
{
  sim_connection *c;

  while ((c = sim_server_next_to_send(sim->server, NULL)) != NULL) {
    wire *w = sim_connection_data(c);
    size_t size;
    const char *bytes = sim_connection_output(c, &size);

    if (size > 0)
      wire_send(w, DOWN, bytes, size, false);
    sim_connection_sent(c, size);
    if (sim_connection_is_closed(c))
      wire_end_by_server(w);
  }
  tick_follow(sim);
}

void host_hang_up(dibs_sim *sim, wire *w)
{
  if (w->server == NULL)
    return;
  sim_server_clock(sim->server, host_wall_us(sim));
  sim_server_hang_up(sim->server, w->server);
  w->server = NULL;
}

void host_receive(dibs_sim *sim, wire *w, const void *bytes, size_t size)
{
  process *p = w->process;

  sim_server_clock(sim->server, host_wall_us(sim));
  sim_server_tick(sim->server);
  sim_server_receive(sim->server, w->server, bytes, size);
  if (p->cuts_next_reply && w->link == 0) {
    p->cuts_next_reply = false;
    wire_reset(w, "its request was executed, its answer is lost");
  }
  host_flush(sim);
}

/* ---- down and up ---- */

static void go_down(dibs_sim *sim, const dibs_sim_fault *f, const char *words)
{
  trace(sim, NULL, "the server %s", words);
  sim->server_is_down = true;
  sim->server_keeps_data = f->kind != DIBS_SIM_SERVER_EMPTY;
  sim->server_fails_over = f->kind == DIBS_SIM_SERVER_FAIL_OVER;
  wires_of_server_end(sim);
  sim_timer_set(sim, &sim->server_up, sim->now + f->ms * 1000000);
}

static void come_up(dibs_sim *sim)
{
  if (!sim->server_is_down)
    return;
  sim_server_clock(sim->server, host_wall_us(sim));
  if (sim->server_fails_over)
    sim_server_fail_over(sim->server);
  else
    sim_server_restart(sim->server, sim->server_keeps_data);
  trace(sim, NULL, "the server is up again");
  sim->server_is_down = false;
}

void host_event(dibs_sim *sim, int kind)
{
  if (kind == EVENT_SERVER_UP) {
    come_up(sim);
    for (int i = 0; i < SIM_CONDITIONS; i++)
      if (sim->condition_until[i] <= sim->now)
        sim_server_set(sim->server, (sim_condition)i, false);
      else
        sim_timer_set(sim, &sim->server_up, sim->condition_until[i]);
  }
  sim_server_clock(sim->server, host_wall_us(sim));
  sim_server_tick(sim->server);
  host_flush(sim);
}

static void condition(dibs_sim *sim, sim_condition which, int64_t ms)
{
  int64_t until = sim->now + ms * 1000000;

  if (until > sim->condition_until[which])
    sim->condition_until[which] = until;
  sim_server_set(sim->server, which, true);
  if (!timer_is_set(&sim->server_up) || sim->server_up.at.ns > until)
    if (!sim->server_is_down)
      sim_timer_set(sim, &sim->server_up, until);
}

void host_fault(dibs_sim *sim, const dibs_sim_fault *f)
{
  sim_server_clock(sim->server, host_wall_us(sim));
  switch (f->kind) {
  case DIBS_SIM_SERVER_PAUSE:
    if (sim->now + f->ms * 1000000 > sim->server_paused_until)
      sim->server_paused_until = sim->now + f->ms * 1000000;
    break;
  case DIBS_SIM_SERVER_RESTART:
    go_down(sim, f, "is killed, and will be back with its data");
    break;
  case DIBS_SIM_SERVER_EMPTY:
    go_down(sim, f, "is killed, and will be back empty");
    break;
  case DIBS_SIM_SERVER_FAIL_OVER:
    go_down(sim, f, "is killed, and its replica will take over");
    break;
  case DIBS_SIM_SERVER_FLUSH:
    sim_server_flush(sim->server);
    break;
  case DIBS_SIM_SERVER_FORGET:
    sim_server_forget_scripts(sim->server);
    break;
  case DIBS_SIM_SERVER_WALL_STEP:
    sim->server_wall_us += f->ms * 1000;
    break;
  case DIBS_SIM_SERVER_FULL:
    condition(sim, SIM_OUT_OF_MEMORY, f->ms);
    break;
  case DIBS_SIM_SERVER_BUSY:
    condition(sim, SIM_BUSY, f->ms);
    break;
  case DIBS_SIM_SERVER_LOADING:
    condition(sim, SIM_LOADING, f->ms);
    break;
  case DIBS_SIM_SERVER_READ_ONLY:
    condition(sim, SIM_READ_ONLY, f->ms);
    break;
  case DIBS_SIM_SERVER_MISCONF:
    condition(sim, SIM_MISCONF, f->ms);
    break;
  case DIBS_SIM_SERVER_EVICT:
    (void)sim_server_evict(sim->server);
    break;
  case DIBS_SIM_SERVER_KILL_CLIENTS:
    sim_server_disconnect_all(sim->server, f->ms > 0);
    break;
  case DIBS_SIM_SERVER_REPLICA:
    sim_server_replica(sim->server, f->ms < 0 ? -1 : f->ms * 1000);
    break;
  default:
    break;
  }
  sim_server_clock(sim->server, host_wall_us(sim));
  host_flush(sim);
}

void host_heal(dibs_sim *sim)
{
  for (int i = 0; i < SIM_CONDITIONS; i++) {
    sim->condition_until[i] = 0;
    sim_server_set(sim->server, (sim_condition)i, false);
  }
  sim->server_paused_until = 0;
  come_up(sim);
  timers_clear(&sim->events, &sim->server_up);
}

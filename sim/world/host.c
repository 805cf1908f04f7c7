/* SPDX-License-Identifier: MIT */
/* The machines of servers: their clocks, their stops and starts, and what they are asked and
 * send. */
#include "world/world.h"

#include <stdlib.h>
#include <string.h>

#define WALL_AT_START_US 1767225600000000ll     /* 2026-01-01 00:00 UTC */
#define PORT 6379
#define SENTINEL_PORT 26379

/* ---- life ---- */

static host *host_new(dibs_sim *sim, const char *kind, int number_of_kind, uint64_t seed)
{
  host *h = sim_zalloc(sizeof(*h));
  text name = text_over(h->name, sizeof(h->name));
  sim_server_settings s = { .seed = seed, .wall_us = WALL_AT_START_US, .host = h->name,
                            .has_ifeq = (sim->options.flags & DIBS_SIM_IFEQ) != 0,
                            .is_narrow = true };

  text_add(&name, kind);
  text_add_int(&name, number_of_kind);
  h->sim = sim;
  h->is_sentinel = strcmp(kind, "sentinel") == 0;
  h->port = s.port = h->is_sentinel ? SENTINEL_PORT : PORT;
  h->number = sim->host_count + 1;
  h->wall_us = WALL_AT_START_US;
  h->server = sim_server_new(&s);
  sim_timer_new(sim, &h->up, EVENT_SERVER_UP, h);
  sim_timer_new(sim, &h->tick, EVENT_SERVER_TICK, h);
  sim_timer_new(sim, &h->ship, EVENT_SHIP, h);
  sim_timer_new(sim, &h->beat, EVENT_BEAT, h);
  sim->hosts[sim->host_count++] = h;
  return h;
}

static int data_hosts(const dibs_sim_options *o)
{
  int primaries = o->cluster_nodes > 0 ? o->cluster_nodes : o->servers > 0 ? o->servers : 1;

  return primaries + primaries * o->replicas;
}

void hosts_new(dibs_sim *sim)
{
  const dibs_sim_options *o = &sim->options;
  int count = data_hosts(o);

  (void)host_new(sim, "s", 1, random_next(&sim->random_ids));
  for (int i = 2; i <= count; i++)
    (void)host_new(sim, "s", i, random_next(&sim->random_hosts));
  for (int i = 1; i <= o->sentinels; i++)
    (void)host_new(sim, "sentinel", i, random_next(&sim->random_hosts));
  if (sim->host_count > 1)
    watch_begin(sim);
}

void hosts_free(dibs_sim *sim)
{
  slots_free(sim);
  for (int i = 0; i < sim->host_count; i++) {
    host *h = sim->hosts[i];

    h->server = sim_server_free(h->server);
    free(h);
  }
}

/* ---- who is who ---- */

host *host_number(const dibs_sim *sim, int number)
{
  return number < 1 || number > sim->host_count ? NULL : sim->hosts[number - 1];
}

/* A world with one server has it behind every name. */
host *host_find(const dibs_sim *sim, const char *name, int port)
{
  if (sim->host_count == 1 || (name != NULL && strcmp(name, "server") == 0))
    return sim->hosts[0];
  for (int i = 0; name != NULL && i < sim->host_count; i++)
    if (strcmp(sim->hosts[i]->name, name) == 0 && sim->hosts[i]->port == port)
      return sim->hosts[i];
  return NULL;
}

int64_t host_wall_us(const host *h) { return h->wall_us + h->sim->now / 1000; }
bool host_is_down(const host *h) { return h->is_down; }
bool host_is_paused(const host *h) { return h->paused_until > h->sim->now; }
void host_clock(host *h) { sim_server_clock(h->server, host_wall_us(h)); }

/* ---- what it is asked, what it sends ---- */

static void tick_follow(host *h)
{
  int64_t at = sim_server_next_tick_us(h->server);

  if (at == INT64_MAX)
    timers_clear(&h->sim->events, &h->tick.timer);
  else
    sim_timer_set(h->sim, &h->tick, (at - h->wall_us) * 1000);
}

void host_flush(host *h)
{
  sim_connection *c;

  while ((c = sim_server_next_to_send(h->server, NULL)) != NULL) {
    wire *w = sim_connection_data(c);
    size_t size;
    const char *bytes = sim_connection_output(c, &size);

    if (size > 0)
      wire_send(w, DOWN, bytes, size, false);
    sim_connection_sent(c, size);
    if (sim_connection_is_closed(c))
      wire_end_by_server(w);
  }
  tick_follow(h);
  hosts_ship(h);
}

void host_hang_up(wire *w)
{
  if (w->server == NULL)
    return;
  host_clock(w->host);
  sim_server_hang_up(w->host->server, w->server);
  w->server = NULL;
}

void host_receive(host *h, wire *w, const void *bytes, size_t size)
{
  process *p = w->process;

  host_clock(h);
  sim_server_tick(h->server);
  sim_server_receive(h->server, w->server, bytes, size);
  /* With one server the first link has the commands. */
  if (p->cuts_next_reply && (w->link == 0 || h->sim->host_count > 1)) {
    p->cuts_next_reply = false;
    wire_reset(w, "its request was executed, its answer is lost");
  }
  host_flush(h);
}

/* ---- down and up ---- */

static void go_down(host *h, const dibs_sim_fault *f, const char *words)
{
  trace(h->sim, NULL, "%s %s", h->sim->host_count > 1 ? h->name : "the server", words);
  h->is_down = true;
  h->keeps_data = f->kind != DIBS_SIM_SERVER_EMPTY;
  h->fails_over = f->kind == DIBS_SIM_SERVER_FAIL_OVER;
  wires_of_host_end(h);
  sim_timer_set(h->sim, &h->up, h->sim->now + f->ms * 1000000);
}

static void come_up(host *h)
{
  host *primary = h->primary;

  if (!h->is_down)
    return;
  host_clock(h);
  if (h->fails_over)
    sim_server_fail_over(h->server);
  else
    sim_server_restart(h->server, h->keeps_data);
  trace(h->sim, NULL, "%s is up again", h->sim->host_count > 1 ? h->name : "the server");
  h->is_down = false;
  for (int i = 0; i < h->sim->host_count; i++)       /* it has everything to ask again */
    h->heard_at[i] = h->sim->now;
  if (primary != NULL)
    host_follow(h, primary);
}

void host_event(host *h, int kind)
{
  if (kind == EVENT_SERVER_UP) {
    come_up(h);
    for (int i = 0; i < SIM_CONDITIONS; i++)
      if (h->condition_until[i] <= h->sim->now)
        sim_server_set(h->server, (sim_condition)i, false);
      else
        sim_timer_set(h->sim, &h->up, h->condition_until[i]);
  }
  host_clock(h);
  sim_server_tick(h->server);
  host_flush(h);
}

static void condition(host *h, sim_condition which, int64_t ms)
{
  int64_t until = h->sim->now + ms * 1000000;

  if (until > h->condition_until[which])
    h->condition_until[which] = until;
  sim_server_set(h->server, which, true);
  if (!timer_is_set(&h->up.timer) || h->up.timer.at.ns > until)
    if (!h->is_down)
      sim_timer_set(h->sim, &h->up, until);
}

/* Nothing passes between it and the others that are meant, for a while. */
static void part(host *h, const dibs_sim_fault *f)
{
  int64_t until = h->sim->now + f->ms * 1000000;

  if (f->process > 0) {
    process *p = process_find(h->sim, f->process);

    if (p != NULL && until > p->apart_from[h->number - 1])
      p->apart_from[h->number - 1] = until;
    return;
  }
  if (f->other_server <= 0 && until > h->apart_from_programs && f->other_server != -2)
    h->apart_from_programs = until;
  for (int i = 0; i < h->sim->host_count; i++) {
    host *o = h->sim->hosts[i];
    bool is_meant = f->other_server == o->number || (f->other_server < 0 && o != h);

    if (!is_meant || until <= h->apart_from[i])
      continue;
    h->apart_from[i] = o->apart_from[h->number - 1] = until;
  }
}

static void happen_to(host *h, const dibs_sim_fault *f)
{
  host_clock(h);
  switch (f->kind) {
  case DIBS_SIM_SERVER_PAUSE:
    if (h->sim->now + f->ms * 1000000 > h->paused_until)
      h->paused_until = h->sim->now + f->ms * 1000000;
    break;
  case DIBS_SIM_SERVER_RESTART:
    go_down(h, f, "is killed, and will be back with its data");
    break;
  case DIBS_SIM_SERVER_EMPTY:
    go_down(h, f, "is killed, and will be back empty");
    break;
  case DIBS_SIM_SERVER_FAIL_OVER:
    go_down(h, f, "is killed, and its replica will take over");
    break;
  case DIBS_SIM_SERVER_FLUSH:
    sim_server_flush(h->server);
    break;
  case DIBS_SIM_SERVER_FORGET:
    sim_server_forget_scripts(h->server);
    break;
  case DIBS_SIM_SERVER_WALL_STEP:
    h->wall_us += f->ms * 1000;
    break;
  case DIBS_SIM_SERVER_FULL:
    condition(h, SIM_OUT_OF_MEMORY, f->ms);
    break;
  case DIBS_SIM_SERVER_BUSY:
    condition(h, SIM_BUSY, f->ms);
    break;
  case DIBS_SIM_SERVER_LOADING:
    condition(h, SIM_LOADING, f->ms);
    break;
  case DIBS_SIM_SERVER_READ_ONLY:
    condition(h, SIM_READ_ONLY, f->ms);
    break;
  case DIBS_SIM_SERVER_MISCONF:
    condition(h, SIM_MISCONF, f->ms);
    break;
  case DIBS_SIM_SERVER_EVICT:
    (void)sim_server_evict(h->server);
    break;
  case DIBS_SIM_SERVER_KILL_CLIENTS:
    sim_server_disconnect_all(h->server, f->ms > 0);
    break;
  case DIBS_SIM_SERVER_REPLICA:
    sim_server_replica(h->server, f->ms < 0 ? -1 : f->ms * 1000);
    break;
  case DIBS_SIM_SERVER_LAG:
    h->lag_ns = f->ms * 1000000;
    break;
  case DIBS_SIM_SERVER_PART:
    part(h, f);
    break;
  case DIBS_SIM_SERVER_PROMOTE:
    watch_promote(h);
    break;
  case DIBS_SIM_SERVER_SLOT:
    (void)slots_move(h->sim, f->slot, h, f->ms * 1000000);
    break;
  default:
    break;
  }
  host_clock(h);
  host_flush(h);
}

void host_fault(dibs_sim *sim, const dibs_sim_fault *f)
{
  host *h = host_number(sim, f->server == 0 ? 1 : f->server);

  if (h != NULL)
    happen_to(h, f);
}

static void heal(host *h)
{
  for (int i = 0; i < SIM_CONDITIONS; i++) {
    h->condition_until[i] = 0;
    sim_server_set(h->server, (sim_condition)i, false);
  }
  h->paused_until = 0;
  h->apart_from_programs = 0;
  for (int i = 0; i < h->sim->host_count; i++)
    h->apart_from[i] = 0;
  come_up(h);
  timers_clear(&h->sim->events, &h->up.timer);
}

void hosts_heal(dibs_sim *sim)
{
  for (int i = 0; i < sim->host_count; i++)
    heal(sim->hosts[i]);
  if (sim->host_count > 1)
    watch_heal(sim);
}

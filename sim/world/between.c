/* SPDX-License-Identifier: MIT */
/* Between servers: what a primary wrote travels to its replicas, and their word that they
 * have it travels back; each as late as chance, lag and partitions want. */
#include "world/world.h"

#define BEAT_NS 1000000000ll           /* a replica speaks once in a second */
#define AGAIN_NS 20000000ll            /* what could not pass is looked at again */

bool hosts_are_apart(const host *a, const host *b)
{
  return a->is_down || b->is_down || host_is_paused(a) || host_is_paused(b) ||
         a->apart_from[b->number - 1] > a->sim->now;
}

static int64_t delay(dibs_sim *sim)
{
  const dibs_sim_options *o = &sim->options;

  return (int64_t)o->delay_min_us * 1000 +
         (int64_t)random_below(&sim->random_hosts,
                               (uint64_t)(o->delay_max_us - o->delay_min_us) * 1000 + 1);
}

/* ---- the ring of what is on its way ---- */

static shipment *shipped_at(host *h, size_t i)
{
  return &h->shipped[(h->shipped_first + i) % SHIPPED_MAX];
}

static void ship_follow(host *h, int64_t not_before)
{
  int64_t due;

  if (h->shipped_count == 0) {
    timers_clear(&h->sim->events, &h->ship.timer);
    return;
  }
  due = shipped_at(h, 0)->due;
  sim_timer_set(h->sim, &h->ship, due > not_before ? due : not_before);
}

/* By time; equal ones keep their order. When there is no room the newest stands for all. */
static void put(host *h, shipment s)
{
  size_t i = h->shipped_count;

  if (i == SHIPPED_MAX) {
    shipment *last = shipped_at(h, i - 1);

    last->offset = s.offset > last->offset ? s.offset : last->offset;
    return;
  }
  for (; i > 0 && shipped_at(h, i - 1)->due > s.due; i--)
    *shipped_at(h, i) = *shipped_at(h, i - 1);
  *shipped_at(h, i) = s;
  h->shipped_count++;
  ship_follow(h, 0);
}

static void forget(host *h)
{
  h->shipped_first = h->shipped_count = 0;
  ship_follow(h, 0);
}

static bool is_linked(const host *h)
{
  return h->primary != NULL && sim_server_primary(h->server) == h->primary->server;
}

/* Data keep their order: none overtakes what was sent before. */
static int64_t after_data(host *h, int64_t due)
{
  for (size_t i = 0; i < h->shipped_count; i++)
    if (!shipped_at(h, i)->is_answer && shipped_at(h, i)->due > due)
      due = shipped_at(h, i)->due;
  return due;
}

void hosts_ship(host *primary)
{
  dibs_sim *sim = primary->sim;
  uint64_t offset = sim_server_offset(primary->server);

  for (int i = 0; sim->host_count > 1 && i < sim->host_count; i++) {
    host *h = sim->hosts[i];

    if (h->primary != primary || h->shipped_offset == offset || !is_linked(h))
      continue;
    h->shipped_offset = offset;
    put(h, (shipment){ after_data(h, sim->now + h->lag_ns + delay(sim)), offset, false });
  }
}

/* ---- roles ---- */

static void link_up(host *h)
{
  host *primary = h->primary;

  if (hosts_are_apart(h, primary) || sim_server_is_replica(primary->server))
    return;
  host_clock(h);
  host_clock(primary);
  sim_server_follow(h->server, primary->server);
  h->shipped_offset = sim_server_offset(primary->server);
  forget(h);
  host_flush(h);
  host_flush(primary);
  trace(h->sim, NULL, "%s is a replica of %s", h->name, primary->name);
}

void host_follow(host *h, host *primary)
{
  h->primary = primary;
  forget(h);
  link_up(h);
}

void host_promote(host *h)
{
  trace(h->sim, NULL, "%s is promoted", h->name);
  h->primary = NULL;
  forget(h);
  host_clock(h);
  sim_server_promote(h->server);
  host_flush(h);
}

void host_throw_out(host *h)
{
  host_clock(h);
  sim_server_disconnect_all(h->server, false);
  host_flush(h);
}

/* ---- events ---- */

static void arrive(host *h)
{
  dibs_sim *sim = h->sim;
  shipment s;

  if (!is_linked(h)) {
    forget(h);
    return;
  }
  if (hosts_are_apart(h, h->primary)) {
    ship_follow(h, sim->now + AGAIN_NS);
    return;
  }
  s = *shipped_at(h, 0);
  h->shipped_first = (h->shipped_first + 1) % SHIPPED_MAX;
  h->shipped_count--;
  if (s.is_answer) {
    host_clock(h->primary);
    sim_server_acknowledge(h->server, s.offset);
    sim_server_tick(h->primary->server);
    host_flush(h->primary);
  } else {
    host_clock(h);
    sim_server_replicate(h->server, s.offset);
    put(h, (shipment){ sim->now + delay(sim), s.offset, true });
  }
  ship_follow(h, 0);
}

static void beat(host *h)
{
  sim_timer_set(h->sim, &h->beat, h->sim->now + BEAT_NS);
  if (h->primary == NULL)
    return;
  if (!is_linked(h))
    link_up(h);
  else if (!hosts_are_apart(h, h->primary))
    put(h, (shipment){ h->sim->now + delay(h->sim), sim_server_offset(h->server), true });
}

void between_event(host *h, int kind)
{
  if (kind == EVENT_SHIP)
    arrive(h);
  else
    beat(h);
}

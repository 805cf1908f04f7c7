/* SPDX-License-Identifier: MIT */
/* Who looks after whom: sentinels that promote a replica when most of them miss the primary,
 * and nodes of a cluster that do so for each other. What they do, and how late, is what real
 * ones do; the old primary goes on until it is told, which may be long. */
#include "world/world.h"

#include "server/sim_sentinel.h"

#define SERVICE "service"
#define LOOK_NS 100000000ll
#define MS 1000000ll
/* Sentinels give a primary of the past so long to find out by itself (4 hellos). */
#define OLD_PRIMARY_NS (8000 * MS)
#define REPLICA_NS (500 * MS)
#define HELLO_MS 2000
#define ELECTION_MS 1000

static int64_t draw_ns(dibs_sim *sim, int64_t ms)
{
  return (int64_t)random_below(&sim->random_hosts, (uint64_t)(ms * MS));
}

static bool is_alive(const host *h) { return !h->is_down && !host_is_paused(h); }

static bool misses(const host *h, const host *other)
{
  return h->sim->now - h->heard_at[other->number - 1] >
         (int64_t)h->sim->options.down_after_ms * MS;
}

static void listen(dibs_sim *sim)
{
  for (int i = 0; i < sim->host_count; i++)
    for (int k = 0; k < sim->host_count; k++)
      if (!hosts_are_apart(sim->hosts[i], sim->hosts[k]))
        sim->hosts[i]->heard_at[k] = sim->now;
}

/* The replica of `primary` that `judge` reaches and that has most; NULL: none. */
static host *best_replica(const host *primary, const host *judge)
{
  host *best = NULL;

  for (int i = 0; i < primary->sim->host_count; i++) {
    host *h = primary->sim->hosts[i];

    if (h->primary == primary && (judge == NULL ? is_alive(h) : !hosts_are_apart(h, judge)) &&
        (best == NULL || sim_server_offset(h->server) > sim_server_offset(best->server)))
      best = h;
  }
  return best;
}

/* ---- sentinels ---- */

static bool knows(const host *t)
{
  return t->is_sentinel && sim_sentinel_epoch(t->server) == t->sim->epoch;
}

/* A sentinel that misses the primary, and reaches a majority of sentinels that do, too. */
static host *leader(const dibs_sim *sim)
{
  for (int i = 0; i < sim->host_count; i++) {
    host *t = sim->hosts[i];
    int count = 0;

    for (int k = 0; k < sim->host_count; k++) {
      const host *o = sim->hosts[k];

      count += o->is_sentinel && is_alive(o) && !hosts_are_apart(t, o) && misses(o, sim->elected);
    }
    if (t->is_sentinel && is_alive(t) && count > sim->options.sentinels / 2)
      return t;
  }
  return NULL;
}

static void learn(host *t)
{
  host_clock(t);
  (void)sim_sentinel_switch(t->server, t->sim->elected->name, t->sim->elected->port,
                            t->sim->epoch);
  t->reported_at = 0;
  host_flush(t);
}

static void elect(dibs_sim *sim, host *chosen, host *by)
{
  sim->elected = chosen;
  sim->epoch++;
  sim->election_at = 0;
  host_promote(chosen);
  host_throw_out(chosen);
  for (int i = 0; i < sim->host_count; i++)
    sim->hosts[i]->heard_at[chosen->number - 1] = sim->now;
  if (by != NULL)
    learn(by);
}

static void hold_election(dibs_sim *sim)
{
  host *by = leader(sim), *chosen;

  if (by == NULL) {
    sim->election_at = 0;
    return;
  }
  if (sim->election_at == 0) {
    sim->election_at = sim->now + draw_ns(sim, ELECTION_MS) + 50 * MS;
    return;
  }
  if (sim->election_at > sim->now)
    return;
  chosen = best_replica(sim->elected, by);
  if (chosen == NULL)
    sim->election_at = sim->now + draw_ns(sim, ELECTION_MS) + 50 * MS;
  else
    elect(sim, chosen, by);
}

/* Somebody of those who know reaches it. */
static bool is_reached(const host *h)
{
  for (int i = 0; i < h->sim->host_count; i++)
    if (knows(h->sim->hosts[i]) && !hosts_are_apart(h, h->sim->hosts[i]))
      return true;
  return false;
}

static void spread(host *h)
{
  dibs_sim *sim = h->sim;
  bool is_replica = sim_server_is_replica(h->server);

  if (h->is_sentinel) {
    if (knows(h) || !is_reached(h))
      h->reported_at = 0;
    else if (h->reported_at == 0)
      h->reported_at = sim->now + draw_ns(sim, HELLO_MS);
    else if (h->reported_at <= sim->now)
      learn(h);
    return;
  }
  if (h == sim->elected || h->primary == sim->elected || !is_reached(h)) {
    h->seen_wrong_at = 0;
  } else if (h->seen_wrong_at == 0) {
    h->seen_wrong_at = sim->now;
  } else if (sim->now - h->seen_wrong_at >= (is_replica ? REPLICA_NS : OLD_PRIMARY_NS)) {
    host_follow(h, sim->elected);
    host_throw_out(h);
    h->seen_wrong_at = 0;
  }
}

static void sentinels_look(dibs_sim *sim)
{
  hold_election(sim);
  for (int i = 0; i < sim->host_count; i++)
    if (is_alive(sim->hosts[i]))
      spread(sim->hosts[i]);
}

/* ---- nodes of a cluster ---- */

static int voters(const dibs_sim *sim)
{
  int count = 0;

  for (int i = 0; i < sim->host_count; i++)
    count += slots_has_any(sim->hosts[i]);
  return count;
}

/* How many primaries with slots it has heard of lately, itself among them. */
static int votes_of(const host *h)
{
  int count = 0;

  for (int i = 0; i < h->sim->host_count; i++) {
    const host *o = h->sim->hosts[i];

    count += slots_has_any(o) && (o == h || !misses(h, o));
  }
  return count;
}

static int accusers_of(const host *h)
{
  int count = 0;

  for (int i = 0; i < h->sim->host_count; i++) {
    const host *o = h->sim->hosts[i];

    count += o != h && slots_has_any(o) && is_alive(o) && misses(o, h);
  }
  return count;
}

static void take_over(dibs_sim *sim, host *failed)
{
  host *chosen = best_replica(failed, NULL);

  if (accusers_of(failed) <= voters(sim) / 2 || chosen == NULL ||
      votes_of(chosen) <= voters(sim) / 2) {
    failed->reported_at = 0;
  } else if (failed->reported_at == 0) {
    failed->reported_at = sim->now + 500 * MS + draw_ns(sim, 500);
  } else if (failed->reported_at <= sim->now) {
    failed->reported_at = 0;
    host_promote(chosen);
    slots_owner_changed(sim, failed, chosen);
  }
}

/* What others know comes to it a little later; who has lost its slots becomes a replica. */
static void gossip(dibs_sim *sim, host *h)
{
  host *heir = NULL;

  if (!slots_is_stale(h))
    return;
  for (int i = 0; i < sim->host_count && heir == NULL; i++)
    if (!slots_is_stale(sim->hosts[i]) && !hosts_are_apart(h, sim->hosts[i]))
      heir = sim->hosts[i];
  if (heir != NULL && random_below(&sim->random_hosts, 2) == 0)
    slots_report(h);
}

static void nodes_look(dibs_sim *sim)
{
  for (int i = 0; i < sim->host_count; i++) {
    host *h = sim->hosts[i];

    if (slots_has_any(h))
      take_over(sim, h);
    if (!is_alive(h))
      continue;
    host_clock(h);
    sim_server_cluster_down(h->server, votes_of(h) <= voters(sim) / 2);
    gossip(sim, h);
  }
}

/* ---- life ---- */

static void follow_at_start(dibs_sim *sim)
{
  const dibs_sim_options *o = &sim->options;
  int primaries = o->cluster_nodes > 0 ? o->cluster_nodes : o->servers > 1 ? o->servers : 1;

  for (int i = 0; i < sim->host_count; i++) {
    host *h = sim->hosts[i];

    if (h->is_sentinel)
      continue;
    if (o->min_replicas_to_write > 0)
      sim_server_min_replicas(h->server, o->min_replicas_to_write, o->min_replicas_max_lag_s);
    if (i >= primaries)
      host_follow(h, sim->hosts[(i - primaries) % primaries]);
    if (o->replicas > 0)
      sim_timer_set(sim, &h->beat, draw_ns(sim, 1000));
  }
}

static void sentinels_begin(dibs_sim *sim)
{
  const dibs_sim_options *o = &sim->options;

  for (int i = 0; i < sim->host_count; i++) {
    host *h = sim->hosts[i];

    if (!h->is_sentinel)
      continue;
    sim_sentinel_watch(h->server, SERVICE, sim->elected->name, sim->elected->port,
                       o->sentinels / 2 + 1, o->down_after_ms);
    for (int k = 0; k < sim->host_count; k++)
      if (k != i && sim->hosts[k]->is_sentinel)
        sim_sentinel_meet(h->server, sim->hosts[k]->name, sim->hosts[k]->port);
  }
}

void watch_begin(dibs_sim *sim)
{
  const dibs_sim_options *o = &sim->options;

  sim->elected = sim->hosts[0];
  sim_timer_new(sim, &sim->watch_timer, EVENT_WATCH, sim);
  if (o->cluster_nodes > 0)
    slots_begin(sim);
  follow_at_start(sim);
  sentinels_begin(sim);
  if (o->cluster_nodes > 0 || o->sentinels > 0)
    sim_timer_set(sim, &sim->watch_timer, LOOK_NS);
}

void watch_event(dibs_sim *sim)
{
  sim_timer_set(sim, &sim->watch_timer, sim->now + LOOK_NS);
  listen(sim);
  if (sim->options.cluster_nodes > 0)
    nodes_look(sim);
  else
    sentinels_look(sim);
}

/* Without sentinels the administrator does everything himself, as far as he gets. */
static void promote_by_hand(host *h)
{
  dibs_sim *sim = h->sim;

  sim->elected = h;
  host_promote(h);
  for (int i = 0; i < sim->host_count; i++)
    if (sim->hosts[i] != h)
      host_follow(sim->hosts[i], h);
}

void watch_promote(host *h)
{
  dibs_sim *sim = h->sim;
  host *failed = h->primary;

  if (failed == NULL || h->is_sentinel || !is_alive(h))
    return;
  if (host_is_node(h)) {
    host_promote(h);
    slots_owner_changed(sim, failed, h);
  } else if (sim->options.sentinels == 0) {
    promote_by_hand(h);
  } else if (failed == sim->elected) {
    elect(sim, h, NULL);
    for (int i = 0; i < sim->host_count; i++)
      if (sim->hosts[i]->is_sentinel && is_alive(sim->hosts[i])) {
        learn(sim->hosts[i]);
        return;
      }
  }
}

/* All reach each other again: what would be settled in a while is settled at once. */
void watch_heal(dibs_sim *sim)
{
  sim->election_at = 0;
  listen(sim);
  for (int i = 0; i < sim->host_count; i++) {
    host *h = sim->hosts[i];

    h->lag_ns = 0;
    if (host_is_node(h)) {
      host_clock(h);
      sim_server_cluster_down(h->server, false);
      slots_report(h);
    } else if (h->is_sentinel) {
      learn(h);
    } else if (sim->options.replicas > 0 && h != sim->elected && h->primary != sim->elected) {
      host_follow(h, sim->elected);
      host_throw_out(h);
    }
  }
}

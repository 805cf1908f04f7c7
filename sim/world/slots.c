/* SPDX-License-Identifier: MIT */
/* Slots of a cluster: whose they are in truth, what each node thinks, and how they move. */
#include "world/world.h"

#include <stdlib.h>
#include <string.h>

typedef struct slot_move {
  struct slot_move *next;
  int hash_slot;
  host *from, *to;
  int64_t until, step_ns;
  sim_timer timer;
} slot_move;

/* ---- pictures ---- */

/* Nodes are the hosts, in their order. */
static void picture(host *h)
{
  const dibs_sim *sim = h->sim;
  int first = 0;

  for (int i = 0; i < sim->host_count; i++)
    sim_server_node_follows(h->server, i, sim->hosts[i]->primary == NULL
                                            ? -1 : sim->hosts[i]->primary->number - 1);
  for (int i = 1; i <= SLOT_COUNT; i++)
    if (i == SLOT_COUNT || sim->slot_owner[i] != sim->slot_owner[first]) {
      sim_server_own_slots(h->server, first, i - 1, sim->slot_owner[first]);
      first = i;
    }
  h->slot_version = sim->slot_version;
}

bool slots_is_stale(const host *h) { return h->slot_version != h->sim->slot_version; }

bool slots_has_any(const host *h) { return h->slot_count > 0; }

static void own(dibs_sim *sim, int hash_slot, const host *to)
{
  sim->hosts[sim->slot_owner[hash_slot]]->slot_count--;
  sim->slot_owner[hash_slot] = (uint16_t)(to->number - 1);
  sim->hosts[to->number - 1]->slot_count++;
}

/* Whom one follows as soon as it hears that its slots are this one's; NULL: nobody. */
static host *heir_of(const host *h)
{
  const dibs_sim *sim = h->sim;

  if (h->primary != NULL || slots_has_any(h))
    return NULL;
  for (int i = 0; i < sim->host_count; i++) {
    host *o = sim->hosts[i];

    if (o != h && o->primary == NULL && slots_has_any(o) && o->heir_of == h)
      return o;
  }
  return NULL;
}

static void moves_show(const dibs_sim *sim)
{
  for (const slot_move *m = sim->moves; m != NULL; m = m->next) {
    sim_server_move_slot(m->from->server, m->hash_slot, m->from->number - 1, m->to->number - 1);
    sim_server_move_slot(m->to->server, m->hash_slot, m->from->number - 1, m->to->number - 1);
  }
}

void slots_report(host *h)
{
  host *heir;

  host_clock(h);
  picture(h);
  moves_show(h->sim);
  host_flush(h);
  heir = heir_of(h);
  if (heir != NULL)
    host_follow(h, heir);
  if (h->primary != NULL && h->primary->primary != NULL)       /* of one that is none now */
    host_follow(h, h->primary->primary);
}

void slots_owner_changed(dibs_sim *sim, host *from, host *to)
{
  slot_move **at = &sim->moves;

  for (int i = 0; i < SLOT_COUNT; i++)
    if (sim->slot_owner[i] == from->number - 1)
      own(sim, i, to);
  /* What was on the move stays where it is: an administrator begins again. */
  while (*at != NULL) {
    slot_move *m = *at;

    if (m->from == from || m->to == from) {
      sim->given_up_moves += m->to == from;
      *at = m->next;
      sim_timer_end(sim, &m->timer);
      free(m);
    } else {
      at = &m->next;
    }
  }
  to->heir_of = from;
  sim->slot_version++;
  slots_report(to);
  for (int i = 0; i < sim->host_count; i++)
    if (sim->hosts[i]->primary == from && sim->hosts[i] != to)
      host_follow(sim->hosts[i], to);
}

void slots_begin(dibs_sim *sim)
{
  sim_node nodes[HOSTS_MAX];
  int primaries = sim->options.cluster_nodes;

  sim->slot_owner = sim_zalloc(SLOT_COUNT * sizeof(uint16_t));
  for (int i = 0; i < SLOT_COUNT; i++)
    sim->hosts[sim->slot_owner[i] = (uint16_t)(i * primaries / SLOT_COUNT)]->slot_count++;
  for (int i = 0; i < sim->host_count; i++)
    nodes[i] = (sim_node){ sim->hosts[i]->name, sim->hosts[i]->port,
                           i < primaries ? -1 : (i - primaries) % primaries };
  sim->slot_version = 1;
  for (int i = 0; i < sim->host_count; i++) {
    sim_server_cluster(sim->hosts[i]->server, nodes, (size_t)sim->host_count, (size_t)i);
    picture(sim->hosts[i]);
    for (int n = 0; n < sim->host_count; n++)        /* replicas follow later, as hosts */
      sim_server_node_follows(sim->hosts[i]->server, n, nodes[n].primary);
  }
}

/* ---- moves ---- */

bool slots_move(dibs_sim *sim, int hash_slot, host *to, int64_t ns)
{
  host *from;
  slot_move *m;

  if (sim->slot_owner == NULL)
    return false;
  from = sim->hosts[sim->slot_owner[hash_slot]];
  for (m = sim->moves; m != NULL && m->hash_slot != hash_slot;)
    m = m->next;
  if (m != NULL || from == to || to->primary != NULL || heir_of(to) != NULL ||
      hosts_are_apart(from, to))
    return false;
  m = sim_zalloc(sizeof(*m));
  *m = (slot_move){ .hash_slot = hash_slot, .from = from, .to = to, .until = sim->now + ns,
                    .step_ns = ns / 4 + 1000000 };
  m->next = sim->moves;
  sim->moves = m;
  moves_show(sim);
  sim_timer_new(sim, &m->timer, EVENT_SLOT, m);
  sim_timer_set(sim, &m->timer, sim->now + m->step_ns);
  trace(sim, NULL, "slot %d is on its way from %s to %s", hash_slot, from->name, to->name);
  return true;
}

/* A replica owns no slots: who became one on the way there is refused as the new owner, and the
 * slot stays where it is. */
static void finish(dibs_sim *sim, slot_move *m)
{
  slot_move **at = &sim->moves;
  bool has_arrived = m->to->primary == NULL;

  while (*at != m)
    at = &(*at)->next;
  *at = m->next;
  if (has_arrived) {
    own(sim, m->hash_slot, m->to);
    sim->slot_version++;
  }
  trace(sim, NULL, "slot %d %s %s", m->hash_slot, has_arrived ? "is at" : "stays at",
        has_arrived ? m->to->name : m->from->name);
  slots_report(m->to);
  slots_report(m->from);
  sim_timer_end(sim, &m->timer);
  free(m);
}

/* Key after key, while requests go on. */
void slots_event(dibs_sim *sim, slot_move *m)
{
  bool has_moved = false;

  sim_timer_set(sim, &m->timer, sim->now + m->step_ns);
  if (hosts_are_apart(m->from, m->to))
    return;
  host_clock(m->from);
  host_clock(m->to);
  has_moved = m->to->primary == NULL &&
              sim_server_migrate_key(m->from->server, m->to->server, m->hash_slot);
  host_flush(m->from);
  host_flush(m->to);
  if (!has_moved && sim->now >= m->until)
    finish(sim, m);
}

void slots_free(dibs_sim *sim)
{
  while (sim->moves != NULL) {
    slot_move *m = sim->moves;

    sim->moves = m->next;
    sim_timer_end(sim, &m->timer);
    free(m);
  }
  free(sim->slot_owner);
  sim->slot_owner = NULL;
}

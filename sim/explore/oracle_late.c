/* SPDX-License-Identifier: MIT */
/* The oracle of what comes too late: asks that are over and come back (S10), places and
 * leases that stay for nobody (I5), and holds that were lost without need (L9). */
#include "explore.h"

#include <string.h>

#include "world/world.h"

#define CLOCK_SLACK_US 400000   /* what a client may be wrong in about the server's clock */
#define LINGER_US 1100000       /* the longest that anybody lingers in these worlds */

static bool is_set(const char *client) { return strlen(client) > 22; }

/* NULL: not known, or never granted anything. */
static const life *life_of(const trial *t, const char *client)
{
  for (int i = 1; i < t->life_count; i++)
    if (t->lives[i].client_id[0] != 0 && strncmp(t->lives[i].client_id, client, 22) == 0)
      return &t->lives[i];
  return NULL;
}

static const call *call_of(const trial *t, const life *l, int name)
{
  for (int i = 0; i < CALLS_MAX; i++) {
    const call *c = &t->calls[i];

    if (c->is_open && c->life == l->number && (c->names >> name & 1) != 0)
      return c;
  }
  return NULL;
}

static bool is_tried(const trial *t, const life *l, int name)
{
  for (int i = 0; i < CALLS_MAX; i++) {
    const call *c = &t->calls[i];

    if (c->is_open && c->is_try && c->life == l->number && (c->names >> name & 1) != 0)
      return true;
  }
  return false;
}

static bool has_grip(const trial *t, const life *l, int name)
{
  for (size_t i = 0; i < t->grip_top; i++)
    if (t->grips[i].is_used && t->grips[i].life == l->number &&
        (t->grips[i].names >> name & 1) != 0)
      return true;
  return false;
}

/* ---- S10: an ask that is over ---- */

/* In Redisson's fair queue a client has as many asks open as it has waiters. */
static bool has_places(const trial *t, int name)
{
  return t->plan->is_redisson && name < MUTEXES && t->plan->redisson_kinds[name] == REDISSON_FAIR;
}

/* True time since when nobody can have sent `client:ask` any more; INT64_MAX: not known. */
static int64_t over_since(const trial *t, int name, const char *client, uint64_t ask)
{
  const truth *x = &t->truths[name];
  size_t kept = x->lease_count < LEASES_MAX ? x->lease_count : LEASES_MAX;
  const life *l = life_of(t, client);
  int64_t since = INT64_MAX;

  for (size_t i = 0; i < kept && !has_places(t, name); i++)
    if (x->leases[i].ask > ask && x->leases[i].begun_at < since &&
        strcmp(x->leases[i].client, client) == 0)
      since = x->leases[i].begun_at;
  if (l != NULL && l->is_over && l->over_at < since)
    since = l->over_at;
  if (l != NULL && !l->is_over && call_of(t, l, name) == NULL && l->wanted_at[name] < since)
    since = l->wanted_at[name];
  return since;
}

static void check_ask(trial *t, int name, const truth *before, const char *client,
                      uint64_t ask)
{
  int64_t since = over_since(t, name, client, ask);
  int64_t limit = command_ms(t) * 1011ll + CLOCK_SLACK_US;

  if (format_of(t->plan)->remembers_asks &&
      strcmp(before->memory_client, client) == 0 && before->memory_ask >= ask)
    flaw(t, "S10: ask %llu of %s is served by %s, which remembers its end",
         (unsigned long long)ask, client, name_texts[name]);
  for (size_t i = 0; i < before->waiter_count; i++) {
    const waiter *w = &before->waiters[i];

    if (w->is_tombstone && w->ask >= ask && strcmp(w->client, client) == 0)
      flaw(t, "S10: ask %llu of %s is served by %s, where its tombstone is",
           (unsigned long long)ask, client, name_texts[name]);
  }
  if (since != INT64_MAX && !t->plan->steps && trial_now(t) - since > limit)
    flaw(t, "S10: ask %llu of %s is served by %s %lld ms after its end",
         (unsigned long long)ask, client, name_texts[name],
         (long long)(trial_now(t) - since) / 1000);
}

static bool was_asked(const truth *before, const char *client, uint64_t ask)
{
  for (size_t i = 0; i < before->waiter_count; i++)
    if (!before->waiters[i].is_tombstone && before->waiters[i].ask == ask &&
        strcmp(before->waiters[i].client, client) == 0)
      return true;
  for (size_t i = 0; i < before->holder_count; i++)
    if (before->holders[i]->ask == ask && strcmp(before->holders[i]->client, client) == 0)
      return true;
  return false;
}

static bool has_place(const truth *x, const waiter *w)
{
  for (size_t i = 0; i < x->waiter_count; i++)
    if (x->waiters[i].index == w->index || strcmp(x->waiters[i].client, w->client) == 0)
      return true;
  for (size_t i = 0; i < x->holder_count; i++)
    if (strcmp(x->holders[i]->client, w->client) == 0)
      return true;
  return strcmp(x->memory_client, w->client) == 0;
}

/* Who waited and could be served leaves by a grant, or leaves word of it. */
static void check_leaving(trial *t, int name, const truth *before)
{
  for (size_t i = 0; i < before->waiter_count; i++) {
    const waiter *w = &before->waiters[i];
    const life *l = life_of(t, w->client);

    if (w->is_tombstone || is_set(w->client) || l == NULL || l->is_over ||
        has_place(&t->truths[name], w) || is_tried(t, l, name) || !truth_is_live(t, w))
      continue;
    if (before->holder_count > 0 && strcmp(before->holders[0]->client, w->client) == 0)
      continue;
    flaw(t, "S10: ask %llu of %s left the queue of %s without a trace",
         (unsigned long long)w->ask, w->client, name_texts[name]);
  }
}

void oracle_late(trial *t, int name, const truth *before)
{
  const truth *x = &t->truths[name];

  if (name >= MUTEXES || t->is_losing)
    return;
  for (size_t i = 0; i < x->holder_count; i++) {
    const lease *l = x->holders[i];

    if (!is_set(l->client) && !l->is_foreign && l->begun_at == trial_now(t) &&
        !was_asked(before, l->client, l->ask))
      check_ask(t, name, before, l->client, l->ask);
  }
  for (size_t i = 0; i < x->waiter_count; i++) {
    const waiter *w = &x->waiters[i];

    if (!w->is_tombstone && !is_set(w->client) && !was_asked(before, w->client, w->ask))
      check_ask(t, name, before, w->client, w->ask);
  }
  if (t->noted == 0 && format_of(t->plan)->remembers_asks)
    check_leaving(t, name, before);
}

/* ---- I5: for nobody ---- */

/* Until its first fault each world is calm. */
void oracle_nobody(trial *t)
{
  int64_t slack = 20000 + 20ll * t->plan->delay_max_us, now = trial_now(t);
  int64_t lingers = t->plan->weight[ACT_LINGER] > 0 ? LINGER_US : 0;

  if (t->noted > 0 || (t->plan->fault_count > 0 && t->is_ending))
    return;
  for (int name = 0; name < NAMES; name++) {
    const truth *x = &t->truths[name];

    for (size_t i = 0; i < x->waiter_count; i++) {
      const waiter *w = &x->waiters[i];
      const life *l = w->is_tombstone ? NULL : life_of(t, w->client);

      if (l != NULL && !l->is_over && call_of(t, l, name) == NULL &&
          now - l->wanted_at[name] > slack)
        flaw(t, "I5: %s waits for %s, and nobody of it does", w->client, name_texts[name]);
    }
    for (size_t i = 0; i < x->holder_count; i++) {
      const lease *h = x->holders[i];
      const life *l = h->is_revoked ? NULL : life_of(t, h->client);

      if (l != NULL && !l->is_over && call_of(t, l, name) == NULL && !has_grip(t, l, name) &&
          now - l->wanted_at[name] > slack + lingers &&
          h->deadline_us > host_wall_us(world_host(t->sim)))
        flaw(t, "I5: %s has %s, and nobody of it does", h->client, name_texts[name]);
    }
  }
}

/* ---- L9: beside mild faults ---- */

static bool is_mild(const dibs_sim_fault *f, int64_t ttl_ms)
{
  switch (f->kind) {
  case DIBS_SIM_SERVER_BUSY: case DIBS_SIM_SERVER_LOADING:
    return f->ms <= ttl_ms / 10;
  case DIBS_SIM_CUT: case DIBS_SIM_SERVER_FORGET: case DIBS_SIM_SERVER_KILL_CLIENTS:
    return true;
  default:
    return false;
  }
}

/* Whether nothing excuses that a hold was lost just now: no fault at all, or mild ones that
 * were over for half a lease. */
bool oracle_is_mild(const trial *t, const grip *g)
{
  int64_t ttl = g->ttl_ms, quiet_since = trial_now(t) - ttl * 500;

  if (t->plan->is_calm)
    return true;
  if (ttl < 1000 || t->plan->delay_max_us > ttl * 30)
    return false;
  for (size_t i = 0; i < t->plan->fault_count; i++) {
    const dibs_sim_fault *f = &t->plan->faults[i];

    if (f->at_us > trial_now(t))
      break;
    if (!is_mild(f, ttl) || f->at_us + f->ms * 1000 > quiet_since)
      return false;
  }
  return true;
}

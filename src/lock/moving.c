/* SPDX-License-Identifier: MIT */
/* lock/moving.c - moves names and orphans to the new server of their slot. */
#include "lock/table.h"

#define REDIRECTS_AT_ONCE 5

static void dues_part(route *r, lease **ret_due, lease **ret_renewals)
{
  *ret_due = r->first_due;
  *ret_renewals = r->first_renewal;
  r->first_due = r->last_due = r->first_renewal = r->last_renewal = NULL;
  r->has_idle_dues = false;
}

/* Puts each name of the two lists into the list of its present route. */
static void dues_join(lease *due, lease *renewals)
{
  lease *next;

  for (; due != NULL; due = next) {
    next = due->next_due;
    due->is_due = false;
    lease_due(due);
    lease_forget_if_unused(due);         /* it stays, and its new route must sweep */
  }
  for (; renewals != NULL; renewals = next) {
    next = renewals->next_renewal;
    renewals->is_renewal_due = false;
    lease_renewal_due(renewals);
    lease_forget_if_unused(renewals);
  }
}

void dues_move(lock_table *t)
{
  lease *due, *renewals;

  for (size_t i = 0; i <= t->route_count; i++) {
    dues_part(route_at(t, i), &due, &renewals);
    dues_join(due, renewals);
  }
}

/* As after a broken connection: requests to the old server are repeated. */
void lease_ask_again(lease *l)
{
  if (lease_is_in(l, STATES_RENEWED)) {
    l->renewing_at = NULL;
    if (l->term.is_fixed && l->term.is_suspect)
      hold_check(l);
    else if (!l->term.is_fixed || l->term.must_confirm || l->is_downgrading)
      lease_renewal_due(l);
    if (l->term.raise_to != 0)
      lease_due(l);
  } else if (l->state != LEASE_IDLE && l->state != LEASE_ACKING) {
    lease_due(l);
  }
}

/* After MOVED or ASK: at once, unless nodes redirect it repeatedly. The timer of the
 * refusal is set; when it fires, the slot may still be moving, and is followed again. */
static void lease_go_on(lease *l)
{
  bool is_sent_around = l->is_redirected && l->redirects > REDIRECTS_AT_ONCE;

  l->is_redirected = false;
  if (!is_sent_around)
    lease_ask_again(l);
}

static void calls_cut_of(route *r, const lease *l)
{
  lock_table *t = r->table;
  call *c, *next;

  for (c = r->calls; c != NULL; c = next) {
    next = c->next;
    if (c->lease_number == l->id || (c->count == 1 && c->renewals[0].lease_number == l->id))
      call_cut(t, c);
  }
}

/* Since when no node serves it: an outage of its old node continues, a new one begins now. */
static instant unserved_since(const lease *l, instant now)
{
  return route_is_usable(l->route) ? now
                                   : instant_max(l->wait->unserved_since, l->route->down_since);
}

static void lease_move(lease *l, route *to, instant now)
{
  route *from = l->route;

  if (l->wait != NULL)
    l->wait->unserved_since = unserved_since(l, now);
  calls_cut_of(from, l);
  if (l->state == LEASE_ACKING) {
    acks_leave(l);
    l->route = to;
    lease_become(l, acks_begin(l, &l->term.id, l->term.valid_until, now), now);
  }
  from->names--;
  to->names++;
  l->route = to;
  lease_ask_route(l, NULL);
  lease_go_on(l);
  claims_arm(l, now);
}

static void orphan_add(route *r, orphan *s)
{
  s->is_redirected = false;
  s->next = r->orphans;
  r->orphans = s;
  r->orphan_count++;
}

static void orphans_move(lock_table *t)
{
  orphan *all = NULL, *s;

  for (size_t i = 0; i <= t->route_count; i++) {
    route *from = route_at(t, i);

    while ((s = from->orphans) != NULL) {
      from->orphans = s->next;
      from->orphan_count--;
      s->next = all;
      all = s;
    }
  }
  while ((s = all) != NULL) {
    route *r = route_of_name(t, s->name, s->size);

    all = s->next;
    s->is_asking = false;
    orphan_add(r, s);
  }
}

static void orphans_ask_at(lock_table *t, uint16_t which, route *to)
{
  orphan **at = &route_of_slot(t, which)->orphans, *s;

  while ((s = *at) != NULL) {
    if (!s->is_redirected || slot_of_name(t, s->name, s->size) != which) {
      at = &s->next;
      continue;
    }
    *at = s->next;
    route_of_slot(t, which)->orphan_count--;
    s->is_asking = true;
    orphan_add(to, s);
    if (to == route_of_slot(t, which))
      return;
  }
}

void lock_slots_changed(lock_table *t, instant now)
{
  for (lease *l = t->first_lease; l != NULL; l = l->next) {
    route *to = route_of_slot(t, l->slot);

    if (to != l->route)
      lease_move(l, to, now);
    else if (l->is_redirected)
      lease_go_on(l);
  }
  dues_move(t);
  orphans_move(t);
  again_moved(t);
  channels_moved(t);
}

void lock_ask_at(lock_table *t, uint16_t which, size_t r)
{
  for (lease *l = t->first_lease; l != NULL; l = l->next) {
    if (l->slot != which || !l->is_redirected)
      continue;
    lease_ask_route(l, t->routes[r]);
    lease_go_on(l);
  }
  orphans_ask_at(t, which, t->routes[r]);
  dues_move(t);
}

const redirect *lock_redirect(const lock_table *t)
{
  return &t->redirect;
}

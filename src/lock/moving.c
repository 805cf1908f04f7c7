/* SPDX-License-Identifier: MIT */
/* lock/moving.c - a slot has another server: names, and what is left of asks, go along. */
#include "lock/table.h"

#define REDIRECTS_AT_ONCE 5

static void dues_part(route *r, name **ret_due, name **ret_renewals)
{
  *ret_due = r->first_due;
  *ret_renewals = r->first_renewal;
  r->first_due = r->last_due = r->first_renewal = r->last_renewal = NULL;
  r->has_idle_dues = false;
}

/* Puts each name of the two lists where it belongs today. */
static void dues_join(name *due, name *renewals)
{
  name *next;

  for (; due != NULL; due = next) {
    next = due->next_due;
    due->is_due = false;
    name_due(due);
    name_forget_if_unused(due);          /* it stays, and its new route is told to sweep */
  }
  for (; renewals != NULL; renewals = next) {
    next = renewals->next_renewal;
    renewals->is_renewal_due = false;
    name_renewal_due(renewals);
    name_forget_if_unused(renewals);
  }
}

void dues_move(lock_table *t)
{
  name *due, *renewals;

  for (size_t i = 0; i <= t->route_count; i++) {
    dues_part(route_at(t, i), &due, &renewals);
    dues_join(due, renewals);
  }
}

/* As behind a connection that broke: what was asked there is asked again here. */
void name_ask_again(name *n)
{
  if (n->state == NAME_HELD || n->state == NAME_CONFIRMING || n->state == NAME_LINGERING) {
    n->is_renewing = false;
    if (!n->is_fixed || n->confirm_now || n->is_downgrading)
      name_renewal_due(n);
    if (n->raise_to != 0)
      name_due(n);
  } else if (n->state != NAME_IDLE && n->state != NAME_ACKING) {
    name_due(n);
  }
}

/* Behind MOVED or ASK: at once, but not where nodes send it to and fro. The timer of the
 * refusal is set; when it rings, the slot may be moving still, and be followed again. */
static void name_go_on(name *n)
{
  bool is_sent_around = n->is_redirected && n->redirects > REDIRECTS_AT_ONCE;

  n->is_redirected = false;
  if (!is_sent_around)
    name_ask_again(n);
}

static void calls_cut_of(route *r, const name *n)
{
  lock_table *t = r->table;
  call *c, *next;

  for (c = r->calls; c != NULL; c = next) {
    next = c->next;
    if (c->name_id == n->id || (c->count == 1 && c->renewals[0].name_id == n->id))
      call_cut(t, c);
  }
}

/* Since when nobody serves it: an outage of its old node goes on, another begins now. */
static instant unserved_since(const name *n, instant now)
{
  return route_is_usable(n->route) ? now : instant_max(n->unserved_since, n->route->down_since);
}

static void name_move(name *n, route *to, instant now)
{
  route *from = n->route;

  n->unserved_since = unserved_since(n, now);
  calls_cut_of(from, n);
  if (n->state == NAME_ACKING) {
    acks_leave(n);
    n->route = to;
    acks_begin(n, &n->lease, n->valid_until, now);
  }
  from->names--;
  to->names++;
  n->route = to;
  name_ask_route(n, NULL);
  name_go_on(n);
  for (claim *c = n->waiting; c != NULL; c = c->next)
    claim_arm(c, now);
}

static void stray_add(route *r, stray *s)
{
  s->is_redirected = false;
  s->next = r->strays;
  r->strays = s;
  r->stray_count++;
}

static void strays_move(lock_table *t)
{
  stray *all = NULL, *s;

  for (size_t i = 0; i <= t->route_count; i++) {
    route *from = route_at(t, i);

    while ((s = from->strays) != NULL) {
      from->strays = s->next;
      from->stray_count--;
      s->next = all;
      all = s;
    }
  }
  while ((s = all) != NULL) {
    route *r = route_of_name(t, s->name, s->size);

    all = s->next;
    s->is_asking = false;
    stray_add(r, s);
  }
}

static void strays_ask_at(lock_table *t, uint16_t which, route *to)
{
  stray **at = &route_of_slot(t, which)->strays, *s;

  while ((s = *at) != NULL) {
    if (!s->is_redirected || slot_of_name(t, s->name, s->size) != which) {
      at = &s->next;
      continue;
    }
    *at = s->next;
    route_of_slot(t, which)->stray_count--;
    s->is_asking = true;
    stray_add(to, s);
    if (to == route_of_slot(t, which))
      return;
  }
}

void lock_slots_changed(lock_table *t, instant now)
{
  for (name *n = t->first_name; n != NULL; n = n->next) {
    route *to = route_of_slot(t, n->slot);

    if (to != n->route)
      name_move(n, to, now);
    else if (n->is_redirected)
      name_go_on(n);
  }
  dues_move(t);
  strays_move(t);
  channels_moved(t);
}

void lock_ask_at(lock_table *t, uint16_t which, size_t r)
{
  for (name *n = t->first_name; n != NULL; n = n->next) {
    if (n->slot != which || !n->is_redirected)
      continue;
    name_ask_route(n, t->routes[r]);
    name_go_on(n);
  }
  strays_ask_at(t, which, t->routes[r]);
  dues_move(t);
}

const redirect *lock_redirect(const lock_table *t)
{
  return &t->redirect;
}

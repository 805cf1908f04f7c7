/* SPDX-License-Identifier: MIT */
/* lock/outage.c - a server's link and client channel go down and come up. */
#include "lock/table.h"

/* ---- a server that answers, and cannot decide ---- */

bool lease_is_undecided(const lease *l)
{
  return lease_is_in(l, STATES_ASK) && l->wait->undecided_ask != 0 &&
         l->wait->undecided_ask == l->ask.number;
}

instant lease_cannot_ask_since(const lease *l)
{
  instant since = lease_is_undecided(l) ? l->wait->undecided_since : INSTANT_NEVER;

  if (!route_is_usable(l->route))
    since = instant_min(since, instant_max(l->route->down_since, l->wait->unserved_since));
  return since;
}

void lease_undecided(lease *l, dibs_status why, instant now)
{
  lock_table *t = l->table;
  text shown = text_over(l->route->undecided_words, sizeof(l->route->undecided_words));

  text_add(&shown, t->fault_words);
  if (!lease_is_undecided(l))
    l->wait->undecided_since = now;
  l->wait->undecided_ask = l->ask.number;
  l->wait->undecided_why = why;
  t->undecided_at = now;
  ask_unheard_anew(l);
  claims_arm(l, now);
}

void lease_decided(lease *l, instant now)
{
  if (l->wait == NULL || l->wait->undecided_ask == 0)
    return;
  l->wait->undecided_ask = 0;
  claims_arm(l, now);
}

void lock_be_patient(lock_table *t, instant now)
{
  if (t->settings.is_patient)
    return;
  t->settings.is_patient = true;
  for (lease *l = t->first_lease; l != NULL; l = l->next)
    claims_arm(l, now);
}

/* Refusals come at least every second while a name asks. */
#define UNDECIDED_FRESH SPAN_MS(2500)

bool lock_cannot_ask(const lock_table *t, instant now, size_t *ret_route, const char **ret_words)
{
  bool is_undecided = t->undecided_at.ns > 0 &&
                      instant_since(now, t->undecided_at).ns < UNDECIDED_FRESH.ns;
  bool is_lost = t->nowhere->names > 0;

  *ret_route = ROUTE_NONE;
  *ret_words = t->nowhere->down_words;
  for (size_t i = 0; i < t->route_count && !is_lost; i++) {
    const route *r = t->routes[i];

    if (r->names == 0 || route_is_usable(r))
      continue;
    *ret_route = i;
    *ret_words = r->down_words;
    return true;
  }
  for (const lease *l = is_undecided ? t->first_lease : NULL; l != NULL; l = l->next)
    if (l->claims.waiting != NULL && lease_is_undecided(l)) {
      *ret_route = l->route->number;
      *ret_words = l->route->undecided_words;
      return true;
    }
  return is_lost;
}

/* ---- the link ---- */

static void rearm_waiting(route *r, instant now)
{
  for (lease *l = r->table->first_lease; l != NULL; l = l->next)
    if (l->route == r)
      claims_arm(l, now);
}

void lock_link_up(lock_table *t, size_t number, instant now)
{
  route *r = t->routes[number];

  r->is_up = true;
  r->link_is_doubtful = false;
  inbox_missing_anew(r, now);
  for (lease *l = t->first_lease; l != NULL; l = l->next)
    if (lease_route(l) == r) {
      ask_unheard_anew(l);
      lease_ask_again(l);
    }
  rearm_waiting(r, now);
  wait_report_link_up(t);
}

/* Names of other routes that asked here once: a reconnect of their own route would not
 * repeat the request. */
static void redirected_ask_again(route *r)
{
  for (const call *c = r->calls; c != NULL; c = c->next)
    for (size_t i = 0; i < (c->count > 0 ? c->count : 1); i++) {
      lease *l = call_name(r->table, c->count > 0 ? c->renewals[i].lease_number : c->lease_number);

      if (l != NULL && l->route != r && c->kind != CALL_ACKS)
        lease_ask_again(l);
    }
}

void lock_link_down(lock_table *t, size_t number, dibs_status why, const char *words,
                    instant now)
{
  route *r = route_at(t, number);
  text shown = text_over(r->down_words, sizeof(r->down_words));

  /* Repeated connections to a replica are one long outage, not many short ones. */
  if (route_is_usable(r))
    r->down_since = now;
  r->is_read_only |= why == DIBS_ERR_READ_ONLY;
  r->is_up = false;
  r->link_is_doubtful = false;
  r->ifeq = IFEQ_UNKNOWN;
  again_link_down(r, now);
  server_clock_reconnects(&r->clock);
  r->down_why = why;
  text_add(&shown, words);
  redirected_ask_again(r);
  calls_cut_link(r);
  for (lease *l = t->first_lease; l != NULL; l = l->next) {
    if (l->ask_route == r)
      lease_ask_route(l, NULL);
    if (l->route != r)
      continue;
    l->renewing_at = NULL;
    hold_suspect(l);
  }
  dues_move(t);
  rearm_waiting(r, now);
}

dibs_status lock_link_why(const lock_table *t, size_t number, const char **ret_words)
{
  const route *r = route_at(t, number);

  *ret_words = r->is_up ? "" : r->down_words;
  return r->is_up ? DIBS_OK : r->down_why;
}

void lock_add_no_reply(bool was_connected, span time, span connect_timeout, text *out)
{
  text_add(out, was_connected ? "no reply within " : "no connection within ");
  text_add_int(out, span_to_ms(time));
  text_add(out, " ms");
  if (time.ns < connect_timeout.ns)
    text_add(out, ", which may be too short for this server");
}

void route_can_write(route *r, instant now)
{
  if (!r->is_read_only)
    return;
  r->is_read_only = false;
  rearm_waiting(r, now);
}

static bool is_final(dibs_status why)
{
  return why == DIBS_ERR_AUTH || why == DIBS_ERR_DENIED || why == DIBS_ERR_TLS ||
         why == DIBS_ERR_PROTOCOL || why == DIBS_ERR_CONFIG;
}

void lock_fail_if_final(lock_table *t, size_t number, instant now)
{
  const route *r = route_at(t, number);
  lease *l, *next;

  if (r->is_up || !is_final(r->down_why))
    return;
  for (l = t->first_lease; l != NULL; l = next) {
    next = l->next;
    if (l->route != r)
      continue;
    claims_fail(l, r->down_why, r->down_words);
    lease_become(l, lease_unwanted(l, now), now);
  }
}

/* ---- the inbox ---- */

void lock_inbox_up(lock_table *t, size_t number, instant now)
{
  route *r = t->routes[number];

  r->inbox_is_up = true;
  r->inbox_up_at = now;
  r->inbox_has_no_subscriber = false;
  if (dialect_has_channels(&t->protocol)) {
    r->is_inbox_missing = false;
    return;                              /* each name's channel must be subscribed first */
  }
  inbox_found(r, now);
  for (lease *l = t->first_lease; l != NULL; l = l->next)
    if (l->route == r)
      lease_hears(l);
}

/* No revocation request can arrive: releases the parked leases. */
static void parked_end(const route *r, instant now)
{
  lease *l, *next;

  for (l = r->table->first_lease; l != NULL; l = next) {
    next = l->next;
    if (l->route == r && l->state == LEASE_PARKED)
      lease_become(l, LEASE_RELEASING, now);
  }
}

void lock_inbox_down(lock_table *t, size_t number, dibs_status why, const char *words,
                     instant now)
{
  route *r = t->routes[number];

  r->inbox_is_up = false;
  r->inbox_has_no_subscriber = false;
  channels_down(r);
  parked_end(r, now);
  if (why == DIBS_ERR_DENIED)
    polling_forbidden(r, words, now);
  else
    polling_without_inbox(r, words, now);
}

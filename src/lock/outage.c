/* SPDX-License-Identifier: MIT */
/* lock/outage.c - a server's link and inbox go down and come up. */
#include "lock/table.h"

/* ---- the link ---- */

static void rearm_waiting(route *r, instant now)
{
  for (name *n = r->table->first_name; n != NULL; n = n->next)
    for (claim *c = n->route == r ? n->waiting : NULL; c != NULL; c = c->next)
      claim_arm(c, now);
}

void lock_link_up(lock_table *t, size_t number, instant now)
{
  route *r = t->routes[number];

  r->is_up = true;
  r->link_is_doubtful = false;
  for (name *n = t->first_name; n != NULL; n = n->next)
    if (name_route(n) == r)
      name_ask_again(n);
  rearm_waiting(r, now);
  owners_link_up(t);
}

/* Names of other routes that asked here once have no other link to come back up. */
static void redirected_ask_again(route *r)
{
  for (const call *c = r->calls; c != NULL; c = c->next)
    for (size_t i = 0; i < (c->count > 0 ? c->count : 1); i++) {
      name *n = call_name(r->table, c->count > 0 ? c->renewals[i].name_id : c->name_id);

      if (n != NULL && n->route != r && c->kind != CALL_ACKS)
        name_ask_again(n);
    }
}

void lock_link_down(lock_table *t, size_t number, dibs_status why, const char *words,
                    instant now)
{
  route *r = route_at(t, number);
  text shown = text_over(r->down_words, sizeof(r->down_words));

  /* A replica that is met again and again is one long outage, not many short ones. */
  if (route_is_usable(r) || instant_before(r->down_since, (instant){ 1 }))
    r->down_since = now;
  r->is_read_only |= why == DIBS_ERR_READ_ONLY;
  r->is_up = false;
  r->link_is_doubtful = false;
  r->down_why = why;
  text_add(&shown, words);
  redirected_ask_again(r);
  calls_cut_link(r);
  for (name *n = t->first_name; n != NULL; n = n->next) {
    if (n->ask_route == r)
      name_ask_route(n, NULL);
    if (n->route != r)
      continue;
    n->is_renewing = false;
    hold_suspect(n);
  }
  dues_move(t);
  rearm_waiting(r, now);
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
  name *n, *next;

  if (r->is_up || !is_final(r->down_why))
    return;
  for (n = t->first_name; n != NULL; n = next) {
    next = n->next;
    if (n->route != r)
      continue;
    claims_fail(n, r->down_why, r->down_words);
    ask_end(n, now);
  }
}

/* ---- the inbox ---- */

void lock_inbox_up(lock_table *t, size_t number, instant now)
{
  route *r = t->routes[number];

  r->inbox_is_up = true;
  r->inbox_up_at = now;
  r->inbox_is_deaf = false;
  if (dialect_has_channels(&t->native))
    return;                              /* each name's channel has yet to stand */
  for (name *n = t->first_name; n != NULL; n = n->next)
    if (n->route == r)
      name_hears(n);
}

/* Nobody can tell us any more that he wants what lies idle here. */
static void lingerers_end(const route *r, instant now)
{
  name *n, *next;

  for (n = r->table->first_name; n != NULL; n = next) {
    next = n->next;
    if (n->route == r && n->state == NAME_LINGERING)
      linger_end(n, now);
  }
}

/* Waiters that may have no inbox ask again and again. */
static void poll_from_now_on(lock_table *t)
{
  t->only_polls = true;
  for (name *n = t->first_name; n != NULL; n = n->next)
    if (n->needs_inbox) {
      n->needs_inbox = false;
      name_due(n);
    }
}

void lock_inbox_down(lock_table *t, size_t number, dibs_status why, const char *words,
                     instant now)
{
  route *r = t->routes[number];
  name *n, *next;

  r->inbox_is_up = false;
  r->inbox_is_deaf = false;
  channels_down(r);
  lingerers_end(r, now);
  if (why == DIBS_ERR_DENIED) {
    poll_from_now_on(t);
    return;
  }
  if (!is_final(why))
    return;
  for (n = t->first_name; n != NULL; n = next) {
    next = n->next;
    if (n->route != r || !n->needs_inbox)
      continue;
    claims_fail(n, why, words);
    ask_end(n, now);
  }
}

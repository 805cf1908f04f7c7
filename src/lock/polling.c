/* SPDX-License-Identifier: MIT */
/* lock/polling.c - waiters of a server poll while none of its messages can arrive: no
 * subscription is confirmed, or the server does not count it (protocol.md 15). */
#include "lock/table.h"

#define PATIENCE SPAN_MS(1000)        /* without messages, before waiters poll */
#define WARNING_AFTER SPAN_MS(2000)   /* a slow network may be late without a warning */
#define WARNING_AGAIN SPAN_MS(60000)
#define AGAIN SPAN_MS(60000)          /* the next try to get messages where a try costs a poll */

bool lease_only_polls(const lease *l)
{
  return l->table->only_polls || l->route->polls;
}

static bool has_messages(const lease *l)
{
  return !l->table->only_polls && l->lock_kind != LOCK_SPIN;
}

/* ---- what is missing, and since when ---- */

void inbox_missing(route *r, instant now)
{
  if (r->is_inbox_missing || r->inbox_is_up)
    return;
  r->is_inbox_missing = true;
  r->missing_since = now;
}

/* While the server itself was down, its messages were not missed. */
void inbox_missing_anew(route *r, instant now)
{
  if (!r->is_inbox_missing)
    return;
  r->missing_since = now;
}

void inbox_refused(route *r, const char *words)
{
  text shown = text_over(r->inbox_words, sizeof(r->inbox_words));

  text_add(&shown, words);
}

void inbox_found(route *r, instant now)
{
  r->is_inbox_missing = false;
  r->inbox_words[0] = '\0';
  if (instant_before(now, r->polls_until))
    return;
  r->polls = false;
}

/* The server cannot count a subscription that was confirmed while the request was under way. */
void ask_unheard(lease *l, instant sent_at, instant now)
{
  if (instant_before(inbox_hears_since(l), sent_at))
    l->ask.is_uncounted = true;
  if (!l->ask.is_unheard)
    l->wait->unheard_since = now;
  l->ask.is_unheard = true;
}

void ask_unheard_anew(lease *l)
{
  l->ask.is_unheard = l->ask.is_uncounted = false;
}

instant polling_at(const lease *l)
{
  instant at = INSTANT_NEVER;

  if (!has_messages(l) || lease_only_polls(l))
    return at;
  if (l->route->is_inbox_missing)
    at = l->route->missing_since;
  if (l->ask.is_unheard)
    at = instant_min(at, l->wait->unheard_since);
  return instant_is_never(at) ? at : instant_add(at, PATIENCE);
}

/* ---- taking to polling, and back ---- */

static void poll_at_route(route *r, const char *words, instant now)
{
  text shown = text_over(r->polls_words, sizeof(r->polls_words));

  r->polls = true;
  r->polls_since = r->polls_until = now;
  r->polling_is_reported = false;
  r->resubscribe_at = instant_add(now, AGAIN);
  text_add(&shown, words);
  for (lease *l = r->table->first_lease; l != NULL; l = l->next)
    if (l->route == r && l->ask.needs_inbox) {
      l->ask.needs_inbox = false;
      lease_due(l);
    }
}

static void take_to_polling(lease *l, instant now)
{
  route *r = l->route;
  const char *words = r->inbox_words[0] != '\0' ? r->inbox_words : "no subscription is confirmed";

  if (l->ask.is_uncounted)
    words = "it does not count this client's subscription; is there a proxy without "
            "publish/subscribe?";
  l->ask.needs_inbox = false;              /* it asks now */
  poll_at_route(r, words, now);
  if (l->ask.is_uncounted)
    r->polls_until = r->resubscribe_at;
}

void polling_look(lease *l, instant now)
{
  route *r = l->route;

  if (!l->ask.waits || !has_messages(l))
    return;
  if (!r->polls) {
    if (!instant_before(now, polling_at(l)))
      take_to_polling(l, now);
  } else if (inbox_hears(l) && !instant_before(now, r->polls_until)) {
    r->polls = false;
  } else if (r->inbox_is_up && !instant_before(now, r->resubscribe_at)) {
    r->resubscribe_at = instant_add(now, AGAIN);
    channel_ask_again(l);
  }
  if (r->polls)
    l->ask.is_unheard = l->ask.is_uncounted = false;
}

void polling_without_inbox(route *r, const char *words, instant now)
{
  inbox_refused(r, words);
  inbox_missing(r, now);
  for (lease *l = r->table->first_lease; l != NULL; l = l->next) {
    if (l->route == r && lease_is_in(l, STATES_ASK) && timer_is_set(&l->poll))
      timers_set(&r->table->timers, &l->poll, instant_min(l->poll.at, polling_at(l)));
  }
}

void polling_forbidden(route *r, const char *words, instant now)
{
  inbox_refused(r, words);
  inbox_missing(r, now);
  if (r->polls)
    return;
  poll_at_route(r, r->inbox_words, now);
  for (lease *l = r->table->first_lease; l != NULL; l = l->next)
    if (l->route == r && lease_is_in(l, STATES_ASK) && timer_is_set(&l->poll))
      timers_set(&r->table->timers, &l->poll, now);
}

/* Nothing is reported while nothing waits: a hold renews, with messages or without. */
bool lock_polls(lock_table *t, size_t number, bool has_observers, instant now,
                const char **ret_words)
{
  route *r = t->routes[number];
  instant at = INSTANT_NEVER;

  if (r->polls && (has_observers || t->backend.counts.waiting > 0))
    at = instant_add(r->polls_since, (span){ WARNING_AFTER.ns - PATIENCE.ns });
  else if (has_observers && r->is_inbox_missing)
    at = instant_add(r->missing_since, WARNING_AFTER);
  if (instant_is_never(at))
    r->polling_is_reported = false;
  if (r->polling_is_reported || instant_before(now, at))
    return false;
  r->polling_is_reported = true;
  if (r->reported_at.ns > 0 && instant_since(now, r->reported_at).ns < WARNING_AGAIN.ns)
    return false;
  r->reported_at = now;
  *ret_words = r->polls ? r->polls_words : r->inbox_words;
  return true;
}

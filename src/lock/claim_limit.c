/* SPDX-License-Identifier: MIT */
/* lock/claim_limit.c - the timer of a claim: when a waiting one ends without its lease. */
#include "lock/table.h"

#include "hold/claim.h"

/* The limit of a call that does not wait. A member of a quorum repeats within a round. */
static instant try_limit(const claim *c, instant now)
{
  const lock_settings *s = &lease_of_claim(c)->table->settings;
  instant at = instant_add(c->asked_at, span_max(s->connect_timeout, s->command_timeout));

  if (s->protocol->is_voter && route_is_usable(lease_of_claim(c)->route))
    at = instant_min(at, instant_add(now, s->command_timeout));
  return at;
}

void claim_arm(claim *c, instant now)
{
  const lease *l = lease_of_claim(c);
  lock_table *t = l->table;
  instant at = c->spec.give_up_at, since = lease_cannot_ask_since(l);

  if (c->spec.is_try)
    at = instant_min(at, try_limit(c, now));
  else if ((!t->settings.is_patient || t->protocol.is_voter) && !instant_is_never(since))
    at = instant_min(at, instant_add(instant_max(c->asked_at, since),
                                     t->settings.connect_timeout));

  if (instant_is_never(at))
    timers_clear(&t->timers, &c->timer);
  else
    timers_set(&t->timers, &c->timer, at);
}

instant claim_ends_at(const claim *c)
{
  return timer_is_set(&c->timer) ? c->timer.at : INSTANT_NEVER;
}

/* Granted to this claim, and not yet a hold: no other client has the name. */
static bool is_at(const claim *c, lease_state state)
{
  const lease *l = lease_of_claim(c);

  return l->state == state && c == l->claims.waiting;
}

/* Whether the last known state of the name, from the server or in this process, was
 * another holder, or another claim to which it is granted. */
static bool is_known_busy(const lease *l)
{
  switch (l->state) {
  case LEASE_QUEUED:
  case LEASE_CONFIRMING:
  case LEASE_ACKING:
  case LEASE_HELD:
  case LEASE_PARKED:
    return true;
  case LEASE_ASKING:
    return l->ask.was_answered || l->ask.was_busy;
  case LEASE_IDLE:
  case LEASE_RELEASING:
  case LEASE_CANCELLING:
    break;
  }
  return false;
}

static const char *busy_words(const lease *l)
{
  if (lease_is_in(l, STATES_TAKEN))
    return "another owner of this client holds it";
  if (lease_id_is_quarantine(&l->wait->watched.lease))
    return QUARANTINE_WORDS;
  return ask_lacks_holder(l, &l->wait->watched.lease) ? NO_HOLDER_WORDS
                                                      : "another client holds it";
}

/* The same, and the server would say so now. */
static bool is_surely_busy(const lease *l)
{
  if (l->state == LEASE_HELD || l->state == LEASE_ACKING)
    return true;
  return is_known_busy(l) && route_is_usable(l->route) && !lease_is_undecided(l);
}

/* The first waiter may get what the ask is for; in the queue of the server no try waits. */
static bool is_decided(const lease *l, const claim *c)
{
  return c != l->claims.waiting || l->state == LEASE_HELD || l->state == LEASE_QUEUED;
}

/* Thousands may wait for one name, mostly none as a try. */
void tries_end(lease *l, instant now)
{
  claim *next;

  if (l->kind != LEASE_MUTEX || !is_surely_busy(l))
    return;
  for (claim *c = l->table->backend.counts.tries > 0 ? l->claims.waiting : NULL; c != NULL;
       c = next) {
    next = c->next;
    if (c->spec.is_try && is_decided(l, c) && !hold_reenters(l, c))
      claim_fail(c, DIBS_BUSY, busy_words(l));
  }
  if (l->claims.waiting == NULL && l->state == LEASE_QUEUED)
    lease_become(l, lease_unwanted(l, now), now);
}

/* Nothing is known about the server. A round of a quorum has its own limit, so the quorum says
 * whether that was short. */
static void fail_without_reply(claim *c, dibs_status status, instant now)
{
  const lease *l = lease_of_claim(c);
  const lock_settings *s = &l->table->settings;
  bool is_voter = s->protocol->is_voter;
  span had = instant_since(now, c->asked_at);
  span enough = is_voter && l->route->is_up ? s->command_timeout : s->connect_timeout;
  char words[128];
  text shown = text_over(words, sizeof(words));

  c->was_short = had.ns < enough.ns;
  lock_add_no_reply(l->route->is_up, had, is_voter ? (span){ 0 } : enough, &shown);
  claim_fail(c, status, words);
}

static bool has_reason(const route *r)
{
  return !route_is_usable(r) && (r->down_words[0] != 0 || r->down_why != DIBS_ERR_UNREACHABLE);
}

/* The server has said why. After the refusal of a replica, finding the primary takes longer. */
static void fail_with_reason(claim *c, bool was_sent, instant now)
{
  const lease *l = lease_of_claim(c);
  const lock_settings *s = &l->table->settings;
  const route *r = l->route;

  c->was_short = r->down_why == DIBS_ERR_READ_ONLY && !s->protocol->is_voter &&
                 instant_since(now, c->asked_at).ns < s->connect_timeout.ns;
  claim_fail(c, was_sent ? DIBS_UNKNOWN : r->down_why, r->down_words);
}

/* The ask of this claim may have been executed, and its reply is lost. */
static bool is_in_doubt(const claim *c)
{
  const lease *l = lease_of_claim(c);

  return is_at(c, LEASE_CONFIRMING) ||
         (l->state == LEASE_ASKING && l->ask.sendings > 0 && !is_known_busy(l));
}

static void waiting_is_over(claim *c, instant now)
{
  lease *l = lease_of_claim(c);
  const route *r = l->route;
  bool was_sent = is_in_doubt(c);

  if (has_reason(r))
    fail_with_reason(c, was_sent, now);
  else if (was_sent)
    fail_without_reply(c, DIBS_UNKNOWN, now);
  else if (route_is_usable(r) && lease_is_undecided(l))
    claim_fail(c, l->wait->undecided_why, r->undecided_words);
  else if (route_is_usable(r) && is_at(c, LEASE_ACKING))
    claim_fail(c, DIBS_ERR_NOT_REPLICATED, acks_too_few_words(l));
  else if (!route_is_usable(r) || c->spec.is_try || !is_known_busy(l))
    fail_without_reply(c, DIBS_ERR_UNREACHABLE, now);
  else
    claim_fail(c, DIBS_TIMED_OUT, busy_words(l));
}

void claims_fail(lease *l, dibs_status status, const char *words)
{
  bool is_asking = l->state == LEASE_ASKING;
  claim *c = l->claims.waiting;
  bool is_reply = status == DIBS_ERR_PROTOCOL;       /* the reply came, and is what is wrong */
  dibs_status first = c != NULL && !is_reply && is_in_doubt(c) ? DIBS_UNKNOWN : status;

  if (c == NULL)
    return;
  claim_fail(c, first, words);
  waiters_fail(&l->claims, is_asking ? first : status, words);
}

void claims_arm(lease *l, instant now)
{
  for (claim *c = l->claims.waiting; c != NULL; c = c->next)
    claim_arm(c, now);
}

void claim_timer(claim *c, instant now)
{
  lease *l = lease_of_claim(c);

  if (c->state == CLAIM_HELD) {
    claim_ends_soon(c);
    return;
  }
  if (c->state == CLAIM_RELEASING) {
    if (c->words == NULL)                /* not the reason that the server gave last */
      claim_say(c, "the server has not confirmed in time");
    claim_end(c, LOCK_RELEASED, DIBS_UNKNOWN);
    return;
  }
  waiting_is_over(c, now);
  if (l->claims.waiting == NULL)
    lease_become(l, lease_unwanted(l, now), now);
  else if (l->state == LEASE_QUEUED && !instant_before(now, l->wait->sent_give_up))
    lease_due(l);      /* later waiters continue, and their queue entry must not expire */
}

/* SPDX-License-Identifier: MIT */
/* lock/holding.c - grant, watchdog, loss. */
#include "lock/table.h"

#include <assert.h>

#define LISTEN_AFTER SPAN_MS(500)    /* most holds are shorter, and cost no subscription */
#define RETRY_MIN SPAN_MS(20)        /* of a renewal, near the end of the lease */

instant hold_end(const lease *l)
{
  return instant_min(l->term.valid_until, l->term.limit);
}

/* Losses are reported a little before the end, so that the report may be late. */
void hold_set_deadline(lease *l)
{
  span notice = span_min(LOST_NOTICE_MAX, (span){ l->term.ttl.ns / 20 });
  instant at = hold_end(l);

  if (lease_never_ends(l))
    return;
  at.ns -= notice.ns;
  timers_set(&l->table->timers, &l->deadline, at);
  holders_end_at(&l->claims, hold_end(l));
}

static void schedule_renewal(lease *l, instant from, instant now)
{
  lock_table *t = l->table;
  instant at;

  if (l->term.is_fixed || lease_never_ends(l)) {
    timers_clear(&t->timers, &l->renew);
    return;
  }
  at = lease_renew_at(from, l->term.ttl, t->settings.renew_every, &t->random);
  timers_set(&t->timers, &l->renew, instant_max(at, now));
}

void hold_remember_token(lease *l, instant now)
{
  lock_table *t = l->table;
  uint64_t token = l->term.id.token;

  if (l->lock_kind != LOCK_FENCED)
    token_raise_floor(&t->min_token, token, l->route, now);
  else if (token_is_of_a_clock(token))
    fence_memory_add(&t->fences, l->bytes, l->size, token);
}

/* The reply may be older than the message of a waiter, which came by another connection. */
void hold_count_waiters(lease *l, uint64_t waiters)
{
  l->term.waiters_elsewhere = waiters == 0 && l->term.was_wanted ? 1 : waiters;
}

void hold_expects_others(lease *l)
{
  if (l->kind == LEASE_MUTEX && !l->ask.offers_idle)
    l->term.was_wanted = true;
}

lease_state hold_granted(lease *l, const lease_id *id, instant valid_until, span ttl,
                         uint64_t waiters, bool confirm, instant since, instant now)
{
  lock_table *t = l->table;
  const claim_terms *wish = wish_of(&l->claims);

  assert(wish != NULL);      /* without claims there is no open ask: lease_unwanted() */
  detached_is_over(l, id);
  l->term.id = *id;
  l->term.is_as_granted = false;
  l->term.ttl = ttl;
  /* A dialect without a count of waiters: assume one. */
  hold_count_waiters(l, t->protocol.dialect->traits.hands_over ? waiters : 1);
  l->term.valid_until = valid_until;
  l->local_number = 0;
  l->handovers = 0;
  l->reuse_has_paid = false;
  l->renumber = RENUMBER_NONE;
  l->term.granted_token = id->token;
  l->term.is_suspect = l->term.is_named = l->term.is_over = false;
  l->attempts = 0;
  l->wait->watched.lease = (lease_id){ .token = 0 };
  timers_clear(&t->timers, &l->poll);
  hints_paid(t);
  hold_remember_token(l, now);

  if (id->token <= l->ended_token || !instant_before(now, valid_until))
    return LEASE_RELEASING;              /* too late: release it, ask again */
  if (acks_are_wanted(l, wish, waiter_id(&l->claims)))
    return acks_begin(l, id, valid_until, now);

  if (l->ask.had_message || l->ask.was_answered)
    t->backend.counts.handovers[l->ask.had_message ? DIBS_HANDOVER_MESSAGE
                                                   : DIBS_HANDOVER_POLL]++;
  l->term.must_confirm = !lease_never_ends(l) &&
                   (confirm || wish->ttl.ns != ttl.ns || l->term.is_reported_broken);
  l->term.ttl = wish->ttl;
  hold_first(l, now);
  if (l->kind == LEASE_SHARED)
    hold_join(l, now);
  else if (l->kind == LEASE_MUTEX && wish->linger.ns != 0)
    reuse_taken(&t->reuse, l->bytes, l->size, now);
  if (l->claims.waiting != NULL || wish->linger.ns != 0)
    inbox_want(l);
  else
    timers_set(&t->timers, &l->poll, instant_add(now, LISTEN_AFTER));
  if (l->term.must_confirm)
    lease_renewal_due(l);
  else
    schedule_renewal(l, since, now);
  return LEASE_HELD;
}

/* The end of a fixed lease does not move, unless this is the renewal that gives it its length. */
void hold_check(lease *l)
{
  if (l->term.is_fixed && !l->term.must_confirm)
    l->term.limit = hold_end(l);
  l->term.must_confirm = true;
  lease_renewal_due(l);
}

/* A break of the lease is reported by a message. */
lease_state hold_polls(lease *l, instant now)
{
  (void)now;
  inbox_want(l);
  if (l->term.raise_to != 0)
    lease_due(l);
  return l->state;
}

/* The grant is so old that the lease may have ended: only a renewal shows that. */
lease_state hold_confirm(lease *l, const lease_id *id)
{
  l->term.id = *id;
  l->term.is_as_granted = false;
  l->term.ttl = wish_of(&l->claims)->ttl;
  l->term.must_confirm = true;
  l->term.limit = INSTANT_NEVER;              /* that was the former holder's */
  timers_clear(&l->table->timers, &l->poll);
  lease_renewal_due(l);
  return LEASE_CONFIRMING;
}

/* ---- watchdog ---- */

void hold_suspect(lease *l)
{
  if ((l->state != LEASE_HELD && l->state != LEASE_PARKED) || l->term.is_suspect ||
      lease_never_ends(l))
    return;
  l->term.is_suspect = true;
  holders_report(&l->claims, LOCK_SUSPECT);
}

/* Granted too late: another client may have the name. */
lease_state hold_not_ours(lease *l, instant now)
{
  if (l->state == LEASE_ACKING) {
    acks_leave(l);
    l->acks->step = ACKS_NONE;
  }
  l->renewing_at = NULL;
  timers_clear(&l->table->timers, &l->renew);
  l->ended_token = l->term.id.token;
  return ask_begin(l, now);
}

static lease_state confirmed(lease *l, const renew_answer *a, instant end, instant sent_at,
                             instant now)
{
  lease_id id = l->term.id;

  if (!a->is_ours)
    return hold_not_ours(l, now);
  return hold_granted(l, &id, end, l->term.ttl, a->waiters, false, sent_at, now);
}

lease_state hold_renewed(lease *l, const renew_answer *a, bool is_older, instant sent_at,
                         instant now)
{
  lock_table *t = l->table;
  instant end = lease_end(sent_at, span_ms(a->remaining_ms), t->settings.clock_rate_error_ppm);
  instant former_end = hold_end(l);
  bool is_regular = !l->term.must_confirm, was_suspect = l->term.is_suspect;

  l->renewing_at = NULL;
  l->term.must_confirm = l->term.must_confirm && is_older;
  l->attempts = 0;
  if (l->state == LEASE_CONFIRMING)
    return confirmed(l, a, end, sent_at, now);
  if (!a->is_ours) {
    t->backend.counts.renew_failed++;
    if (a->gone == RELEASE_UNTAKEN)
      l->term.is_let_go = true;          /* a break raises the last token */
    return hold_gone(l);
  }

  t->backend.counts.renewed++;
  if (is_regular)
    slack_note(&t->backend.counts.slack, instant_since(l->term.valid_until, now), l->term.ttl,
               now);
  holders_say(&l->claims, "");
  l->term.valid_until = instant_max(l->term.valid_until, end);
  hold_count_waiters(l, a->waiters);
  l->term.is_suspect = false;
  if (!is_older)
    l->term.is_reported_broken = l->term.is_let_go = false;
  if (l->state == LEASE_PARKED && a->waiters > 0)
    return park_revoked(l);
  hold_set_deadline(l);
  schedule_renewal(l, sent_at, now);
  if (!l->term.is_fixed || was_suspect || instant_before(former_end, hold_end(l)))
    holders_report(&l->claims, LOCK_RENEWED);
  return l->state;
}

/* The lease may be shorter than its ttl, which is what the next renewal asks for: an inner hold
 * wants more, or the limit of a former hold has cut it. What is being confirmed is not held yet. */
static span left_of(const lease *l, instant now)
{
  return l->state == LEASE_CONFIRMING ? l->term.ttl : instant_since(l->term.valid_until, now);
}

/* How long a renewal may be without a reply. To replace the connection and renew takes three round
 * trips at least. Where this time is less than two, what is left then is not enough for three, and
 * the reply may still be in time. */
span hold_doubt_after(const lease *l, const route *r, instant now)
{
  span wanted = span_min((span){ l->term.ttl.ns / 4 }, (span){ left_of(l, now).ns / 2 });

  return span_max(wanted, (span){ 2 * server_clock_trip(&r->clock).ns });
}

/* Two round trips, for a NOSCRIPT and a second request, and one to spare would be too slow. */
bool hold_has_one_try(const lease *l, const route *r, instant now)
{
  return left_of(l, now).ns < 3 * server_clock_trip(&r->clock).ns;
}

static span pause_after_failure(const lease *l, instant now)
{
  span left = span_max((span){ left_of(l, now).ns / 4 }, RETRY_MIN);

  return span_max(span_min((span){ l->term.ttl.ns / 20 }, left), SPAN_MS(1));
}

/* One failure never ends the watchdog. The reason is for the program, and for the loss. */
void hold_renew_failed(lease *l, const char *words, instant now)
{
  lock_table *t = l->table;
  span pause = pause_after_failure(l, now);
  span jittered = random_span(&t->random, (span){ pause.ns / 2 }, pause);

  l->renewing_at = NULL;
  t->backend.counts.renew_failed++;
  holders_say(&l->claims, words);
  hold_suspect(l);
  timers_set(&t->timers, &l->renew, instant_add(now, jittered));
}

void lease_add_why(const lease *l, const char *before, text *out)
{
  const route *r = l->route;
  const char *words = route_is_usable(r) ? holders_words(&l->claims) : r->down_words;

  if (words[0] == 0 && l->term.is_suspect)
    words = "a renewal was not answered in time";
  if (words[0] != 0)
    route_add_words(r, before, words, out);
}

/* ---- the end ---- */

lease_state hold_lost(lease *l, dibs_status why, const char *words)
{
  holders_lose(&l->claims, why, words);
  /* The server may still have the lease: release it now, and learn the new holder. */
  return LEASE_RELEASING;
}

lease_state hold_gone(lease *l)
{
  if (l->term.is_reported_broken)
    holders_were_broken(&l->claims);
  if (l->term.is_let_go) {
    holders_were_let_go(&l->claims);
    return hold_lost(l, DIBS_LOST, "it was released by its token");
  }
  if (!l->term.is_reported_broken)
    return hold_lost(l, DIBS_LOST, "the server no longer has this lease");
  return hold_lost(l, DIBS_LOST, "others ended it: broken, or released by its token");
}

lease_state hold_forget(lease *l)
{
  lock_table *t = l->table;

  timers_clear(&t->timers, &l->poll);
  timers_clear(&t->timers, &l->renew);
  timers_clear(&t->timers, &l->deadline);
  l->renewing_at = NULL;
  l->renumber = RENUMBER_NONE;
  l->term.raise_to = 0;        /* under way, perhaps: lease_id_is_grant() */
  l->ended_token = l->term.id.token;
  return LEASE_IDLE;
}

/* SPDX-License-Identifier: MIT */
/* lock/asking.c - an ask, from the first acquire to the grant (protocol.md 4). */
#include "lock/table.h"

#include <assert.h>
#include <inttypes.h>

#define POLL_MAX SPAN_MS(30000)
#define HEAD_POLL_MAX SPAN_MS(1000)
#define RANK_SPACING_MS 25
#define TRY_PATIENCE SPAN_MS(20)   /* of a try, while what it met may be about to end */
#define TRY_POLL SPAN_MS(2)
#define OVER_AFTER_MS 1000         /* a lease ends, then it can be taken: protocol.md 4, "over" */
#define SPIN_FIRST SPAN_MS(1)
#define SPIN_MOST SPAN_MS(128)
#define LOOK_DOUBLINGS 16
#define FAIR_PLACE_MAX SPAN_MS(30000)  /* fair_wait_ms of lua/redisson/shared/fair_shift.lua */
#define POLL_SPACING_NS 1000000   /* of the polls of one client, see ask_poll_span() */

lease_state ask_begin(lease *l, instant now)
{
  lock_table *t = l->table;
  const claim_terms *wish = wish_of(&l->claims);

  assert(wish != NULL);
  l->ask.number = ++t->last_ask;
  l->wait->polls = 0;
  channel_forget(l);
  l->ask.waits = !wish->is_try;
  l->ask.ttl = wish->ttl;
  l->ask.sendings = 0;
  l->ask.was_answered = l->ask.was_busy = l->ask.may_arrive_late = false;
  l->ask.had_message = false;
  if (l->kind == LEASE_SET) {
    l->many.rounds = 0;
    l->many.was_granted_one = false;
  }
  l->ask.needs_inbox = l->ask.is_unheard = l->ask.is_uncounted = false;
  if (l->acks != NULL)
    acks_forget(l);
  l->wait->newest_token = 0;
  l->term.is_reported_broken = l->term.is_let_go = l->term.was_wanted = false;
  l->attempts = 0;
  l->handovers = 0;
  timers_clear(&t->timers, &l->poll);
  yield_ask(l, now);
  return LEASE_ASKING;
}

/* The longest time that a cancelled ask delays other clients: as a lease, or at the head
 * of a fair queue of Redisson's. */
static span cancel_span(const lease *l)
{
  span as_lease = { 2 * l->ask.ttl.ns + SPAN_MS(1000).ns };

  return l->lock_kind == LOCK_FAIR ? span_max(as_lease, FAIR_PLACE_MAX) : as_lease;
}

void cancel_enter(lease *l, instant now)
{
  lock_table *t = l->table;

  l->attempts = 0;
  l->insist_until = instant_add(now, cancel_span(l));
  timers_set(&t->timers, &l->poll, l->insist_until);
  lease_due(l);
}

lease_state ask_unwanted(lease *l, instant now)
{
  (void)now;
  timers_clear(&l->table->timers, &l->poll);
  return l->ask.sendings == 0 ? LEASE_IDLE : LEASE_CANCELLING;
}

/* A release would end this lease only. If it had ended, a poll sent before the message
 * arrived may have been granted another lease of the same ask. */
lease_state confirm_unwanted(lease *l, instant now)
{
  (void)now;
  l->renewing_at = NULL;
  timers_clear(&l->table->timers, &l->renew);
  return LEASE_CANCELLING;
}

/* ---- waiting ---- */

static void watch(lease *l, const acquire_answer *a, instant now)
{
  watched_lease *w = &l->wait->watched;

  if (a->lease.token == 0)
    w->lease = (lease_id){ .token = 0 };
  else if (!lease_id_equal(&w->lease, &a->lease) || w->renewals != a->renewals)
    *w = (watched_lease){ .lease = a->lease, .renewals = a->renewals, .since = now,
                          .length = span_ms(a->lease_ms) };
}

/* When the watched lease will have been watched for its whole length. */
static instant watch_end(const lease *l)
{
  if (l->wait->watched.lease.token == 0)
    return INSTANT_NEVER;
  return instant_add(l->wait->watched.since,
                     lease_watch(l->wait->watched.length,
                                 l->table->settings.clock_rate_error_ppm));
}

/* Limits one client with many waiting names to a thousand polls a second. */
static span poll_spread(const lock_table *t)
{
  const lock_counts *counts = &t->backend.counts;
  uint64_t names = counts->names < counts->waiting ? counts->names : counts->waiting;

  return (span){ (int64_t)names * POLL_SPACING_NS };
}

/* The poll interval of a name whose first waiter is this client: a second; with many
 * waiting names longer, up to a third of the ttl. */
span ask_poll_span(const lock_table *t, span ttl)
{
  return span_min((span){ ttl.ns / 3 }, span_max(HEAD_POLL_MAX, poll_spread(t)));
}

/* The pause doubles each time; a random value between half of it and all of it. */
static instant next_look(lease *l, span first, span most, instant now)
{
  unsigned doublings = l->wait->polls < LOOK_DOUBLINGS ? l->wait->polls : LOOK_DOUBLINGS;
  span pause = span_max(span_min((span){ first.ns << doublings }, most),
                        poll_spread(l->table));

  l->wait->polls++;
  return instant_add(now, random_span(&l->table->random, (span){ pause.ns / 2 }, pause));
}

/* When a lease can be taken that has ended, within a second; 0: there is none. */
static instant free_from(const lease *l, const acquire_answer *a, instant now)
{
  if (!l->table->protocol.dialect->traits.hands_over || a->remaining_ms >= 0 ||
      a->remaining_ms < -OVER_AFTER_MS)
    return (instant){ 0 };
  return instant_add(now, span_ms(OVER_AFTER_MS + 2 + a->remaining_ms));
}

/* The first two waiters poll often and detect the end of the holder; the later ones only
 * need to detect the end of all waiters before them (F12). */
static instant usual_poll(lease *l, const acquire_answer *a, instant now)
{
  lock_table *t = l->table;
  const dialect_traits *d = &t->protocol.dialect->traits;
  const claim_terms *wish = wish_of(&l->claims);
  span ttl = wish != NULL ? wish->ttl : l->ask.ttl;
  span left = a->lease.token == 0 ? SPAN_MS(0) : span_ms(a->remaining_ms);

  if (l->lock_kind == LOCK_SPIN)
    return next_look(l, SPIN_FIRST, SPIN_MOST, now);
  if (d->look_first_ms > 0)
    return instant_min(next_look(l, span_ms(d->look_first_ms), span_ms(d->look_most_ms), now),
                       instant_add(now, (span){ left.ns + SPAN_MS(2).ns }));
  /* Polls also extend the members that a multi-lock keeps, and prove that a polling client
   * lives. */
  if (a->rank <= 1 || l->kind == LEASE_SET || lease_only_polls(l)) {
    span often = ask_poll_span(t, ttl);
    instant at, free_at = free_from(l, a, now);

    often = random_span(&t->random, (span){ often.ns * 8 / 10 }, often);
    at = instant_add(now, often);
    if (left.ns > 0)
      at = instant_min(at, instant_add(now, (span){ left.ns + SPAN_MS(2).ns }));
    if (free_at.ns != 0)
      at = instant_min(at, free_at);
    if (instant_before(now, watch_end(l)))
      at = instant_min(at, instant_add(watch_end(l), SPAN_MS(1)));
    return at;
  }

  {
    span rest = span_min(span_max(left, SPAN_MS(0)), span_min(ttl, POLL_MAX));
    span spread = random_span(&t->random, (span){ ttl.ns / 2 }, ttl);
    int64_t rank_ms = a->rank < 100000 ? (int64_t)a->rank * RANK_SPACING_MS : INT32_MAX;

    return instant_add(now, (span){ rest.ns + span_min(span_ms(rank_ms), spread).ns });
  }
}

/* Sooner where no messages can come. */
static instant next_poll(lease *l, const acquire_answer *a, instant now)
{
  return instant_min(usual_poll(l, a, now), polling_at(l));
}

/* A quorum waits at another server then. */
static void report_quarantine(lease *l, const acquire_answer *a)
{
  if (l->table->protocol.quarantine_ms > 0 && l->claims.waiting != NULL &&
      lease_id_is_quarantine(&a->lease))
    waiter_report(&l->claims, LOCK_HELD_BACK);
}

static lease_state ask_waiting(lease *l, const acquire_answer *a, instant sent_at, instant now)
{
  /* Cluster: the server may have counted an older subscription of the same name, which
   * this client was ending. When the new subscription is confirmed, the name asks again. */
  inbox_want(l);
  l->wait->queued_at = sent_at;
  l->ask.was_answered = true;
  l->ask.had_message = false;
  l->ask.is_unheard = l->ask.is_uncounted = false;
  l->attempts = 0;
  /* A grant before this reply has an older token than one after it. */
  l->wait->newest_token = l->kind == LEASE_MUTEX ? a->lease.token : a->last_token;
  if (l->kind == LEASE_SET) {
    l->many.rounds += l->many.was_granted_one;
    l->many.was_granted_one = false;
  }
  watch(l, a, now);
  report_quarantine(l, a);
  if (l->route->wants_inbox)
    inbox_missing(l->route, now);
  timers_set(&l->table->timers, &l->poll, next_poll(l, a, now));
  return LEASE_QUEUED;
}

/* ---- other answers ---- */

/* No clock made this token: releases the lease, and asks again without it. */
static lease_state ask_granted_beyond(lease *l, const call *c, const acquire_answer *a)
{
  l->term.id = a->lease;
  l->term.is_as_granted = false;
  l->term.ttl = c->ttl;
  timers_clear(&l->table->timers, &l->poll);
  return LEASE_RELEASING;
}

/* Of several copies, each may have another ttl: that of `c` was answered. */
static lease_state ask_granted(lease *l, const call *c, const acquire_answer *a, instant sent_at,
                               instant now)
{
  int32_t ppm = l->table->settings.clock_rate_error_ppm;
  instant end = lease_end(sent_at, span_ms(a->remaining_ms), ppm);
  bool again = a->outcome == ACQUIRE_AGAIN;
  lease_state next;

  if (l->kind == LEASE_SHARED)
    l->term.units = a->units;
  if (l->lock_kind != LOCK_FENCED && !token_is_possible(a->lease.token, a->server_us)) {
    token_warn(l->table, l, a->lease.token, now);
    if (!token_is_of_a_clock(a->lease.token))
      return ask_granted_beyond(l, c, a);
  }
  if (lease_never_ends(l))
    return hold_granted(l, &a->lease, INSTANT_NEVER, c->ttl, 0, false, now, now);
  /* Granted to an earlier copy of this ask, or by a lost message: a watcher may have
   * counted since then, and the server's clock may have been set back. So the lease also
   * counts from the last copy that was not granted, or from the first copy. */
  if (again) {
    instant since = l->ask.was_answered ? l->wait->queued_at : l->wait->first_sent_at;
    span length = span_ms(a->lease_ms);

    end = instant_min(end, lease_end(since, length, ppm));
    if (instant_since(end, now).ns < length.ns / 4)
      return hold_confirm(l, &a->lease);
  }
  if (!a->is_short)
    hold_expects_others(l);
  next = hold_granted(l, &a->lease, end, c->ttl, 0, again, sent_at, now);
  /* Of several copies, each may say something else of lingering. */
  l->term.is_as_granted = a->is_short && l->ask.sendings == 1;
  return next;
}

/* Of a try that found such a lease: it asks again then, if its own limit leaves time for that. Of
 * a member of a quorum the quorum decides. */
static bool ask_outlasts(lease *l, const acquire_answer *a, instant sent_at, instant now)
{
  lock_table *t = l->table;
  instant free_at = free_from(l, a, now);
  instant answered = instant_add(free_at, instant_since(now, sent_at));

  if (free_at.ns == 0 || t->protocol.is_voter ||
      !instant_before(answered, claim_ends_at(l->claims.waiting)))
    return false;
  timers_set(&t->timers, &l->poll, free_at);
  return true;
}

bool ask_lacks_holder(const lease *l, const lease_id *reported)
{
  return reported->token == 0 && l->kind == LEASE_SHARED &&
         l->table->protocol.dialect->traits.hands_over;
}

/* A lease that is over for longer is in doubt: a try has no time to watch it. */
static void fail_busy(lease *l, const acquire_answer *a, instant now)
{
  char words[200];
  text why = text_over(words, sizeof(words));

  if (lease_id_is_quarantine(&a->lease)) {
    text_add(&why, QUARANTINE_WORDS);
  } else if (ask_lacks_holder(l, &a->lease)) {
    text_add(&why, NO_HOLDER_WORDS);
  } else if (a->remaining_ms >= -OVER_AFTER_MS) {
    text_add(&why, "another owner holds it");
  } else {
    text_add(&why, "its lease has ended, but clocks of the server and its clients disagree: a call "
                   "takes it that waits longer than that lease, ");
    text_add_int(&why, a->lease_ms);
    text_add(&why, " ms");
  }
  if (l->table->protocol.dialect->traits.hands_over && !lease_id_is_quarantine(&a->lease))
    waiter_refuse(&l->claims, &l->wait->watched, free_from(l, a, now), words);
  else
    waiter_fail(&l->claims, DIBS_BUSY, words);
}

static lease_state ask_busy(lease *l, const acquire_answer *a, instant sent_at, instant now)
{
  lock_table *t = l->table;
  const claim_terms *wish = wish_of(&l->claims);

  watch(l, a, now);
  report_quarantine(l, a);
  /* A parked lease, to which a revocation request is sent; or our own ask, whose cancel the server
   * did not execute, as it did not know the script: it was sent again after this ask. */
  if (wish != NULL && wish->is_try && (a->holder_lingers || share_cancels_beside(l)) &&
      instant_since(now, waiter_since(&l->claims)).ns < TRY_PATIENCE.ns) {
    timers_set(&t->timers, &l->poll, instant_add(now, TRY_POLL));
    return l->state;
  }
  if (wish != NULL && wish->is_try && ask_outlasts(l, a, sent_at, now))
    return l->state;
  /* All tries that the answer is for. */
  while ((wish = wish_of(&l->claims)) != NULL && wish->is_try &&
         !instant_before(sent_at, waiter_since(&l->claims)))
    fail_busy(l, a, now);
  if (l->ask.sendings > 1 && l->claims.waiting == NULL)
    return lease_unwanted(l, now);       /* a copy under way may still be granted */
  return LEASE_IDLE;
}

static lease_state ask_no_subscriber(lease *l, instant sent_at, instant now)
{
  inbox_want(l);
  l->ask.was_busy = true;                /* names no lease: an old grant may still arrive */
  if (lease_only_polls(l)) {
    lease_retry(l, now);                 /* it was sent before that */
    return LEASE_ASKING;
  }
  inbox_missing(l->route, now);
  ask_unheard(l, sent_at, now);
  l->ask.needs_inbox = true;
  timers_set(&l->table->timers, &l->poll, polling_at(l));
  if (!l->route->inbox_is_up)
    return LEASE_ASKING;                 /* lock_inbox_up() asks again */
  /* Not listening again: the subscription is at the old node of the slot, and the request
   * was answered by the new one. */
  l->had_no_subscriber = !l->had_no_subscriber;
  if (l->had_no_subscriber)
    inbox_found_no_subscriber(l, sent_at);
  if (!l->had_no_subscriber || inbox_hears(l) || !dialect_has_channels(&l->table->protocol))
    lease_retry(l, now);
  return LEASE_ASKING;
}

/* The request cannot be granted, now or later. */
static lease_state ask_impossible(lease *l, dibs_status status, const acquire_answer *a,
                                  instant now)
{
  lock_table *t = l->table;
  text words = text_over(t->fault_words, sizeof(t->fault_words));

  if (a->outcome == ACQUIRE_NOT_SET)
    text_add(&words, "no count is set for this semaphore; dibs_semaphore_set() comes first");
  else if (a->outcome == ACQUIRE_OTHER_LIMIT)
    text_format(&words, "the semaphore has %" PRIu64 " permits, and `limit` is %" PRIu64
                        "; dibs_semaphore_set() changes the number for all",
                a->units, l->shared.wanted_limit);
  else
    text_format(&words, "asks for %" PRIu64 " permits, and there are only %" PRIu64,
                l->shared.wanted_units, a->units);
  waiters_fail(&l->claims, status, t->fault_words);
  return l->ask.sendings > 1 ? lease_unwanted(l, now)  /* an earlier copy may be executed */
                             : LEASE_IDLE;
}

lease_state ask_answered(lease *l, const call *c, const acquire_answer *a, instant sent_at,
                         instant now)
{
  if (!lease_is_in(l, STATES_ASK) || l->ask.number != c->ask)
    return l->state;        /* cancelled meanwhile, or granted by a message that arrived first */

  l->with_text = false;
  if (a->outcome != ACQUIRE_NO_SUBSCRIBER)
    l->had_no_subscriber = false;
  switch (a->outcome) {
  case ACQUIRE_GRANTED:
  case ACQUIRE_AGAIN:
    return ask_granted(l, c, a, sent_at, now);
  case ACQUIRE_WAITING:
    return ask_waiting(l, a, sent_at, now);
  case ACQUIRE_BUSY:
    return ask_busy(l, a, sent_at, now);
  case ACQUIRE_ENDED:
    return ask_begin(l, now);
  case ACQUIRE_NO_SUBSCRIBER:
    return ask_no_subscriber(l, sent_at, now);
  case ACQUIRE_LATE:
    if (l->attempts < 3) {               /* the estimate was wrong; it is corrected now */
      l->attempts++;
      lease_due(l);
    } else {
      lease_retry(l, now);
    }
    break;
  case ACQUIRE_TOO_MANY:
  case ACQUIRE_OTHER_LIMIT:
    return ask_impossible(l, DIBS_ERR_ARGUMENT, a, now);
  case ACQUIRE_NOT_SET:
    return ask_impossible(l, DIBS_ERR_NOT_SET, a, now);
  }
  return l->state;
}

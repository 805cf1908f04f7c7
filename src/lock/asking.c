/* SPDX-License-Identifier: MIT */
/* Asking: from the first acquire of an ask to the grant (protocol.md 4). */
#include "lock/table.h"

#include <assert.h>

#define POLL_MAX SPAN_MS(30000)
#define HEAD_POLL_MAX SPAN_MS(1000)
#define RANK_SPACING_MS 25
#define LINGERER_PATIENCE SPAN_MS(20)  /* of a try with a holder that may be idle */
#define LINGERER_POLL SPAN_MS(2)
#define SPIN_FIRST SPAN_MS(1)
#define SPIN_MOST SPAN_MS(128)
#define LOOK_DOUBLINGS 16
#define FAIR_PLACE_MAX SPAN_MS(30000)  /* fair_wait_ms of lua/redisson/shared/fair_shift.lua */
#define POLL_SPACING_NS 1000000   /* of the polls of one client, see ask_poll_span() */

void ask_begin(name *n, instant now)
{
  lock_table *t = n->table;
  const claim *head = n->waiting;

  assert(head != NULL);
  n->state = NAME_ASKING;
  n->ask = ++t->last_ask;
  n->looks = 0;
  channel_forget(n);
  n->ask_waits = !head->is_try;
  n->ask_ttl = head->ttl;
  n->ask_was_sent = n->ask_was_repeated = n->ask_was_answered = n->ask_was_cut = false;
  n->rounds = 0;
  n->was_granted_one = false;
  n->needs_inbox = false;
  n->acknowledged = n->replicas_wanted = n->majority = 0;
  n->acks_done_for = 0;
  n->has_fsync = false;
  n->newest_token = 0;
  n->attempts = 0;
  n->handovers = 0;
  timers_clear(&t->timers, &n->poll);
  way_ask(n, now);
}

/* So long may what is cancelled be in others' way: as a lease, or at the head of a fair
 * queue of Redisson's. */
static span cancel_span(const name *n)
{
  span as_lease = { 2 * n->ask_ttl.ns + SPAN_MS(1000).ns };

  return n->flavour == FLAVOUR_FAIR ? span_max(as_lease, FAIR_PLACE_MAX) : as_lease;
}

static void cancel_begin(name *n, instant now)
{
  lock_table *t = n->table;

  n->state = NAME_CANCELLING;
  n->attempts = 0;
  n->leave_by = instant_add(now, cancel_span(n));
  timers_set(&t->timers, &n->poll, n->leave_by);
  name_due(n);
}

void ask_end(name *n, instant now)
{
  lock_table *t = n->table;

  switch (n->state) {
  case NAME_ASKING:
  case NAME_QUEUED:
    timers_clear(&t->timers, &n->poll);
    if (!n->ask_was_sent) {
      n->state = NAME_IDLE;
      name_settle(n, now);
      return;
    }
    cancel_begin(n, now);
    return;
  case NAME_CONFIRMING:
    /* A release would give back this lease only. A poll that crossed the message may have
     * been granted another of the same ask, if this one was over by then. */
    n->is_renewing = false;
    timers_clear(&t->timers, &n->renew);
    cancel_begin(n, now);
    return;
  case NAME_IDLE:
    name_forget_if_unused(n);
    return;
  case NAME_ACKING:
    acks_leave(n);
    leave_release(n, now);
    return;
  case NAME_HELD:
  case NAME_LINGERING:
  case NAME_RELEASING:
  case NAME_CANCELLING:
    return;
  }
}

/* ---- waiting ---- */

static void watch(name *n, const acquire_answer *a, instant now)
{
  if (a->lease.token == 0) {
    n->watched = (lease_id){ .token = 0 };
    return;
  }
  if (lease_id_equal(&n->watched, &a->lease) && n->watched_renewals == a->renewals)
    return;
  n->watched = a->lease;
  n->watched_renewals = a->renewals;
  n->watched_since = now;
  n->watched_length = span_ms(a->lease_ms);
}

/* When the lease that is watched will have been watched for its whole length. */
static instant watch_end(const name *n)
{
  if (n->watched.token == 0)
    return INSTANT_NEVER;
  return instant_add(n->watched_since,
                     lease_watch(n->watched_length,
                                 n->table->settings.clock_rate_error_ppm));
}

/* Where so many names wait that one client would make over a thousand polls a second. */
static span poll_spread(const lock_table *t)
{
  uint64_t names = t->counts.names < t->counts.waiting ? t->counts.names : t->counts.waiting;

  return (span){ (int64_t)names * POLL_SPACING_NS };
}

/* How often a name is looked at whose head we are: each second; more seldom, down to a
 * third of the ttl, where there are too many of them. */
span ask_poll_span(const lock_table *t, span ttl)
{
  return span_min((span){ ttl.ns / 3 }, span_max(HEAD_POLL_MAX, poll_spread(t)));
}

/* Twice as long each time, between half of it and all of it. */
static instant next_look(name *n, span first, span most, instant now)
{
  unsigned doublings = n->looks < LOOK_DOUBLINGS ? n->looks : LOOK_DOUBLINGS;
  span pause = span_max(span_min((span){ first.ns << doublings }, most),
                        poll_spread(n->table));

  n->looks++;
  return instant_add(now, random_span(&n->table->random, (span){ pause.ns / 2 }, pause));
}

/* The two at the head look often and notice the holder's end; those behind them only
 * have to survive everybody ahead (F12). */
static instant next_poll(name *n, const acquire_answer *a, instant now)
{
  lock_table *t = n->table;
  const dialect_traits *d = dialect_traits_of(&t->native);
  span ttl = n->waiting != NULL ? n->waiting->ttl : n->ask_ttl;
  span left = a->lease.token == 0 ? SPAN_MS(0) : span_ms(a->remaining_ms);

  if (n->flavour == FLAVOUR_SPIN)
    return next_look(n, SPIN_FIRST, SPIN_MOST, now);
  if (d->look_first_ms > 0)
    return instant_min(next_look(n, span_ms(d->look_first_ms), span_ms(d->look_most_ms), now),
                       instant_add(now, (span){ left.ns + SPAN_MS(2).ns }));
  /* Polls also lengthen what a set keeps, and tell that a poller lives. */
  if (a->rank <= 1 || n->kind == NAME_SET || t->only_polls) {
    span often = ask_poll_span(t, ttl);
    instant at;

    often = random_span(&t->random, (span){ often.ns * 8 / 10 }, often);
    at = instant_add(now, often);
    if (left.ns > 0)
      at = instant_min(at, instant_add(now, (span){ left.ns + SPAN_MS(2).ns }));
    if (instant_before(now, watch_end(n)))
      at = instant_min(at, instant_add(watch_end(n), SPAN_MS(1)));
    return at;
  }

  {
    span rest = span_min(span_max(left, SPAN_MS(0)), span_min(ttl, POLL_MAX));
    span spread = random_span(&t->random, (span){ ttl.ns / 2 }, ttl);
    int64_t rank_ms = a->rank < 100000 ? (int64_t)a->rank * RANK_SPACING_MS : INT32_MAX;

    return instant_add(now, (span){ rest.ns + span_min(span_ms(rank_ms), spread).ns });
  }
}

static void ask_waiting(name *n, const acquire_answer *a, instant sent_at, instant now)
{
  /* Cluster: the server may have counted a subscription that we were about to end, of the
   * same name before. Once this one stands, the name asks again. */
  inbox_want(n);
  n->state = NAME_QUEUED;
  n->waiting_at = sent_at;
  n->ask_was_answered = true;
  n->attempts = 0;
  /* What was granted before this answer is not what is granted after it. */
  n->newest_token = n->kind == NAME_MUTEX ? a->lease.token : a->last_token;
  n->rounds += n->was_granted_one;
  n->was_granted_one = false;
  watch(n, a, now);
  timers_set(&n->table->timers, &n->poll, next_poll(n, a, now));
}

/* ---- other answers ---- */

static void ask_granted(name *n, const acquire_answer *a, instant sent_at, instant now)
{
  int32_t ppm = n->table->settings.clock_rate_error_ppm;
  instant end = lease_end(sent_at, span_ms(a->remaining_ms), ppm);
  bool again = a->outcome == ACQUIRE_AGAIN;

  if (n->kind == NAME_SEAT)
    n->units = a->units;
  if (name_is_unleased(n)) {
    hold_granted(n, &a->lease, INSTANT_NEVER, n->ask_ttl, 0, false, now, now);
    return;
  }
  /* Granted to an earlier sending of this ask, or by a message that was lost: a watcher
   * may have counted since then, and the server's clock may have stepped back, so count
   * from the last sending that found no grant, or the first of all, too. */
  if (again) {
    instant since = n->ask_was_answered ? n->waiting_at : n->ask_sent_at;
    span length = span_ms(a->lease_ms);

    end = instant_min(end, lease_end(since, length, ppm));
    if (instant_since(end, now).ns < length.ns / 4) {
      hold_confirm(n, &a->lease);
      return;
    }
  }
  hold_granted(n, &a->lease, end, n->ask_ttl, 0, again, now, now);
}

static void ask_busy(name *n, const acquire_answer *a, instant now)
{
  lock_table *t = n->table;
  claim *head = n->waiting;

  watch(n, a, now);
  if (head != NULL && head->is_try && a->holder_lingers &&
      instant_since(now, head->asked_at).ns < LINGERER_PATIENCE.ns) {
    timers_set(&t->timers, &n->poll, instant_add(now, LINGERER_POLL));
    return;                              /* it has been asked; an idle one lets go now */
  }
  if (head != NULL && head->is_try)
    claim_fail(head, DIBS_BUSY, "somebody else holds it");
  if (n->ask_was_repeated && n->waiting == NULL) {
    ask_end(n, now);                     /* a copy under way might still be granted */
    return;
  }
  n->state = NAME_IDLE;
  name_settle(n, now);
}

static void ask_deaf(name *n, instant sent_at, instant now)
{
  inbox_want(n);
  n->needs_inbox = true;
  n->state = NAME_ASKING;
  if (!n->route->inbox_is_up)
    return;                              /* lock_inbox_up() asks again */
  /* Deaf again: its inbox is where its slot was, and whom it asked is where that will be. */
  n->was_deaf = !n->was_deaf;
  if (n->was_deaf)
    inbox_found_deaf(n, sent_at);
  if (!n->was_deaf || inbox_hears(n) || !dialect_has_channels(&n->table->native))
    name_retry(n, now);
}

/* What was asked for is not there to be had, now or later. */
static void ask_impossible(name *n, dibs_status status, const acquire_answer *a, instant now)
{
  lock_table *t = n->table;
  text words = text_over(t->fault_words, sizeof(t->fault_words));

  if (status == DIBS_ERR_NOT_SET) {
    text_add(&words, "no count is set for this semaphore; dibs_semaphore_set() comes first");
  } else {
    text_add(&words, "asks for ");
    text_add_uint(&words, n->wanted_units);
    text_add(&words, " permits, and there are only ");
    text_add_uint(&words, a->units);
  }
  claims_fail(n, status, t->fault_words);
  if (n->ask_was_repeated) {
    ask_end(n, now);                     /* an earlier sending may have been served */
    return;
  }
  n->state = NAME_IDLE;
  name_settle(n, now);
}

void ask_answered(name *n, const call *c, const acquire_answer *a, instant sent_at,
                  instant now)
{
  if ((n->state != NAME_ASKING && n->state != NAME_QUEUED) || n->ask != c->ask)
    return;        /* cancelled meanwhile, or granted by a message that was faster */

  n->with_text = false;
  if (a->outcome != ACQUIRE_DEAF)
    n->was_deaf = false;
  switch (a->outcome) {
  case ACQUIRE_GRANTED:
  case ACQUIRE_AGAIN:
    ask_granted(n, a, sent_at, now);
    break;
  case ACQUIRE_WAITING:
    ask_waiting(n, a, sent_at, now);
    break;
  case ACQUIRE_BUSY:
    ask_busy(n, a, now);
    break;
  case ACQUIRE_ENDED:
    ask_begin(n, now);
    break;
  case ACQUIRE_DEAF:
    ask_deaf(n, sent_at, now);
    break;
  case ACQUIRE_LATE:
    if (n->attempts < 3) {               /* our estimate was wrong; it is mended now */
      n->attempts++;
      name_due(n);
    } else {
      name_retry(n, now);
    }
    break;
  case ACQUIRE_TOO_MANY:
    ask_impossible(n, DIBS_ERR_ARGUMENT, a, now);
    break;
  case ACQUIRE_NOT_SET:
    ask_impossible(n, DIBS_ERR_NOT_SET, a, now);
    break;
  }
}

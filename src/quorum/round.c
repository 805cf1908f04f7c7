/* SPDX-License-Identifier: MIT */
/* quorum/round.c - a round: tries at all servers at the same time, and what comes of them.
 *
 * `stage` in BALLOT_ROUND: first the patience with servers that let it wait, then, while the
 * fence is written back, the patience with that. */
#include "quorum/parts.h"

#define PATIENCE_MIN SPAN_MS(50)
#define PACE_FIRST SPAN_MS(50)      /* before any answer */
#define AHEAD_MAX SPAN_MS(1000)

/* A server that answers within this time is waited for, if there is something to wait for. */
span round_patience(const quorum *q)
{
  span pace = q->pace.ns > 0 ? q->pace : PACE_FIRST;
  span patience = { pace.ns * 4 + SPAN_MS(10).ns };

  return span_min(span_max(patience, PATIENCE_MIN), q->command_timeout);
}

void round_answered(vote *v, instant now)
{
  quorum *q = v->ballot->quorum;
  span took = instant_since(now, v->asked_at);

  if (took.ns > round_patience(q).ns)
    return;                         /* and slow ones are not waited for either */
  q->servers[vote_server(v)].is_silent = false;
  q->pace.ns = q->pace.ns > 0 ? (q->pace.ns * 7 + took.ns) / 8 : took.ns;
}

/* A token that all servers can grant: above all that we saw, and above what the clock of the
 * fastest will say when the requests arrive. So all have the same, and it is the fence. */
static uint64_t proposal(const quorum *q, instant now)
{
  span ahead = span_min((span){ q->pace.ns * 2 + SPAN_MS(5).ns }, AHEAD_MAX);
  int64_t latest_us = 0;

  for (size_t i = 0; i < q->count; i++) {
    int64_t us = lock_server_us(q->servers[i].table, now);

    latest_us = us > latest_us ? us : latest_us;
  }
  if (latest_us <= 0)
    return q->seen + 1;
  latest_us += span_to_us(ahead);
  return (uint64_t)latest_us > q->seen ? (uint64_t)latest_us : q->seen + 1;
}

/* Whether the ballot cannot be won any more, or not by waiting for those who let it wait. */
static bool is_failing(const ballot *b, const vote_tally *t)
{
  size_t majority = b->quorum->majority;

  if (t->granted >= majority)
    return false;
  if (t->granted + t->pending < majority)
    return true;
  return t->busy > 0 && t->granted + t->busy >= majority && t->awaited == 0;
}

void round_begin(ballot *b, instant now)
{
  quorum *q = b->quorum;
  uint64_t token = proposal(q, now);
  vote_tally t;

  b->state = BALLOT_ROUND;
  b->is_raising = false;
  for (size_t i = 0; i < q->count; i++) {
    vote *v = &b->votes[i];

    if (v->state == VOTE_GRANTED && !v->was_raised)
      vote_raise(v, token, now);    /* the lead: it has waited so long that all others differ */
    else if (v->state != VOTE_GRANTED && v->state != VOTE_PENDING)
      vote_cast(v, true, token, now);
  }
  t = vote_count(b, now);
  timers_set(&q->timers, &b->stage,
             is_failing(b, &t) ? now : instant_add(now, round_patience(q)));
}

/* ---- the end of a round ---- */

/* Whatever majority is taken, it meets that of each earlier holder, and there its token is
 * higher: so the highest token of any majority will do. The lowest of these is it. */
static uint64_t fence_token(const ballot *b, instant now)
{
  uint64_t tokens[QUORUM_SERVERS_MAX] = { 0 };
  size_t count = 0;

  for (size_t i = 0; i < b->quorum->count; i++) {
    uint64_t token = b->votes[i].token;
    size_t at = count;

    if (!vote_stands(&b->votes[i], now))
      continue;
    for (; at > 0 && tokens[at - 1] > token; at--)
      tokens[at] = tokens[at - 1];
    tokens[at] = token;
    count++;
  }
  return tokens[b->quorum->majority - 1];
}

/* A majority must have the fence before it is told, or the next might get a lower one. */
static void won(ballot *b, instant now)
{
  quorum *q = b->quorum;
  uint64_t token = fence_token(b, now);
  size_t confirmed = 0;

  for (size_t i = 0; i < q->count; i++)
    confirmed += vote_stands(&b->votes[i], now) && b->votes[i].token >= token;
  if (confirmed >= q->majority) {
    held_begin(b, token, now);
    return;
  }
  for (size_t i = 0; i < q->count; i++)
    if (b->votes[i].state == VOTE_GRANTED)
      vote_raise(&b->votes[i], token, now);
  if (b->is_raising)
    return;
  b->is_raising = true;
  timers_set(&q->timers, &b->stage, instant_add(now, q->command_timeout));
}

static bool is_final(dibs_status s)
{
  return s < 0 && s != DIBS_ERR_UNREACHABLE && s != DIBS_ERR_REFUSED &&
         s != DIBS_ERR_READ_ONLY && s != DIBS_ERR_NO_MEMORY;
}

/* Too few servers take part. Who may wait goes on for as long as an outage is borne. */
static void too_few(ballot *b, instant now)
{
  quorum *q = b->quorum;
  const char *words;
  dibs_status status = tell_fault(b, &words);

  if (!b->is_short) {
    b->is_short = true;
    b->short_since = now;
    for (size_t i = 0; i < q->count; i++)        /* they have been waited for already */
      if (b->votes[i].state == VOTE_FAULTY)
        b->short_since = instant_min(b->short_since, b->votes[i].asked_at);
  }
  if (!b->waiter->is_try && !is_final(status) &&
      (q->is_patient || instant_since(now, b->short_since).ns < q->connect_timeout.ns)) {
    for (size_t i = 0; i < q->count; i++)
      vote_withdraw(&b->votes[i], now);
    queue_rest(b, now);
    return;
  }
  ballot_fail(b, status, words, now);
}

static void round_failed(ballot *b, const vote_tally *t, instant now)
{
  if (t->busy == 0 || t->granted + t->busy < b->quorum->majority) {
    too_few(b, now);
    return;
  }
  b->is_short = false;
  b->met_others = true;
  if (b->waiter->is_try)
    ballot_fail(b, DIBS_BUSY, "somebody else holds it", now);
  else
    queue_settle(b, now);
}

void round_look(ballot *b, instant now)
{
  vote_tally t = vote_count(b, now);
  bool fails = is_failing(b, &t), waits = !b->waiter->is_try;
  const vote *lead;

  if (!fails && t.granted < b->quorum->majority)
    return;
  lead = waits ? queue_lead(b) : NULL;
  if (lead != NULL && lead->state == VOTE_PENDING && !lead->waits)
    return;                          /* its answer is near, or it will count as silent */
  /* Who waits leaves the lock to those who stand at the lead already, or one who takes it
   * again and again would pass them each time. Not when they seem to be stuck. */
  if (fails || (lead != NULL && lead->state != VOTE_GRANTED && !b->is_probing))
    round_failed(b, &t, now);
  else
    won(b, now);
}

void round_timer(ballot *b, instant now)
{
  quorum *q = b->quorum;

  for (size_t i = 0; i < q->count; i++) {
    const vote *v = &b->votes[i];

    if ((v->state == VOTE_PENDING && !v->waits) || (v->state == VOTE_GRANTED && v->is_raising))
      q->servers[i].is_silent = true;
  }
  if (b->is_raising)
    too_few(b, now);
  else
    round_look(b, now);
}

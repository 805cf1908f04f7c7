/* SPDX-License-Identifier: MIT */
/* quorum/queue.c - waiting: in the queue of one server, the lead, where the order is decided.
 *
 * `stage` in BALLOT_AT_LEAD: when to look whether a majority is to be had without the lead,
 * which may be stuck; in BALLOT_RESTING: the next round. */
#include "quorum/parts.h"

#define REST_FIRST SPAN_MS(10)
#define REST_MAX SPAN_MS(200)
#define REST_SHORT SPAN_MS(100)     /* while too few servers answer */
#define PROBE_FIRST SPAN_MS(1000)
#define PROBE_DOUBLINGS 4

/* The same order for all clients, by the numbers of the servers: drawn from the name, so
 * that each server leads for its share of the names. */
static size_t first_of(const ballot *b)
{
  uint64_t hash = 14695981039346656037u;

  for (size_t i = 1; i < b->name->size; i++)
    hash = (hash ^ (unsigned char)b->name->bytes[i]) * 1099511628211u;
  hash ^= hash >> 32;
  return (size_t)(hash % b->quorum->count);
}

/* The first in the order that answers, or will soon. */
vote *queue_lead(ballot *b)
{
  const quorum *q = b->quorum;
  size_t first = first_of(b);

  for (size_t i = 0; i < q->count; i++) {
    size_t server = (first + i) % q->count;
    vote *v = &b->votes[server];

    if (v->is_barred)
      continue;
    if (v->state == VOTE_GRANTED || v->state == VOTE_BUSY)
      return v;
    if (v->state == VOTE_PENDING && (v->waits || !q->servers[server].is_silent))
      return v;
  }
  return NULL;
}

void queue_rest(ballot *b, instant now)
{
  quorum *q = b->quorum;
  unsigned doublings = b->rests < 5 ? b->rests : 5;
  span longest = b->is_short ? REST_SHORT
                             : span_min((span){ REST_FIRST.ns << doublings }, REST_MAX);

  b->rests++;
  b->state = BALLOT_RESTING;
  timers_set(&q->timers, &b->stage,
             instant_add(now, random_span(&q->random, (span){ longest.ns / 10 }, longest)));
}

static void queue_stand(ballot *b, instant now)
{
  quorum *q = b->quorum;
  unsigned doublings = b->probes < PROBE_DOUBLINGS ? b->probes : PROBE_DOUBLINGS;
  span often = { PROBE_FIRST.ns << doublings };

  b->state = BALLOT_AT_LEAD;
  b->rests = 0;
  timers_set(&q->timers, &b->stage,
             instant_add(now, random_span(&q->random, often, (span){ often.ns * 2 })));
}

/* All but the lead are given back. Who has it there already is the next, and tries the
 * others again soon: whoever has them will stand behind him. */
void queue_settle(ballot *b, instant now)
{
  const quorum *q = b->quorum;
  vote *lead = queue_lead(b);

  b->is_raising = b->is_probing = false;
  for (size_t i = 0; i < q->count; i++)
    if (&b->votes[i] != lead)
      vote_withdraw(&b->votes[i], now);
  if (lead != NULL && lead->state == VOTE_BUSY)
    vote_cast(lead, false, 0, now);
  if (lead != NULL && lead->state == VOTE_PENDING)
    queue_stand(b, now);
  else
    queue_rest(b, now);
}

void queue_timer(ballot *b, instant now)
{
  b->is_probing = b->state == BALLOT_AT_LEAD;
  b->probes += b->is_probing;
  round_begin(b, now);
}

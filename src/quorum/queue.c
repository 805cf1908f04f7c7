/* SPDX-License-Identifier: MIT */
/* quorum/queue.c - waits in the queue of one server, the queue server, which decides the order.
 *
 * `stage` in RECORD_QUEUED: when to try whether a majority is free without it,
 * which may be stuck; in RECORD_RESTING: the next round. */
#include "quorum/internal.h"

#include "lock/name_place.h"

#define REST_FIRST SPAN_MS(10)
#define REST_MAX SPAN_MS(200)
#define REST_DOUBLINGS 10
#define REST_SHORT SPAN_MS(100)     /* while too few servers reply */
#define PROBE_FIRST SPAN_MS(1000)
#define PROBE_DOUBLINGS 4
#define CONTENDED_FOR SPAN_MS(1000)

/* ---- the queue server ---- */

static uint64_t hash_of(const quorum_record *r)
{
  return name_hash(r->entry->bytes + 1, r->entry->size - 1);
}

/* The first server in an order that all clients derive from the name: each is the queue
 * server for its share of the names. */
static size_t first_of(uint64_t name, size_t servers)
{
  return name_place(name, servers);
}

/* The first server in the order that replies, or will soon; of those in quarantine, or of
 * the others. */
static member_lease *member_to_queue_at(quorum_record *r, bool is_held_back)
{
  const quorum *q = r->quorum;
  size_t first = first_of(hash_of(r), q->count);

  for (size_t i = 0; i < q->count; i++) {
    size_t server = (first + i) % q->count;
    member_lease *m = &r->members[server];

    if (m->is_barred || m->is_held_back != is_held_back)
      continue;
    if (m->state == MEMBER_GRANTED || m->state == MEMBER_BUSY)
      return m;
    if (m->state == MEMBER_PENDING && (m->waits || !q->servers[server].is_silent))
      return m;
  }
  return NULL;
}

member_lease *queue_member(quorum_record *r)
{
  member_lease *at_queue = member_to_queue_at(r, false);

  return at_queue != NULL ? at_queue : member_to_queue_at(r, true);
}

/* ---- names for which clients compete ----
 *
 * A client that releases such a name and asks for it again at all servers would have a majority
 * before the next in the queue does, only to give it back. So it asks the queue server first. A
 * guess: where it is wrong, the others are asked a reply time later. */

static contended_name *contended_at(quorum *q, uint64_t name)
{
  return &q->contended[name_place(name, CONTENDED_NAMES)];
}

static void contended_note(const quorum_record *r, instant now)
{
  uint64_t name = hash_of(r);

  *contended_at(r->quorum, name) = (contended_name){ .name = name,
                                                     .until = instant_add(now, CONTENDED_FOR) };
}

void queue_found_free(const quorum_record *r)
{
  uint64_t name = hash_of(r);
  contended_name *c = contended_at(r->quorum, name);

  if (c->name == name)
    c->until = (instant){ 0 };
}

member_lease *queue_to_ask_first(quorum_record *r, instant now)
{
  quorum *q = r->quorum;
  uint64_t name = hash_of(r);
  const contended_name *c = contended_at(q, name);
  size_t first = first_of(name, q->count);

  if (r->is_short || wish_of(&r->claims)->is_try || c->name != name ||
      !instant_before(now, c->until))
    return NULL;
  for (size_t i = 0; i < q->count; i++) {
    size_t server = (first + i) % q->count;
    member_lease *m = &r->members[server];

    if (!m->is_barred && !m->is_held_back && !q->servers[server].is_silent)
      return m->state == MEMBER_GRANTED || m->state == MEMBER_PENDING ? NULL : m;
  }
  return NULL;
}

/* ---- pauses ---- */

/* What a client has of a name while another is granted at the queue server, it releases as soon as
 * it has that server's answer: so that other one has a majority after a reply time, mostly. */
static span rest_first(quorum_record *r)
{
  const quorum *q = r->quorum;
  const member_lease *at_queue = queue_member(r);

  if (at_queue == NULL || at_queue->state != MEMBER_GRANTED || q->pace.ns == 0)
    return REST_FIRST;
  return span_min((span){ q->pace.ns * 2 }, REST_FIRST);
}

void queue_rest(quorum_record *r, instant now)
{
  quorum *q = r->quorum;
  unsigned doublings = r->rests < REST_DOUBLINGS ? r->rests : REST_DOUBLINGS;
  span longest = r->is_short ? REST_SHORT
                             : span_min((span){ rest_first(r).ns << doublings }, REST_MAX);

  r->rests++;
  r->state = RECORD_RESTING;
  timers_set(&q->timers, &r->stage,
             instant_add(now, random_span(&q->random, (span){ longest.ns / 10 }, longest)));
}

/* As a waiter, it keeps its lease at the queue server, where only one client can have one, and
 * releases the others. So that client finds a majority free in the next round, mostly. */
void queue_rest_apart(quorum_record *r, instant at, instant now)
{
  const member_lease *at_queue = queue_member(r);

  r->is_raising = false;
  for (size_t i = 0; i < r->quorum->count; i++)
    if (&r->members[i] != at_queue || at_queue->state != MEMBER_GRANTED)
      member_withdraw(&r->members[i], now);
  queue_rest(r, now);
  if (at.ns > 0)
    timers_set(&r->quorum->timers, &r->stage, at);
}

static void queue_begin(quorum_record *r, instant now)
{
  quorum *q = r->quorum;
  unsigned doublings = r->probes < PROBE_DOUBLINGS ? r->probes : PROBE_DOUBLINGS;
  span often = { PROBE_FIRST.ns << doublings };

  r->state = RECORD_QUEUED;
  r->rests = 0;
  timers_set(&q->timers, &r->stage,
             instant_add(now, random_span(&q->random, often, (span){ often.ns * 2 })));
}

/* Releases all member leases but that at the queue server. A quorum record that is granted
 * there is the next, and soon tries the other servers again: their holders will queue after it. */
void queue_up(quorum_record *r, instant now)
{
  const quorum *q = r->quorum;
  member_lease *at_queue = queue_member(r);

  contended_note(r, now);
  r->is_raising = r->is_probing = false;
  for (size_t i = 0; i < q->count; i++)
    if (&r->members[i] != at_queue)
      member_withdraw(&r->members[i], now);
  if (at_queue != NULL && at_queue->state == MEMBER_BUSY)
    member_cast(at_queue, false, 0, now);
  if (at_queue != NULL && at_queue->state == MEMBER_PENDING)
    queue_begin(r, now);
  else
    queue_rest(r, now);
}

void queue_timer(quorum_record *r, instant now)
{
  r->is_probing = r->state == RECORD_QUEUED;
  r->probes += r->is_probing;
  round_begin(r, now);
}

/* SPDX-License-Identifier: MIT */
/* quorum/round.c - a round: tries at all servers at the same time, and its result.
 *
 * `stage` in RECORD_ROUND: the time limit for replies; then, while the fence is written to
 * the servers, the time limit for that. */
#include "quorum/internal.h"

#include <string.h>

#define PATIENCE_MIN SPAN_MS(50)
#define PACE_FIRST SPAN_MS(50)      /* before any reply */
#define AHEAD_MAX SPAN_MS(1000)
#define SPLIT_PATIENCE SPAN_MS(1000)
#define UNNAMED_RESTS 4             /* of a try, while servers do not name the holder */

/* The time to wait for a server's reply. */
span round_patience(const quorum *q)
{
  span pace = q->pace.ns > 0 ? q->pace : PACE_FIRST;
  span patience = { pace.ns * 4 + SPAN_MS(10).ns };

  return span_min(span_max(patience, PATIENCE_MIN), q->command_timeout);
}

void round_answered(member_lease *m, instant now)
{
  quorum *q = m->record->quorum;
  span took = instant_since(now, m->asked_at);

  if (took.ns > round_patience(q).ns)
    return;                         /* slow servers are not waited for either */
  q->servers[member_server(m)].is_silent = false;
  q->pace.ns = q->pace.ns > 0 ? (q->pace.ns * 7 + took.ns) / 8 : took.ns;
}

/* A token that all servers can grant: above all known ones, and above the clock of the fastest
 * server when the requests arrive. So all grant the same token, and it is the fence. */
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

/* Whether the quorum record cannot be won any more, or only by waiting for silent servers. */
static bool is_failing(const quorum_record *r, const member_tally *t)
{
  size_t majority = r->quorum->majority;

  if (t->granted >= majority)
    return false;
  if (t->granted + t->pending < majority)
    return true;
  return t->busy > 0 && t->granted + t->busy >= majority && t->awaited == 0;
}

/* Tries at all servers that have not been asked. */
static void ask_all(quorum_record *r, instant now)
{
  quorum *q = r->quorum;
  uint64_t token = proposal(q, now);
  member_tally t;

  r->asks_first = false;
  for (size_t i = 0; i < q->count; i++) {
    member_lease *m = &r->members[i];

    if (m->state == MEMBER_GRANTED && !m->was_raised)
      member_raise(m, token, now);    /* the queue server: its token is the oldest */
    else if (m->state != MEMBER_GRANTED && m->state != MEMBER_PENDING)
      member_cast(m, true, token, now);
  }
  t = member_count(r, now);
  timers_set(&q->timers, &r->stage,
             is_failing(r, &t) ? now : instant_add(now, round_patience(q)));
}

void round_begin(quorum_record *r, instant now)
{
  member_lease *first = queue_to_ask_first(r, now);

  r->state = RECORD_ROUND;
  r->is_raising = false;
  if (first == NULL) {
    ask_all(r, now);
    return;
  }
  r->asks_first = true;
  member_cast(first, true, proposal(r->quorum, now), now);
  timers_set(&r->quorum->timers, &r->stage,
             first->state != MEMBER_PENDING ? now : instant_add(now, round_patience(r->quorum)));
}

/* ---- the end of a round ---- */

/* Each majority shares a server with the majority of every earlier holder, and has a
 * higher token there. So the highest token of any majority is a valid fence; this is the
 * lowest of them. */
static uint64_t fence_token(const quorum_record *r, instant now)
{
  uint64_t tokens[QUORUM_SERVERS_MAX] = { 0 };
  size_t count = 0;

  for (size_t i = 0; i < r->quorum->count; i++) {
    uint64_t token = r->members[i].token;
    size_t at = count;

    if (!member_stands(&r->members[i], now))
      continue;
    for (; at > 0 && tokens[at - 1] > token; at--)
      tokens[at] = tokens[at - 1];
    tokens[at] = token;
    count++;
  }
  return tokens[r->quorum->majority - 1];
}

/* A majority must store the fence before the grant is reported, or the next holder could
 * get a lower one. */
static void won(quorum_record *r, instant now)
{
  quorum *q = r->quorum;
  uint64_t token = fence_token(r, now);
  size_t confirmed = 0;

  for (size_t i = 0; i < q->count; i++)
    confirmed += member_stands(&r->members[i], now) && r->members[i].token >= token;
  if (confirmed >= q->majority) {
    held_begin(r, token, now);
    return;
  }
  for (size_t i = 0; i < q->count; i++)
    if (r->members[i].state == MEMBER_GRANTED)
      member_raise(&r->members[i], token, now);
  if (r->is_raising)
    return;
  r->is_raising = true;
  timers_set(&q->timers, &r->stage, instant_add(now, q->command_timeout));
}

static bool is_final(dibs_status s)
{
  return s < 0 && s != DIBS_ERR_UNREACHABLE && s != DIBS_ERR_REFUSED &&
         s != DIBS_ERR_READ_ONLY && s != DIBS_ERR_NO_MEMORY;
}

/* Too few servers take part. A waiting claim goes on until the limit for outages. */
static void too_few(quorum_record *r, instant now)
{
  quorum *q = r->quorum;
  const char *words;
  dibs_status status = report_fault(r, now, &words);

  if (!r->is_short) {
    r->is_short = true;
    r->short_since = now;
    for (size_t i = 0; i < q->count; i++)        /* they were waited for already */
      if (r->members[i].state == MEMBER_FAULTY)
        r->short_since = instant_min(r->short_since, r->members[i].asked_at);
  }
  if (!wish_of(&r->claims)->is_try && !is_final(status) &&
      instant_before(now, wish_of(&r->claims)->give_up_at) &&
      (q->is_patient || instant_since(now, r->short_since).ns < q->connect_timeout.ns)) {
    for (size_t i = 0; i < q->count; i++)
      member_withdraw(&r->members[i], now);
    queue_rest(r, now);
    return;
  }
  record_fail(r, status, words, now);
}

/* What the servers said that answered busy. */
typedef struct rivals {
  size_t most;                   /* servers of the one client that has most of those named */
  size_t unnamed;                /* servers that do not name the holder */
  size_t all;
} rivals;

static bool is_rival(const member_lease *m, const member_lease *other)
{
  return other->state == MEMBER_BUSY && other->watched.lease.token != 0 &&
         strcmp(m->watched.lease.client, other->watched.lease.client) == 0;
}

static rivals count_rivals(const quorum_record *r)
{
  rivals found = { .most = 0 };

  for (size_t i = 0; i < r->quorum->count; i++) {
    const member_lease *m = &r->members[i];
    size_t same = 0;

    if (m->state != MEMBER_BUSY || m->is_held_back)
      continue;
    found.all++;
    found.unnamed += m->watched.lease.token == 0;
    for (size_t j = 0; m->watched.lease.token != 0 && j < r->quorum->count; j++)
      same += is_rival(m, &r->members[j]);
    found.most = same > found.most ? same : found.most;
  }
  return found;
}

/* Whether a client may have a majority that is not named as the holder of one. If this quorum
 * record was granted none, one client may have all; otherwise those are probably shared out, as
 * the next rounds show. Of several readers a server names one. */
static bool may_be_held(const quorum_record *r, const member_tally *t, const rivals *found)
{
  size_t possible = r->kind == LOCK_MUTEX ? found->most + found->unnamed : found->all;

  return possible >= r->quorum->majority && (t->granted == 0 || r->rests >= UNNAMED_RESTS) &&
         (r->kind != LOCK_MUTEX || found->unnamed > 0);
}

/* When a majority is free, if the leases of the others there have ended and can be taken within a
 * second, as a try on one server waits for. Once, and if its own limit leaves time for that. */
static bool try_outlasts(quorum_record *r, const member_tally *t)
{
  instant last = { 0 };
  size_t over = 0;

  for (size_t i = 0; i < r->quorum->count; i++) {
    const member_lease *m = &r->members[i];

    if (m->state != MEMBER_BUSY || m->free_at.ns == 0)
      continue;
    over++;
    last = instant_max(last, m->free_at);
  }
  if (over == 0 || t->granted + over < r->quorum->majority || r->free_at.ns > 0 ||
      !instant_before(last, wish_of(&r->claims)->give_up_at))
    return false;
  r->free_at = last;
  return true;
}

/* The answer is one for the tries after it, too. */
static void fail_busy(quorum_record *r, const char *words, instant now)
{
  record_tries_end(r, words, now);
  record_fail(r, DIBS_BUSY, words, now);
}

/* Others have too many of its servers. It is busy if one of them has a majority; otherwise
 * clients that asked at the same time share the servers, and none of them holds it. */
static void try_failed(quorum_record *r, const member_tally *t, instant now)
{
  rivals found = count_rivals(r);
  bool is_held = found.most >= r->quorum->majority;
  instant since;

  if (try_outlasts(r, t)) {
    queue_rest_apart(r, r->free_at, now);
    return;
  }
  since = instant_max(waiter_since(&r->claims), r->free_at);
  if (!is_held && t->awaited > 0)
    return;                          /* their replies are near, or they will count as silent */
  if (is_held || may_be_held(r, t, &found))
    fail_busy(r, "another owner holds it", now);
  else if (member_too_many_held_back(r))
    fail_busy(r, QUARANTINE_WORDS, now);
  else if (instant_since(now, since).ns < SPLIT_PATIENCE.ns)
    queue_rest_apart(r, (instant){ 0 }, now);
  else
    fail_busy(r, ROUND_SPLIT_WORDS, now);
}

static void round_failed(quorum_record *r, const member_tally *t, instant now)
{
  if (t->busy == 0 || t->granted + t->busy < r->quorum->majority) {
    too_few(r, now);
    return;
  }
  r->is_short = false;
  r->met_others = true;
  if (wish_of(&r->claims)->is_try) {
    try_failed(r, t, now);
  } else {
    record_tries_end(r, NULL, now);
    queue_up(r, now);
  }
}

/* The server that was asked first has answered. In quarantine it is a bad queue server. */
static void first_answered(quorum_record *r, instant now)
{
  const member_lease *first = queue_member(r);

  if (first != NULL && first->state == MEMBER_BUSY && !first->is_held_back) {
    r->asks_first = false;
    r->met_others = true;
    queue_up(r, now);
    return;
  }
  queue_found_free(r);
  ask_all(r, now);
}

/* Until the first replies nothing is known of the time that they take: the limit of a first round
 * is long, and is set again. */
static void shorten(quorum_record *r)
{
  quorum *q = r->quorum;
  instant asked_at = { 0 }, limit;

  for (size_t i = 0; i < q->count; i++)
    if (r->members[i].state == MEMBER_PENDING && !r->members[i].waits)
      asked_at = instant_max(asked_at, r->members[i].asked_at);
  limit = instant_add(asked_at, round_patience(q));
  if (!r->is_raising && asked_at.ns > 0 && timer_is_set(&r->stage) &&
      instant_before(limit, r->stage.at))
    timers_set(&q->timers, &r->stage, limit);
}

void round_look(quorum_record *r, instant now)
{
  member_tally t = member_count(r, now);
  bool fails = is_failing(r, &t), waits = !wish_of(&r->claims)->is_try;
  const member_lease *at_queue;

  shorten(r);
  if (r->asks_first) {
    if (t.pending == 0)
      first_answered(r, now);
    return;
  }
  if (!fails && t.granted < r->quorum->majority)
    return;
  at_queue = waits ? queue_member(r) : NULL;
  if (at_queue != NULL && at_queue->state == MEMBER_PENDING && !at_queue->waits)
    return;                          /* its reply is near, or it will count as silent */
  /* A quorum record yields to the waiters in the queue, or a client that takes the lock repeatedly
   * would pass them each time. Not if they seem to be stuck. */
  if (fails || (at_queue != NULL && at_queue->state != MEMBER_GRANTED && !r->is_probing))
    round_failed(r, &t, now);
  else
    won(r, now);
}

void round_timer(quorum_record *r, instant now)
{
  quorum *q = r->quorum;

  for (size_t i = 0; i < q->count; i++) {
    const member_lease *m = &r->members[i];

    if ((m->state == MEMBER_PENDING && !m->waits) || (m->state == MEMBER_GRANTED && m->is_raising))
      q->servers[i].is_silent = true;
  }
  if (r->is_raising)
    too_few(r, now);
  else if (r->asks_first)
    ask_all(r, now);
  else
    round_look(r, now);
}

/* SPDX-License-Identifier: MIT */
/* quorum/held.c - what a majority of leases is worth, from the grant to the release.
 *
 * `stage` in BALLOT_HELD: lost is told; in BALLOT_ENDING: the belief is over, and what is left
 * is given back. */
#include "quorum/parts.h"

#include <assert.h>

#define LOST_NOTICE_MAX SPAN_MS(5)
#define LOCAL_NUMBERS 1024

instant held_end(const ballot *b)
{
  return instant_min(b->valid_until, b->limit);
}

/* Until when a majority is to be believed: at that instant one too few is left. A vote counts
 * only with the fence's token, so that who comes next meets it. `ret_fresh`: those in no
 * doubt. false: there is none. */
static bool majority_until(const ballot *b, instant now, instant *ret_until, size_t *ret_fresh)
{
  const quorum *q = b->quorum;
  instant ends[QUORUM_SERVERS_MAX];
  size_t count = 0;

  *ret_fresh = 0;
  for (size_t i = 0; i < q->count; i++) {
    const vote *v = &b->votes[i];
    size_t at = count;

    if (!vote_stands(v, now) || v->token < b->token)
      continue;
    *ret_fresh += !v->is_suspect;
    for (; at > 0 && instant_before(ends[at - 1], v->valid_until); at--)
      ends[at] = ends[at - 1];
    ends[at] = v->valid_until;
    count++;
  }
  if (count < q->majority)
    return false;
  *ret_until = ends[q->majority - 1];
  return true;
}

/* Lost is told a little before the end, so that the teller may be late. */
static void set_deadline(ballot *b)
{
  span notice = span_min(LOST_NOTICE_MAX, (span){ b->ttl.ns / 20 });
  instant at = held_end(b);

  at.ns -= notice.ns;
  timers_set(&b->quorum->timers, &b->stage, at);
}

static void set_repair(ballot *b, span low, span high, instant now)
{
  quorum *q = b->quorum;

  if (b->is_fixed)
    return;                            /* it would last longer there than elsewhere */
  timers_set(&q->timers, &b->repair, instant_add(now, random_span(&q->random, low, high)));
}

void held_repair_soon(ballot *b, instant now)
{
  set_repair(b, SPAN_MS(20), SPAN_MS(200), now);
}

static void set_next_repair(ballot *b, instant now)
{
  span third = span_max((span){ b->ttl.ns / 3 }, SPAN_MS(20));

  set_repair(b, (span){ third.ns - third.ns / 10 }, third, now);
}

static void tell_holders(const ballot *b, lock_event_kind kind)
{
  for (claim *c = b->holders; c != NULL; c = c->next)
    tell_event(c, kind);
}

/* ---- the grant ---- */

static void raise_lower(ballot *b, instant now)
{
  for (size_t i = 0; i < b->quorum->count; i++)
    if (b->votes[i].state == VOTE_GRANTED)
      vote_raise(&b->votes[i], b->token, now);
}

void held_begin(ballot *b, uint64_t token, instant now)
{
  quorum *q = b->quorum;
  claim *c = b->waiter;
  size_t fresh;
  bool is_there;

  b->token = token;
  is_there = majority_until(b, now, &b->valid_until, &fresh);
  assert(is_there);                    /* round.c counted them just now */
  (void)is_there;
  b->waiter = NULL;
  DL_APPEND(b->holders, c);
  timers_clear(&q->timers, &c->timer);
  b->state = BALLOT_HELD;
  b->is_raising = b->is_probing = b->is_short = false;
  b->rests = b->probes = 0;
  b->limit = c->max_hold.ns > 0 ? instant_add(now, c->max_hold) : INSTANT_NEVER;
  b->is_suspect = fresh < q->majority;
  c->state = CLAIM_HELD;
  c->fence = token * LOCAL_NUMBERS;
  c->depth = 1;
  q->counts.waiting--;
  q->counts.holds++;
  q->counts.granted++;
  set_deadline(b);
  set_next_repair(b, now);
  raise_lower(b, now);
  tell_event(c, LOCK_GRANTED);
  if (b->is_suspect)
    tell_event(c, LOCK_SUSPECT);
}

void held_again(ballot *b, claim *c)
{
  quorum *q = b->quorum;

  c->ballot = b;
  c->depth = b->holders->prev->depth + 1;
  c->fence = b->holders->fence;
  c->state = CLAIM_HELD;
  DL_APPEND(b->holders, c);
  q->counts.waiting--;
  q->counts.holds++;
  q->counts.granted++;
  q->counts.granted_local++;
  tell_event(c, LOCK_GRANTED);
  if (b->is_suspect)
    tell_event(c, LOCK_SUSPECT);
}

/* ---- while it is held ---- */

static void give_up(ballot *b, const char *words, instant end, instant now)
{
  quorum *q = b->quorum;

  while (b->holders != NULL) {
    claim *c = b->holders;

    DL_DELETE(b->holders, c);
    DL_APPEND(b->lost, c);
    c->state = CLAIM_LOST;
    c->status = DIBS_LOST;
    c->words = words;
    q->counts.lost++;
    tell_event(c, LOCK_LOST);
  }
  timers_clear(&q->timers, &b->repair);
  if (!instant_before(now, end)) {
    ballot_leave(b, now);
    return;
  }
  /* Who has not heard it yet must not meet the next one before the end. */
  b->state = BALLOT_ENDING;
  timers_set(&q->timers, &b->stage, end);
  for (size_t i = 0; i < q->count; i++)
    if (b->votes[i].state == VOTE_PENDING)
      vote_withdraw(&b->votes[i], now);
}

void held_look(ballot *b, instant now)
{
  size_t fresh;
  instant until;
  bool moved, was_suspect = b->is_suspect;

  if (!majority_until(b, now, &until, &fresh)) {
    b->quorum->counts.renew_failed++;
    give_up(b, "fewer than a majority of the servers have this lease", now, now);
    return;
  }
  moved = until.ns != b->valid_until.ns;
  b->valid_until = until;
  b->is_suspect = fresh < b->quorum->majority;
  if (moved) {
    b->quorum->counts.renewed++;
    set_deadline(b);
  }
  if (moved || (was_suspect && !b->is_suspect))
    tell_holders(b, LOCK_RENEWED);
  if (b->is_suspect && (moved || !was_suspect))
    tell_holders(b, LOCK_SUSPECT);
}

/* Its part came late, was taken again, or has the fence's token now. */
void held_granted(vote *v, instant now)
{
  ballot *b = v->ballot;

  if (b->is_downgraded)
    (void)lock_downgrade(b->quorum->servers[vote_server(v)].table, v->id, now);
  vote_raise(v, b->token, now);
  held_look(b, now);
}

void held_deadline(ballot *b, instant now)
{
  bool by_limit = !instant_before(b->valid_until, b->limit);

  if (b->state == BALLOT_ENDING)
    ballot_leave(b, now);
  else
    give_up(b, by_limit      ? "max_hold_ms is over"
               : b->is_fixed ? "the fixed lease is over"
                             : "not renewed in time by a majority",
            held_end(b), now);
}

/* What was lost on a minority is taken again, so that the next loss is borne, too. */
void held_repair(ballot *b, instant now)
{
  for (size_t i = 0; i < b->quorum->count; i++) {
    vote *v = &b->votes[i];

    if (v->state == VOTE_NONE || v->state == VOTE_BUSY || v->state == VOTE_FAULTY)
      vote_cast(v, true, b->token, now);
  }
  set_next_repair(b, now);
}

void held_downgrade(ballot *b, instant now)
{
  b->is_downgraded = true;
  b->kind = LOCK_READ;
  for (size_t i = 0; i < b->quorum->count; i++)
    if (b->votes[i].state == VOTE_GRANTED)
      (void)lock_downgrade(b->quorum->servers[i].table, b->votes[i].id, now);
}

/* ---- the release ---- */

void held_release(ballot *b, instant now)
{
  quorum *q = b->quorum;

  for (claim *c = b->holders; c != NULL; c = c->next) {
    c->state = CLAIM_RELEASING;
    timers_set(&q->timers, &c->timer, instant_add(now, q->command_timeout));
  }
  ballot_leave(b, now);
}

/* Done when so many have confirmed that others find a majority free: nobody waits for a
 * server that does not answer. */
void held_left(ballot *b)
{
  const quorum *q = b->quorum;
  size_t open = 0, doubtful = 0, done = 0, taken = 0;
  dibs_status status = DIBS_OK;

  if (b->state != BALLOT_LEAVING || b->holders == NULL)
    return;
  for (size_t i = 0; i < q->count; i++) {
    const vote *v = &b->votes[i];
    bool is_left = v->state == VOTE_LEFT;

    open += v->state == VOTE_LEAVING;
    doubtful += v->state == VOTE_CANCELLED || (is_left && v->why == DIBS_UNKNOWN);
    done += v->state == VOTE_LEAVING || (is_left && v->why == DIBS_OK);
    taken += is_left && v->why == DIBS_TAKEN;
  }
  if (open > 0 && open + doubtful > q->count - q->majority)
    return;
  if (open + doubtful > q->count - q->majority)
    status = DIBS_UNKNOWN;
  else if (done + doubtful < q->majority)
    status = taken > 0 ? DIBS_TAKEN : DIBS_EXPIRED;
  while (b->holders != NULL) {
    claim *c = b->holders;

    DL_DELETE(b->holders, c);
    b->quorum->counts.released++;
    tell_end(c, LOCK_RELEASED, status,
             status == DIBS_OK        ? ""
             : status == DIBS_UNKNOWN ? "too few servers have confirmed in time"
                                      : "it had ended before it was released");
  }
}

/* SPDX-License-Identifier: MIT */
/* quorum/claim.c - what the program asks for: claims, their owners, their ends, and time. */
#include "quorum/parts.h"

#include <string.h>

static claim *claim_of(const quorum *q, uint64_t id)
{
  return slots_get(&q->slots, id);
}

static claim *claim_new(quorum *q, const lock_wish *w)
{
  claim *c;

  if (!timers_reserve(&q->timers, q->claim_count + 2 * q->ballot_count + 3))
    return NULL;
  c = mem_zalloc(&q->memory, sizeof(*c) + w->owner_size);
  if (c == NULL)
    return NULL;
  c->id = slots_add(&q->slots, c);
  if (c->id == 0) {
    mem_free(&q->memory, c);
    return NULL;
  }
  c->context = w->context;
  c->quorum = q;
  c->state = CLAIM_WAITING;
  c->is_try = w->is_try;
  c->reads = w->kind == LOCK_READ;
  c->ttl = w->ttl;
  c->max_hold = w->max_hold;
  c->give_up_at = w->give_up_at;
  c->words = "";
  timer_init(&c->timer, TIMER_CLAIM, c);
  c->owner_size = w->owner_size;
  memcpy(c->owner, w->owner_size > 0 ? w->owner : "", w->owner_size);
  q->claim_count++;
  q->counts.waiting++;
  q->counts.bytes += sizeof(*c) + c->owner_size;
  return c;
}

static claim *claim_unmake(claim *c)
{
  quorum *q = c->quorum;

  slots_remove(&q->slots, c->id);
  q->claim_count--;
  q->counts.waiting--;
  q->counts.bytes -= sizeof(*c) + c->owner_size;
  mem_free(&q->memory, c);
  return NULL;
}

static bool is_of(const claim *c, const lock_wish *w)
{
  return c->owner_size > 0 && c->owner_size == w->owner_size &&
         memcmp(c->owner, w->owner, w->owner_size) == 0;
}

/* The ballot by which the owner has the name already: a newer one before an older. */
static ballot *held_by(const name *n, const lock_wish *w)
{
  for (ballot *b = n != NULL ? n->last : NULL; b != NULL; b = b->previous)
    if (b->state == BALLOT_HELD && is_of(b->holders, w))
      return b;
  return NULL;
}

static void enter_again(ballot *b, claim *c, const lock_wish *w)
{
  if (w->no_reentry)
    tell_end(c, LOCK_FAILED, DIBS_WOULD_DEADLOCK, "this owner holds the name already");
  else if (w->kind == LOCK_WRITE && b->kind == LOCK_READ)
    tell_end(c, LOCK_FAILED, DIBS_WOULD_DEADLOCK,
             "this owner reads it: a writer would wait for itself; release first");
  else
    held_again(b, c);
}

static void begin(ballot *b, instant now)
{
  claim *c = b->waiter;

  if (!instant_is_never(c->give_up_at))
    timers_set(&b->quorum->timers, &c->timer, c->give_up_at);
  if (b->kind != LOCK_MUTEX || b->previous == NULL)
    round_begin(b, now);
}

dibs_status quorum_claim(quorum *q, const lock_wish *w, instant now, uint64_t *ret_id)
{
  const name *n;
  ballot *b;
  claim *c;

  if (q->is_closing)
    return DIBS_ERR_CLOSED;
  if ((w->kind != LOCK_MUTEX && w->kind != LOCK_READ && w->kind != LOCK_WRITE) ||
      w->linger.ns > 0)
    return DIBS_ERR_UNSUPPORTED;
  n = quorum_name(q, w);
  if (n == NULL && q->names_max > 0 && q->counts.names >= q->names_max)
    return DIBS_ERR_LIMIT;
  c = claim_new(q, w);
  if (c == NULL)
    return DIBS_ERR_NO_MEMORY;

  b = held_by(n, w);
  if (b != NULL) {
    enter_again(b, c, w);
  } else if (w->is_try && w->kind == LOCK_MUTEX && n != NULL) {
    tell_end(c, LOCK_FAILED, DIBS_BUSY, "held or waited for by this client");
  } else {
    b = ballot_new(q, w, c);
    if (b == NULL) {
      (void)claim_unmake(c);
      return DIBS_ERR_NO_MEMORY;
    }
    begin(b, now);
  }
  *ret_id = c->id;
  quorum_pump(q, now);
  return DIBS_OK;
}

/* ---- the end of a wish ---- */

static bool waiting_fail(quorum *q, uint64_t id, dibs_status status, const char *words,
                         instant now)
{
  claim *c = claim_of(q, id);

  if (c == NULL || c->state != CLAIM_WAITING)
    return false;
  ballot_fail(c->ballot, status, words, now);
  quorum_pump(q, now);
  return true;
}

bool quorum_cancel(quorum *q, uint64_t id, instant now)
{
  return waiting_fail(q, id, DIBS_CANCELLED, "cancelled", now);
}

bool quorum_fail(quorum *q, uint64_t id, dibs_status status, const char *words, instant now)
{
  text copy = text_over(q->fault_words, sizeof(q->fault_words));

  text_add(&copy, words);
  return waiting_fail(q, id, status, q->fault_words, now);
}

/* Time is over. Who never heard a majority was not kept out by others. */
static void waited_long_enough(claim *c, instant now)
{
  ballot *b = c->ballot;
  vote_tally t = vote_count(b, now);
  const char *words;
  dibs_status status;

  if (b->state == BALLOT_HERE || (b->met_others && !b->is_short) ||
      t.granted + t.busy >= c->quorum->majority) {
    ballot_fail(b, DIBS_TIMED_OUT, "somebody else holds it", now);
    return;
  }
  status = tell_fault(b, &words);
  ballot_fail(b, status, words, now);
}

/* ---- holds ---- */

static bool others_write(const ballot *b, const claim *c)
{
  for (const claim *o = b->holders; o != NULL; o = o->next)
    if (o != c && !o->reads)
      return true;
  return false;
}

static void release_held(claim *c, instant now)
{
  ballot *b = c->ballot;
  quorum *q = b->quorum;

  if (b->holders->next == NULL) {
    held_release(b, now);
    return;
  }
  DL_DELETE(b->holders, c);
  tell_end(c, LOCK_RELEASED, DIBS_OK, "");
  q->counts.released++;
  if (b->kind == LOCK_WRITE && !others_write(b, NULL))
    held_downgrade(b, now);
}

dibs_status quorum_release(quorum *q, uint64_t id, instant now)
{
  claim *c = claim_of(q, id);
  ballot *b;

  if (c == NULL || (c->state != CLAIM_HELD && c->state != CLAIM_LOST))
    return DIBS_ERR_STALE;
  b = c->ballot;
  if (c->state == CLAIM_HELD) {
    release_held(c, now);
  } else {
    DL_DELETE(b->lost, c);
    tell_end(c, LOCK_RELEASED, c->status, c->words);
    ballot_forget(b);
  }
  quorum_pump(q, now);
  return DIBS_OK;
}

dibs_status quorum_downgrade(quorum *q, uint64_t id, instant now)
{
  claim *c = claim_of(q, id);

  if (c == NULL || (c->state != CLAIM_HELD && c->state != CLAIM_LOST))
    return DIBS_ERR_STALE;
  if (c->ballot->kind == LOCK_MUTEX)
    return DIBS_ERR_ARGUMENT;
  if (c->state == CLAIM_LOST)
    return DIBS_LOST;
  if (c->reads)
    return DIBS_OK;
  if (others_write(c->ballot, c))
    return DIBS_ERR_ARGUMENT;
  c->reads = true;
  held_downgrade(c->ballot, now);
  quorum_pump(q, now);
  return DIBS_OK;
}

dibs_status quorum_detach(quorum *q, uint64_t id, instant now)
{
  (void)now;
  return claim_of(q, id) == NULL ? DIBS_ERR_STALE : DIBS_ERR_UNSUPPORTED;
}

bool quorum_token(const quorum *q, uint64_t id, text *out)
{
  (void)q;
  (void)id;
  (void)out;
  return false;
}

/* ---- time ---- */

instant quorum_deadline(const quorum *q)
{
  return instant_min(timers_first(&q->timers), q->closing_until);
}

static void stage_timer(ballot *b, instant now)
{
  switch (b->state) {
  case BALLOT_ROUND:
    round_timer(b, now);
    break;
  case BALLOT_AT_LEAD:
  case BALLOT_RESTING:
    queue_timer(b, now);
    break;
  case BALLOT_HELD:
  case BALLOT_ENDING:
    held_deadline(b, now);
    break;
  case BALLOT_HERE:
  case BALLOT_LEAVING:
    break;
  }
}

static void claim_timer(claim *c, instant now)
{
  ballot *b = c->ballot;

  if (c->state == CLAIM_WAITING) {
    waited_long_enough(c, now);
    return;
  }
  DL_DELETE(b->holders, c);            /* RELEASING */
  tell_end(c, LOCK_RELEASED, DIBS_UNKNOWN, "too few servers have confirmed in time");
  ballot_forget(b);
}

/* Whoever has not taken leave of us by now is not waited for, while a majority has. */
static void closing_timer(quorum *q)
{
  q->closing_until = INSTANT_NEVER;
  for (size_t i = 0; i < q->count; i++)
    q->servers[i].is_silent |= !lock_is_quiet(q->servers[i].table);
}

void quorum_tick(quorum *q, instant now)
{
  timer *due;

  quorum_pump(q, now);
  if (!instant_before(now, q->closing_until))
    closing_timer(q);
  while ((due = timers_pop(&q->timers, now)) != NULL) {
    if (due->kind == TIMER_CLAIM)
      claim_timer(due->owner, now);
    else if (due->kind == TIMER_REPAIR)
      held_repair(due->owner, now);
    else
      stage_timer(due->owner, now);
    quorum_pump(q, now);
  }
}

/* ---- the end ---- */

static void ballot_close(ballot *b, instant now)
{
  while (b->lost != NULL) {
    claim *c = b->lost;

    DL_DELETE(b->lost, c);
    tell_end(c, LOCK_RELEASED, c->status, c->words);
  }
  if (b->waiter != NULL)
    ballot_fail(b, DIBS_ERR_CLOSED, "the client is being closed", now);
  else if (b->state == BALLOT_HELD)
    held_release(b, now);
  else if (b->state != BALLOT_LEAVING)
    ballot_leave(b, now);                /* ENDING: nobody works on behind dibs_close() */
  else
    ballot_forget(b);
}

void quorum_close(quorum *q, instant now)
{
  ballot *b, *next;

  if (!q->is_closing)
    q->closing_until = instant_add(now, q->command_timeout);
  q->is_closing = true;
  for (b = q->ballots; b != NULL; b = next) {
    next = b->next_of_all;
    ballot_close(b, now);
  }
  quorum_pump(q, now);
}

/* A server that does not answer holds up the end of nobody, as long as a majority does. */
bool quorum_is_quiet(const quorum *q)
{
  size_t loud = 0;

  if (q->counts.holds + q->counts.waiting > 0)
    return false;
  for (size_t i = 0; i < q->count; i++)
    if (!lock_is_quiet(q->servers[i].table)) {
      if (!q->servers[i].is_silent)
        return false;
      loud++;
    }
  return loud <= q->count - q->majority;
}

lock_counts quorum_get_counts(const quorum *q)
{
  return q->counts;
}

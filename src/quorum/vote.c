/* SPDX-License-Identifier: MIT */
/* quorum/vote.c - one claim in the lock table of one server, and what its events mean. */
#include "quorum/parts.h"

size_t vote_server(const vote *v)
{
  return (size_t)(v - v->ballot->votes);
}

static quorum_server *server_of(const vote *v)
{
  return &v->ballot->quorum->servers[vote_server(v)];
}

bool vote_stands(const vote *v, instant now)
{
  return v->state == VOTE_GRANTED && instant_before(now, v->valid_until);
}

vote_tally vote_count(const ballot *b, instant now)
{
  const quorum *q = b->quorum;
  vote_tally t = { .granted = 0 };

  for (size_t i = 0; i < q->count; i++) {
    const vote *v = &b->votes[i];
    bool is_queued = v->state == VOTE_PENDING && v->waits;

    t.granted += vote_stands(v, now);
    t.busy += v->state == VOTE_BUSY || is_queued;
    if (v->state == VOTE_PENDING && !is_queued) {
      t.pending++;
      t.awaited += !q->servers[i].is_silent;
    }
  }
  return t;
}

static void keep_fault(const vote *v, dibs_status status, const char *words)
{
  quorum_server *s = server_of(v);
  text t = text_over(s->last_words, sizeof(s->last_words));

  s->last = status;
  text_add(&t, words);
}

/* Asks the server of `v`; what it grants has at least `token`. In its table nobody owns the
 * claim and nobody joins it: who re-enters is decided here. */
void vote_cast(vote *v, bool is_try, uint64_t token, instant now)
{
  ballot *b = v->ballot;
  const claim *c = b->waiter;
  lock_wish w = { .context = v, .kind = b->kind, .name = b->name->bytes + 1,
                  .name_size = b->name->size - 1, .units = 1, .is_try = is_try,
                  .is_fixed = b->is_fixed, .no_reentry = true, .ttl = b->ttl,
                  .note = b->note, .floor = token > 0 ? token - 1 : 0 };
  dibs_status status;

  w.give_up_at = c != NULL ? c->give_up_at : INSTANT_NEVER;
  if (!is_try)                    /* who comes after may go on in its place */
    for (const ballot *o = b->name->first; b->kind == LOCK_MUTEX && o != NULL; o = o->next)
      if (o->waiter != NULL)
        w.give_up_at = instant_max(w.give_up_at, o->waiter->give_up_at);

  v->waits = !is_try;
  v->is_raising = v->is_suspect = v->was_raised = false;
  v->asked_at = now;
  status = lock_claim(server_of(v)->table, &w, now, &v->id);
  if (status == DIBS_OK) {
    v->state = VOTE_PENDING;
    b->open++;
    return;
  }
  v->state = VOTE_FAULTY;
  v->why = status;
  v->id = 0;
  keep_fault(v, status, "its claim could not be made");
}

/* What was granted is given back, what is under way is called off; its table sees to a grant
 * that comes late. */
void vote_withdraw(vote *v, instant now)
{
  lock_table *t = server_of(v)->table;

  if (v->state == VOTE_PENDING) {
    if (!lock_cancel(t, v->id, now))
      (void)lock_release(t, v->id, now);         /* granted, and not told yet */
    v->state = VOTE_CANCELLED;
  } else if (v->state == VOTE_GRANTED) {
    (void)lock_release(t, v->id, now);
    v->state = VOTE_LEAVING;
  } else if (v->state != VOTE_LEAVING && v->state != VOTE_LEFT &&
             v->state != VOTE_CANCELLED) {
    v->state = VOTE_NONE;
  }
}

/* One at a time: the answer names the token that it is about. */
void vote_raise(vote *v, uint64_t token, instant now)
{
  if (v->is_raising || v->token >= token)
    return;
  if (lock_raise(server_of(v)->table, v->id, token, now) != DIBS_OK)
    return;
  v->is_raising = v->was_raised = true;
  if (token > v->ballot->quorum->seen)
    v->ballot->quorum->seen = token;
}

/* ---- events ---- */

static void granted(vote *v, const lock_event *e, instant now)
{
  ballot *b = v->ballot;

  if (!v->waits)
    round_answered(v, now);
  v->state = VOTE_GRANTED;
  v->waits = false;
  v->token = e->token;
  v->valid_until = e->valid_until;
  if (v->token > b->quorum->seen)
    b->quorum->seen = v->token;

  switch (b->state) {
  case BALLOT_ROUND:
    round_look(b, now);
    break;
  case BALLOT_AT_LEAD:
    b->is_probing = false;
    round_begin(b, now);
    break;
  case BALLOT_HELD:
    held_granted(v, now);
    break;
  case BALLOT_HERE:
  case BALLOT_RESTING:
  case BALLOT_ENDING:
  case BALLOT_LEAVING:
    vote_withdraw(v, now);
    break;
  }
}

static bool is_silence(dibs_status s)
{
  return s == DIBS_ERR_UNREACHABLE || s == DIBS_UNKNOWN;
}

static void failed(vote *v, const lock_event *e, instant now)
{
  ballot *b = v->ballot;
  bool waited = v->waits;

  v->id = 0;
  if (e->status == DIBS_BUSY) {
    v->state = VOTE_BUSY;
    round_answered(v, now);
  } else {
    v->state = VOTE_FAULTY;
    v->why = e->status;
    keep_fault(v, e->status, e->words);
    if (is_silence(e->status))
      server_of(v)->is_silent = true;
    else if (waited && e->status != DIBS_TIMED_OUT)
      v->is_barred = true;
  }
  v->waits = false;
  if (b->state == BALLOT_ROUND)
    round_look(b, now);
  else if (b->state == BALLOT_AT_LEAD && waited)
    queue_rest(b, now);
}

static void lost(vote *v, instant now)
{
  ballot *b = v->ballot;

  (void)lock_release(server_of(v)->table, v->id, now);
  v->id = 0;
  v->state = VOTE_NONE;
  if (b->state == BALLOT_ROUND) {
    round_look(b, now);
  } else if (b->state == BALLOT_HELD) {
    held_look(b, now);
    if (b->state == BALLOT_HELD)
      held_repair_soon(b, now);
  }
}

static void left(vote *v, const lock_event *e)
{
  v->state = VOTE_LEFT;
  v->why = e->status;
  if (e->status == DIBS_UNKNOWN)
    server_of(v)->is_silent = true;
  held_left(v->ballot);
}

static void present_event(vote *v, const lock_event *e, instant now)
{
  ballot *b = v->ballot;

  switch (e->kind) {
  case LOCK_GRANTED:
    if (v->state == VOTE_PENDING)
      granted(v, e, now);
    break;
  case LOCK_RENEWED:
    v->valid_until = e->valid_until;
    v->is_suspect = false;
    if (b->state == BALLOT_HELD)
      held_look(b, now);
    break;
  case LOCK_SUSPECT:
    v->is_suspect = true;
    if (b->state == BALLOT_HELD)
      held_look(b, now);
    break;
  case LOCK_LOST:
    if (v->state == VOTE_GRANTED)
      lost(v, now);
    break;
  case LOCK_RAISED:
    v->is_raising = false;
    v->token = e->token;
    if (b->state == BALLOT_ROUND)
      round_look(b, now);
    else if (b->state == BALLOT_HELD)
      held_granted(v, now);
    break;
  case LOCK_FAILED:
    if (v->state == VOTE_PENDING)
      failed(v, e, now);
    break;
  case LOCK_RELEASED:
  case LOCK_DETACHED:
    if (v->state == VOTE_LEAVING)
      left(v, e);
    break;
  }
}

void vote_event(quorum *q, const lock_event *e, instant now)
{
  vote *v = e->context;
  ballot *b = v->ballot;

  (void)q;
  if (e->kind != LOCK_FAILED && e->kind != LOCK_RELEASED && e->kind != LOCK_DETACHED)
    b->open++;                   /* it stays until this is over */
  if (e->id == v->id)
    present_event(v, e, now);
  b->open--;
  ballot_forget(b);
}

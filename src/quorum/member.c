/* SPDX-License-Identifier: MIT */
/* quorum/member.c - one claim in the lock table of one server, and its events. */
#include "quorum/internal.h"

/* A lock is broken at one server after the other: for this time, those of before stay broken. */
#define BREAK_TIME SPAN_MS(60000)

size_t member_server(const member_lease *m)
{
  return (size_t)(m - m->record->members);
}

static quorum_server *server_of(const member_lease *m)
{
  return &m->record->quorum->servers[member_server(m)];
}

bool member_stands(const member_lease *m, instant now)
{
  return m->state == MEMBER_GRANTED && instant_before(now, m->valid_until);
}

member_tally member_count(const quorum_record *r, instant now)
{
  const quorum *q = r->quorum;
  member_tally t = { .granted = 0 };

  for (size_t i = 0; i < q->count; i++) {
    const member_lease *m = &r->members[i];
    bool is_queued = m->state == MEMBER_PENDING && m->waits;

    t.granted += member_stands(m, now);
    t.busy += m->state == MEMBER_BUSY || is_queued;
    if (m->state == MEMBER_PENDING && !is_queued) {
      t.pending++;
      t.awaited += !q->servers[i].is_silent;
    }
  }
  return t;
}

bool member_too_many_held_back(const quorum_record *r)
{
  const quorum *q = r->quorum;
  size_t count = 0;

  for (size_t i = 0; i < q->count; i++)
    count += r->members[i].is_held_back;
  return count > q->count - q->majority;
}

static void keep_fault(const member_lease *m, dibs_status status, const char *words)
{
  quorum_server *s = server_of(m);
  text t = text_over(s->last_words, sizeof(s->last_words));

  s->last = status;
  text_add(&t, words);
}

/* Asks the server of `v` for a token of at least `token`. In the table the claim has no
 * owner and is not shared: quorum/ decides about re-entry. Nor is it fixed: its lease is renewed
 * while other servers are waited for (held.c). */
void member_cast(member_lease *m, bool is_try, uint64_t token, instant now)
{
  quorum_record *r = m->record;
  const claim_terms *wish = wish_of(&r->claims);
  lock_spec w = { .context = m, .kind = r->kind, .reads = r->reads, .name = r->entry->bytes + 1,
                  .name_size = r->entry->size - 1, .units = 1, .is_try = is_try,
                  .no_reentry = true, .ttl = r->ttl,
                  .note = r->note, .min_token = token > 0 ? token - 1 : 0, .watched = &m->watched };
  dibs_status status;

  w.give_up_at = wish != NULL ? wish->give_up_at : INSTANT_NEVER;
  if (!is_try)                    /* a later claim may take over */
    for (const quorum_record *o = r->entry->first; r->kind == LOCK_MUTEX && o != NULL; o = o->next)
      if (o->claims.waiting != NULL)
        w.give_up_at = instant_max(w.give_up_at, waiters_limit(&o->claims));

  m->waits = !is_try;
  m->is_held_back = m->is_held_back && !is_try;
  m->is_raising = m->is_suspect = m->was_raised = false;
  m->asked_at = now;
  status = hold_claim(server_of(m)->front, &w, now, &m->id);
  if (status == DIBS_OK) {
    m->state = MEMBER_PENDING;
    r->open++;
    return;
  }
  m->state = MEMBER_FAULTY;
  m->why = status;
  m->was_short = false;
  m->id = 0;
  keep_fault(m, status, "its claim could not be made");
}

/* Releases a granted lease or cancels a pending request; the table handles a late grant. */
void member_withdraw(member_lease *m, instant now)
{
  hold_front *f = server_of(m)->front;

  if (m->state == MEMBER_PENDING) {
    if (!hold_cancel(f, m->id, now))
      (void)hold_release(f, m->id, now);         /* granted, but not reported yet */
    m->state = MEMBER_CANCELLED;
  } else if (m->state == MEMBER_GRANTED) {
    (void)hold_release(f, m->id, now);
    m->state = MEMBER_LEAVING;
  } else if (m->state != MEMBER_LEAVING && m->state != MEMBER_LEFT &&
             m->state != MEMBER_CANCELLED) {
    m->state = MEMBER_NONE;
  }
}

/* One at a time: the reply names the token that it is about. */
void member_raise(member_lease *m, uint64_t token, instant now)
{
  if (m->is_raising || m->token >= token)
    return;
  if (hold_raise(server_of(m)->front, m->id, token, now) != DIBS_OK)
    return;
  m->is_raising = m->was_raised = true;
  lock_raise_floor(server_of(m)->table, &m->record->quorum->seen, token, now);
}

/* ---- events ---- */

static void granted(member_lease *m, const lock_event *e, instant now)
{
  quorum_record *r = m->record;

  if (!m->waits)
    round_answered(m, now);
  m->state = MEMBER_GRANTED;
  m->watched.lease.token = 0;
  m->waits = m->is_held_back = false;
  m->token = e->token;
  m->valid_until = e->valid_until;
  lock_raise_floor(server_of(m)->table, &r->quorum->seen, m->token, now);

  switch (r->state) {
  case RECORD_ROUND:
    round_look(r, now);
    break;
  case RECORD_QUEUED:
    r->is_probing = false;
    round_begin(r, now);
    break;
  case RECORD_HELD:
    held_fix(m, now);
    held_granted(m, now);
    break;
  case RECORD_HERE:
  case RECORD_RESTING:
  case RECORD_ENDING:
  case RECORD_LEAVING:
    member_withdraw(m, now);
    break;
  }
}

static bool is_silence(dibs_status s)
{
  return s == DIBS_ERR_UNREACHABLE || s == DIBS_UNKNOWN;
}

static void failed(member_lease *m, const lock_event *e, instant now)
{
  quorum_record *r = m->record;
  bool waited = m->waits;

  m->id = 0;
  if (e->status == DIBS_BUSY) {
    m->state = MEMBER_BUSY;
    m->watched = e->watched;
    m->free_at = e->free_at;
    round_answered(m, now);
  } else {
    m->state = MEMBER_FAULTY;
    m->why = e->status;
    m->was_short = e->was_short;
    keep_fault(m, e->status, e->words);
    if (is_silence(e->status))
      server_of(m)->is_silent = true;
    else if (waited && e->status != DIBS_TIMED_OUT)
      m->is_barred = true;
  }
  m->waits = false;
  if (r->state == RECORD_ROUND)
    round_look(r, now);
  else if (r->state == RECORD_QUEUED && waited)
    queue_rest(r, now);
}

static void lost(member_lease *m, const lock_event *e, instant now)
{
  quorum_record *r = m->record;

  m->why = e->status;
  keep_fault(m, e->status, e->words);
  (void)hold_release(server_of(m)->front, m->id, now);
  m->id = 0;
  m->state = MEMBER_NONE;
  if (e->was_broken)
    m->kept_off_until = instant_add(now, BREAK_TIME);
  if (r->state == RECORD_ROUND) {
    round_look(r, now);
  } else if (r->state == RECORD_HELD) {
    held_look(r, now);
    if (r->state == RECORD_HELD)
      held_reduced(r, now);
  }
}

static void left(member_lease *m, const lock_event *e)
{
  m->state = MEMBER_LEFT;
  m->why = e->status;
  if (e->status == DIBS_UNKNOWN)
    server_of(m)->is_silent = true;
  held_left(m->record);
}

/* The server of `v` grants nothing before the end of its quarantine, whichever lease ends: the
 * quorum record waits at another queue server, if there is one. */
static void held_back(member_lease *m, instant now)
{
  quorum_record *r = m->record;
  bool was_held_back = m->is_held_back;

  m->is_held_back = true;
  if (r->state == RECORD_QUEUED && !was_held_back)
    queue_timer(r, now);
}

static void present_event(member_lease *m, const lock_event *e, instant now)
{
  quorum_record *r = m->record;

  switch (e->kind) {
  case LOCK_GRANTED:
    if (m->state == MEMBER_PENDING)
      granted(m, e, now);
    break;
  case LOCK_RENEWED:
    m->valid_until = e->valid_until;
    m->is_suspect = false;
    if (r->state == RECORD_HELD)
      held_look(r, now);
    break;
  case LOCK_SUSPECT:
    m->is_suspect = true;
    if (r->state == RECORD_HELD)
      held_look(r, now);
    break;
  case LOCK_LOST:
    if (m->state == MEMBER_GRANTED)
      lost(m, e, now);
    break;
  case LOCK_RAISED:
    m->is_raising = false;
    m->token = e->token;
    if (r->state == RECORD_ROUND)
      round_look(r, now);
    else if (r->state == RECORD_HELD)
      held_granted(m, now);
    break;
  case LOCK_ENDS_SOON:               /* not requested: what counts is the end of the majority */
    break;
  case LOCK_HELD_BACK:
    if (m->state == MEMBER_PENDING)
      held_back(m, now);
    break;
  case LOCK_FAILED:
    if (m->state == MEMBER_PENDING)
      failed(m, e, now);
    break;
  case LOCK_RELEASED:
  case LOCK_DETACHED:
    if (m->state == MEMBER_LEAVING)
      left(m, e);
    break;
  }
}

void member_event(quorum *q, const lock_event *e, instant now)
{
  member_lease *m = e->context;
  quorum_record *r = m->record;

  (void)q;
  if (e->kind != LOCK_FAILED && e->kind != LOCK_RELEASED && e->kind != LOCK_DETACHED)
    r->open++;                   /* keeps the quorum record until this is over */
  if (e->id == m->id)
    present_event(m, e, now);
  r->open--;
  record_forget(r);
}

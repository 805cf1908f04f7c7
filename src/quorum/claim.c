/* SPDX-License-Identifier: MIT */
/* quorum/claim.c - the backend of a quorum: a claim from its spec to its end, and its limits. */
#include "quorum/internal.h"

#include "hold/claim.h"

static quorum *quorum_of(hold_backend *b)
{
  return (quorum *)b;
}

static quorum_record *record_of(const claim *c)
{
  return RECORD_OF(quorum_record, claims, c->of);
}

/* ---- a new claim ---- */

/* The quorum record by which the owner already has the name: the newest. */
static quorum_record *held_by(const lock_entry *e, const lock_spec *spec)
{
  for (quorum_record *r = e != NULL ? e->last : NULL; r != NULL; r = r->previous)
    if (r->state == RECORD_HELD && holder_of(&r->claims, spec->owner, spec->owner_size) != NULL)
      return r;
  return NULL;
}

/* After another claim a try waits no longer than one whose servers do not answer. */
static instant limit_of(quorum_record *r, const claim *c)
{
  span longest = span_max(r->quorum->connect_timeout, r->quorum->command_timeout);

  if (!c->spec.is_try || record_asking(r) == r)
    return c->spec.give_up_at;
  return instant_min(c->spec.give_up_at, instant_add(c->asked_at, longest));
}

static void begin(quorum_record *r, instant now)
{
  claim *c = r->claims.waiting;
  instant limit = limit_of(r, c);

  if (!instant_is_never(limit))
    timers_set(&r->quorum->timers, &c->timer, limit);
  if (record_asking(r) == r)
    round_begin(r, now);
}

static bool reenters(quorum_record *r, claim *c)
{
  const held_terms held = { .reads = r->reads, .is_suspect = r->is_suspect,
                            .is_fixed = r->is_fixed,
                            .limit = r->is_fixed ? r->valid_until : r->limit };
  bool is_over = claim_reenters(&r->claims, c, &held);

  holders_end_at(&r->claims, held_end(r));         /* it may want a warning */
  return is_over;
}

/* ---- tries after other claims of this process ---- */

static bool is_taken_here(const quorum_record *r)
{
  return r->state == RECORD_HELD || r->state == RECORD_ENDING;
}

/* Whether no claim after `r` can have the name now. A try that met others may still share the
 * servers with them, and ask again (round.c). */
static bool is_taken(const quorum_record *r)
{
  const claim_terms *wish = wish_of(&r->claims);

  return is_taken_here(r) || (r->met_others && !r->is_short && wish != NULL && !wish->is_try);
}

static const char *taken_words(const quorum_record *r)
{
  if (is_taken_here(r))
    return "another owner of this client holds it";
  return member_too_many_held_back(r) ? QUARANTINE_WORDS : "another client holds it";
}

/* Whether the servers were asked after it began; of a waiter it suffices that it waits. */
static bool is_answer_for(const quorum_record *r, const claim *c)
{
  const claim_terms *wish = wish_of(&r->claims);

  for (size_t i = 0; wish != NULL && wish->is_try && i < r->quorum->count; i++)
    if (r->members[i].state == MEMBER_BUSY && instant_before(r->members[i].asked_at, c->asked_at))
      return false;
  return true;
}

static void try_ends(quorum_record *r, quorum_record *of, const char *words, instant now)
{
  const claim *c = of->claims.waiting;

  if (!is_answer_for(r, c))
    return;
  if (holder_of(&r->claims, c->owner, c->owner_size) == NULL) {
    record_fail(of, DIBS_BUSY, words != NULL ? words : taken_words(r), now);
    return;
  }
  waiters_move(&of->claims, &r->claims);
  (void)reenters(r, r->claims.waiting);
  record_leave(of, now);
}

void record_tries_end(quorum_record *r, const char *words, instant now)
{
  quorum_record *next;

  if (r->kind != LOCK_MUTEX)
    return;
  for (quorum_record *of = r->next; of != NULL; of = next) {
    next = of->next;
    if (wish_of(&of->claims)->is_try)
      try_ends(r, of, words, now);
  }
}

/* ---- a new claim, continued ---- */

static bool is_supported(const lock_spec *spec)
{
  return (spec->kind == LOCK_MUTEX || spec->kind == LOCK_RWLOCK) && !spec_is_many(spec) &&
         spec->linger.ns <= 0;
}

static dibs_status place(hold_backend *b, claim *c, const lock_spec *spec, instant now)
{
  quorum *q = quorum_of(b);
  const lock_entry *e;
  quorum_record *r;

  if (q->is_closing)
    return DIBS_ERR_CLOSED;
  if (!is_supported(spec))
    return DIBS_ERR_UNSUPPORTED;
  e = quorum_entry(q, spec);
  if (e == NULL && q->names_max > 0 && b->counts.names >= q->names_max)
    return DIBS_ERR_LIMIT;
  if (!timers_reserve(&q->timers, (size_t)(b->counts.waiting + b->counts.holds) +
                                    2 * q->record_count + 2))
    return DIBS_ERR_NO_MEMORY;

  r = held_by(e, spec);
  if (r != NULL) {
    claim_wait(&r->claims, c);
    (void)reenters(r, c);
  } else if (spec->is_try && spec_is_mutex(spec) && e != NULL && is_taken(e->first)) {
    claim_fail(c, DIBS_BUSY, taken_words(e->first));
  } else {
    r = record_new(q, spec);
    if (r == NULL)
      return DIBS_ERR_NO_MEMORY;
    claim_wait(&r->claims, c);
    begin(r, now);
  }
  quorum_advance(q, now);
  return DIBS_OK;
}

void quorum_be_patient(quorum *q)
{
  q->is_patient = true;            /* read at the end of each round */
}

/* ---- the end of a request ---- */

static void fail(claim *c, dibs_status status, const char *words, instant now)
{
  quorum_record *r = record_of(c);

  record_fail(r, status, words, now);
  quorum_advance(quorum_of(c->backend), now);
}

/* The time limit has passed: a timeout if others have it, a fault if too few servers replied.
 * After a majority has granted it, no other client has it, and the fence is being confirmed. */
static void waited_long_enough(claim *c, instant now)
{
  quorum_record *r = record_of(c), *asking = record_asking(r);
  member_tally t = member_count(asking, now);
  const char *words;
  dibs_status status;

  if (r == asking && t.granted >= r->quorum->majority) {
    record_fail(r, DIBS_UNKNOWN, UNCONFIRMED_WORDS, now);
    return;
  }
  if (!c->spec.is_try && (is_taken(asking) || t.granted + t.busy >= r->quorum->majority)) {
    record_fail(r, DIBS_TIMED_OUT, taken_words(asking), now);
    return;
  }
  if (c->spec.is_try && r == asking && r->met_others && !r->is_short) {
    record_fail(r, DIBS_BUSY, ROUND_SPLIT_WORDS, now);
    return;
  }
  status = report_fault(r, now, &words);
  record_fail(r, status, words, now);
}

/* ---- holds ---- */

static void release(claim *c, instant now)
{
  quorum_record *r = record_of(c);
  quorum *q = r->quorum;

  if (r->claims.holders->next == NULL) {
    held_release(r, now);
  } else {
    claim_end(c, LOCK_RELEASED, DIBS_OK);
    q->backend.counts.released++;
    if (r->kind == LOCK_RWLOCK && !r->reads && !holders_write(&r->claims, NULL))
      held_downgrade(r, now);
  }
  quorum_advance(q, now);
}

static void forget(acquisition *a)
{
  record_forget(RECORD_OF(quorum_record, claims, a));
}

static void downgrade(acquisition *a, instant now)
{
  quorum_record *r = RECORD_OF(quorum_record, claims, a);

  held_downgrade(r, now);
  quorum_advance(r->quorum, now);
}

static void add_why(const claim *c, const char *before, text *out)
{
  report_add_why(record_of(c), before, out);
}

static void describe(const claim *c, lock_event *event)
{
  const quorum_record *r = record_of(c);
  const quorum *q = r->quorum;

  if (r->entry != NULL) {
    event->name = r->entry->bytes + 1;
    event->name_size = r->entry->size - 1;
  }
  if (c->state != CLAIM_HELD)
    return;
  event->valid_until = held_end(r);
  event->token = r->token;
  event->replicas_wanted = (uint32_t)q->majority;
  for (size_t i = 0; i < q->count; i++)
    event->acknowledged += r->members[i].state == MEMBER_GRANTED;
}

/* ---- time ---- */

static instant deadline(const hold_backend *b)
{
  const quorum *q = (const quorum *)b;
  instant first = instant_min(timers_first(&q->timers), q->closing_until);

  for (size_t i = 0; i < q->count; i++)
    first = instant_min(first, hold_deadline(q->servers[i].front));
  return first;
}

static void stage_timer(quorum_record *r, instant now)
{
  switch (r->state) {
  case RECORD_ROUND:
    round_timer(r, now);
    break;
  case RECORD_QUEUED:
  case RECORD_RESTING:
    queue_timer(r, now);
    break;
  case RECORD_HELD:
  case RECORD_ENDING:
    held_deadline(r, now);
    break;
  case RECORD_HERE:
  case RECORD_LEAVING:
    break;
  }
}

static void claim_timer(claim *c, instant now)
{
  quorum_record *r = record_of(c);

  if (c->state == CLAIM_HELD) {
    claim_ends_soon(c);
    return;
  }
  if (c->state == CLAIM_WAITING) {
    waited_long_enough(c, now);
    return;
  }
  claim_say(c, "fewer than a majority of the servers confirmed the release in time");
  claim_end(c, LOCK_RELEASED, DIBS_UNKNOWN);       /* it was RELEASING */
  record_forget(r);
}

/* When the close timeout expires, servers without a reply are ignored, if a majority has
 * confirmed. */
static void closing_timer(quorum *q)
{
  q->closing_until = INSTANT_NEVER;
  for (size_t i = 0; i < q->count; i++)
    q->servers[i].is_silent |= !lock_is_quiet(q->servers[i].table);
}

static void tick(hold_backend *b, instant now)
{
  quorum *q = quorum_of(b);
  timer *due;

  for (size_t i = 0; i < q->count; i++)
    hold_tick(q->servers[i].front, now);
  quorum_advance(q, now);
  if (!instant_before(now, q->closing_until))
    closing_timer(q);
  while ((due = timers_pop(&q->timers, now)) != NULL) {
    if (due->kind == HOLD_TIMER_CLAIM)
      claim_timer(claim_of_timer(due), now);
    else if (due->kind == TIMER_REPAIR)
      held_repair(RECORD_OF(quorum_record, repair, due), now);
    else
      stage_timer(RECORD_OF(quorum_record, stage, due), now);
    quorum_advance(q, now);
  }
}

/* ---- the end ---- */

static void record_close(quorum_record *r, instant now)
{
  lost_end(&r->claims);
  if (r->claims.waiting != NULL)
    record_fail(r, DIBS_ERR_CLOSED, "the client is being closed", now);
  else if (r->state == RECORD_HELD)
    held_release(r, now);
  else if (r->state != RECORD_LEAVING)
    record_leave(r, now);                /* ENDING: no holder works on after dibs_close() */
  else
    record_forget(r);
}

static void close_all(hold_backend *b, instant now)
{
  quorum *q = quorum_of(b);
  quorum_record *r, *next;

  if (!q->is_closing)
    q->closing_until = instant_add(now, q->command_timeout);
  q->is_closing = true;
  for (r = q->records; r != NULL; r = next) {
    next = r->next_of_all;
    record_close(r, now);
  }
  quorum_advance(q, now);
}

/* A server without replies does not delay the end while a majority replies. */
static bool is_quiet(const hold_backend *b)
{
  const quorum *q = (const quorum *)b;
  size_t loud = 0;

  if (q->backend.counts.holds + q->backend.counts.waiting > 0)
    return false;
  for (size_t i = 0; i < q->count; i++)
    if (!lock_is_quiet(q->servers[i].table)) {
      if (!q->servers[i].is_silent)
        return false;
      loud++;
    }
  return loud <= q->count - q->majority;
}

const hold_ops quorum_ops = {
  .name = "quorum", .place = place, .fail = fail, .release = release, .forget = forget,
  .downgrade = downgrade, .add_why = add_why, .describe = describe,
  .tick = tick, .deadline = deadline,
  .close = close_all, .is_quiet = is_quiet, .next_name = quorum_next_name,
};

hold_backend *quorum_backend(quorum *q)
{
  return &q->backend;
}

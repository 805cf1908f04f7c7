/* SPDX-License-Identifier: MIT */
/* quorum/multi_parts.c - the parts of a claim on sets of several slots: taken in order, raised
 * to one token, released together. */
#include "quorum/multi_record.h"

#include "base/fence.h"

#define EARLY_MAX SPAN_MS(5)  /* as lock/holding.c reports a loss before the end */

/* ---- taking ---- */

/* Releases or cancels the parts from `first` on. A part whose grant or refusal was not reported yet
 * cannot be cancelled: it is released, or ends by itself. */
void multi_leave(multi_record *w, size_t first, instant now)
{
  hold_front *f = w->multi->parts;

  for (size_t i = first; i < w->part_count; i++) {
    multi_part *p = &w->parts[i];
    part_state before = p->state;

    if (before != PART_ASKED && before != PART_HELD && before != PART_RAISING)
      continue;
    p->state = PART_LEAVING;
    if (before == PART_ASKED && hold_cancel(f, p->id, now))
      continue;
    /* Not waiting any more: the event of its grant or end may be pending. */
    if (hold_release(f, p->id, now) != DIBS_OK && before != PART_ASKED)
      p->state = PART_NONE;
  }
}

void multi_fail(multi_record *w, dibs_status status, const char *words, instant now)
{
  w->state = MULTI_LEAVING;
  waiter_fail(&w->claims, status, words);
  multi_leave(w, 0, now);
}

instant multi_valid_until(const multi_record *w)
{
  instant first = INSTANT_NEVER;

  for (size_t i = 0; i < w->part_count; i++)
    first = instant_min(first, w->parts[i].valid_until);
  return first;
}

/* A loss by the deadline is reported a little before the end: the program may work on until then,
 * and must not meet the next holder of any name. */
static void parts_leave_at(multi_record *w, instant end, instant now)
{
  if (instant_before(now, end) && instant_since(end, now).ns <= EARLY_MAX.ns)
    timers_set(&w->multi->timers, &w->leave, end);
  else
    multi_leave(w, 0, now);
}

/* A grant that was not reported yet becomes a failure. */
static void record_lose(multi_record *w, dibs_status status, const char *words, instant now)
{
  claim *c = w->claims.holders;
  bool is_reported = (c->events & 1u << LOCK_GRANTED) == 0;
  instant end = multi_valid_until(w);

  w->state = MULTI_LEAVING;
  claim_unreport(c);
  if (is_reported) {
    holders_lose(&w->claims, status, words);
  } else {
    claim_say(c, LOST_EARLY);
    claim_end(c, LOCK_FAILED, DIBS_UNKNOWN);
  }
  parts_leave_at(w, is_reported ? end : now, now);
}

/* Asks for the next part, as `base` asks for all. Its lease is renewed while others are waited
 * for: limit_parts(). */
dibs_status multi_take_next(multi_record *w, const lock_spec *base, instant now)
{
  multi_part *p = &w->parts[w->taking];
  lock_spec spec = *base;
  dibs_status status;

  p->is_suspect = p->ends_soon = false;
  spec.context = p;
  spec.is_part = w->multi->by_name;
  spec.is_fixed = false;
  spec.max_hold = (span){ 0 };
  if (base->is_fixed)
    spec.linger = (span){ 0 };
  spec.name = w->names[p->first].name;
  spec.name_size = w->names[p->first].size;
  spec.names = w->multi->by_name ? NULL : w->names + p->first;
  spec.name_count = w->multi->by_name ? 0 : p->count;
  status = hold_claim(w->multi->parts, &spec, now, &p->id);
  if (status == DIBS_OK)
    p->state = PART_ASKED;
  return status;
}

/* ---- events of the parts ---- */

static bool is_suspect(const multi_record *w)
{
  for (size_t i = 0; i < w->part_count; i++)
    if (w->parts[i].is_suspect)
      return true;
  return false;
}

static bool ends_soon(const multi_record *w)
{
  for (size_t i = 0; i < w->part_count; i++)
    if (w->parts[i].ends_soon)
      return true;
  return false;
}

/* A hold that is fixed, or ends after max_hold_ms, begins when all have been granted. */
static void limit_parts(multi_record *w, instant now)
{
  const claim_terms *wish = wish_of(&w->claims);
  span longest = wish->is_fixed ? wish->ttl : extras_of(wish)->max_hold;

  for (size_t i = 0; longest.ns > 0 && i < w->part_count; i++) {
    multi_part *p = &w->parts[i];
    instant limit = instant_add(now, longest);

    p->valid_until = instant_min(p->valid_until, limit);
    hold_limit(w->multi->parts, p->id, limit, wish->is_fixed);
  }
}

static void granted_if_raised(multi_record *w, instant now)
{
  for (size_t i = 0; i < w->part_count; i++)
    if (w->parts[i].state != PART_HELD)
      return;
  w->state = MULTI_HELD;
  limit_parts(w, now);
  waiter_holds(&w->claims, fence_of_token(w->token, 0), 1, is_suspect(w));
  if (ends_soon(w))
    holders_report(&w->claims, LOCK_ENDS_SOON);
}

/* If it was lost meanwhile, an event will report it. One that is being raised to a lower token,
 * from before another part was lost, is raised again after that. */
static void raise_part(multi_record *w, multi_part *p, instant now)
{
  if (p->token >= w->token || w->multi->by_name)
    return;
  p->state = PART_RAISING;
  (void)hold_raise(w->multi->parts, p->id, w->token, now);
}

static void limit_here(multi_record *w)
{
  instant limit = wish_of(&w->claims)->give_up_at;

  if (!instant_is_never(limit))
    timers_set(&w->multi->timers, &w->claims.waiting->timer, limit);
}

/* One fence for all: the highest token of any part; stored on the servers that keep it. */
static void raise_all(multi_record *w, instant now)
{
  for (size_t i = 0; i < w->part_count; i++)
    if (w->parts[i].token > w->token)
      w->token = w->parts[i].token;
  w->state = MULTI_RAISING;
  for (size_t i = 0; i < w->part_count; i++)
    raise_part(w, &w->parts[i], now);
  granted_if_raised(w, now);
  if (w->state == MULTI_RAISING)
    limit_here(w);
}

static void part_raised(multi_record *w, multi_part *p, const lock_event *event, instant now)
{
  if (p->state == PART_RAISING)
    p->state = PART_HELD;
  p->token = event->token;
  if (w->state != MULTI_RAISING)
    return;
  raise_part(w, p, now);
  granted_if_raised(w, now);
}

/* ---- taking, continued ---- */

/* The next part, when no later one is left of an earlier turn. */
static void take_rest(multi_record *w, instant now)
{
  lock_spec spec;
  dibs_status status;

  if (w->state != MULTI_TAKING)
    return;
  for (size_t i = w->taking; i < w->part_count; i++)
    if (w->parts[i].state != PART_NONE)
      return;
  timers_clear(&w->multi->timers, &w->claims.waiting->timer);
  spec = waiter_spec(&w->claims);
  status = multi_take_next(w, &spec, now);
  if (status != DIBS_OK)
    multi_fail(w, status, status == DIBS_ERR_LIMIT
                             ? "names_max names are in memory: none can be added of several"
                             : "no memory to ask for the next of several names", now);
}

/* The part was lost before all were granted. Those after it are given back: in the common order
 * none is waited for while a later one is held. */
static void take_again(multi_record *w, const multi_part *lost, instant now)
{
  size_t first = (size_t)(lost - w->parts);

  w->state = MULTI_TAKING;
  w->taking = first < w->taking ? first : w->taking;
  multi_leave(w, first, now);
  limit_here(w);
}

static void part_granted(multi_record *w, multi_part *p, const lock_event *event, instant now)
{
  if (p->state != PART_ASKED)
    return;                              /* cancelled, but granted: it is being released */
  p->state = PART_HELD;
  p->token = event->token;
  p->valid_until = event->valid_until;
  if (++w->taking == w->part_count)
    raise_all(w, now);
}

/* A try asks once. A server that refuses to raise it would refuse that again. */
static void part_lost(multi_record *w, multi_part *p, const lock_event *event, instant now)
{
  if (w->state == MULTI_LEAVING || p->state == PART_LEAVING)
    return;
  if (w->state == MULTI_HELD)
    record_lose(w, event->status, event->words, now);
  else if (event->status != DIBS_LOST)
    multi_fail(w, event->status, event->words, now);
  else if (wish_of(&w->claims)->is_try)
    multi_fail(w, DIBS_UNKNOWN, LOST_EARLY, now);
  else
    take_again(w, p, now);
}

/* What is known counts before what is not: a part that another client had was no lock. */
static int rank(dibs_status released)
{
  static const dibs_status worst[] = { DIBS_TAKEN, DIBS_LOST, DIBS_EXPIRED };
  int count = sizeof(worst) / sizeof(worst[0]);

  for (int i = 0; i < count; i++)
    if (released == worst[i])
      return i;
  return released == DIBS_OK ? count + 1 : count;
}

/* A release has the worst end of its parts. */
static void part_ended(multi_record *w, multi_part *p, const lock_event *event, instant now)
{
  bool was_leaving = p->state == PART_LEAVING;

  p->state = PART_NONE;
  if (w->state == MULTI_LEAVING && event->kind == LOCK_RELEASED &&
      rank(event->status) < rank(w->status)) {
    text shown = text_over(w->words, sizeof(w->words));

    w->status = event->status;
    text_add(&shown, event->words);
  }
  if (was_leaving || w->state == MULTI_LEAVING)
    return;
  if (w->state == MULTI_HELD)
    record_lose(w, event->status, event->words, now);
  else
    multi_fail(w, event->status, event->words, now);
}

static void part_event(multi_part *p, const lock_event *event, instant now)
{
  multi_record *w = p->record;

  switch (event->kind) {
  case LOCK_GRANTED:
    part_granted(w, p, event, now);
    break;
  case LOCK_RAISED:
    part_raised(w, p, event, now);
    break;
  case LOCK_RENEWED:
    p->ends_soon = p->ends_soon && !instant_before(p->valid_until, event->valid_until);
    p->valid_until = event->valid_until;
    p->is_suspect = false;
    if (w->state == MULTI_HELD && !is_suspect(w))
      holders_report(&w->claims, LOCK_RENEWED);
    break;
  case LOCK_SUSPECT:
    p->is_suspect = true;
    if (w->state == MULTI_HELD)
      holders_report(&w->claims, LOCK_SUSPECT);
    break;
  case LOCK_ENDS_SOON:
    p->ends_soon = true;
    if (w->state == MULTI_HELD)
      holders_report(&w->claims, LOCK_ENDS_SOON);
    break;
  case LOCK_HELD_BACK:
    break;
  case LOCK_LOST:
    part_lost(w, p, event, now);
    break;
  case LOCK_FAILED:
  case LOCK_RELEASED:
  case LOCK_DETACHED:
    part_ended(w, p, event, now);
    break;
  }
  take_rest(w, now);
  multi_forget_if_over(w);
}

bool multi_advance(multi *s, instant now)
{
  lock_event event;

  if (!hold_next_event(s->parts, &event))
    return false;
  part_event(event.context, &event, now);
  return true;
}

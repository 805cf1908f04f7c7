/* SPDX-License-Identifier: MIT */
/* quorum/multi.c - one claim on sets of several slots: taken in order, raised to one
 * token, released together. */
#include "quorum/multi.h"

#include <string.h>

#include "base/fence.h"
#include "hold/claim.h"
#include "quorum/names_in_one_slot.h"

/* Of a server that may answer: it must not be DIBS_ERR_UNREACHABLE, for which degrade=local takes
 * a lock of this machine. */
#define LOST_EARLY "the lease of one name ended before all names were acquired"
#define EARLY_MAX SPAN_MS(5)  /* as lock/holding.c reports a loss before the end */
#define UNCONFIRMED "all names were granted, and not all confirmed their one fence in time"

typedef enum part_state {
  PART_NONE = 0, PART_ASKED, PART_HELD, PART_RAISING, PART_LEAVING
} part_state;

typedef struct multi_record multi_record;

typedef struct multi_part {
  multi_record *record;
  uint64_t id;                /* of its claim in the front of the parts */
  part_state state;
  size_t first, count;        /* names */
  uint64_t token;
  instant valid_until;
  bool is_suspect, ends_soon;
} multi_part;

typedef enum multi_state { MULTI_TAKING = 1, MULTI_RAISING, MULTI_HELD, MULTI_LEAVING } multi_state;

enum { TIMER_LEAVE = HOLD_TIMER_CLAIM + 1 };

struct multi_record {
  multi_record *prev, *next;
  multi *multi;
  acquisition claims;         /* one claim, which waits, holds or has lost it; or none any more */
  multi_state state;
  size_t part_count, taking;
  multi_part *parts;
  many_name *names; size_t name_count;
  char *bytes;
  dibs_status status;         /* how it was released */
  char words[128];
  uint64_t token;
  timer leave;                /* LEAVING: lost by its deadline, and the parts are held until that */
};

struct multi {
  hold_backend backend;       /* the first member */
  memory memory;
  timers timers;
  const lock_table *table;    /* of the parts */
  hold_front *parts;
  bool by_name;
  multi_record *first;
  size_t count;
};

/* ---- life ---- */

static multi_record *record_free(multi_record *w)
{
  const memory *m = &w->multi->memory;

  mem_free(m, w->parts);
  mem_free(m, w->names);
  mem_free(m, w->bytes);
  mem_free(m, w);
  return NULL;
}

multi *multi_free(multi *s)
{
  if (s == NULL)
    return NULL;
  (void)hold_front_free(s->parts);
  while (s->first != NULL) {
    multi_record *w = s->first;

    s->first = w->next;
    (void)record_free(w);
  }
  timers_deinit(&s->timers);
  mem_free(&s->memory, s);
  return NULL;
}

static bool record_copy(multi_record *w, const lock_spec *spec)
{
  const memory *m = &w->multi->memory;
  size_t size = 0, at = 0;

  for (size_t i = 0; i < spec->name_count; i++)
    size += spec->names[i].size;
  w->name_count = spec->name_count;
  w->parts = mem_zalloc(m, spec->name_count * sizeof(w->parts[0]));
  w->names = mem_alloc(m, spec->name_count * sizeof(w->names[0]));
  w->bytes = mem_alloc(m, size);
  if (w->parts == NULL || w->names == NULL || w->bytes == NULL)
    return false;
  for (size_t i = 0; i < spec->name_count; i++) {
    memcpy(w->bytes + at, spec->names[i].name, spec->names[i].size);
    w->names[i] = (many_name){ w->bytes + at, spec->names[i].size };
    at += spec->names[i].size;
  }
  return true;
}

static void record_divide(multi_record *w)
{
  size_t count = w->name_count;
  bool by_name = w->multi->by_name;

  names_sort(w->names, count, by_name);
  for (size_t first = 0; first < count; first += w->parts[w->part_count++].count)
    w->parts[w->part_count] = (multi_part){
      .record = w,
      .first = first,
      .count = by_name ? 1 : names_in_one_slot(w->names + first, count - first)
    };
}

static bool takes(const hold_backend *b, const lock_spec *spec)
{
  const multi *s = (const multi *)b;

  return spec_is_many(spec) &&
         (s->by_name || names_in_one_slot(spec->names, spec->name_count) < spec->name_count);
}

/* ---- taking ---- */

/* Releases or cancels the parts from `first` on. A part whose grant or refusal was not reported yet
 * cannot be cancelled: it is released, or ends by itself. */
static void parts_leave(multi_record *w, size_t first, instant now)
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

static void record_fail(multi_record *w, dibs_status status, const char *words, instant now)
{
  w->state = MULTI_LEAVING;
  waiter_fail(&w->claims, status, words);
  parts_leave(w, 0, now);
}

static instant valid_until(const multi_record *w)
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
    parts_leave(w, 0, now);
}

/* A grant that was not reported yet becomes a failure. */
static void record_lose(multi_record *w, dibs_status status, const char *words, instant now)
{
  claim *c = w->claims.holders;
  bool is_reported = (c->events & 1u << LOCK_GRANTED) == 0;
  instant end = valid_until(w);

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
static dibs_status take_next(multi_record *w, const lock_spec *base, instant now)
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

static dibs_status place(hold_backend *b, claim *c, const lock_spec *spec, instant now)
{
  multi *s = (multi *)b;
  multi_record *w;
  dibs_status status = DIBS_ERR_NO_MEMORY;

  if (lock_owner_has(s->table, spec->names, spec->name_count, spec->owner, spec->owner_size)) {
    claim_fail(c, DIBS_WOULD_DEADLOCK, OWNER_HAS_WORDS);
    return DIBS_OK;
  }
  if (!timers_reserve(&s->timers, 2 * (s->count + 1)) ||
      (w = mem_zalloc(&s->memory, sizeof(*w))) == NULL)
    return status;
  w->multi = s;
  timer_init(&w->leave, TIMER_LEAVE);
  w->state = MULTI_TAKING;
  if (record_copy(w, spec)) {
    record_divide(w);
    status = take_next(w, spec, now);
  }
  if (status != DIBS_OK) {
    (void)record_free(w);
    return status;
  }
  claim_wait(&w->claims, c);
  DL_PREPEND(s->first, w);
  s->count++;
  return DIBS_OK;
}

/* ---- the end ---- */

static void forget_if_over(multi_record *w)
{
  for (size_t i = 0; i < w->part_count; i++)
    if (w->parts[i].state != PART_NONE)
      return;
  if (w->state != MULTI_LEAVING)
    return;
  holders_end(&w->claims, w->status, w->words);      /* it was being released */
  if (!acquisition_is_unused(&w->claims))
    return;
  DL_DELETE(w->multi->first, w);
  w->multi->count--;
  timers_clear(&w->multi->timers, &w->leave);
  (void)record_free(w);
}

static void leave_now(multi_record *w, instant now)
{
  parts_leave(w, 0, now);
  forget_if_over(w);
}

static void fail(claim *c, dibs_status status, const char *words, instant now)
{
  multi_record *w = RECORD_OF(multi_record, claims, c->of);

  record_fail(w, status, words, now);
  forget_if_over(w);
}

static void release(claim *c, instant now)
{
  multi_record *w = RECORD_OF(multi_record, claims, c->of);

  holders_release(&w->claims, INSTANT_NEVER);
  w->state = MULTI_LEAVING;
  leave_now(w, now);
}

static void forget(acquisition *a)
{
  forget_if_over(RECORD_OF(multi_record, claims, a));
}

static void add_why(const claim *c, const char *before, text *out)
{
  const multi_record *w = RECORD_OF(multi_record, claims, c->of);
  size_t used = out->used;

  for (size_t i = 0; i < w->part_count && out->used == used; i++)
    hold_add_why(w->multi->parts, w->parts[i].id, before, out);
}

static void describe(const claim *c, lock_event *event)
{
  const multi_record *w = RECORD_OF(multi_record, claims, c->of);

  event->name = w->names[0].name;
  event->name_size = w->names[0].size;
  event->token = w->token;
  if (c->state == CLAIM_HELD)
    event->valid_until = valid_until(w);
}

static void close_all(hold_backend *b, instant now)
{
  const multi *s = (const multi *)b;

  for (multi_record *w = s->first, *next; w != NULL; w = next) {
    next = w->next;
    lost_end(&w->claims);
    if (w->claims.waiting != NULL)
      fail(w->claims.waiting, DIBS_ERR_CLOSED, "the client is being closed", now);
    else if (w->state == MULTI_HELD)
      release(w->claims.holders, now);
    else
      leave_now(w, now);                 /* no holder works on after dibs_close() */
  }
}

static bool is_quiet(const hold_backend *b)
{
  return ((const multi *)b)->first == NULL;
}

static instant deadline(const hold_backend *b)
{
  return timers_first(&((const multi *)b)->timers);
}

static void time_is_over(claim *c, instant now)
{
  const multi_record *w = RECORD_OF(multi_record, claims, c->of);

  fail(c, DIBS_UNKNOWN, w->state == MULTI_RAISING ? UNCONFIRMED : LOST_EARLY, now);
}

/* While a part is asked for it has the limit of the call; otherwise that is counted here. The ends
 * of leases come first: what has ended is not released as valid. */
static void tick(hold_backend *b, instant now)
{
  multi *s = (multi *)b;
  timer *due;

  hold_tick(s->parts, now);
  while ((due = timers_pop(&s->timers, now)) != NULL)
    if (due->kind == TIMER_LEAVE)
      leave_now(RECORD_OF(multi_record, leave, due), now);
    else
      time_is_over(claim_of_timer(due), now);
}

static const hold_ops multi_ops = {
  .name = "multi", .takes = takes, .place = place, .fail = fail, .release = release,
  .forget = forget, .add_why = add_why, .describe = describe, .tick = tick,
  .deadline = deadline, .close = close_all, .is_quiet = is_quiet,
};

multi *multi_new(const memory *m, lock_table *t, bool by_name)
{
  multi *s = mem_zalloc(m, sizeof(*s));

  if (s == NULL)
    return NULL;
  s->memory = *m;
  s->table = t;
  s->by_name = by_name;
  s->backend.ops = &multi_ops;
  timers_init(&s->timers, m);
  s->backend.timers = &s->timers;
  s->parts = hold_front_new(m);
  if (s->parts == NULL)
    return multi_free(s);
  hold_front_add(s->parts, lock_backend(t));
  return s;
}

hold_backend *multi_backend(multi *s)
{
  return &s->backend;
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
  status = take_next(w, &spec, now);
  if (status != DIBS_OK)
    record_fail(w, status, status == DIBS_ERR_LIMIT
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
  parts_leave(w, first, now);
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
    record_fail(w, event->status, event->words, now);
  else if (wish_of(&w->claims)->is_try)
    record_fail(w, DIBS_UNKNOWN, LOST_EARLY, now);
  else
    take_again(w, p, now);
}

static void part_ended(multi_record *w, multi_part *p, const lock_event *event, instant now)
{
  text shown = text_over(w->words, sizeof(w->words));
  bool was_leaving = p->state == PART_LEAVING;

  p->state = PART_NONE;
  if (w->state == MULTI_LEAVING && event->kind == LOCK_RELEASED && event->status != DIBS_OK &&
      w->status == DIBS_OK) {
    w->status = event->status;
    text_add(&shown, event->words);
  }
  if (was_leaving || w->state == MULTI_LEAVING)
    return;
  if (w->state == MULTI_HELD)
    record_lose(w, event->status, event->words, now);
  else
    record_fail(w, event->status, event->words, now);
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
  forget_if_over(w);
}

bool multi_advance(multi *s, instant now)
{
  lock_event event;

  if (!hold_next_event(s->parts, &event))
    return false;
  part_event(event.context, &event, now);
  return true;
}

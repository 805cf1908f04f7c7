/* SPDX-License-Identifier: MIT */
/* hold/claim.c - claims: their life, owners, lists and events. */
#include "hold/claim.h"

#include <assert.h>
#include <string.h>

bool acquisition_is_unused(const acquisition *a)
{
  return a->waiting == NULL && a->holders == NULL && a->lost == NULL;
}

size_t claims_count(const claim *claims)
{
  size_t count = 0;
  const claim *c;

  DL_COUNT(claims, c, count);
  return count;
}

/* ---- life ---- */

static size_t bytes_of(const claim *c)
{
  return sizeof(*c) + c->owner_size;
}

static void claim_free(claim *c)
{
  const memory *m = &c->front->memory;

  if (!c->is_refused)
    claim_terms_free(c);
  c->backend->counts.bytes -= bytes_of(c);
  mem_free(m, c->words);
  mem_free(m, c);
}

static void count_waiting(const claim *c, int by)
{
  c->backend->counts.waiting += (uint64_t)by;
  if (c->spec.is_try)
    c->backend->counts.tries += (uint64_t)by;
}

claim *claim_make(hold_front *f, hold_backend *b, const lock_spec *spec, instant now)
{
  claim *c = mem_zalloc(&f->memory, sizeof(*c) + spec->owner_size);

  if (c == NULL)
    return NULL;
  c->front = f;
  c->backend = b;
  c->state = CLAIM_WAITING;
  c->asked_at = now;
  c->context = spec->context;
  assert(spec->owner_size <= UINT16_MAX);
  c->owner_size = (uint16_t)spec->owner_size;
  if (spec->owner_size > 0)
    memcpy(c->owner, spec->owner, spec->owner_size);
  timer_init(&c->timer, HOLD_TIMER_CLAIM);
  b->counts.bytes += bytes_of(c);
  if (claim_terms_set(c, spec))
    c->id = slots_add(&f->slots, c);
  if (c->id == 0) {
    claim_free(c);
    return NULL;
  }
  count_waiting(c, 1);
  return c;
}

claim *claim_unmake(claim *c)
{
  assert(c->of == NULL && c->events == 0);
  slots_remove(&c->front->slots, c->id);
  count_waiting(c, -1);
  claim_free(c);
  return NULL;
}

claim *claim_of(const hold_front *f, uint64_t id)
{
  return slots_get(&f->slots, id);
}

claim *claim_of_timer(timer *t)
{
  return RECORD_OF(claim, timer, t);
}

/* ---- owners ---- */

bool claim_is_of(const claim *c, const void *owner, size_t owner_size)
{
  return owner_size > 0 && c->owner_size == owner_size &&
         memcmp(c->owner, owner, owner_size) == 0;
}

claim *holder_of(const acquisition *a, const void *owner, size_t owner_size)
{
  claim *c = a->holders;

  while (c != NULL && !claim_is_of(c, owner, owner_size))
    c = c->next;
  return c;
}

bool holders_write(const acquisition *a, const claim *except)
{
  for (const claim *c = a->holders; c != NULL; c = c->next)
    if (c != except && !c->spec.reads)
      return true;
  return false;
}

/* ---- waiting ---- */

void claim_wait(acquisition *a, claim *c)
{
  assert(c->of == NULL && c->state == CLAIM_WAITING);
  c->of = a;
  DL_APPEND(a->waiting, c);
}

void waiters_move(acquisition *from, acquisition *to)
{
  while (from->waiting != NULL) {
    claim *c = from->waiting;

    DL_DELETE(from->waiting, c);
    c->of = NULL;
    claim_wait(to, c);
  }
}

void claim_say(claim *c, const char *words)
{
  const memory *m = &c->front->memory;

  mem_free(m, c->words);
  c->words = words[0] != 0 ? mem_copy_text(m, words) : NULL;
}

void claim_fail(claim *c, dibs_status status, const char *words)
{
  assert(c->state == CLAIM_WAITING);
  claim_say(c, words);
  claim_end(c, LOCK_FAILED, status);
}

void waiters_fail(acquisition *a, dibs_status status, const char *words)
{
  while (a->waiting != NULL)
    claim_fail(a->waiting, status, words);
}

void waiter_fail(acquisition *a, dibs_status status, const char *words)
{
  claim_fail(a->waiting, status, words);
}

void waiter_refuse(acquisition *a, const watched_lease *watched, instant free_at,
                   const char *words)
{
  claim *c = a->waiting;

  claim_fail(c, DIBS_BUSY, words);
  claim_terms_free(c);
  c->refusal = (claim_refusal){ *watched, free_at };
  c->is_refused = true;
}

void waiter_was_short(acquisition *a)
{
  a->waiting->was_short = true;
}

void waiter_report(acquisition *a, lock_event_kind kind)
{
  claim_report(a->waiting, kind);
}

const claim_terms *wish_of(const acquisition *a)
{
  return a->waiting != NULL ? &a->waiting->spec : NULL;
}

uint64_t waiter_id(const acquisition *a)
{
  return a->waiting->id;
}

instant waiter_since(const acquisition *a)
{
  return a->waiting->asked_at;
}

instant waiters_limit(const acquisition *a)
{
  instant last = { 0 };

  for (const claim *c = a->waiting; c != NULL; c = c->next)
    if (c == a->waiting || !c->spec.is_try)
      last = instant_max(last, c->spec.give_up_at);
  return last;
}

/* ---- holding ---- */

static void hold(claim *c, uint64_t fence, uint64_t units, int depth)
{
  acquisition *a = c->of;
  lock_counts *counts = &c->backend->counts;

  assert(c->state == CLAIM_WAITING);
  DL_DELETE(a->waiting, c);
  timers_clear(c->backend->timers, &c->timer);
  DL_APPEND(a->holders, c);
  c->state = CLAIM_HELD;
  c->fence = fence;
  c->units = units;
  c->depth = depth;
  count_waiting(c, -1);
  counts->holds++;
  counts->granted++;
}

static void report_hold(claim *c, bool is_suspect)
{
  claim_report(c, LOCK_GRANTED);
  if (is_suspect)
    claim_report(c, LOCK_SUSPECT);
}

void waiter_holds(acquisition *a, uint64_t fence, uint64_t units, bool is_suspect)
{
  claim *c = a->waiting;

  hold(c, fence, units, 1);
  report_hold(c, is_suspect);
}

static int depth_of(const acquisition *a, const claim *c)
{
  int depth = 1;

  for (const claim *other = a->holders; other != NULL; other = other->next)
    depth += claim_is_of(other, c->owner, c->owner_size);
  return depth;
}

/* NULL: its end is as `c` wants it. */
static const char *end_fault(const claim *c, const held_terms *held)
{
  span most = c->spec.is_fixed ? c->spec.ttl : extras_of(&c->spec)->max_hold;

  if (c->spec.is_fixed && !held->is_fixed)
    return "this owner holds the name already, by a lease that is renewed: DIBS_LOCK_FIXED is for "
           "the outermost hold";
  if (most.ns > 0 && instant_before(instant_add(c->asked_at, most), held->limit))
    return "this owner holds the name already, and may do so for longer: DIBS_LOCK_FIXED and "
           "max_hold_ms are for the outermost hold";
  return NULL;
}

bool claim_reenters(acquisition *a, claim *c, const held_terms *held)
{
  const claim *outer = holder_of(a, c->owner, c->owner_size);
  const char *fault = end_fault(c, held);

  if (outer == NULL)
    return false;
  if (c->spec.no_reentry) {
    claim_fail(c, DIBS_WOULD_DEADLOCK, "this owner holds the name already");
  } else if (held->reads && !c->spec.reads) {
    claim_fail(c, DIBS_WOULD_DEADLOCK,
               "this owner reads it: a writer would wait for itself; release first");
  } else if (fault != NULL) {
    claim_fail(c, DIBS_ERR_ARGUMENT, fault);
  } else {
    hold(c, outer->fence, outer->units, depth_of(a, c));
    c->backend->counts.granted_local++;
    report_hold(c, held->is_suspect);
  }
  return true;
}

const claim_terms *hold_spec_of(const acquisition *a)
{
  return a->holders != NULL ? &a->holders->spec : NULL;
}

uint64_t holders_fence(const acquisition *a)
{
  return a->holders->fence;
}

void holders_set_fence(acquisition *a, uint64_t fence)
{
  for (claim *c = a->holders; c != NULL; c = c->next)
    c->fence = fence;
}

void holders_report(const acquisition *a, lock_event_kind kind)
{
  for (claim *c = a->holders; c != NULL; c = c->next)
    claim_report(c, kind);
}

static bool was_warned_of(const claim_extras *e, instant end)
{
  return e->warned_end.ns != 0 && !instant_before(e->warned_end, end);
}

/* It is reported once for each end: of a hold with max_hold, renewals do not move that. */
void holders_end_at(const acquisition *a, instant end)
{
  for (claim *c = a->holders; c != NULL; c = c->next) {
    claim_extras *e = c->spec.extras;

    if (e == NULL || e->warn.ns == 0 || c->state != CLAIM_HELD || was_warned_of(e, end))
      continue;
    e->warned_end = (instant){ 0 };
    timers_set(c->backend->timers, &c->timer, (instant){ end.ns - e->warn.ns });
  }
}

void claim_ends_soon(claim *c)
{
  claim_extras *e = c->spec.extras;        /* only they have such a timer */

  e->warned_end = (instant){ c->timer.at.ns + e->warn.ns };
  claim_report(c, LOCK_ENDS_SOON);
}

void holders_were_broken(acquisition *a)
{
  for (claim *c = a->holders; c != NULL; c = c->next)
    c->was_broken = true;
}

void holders_lose(acquisition *a, dibs_status status, const char *words)
{
  while (a->holders != NULL) {
    claim *c = a->holders;

    DL_DELETE(a->holders, c);
    DL_APPEND(a->lost, c);
    timers_clear(c->backend->timers, &c->timer);
    c->state = CLAIM_LOST;
    c->status = status;
    claim_say(c, words);
    c->backend->counts.lost++;
    claim_report(c, LOCK_LOST);
  }
}

/* ---- parked ---- */

void holder_park(acquisition *a)
{
  claim *c = a->holders;

  assert(c->next == NULL && a->parked == NULL);
  a->holders = NULL;
  a->parked = c;
  c->state = CLAIM_PARKED;
  c->backend->counts.holds--;
  c->backend->counts.released++;
}

void parked_holds(acquisition *a, const void *owner, uint64_t fence)
{
  claim *c = a->parked;
  lock_counts *counts = &c->backend->counts;

  assert(a->holders == NULL);
  a->parked = NULL;
  a->holders = c;
  c->state = CLAIM_HELD;
  c->fence = fence;
  if (c->owner_size > 0)
    memcpy(c->owner, owner, c->owner_size);
  counts->holds++;
  counts->granted++;
  counts->granted_local++;
}

/* ---- the end ---- */

static void leave(claim *c)
{
  acquisition *a = c->of;
  claim **list = c->state == CLAIM_WAITING ? &a->waiting
               : c->state == CLAIM_LOST    ? &a->lost
               : c->state == CLAIM_PARKED  ? &a->parked : &a->holders;

  DL_DELETE(*list, c);
  c->of = NULL;
}

void claim_end(claim *c, lock_event_kind kind, dibs_status status)
{
  lock_counts *counts = &c->backend->counts;

  assert(c->state != CLAIM_OVER);
  if (c->of != NULL)
    leave(c);
  timers_clear(c->backend->timers, &c->timer);
  slots_remove(&c->front->slots, c->id);
  if (c->state == CLAIM_WAITING)
    count_waiting(c, -1);
  else if (c->state != CLAIM_PARKED)
    counts->holds--;
  c->state = CLAIM_OVER;
  c->status = status;
  claim_report(c, kind);
}

void holders_release(acquisition *a, instant limit)
{
  for (claim *c = a->holders; c != NULL; c = c->next) {
    c->state = CLAIM_RELEASING;
    timers_clear(c->backend->timers, &c->timer);
    claim_say(c, "");                    /* about renewals */
    if (!instant_is_never(limit))
      timers_set(c->backend->timers, &c->timer, limit);
  }
}

void holders_say(acquisition *a, const char *words)
{
  for (claim *c = a->holders; c != NULL; c = c->next)
    claim_say(c, words);
}

const char *holders_words(const acquisition *a)
{
  return a->holders != NULL && a->holders->words != NULL ? a->holders->words : "";
}

void holders_end(acquisition *a, dibs_status status, const char *words)
{
  while (a->holders != NULL) {
    claim *c = a->holders;

    claim_say(c, words);
    claim_end(c, LOCK_RELEASED, status);
  }
}

void lost_end(acquisition *a)
{
  while (a->lost != NULL)
    claim_end(a->lost, LOCK_RELEASED, a->lost->status);
}

/* ---- events ---- */

void claim_report(claim *c, lock_event_kind kind)
{
  if (c->events == 0)
    DL_APPEND2(c->front->reporting, c, previous_reporting, next_reporting);
  c->events |= 1u << kind;
  if (kind == LOCK_RENEWED)      /* these, if unreported, are obsolete */
    c->events &= ~(1u << LOCK_SUSPECT |
                   (extras_of(&c->spec)->warned_end.ns == 0 ? 1u << LOCK_ENDS_SOON : 0));
}

void claim_unreport(claim *c)
{
  if (c->events != 0)
    DL_DELETE2(c->front->reporting, c, previous_reporting, next_reporting);
  c->events = 0;
}

static lock_event_kind take_first(claim *c)
{
  lock_event_kind kind = LOCK_GRANTED;

  while ((c->events & (1u << kind)) == 0)
    kind++;
  c->events &= ~(1u << kind);
  return kind;
}

bool hold_next_event(hold_front *f, lock_event *ret)
{
  claim *c = f->reporting;

  if (c == NULL)
    return false;
  f->reported_words[0] = 0;
  if (c->words != NULL) {
    text said = text_over(f->reported_words, sizeof(f->reported_words));

    text_add(&said, c->words);
  }
  *ret = (lock_event){ .kind = take_first(c), .context = c->context, .id = c->id,
                       .depth = c->depth, .status = c->status, .was_short = c->was_short,
                       .was_broken = c->was_broken, .words = f->reported_words,
                       .acknowledged = c->acknowledged,
                       .replicas_wanted = c->replicas_wanted, .has_fsync = c->has_fsync };
  if (c->is_refused) {
    ret->watched = c->refusal.watched;
    ret->free_at = c->refusal.free_at;
  } else {
    ret->fence = c->fence;
    ret->units = c->units;
  }
  if (c->of != NULL)
    c->backend->ops->describe(c, ret);
  if (c->events != 0)
    return true;
  DL_DELETE2(f->reporting, c, previous_reporting, next_reporting);
  if (c->state == CLAIM_OVER)
    claim_free(c);
  return true;
}

/* ---- the front ---- */

hold_front *hold_front_new(const memory *m)
{
  hold_front *f = mem_zalloc(m, sizeof(*f));

  if (f == NULL)
    return NULL;
  f->memory = *m;
  slots_init(&f->slots, &f->memory);
  return f;
}

hold_front *hold_front_free(hold_front *f)
{
  claim *c, *next;

  if (f == NULL)
    return NULL;
  /* Those that are over have events, and no id. */
  DL_FOREACH_SAFE2(f->reporting, c, next, next_reporting)
    if (c->state == CLAIM_OVER)
      claim_free(c);
  for (uint32_t i = 0; i < f->slots.capacity; i++)
    if ((c = f->slots.all[i].item) != NULL) {
      timers_clear(c->backend->timers, &c->timer);
      claim_free(c);
    }
  slots_deinit(&f->slots);
  mem_free(&f->memory, f);
  return NULL;
}

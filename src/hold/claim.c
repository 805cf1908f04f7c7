/* SPDX-License-Identifier: MIT */
/* hold/claim.c - claims: their life, owners and events. */
#include "hold/claim.h"

#include <assert.h>
#include <string.h>

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

void claim_count_waiting(const claim *c, int by)
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
  claim_count_waiting(c, 1);
  return c;
}

claim *claim_unmake(claim *c)
{
  assert(c->of == NULL && c->events == 0);
  slots_remove(&c->front->slots, c->id);
  claim_count_waiting(c, -1);
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

/* ---- the end ---- */

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
    claim_count_waiting(c, -1);
  else if (c->state != CLAIM_PARKED)
    counts->holds--;
  c->state = CLAIM_OVER;
  c->status = status;
  claim_report(c, kind);
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
                       .was_broken = c->was_broken, .was_let_go = c->was_let_go,
                       .words = f->reported_words,
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

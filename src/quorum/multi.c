/* SPDX-License-Identifier: MIT */
/* quorum/multi.c - claims on sets of several slots, as a backend of holds: a record for each claim,
 * its limit, and its end. */
#include "quorum/multi_record.h"

#include <string.h>

#include "quorum/names_in_one_slot.h"

#define UNCONFIRMED "all names were granted, and not all confirmed their one fence in time"

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
  timers_deinit(&s->timers);           /* those of the records are in it */
  while (s->first != NULL) {
    multi_record *w = s->first;

    s->first = w->next;
    (void)record_free(w);
  }
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
    status = multi_take_next(w, spec, now);
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

void multi_forget_if_over(multi_record *w)
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
  multi_leave(w, 0, now);
  multi_forget_if_over(w);
}

static void fail(claim *c, dibs_status status, const char *words, instant now)
{
  multi_record *w = RECORD_OF(multi_record, claims, c->of);

  multi_fail(w, status, words, now);
  multi_forget_if_over(w);
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
  multi_forget_if_over(RECORD_OF(multi_record, claims, a));
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
    event->valid_until = multi_valid_until(w);
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

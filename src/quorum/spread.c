/* SPDX-License-Identifier: MIT */
/* quorum/spread.c - one claim over sets of several slots: taken in order, kept, raised to one
 * token, given back together. */
#include "quorum/spread.h"

#include <string.h>
#include <utlist.h>

#include "quorum/together.h"

#define LOCAL_NUMBERS 1024
#define LOST_EARLY "one of several names was lost before all were had"

typedef enum part_state {
  PART_NONE = 0, PART_ASKED, PART_HELD, PART_RAISING, PART_LEAVING
} part_state;

typedef struct part {
  uint64_t id;                /* of its claim in the table */
  part_state state;
  size_t first, count;        /* names */
  uint64_t token;
  instant valid_until;
  bool is_suspect;
} part;

typedef enum whole_state { WHOLE_TAKING = 1, WHOLE_RAISING, WHOLE_HELD, WHOLE_LEAVING } whole_state;

typedef struct whole whole;
struct whole {
  whole *prev, *next;
  spread *spread;
  uint64_t id;
  lock_wish wish;             /* its texts are copies */
  whole_state state;
  size_t part_count, taking;
  part *parts;
  many_name *names;
  char *bytes, *owner, *note;
  unsigned events;            /* bits 1 << lock_event_kind */
  bool was_told_end, is_releasing;
  dibs_status status;
  char words[128];
  uint64_t token;
};

struct spread {
  memory memory;
  lock_table *table;
  bool by_name;
  slots slots;
  whole *first;
};

/* ---- life ---- */

spread *spread_new(const memory *m, lock_table *t, bool by_name)
{
  spread *s = mem_zalloc(m, sizeof(*s));

  if (s == NULL)
    return NULL;
  s->memory = *m;
  s->table = t;
  s->by_name = by_name;
  slots_init(&s->slots, &s->memory);
  return s;
}

static whole *whole_free(whole *w)
{
  const memory *m = &w->spread->memory;

  mem_free(m, w->parts);
  mem_free(m, w->names);
  mem_free(m, w->bytes);
  mem_free(m, w->owner);
  mem_free(m, w->note);
  mem_free(m, w);
  return NULL;
}

spread *spread_free(spread *s)
{
  memory m;

  if (s == NULL)
    return NULL;
  while (s->first != NULL) {
    whole *w = s->first;

    s->first = w->next;
    (void)whole_free(w);
  }
  slots_deinit(&s->slots);
  m = s->memory;
  mem_free(&m, s);
  return NULL;
}

static bool whole_copy(whole *w, const lock_wish *wish)
{
  const memory *m = &w->spread->memory;
  size_t size = 0, at = 0;

  for (size_t i = 0; i < wish->name_count; i++)
    size += wish->names[i].size;
  w->wish = *wish;
  w->parts = mem_zalloc(m, wish->name_count * sizeof(w->parts[0]));
  w->names = mem_alloc(m, wish->name_count * sizeof(w->names[0]));
  w->bytes = mem_alloc(m, size);
  w->owner = wish->owner_size > 0 ? mem_copy(m, wish->owner, wish->owner_size) : NULL;
  w->note = mem_copy_text(m, wish->note);
  if (w->parts == NULL || w->names == NULL || w->bytes == NULL ||
      (w->owner == NULL && wish->owner_size > 0) || (w->note == NULL && wish->note != NULL))
    return false;
  for (size_t i = 0; i < wish->name_count; i++) {
    memcpy(w->bytes + at, wish->names[i].name, wish->names[i].size);
    w->names[i] = (many_name){ w->bytes + at, wish->names[i].size };
    at += wish->names[i].size;
  }
  w->wish.owner = w->owner;
  w->wish.note = w->note;
  return true;
}

static void whole_part(whole *w)
{
  size_t count = w->wish.name_count;
  bool by_name = w->spread->by_name;

  names_sort(w->names, count, by_name);
  for (size_t first = 0; first < count; first += w->parts[w->part_count++].count)
    w->parts[w->part_count] = (part){
      .first = first,
      .count = by_name ? 1 : names_together(w->names + first, count - first)
    };
}

bool spread_is_needed(const spread *s, const many_name *names, size_t count)
{
  return s->by_name || names_together(names, count) < count;
}

/* ---- taking ---- */

static void tell(whole *w, lock_event_kind kind)
{
  w->events |= 1u << kind;
}

static void keep_words(whole *w, dibs_status status, const char *words)
{
  text shown = text_over(w->words, sizeof(w->words));

  w->status = status;
  text_add(&shown, words);
}

/* Gives back whatever is held or asked for. Who was granted or refused just now, and has not
 * been told yet, cannot be cancelled: he is released, or ends by himself. */
static void parts_leave(whole *w, instant now)
{
  lock_table *t = w->spread->table;

  for (size_t i = 0; i < w->part_count; i++) {
    part *p = &w->parts[i];
    part_state before = p->state;

    if (before != PART_ASKED && before != PART_HELD && before != PART_RAISING)
      continue;
    p->state = PART_LEAVING;
    if (before == PART_ASKED && lock_cancel(t, p->id, now))
      continue;
    /* Who waits no more may have it by now, and his grant, or his end, be on its way to us. */
    if (lock_release(t, p->id, now) != DIBS_OK && before != PART_ASKED)
      p->state = PART_NONE;
  }
}

/* A grant that was not told yet was none. */
static void whole_end(whole *w, lock_event_kind kind, instant now)
{
  if ((w->events & 1u << LOCK_GRANTED) != 0) {
    kind = LOCK_FAILED;
    keep_words(w, DIBS_ERR_UNREACHABLE, LOST_EARLY);
  }
  w->events = 0;
  w->state = WHOLE_LEAVING;
  w->was_told_end = kind == LOCK_FAILED;
  tell(w, kind);
  parts_leave(w, now);
}

static dibs_status take_next(whole *w, instant now)
{
  part *p = &w->parts[w->taking];
  lock_wish wish = w->wish;
  dibs_status status;

  wish.context = p;
  wish.kind = w->spread->by_name ? LOCK_MUTEX : LOCK_MANY;
  wish.is_part = w->spread->by_name;
  wish.name = w->names[p->first].name;
  wish.name_size = w->names[p->first].size;
  wish.names = w->names + p->first;
  wish.name_count = p->count;
  status = lock_claim(w->spread->table, &wish, now, &p->id);
  if (status == DIBS_OK)
    p->state = PART_ASKED;
  return status;
}

dibs_status spread_claim(spread *s, const lock_wish *wish, instant now, uint64_t *ret_id)
{
  whole *w = mem_zalloc(&s->memory, sizeof(*w));
  dibs_status status = DIBS_ERR_NO_MEMORY;

  if (w == NULL)
    return status;
  w->spread = s;
  w->state = WHOLE_TAKING;
  if (whole_copy(w, wish) && (w->id = slots_add(&s->slots, w)) != 0) {
    whole_part(w);
    status = take_next(w, now);
  }
  if (status != DIBS_OK) {
    if (w->id != 0)
      slots_remove(&s->slots, w->id);
    (void)whole_free(w);
    return status;
  }
  DL_PREPEND(s->first, w);
  *ret_id = w->id | SPREAD_ID;
  return DIBS_OK;
}

static whole *whole_of(const spread *s, uint64_t id)
{
  return (id & SPREAD_ID) == 0 ? NULL : slots_get(&s->slots, id & ~SPREAD_ID);
}

bool spread_fail(spread *s, uint64_t id, dibs_status status, const char *words, instant now)
{
  whole *w = whole_of(s, id);

  if (w == NULL || (w->state != WHOLE_TAKING && w->state != WHOLE_RAISING))
    return false;
  keep_words(w, status, words);
  whole_end(w, LOCK_FAILED, now);
  return true;
}

dibs_status spread_release(spread *s, uint64_t id, instant now)
{
  whole *w = whole_of(s, id);

  if (w == NULL || w->is_releasing || w->was_told_end)
    return DIBS_ERR_STALE;
  w->is_releasing = true;
  if (w->state == WHOLE_HELD) {
    w->state = WHOLE_LEAVING;
    w->status = DIBS_OK;
    w->words[0] = 0;
    parts_leave(w, now);
  }
  return DIBS_OK;
}

void spread_close(spread *s, instant now)
{
  for (whole *w = s->first; w != NULL; w = w->next)
    if (w->state == WHOLE_TAKING || w->state == WHOLE_RAISING)
      (void)spread_fail(s, w->id | SPREAD_ID, DIBS_ERR_CLOSED, "the client is being closed", now);
    else
      (void)spread_release(s, w->id | SPREAD_ID, now);
}

bool spread_is_quiet(const spread *s)
{
  return s->first == NULL;
}

/* ---- events of the parts ---- */

static part *part_find(const spread *s, const lock_event *event, whole **ret_whole)
{
  for (whole *w = s->first; w != NULL; w = w->next)
    for (size_t i = 0; i < w->part_count; i++)
      if (event->context == &w->parts[i]) {
        *ret_whole = w;
        return &w->parts[i];
      }
  return NULL;
}

static instant valid_until(const whole *w)
{
  instant first = INSTANT_NEVER;

  for (size_t i = 0; i < w->part_count; i++)
    first = instant_min(first, w->parts[i].valid_until);
  return first;
}

static bool is_suspect(const whole *w)
{
  for (size_t i = 0; i < w->part_count; i++)
    if (w->parts[i].is_suspect)
      return true;
  return false;
}

static void granted_if_raised(whole *w)
{
  for (size_t i = 0; i < w->part_count; i++)
    if (w->parts[i].state != PART_HELD)
      return;
  w->state = WHOLE_HELD;
  tell(w, LOCK_GRANTED);
  if (is_suspect(w))
    tell(w, LOCK_SUSPECT);
}

/* One fence for all: the highest token of any; the servers are told where they keep it. */
static void raise_all(whole *w, instant now)
{
  for (size_t i = 0; i < w->part_count; i++)
    if (w->parts[i].token > w->token)
      w->token = w->parts[i].token;
  w->state = WHOLE_RAISING;
  for (size_t i = 0; i < w->part_count; i++) {
    part *p = &w->parts[i];

    if (p->token == w->token || w->spread->by_name)
      continue;
    p->state = PART_RAISING;             /* one that was lost meanwhile will be told so */
    (void)lock_raise(w->spread->table, p->id, w->token, now);
  }
  granted_if_raised(w);
}

static void part_granted(whole *w, part *p, const lock_event *event, instant now)
{
  dibs_status status;

  if (p->state != PART_ASKED)
    return;                              /* cancelled, and granted all the same: it leaves */
  p->state = PART_HELD;
  p->token = event->token;
  p->valid_until = event->valid_until;
  if (++w->taking == w->part_count) {
    raise_all(w, now);
    return;
  }
  status = take_next(w, now);
  if (status != DIBS_OK) {
    keep_words(w, status, "no memory to ask for the next of several names");
    whole_end(w, LOCK_FAILED, now);
  }
}

static void part_lost(whole *w, part *p, const lock_event *event, instant now)
{
  if (w->state == WHOLE_LEAVING)
    return;
  keep_words(w, event->status, event->words);
  if (w->state != WHOLE_HELD) {          /* nobody was told that he has it: so he has not */
    keep_words(w, DIBS_ERR_UNREACHABLE, LOST_EARLY);
    whole_end(w, LOCK_FAILED, now);
    return;
  }
  whole_end(w, LOCK_LOST, now);
  (void)p;
}

static void part_ended(whole *w, part *p, const lock_event *event, instant now)
{
  bool was_leaving = p->state == PART_LEAVING;

  p->state = PART_NONE;
  if (event->kind == LOCK_RELEASED && event->status != DIBS_OK && w->status == DIBS_OK)
    keep_words(w, event->status, event->words);
  if (was_leaving || w->state == WHOLE_LEAVING)
    return;
  keep_words(w, event->status, event->words);
  whole_end(w, w->state == WHOLE_HELD ? LOCK_LOST : LOCK_FAILED, now);
}

bool spread_take_event(spread *s, const lock_event *event, instant now)
{
  whole *w = NULL;
  part *p = part_find(s, event, &w);

  if (p == NULL)
    return false;
  switch (event->kind) {
  case LOCK_GRANTED:
    part_granted(w, p, event, now);
    break;
  case LOCK_RAISED:
    if (p->state == PART_RAISING)
      p->state = PART_HELD;
    p->token = event->token;
    if (w->state == WHOLE_RAISING)
      granted_if_raised(w);
    break;
  case LOCK_RENEWED:
    p->valid_until = event->valid_until;
    p->is_suspect = false;
    if (w->state == WHOLE_HELD && !is_suspect(w)) {
      w->events &= ~(1u << LOCK_SUSPECT);
      tell(w, LOCK_RENEWED);
    }
    break;
  case LOCK_SUSPECT:
    p->is_suspect = true;
    w->events &= ~(1u << LOCK_RENEWED);
    if (w->state == WHOLE_HELD)
      tell(w, LOCK_SUSPECT);
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
  return true;
}

/* ---- events of the whole ---- */

static bool is_over(const whole *w)
{
  if (w->state != WHOLE_LEAVING || (!w->was_told_end && !w->is_releasing))
    return false;
  for (size_t i = 0; i < w->part_count; i++)
    if (w->parts[i].state != PART_NONE)
      return false;
  return true;
}

static void whole_forget(whole *w)
{
  DL_DELETE(w->spread->first, w);
  slots_remove(&w->spread->slots, w->id);
  (void)whole_free(w);
}

static bool whole_event(whole *w, lock_event *ret)
{
  lock_event_kind kind = LOCK_GRANTED;

  if (w->events == 0)
    return false;
  while ((w->events & (1u << kind)) == 0)
    kind++;
  w->events &= ~(1u << kind);
  *ret = (lock_event){ .kind = kind, .context = w->wish.context, .id = w->id | SPREAD_ID,
                       .fence = w->token * LOCAL_NUMBERS, .units = 1, .depth = 1,
                       .token = w->token, .status = w->status, .words = w->words,
                       .name = w->names[0].name, .name_size = w->names[0].size };
  if (w->state == WHOLE_HELD)
    ret->valid_until = valid_until(w);
  return true;
}

bool spread_next_event(spread *s, lock_event *ret)
{
  for (whole *w = s->first, *next; w != NULL; w = next) {
    next = w->next;
    if (whole_event(w, ret))
      return true;
    if (!is_over(w))
      continue;
    if (w->was_told_end) {
      whole_forget(w);
      continue;
    }
    w->was_told_end = true;
    tell(w, LOCK_RELEASED);
    return whole_event(w, ret);
  }
  return false;
}

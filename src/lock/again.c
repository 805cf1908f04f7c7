/* SPDX-License-Identifier: MIT */
/* lock/again.c - repeats releases that the server had confirmed shortly before its connection
 * broke. A replica that is promoted may not have got them; then it has the lease until that ends,
 * although no client holds it. Each is repeated once, also by a client that has nothing else to
 * send. It names the whole lease, so it changes nothing where that has ended. */
#include "lock/table.h"

#include <string.h>

/* A primary that stopped is noticed by a ping without a reply, more than 10 s later. */
#define KEPT_FOR SPAN_MS(30000)
#define LOOK_EVERY SPAN_MS(10000)     /* for those that do not matter any more */
#define KEPT_MAX 256              /* of each server: the last ones */
#define AT_ONCE 16                /* under way, so that many clients do not flood a new primary */
#define SEARCHED_FOR SPAN_MS(60000)   /* by a client that has nothing else to send */
#define PAUSE_FIRST SPAN_MS(20)
#define PAUSE_MAX SPAN_MS(1000)

/* ---- the lists: the newest first ---- */

void orphan_free(lock_table *t, orphan *s)
{
  if (s != NULL && s->is_again)
    t->backend.counts.bytes -= sizeof(*s) + s->size;
  mem_free(&t->memory, s);
}

static void take(orphans_kept *from, orphan *s)
{
  DL_DELETE(from->first, s);
  from->count--;
}

static void drop_oldest(lock_table *t, orphans_kept *from)
{
  orphan *oldest = from->first->prev;

  take(from, oldest);
  orphan_free(t, oldest);
}

static void add(lock_table *t, orphans_kept *to, orphan *s)
{
  if (to->count >= KEPT_MAX)
    drop_oldest(t, to);
  DL_PREPEND(to->first, s);
  to->count++;
}

static void drop_all(lock_table *t, orphans_kept *from)
{
  while (from->first != NULL)
    drop_oldest(t, from);
}

void again_init(lock_table *t)
{
  timer_init(&t->again_pause, TIMER_AGAIN);
  timer_init(&t->again_over, TIMER_AGAIN_OVER);
}

void again_drop_unsent(route *r)
{
  drop_all(r->table, &r->again);
}

void again_drop(route *r)
{
  drop_all(r->table, &r->confirmed);
  again_drop_unsent(r);
}

static void drop_over(lock_table *t, orphans_kept *from, instant now)
{
  orphan *s, *next;

  DL_FOREACH_SAFE(from->first, s, next) {
    if (instant_before(now, s->over))
      continue;
    take(from, s);
    orphan_free(t, s);
  }
}

static bool matters(const orphan *s, instant now)
{
  return instant_since(now, s->released_at).ns < KEPT_FOR.ns && instant_before(now, s->over);
}

static void forget(route *r, instant now)
{
  orphans_kept *confirmed = &r->confirmed;

  while (confirmed->first != NULL && !matters(confirmed->first->prev, now))
    drop_oldest(r->table, confirmed);
  drop_over(r->table, &r->again, now);
}

/* At about the time: to set the timer for each release would cost more than to look again. */
static void look_later(lock_table *t, instant now)
{
  if (!timer_is_set(&t->again_over))
    timers_set(&t->timers, &t->again_over, instant_add(now, LOOK_EVERY));
}

void again_forget(lock_table *t, instant now)
{
  bool is_left = false;

  for (size_t i = 0; i <= t->route_count; i++) {
    route *r = route_at(t, i);

    forget(r, now);
    is_left |= r->confirmed.first != NULL || r->again.first != NULL;
  }
  if (is_left)
    look_later(t, now);
}

/* ---- what was released ---- */

static void keep(const lease *l, const void *name, size_t size, instant now)
{
  lock_table *t = l->table;
  orphan *s = mem_zalloc(&t->memory, sizeof(*s) + size);

  if (s == NULL)
    return;
  t->backend.counts.bytes += sizeof(*s) + size;
  s->is_again = s->is_hearsay = true;
  s->lease = l->term.id;
  s->is_share = l->kind == LEASE_SHARED;
  s->released_at = now;
  s->over = l->insist_until;
  s->size = size;
  memcpy(s->name, name, size);
  add(t, &l->route->confirmed, s);
  look_later(t, now);
}

void again_keep(const lease *l, instant now)
{
  if (l->table->is_closing || !lease_is_one(l))
    return;
  if (l->kind != LEASE_SET)
    keep(l, l->bytes, l->size, now);
  for (size_t i = 0; i < set_count(l); i++)
    keep(l, l->many.names[i].name, l->many.names[i].size, now);
}

/* The first waiter, if it is not granted, repeats its `want` with its polls: 0.8 to 1 s later, of
 * leases of 3 s or more. */
#define JUST_RELEASED SPAN_MS(500)

bool again_has_just_released(const route *r, const lease_id *id, instant now)
{
  const orphan *s;

  DL_FOREACH(r->confirmed.first, s) {
    if (instant_since(now, s->released_at).ns >= JUST_RELEASED.ns)
      return false;
    if (lease_id_equal(&s->lease, id))
      return true;
  }
  return false;
}

/* ---- where it is repeated ---- */

void again_link_down(route *r, instant now)
{
  if (r->table->is_closing)
    again_drop(r);
  forget(r, now);
  while (r->confirmed.first != NULL) {
    orphan *oldest = r->confirmed.first->prev;

    take(&r->confirmed, oldest);
    add(r->table, &r->again, oldest);
  }
  drop_over(r->table, &r->again, now);
}

/* While no server has the slot, the old one is tried: that it cannot be reached begins the next
 * search. */
static void part(route *from, orphans_kept *list)
{
  lock_table *t = from->table;
  orphan *s = list->first != NULL ? list->first->prev : NULL, *newer;

  for (; s != NULL; s = newer) {
    route *to = route_of_name(t, s->name, s->size);

    newer = s == list->first ? NULL : s->prev;
    if (to == from || to == t->nowhere)
      continue;
    take(list, s);
    add(t, &to->again, s);
  }
}

void again_moved(lock_table *t)
{
  for (size_t i = 0; i <= t->route_count; i++) {
    part(route_at(t, i), &route_at(t, i)->confirmed);
    part(route_at(t, i), &route_at(t, i)->again);
  }
}

void again_back(lock_table *t, call *c)
{
  orphan *s = c->orphan;
  route *r = route_of_name(t, s->name, s->size);

  c->orphan = NULL;
  s->attempts++;
  t->again_failed = true;
  add(t, r != t->nowhere ? &r->again : &c->route->again, s);
}

/* ---- sending ---- */

static bool is_pausing(lock_table *t, instant now)
{
  span wait = span_min((span){ PAUSE_FIRST.ns << t->again_pauses }, PAUSE_MAX);

  if (t->again_failed && !timer_is_set(&t->again_pause)) {
    timers_set(&t->timers, &t->again_pause,
               instant_add(now, random_span(&t->random, (span){ wait.ns / 2 }, wait)));
    t->again_pauses += wait.ns < PAUSE_MAX.ns;
  }
  t->again_failed = false;
  return timer_is_set(&t->again_pause);
}

bool again_next(route *r, request *out, lock_command *ret, instant now)
{
  orphan *s;

  if (r->again.first == NULL)
    return false;
  drop_over(r->table, &r->again, now);
  s = r->again.first;
  if (s == NULL || r->again_calls >= AT_ONCE || is_pausing(r->table, now) ||
      !orphan_send(r, s, out, ret, now))
    return false;
  out->carries_text = s->attempts > 0 || r->again_calls == 0;   /* the others find the script */
  take(&r->again, s);
  r->again_calls++;
  return true;
}

bool lock_may_repeat(const lock_table *t, size_t number, bool is_news, instant now)
{
  const route *r = t->routes[number];
  const orphan *s = r->again.first;

  return (s != NULL && (is_news || instant_since(now, s->released_at).ns < SEARCHED_FOR.ns)) ||
         (r->confirmed.first != NULL && matters(r->confirmed.first, now));
}

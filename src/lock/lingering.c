/* SPDX-License-Identifier: MIT */
/* Lingering: a mutex that nobody here holds any more is kept for the next who wants it
 * (protocol.md 11). Only where the server knows of it and we can hear a `want`. */
#include "lock/table.h"

#define LOCAL_NUMBERS 1024
#define AUTO_LINGER SPAN_MS(1000)

static bool is_auto(span linger)
{
  return linger.ns < 0;
}

bool linger_asks(const name *n, const claim *c)
{
  if (n->kind != NAME_MUTEX || c->is_fixed || c->linger.ns == 0 ||
      !dialect_traits_of(&n->table->native)->hands_over)
    return false;
  return !is_auto(c->linger) || habit_says_linger(&n->table->habits, n->bytes, n->size);
}

bool linger_is_wanted(const name *n, const claim *c, instant now)
{
  const lock_table *t = n->table;

  return n->kind == NAME_MUTEX && c->linger.ns != 0 && n->ask_lingers &&
         n->waiting == NULL && n->waiters_elsewhere == 0 && inbox_hears(n) &&
         !t->is_closing && !n->is_fixed && !n->is_suspect && !n->is_named &&
         n->local_number + 1 < LOCAL_NUMBERS && instant_before(now, n->valid_until);
}

void linger_begin(name *n, span linger, instant now)
{
  lock_table *t = n->table;

  n->state = NAME_LINGERING;
  t->counts.lingering++;
  n->idle_since = now;
  n->limit = INSTANT_NEVER;
  n->handovers = 0;
  if (n->note_is_set)
    t->note_name_id = n->id;
  hold_set_deadline(n);
  timers_set(&t->timers, &n->poll,
             instant_add(now, is_auto(linger) ? AUTO_LINGER : linger));
}

void linger_end(name *n, instant now)
{
  leave_release(n, now);
}

/* Somebody else wants what lies idle here. */
void linger_revoked(name *n, instant now)
{
  habit_revoked(&n->table->habits, n->bytes, n->size);
  linger_end(n, now);
}

void linger_take(name *n, instant now)
{
  lock_table *t = n->table;

  if (!hold_may_pass(n, now)) {
    linger_end(n, now);                  /* too old, or for a fixed lease: ask anew */
    return;
  }
  timers_clear(&t->timers, &n->poll);
  n->state = NAME_HELD;
  t->counts.lingering--;
  habit_paid(&t->habits, n->bytes, n->size);
  hold_pass(n, now);
  n->handovers = 0;
}

/* ---- how much is kept ---- */

size_t lock_expire(lock_table *t, span age, instant now)
{
  size_t count = 0;
  name *next;

  for (name *n = t->first_name; n != NULL; n = next) {
    next = n->next;
    if (n->state != NAME_LINGERING || instant_since(now, n->idle_since).ns < age.ns)
      continue;
    linger_end(n, now);
    count++;
  }
  return count;
}

static name *longest_idle(const lock_table *t)
{
  name *found = NULL;

  if (t->counts.lingering == 0)
    return NULL;
  for (name *n = t->first_name; n != NULL; n = n->next)
    if (n->state == NAME_LINGERING &&
        (found == NULL || instant_before(n->idle_since, found->idle_since)))
      found = n;
  return found;
}

bool linger_make_room(lock_table *t, instant now)
{
  name *n;

  if (t->settings.names_max == 0 || t->counts.names < t->settings.names_max)
    return true;
  n = longest_idle(t);
  if (n != NULL)
    linger_end(n, now);
  return n != NULL;
}

/* SPDX-License-Identifier: MIT */
/* Messages: hints by which the server saves us a poll. Each counts only for the ask it
 * names (F1-F4); what names an ask neither held nor open is given back. */
#include "lock/table.h"

#include <string.h>

static bool is_open(const name *n, uint64_t ask)
{
  return (n->state == NAME_ASKING || n->state == NAME_QUEUED || n->state == NAME_CANCELLING) &&
         n->ask == ask;
}

static bool is_ours(const name *n, uint64_t ask)
{
  return (n->state == NAME_HELD || n->state == NAME_CONFIRMING || n->state == NAME_ACKING ||
          n->state == NAME_LINGERING || n->state == NAME_RELEASING) && n->lease.ask == ask;
}

static void message_grant(name *n, const inbox_message *m, instant now)
{
  lock_table *t = n->table;
  span ttl = span_ms(m->ttl_ms);
  instant since = n->ask_was_answered ? n->waiting_at : n->ask_sent_at;
  instant end = lease_end(since, ttl, t->settings.clock_rate_error_ppm);

  if (n->state == NAME_CANCELLING)
    return;                            /* the cancel on its way gives it back */
  if (m->lease.token <= n->newest_token || m->lease.token <= n->closed_token)
    return;                            /* older than what the server told since */
  if (n->kind == NAME_SET) {
    n->was_granted_one = true;         /* perhaps the others are to be had now, too */
    name_due(n);
    return;
  }
  if (m->word == INBOX_SHARE)
    n->units = m->units;

  if (instant_since(end, now).ns >= ttl.ns / 4) {
    /* Young enough, it is renewed when its time comes: a third of all commands in a
     * crowd would be renewals otherwise. A fixed one is made whole now or never. */
    bool is_old = instant_since(now, since).ns >= ttl.ns / 4;

    hold_granted(n, &m->lease, end, ttl, m->waiters,
                 is_old || n->waiting->is_fixed, since, now);
    return;
  }
  hold_confirm(n, &m->lease);
}

static bool is_detached(const lock_table *t, const lease_id *lease)
{
  for (const detached *d = t->detached; d != NULL; d = d->next)
    if (lease_id_equal(&d->lease, lease))
      return true;
  return false;
}

static void give_back(lock_table *t, const inbox_message *m)
{
  /* Who waits for a member of a set goes on saying so, long after it was detached. */
  if (m->word == INBOX_WANT && m->lease.set != 0 && t->has_forgotten_sets)
    return;
  if (!is_detached(t, &m->lease))
    leave_stray(t, &m->lease, m->word == INBOX_SHARE, m->name, m->name_size);
}

/* Whom a message is about: a set by its number, a seat by its ask, a mutex by its name. */
static name *name_of(const lock_table *t, const inbox_message *m)
{
  name *n;

  if (m->lease.set != 0)
    return set_find(t, m->lease.set);
  if (m->word != INBOX_SHARE) {
    n = mutex_find(t, m->name, m->name_size);
    if (n != NULL || m->word != INBOX_LOST)
      return n;
  }
  return seat_find(t, m->name, m->name_size, m->lease.ask);
}

static void message_want(name *n, instant now)
{
  if (n->waiters_elsewhere == 0)
    n->waiters_elsewhere = 1;
  if (n->state == NAME_LINGERING)
    linger_revoked(n, now);
}

static void message_lost(name *n, const inbox_message *m, instant now)
{
  if ((n->state == NAME_HELD || n->state == NAME_LINGERING) &&
      lease_id_equal(&n->lease, &m->lease))
    hold_lost(n, DIBS_LOST, "broken by an administrator", now);
  else if ((n->state == NAME_ACKING || n->state == NAME_CONFIRMING) &&
           lease_id_equal(&n->lease, &m->lease))
    hold_not_ours(n, now);             /* nobody was told that he has it: he asks again */
  else if (n->kind == NAME_SEAT && n->state == NAME_QUEUED && n->ask == m->lease.ask)
    name_due(n);                       /* dropped from the queue: the server says why */
}

void inbox_speaks(lock_table *t, const char *bytes, size_t size, instant now)
{
  inbox_message m;
  name *n;

  if (owners_message(t, bytes, size))
    return;
  if (!inbox_message_read(bytes, size, &m) || strcmp(m.lease.client, t->native.client) != 0)
    return;
  n = name_of(t, &m);

  switch (m.word) {
  case INBOX_GRANT:
  case INBOX_SHARE:
    if (n != NULL && is_open(n, m.lease.ask))
      message_grant(n, &m, now);
    else if (n == NULL || !is_ours(n, m.lease.ask))
      give_back(t, &m);
    break;
  case INBOX_WANT:
    if (n != NULL && is_ours(n, m.lease.ask))
      message_want(n, now);
    else if (n == NULL || !is_open(n, m.lease.ask))
      give_back(t, &m);
    break;
  case INBOX_LOST:
    if (n != NULL)
      message_lost(n, &m, now);
    break;
  }
}

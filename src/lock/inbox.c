/* SPDX-License-Identifier: MIT */
/* lock/inbox.c - messages of the client channel: hints that save polls. A grant is
 * accepted when it has the nonce of an open ask; any other message makes the name ask the
 * server, with a limit on the rate. Each message counts only for its ask (F1-F4); a grant
 * to an ask that is neither held nor open is released. */
#include "lock/table.h"

#include <string.h>

static bool is_open(const lease *l, uint64_t ask)
{
  return lease_is_in(l, STATES_ASK | IN(LEASE_CANCELLING)) && l->ask.number == ask;
}

static bool is_ours(const lease *l, uint64_t ask)
{
  return lease_is_in(l, STATES_LEASE) && l->term.id.ask == ask;
}

/* A hint only makes the name ask. */
static void hinted(lease *l, instant now)
{
  if (hint_is_in_time(l, now))
    lease_due(l);
}

/* Whether the message proves the grant without a request. */
static bool is_believed(lease *l, const inbox_message *m, instant now)
{
  const server_clock *clock = &l->route->clock;
  int64_t server_us = server_clock_at(clock, now);

  if (server_us == 0)
    return false;
  if (!token_is_possible(m->lease.token, server_us)) {
    token_warn(l->table, l, m->lease.token, now);
    return false;
  }
  /* If the clock was set back during this ask, an old grant may look like a new one. */
  if (clock->has_stepped && !instant_before(clock->stepped_at, l->wait->first_sent_at))
    return false;
  return message_is_proven(l->table, m);
}

static lease_state message_grant(lease *l, const inbox_message *m, instant now)
{
  lock_table *t = l->table;
  span ttl = span_ms(m->ttl_ms);
  instant since = l->ask.was_answered ? l->wait->queued_at : l->wait->first_sent_at;
  instant end = lease_end(since, ttl, t->settings.clock_rate_error_ppm);

  if (l->state == LEASE_CANCELLING)
    return l->state;                   /* the cancel under way releases it */
  if (!is_believed(l, m, now)) {
    hinted(l, now);
    return l->state;
  }
  if (m->lease.token <= l->wait->newest_token || m->lease.token <= l->ended_token)
    return l->state;                   /* older than what the server reported since */
  if (l->kind == LEASE_SET) {
    l->many.was_granted_one = true;    /* the other names may be free now, too */
    hinted(l, now);
    return l->state;
  }
  if (m->word == INBOX_SHARE)
    l->term.units = m->units;
  l->ask.had_message = true;

  if (instant_since(end, now).ns >= ttl.ns / 4) {
    /* A recent grant is renewed at its regular time: otherwise a third of all commands
     * under contention would be renewals. A fixed lease gets its full length now or never. */
    bool is_old = instant_since(now, since).ns >= ttl.ns / 4;

    hold_expects_others(l);
    return hold_granted(l, &m->lease, end, ttl, m->waiters,
                        is_old || wish_of(&l->claims)->is_fixed, since, now);
  }
  return hold_confirm(l, &m->lease);
}

/* Only the last detached shared leases and multi-locks are known by their leases; none of
 * the others is released, because its lease may continue. */
static void give_back(lock_table *t, const inbox_message *m, instant now)
{
  bool is_lock = m->lease.set == 0 && m->word != INBOX_SHARE;
  orphan *s;

  if (!is_lock && m->lease.ask <= t->forgotten_ask)
    return;
  if (is_detached(t, &m->lease, m->name, m->name_size) || !hints_take(t, HINT_SCRIPT, now))
    return;
  s = leave_orphan(t, &m->lease, m->word == INBOX_SHARE, m->name, m->name_size);
  if (s != NULL)
    s->is_hearsay = !message_is_proven(t, m);
}

/* The `want` crossed the release, which has granted the lock to the asker since. After a failover
 * that lost the release, only the `want` names the lease. */
static bool has_crossed(const lock_table *t, const inbox_message *m, instant now)
{
  return again_has_just_released(route_of_name(t, m->name, m->name_size), &m->lease, now);
}

/* Finds the name of a message: a multi-lock by its number, a shared lease by its ask, a
 * mutex by its name. */
static lease *lease_of(const lock_table *t, const inbox_message *m)
{
  lease *l;

  if (m->lease.set != 0)
    return set_find(t, m->lease.set);
  if (m->word != INBOX_SHARE) {
    l = mutex_find(t, m->name, m->name_size);
    if (l != NULL || (m->word != INBOX_LOST && m->word != INBOX_RELEASED))
      return l;
  }
  return shared_find(t, m->name, m->name_size, m->lease.ask);
}

static lease_state message_want(lease *l)
{
  l->term.was_wanted = true;
  hold_count_waiters(l, l->term.waiters_elsewhere);
  return l->state == LEASE_PARKED ? park_revoked(l) : l->state;
}

/* Before or after a raise that is under way. */
static bool is_lease_of(const lease *l, const lease_id *id)
{
  lease_id raised = l->term.id;

  raised.token = l->term.raise_to;
  return lease_id_is_grant(id, &l->term.id) ||
         (l->term.raise_to != 0 && lease_id_equal(id, &raised));
}

static void reported_broken(lease *l)
{
  l->term.is_reported_broken = true;
  l->term.reports++;
}

/* The message may be wrong: a renewal shows the state of the lease. */
static void message_lost(lease *l, const inbox_message *m, instant now)
{
  bool is_lease = is_lease_of(l, &m->lease);

  if (l->state == LEASE_PARKED && is_lease) {
    lease_become(l, LEASE_RELEASING, now);
  } else if (l->state == LEASE_HELD && is_lease) {
    if (!hints_take(l->table, HINT_ASK, now))
      return;
    reported_broken(l);
    hold_check(l);
  } else if (l->state == LEASE_ACKING && is_lease) {
    reported_broken(l);
    acks_renew(l);
  } else if (l->state == LEASE_CONFIRMING && is_lease) {
    reported_broken(l);                  /* the renewal may have been executed before the loss */
  } else if (l->kind == LEASE_SHARED && l->state == LEASE_QUEUED && l->ask.number == m->lease.ask) {
    hinted(l, now);                    /* removed from the queue: ask the server why */
  }
}

/* Only why the lease ends, if it does: the `lost` that follows has the lease renewed. */
static void message_released(lease *l, const inbox_message *m)
{
  if (!lease_is_in(l, STATES_LEASE) || !is_lease_of(l, &m->lease))
    return;
  l->term.is_let_go = true;
  l->term.reports++;
}

void inbox_speaks(lock_table *t, const char *bytes, size_t size, instant now)
{
  inbox_message m;
  lease *l;

  if (wait_report_message(t, bytes, size, now))
    return;
  if (!inbox_message_read(bytes, size, &m) || strcmp(m.lease.client, t->protocol.client) != 0)
    return;
  l = lease_of(t, &m);

  switch (m.word) {
  case INBOX_GRANT:
  case INBOX_SHARE:
    if (l != NULL && is_open(l, m.lease.ask))
      lease_become(l, message_grant(l, &m, now), now);
    else if (l == NULL || !is_ours(l, m.lease.ask))
      give_back(t, &m, now);
    break;
  case INBOX_WANT:
    if (l != NULL && (is_ours(l, m.lease.ask) || is_open(l, m.lease.ask)))
      lease_become(l, message_want(l), now);
    else if (!has_crossed(t, &m, now))
      give_back(t, &m, now);
    break;
  case INBOX_LOST:
    if (l != NULL)
      message_lost(l, &m, now);
    break;
  case INBOX_RELEASED:
    if (l != NULL)
      message_released(l, &m);
    break;
  }
}

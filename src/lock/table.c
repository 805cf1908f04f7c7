/* SPDX-License-Identifier: MIT */
/* lock/table.c - the table of names. */
#include "lock/table.h"

#include <assert.h>
#include <string.h>

lock_table *lock_table_new(const lock_settings *s)
{
  lock_table *t = mem_zalloc(s->memory, sizeof(*t));

  if (t == NULL)
    return NULL;

  t->memory = *s->memory;
  t->settings = *s;
  t->settings.memory = &t->memory;
  t->protocol = *s->protocol;
  t->settings.protocol = &t->protocol;
  random_seed(&t->random, s->seed);
  timers_init(&t->timers, &t->memory);
  buffer_init(&t->notes_due, &t->memory);
  t->backend.ops = &lease_ops;
  t->backend.timers = &t->timers;
  slots_init(&t->lease_slots, &t->memory);
  slots_init(&t->call_slots, &t->memory);
  wait_report_init(t);
  again_init(t);
  t->only_polls = s->only_polls;
  return routes_init(t) ? t : lock_table_free(t);
}

lock_table *lock_table_free(lock_table *t)
{
  if (t == NULL)
    return NULL;

  while (t->first_lease != NULL)
    lease_free(t->first_lease);
  while (t->spare_waits != NULL) {
    lease_wait *w = t->spare_waits;
    t->spare_waits = w->next;
    mem_free(&t->memory, w);
  }
  channels_free(t);
  routes_free(t);
  detached_free(t);
  timers_deinit(&t->timers);
  buffer_deinit(&t->notes_due);
  slots_deinit(&t->lease_slots);
  slots_deinit(&t->call_slots);
  mem_free(&t->memory, t);
  return NULL;
}

bool table_reserve_timers(lock_table *t, size_t more)
{
  /* Only grows: the largest number of timers that names and claims needed at once. */
  const lock_counts *counts = &t->backend.counts;
  size_t wanted = (size_t)(counts->names * 3 + counts->holds + counts->parked +
                           counts->waiting) + 3 + more;

  if (wanted <= t->timer_count)
    return true;
  wanted += wanted / 2;
  if (!timers_reserve(&t->timers, wanted))
    return false;
  t->timer_count = wanted;
  return true;
}

/* ---- time ---- */

instant table_deadline(const hold_backend *b)
{
  const lock_table *t = (const lock_table *)b;

  return timers_first(&t->timers);
}

static void lease_poll_timer(lease *l, instant now)
{
  l->redirects = 0;
  lease_become(l, lease_polls(l, now), now);
}

static void lease_renew_timer(lease *l, instant now)
{
  l->redirects = 0;
  if (l->state == LEASE_ACKING) {
    acks_retry(l);
    return;
  }
  if (l->renewing_at != NULL) {
    /* No reply for hold_doubt_after(): the connection is doubtful. */
    hold_suspect(l);
    l->renewing_at->link_is_doubtful = true;
    (void)now;
    return;
  }
  lease_renewal_due(l);
}

static void lease_deadline_timer(lease *l, instant now)
{
  bool by_limit = !instant_before(l->term.valid_until, l->term.limit);
  char words[512];
  text shown = text_over(words, sizeof(words));

  text_add(&shown, l->term.is_fixed ? "the fixed lease is over"
                   : by_limit       ? "max_hold_ms is over" : "not renewed in time");
  if (!l->term.is_fixed && !by_limit)
    lease_add_why(l, "; ", &shown);
  lease_become(l, hold_lost(l, DIBS_LOST, words), now);
  l->term.is_over = true;
  /* Reported a little early, so that the report may be late; a program that has not got it
   * yet, or uses an earlier deadline, must not meet the next holder before the end. */
  leave_not_before(l, hold_end(l));
}

/* Idle names leave these lists when their turn comes; while nothing is sent, this removes
 * them. */
static void sweep(lock_table *t, bool is_end)
{
  for (size_t i = 0; i <= t->route_count; i++) {
    route *r = i < t->route_count ? t->routes[i] : t->nowhere;

    if (r->has_idle_dues && (is_end || !r->is_up))
      dues_sweep(r);
  }
}

void table_tick(hold_backend *b, instant now)
{
  lock_table *t = (lock_table *)b;
  timer *due;

  while ((due = timers_pop(&t->timers, now)) != NULL) {
    switch (due->kind) {
    case HOLD_TIMER_CLAIM:
      claim_timer(claim_of_timer(due), now);
      break;
    case TIMER_POLL:
      lease_poll_timer(RECORD_OF(lease, poll, due), now);
      break;
    case TIMER_RENEW:
      lease_renew_timer(RECORD_OF(lease, renew, due), now);
      break;
    case TIMER_DEADLINE:
      lease_deadline_timer(RECORD_OF(lease, deadline, due), now);
      break;
    case TIMER_WAIT_REPORT:
      wait_report_timer(t);
      break;
    case TIMER_AGAIN_OVER:
      again_forget(t, now);
      break;
    case TIMER_AGAIN:
      break;
    default:
      assert(false);
    }
  }
  sweep(t, false);
}

/* ---- the end ---- */

static void lease_close(lease *l, instant now)
{
  waiters_fail(&l->claims, DIBS_ERR_CLOSED, "the client is being closed");
  lost_end(&l->claims);
  lease_become(l, lease_closes(l, now), now);
}

void table_close(hold_backend *b, instant now)
{
  lock_table *t = (lock_table *)b;
  lease *l, *next;

  t->is_closing = true;
  for (size_t i = 0; i <= t->route_count; i++)
    again_drop_unsent(route_at(t, i));   /* no call waits for them, and the server may be gone */
  for (l = t->first_lease; l != NULL; l = next) {
    next = l->next;
    lease_close(l, now);
  }
  sweep(t, true);
}

/* What has ended by itself is released for the case that a late renewal is executed, and only
 * where a server can be asked. */
static bool is_worth_a_wait(const route *r, bool is_over)
{
  return !is_over || r->is_up;
}

bool lock_is_quiet(const lock_table *t)
{
  for (size_t i = 0; i < t->route_count; i++)
    for (const orphan *s = t->routes[i]->orphans; s != NULL; s = s->next)
      if (is_worth_a_wait(t->routes[i], s->has_ended))
        return false;
  for (const lease *l = t->first_lease; l != NULL; l = l->next)
    if (is_worth_a_wait(l->route, l->state == LEASE_RELEASING && l->term.is_over))
      return false;
  return true;
}

bool table_is_quiet(const hold_backend *b)
{
  return lock_is_quiet((const lock_table *)b);
}

/* SPDX-License-Identifier: MIT */
/* lock/leaving.c - release, cancel, and release of orphans: leases granted to asks that
 * have ended. */
#include "lock/table.h"

#include <string.h>

#define STRAYS_MAX 1024
#define STRAY_ATTEMPTS 8   /* after these the lease ends by itself, after one ttl */

void release_enter(lease *l, instant now)
{
  lock_table *t = l->table;

  l->term.end_is_early = false;
  l->end_sendings = 0;
  l->renewing_at = NULL;
  l->is_downgrading = false;   /* requests under way were for this lease */
  l->attempts = 0;
  if (l->term.id.token > l->ended_token && token_is_of_a_clock(l->term.id.token))
    l->ended_token = l->term.id.token;
  timers_clear(&t->timers, &l->renew);
  timers_clear(&t->timers, &l->deadline);
  if (l->note_is_set)
    note_is_due(l);

  /* After this time the lease has ended by itself: stop repeating the release. */
  l->insist_until =
    instant_add(now, lease_watch((span){ l->term.ttl.ns + SPAN_MS(1000).ns },
                                 t->settings.clock_rate_error_ppm));
  timers_set(&t->timers, &l->poll, l->insist_until);
  lease_due(l);
}

void leave_not_before(lease *l, instant at)
{
  l->term.end_is_early = true;
  timers_set(&l->table->timers, &l->poll, instant_min(at, l->insist_until));
}

static lease_state left(lease *l)
{
  timers_clear(&l->table->timers, &l->poll);
  l->with_text = false;
  l->term.raise_to = 0;                     /* of the lease that has ended */
  return LEASE_IDLE;
}

lease_state leave_released(lease *l, const release_answer *a, instant sent_at, instant now)
{
  claims_released(l, a);
  yield_given(l, a->heard, sent_at, now);
  return left(l);
}

lease_state leave_refused(lease *l, dibs_status status, const char *words)
{
  holders_end(&l->claims, status, words);
  return left(l);
}

lease_state leave_cancelled(lease *l)
{
  return left(l);
}

static void note_end(orphan *s)
{
  if (s != NULL)
    s->has_ended = true;
}

/* Other formats name an owner, not one lease: a later lease is the same. */
bool lease_is_one(const lease *l)
{
  return l->table->protocol.dialect->traits.hands_over && !lease_never_ends(l);
}

/* A server that stood still may first execute a late renewal, and then refuse the release because
 * it lost the script; or it gets none, as the connection had been given up. */
static void release_as_orphan(const lease *l)
{
  lock_table *t = l->table;

  if (!lease_is_one(l))
    return;
  if (l->kind != LEASE_SET)
    note_end(leave_orphan(t, &l->term.id, l->kind == LEASE_SHARED, l->bytes, l->size));
  for (size_t i = 0; i < set_count(l); i++)
    note_end(leave_orphan(t, &l->term.id, false, l->many.names[i].name, l->many.names[i].size));
}

lease_state leave_timer(lease *l, instant now)
{
  l->term.end_is_early = false;
  if (instant_before(now, l->insist_until)) {
    lease_due(l);
    timers_set(&l->table->timers, &l->poll, l->insist_until);
    return l->state;
  }
  if (l->state == LEASE_RELEASING && (l->end_sendings > 0 || !l->route->is_up))
    release_as_orphan(l);
  return leave_refused(l, DIBS_UNKNOWN, "the server has not confirmed in time");
}

orphan *leave_orphan(lock_table *t, const lease_id *id, bool is_share, const void *bytes,
                     size_t size)
{
  route *r = route_of_name(t, bytes, size);
  orphan *s;

  if (r->orphan_count >= STRAYS_MAX)
    return NULL;           /* the id ends by itself after one ttl */
  s = mem_zalloc(&t->memory, sizeof(*s) + size);
  if (s == NULL)
    return NULL;
  s->lease = *id;
  s->is_share = is_share;
  s->size = size;
  memcpy(s->name, bytes, size);
  s->next = r->orphans;
  r->orphans = s;
  r->orphan_count++;
  return s;
}

/* A request to a node that no longer serves the name, or whose connection broke, is sent
 * again: executing it twice is harmless. */
void orphan_again(lock_table *t, call *c, bool is_redirected)
{
  orphan *s = c->orphan;
  route *r;

  if (s == NULL || t->is_closing)
    return;
  if (s->is_again) {
    again_back(t, c);
    return;
  }
  if (++s->attempts > STRAY_ATTEMPTS)
    return;
  c->orphan = NULL;
  r = route_of_name(t, s->name, s->size);
  s->is_redirected = is_redirected;
  s->is_asking = false;
  s->next = r->orphans;
  r->orphans = s;
  r->orphan_count++;
}

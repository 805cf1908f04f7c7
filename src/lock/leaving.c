/* SPDX-License-Identifier: MIT */
/* Leaving: release, cancel, and giving back leases that nobody here asked for any more. */
#include "lock/table.h"

#include <string.h>

#define STRAYS_MAX 1024
#define STRAY_ATTEMPTS 8   /* then it ends by itself, after one ttl */

void leave_release(name *n, instant now)
{
  lock_table *t = n->table;

  if (n->state == NAME_LINGERING)
    t->counts.lingering--;
  n->state = NAME_RELEASING;
  n->release_is_early = false;
  n->release_was_sent = n->release_was_repeated = false;
  n->is_renewing = n->is_downgrading = false;   /* what is under way was for this lease */
  n->attempts = 0;
  if (n->lease.token > n->closed_token)
    n->closed_token = n->lease.token;
  timers_clear(&t->timers, &n->renew);
  timers_clear(&t->timers, &n->deadline);
  if (n->note_is_set)
    t->note_name_id = n->id;

  /* After so long the lease has ended by itself, and insisting is of no use. */
  n->leave_by = instant_add(now, lease_watch((span){ n->ttl.ns + SPAN_MS(1000).ns },
                                             t->settings.clock_rate_error_ppm));
  timers_set(&t->timers, &n->poll, n->leave_by);
  name_due(n);
}

void leave_not_before(name *n, instant at)
{
  n->release_is_early = true;
  timers_set(&n->table->timers, &n->poll, instant_min(at, n->leave_by));
}

static void left(name *n, instant now)
{
  timers_clear(&n->table->timers, &n->poll);
  n->with_text = false;
  n->raise_to = 0;                     /* of the lease that is gone */
  n->state = NAME_IDLE;
  name_settle(n, now);
}

static dibs_status release_status(const name *n, const claim *c, const release_answer *a)
{
  if (a->outcome == RELEASE_DONE)
    return DIBS_OK;
  /* "Not yours" to a repeated request: the first one did it, its answer was lost. */
  if (c->was_valid && n->release_was_repeated)
    return DIBS_OK;
  return a->outcome == RELEASE_TAKEN ? DIBS_TAKEN : DIBS_EXPIRED;
}

void leave_released(name *n, const release_answer *a, instant sent_at, instant now)
{
  lock_table *t = n->table;

  if (a->outcome != RELEASE_DONE)
    for (claim *c = n->lost; c != NULL; c = c->next)
      if (fence_token(n, c->fence) == n->lease.token)
        c->status = a->outcome == RELEASE_TAKEN ? DIBS_TAKEN : DIBS_EXPIRED;

  while (n->holders != NULL) {
    claim *c = n->holders;
    dibs_status status = release_status(n, c, a);

    t->counts.released++;
    c->words = status == DIBS_OK ? "" : "it had ended before it was released";
    claim_end(c, &n->holders, LOCK_RELEASED, status);
  }
  way_given(n, a->heard, sent_at, now);
  left(n, now);
}

void leave_refused(name *n, dibs_status status, const char *words, instant now)
{
  while (n->holders != NULL) {
    n->holders->words = words;
    claim_end(n->holders, &n->holders, LOCK_RELEASED, status);
  }
  left(n, now);
}

void leave_cancelled(name *n, instant now)
{
  left(n, now);
}

void leave_timer(name *n, instant now)
{
  n->release_is_early = false;
  if (instant_before(now, n->leave_by)) {
    name_due(n);
    timers_set(&n->table->timers, &n->poll, n->leave_by);
    return;
  }
  leave_refused(n, DIBS_UNKNOWN, "the server has not confirmed in time", now);
}

void leave_stray(lock_table *t, const lease_id *lease, bool is_share, const void *bytes,
                 size_t size)
{
  route *r = route_of_name(t, bytes, size);
  stray *s;

  if (r->stray_count >= STRAYS_MAX)
    return;                /* the lease ends by itself after one ttl */
  s = mem_zalloc(&t->memory, sizeof(*s) + size);
  if (s == NULL)
    return;
  s->lease = *lease;
  s->is_share = is_share;
  s->size = size;
  memcpy(s->name, bytes, size);
  s->next = r->strays;
  r->strays = s;
  r->stray_count++;
}

/* What was sent to a node that does not serve it any more, or to one that broke, goes out
 * again: that it was done is no harm. */
void stray_again(lock_table *t, call *c, bool is_redirected)
{
  stray *s = c->stray;
  route *r;

  if (s == NULL || t->is_closing || ++s->attempts > STRAY_ATTEMPTS)
    return;
  c->stray = NULL;
  r = route_of_name(t, s->name, s->size);
  s->is_redirected = is_redirected;
  s->is_asking = false;
  s->next = r->strays;
  r->strays = s;
  r->stray_count++;
}

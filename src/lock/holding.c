/* SPDX-License-Identifier: MIT */
/* Holding: grant, re-entry, watchdog, loss, hand-over inside the process. */
#include "lock/table.h"

#include <assert.h>
#include <string.h>

#define LOCAL_NUMBERS 1024
#define DETACHED_SHARES 64
#define LOST_NOTICE_MAX SPAN_MS(5)

instant hold_end(const name *n)
{
  return instant_min(n->valid_until, n->limit);
}

/* Lost is told a little before the end, so that the teller may be late. */
void hold_set_deadline(name *n)
{
  span notice = span_min(LOST_NOTICE_MAX, (span){ n->ttl.ns / 20 });
  instant at = hold_end(n);

  if (name_is_unleased(n))
    return;
  at.ns -= notice.ns;
  timers_set(&n->table->timers, &n->deadline, at);
}

static void schedule_renewal(name *n, instant from, instant now)
{
  lock_table *t = n->table;
  instant at;

  if (n->is_fixed || name_is_unleased(n)) {
    timers_clear(&t->timers, &n->renew);
    return;
  }
  at = lease_renew_at(from, n->ttl, t->settings.renew_every, &t->random);
  timers_set(&t->timers, &n->renew, instant_max(at, now));
}

static void tell_acks(claim *c, const name *n)
{
  uint32_t wanted = c->min_replicas != 0 ? acks_number(n, c) : n->replicas_wanted;

  c->acknowledged = n->acknowledged;
  c->replicas_wanted = wanted > 0 ? wanted : n->replicas_wanted;
  c->has_fsync = n->has_fsync;
}

/* A fenced lock of another dialect has fences of its own; all others leave room for those
 * to whom the lease is passed inside the process. */
uint64_t fence_of(const name *n, uint64_t token)
{
  return n->flavour == FLAVOUR_FENCED ? token : token * LOCAL_NUMBERS + n->local_number;
}

uint64_t fence_token(const name *n, uint64_t fence)
{
  return n->flavour == FLAVOUR_FENCED ? fence : fence / LOCAL_NUMBERS;
}

/* Makes `c` the outermost holder of the lease that `n` has. */
static void begin_hold(name *n, claim *c, instant now)
{
  lock_table *t = n->table;

  DL_DELETE(n->waiting, c);
  timers_clear(&t->timers, &c->timer);
  DL_APPEND(n->holders, c);
  c->state = CLAIM_HELD;
  c->fence = fence_of(n, n->lease.token);
  c->depth = 1;
  c->units = n->units;
  tell_acks(c, n);
  /* A fixed lease may have been granted to a longer ask of this name, or be confirmed. */
  n->limit = c->is_fixed ? instant_add(now, c->ttl)
             : c->max_hold.ns > 0 ? instant_add(now, c->max_hold) : INSTANT_NEVER;
  n->is_fixed = c->is_fixed;
  n->is_part = c->is_part;
  t->counts.waiting--;
  t->counts.holds++;
  t->counts.granted++;
  if (c->note != NULL)
    t->note_name_id = n->id;
  hold_set_deadline(n);
  claim_tell(c, LOCK_GRANTED);
  if (n->is_suspect)
    claim_tell(c, LOCK_SUSPECT);
}

void hold_granted(name *n, const lease_id *lease, instant valid_until, span ttl,
                  uint64_t waiters, bool confirm, instant since, instant now)
{
  lock_table *t = n->table;
  claim *c = n->waiting;

  assert(c != NULL);      /* without claims there is no open ask: ask_end() */
  n->lease = *lease;
  n->ttl = ttl;
  /* Where nobody says whether somebody waits, somebody may. */
  n->waiters_elsewhere = dialect_traits_of(&t->native)->hands_over ? waiters : 1;
  n->valid_until = valid_until;
  n->local_number = 0;
  n->handovers = 0;
  n->is_suspect = n->is_named = false;
  n->attempts = 0;
  n->watched = (lease_id){ .token = 0 };
  timers_clear(&t->timers, &n->poll);
  if (lease->token > t->floor && n->flavour != FLAVOUR_FENCED)
    t->floor = lease->token;

  if (lease->token <= n->closed_token || !instant_before(now, valid_until)) {
    leave_release(n, now);               /* too late to be of use: give it back, ask anew */
    return;
  }
  if (acks_are_wanted(n, c)) {
    acks_begin(n, lease, valid_until, now);
    return;
  }

  n->state = NAME_HELD;
  n->confirm_now = !name_is_unleased(n) && (confirm || c->ttl.ns != ttl.ns);
  n->ttl = c->ttl;
  begin_hold(n, c, now);
  if (n->kind == NAME_SEAT)
    hold_join(n, now);
  else if (n->kind == NAME_MUTEX && c->linger.ns < 0)
    habit_taken(&t->habits, n->bytes, n->size, now);
  if (n->waiting != NULL || c->linger.ns != 0)
    inbox_want(n);
  if (n->confirm_now)
    name_renewal_due(n);
  else
    schedule_renewal(n, since, now);
}

/* Readers of one seat: each with a fence of its own, all by one lease. */
void hold_join(name *n, instant now)
{
  while (n->waiting != NULL) {
    n->local_number++;
    begin_hold(n, n->waiting, now);
    n->table->counts.granted_local++;
  }
}

/* Granted so long ago that the lease might be over: only a renewal tells. */
void hold_confirm(name *n, const lease_id *lease)
{
  n->state = NAME_CONFIRMING;
  n->lease = *lease;
  n->ttl = n->waiting->ttl;
  n->confirm_now = true;
  n->limit = INSTANT_NEVER;              /* that was of the holder before */
  timers_clear(&n->table->timers, &n->poll);
  name_renewal_due(n);
}

void hold_reenter(name *n, claim *c, instant now)
{
  lock_table *t = n->table;
  const claim *outer = NULL;
  int depth = 1;

  for (const claim *other = n->holders; other != NULL; other = other->next)
    if (claim_is_of(other, c->owner, c->owner_size)) {
      outer = outer != NULL ? outer : other;
      depth++;
    }
  assert(outer != NULL);
  DL_DELETE(n->waiting, c);
  DL_APPEND(n->holders, c);
  c->state = CLAIM_HELD;
  c->fence = outer->fence;
  n->is_part = n->is_part || c->is_part;
  c->units = n->units;
  tell_acks(c, n);
  c->depth = depth;
  t->counts.waiting--;
  t->counts.holds++;
  t->counts.granted++;
  t->counts.granted_local++;
  if (c->ttl.ns > n->ttl.ns && !n->is_fixed) {     /* re-entry never shortens a lease */
    n->ttl = c->ttl;
    name_renewal_due(n);
  }
  (void)now;
  claim_tell(c, LOCK_GRANTED);
  if (n->is_suspect)
    claim_tell(c, LOCK_SUSPECT);
}

/* ---- hand-over inside the process (protocol.md 6) ---- */

bool hold_may_pass(const name *n, instant now)
{
  const lock_table *t = n->table;
  const claim *next = n->waiting;

  if (n->kind != NAME_MUTEX || next == NULL || next->is_fixed || n->is_fixed || n->is_named ||
      t->is_closing || n->flavour == FLAVOUR_FENCED || n->is_part || next->is_part)
    return false;
  if (n->local_number + 1 >= LOCAL_NUMBERS)
    return false;
  if (instant_since(n->valid_until, now).ns < next->ttl.ns / 3)
    return false;
  if (acks_are_wanted(n, next))
    return false;
  if (n->waiters_elsewhere == 0 && inbox_hears(n))
    return true;
  /* Somebody elsewhere waits, or could without our hearing of it. */
  if (n->handovers >= t->settings.local_handovers_max)
    return false;
  return n->handovers == 0 ||
         instant_since(now, n->handovers_since).ns < t->settings.local_handover_time.ns;
}

void hold_pass(name *n, instant now)
{
  claim *next = n->waiting;
  span before = n->ttl;

  if (n->handovers++ == 0)
    n->handovers_since = now;
  n->local_number++;
  n->ttl = next->ttl;
  begin_hold(n, next, now);
  n->table->counts.granted_local++;
  if (n->ttl.ns != before.ns || !timer_is_set(&n->renew))
    name_renewal_due(n);
}

/* ---- watchdog ---- */

void hold_suspect(name *n)
{
  if ((n->state != NAME_HELD && n->state != NAME_LINGERING) || n->is_suspect ||
      name_is_unleased(n))
    return;
  n->is_suspect = true;
  for (claim *c = n->holders; c != NULL; c = c->next)
    claim_tell(c, LOCK_SUSPECT);
}

/* Came too late: somebody may have it by now. */
void hold_not_ours(name *n, instant now)
{
  if (n->state == NAME_ACKING) {
    acks_leave(n);
    n->ack_step = ACKS_NONE;
  }
  n->is_renewing = false;
  timers_clear(&n->table->timers, &n->renew);
  n->closed_token = n->lease.token;
  ask_begin(n, now);
}

static void confirmed(name *n, const renew_answer *a, instant end, instant now)
{
  lease_id lease = n->lease;

  if (!a->is_ours) {
    hold_not_ours(n, now);
    return;
  }
  hold_granted(n, &lease, end, n->ttl, a->waiters, false, now, now);
}

void hold_renewed(name *n, const renew_answer *a, instant sent_at, instant now)
{
  lock_table *t = n->table;
  instant end = lease_end(sent_at, span_ms(a->remaining_ms), t->settings.clock_rate_error_ppm);

  n->is_renewing = false;
  n->confirm_now = false;
  n->attempts = 0;
  if (n->state == NAME_CONFIRMING) {
    confirmed(n, a, end, now);
    return;
  }
  if (!a->is_ours) {
    t->counts.renew_failed++;
    hold_lost(n, DIBS_LOST, "the server no longer has this lease", now);
    return;
  }

  t->counts.renewed++;
  n->valid_until = instant_max(n->valid_until, end);
  n->waiters_elsewhere = a->waiters;
  n->is_suspect = false;
  if (n->state == NAME_LINGERING && a->waiters > 0) {
    linger_revoked(n, now);
    return;
  }
  hold_set_deadline(n);
  schedule_renewal(n, sent_at, now);
  for (claim *c = n->holders; c != NULL; c = c->next)
    claim_tell(c, LOCK_RENEWED);
}

/* Theme 2: one failure never ends the watchdog. */
void hold_renew_failed(name *n, instant now)
{
  lock_table *t = n->table;
  span twentieth = span_max((span){ n->ttl.ns / 20 }, SPAN_MS(1));
  span jittered = random_span(&t->random, (span){ twentieth.ns / 2 }, twentieth);

  n->is_renewing = false;
  t->counts.renew_failed++;
  hold_suspect(n);
  timers_set(&t->timers, &n->renew, instant_add(now, jittered));
}

/* ---- the end ---- */

void hold_lost(name *n, dibs_status why, const char *words, instant now)
{
  lock_table *t = n->table;

  while (n->holders != NULL) {
    claim *c = n->holders;

    DL_DELETE(n->holders, c);
    DL_APPEND(n->lost, c);
    c->state = CLAIM_LOST;
    c->status = why;
    c->words = words;
    t->counts.lost++;
    claim_tell(c, LOCK_LOST);
  }
  /* The server may still have it: give it back early, and learn who has it now. */
  leave_release(n, now);
}

static detached *detached_of(const name *n)
{
  detached *d = n->table->detached;

  while (d != NULL && (!d->is_mutex || d->size != n->size ||
                       memcmp(d->name, n->bytes, n->size) != 0))
    d = d->next;
  return d;
}

const lease_id *hold_detached(const name *n)
{
  const detached *d = n->table->detached != NULL ? detached_of(n) : NULL;

  return d != NULL ? &d->lease : NULL;
}

/* Of shared ones only the last are remembered: what they guard against, a message that comes
 * late, comes soon. */
static void forget_oldest_share(lock_table *t)
{
  detached **at = &t->detached, **oldest = NULL, *d;
  size_t count = 0;

  for (; *at != NULL; at = &(*at)->next)
    if (!(*at)->is_mutex) {
      oldest = at;
      count++;
    }
  if (count < DETACHED_SHARES)
    return;
  d = *oldest;
  *oldest = d->next;
  t->has_forgotten_sets |= d->lease.set != 0;
  mem_free(&t->memory, d);
}

bool hold_remember_detached(name *n)
{
  lock_table *t = n->table;
  bool is_mutex = n->kind == NAME_MUTEX;
  size_t size = is_mutex ? n->size : 0;
  detached *d = is_mutex ? detached_of(n) : NULL;

  if (d == NULL) {
    if (!is_mutex)
      forget_oldest_share(t);
    d = mem_alloc(&t->memory, sizeof(*d) + size);
    if (d == NULL)
      return false;
    d->is_mutex = is_mutex;
    d->size = size;
    memcpy(d->name, n->bytes, size);
    d->next = t->detached;
    t->detached = d;
  }
  d->lease = n->lease;       /* one that was there is over: this one came after it */
  return true;
}

void hold_forget(name *n, instant now)
{
  lock_table *t = n->table;

  timers_clear(&t->timers, &n->renew);
  timers_clear(&t->timers, &n->deadline);
  n->is_renewing = false;
  n->closed_token = n->lease.token;
  n->state = NAME_IDLE;
  name_settle(n, now);
}

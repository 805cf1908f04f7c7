/* SPDX-License-Identifier: MIT */
/* lock/command.c - the command that a name needs in each state. Replies: answer.c. */
#include "lock/table.h"

#define BACK_OFF_FIRST SPAN_MS(20)
#define BACK_OFF_MAX SPAN_MS(1000)
/* Renewals under way at once: enough for a slow network, and few enough that a hundred
 * thousand due together, as after a reconnect, neither block the server for other clients
 * nor make the last reply look overdue. */
#define RENEW_CALLS_MAX 16
/* Others under way at once. More would not be answered sooner, but each renewal waits for them,
 * and the reply to the last one would look overdue. */
#define NAME_CALLS_MAX 512
#define DOUBT_MIN SPAN_MS(200)    /* a renewal without a reply: the link is doubtful */

/* ---- calls: sent and not answered ---- */

static bool is_for_name(call_kind kind)
{
  return kind != CALL_RENEW && kind != CALL_ACKS;
}

call *call_new(route *r, call_kind kind, size_t renewals)
{
  lock_table *t = r->table;
  call *c = mem_zalloc(&t->memory, sizeof(*c) + renewals * sizeof(c->renewals[0]));

  if (c == NULL)
    return NULL;
  c->id = slots_add(&t->call_slots, c);
  if (c->id == 0) {
    mem_free(&t->memory, c);
    return NULL;
  }
  c->kind = kind;
  c->route = r;
  r->renew_calls += kind == CALL_RENEW;
  r->name_calls += is_for_name(kind);
  DL_PREPEND(r->calls, c);
  return c;
}

void call_free(lock_table *t, call *c)
{
  route *r = c->route;

  DL_DELETE(r->calls, c);
  slots_remove(&t->call_slots, c->id);
  r->renew_calls -= c->kind == CALL_RENEW;
  r->name_calls -= is_for_name(c->kind);
  r->again_calls -= c->is_again;
  orphan_free(t, c->orphan);
  mem_free(&t->memory, c);
}

lease *call_name(lock_table *t, uint64_t id)
{
  return slots_get(&t->lease_slots, id);
}

/* The connection broke before the reply; the server may still execute a copy. */
void call_cut(lock_table *t, call *c)
{
  lease *l = c->kind == CALL_ACQUIRE ? call_name(t, c->lease_number) : NULL;

  if (l != NULL && l->ask.number == c->ask)
    l->ask.may_arrive_late = true;
  if (c->kind == CALL_RAISE && (l = call_name(t, c->lease_number)) != NULL)
    l->term.raise_was_sent = false;
  if (c->kind == CALL_STRAY)
    orphan_again(t, c, false);
  call_free(t, c);
}

static void calls_cut(route *r, bool of_acks)
{
  call *c, *next;

  for (c = r->calls; c != NULL; c = next) {
    next = c->next;
    if ((c->kind == CALL_ACKS) == of_acks)
      call_cut(r->table, c);
  }
}

void calls_cut_acks(route *r)
{
  calls_cut(r, true);
}

void calls_cut_link(route *r)
{
  calls_cut(r, false);
}

uint64_t call_for_acks(lease *l)
{
  call *c = call_new(l->route, CALL_ACKS, 0);

  if (c == NULL)
    return 0;
  c->lease_number = l->id;
  c->lease_kind = l->kind;
  c->lease = l->term.id;
  c->ack_step = l->acks->step;
  return c->id;
}

void lease_retry(lease *l, instant now)
{
  lock_table *t = l->table;
  unsigned doublings = l->attempts < 6 ? l->attempts : 6;
  span wait = span_min((span){ BACK_OFF_FIRST.ns << doublings }, BACK_OFF_MAX);
  instant at = instant_add(now, random_span(&t->random, (span){ wait.ns / 2 }, wait));

  l->attempts++;
  if (lease_is_in(l, STATES_ENDING))
    at = instant_min(at, l->insist_until);
  timers_set(&t->timers, &l->poll, at);
}

/* ---- sending ---- */

static bool send_acquire(lease *l, request *out, call *c, instant now)
{
  lock_table *t = l->table;
  span ttl = wish_of(&l->claims)->ttl;

  polling_look(l, now);
  if (!wire_acquire(l, out, ttl, now))
    return false;
  c->ask = l->ask.number;
  c->ttl = ttl;
  l->ask.ttl = ttl;
  if (l->ask.sendings == 0)
    l->wait->first_sent_at = now;
  l->ask.sendings++;
  timers_clear(&t->timers, &l->poll);
  return true;
}

static bool send_release(lease *l, request *out, call *c, instant now)
{
  c->is_ifeq = wire_may_ifeq(l, now);
  if (c->is_ifeq ? !wire_release_ifeq(l, out) : !wire_release(l, out, now))
    return false;
  c->lease = l->term.id;
  l->end_sendings++;
  return true;
}

static bool send_cancel(lease *l, request *out, call *c, instant now)
{
  c->ask = l->ask.number;
  return wire_cancel(l, out, now);
}

static bool raises(const lease *l)
{
  return l->term.raise_to != 0 && (l->state == LEASE_HELD || l->state == LEASE_PARKED ||
                                   l->state == LEASE_RELEASING);
}

static bool send_raise(lease *l, request *out, call *c)
{
  c->kind = CALL_RAISE;
  c->lease = l->term.id;
  c->token = l->term.raise_to;
  l->term.raise_was_sent = true;
  l->term.is_as_granted = false;
  return wire_raise(l, out);
}

static bool send_for(lease *l, request *out, call *c, instant now)
{
  c->lease_number = l->id;
  c->lease_kind = l->kind;
  c->with_text = l->with_text;
  if (raises(l))
    return send_raise(l, out, c);
  switch (l->state) {
  case LEASE_ASKING:
  case LEASE_QUEUED:
    c->kind = CALL_ACQUIRE;
    return send_acquire(l, out, c, now);
  case LEASE_RELEASING:
    c->kind = CALL_RELEASE;
    return send_release(l, out, c, now);
  case LEASE_CANCELLING:
    c->kind = CALL_CANCEL;
    return send_cancel(l, out, c, now);
  case LEASE_IDLE:
  case LEASE_CONFIRMING:
  case LEASE_ACKING:
  case LEASE_HELD:
  case LEASE_PARKED:
    break;
  }
  return false;
}

/* Reads no clock: the reader's `now` may be older than that of the call whose release it
 * sends. */
static bool has_command(const lease *l)
{
  if (raises(l))           /* the reply to the raise shows which lease to release */
    return !l->term.raise_was_sent;
  return lease_is_in(l, STATES_ASK | IN(LEASE_CANCELLING)) ||
         (l->state == LEASE_RELEASING && !l->term.end_is_early);
}

static lease *take_due(route *r)
{
  lease *l = r->first_due;

  if (l == NULL)
    return NULL;
  r->first_due = l->next_due;
  if (r->first_due == NULL)
    r->last_due = NULL;
  l->is_due = false;
  return l;
}

/* Takes the next name with a command to send; forgets names without one. */
static bool next_due(route *r, request *out, lock_command *ret, instant now)
{
  lock_table *t = r->table;
  lease *l;
  call *c;

  while (r->name_calls < NAME_CALLS_MAX && (l = take_due(r)) != NULL) {
    if (!has_command(l)) {
      lease_forget_if_unused(l);
      continue;
    }
    c = call_new(r, CALL_ACQUIRE, 0);
    if (c == NULL || !send_for(l, out, c, now)) {
      if (c != NULL)
        call_free(t, c);
      lease_retry(l, now);
      return false;
    }
    *ret = (lock_command){ .tag = c->id, .is_asking = l->ask_route != NULL };
    out->carries_text = l->with_text;
    lease_ask_route(l, NULL);
    return true;
  }
  return false;
}

/* ---- renewals go out together ---- */

/* `kind` 0: any. A name of another kind is left for the next call. */
static lease *take_renewal(route *r, lease_kind kind, instant now)
{
  lease *l;

  while ((l = r->first_renewal) != NULL) {
    bool needs = wire_needs_renewal(l, now);

    if (needs && kind != 0 && l->kind != kind)
      return NULL;
    r->first_renewal = l->next_renewal;
    if (r->first_renewal == NULL)
      r->last_renewal = NULL;
    l->is_renewal_due = false;
    if (needs)
      return l;
    lease_forget_if_unused(l);
  }
  return NULL;
}

/* Takes names for one script: all of one kind, and a multi-lock alone; in a cluster each
 * name alone, because slots differ. */
static size_t take_renewals(route *r, lease *names[RENEW_BATCH_MAX], instant now)
{
  size_t count = 0;

  names[0] = take_renewal(r, 0, now);
  if (names[0] == NULL)
    return 0;
  count = 1;
  if (names[0]->kind == LEASE_SET || r->table->settings.slots != NULL)
    return count;
  while (count < RENEW_BATCH_MAX &&
         (names[count] = take_renewal(r, names[0]->kind, now)) != NULL)
    count++;
  return count;
}

/* Another renewal gives the reply to an earlier one no more time. */
static void reply_expected(lease *l, route *r, instant now)
{
  instant at = instant_add(now, span_max(hold_doubt_after(l, r, now), DOUBT_MIN));

  if (l->renewing_at == r && timer_is_set(&l->renew))
    at = instant_min(at, l->renew.at);
  l->renewing_at = r;
  timers_set(&l->table->timers, &l->renew, at);
}

static void renewal_sent(lease *l, call *c, size_t i, instant now)
{
  c->renewals[i].lease_number = l->id;
  c->renewals[i].lease = l->term.id;
  c->renewals[i].reports = l->term.reports;
  l->term.was_wanted = false;
  c->renewals[i].mode = l->mode;
  c->renewals[i].is_still = wire_renews_nothing(l);
  reply_expected(l, c->route, now);
}

static bool next_renewals(route *r, request *out, lock_command *ret, instant now)
{
  lock_table *t = r->table;
  size_t most = t->settings.slots != NULL ? RENEW_CALLS_MAX * RENEW_BATCH_MAX : RENEW_CALLS_MAX;
  lease *names[RENEW_BATCH_MAX];
  size_t count;
  call *c;

  if (r->renew_calls >= most)
    return false;
  count = take_renewals(r, names, now);
  if (count == 0)
    return false;

  c = call_new(r, CALL_RENEW, count);
  if (c == NULL || !wire_renew(r, out, names, count, now)) {
    if (c != NULL)
      call_free(t, c);
    for (size_t i = 0; i < count; i++)
      hold_renew_failed(names[i], "no memory for a renewal", now);
    return false;
  }

  c->lease_kind = names[0]->kind;
  c->with_text = r->renew_with_text;
  for (size_t i = 0; i < count && !c->with_text; i++)
    c->with_text = hold_has_one_try(names[i], r, now);
  out->carries_text = c->with_text;
  c->count = count;
  for (size_t i = 0; i < count; i++)
    renewal_sent(names[i], c, i, now);
  *ret = (lock_command){ .tag = c->id, .is_asking = names[0]->ask_route != NULL };
  lease_ask_route(names[0], NULL);
  return true;
}

void lock_sends_no_more(lock_table *t, size_t number, instant now)
{
  route *r = t->routes[number];

  for (lease *l = r->first_renewal; l != NULL; l = l->next_renewal)
    if (l->route == r && l->renewing_at == NULL && wire_needs_renewal(l, now))
      reply_expected(l, r, now);
}

/* ---- the rest ---- */

bool orphan_send(route *r, orphan *s, request *out, lock_command *ret, instant now)
{
  call *c = r->name_calls < NAME_CALLS_MAX ? call_new(r, CALL_STRAY, 0) : NULL;

  if (c == NULL)
    return false;
  if (!wire_orphan(r, out, s, now)) {
    call_free(r->table, c);
    return false;
  }
  out->carries_text = true;              /* after NOSCRIPT no name would repeat it */
  c->orphan = s;
  c->is_again = s->is_again;
  *ret = (lock_command){ .tag = c->id, .is_asking = s->is_asking };
  return true;
}

static bool next_orphan(route *r, request *out, lock_command *ret, instant now)
{
  orphan *s = r->orphans;

  if (s == NULL || !orphan_send(r, s, out, ret, now))
    return false;
  r->orphans = s->next;
  r->orphan_count--;
  return true;
}

bool lock_next_command(lock_table *t, size_t number, request *out, lock_command *ret,
                       instant now)
{
  route *r = t->routes[number];

  *ret = (lock_command){ .is_asking = false };
  if (!r->is_up)
    return false;
  return next_renewals(r, out, ret, now) || next_due(r, out, ret, now) ||
         next_orphan(r, out, ret, now) || again_next(r, out, ret, now) ||
         registration_next(r, out, &ret->tag, now);
}

void lock_unsent(lock_table *t, uint64_t tag, instant now)
{
  call *c = slots_get(&t->call_slots, tag);
  lease *l;

  if (c == NULL)
    return;
  for (size_t i = 0; i < c->count; i++)
    if ((l = call_name(t, c->renewals[i].lease_number)) != NULL)
      hold_renew_failed(l, "no memory for a renewal", now);
  if (c->lease_number != 0 && (l = call_name(t, c->lease_number)) != NULL) {
    call_not_executed(l, c);
    lease_retry(l, now);
  }
  if (c->kind == CALL_STRAY)
    orphan_again(t, c, false);
  call_free(t, c);
}

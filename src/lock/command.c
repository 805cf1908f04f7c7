/* SPDX-License-Identifier: MIT */
/* Commands: what is sent for a name in each state. What comes back: answer.c. */
#include "lock/table.h"

#include <string.h>

#define BACK_OFF_FIRST SPAN_MS(20)
#define BACK_OFF_MAX SPAN_MS(1000)
/* Renewals under way at once: so many that a slow network does not hold them up, and so
 * few that a hundred thousand due together, as after a new connection, neither keep the
 * server from others nor make the last one's answer look overdue. */
#define RENEW_CALLS_MAX 16
#define DOUBT_MIN SPAN_MS(200)    /* a renewal unanswered for so long: a doubtful link */

/* ---- calls: sent and not answered ---- */

static call *call_new(route *r, call_kind kind, size_t renewals)
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
  DL_PREPEND(r->calls, c);
  return c;
}

void call_free(lock_table *t, call *c)
{
  route *r = c->route;

  DL_DELETE(r->calls, c);
  slots_remove(&t->call_slots, c->id);
  r->renew_calls -= c->kind == CALL_RENEW;
  mem_free(&t->memory, c->stray);
  mem_free(&t->memory, c);
}

name *call_name(lock_table *t, uint64_t id)
{
  return slots_get(&t->name_slots, id);
}

/* The connection broke before the answer; a copy may still come in from there. */
void call_cut(lock_table *t, call *c)
{
  name *n = c->kind == CALL_ACQUIRE ? call_name(t, c->name_id) : NULL;

  if (n != NULL && n->ask == c->ask)
    n->ask_was_cut = true;
  if (c->kind == CALL_RAISE && (n = call_name(t, c->name_id)) != NULL)
    n->raise_was_sent = false;
  if (c->kind == CALL_STRAY)
    stray_again(t, c, false);
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

uint64_t call_for_acks(name *n)
{
  call *c = call_new(n->route, CALL_ACKS, 0);

  if (c == NULL)
    return 0;
  c->name_id = n->id;
  c->name_kind = n->kind;
  c->lease = n->lease;
  c->ack_step = n->ack_step;
  return c->id;
}

void name_retry(name *n, instant now)
{
  lock_table *t = n->table;
  unsigned doublings = n->attempts < 6 ? n->attempts : 6;
  span wait = span_min((span){ BACK_OFF_FIRST.ns << doublings }, BACK_OFF_MAX);
  instant at = instant_add(now, random_span(&t->random, (span){ wait.ns / 2 }, wait));

  n->attempts++;
  if (n->state == NAME_RELEASING || n->state == NAME_CANCELLING)
    at = instant_min(at, n->leave_by);
  timers_set(&t->timers, &n->poll, at);
}

/* ---- sending ---- */

static bool send_acquire(name *n, buffer *out, call *c, instant now)
{
  lock_table *t = n->table;
  span ttl = n->waiting->ttl;

  if (!wire_acquire(n, out, ttl, now))
    return false;
  c->ask = n->ask;
  c->ttl = ttl;
  n->ask_ttl = ttl;
  n->ask_was_repeated = n->ask_was_sent;
  if (!n->ask_was_sent) {
    n->ask_was_sent = true;
    n->ask_sent_at = now;
  }
  timers_clear(&t->timers, &n->poll);
  return true;
}

static bool send_release(name *n, buffer *out, call *c, instant now)
{
  if (!wire_release(n, out, now))
    return false;
  c->lease = n->lease;
  n->release_was_repeated = n->release_was_sent;
  n->release_was_sent = true;
  return true;
}

static bool send_cancel(name *n, buffer *out, call *c, instant now)
{
  c->ask = n->ask;
  return wire_cancel(n, out, now);
}

static bool raises(const name *n)
{
  return n->raise_to != 0 && (n->state == NAME_HELD || n->state == NAME_RELEASING);
}

static bool send_raise(name *n, buffer *out, call *c)
{
  c->kind = CALL_RAISE;
  c->lease = n->lease;
  c->token = n->raise_to;
  n->raise_was_sent = true;
  return wire_raise(n, out);
}

static bool send_for(name *n, buffer *out, call *c, instant now)
{
  c->name_id = n->id;
  c->name_kind = n->kind;
  c->with_text = n->with_text;
  if (raises(n))
    return send_raise(n, out, c);
  switch (n->state) {
  case NAME_ASKING:
  case NAME_QUEUED:
    c->kind = CALL_ACQUIRE;
    return send_acquire(n, out, c, now);
  case NAME_RELEASING:
    c->kind = CALL_RELEASE;
    return send_release(n, out, c, now);
  case NAME_CANCELLING:
    c->kind = CALL_CANCEL;
    return send_cancel(n, out, c, now);
  case NAME_IDLE:
  case NAME_CONFIRMING:
  case NAME_ACKING:
  case NAME_HELD:
  case NAME_LINGERING:
    break;
  }
  return false;
}

/* No clock is asked here: a reader's `now` may be older than that of the call whose release
 * it sends. */
static bool has_command(const name *n)
{
  if (raises(n))           /* which lease is to be released, its answer tells */
    return !n->raise_was_sent;
  return n->state == NAME_ASKING || n->state == NAME_QUEUED || n->state == NAME_CANCELLING ||
         (n->state == NAME_RELEASING && !n->release_is_early);
}

static name *take_due(route *r)
{
  name *n = r->first_due;

  if (n == NULL)
    return NULL;
  r->first_due = n->next_due;
  if (r->first_due == NULL)
    r->last_due = NULL;
  n->is_due = false;
  return n;
}

/* The next name with something to say; forgets those that have nothing left. */
static bool next_due(route *r, buffer *out, lock_command *ret, instant now)
{
  lock_table *t = r->table;
  name *n;
  call *c;

  while ((n = take_due(r)) != NULL) {
    if (!has_command(n)) {
      name_forget_if_unused(n);
      continue;
    }
    c = call_new(r, CALL_ACQUIRE, 0);
    if (c == NULL || !send_for(n, out, c, now)) {
      if (c != NULL)
        call_free(t, c);
      name_retry(n, now);
      return false;
    }
    *ret = (lock_command){ .tag = c->id, .is_asking = n->ask_route != NULL };
    name_ask_route(n, NULL);
    return true;
  }
  return false;
}

/* ---- renewals go out together ---- */

/* `kind` 0: any. Else one of another kind is left for the next call. */
static name *take_renewal(route *r, name_kind kind, instant now)
{
  name *n;

  while ((n = r->first_renewal) != NULL) {
    bool needs = wire_needs_renewal(n, now);

    if (needs && kind != 0 && n->kind != kind)
      return NULL;
    r->first_renewal = n->next_renewal;
    if (r->first_renewal == NULL)
      r->last_renewal = NULL;
    n->is_renewal_due = false;
    if (needs)
      return n;
    name_forget_if_unused(n);
  }
  return NULL;
}

/* Names that are renewed by one script: of one kind, and a set alone; in Cluster each alone,
 * since their slots differ. */
static size_t take_renewals(route *r, name *names[RENEW_BATCH_MAX], instant now)
{
  size_t count = 0;

  names[0] = take_renewal(r, 0, now);
  if (names[0] == NULL)
    return 0;
  count = 1;
  if (names[0]->kind == NAME_SET || r->table->settings.slots != NULL)
    return count;
  while (count < RENEW_BATCH_MAX &&
         (names[count] = take_renewal(r, names[0]->kind, now)) != NULL)
    count++;
  return count;
}

static void renewal_sent(name *n, call *c, size_t i, instant now)
{
  c->renewals[i].name_id = n->id;
  c->renewals[i].lease = n->lease;
  c->renewals[i].mode = n->mode;
  c->renewals[i].is_still = wire_renews_nothing(n);
  n->is_renewing = true;
  n->renewing_at = c->route;
  timers_set(&n->table->timers, &n->renew,
             instant_add(now, span_max((span){ n->ttl.ns / 4 }, DOUBT_MIN)));
}

static bool next_renewals(route *r, buffer *out, lock_command *ret, instant now)
{
  lock_table *t = r->table;
  size_t most = t->settings.slots != NULL ? RENEW_CALLS_MAX * RENEW_BATCH_MAX : RENEW_CALLS_MAX;
  name *names[RENEW_BATCH_MAX];
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
      hold_renew_failed(names[i], now);
    return false;
  }

  c->name_kind = names[0]->kind;
  c->with_text = r->renew_with_text;
  c->count = count;
  for (size_t i = 0; i < count; i++)
    renewal_sent(names[i], c, i, now);
  *ret = (lock_command){ .tag = c->id, .is_asking = names[0]->ask_route != NULL };
  name_ask_route(names[0], NULL);
  return true;
}

/* ---- the rest ---- */

static bool next_stray(route *r, buffer *out, lock_command *ret, instant now)
{
  lock_table *t = r->table;
  stray *s = r->strays;
  call *c;
  bool sent;

  if (s == NULL || (c = call_new(r, CALL_STRAY, 0)) == NULL)
    return false;
  sent = wire_stray(r, out, s, now);
  if (!sent) {
    call_free(t, c);
    return false;
  }
  r->strays = s->next;
  r->stray_count--;
  c->stray = s;
  *ret = (lock_command){ .tag = c->id, .is_asking = s->is_asking };
  return true;
}

/* Notes are for people: HSET or HDEL of one field of the client's hash, not repeated. */
static bool next_note(route *r, buffer *out, uint64_t *ret_tag)
{
  lock_table *t = r->table;
  name *n = t->note_name_id != 0 ? call_name(t, t->note_name_id) : NULL;
  const claim *holder = n != NULL ? n->holders : NULL;
  bool set = n != NULL && n->state == NAME_HELD && holder != NULL && holder->note != NULL;
  char key[KEY_TEXT_SIZE], field[NAME_MAX_BYTES + 3];
  text k = text_over(key, sizeof(key)), f = text_over(field, sizeof(field));
  resp_argument arguments[4];
  call *c;

  t->note_name_id = 0;
  if (n == NULL || (!set && !n->note_is_set) || (c = call_new(r, CALL_NOTE, 0)) == NULL)
    return false;
  native_client_key(&t->native, t->native.client, &k);
  text_add(&f, "n:");
  text_add_bytes(&f, n->bytes, n->size);
  arguments[0] = set ? RESP_TEXT("HSET") : RESP_TEXT("HDEL");
  arguments[1] = (resp_argument){ key, k.used };
  arguments[2] = (resp_argument){ field, f.used };
  if (set)
    arguments[3] = (resp_argument){ holder->note, strlen(holder->note) };
  if (!resp_command(out, arguments, set ? 4 : 3)) {
    call_free(t, c);
    return false;
  }
  n->note_is_set = set;
  *ret_tag = c->id;
  return true;
}

/* Likewise for people, and for detectors of deadlocks, who ask again. */
static bool next_owners(route *r, buffer *out, uint64_t *ret_tag, instant now)
{
  lock_table *t = r->table;
  call *c;

  if (!t->settings.tells_owners || (c = call_new(r, CALL_NOTE, 0)) == NULL)
    return false;
  if (!owners_command(t, out, now)) {
    call_free(t, c);
    return false;
  }
  *ret_tag = c->id;
  return true;
}

/* What is told to people stands under one key, and so on one route. */
static bool has_client_key(const route *r)
{
  const lock_table *t = r->table;
  char key[KEY_TEXT_SIZE];
  text k = text_over(key, sizeof(key));

  if (t->settings.slots == NULL)
    return true;
  if (t->note_name_id == 0 && !t->settings.tells_owners)
    return false;
  native_client_key(&t->native, t->native.client, &k);
  return route_of_key(t, key, k.used) == r;
}

static bool next_told(route *r, buffer *out, uint64_t *ret_tag, instant now)
{
  if (!has_client_key(r))
    return false;
  return next_note(r, out, ret_tag) || next_owners(r, out, ret_tag, now);
}

bool lock_next_command(lock_table *t, size_t number, buffer *out, lock_command *ret, instant now)
{
  route *r = t->routes[number];

  *ret = (lock_command){ .is_asking = false };
  if (!r->is_up)
    return false;
  return next_renewals(r, out, ret, now) || next_due(r, out, ret, now) ||
         next_stray(r, out, ret, now) || next_told(r, out, &ret->tag, now);
}

void lock_unsent(lock_table *t, uint64_t tag, instant now)
{
  call *c = slots_get(&t->call_slots, tag);
  name *n;

  if (c == NULL)
    return;
  for (size_t i = 0; i < c->count; i++)
    if ((n = call_name(t, c->renewals[i].name_id)) != NULL)
      hold_renew_failed(n, now);
  if (c->name_id != 0 && (n = call_name(t, c->name_id)) != NULL) {
    call_not_executed(n, c);
    name_retry(n, now);
  }
  if (c->kind == CALL_STRAY)
    stray_again(t, c, false);
  call_free(t, c);
}

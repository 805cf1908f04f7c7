/* SPDX-License-Identifier: MIT */
/* lock/wait_report.c - the wait report: the owners that wait for a name while they hold others,
 * for deadlock search (protocol.md 14). Only such an owner can be part of a cycle, so
 * without one nothing is sent. */
#include "lock/table.h"

#include <stdlib.h>
#include <string.h>

#include "dialect/native/wait_report.h"
#include "hold/claim.h"

#define REPORT_AFTER SPAN_MS(500)     /* of waiting */
#define REPORT_AGAIN SPAN_MS(1000)    /* checks for changes */
#define WAITS_MAX 4096              /* in one report */
#define NONCES_MAX \
  (sizeof(((wait_report *)0)->nonces) / sizeof(((wait_report *)0)->nonces[0]))

/* One claim that has waited for REPORT_AFTER, and whether its owner holds a name. */
typedef struct wait { claim *claim; bool holds; } wait;
typedef struct waits { wait *all; size_t count; } waits;

void wait_report_init(lock_table *t)
{
  timer_init(&t->wait_report.timer, TIMER_WAIT_REPORT);
}

static void look_at(lock_table *t, instant at)
{
  if (!timer_is_set(&t->wait_report.timer) || instant_before(at, t->wait_report.timer.at))
    timers_set(&t->timers, &t->wait_report.timer, at);
}

static bool may_be_reported(const claim *c)
{
  return c->spec.blocks && !c->spec.is_try && c->owner_size > 0;
}

bool wait_report_claim(const lock_table *t, claim *c)
{
  claim_extras *e;

  if (!t->settings.reports_waits || c->owner_size == 0)
    return true;
  e = claim_extras_reserve(c);
  if (e == NULL)
    return false;
  e->owner_hash = owner_hash(t->protocol.client, c->owner, c->owner_size);
  return true;
}

static uint64_t owner_of(const claim *c)
{
  return extras_of(&c->spec)->owner_hash;
}

void wait_report_waits(lock_table *t, const claim *c, instant now)
{
  if (t->settings.reports_waits && c->state == CLAIM_WAITING && may_be_reported(c))
    look_at(t, instant_add(now, REPORT_AFTER));
}

/* The next wait_report_command() sends a due report, after all other commands. */
void wait_report_timer(lock_table *t)
{
  t->wait_report.is_look_due = true;
}

void wait_report_link_up(lock_table *t)
{
  t->wait_report.reported_hash = 0;         /* the server may not have the report */
  t->wait_report.is_look_due |= t->wait_report.is_there;
}

bool wait_report_message(lock_table *t, const char *bytes, size_t size, instant now)
{
  wait_report *o = &t->wait_report;
  char nonce[OWNER_ID_SIZE];

  if (!wait_report_request_read(bytes, size, nonce))
    return false;
  if (t->settings.reports_waits && hints_take(t, HINT_SCRIPT, now)) {
    memcpy(o->nonces[o->nonce_count++ % NONCES_MAX], nonce, sizeof(nonce));
    o->is_due = true;
  }
  return true;
}

/* ---- owners that wait and hold ---- */

/* *ret_next: when the next claim will have waited for REPORT_AFTER. */
static void waits_gather(const lock_table *t, waits *w, size_t most, instant *ret_next,
                         instant now)
{
  *ret_next = INSTANT_NEVER;
  for (lease *l = t->first_lease; l != NULL; l = l->next)
    for (claim *c = l->claims.waiting; c != NULL; c = c->next) {
      instant at = instant_add(c->asked_at, REPORT_AFTER);

      c->is_reported = false;
      if (!may_be_reported(c))
        continue;
      if (instant_before(now, at))
        *ret_next = instant_min(*ret_next, at);
      else if (w->count < most)
        w->all[w->count++].claim = c;
    }
}

static int by_owner(const void *left, const void *right)
{
  const wait *a = left, *b = right;

  return (owner_of(a->claim) > owner_of(b->claim)) -
         (owner_of(a->claim) < owner_of(b->claim));
}

/* The first claim of this owner, its others follow; NULL: none. */
static wait *waits_of(const waits *w, uint64_t owner)
{
  size_t low = 0, high = w->count;

  while (low < high) {
    size_t middle = low + (high - low) / 2;

    if (owner_of(w->all[middle].claim) < owner)
      low = middle + 1;
    else
      high = middle;
  }
  return low < w->count && owner_of(w->all[low].claim) == owner ? &w->all[low] : NULL;
}

static void mark(const waits *w, const claim *holder)
{
  wait *found = holder->owner_size > 0 ? waits_of(w, owner_of(holder)) : NULL;

  for (; found != NULL && found < w->all + w->count &&
         owner_of(found->claim) == owner_of(holder); found++)
    found->holds = true;
}

/* How many members a multi-lock keeps while it waits for the next one. */
static size_t kept(const lease *l)
{
  bool keeps = l->kind == LEASE_SET && l->state == LEASE_QUEUED && l->many.rounds >= ROUNDS_FREE;

  return keeps && l->claims.waiting != NULL ? l->many.busy : 0;
}

static void waits_mark(const lock_table *t, const waits *w)
{
  for (const lease *l = t->first_lease; l != NULL; l = l->next) {
    if (l->state == LEASE_HELD)
      for (const claim *c = l->claims.holders; c != NULL; c = c->next)
        mark(w, c);
    if (kept(l) > 0)
      mark(w, l->claims.waiting);
  }
}

/* ---- the text ---- */

static many_name wanted(const lease *l)
{
  if (l->kind == LEASE_SET)
    return l->many.names[l->many.busy];
  return (many_name){ l->bytes, l->size };
}

static void add_wait(text *out, claim *c)
{
  claim_extras *extras = c->spec.extras;
  const lease *l = lease_of_claim(c);
  many_name wants = wanted(l);
  int64_t since = server_clock_at(&l->route->clock, c->asked_at);
  owner_entry e = { .kind = 'w', .id = c->id, .set = set_number(l), .ask = l->ask.number,
                    .name = wants.name, .name_size = wants.size };
  text owner = text_over(e.owner, sizeof(e.owner));

  if (extras->since_us == 0)            /* set once: other clients compare it */
    extras->since_us = since > 0 ? (uint64_t)since : 1;
  e.since_us = extras->since_us;
  owner_id_write(owner_of(c), &owner);
  c->is_reported = wait_report_add(out, &e);
}

static void add_hold(text *out, const claim *c, many_name held, uint64_t token)
{
  const lease *l = lease_of_claim(c);
  owner_entry e = { .kind = 'h', .id = c->id, .set = set_number(l), .ask = l->term.id.ask,
                    .token = token, .name = held.name, .name_size = held.size };
  text owner = text_over(e.owner, sizeof(e.owner));

  if (token == 0)
    e.ask = l->ask.number;
  owner_id_write(owner_of(c), &owner);
  (void)wait_report_add(out, &e);
}

/* The outermost hold of an owner stands for the nested ones. */
static bool is_outermost(const claim *c)
{
  for (const claim *other = c->of->holders; other != c; other = other->next)
    if (other->owner_size > 0 && owner_of(other) == owner_of(c))
      return false;
  return true;
}

static void holds_report(text *out, const waits *w, const lease *l)
{
  many_name held;

  for (const claim *c = l->claims.holders; c != NULL; c = c->next) {
    if (c->owner_size == 0 || waits_of(w, owner_of(c)) == NULL || !is_outermost(c))
      continue;
    for (size_t i = 0; lease_next_name(l, i, &held); i++)
      add_hold(out, c, held, l->term.id.token);
  }
}

/* false: nothing to report. Waits come first: without them holds have no meaning. */
static bool report(const lock_table *t, const waits *w, text *out)
{
  bool is_some = false;

  for (size_t i = 0; i < w->count; i++)
    if (w->all[i].holds) {
      add_wait(out, w->all[i].claim);
      is_some = true;
    }
  if (!is_some)
    return false;
  for (const lease *l = t->first_lease; l != NULL; l = l->next) {
    if (l->state == LEASE_HELD)
      holds_report(out, w, l);
    for (size_t i = 0, count = kept(l); i < count; i++)
      add_hold(out, l->claims.waiting, l->many.names[i], 0);
  }
  return true;
}

/* ---- the command ---- */

static uint64_t hash_of(const text *words)
{
  return owner_hash("", words->at, words->used) | 1;
}

static bool command(const lock_table *t, request *out, const text *words)
{
  char key[KEY_TEXT_SIZE];
  text k = text_over(key, sizeof(key));
  resp_argument arguments[4] = { RESP_TEXT("HDEL"), { key, 0 }, RESP_TEXT(WAIT_REPORT_FIELD) };

  native_client_key(&t->protocol, t->protocol.client, &k);
  arguments[1].size = k.used;
  if (words == NULL)
    return request_command(out, arguments, 3);
  arguments[0] = RESP_TEXT("HSET");
  arguments[3] = (resp_argument){ words->at, words->used };
  return request_command(out, arguments, 4);
}

static bool write_out(lock_table *t, request *out, const waits *w, text *words)
{
  wait_report *o = &t->wait_report;
  bool was_due = o->is_due;
  uint64_t hash;

  o->is_due = false;
  wait_report_begin(words);
  for (size_t i = 0; i < NONCES_MAX && i < o->nonce_count; i++)
    wait_report_add_nonce(words, o->nonces[i]);
  if (!report(t, w, words)) {
    o->nonce_count = 0;
    if (!o->is_there)
      return false;
    o->is_there = false;
    return command(t, out, NULL);
  }
  hash = hash_of(words);
  if (!was_due && hash == o->reported_hash && o->is_there)
    return false;
  o->reported_hash = hash;
  o->is_there = true;
  return command(t, out, words);
}

static bool is_to_look(const lock_table *t)
{
  return t->wait_report.is_due || t->wait_report.is_look_due;
}

bool wait_report_command(lock_table *t, request *out, instant now)
{
  uint64_t waiting = t->backend.counts.waiting;
  size_t most = waiting < WAITS_MAX ? (size_t)waiting : WAITS_MAX;
  instant next = instant_add(now, REPORT_AGAIN);
  waits w = { NULL, 0 };
  bool is_command = false;
  char *bytes;

  if (!is_to_look(t))
    return false;
  t->wait_report.is_look_due = false;
  w.all = mem_zalloc(&t->memory, (most + 1) * sizeof(w.all[0]));
  bytes = mem_alloc(&t->memory, WAIT_REPORT_BYTES_MAX);
  if (w.all != NULL && bytes != NULL) {
    text words = text_over(bytes, WAIT_REPORT_BYTES_MAX);

    waits_gather(t, &w, most, &next, now);
    qsort(w.all, w.count, sizeof(w.all[0]), by_owner);
    waits_mark(t, &w);
    is_command = write_out(t, out, &w, &words);
    if (w.count > 0)
      next = instant_min(next, instant_add(now, REPORT_AGAIN));
  }
  mem_free(&t->memory, bytes);
  mem_free(&t->memory, w.all);
  if (!instant_is_never(next))
    look_at(t, next);
  return is_command;
}

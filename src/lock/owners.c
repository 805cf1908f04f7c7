/* SPDX-License-Identifier: MIT */
/* Owners: who of them waits for a name while he holds others, told to whoever looks for
 * deadlocks (protocol.md 14). Only such an owner can be part of one, so that nothing is
 * told, and nothing costs, where nobody holds and waits for long. */
#include "lock/table.h"

#include <stdlib.h>
#include <string.h>

#include "dialect/native_owners.h"

#define TOLD_AFTER SPAN_MS(500)     /* of waiting */
#define TOLD_AGAIN SPAN_MS(1000)    /* looks whether something has changed */
#define WAITS_MAX 4096              /* looked at */
#define NONCES_MAX (sizeof(((owners_told *)0)->nonces) / sizeof(((owners_told *)0)->nonces[0]))

/* One claim that waits for long, and whether its owner holds something. */
typedef struct wait { claim *claim; bool holds; } wait;
typedef struct waits { wait *all; size_t count; } waits;

void owners_init(lock_table *t)
{
  timer_init(&t->owners.timer, TIMER_OWNERS, t);
}

static void look_at(lock_table *t, instant at)
{
  if (!timer_is_set(&t->owners.timer) || instant_before(at, t->owners.timer.at))
    timers_set(&t->timers, &t->owners.timer, at);
}

static bool may_be_told(const claim *c)
{
  return c->blocks && !c->is_try && c->owner_size > 0;
}

void owners_claim(const lock_table *t, claim *c)
{
  if (t->settings.tells_owners && c->owner_size > 0)
    c->owner_hash = owner_hash(t->native.client, c->owner, c->owner_size);
}

void owners_waits(lock_table *t, const claim *c, instant now)
{
  if (t->settings.tells_owners && c->state == CLAIM_WAITING && may_be_told(c))
    look_at(t, instant_add(now, TOLD_AFTER));
}

/* What is due is told by the next owners_command(), which goes out behind all else. */
void owners_timer(lock_table *t)
{
  t->owners.is_look_due = true;
}

void owners_link_up(lock_table *t)
{
  t->owners.told_hash = 0;              /* perhaps this server knows nothing of it */
  t->owners.is_look_due |= t->owners.is_there;
}

bool owners_message(lock_table *t, const char *bytes, size_t size)
{
  owners_told *o = &t->owners;
  char nonce[OWNER_ID_SIZE];

  if (!owners_tell_read(bytes, size, nonce))
    return false;
  if (t->settings.tells_owners) {
    memcpy(o->nonces[o->nonce_count++ % NONCES_MAX], nonce, sizeof(nonce));
    o->is_due = true;
  }
  return true;
}

bool lock_wait_is_told(const lock_table *t, uint64_t id)
{
  const claim *c = slots_get(&t->slots, id);

  return c != NULL && c->state == CLAIM_WAITING && c->is_told;
}

/* ---- who waits for long, and holds ---- */

/* Also says, in *ret_next, when the next one will have waited for long. */
static void waits_gather(const lock_table *t, waits *w, size_t most, instant *ret_next,
                         instant now)
{
  *ret_next = INSTANT_NEVER;
  for (name *n = t->first_name; n != NULL; n = n->next)
    for (claim *c = n->waiting; c != NULL; c = c->next) {
      instant at = instant_add(c->asked_at, TOLD_AFTER);

      c->is_told = false;
      if (!may_be_told(c))
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

  return (a->claim->owner_hash > b->claim->owner_hash) -
         (a->claim->owner_hash < b->claim->owner_hash);
}

/* The first one of this owner, the others behind it; NULL: none. */
static wait *waits_of(const waits *w, uint64_t owner)
{
  size_t low = 0, high = w->count;

  while (low < high) {
    size_t middle = low + (high - low) / 2;

    if (w->all[middle].claim->owner_hash < owner)
      low = middle + 1;
    else
      high = middle;
  }
  return low < w->count && w->all[low].claim->owner_hash == owner ? &w->all[low] : NULL;
}

static void mark(const waits *w, const claim *holder)
{
  wait *found = holder->owner_size > 0 ? waits_of(w, holder->owner_hash) : NULL;

  for (; found != NULL && found < w->all + w->count &&
         found->claim->owner_hash == holder->owner_hash; found++)
    found->holds = true;
}

/* How many members a set keeps while it waits for the next one. */
static size_t kept(const name *n)
{
  bool keeps = n->kind == NAME_SET && n->state == NAME_QUEUED && n->rounds >= ROUNDS_FREE;

  return keeps && n->waiting != NULL ? n->busy : 0;
}

static void waits_mark(const lock_table *t, const waits *w)
{
  for (const name *n = t->first_name; n != NULL; n = n->next) {
    if (n->state == NAME_HELD)
      for (const claim *c = n->holders; c != NULL; c = c->next)
        mark(w, c);
    if (kept(n) > 0)
      mark(w, n->waiting);
  }
}

/* ---- the text ---- */

static many_name wanted(const name *n)
{
  if (n->kind == NAME_SET)
    return n->members[n->busy];
  return (many_name){ n->bytes, n->size };
}

static void wait_tell(text *out, claim *c)
{
  const name *n = c->name;
  many_name wants = wanted(n);
  int64_t since = server_clock_at(&n->route->clock, c->asked_at);
  owner_entry e = { .kind = 'w', .id = c->id, .set = n->set, .ask = n->ask,
                    .name = wants.name, .name_size = wants.size };
  text owner = text_over(e.owner, sizeof(e.owner));

  if (c->since_us == 0)                 /* once: others compare it */
    c->since_us = since > 0 ? (uint64_t)since : 1;
  e.since_us = c->since_us;
  owner_id_write(c->owner_hash, &owner);
  c->is_told = owners_add(out, &e);
}

static void hold_tell(text *out, const claim *c, many_name held, uint64_t token)
{
  const name *n = c->name;
  owner_entry e = { .kind = 'h', .id = c->id, .set = n->set, .ask = n->lease.ask,
                    .token = token, .name = held.name, .name_size = held.size };
  text owner = text_over(e.owner, sizeof(e.owner));

  if (token == 0)
    e.ask = n->ask;
  owner_id_write(c->owner_hash, &owner);
  (void)owners_add(out, &e);
}

/* The outermost one of an owner stands for those nested in it. */
static bool is_outermost(const claim *c)
{
  for (const claim *other = c->name->holders; other != c; other = other->next)
    if (other->owner_size > 0 && other->owner_hash == c->owner_hash)
      return false;
  return true;
}

static void holders_tell(text *out, const waits *w, const name *n)
{
  for (const claim *c = n->holders; c != NULL; c = c->next) {
    if (c->owner_size == 0 || waits_of(w, c->owner_hash) == NULL || !is_outermost(c))
      continue;
    for (size_t i = 0; i < n->member_count; i++)
      hold_tell(out, c, n->members[i], n->lease.token);
    if (n->kind != NAME_SET)
      hold_tell(out, c, (many_name){ n->bytes, n->size }, n->lease.token);
  }
}

/* false: there is nothing to tell. Waits come first: without them holds mean nothing. */
static bool tell(const lock_table *t, const waits *w, text *out)
{
  bool is_some = false;

  for (size_t i = 0; i < w->count; i++)
    if (w->all[i].holds) {
      wait_tell(out, w->all[i].claim);
      is_some = true;
    }
  if (!is_some)
    return false;
  for (const name *n = t->first_name; n != NULL; n = n->next) {
    if (n->state == NAME_HELD)
      holders_tell(out, w, n);
    for (size_t i = 0, count = kept(n); i < count; i++)
      hold_tell(out, n->waiting, n->members[i], 0);
  }
  return true;
}

/* ---- the command ---- */

static uint64_t hash_of(const text *words)
{
  return owner_hash("", words->at, words->used) | 1;
}

static bool command(const lock_table *t, buffer *out, const text *words)
{
  char key[KEY_TEXT_SIZE];
  text k = text_over(key, sizeof(key));
  resp_argument arguments[4] = { RESP_TEXT("HDEL"), { key, 0 }, RESP_TEXT(OWNERS_FIELD) };

  native_client_key(&t->native, t->native.client, &k);
  arguments[1].size = k.used;
  if (words == NULL)
    return resp_command(out, arguments, 3);
  arguments[0] = RESP_TEXT("HSET");
  arguments[3] = (resp_argument){ words->at, words->used };
  return resp_command(out, arguments, 4);
}

static bool write_out(lock_table *t, buffer *out, const waits *w, text *words)
{
  owners_told *o = &t->owners;
  bool was_due = o->is_due;
  uint64_t hash;

  o->is_due = false;
  owners_begin(words);
  for (size_t i = 0; i < NONCES_MAX && i < o->nonce_count; i++)
    owners_echo(words, o->nonces[i]);
  if (!tell(t, w, words)) {
    o->nonce_count = 0;
    if (!o->is_there)
      return false;
    o->is_there = false;
    return command(t, out, NULL);
  }
  hash = hash_of(words);
  if (!was_due && hash == o->told_hash && o->is_there)
    return false;
  o->told_hash = hash;
  o->is_there = true;
  return command(t, out, words);
}

static bool is_to_look(const lock_table *t)
{
  return t->owners.is_due || t->owners.is_look_due;
}

bool owners_command(lock_table *t, buffer *out, instant now)
{
  size_t most = t->counts.waiting < WAITS_MAX ? (size_t)t->counts.waiting : WAITS_MAX;
  instant next = instant_add(now, TOLD_AGAIN);
  waits w = { NULL, 0 };
  bool is_command = false;
  char *bytes;

  if (!is_to_look(t))
    return false;
  t->owners.is_look_due = false;
  w.all = mem_zalloc(&t->memory, (most + 1) * sizeof(w.all[0]));
  bytes = mem_alloc(&t->memory, OWNERS_MAX_BYTES);
  if (w.all != NULL && bytes != NULL) {
    text words = text_over(bytes, OWNERS_MAX_BYTES);

    waits_gather(t, &w, most, &next, now);
    qsort(w.all, w.count, sizeof(w.all[0]), by_owner);
    waits_mark(t, &w);
    is_command = write_out(t, out, &w, &words);
    if (w.count > 0)
      next = instant_min(next, instant_add(now, TOLD_AGAIN));
  }
  mem_free(&t->memory, bytes);
  mem_free(&t->memory, w.all);
  if (!instant_is_never(next))
    look_at(t, next);
  return is_command;
}

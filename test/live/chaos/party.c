/* SPDX-License-Identifier: MIT */
/* Parties: programs with an engine each, who wish, hold, give up, release, sleep and die. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "chaos.h"

/* ---- what an engine tells ---- */

static void told_granted(struct party *p, struct wish *h, const effect *e)
{
  struct world *w = p->world;
  instant now = now_instant();

  note(w, "%d: granted %d fence %llu for %lld us depth %d units %d", p->number, h->number,
       (unsigned long long)e->fence, (long long)(e->valid_until.ns - now.ns) / 1000, e->depth,
       (int)e->units);
  if (h->state != WAITING || h->was_cancelled)
    flaw(w, "%d granted in state %d", h->number, h->state);
  h->state = HELD;
  h->depth = e->depth;
  h->units = e->units;
  h->valid_until = e->valid_until;
  h->is_broken = party_was_revoked(p, h);
  h->changed_at = now.ns;
  h->act_at = now.ns + (int64_t)below(w, below(w, 2) == 0 ? 500 : 10) * MS;
  w->granted[h->choice]++;
  h->logged.units = (uint32_t)e->units;
  h->logged.flags |= e->depth > 1 ? FLAG_NESTED : 0;
  if (h->is_broken)
    logged_excused(&h->logged, now.ns);
  logged_granted(&h->logged, now.ns, e->depth > 1 ? 0 : e->fence, e->valid_until.ns);
}

static void told_end(struct party *p, struct wish *h, const effect *e)
{
  struct world *w = p->world;

  note(w, "%d: %s %d %d %s", p->number,
       e->kind == EFFECT_LOCK_FAILED ? "failed" : "released", h->number, e->status, e->text);
  if (e->kind == EFFECT_LOCK_FAILED && h->state != WAITING)
    flaw(w, "%d failed in state %d", h->number, h->state);
  if (e->kind == EFFECT_RELEASED && h->state != RELEASING)
    flaw(w, "%d released in state %d", h->number, h->state);
  if (h->was_cancelled && e->status != DIBS_CANCELLED)
    flaw(w, "%d was cancelled, and ends with %d", h->number, e->status);
  if (e->kind == EFFECT_LOCK_FAILED)
    logged_failed(&h->logged, now_ns(), (int)e->status);
  h->state = OVER;
  p->open--;
}

static void told_renewed(struct party *p, struct wish *h, const effect *e)
{
  struct world *w = p->world;

  if (h->state != HELD && h->state != RELEASING)
    flaw(w, "%d renewed in state %d", h->number, h->state);
  if (h->state != HELD || e->valid_until.ns == 0)
    return;
  if (instant_before(e->valid_until, h->valid_until))
    flaw(w, "%d is shortened by a renewal", h->number);
  h->valid_until = e->valid_until;
  h->renewed_since = h->valid_until.ns > h->changed_at + TTL_MAX;
  if (h->is_broken && h->renewed_since)
    flaw(w, "%d was broken, and is renewed", h->number);
  logged_valid(&h->logged, now_ns(), h->valid_until.ns);
}

static void told_lost(struct party *p, struct wish *h, const effect *e)
{
  struct world *w = p->world;

  note(w, "%d: lost %d %s", p->number, h->number, e->text);
  if (h->state != HELD)
    flaw(w, "I17: %d lost in state %d", h->number, h->state);
  h->state = LOST;
  logged_lost(&h->logged, now_ns());
  h->act_at = now_ns() + (int64_t)below(w, 100) * MS;
  w->lost++;
}

static void told(struct party *p, const effect *e)
{
  struct world *w = p->world;

  switch (e->kind) {
  case EFFECT_CONNECT:
    note(w, "%d: connects %d", p->number, e->link);
    wire_forget(p, e->link);
    p->wires[e->link] = wire_new(w);
    break;
  case EFFECT_DISCONNECT:
    note(w, "%d: disconnects %d", p->number, e->link);
    wire_forget(p, e->link);
    break;
  case EFFECT_LOCK_GRANTED:
    told_granted(p, e->context, e);
    break;
  case EFFECT_HOLD_RENEWED:
    told_renewed(p, e->context, e);
    break;
  case EFFECT_HOLD_LOST:
    told_lost(p, e->context, e);
    break;
  case EFFECT_LOCK_FAILED:
  case EFFECT_RELEASED:
    told_end(p, e->context, e);
    break;
  case EFFECT_CLOSED:
    p->is_closed = true;
    break;
  default:
    break;
  }
}

/* After each input: what it led to, and what is to be sent. */
void party_pull(struct party *p)
{
  effect e;

  while (engine_next_effect(p->engine, &e))
    told(p, &e);
  for (int i = 0; i < ONE_SERVER_LINKS; i++) {
    size_t size;
    const char *bytes = engine_output(p->engine, i, &size);

    if (size == 0 || p->wires[i] == NULL)
      continue;
    stream_add(p->world, &p->wires[i]->out, bytes, size);
    engine_written(p->engine, i, size);
  }
}

/* ---- life and death ---- */

void party_begin(struct world *w, int number)
{
  struct party *p = &w->parties[number];
  engine_settings s = { .memory = chaos_heap, .dialect = &native_dialect,
                        .deployment = one_server(), .prefix = w->protocol.prefix, .host = "h",
                        .program = "chaos", .version = "0", .note = "", .pid = number,
                        .connect_timeout = SPAN_MS(1000), .command_timeout = SPAN_MS(300),
                        .clock_rate_error_ppm = 10000, .local_handovers_max = 4,
                        .local_handover_time = SPAN_MS(10) };
  uint8_t bytes[16];

  memset(p, 0, sizeof(*p));
  p->world = w;
  p->number = number;
  w->lives[number]++;
  for (int i = 0; i < 16; i++)
    bytes[i] = (uint8_t)below(w, 256);
  text_base64url_16(bytes, s.client_id);
  memcpy(p->client, s.client_id, sizeof(p->client));
  s.seed = random_next(&w->random);
  p->engine = engine_new(&s, now_instant());
  assert_non_null(p->engine);
  note(w, "%d: begins as %s", number, p->client);
}

void party_end(struct party *p)
{
  note(p->world, "%d: ends", p->number);
  history_log_death(&p->world->log, now_ns(), (uint16_t)p->number,
                    p->world->lives[p->number]);
  for (int i = 0; i < ONE_SERVER_LINKS; i++)
    p->wires[i] = wire_free(p->wires[i]);
  while (p->old != NULL) {
    struct wire *x = p->old;
    p->old = x->next;
    (void)wire_free(x);
  }
  p->engine = engine_free(p->engine);
  while (p->wishes != NULL) {
    struct wish *h = p->wishes;
    p->wishes = h->next;
    free(h);
  }
}

/* ---- wishes ---- */

static void choose(struct world *w, struct wish *h)
{
  switch (below(w, 8)) {
  case 0:
    h->choice = CHOICE_MANY;
    do
      h->names = (unsigned)below(w, 1 << MUTEXES);
    while (h->names == 0);
    break;
  case 1: case 2:
    h->choice = CHOICE_READ;
    h->names = 1 << RWLOCK;
    break;
  case 3:
    h->choice = CHOICE_WRITE;
    h->names = 1 << RWLOCK;
    break;
  case 4:
    h->choice = CHOICE_PERMITS;
    h->names = 1 << SEMAPHORE;
    break;
  default:
    h->choice = CHOICE_MUTEX;
    h->names = 1u << below(w, MUTEXES);
    break;
  }
  h->reads = h->choice == CHOICE_READ;
  h->units = h->choice == CHOICE_PERMITS ? 1 + below(w, PERMITS) : 1;
}

static void fill(struct world *w, const struct wish *h, lock_spec *r,
                 many_name members[MUTEXES])
{
  r->kind = h->choice == CHOICE_PERMITS                              ? LOCK_SEMAPHORE
            : h->choice == CHOICE_READ || h->choice == CHOICE_WRITE ? LOCK_RWLOCK
                                                                    : LOCK_MUTEX;
  r->reads = h->choice == CHOICE_READ;
  r->units = h->units;
  r->names = h->choice == CHOICE_MANY ? members : NULL;
  for (int i = NAMES - 1; i >= 0; i--)
    if ((h->names >> i & 1) != 0)
      r->name = name_texts[i];
  r->name_size = 2;
  for (int i = 0; i < MUTEXES; i++)
    if ((h->names >> i & 1) != 0)
      members[r->name_count++] = (many_name){ name_texts[i], 2 };
  if (h->choice == CHOICE_PERMITS && below(w, 6) == 0) {
    r->units = 0;
    r->is_try = true;
  }
  if (h->choice == CHOICE_MUTEX && !r->is_fixed && below(w, 3) == 0)
    r->linger = below(w, 3) == 0 ? LINGER_AUTO : SPAN_MS((int)below(w, 400));
}

/* A lease may be another ask's of the same client, and longer: TTL_MAX. */
static struct logged logged_of(struct party *p, const struct wish *h)
{
  uint8_t mode = h->choice == CHOICE_READ ? HOLD_READ : h->choice == CHOICE_WRITE ? HOLD_WRITE
               : h->choice == CHOICE_PERMITS ? HOLD_PERMITS : HOLD_EXCLUSIVE;

  return (struct logged){ .log = &p->world->log, .worker = (uint16_t)p->number,
                          .life = p->world->lives[p->number], .thread = (uint16_t)h->owner,
                          .locks = h->names, .units = (uint32_t)h->units,
                          .ttl_ms = TTL_MAX / MS, .mode = mode };
}

void party_wish(struct party *p)
{
  struct world *w = p->world;
  struct wish *h = calloc(1, sizeof(*h));
  instant now = now_instant();
  char owner[2];
  many_name members[MUTEXES];
  lock_spec r = { .context = h, .owner = owner, .owner_size = 1 };
  uint64_t id = 0;

  assert_non_null(h);
  choose(w, h);
  h->number = ++w->last_wish;
  h->owner = (int)below(w, OWNERS);
  h->state = WAITING;
  h->next = p->wishes;
  p->wishes = h;
  owner[0] = (char)('a' + h->owner);
  r.is_try = below(w, 4) == 0;
  r.is_fixed = below(w, 8) == 0;
  r.ttl = (span){ below(w, 2) == 0 ? TTL_MAX / 2 : TTL_MAX };
  r.max_hold = below(w, 8) == 0 ? SPAN_MS(400) : SPAN_MS(0);
  r.give_up_at = below(w, 3) != 0 ? INSTANT_NEVER
                                  : instant_add(now, SPAN_MS(20 + (int)below(w, 500)));
  fill(w, h, &r, members);
  h->act_at = now.ns + (int64_t)below(w, 2000) * MS;
  p->open++;
  note(w, "%d: %s %d kind %d names %x owner %d ttl %d%s units %d", p->number,
       r.is_try ? "tries" : "asks", h->number, (int)h->choice, h->names, h->owner,
       (int)span_to_ms(r.ttl), r.is_fixed ? " fixed" : "", (int)r.units);
  h->logged = logged_of(p, h);
  logged_ask(&h->logged, now.ns, r.is_try ? OP_TRY : OP_LOCK);
  assert_int_equal(engine_lock(p->engine, &r, now, &id), DIBS_OK);
  h->id = id;
  party_pull(p);
}

static void give_back(struct party *p, struct wish *h)
{
  struct world *w = p->world;
  instant now = now_instant();           /* one: no deadline falls between tick and release */

  engine_tick(p->engine, now);           /* may report it lost */
  party_pull(p);
  if (h->state == HELD && h->choice == CHOICE_WRITE && !h->reads && below(w, 3) == 0) {
    if (engine_downgrade(p->engine, h->id, now) == DIBS_OK) {
      note(w, "%d: downgrades %d", p->number, h->number);
      h->reads = true;
      logged_downgrade(&h->logged, now_ns());
      h->changed_at = now_ns();
      h->renewed_since = false;
      h->act_at = now_ns() + (int64_t)below(w, 800) * MS;
      w->downgraded++;
      return;
    }
  }
  note(w, "%d: releases %d", p->number, h->number);
  h->state = RELEASING;
  logged_release(&h->logged, now_ns());
  if (engine_release(p->engine, h->id, now) != DIBS_OK)
    flaw(w, "%d cannot be released", h->number);
}

/* The program is done with it, or has lost it, or gives up. */
static void act(struct party *p, struct wish *h)
{
  struct world *w = p->world;

  switch (h->state) {
  case WAITING:
    if (w->is_healing)
      return;
    h->act_at = INT64_MAX;
    if (below(w, 2) == 0) {
      h->was_cancelled = engine_cancel(p->engine, h->id, now_instant());
      note(w, "%d: cancels %d %d", p->number, h->number, h->was_cancelled);
    }
    break;
  case HELD:
  case LOST:
    give_back(p, h);
    break;
  default:
    return;
  }
  party_pull(p);
}

/* ---- a step ---- */

static void deliver(struct party *p, int i, int64_t now)
{
  struct wire *x = p->wires[i];
  struct chunk *c;

  if (x == NULL)
    return;
  if (!x->opened) {
    if (x->open_at > now)
      return;
    x->opened = true;
    engine_connected(p->engine, i, now_instant());
    party_pull(p);
    return;
  }
  if ((c = stream_take(&x->in, now)) != NULL) {
    engine_wall_clock(p->engine, wall_us(), now_instant());
    engine_received(p->engine, i, c->bytes, c->size, now_instant());
    free(c);
    party_pull(p);
  }
}

void party_break(struct party *p, int i)
{
  if (p->wires[i] == NULL)
    return;
  note(p->world, "%d: link %d breaks", p->number, i);
  wire_forget(p, i);
  engine_disconnected(p->engine, i, DIBS_ERR_UNREACHABLE, "broken", now_instant());
  party_pull(p);
}

static void tick(struct party *p)
{
  instant at = now_instant();

  if (instant_before(at, engine_deadline(p->engine)))
    return;
  engine_tick(p->engine, at);
  party_pull(p);
  for (struct wish *h = p->wishes; h != NULL; h = h->next)
    if (h->state == HELD && !instant_before(at, h->valid_until))
      flaw(p->world, "S7: %d is over, and not told lost", h->number);
}

static void forget_over(struct party *p)
{
  for (struct wish **at = &p->wishes; *at != NULL;) {
    struct wish *h = *at;

    if (h->state == OVER) {
      *at = h->next;
      free(h);
    } else {
      at = &h->next;
    }
  }
}

void party_step(struct party *p)
{
  struct world *w = p->world;
  int64_t now = now_ns();

  wires_carry(p, now);
  if (p->stopped_until > now && !w->is_healing)
    return;
  deliver(p, (int)below(w, 2), now);
  tick(p);
  for (struct wish *h = p->wishes, *next; h != NULL; h = next) {
    next = h->next;
    if (h->act_at <= now_ns() || (w->is_healing && (h->state == HELD || h->state == LOST)))
      act(p, h);
  }
  forget_over(p);
}

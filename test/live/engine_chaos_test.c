/* SPDX-License-Identifier: MIT */
/* test/live/engine_chaos_test.c - three engines, one real server, any order of events.
 *
 * Each world has names, engines and connections of its own. What the engines send and what
 * the server answers is held back for as long as chance wants; connections break with
 * answers undelivered or with requests that still arrive later; programs are stopped for
 * longer than their leases, and killed. After each step an oracle looks at what everybody
 * believes (S1 S2 S7 I12 I17), and in the end, when all is well again, everybody must get
 * what he waits for and nothing may be left (L1 L2, leaks). Time is real, as the server's
 * is, so a seed repeats its choices, not its moments: a failure prints the last events.
 *
 * DIBS_TEST_SCALE multiplies the worlds, DIBS_TEST_SEED sets the first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include <hiredis/hiredis.h>

#include "dialect/native.h"
#include "engine/engine.h"
#include "server.h"

enum { COMMANDS, INBOX };   /* the links of an engine */
enum { ENGINES = 3, NAMES = 3, OWNERS = 2, WORLDS = 16, ROUNDS = 3, EVENTS = 400,
       CHAOS_MS = 2500, LATE_MS = 700, HEAL_MS = 15000, WISHES_MAX = 5 };

#define MS 1000000ll

/* ---- bytes on their way ---- */

struct chunk {
  struct chunk *next;
  int64_t due;
  size_t size;
  char bytes[];
};

struct stream { struct chunk *first, *last; };

struct wire {
  struct wire *next;          /* of those the engine has forgotten */
  int fd;
  struct stream out, in;
  bool opened;                /* the engine was told */
  int64_t open_at, close_at;
};

/* ---- what a program wants and has ---- */

enum wish_state { WAITING = 1, HELD, LOST, RELEASING, OVER };

struct wish {
  struct wish *next;
  uint64_t id, fence;
  int number, name, owner, depth;
  enum wish_state state;
  bool was_cancelled;
  instant valid_until;
  int64_t act_at;
};

struct party {
  struct world *world;
  int number;
  engine *engine;
  char client[23];
  struct wire *wires[ENGINE_LINKS], *old;
  struct wish *wishes;
  int open;
  bool is_closed, closing;
  int64_t stopped_until;
};

struct world {
  uint64_t seed;
  random_source random;
  char prefix[32];
  struct party parties[ENGINES];
  uint64_t top_fence[NAMES];
  int64_t begun_at, healed_at, done_at;
  int last_wish;
  bool is_healing, is_closing, is_done;
  char events[EVENTS][160];
  size_t event_count;
  uint64_t granted, lost, steps;
};

static struct test_server *server;
static redisContext *control;

static int64_t now_ns(void)
{
  struct timespec t;

  (void)clock_gettime(CLOCK_BOOTTIME, &t);
  return t.tv_sec * 1000 * MS + t.tv_nsec;
}

static instant now_instant(void) { return (instant){ now_ns() }; }

static int64_t wall_us(void)
{
  struct timespec t;

  (void)clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void note(struct world *w, const char *format, ...)
{
  char *line = w->events[w->event_count++ % EVENTS];
  int used = snprintf(line, 160, "%9.3f ", (double)(now_ns() - w->begun_at) / 1e6);
  va_list list;

  va_start(list, format);
  (void)vsnprintf(line + used, 160 - (size_t)used, format, list);
  va_end(list);
}

static void flaw(struct world *w, const char *format, ...)
{
  size_t first = w->event_count > EVENTS ? w->event_count - EVENTS : 0;
  char words[256];
  va_list list;

  va_start(list, format);
  (void)vsnprintf(words, sizeof(words), format, list);
  va_end(list);
  for (size_t i = first; i < w->event_count; i++)
    (void)fprintf(stderr, "# %s\n", w->events[i % EVENTS]);
  fail_msg("seed %llu, %.3f ms: %s", (unsigned long long)w->seed,
           (double)(now_ns() - w->begun_at) / 1e6, words);
}

static uint64_t below(struct world *w, uint64_t limit) { return random_below(&w->random, limit); }

/* ---- wires ---- */

/* Mostly quick, sometimes slow, and now and then longer than a lease. */
static int64_t a_while(struct world *w)
{
  if (w->is_healing)
    return 0;
  switch (below(w, 40)) {
  case 0: return (int64_t)below(w, 400) * MS;
  case 1: case 2: case 3: return (int64_t)below(w, 60) * MS;
  default: return (int64_t)below(w, 3000) * 1000;
  }
}

static void stream_add(struct world *w, struct stream *s, const char *bytes, size_t size)
{
  struct chunk *c = malloc(sizeof(*c) + size);

  assert_non_null(c);
  c->next = NULL;
  c->due = now_ns() + a_while(w);
  if (s->last != NULL && s->last->due > c->due)
    c->due = s->last->due;
  c->size = size;
  memcpy(c->bytes, bytes, size);
  if (s->last != NULL)
    s->last->next = c;
  else
    s->first = c;
  s->last = c;
}

static struct chunk *stream_take(struct stream *s, int64_t now)
{
  struct chunk *c = s->first;

  if (c == NULL || c->due > now)
    return NULL;
  s->first = c->next;
  if (s->first == NULL)
    s->last = NULL;
  return c;
}

static void stream_clear(struct stream *s)
{
  struct chunk *c;

  while ((c = stream_take(s, INT64_MAX)) != NULL)
    free(c);
}

static struct wire *wire_free(struct wire *x)
{
  if (x != NULL) {
    stream_clear(&x->in);
    stream_clear(&x->out);
    (void)close(x->fd);
    free(x);
  }
  return NULL;
}

static struct wire *wire_new(struct world *w)
{
  struct wire *x = calloc(1, sizeof(*x));
  struct sockaddr_un address = { .sun_family = AF_UNIX };

  assert_non_null(x);
  (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", test_server_socket(server));
  x->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_true(x->fd >= 0);
  assert_int_equal(connect(x->fd, (struct sockaddr *)&address, sizeof(address)), 0);
  x->open_at = now_ns() + a_while(w);
  return x;
}

/* A late request may be granted a lease that nobody asks for any more (S8 is bounded by its
 * `until`, and the lease by its ttl): in time for it to be over in the end. */
static bool may_be_late(const struct world *w)
{
  return now_ns() - w->begun_at < (CHAOS_MS - LATE_MS) * MS;
}

/* The engine is done with it. What it sent is lost, or on its way for a while still. */
static void wire_forget(struct party *p, int i)
{
  struct wire *x = p->wires[i];

  p->wires[i] = NULL;
  if (x == NULL)
    return;
  if (below(p->world, 2) == 0 || !may_be_late(p->world)) {
    (void)wire_free(x);
    return;
  }
  x->close_at = now_ns() + (int64_t)below(p->world, 400) * MS;
  x->next = p->old;
  p->old = x;
}

static void wire_write(struct wire *x, int64_t now)
{
  struct chunk *c;

  while ((c = stream_take(&x->out, now)) != NULL) {
    (void)send(x->fd, c->bytes, c->size, MSG_NOSIGNAL);
    free(c);
  }
}

static bool wire_read(struct world *w, struct wire *x)
{
  char bytes[8192];
  ssize_t got;

  while ((got = recv(x->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
    stream_add(w, &x->in, bytes, (size_t)got);
  return got != 0;
}

/* ---- the oracle ---- */

static bool believes(const struct wish *h, instant now)
{
  return h->state == HELD && instant_before(now, h->valid_until);
}

static void check_one_believer(struct world *w, int name)
{
  instant now = now_instant();
  const struct wish *first = NULL;
  int party = 0;

  for (int i = 0; i < ENGINES; i++)
    for (struct wish *h = w->parties[i].wishes; h != NULL; h = h->next) {
      if (h->name != name || !believes(h, now))
        continue;
      if (first != NULL && (party != i || first->owner != h->owner))
        flaw(w, "S1: %d of %d and %d of %d both believe in name %d", first->number, party,
             h->number, i, name);
      first = h;
      party = i;
    }
}

static const char look[] =
  "local t = redis.call('TIME') "
  "local v = redis.call('TYPE', KEYS[1]).ok == 'hash' and redis.call('HGET', KEYS[1], 's') "
  "or redis.call('MGET', KEYS[1])[1] "
  "return {t[1] * 1000000 + t[2], v or ''}";

/* What a believer believes is what the server has, and for longer. */
static void check_server(struct party *p, const struct wish *h)
{
  struct world *w = p->world;
  char token[512], key[64], lease[128];
  text shown = text_over(token, sizeof(token)), l = text_over(lease, sizeof(lease));
  token_parts parts;
  lease_id id;
  int64_t before = now_ns(), ahead, after;
  redisReply *r;

  if (!engine_hold_token(p->engine, h->id, &shown))
    return;                      /* lost by now, and not yet told */
  assert_true(token_read(token, &parts));
  id = parts.lease;
  lease_id_write(&id, &l);
  (void)snprintf(key, sizeof(key), "%s:m:{n%d}", w->prefix, h->name);
  r = redisCommand(control, "EVAL %s 1 %s", look, key);
  after = now_ns();
  assert_non_null(r);
  assert_int_equal(r->type, REDIS_REPLY_ARRAY);
  if (instant_before((instant){ after }, h->valid_until)) {
    const char *value = r->element[1]->str;

    if (strncmp(value, lease, strlen(lease)) != 0 || value[strlen(lease)] != ' ')
      flaw(w, "S1: %d of %d believes %s, the server has %s", h->number, p->number, lease,
           value);
    ahead = strtoll(value + strlen(lease), NULL, 10);
    if ((int64_t)id.token + ahead * 1000 - r->element[0]->integer + (after - before) / 1000 <
        (h->valid_until.ns - before) / 1000)
      flaw(w, "I12: %d of %d believes %lld us, the server %lld", h->number, p->number,
           (long long)(h->valid_until.ns - before) / 1000,
           (long long)((int64_t)id.token + ahead * 1000 - r->element[0]->integer));
  }
  freeReplyObject(r);
}

static void told_granted(struct party *p, struct wish *h, const effect *e)
{
  struct world *w = p->world;
  instant now = now_instant();

  note(w, "%d: granted %d n%d fence %llu for %lld us depth %d", p->number, h->number, h->name,
       (unsigned long long)e->fence, (long long)(e->valid_until.ns - now.ns) / 1000, e->depth);
  if (h->state != WAITING || h->was_cancelled)
    flaw(w, "%d granted in state %d", h->number, h->state);
  h->state = HELD;
  h->fence = e->fence;
  h->depth = e->depth;
  h->valid_until = e->valid_until;
  h->act_at = now.ns + (int64_t)below(w, below(w, 2) == 0 ? 500 : 10) * MS;
  w->granted++;
  if (believes(h, now) && h->depth == 1) {
    if (h->fence <= w->top_fence[h->name])
      flaw(w, "S2: fence %llu after %llu", (unsigned long long)h->fence,
           (unsigned long long)w->top_fence[h->name]);
    w->top_fence[h->name] = h->fence;
  }
  check_one_believer(w, h->name);
}

static void told_end(struct party *p, struct wish *h, const effect *e)
{
  struct world *w = p->world;

  note(w, "%d: %s %d n%d %d %s", p->number,
       e->kind == EFFECT_LOCK_FAILED ? "failed" : "released", h->number, h->name, e->status,
       e->text);
  if (e->kind == EFFECT_LOCK_FAILED && h->state != WAITING)
    flaw(w, "%d failed in state %d", h->number, h->state);
  if (e->kind == EFFECT_RELEASED && h->state != RELEASING)
    flaw(w, "%d released in state %d", h->number, h->state);
  if (h->was_cancelled && e->status != DIBS_CANCELLED)
    flaw(w, "%d was cancelled, and ends with %d", h->number, e->status);
  h->state = OVER;
  p->open--;
}

static void told(struct party *p, const effect *e)
{
  struct world *w = p->world;
  struct wish *h = e->context;

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
    told_granted(p, h, e);
    break;
  case EFFECT_HOLD_RENEWED:
    if (h->state != HELD && h->state != RELEASING)
      flaw(w, "%d renewed in state %d", h->number, h->state);
    if (instant_before(e->valid_until, h->valid_until) && h->state == HELD &&
        e->valid_until.ns != 0)
      flaw(w, "%d is shortened by a renewal", h->number);
    if (h->state == HELD && e->valid_until.ns != 0)
      h->valid_until = e->valid_until;
    check_one_believer(w, h->name);
    break;
  case EFFECT_HOLD_LOST:
    note(w, "%d: lost %d n%d %s", p->number, h->number, h->name, e->text);
    if (h->state != HELD)
      flaw(w, "I17: %d lost in state %d", h->number, h->state);
    h->state = LOST;
    h->act_at = now_ns() + (int64_t)below(w, 100) * MS;
    w->lost++;
    break;
  case EFFECT_LOCK_FAILED:
  case EFFECT_RELEASED:
    told_end(p, h, e);
    break;
  case EFFECT_CLOSED:
    p->is_closed = true;
    break;
  default:
    break;
  }
}

/* After each input: what it led to, and what is to be sent. */
static void pull(struct party *p)
{
  effect e;

  while (engine_next_effect(p->engine, &e))
    told(p, &e);
  for (int i = 0; i < ENGINE_LINKS; i++) {
    size_t size;
    const char *bytes = engine_output(p->engine, i, &size);

    if (size == 0 || p->wires[i] == NULL)
      continue;
    stream_add(p->world, &p->wires[i]->out, bytes, size);
    engine_written(p->engine, i, size);
  }
}

/* ---- the engines ---- */

static void *allocate(size_t bytes, void *data) { (void)data; return malloc(bytes); }
static void *reallocate(void *m, size_t bytes, void *data) { (void)data; return realloc(m, bytes); }
static void release(void *m, void *data) { (void)data; free(m); }

static void party_begin(struct world *w, int number)
{
  struct party *p = &w->parties[number];
  engine_settings s = { .memory = { allocate, reallocate, release, NULL },
                        .prefix = w->prefix, .host = "h", .program = "chaos",
                        .version = "0", .note = "", .pid = number,
                        .connect_timeout = SPAN_MS(1000), .command_timeout = SPAN_MS(300),
                        .clock_rate_error_ppm = 10000, .local_handovers_max = 4,
                        .local_handover_time = SPAN_MS(10) };
  uint8_t bytes[16];

  memset(p, 0, sizeof(*p));
  p->world = w;
  p->number = number;
  for (int i = 0; i < 16; i++)
    bytes[i] = (uint8_t)below(w, 256);
  text_base64url_16(bytes, s.client_id);
  memcpy(p->client, s.client_id, sizeof(p->client));
  s.seed = random_next(&w->random);
  p->engine = engine_new(&s, now_instant());
  assert_non_null(p->engine);
  note(w, "%d: begins as %s", number, p->client);
}

/* Killed: nothing more is sent, what is on its way arrives or not. */
static void party_end(struct party *p)
{
  note(p->world, "%d: ends", p->number);
  for (int i = 0; i < ENGINE_LINKS; i++)
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

static void begin_wish(struct party *p)
{
  struct world *w = p->world;
  struct wish *h = calloc(1, sizeof(*h));
  static const char *const names[NAMES] = { "n0", "n1", "n2" };
  instant now = now_instant();
  char owner[2];
  lock_request r = { .context = h };
  uint64_t id = 0;

  assert_non_null(h);
  h->number = ++w->last_wish;
  h->name = (int)below(w, NAMES);
  h->owner = (int)below(w, OWNERS);
  h->state = WAITING;
  h->next = p->wishes;
  p->wishes = h;
  owner[0] = (char)('a' + h->owner);
  r.name = names[h->name];
  r.name_size = 2;
  r.owner = owner;
  r.owner_size = 1;
  r.is_try = below(w, 4) == 0;
  r.is_fixed = below(w, 8) == 0;
  r.ttl = SPAN_MS(below(w, 2) == 0 ? 150 : 300);
  r.max_hold = below(w, 8) == 0 ? SPAN_MS(400) : SPAN_MS(0);
  r.give_up_at = below(w, 3) != 0 ? INSTANT_NEVER
                                  : instant_add(now, SPAN_MS(20 + (int)below(w, 500)));
  h->act_at = now.ns + (int64_t)below(w, 2000) * MS;
  p->open++;
  note(w, "%d: %s %d n%d owner %d ttl %d%s", p->number, r.is_try ? "tries" : "asks", h->number,
       h->name, h->owner, (int)span_to_ms(r.ttl), r.is_fixed ? " fixed" : "");
  assert_int_equal(engine_lock(p->engine, &r, now, &id), DIBS_OK);
  h->id = id;
  pull(p);
}

/* The program is done with it, or has lost it, or gives up. */
static void act(struct party *p, struct wish *h)
{
  struct world *w = p->world;
  enum wish_state before = h->state;

  switch (before) {
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
    /* The tick inside may tell it lost first. */
    engine_tick(p->engine, now_instant());
    pull(p);
    note(w, "%d: releases %d", p->number, h->number);
    h->state = RELEASING;
    if (engine_release(p->engine, h->id, now_instant()) != DIBS_OK)
      flaw(w, "%d cannot be released", h->number);
    break;
  default:
    return;
  }
  pull(p);
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
    pull(p);
    return;
  }
  if ((c = stream_take(&x->in, now)) != NULL) {
    engine_wall_clock(p->engine, wall_us(), now_instant());
    engine_received(p->engine, i, c->bytes, c->size, now_instant());
    free(c);
    pull(p);
  }
}

static void break_wire(struct party *p, int i)
{
  if (p->wires[i] == NULL)
    return;
  note(p->world, "%d: link %d breaks", p->number, i);
  wire_forget(p, i);
  engine_disconnected(p->engine, i, DIBS_ERR_UNREACHABLE, "broken", now_instant());
  pull(p);
}

static void carry(struct party *p, int64_t now)
{
  for (int i = 0; i < ENGINE_LINKS; i++)
    if (p->wires[i] != NULL) {
      wire_write(p->wires[i], now);
      (void)wire_read(p->world, p->wires[i]);
    }
  for (struct wire **at = &p->old; *at != NULL;) {
    struct wire *x = *at;

    if (may_be_late(p->world))
      wire_write(x, now);
    if (now < x->close_at && may_be_late(p->world)) {
      at = &x->next;
      continue;
    }
    *at = x->next;
    (void)wire_free(x);
  }
}

static void disturb(struct world *w, struct party *p)
{
  switch (below(w, 5000)) {
  case 0: case 1: case 2:
    break_wire(p, COMMANDS);
    break;
  case 3: case 4:
    break_wire(p, INBOX);
    break;
  case 5: case 6:
    p->stopped_until = now_ns() + (int64_t)below(w, 500) * MS;
    note(w, "%d: stopped", p->number);
    break;
  case 7:
    if (below(w, 4) == 0) {
      party_end(p);
      party_begin(w, p->number);
    }
    break;
  default:
    break;
  }
}

static void step_party(struct party *p)
{
  struct world *w = p->world;
  int64_t now = now_ns();

  carry(p, now);
  if (p->stopped_until > now && !w->is_healing)
    return;
  deliver(p, (int)below(w, 2), now);
  if (!instant_before(now_instant(), engine_deadline(p->engine))) {
    instant at = now_instant();

    engine_tick(p->engine, at);
    pull(p);
    for (struct wish *h = p->wishes; h != NULL; h = h->next)
      if (h->state == HELD && !instant_before(at, h->valid_until))
        flaw(w, "S7: %d is over, and not told lost", h->number);
  }
  for (struct wish *h = p->wishes, *next; h != NULL; h = next) {
    next = h->next;
    if (h->act_at <= now_ns() || (w->is_healing && (h->state == HELD || h->state == LOST)))
      act(p, h);
  }
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

static const char look_remaining[] =
  "local t = redis.call('TIME') "
  "local v = redis.call('TYPE', KEYS[1]).ok == 'hash' and redis.call('HGET', KEYS[1], 's') "
  "or redis.call('MGET', KEYS[1])[1] or '' "
  "local token, ahead = string.match(v, '^[^=].*:(%d+) (%-?%d+) ') "
  "if not token then return {0, v} end "
  "return {math.floor(token / 1000 + ahead - t[1] * 1000 - t[2] / 1000), v}";

/* Nothing is held; but what a killed program had may run out by itself. */
static void check_end(struct world *w)
{
  for (int i = 0; i < NAMES; i++) {
    redisReply *r = redisCommand(control, "EVAL %s 1 %s:m:{n%d}", look_remaining, w->prefix, i);

    assert_non_null(r);
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    for (int j = 0; j < ENGINES && r->element[0]->integer > 0; j++)
      if (strstr(r->element[1]->str, w->parties[j].client) != NULL)
        flaw(w, "name %d is left as %s for %lld ms", i, r->element[1]->str,
             r->element[0]->integer);
    freeReplyObject(r);
  }
}

static bool is_over(const struct world *w)
{
  for (int i = 0; i < ENGINES; i++)
    if (w->parties[i].open > 0 || engine_get_stats(w->parties[i].engine).names > 0)
      return false;
  return true;
}

static bool is_closed(const struct world *w)
{
  for (int i = 0; i < ENGINES; i++)
    if (!w->parties[i].is_closed)
      return false;
  return true;
}

static void heal(struct world *w)
{
  if (!w->is_healing && now_ns() - w->begun_at > CHAOS_MS * MS) {
    note(w, "all is well again");
    w->is_healing = true;
    w->healed_at = now_ns();
    for (int i = 0; i < ENGINES; i++)
      for (int link = 0; link < ENGINE_LINKS; link++)
        break_wire(&w->parties[i], link);
  }
  if (!w->is_healing)
    return;
  if (now_ns() - w->healed_at > HEAL_MS * MS) {
    for (int i = 0; i < ENGINES; i++) {
      engine_stats s = engine_get_stats(w->parties[i].engine);

      note(w, "%d: open %d names %llu holds %llu waiting %llu", i, w->parties[i].open,
           (unsigned long long)s.names, (unsigned long long)s.holds,
           (unsigned long long)s.waiting);
    }
    flaw(w, "L1: not everybody got what he waited for");
  }
  if (!w->is_closing && is_over(w)) {
    w->done_at = now_ns();
    check_end(w);
    w->is_closing = true;
    for (int i = 0; i < ENGINES; i++) {
      engine_close(w->parties[i].engine, now_instant());
      pull(&w->parties[i]);
    }
  }
  w->is_done = w->is_closing && is_closed(w);
}

static void step(struct world *w)
{
  struct party *p = &w->parties[below(w, ENGINES)];

  w->steps++;
  step_party(p);
  if (!w->is_healing) {
    disturb(w, p);
    if (p->open < WISHES_MAX && p->stopped_until < now_ns() && below(w, 100) == 0)
      begin_wish(p);
  }
  for (int i = 0; i < NAMES; i++)
    check_one_believer(w, i);
  if (below(w, 40) == 0)
    for (struct wish *h = p->wishes; h != NULL; h = h->next)
      if (believes(h, now_instant()))
        check_server(p, h);
  heal(w);
}

/* ---- the test ---- */

static int64_t number_from(const char *variable, int64_t otherwise)
{
  const char *value = getenv(variable);

  return value != NULL ? strtoll(value, NULL, 10) : otherwise;
}

static void world_begin(struct world *w, uint64_t seed)
{
  memset(w, 0, sizeof(*w));
  w->seed = seed;
  w->begun_at = now_ns();
  random_seed(&w->random, seed);
  (void)snprintf(w->prefix, sizeof(w->prefix), "w%llu", (unsigned long long)seed);
  for (int i = 0; i < ENGINES; i++)
    party_begin(w, i);
}

static void no_order_of_events_makes_two_believers(void **state)
{
  int64_t rounds = ROUNDS * number_from("DIBS_TEST_SCALE", 1);
  uint64_t seed = (uint64_t)number_from("DIBS_TEST_SEED", 1);
  struct world *worlds = calloc(WORLDS, sizeof(*worlds));
  uint64_t granted = 0, lost = 0, steps = 0;
  int64_t slowest = 0;

  (void)state;
  assert_non_null(worlds);
  for (int64_t round = 0; round < rounds; round++) {
    size_t done = 0;

    for (size_t i = 0; i < WORLDS; i++)
      world_begin(&worlds[i], seed++);
    while (done < WORLDS) {
      done = 0;
      for (size_t i = 0; i < WORLDS; i++)
        if (worlds[i].is_done)
          done++;
        else
          step(&worlds[i]);
    }
    for (size_t i = 0; i < WORLDS; i++) {
      granted += worlds[i].granted;
      lost += worlds[i].lost;
      steps += worlds[i].steps;
      if (worlds[i].done_at - worlds[i].healed_at > slowest)
        slowest = worlds[i].done_at - worlds[i].healed_at;
      for (int j = 0; j < ENGINES; j++)
        party_end(&worlds[i].parties[j]);
    }
  }
  free(worlds);
  print_message("# %llu steps, %llu grants, %llu lost, healed within %lld ms\n",
                (unsigned long long)steps, (unsigned long long)granted,
                (unsigned long long)lost, (long long)(slowest / MS));
  assert_true(granted > 100);
  assert_true(lost > 10);
}

static int setup(void **state)
{
  (void)state;
  server = test_server_start();
  control = redisConnectUnix(test_server_socket(server));
  return control == NULL || control->err != 0;
}

static int teardown(void **state)
{
  (void)state;
  redisFree(control);
  server = test_server_stop(server);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(no_order_of_events_makes_two_believers),
  };

  return cmocka_run_group_tests(tests, setup, teardown);
}

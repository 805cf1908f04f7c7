/* SPDX-License-Identifier: MIT */
/* test/oracle/linear.c - C9: is there an order of effects, one for each mutex, that
 * explains all answers?
 *
 * The model: a lock is nobody's or of one grant; a grant takes it when nobody has it, with a
 * fence above all before; its end gives it back. An acquisition takes effect between its ask
 * and its answer; an end between the beginning of the release, or the end of the lease that
 * was promised, and the answer to the release, if it was a good one, or ever. A try that was
 * told "busy" needs an instant at which somebody has it.
 *
 * Asks with another outcome may have taken the lock for a while, which explains "busy" and
 * nothing else: they are not placed, only counted.
 *
 * Just-in-time search (Wing and Gong, in Lowe's form): a set of configurations, each the state
 * and which open operations took effect, is carried through the history; at each answer only
 * those are kept in which that operation took effect before it. Equal ones are one. So there
 * are no windows: the whole history is one. */
#include "history_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dibs/status.h>

enum { OPEN_MAX = 128, CONFIGS_MAX = 4096 };
enum kind { TAKE, END, BUSY };

struct operation {
  enum kind kind;
  const struct grant *grant;       /* TAKE and END */
  size_t ask_at, answer_at;        /* records */
  int64_t from_ns, to_ns;
  int slot;
};

/* Operations open now have slots; bit i of `done`: that of slot i took effect. */
struct config {
  uint64_t done[OPEN_MAX / 64];
  const struct grant *holder;
  uint64_t fence;
};

struct event { int64_t at_ns; struct operation *operation; bool is_answer; };

struct search {
  const struct history *h;
  struct operation *operations;
  size_t count;
  struct event *events;
  size_t event_count;
  struct operation *open[OPEN_MAX];
  struct config *configs, *next;
  size_t config_count, next_count;
  const struct ask **ghosts;       /* asks that may explain "busy" */
  size_t ghost_count;
  bool lingers, is_given_up, ignores_busy;
};

/* ---- operations and events ---- */

static void add(struct search *s, struct operation o)
{
  o.slot = -1;
  s->operations[s->count++] = o;
}

static void add_grant(struct search *s, const struct grant *g)
{
  int64_t from = g->valid_ns == 0 ? g->granted_ns : g->valid_ns, to = INT64_MAX;

  if (g->release_ns != 0 && g->release_ns < from)
    from = g->release_ns;
  if (g->released_ns != 0 && g->release_status == 0)
    to = g->released_ns;
  add(s, (struct operation){ .kind = TAKE, .grant = g, .ask_at = g->invoke_at,
                             .answer_at = g->ok_at, .from_ns = g->invoked_ns,
                             .to_ns = g->granted_ns });
  add(s, (struct operation){ .kind = END, .grant = g, .ask_at = g->ok_at,
                             .answer_at = g->end_at, .from_ns = from, .to_ns = to });
}

static bool is_busy(const struct ask *a)
{
  return a->op == OP_TRY && a->phase == PHASE_FAIL && a->status == DIBS_BUSY;
}

static void collect(struct search *s, uint16_t lock)
{
  for (size_t i = 0; i < s->h->ask_count; i++) {
    const struct ask *a = &s->h->asks[i];
    const struct grant *g = a->grant < 0 ? NULL : &s->h->grants[a->grant];

    if (a->lock != lock || (a->flags & FLAG_NESTED) != 0)
      continue;
    s->lingers |= (a->flags & FLAG_LINGER) != 0;
    if (g != NULL)
      add_grant(s, g);
    else if (is_busy(a) && (a->flags & FLAG_MANY) == 0 && !s->ignores_busy)
      add(s, (struct operation){ .kind = BUSY, .ask_at = a->invoke_at, .answer_at = a->end_at,
                                 .from_ns = a->invoked_ns, .to_ns = a->ended_ns });
    if (g == NULL || (a->flags & FLAG_MANY) != 0)
      s->ghosts[s->ghost_count++] = a;
  }
}

static int by_instant(const void *one, const void *other)
{
  const struct event *a = one, *b = other;

  if (a->at_ns != b->at_ns)
    return a->at_ns < b->at_ns ? -1 : 1;
  /* What touches at one instant may be in either order: begin first, then answer. */
  return a->is_answer - b->is_answer;
}

static void make_events(struct search *s)
{
  s->event_count = 0;
  for (size_t i = 0; i < s->count; i++) {
    struct operation *o = &s->operations[i];

    s->events[s->event_count++] = (struct event){ o->from_ns, o, false };
    if (o->to_ns != INT64_MAX)
      s->events[s->event_count++] = (struct event){
        o->to_ns < o->from_ns ? o->from_ns : o->to_ns, o, true };
  }
  if (s->event_count > 1)
    qsort(s->events, s->event_count, sizeof(*s->events), by_instant);
}

/* ---- configurations ---- */

static bool is_done(const struct config *c, int slot)
{
  return (c->done[slot / 64] >> (slot % 64) & 1) != 0;
}

static void set_done(struct config *c, int slot, bool done)
{
  uint64_t bit = (uint64_t)1 << (slot % 64);

  c->done[slot / 64] = done ? c->done[slot / 64] | bit : c->done[slot / 64] & ~bit;
}

/* Whether a lock with nobody in it may have looked busy: a ghost, or an idle lease. */
static bool may_seem_busy(const struct search *s, const struct operation *o)
{
  if (s->lingers)
    return true;
  for (size_t i = 0; i < s->ghost_count; i++) {
    const struct ask *a = s->ghosts[i];
    int64_t lease = (int64_t)a->ttl_ms * 2000000 + 2000000000;
    int64_t end = a->ended_ns == INT64_MAX ? INT64_MAX : a->ended_ns + lease;

    if (a->invoke_at != o->ask_at && a->invoked_ns <= o->to_ns && end >= o->from_ns &&
        !is_busy(a))
      return true;
  }
  return false;
}

/* The effect of `o` on `c`; false: it cannot happen there. */
static bool apply(const struct search *s, struct config *c, const struct operation *o)
{
  switch (o->kind) {
  case TAKE:
    if (c->holder != NULL || o->grant->fence <= c->fence)
      return false;
    c->holder = o->grant;
    c->fence = o->grant->fence;
    break;
  case END:
    if (c->holder != o->grant)
      return false;
    c->holder = NULL;
    break;
  case BUSY:
    if (c->holder == NULL && !may_seem_busy(s, o))
      return false;
    break;
  }
  set_done(c, o->slot, true);
  return true;
}

static bool is_equal(const struct config *a, const struct config *b)
{
  return a->holder == b->holder && a->fence == b->fence &&
         memcmp(a->done, b->done, sizeof(a->done)) == 0;
}

static void keep(struct search *s, const struct config *c)
{
  for (size_t i = 0; i < s->next_count; i++)
    if (is_equal(&s->next[i], c))
      return;
  if (s->next_count == CONFIGS_MAX) {
    s->is_given_up = true;
    return;
  }
  s->next[s->next_count++] = *c;
}

/* A look changes nothing: as soon as it can have happened, it has. Later the lock may be
 * nobody's, and what was seen before that could not be explained any more. */
static void look_around(const struct search *s, struct config *c)
{
  for (int slot = 0; slot < OPEN_MAX; slot++)
    if (s->open[slot] != NULL && s->open[slot]->kind == BUSY && !is_done(c, slot))
      (void)apply(s, c, s->open[slot]);
}

/* All ways to let `wanted` take effect, after others that are open if need be. Depth first on
 * an explicit stack: at most OPEN_MAX deep, as each step takes one operation. */
static void extend(struct search *s, const struct config *from, const struct operation *wanted)
{
  struct config stack[OPEN_MAX + 1];
  int next[OPEN_MAX + 1], depth = 0;
  size_t steps = 0;

  stack[0] = *from;
  look_around(s, &stack[0]);
  next[0] = 0;
  while (depth >= 0 && !s->is_given_up) {
    struct config c = stack[depth];

    if (next[depth] == 0 && is_done(&c, wanted->slot)) {
      keep(s, &c);
      depth--;
      continue;
    }
    while (next[depth] < OPEN_MAX) {
      int slot = next[depth]++;

      if (s->open[slot] == NULL || s->open[slot]->kind == BUSY || is_done(&c, slot))
        continue;
      stack[depth + 1] = c;
      if (!apply(s, &stack[depth + 1], s->open[slot]))
        continue;
      look_around(s, &stack[depth + 1]);
      next[++depth] = 0;
      break;
    }
    if (next[depth] >= OPEN_MAX)
      depth--;
    if (++steps > 200000)
      s->is_given_up = true;
  }
}

/* ---- the walk ---- */

static void close_slot(struct search *s, int slot)
{
  s->open[slot]->slot = -1;
  s->open[slot] = NULL;
  for (size_t i = 0; i < s->config_count; i++)
    set_done(&s->configs[i], slot, false);
}

/* Ends without an answer are over once they took effect in every configuration. */
static void close_settled(struct search *s)
{
  for (int slot = 0; slot < OPEN_MAX; slot++) {
    bool is_settled = s->open[slot] != NULL && s->open[slot]->to_ns == INT64_MAX;

    for (size_t i = 0; is_settled && i < s->config_count; i++)
      is_settled = is_done(&s->configs[i], slot);
    if (is_settled)
      close_slot(s, slot);
  }
}

static void open_slot(struct search *s, struct operation *o)
{
  for (int slot = 0; slot < OPEN_MAX; slot++)
    if (s->open[slot] == NULL) {
      s->open[slot] = o;
      o->slot = slot;
      return;
    }
  s->is_given_up = true;
}

/* False: nothing explains this answer. */
static bool answer(struct search *s, struct operation *o)
{
  struct config *old = s->configs;

  s->next_count = 0;
  for (size_t i = 0; i < s->config_count && !s->is_given_up; i++)
    extend(s, &s->configs[i], o);
  if (s->is_given_up)
    return true;
  if (s->next_count == 0)
    return false;
  s->configs = s->next;
  s->config_count = s->next_count;
  s->next = old;
  close_slot(s, o->slot);
  close_settled(s);
  return true;
}

static void start(struct search *s)
{
  memset(s->open, 0, sizeof(s->open));
  s->configs[0] = (struct config){ .holder = NULL };
  s->config_count = 1;
  s->is_given_up = false;
}

static void add_finding(const struct search *s, const struct operation *o, struct findings *f)
{
  static const char *const words[] = { "a grant", "a release", "\"busy\"" };
  const struct grant *holder = s->configs[0].holder;

  findings_add(f, CHECK_LINEAR,
               (size_t[]){ o->ask_at, o->answer_at, holder == NULL ? SIZE_MAX : holder->ok_at,
                           holder == NULL ? SIZE_MAX : holder->end_at }, 4,
               "\"%s\": no order of effects explains %s of w%02u",
               s->h->locks[s->h->records[o->ask_at].lock].name, words[o->kind],
               s->h->records[o->ask_at].worker);
}

static void walk(struct search *s, struct findings *f)
{
  start(s);
  for (size_t i = 0; i < s->event_count; i++) {
    struct operation *o = s->events[i].operation;

    if (!s->events[i].is_answer) {
      open_slot(s, o);
    } else if (o->slot >= 0) {
      f->examined[CHECK_LINEAR]++;
      if (!answer(s, o)) {
        add_finding(s, o, f);
        return;              /* all that follows would be found for this one's sake */
      }
    }
    if (s->is_given_up) {
      (void)snprintf(f->notes[CHECK_LINEAR], sizeof(f->notes[0]),
                     "given up on \"%s\" after %zu of %zu events",
                     s->h->locks[s->h->records[o->ask_at].lock].name, i, s->event_count);
      return;
    }
  }
}

void check_linear(const struct history *h, const struct expectations *e, struct findings *f)
{
  struct search s = { .h = h, .ignores_busy = e->allows_idle_busy };
  size_t most = 2 * h->ask_count + 1;

  s.operations = history_memory(most, sizeof(*s.operations));
  s.events = history_memory(2 * most, sizeof(*s.events));
  s.ghosts = history_memory(h->ask_count, sizeof(struct ask *));
  s.configs = history_memory(CONFIGS_MAX, sizeof(*s.configs));
  s.next = history_memory(CONFIGS_MAX, sizeof(*s.next));
  for (uint16_t lock = 0; lock < h->lock_count; lock++) {
    s.count = s.ghost_count = 0;
    s.lingers = false;
    if (h->locks[lock].kind != 'm')
      continue;
    collect(&s, lock);
    make_events(&s);
    walk(&s, f);
  }
  free(s.operations);
  free(s.events);
  free(s.ghosts);
  free(s.configs);
  free(s.next);
}

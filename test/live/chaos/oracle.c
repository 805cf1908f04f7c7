/* SPDX-License-Identifier: MIT */
/* The oracle: what must be true after each step, of what everybody believes and of what
 * the server has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "chaos.h"

bool believes(const struct wish *h, instant now)
{
  return h->state == HELD && !h->is_broken && instant_before(now, h->valid_until);
}

static bool is_on(const struct wish *h, int name)
{
  return (h->names >> name & 1) != 0;
}

/* Two beliefs about one lock that may not both be. */
static bool conflict(const struct wish *a, int party, const struct wish *b, int other)
{
  bool same_owner = party == other && a->owner == b->owner && a->kind != LOCK_MANY &&
                    b->kind != LOCK_MANY;

  return !same_owner && !(a->reads && b->reads);
}

static void check_pair(struct world *w, int name, const struct wish *h, int party, instant now)
{
  for (int i = 0; i < ENGINES; i++)
    for (const struct wish *other = w->parties[i].wishes; other != NULL; other = other->next)
      if (other != h && is_on(other, name) && believes(other, now) &&
          conflict(h, party, other, i))
        flaw(w, "S1: %d of %d and %d of %d both believe in %s", h->number, party,
             other->number, i, name_text(name));
}

static void check_lock(struct world *w, int name, instant now)
{
  for (int i = 0; i < ENGINES; i++)
    for (const struct wish *h = w->parties[i].wishes; h != NULL; h = h->next)
      if (is_on(h, name) && believes(h, now))
        check_pair(w, name, h, i, now);
}

static void check_permits(struct world *w, instant now)
{
  uint64_t used = 0;

  for (int i = 0; i < ENGINES; i++)
    for (const struct wish *h = w->parties[i].wishes; h != NULL; h = h->next)
      if (is_on(h, SEMAPHORE) && believes(h, now))
        used += h->units;
  if (used > PERMITS)
    flaw(w, "S1': %d permits are believed in, and there are %d", (int)used, PERMITS);
}

void check_believers(struct world *w)
{
  instant now = now_instant();

  for (int name = 0; name < NAMES; name++)
    if (name == SEMAPHORE)
      check_permits(w, now);
    else
      check_lock(w, name, now);
}

/* S2: whoever excludes others has a fence above all that were believed in before. */
void check_granted(struct party *p, const struct wish *h)
{
  struct world *w = p->world;

  if (!believes(h, now_instant()) || h->depth > 1)
    return;
  for (int name = 0; name < NAMES; name++) {
    if (!is_on(h, name))
      continue;
    if (!h->reads && h->kind != LOCK_PERMITS && h->fence <= w->top_fence[name])
      flaw(w, "S2: fence %llu of %d after %llu", (unsigned long long)h->fence, h->number,
           (unsigned long long)w->top_fence[name]);
    if (h->fence > w->top_fence[name])
      w->top_fence[name] = h->fence;
  }
}

/* ---- the server's side ---- */

static void inspect(struct world *w, int name, inspect_answer *ret)
{
  buffer command;
  resp_reply *reply;

  buffer_init(&command, &chaos_heap);
  assert_true(native_inspect(&w->native, &command, true, name_text(name), 2));
  reply = ask_the_server(&command);
  if (!native_inspect_answer(reply, ret))
    flaw(w, "inspect of %s answers something else", name_text(name));
  (void)resp_reply_free(reply);
  buffer_deinit(&command);
}

static const inspect_holder *holder_of(const inspect_answer *a, const lease_id *lease)
{
  for (size_t i = 0; i < a->shown_holders; i++)
    if (lease_id_equal(&a->holders[i].lease, lease))
      return &a->holders[i];
  return NULL;
}

/* What the server says of a shared name agrees with itself, at every moment: S1, S1'. */
static void check_sums(struct world *w, int name, const inspect_answer *a)
{
  uint64_t units = 0;
  size_t writers = 0;

  if (name < RWLOCK || a->shown_holders < a->holder_count)
    return;
  for (size_t i = 0; i < a->shown_holders; i++) {
    units += a->holders[i].units;
    writers += a->holders[i].mode == 'w';
  }
  if (units != a->used)
    flaw(w, "%s: %llu units are used, its holders have %llu", name_text(name),
         (unsigned long long)a->used, (unsigned long long)units);
  if (name == SEMAPHORE && units > PERMITS)
    flaw(w, "S1': %d permits are out, and there are %d", (int)units, PERMITS);
  if (writers > 0 && a->holder_count > 1)
    flaw(w, "S1: a writer among %zu holders", a->holder_count);
}

/* The server may learn later that a writer only reads, and nothing else. */
static char mode_of(const struct wish *h)
{
  switch (h->kind) {
  case LOCK_READ:    return 'r';
  case LOCK_WRITE:   return 'w';
  case LOCK_PERMITS: return 'p';
  default:           return 'x';
  }
}

static void check_share(struct world *w, const struct wish *h, const inspect_holder *holder)
{
  bool is_reading = h->reads || h->depth > 1;      /* by the seat of a writer, perhaps */
  bool is_right = holder->mode == mode_of(h) ||
                  (is_reading && (holder->mode == 'r' || holder->mode == 'w'));

  if (h->kind == LOCK_WRITE && h->reads && h->renewed_since && holder->mode == 'w')
    flaw(w, "%d reads, and its renewal has not told the server", h->number);
  if (!is_right || holder->units != h->units)
    flaw(w, "%d has %d units of mode %c, and the server gave %d of %c", h->number,
         (int)h->units, mode_of(h), (int)holder->units, holder->mode);
}

/* What a believer believes is what the server has, and for longer. */
void check_server(struct party *p, const struct wish *h)
{
  static inspect_answer answer;
  struct world *w = p->world;
  static token_parts parts;
  char token[TOKEN_MAX_BYTES];
  text shown = text_over(token, sizeof(token));

  if (!engine_hold_token(p->engine, h->id, &shown))
    return;                      /* lost by now, and not yet told */
  assert_true(token_read(token, &parts));
  for (int name = 0; name < NAMES; name++) {
    int64_t before = now_ns(), after;
    const inspect_holder *holder;

    if (!is_on(h, name))
      continue;
    inspect(w, name, &answer);
    after = now_ns();
    check_sums(w, name, &answer);
    if (!instant_before((instant){ after }, h->valid_until))
      continue;
    holder = holder_of(&answer, &parts.lease);
    if (holder == NULL)
      flaw(w, "S1: %d of %d believes %s, the server has %zu others", h->number, p->number,
           token, answer.holder_count);
    check_share(w, h, holder);
    if ((holder->remaining_ms + 1) * MS + (after - before) < h->valid_until.ns - after)
      flaw(w, "I12: %d of %d believes %lld us, the server %lld ms", h->number, p->number,
           (long long)(h->valid_until.ns - after) / 1000, (long long)holder->remaining_ms);
  }
}

/* Nothing is held; but what a killed program had may run out by itself. */
void check_end(struct world *w)
{
  static inspect_answer answer;

  for (int name = 0; name < NAMES; name++) {
    inspect(w, name, &answer);
    check_sums(w, name, &answer);
    for (size_t i = 0; i < answer.shown_holders; i++) {
      const inspect_holder *holder = &answer.holders[i];

      for (int j = 0; j < ENGINES && holder->remaining_ms > 0; j++)
        if (strcmp(holder->lease.client, w->parties[j].client) == 0)
          flaw(w, "%s is left with ask %llu of %d for %lld ms", name_text(name),
               (unsigned long long)holder->lease.ask, j, (long long)holder->remaining_ms);
    }
  }
}

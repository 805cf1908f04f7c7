/* SPDX-License-Identifier: MIT */
/* The oracle: what must be true of what is believed and of what the server has. What must be
 * true of beliefs alone is judged by test/oracle, in the history of the world. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "chaos.h"
#include "rendered.h"

bool believes(const struct wish *h, instant now)
{
  return h->state == HELD && !h->is_broken && instant_before(now, h->valid_until);
}

static bool is_on(const struct wish *h, int name)
{
  return (h->names >> name & 1) != 0;
}

/* ---- the server's side ---- */

static void inspect(struct world *w, int name, inspect_answer *ret)
{
  buffer command;
  resp_reply *reply;

  buffer_init(&command, &chaos_heap);
  assert_true(RENDERED(native_inspect, &w->protocol, &command, true, name_texts[name], 2));
  reply = ask_the_server(&command);
  if (!native_inspect_answer(reply, ret))
    flaw(w, "inspect of %s answers something else", name_texts[name]);
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

/* At every moment: S1', S4. */
static void check_sums(struct world *w, int name, const inspect_answer *a)
{
  struct shared_state s = { .used = a->used, .holders = a->holder_count,
                            .limit = name == SEMAPHORE ? PERMITS : a->used };
  char why[80];

  if (name < RWLOCK || a->shown_holders < a->holder_count)
    return;
  for (size_t i = 0; i < a->shown_holders; i++) {
    s.units += a->holders[i].units;
    s.writers += a->holders[i].mode == 'w';
  }
  if (!shared_state_agrees(&s, why))
    flaw(w, "%s, says %s", why, name_texts[name]);
}

/* The server may learn later that a writer only reads, and nothing else. */
static char mode_of(const struct wish *h)
{
  switch (h->choice) {
  case CHOICE_READ:    return 'r';
  case CHOICE_WRITE:   return 'w';
  case CHOICE_PERMITS: return 'p';
  default:           return 'x';
  }
}

static void check_share(struct world *w, const struct wish *h, const inspect_holder *holder)
{
  bool is_reading = h->reads || h->depth > 1;      /* by the seat of a writer, perhaps */
  bool is_right = holder->mode == mode_of(h) ||
                  (is_reading && (holder->mode == 'r' || holder->mode == 'w'));

  if (h->choice == CHOICE_WRITE && h->reads && h->renewed_since && holder->mode == 'w')
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
          flaw(w, "%s is left with ask %llu of %d for %lld ms", name_texts[name],
               (unsigned long long)holder->lease.ask, j, (long long)holder->remaining_ms);
    }
  }
}

void check_history(struct world *w)
{
  static struct findings f;
  struct history *h = history_judge(&w->log, name_texts, "mmmrp", PERMITS, true, &f);

  if (f.count > 0) {
    findings_print(&f, h, "# ");
    findings_table(&f, h, "# ");
    flaw(w, "%s: %s", check_promise(f.kept[0].check), f.kept[0].text);
  }
  h = history_free(h);
}

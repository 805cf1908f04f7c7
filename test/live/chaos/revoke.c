/* SPDX-License-Identifier: MIT */
/* Revoking: leases that others end under their holders, told or untold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "chaos.h"
#include "rendered.h"

static bool lease_of(const struct party *p, const struct wish *h, lease_id *ret)
{
  static token_parts parts;
  char token[TOKEN_MAX_BYTES];
  text shown = text_over(token, sizeof(token));

  if (!engine_hold_token(p->engine, h->id, &shown))
    return false;
  assert_true(token_read(token, &parts));
  *ret = parts.lease;
  return true;
}

/* Handed over in the process, or joined, before the engine heard of it. */
bool party_was_revoked(const struct party *p, const struct wish *h)
{
  lease_id lease;

  if (!lease_of(p, h, &lease))
    return false;
  for (int i = 0; i < BROKEN_MAX && i < p->broken_count; i++)
    if (lease_id_equal(&p->broken[i], &lease))
      return true;
  return false;
}

/* By an administrator, whose script tells the owner; or released by somebody who has its
 * token: then only a renewal tells. */
static bool end_encode(const struct world *w, buffer *out, const char *name, bool is_share,
                       const lease_id *lease, bool is_reported)
{
  if (is_reported)
    return RENDERED(native_break, &w->protocol, out, true, name, 2, lease, wall_us());
  if (is_share)
    return RENDERED(native_share_release, &w->protocol, out, true, name, 2, lease, 0,
                    wall_us());
  return RENDERED(native_release, &w->protocol, out, true, name, 2, lease, wall_us());
}

static void break_lease(struct party *p, int name, const lease_id *lease)
{
  struct world *w = p->world;
  release_answer answer;
  resp_reply *reply;
  buffer command;

  buffer_init(&command, &chaos_heap);
  assert_true(end_encode(w, &command, name_texts[name], name >= RWLOCK, lease,
                         below(w, 2) == 0));
  reply = ask_the_server(&command);
  if (!native_release_answer(reply, &answer))
    flaw(w, "the end of a lease of %s is answered otherwise", name_texts[name]);
  (void)resp_reply_free(reply);
  buffer_deinit(&command);
  p->broken[p->broken_count++ % BROKEN_MAX] = *lease;
}

/* Of a set its last member, which is not the one that the others go by. */
void party_revoke(struct party *p)
{
  lease_id lease;
  int name = NAMES - 1;

  for (struct wish *h = p->wishes; h != NULL; h = h->next) {
    if (!believes(h, now_instant()) || !lease_of(p, h, &lease))
      continue;
    while ((h->names >> name & 1) == 0)
      name--;
    note(p->world, "%d: %d is broken on %s", p->number, h->number, name_texts[name]);
    break_lease(p, name, &lease);
    p->world->broken++;
    for (h = p->wishes; h != NULL; h = h->next)
      if (h->state == HELD && party_was_revoked(p, h)) {
        h->is_broken = true;
        logged_excused(&h->logged, now_ns());
        h->changed_at = now_ns();
        h->act_at = h->changed_at + 600 * MS;      /* until it must have been told */
      }
    return;
  }
}

/* SPDX-License-Identifier: MIT */
/* The ledger: the holds that each program believes in, recorded when the library reports them;
 * also in the format of test/oracle, which judges them at the end. */
#include "explore.h"

#include <string.h>

grip *grip_new(trial *t)
{
  for (size_t i = 0; i < GRIPS_MAX; i++) {
    grip *g = &t->grips[i];

    if (!g->is_used) {
      uint32_t generation = g->generation + 1;

      memset(g, 0, sizeof(*g));
      g->generation = generation;
      g->is_used = true;
      g->limit_at = INT64_MAX;
      if (i >= t->grip_top)
        t->grip_top = i + 1;
      return g;
    }
  }
  flaw(t, "explorer: more than %d holds at once", GRIPS_MAX);
  return NULL;
}

void grip_free(trial *t, grip *g)
{
  logged_release(&g->logged, history_now(t));
  g->is_used = false;
  while (t->grip_top > 0 && !t->grips[t->grip_top - 1].is_used)
    t->grip_top--;
}

/* A number dressed as a pointer: a callback may come when the place is another's. */
void *grip_key(const trial *t, const grip *g)
{
  uintptr_t index = (uintptr_t)(g - t->grips);

  return (void *)((uintptr_t)g->generation * GRIPS_MAX + index + 1);
}

grip *grip_find(trial *t, const void *key)
{
  uintptr_t number = (uintptr_t)key - 1;
  grip *g = &t->grips[number % GRIPS_MAX];

  return g->is_used && g->generation == (uint32_t)(number / GRIPS_MAX) ? g : NULL;
}

void grips_drop_life(trial *t, int number)
{
  for (size_t i = 0; i < t->grip_top; i++)
    if (t->grips[i].is_used && t->grips[i].life == number) {
      cover(POINT_KILLED_HOLDER);
      t->grips[i].is_used = false;
    }
  while (t->grip_top > 0 && !t->grips[t->grip_top - 1].is_used)
    t->grip_top--;
}

void grips_revoke(trial *t, int name, uint64_t token)
{
  lease *l = truth_lease(t, name, token);

  if (l != NULL)
    l->is_revoked = true;             /* it may stay there; nobody vouches for it */
  for (size_t i = 0; i < t->grip_top; i++) {
    grip *g = &t->grips[i];

    if (g->is_used && (g->names >> name & 1) != 0 && g->token == token)
      g->is_revoked = true;
  }
}

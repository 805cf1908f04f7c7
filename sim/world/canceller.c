/* SPDX-License-Identifier: MIT */
/* Ends waiting calls from outside: a flag, and the drives that look at it. */
#include "world/world.h"

#include <stdlib.h>

struct dibs_canceller {
  bool has_fired;
};

typedef struct watched {
  struct watched *next;
  dibs_canceller *canceller;
  size_t uses;
  bool was_reported;
} watched;

dibs_status dibs_canceller_new(dibs_canceller **ret_canceller)
{
  if (ret_canceller == NULL)
    return DIBS_ERR_ARGUMENT;
  *ret_canceller = sim_zalloc(sizeof(**ret_canceller));
  return DIBS_OK;
}

/* A program, or whoever stands outside, may do this at any moment: the drives of the process
 * look a moment later, as their threads would. */
void dibs_cancel(dibs_canceller *c)
{
  if (c == NULL)
    return;
  c->has_fired = true;
  if (sim_now == NULL)
    return;
  for (process *p = sim_now->processes; p != NULL; p = p->next)
    for (drive *d = p->drives; d != NULL; d = d->next)
      for (const watched *w = d->watched; w != NULL; w = w->next)
        if (w->canceller == c)
          sim_timer_set(sim_now, &d->timer, sim_now->now);
}

dibs_canceller *dibs_canceller_free(dibs_canceller *c)
{
  free(c);
  return NULL;
}

bool canceller_has_fired(const dibs_canceller *c) { return c != NULL && c->has_fired; }

static watched **watched_find(drive *d, const dibs_canceller *c)
{
  watched **at = &d->watched;

  while (*at != NULL && (*at)->canceller != c)
    at = &(*at)->next;
  return at;
}

dibs_status drive_watch(drive *d, dibs_canceller *c)
{
  watched *w = *watched_find(d, c);

  if (w == NULL) {
    w = sim_zalloc(sizeof(*w));
    w->canceller = c;
    w->next = d->watched;
    d->watched = w;
  }
  w->uses++;
  return DIBS_OK;
}

void drive_unwatch(drive *d, dibs_canceller *c)
{
  watched **at = watched_find(d, c), *w = *at;

  if (w == NULL || --w->uses > 0)
    return;
  *at = w->next;
  free(w);
}

void cancellers_look(drive *d)
{
  for (watched *w = d->watched; w != NULL; w = w->next)
    if (w->canceller->has_fired && !w->was_reported) {
      w->was_reported = true;
      d->handler.cancelled(d->handler.owner, w->canceller);
    }
}

void cancellers_free(drive *d)
{
  while (d->watched != NULL) {
    watched *w = d->watched;

    d->watched = w->next;
    free(w);
  }
}

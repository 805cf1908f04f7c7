/* SPDX-License-Identifier: MIT */
/* The oracle of the server: what each of its scripts may leave behind. Looked at when a key
 * has changed, against what was there before. */
#include "explore.h"

#include <stdio.h>
#include <string.h>

#include "world/world.h"

/* A client keeps its place in the queue of a lock from ask to ask. */
static const waiter *waiter_find(const truth *x, const char *client, uint64_t ask)
{
  for (size_t i = 0; i < x->waiter_count; i++)
    if (!x->waiters[i].is_tombstone && (x->kind == TRUTH_MUTEX || x->waiters[i].ask == ask) &&
        strcmp(x->waiters[i].client, client) == 0)
      return &x->waiters[i];
  return NULL;
}

static bool waits_still(const truth *before, const waiter *w)
{
  for (size_t i = 0; i < before->waiter_count; i++)
    if (!before->waiters[i].is_tombstone && before->waiters[i].index == w->index &&
        strcmp(before->waiters[i].client, w->client) == 0)
      return true;
  return false;
}

static bool was_there(const truth *before, const lease *l)
{
  for (size_t i = 0; i < before->holder_count; i++)
    if (before->holders[i] == l)
      return true;
  return false;
}

/* A set is handed its members one by one, and then takes all with one token. */
static bool had_it_already(const truth *before, const lease *l)
{
  for (size_t i = 0; i < before->holder_count; i++)
    if (before->holders[i]->ask == l->ask &&
        strcmp(before->holders[i]->client, l->client) == 0)
      return true;
  return false;
}

/* L3: whoever waited before `l` did, and waits still, was passed. */
static void check_order(trial *t, int name, const truth *before, const lease *l)
{
  const truth *x = &t->truths[name];
  const waiter *own = waiter_find(before, l->client, l->ask);

  if (own != NULL)
    cover(POINT_HANDED_OVER);
  if (had_it_already(before, l))
    return;
  for (size_t i = 0; i < x->waiter_count; i++) {
    const waiter *w = &x->waiters[i];

    if (w->is_tombstone || (own != NULL && w->index > own->index) || !waits_still(before, w))
      continue;
    if (strcmp(w->client, l->client) == 0 && l->mode == 'x')
      continue;                         /* its own older entry, on its way out */
    if (!truth_is_live(t, w))
      continue;
    flaw(t, "L3: %s of %s is granted before %s, which waited longer", l->client,
         name_texts[name], w->client);
    return;
  }
}

/* I4, S2: each grant once, by a greater token. Whether there was one just now. */
static bool check_new(trial *t, int name, const truth *before)
{
  truth *x = &t->truths[name];
  bool is_granted = false;

  for (size_t i = 0; i < x->holder_count; i++) {
    const lease *l = x->holders[i];

    if (was_there(before, l) || l->begun_at != trial_now(t) || t->is_losing)
      continue;
    if (l->token <= x->top_token && !t->is_fence_weak[name])
      flaw(t, "S2: token %llu of %s after %llu", (unsigned long long)l->token,
           name_texts[name], (unsigned long long)x->top_token);
    is_granted = true;
    check_order(t, name, before, l);
  }
  for (size_t i = 0; i < x->holder_count; i++)
    if (x->holders[i]->token > x->top_token)
      x->top_token = x->holders[i]->token;
  return is_granted;
}

/* S4, S1'. A limit that was set lower binds with the next grant. */
static void check_sums(trial *t, int name, bool is_granted)
{
  const truth *x = &t->truths[name];
  struct shared_state s = { .used = x->used, .holders = x->holder_count,
                            .limit = is_granted && x->kind == TRUTH_SEM ? x->limit : x->used };
  char why[80];

  if ((x->kind != TRUTH_RW && x->kind != TRUTH_SEM) || x->holder_count == HOLDERS_MAX)
    return;
  for (size_t i = 0; i < x->holder_count; i++) {
    s.units += x->holders[i]->units;
    s.writers += x->holders[i]->mode == 'w';
  }
  if (!shared_state_agrees(&s, why))
    flaw(t, "%s, says %s", why, name_texts[name]);
  if (x->kind == TRUTH_SEM && (t->limits_named >> x->limit & 1) == 0)
    flaw(t, "the semaphore has %llu permits, a number that no call has named",
         (unsigned long long)x->limit);
  if (x->kind == TRUTH_RW && x->holder_count > 1)
    cover(POINT_READERS_TOGETHER);
  if (x->kind == TRUTH_SEM && x->holder_count > 1)
    cover(POINT_PERMITS_TOGETHER);
}

/* I8: nobody waits for what could be given. */
static bool fits(const truth *x, const waiter *w)
{
  switch (w->mode) {
  case 'p': return x->used + w->units <= x->limit;
  case 'r': return x->holder_count == 0 || x->holders[0]->mode == 'r';
  default:  return x->holder_count == 0;
  }
}

static void check_queue(trial *t, int name)
{
  const truth *x = &t->truths[name];
  size_t live = 0;
  const waiter *head = NULL;

  for (size_t i = 0; i < x->waiter_count; i++) {
    const waiter *w = &x->waiters[i];

    if (w->is_tombstone) {
      cover(POINT_TOMBSTONE);
      continue;
    }
    if (live++ == 0)
      head = w;
    /* I5 */
    for (size_t j = 0; j < i; j++)
      if (!x->waiters[j].is_tombstone && strcmp(x->waiters[j].client, w->client) == 0 &&
          (name < MUTEXES || x->waiters[j].ask == w->ask))
        flaw(t, "I5: %s waits twice for %s", w->client, name_texts[name]);
  }
  if (live >= 2)
    cover(live >= 4 ? POINT_QUEUE_OF_FOUR : POINT_QUEUE_OF_TWO);
  if (head != NULL && fits(x, head) && !t->is_losing && truth_is_live(t, head))
    flaw(t, "I8: %s waits for %s, which could be given", head->client, name_texts[name]);
}

static void show_key(trial *t, int name)
{
  char key[64];
  const char *shown;

  (void)snprintf(key, sizeof(key), t->plan->is_redisson ? "%s" : EXPLORE_PREFIX ":m:{%s}",
                 name_texts[name]);
  shown = sim_server_key_text(world_server(t->sim), key, strlen(key));
  if (shown != NULL)
    dibs_sim_note("the key of %s: %s", name_texts[name], shown);
}

void oracle_server(trial *t, int name, const truth *before)
{
  const truth *x = &t->truths[name];

  if (x->kind == TRUTH_OTHER) {
    flaw(t, "the key of %s is none of ours", name_texts[name]);
    return;
  }
  if (t->plan->is_redisson) {
    oracle_redisson(t, name, before);
  } else {
    check_sums(t, name, check_new(t, name, before));
    check_queue(t, name);
  }
  oracle_late(t, name, before);
  if (t->flaw[0] != 0)
    show_key(t, name);
}

/* SPDX-License-Identifier: MIT */
/* The oracle of the end: all programs have ended; what may be left on the server, and for
 * how long. L5, S12, I16, I18. */
#include "explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world/world.h"

#define DAY_US 86400000000ll

/* Not under the prefix: a latch has Redisson's own name, guarded keys are the program's. */
static bool is_allowed(const trial *t, const char *key)
{
  if (t->plan->is_redisson && strncmp(key, "redisson_lock_", 14) == 0)
    return true;
  for (int i = 0; i < MUTEXES && t->plan->is_redisson; i++)
    if (strcmp(key, name_texts[i]) == 0)
      return true;
  return strncmp(key, EXPLORE_PREFIX ":", strlen(EXPLORE_PREFIX) + 1) == 0 ||
         strcmp(key, LATCH_NAME) == 0 || strcmp(key, WRITTEN_KEY) == 0 ||
         strcmp(key, ADDED_KEY) == 0;
}

/* Who waits for a fair lock and dies stays in its queue until somebody takes the lock; in a
 * world where nobody dies, nobody does.
 * L5: a semaphore that was set, an armed latch, a guarded key without a ttl and its fence. */
static bool may_stay(const trial *t, const char *key)
{
  if (t->plan->is_redisson && strncmp(key, "redisson_lock_token:", 20) == 0)
    return true;
  if (strncmp(key, "redisson_lock_", 14) == 0)
    return !format_of(t->plan)->forgets_waiters &&
           (t->plan->fault_count > 0 || t->plan->peers > 0);
  return strcmp(key, EXPLORE_PREFIX ":m:{sem}") == 0 || strcmp(key, LATCH_NAME) == 0 ||
         strcmp(key, WRITTEN_KEY) == 0 || strcmp(key, ADDED_KEY) == 0 ||
         strncmp(key, EXPLORE_PREFIX ":f:", strlen(EXPLORE_PREFIX) + 3) == 0;
}

/* The lines of the answer that are keys. */
static char *keys_next(char **rest)
{
  char *line;

  do
    line = strtok_r(NULL, "\r\n", rest);
  while (line != NULL && (line[0] == '*' || line[0] == '$'));
  return line;
}

/* `*ret_bytes` is the caller's to free. */
static char *keys_first(trial *t, char **ret_bytes, char **rest)
{
  size_t used = 0;
  const char *shown = truth_ask(t, "KEYS", "*", &used);
  char *bytes = *ret_bytes = malloc(used + 1);

  if (bytes == NULL)
    abort();
  memcpy(bytes, shown, used);
  bytes[used] = 0;
  (void)strtok_r(bytes, "\r\n", rest);       /* their number */
  return keys_next(rest);
}

void oracle_keys(trial *t)
{
  char *keys, *key, *rest;

  for (key = keys_first(t, &keys, &rest); key != NULL; key = keys_next(&rest)) {
    size_t size = 0;

    if (!is_allowed(t, key))
      flaw(t, "S12: the key %s is not ours to make", key);
    if (strncmp(truth_ask(t, "PTTL", key, &size), ":-1", 3) == 0 && !may_stay(t, key))
      flaw(t, "I16: the key %s has no time to live", key);
  }
  free(keys);
}

/* Requests of clients that are gone may still come, and cost one lease. */
bool has_late_requests(const plan *p)
{
  for (size_t i = 0; i < p->fault_count; i++)
    switch (p->faults[i].kind) {
    case DIBS_SIM_CUT_LATE: case DIBS_SIM_HOLD: case DIBS_SIM_SLOW:
    case DIBS_SIM_SERVER_PAUSE: case DIBS_SIM_PAUSE:
      return true;
    default:
      break;
    }
  return false;
}

/* A client whose bytes vanished may close before it gives the connection up, without the answer
 * that grants it something. */
static bool has_black_holes(const plan *p)
{
  for (size_t i = 0; i < p->fault_count; i++)
    if (p->faults[i].kind == DIBS_SIM_BLACK_HOLE)
      return true;
  return false;
}

/* Whose client asked for it; NULL: nobody who ended well. */
static const life *owner_of(const trial *t, const lease *l)
{
  for (int i = 1; i < t->life_count; i++)
    if (t->lives[i].is_done && strncmp(t->lives[i].client_id, l->client, 22) == 0)
      return &t->lives[i];
  return NULL;
}

/* A lease whose owner has ended well is given back; those of the dead, detached ones and
 * late copies of their asks run out. */
static void check_left(trial *t)
{
  for (int name = 0; name < NAMES; name++) {
    const truth *x = &t->truths[name];

    for (size_t i = 0; i < x->holder_count; i++) {
      const lease *l = x->holders[i];
      const life *owner = owner_of(t, l);
      int64_t left = l->deadline_us - host_wall_us(world_host(t->sim));

      if (left > 0 && !l->is_revoked && owner != NULL && !t->has_stepped &&
          l->begun_at >= owner->opened_at &&
          (l->life != 0 || !(has_late_requests(t->plan) || has_black_holes(t->plan))))
        flaw(t, "L5: %s is left on %s for %lld ms", l->client, name_texts[name],
             (long long)left / 1000);
    }
    for (size_t i = 0; i < x->waiter_count; i++)
      if (!x->waiters[i].is_tombstone)
        cover(POINT_WAITER_LEFT);
  }
}

/* For a week after its last entry. */
static bool is_history(const char *key)
{
  return strcmp(key, EXPLORE_PREFIX ":{fleet}:history") == 0;
}

/* I18: a day and an hour later nothing is there but what may stay. */
static void check_forgotten(trial *t)
{
  char *keys, *key, *rest;

  sim_server_clock(world_server(t->sim), host_wall_us(world_host(t->sim)) + DAY_US * 2);
  for (key = keys_first(t, &keys, &rest); key != NULL; key = keys_next(&rest))
    if (!may_stay(t, key) && !is_history(key))
      flaw(t, "I18: the key %s is there for ever", key);
  free(keys);
}

/* Each sum counts once: those that were answered did, the others may have. */
static void check_sum(trial *t)
{
  const register_state *r = &t->added;
  size_t size = 0;
  const char *bytes = truth_ask(t, "GET", ADDED_KEY, &size);
  const char *line = memchr(bytes, '\n', size);
  long long value = line == NULL || bytes[1] == '-' ? 0 : strtoll(line + 1, NULL, 10);

  if (!r->is_weak && (value < r->sum_sure || value > r->sum_sure + r->sum_unsure))
    flaw(t, "sums: %lld were added, %lld perhaps, and there are %lld", (long long)r->sum_sure,
         (long long)r->sum_unsure, value);
}

void oracle_end(trial *t)
{
  check_sum(t);
  oracle_keys(t);
  check_left(t);
  check_forgotten(t);
}

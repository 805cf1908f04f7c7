/* SPDX-License-Identifier: MIT */
/* api/inspect_quorum.c - what the servers of a quorum store about a name, as one answer. */
#include "api/api.h"

#include <string.h>

typedef struct answers {
  const inspect_answer *first;
  size_t count, silent;          /* `silent` servers did not answer */
} answers;

static bool has_holder(const inspect_answer *a, const char *client)
{
  for (size_t i = 0; i < a->shown_holders; i++)
    if (strcmp(a->holders[i].lease.client, client) == 0)
      return true;
  return false;
}

/* Whether a majority may have this holder. A minority may be what a client has left that died, or
 * that has asked at the same time as another one. */
static bool may_hold(const answers *all, const char *client)
{
  size_t votes = all->silent;

  for (size_t i = 0; i < all->count; i++)
    votes += has_holder(&all->first[i], client);
  return votes > (all->count + all->silent) / 2;
}

static size_t count_same_token(const answers *all, const inspect_answer *a)
{
  size_t count = 0;

  for (size_t i = 0; i < all->count; i++)
    count += all->first[i].last_token == a->last_token;
  return count;
}

/* ---- which answer is shown ---- */

typedef struct rank {
  size_t holders;                /* those that a majority may have */
  const char *first;             /* of these by name, as servers order readers by token; "": none */
  size_t same;                   /* servers with this token */
  uint64_t token, fence;         /* `fence`: that of `first` */
} rank;

static rank rank_of(const answers *all, const inspect_answer *a)
{
  rank r = { .first = "", .same = count_same_token(all, a), .token = a->last_token };

  for (size_t i = 0; i < a->shown_holders; i++) {
    const char *client = a->holders[i].lease.client;

    if (!may_hold(all, client))
      continue;
    if (r.holders == 0 || strcmp(client, r.first) < 0)
      r.first = client;
    r.holders++;
  }
  return r;
}

/* Servers that grant after the majority may have a higher token than that of the fence, which the
 * majority gets. Of a lease as many have either token if the others do not answer: the lower one
 * is the fence's. */
static bool is_nearer(const rank *a, const rank *b)
{
  if (a->same != b->same)
    return a->same > b->same;
  return a->holders > 0 ? a->token < b->token : a->token > b->token;
}

/* Of two clients that may both hold the name, the later one does. The other one may be known at
 * more of the servers that answer. */
static bool is_better(const rank *a, const rank *b)
{
  int order = strcmp(a->first, b->first);

  if (a->holders != b->holders)
    return a->holders > b->holders;
  if (order == 0)
    return is_nearer(a, b);
  return a->fence != b->fence ? a->fence > b->fence : order < 0;
}

static uint64_t fence_of(const rank *ranks, size_t count, const rank *of)
{
  const rank *nearest = of;

  for (size_t i = 0; i < count; i++)
    if (strcmp(ranks[i].first, of->first) == 0 && is_nearer(&ranks[i], nearest))
      nearest = &ranks[i];
  return nearest->token;
}

static const inspect_answer *best_of(const answers *all)
{
  rank ranks[QUORUM_SERVERS_MAX];
  size_t best = 0;

  for (size_t i = 0; i < all->count; i++)
    ranks[i] = rank_of(all, &all->first[i]);
  for (size_t i = 0; i < all->count; i++)
    ranks[i].fence = fence_of(ranks, all->count, &ranks[i]);
  for (size_t i = 1; i < all->count; i++)
    if (is_better(&ranks[i], &ranks[best]))
      best = i;
  return &all->first[best];
}

/* Waiters queue at one of the servers. */
static void queue_show(const answers *all, inspect_answer *ret)
{
  const inspect_answer *longest = &all->first[0];

  for (size_t i = 1; i < all->count; i++)
    if (all->first[i].waiter_count > longest->waiter_count)
      longest = &all->first[i];
  ret->waiter_count = longest->waiter_count;
  ret->shown = longest->shown;
  memcpy(ret->waiters, longest->waiters, sizeof(ret->waiters));
}

static void holders_show(const answers *all, const inspect_answer *a, inspect_answer *ret)
{
  size_t shown = 0;

  for (size_t i = 0; i < a->shown_holders; i++)
    if (may_hold(all, a->holders[i].lease.client))
      ret->holders[shown++] = a->holders[i];
  ret->holder_count -= a->shown_holders - shown;
  ret->shown_holders = shown;
}

void inspect_majority(const inspect_answer *first, size_t count, size_t silent,
                      inspect_answer *ret_answer)
{
  answers all = { .first = first, .count = count, .silent = silent };
  const inspect_answer *best = best_of(&all);

  *ret_answer = *best;
  holders_show(&all, best, ret_answer);
  queue_show(&all, ret_answer);
}

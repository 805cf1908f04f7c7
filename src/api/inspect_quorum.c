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

static size_t count_holders(const answers *all, const inspect_answer *a)
{
  size_t count = 0;

  for (size_t i = 0; i < a->shown_holders; i++)
    count += may_hold(all, a->holders[i].lease.client);
  return count;
}

static size_t count_same_token(const answers *all, const inspect_answer *a)
{
  size_t count = 0;

  for (size_t i = 0; i < all->count; i++)
    count += all->first[i].last_token == a->last_token;
  return count;
}

static bool is_same_holder(const inspect_answer *a, const inspect_answer *b)
{
  return strcmp(a->holders[0].lease.client, b->holders[0].lease.client) == 0;
}

/* Servers that grant after the majority may have a higher token than that of the fence, which the
 * majority gets. Of a lease as many have either token if the others do not answer: the lower one
 * is the fence's. Of two clients that may both hold the name, the later one does. */
static bool is_better(const answers *all, const inspect_answer *a, const inspect_answer *b)
{
  size_t holders_a = count_holders(all, a), holders_b = count_holders(all, b);
  size_t same_a = count_same_token(all, a), same_b = count_same_token(all, b);

  if (holders_a != holders_b)
    return holders_a > holders_b;
  if (same_a != same_b)
    return same_a > same_b;
  if (holders_a > 0 && is_same_holder(a, b))
    return a->last_token < b->last_token;
  return a->last_token > b->last_token;
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
  const inspect_answer *best = first;

  for (size_t i = 1; i < count; i++)
    if (is_better(&all, &first[i], best))
      best = &first[i];
  *ret_answer = *best;
  holders_show(&all, best, ret_answer);
  queue_show(&all, ret_answer);
}

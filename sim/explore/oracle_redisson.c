/* SPDX-License-Identifier: MIT */
/* The oracle of locks in Redisson's format: what its scripts may leave behind, looked at when
 * a key has changed, and who may wait how long. doc/design/redisson.md 3. */
#include "explore.h"

#include <stdio.h>
#include <string.h>

#include "world/world.h"

#define HEALING_US 4000000      /* until everybody is connected again, and listens */
#define POLL_US 1100000

static int64_t wall_us(const trial *t) { return host_wall_us(world_host(t->sim)); }

/* ---- grants ---- */

static bool waits_still(const truth *x, const waiter *w)
{
  for (size_t i = 0; i < x->waiter_count; i++)
    if (x->waiters[i].ask == w->ask && strcmp(x->waiters[i].client, w->client) == 0)
      return true;
  return false;
}

/* L4, of fair locks and among us: who lives by his deadline is not passed. Redisson's own
 * takes its wait from everybody's deadline, also from that of who just queued. */
static void check_turn(trial *t, int name, const truth *before, const lease *l)
{
  if (t->plan->redisson_kinds[name] != REDISSON_FAIR || t->plan->peers > 0)
    return;
  for (size_t i = 0; i < before->waiter_count; i++) {
    const waiter *w = &before->waiters[i];

    if (w->ask == l->ask && strcmp(w->client, l->client) == 0) {
      cover(POINT_HANDED_OVER);
      return;
    }
    if (w->give_up_us > wall_us(t) && waits_still(&t->truths[name], w))
      flaw(t, "L4: %s is granted to %s before %s, which waits longer", name_texts[name],
           l->client, w->client);
  }
}

/* S10: a key beside the lock says that this ask is over. */
static void check_over(trial *t, int name, const lease *l)
{
  char owner[64], key[160];
  size_t size = 0;

  redisson_owner_write(l->client, l->ask, owner);
  (void)snprintf(key, sizeof(key), EXPLORE_PREFIX ":over:{%s}:%s", name_texts[name], owner);
  if (strncmp(truth_ask(t, "EXISTS", key, &size), ":1", 2) == 0)
    flaw(t, "S10: ask %llu of %s is served by %s, and is over", (unsigned long long)l->ask,
         l->client, name_texts[name]);
}

static bool was_there(const truth *before, const lease *l)
{
  for (size_t i = 0; i < before->holder_count; i++)
    if (before->holders[i] == l)
      return true;
  return false;
}

static void check_grants(trial *t, int name, const truth *before)
{
  truth *x = &t->truths[name];

  if (x->holder_count > 1 && !t->is_losing)
    flaw(t, "S1: %zu owners are written in %s", x->holder_count, name_texts[name]);
  if (x->has_no_end)
    flaw(t, "I16: %s is held for ever", name_texts[name]);
  for (size_t i = 0; i < x->holder_count; i++) {
    const lease *l = x->holders[i];

    if (was_there(before, l) || l->begun_at != trial_now(t) || t->is_losing)
      continue;
    if (t->plan->redisson_kinds[name] == REDISSON_FENCED && x->last_token <= x->top_token &&
        !t->is_fence_weak[name] && before->last_token == x->last_token)
      flaw(t, "S2: %s is granted without a new token", name_texts[name]);
    check_turn(t, name, before, l);
    if (!l->is_foreign)
      check_over(t, name, l);
  }
  if (x->last_token > x->top_token)
    x->top_token = x->last_token;
}

/* S3: nobody of ours ends what a peer has. */
static void check_ends(trial *t, int name, const truth *before)
{
  for (size_t i = 0; i < before->holder_count; i++) {
    const lease *l = before->holders[i];

    if (l->is_foreign && l->gone_at == trial_now(t) && !l->is_revoked && !t->is_losing &&
        l->deadline_us > wall_us(t))
      flaw(t, "S3: %s was a peer's for %lld us more", name_texts[name],
           (long long)(l->deadline_us - wall_us(t)));
  }
}

/* I5. Who has lost his deadline with its key stands in the queue again, also a Java thread. */
static void check_queue(trial *t, int name)
{
  const truth *x = &t->truths[name];

  for (size_t i = 0; i < x->waiter_count; i++)
    for (size_t j = 0; j < i && !t->has_lost; j++)
      if (x->waiters[j].ask == x->waiters[i].ask &&
          strcmp(x->waiters[j].client, x->waiters[i].client) == 0)
        flaw(t, "I5: %s waits twice for %s", x->waiters[i].client, name_texts[name]);
  if (x->waiter_count >= 2)
    cover(x->waiter_count >= 4 ? POINT_QUEUE_OF_FOUR : POINT_QUEUE_OF_TWO);
}

void oracle_redisson(trial *t, int name, const truth *before)
{
  check_grants(t, name, before);
  check_ends(t, name, before);
  check_queue(t, name);
}

/* ---- L2 ---- */

static bool lives(const trial *t, const char *client)
{
  for (int i = 1; i < t->life_count; i++)
    if (!t->lives[i].is_over && strncmp(t->lives[i].client_id, client, 22) == 0)
      return true;
  return false;
}

/* Not while somebody has it, or stands at the head of its queue who may be dead. */
static bool is_to_be_had(const trial *t, int name)
{
  const truth *x = &t->truths[name];

  for (size_t i = 0; i < x->holder_count; i++)
    if (x->holders[i]->deadline_us + 1000 >= wall_us(t))
      return false;
  for (size_t i = 0; i < x->waiter_count; i++)
    if (x->waiters[i].give_up_us > wall_us(t))
      return lives(t, x->waiters[i].client);
  return true;
}

/* A fixed lease is never renewed: who has one that was unlocked by force believes it up to its
 * end, and his own process waits for that. Whether such an end came after `begun`. */
static bool believed(const trial *t, int number, int name, int64_t begun)
{
  for (size_t i = 0; i < t->grip_top; i++) {
    const grip *g = &t->grips[i];

    if (g->is_used && g->life == number && (g->names >> name & 1) != 0 && g->hold != NULL &&
        g->is_fixed && g->is_revoked && g->end_at > begun)
      return true;
  }
  return false;
}

static const call *waiting_since(const trial *t, int name, int64_t begun)
{
  for (int i = 0; i < CALLS_MAX; i++) {
    const call *c = &t->calls[i];
    const life *l = &t->lives[c->life];

    if (c->is_open && !c->is_try && (c->names >> name & 1) != 0 && c->begun_at < begun &&
        !l->is_over && !l->is_closing && strcmp(c->what, "release") != 0 &&
        !believed(t, c->life, name, begun))
      return c;
  }
  return NULL;
}

/* Before the first fault, and some time after the last: who waits for a lock that is free has
 * it by a message, or at his next look. */
void oracle_nobody_waits_long(trial *t)
{
  int64_t now = trial_now(t), limit = POLL_US * 1011 / 1000 + 100000;
  bool is_quiet = t->noted == 0 || (t->is_ending && now - t->healed_at > HEALING_US);

  limit += 20ll * t->plan->delay_max_us;
  for (int name = 0; name < t->plan->names; name++) {
    truth *x = &t->truths[name];

    if (!is_quiet || !is_to_be_had(t, name))
      x->free_since = now;
    else if (now - x->free_since > limit && waiting_since(t, name, now - limit) != NULL)
      flaw(t, "L2: %s is free for %lld ms, and %d waits for it behind ask %llu of %s",
           name_texts[name], (long long)(now - x->free_since) / 1000,
           waiting_since(t, name, now - limit)->life,
           (unsigned long long)(x->waiter_count > 0 ? x->waiters[0].ask : 0),
           x->waiter_count > 0 ? x->waiters[0].client : "nobody");
  }
}

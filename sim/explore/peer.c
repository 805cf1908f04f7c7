/* SPDX-License-Identifier: MIT */
/* Peers: Java programs that use the same locks by Redisson. Each has one thread, which takes
 * locks, renews them or not, unlocks them, forgets them, gives up, and unlocks what is
 * another's by force. Its network is never broken; its server is everybody's. */
#include "explore.h"

#include <stdio.h>
#include <string.h>

#include "world/world.h"

#define LOOK_MS 60              /* between two looks of a waiter, at most */

typedef struct java {
  trial *trial;
  int number;
  uint64_t thread;                  /* of its dead ones nobody hears again */
  random_source random;
  char owner[64];
} java;

static java all_java[PEERS_MAX];

static int64_t below_of(java *j, int64_t limit)
{
  return (int64_t)random_below(&j->random, (uint64_t)limit);
}

static bool goes_on(const java *j)
{
  return !j->trial->is_ending && j->trial->flaw[0] == 0;
}

/* As another thread, which has nothing and waits for nothing. */
static void begin_thread(java *j)
{
  j->thread++;
  redisson_owner_write(j->trial->peer_clients[j->number], j->thread, j->owner);
}

static peer_call call_for(java *j, int name)
{
  const plan *p = j->trial->plan;

  return (peer_call){ .name = name, .redisson_kind = p->redisson_kinds[name], .owner = j->owner,
                      .ttl_ms = p->ttl_ms[below_of(j, 2)], .wait_ms = p->wait_ms };
}

/* A server that is down or refuses is asked again. */
static int64_t ask(java *j, peer_call *c, peer_verb verb)
{
  int64_t number = 0;

  c->verb = verb;
  c->now_ms = host_wall_us(world_host(j->trial->sim)) / 1000;
  while (!peer_ask(j->trial, c, &number) && j->trial->flaw[0] == 0) {
    dibs_sim_sleep_ms(5 + below_of(j, 50));
    c->now_ms = host_wall_us(world_host(j->trial->sim)) / 1000;
  }
  return number;
}

/* ---- one lock ---- */

static void unlock(java *j, peer_call *c)
{
  lease *l = truth_lease_of(j->trial, c->name, j->trial->peer_clients[j->number], j->thread);

  if (l != NULL)
    l->is_revoked = true;             /* from here on it may be gone at any moment */
  (void)ask(j, c, PEER_UNLOCK);
}

static void hold(java *j, peer_call *c)
{
  int64_t rest = draw_log(&j->random, 1, (int64_t)j->trial->plan->hold_ms * 2);
  bool has_watchdog = random_below(&j->random, 3) != 0;

  while (rest > 0 && goes_on(j)) {
    int64_t step = has_watchdog && c->ttl_ms / 3 < rest ? c->ttl_ms / 3 : rest;

    dibs_sim_sleep_ms(step);
    rest -= step;
    if (has_watchdog && rest > 0 && ask(j, c, PEER_RENEW) == 0)
      return;
  }
}

static void held(java *j, peer_call *c)
{
  bool is_twice = random_below(&j->random, 6) == 0;

  if (is_twice && ask(j, c, PEER_LOCK) != -1)
    is_twice = false;                 /* it was lost already */
  hold(j, c);
  if (random_below(&j->random, 6) == 0) {
    cover(POINT_PEER_DIED);
    begin_thread(j);
    return;
  }
  if (is_twice)
    unlock(j, c);
  unlock(j, c);
}

/* Gives up, or is killed in the queue. */
static void give_up(java *j, peer_call *c)
{
  if (c->redisson_kind != REDISSON_FAIR || c->is_try)
    return;
  if (goes_on(j) && random_below(&j->random, 6) == 0) {
    cover(POINT_PEER_DIED);
    begin_thread(j);
    return;
  }
  (void)ask(j, c, PEER_LEAVE);
}

static void lock(java *j, int name)
{
  peer_call c = call_for(j, name);
  int64_t end = trial_now(j->trial) + (1 + below_of(j, c.wait_ms)) * 1000;

  c.is_try = random_below(&j->random, 3) == 0;
  while (ask(j, &c, PEER_LOCK) != -1) {
    cover(POINT_PEER_WAITED);
    if (c.is_try || trial_now(j->trial) > end || !goes_on(j)) {
      give_up(j, &c);
      return;
    }
    dibs_sim_sleep_ms(1 + below_of(j, LOOK_MS));
  }
  held(j, &c);
}

static void force(java *j, int name)
{
  const truth *x = &j->trial->truths[name];
  peer_call c = call_for(j, name);

  for (size_t i = 0; i < x->holder_count; i++)
    grips_revoke(j->trial, name, x->holders[i]->token);
  c.verb = PEER_FORCE;
  c.now_ms = host_wall_us(world_host(j->trial->sim)) / 1000;
  cover(POINT_PEER_FORCED);
  (void)peer_ask(j->trial, &c, &c.wait_ms);
}

static void peer_main(void *data)
{
  java *j = data;

  while (goes_on(j)) {
    int name = (int)below_of(j, j->trial->plan->names);

    if (random_below(&j->random, 12) == 0)
      force(j, name);
    else
      lock(j, name);
    dibs_sim_sleep_us(draw_log(&j->random, 1, (int64_t)j->trial->plan->think_ms * 1000));
  }
}

void peers_begin(trial *t)
{
  for (int i = 0; i < t->plan->peers; i++) {
    java *j = &all_java[i];
    char name[16];
    uint8_t id[16];

    *j = (java){ .trial = t, .number = i };
    random_seed(&j->random, t->plan->seed * 31 + (uint64_t)i);
    for (size_t b = 0; b < sizeof(id); b++)
      id[b] = (uint8_t)random_below(&j->random, 256);
    text_base64url_16(id, t->peer_clients[i]);
    begin_thread(j);
    (void)snprintf(name, sizeof(name), "java%d", i + 1);
    (void)dibs_sim_start(t->sim, name, peer_main, j);
  }
}

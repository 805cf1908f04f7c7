/* SPDX-License-Identifier: MIT */
/* Drawing a world: everything that a seed decides before the first event. */
#include "explore.h"

#include <string.h>

static const unsigned kind_of_action[ACTIONS] = {
#define ACTION_KIND(name, kind) kind,
  ACTIONS_LIST(ACTION_KIND)
#undef ACTION_KIND
};

static int64_t draw(random_source *r, int64_t low, int64_t high)
{
  return low + (int64_t)random_below(r, (uint64_t)(high - low) + 1);
}

/* Half of the actions do not exist in a world; the others differ by 16 in how often. */
static void draw_weights(plan *p, random_source *r, unsigned some)
{
  for (int i = 0; i < ACTIONS; i++) {
    unsigned weight = 1u << random_below(r, 5);
    bool exists = random_below(r, 2) == 0;

    /* Others are what taking is about. */
    if (i == ACT_LOCK || i == ACT_MANY || i == ACT_WRITE || i == ACT_PERMITS)
      exists = exists || random_below(r, 2) == 0;
    if (i == ACT_RESIZE || i == ACT_BREAK || i == ACT_REOPEN || i == ACT_INSPECT)
      weight = weight > 2 ? 2 : weight;
    p->weight[i] = exists && (kind_of_action[i] & some) != 0 ? weight : 0;
    p->weight_sum += p->weight[i];
  }
  if (p->weight_sum == 0) {
    int only = (some & KIND_MUTEX) != 0 ? ACT_LOCK : (some & KIND_SHARE) != 0 ? ACT_WRITE
             : (some & KIND_MANY) != 0 ? ACT_MANY : ACT_LEAD;

    p->weight[only] = p->weight_sum = 1;
  }
}

/* Two clocks differ by at most 1 % in rate, which is what is promised to be enough. */
static void draw_rates(plan *p, random_source *r)
{
  int64_t low = -5000, high = 5000;

  switch (random_below(r, 4)) {
  case 0: low = high = 0; break;
  case 1: low = -9900; high = 0; break;
  case 2: low = 0; high = 9900; break;
  default: break;
  }
  for (int i = 1; i <= PROCESSES_MAX; i++) {
    int64_t ppm = draw(r, low, high);

    if (random_below(r, 3) == 0)
      ppm = random_below(r, 2) == 0 ? low : high;
    p->ppm[i] = (int32_t)ppm;
  }
}

static void draw_network(plan *p, random_source *r)
{
  p->delay_min_us = (int32_t)draw_log(r, 1, 200);
  p->delay_max_us = (int32_t)draw_log(r, p->delay_min_us,
                                      random_below(r, 4) == 0 ? 40000 : 2000);
  p->preempt_per_mille = random_below(r, 2) == 0 ? 0 : (int32_t)draw_log(r, 1, 300);
  p->split_per_mille = random_below(r, 2) == 0 ? 0 : (int32_t)draw_log(r, 1, 300);
}

static void draw_clients(plan *p, random_source *r)
{
  static const int32_t handovers[] = { 0, -1, 1, 3 };

  p->ttl_ms[0] = (int32_t)draw_log(r, 100, 2000);
  p->ttl_ms[1] = random_below(r, 2) == 0 ? p->ttl_ms[0] : (int32_t)draw_log(r, 100, 2000);
  p->command_timeout_ms = random_below(r, 2) == 0 ? 0 : (int32_t)draw_log(r, 200, 2000);
  p->connect_timeout_ms = random_below(r, 2) == 0 ? 0 : (int32_t)draw_log(r, 200, 5000);
  p->local_handovers_max = handovers[random_below(r, 4)];
  p->client_flags = random_below(r, 4) == 0 ? DIBS_CLIENT_DETECT_DEADLOCK : 0;
  p->permits = (uint32_t)draw(r, 1, 5);
}

/* Nothing but locking and releasing, as fast as it goes: what the simulator itself costs. */
void plan_plain(plan *p, uint64_t seed)
{
  memset(p, 0, sizeof(*p));
  *p = (plan){ .seed = seed, .processes = 2, .threads = 1, .names = 2, .run_ms = 20000,
               .ttl_ms = { 2000, 2000 }, .delay_min_us = 20, .delay_max_us = 100,
               .think_ms = 1, .hold_ms = 1, .wait_ms = 1000, .permits = 1, .is_calm = true,
               .weight_sum = 1 };
  p->weight[ACT_LOCK] = 1;
}

void plan_draw(plan *p, uint64_t seed, kinds asked)
{
  random_source r;
  unsigned some = 0;

  memset(p, 0, sizeof(*p));
  p->seed = seed;
  random_seed(&r, seed * 0x9e3779b97f4a7c15u + 1);
  p->processes = (int)draw(&r, 2, PROCESSES_MAX);
  p->threads = random_below(&r, 2) == 0 ? 1 : (int)draw(&r, 1, THREADS_MAX);
  p->names = (int)draw(&r, 1, MUTEXES);
  p->run_ms = draw_log(&r, 300, 6000);
  p->think_ms = (int32_t)draw_log(&r, 1, 400);
  p->hold_ms = (int32_t)draw_log(&r, 1, 400);
  p->wait_ms = (int32_t)draw_log(&r, 5, 2000);
  draw_network(p, &r);
  draw_clients(p, &r);
  draw_rates(p, &r);
  /* A world of one kind has more of it to do than a world of all. */
  if ((asked & KIND_REDISSON) != 0)
    some = KIND_MUTEX;
  while (some == 0)
    some = (random_below(&r, 3) == 0 ? KIND_ALL : 1u << random_below(&r, 4)) & asked;
  draw_weights(p, &r, some);
  p->is_calm = random_below(&r, 16) == 0;
  if (p->is_calm) {                     /* L9: nothing is slower than a tenth of a lease */
    int32_t ttl_ms = p->ttl_ms[0] < p->ttl_ms[1] ? p->ttl_ms[0] : p->ttl_ms[1];

    if (p->delay_max_us > ttl_ms * 30)
      p->delay_max_us = ttl_ms * 30;
  } else {
    schedule_draw(p, &r);
  }
  if ((asked & KIND_REDISSON) != 0)
    plan_redisson(p, asked);
  else
    p->has_publisher = random_below(&r, 3) == 0;
  p->has_limits = random_below(&r, 3) == 0;
}

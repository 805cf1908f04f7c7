/* SPDX-License-Identifier: MIT */
/* Programs: processes whose threads do one thing after the other, drawn by the weights of
 * their world, until they are told to end; then they give back what they have and close. */
#include "explore.h"

#include <string.h>

#define PARKING_MS 300

wish wish_for(actor *a, action what, unsigned names, char mode)
{
  const plan *p = a->trial->plan;
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  wish w = { .action = what, .names = names, .mode = mode, .units = 1 };

  w.options = o;
  w.options.ttl_ms = p->ttl_ms[below(a, 2)];
  return w;
}

/* Mostly shortly, sometimes for several renewals. */
void hold_for_a_while(actor *a, grip *g)
{
  const trial *t = a->trial;

  if (!t->is_ending && t->plan->hold_ms > 2 && chance(a, 6))
    dibs_sim_sleep_us(below(a, 2000) * g->ttl_ms);
  else
    actor_sleep(a, t->plan->hold_ms);
}

void act(actor *a)
{
  const plan *p = a->trial->plan;
  unsigned at = (unsigned)below(a, p->weight_sum);
  int what = 0;

  while (at >= p->weight[what])
    at -= p->weight[what++];
  switch (what) {
  case ACT_DETACH: case ACT_TOKEN: case ACT_BREAK: case ACT_INSPECT:
    act_revoke(a, (action)what);
    break;
  case ACT_REOPEN:
    a->life->is_closing = a->thread == 0;
    break;
  default:
    if (what < ACT_READ)
      act_mutex(a, (action)what);
    else if (what < ACT_LEAD)
      act_share(a, (action)what);
    else
      act_meet(a, (action)what);
  }
}

/* ---- threads ---- */

typedef struct start {
  life *life;
  int thread;
} start;

/* By seed, process and thread: taking a fault away leaves the others' draws as they are. */
static actor actor_new(life *l, int thread)
{
  actor a = { .life = l, .trial = l->trial, .thread = thread,
              .owner = (uint64_t)l->number * 16 + (uint64_t)thread + 1 };

  random_seed(&a.random, l->trial->plan->seed * 977 + a.owner);
  return a;
}

static bool open_client(actor *a)
{
  const plan *p = a->trial->plan;
  dibs_options o = DIBS_OPTIONS_INIT;

  o.flags = p->client_flags;
  o.command_timeout_ms = p->command_timeout_ms;
  o.connect_timeout_ms = p->connect_timeout_ms;
  o.local_handovers_max = p->local_handovers_max;
  o.prefix = EXPLORE_PREFIX;
  if (p->is_redisson)
    o.dialect = DIBS_DIALECT_REDISSON;
  if (dibs_open("redis://server", &o, &a->life->client, NULL) != DIBS_OK) {
    flaw(a->trial, "a client cannot be opened");
    return false;
  }
  a->life->opened_at = trial_now(a->trial);
  a->life->client_id[0] = 0;
  return true;
}

static void close_client(actor *a)
{
  call *c = call_begin(a, "close", 1000);

  a->life->client = dibs_close(a->life->client);
  (void)call_end(a, c, ACT_REOPEN, DIBS_OK);
}

static void park(actor *a)
{
  a->life->parked++;
  while (a->life->is_closing && !a->trial->is_ending)
    dibs_sim_sleep_ms(1);
  a->life->parked--;
}

/* All threads stand still meanwhile; who does not within a while is not waited for. */
static void reopen(actor *a)
{
  life *l = a->life;

  for (int i = 0; i < PARKING_MS && l->parked < l->open_threads - 1; i++)
    dibs_sim_sleep_ms(1);
  if (l->parked == l->open_threads - 1 && !a->trial->is_ending) {
    close_client(a);
    actor_sleep(a, 50);
    (void)open_client(a);
  }
  l->is_closing = false;
}

static void go_on(actor *a)
{
  while (!a->trial->is_ending && a->trial->flaw[0] == 0) {
    if (a->life->is_closing && a->thread > 0)
      park(a);
    else if (a->life->is_closing)
      reopen(a);
    else
      act(a);
    actor_sleep(a, a->trial->plan->think_ms);
  }
}

static void thread_main(void *data)
{
  start *s = data;
  actor a = actor_new(s->life, s->thread);

  go_on(&a);
  a.life->open_threads--;
}

void program_main(void *data)
{
  life *l = data;
  actor a = actor_new(l, 0);
  start starts[THREADS_MAX];

  if (!open_client(&a))
    return;
  l->open_threads = 1;
  for (int i = 1; i < l->trial->plan->threads; i++) {
    starts[i] = (start){ l, i };
    l->open_threads++;
    dibs_sim_thread(thread_main, &starts[i]);
  }
  go_on(&a);
  while (l->open_threads > 1)
    dibs_sim_sleep_ms(1);
  close_client(&a);
  l->is_done = true;
}

/* SPDX-License-Identifier: MIT */
/* test/fault/f33_starved.c - F33: server and workers share one processor with eight that never
 * rest. Leases may be lost for it, but neither wrongly believed nor given twice. */
#include "scenario.h"
#include "world.h"

#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "history.h"
#include "page.h"

enum { BUSY = 8, TTL_MS = 150 };

/* All that is started from now on: the other processors stay free for other tests. */
static bool stay_on_one_processor(void)
{
  cpu_set_t mine, one;

  if (sched_getaffinity(0, sizeof(mine), &mine) != 0)
    return false;
  CPU_ZERO(&one);
  for (size_t i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET(i, &mine)) {
      CPU_SET(i, &one);
      break;
    }
  return sched_setaffinity(0, sizeof(one), &one) == 0;
}

static pid_t start_busy(void)
{
  pid_t parent = getpid(), pid = fork();

  if (pid != 0)
    return pid;
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
    _exit(1);
  for (volatile uint64_t turns = 0;; turns++)
    ;
}

static void end_busy(const pid_t *busy)
{
  for (int i = 0; i < BUSY; i++)
    if (busy[i] > 0) {
      (void)kill(busy[i], SIGKILL);
      (void)waitpid(busy[i], NULL, 0);
    }
}

/* Ours wants to run each 5 ms: how much longer it had to wait at worst. */
static int64_t worst_delay_ms(struct world *w, int ms)
{
  int64_t worst = 0, until = history_now_ns() + ms * 1000000LL;

  while (history_now_ns() < until) {
    int64_t before = history_now_ns(), late;

    world_pass_ms(w, 5);
    late = (history_now_ns() - before) / 1000000 - 5;
    if (late > worst)
      worst = late;
  }
  return worst;
}

static void starve(struct world *w)
{
  int fault = world_fault_begin(w, FAULT_LOAD, EVERYBODY, NO_LOCK);
  pid_t busy[BUSY];
  int64_t worst;

  for (int i = 0; i < BUSY; i++)
    busy[i] = start_busy();
  world_fault_in_force(w, fault);
  worst = worst_delay_ms(w, world_between(w, 800, 1500));
  world_fault_lifting(w, fault);
  end_busy(busy);
  world_fault_end(w, fault);
  world_mark_times(w, "did not get to run for 4 ms", worst >= 4);
  world_count(w, "longest wait for the processor, ms", worst);
}

static void run(struct world *w, const struct scale *scale)
{
  struct plan plan = PLAN_INIT;

  (void)scale;
  if (!stay_on_one_processor())
    world_fail(w, "the processors cannot be chosen");
  (void)world_lock(w, 'm', "starved", 0);
  (void)world_lock(w, 'r', "read", 0);
  plan.ttl_ms = TTL_MS;
  plan.hold_us = 3000;
  plan.hold_us_max = 3 * TTL_MS * 1000;
  plan.try_percent = 10;
  plan.async_percent = 10;
  plan.nested_percent = 10;
  (void)world_hire(w, &plan, 6);
  world_demand(w, "did not get to run for 4 ms", 1);
  world_demand(w, "granted while starved", 20);
  world_demand_overlap(w, 20);
  while (world_goes_on(w)) {
    uint64_t before = world_grants(w);

    starve(w);
    world_mark_times(w, "granted while starved", (int64_t)(world_grants(w) - before));
    (void)world_wait_for_grants(w, 50, 3000);
  }
}

const struct scenario f33_starved = {
  .id = "F33",
  .name = "a_starved_process_may_lose_leases_and_believes_none_too_long",
  .run = run,
  /* The watches measure what a thread waits for, not what a chain of processes adds up to. */
  .expects = { .late_ms_max = 500, .wake_ms_max = 4000 },
};

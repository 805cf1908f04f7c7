/* SPDX-License-Identifier: MIT */
/* Schedules: which faults exist in a world, how often, when; and each as a line of text.
 *
 * A swarm: a world has few kinds of faults, each with a rate of its own, so that rare
 * combinations come up as often as common ones. */
#include "explore.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world/world.h"

typedef struct kind_of_fault {
  dibs_sim_fault_kind kind;
  const char *name;
  int chance;                   /* percent of the worlds that have it */
  int64_t ms_min, ms_max;       /* how long, log-uniform; 0: the kind has no length */
  bool of_process, of_direction, loses_data;
} kind_of_fault;

/* What the kind itself needs to be worth anything is drawn here; exceptions in draw_one(). */
static const kind_of_fault kinds_of_faults[] = {
  { DIBS_SIM_PAUSE, "PAUSE", 25, 1, 4000, true, false, false },
  { DIBS_SIM_KILL, "KILL", 20, 0, 0, true, false, false },
  { DIBS_SIM_VANISH, "VANISH", 12, 0, 0, true, false, false },
  { DIBS_SIM_WALL_STEP, "WALL_STEP", 12, 1, 5000, true, false, false },
  { DIBS_SIM_CUT, "CUT", 25, 0, 0, true, false, false },
  { DIBS_SIM_CUT_LATE, "CUT_LATE", 25, 1, 3000, true, false, false },
  { DIBS_SIM_CUT_REPLY, "CUT_REPLY", 25, 0, 0, true, false, false },
  { DIBS_SIM_HOLD, "HOLD", 20, 1, 3000, true, true, false },
  { DIBS_SIM_BLACK_HOLE, "BLACK_HOLE", 15, 1, 4000, true, true, false },
  { DIBS_SIM_SLOW, "SLOW", 15, 10, 2000, true, false, false },
  { DIBS_SIM_REFUSE, "REFUSE", 12, 10, 3000, true, false, false },
  { DIBS_SIM_SERVER_PAUSE, "SERVER_PAUSE", 15, 1, 3000, false, false, false },
  { DIBS_SIM_SERVER_RESTART, "SERVER_RESTART", 10, 1, 2000, false, false, false },
  { DIBS_SIM_SERVER_EMPTY, "SERVER_EMPTY", 6, 1, 2000, false, false, true },
  { DIBS_SIM_SERVER_FLUSH, "SERVER_FLUSH", 6, 0, 0, false, false, true },
  { DIBS_SIM_SERVER_FORGET, "SERVER_FORGET", 15, 0, 0, false, false, false },
  { DIBS_SIM_SERVER_WALL_STEP, "SERVER_WALL_STEP", 12, 1, 20000, false, false, false },
  { DIBS_SIM_SERVER_FULL, "SERVER_FULL", 10, 1, 2000, false, false, false },
  { DIBS_SIM_SERVER_BUSY, "SERVER_BUSY", 8, 1, 1500, false, false, false },
  { DIBS_SIM_SERVER_LOADING, "SERVER_LOADING", 8, 1, 1500, false, false, false },
  { DIBS_SIM_SERVER_READ_ONLY, "SERVER_READ_ONLY", 8, 1, 1500, false, false, false },
  { DIBS_SIM_SERVER_MISCONF, "SERVER_MISCONF", 8, 1, 1500, false, false, false },
  { DIBS_SIM_SERVER_EVICT, "SERVER_EVICT", 5, 0, 0, false, false, true },
  { DIBS_SIM_SERVER_KILL_CLIENTS, "SERVER_KILL_CLIENTS", 15, 0, 1, false, false, false },
  { DIBS_SIM_SERVER_REPLICA, "SERVER_REPLICA", 8, 0, 300, false, false, false },
  { DIBS_SIM_SERVER_FAIL_OVER, "SERVER_FAIL_OVER", 6, 1, 2000, false, false, true },
};
enum { KIND_COUNT = sizeof(kinds_of_faults) / sizeof(kinds_of_faults[0]) };

static const kind_of_fault *kind_find(dibs_sim_fault_kind kind)
{
  for (size_t i = 0; i < KIND_COUNT; i++)
    if (kinds_of_faults[i].kind == kind)
      return &kinds_of_faults[i];
  return NULL;
}

const char *fault_name(dibs_sim_fault_kind kind)
{
  const kind_of_fault *k = kind_find(kind);

  return k == NULL ? NULL : k->name;
}

bool fault_loses_data(const dibs_sim_fault *f)
{
  const kind_of_fault *k = kind_find(f->kind);

  return k != NULL && k->loses_data;
}

int64_t draw_log(random_source *r, int64_t low, int64_t high)
{
  int64_t top = low;
  int doublings = 0;

  while (top < high) {
    top = top < 1 ? 1 : top * 2;
    doublings++;
  }
  top = low;
  for (uint64_t n = random_below(r, (uint64_t)doublings + 1); n > 0; n--)
    top = top < 1 ? 1 : top * 2;
  if (top > high)
    top = high;
  return low + (int64_t)random_below(r, (uint64_t)(top - low) + 1);
}

static void draw_one(const plan *p, const kind_of_fault *k, random_source *r,
                     dibs_sim_fault *f)
{
  *f = (dibs_sim_fault){ .kind = k->kind };
  f->at_us = (int64_t)random_below(r, (uint64_t)p->run_ms * 1000);
  if (k->ms_max > 0)
    f->ms = draw_log(r, k->ms_min, k->ms_max);
  if (k->of_process && random_below(r, 6) != 0)
    f->process = 1 + (int)random_below(r, (uint64_t)p->processes);
  if (k->of_direction)
    f->direction = (int)random_below(r, 4);
  if (k->kind == DIBS_SIM_SLOW)
    f->delay_ms = (int32_t)draw_log(r, 1, 500);
  /* protocol.md 8: clients' clocks agree within half a second if the server's is set. */
  if (k->kind == DIBS_SIM_WALL_STEP && p->steps)
    f->ms = 1 + f->ms % 30;
  if ((k->kind == DIBS_SIM_WALL_STEP || k->kind == DIBS_SIM_SERVER_WALL_STEP) &&
      random_below(r, 2) == 0)
    f->ms = -f->ms;
}

void schedule_draw(plan *p, random_source *r)
{
  for (size_t i = 0; i < KIND_COUNT; i++) {
    const kind_of_fault *k = &kinds_of_faults[i];
    bool exists = random_below(r, 100) < (uint64_t)k->chance;

    if (k->kind == DIBS_SIM_SERVER_WALL_STEP && exists)
      p->steps = true;
    /* Decided later than the steps of clients would have been: see draw_one(). */
  }
  for (size_t i = 0; i < KIND_COUNT; i++) {
    const kind_of_fault *k = &kinds_of_faults[i];
    bool exists = k->kind == DIBS_SIM_SERVER_WALL_STEP
                    ? p->steps : random_below(r, 100) < (uint64_t)k->chance;
    int64_t most = k->kind == DIBS_SIM_KILL || k->kind == DIBS_SIM_VANISH ? 6 : 10;
    int64_t count = exists ? draw_log(r, 1, most) : 0;

    for (; count > 0 && p->fault_count < FAULTS_MAX; count--)
      draw_one(p, k, r, &p->faults[p->fault_count++]);
  }
  faults_sort(p->faults, p->fault_count);
}

void fault_write(const dibs_sim_fault *f, char *ret_line, size_t size)
{
  const char *name = fault_name(f->kind);

  (void)snprintf(ret_line, size, "%s %d %" PRId64 " %" PRId64 " %d %d %d",
                 name == NULL ? "?" : name, f->process, f->at_us, f->ms, f->ppm,
                 f->delay_ms, f->direction);
}

bool fault_read(const char *line, dibs_sim_fault *ret_fault)
{
  char name[40];
  dibs_sim_fault f = { 0 };
  int used = 0;

  if (sscanf(line, "%39s %d %" SCNd64 " %" SCNd64 " %d %d %d%n", name, &f.process, &f.at_us,
             &f.ms, &f.ppm, &f.delay_ms, &f.direction, &used) != 7)
    return false;
  for (size_t i = 0; i < KIND_COUNT; i++)
    if (strcmp(kinds_of_faults[i].name, name) == 0) {
      f.kind = kinds_of_faults[i].kind;
      *ret_fault = f;
      return true;
    }
  return false;
}

/* SPDX-License-Identifier: MIT */
/* Coverage: which outcomes, faults and states were reached, and how often. What is never
 * reached proves nothing: a night's run fails on it. */
#include "explore.h"

#include <inttypes.h>
#include <stdio.h>

coverage covered;

static const char *const point_names[POINTS] = {
#define POINT_NAME(name) #name,
  POINTS_LIST(POINT_NAME)
#undef POINT_NAME
};

static const char *const action_names[ACTIONS] = {
#define ACTION_NAME(name, kind) #name,
  ACTIONS_LIST(ACTION_NAME)
#undef ACTION_NAME
};

const char *action_name(action a) { return action_names[a]; }

void cover(point p) { covered.points[p]++; }

/* Only numbers: so that those of other processes can be added. */
void coverage_add(coverage *to, const coverage *more)
{
  uint64_t heal_max = to->heal_max_us > more->heal_max_us ? to->heal_max_us : more->heal_max_us;
  const uint64_t *from = (const uint64_t *)more;
  uint64_t *sum = (uint64_t *)to;

  for (size_t i = 0; i < sizeof(*to) / sizeof(uint64_t); i++)
    sum[i] += from[i];
  to->heal_max_us = heal_max;
}

static bool is_fault(int kind) { return fault_name((dibs_sim_fault_kind)kind) != NULL; }

/* Peers are in worlds of Redisson's format only. */
static bool has_peers(const coverage *c)
{
  return c->points[POINT_PEER_HELD] + c->points[POINT_PEER_WAITED] > 0;
}

int coverage_holes(const coverage *c, bool reports)
{
  int holes = 0;

  for (int i = 0; i < POINTS; i++)
    if (c->points[i] == 0 && (i < POINT_PEER_HELD || has_peers(c))) {
      holes++;
      if (reports)
        printf("never reached: %s\n", point_names[i]);
    }
  for (int i = 0; i < FAULT_KINDS; i++)
    if (is_fault(i) && (c->faults[i][1] == 0 || c->faults[i][2] == 0)) {
      holes++;
      if (reports)
        printf("never over a hold and a call: %s\n", fault_name((dibs_sim_fault_kind)i));
    }
  for (int i = 0; i < ACTIONS; i++) {
    uint64_t all = 0;

    for (int j = 0; j < STATUSES; j++)
      all += c->outcomes[i][j];
    if (all == 0 && i != ACT_REOPEN) {
      holes++;
      if (reports)
        printf("never done: %s\n", action_names[i]);
    }
  }
  return holes;
}

static void write_outcomes(const coverage *c)
{
  printf("\n| call | outcomes |\n| --- | --- |\n");
  for (int i = 0; i < ACTIONS; i++) {
    printf("| %s |", action_names[i]);
    for (int j = 0; j < STATUSES; j++)
      if (c->outcomes[i][j] > 0)
        printf(" %s %" PRIu64, dibs_status_name((dibs_status)(j - 20)) + 5, c->outcomes[i][j]);
    printf(" |\n");
  }
}

static void write_faults(const coverage *c)
{
  printf("\n| fault | happened | while somebody held | while somebody was in a call |\n"
         "| --- | --- | --- | --- |\n");
  for (int i = 0; i < FAULT_KINDS; i++)
    if (is_fault(i))
      printf("| %s | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " |\n",
             fault_name((dibs_sim_fault_kind)i), c->faults[i][0], c->faults[i][1],
             c->faults[i][2]);
}

void coverage_write(const coverage *c, bool as_markdown)
{
  printf("%s%" PRIu64 " seeds, %.1f h of virtual time, %" PRIu64 " events looked at, "
         "%" PRIu64 " grants, %" PRIu64 " lock cycles, %" PRIu64 " losses told, "
         "%" PRIu64 " kills; slowest end after healing %.1f s\n",
         as_markdown ? "\n" : "", c->seeds, (double)c->virtual_us / 3.6e9, c->looks, c->grants,
         c->cycles, c->losses, c->kills, (double)c->heal_max_us / 1e6);
  if (!as_markdown)
    return;
  write_faults(c);
  write_outcomes(c);
  printf("\n| state | reached |\n| --- | --- |\n");
  for (int i = 0; i < POINTS; i++)
    printf("| %s | %" PRIu64 " |\n", point_names[i], c->points[i]);
}

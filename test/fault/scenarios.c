/* SPDX-License-Identifier: MIT */
/* test/fault/scenarios.c - the list of all scenarios. */
#include "scenario.h"

#include <stddef.h>

extern const struct scenario f00_no_fault, f01_holder_killed;
extern const struct scenario f09_letters, f10_holder, f10_connection, f11_slow_network;
extern const struct scenario f25_disturbed, f25_emptied, f25_permissions, f28_crowd;
extern const struct scenario f29_fork, f29_storm, f29_callbacks;
extern const struct scenario f30_descriptors, f30_memory, f30_resolver, f30_threads, f31_hostile;

const struct scenario *const all_scenarios[] = {
  &f00_no_fault,
  &f01_holder_killed,
  &f09_letters,
  &f10_holder,
  &f10_connection,
  &f11_slow_network,
  &f25_disturbed,
  &f25_emptied,
  &f25_permissions,
  &f28_crowd,
  &f29_fork,
  &f29_storm,
  &f29_callbacks,
  &f30_descriptors,
  &f30_memory,
  &f30_resolver,
  &f30_threads,
  &f31_hostile,
  NULL
};

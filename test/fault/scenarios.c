/* SPDX-License-Identifier: MIT */
/* test/fault/scenarios.c - the list of all scenarios. */
#include "scenario.h"

#include <stddef.h>

extern const struct scenario f00_no_fault, f01_holder_killed;

const struct scenario *const all_scenarios[] = {
  &f00_no_fault,
  &f01_holder_killed,
  NULL
};

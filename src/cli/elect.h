/* SPDX-License-Identifier: MIT */
/* cli/elect.h - what dibs elect is given, for elect.c and observe.c. */
#ifndef CLI_ELECT_H
#define CLI_ELECT_H

#include "cli/options.h"
#include "cli/run_options.h"
#include "cli/taking.h"

typedef struct elect_arguments {
  command_line line;
  taking_options taking;
  run_options run;
  const char *value, *on_elected, *on_deposed;   /* NULL: not given */
  bool only_observes, goes_on, resigns, is_confirmed;
} elect_arguments;

/* dibs elect observe: prints the leader at each change; the exit code (observe.c). */
int observe_leaders(const elect_arguments *a);

#endif

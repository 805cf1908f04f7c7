/* SPDX-License-Identifier: MIT */
/* cli/child_run.h - a command that runs to its end, without any lease to watch. */
#ifndef CLI_CHILD_RUN_H
#define CLI_CHILD_RUN_H

#include "cli/signals.h"

/* Runs it in our own process group. What the terminal sends it gets by itself; what is sent
 * to us is passed on, and told by `told_to_end` (may be NULL) if it was INT, TERM, HUP or
 * QUIT. Returns its exit code; 126 or 127 after saying why it did not run. */
int child_run(char *const *words, char *const *environment, signal_watch *signals,
              int *told_to_end);

/* What a wait status is as an exit code. */
int child_code(int wait_status);

#endif

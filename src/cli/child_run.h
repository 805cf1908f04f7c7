/* SPDX-License-Identifier: MIT */
/* cli/child_run.h - a command that runs to its end, without any lease to watch. */
#ifndef CLI_CHILD_RUN_H
#define CLI_CHILD_RUN_H

#include "cli/signals.h"

/* Runs it in the process group of this process. Signals of the terminal reach it directly; others
 * are passed on. Returns its exit code, with the number of the signal that it died of, or 0, in
 * `ret_died_of`; 126 or 127 after saying why it did not run. */
int child_run(char *const *arguments, char *const *environment, signal_watch *signals,
              int *ret_died_of);

/* What a wait status is as an exit code. */
int child_code(int wait_status);

#endif

/* SPDX-License-Identifier: MIT */
/* cli/child_run.h - a command that runs to its end, without any lease to watch. */
#ifndef CLI_CHILD_RUN_H
#define CLI_CHILD_RUN_H

#include "cli/signals.h"

/* Runs it in the process group of this process. Signals of the terminal reach it directly; others
 * are passed on. INT, TERM, HUP or QUIT are stored in `end_signal` (may be NULL), the
 * number of the signal that it died of in `ret_died_of` (may be NULL; 0: none). Returns its exit
 * code; 126 or 127 after saying why it did not run. */
int child_run(char *const *arguments, char *const *environment, signal_watch *signals,
              int *end_signal, int *ret_died_of);

/* What a wait status is as an exit code. */
int child_code(int wait_status);

#endif

/* SPDX-License-Identifier: MIT */
/* cli/run_options.h - the options about a command that runs under a lock: dibs run, dibs elect. */
#ifndef CLI_RUN_OPTIONS_H
#define CLI_RUN_OPTIONS_H

#include <signal.h>

#include "cli/taking.h"

#define LOST_SIGNAL_IGNORE 0   /* --on-lost ignore */

typedef struct run_options {
  int32_t min_hold_ms, kill_after_ms;
  int lost_signal;
  bool is_foreground, is_quiet_on_success, wants_notify;
  const char *status_file;
  int status_fd;               /* -1: none */
  const char *shell_text;
} run_options;

#define RUN_DEFAULTS { .kill_after_ms = 5000, .lost_signal = SIGTERM, .status_fd = -1 }

extern const option_row options_run[];

/* The word of a signal that --on-lost takes, without SIG. */
const char *signal_name(int number);

/* Refuses values that contradict each other, after taking_check(). 0, or CODE_USAGE after saying
 * what is wrong. */
int run_options_check(const char *subcommand, const run_options *r, const taking_options *t);

#endif

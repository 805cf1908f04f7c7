/* SPDX-License-Identifier: MIT */
/* cli/run.h - one `dibs run`, from the options to the exit code. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include <jansson.h>

#include "cli/capture.h"
#include "cli/child.h"
#include "cli/environment.h"
#include "cli/notify.h"
#include "cli/run_schedule.h"
#include "cli/session.h"
#include "cli/signals.h"
#include "cli/take.h"

typedef struct run {
  const arguments *a;
  const char *name;
  char *const *command;       /* what to execute */
  char *shell_command[4];     /* room for sh -c TEXT */
  enum progress progress;

  session session;
  signal_watch signals;
  notify notify;
  capture capture;
  int status_fd;              /* -1: nobody wants a report */

  take_result taken;
  dibs_hold *hold;            /* NULL once released */
  uint64_t fence;
  int64_t granted_ms, held_ms;

  child child;
  kill_schedule schedule;
  int timer_fd;
  bool wants_continue;        /* the command is to be continued, if the lease allows */
  bool has_signalled;         /* in this fit of failing renewals */
  bool has_killed;
  bool has_told_loss;
  bool was_stopped_by_us;     /* the command did not come to its own end */
  bool is_lost;
  bool has_child_status;
  int child_status;           /* as from waitpid() */
} run;

/* Watches command and lease until the command has ended (run_watch.c). Renewals that
 * fail stop it in time: see run_schedule.h. */
void run_watch(run *r);

/* Keeps the lock until `until_ms`; ended early by a loss, INT or TERM. */
void run_hold_on(run *r, int64_t until_ms);

/* The variables for the command (run_tell.c). false: no memory. */
bool run_environment(run *r, environment *e);

void run_tell_acquired(const run *r);

/* Writes the report to --status-file, --status-fd and as an event. */
void run_report(const run *r, int code);

/* What the command's wait status is as an exit code. */
int run_child_code(int wait_status);

#endif

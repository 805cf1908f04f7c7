/* SPDX-License-Identifier: MIT */
/* cli/run.h - one `dibs run`, from the options to the exit code. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include <jansson.h>

#include "cli/capture.h"
#include "cli/child.h"
#include "cli/child_run.h"
#include "cli/environment.h"
#include "cli/notify.h"
#include "cli/run_options.h"
#include "cli/run_schedule.h"
#include "cli/session.h"
#include "cli/signals.h"
#include "cli/take.h"

typedef struct elect_arguments elect_arguments;

/* What runs under the lock at present: the command, or a hook of dibs elect. */
typedef struct run_job {
  const char *what;           /* for messages: "the command" */
  char *const *arguments;
  int lost_signal;            /* as run_options has it */
  int output, error;          /* -1: ours */
} run_job;

typedef struct run {
  const command_line *line;
  const taking_options *taking;
  const run_options *options;
  const elect_arguments *elect;   /* NULL: dibs run */
  target target;
  const char *name;           /* as shown */
  const char *word;           /* the subcommand, for messages about its usage */
  char *const *command;       /* what to execute; NULL: nothing, only lead */
  char *shell_command[4];     /* room for sh -c TEXT */
  enum progress progress;

  take_order order;
  session session;
  signal_watch signals;
  notify notify;
  capture capture;
  int status_fd;              /* -1: no report is wanted */

  dibs_observer *observer;        /* NULL: none; freed before the client */
  take_result taken;
  dibs_hold *hold;            /* NULL once released */
  uint64_t fence;
  int64_t granted_ms, held_ms;

  run_job job;
  child child;                /* of the job */
  kill_schedule schedule;
  int timer_fd;
  bool wants_continue;        /* the job is to be continued, if the lease allows */
  bool has_signalled;         /* in this fit of failing renewals */
  bool has_killed;
  bool has_reported_loss;
  bool was_stopped_by_us;     /* the job, or one before it, was sent the signal, killed or not
                                 started: a loss */
  bool is_lost;
  bool has_child_status;
  int child_status;           /* of the command, as from waitpid() */
  int64_t signalled_ms;       /* when, last; by clock_ms() */
  bool came_to_own_end;       /* the command: also after a signal and "renewed again" */
  bool outlived_signal;       /* and that was no end by the signal: it went on for kill_after */
  bool has_held_on;           /* the command ended under the lock, and --min-hold began */
  bool has_overslept;         /* it ended in time; this process, stopped, saw that when the lease
                                 was over */
  int end_signal;            /* INT, TERM, HUP or QUIT that came while we held it; 0 */
} run;

/* The fields of a run that has opened nothing yet. */
#define RUN_NOTHING_OPEN \
  .status_fd = -1, .timer_fd = -1, .capture = { -1, -1 }, .notify.fd = -1

/* ---- the steps, shared by run, flock and elect (run.c) ---- */

/* What to execute: `count` arguments, NULL after the last, or --command. 0, or a code. */
int run_find_command(run *r, char **arguments, int count);

/* Everything that needs no server: reports, password, signals. 0, or a code. */
int run_prepare(run *r);

/* Takes the target, runs `under_lock` with it and gives it back: the code to exit with. */
int run_turn(run *r, int (*under_lock)(run *r));

/* Runs the command under the lock; its code. */
int run_child(run *r);

/* All steps for one command, after target_read() has answered `code`: the code to exit with. */
int run_command_once(run *r, int code);

/* Whether the lease lasts past the time at which a job would be killed: this process can have been
 * stopped since the grant. */
bool run_may_start(const run *r);

/* Says that `what` does not start because it does not; the code. */
int run_not_started(run *r, const char *what);

/* Runs `job` under the lock, to its end or until the lease ends it. Returns 0 with what waitpid()
 * would give, or the code after saying why it did not start. */
int run_job_under_lock(run *r, const run_job *job, environment *e, int *ret_status);

/* Reports and closes; does not return where a server that does not answer keeps a thread
 * in the client. */
int run_end(run *r, int code);

/* Watches the job and the lease until the job has ended (run_watch.c), and returns its wait
 * status; at once where its guardian was killed at the start. Renewals that fail stop it in time:
 * see run_schedule.h. */
int run_watch(run *r);

/* " (the reason)" of renewals that failed or of a loss; "" without one. Returns ret_text. */
const char *run_why(const run *r, char ret_text[600]);

/* Whether the lease ends because of --max-hold rather than a renewal that failed. */
bool run_is_max_hold(const run *r);

/* The code of an error that ends the run with the loss of the lock; 0 where dibs elect stands for
 * election again. */
int run_loss_code(const run *r);

/* The times at which the job's guardian acts by itself: a little after this process would. */
guardian_order run_order(const run *r);

/* Keeps the lock until `until_ms`; ended early by a loss, and by a signal that ends programs
 * (signals_is_fatal()), which is returned, else 0. `steps_down`: also when the command, if there
 * were one, would have to be stopped. */
int run_hold_on(run *r, int64_t until_ms, bool steps_down);

/* Gives the lock back and says what became of it (run_release.c). */
void run_release(run *r);

/* The variables for the job (run_report.c); `is_broken` where memory was refused. */
void run_environment(run *r, environment *e);

void run_report_acquired(const run *r);

/* Writes the report to --status-file, --status-fd and as an event. */
void run_report(const run *r, int code);

#endif

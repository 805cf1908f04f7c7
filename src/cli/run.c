/* SPDX-License-Identifier: MIT */
/* cli/run.c - dibs run: holds what was taken while a command runs. */
#include "cli/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/errno_text.h"
#include "cli/clock.h"
#include "cli/commands.h"
#include "cli/descriptors.h"
#include "cli/environment.h"
#include "cli/message.h"

/* ---- what to run ---- */

static void use_shell(run *r, char *text)
{
  static char dash_c[] = "-c", sh[] = "/bin/sh";
  char *shell = getenv("SHELL"); /* as flock(1) */

  r->shell_command[0] = shell != NULL && *shell != '\0' ? shell : sh;
  r->shell_command[1] = dash_c;
  r->shell_command[2] = text;
  r->shell_command[3] = NULL;
  r->command = r->shell_command;
}

/* [--] CMD ..., or -c TEXT on either side of NAME, as flock has it. */
int run_find_command(run *r, char **arguments, int count)
{
  if (r->options->shell_text != NULL) {
    if (count > 0)
      return say_usage(r->word, "--command excludes CMD");
    use_shell(r, (char *)(uintptr_t)r->options->shell_text);
    return 0;
  }
  if (count > 0 && (strcmp(arguments[0], "-c") == 0 || strcmp(arguments[0], "--command") == 0)) {
    if (count != 2)
      return say_usage(r->word, "-c takes one text: dibs %s NAME -c 'TEXT'", r->word);
    use_shell(r, arguments[1]);
    return 0;
  }
  if (count > 0 && strcmp(arguments[0], "--") == 0) {
    arguments++;
    count--;
  }
  if (count <= 0)
    return say_usage(r->word, "no command to run: dibs %s NAME -- CMD", r->word);
  r->command = arguments;
  return 0;
}

static const char *program_name(const run *r)
{
  const char *slash;

  if (r->command == NULL)
    return NULL;
  if (r->command == r->shell_command)
    return "sh";
  slash = strrchr(r->command[0], '/');
  return slash == NULL ? r->command[0] : slash + 1;
}

static int open_report(run *r)
{
  r->status_fd = r->options->status_fd;
  if (r->options->status_file == NULL) {
    if (r->status_fd >= 0 && (!descriptor_is_open(r->status_fd) ||
                              fcntl(r->status_fd, F_SETFD, FD_CLOEXEC) != 0))
      return say_usage(r->word, "--status-fd %d: %s", r->status_fd, strerror(errno));
    return 0;
  }
  /* Now, so that a wrong path is known before the work. */
  r->status_fd = open(r->options->status_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (r->status_fd < 0)
    return say_fault(&(message_facts){ .code = CODE_FILE }, "cannot write %s: %s",
                     r->options->status_file, strerror(errno));
  return 0;
}

/* ---- under the lock ---- */

static int report_start_failure(const run *r, int error, bool is_exec)
{
  char shown[600];

  printable(r->job.arguments[0], shown, sizeof(shown));
  if (!is_exec) {
    return say_fault(&(message_facts) { .code = CODE_INTERNAL, .status = "DIBS_ERR_SYSTEM",
                                        .name = r->name },
                     "cannot start %s: %s", shown, errno_text(error));
  }
  return say_fault(&(message_facts) { .code = error == ENOENT ? CODE_NOT_FOUND
                                                              : CODE_NOT_EXECUTABLE,
                                      .name = r->name },
                   "%s: %s", shown, strerror(error));
}

int run_job_under_lock(run *r, const run_job *job, environment *e, int *ret_status)
{
  bool is_exec;
  int error;

  if (e->is_broken)
    return say_no_memory();
  r->job = *job;
  r->has_signalled = r->has_killed = r->wants_continue = false;
  error = child_start(&r->child,
                      &(child_plan) { .arguments = job->arguments,
                                      .environment = e->entries,
                                      .signals = &r->signals,
                                      .is_foreground = r->options->is_foreground,
                                      .has_lock_files = r->session.has_lock_files,
                                      .output = job->output,
                                      .error = job->error,
                                      .order = run_order(r),
                                      .lost_signal = job->lost_signal },
                      &is_exec);
  if (error == ETIME && !is_exec)
    return run_not_started(r, job->what);
  if (error != 0)
    return report_start_failure(r, error, is_exec);
  *ret_status = run_watch(r);
  return 0;
}

/* --min-hold, after a command that ended with `code`. */
static int hold_on(run *r, int code)
{
  int number;

  child_await(&r->child);
  r->has_held_on = dibs_hold_state(r->hold) != DIBS_HOLD_GONE;
  number = run_hold_on(r, r->granted_ms + r->options->min_hold_ms, false);

  return signals_is_key(number) && r->signals.is_by_terminal ? 128 + number : code;
}

int run_child(run *r)
{
  const run_job job = { .what = "the command", .arguments = r->command,
                        .lost_signal = r->options->lost_signal,
                        .output = r->capture.output, .error = r->capture.error };
  environment e;
  int code;

  if (!run_may_start(r))
    return run_not_started(r, job.what);
  run_environment(r, &e);
  code = run_job_under_lock(r, &job, &e, &r->child_status);
  environment_end(&e);
  if (code != 0)
    return code;
  r->has_child_status = true;
  r->came_to_own_end = !r->has_signalled && !r->has_killed && !r->child.is_by_guardian &&
                       !r->child.is_unguarded;
  r->outlived_signal = r->came_to_own_end &&
                       clock_ms() - r->signalled_ms >= r->schedule.kill_after_ms;
  code = child_code(r->child_status);
  return !r->was_stopped_by_us && r->options->min_hold_ms > 0 ? hold_on(r, code) : code;
}

/* --quiet-on-success: after the release, since a reader may not read. */
static int show_captured(run *r, int code)
{
  int number = capture_end(&r->capture, code != 0, &r->signals);

  if (number == 0)
    return code;
  r->end_signal = number;
  return 128 + number;
}

static int hold_meanwhile(run *r, int (*under_lock)(run *r))
{
  int code;

  r->hold = r->taken.hold;
  r->granted_ms = clock_ms();
  r->fence = dibs_hold_fence(r->hold);
  r->schedule = kill_schedule_for(r->taking->ttl_ms, r->options->kill_after_ms);
  if (r->timer_fd < 0)
    r->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  if (r->timer_fd < 0 || (r->options->is_quiet_on_success && !capture_begin(&r->capture))) {
    code = say_system(r->timer_fd < 0 ? "create a timer" : "keep the output of the command");
  } else {
    run_report_acquired(r);
    code = under_lock(r);
  }
  run_release(r);
  if (r->is_lost || r->was_stopped_by_us)
    code = CODE_LOST;
  return show_captured(r, code);
}

/* ---- the steps ---- */

int run_prepare(run *r)
{
  bool is_live;
  int code = open_report(r);

  if (code == 0)
    code = session_prepare(&r->session, r->line);
  if (code != 0)
    return code;
  r->session.runs_callbacks = true;
  r->order = (take_order) { .target = &r->target, .options = r->taking,
                            .is_quiet_on_success = r->options->is_quiet_on_success };
  r->progress = take_progress(r->line, &r->order, &is_live);
  if (!signals_begin(&r->signals))
    return say_system("receive signals");
  notify_begin(&r->notify, r->options->wants_notify);
  return 0;
}

int run_turn(run *r, int (*under_lock)(run *r))
{
  char name[600];
  int code = 0;

  if (r->session.client == NULL)
    code = session_open(&r->session, program_name(r));
  if (code != 0)
    return code;
  notify_send(&r->notify, "STATUS=waiting for %s",
              printable(r->name, name, sizeof(name)));
  take_lock(&r->session, &r->order, &r->signals, &r->taken);
  if (r->taken.signal != 0)
    return 128 + r->taken.signal;
  if (r->taken.hold == NULL)
    return r->taken.code;
  return hold_meanwhile(r, under_lock);
}

/* By Ctrl-C or Ctrl-\, while it waited, or while the command or a hook ran. */
static bool was_interrupted(const run *r, int number)
{
  if (!signals_is_key(number))
    return false;
  if (r->has_child_status && child_code(r->child_status) == 128 + number)
    return WIFSIGNALED(r->child_status);     /* one that handles the signal may exit with 130 */
  return r->taken.signal == number || r->end_signal == number;
}

/* The caller must see an interrupted program, or its loop or script would go on. */
static int leave(const run *r, int code)
{
  bool was_alone = r->child.ended_with_terminal && !r->signals.was_interrupted;
  bool is_by_terminal = was_alone || r->signals.is_by_terminal;
  bool may_hide_key = code == CODE_LOST && r->came_to_own_end && is_by_terminal;
  int number = (may_hide_key ? child_code(r->child_status) : code) - 128;

  if (!was_interrupted(r, number))
    return code;
  if (was_alone)
    signals_share_key(number);
  (void)signals_leave(number, is_by_terminal);
  return code;
}

int run_end(run *r, int code)
{
  bool is_closed;

  r->observer = dibs_observer_free(r->observer);
  is_closed = take_end(&r->session, &r->taken);
  child_await(&r->child);
  run_report(r, code);
  notify_end(&r->notify);
  if (r->timer_fd >= 0)
    close(r->timer_fd);
  code = leave(r, code);
  if (!is_closed)
    _exit(code);
  target_free(&r->target);
  return code;
}

int run_command_once(run *r, int code)
{
  if (code == 0)
    code = run_prepare(r);
  if (code != 0) {
    target_free(&r->target);
    return code;
  }
  code = run_turn(r, run_child);
  return run_end(r, code);
}

/* ---- the command ---- */

typedef struct run_arguments {
  command_line line;
  kind_options what;
  taking_options taking;
  run_options run;
} run_arguments;

/* As a command it would be missed only once the lock is there. */
static int refuse_late_option(const command_line *line, int named)
{
  const char *word = line->operand_count > named ? line->operands[named] : "";
  char shown[200];

  if (word[0] != '-' || line->is_after_dashes || strcmp(word, "--") == 0 ||
      strcmp(word, "-c") == 0 || strcmp(word, "--command") == 0)
    return 0;
  printable(word, shown, sizeof(shown));
  return say_usage("run", "%s stands after NAME, where CMD begins: options come before NAME. A "
                          "command of this name is ./%s, or comes after --", shown, shown);
}

static int find_target_and_command(run *r, const run_arguments *a)
{
  int named = a->what.multi == NULL ? 1 : 0;
  int code = refuse_late_option(&a->line, named);

  if (code != 0)
    return code;
  if (named == 0 && a->line.operand_count > 1 && strcmp(a->line.operands[1], "--") == 0)
    return say_usage("run", "--multi has all names: dibs run --multi a,b -- CMD");
  code = run_find_command(r, a->line.operands + named, a->line.operand_count - named);
  if (code != 0)
    return code;
  code = target_read(&r->target, "run", &a->what, named == 0 ? NULL : a->line.operands[0]);
  r->name = r->target.shown;
  return code;
}

static int run_check(void *data)
{
  run_arguments *a = data;
  int code = taking_check("run", &a->taking, &a->line);

  if (code == 0)
    code = run_options_check("run", &a->run, &a->taking);
  return code != 0 ? code : kind_check("run", &a->what);
}

static int run_start(void *data)
{
  const run_arguments *a = data;
  run r = { .line = &a->line, .taking = &a->taking,
            .options = &a->run, .word = "run", RUN_NOTHING_OPEN };

  return run_command_once(&r, find_target_and_command(&r, a));
}

const command run_command = {
  .name = "run", .operands = "NAME [--] CMD [ARG...]",
  .summary = "hold a lock while a command runs",
  .operands_min = 1, .operands_max = -1,
  .examples = { "dibs run -w 10s deploy -- make deploy      # wait at most 10 s, then exit 75",
                "dibs run -n --skip-ok --min-hold 40s mail -- ./digest.sh   # on thirty hosts",
                "dibs run -j 4 render -- ffmpeg -i in.mov out.mp4   # at most 4 anywhere",
                "dibs run --multi alice,bob -- ./transfer.sh   # both, or wait for both" },
  .notes =
      "Exit: the command's own code, 128+N after signal N; 75 busy, 79 the lock was lost\n"
      "and the command stopped, 69 no server, 126 and 127 no such command.",
  OPTIONS(GROUP(options_kind, run_arguments, what),
          GROUP(options_plain, run_arguments, what),
          GROUP(options_taking, run_arguments, taking),
          GROUP(options_run, run_arguments, run),
          COMMON, SERVER),
  ARGUMENTS(run_arguments, .line = LINE_DEFAULTS,
            .taking = TAKING_DEFAULTS,
            .run = RUN_DEFAULTS),
  .check = run_check,
  .run = run_start
};

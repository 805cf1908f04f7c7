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

#include "cli/clock.h"
#include "cli/commands.h"
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
int run_find_command(run *r, char **words, int count)
{
  if (r->a->shell_text != NULL) {
    if (count > 0)
      return say_usage(r->word, "--command excludes CMD");
    use_shell(r, (char *)(uintptr_t)r->a->shell_text);
    return 0;
  }
  if (count > 0 && (strcmp(words[0], "-c") == 0 || strcmp(words[0], "--command") == 0)) {
    if (count != 2)
      return say_usage(r->word, "-c takes one text: dibs %s NAME -c 'TEXT'", r->word);
    use_shell(r, words[1]);
    return 0;
  }
  if (count > 0 && strcmp(words[0], "--") == 0) {
    words++;
    count--;
  }
  if (count <= 0)
    return say_usage(r->word, "no command to run: dibs %s NAME -- CMD", r->word);
  r->command = words;
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
  r->status_fd = r->a->status_fd;
  if (r->a->status_file == NULL) {
    if (r->status_fd >= 0 && fcntl(r->status_fd, F_SETFD, FD_CLOEXEC) != 0)
      return say_usage(r->word, "--status-fd %d: %s", r->status_fd, strerror(errno));
    return 0;
  }
  /* Now, so that a wrong path is known before the work. */
  r->status_fd = open(r->a->status_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (r->status_fd < 0)
    return say_usage(r->word, "--status-file %s: %s", r->a->status_file, strerror(errno));
  return 0;
}

/* ---- under the lock ---- */

static int tell_start_failure(const run *r, int error, bool is_exec)
{
  char shown[600];

  printable(r->command[0], shown, sizeof(shown));
  if (!is_exec) {
    say("cannot start %s: %s", shown, strerror(error));
    return CODE_INTERNAL;
  }
  say("%s: %s", shown, strerror(error));
  return error == ENOENT ? CODE_NOT_FOUND : CODE_NOT_EXECUTABLE;
}

/* Returns 0 when the command runs. */
static int start_child(run *r)
{
  environment e;
  bool is_exec;
  int error;

  if (!run_environment(r, &e)) {
    environment_end(&e);
    say("not enough memory");
    return CODE_INTERNAL;
  }
  error = child_start(&r->child,
                      &(child_plan) { .arguments = r->command,
                                      .environment = e.entries,
                                      .signals = &r->signals,
                                      .is_foreground = r->a->is_foreground,
                                      .output = r->capture.output,
                                      .error = r->capture.error },
                      &is_exec);
  environment_end(&e);
  return error == 0 ? 0 : tell_start_failure(r, error, is_exec);
}

/* Gives the lock back and says what became of it. */
static void release(run *r)
{
  dibs_status status =
      r->target.kind == TARGET_LEADER ? dibs_resign(r->hold) : dibs_release(r->hold);
  char name[600];

  r->held_ms = clock_ms() - r->granted_ms;
  r->hold = NULL;
  printable(r->name, name, sizeof(name));
  if (status == DIBS_LOST || status == DIBS_EXPIRED || status == DIBS_TAKEN) {
    r->is_lost = true;
    if (!r->was_stopped_by_us)
      say("%s was lost%s%s", name,
          r->command == NULL ? "" : " before the command ended",
          status == DIBS_TAKEN ? ", and somebody else has it now" : "");
  } else if (status != DIBS_OK && r->a->is_verbose) {
    say("%s: the server has not confirmed the release; the lease ends by itself", name);
  }
}

int run_child(run *r)
{
  int code = start_child(r);

  if (code != 0)
    return code;
  run_watch(r);
  code = child_code(r->child_status);
  if (!r->was_stopped_by_us && r->a->min_hold_ms > 0)
    run_hold_on(r, r->granted_ms + r->a->min_hold_ms, false);
  return code;
}

static int hold_meanwhile(run *r, int (*under_lock)(run *r))
{
  int code;

  r->hold = r->taken.hold;
  r->granted_ms = clock_ms();
  r->fence = dibs_hold_fence(r->hold);
  r->schedule = kill_schedule_for(r->a->ttl_ms, r->a->kill_after_ms);
  if (r->timer_fd < 0)
    r->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  if (r->timer_fd < 0 || (r->a->is_quiet_on_success && !capture_begin(&r->capture))) {
    say("%s", strerror(errno));
    code = CODE_INTERNAL;
  } else {
    run_tell_acquired(r);
    code = under_lock(r);
  }
  release(r);
  if (r->is_lost || r->was_stopped_by_us)
    code = CODE_LOST;
  capture_end(&r->capture, code != 0);
  return code;
}

/* ---- the steps ---- */

int run_prepare(run *r)
{
  bool is_live;
  int code = open_report(r);

  if (code == 0)
    code = session_prepare(&r->session, r->a);
  if (code != 0)
    return code;
  r->progress = take_progress(r->a, &is_live);
  if (!signals_begin(&r->signals)) {
    say("%s", strerror(errno));
    return CODE_INTERNAL;
  }
  notify_begin(&r->notify, r->a->wants_notify);
  return 0;
}

int run_turn(run *r, int (*under_lock)(run *r))
{
  char name[600];
  int code = 0;

  if (r->session.client == NULL)
    code = session_open(&r->session, r->a, program_name(r));
  if (code != 0)
    return code;
  notify_tell(&r->notify, "STATUS=waiting for %s",
              printable(r->name, name, sizeof(name)));
  take_lock(&r->session, r->a, &r->target, 0, &r->signals, &r->taken);
  if (r->taken.signal != 0)
    return 128 + r->taken.signal;
  if (r->taken.hold == NULL)
    return r->taken.code;
  return hold_meanwhile(r, under_lock);
}

/* Ctrl-C on the terminal reached the command only, or us while waiting: whoever called us
 * must see an interrupted program, or its loop would go on. */
static int leave(const run *r, int code)
{
  bool was_interrupted = r->has_child_status && code == 128 + SIGINT &&
                         WIFSIGNALED(r->child_status) && !r->a->is_foreground;

  if (was_interrupted || r->taken.signal == SIGINT)
    return signals_leave(SIGINT);
  return code;
}

int run_end(run *r, int code)
{
  bool is_closed;

  r->ears = dibs_observer_free(r->ears);
  is_closed = take_end(&r->session, &r->taken);
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

/* ---- the command ---- */

static int find_target_and_command(run *r, const arguments *a)
{
  int named = a->multi == NULL ? 1 : 0;
  int code;

  if (named == 0 && a->operand_count > 1 && strcmp(a->operands[1], "--") == 0)
    return say_usage("run", "--multi has all names: dibs run --multi a,b -- CMD");
  code = run_find_command(r, a->operands + named, a->operand_count - named);
  if (code != 0)
    return code;
  code = target_read(&r->target, a, named == 0 ? NULL : a->operands[0]);
  r->name = r->target.shown;
  return code;
}

int command_run(const arguments *a)
{
  run r = { .a = a, .word = "run", .status_fd = -1, .timer_fd = -1, .capture = { -1, -1 },
            .notify.fd = -1 };
  int code = find_target_and_command(&r, a);

  if (code == 0)
    code = run_prepare(&r);
  if (code != 0) {
    target_free(&r.target);
    return code;
  }
  code = run_turn(&r, run_child);
  return run_end(&r, code);
}

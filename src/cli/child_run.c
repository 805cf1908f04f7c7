/* SPDX-License-Identifier: MIT */
/* cli/child_run.c - a command that runs to its end, without any lease to watch. */
#include "cli/child_run.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>

#include "base/errno_text.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/message.h"

int child_code(int wait_status)
{
  if (WIFSIGNALED(wait_status))
    return 128 + WTERMSIG(wait_status);
  return WEXITSTATUS(wait_status);
}

static void pass_signals_on(child *c, signal_watch *signals)
{
  struct signalfd_siginfo info;

  while (signals_next(signals, &info)) {
    int number = (int)info.ssi_signo;

    if (number != SIGCHLD && !signals_came_to_group(&info))
      (void)child_signal(c, number);
    if (number == SIGTSTP)
      signals_stop_self();
  }
}

static void watch_command(child *c, signal_watch *signals)
{
  int detail;

  do {
    struct pollfd fds[] = { { .fd = signals->fd, .events = POLLIN },
                            { .fd = c->fd, .events = POLLIN } };

    poll(fds, 2, -1);
    pass_signals_on(c, signals);
  } while (child_look(c, &detail) != CHILD_ENDED);
}

int child_run(char *const *arguments, char *const *environment, signal_watch *signals,
              int *ret_died_of)
{
  bool is_exec;
  child c;
  int status;
  int error = child_start(&c,
                          &(child_plan) { .arguments = arguments,
                                          .environment = environment,
                                          .signals = signals,
                                          .is_foreground = true,
                                          .output = -1,
                                          .error = -1,
                                          .order = { .signal_at_ms = GUARDIAN_NEVER,
                                                     .kill_at_ms = GUARDIAN_NEVER } },
                          &is_exec);

  *ret_died_of = 0;
  if (error != 0) {
    const message_facts facts = { .code = !is_exec          ? CODE_INTERNAL
                                          : error == ENOENT ? CODE_NOT_FOUND
                                                            : CODE_NOT_EXECUTABLE };
    char shown[600];

    return say_fault(&facts, is_exec ? "%s: %s" : "cannot start %s: %s",
                     printable(arguments[0], shown, sizeof(shown)), errno_text(error));
  }
  if (c.pid > 0)
    watch_command(&c, signals);
  status = c.pid > 0 ? child_reap(&c, false) : c.status;
  if (WIFSIGNALED(status))
    *ret_died_of = WTERMSIG(status);
  return child_code(status);
}

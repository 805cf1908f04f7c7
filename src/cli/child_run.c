/* SPDX-License-Identifier: MIT */
/* cli/child_run.c - a command that runs to its end, without any lease to watch. */
#include "cli/child_run.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/child.h"
#include "cli/cli.h"
#include "cli/message.h"

int child_code(int wait_status)
{
  if (WIFSIGNALED(wait_status))
    return 128 + WTERMSIG(wait_status);
  return WEXITSTATUS(wait_status);
}

static void watch_command(child *c, signal_watch *signals, int *told_to_end)
{
  for (;;) {
    struct pollfd fd = { .fd = signals->fd, .events = POLLIN };
    struct signalfd_siginfo info;
    int detail;

    poll(&fd, 1, -1);
    while (signals_next(signals, &info)) {
      int number = (int)info.ssi_signo;

      if (number == SIGCHLD && child_look(c, &detail) == CHILD_ENDED)
        return;
      if (told_to_end != NULL && signals_is_end(number))
        *told_to_end = number;
      if (number == SIGTSTP)
        signals_stop_self();
      else if (number != SIGCHLD && info.ssi_code != SI_KERNEL)
        child_signal(c, number);
    }
  }
}

int child_run(char *const *words, char *const *environment, signal_watch *signals,
              int *told_to_end)
{
  bool is_exec;
  child c;
  int error = child_start(&c,
                          &(child_plan) { .arguments = words,
                                          .environment = environment,
                                          .signals = signals,
                                          .is_foreground = true,
                                          .output = -1,
                                          .error = -1 },
                          &is_exec);

  if (error != 0) {
    char shown[600];

    say("%s: %s", printable(words[0], shown, sizeof(shown)), strerror(error));
    return !is_exec          ? CODE_INTERNAL
           : error == ENOENT ? CODE_NOT_FOUND
                             : CODE_NOT_EXECUTABLE;
  }
  watch_command(&c, signals, told_to_end);
  return child_code(child_reap(&c));
}

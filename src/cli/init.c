/* SPDX-License-Identifier: MIT */
/* cli/init.c - dibs as the first process of a container. */
#include "cli/init.h"

#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static bool has_init;

/* Ends this process once `child` has ended; the kernel kills what is left in the container. */
static void reap(pid_t child)
{
  pid_t pid;
  int status;

  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    if (pid == child)
      _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
  }
}

/* The child has what it sent to its group, and what the kernel sends to the group for a terminal.
 * A hang-up comes only to the leader of the session, which is pid 1. */
static bool has_child_got(const siginfo_t *info, pid_t child)
{
  int number = info->si_signo;

  return info->si_pid == child ||
         (info->si_code == SI_KERNEL && (number == SIGINT || number == SIGQUIT ||
                                         number == SIGTSTP || number == SIGWINCH));
}

static _Noreturn void serve(pid_t child, const sigset_t *all)
{
  for (;;) {
    siginfo_t info;
    int number = sigwaitinfo(all, &info);

    if (number == SIGCHLD)
      reap(child);
    else if (number > 0 && !has_child_got(&info, child))
      kill(child, number);
  }
}

void init_begin(void)
{
  sigset_t all, before;
  pid_t child;

  if (getpid() != 1)
    return;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  signal(SIGCHLD, SIG_DFL);
  child = fork();
  if (child > 0)
    serve(child, &all);
  has_init = child == 0;
  sigprocmask(SIG_SETMASK, &before, NULL);
}

bool init_is_parent(void)
{
  return has_init;
}

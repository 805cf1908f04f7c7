/* SPDX-License-Identifier: MIT */
/* cli/child.c - the command that runs inside. */
#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- terminal ---- */

/* Our controlling terminal; -1 when there is none. */
static int terminal_open(void)
{
  return open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
}

static bool is_ours_now(const child *c)
{
  return c->terminal >= 0 && tcgetpgrp(c->terminal) == getpgrp();
}

/* SIGTTOU is blocked (signals.c), so handing over from the background works. */
static void give_terminal(child *c)
{
  c->has_terminal = tcsetpgrp(c->terminal, c->pid) == 0;
}

static void take_terminal_back(child *c)
{
  if (c->has_terminal)
    tcsetpgrp(c->terminal, getpgrp());
  c->has_terminal = false;
}

static bool wants_terminal_at_once(const child *c)
{
  return is_ours_now(c) && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
}

/* ---- start ---- */

/* In the child. Only async-signal-safe calls; execvpe() of glibc and musl allocates
 * nothing. Tells errno through the pipe, which exec closes. */
static _Noreturn void become_command(const child_plan *plan, const child *c,
                                     bool gets_terminal, pid_t parent, int failure_pipe)
{
  int error;

  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(128 + SIGKILL); /* it died before that */
  if (c->has_group)
    setpgid(0, 0);
  if (gets_terminal)
    tcsetpgrp(c->terminal, getpid());
  if (plan->output >= 0)
    dup2(plan->output, STDOUT_FILENO);
  if (plan->error >= 0)
    dup2(plan->error, STDERR_FILENO);
  signals_restore(plan->signals);
  execvpe(plan->arguments[0], plan->arguments, plan->environment);

  error = errno;
  if (write(failure_pipe, &error, sizeof(error)) < 0)
    _exit(126);
  _exit(127);
}

int child_start(child *c, const child_plan *plan, bool *ret_is_exec)
{
  int failure_pipe[2], error = 0;
  pid_t parent = getpid();
  bool gets_terminal;
  ssize_t size;

  *c = (child) { .pid = 0, .has_group = !plan->is_foreground, .terminal = -1 };
  *ret_is_exec = false;
  if (pipe2(failure_pipe, O_CLOEXEC) != 0)
    return errno;
  if (c->has_group)
    c->terminal = terminal_open();
  gets_terminal = wants_terminal_at_once(c);

  c->pid = fork();
  if (c->pid == 0)
    become_command(plan, c, gets_terminal, parent, failure_pipe[1]);
  close(failure_pipe[1]);
  if (c->pid < 0) {
    error = errno;
    c->pid = 0;
  } else {
    /* Here too, so that the group is there whoever runs first. */
    if (c->has_group)
      setpgid(c->pid, c->pid);
    if (gets_terminal)
      give_terminal(c);
    do
      size = read(failure_pipe[0], &error, sizeof(error));
    while (size < 0 && errno == EINTR);
    *ret_is_exec = size == (ssize_t)sizeof(error);
    if (*ret_is_exec) {
      child_reap(c);
    } else {
      error = 0;
    }
  }
  close(failure_pipe[0]);
  if (c->pid == 0 && c->terminal >= 0)
    close(c->terminal);
  return error;
}

/* ---- signals and states ---- */

void child_signal(const child *c, int number)
{
  if (c->pid > 0)
    kill(c->has_group ? -c->pid : c->pid, number);
}

enum child_state child_look(const child *c, int *ret_detail)
{
  siginfo_t info = { .si_pid = 0 };

  /* Stops first: they are consumed, while an end stays to be seen. */
  if (waitid(P_PID, (id_t)c->pid, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid != 0) {
    *ret_detail = info.si_status;
    return CHILD_STOPPED;
  }
  info.si_pid = 0;
  if (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      info.si_pid != 0)
    return CHILD_ENDED;
  return CHILD_RUNS;
}

int child_reap(child *c)
{
  int status = 0;

  while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
    continue;
  take_terminal_back(c);
  if (c->terminal >= 0)
    close(c->terminal);
  c->terminal = -1;
  c->pid = 0;
  return status;
}

/* It waits for a terminal that it will never have: what the kernel does to stopped jobs whose
 * shell has ended. One that does not mind stays stopped. */
static void hang_up(child *c)
{
  if (c->was_hung_up)
    return;
  c->was_hung_up = true;
  kill(-c->pid, SIGHUP);
  kill(-c->pid, SIGCONT);
}

bool child_share_stop(child *c, int stop_signal)
{
  bool wants_terminal = stop_signal == SIGTTIN || stop_signal == SIGTTOU;

  if (!c->has_group || c->terminal < 0)
    return false;
  if (wants_terminal && !c->has_terminal && is_ours_now(c)) {
    give_terminal(c);
    kill(-c->pid, SIGCONT);
    return false;
  }
  if (!wants_terminal && stop_signal != SIGTSTP)
    return false;
  take_terminal_back(c);
  if (!wants_terminal) {
    signals_stop_self();
    return true;
  }
  if (signals_stop_in_background(c->terminal))
    return true;
  hang_up(c);
  return false;
}

void child_continue(child *c)
{
  /* By `fg` we are in the foreground again, by `bg` not. */
  if (is_ours_now(c))
    give_terminal(c);
  kill(-c->pid, SIGCONT);
}

void child_group_wait(pid_t group, int wait_ms)
{
  const struct timespec step = { .tv_nsec = 2000000 };

  for (int waited = 0; waited < wait_ms && kill(-group, 0) == 0; waited += 2)
    nanosleep(&step, NULL);
}

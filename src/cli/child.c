/* SPDX-License-Identifier: MIT */
/* cli/child.c - the command that runs inside. */
#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/process_tree.h"

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

typedef struct becoming {
  const child_plan *plan;
  const child *c;
  bool gets_terminal, asks_for_terminal;
  int failure_pipe;
} becoming;

/* From the foreground we hand the terminal over when a read stops the command. A caller that is no
 * job of its own, as what bash runs in $(...), has the stop ignored: then the read would fail. */
static void stop_at_read(void)
{
  const struct sigaction usual = { .sa_handler = SIG_DFL };

  sigaction(SIGTTIN, &usual, NULL);
}

/* In the child. Only async-signal-safe calls; execvpe() of glibc and musl allocates
 * nothing. Writes errno to the pipe, which exec closes. */
static void become_command(const void *data, pid_t parent)
{
  const becoming *b = data;
  const child_plan *plan = b->plan;
  int error;

  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(128 + SIGKILL); /* it died before that */
  if (b->c->has_group)
    setpgid(0, 0);
  if (b->gets_terminal)
    tcsetpgrp(b->c->terminal, getpid());
  if (b->asks_for_terminal)
    stop_at_read();
  if (plan->output >= 0)
    dup2(plan->output, STDOUT_FILENO);
  if (plan->error >= 0)
    dup2(plan->error, STDERR_FILENO);
  signals_restore(plan->signals);
  execvpe(plan->arguments[0], plan->arguments, plan->environment);

  error = errno;
  if (write(b->failure_pipe, &error, sizeof(error)) < 0)
    _exit(126);
  _exit(127);
}

/* Waits for the command's exec. Returns 0, or errno. */
static int wait_for_exec(int failure_pipe, bool *ret_is_exec)
{
  int error = 0;
  ssize_t size;

  do
    size = read(failure_pipe, &error, sizeof(error));
  while (size < 0 && errno == EINTR);
  *ret_is_exec = size == (ssize_t)sizeof(error);
  return *ret_is_exec ? error : 0;
}

/* false: the guardian has ended. */
static bool next_report(const child *c, int flags, guardian_report *ret)
{
  ssize_t size;

  do
    size = recv(c->fd, ret, sizeof(*ret), flags);
  while (size < 0 && errno == EINTR);
  if (size < 0 && errno == EAGAIN) {
    ret->event = 0;
    return true;
  }
  return size == (ssize_t)sizeof(*ret);
}

/* Until both have ended: the guardian closes the socket, the second one is a child. */
static void await_guardians(const child *c)
{
  guardian_report unread;

  while (next_report(c, 0, &unread))
    continue;
  while (waitpid(c->second, NULL, 0) < 0 && errno == EINTR)
    continue;
}

static void close_all(child *c)
{
  if (c->fd >= 0)
    close(c->fd);
  if (c->terminal >= 0)
    close(c->terminal);
  c->fd = c->terminal = -1;
  c->pid = c->guardian = c->second = 0;
}

/* It was killed before it named the command. That may have had the terminal already; the kernel has
 * killed it. */
static void begin_unguarded(child *c, bool had_terminal)
{
  kill(c->second, SIGCONT);
  await_guardians(c);
  c->is_unguarded = true;
  c->status = SIGKILL;
  c->has_terminal = had_terminal;
  take_terminal_back(c);
  close_all(c);
}

/* Returns 0, or the errno of a fork. */
static int start_guardian(child *c, const child_plan *plan, const becoming *b)
{
  guardian_report first;

  c->second = guardian_start(&(guardian_plan) { .become = become_command,
                                                .data = b,
                                                .first = plan->order,
                                                .signal = plan->lost_signal,
                                                .has_group = c->has_group,
                                                .has_lock_files = plan->has_lock_files },
                             &c->fd);
  if (c->second < 0)
    return errno;
  if (!next_report(c, 0, &first)) {
    begin_unguarded(c, b->gets_terminal);
    return 0;
  }
  if (first.event == GUARDIAN_FAILED) {
    await_guardians(c);
    return first.number;
  }
  c->pid = first.number;
  c->guardian = first.guardian;
  return 0;
}

int child_start(child *c, const child_plan *plan, bool *ret_is_exec)
{
  int failure_pipe[2], error;
  becoming b = { .plan = plan, .c = c };

  *c = (child) { .pid = 0, .fd = -1, .has_group = !plan->is_foreground, .terminal = -1 };
  *ret_is_exec = false;
  if (pipe2(failure_pipe, O_CLOEXEC) != 0)
    return errno;
  if (c->has_group)
    c->terminal = terminal_open();
  b.gets_terminal = wants_terminal_at_once(c);
  b.asks_for_terminal = is_ours_now(c) && !b.gets_terminal;
  b.failure_pipe = failure_pipe[1];

  error = start_guardian(c, plan, &b);
  close(failure_pipe[1]);
  if (error != 0) {
    close_all(c);
  } else if (c->pid > 0) {
    if (b.gets_terminal)
      give_terminal(c);
    error = wait_for_exec(failure_pipe[0], ret_is_exec);
    if (error != 0)
      child_reap(c, true);
  }
  close(failure_pipe[0]);
  return error;
}

/* ---- signals and states ---- */

static void give_order(const child *c, const guardian_order *order)
{
  if (c->fd < 0)
    return;
  if (send(c->fd, order, sizeof(*order), MSG_NOSIGNAL | MSG_DONTWAIT) > 0 || errno == EAGAIN)
    kill(c->guardian, SIGCONT);     /* stopped, it would guard nothing */
  kill(c->second, SIGCONT);
}

bool child_signal(const child *c, int number)
{
  bool is_permitted;

  if (c->pid <= 0)
    return true;
  if (number == SIGKILL)        /* first, so that it is done if this process gets no further */
    give_order(c, &(guardian_order) { .verb = GUARDIAN_KILL });
  is_permitted = kill(c->has_group ? -c->pid : c->pid, number) == 0 || errno != EPERM;
  if (signals_is_end(number))
    kill(c->has_group ? -c->pid : c->pid, SIGCONT);   /* stopped, it could not end */
  return is_permitted;
}

void child_guard(const child *c, const guardian_order *order)
{
  give_order(c, order);
}

/* The kernel has killed the command with the guardian. The second one kills all else, as far as
 * it finds it in /proc; the group is found without. */
static void end_unguarded(child *c)
{
  const struct timespec step = { .tv_nsec = 2000000 };
  pid_t to = c->has_group ? -c->pid : c->pid;

  kill(c->second, SIGCONT);
  c->is_unguarded = true;
  c->status = SIGKILL;
  for (int waited = 0; waited < 500 && kill(to, c->has_group ? SIGKILL : 0) == 0; waited += 2)
    nanosleep(&step, NULL);
}

enum child_state child_look(child *c, int *ret_detail)
{
  guardian_report report;

  if (!next_report(c, MSG_DONTWAIT, &report)) {
    end_unguarded(c);
    return CHILD_ENDED;
  }
  switch (report.event) {
  case GUARDIAN_STOPPED:
    *ret_detail = report.number;
    /* A report from before the last SIGCONT: this process would stop, and nothing continues it
     * when the command has ended by a signal. */
    return process_may_be_stopped(c->pid) ? CHILD_STOPPED : CHILD_RUNS;
  case GUARDIAN_ENDED:
    c->status = report.number;
    c->is_by_guardian = report.is_by_guardian;
    c->ended_before_ms = report.kill_at_ms;
    return CHILD_ENDED;
  case GUARDIAN_STARTED:
  default:
    return CHILD_RUNS;
  }
}

static void keep_terminal(child *c)
{
  c->ended_with_terminal = c->has_terminal;
  take_terminal_back(c);
}

int child_reap(child *c, bool ends_tree)
{
  if (ends_tree)
    give_order(c, &(guardian_order) { .verb = GUARDIAN_KILL });
  give_order(c, &(guardian_order) { .verb = GUARDIAN_LEAVE });
  await_guardians(c);
  keep_terminal(c);
  close_all(c);
  return c->status;
}

int child_leave(child *c)
{
  if (c->is_unguarded)
    return child_reap(c, false);       /* the second guardian still kills */
  give_order(c, &(guardian_order) { .verb = GUARDIAN_LEAVE });
  c->pid = 0;                          /* is reaped, and may be another's */
  keep_terminal(c);
  return c->status;
}

void child_await(child *c)
{
  if (c->second == 0)
    return;
  await_guardians(c);
  close_all(c);
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
  bool wants_terminal = stop_signal == SIGTTIN || stop_signal == SIGTTOU, is_by_terminal;

  if (!c->has_group || c->terminal < 0)
    return false;
  if (wants_terminal && !c->has_terminal && is_ours_now(c)) {
    give_terminal(c);
    kill(-c->pid, SIGCONT);
    return false;
  }
  if (!wants_terminal && stop_signal != SIGTSTP)
    return false;
  is_by_terminal = tcgetpgrp(c->terminal) == c->pid;
  take_terminal_back(c);
  if (!wants_terminal) {
    if (is_by_terminal)
      signals_stop_group();
    else
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
  kill(c->has_group ? -c->pid : c->pid, SIGCONT);
}

/* SPDX-License-Identifier: MIT */
/* cli/guardian.c - the process between the wrapper and its command. */
#include "cli/guardian.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/descriptors.h"
#include "cli/lock_copies.h"
#include "cli/process_tree.h"

#define TITLE "lease-guardian"
#define GUARDIAN_SOCKET 3

/* How long a kill is repeated: a process in an uninterruptible call dies after that call. */
#define KILL_PATIENCE_MS 2000

/* A process that forks and ends at once is gone before a walk over /proc comes to it. But its
 * child is an orphan, and so a child of the guardian: these are killed in a tight loop. */
#define CHILDREN_PASSES 100

typedef struct guard {
  pid_t command;
  bool has_group;
  int signal;
  int socket, children, timer;
  guardian_order order;
  bool has_signalled, has_killed;
  bool has_reported_end;
} guard;

/* ---- its title ---- */

static char *title_area;
static size_t title_size;

void guardian_keep_title(int argc, char **argv)
{
  char *end = argc > 0 ? argv[0] : NULL;

  title_area = end;
  for (int i = 0; i < argc && argv[i] == end; i++)
    end += strlen(argv[i]) + 1;
  title_size = title_area == NULL ? 0 : (size_t)(end - title_area);
}

static void set_title(void)
{
  prctl(PR_SET_NAME, TITLE);
  if (title_size == 0)
    return;
  memset(title_area, 0, title_size);
  memcpy(title_area, TITLE,
         sizeof(TITLE) < title_size ? sizeof(TITLE) - 1 : title_size - 1);
}

/* ---- the command ---- */

/* The second guardian knows no command: the wrapper kills its group. */
static void signal_command(const guard *g, int number)
{
  if (g->command > 0)
    kill(g->has_group ? -g->command : g->command, number);
}

/* The command stays a zombie until the wrapper says LEAVE, so that its pid and its group's
 * number are not reused while the wrapper may send signals to them. */
static bool has_ended(const guard *g)
{
  siginfo_t info = { .si_pid = 0 };

  return waitid(P_PID, (id_t)g->command, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid != 0;
}

/* What a command leaves running when it comes to its own end is left alone. */
static bool is_ending(const guard *g)
{
  return g->has_signalled || g->order.is_ending;
}

static void reap_orphans(const guard *g)
{
  siginfo_t info = { .si_pid = 0 };

  while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0 &&
         info.si_pid != g->command) {
    waitpid(info.si_pid, NULL, WNOHANG);
    info.si_pid = 0;
  }
}

static void kill_tree(guard *g)
{
  const struct timespec step = { .tv_nsec = 1000000 };
  int64_t until = clock_ms() + KILL_PATIENCE_MS;
  int children = 1;

  g->has_killed = true;
  do {
    signal_command(g, SIGKILL);
    reap_orphans(g);
    for (int i = 0; i < CHILDREN_PASSES && children > 0; i++)
      children = process_children_kill(g->command);
    if (process_tree_kill() == 0 && (children = process_children_kill(g->command)) == 0)
      return;
    nanosleep(&step, NULL);
  } while (clock_ms() < until);
}

/* ---- reports ---- */

static void report(const guard *g, enum guardian_event event, int number)
{
  guardian_report r;

  memset(&r, 0, sizeof(r));
  r.event = event;
  r.number = number;
  r.guardian = getpid();
  r.is_by_guardian = g->has_signalled || g->has_killed;
  r.kill_at_ms = clock_ms() < g->order.kill_at_ms ? g->order.kill_at_ms : 0;
  /* A stop may be dropped by a wrapper that reads nothing; an end waits for it. */
  (void)!send(g->socket, &r, sizeof(r),
              MSG_NOSIGNAL | (event == GUARDIAN_ENDED ? 0 : MSG_DONTWAIT));
}

/* This process did not fork. */
static _Noreturn void fail(int socket_fd, int error)
{
  const guard g = { .socket = socket_fd };

  report(&g, GUARDIAN_FAILED, error);
  _exit(1);
}

/* As waitpid() would have it, from a state that is left as it is. */
static int wait_status(const siginfo_t *info)
{
  return info->si_code == CLD_EXITED ? info->si_status << 8 : info->si_status & 0x7f;
}

static void look_at_command(guard *g)
{
  siginfo_t info = { .si_pid = 0 };
  id_t id = (id_t)g->command;

  if (g->has_reported_end)
    return;
  if (waitid(P_PID, id, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid != 0)
    report(g, GUARDIAN_STOPPED, info.si_status);
  info.si_pid = 0;
  if (waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
    return;
  g->has_reported_end = true;
  report(g, GUARDIAN_ENDED, wait_status(&info));
}

/* ---- orders ---- */

/* Reaps the command if it has ended: init of a container may reap nothing. */
static _Noreturn void leave(const guard *g)
{
  waitpid(g->command, NULL, WNOHANG);
  reap_orphans(g);
  _exit(0);
}

static void obey(guard *g)
{
  guardian_order order;
  ssize_t size = recv(g->socket, &order, sizeof(order), MSG_DONTWAIT);

  if (size < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (size != (ssize_t)sizeof(order)) {
    if (!has_ended(g) || is_ending(g))
      kill_tree(g);       /* the wrapper has died */
    leave(g);
  }
  switch (order.verb) {
  case GUARDIAN_WATCH:
    g->order = order;
    break;
  case GUARDIAN_KILL:
    kill_tree(g);
    break;
  case GUARDIAN_LEAVE:
  default:
    leave(g);
  }
}

/* ---- times ---- */

/* Does what is due and arms the timer: it runs on while the machine sleeps. */
static void act_in_time(guard *g)
{
  struct itimerspec when;
  int64_t now = clock_ms(), next;

  if (g->has_killed || (has_ended(g) && !is_ending(g)))
    return;
  if (now >= g->order.kill_at_ms) {
    kill_tree(g);
    return;
  }
  if (now >= g->order.signal_at_ms) {
    g->order.signal_at_ms = GUARDIAN_NEVER;
    g->has_signalled = true;
    signal_command(g, g->signal);
    signal_command(g, SIGCONT);
  }
  next = g->order.signal_at_ms < g->order.kill_at_ms ? g->order.signal_at_ms
                                                     : g->order.kill_at_ms;
  memset(&when, 0, sizeof(when));
  if (next != GUARDIAN_NEVER) {
    when.it_value.tv_sec = (time_t)(next / 1000);
    when.it_value.tv_nsec = (long)(next % 1000 * 1000000 + 1);
  }
  timerfd_settime(g->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static _Noreturn void watch(guard *g)
{
  for (;;) {
    struct pollfd fds[] = { { .fd = g->socket, .events = POLLIN },
                            { .fd = g->children, .events = POLLIN },
                            { .fd = g->timer, .events = POLLIN } };
    struct signalfd_siginfo info;
    uint64_t expirations;

    act_in_time(g);
    look_at_command(g);
    poll(fds, 3, -1);
    while (read(g->children, &info, sizeof(info)) == (ssize_t)sizeof(info))
      continue;
    (void)!read(g->timer, &expirations, sizeof(expirations));
    reap_orphans(g);
    /* What has happened to the command is reported before an order can end this process. */
    look_at_command(g);
    if (fds[0].revents != 0)
      obey(g);
  }
}

/* ---- start ---- */

/* What both guardians are: nothing of the caller's is kept but its lock files, no signal but
 * SIGKILL ends them. */
static void stand_apart(const lock_copies *locks, int first_to_close)
{
  sigset_t all;

  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  set_title();
  lock_copies_close_others(locks, first_to_close);
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    close(fd);
  stdio_fill();
  /* So that file systems can be unmounted; a failure does no harm. */
  (void)!chdir("/");
}

static int own_descriptors(int *ret_children)
{
  sigset_t child;

  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  *ret_children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
}

/* vfork() copies no page tables, and returns when the command executes its program. */
static pid_t fork_command(const guardian_plan *plan, pid_t wrapper_group)
{
  const pid_t self = getpid();
  pid_t pid = vfork();

  if (pid == 0) {
    if (!plan->has_group)
      setpgid(0, wrapper_group);
    plan->become(plan->data, self);
    _exit(127);
  }
  return pid;
}

static _Noreturn void guardian_main(const guardian_plan *plan, const lock_copies *locks,
                                    int socket_fd, pid_t wrapper_group)
{
  guard g = { .has_group = plan->has_group, .signal = plan->signal, .order = plan->first,
              .socket = GUARDIAN_SOCKET };

  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (clock_ms() >= g.order.kill_at_ms)
    fail(socket_fd, ETIME);
  g.command = fork_command(plan, wrapper_group);
  if (g.command < 0)
    fail(socket_fd, errno);
  if (socket_fd != GUARDIAN_SOCKET)
    dup2(socket_fd, GUARDIAN_SOCKET);
  /* After exec: the command's arguments are in its title. */
  stand_apart(locks, GUARDIAN_SOCKET + 1);
  g.timer = own_descriptors(&g.children);
  report(&g, GUARDIAN_STARTED, (int)g.command);
  watch(&g);
}

/* The second guardian. It becomes the parent of all that the guardian was the parent of. */
static _Noreturn void stand_behind(const guardian_plan *plan, const lock_copies *locks,
                                   int socket_fd)
{
  const pid_t wrapper_group = getpgrp();
  guard second = { .command = 0 };
  int status = 0;
  pid_t guardian;

  /* Before the command runs: a kill of the wrapper's group is not to end the guardians. */
  setpgid(0, 0);
  /* When the wrapper dies the kernel continues this process, which continues the guardian. That it
   * continues an orphaned group is not enough: it looks for members that have stopped, not for a
   * stop that a busy machine has not delivered yet. SIGCONT discards that. */
  prctl(PR_SET_PDEATHSIG, SIGCONT);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  guardian = fork();
  if (guardian == 0)
    guardian_main(plan, locks, socket_fd, wrapper_group);
  if (guardian < 0)
    fail(socket_fd, errno);
  stand_apart(locks, STDERR_FILENO + 1);
  while (waitpid(guardian, &status, WUNTRACED) < 0 ? errno == EINTR
                                                   : WIFSTOPPED(status))
    kill(guardian, SIGCONT);
  if (WIFSIGNALED(status))
    kill_tree(&second);
  _exit(0);
}

pid_t guardian_start(const guardian_plan *plan, int *ret_fd)
{
  int sockets[2], error;
  lock_copies locks = { .count = 0 };
  pid_t pid;

  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
    return -1;
  if (plan->has_lock_files)
    lock_copies_make(&locks, GUARDIAN_SOCKET + 1);
  pid = fork();
  if (pid == 0) {
    close(sockets[0]);
    stand_behind(plan, &locks, sockets[1]);
  }
  error = errno;
  lock_copies_close(&locks);
  close(sockets[1]);
  if (pid < 0)
    close(sockets[0]);
  else
    *ret_fd = sockets[0];
  errno = error;
  return pid;
}

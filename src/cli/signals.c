/* SPDX-License-Identifier: MIT */
/* cli/signals.c - signals as bytes to read, and as the child found them. */
#include "cli/signals.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/init.h"

/* And all real-time signals: images name one of them as STOPSIGNAL. */
static const int watched[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,   SIGUSR2,
                               SIGTSTP, SIGCONT, SIGABRT, SIGALRM, SIGVTALRM, SIGPROF,
                               SIGIO,   SIGPWR,  SIGXCPU, SIGWINCH,
#ifdef SIGSTKFLT
                               SIGSTKFLT,
#endif
};

static bool is_ignored(int number)
{
  struct sigaction now;

  return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/* How the caller of this program had them; all zero is SIG_DFL. */
static struct sigaction pipe_before, file_limit_before;
static const struct sigaction ignored = { .sa_handler = SIG_IGN };

void signals_outlive_readers(void)
{
  sigaction(SIGPIPE, &ignored, &pipe_before);
}

void signals_outlive_file_limit(void)
{
  sigaction(SIGXFSZ, &ignored, &file_limit_before);
}

void signals_end_with_reader(void)
{
  sigaction(SIGPIPE, &pipe_before, NULL);
}

static void add_unless_ignored(sigset_t *set, int number)
{
  if (!is_ignored(number))
    sigaddset(set, number);
}

bool signals_is_fatal(int number)
{
  switch (number) {
  case SIGUSR1:
  case SIGUSR2:
  case SIGTSTP:
  case SIGCONT:
  case SIGCHLD:
    return false;
  case SIGWINCH:
    return init_is_parent();
  default:
    return true;
  }
}

bool signals_begin(signal_watch *w)
{
  struct sigaction normal;
  sigset_t wanted, blocked;

  w->was_interrupted = w->is_by_terminal = false;
  sigemptyset(&wanted);
  for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
    add_unless_ignored(&wanted, watched[i]);
  for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
    add_unless_ignored(&wanted, number);
  /* Ignored, it would take the child's exit code from us. */
  memset(&normal, 0, sizeof(normal));
  normal.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &normal, &w->child_before);
  sigaddset(&wanted, SIGCHLD);

  /* SIGTTOU is not read, only kept from stopping us while we hand the terminal over. */
  blocked = wanted;
  sigaddset(&blocked, SIGTTOU);
  if (sigprocmask(SIG_BLOCK, &blocked, &w->before) != 0)
    return false;

  w->fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  return w->fd >= 0;
}

static bool is_new_size(const struct signalfd_siginfo *info)
{
  return info->ssi_signo == SIGWINCH && info->ssi_code == SI_KERNEL;
}

/* When a terminal hangs up, the group gets SIGHUP only once the leader of the session has ended. */
static bool is_for_leader_alone(int number)
{
  return number == SIGHUP && getsid(0) == getpid();
}

bool signals_came_to_group(const struct signalfd_siginfo *info)
{
  return info->ssi_code == SI_KERNEL && !is_for_leader_alone((int)info->ssi_signo) &&
         (signals_is_end((int)info->ssi_signo) || info->ssi_signo == SIGTSTP);
}

bool signals_next(signal_watch *w, struct signalfd_siginfo *ret_signal)
{
  do {
    if (read(w->fd, ret_signal, sizeof(*ret_signal)) != (ssize_t)sizeof(*ret_signal))
      return false;
  } while (is_new_size(ret_signal));
  if (signals_is_key((int)ret_signal->ssi_signo)) {
    w->was_interrupted = true;
    w->is_by_terminal |= ret_signal->ssi_code == SI_KERNEL;
  }
  return true;
}

void signals_restore(const signal_watch *w)
{
  sigaction(SIGCHLD, &w->child_before, NULL);
  sigaction(SIGPIPE, &pipe_before, NULL);
  sigaction(SIGXFSZ, &file_limit_before, NULL);
  sigprocmask(SIG_SETMASK, &w->before, NULL);
}

static void stop(pid_t whom)
{
  sigset_t stop, before;

  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  /* Pending from here on, delivered to us when unblocked. */
  kill(whom, SIGTSTP);
  pthread_sigmask(SIG_UNBLOCK, &stop, &before);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void signals_stop_self(void)
{
  stop(getpid());
}

void signals_stop_group(void)
{
  stop(0);
}

/* Interrupts tcsetpgrp() when the process is continued; without a handler the kernel would
 * restart the call, and stop the process again. */
static void wake(int number)
{
  (void)number;
}

static bool has_end_signal(void)
{
  sigset_t pending;

  sigpending(&pending);
  return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
         sigismember(&pending, SIGHUP) == 1 || sigismember(&pending, SIGQUIT) == 1;
}

bool signals_stop_in_background(int terminal)
{
  const struct sigaction usual = { .sa_handler = SIG_DFL }, waking = { .sa_handler = wake };
  struct sigaction output_was, continue_was;
  sigset_t both, before;
  int fault = EINTR;

  sigemptyset(&both);
  sigaddset(&both, SIGTTOU);
  sigaddset(&both, SIGCONT);
  sigaction(SIGTTOU, &usual, &output_was);
  sigaction(SIGCONT, &waking, &continue_was);
  pthread_sigmask(SIG_UNBLOCK, &both, &before);
  while (fault == EINTR && !has_end_signal())
    fault = tcsetpgrp(terminal, getpgrp()) != 0 ? errno : 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  sigaction(SIGCONT, &continue_was, NULL);
  sigaction(SIGTTOU, &output_was, NULL);
  return fault == 0 || fault == EINTR;
}

void signals_share_key(int number)
{
  kill(0, number);
}

int signals_leave(int number, bool is_by_terminal)
{
  sigset_t set;

  if (signals_is_key(number) &&
      (is_by_terminal || isatty(STDIN_FILENO) || isatty(STDERR_FILENO))) {
    prctl(PR_SET_DUMPABLE, 0);          /* no core for a QUIT that was the command's */
    sigemptyset(&set);
    sigaddset(&set, number);
    signal(number, SIG_DFL);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
  }
  return 128 + number;
}

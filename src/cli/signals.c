/* SPDX-License-Identifier: MIT */
/* cli/signals.c - signals as bytes to read, and as the child found them. */
#include "cli/signals.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const int watched[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                               SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT };

static bool is_ignored(int number)
{
  struct sigaction now;

  return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

bool signals_begin(signal_watch *w)
{
  struct sigaction normal;
  sigset_t wanted, blocked;

  sigemptyset(&wanted);
  for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++) {
    if (!is_ignored(watched[i]))
      sigaddset(&wanted, watched[i]);
  }
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

bool signals_next(signal_watch *w, struct signalfd_siginfo *ret_signal)
{
  return read(w->fd, ret_signal, sizeof(*ret_signal)) == (ssize_t)sizeof(*ret_signal);
}

void signals_restore(const signal_watch *w)
{
  sigaction(SIGCHLD, &w->child_before, NULL);
  sigprocmask(SIG_SETMASK, &w->before, NULL);
}

void signals_stop_self(void)
{
  sigset_t stop, before;

  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  /* The whole group: a shell counts a pipeline as stopped only when all of it is. Pending
   * from here on, delivered to us when unblocked. */
  kill(0, SIGTSTP);
  pthread_sigmask(SIG_UNBLOCK, &stop, &before);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bool signals_stop_in_background(int terminal)
{
  const struct sigaction usual = { .sa_handler = SIG_DFL };
  struct sigaction was;
  sigset_t output, before;
  int fault;

  sigemptyset(&output);
  sigaddset(&output, SIGTTOU);
  sigaction(SIGTTOU, &usual, &was);
  pthread_sigmask(SIG_UNBLOCK, &output, &before);
  do
    fault = tcsetpgrp(terminal, getpgrp()) != 0 ? errno : 0;
  while (fault == EINTR);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  sigaction(SIGTTOU, &was, NULL);
  return fault == 0;
}

int signals_leave(int number)
{
  sigset_t set;

  if (number == SIGINT && (isatty(STDIN_FILENO) || isatty(STDERR_FILENO))) {
    sigemptyset(&set);
    sigaddset(&set, number);
    signal(number, SIG_DFL);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
  }
  return 128 + number;
}

/* SPDX-License-Identifier: MIT */
/* cli/aside.c - a call that waits for the server, while the main thread reads signals. */
#include "cli/aside.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/message.h"

/* ---- signals ---- */

static bool is_interruption(int number)
{
  return signals_is_fatal(number) || number == SIGUSR1 || number == SIGUSR2;
}

void aside_read_signals(signal_watch *signals, int *ret_signal)
{
  struct signalfd_siginfo info;

  while (signals_next(signals, &info)) {
    int number = (int)info.ssi_signo;

    if (number == SIGTSTP) {
      live_clear();
      signals_stop_self();
    } else if (is_interruption(number) && *ret_signal == 0) {
      *ret_signal = number;
    }
  }
}

/* ---- the call ---- */

typedef struct aside {
  void (*call)(void *data);
  void *data;
  int done_fd;
} aside;

static void *run(void *context)
{
  aside *s = context;

  s->call(s->data);
  eventfd_write(s->done_fd, 1);
  return NULL;
}

/* false: the call was abandoned. */
static bool wait_for_done(const aside *s, signal_watch *signals, int *ret_signal)
{
  int64_t until = -1;

  for (;;) {
    struct pollfd fds[] = { { .fd = s->done_fd, .events = POLLIN },
                            { .fd = signals->fd, .events = POLLIN } };
    int64_t left = until < 0 ? -1 : until - clock_ms();

    if (until >= 0 && left <= 0)
      return false;
    if (poll(fds, 2, (int)left) > 0 && fds[0].revents != 0)
      return true;
    aside_read_signals(signals, ret_signal);
    if (*ret_signal != 0 && until < 0)
      until = clock_ms() + ASIDE_PATIENCE_MS;
  }
}

bool aside_run(void (*call)(void *data), void *data, signal_watch *signals,
               int *ret_signal)
{
  aside *s = calloc(1, sizeof(*s));
  pthread_t thread;
  bool is_done;

  *ret_signal = 0;
  if (s != NULL)
    *s = (aside) { .call = call, .data = data, .done_fd = eventfd(0, EFD_CLOEXEC) };
  if (s == NULL || s->done_fd < 0 || pthread_create(&thread, NULL, run, s) != 0) {
    if (s != NULL && s->done_fd >= 0)
      close(s->done_fd);
    free(s);
    call(data);
    return true;
  }
  is_done = wait_for_done(s, signals, ret_signal);
  if (!is_done) {
    pthread_detach(thread);
    return false;       /* `s` stays with it */
  }
  pthread_join(thread, NULL);
  close(s->done_fd);
  free(s);
  return true;
}

/* SPDX-License-Identifier: MIT */
/* cli/bounded_write.c - writes that block for a moment at most. */
#include "cli/bounded_write.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid /* glibc has no name for it */
#endif

/* Ignored by default, and sent by programs to no other one. */
#define WAKE SIGURG

static void wake(int number)
{
  (void)number;
}

/* ---- this thread while it writes: WAKE comes to it, SIGPIPE waits ---- */

typedef struct writer {
  struct sigaction wake_was;
  sigset_t mask_was;
  timer_t timer;
  bool has_timer, had_pipe;
} writer;

/* Repeated: the first one may come just before the call that blocks. */
static void timer_begin(writer *w, int32_t patience_ms)
{
  struct sigevent event;
  struct itimerspec when;

  memset(&event, 0, sizeof(event));
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = WAKE;
  event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
  w->has_timer = timer_create(CLOCK_MONOTONIC, &event, &w->timer) == 0;
  if (!w->has_timer)
    return;
  memset(&when, 0, sizeof(when));
  when.it_value.tv_sec = when.it_interval.tv_sec = patience_ms / 1000;
  when.it_value.tv_nsec = when.it_interval.tv_nsec = patience_ms % 1000 * 1000000L;
  timer_settime(w->timer, 0, &when, NULL);
}

static void writer_begin(writer *w, int32_t patience_ms)
{
  const struct sigaction waking = { .sa_handler = wake };  /* without SA_RESTART */
  sigset_t set;

  sigaction(WAKE, &waking, &w->wake_was);
  sigemptyset(&set);
  sigaddset(&set, WAKE);
  pthread_sigmask(SIG_UNBLOCK, &set, &w->mask_was);
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  sigpending(&set);
  w->had_pipe = sigismember(&set, SIGPIPE) == 1;
  timer_begin(w, patience_ms);
}

static void writer_end(writer *w)
{
  const struct timespec at_once = { .tv_sec = 0 };
  sigset_t pipe;

  if (w->has_timer)
    timer_delete(w->timer);
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  if (!w->had_pipe)
    (void)sigtimedwait(&pipe, NULL, &at_once);
  pthread_sigmask(SIG_SETMASK, &w->mask_was, NULL);
  sigaction(WAKE, &w->wake_was, NULL);
}

/* ---- the write ---- */

/* Or refuses them: then write() says why. */
static bool takes_bytes(int fd, int32_t patience_ms)
{
  struct pollfd ready = { .fd = fd, .events = POLLOUT };

  return poll(&ready, 1, patience_ms) > 0;
}

ssize_t bounded_write_once(int fd, const char *bytes, size_t size, int32_t patience_ms)
{
  writer w;
  ssize_t wrote;
  int error;

  writer_begin(&w, patience_ms);
  wrote = write(fd, bytes, size);
  error = errno;
  writer_end(&w);
  errno = error == EINTR ? EAGAIN : error;
  return wrote;
}

bool bounded_write(int fd, const char *bytes, size_t size, int32_t patience_ms)
{
  errno = EAGAIN;
  while (size > 0 && takes_bytes(fd, patience_ms)) {
    ssize_t wrote = bounded_write_once(fd, bytes, size, patience_ms);

    if (wrote <= 0)
      return false;
    bytes += wrote;
    size -= (size_t)wrote;
    errno = EAGAIN;
  }
  return size == 0;
}

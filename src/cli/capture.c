/* SPDX-License-Identifier: MIT */
/* cli/capture.c - --quiet-on-success. */
#include "cli/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/errno_text.h"
#include "cli/bounded_write.h"
#include "cli/message.h"

#define PATIENCE_MS 100
#define RESERVED_BYTES (1 << 20)

static const char *directory(void)
{
  const char *named = getenv("TMPDIR");

  return named != NULL && *named != '\0' ? named : "/tmp";
}

/* Whether there is room for `size` bytes from `at` on, as far as the file system says so; they are
 * reserved. */
static bool has_room(int fd, off_t at, off_t size)
{
  return fallocate(fd, FALLOC_FL_KEEP_SIZE, at, size) == 0 || (errno != ENOSPC && errno != EDQUOT);
}

/* A file without a name: on disk, or in memory where that is not possible or full. */
static int nameless_file(void)
{
  int fd = open(directory(), O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);

  if (fd >= 0 && !has_room(fd, 0, RESERVED_BYTES)) {
    close(fd);
    fd = -1;
  }
  return fd >= 0 ? fd : memfd_create("dibs-output", MFD_CLOEXEC);
}

static bool are_same(int a, int b)
{
  struct stat of_a, of_b;

  return fstat(a, &of_a) == 0 && fstat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
         of_a.st_ino == of_b.st_ino;
}

bool capture_begin(capture *c)
{
  c->error = -1;
  c->output = nameless_file();
  if (c->output < 0)
    return false;
  c->error = are_same(STDOUT_FILENO, STDERR_FILENO) ? fcntl(c->output, F_DUPFD_CLOEXEC, 3)
                                                    : nameless_file();
  return c->error >= 0;
}

/* ---- showing it ---- */

/* The number of a signal that ends this program, or 0. */
static int end_signal(signal_watch *signals)
{
  struct signalfd_siginfo info;

  while (signals_next(signals, &info)) {
    int number = (int)info.ssi_signo;

    if (signals_is_fatal(number))
      return number;
    if (number == SIGTSTP)
      signals_stop_self();
  }
  return 0;
}

/* Signals count only while `to` takes nothing: one that was meant for the command, too, may come
 * after it has ended, and is not to cost what the command said last. Returns true when all was
 * written, else with errno or, after a signal, its number in *ret_signal. */
static bool write_all(int to, const char *bytes, size_t size, signal_watch *signals,
                      int *ret_signal)
{
  while (size > 0) {
    struct pollfd ready[] = { { .fd = to, .events = POLLOUT },
                              { .fd = signals->fd, .events = POLLIN } };
    ssize_t wrote = -1;

    errno = EAGAIN;
    if (poll(ready, 2, -1) > 0 && ready[0].revents != 0)
      wrote = bounded_write_once(to, bytes, size, PATIENCE_MS);
    if (wrote > 0) {
      bytes += wrote;
      size -= (size_t)wrote;
    } else if (errno != EAGAIN && errno != EINTR) {
      return false;
    } else if ((*ret_signal = end_signal(signals)) != 0) {
      return false;
    }
  }
  return true;
}

/* Returns the number of a signal that ended it, or 0. */
static int show(int from, int to, signal_watch *signals)
{
  static char bytes[65536];
  const char *where = to == STDERR_FILENO ? "standard error" : "standard output";
  bool is_written = true;
  int number = 0;
  ssize_t size;

  for (off_t at = 0; is_written && (size = pread(from, bytes, sizeof(bytes), at)) != 0; at += size)
    is_written = size > 0 && write_all(to, bytes, (size_t)size, signals, &number);
  if (number != 0)
    say("%s did not take all of the command's output before signal %d (%s)", where, number,
        strsignal(number));
  else if (!is_written)
    say("cannot write all of the command's output to %s: %s", where, errno_text(errno));
  return number;
}

/* Why the command may have been refused what it wrote; NULL: it was not. */
static const char *cut_by(int fd)
{
  struct stat facts;
  struct rlimit limit;

  if (fd < 0 || fstat(fd, &facts) != 0)
    return NULL;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && (rlim_t)facts.st_size >= limit.rlim_cur)
    return "it has reached the limit of the file size (ulimit -f)";
  return has_room(fd, facts.st_size, 1) ? NULL : "no space is left";
}

int capture_end(capture *c, bool is_shown, signal_watch *signals)
{
  const char *of_output = is_shown ? cut_by(c->output) : NULL;
  const char *why = is_shown && of_output == NULL ? cut_by(c->error) : of_output;
  char shown[600];
  int number = 0;

  if (is_shown && c->output >= 0)
    number = show(c->output, STDOUT_FILENO, signals);
  if (is_shown && number == 0 && c->error >= 0 && !are_same(c->output, c->error))
    number = show(c->error, STDERR_FILENO, signals);
  if (c->output >= 0)
    close(c->output);
  if (c->error >= 0)
    close(c->error);
  c->output = c->error = -1;
  if (why != NULL)
    say("the output of the command may be incomplete: %s in %s (TMPDIR)", why,
        printable(directory(), shown, sizeof(shown)));
  return number;
}

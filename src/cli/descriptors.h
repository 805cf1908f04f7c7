/* SPDX-License-Identifier: MIT */
/* cli/descriptors.h - standard descriptors that are closed stay so; a process in the background
 * keeps nothing of its caller open. */
#ifndef CLI_DESCRIPTORS_H
#define CLI_DESCRIPTORS_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Fills 0, 1 and 2 where they are free, so that nothing else gets them. These read, write and poll
 * as if they were closed, and are closed in a command that is started. */
static inline void stdio_fill(void)
{
  int fd;

  do
    fd = open("/", O_PATH | O_CLOEXEC);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0)
    (void)close(fd);
}

/* Sets errno if it is not. */
static inline bool descriptor_is_open(int fd)
{
  int flags = fcntl(fd, F_GETFL);

  if (flags < 0 || (flags & O_PATH) == 0)
    return flags >= 0;
  errno = EBADF;
  return false;
}

/* Closes all from `first` to `last`. The call is made directly: musl has no close_range(), and a
 * kernel before 5.9 refuses it. */
static inline void close_between(unsigned first, unsigned last)
{
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, last, 0U) == 0)
    return;
#endif
  for (unsigned fd = first; fd < 4096 && fd <= last; fd++)
    (void)close((int)fd);
}

static inline void close_from(unsigned first)
{
  close_between(first, ~0U);
}

#endif

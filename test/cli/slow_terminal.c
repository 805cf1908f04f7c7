/* SPDX-License-Identifier: MIT */
/* test/cli/slow_terminal.c - for LD_PRELOAD: whoever asks who has the terminal hears what was
 * so 100 ms ago, as on a machine that had other things to do in between. */
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

pid_t tcgetpgrp(int terminal)
{
  const struct timespec late = { .tv_nsec = 100000000 };
  pid_t group = -1;
  int status = ioctl(terminal, TIOCGPGRP, &group), error = errno;

  (void)nanosleep(&late, NULL);
  errno = error;
  return status < 0 ? -1 : group;
}

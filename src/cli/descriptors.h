/* SPDX-License-Identifier: MIT */
/* cli/descriptors.h - a process in the background keeps nothing of its caller open. */
#ifndef CLI_DESCRIPTORS_H
#define CLI_DESCRIPTORS_H

#include <sys/syscall.h>
#include <unistd.h>

/* Closes `first` and all above. The call is made directly: musl has no close_range(), and a
 * kernel before 5.9 refuses it. */
static inline void close_from(unsigned first)
{
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0U, 0U) == 0)
    return;
#endif
  for (int fd = (int)first; fd < 4096; fd++)
    (void)close(fd);
}

#endif

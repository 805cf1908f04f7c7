/* SPDX-License-Identifier: MIT */
/* cli/clock.h - the clock that leases run on: it goes on while the machine sleeps. */
#ifndef CLI_CLOCK_H
#define CLI_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_ms(void)
{
  struct timespec now;

  clock_gettime(CLOCK_BOOTTIME, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#endif

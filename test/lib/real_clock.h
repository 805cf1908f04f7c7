/* SPDX-License-Identifier: MIT */
/* test/lib/real_clock.h - the kernel's clock, for tests that put their own in its place. Where long
 * has 32 bits and time_t 64, struct timespec is that of another call. */
#ifndef TEST_REAL_CLOCK_H
#define TEST_REAL_CLOCK_H

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline int real_clock_gettime(clockid_t clock, struct timespec *ret_time)
{
#ifdef SYS_clock_gettime64
  if (sizeof(ret_time->tv_sec) > sizeof(long))
    return (int)syscall(SYS_clock_gettime64, clock, ret_time);
#endif
  return (int)syscall(SYS_clock_gettime, clock, ret_time);
}

#endif

/* SPDX-License-Identifier: MIT */
/* test/lib/clock_shim.c - a wall clock that a test moves, for LD_PRELOAD into a real server.
 *
 * Stands before the C library's functions that tell the time of day. The monotonic clocks
 * stay true, so that timers, timeouts and loops of the server go on. Raw system calls: to
 * look for the C library's own function would allocate, and the allocators of the servers
 * look at the clock before they can be used. */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "clock_shim.h"
#include "real_clock.h"

enum { US_A_SECOND = 1000000, NS_A_SECOND = 1000000000 };

static struct clock_shim the_true_one;
static const struct clock_shim *shim = &the_true_one;

__attribute__((constructor)) static void find_file(void)
{
  const char *path = getenv(CLOCK_SHIM_FILE);
  int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *found;

  if (fd < 0)
    return;
  found = mmap(NULL, sizeof(*shim), PROT_READ, MAP_SHARED, fd, 0);
  (void)close(fd);
  if (found != MAP_FAILED)
    shim = found;
}

static bool is_wall(clockid_t which)
{
  return which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE;
}

/* Whole seconds are moved on their own, so that nothing overflows in any year. */
static void move(struct timespec *t)
{
  int64_t frozen_us = shim->frozen_us, shift_ms = shim->shift_ms;

  if (frozen_us != 0) {
    t->tv_sec = (time_t)(frozen_us / US_A_SECOND);
    t->tv_nsec = (long)(frozen_us % US_A_SECOND * 1000);
    return;
  }
  t->tv_sec += (time_t)(shift_ms / 1000);
  t->tv_nsec += (long)(shift_ms % 1000 * 1000000);
  if (t->tv_nsec >= NS_A_SECOND) {
    t->tv_nsec -= NS_A_SECOND;
    t->tv_sec++;
  } else if (t->tv_nsec < 0) {
    t->tv_nsec += NS_A_SECOND;
    t->tv_sec--;
  }
}

int clock_gettime(clockid_t which, struct timespec *ret_time)
{
  int fault = real_clock_gettime(which, ret_time);

  if (fault == 0 && is_wall(which))
    move(ret_time);
  return fault;
}

int gettimeofday(struct timeval *restrict ret_time, void *restrict zone)
{
  struct timespec now;

  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0)
    return -1;
  ret_time->tv_sec = now.tv_sec;
  ret_time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *ret_time)
{
  struct timespec now;

  if (clock_gettime(CLOCK_REALTIME, &now) != 0)
    return (time_t)-1;
  if (ret_time != NULL)
    *ret_time = now.tv_sec;
  return now.tv_sec;
}

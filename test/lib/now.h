/* SPDX-License-Identifier: MIT */
/* test/lib/now.h - what time it is, for measuring how long something took. What is compared
 * with the library's own times wants its clock instead: live_now_us(). */
#ifndef TEST_NOW_H
#define TEST_NOW_H

#include <stdint.h>
#include <time.h>

static inline int64_t test_now_us(void)
{
  struct timespec now;

  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static inline int64_t test_now_ms(void) { return test_now_us() / 1000; }

#endif

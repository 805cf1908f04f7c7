/* SPDX-License-Identifier: MIT */
/* test/lib/clock_shim.h - what a test and the clock of its server tell each other: a file
 * that both map. */
#ifndef TEST_CLOCK_SHIM_H
#define TEST_CLOCK_SHIM_H

#include <stdint.h>

/* The environment variable with the path of the file. */
#define CLOCK_SHIM_FILE "DIBS_TEST_CLOCK"

/* Each written whole, by the test only; the server's next look at its clock sees it. */
struct clock_shim {
  _Atomic int64_t shift_ms;    /* how far ahead of the machine's clock */
  _Atomic int64_t frozen_us;   /* it stands still there; 0: it runs */
};

#endif

/* SPDX-License-Identifier: MIT */
/* test/lib/stall.h - how long this machine let us wait for a processor.
 *
 * A thread on each processor wants to run every 2 ms and notes by how much it came too late.
 * What a test measures of the library contains such waits, which are not the library's
 * doing; on a machine with nothing else to do they are none. */
#ifndef TEST_STALL_H
#define TEST_STALL_H

#include <stdint.h>

enum { STALL_PROCESSORS_MAX = 64 };

typedef struct stall_mark {
  int64_t stalled_us[STALL_PROCESSORS_MAX];
} stall_mark;

void stall_watch_start(void);
void stall_watch_stop(void);

stall_mark stall_now(void);
/* What was waited since, on the processor where it was most. */
int64_t stall_since_ms(const stall_mark *begin);

#endif

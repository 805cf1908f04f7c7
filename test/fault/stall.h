/* SPDX-License-Identifier: MIT */
/* test/fault/stall.h - a thread that wants to run every two milliseconds, and writes down when
 * it did not: what the machine, not the library, is to blame for. */
#ifndef STALL_H
#define STALL_H

#include "history.h"

struct stall_watch;

/* `tick` (may be NULL) runs at each turn. */
struct stall_watch *stall_watch_start(struct recorder *r, void (*tick)(void *data, int64_t now_ns),
                                      void *data);
struct stall_watch *stall_watch_stop(struct stall_watch *s);

void pause_us(int64_t us);

#endif

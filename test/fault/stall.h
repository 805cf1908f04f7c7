/* SPDX-License-Identifier: MIT */
/* test/fault/stall.h - threads that want to run every two milliseconds, and write down when
 * they did not: what the machine, not the library, is to blame for. */
#ifndef STALL_H
#define STALL_H

#include "history.h"

struct stall_watch;

/* With a `tick`, which runs at each turn, one thread. Without one a thread on each processor
 * that this process may use: on a busy machine one of them may serve nobody for half a
 * second, while the others do. */
struct stall_watch *stall_watch_start(struct recorder *r, void (*tick)(void *data, int64_t now_ns),
                                      void *data);
struct stall_watch *stall_watch_stop(struct stall_watch *s);

void pause_us(int64_t us);

#endif

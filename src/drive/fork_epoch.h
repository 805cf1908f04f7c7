/* SPDX-License-Identifier: MIT */
/* drive/fork_epoch.h - which process this is, in a number that a fork changes. */
#ifndef DRIVE_FORK_EPOCH_H
#define DRIVE_FORK_EPOCH_H

#include <stdint.h>

/* Never 0; the same in all threads of a process, another one in each child. No lock is
 * taken, no memory allocated after the first call. Async-signal-safe then. */
uint64_t fork_epoch(void);

#endif

/* SPDX-License-Identifier: MIT */
/* drive/fork_epoch.h - a number of this process that a fork changes. */
#ifndef DRIVE_FORK_EPOCH_H
#define DRIVE_FORK_EPOCH_H

#include <stdint.h>

/* Never 0; the same in all threads of a process, different in each child. After the first
 * call it takes no lock, allocates nothing and is async-signal-safe. */
uint64_t fork_epoch(void);

#endif

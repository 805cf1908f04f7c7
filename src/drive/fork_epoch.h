/* SPDX-License-Identifier: MIT */
/* drive/fork_epoch.h - a number of this process that a fork changes. */
#ifndef DRIVE_FORK_EPOCH_H
#define DRIVE_FORK_EPOCH_H

#include <stdint.h>

/* Never 0; the same in all threads of a process, different in each child. After the first
 * call it takes no lock, allocates nothing and is async-signal-safe. */
uint64_t fork_epoch(void);

/* For the handlers of a fork. The epoch, 0 before the first call; and in the child, which has
 * the epoch of its parent where the kernel did not see to it: begins another one. */
uint64_t fork_epoch_known(void);
void fork_epoch_leave(uint64_t parents);

#endif

/* SPDX-License-Identifier: MIT */
/* drive/spin.h - whether a leader looks for the reply or the grant for a moment before it sleeps.
 *
 * With a free processor and a near server the reply is there sooner than a thread that sleeps has
 * been woken: the processor that went idle must be interrupted, on a virtual machine by its host.
 * The same is true of a grant where another client gives the lock back at once, as one that has
 * parked the lease. These waits have a history of their own: most locks are held for longer.
 *
 * After a spin without success the next wait sleeps at once, after a second one in a row the next
 * 2, then 4 … 1024. So a server that is not near costs one spin in 1025 waits. Where other work
 * fills all processors, a thread that sleeps is woken at once, and one that spins loses its
 * processor for milliseconds: after that 64 waits sleep, or more. There is no yield: it would give
 * the processor to work in the background, and the reply would wait for that. */
#ifndef DRIVE_SPIN_H
#define DRIVE_SPIN_H

#include <stdbool.h>

#include "base/base.h"

#define SPIN_LENGTH ((span){ 150000 })
/* A look at the sockets that takes longer lost its processor meanwhile. */
#define SPIN_ROUND_MAX ((span){ 50000 })

typedef struct spin_history {
  unsigned failures;              /* in a row */
  unsigned sleeps;                /* waits that are still to sleep at once */
} spin_history;

typedef enum spin_result {
  SPIN_PAID = 1, SPIN_IN_VAIN,
  SPIN_PUT_OFF                    /* the thread lost its processor meanwhile */
} spin_result;

/* Once for each wait; true: spin, and report the result. */
bool spin_is_next(spin_history *h);
void spin_ended(spin_history *h, spin_result result);

/* Of all clients of the process: at most one less than it has processors. true: call
 * spinner_leaves() afterwards. */
bool spinner_enters(void);
void spinner_leaves(void);

#endif

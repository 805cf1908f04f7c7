/* SPDX-License-Identifier: MIT */
/* cli/interrupt.h - a blocking call that a signal ends by its canceller: for subcommands
 * that wait and have nothing else to do. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <dibs/lock.h>

/* INT, TERM, HUP and QUIT cancel from here on, unless they were ignored. Once in a process.
 * NULL when the system refuses. Never freed. */
dibs_canceller *interrupt_begin(void);

/* The code of a call that ended with DIBS_CANCELLED: 128 + the signal; does not return after
 * a Ctrl-C, which our caller has to see as such. */
int interrupt_code(void);

#endif

/* SPDX-License-Identifier: MIT */
/* fiber - a stack of its own, entered and left by the one thread there is. */
#ifndef SIM_FIBER_H
#define SIM_FIBER_H

#include <stdbool.h>

typedef struct fiber fiber;

/* Not begun yet. Ends the program when memory runs out. */
fiber *fiber_new(void (*run)(void *data), void *data);
/* Runs it until fiber_leave() or its end; true: it has ended. Not from a fiber. */
bool fiber_enter(fiber *f);
/* From inside: back to whoever entered. */
void fiber_leave(fiber *f);
/* Also one that is in the middle of something: it never goes on. NULL is allowed. */
fiber *fiber_free(fiber *f);

#endif

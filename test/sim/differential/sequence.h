/* SPDX-License-Identifier: MIT */
/* test/sim/differential/sequence.h - one random sequence: of a few kinds, each about
 * something, with subscribers, time, full memory and lost connections in between. */
#ifndef SIM_SEQUENCE_H
#define SIM_SEQUENCE_H

#include "draw.h"
#include "tape.h"

/* Draws and runs it; false when the two differ, with all that was done in `t`. */
bool sequence_run(uint64_t seed, draw *d, tape *t, pair *p);

#endif

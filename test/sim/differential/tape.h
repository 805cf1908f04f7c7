/* SPDX-License-Identifier: MIT */
/* test/sim/differential/tape.h - a sequence of steps, kept so that it can be run again: whole,
 * or with steps left out until only those are left that make the difference. */
#ifndef SIM_TAPE_H
#define SIM_TAPE_H

#include "pair.h"

typedef enum step_kind {
  STEP_COMMAND,
  STEP_LISTEN,           /* what was published to the connection so far is compared */
  STEP_HANG_UP,
  STEP_SET, STEP_UNSET,  /* a condition, whose number stands for the connection */
  STEP_COMPARE_KEYS
} step_kind;

typedef struct step {
  int64_t wall_us;       /* when it is done */
  step_kind kind;
  int connection;
  size_t at, size;       /* of its command, in the tape's bytes */
  bool is_left_out;
} step;

typedef struct tape {
  step *steps;
  size_t count, capacity;
  buffer bytes;
} tape;

void tape_init(tape *t);
void tape_deinit(tape *t);
void tape_clear(tape *t);
/* Copies `command` and returns the step, valid until the next is added. */
const step *tape_add(tape *t, step s, frame command);

/* False when the two differ. */
bool tape_run_step(const tape *t, const step *s, pair *p);
/* From empty servers. */
bool tape_run(const tape *t, pair *p);
/* Leaves out what is not needed for a difference. It ends with the difference in `p`, or,
 * when it does not come a second time, with none and nothing left out. */
void tape_shrink(tape *t, pair *p);
/* To stdout, as TAP comments. */
void tape_print(const tape *t);

#endif

/* SPDX-License-Identifier: MIT */
/* pitfall.h - one way of locking by hand that breaks, and dibs in the same schedule. */
#ifndef PITFALL_H
#define PITFALL_H

#include "stage.h"

typedef struct pitfall {
  const char *word;                    /* to ask for it by */
  const char *title;
  void (*by_hand)(stage *s);           /* must break */
  void (*by_dibs)(stage *s);           /* must not */
} pitfall;

extern const pitfall two_commands, clock_ahead, losers_timestamp, unchecked_del,
  get_then_del, no_renewal;

#endif

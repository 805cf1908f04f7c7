/* SPDX-License-Identifier: MIT */
/* lock/habit.h - which names are taken again and again by us alone, so that lingering pays
 * (DIBS_LINGER_AUTO). A guess: a small table, where names that share a place forget each
 * other; a wrong guess costs a round trip, never a lock. */
#ifndef LOCK_HABIT_H
#define LOCK_HABIT_H

#include "base/base.h"

typedef struct habit {
  uint64_t name;           /* hash of it; 0: nobody */
  instant released_at;
  unsigned taken;          /* times in a row, each soon after the last release */
  unsigned revoked;        /* times in a row that somebody wanted what we kept idle */
} habit;

#define HABITS 256
typedef struct habits { habit all[HABITS]; } habits;

/* The server granted it to us. */
void habit_taken(habits *h, const void *name, size_t size, instant now);
/* We gave it back, or keep it idle. `is_wanted`: somebody else waits for it. */
void habit_released(habits *h, const void *name, size_t size, bool is_wanted, instant now);
/* It was kept idle, and then: somebody else wanted it, or we took it again. */
void habit_revoked(habits *h, const void *name, size_t size);
void habit_paid(habits *h, const void *name, size_t size);

bool habit_says_linger(const habits *h, const void *name, size_t size);

#endif

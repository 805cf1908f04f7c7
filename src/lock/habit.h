/* SPDX-License-Identifier: MIT */
/* lock/habit.h - what is remembered of names between one lock and the next: which are taken
 * again and again by us alone, so that lingering pays (DIBS_LINGER_AUTO); and which others were
 * just told to be free. A guess: a small table, where names that share a place forget each
 * other; a wrong guess costs a round trip, never a lock. */
#ifndef LOCK_HABIT_H
#define LOCK_HABIT_H

#include "base/base.h"

typedef struct habit {
  uint64_t name;           /* hash of it; 0: nobody */
  instant released_at;
  unsigned taken;          /* times in a row, each soon after the last release */
  unsigned revoked;        /* times in a row that somebody wanted what we kept idle */
  instant way_until;       /* others come first */
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

/* Until then others, who heard that it is free, are let in first. */
void habit_gives_way(habits *h, const void *name, size_t size, instant until);
instant habit_way_until(const habits *h, const void *name, size_t size);   /* 0: nobody is */

bool habit_says_linger(const habits *h, const void *name, size_t size);

#endif

/* SPDX-License-Identifier: MIT */
/* test/script/bounds.h - asks on both sides of each bound of the short ways of acquire and
 * many_acquire, and what both ways store. */
#ifndef SCRIPT_BOUNDS_H
#define SCRIPT_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

/* Its microseconds have leading zeros. */
#define NOW INT64_C(1796000000000042)

typedef struct ask {
  int64_t until, estimate;    /* from now on; until 0: none */
  bool has_floor;
  int64_t floor;              /* from now on */
  int64_t ttl_ms;             /* 0: 30000 */
  bool is_late;
  int64_t ahead_us;           /* of the token */
  const char *end;            /* of the stored string, after the token */
  long long kept_ms;          /* 0: an hour */
} ask;

static const ask asks[] = {
  { .end = " 30000 30000 0 0" },
  { .until = 1, .end = " 30000 30000 0 0" },
  { .until = -1, .is_late = true },
  { .estimate = 250000, .end = " 30000 30000 0 0" },
  { .estimate = 250001, .end = " 30000 30000 0 2" },
  { .estimate = -250000, .end = " 30000 30000 0 0" },
  { .estimate = -250001, .end = " 30000 30000 0 2" },
  { .estimate = -NOW, .end = " 30000 30000 0 2" },
  { .has_floor = true, .floor = -1, .end = " 30000 30000 0 0" },
  { .has_floor = true, .ahead_us = 1, .end = " 30000 30000 0 0" },
  { .has_floor = true, .floor = 1, .ahead_us = 2, .end = " 30000 30000 0 0" },
  { .ttl_ms = 900000, .end = " 900000 900000 0 0" },
  { .ttl_ms = 900001, .end = " 900001 900001 0 0", .kept_ms = 3600004 },
  { .ttl_ms = 1000000, .end = " 1000000 1000000 0 0", .kept_ms = 4000000 },
};

#endif

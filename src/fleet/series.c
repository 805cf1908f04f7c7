/* SPDX-License-Identifier: MIT */
/* fleet/series.c - durations counted in buckets, each twice as long as the one before. */
#include "fleet/parts.h"

/* Not the exported function, which a program may replace: it is called for each duration. */
static int64_t bound_us(size_t bucket)
{
  return bucket + 1 >= DIBS_FLEET_BUCKETS ? INT64_MAX : (int64_t)100 << bucket;
}

int64_t dibs_fleet_bound_us(size_t bucket)
{
  return bound_us(bucket);
}

void series_count(series *s, span lasted)
{
  int64_t us = lasted.ns > 0 ? span_to_us(lasted) : 0;
  size_t bucket = 0;

  while (us > bound_us(bucket))
    bucket++;
  s->sum_us += (uint64_t)us;
  s->buckets[bucket]++;
}

/* SPDX-License-Identifier: MIT */
/* base/instant.h - instants and spans of time, as two types.
 *
 * Instants are nanoseconds of one machine's CLOCK_BOOTTIME (virtual time in the
 * simulator). They are compared and subtracted, never sent. Sums saturate. */
#ifndef BASE_INSTANT_H
#define BASE_INSTANT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct instant { int64_t ns; } instant;
typedef struct span { int64_t ns; } span;

#define INSTANT_NEVER ((instant){ INT64_MAX })
#define SPAN_MS(ms) ((span){ (int64_t)(ms) * 1000000 })

static inline span span_ms(int64_t ms) { return SPAN_MS(ms); }
static inline int64_t span_to_ms(span s) { return s.ns / 1000000; }
static inline int64_t span_to_us(span s) { return s.ns / 1000; }

static inline instant instant_add(instant at, span s)
{
  if (s.ns > 0 && at.ns > INT64_MAX - s.ns)
    return INSTANT_NEVER;
  return (instant){ at.ns + s.ns };
}

static inline span instant_since(instant later, instant earlier)
{
  return (span){ later.ns - earlier.ns };
}

static inline bool instant_before(instant a, instant b) { return a.ns < b.ns; }
static inline bool instant_is_never(instant a) { return a.ns == INT64_MAX; }
static inline instant instant_min(instant a, instant b) { return a.ns < b.ns ? a : b; }
static inline instant instant_max(instant a, instant b) { return a.ns > b.ns ? a : b; }
static inline span span_min(span a, span b) { return a.ns < b.ns ? a : b; }
static inline span span_max(span a, span b) { return a.ns > b.ns ? a : b; }

#endif

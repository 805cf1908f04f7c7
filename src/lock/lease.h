/* SPDX-License-Identifier: MIT */
/* lock/lease.h - the deadline of a granted lease (protocol.md 5).
 *
 * Pure arithmetic. S1, S7: the deadline is before the end of the lease, whatever the two
 * clocks' rates within the stated error. */
#ifndef LOCK_LEASE_H
#define LOCK_LEASE_H

#include "base/base.h"

/* A loss by time is reported at most this long before the end of the lease. */
#define LOST_NOTICE_MAX SPAN_MS(5)

/* rate_ppm of x plus 3 ms, at least 5 ms. */
span lease_margin(span x, int32_t rate_ppm);

/* First instant at which a lease of `left`, counted from `start`, must not be trusted.
 * `start` is before the server began to count. */
instant lease_end(instant start, span left, int32_t rate_ppm);

/* How long a lease of `length` must be watched unchanged to prove its end. */
span lease_watch(span length, int32_t rate_ppm);

/* When to renew a lease of `ttl` next: a third of it, or `every`, with 10 % jitter,
 * rounded up to a hundredth of the period so that renewals meet in batches. */
instant lease_renew_at(instant from, span ttl, span every, random_source *r);

#endif

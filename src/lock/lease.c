/* SPDX-License-Identifier: MIT */
/* lock/lease.c - the deadline of a lease, and the time of its renewal. */
#include "lock/lease.h"

span lease_margin(span x, int32_t rate_ppm)
{
  int64_t ns = x.ns / 1000000 * rate_ppm + SPAN_MS(3).ns;

  return span_max((span){ ns }, SPAN_MS(5));
}

instant lease_end(instant start, span left, int32_t rate_ppm)
{
  return instant_add(start, (span){ left.ns - lease_margin(left, rate_ppm).ns });
}

span lease_watch(span length, int32_t rate_ppm)
{
  /* This machine's clock may be the fast one: a watch of this length must cover the lease
   * by any other clock within the error, and the delay of the message. */
  return (span){ length.ns + lease_margin(length, rate_ppm).ns };
}

instant lease_renew_at(instant from, span ttl, span every, random_source *r)
{
  span period = every.ns > 0 ? every : (span){ ttl.ns / 3 };
  span tenth = { period.ns / 10 };
  int64_t grid = period.ns / 100 > 0 ? period.ns / 100 : 1;
  instant at = instant_add(from, random_span(r, (span){ period.ns - tenth.ns },
                                             (span){ period.ns + tenth.ns }));

  at.ns = (at.ns + grid - 1) / grid * grid;
  return at;
}

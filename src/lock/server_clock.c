/* SPDX-License-Identifier: MIT */
/* lock/server_clock.c - the estimate of the server's time. */
#include "lock/server_clock.h"

#include "dialect/native.h"

#define DISTRUST_AFTER_STEP SPAN_MS(3600 * 1000)

static int64_t distance(int64_t a, int64_t b)
{
  return a > b ? a - b : b - a;
}

/* A clock that runs 1 % fast moves too; only a larger difference is a step. */
static void note_step(server_clock *c, int64_t before, int64_t after, instant seen_at,
                      int64_t doubt_us, instant now)
{
  int64_t drift_us = (now.ns - seen_at.ns) / 1000 / 100;

  if (distance(before, after) <= CLOCKS_AGREE_US + drift_us + doubt_us)
    return;
  c->has_stepped = true;
  c->stepped_at = now;
}

void server_clock_learn(server_clock *c, int64_t server_us, instant sent_at, instant now)
{
  span trip = instant_since(now, sent_at);
  int64_t half_us = trip.ns / 2000;
  int64_t offset = server_us - (sent_at.ns / 1000 + half_us);

  if (c->is_known)
    note_step(c, c->offset_us, offset, c->learned_at, half_us + c->doubt_us, now);
  c->offset_us = offset;
  c->doubt_us = half_us;
  c->learned_at = now;
  c->is_known = true;
  c->trip = c->trip_is_known ? span_min(c->trip, trip) : trip;
  c->trip_is_known = true;
}

void server_clock_reconnects(server_clock *c)
{
  c->trip_is_known = false;
}

void server_clock_wall(server_clock *c, int64_t wall_us, instant now)
{
  int64_t offset = wall_us - now.ns / 1000;

  if (c->wall_is_known)
    note_step(c, c->wall_offset_us, offset, c->wall_read_at, 0, now);
  c->wall_offset_us = offset;
  c->wall_read_at = now;
  c->wall_is_known = true;
}

int64_t server_clock_at(const server_clock *c, instant at)
{
  return c->is_known ? at.ns / 1000 + c->offset_us : 0;
}

int64_t server_clock_trusted_at(const server_clock *c, instant now)
{
  if (!c->is_known || !c->wall_is_known)
    return 0;
  if (distance(c->offset_us, c->wall_offset_us) > CLOCKS_AGREE_US)
    return 0;
  if (c->has_stepped && instant_since(now, c->stepped_at).ns < DISTRUST_AFTER_STEP.ns)
    return 0;
  return server_clock_at(c, now);
}

span server_clock_trip(const server_clock *c)
{
  return c->trip_is_known ? c->trip : SPAN_MS(0);
}

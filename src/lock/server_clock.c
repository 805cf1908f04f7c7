/* SPDX-License-Identifier: MIT */
#include "lock/server_clock.h"

#define AGREEMENT_US 2000000
#define STEP_US 1000000
#define DISTRUST_AFTER_STEP SPAN_MS(3600 * 1000)

static int64_t distance(int64_t a, int64_t b)
{
  return a > b ? a - b : b - a;
}

static void note_step(server_clock *c, int64_t before, int64_t after, int64_t tolerance,
                      instant now)
{
  if (distance(before, after) <= tolerance)
    return;
  c->has_stepped = true;
  c->stepped_at = now;
}

void server_clock_learn(server_clock *c, int64_t server_us, instant sent_at, instant now)
{
  int64_t half_us = (now.ns - sent_at.ns) / 2000;
  int64_t offset = server_us - (sent_at.ns / 1000 + half_us);

  if (c->is_known)
    note_step(c, c->offset_us, offset, STEP_US + half_us, now);
  c->offset_us = offset;
  c->is_known = true;
}

void server_clock_wall(server_clock *c, int64_t wall_us, instant now)
{
  int64_t offset = wall_us - now.ns / 1000;

  if (c->wall_is_known)
    note_step(c, c->wall_offset_us, offset, STEP_US, now);
  c->wall_offset_us = offset;
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
  if (distance(c->offset_us, c->wall_offset_us) > AGREEMENT_US)
    return 0;
  if (c->has_stepped && instant_since(now, c->stepped_at).ns < DISTRUST_AFTER_STEP.ns)
    return 0;
  return server_clock_at(c, now);
}

/* SPDX-License-Identifier: MIT */
/* cli/run_schedule.c - when a command is sent a signal to stop, and when it is killed. */
#include "cli/run_schedule.h"

#define MARGIN_MS_MIN 250
#define MARGIN_MS_MAX 1000

static int64_t at_most(int64_t value, int64_t limit)
{
  return value < limit ? value : limit;
}

static int64_t at_least(int64_t value, int64_t limit)
{
  return value > limit ? value : limit;
}

kill_schedule kill_schedule_for(int64_t ttl_ms, int64_t kill_after_ms)
{
  kill_schedule s;

  /* 5 % of the lease, but enough for a busy machine; and a short lease must not be
   * eaten up by it. */
  s.margin_ms = at_least(at_most(ttl_ms / 20, MARGIN_MS_MAX), MARGIN_MS_MIN);
  s.margin_ms = at_most(s.margin_ms, ttl_ms / 8);
  s.kill_after_ms = at_most(at_least(kill_after_ms, 0), ttl_ms / 3);
  return s;
}

kill_times kill_schedule_at(const kill_schedule *s, int64_t valid_ms)
{
  kill_times t;

  t.kill_in_ms = at_least(valid_ms - s->margin_ms, 0);
  t.signal_in_ms = at_least(t.kill_in_ms - s->kill_after_ms, 0);
  return t;
}

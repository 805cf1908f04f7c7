/* SPDX-License-Identifier: MIT */
/* hold/slack.c - how near renewals came to the end of their leases, by windows of a minute. */
#include "hold/hold.h"

#define WINDOW SPAN_MS(60000)

static int32_t least_of(const lease_slack *s)
{
  if (!s->is_known || (s->was_known && s->before < s->least))
    return s->was_known ? s->before : -1;
  return s->least;
}

/* As it is at `now`, without windows that are over. */
static lease_slack at(const lease_slack *s, instant now)
{
  lease_slack next = { .since = now };
  span passed = instant_since(now, s->since);

  if (!s->is_known && !s->was_known)
    return next;
  if (passed.ns < WINDOW.ns)
    return *s;
  if (passed.ns < 2 * WINDOW.ns) {
    next.since = instant_add(s->since, WINDOW);
    next.was_known = s->is_known;
    next.before = s->least;
  }
  return next;
}

void slack_note(lease_slack *s, span left, span ttl, instant now)
{
  int64_t share = left.ns > 0 && ttl.ns >= 1000000 ? left.ns / (ttl.ns / 1000000) : 0;
  int32_t millionths = share < 1000000 ? (int32_t)share : 1000000;

  *s = at(s, now);
  if (!s->is_known || millionths < s->least)
    s->least = millionths;
  s->is_known = true;
}

int32_t slack_least(const lease_slack *s, instant now)
{
  lease_slack seen = at(s, now);

  return least_of(&seen);
}

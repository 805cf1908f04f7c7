/* SPDX-License-Identifier: MIT */
/* lock/server_clock.h - an estimate of the server's wall clock.
 *
 * Learned from the TIME in replies and continued by this machine's monotonic clock.
 * Neither clock is trusted alone: a step of the server's clock shows as a jump against
 * ours, an earlier step as a difference to this machine's wall clock. */
#ifndef LOCK_SERVER_CLOCK_H
#define LOCK_SERVER_CLOCK_H

#include "base/base.h"

typedef struct server_clock {
  bool is_known, wall_is_known;
  int64_t offset_us;        /* server time - instant */
  int64_t doubt_us;         /* half of the round trip of its reading */
  instant learned_at;
  bool trip_is_known;       /* of this connection */
  span trip;                /* the least round trip of its readings */
  int64_t wall_offset_us;   /* this machine's wall clock - instant */
  instant wall_read_at;
  bool has_stepped;
  instant stepped_at;
} server_clock;

void server_clock_learn(server_clock *c, int64_t server_us, instant sent_at, instant now);
void server_clock_reconnects(server_clock *c);      /* by another way, perhaps */
void server_clock_wall(server_clock *c, int64_t wall_us, instant now);

/* 0 when unknown. */
int64_t server_clock_at(const server_clock *c, instant at);

/* The same, but 0 when it must not decide over a lease: the two wall clocks disagree by
 * more than a quarter of a second, or either had a step within the last hour. Its use is
 * in protocol.md 4, rule "over". */
int64_t server_clock_trusted_at(const server_clock *c, instant now);

/* The fastest reply of this connection so far took this long; 0 when unknown. */
span server_clock_trip(const server_clock *c);

#endif

/* SPDX-License-Identifier: MIT */
/* test/sim/differential/pair.h - two servers that are to do the same: each request goes to
 * both, and what comes back is compared at once. */
#ifndef SIM_PAIR_H
#define SIM_PAIR_H

#include "resp/resp.h"
#include "side.h"

#define PAIR_DIFFERENCE_SIZE 16384

typedef struct pair {
  side *sides[2];                  /* what the first says is right */
  buffer replies[2];               /* to the last request */
  buffer messages[2][SIDE_CONNECTIONS];     /* published, and not yet compared */
  frame learned;                   /* the messages that pair_listen() compared last */
  uint64_t requests;
  char difference[PAIR_DIFFERENCE_SIZE];    /* "" while there is none */
} pair;

void pair_init(pair *p, side *right, side *other);
void pair_deinit(pair *p);         /* not the sides */
void pair_reset(pair *p, int64_t wall_us);
void pair_clock(pair *p, int64_t wall_us);
void pair_set(pair *p, side_condition which, bool is_on);
void pair_hang_up(pair *p, int connection);

/* All of these return false when the two differ, with words in p->difference. */

/* One command. */
bool pair_request(pair *p, int connection, frame command);
/* What was published to this connection. */
bool pair_listen(pair *p, int connection);
/* All keys: type, value, expiry. */
bool pair_compare_keys(pair *p);

/* The replies to the last request, one behind the other. */
frame pair_replies(const pair *p);

#endif

/* SPDX-License-Identifier: MIT */
/* test/trace/seat.h - how stories of a shared resource begin: with a seat, or in the queue. */
#ifndef TRACE_SEAT_H
#define TRACE_SEAT_H

#include "peer.h"

/* "a" has the share PEER_CLIENT:1:60; of 3 s unless it wishes for another time. */
struct peer *seated(struct wish w);
/* "a" waits, ttl 3 s, its inbox stands. */
struct peer *seat_queued(struct wish w);
/* The answer `waiting` behind PEER_OTHER:9:50, which has all its time left; `last` is the
 * last token. */
void seat_answer_waiting(struct peer *p, int rank, int last);

#endif

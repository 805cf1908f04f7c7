/* SPDX-License-Identifier: MIT */
/* quorum/multi.h - several names with different slots (Cluster): one claim on several
 * sets of one lock table, held while all of them are.
 *
 * Names with one tag are a set, taken by one script. Sets are taken one after the other in
 * the order of slot and tag, and kept: all clients use the same order, so there is no
 * deadlock. One that is lost meanwhile is taken again, after the later ones are given back. When
 * all are held they get the highest of their tokens (protocol.md 18), so
 * that there is one fence; the limit of the call counts until then, and from then on a fixed hold,
 * or one with max_hold: until then all parts are renewed. May include hold/, lock/ and lower
 * modules. */
#ifndef MULTI_H
#define MULTI_H

#include "lock/lock.h"

typedef struct multi multi;

/* `by_name`: without a script for several names, each is taken alone, ordered by bytes,
 * and the highest token is the fence. NULL: no memory. */
multi *multi_new(const memory *m, lock_table *t, bool by_name);
multi *multi_free(multi *s);

/* For a front (hold/hold.h), before that of the lock table: takes what is more than one set.
 * No tokens, no detaching. */
hold_backend *multi_backend(multi *s);
/* Takes an event of a part; false: there is none. */
bool multi_advance(multi *s, instant now);

#endif

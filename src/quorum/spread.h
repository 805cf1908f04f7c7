/* SPDX-License-Identifier: MIT */
/* quorum/spread.h - several names at once whose slots differ (Cluster): one claim over several
 * sets of one lock table, held while all of them are.
 *
 * Names of one tag are a set, taken by one script. Sets are taken one after the other, in the
 * order of slot and tag, and what was taken is kept: all clients go the same way, so nobody
 * waits in a circle. Once all are held they get the highest of their tokens (protocol.md 18), so
 * that there is one fence. May include lock/ and what is below it.
 *
 * Ids have SPREAD_ID set, which no id of a lock table has. */
#ifndef SPREAD_H
#define SPREAD_H

#include "lock/lock.h"

#define SPREAD_ID ((uint64_t)1 << 63)

typedef struct spread spread;

/* `by_name`: where no script takes several at once each name is taken alone, in the order of
 * their bytes, and the highest of their tokens is the fence. NULL: memory. */
spread *spread_new(const memory *m, lock_table *t, bool by_name);
spread *spread_free(spread *s);

/* Whether these names need more than one set. */
bool spread_is_needed(const spread *s, const many_name *names, size_t count);

/* As the functions of lock.h. No tokens, no detaching. */
dibs_status spread_claim(spread *s, const lock_wish *wish, instant now, uint64_t *ret_id);
bool spread_fail(spread *s, uint64_t id, dibs_status status, const char *words, instant now);
dibs_status spread_release(spread *s, uint64_t id, instant now);
void spread_close(spread *s, instant now);            /* in front of lock_close() */
bool spread_is_quiet(const spread *s);
/* true: the event was about a part of ours, and is used up. */
bool spread_take_event(spread *s, const lock_event *event, instant now);
bool spread_next_event(spread *s, lock_event *ret_event);

#endif

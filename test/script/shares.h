/* SPDX-License-Identifier: MIT */
/* test/script/shares.h - the calls of shared resources on the world's one name, as the
 * library makes them; each time the key is checked: what is used is what holders have. */
#ifndef SCRIPT_SHARES_H
#define SCRIPT_SHARES_H

#include "world.h"

/* `mode` 'r', 'w' or 'p'; waits, 30 s, trusts the server's clock. */
share_call share_call_of(struct world *w, char mode, uint64_t units, uint64_t ask);
acquire_answer share_send(struct world *w, int who, const share_call *c);
acquire_answer share_ask(struct world *w, int who, char mode, uint64_t units, uint64_t ask);
acquire_answer share_try(struct world *w, int who, char mode, uint64_t units, uint64_t ask);
bool share_release(struct world *w, int who, const lease_id *lease, int64_t until_us);
/* 1 when a share was given up, else 0. */
int64_t share_cancel(struct world *w, int who, uint64_t ask, int64_t until_us);
renew_answer share_renew(struct world *w, int who, const lease_id *lease, int64_t ttl_ms,
                         char mode);
bool share_set(struct world *w, share_set_what what, uint64_t permits, uint64_t *ret_limit);

bool share_token_release(struct world *w, int who, const lease_id *lease);
release_answer share_break(struct world *w, int who, const lease_id *lease);
inspect_answer share_inspect(struct world *w);

/* By how much who releases, cancels, renews or sets mistakes the server's time. */
extern int64_t share_mistake_us;

/* The error that a request is refused with; "" when it is not. */
const char *share_acquire_error(struct world *w, int who, const share_call *c);
const char *share_release_error(struct world *w, int who, const lease_id *lease);
const char *share_cancel_error(struct world *w, int who, uint64_t ask);
const char *share_set_error(struct world *w, share_set_what what, uint64_t permits);

/* All that is stored but bounds and indexes, a sorted line each; fails the test where its
 * parts do not fit together. Valid until the next command of the world's server. */
const char *share_dump(struct world *w);

#endif

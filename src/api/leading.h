/* SPDX-License-Identifier: MIT */
/* api/leading.h - what dibs_campaign() adds to the claim of a lock: a value that the server
 * is told while the hold lives, and that is taken back just before its release.
 *
 * All functions need the mutex, and do nothing for claims of another kind. */
#ifndef API_LEADING_H
#define API_LEADING_H

#include "api/api.h"

typedef struct leading leading;

/* NULL: memory. `value` fits; ttl_ms: of the lock's lease. */
leading *leading_new(const memory *m, const char *value, int64_t ttl_ms);
leading *leading_free(const memory *m, leading *l);

/* An asynchronous campaign was granted its lock: true when its callback has to wait until
 * the value is told. It ends with claim_lock_ended(). */
bool leading_is_to_tell(claim *cl);
/* After a renewal: what was told must not be forgotten before the lease. */
void leading_renewed(claim *cl);
/* Before the release, and before the end of the client. */
void leading_clear(claim *cl);
void leading_clear_all(dibs_client *c);

#endif

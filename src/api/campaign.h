/* SPDX-License-Identifier: MIT */
/* api/campaign.h - what DIBS_TARGET_LEAD adds to the claim of a lock: a value that is
 * published while the hold lives, and cleared just before its release.
 *
 * All functions but campaign_blocking() need the mutex, and do nothing for claims of another
 * kind. */
#ifndef API_CAMPAIGN_H
#define API_CAMPAIGN_H

#include "api/api.h"

typedef struct campaign campaign;

/* NULL: no memory. `value` fits; ttl_ms: of the lock's lease. */
campaign *campaign_new(const memory *m, const char *value, int64_t ttl_ms);
campaign *campaign_free(const memory *m, campaign *l);

/* A campaign was granted its lock, of which on_lost and on_change report nothing before the value
 * is published. True of an asynchronous one, whose callback waits for that: it ends with
 * claim_lock_ended(). */
bool campaign_is_to_report(claim *cl);
/* Of a claim whose request has not ended: true if it publishes. It ends with the reply, and leads
 * not. */
bool campaign_cancel(claim *cl);
/* After a renewal: publishes again, so that the value does not expire before the lease. */
void campaign_renewed(claim *cl);
/* Before the release: the value is removed, or that of a campaign of the same owner that continues
 * is published again. */
void campaign_clear(claim *cl);
void campaign_clear_all(client_record *c);     /* before the end of the client */

/* As take_blocking(), for a call with a value: returns when it is published. */
dibs_status campaign_blocking(dibs_client *client, lock_call *call,
                              const dibs_lock_options *options, bool is_try,
                              dibs_hold **ret_hold);

#endif

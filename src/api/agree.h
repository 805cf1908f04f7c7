/* SPDX-License-Identifier: MIT */
/* api/agree.h - permits with a `limit`: before they are asked for, the semaphore gets this number
 * of permits if it has none, and a claim for a semaphore with another number is refused. Two
 * requests, one after the other, without a thread that waits for them.
 *
 * Invariant: a claim that is over while a request is open stays in memory until its reply. All
 * functions need the mutex. */
#ifndef API_AGREE_H
#define API_AGREE_H

#include "api/api.h"

/* DIBS_OK: claim_ask() or claim_failed() follows, not inside this call. The wait of `call` includes
 * the time for it. */
dibs_status agreement_begin(claim *cl, const lock_call *call);
/* false: the claim is past it. */
bool agreement_cancel(claim *cl);
void agreement_free(claim *cl);

#endif

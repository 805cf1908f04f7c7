/* SPDX-License-Identifier: MIT */
/* api/deadlock.h - deadlock detection of a blocking call. */
#ifndef API_DEADLOCK_H
#define API_DEADLOCK_H

#include "api/api.h"

/* Waits for the end of the request `cl`, and meanwhile searches for a cycle. The youngest
 * request of a cycle fails: DIBS_WOULD_DEADLOCK. Mutex held. */
void deadlock_wait(claim *cl, drive_waiter *waiter);
void deadlocks_free(client_record *c);     /* frees unfinished searches */

#endif

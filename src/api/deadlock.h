/* SPDX-License-Identifier: MIT */
/* api/deadlock.h - a blocking call that looks whether it is part of a deadlock. */
#ifndef API_DEADLOCK_H
#define API_DEADLOCK_H

#include "api/api.h"

/* Waits for the end of the request `cl`, and meanwhile looks for a cycle, of which it fails
 * if it is the youngest: DIBS_WOULD_DEADLOCK. Mutex held. */
void deadlock_wait(claim *cl, drive_waiter *waiter);
void deadlocks_free(dibs_client *c);     /* when the engine is gone: walks cut short */

#endif

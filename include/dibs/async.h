/* SPDX-License-Identifier: MIT */
/* dibs/async.h - the same without blocking, and inside a loop of your own. */
#ifndef DIBS_ASYNC_H
#define DIBS_ASYNC_H

#include <dibs/lock.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An acquisition under way. A handle like dibs_hold. */
typedef struct dibs_request dibs_request;

/* Tells how an asynchronous acquisition ended: `status` as from dibs_lock(); `hold` is
 * NULL unless it is DIBS_OK, and then owned by the receiver. Runs exactly once, never
 * inside the call that started it: on the thread dibs-callback, or in dibs_process()
 * with the flags named at dibs_fd(). No lock of the library is held meanwhile. */
typedef void (*dibs_lock_callback)(
  dibs_status status, dibs_hold *hold, void *data);

typedef void (*dibs_release_callback)(dibs_status status, void *data);

/* Starts to take a lock. Parameters as dibs_lock(); options->owner NULL means nobody
 * re-enters. `ret_request` may be NULL.
 *
 * Returns  DIBS_OK: `callback` will run. Anything else: it will not; argument faults,
 *          DIBS_ERR_NO_MEMORY, DIBS_ERR_CLOSED, DIBS_ERR_FORKED.
 * Thread   any; never blocks; allowed in callbacks.
 * Since    0.1 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_lock_async(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_lock_callback callback, void *data, dibs_request **ret_request);

DIBS_API DIBS_MUST_CHECK dibs_status dibs_try_lock_async(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_lock_callback callback, void *data, dibs_request **ret_request);

/* Asks for the end of an acquisition. Its callback still runs: with DIBS_CANCELLED, or
 * with what happened before. Returns DIBS_OK, or DIBS_ERR_STALE when it is over.
 * Thread: any; never blocks. Since 0.1 */
DIBS_API dibs_status dibs_request_cancel(dibs_request *request);

/* Releases without waiting for the answer. `hold` is stale at once; `callback` (may be
 * NULL) gets what dibs_release() would return.
 * Returns DIBS_OK, or DIBS_ERR_STALE, DIBS_ERR_FORKED: then `callback` does not run.
 * Thread: any; never blocks; allowed in callbacks. Since 0.1 */
DIBS_API dibs_status dibs_release_async(
  dibs_hold *hold, dibs_release_callback callback, void *data);

/* One descriptor for your loop: watch it for reading, and call dibs_process() when it
 * is readable. Constant until dibs_close(). No timers, no write interest. For clients
 * with DIBS_CLIENT_NO_THREAD (readable when there is I/O, a timer or a callback to run)
 * or DIBS_CLIENT_PROCESS_CALLBACKS (readable when callbacks wait).
 * Returns the descriptor; -1 for a client with neither flag. Thread: any. Since 0.1 */
DIBS_API int dibs_fd(dibs_client *client);

/* Does what is to be done now, without blocking: reads, writes, renews, runs callbacks.
 * Returns the milliseconds until it wants to be called again at the latest (the
 * descriptor tells too), -1 for "only when the descriptor is readable", or a fault
 * below -1 as dibs_status.
 * Thread: one at a time. Since 0.1 */
DIBS_API int64_t dibs_process(dibs_client *client);

#ifdef __cplusplus
}
#endif

#endif

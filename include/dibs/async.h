/* SPDX-License-Identifier: MIT */
/* dibs/async.h - asynchronous forms, and the functions for your own event loop. */
#ifndef DIBS_ASYNC_H
#define DIBS_ASYNC_H

#include <dibs/lock.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A pending call with a callback. A handle like dibs_hold. */
typedef struct dibs_request dibs_request;

/* Reports how an asynchronous acquisition ended. Runs exactly once, never inside the call
 * that started it: on the thread dibs-callback, or in dibs_process() with the flags named at
 * dibs_fd(), or at the latest in dibs_close(). What it may call: dibs_event_callback. `data` is not
 * used after it, so it may free that; nor after a call that did not return DIBS_OK, whose callback
 * does not run.
 * `error`  never NULL, borrowed until the callback returns. error->status is what dibs_lock()
 *          would return; DIBS_OK has an empty text. The text describes this acquisition;
 *          dibs_client_error() does not return it.
 * `hold`   NULL unless error->status is DIBS_OK, and then owned by the receiver. */
typedef void (*dibs_lock_callback)(
  const dibs_error *error, dibs_hold *hold, void *data);

/* Reports how a release ended, as dibs_lock_callback does: exactly once. */
typedef void (*dibs_release_callback)(const dibs_error *error, void *data);

/* Starts to take a lock. Parameters as dibs_lock(); options->owner NULL means no
 * re-entry. `ret_request` may be NULL. dibs_acquire_async() is the same for all else.
 *
 * Returns  DIBS_OK: `callback` will run. Otherwise it will not: DIBS_ERR_ARGUMENT,
 *          DIBS_ERR_UNSUPPORTED, DIBS_ERR_LIMIT, DIBS_ERR_NO_MEMORY, DIBS_ERR_CLOSED,
 *          DIBS_ERR_FORKED.
 * Thread   any; never blocks; allowed in callbacks.
 * Since    0.1 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_lock_async(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_lock_callback callback, void *data, dibs_request **ret_request);

/* Cancels a pending call. Its callback still runs: with DIBS_CANCELLED, the result before it, or
 * DIBS_UNKNOWN of a write that was sent. Returns DIBS_OK, or DIBS_ERR_STALE when it is over.
 * Thread: any; never blocks. Since 0.1 */
DIBS_API dibs_status dibs_request_cancel(dibs_request *request);

/* Releases without waiting for the reply. `hold` is stale at once; `callback` (may be
 * NULL) gets what dibs_release() would return.
 * Returns DIBS_OK, or DIBS_ERR_STALE, DIBS_ERR_CLOSED, DIBS_ERR_FORKED: then `callback` does not
 * run.
 * Thread: any; never blocks; allowed in callbacks. Since 0.1 */
DIBS_API dibs_status dibs_release_async(
  dibs_hold *hold, dibs_release_callback callback, void *data);

/* One descriptor for your loop: watch it for reading, and call dibs_process() when it
 * is readable. Constant until dibs_close(). No timers, no write interest. For clients
 * with DIBS_CLIENT_NO_THREAD (readable when there is I/O, a timer or a callback to run)
 * or DIBS_CLIENT_PROCESS_CALLBACKS (readable when callbacks wait).
 * Returns the descriptor; -1 for a client with neither flag. Thread: any. Since 0.1 */
DIBS_API int dibs_fd(dibs_client *client);

/* Does what is due now, without blocking: reads, writes, renews, runs callbacks.
 * `ret_wait_ms`  written on DIBS_OK: milliseconds until it must be called again at the latest,
 *                0 or more; -1 without a limit, as for poll(). May be
 *                NULL: the descriptor turns readable in time, too.
 * Returns DIBS_OK; DIBS_ERR_UNSUPPORTED for a client without a descriptor; _CLOSED, _FORKED,
 *         _STALE, _ARGUMENT (client is NULL), _WOULD_BLOCK (in a callback).
 * Thread: one at a time. Since 0.1; ret_wait_ms since 0.5 */
DIBS_API dibs_status dibs_process(dibs_client *client, int64_t *ret_wait_ms);

#ifdef __cplusplus
}
#endif

#endif

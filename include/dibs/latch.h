/* SPDX-License-Identifier: MIT */
/* dibs/latch.h - count-down latches: wait until a count has reached zero.
 *
 * The layout is Redisson's RCountDownLatch (the key is `name` itself, without the client's
 * prefix), so that Java programs count down and wait on the same latch. What blocks and has no
 * wait_ms has the limit of a call that does not wait: dibs_client_set_call_timeout().
 *
 * The forms with `_async` have that limit, too. They never block, are allowed in callbacks,
 * and copy what they are given. dibs_request_cancel() ends one before its reply:
 * DIBS_CANCELLED if it was not sent, or only reads: nothing is changed. Else DIBS_UNKNOWN, as
 * without a reply in time: it may have been executed, or will be, but not after that limit. */
#ifndef DIBS_LATCH_H
#define DIBS_LATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/async.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How to wait for a latch, a barrier, permits of a rate or an element of a list. Start from
 * DIBS_WAIT_OPTIONS_INIT. */
typedef struct dibs_wait_options {
  size_t size;             /* set by DIBS_WAIT_OPTIONS_INIT */
  uint32_t flags;          /* none yet */
  int32_t wait_ms;         /* longest wait, 1 .. DIBS_MS_MAX; 0: asks once and does not wait
                              (DIBS_TIMED_OUT; of a rate limiter DIBS_BUSY); DIBS_FOREVER: no
                              limit, which INIT sets */
  dibs_canceller *cancel;  /* NULL: cannot be cancelled; borrowed until the end */
} dibs_wait_options;

#define DIBS_WAIT_OPTIONS_INIT { sizeof(dibs_wait_options), 0, DIBS_FOREVER, NULL }

/* Reports how a wait ended: error->status is what the blocking call would return. `error`,
 * the thread and what it may call are as for dibs_lock_callback, and so is the life of `data`. */
typedef void (*dibs_wait_callback)(const dibs_error *error, void *data);

/* The same of a call that has a number as its result; 0 unless error->status is DIBS_OK.
 * Since 0.6 */
typedef void (*dibs_number_callback)(const dibs_error *error, int64_t number, void *data);

/* Arms `name` with `count` (1 .. 2^53). After zero it may be armed again.
 * Returns DIBS_OK; DIBS_BUSY, nothing changed, if it is armed already; DIBS_UNKNOWN (no reply in
 * time: it may be armed); DIBS_ERR_WRONG_TYPE (the key `name` holds no count), _ARGUMENT, the
 * server's faults. Blocks. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_latch_set(
  dibs_client *client, const char *name, int64_t count);

/* The same with a callback. `ret_request` may be NULL; dibs_request_cancel() ends it. Since 0.6 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_latch_set_async(
  dibs_client *client, const char *name, int64_t count, dibs_wait_callback callback,
  void *data, dibs_request **ret_request);

/* Counts down by `count` (1 .. 2^53), to zero at most; at zero all waiters are released.
 *
 * `id`        names this count: the same id again on the same latch, from any
 *             process, counts once until the latch is armed again (remembered for a day). Java
 *             arms it without a record: then an id that was counted before counts only if the new
 *             count is above the least that dibs_latch_set(), _down() or _delete() of any client
 *             found since (none: 0); else use other ids. At most 128 bytes. NULL: each call
 *             counts; a repetition by the library itself after a lost reply does not.
 * `ret_left`  receives what is left; may be NULL.
 * Returns     DIBS_OK, DIBS_ERR_NOT_SET (not armed: nothing to count), DIBS_UNKNOWN (no reply in
 *             time: with an `id` repeat it), DIBS_ERR_WRONG_TYPE, _ARGUMENT, the server's
 *             faults. Blocks. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_latch_down(
  dibs_client *client, const char *name, int64_t count, const char *id,
  int64_t *ret_left);

/* The same with a callback, which gets what is left. `ret_request` may be NULL;
 * dibs_request_cancel() ends it. Since 0.6 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_latch_down_async(
  dibs_client *client, const char *name, int64_t count, const char *id,
  dibs_number_callback callback, void *data, dibs_request **ret_request);

/* Reads the count of a latch; 0 for a latch that is not armed.
 * Returns DIBS_OK, DIBS_ERR_WRONG_TYPE, _ARGUMENT, _UNREACHABLE (no reply in time, too), the
 * server's faults. Blocks. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_latch_count(
  dibs_client *client, const char *name, int64_t *ret_left);

/* The same with a callback, which gets the count. `ret_request` may be NULL;
 * dibs_request_cancel() ends it. Since 0.6 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_latch_count_async(
  dibs_client *client, const char *name, dibs_number_callback callback, void *data,
  dibs_request **ret_request);

/* Disarms a latch. As in Redisson, waiters continue to wait until it has been armed again and
 * reaches zero; later waits return at once. (After a deletion by Java waiters are released
 * within seconds: it cannot be distinguished from zero.)
 * Returns DIBS_OK (also if it was not armed), DIBS_UNKNOWN (no reply in time: repeat it),
 * DIBS_ERR_WRONG_TYPE, _ARGUMENT, the server's faults. Blocks. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_latch_delete(
  dibs_client *client, const char *name);

/* Waits until `name` is at zero, or not armed. All waiters are released, also those
 * whose connection was down at that moment.
 * Returns  DIBS_OK, DIBS_TIMED_OUT, DIBS_CANCELLED, DIBS_ERR_UNREACHABLE (no server for
 *          connect_timeout_ms, or no reply within wait_ms), DIBS_ERR_WRONG_TYPE, _ARGUMENT, the
 *          server's faults.
 * Thread   any; blocks; not from a callback. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_latch_await(
  dibs_client *client, const char *name, const dibs_wait_options *options);

/* The same with a callback. `ret_request` may be NULL; dibs_request_cancel() ends it. */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_latch_await_async(
  dibs_client *client, const char *name, const dibs_wait_options *options,
  dibs_wait_callback callback, void *data, dibs_request **ret_request);

#ifdef __cplusplus
}
#endif

#endif

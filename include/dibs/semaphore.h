/* SPDX-License-Identifier: MIT */
/* dibs/semaphore.h - semaphores: at most N permits are held at a time.
 *
 * Permits are leases, renewed by the watchdog or fixed (DIBS_LOCK_FIXED): those of a killed
 * holder return within one lease. First come, first served: a request queued after a larger
 * one waits. The functions of lock.h work on these holds; a release returns exactly what
 * was held, once. */
#ifndef DIBS_SEMAPHORE_H
#define DIBS_SEMAPHORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/async.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the number of permits of `name`: creates the semaphore, or resizes it while in use.
 * Lowering it takes no permits away, it only stops grants until enough have been returned. A
 * semaphore that was set stays until dibs_semaphore_delete().
 * `permits`  0 .. 1000000000. 0 is a pause: requests, including waiting ones, wait until
 *            there are permits again. Otherwise a request for more than `permits` ends
 *            with DIBS_ERR_ARGUMENT, also one that waits already.
 * Returns    DIBS_OK, DIBS_ERR_WRONG_TYPE, DIBS_ERR_ARGUMENT, DIBS_UNKNOWN (no reply: set
 *            it again, which is harmless), DIBS_ERR_UNSUPPORTED (a dialect without permits, a
 *            quorum), the server's faults. Blocks.
 * Source     doc/design/protocol.md 9. Since 0.2 */
#define DIBS_PERMITS_MAX 1000000000
DIBS_API DIBS_MUST_CHECK dibs_status dibs_semaphore_set(
  dibs_client *client, const char *name, uint32_t permits);

/* The same if it has no count yet; a semaphore made this way is deleted after an hour without
 * use. `ret_permits` (may be NULL) receives its present count. Blocks. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_semaphore_set_if_absent(
  dibs_client *client, const char *name, uint32_t permits, uint32_t *ret_permits);

/* Deletes a semaphore. Returns DIBS_OK (also if there was none), DIBS_BUSY (it has holders or
 * waiters: nothing is changed), DIBS_UNKNOWN (no reply: repeat it), DIBS_ERR_WRONG_TYPE (the name
 * is no semaphore), DIBS_ERR_ARGUMENT, DIBS_ERR_UNSUPPORTED (as dibs_semaphore_set()), the
 * server's faults. Blocks. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_semaphore_delete(
  dibs_client *client, const char *name);

/* The same for a name of any bytes: `name_size` 1..512 of them, zeros too; copied. A name of
 * the same bytes given as a C string is the same semaphore. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_semaphore_set_bytes(
  dibs_client *client, const void *name, size_t name_size, uint32_t permits);

DIBS_API DIBS_MUST_CHECK dibs_status dibs_semaphore_set_if_absent_bytes(
  dibs_client *client, const void *name, size_t name_size, uint32_t permits,
  uint32_t *ret_permits);

DIBS_API DIBS_MUST_CHECK dibs_status dibs_semaphore_delete_bytes(
  dibs_client *client, const void *name, size_t name_size);

/* For the flags of dibs_lock_options, of clients of the dialect redisson: permits of its
 * RSemaphore, which is a number only. No lease and no owner: they are never renewed and
 * never lost, and those of a killed process stay lost until they are added again. ttl_ms
 * limits the repetition of a release; max_hold_ms and DIBS_LOCK_FIXED are refused. All clients
 * must use a name with it, or none. In native clients DIBS_ERR_UNSUPPORTED. Since 0.5 */
#define DIBS_PERMITS_PLAIN 0x100u

/* Takes `count` permits at once, all or none, waiting for them at most options->wait_ms.
 *
 * `count`    1 .. DIBS_PERMITS_MAX; in the dialect redisson at most 10000 with a lease.
 * `options`  as dibs_lock(), and DIBS_PERMITS_PLAIN. There is no re-entry: each call takes
 *            further permits. linger_ms and min_replicas must be 0.
 * `ret_hold` one hold for all of them; dibs_hold_units() returns how many.
 *
 * Returns  as dibs_lock(), and
 *          DIBS_ERR_NOT_SET    call dibs_semaphore_set() first.
 *          DIBS_ERR_ARGUMENT   also: more permits than exist, unless there are 0.
 *          DIBS_WOULD_DEADLOCK only by DIBS_CLIENT_DETECT_DEADLOCK.
 * Thread   any; blocks; not from a callback.
 * Source   doc/design/protocol.md 9. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_acquire_permits(
  dibs_client *client, const char *name, uint32_t count,
  const dibs_lock_options *options, dibs_hold **ret_hold);

/* As dibs_acquire_permits(), but never waits for other holders: DIBS_BUSY, also while a request
 * waits, be it for more permits than are free, and while there are 0 permits. No
 * DIBS_WOULD_DEADLOCK. */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_try_acquire_permits(
  dibs_client *client, const char *name, uint32_t count,
  const dibs_lock_options *options, dibs_hold **ret_hold);

/* Takes all permits that are free, at least one; DIBS_BUSY if there is none or
 * there are waiters. Blocks for the reply only.
 * Returns as dibs_try_acquire_permits(). Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_drain_permits(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_hold **ret_hold);

/* The same for a name of any bytes, as for dibs_semaphore_set_bytes(). Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_acquire_permits_bytes(
  dibs_client *client, const void *name, size_t name_size, uint32_t count,
  const dibs_lock_options *options, dibs_hold **ret_hold);

DIBS_API DIBS_MUST_CHECK dibs_status dibs_try_acquire_permits_bytes(
  dibs_client *client, const void *name, size_t name_size, uint32_t count,
  const dibs_lock_options *options, dibs_hold **ret_hold);

DIBS_API DIBS_MUST_CHECK dibs_status dibs_drain_permits_bytes(
  dibs_client *client, const void *name, size_t name_size, const dibs_lock_options *options,
  dibs_hold **ret_hold);

/* dibs_acquire_permits() and dibs_try_acquire_permits() without blocking; see
 * dibs_lock_async(). Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_acquire_permits_async(
  dibs_client *client, const char *name, uint32_t count,
  const dibs_lock_options *options, dibs_lock_callback callback, void *data,
  dibs_request **ret_request);

DIBS_API DIBS_MUST_CHECK dibs_status dibs_try_acquire_permits_async(
  dibs_client *client, const char *name, uint32_t count,
  const dibs_lock_options *options, dibs_lock_callback callback, void *data,
  dibs_request **ret_request);

#ifdef __cplusplus
}
#endif

#endif

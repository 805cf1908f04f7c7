/* SPDX-License-Identifier: MIT */
/* dibs/semaphore.h - semaphores: at most so many permits are held at a time.
 *
 * Permits are leases, renewed by the watchdog or fixed (DIBS_LOCK_FIXED): those of a killed
 * holder come back within one lease. First come, first served: a request behind a larger
 * one waits. The functions of lock.h work on these holds; a release gives back exactly what
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

/* Sets how many permits `name` has: creates the semaphore, or resizes it while in use.
 * Fewer never takes permits away, it only stops grants until enough came back. A semaphore
 * that was set stays until dibs_semaphore_delete().
 * `permits`  0 .. 1000000000; with 0 nobody gets in.
 * Returns    DIBS_OK, DIBS_ERR_WRONG_TYPE, DIBS_ERR_ARGUMENT, DIBS_UNKNOWN (no answer: set
 *            it again, that is harmless), the server's faults. Blocks.
 * Source     doc/design/protocol.md 9; lua/native/share_set.lua. Since 0.2 */
#define DIBS_PERMITS_MAX 1000000000
DIBS_API DIBS_MUST_CHECK dibs_status dibs_semaphore_set(
  dibs_client *client, const char *name, uint32_t permits);

/* The same if it has no count yet; one that is made so is forgotten after an hour without
 * use. `ret_permits` (may be NULL) gets the count that it has now. Blocks. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_semaphore_set_if_absent(
  dibs_client *client, const char *name, uint32_t permits, uint32_t *ret_permits);

/* Forgets it. Returns DIBS_OK (also when there was none), DIBS_BUSY (somebody holds or
 * waits for permits: nothing is changed), faults. Blocks. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_semaphore_delete(
  dibs_client *client, const char *name);

/* For the flags of dibs_lock_options, of clients of the dialect redisson: permits of its
 * RSemaphore, which are a number and no more. No lease and no owner: they are never renewed and
 * never lost, and those of a killed process are gone until somebody adds them. ttl_ms is how
 * long a release is insisted on; max_hold_ms and DIBS_LOCK_FIXED do not go with it. One name is
 * used with it by all, or by nobody. Natively DIBS_ERR_UNSUPPORTED. Since 0.5 */
#define DIBS_PERMITS_PLAIN 0x100u

/* Takes `count` permits at once, all or none, waiting for them at most options->wait_ms.
 *
 * `count`    1 .. DIBS_PERMITS_MAX; in the dialect redisson at most 10000 with a lease.
 * `options`  as dibs_lock(), and DIBS_PERMITS_PLAIN. There is no re-entry: each call takes
 *            further permits.
 * `ret_hold` one hold for all of them; dibs_hold_units() tells how many.
 *
 * Returns  as dibs_lock(), and
 *          DIBS_ERR_NOT_SET    dibs_semaphore_set() has to come first.
 *          DIBS_ERR_ARGUMENT   also: more permits than there are.
 * Thread   any; blocks; not from a callback.
 * Source   doc/design/protocol.md 9; lua/native/share_acquire.lua. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_acquire_permits(
  dibs_client *client, const char *name, uint32_t count,
  const dibs_lock_options *options, dibs_hold **ret_hold);

/* As dibs_acquire_permits(), but never waits for others: DIBS_BUSY. */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_try_acquire_permits(
  dibs_client *client, const char *name, uint32_t count,
  const dibs_lock_options *options, dibs_hold **ret_hold);

/* Takes all permits that are free, at least one; DIBS_BUSY when there is none or
 * somebody waits. Blocks for the answer only. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_drain_permits(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_hold **ret_hold);

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
